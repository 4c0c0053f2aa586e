#include "solver/banded_lanes.h"

#include <algorithm>
#include <cmath>

#include "karakuri/spatial/types.h"
#include "solver/banded_newton.h"
#include "solver/choose.h"

namespace karakuri::solver {

namespace {

using Eigen::Map;

void set(Four3& to, int lane, const Vec3& v) { to.x[lane] = v.x(), to.y[lane] = v.y(), to.z[lane] = v.z(); }
void set(Four* to, int lane, const Mat3& I) {
  to[0][lane] = I(0, 0), to[1][lane] = I(1, 1), to[2][lane] = I(2, 2);
  to[3][lane] = I(0, 1), to[4][lane] = I(0, 2), to[5][lane] = I(1, 2);
}
Vec3 get(const Four3& from, int lane) { return {from.x[lane], from.y[lane], from.z[lane]}; }
void copy(const Four3& from, int lane, Four3& to, int to_lane) { set(to, to_lane, get(from, lane)); }
Map<const Vec3> vector(const double* v) { return Map<const Vec3>(v); }

Mat3 matrix(const double* I) {
  Mat3 M;
  M << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
  return M;
}

void set_body(const RigidBody& from, const Vec3& origin, int lane, BandBody& to) {
  const Vec3 c = vector(from.com) - origin;
  const double m = from.mass;
  const Mat3 I = matrix(from.inertia);
  set(to.com, lane, c);
  to.mass[lane] = m;
  to.inverse_mass[lane] = 1 / m;
  set(to.inertia, lane, I + m * (c.squaredNorm() * Mat3::Identity() - c * c.transpose()));
  for (int k = 0; k < 6; ++k) to.inverse_inertia[k][lane] = from.inverse_inertia[k];
}

/// A body that nothing touches.
void set_idle(int lane, BandBody& to) {
  set(to.com, lane, Vec3::Zero());
  to.mass[lane] = to.inverse_mass[lane] = 1;
  set(to.inertia, lane, Mat3::Identity());
  set(to.inverse_inertia, lane, Mat3::Identity());
}

/// A point that is never touched.
void set_idle(int lane, BandPoint& x) {
  x.index[lane] = -1;
  for (Four3* v : {&x.normal, &x.tangent[0], &x.tangent[1], &x.at}) set(*v, lane, Vec3::Zero());
  for (int k = 0; k < 3; ++k) x.given[k][lane] = x.impulse[k][lane] = x.centre[k][lane] = 0;
  x.friction[lane] = 0;
  x.mobility[lane] = x.inverse_mobility[lane] = 1;
}

/// The last step's impulse, inside its cone.
void set_impulse(const double* lambda, int lane, BandPoint& x) {
  const double n = std::max(0.0, lambda[0]), t = std::sqrt(lambda[1] * lambda[1] + lambda[2] * lambda[2]);
  const double most = x.friction[lane] * n, scale = t > most ? most / t : 1;
  x.impulse[0][lane] = n;
  x.impulse[1][lane] = scale * lambda[1];
  x.impulse[2][lane] = scale * lambda[2];
}

/// Mean velocity of the body's point by unit impulses along three axes: the trace of 1/m + [r]xᵀ I⁻¹ [r]x.
double mobility_of(const BandBody& b, int lane, const BandPoint& x) {
  const double rx = x.at.x[lane] - b.com.x[lane], ry = x.at.y[lane] - b.com.y[lane],
               rz = x.at.z[lane] - b.com.z[lane];
  const auto I = [&](int k) { return b.inverse_inertia[k][lane]; };
  const double along = I(0) * rx * rx + I(1) * ry * ry + I(2) * rz * rz +
                       2 * (I(3) * rx * ry + I(4) * rx * rz + I(5) * ry * rz);
  return b.inverse_mass[lane] + ((rx * rx + ry * ry + rz * rz) * (I(0) + I(1) + I(2)) - along) / 3;
}

void set_point(const RigidPoint& from, int index, double sign, const Vec3& origin, int lane, BandPoint& x) {
  x.index[lane] = index;
  set(x.normal, lane, sign * vector(from.axes[0]));
  for (int k = 0; k < 2; ++k) set(x.tangent[k], lane, sign * vector(from.axes[1 + k]));
  set(x.at, lane, vector(from.at) - origin);
  for (int k = 0; k < 3; ++k) x.given[k][lane] = from.given[k];
  x.friction[lane] = from.friction;
  set_impulse(from.impulse, lane, x);
}

/// One thread's work on a group.
class Work {
 public:
  Work(RigidBatch& batch, const RigidSettings& settings, BandMemory& memory)
      : batch_(batch),
        settings_(settings),
        group_(memory.group),
        t_(memory.band),
        late_(memory.pushes),
        newton_(t_, -vector(settings.fall)) {}

