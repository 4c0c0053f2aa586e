// A model that follows an edit is the one that compiling the edited mechanism gives, to the bit.
#include <gtest/gtest.h>

#include <cstring>

#include <fmt/format.h>

#include "karakuri/model/recompile.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}
bool same(const Transform& a, const Transform& b) { return a.R == b.R && a.p == b.p; }
bool same(std::int32_t a, std::int32_t b) { return a == b; }
bool same(double a, double b) { return a == b; }
bool same(const Body& a, const Body& b) {
  return same_bits(a.R_PF, b.R_PF) && same_bits(a.p_PF, b.p_PF) && same_bits(a.mass_com, b.mass_com) &&
         same_bits(a.inertia, b.inertia) && a.mass == b.mass && a.pitch == b.pitch && a.parent == b.parent &&
         a.first_q == b.first_q && a.first_v == b.first_v && a.extra == b.extra && a.dofs == b.dofs &&
         a.kind == b.kind && a.alone == b.alone;
}
bool same(const FreeBody& a, const FreeBody& b) { return same_bits(a, b); }
bool same(const Packed33& a, const Packed33& b) { return same_bits(a, b); }
bool same(const Tree& a, const Tree& b) { return a.first == b.first && a.last == b.last; }
bool same(const Dof& a, const Dof& b) {
  return a.body == b.body && a.parent == b.parent && a.depth == b.depth && a.path == b.path &&
         a.kind == b.kind && a.row == b.row;
}
bool same(const DofProperties& a, const DofProperties& b) { return same_bits(a, b); }
bool same(const Segment& a, const Segment& b) { return a == b; }
bool same(const LinkEntry& a, const LinkEntry& b) {
  return a.id == b.id && a.name == b.name && a.body == b.body && same(a.X_BL, b.X_BL);
}
bool same(const JointEntry& a, const JointEntry& b) {
  return a.id == b.id && a.name == b.name && a.kind == b.kind && a.body == b.body && a.first_q == b.first_q &&
         a.first_v == b.first_v;
}
bool same(const Loop& a, const Loop& b) {
  return a.joint == b.joint && a.body_f == b.body_f && a.body_m == b.body_m && same(a.X_BF, b.X_BF) &&
         same(a.X_BM, b.X_BM) && a.kind == b.kind && a.axis == b.axis && a.second_axis == b.second_axis &&
         a.pitch == b.pitch && a.distance == b.distance && a.stiffness == b.stiffness;
}
bool same(const Relation::Term& a, const Relation::Term& b) {
  return a.dof == b.dof && a.q == b.q && a.scale == b.scale;
}
bool same(const Relation& a, const Relation& b) {
  const auto terms = [](const Relation& x, const Relation& y) {
    return std::equal(x.terms.begin(), x.terms.end(), y.terms.begin(), y.terms.end(),
                      [](const auto& s, const auto& t) { return same(s, t); });
  };
  return a.name == b.name && terms(a, b) && same(a.leader, b.leader) && a.polynomial == b.polynomial;
}
template <class T>
void expect_same(const std::vector<T>& a, const std::vector<T>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(same(a[i], b[i])) << what << " " << i;
}
void expect_same(const Model& a, const Model& b) {
  EXPECT_EQ(a.nq, b.nq);
  EXPECT_EQ(a.nv, b.nv);
  EXPECT_EQ(a.max_depth, b.max_depth);
  EXPECT_EQ(a.mass_matrix_size, b.mass_matrix_size);
  expect_same(a.bodies, b.bodies, "bodies");
  expect_same(a.free_bodies, b.free_bodies, "free bodies");
  expect_same(a.between, b.between, "between");
  expect_same(a.trees, b.trees, "trees");
  expect_same(a.dofs, b.dofs, "dofs");
  expect_same(a.paths, b.paths, "paths");
  expect_same(a.dof_properties, b.dof_properties, "properties");
  expect_same(a.armature, b.armature, "armature");
  expect_same(a.angle_q, b.angle_q, "angle_q");
  expect_same(a.angle_v, b.angle_v, "angle_v");
  expect_same(a.segments, b.segments, "segments");
  expect_same(a.links, b.links, "links");
  expect_same(a.joints, b.joints, "joints");
  expect_same(a.loops, b.loops, "loops");
  expect_same(a.relations, b.relations, "relations");
  expect_same(a.link_at, b.link_at, "link_at");
  expect_same(a.joint_at, b.joint_at, "joint_at");
}

/// Trees of all kinds on the world, fixed links among them, loops on the world and between trees, gears.
Mechanism random_forest(int links, Random& random) {
  Mechanism m;
  std::vector<LinkId> all{m.world()};
  std::vector<JointId> hinges;
  for (int i = 0; i < links; ++i) {
    const auto kind = static_cast<JointKind>(random.below(kJointKindCount));
    const LinkId parent = random.below(4) == 0 ? m.world() : all[random.below(static_cast<int>(all.size()))];
    all.push_back(m.add_link(fmt::format("link{}", i), random_inertia(random)));
    const auto added = m.add_joint(random_joint(random, kind, fmt::format("joint{}", i), parent, all.back()));
    EXPECT_TRUE(added.ok());
    if (kind == JointKind::kRevolute) hinges.push_back(*added);
    if (i % 5 == 4) {
      const LinkId from = all[random.below(static_cast<int>(all.size()))];
      EXPECT_TRUE(
          m.add_loop(random_joint(random, JointKind::kSpherical, fmt::format("loop{}", i), from, all.back()))
              .ok());
    }
  }
  for (std::size_t i = 1; i < hinges.size(); i += 2)
    m.add_coupling({.name = fmt::format("gear{}", i), .follower = hinges[i], .leader = hinges[i - 1]});
  return m;
}

