#include "world/towers.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "world/assemble.h"
#include "world/correct_positions.h"
#include "world/heap.h"
#include "world/impl.h"

namespace karakuri::world_detail {

namespace {

constexpr int kMostBodies = 24;
constexpr int kGroup = 32;  // islands that take turns: their number must not depend on that of threads

void set(Tower3& to, int lane, const Vec3& v) { to.x[lane] = v.x(), to.y[lane] = v.y(), to.z[lane] = v.z(); }
void set(Tower* to, int lane, const Mat3& I) {
  to[0][lane] = I(0, 0), to[1][lane] = I(1, 1), to[2][lane] = I(2, 2);
  to[3][lane] = I(0, 1), to[4][lane] = I(0, 2), to[5][lane] = I(1, 2);
}
Vec3 get(const Tower3& from, int lane) { return {from.x[lane], from.y[lane], from.z[lane]}; }
void copy(const Tower3& from, int lane, Tower3& to, int to_lane) { set(to, to_lane, get(from, lane)); }

Vec3 centre_of_mass(const World::Impl& w, int body) {
  const FreeBody& free = w.model.free_bodies[w.model.bodies[body].extra];
  return Vec3(w.ws.pose[body].p) + Mat3(w.ws.pose[body].R) * Vec3(free.com);
}

void set_body(const World::Impl& w, int body, const Vec3& origin, int lane, TowerBody& to) {
  const FreeBody& free = w.model.free_bodies[w.model.bodies[body].extra];
  const Mat3 axes = Mat3(w.ws.pose[body].R) * Mat3(free.axes);
  const Vec3 c = centre_of_mass(w, body) - origin;
  const double m = w.model.bodies[body].mass;
  const Mat3 I = axes * Vec3(free.moments).asDiagonal() * axes.transpose();
  to.index[lane] = body;
  set(to.com, lane, c);
  to.mass[lane] = m;
  to.inverse_mass[lane] = 1 / m;
  set(to.inertia, lane, I + m * (c.squaredNorm() * Mat3::Identity() - c * c.transpose()));
  set(to.inverse_inertia, lane, axes * Vec3(free.inverse_moments).asDiagonal() * axes.transpose());
}

/// A body that nothing touches.
void set_idle(int lane, TowerBody& to) {
  to.index[lane] = -1;
  set(to.com, lane, Vec3::Zero());
  to.mass[lane] = to.inverse_mass[lane] = 1;
  set(to.inertia, lane, Mat3::Identity());
  set(to.inverse_inertia, lane, Mat3::Identity());
}

/// A point that is never touched.
void set_idle(int lane, TowerPoint& x) {
  x.block[lane] = -1;
  for (Tower3* v : {&x.normal, &x.tangent[0], &x.tangent[1], &x.at}) set(*v, lane, Vec3::Zero());
  for (int k = 0; k < 3; ++k) x.given[k][lane] = x.impulse[k][lane] = x.centre[k][lane] = 0;
  x.friction[lane] = 0;
  x.mobility[lane] = x.inverse_mobility[lane] = 1;
}

/// The last step's impulse, inside its cone.
void set_impulse(const double* lambda, int lane, TowerPoint& x) {
  const double n = std::max(0.0, lambda[0]), t = std::sqrt(lambda[1] * lambda[1] + lambda[2] * lambda[2]);
  const double most = x.friction[lane] * n, scale = t > most ? most / t : 1;
  x.impulse[0][lane] = n;
  x.impulse[1][lane] = scale * lambda[1];
  x.impulse[2][lane] = scale * lambda[2];
}

/// Mean velocity of the body's point by unit impulses along three axes: the trace of 1/m + [r]xᵀ I⁻¹ [r]x.
double mobility_of(const TowerBody& b, int lane, const TowerPoint& x) {
  const double rx = x.at.x[lane] - b.com.x[lane], ry = x.at.y[lane] - b.com.y[lane],
               rz = x.at.z[lane] - b.com.z[lane];
  const auto I = [&](int k) { return b.inverse_inertia[k][lane]; };
  const double along = I(0) * rx * rx + I(1) * ry * ry + I(2) * rz * rz +
                       2 * (I(3) * rx * ry + I(4) * rx * rz + I(5) * ry * rz);
  return b.inverse_mass[lane] + ((rx * rx + ry * ry + rz * rz) * (I(0) + I(1) + I(2)) - along) / 3;
}

void set_point(const World::Impl& w, int index, double sign, const Vec3& origin, int lane, TowerPoint& x) {
  const int row = w.rows.blocks[index].row;
  const ImpulseRow* rows = w.rows.impulses.data() + row;
  x.block[lane] = index;
  set(x.normal, lane, sign * rows[0].force);
  for (int k = 0; k < 2; ++k) set(x.tangent[k], lane, sign * rows[1 + k].force);
  set(x.at, lane, rows[0].point - origin);
  for (int k = 0; k < 3; ++k) x.given[k][lane] = w.row_free[row + k] + w.rows.bias[row + k];
  x.friction[lane] = w.rows.friction[row + 1];
  set_impulse(w.rows.lambda.data() + row, lane, x);
}

/// One thread's work on a group.
class Work {
 public:
  Work(World::Impl& w, Slot& slot, double h)
      : w_(w),
        slot_(slot),
        group_(slot.towers->group),
        t_(slot.towers->towers),
        late_(slot.towers->pushes),
        h_(h),
        newton_(t_, -h * Vec3(w.model.gravity)) {}

