// Boxes that move together, against testing every pair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "collision/broadphase/clusters.h"
#include "collision/random_shapes.h"

namespace karakuri {
namespace {

using namespace testing;
using collision_detail::ClusteredBroadphase;

/// Robots of 2 to 40 boxes, boxes alone, some of them fixed, and a floor without end.
struct Boxes {
  Random random{4};
  ClusteredBroadphase broad;
  std::vector<Aabb> box;
  std::vector<CollisionFilter> filter;
  std::vector<bool> fixed;
  std::vector<int> robot;  // -1: alone
  std::set<std::pair<int, int>> excluded;

  explicit Boxes(int robots) {
    Aabb floor = Aabb::everything();
    floor.hi.z() = 0;
    add(floor, {}, true, -1);
    for (int i = 0; i < robots; ++i) {
      const Vec3 at = 3 * Vec3{random.uniform(), random.uniform(), random.uniform()};
      for (int k = 2 + static_cast<int>(random.below(39)); k > 0; --k) {
        const Aabb link = near(at, 0.5);
        add(link, some_filter(), false, i);
      }
      for (int k = static_cast<int>(random.below(4)); k > 0; --k) {
        const Aabb alone = near(at, 1);
        const CollisionFilter other = some_filter();
        add(alone, other, random.below(3) == 0, -1);
      }
    }
  }

  Aabb near(const Vec3& at, double spread) {
    const Vec3 p = at + spread * random_unit(random);
    const Vec3 half{random.uniform(0.02, 0.2), random.uniform(0.02, 0.2), random.uniform(0.02, 0.2)};
    return {p - half, p + half};
  }
  CollisionFilter some_filter() {
    switch (random.below(6)) {
      case 0: return {.category = 2, .mask = ~2u};
      case 1: return {.group = -1};
      case 2: return {.mask = 0, .group = 3};  // with its like alone
      default: return {};
    }
  }
  void add(const Aabb& b, const CollisionFilter& f, bool is_fixed, int cluster) {
    broad.insert(b, f, is_fixed, cluster);
    box.push_back(b), filter.push_back(f), fixed.push_back(is_fixed), robot.push_back(cluster);
  }
  int count() const { return static_cast<int>(box.size()); }

  void move(int i, const Vec3& by) {
    box[i].lo += by, box[i].hi += by;
    broad.move(i, box[i]);
  }
  /// Robots as wholes and each of their links a little; what is alone now and then.
  void move_all(double way) {
    std::vector<Vec3> together(count());
    for (Vec3& v : together) v = way * random_unit(random);
    for (int i = 1; i < count(); ++i) {
      if (fixed[i]) continue;
      if (robot[i] >= 0)
        move(i, together[robot[i]] + 0.3 * way * random_unit(random));
      else if (random.below(2) == 0)
        move(i, 2 * way * random_unit(random));
    }
  }