  void run() {
    make_room();
    make_room_for_pushes();
    std::size_t next = 0;
    for (;;) {
      std::array<bool, kBandLanes> is_new{};
      for (int l = 0; l < kBandLanes; ++l) {
        if (!newton_.is_over(l)) continue;
        const BandIsland *before = t_.lane[l],
                         *now = next < group_.islands.size() ? &group_.islands[next++] : nullptr;
        if (before) hand_back(l), clear(l, *before, now);
        t_.lane[l] = now;
        if (now) load(l), is_new[l] = true;
      }
      if (!find_what_is_at_work()) break;
      enter(is_new);
      newton_.step();
    }
    push_late();
  }

 private:
  void make_room() {
    const std::size_t bodies = group_.most_bodies + 1;
    t_.lane = {};
    t_.body.resize(bodies);
    t_.points.resize(group_.points);
    for (auto* m : {&t_.motion, &t_.step, &t_.trial, &t_.force, &t_.error}) m->assign(bodies, {});
    for (int l = 0; l < kBandLanes; ++l) {
      for (BandBody& b : t_.body) set_idle(l, b);
      for (BandPoint& x : t_.points) set_idle(l, x);
    }
  }

  void make_room_for_pushes() {
    const std::size_t bodies = group_.most_bodies + 1;
    late_.lanes = 0;
    late_.body.resize(bodies);
    late_.motion.resize(bodies);
    late_.points.resize(group_.points);
    for (BandBody& b : late_.body)
      for (int l = 0; l < kBandLanes; ++l) set_idle(l, b);
    forget_pushes();
  }

  void forget_pushes() {
    late_.lanes = 0;
    late_.patches = group_.places;
    for (BandPatch& p : late_.patches) p.count = 0;
    for (PushPoint& x : late_.points) {
      x = PushPoint{};
      std::fill_n(x.index, kBandLanes, -1);
    }
  }

  std::span<const IslandPatch> patches_of(const BandIsland& island) const {
    return std::span<const IslandPatch>(group_.patches).subspan(island.first_patch, island.patches);
  }

  /// The points of a lane. @param f Is given a point, and the patch that it belongs to.
  template <class F>
  void for_each_point(int lane, F&& f) {
    for (const IslandPatch& p : patches_of(*t_.lane[lane])) {
      const BandPatch& place = group_.places[p.place];
      for (int k = 0; k < p.count; ++k) f(t_.points[place.first + k], p, k);
    }
  }

  /// Bodies, patches and points of an island, with the impulses of the last step.
  void load(int lane) {
    const BandIsland& island = *t_.lane[lane];
    const std::int32_t* bodies = group_.bodies.data() + island.first_body;
    const Vec3 origin = vector(batch_.bodies[bodies[0]].com);
    for (int b = 1; b <= island.bodies; ++b) set_body(batch_.bodies[bodies[b - 1]], origin, lane, t_.body[b]);
    for_each_point(lane, [&](BandPoint& x, const IslandPatch& p, int k) {
      set_point(batch_.points[p.point + k], p.point + k, p.sign, origin, lane, x);
      x.mobility[lane] =
          mobility_of(t_.body[p.body], lane, x) + (p.other ? mobility_of(t_.body[p.other], lane, x) : 0);
      x.inverse_mobility[lane] = 1 / x.mobility[lane];
    });
  }

  /// Leaves nothing of an island in its lane but what `next` overwrites; null: nothing at all.
  void clear(int lane, const BandIsland& island, const BandIsland* next) {
    std::span<const IslandPatch> kept;
    if (next) kept = patches_of(*next);
    for (const IslandPatch& p : patches_of(island)) {
      while (!kept.empty() && kept[0].place < p.place) kept = kept.subspan(1);
      const int from = !kept.empty() && kept[0].place == p.place ? kept[0].count : 0;
      const int first = group_.places[p.place].first;
      for (int k = first + from; k < first + p.count; ++k) set_idle(lane, t_.points[k]);
    }
    for (int b = (next ? next->bodies : 0) + 1; b <= island.bodies; ++b) set_idle(lane, t_.body[b]);
  }

