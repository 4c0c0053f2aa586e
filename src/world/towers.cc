#include "world/towers.h"

#include <algorithm>
#include <cmath>

#include "world/assemble.h"
#include "world/heap.h"
#include "world/impl.h"

namespace karakuri::world_detail {

namespace {

using Goals = std::array<TowerGoal, kTowerLanes>;

constexpr int kMostBand = 3;  // 6 x 6 blocks beside the diagonal
constexpr int kMostBodies = 24;
constexpr int kMostPoints = 4;  // of a patch

/// The islands of one batch.
struct Batch {
  std::array<Island*, kTowerLanes> island{};
};

int block_index(const World::Impl& w, const Island& island, int b) {
  return w.island_blocks[island.first_block + b];
}

/// Bodies in the order of their first contact; patches between them.
void list_patches(const World::Impl& w, const Island& island, Slot& slot, int lane, Towers& t) {
  std::vector<LanePatch>& patches = t.lane_patches[lane];
  patches.clear();
  t.lane_bodies.assign(1, 0);
  const auto place_of = [&](int body) {
    const int tree = w.tree_of[body];
    if (tree < 0) return 0;
    std::int32_t& place = slot.tree_subsystem[tree];
    if (place < 0) {
      place = static_cast<std::int32_t>(t.lane_bodies.size());
      t.lane_bodies.push_back(body);
    }
    return place;
  };
  for (int b = 0; b < island.block_count; ++b) {
    const ImpulseRow& row = w.rows.impulses[w.rows.blocks[block_index(w, island, b)].row];
    const int body = place_of(row.body), other = place_of(row.other);
    const bool same = !patches.empty() && patches.back().body == body && patches.back().other == other &&
                      patches.back().count < kMostPoints;
    if (same)
      ++patches.back().count;
    else
      patches.push_back({body, other, b, 1, 1});
  }
  for (std::size_t i = 1; i < t.lane_bodies.size(); ++i)
    slot.tree_subsystem[w.tree_of[t.lane_bodies[i]]] = -1;
}

/// order ← bodies by their distance from the world (Cuthill and McKee), place ← the inverse.
void order_bodies(const std::vector<LanePatch>& patches, Towers& t) {
  const std::int32_t count = static_cast<std::int32_t>(t.lane_bodies.size());
  t.place.assign(count, -1);
  t.order.assign(1, 0);
  t.place[0] = 0;
  for (std::size_t next = 0; t.order.size() < static_cast<std::size_t>(count); ++next) {
    if (next == t.order.size()) {  // nothing that moves touches the world
      t.place[1] = static_cast<std::int32_t>(t.order.size());
      t.order.push_back(1);
    }
    for (const LanePatch& p : patches) {
      for (const auto [from, to] : {std::pair(p.body, p.other), std::pair(p.other, p.body)}) {
        if (from != t.order[next] || t.place[to] >= 0) continue;
        t.place[to] = static_cast<std::int32_t>(t.order.size());
        t.order.push_back(to);
      }
    }
  }
}

/// Patches by places, in their order. @return Largest distance between two bodies that touch.
int sort_patches(const Towers& t, std::vector<LanePatch>& patches) {
  int band = 0;
  for (LanePatch& p : patches) {
    p.body = t.place[p.body];
    p.other = t.place[p.other];
    if (p.body < p.other) std::swap(p.body, p.other), p.sign = -1;
    if (p.other > 0) band = std::max(band, p.body - p.other);
  }
  std::sort(patches.begin(), patches.end(), [](const LanePatch& a, const LanePatch& b) {
    return std::tie(a.body, a.other, a.block) < std::tie(b.body, b.other, b.block);
  });
  return band;
}

void set(Tower3& to, int lane, const Vec3& v) { to.x[lane] = v.x(), to.y[lane] = v.y(), to.z[lane] = v.z(); }
void set(Tower* to, int lane, const Mat3& I) {
  to[0][lane] = I(0, 0), to[1][lane] = I(1, 1), to[2][lane] = I(2, 2);
  to[3][lane] = I(0, 1), to[4][lane] = I(0, 2), to[5][lane] = I(1, 2);
}

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

/// The last step's impulse, inside its cone.
void set_impulse(const double* lambda, int lane, TowerPoint& x) {
  const double n = std::max(0.0, lambda[0]), t = std::sqrt(lambda[1] * lambda[1] + lambda[2] * lambda[2]);
  const double most = x.friction[lane] * n, scale = t > most ? most / t : 1;
  x.impulse[0][lane] = n;
  x.impulse[1][lane] = scale * lambda[1];
  x.impulse[2][lane] = scale * lambda[2];
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

/// A place for every patch of every lane: lanes that have a patch between the same bodies share it.
void merge_patches(Towers& t) {
  t.patches.clear();
  std::array<std::size_t, kTowerLanes> next{};
  int points = 0;
  for (;;) {
    const LanePatch* least = nullptr;
    const auto key = [](const LanePatch& p) { return std::pair(p.body, p.other); };
    for (int l = 0; l < kTowerLanes; ++l) {
      if (next[l] == t.lane_patches[l].size()) continue;
      const LanePatch& p = t.lane_patches[l][next[l]];
      if (!least || key(p) < key(*least)) least = &p;
    }
    if (!least) break;
    TowerPatch patch{least->body, least->other, points, 0};
    for (int l = 0; l < kTowerLanes; ++l) {
      if (next[l] == t.lane_patches[l].size()) continue;
      LanePatch& p = t.lane_patches[l][next[l]];
      if (key(p) != std::pair(patch.body, patch.other)) continue;
      patch.count = std::max(patch.count, p.count);
      p.body = static_cast<std::int32_t>(t.patches.size());  // from here on: its place
      ++next[l];
    }
    points += patch.count;
    t.patches.push_back(patch);
  }
  t.points.assign(points, TowerPoint{});
  for (TowerPoint& x : t.points) std::fill_n(x.block, kTowerLanes, -1);
}

/// Bodies, patches and points of all lanes, with the impulses of the last step. A lane whose bodies are too
/// much entangled is left empty.
void gather(const World::Impl& w, Batch& batch, Slot& slot, Towers& t) {
  std::array<Vec3, kTowerLanes> origin;
  t.bodies = t.band = 0;
  for (int l = 0; l < kTowerLanes; ++l) {
    t.lane_patches[l].clear();
    if (!batch.island[l]) continue;
    list_patches(w, *batch.island[l], slot, l, t);
    order_bodies(t.lane_patches[l], t);
    const int band = sort_patches(t, t.lane_patches[l]);
    if (band > kMostBand) {
      batch.island[l] = nullptr;
      t.lane_patches[l].clear();
      continue;
    }
    const int count = static_cast<int>(t.lane_bodies.size()) - 1;
    for (int b = t.bodies + 1; b <= count; ++b) {
      if (static_cast<int>(t.body.size()) <= b) t.body.resize(b + 1);
      for (int k = 0; k < l; ++k) set_idle(k, t.body[b]);
    }
    t.bodies = std::max(t.bodies, count);
    t.band = std::max(t.band, band);
    origin[l] = centre_of_mass(w, t.lane_bodies[t.order[1]]);
    for (int b = 1; b <= count; ++b) set_body(w, t.lane_bodies[t.order[b]], origin[l], l, t.body[b]);
    for (int b = count + 1; b <= t.bodies; ++b) set_idle(l, t.body[b]);
  }
  for (int l = 0; l < kTowerLanes; ++l)
    if (!batch.island[l])
      for (int b = 1; b <= t.bodies; ++b) set_idle(l, t.body[b]);
  merge_patches(t);
  for (int l = 0; l < kTowerLanes; ++l)
    for (const LanePatch& p : t.lane_patches[l])
      for (int k = 0; k < p.count; ++k)
        set_point(w, block_index(w, *batch.island[l], p.block + k), p.sign, origin[l], l,
                  t.points[t.patches[p.body].first + k]);
}

/// Hands impulses and velocities of a lane back.
void scatter(World::Impl& w, const Goals& goals, const Towers& t) {
  for (const TowerPoint& x : t.points) {
    for (int lane = 0; lane < kTowerLanes; ++lane) {
      if (x.block[lane] < 0 || !goals[lane].solved) continue;
      const RowBlock& block = w.rows.blocks[x.block[lane]];
      for (int k = 0; k < 3; ++k) {
        w.rows.lambda[block.row + k] = x.impulse[k][lane];
        w.row_velocity[block.row + k] = x.given[k][lane] - w.rows.bias[block.row + k];
      }
      w.contacts[block.index].mobility = x.mobility[lane];
    }
  }
}

/// Velocities of the bodies, whose motions by impulses stand in `trial`.
void answer(World::Impl& w, const Goals& goals, const Towers& t) {
  for (int b = 1; b <= t.bodies; ++b) {
    const TowerBody& body = t.body[b];
    Tower3 v = lanes::cross(t.trial[b].w, body.com);
    lanes::add(v, t.trial[b].v);
    const Tower3& spin = t.trial[b].w;
    for (int l = 0; l < kTowerLanes; ++l)
      if (goals[l].solved && body.index[l] >= 0)
        answer_free_body(w, body.index[l], {v.x[l], v.y[l], v.z[l]}, {spin.x[l], spin.y[l], spin.z[l]});
  }
}

/// Corrects positions as solve_islands.cc (3).
void push_apart(World::Impl& w, const Goals& goals, Towers& t, Slot& slot, double h) {
  constexpr int kSweeps = 10;
  const StabilizationSettings& st = w.settings.stabilization;
  if (st.kind != Stabilization::kPosition) return;
  std::array<bool, kTowerLanes> needed{};
  for (TowerPoint& x : t.points) {
    for (int lane = 0; lane < kTowerLanes; ++lane) {
      if (x.block[lane] < 0 || !goals[lane].solved) continue;
      const int row = w.rows.blocks[x.block[lane]].row;
      const double gap = w.rows.error[row] + h * w.row_velocity[row] + st.slop;
      needed[lane] = needed[lane] || gap < -0.5 * st.slop;
      x.gap[lane] = gap >= 0 ? gap : std::max(st.erp * gap, -h * st.max_speed);
    }
  }
  if (std::find(needed.begin(), needed.end(), true) == needed.end()) return;
  push_towers(t, kSweeps);
  for (const TowerPoint& x : t.points)
    for (int lane = 0; lane < kTowerLanes; ++lane)
      if (x.block[lane] >= 0 && needed[lane]) w.correction[w.rows.blocks[x.block[lane]].row] = x.push[lane];
  slot.corrected = true;
}

/// What is asked of a lane, with the residual `change` that the last step's impulses leave. What tumbles is
/// solved to a share of its motion, or as far as the first problem goes; all else to the tolerance, or a
/// share of what changes; and what rests so far that it will not begin to move soon.
TowerGoal goal_of(const World::Impl& w, const Island& island, double change, double h) {
  constexpr double kHard = 0.03;        // of what a step of gravity gives
  constexpr double kExactShare = 0.03;  // of the motion, or of what changes
  constexpr double kAtRest = 1e-3;      // of the tolerance
  constexpr double kGood = 1;           // times the motion of what is calm: more would stir it up
  const double unit = std::sqrt(static_cast<double>(island.rows)), fall = h * w.model.gravity.norm() * unit;
  const double least = std::min(island.motion, change), tolerance = w.settings.tolerance * unit;
  const double acceptable = w.settings.acceptable * unit;
  TowerGoal goal{.wanted = true};
  goal.is_hard = change > kHard * fall;
  goal.is_quick = island.motion > kHeapStill * fall && change > kHeapSteady * island.motion;
  if (goal.is_quick) {
    const double most = fall > 0 ? kHeapLeft * fall : solver::kInfinity;
    const bool is_calm = island.motion < kHeapCalm * unit;
    goal.target = std::min(kHeapShare * least, most);
    goal.good = is_calm ? kGood * island.motion : solver::kInfinity;
    goal.enough = is_calm ? most : solver::kInfinity;
  } else if (island.motion > tolerance) {
    goal.target = goal.good = std::max(tolerance, kExactShare * least);
    goal.enough =
        std::max({goal.target, acceptable, island.motion > kHeapStill * fall ? kHeapShare * change : 0});
  } else {
    goal.target = goal.good = kAtRest * tolerance;
    goal.enough = std::max(kAcceptedAtRest * tolerance, acceptable);
  }
  return goal;
}

void report(const TowerGoal& goal, double residual, Island& island) {
  island.report = {.method = solver::Method::kNewton, .residual = residual, .target = goal.target};
  island.report.newton_iterations = goal.solves;
  if (!(residual <= goal.target)) island.report.status = solver::Status::kIterationLimit;
  island.refused = false;
  island.solved = island.answered = true;
}

void solve_batch(World::Impl& w, Batch batch, Slot& slot, double h) {
  Towers& t = *slot.towers;
  gather(w, batch, slot, t);
  begin_towers(t);
  const ByLane change = residual_of_towers(t, false);
  Goals goals;
  for (int l = 0; l < kTowerLanes; ++l)
    if (batch.island[l]) goals[l] = goal_of(w, *batch.island[l], change[l], h);
  for (int l = 0; l < kTowerLanes; ++l) {
    const auto& patches = t.lane_patches[l];
    goals[l].is_carried =
        std::any_of(patches.begin(), patches.end(), [](const LanePatch& p) { return p.other == 0; });
  }
  solve_goals(t, -h * Vec3(w.model.gravity), goals);
  const ByLane residual = residual_of_towers(t, true);
  for (int l = 0; l < kTowerLanes; ++l) {
    goals[l].solved = goals[l].solved && std::isfinite(residual[l]);
    if (goals[l].solved) report(goals[l], residual[l], *batch.island[l]);
  }
  scatter(w, goals, t);
  answer(w, goals, t);
  push_apart(w, goals, t, slot, h);
}

}  // namespace

std::shared_ptr<Towers> make_towers() { return std::make_shared<Towers>(); }

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
  std::sort(w.tower_islands.begin(), w.tower_islands.end(), [&](int a, int b) {
    const Island &x = w.islands[a], &y = w.islands[b];
    return std::tie(x.trees, x.motion, a) < std::tie(y.trees, y.motion, b);
  });
  const int count = static_cast<int>(w.tower_islands.size());
  w.parallel.for_each((count + kTowerLanes - 1) / kTowerLanes, [&](int i, int slot) {
    Batch batch;
    for (int l = 0; l < kTowerLanes && kTowerLanes * i + l < count; ++l)
      batch.island[l] = &w.islands[w.tower_islands[kTowerLanes * i + l]];
    solve_batch(w, batch, w.slots[slot], h);
  });
}

}  // namespace karakuri::world_detail