  bool may_touch(int i, int j) const {
    return !(fixed[i] && fixed[j]) && filter[i].accepts(filter[j]) && !excluded.contains({i, j});
  }
  void expect_all(std::span<const ProxyPair> pairs, const std::vector<std::uint8_t>& wanted) const {
    ASSERT_TRUE(std::is_sorted(pairs.begin(), pairs.end()));
    ASSERT_EQ(std::adjacent_find(pairs.begin(), pairs.end()), pairs.end());
    for (int i = 0; i < count(); ++i) {
      for (int j = i + 1; j < count(); ++j) {
        const bool listed = std::binary_search(pairs.begin(), pairs.end(), ProxyPair{i, j});
        const bool asked = may_touch(i, j) && (wanted[i] || wanted[j]);
        if (!asked) {
          ASSERT_FALSE(listed) << i << " " << j;
        } else if (box[i].overlaps(box[j])) {
          ASSERT_TRUE(listed) << i << " " << j;
        } else if (listed && robot[i] >= 0) {
          ASSERT_TRUE(box[i].grown(0.1).overlaps(box[j].grown(0.1))) << i << " " << j;
        }
      }
    }
  }
  void expect_all() { expect_all(broad.pairs(), std::vector<std::uint8_t>(count(), 1)); }
};

TEST(Clusters, MatchBruteForceThroughChanges) {
  Boxes b(6);
  std::vector<std::uint8_t> wanted(b.count());
  int unchanged = 0;
  for (int step = 0; step < 150; ++step) {
    if (step % 3 == 0) {
      const int i = static_cast<int>(b.random.below(b.count())),
                j = static_cast<int>(b.random.below(b.count()));
      if (i != j) b.broad.exclude(i, j), b.excluded.insert(std::minmax(i, j));
    }
    if (step % 10 == 9 && !b.excluded.empty()) {
      const auto [i, j] = *b.excluded.begin();
      b.broad.include(j, i);
      b.excluded.erase(b.excluded.begin());
    }
    if (step == 70) {
      const std::vector<ProxyId> some = {3, 20, 41};
      b.broad.include_all(some);
      std::erase_if(b.excluded, [&](const auto& pair) {
        return std::ranges::count(some, pair.first) || std::ranges::count(some, pair.second);
      });
    }
    if (step == 80) b.broad.set_fixed(5, true), b.fixed[5] = true;
    if (step == 110) b.broad.set_fixed(5, false), b.fixed[5] = false;
    b.move_all(step % 4 == 0 ? 1e-5 : 0.05);
    if (step % 5 == 0) {  // between two updates, which must not miss what it saw
      for (auto& w : wanted) w = b.random.below(8) == 0;
      b.expect_all(b.broad.pairs_of(wanted), wanted);
    }
    unchanged += !b.broad.update();
    b.expect_all();
    if (HasFatalFailure()) FAIL() << "at step " << step;
  }
  EXPECT_GT(unchanged, 5);
}

/// A tilted plane has a box without end, and lanes without a box must not meet it.
TEST(Clusters, OfAnyCountMeetABoxWithoutEndOnce) {
  for (int count = 1; count <= 70; ++count) {
    for (const bool floor_is_first : {true, false}) {
      ClusteredBroadphase broad;
      const auto add_floor = [&] { broad.insert(Aabb::everything(), {}, true, -1); };
      if (floor_is_first) add_floor();
      for (int k = 0; k < count; ++k)  // none meets another
        broad.insert({Vec3(2 * k, 0, 0), Vec3(2 * k + 1, 1, 1)}, {}, false, 0);
      broad.insert({Vec3(0, 9, 0), Vec3(1, 10, 1)}, {}, false, 1);
      broad.insert({Vec3(2, 9, 0), Vec3(3, 10, 1)}, {}, false, 1);
      if (!floor_is_first) add_floor();
      broad.update();
      std::vector<ProxyPair> all;
      const int floor = floor_is_first ? 0 : count + 2;
      for (int i = 0; i < count + 3; ++i)
        if (i != floor) all.push_back({std::min(i, floor), std::max(i, floor)});
      EXPECT_THAT(broad.pairs(), ::testing::ElementsAreArray(all)) << count << " " << floor_is_first;
    }
  }
}

TEST(Clusters, LeaveAloneWhatIsNotFinite) {
  Boxes b(2);
  b.broad.update();
  const Aabb before = b.broad.box(1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  b.broad.move(1, {Vec3::Constant(nan), Vec3::Constant(nan)});
  b.broad.update();
  EXPECT_EQ(b.broad.box(1).lo, before.lo);
  b.expect_all();
}

TEST(Clusters, BoxesAloneAreAsInTheBroadPhase) {
  Random r(5);
  ClusteredBroadphase clusters;
  Broadphase plain;
  std::vector<Vec3> at;
  const auto box = [&](int i) { return Aabb{at[i] - Vec3::Constant(0.1), at[i] + Vec3::Constant(0.1)}; };
  for (int i = 0; i < 200; ++i) {
    at.push_back(2 * Vec3(r.uniform(), r.uniform(), r.uniform()));
    clusters.insert(box(i), {}, i % 9 == 0, i);
    plain.insert(box(i), {}, i % 9 == 0);
  }
  for (int step = 0; step < 50; ++step) {
    for (int i = 0; i < 200; ++i) {
      at[i] += 0.02 * random_unit(r);
      clusters.move(i, box(i));
      plain.move(i, box(i));
    }
    EXPECT_EQ(clusters.update(), plain.update());
    EXPECT_TRUE(std::ranges::equal(clusters.pairs(), plain.pairs()));
  }
}

}  // namespace
}  // namespace karakuri