  /// @return Whether anything is.
  bool find_what_is_at_work() {
    t_.bodies = t_.band = 0;
    t_.patches.clear();
    std::array<std::span<const IslandPatch>, kBandLanes> left{};
    for (int l = 0; l < kBandLanes; ++l) {
      if (!t_.lane[l]) continue;
      t_.bodies = std::max(t_.bodies, t_.lane[l]->bodies);
      t_.band = std::max(t_.band, t_.lane[l]->band);
      left[l] = patches_of(*t_.lane[l]);
    }
    for (std::int32_t place = 0; place < static_cast<std::int32_t>(group_.places.size()); ++place) {
      std::int32_t count = 0;
      for (auto& patches : left) {
        if (patches.empty() || patches[0].place != place) continue;
        count = std::max(count, patches[0].count);
        patches = patches.subspan(1);
      }
      if (count == 0) continue;
      t_.patches.push_back(group_.places[place]);
      t_.patches.back().count = count;
    }
    t_.diagonal.resize(t_.bodies + 1);
    t_.below.resize((t_.bodies + 1) * t_.band);
    return t_.bodies > 0;
  }

  void enter(const std::array<bool, kBandLanes>& is_new) {
    if (std::find(is_new.begin(), is_new.end(), true) == is_new.end()) return;
    const ByLane change = residual_in_lanes(t_);
    for (int l = 0; l < kBandLanes; ++l)
      if (is_new[l]) newton_.enter(l, goal_of(*t_.lane[l]->island, change[l]));
  }

  /// What is asked of an island, with the residual `change` that the last step's impulses leave.
  static BandGoal goal_of(const RigidIsland& island, double change) {
    KnownMotion known = island.known;
    known.change = change;
    return {loose_goal(known)};
  }

  void hand_back(int lane) {
    RigidIsland& island = *t_.lane[lane]->island;
    report(newton_.result(lane), island);
    if (!newton_.result(lane).solved || energy_given(lane) > 0) return;
    island.solved = true;
    scatter(lane);
    answer(lane);
    push_apart(lane);
  }

  static void report(const BandGoal& result, RigidIsland& island) {
    island.report = {.backend = Backend::kBandedLanes,
                     .method = Method::kNewton,
                     .residual = result.residual,
                     .target = result.target,
                     .promised = island.known.exact};
    island.report.newton_iterations = result.solves;
    grade(1, kMostSolvesOfAll, island.report);
    if (!result.solved || island.report.status == Status::kConverged) return;
    island.report.status =
        Status::kAccepted;  // as loose_goal() has it, above the target that ends it at once
    island.report.ending = Ending::kAccuracy;
  }

  /// Energy that the impulses give, relative to those of free motion; never positive where they are solved.
  double energy_given(int lane) {
    double sum = 0;
    for_each_point(lane, [&](const BandPoint& x, const IslandPatch& p, int) {
      Motion m = motion_of(p.body, lane);
      if (p.other) {
        const Motion other = motion_of(p.other, lane);
        m.v -= other.v, m.w -= other.w;
      }
      const Vec3 u = m.v + m.w.cross(get(x.at, lane));
      const double along[3] = {u.dot(get(x.normal, lane)), u.dot(get(x.tangent[0], lane)),
                               u.dot(get(x.tangent[1], lane))};
      for (int k = 0; k < 3; ++k) sum += x.impulse[k][lane] * (x.given[k][lane] + 0.5 * along[k]);
    });
    return sum;
  }

  struct Motion {
    Vec3 v, w;
  };
  /// By impulses, about the island's origin; 0: what does not move.
  Motion motion_of(int body, int lane) const {
    const BandMotion &m = t_.motion[body], &e = t_.error[body];
    return {get(m.v, lane) - get(e.v, lane), get(m.w, lane) - get(e.w, lane)};
  }

  /// Impulses and velocities of rows.
  void scatter(int lane) {
    for (const IslandPatch& p : patches_of(*t_.lane[lane])) {
      Motion m = motion_of(p.body, lane);
      if (p.other) {
        const Motion other = motion_of(p.other, lane);
        m.v -= other.v, m.w -= other.w;
      }
      const int first = group_.places[p.place].first;
      for (int k = first; k < first + p.count; ++k) scatter_point(t_.points[k], lane, m);
    }
  }