std::vector<TouchedRoot> cut(Mechanism& m, JointId joint, MechanismUndo& undo) {
  const LinkId child = m.joint(joint).child, root = m.root_of(child);
  if (!m.cut(joint, Transform::translation({1, 2, 3}), &undo).ok()) return {};
  return {{root, root == child ? LinkId{} : root}, {{}, child}};
}

/// Hangs a tree that floats on another, by one of its links.
std::vector<TouchedRoot> graft(Mechanism& m, Random& random, int i, MechanismUndo& undo) {
  const std::vector<LinkId> links = m.link_ids();
  const LinkId child = links[random.below(static_cast<int>(links.size()))],
               parent = links[random.below(static_cast<int>(links.size()))];
  if (child == m.world() || m.link(child).is_virtual() || m.link(parent).is_virtual()) return {};
  const LinkId gone = m.root_of(child);
  Joint joint = random_joint(random, JointKind::kRevolute, fmt::format("seam{}", i), parent, child);
  if (!m.graft(std::move(joint), &undo).ok()) return {};
  if (parent == m.world()) return {{gone, {}}, {{}, child}};
  const LinkId root = m.root_of(parent);
  return {{root, root}, {gone, {}}};
}

TEST(Recompile, IsWhatCompilingGives) {
  int cuts = 0, grafts = 0, whole = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Mechanism m = random_forest(30, random);
    Model model = compile_or_die(m);
    const Model made = model;
    std::vector<std::pair<MechanismUndo, std::vector<TouchedRoot>>> done;
    for (int i = 0; i < 24; ++i) {
      const std::vector<JointId> joints = m.joint_ids();
      MechanismUndo undo;
      const JointId some = joints[random.below(static_cast<int>(joints.size()))];
      const std::vector<TouchedRoot> touched = i % 2 == 0 ? cut(m, some, undo) : graft(m, random, i, undo);
      grafts += i % 2 == 1 && !touched.empty();
      if (touched.empty()) continue;
      const Result<Splice> splice = recompile(m, touched, model);
      ASSERT_TRUE(splice.ok()) << to_string(splice.errors());
      ASSERT_NO_FATAL_FAILURE(expect_same(model, compile_or_die(m)));
      EXPECT_NE(model.version(), made.version());
      ++cuts;
      whole += splice->compiled_bodies == model.body_count() - 1;
      done.emplace_back(std::move(undo), touched);
    }
    for (; !done.empty(); done.pop_back()) {  // and back again
      m.undo(done.back().first);
      std::vector<TouchedRoot> back;
      for (const TouchedRoot& t : done.back().second) back.push_back({t.after, t.before});
      ASSERT_TRUE(recompile(m, back, model).ok());
      ASSERT_NO_FATAL_FAILURE(expect_same(model, compile_or_die(m)));
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(model, made));
  }
  EXPECT_GT(cuts, 200);
  EXPECT_GT(grafts, 30);
  EXPECT_LT(whole, cuts / 10) << "most leave something alone";
}

TEST(Recompile, TouchesNothingElse) {
  Mechanism m;
  for (int i = 0; i < 100; ++i)
    m.add_free_link(fmt::format("box{}", i), Inertia::solid_sphere(1, 0.1), Transform::identity());
  Random random(1);
  LinkId parent = m.world();
  JointId last;
  for (int i = 0; i < 5; ++i) {
    const LinkId link = m.add_link(fmt::format("arm{}", i), random_inertia(random));
    last = *m.add_joint(
        {.name = fmt::format("hinge{}", i), .kind = JointKind::kRevolute, .parent = parent, .child = link});
    parent = link;
  }
  Model model = compile_or_die(m);
  MechanismUndo undo;
  const Result<Splice> splice = recompile(m, cut(m, last, undo), model);
  ASSERT_TRUE(splice.ok());
  EXPECT_EQ(splice->compiled_bodies, 5) << "of 105";
}

TEST(Recompile, RefusesAndLeavesAllAsItWas) {
  // what stays behind has no mass of its own
  Mechanism m;
  Random random(1);
  const LinkId bare = m.add_link("bare", Inertia{}), arm = m.add_link("arm", random_inertia(random));
  ASSERT_TRUE(
      m.add_joint({.name = "a", .kind = JointKind::kRevolute, .parent = m.world(), .child = bare}).ok());
  const JointId b = *m.add_joint(
      {.name = "b", .kind = JointKind::kRevolute, .parent = bare, .child = arm, .axis = Vec3::UnitX()});
  Model model = compile_or_die(m);
  const Model before = model;
  MechanismUndo undo;
  const Result<Splice> splice = recompile(m, cut(m, b, undo), model);
  ASSERT_FALSE(splice.ok());
  EXPECT_NE(to_string(splice.errors()).find("link 'bare'"), std::string::npos) << to_string(splice.errors());
  expect_same(model, before);
  EXPECT_EQ(model.version(), before.version());
  m.undo(undo);
  EXPECT_TRUE(m.contains(b));
  expect_same(compile_or_die(m), before);
}

}  // namespace
}  // namespace karakuri::test