  void run() {
    make_room();
    make_room_for_pushes();
    std::size_t next = 0;
    for (;;) {
      std::array<bool, kTowerLanes> is_new{};
      for (int l = 0; l < kTowerLanes; ++l) {
        if (!newton_.is_over(l)) continue;
        const TowerIsland *before = t_.lane[l],
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
    for (int l = 0; l < kTowerLanes; ++l) {
      for (TowerBody& b : t_.body) set_idle(l, b);
      for (TowerPoint& x : t_.points) set_idle(l, x);
    }
  }

  void make_room_for_pushes() {
    const std::size_t bodies = group_.most_bodies + 1;
    late_.lanes = 0;
    late_.body.resize(bodies);
    late_.motion.resize(bodies);
    late_.points.resize(group_.points);
    for (TowerBody& b : late_.body)
      for (int l = 0; l < kTowerLanes; ++l) set_idle(l, b);
    forget_pushes();
  }

  void forget_pushes() {
    late_.lanes = 0;
    late_.patches = group_.places;
    for (TowerPatch& p : late_.patches) p.count = 0;
    for (PushPoint& x : late_.points) {
      x = PushPoint{};
      std::fill_n(x.block, kTowerLanes, -1);
    }
  }

  std::span<const IslandPatch> patches_of(const TowerIsland& island) const {
    return std::span<const IslandPatch>(group_.patches).subspan(island.first_patch, island.patches);
  }

  /// The points of a lane. @param f Is given a point, and the patch that it belongs to.
  template <class F>
  void for_each_point(int lane, F&& f) {
    for (const IslandPatch& p : patches_of(*t_.lane[lane])) {
      const TowerPatch& place = group_.places[p.place];
      for (int k = 0; k < p.count; ++k) f(t_.points[place.first + k], p, k);
    }
  }

  /// Bodies, patches and points of an island, with the impulses of the last step.
  void load(int lane) {
    const TowerIsland& island = *t_.lane[lane];
    const std::int32_t* bodies = group_.bodies.data() + island.first_body;
    const Vec3 origin = centre_of_mass(w_, bodies[0]);
    for (int b = 1; b <= island.bodies; ++b) set_body(w_, bodies[b - 1], origin, lane, t_.body[b]);
    for_each_point(lane, [&](TowerPoint& x, const IslandPatch& p, int k) {
      const int index = w_.island_blocks[island.island->first_block + p.block + k];
      set_point(w_, index, p.sign, origin, lane, x);
      x.mobility[lane] =
          mobility_of(t_.body[p.body], lane, x) + (p.other ? mobility_of(t_.body[p.other], lane, x) : 0);
      x.inverse_mobility[lane] = 1 / x.mobility[lane];
    });
  }

  /// Leaves nothing of an island in its lane but what `next` overwrites; null: nothing at all.
  void clear(int lane, const TowerIsland& island, const TowerIsland* next) {
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
    std::array<std::span<const IslandPatch>, kTowerLanes> left{};
    for (int l = 0; l < kTowerLanes; ++l) {
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

  void enter(const std::array<bool, kTowerLanes>& is_new) {
    if (std::find(is_new.begin(), is_new.end(), true) == is_new.end()) return;
    const ByLane change = residual_of_towers(t_);
    for (int l = 0; l < kTowerLanes; ++l)
      if (is_new[l]) newton_.enter(l, goal_of(*t_.lane[l]->island, change[l]));
  }

  /// What is asked of an island, with the residual `change` that the last step's impulses leave.
  TowerGoal goal_of(const Island& island, double change) const {
    solver::KnownMotion known = known_motion(w_, island, island.motion, h_);
    known.change = change;
    return {solver::loose_goal(known)};
  }

  void hand_back(int lane) {
    if (!newton_.result(lane).solved || energy_given(lane) > 0) return;
    report(newton_.result(lane), *t_.lane[lane]->island);
    scatter(lane);
    answer(lane);
    push_apart(lane);
  }

  static void report(const TowerGoal& result, Island& island) {
    island.report = {.method = solver::Method::kNewton, .residual = result.residual, .target = result.target};
    island.report.newton_iterations = result.solves;
    if (!(result.residual <= result.target)) island.report.status = solver::Status::kIterationLimit;
    island.refused = false;
    island.solved = island.answered = true;
  }

  /// Energy that the impulses give, relative to those of free motion; never positive where they are solved.
  double energy_given(int lane) {
    double sum = 0;
    for_each_point(lane, [&](const TowerPoint& x, const IslandPatch& p, int) {
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
  /// By impulses, about the island's origin; 0: the world.
  Motion motion_of(int body, int lane) const {
    const TowerMotion &m = t_.motion[body], &e = t_.error[body];
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

  void scatter_point(const TowerPoint& x, int lane, const Motion& m) {
    const RowBlock& block = w_.rows.blocks[x.block[lane]];
    const Vec3 u = m.v + m.w.cross(get(x.at, lane));
    const double along[3] = {u.dot(get(x.normal, lane)), u.dot(get(x.tangent[0], lane)),
                             u.dot(get(x.tangent[1], lane))};
    for (int k = 0; k < 3; ++k) {
      w_.rows.lambda[block.row + k] = x.impulse[k][lane];
      w_.row_velocity[block.row + k] = x.given[k][lane] + along[k] - w_.rows.bias[block.row + k];
    }
    w_.contacts[block.index].mobility = x.mobility[lane];
  }

  /// Velocities of the bodies.
  void answer(int lane) {
    for (int b = 1; b <= t_.lane[lane]->bodies; ++b) {
      const TowerBody& body = t_.body[b];
      const Motion m = motion_of(b, lane);
      answer_free_body(w_, body.index[lane], m.v + m.w.cross(get(body.com, lane)), m.w);
    }
  }

  double gap_at(const TowerPoint& x, int lane) const {
    const int row = w_.rows.blocks[x.block[lane]].row;
    return w_.rows.error[row] + h_ * w_.row_velocity[row] + w_.settings.stabilization.slop;
  }

  /// Corrects positions as solve_islands.cc (3), as soon as that is needed in all lanes.
  void push_apart(int lane) {
    const StabilizationSettings& st = w_.settings.stabilization;
    if (st.kind != Stabilization::kPosition) return;
    bool needed = false;
    for_each_point(lane, [&](const TowerPoint& x, const IslandPatch&, int) {
      needed = needed || gap_at(x, lane) < -0.5 * st.slop;
    });
    if (!needed) return;
    copy_to_pushes(lane);
    if (++late_.lanes == kTowerLanes) push_late();
  }

  void copy_to_pushes(int lane) {
    const StabilizationSettings& st = w_.settings.stabilization;
    const int to_lane = late_.lanes;
    for (int b = 1; b <= t_.lane[lane]->bodies; ++b) {
      const TowerBody& from = t_.body[b];
      TowerBody& to = late_.body[b];
      copy(from.com, lane, to.com, to_lane);
      to.inverse_mass[to_lane] = from.inverse_mass[lane];
      for (int k = 0; k < 6; ++k) to.inverse_inertia[k][to_lane] = from.inverse_inertia[k][lane];
    }
    for_each_point(lane, [&](const TowerPoint& x, const IslandPatch& p, int k) {
      late_.patches[p.place].count = std::max(late_.patches[p.place].count, p.count);
      PushPoint& to = late_.points[late_.patches[p.place].first + k];
      const double gap = gap_at(x, lane);
      to.block[to_lane] = x.block[lane];
      copy(x.normal, lane, to.normal, to_lane);
      copy(x.at, lane, to.at, to_lane);
      to.gap[to_lane] = undone(st, gap, h_);
    });
  }

  /// Corrects the positions of all that wait for it.
  void push_late() {
    constexpr int kSweeps = 10;
    if (late_.lanes == 0) return;
    push_towers(late_, kSweeps);
    for (const PushPoint& x : late_.points)
      for (int l = 0; l < late_.lanes; ++l)
        if (x.block[l] >= 0) w_.correction[w_.rows.blocks[x.block[l]].row] = x.push[l];
    forget_pushes();
    slot_.corrected = true;
  }

  World::Impl& w_;
  Slot& slot_;
  const TowerGroup& group_;
  Towers& t_;
  TowerPushes& late_;
  double h_;
  TowerNewton newton_;
};

void solve_group(World::Impl& w, std::span<const std::int32_t> islands, Slot& slot, double h) {
  TowerGroup& group = slot.towers->group;
  group.islands.clear();
  group.bodies.clear();
  group.patches.clear();
  for (const std::int32_t i : islands) list_island(w, w.islands[i], slot, group);
  find_places(group);
  Work(w, slot, h).run();
}

}  // namespace

std::shared_ptr<TowerScratch> make_tower_scratch() { return std::make_shared<TowerScratch>(); }

void solve_towers(World::Impl& w, double h) {
  const WorldSettings& s = w.settings;
  if (s.contact != ContactModel::kCone || s.solver != solver::Method::kDefault) return;
  w.tower_islands.clear();
  for (std::size_t i = 0; i < w.islands.size(); ++i) {
    Island& island = w.islands[i];
    if (island.solved || island.trees > kMostBodies || !is_heap(w, island)) continue;
    island.motion = size_of_motion(w, island, h);
    w.tower_islands.push_back(static_cast<std::int32_t>(i));
  }
  std::sort(w.tower_islands.begin(), w.tower_islands.end(), [&](int a, int b) {  // lanes shrink on the way
    return std::pair(-w.islands[a].trees, a) < std::pair(-w.islands[b].trees, b);
  });
  const int count = static_cast<int>(w.tower_islands.size());
  w.parallel.for_each((count + kGroup - 1) / kGroup, [&](int i, int slot) {
    const std::span<const std::int32_t> all = w.tower_islands;
    solve_group(w, all.subspan(kGroup * i, std::min(kGroup, count - kGroup * i)), w.slots[slot], h);
  });
}

}  // namespace karakuri::world_detail