  void scatter_point(const BandPoint& x, int lane, const Motion& m) {
    RigidPoint& to = batch_.points[x.index[lane]];
    const Vec3 u = m.v + m.w.cross(get(x.at, lane));
    const double along[3] = {u.dot(get(x.normal, lane)), u.dot(get(x.tangent[0], lane)),
                             u.dot(get(x.tangent[1], lane))};
    for (int k = 0; k < 3; ++k) {
      to.impulse[k] = x.impulse[k][lane];
      to.velocity[k] = x.given[k][lane] + along[k];
    }
    to.mobility = x.mobility[lane];
    to.push = 0;
  }

  /// Velocities of the bodies.
  void answer(int lane) {
    const BandIsland& island = *t_.lane[lane];
    for (int b = 1; b <= island.bodies; ++b) {
      RigidBody& body = batch_.bodies[group_.bodies[island.first_body + b - 1]];
      const Motion m = motion_of(b, lane);
      Map<Vec3>(body.v) = m.v + m.w.cross(get(t_.body[b].com, lane));
      Map<Vec3>(body.w) = m.w;
    }
  }

  double gap_at(const BandPoint& x, int lane) const {
    const RigidPoint& p = batch_.points[x.index[lane]];
    const double along = p.velocity[0] - p.bias;
    return settings_.correction.gap(p.error, along);
  }

  /// Corrects positions as position_correction.h (1), as soon as that is needed in all lanes.
  void push_apart(int lane) {
    if (!settings_.correction.wanted) return;
    bool needed = false;
    for_each_point(lane, [&](const BandPoint& x, const IslandPatch&, int) {
      needed = needed || settings_.correction.is_too_deep(gap_at(x, lane));
    });
    if (!needed) return;
    t_.lane[lane]->island->corrected = true;
    copy_to_pushes(lane);
    if (++late_.lanes == kBandLanes) push_late();
  }

  void copy_to_pushes(int lane) {
    const int to_lane = late_.lanes;
    for (int b = 1; b <= t_.lane[lane]->bodies; ++b) {
      const BandBody& from = t_.body[b];
      BandBody& to = late_.body[b];
      copy(from.com, lane, to.com, to_lane);
      to.inverse_mass[to_lane] = from.inverse_mass[lane];
      for (int k = 0; k < 6; ++k) to.inverse_inertia[k][to_lane] = from.inverse_inertia[k][lane];
    }
    for_each_point(lane, [&](const BandPoint& x, const IslandPatch& p, int k) {
      late_.patches[p.place].count = std::max(late_.patches[p.place].count, p.count);
      PushPoint& to = late_.points[late_.patches[p.place].first + k];
      const double gap = gap_at(x, lane);
      to.index[to_lane] = x.index[lane];
      copy(x.normal, lane, to.normal, to_lane);
      copy(x.at, lane, to.at, to_lane);
      to.gap[to_lane] = settings_.correction.undone(gap);
    });
  }

  /// Corrects the positions of all that wait for it.
  void push_late() {
    constexpr int kSweeps = 10;
    if (late_.lanes == 0) return;
    push_in_lanes(late_, kSweeps);
    for (const PushPoint& x : late_.points)
      for (int l = 0; l < late_.lanes; ++l)
        if (x.index[l] >= 0) batch_.points[x.index[l]].push = x.push[l];
    forget_pushes();
  }

  RigidBatch& batch_;
  const RigidSettings& settings_;
  const BandGroup& group_;
  Band& t_;
  BandPushes& late_;
  BandedNewton newton_;
};

}  // namespace

void solve_in_lanes(RigidBatch& batch, const RigidSettings& settings, BandMemory& memory) {
  BandGroup& group = memory.group;
  group.islands.clear();
  group.bodies.clear();
  group.patches.clear();
  const bool forced = settings.backend == RigidBackend::kBandedNewton;
  for (RigidIsland& island : batch.islands)
    if (forced || may_be_banded(island.bodies))
      list_island(batch.points, island, forced ? kWidestBand : kMostBand, group);
  if (group.islands.empty()) return;
  find_places(group);
  Work(batch, settings, memory).run();
}

}  // namespace karakuri::solver
