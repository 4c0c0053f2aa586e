#include "solver/lane_sweeps.h"

#include <algorithm>
#include <cmath>

namespace karakuri::solver {

namespace {

/// Points of an island by pairs of bodies.
void list_patches(std::span<const RigidPoint> points, LaneSweeps& s) {
  constexpr int kMostPoints = 4;
  s.patches.clear();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::int32_t body = points[i].body, other = points[i].other;
    const bool same = !s.patches.empty() && s.patches.back().body == body &&
                      s.patches.back().other == other && s.patches.back().count < kMostPoints;
    if (same)
      ++s.patches.back().count;
    else
      s.patches.push_back({body, other, static_cast<std::int32_t>(i), 1, 0, 0});
  }
}

bool shares_body(const SweptGroup& g, const SweptPatch& p, int lanes) {
  for (int k = 0; k < lanes; ++k) {
    if (p.body && (g.body[k] == p.body || g.other[k] == p.body)) return true;
    if (p.other && (g.body[k] == p.other || g.other[k] == p.other)) return true;
  }
  return false;
}

/// A lane for every patch, in the first of a few groups that takes it. Until points are numbered `first`
/// counts lanes.
void form_groups(LaneSweeps& s) {
  constexpr std::size_t kMostOpen = 8;
  s.groups.clear();
  s.open.clear();
  for (SweptPatch& p : s.patches) {
    const auto takes = [&](std::int32_t g) { return !shares_body(s.groups[g], p, s.groups[g].first); };
    auto at = std::find_if(s.open.begin(), s.open.end(), takes);
    if (at == s.open.end()) {
      if (s.open.size() == kMostOpen) s.open.erase(s.open.begin());
      s.open.push_back(static_cast<std::int32_t>(s.groups.size()));
      s.groups.push_back(SweptGroup{});
      at = s.open.end() - 1;
    }
    SweptGroup& g = s.groups[*at];
    p.group = *at;
    p.lane = g.first++;
    g.body[p.lane] = p.body;
    g.other[p.lane] = p.other;
    g.count = std::max(g.count, p.count);
    if (g.first == kSweepLanes) s.open.erase(at);
  }
}

void set(Eight3& to, int lane, const double* v) { to.x[lane] = v[0], to.y[lane] = v[1], to.z[lane] = v[2]; }

void set_difference(Eight3& to, int lane, const double* a, const double* b) {
  to.x[lane] = a[0] - b[0], to.y[lane] = a[1] - b[1], to.z[lane] = a[2] - b[2];
}

/// Groups are zero where a lane has no body, or one that does not move.
void set_bodies(std::span<const RigidBody> bodies, SweptGroup& g) {
  for (int lane = 0; lane < kSweepLanes; ++lane) {
    if (const int b = g.body[lane]; b > 0) {
      g.inverse_mass[lane] = 1 / bodies[b - 1].mass;
      for (int k = 0; k < 6; ++k) g.inertia[k][lane] = bodies[b - 1].inverse_inertia[k];
    }
    if (const int b = g.other[lane]; b > 0) {
      g.other_inverse_mass[lane] = 1 / bodies[b - 1].mass;
      for (int k = 0; k < 6; ++k) g.other_inertia[k][lane] = bodies[b - 1].inverse_inertia[k];
    }
  }
}

/// The last step's impulse, inside its cone.
void set_impulse(const double* lambda, int lane, SweptPoint& x) {
  const double n = std::max(0.0, lambda[0]), t = std::sqrt(lambda[1] * lambda[1] + lambda[2] * lambda[2]);
  const double most = x.friction[lane] * n, scale = t > most ? most / t : 1;
  x.impulse[0][lane] = n;
  x.impulse[1][lane] = scale * lambda[1];
  x.impulse[2][lane] = scale * lambda[2];
}

void set_point(std::span<const RigidBody> bodies, const RigidPoint& from, int index, int lane,
               SweptPoint& x) {
  x.index[lane] = index;
  set(x.normal, lane, from.axes[0]);
  for (int k = 0; k < 2; ++k) set(x.tangent[k], lane, from.axes[1 + k]);
  if (from.body) set_difference(x.arm, lane, from.at, bodies[from.body - 1].com);
  if (from.other) set_difference(x.other_arm, lane, from.at, bodies[from.other - 1].com);
  for (int k = 0; k < 3; ++k) x.velocity[k][lane] = from.given[k];
  x.friction[lane] = from.friction;
  set_impulse(from.impulse, lane, x);
}

/// Patches, points and bodies of an island, with the impulses of the last step.
void gather(std::span<const RigidBody> bodies, std::span<const RigidPoint> points, LaneSweeps& s) {
  list_patches(points, s);
  form_groups(s);
  int count = 0;
  for (SweptGroup& g : s.groups) {
    set_bodies(bodies, g);
    g.first = count;
    count += g.count;
  }
  s.points.assign(count, SweptPoint{});
  for (SweptPoint& x : s.points) std::fill_n(x.index, kSweepLanes, -1);
  for (const SweptPatch& p : s.patches) {
    for (int k = 0; k < p.count; ++k)
      set_point(bodies, points[p.point + k], p.point + k, p.lane, s.points[s.groups[p.group].first + k]);
  }
}

/// Calls f(x, lane, point) for each point of the island.
template <class F>
void for_each_point(LaneSweeps& s, std::span<RigidPoint> points, F&& f) {
  for (SweptPoint& x : s.points)
    for (int lane = 0; lane < kSweepLanes; ++lane)
      if (x.index[lane] >= 0) f(x, lane, points[x.index[lane]]);
}

/// Energy that the impulses give, relative to those of free motion; never positive where they are solved.
double energy_given(LaneSweeps& s, std::span<RigidPoint> points) {
  double sum = 0;
  for_each_point(s, points, [&](const SweptPoint& x, int lane, const RigidPoint& p) {
    for (int k = 0; k < 3; ++k) sum += 0.5 * x.impulse[k][lane] * (x.velocity[k][lane] + p.given[k]);
  });
  return sum;
}

void hand_back(LaneSweeps& s, std::span<RigidPoint> points, std::span<RigidBody> bodies) {
  for_each_point(s, points, [](const SweptPoint& x, int lane, RigidPoint& p) {
    for (int k = 0; k < 3; ++k) p.impulse[k] = x.impulse[k][lane], p.velocity[k] = x.velocity[k][lane];
    p.mobility = x.mobility[lane];
    p.push = 0;
  });
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    std::copy_n(s.motion[b + 1].v, 3, bodies[b].v);
    std::copy_n(s.motion[b + 1].w, 3, bodies[b].w);
  }
}

/// @pre velocities are handed back. @return Whether anything is corrected.
bool correct_positions(const PositionCorrection& correction, LaneSweeps& s, std::span<RigidPoint> points) {
  constexpr int kSweeps = 10;
  if (!correction.wanted) return false;
  bool needed = false;
  for_each_point(s, points, [&](SweptPoint& x, int lane, const RigidPoint& p) {
    const double along = p.velocity[0] - p.bias, gap = correction.gap(p.error, along);
    needed = needed || correction.is_too_deep(gap);
    x.gap[lane] = correction.undone(gap);
  });
  if (!needed) return false;
  sweep_positions(s, kSweeps);
  for_each_point(s, points, [](const SweptPoint& x, int lane, RigidPoint& p) { p.push = x.push[lane]; });
  return true;
}

/// Multiplications, about, of a sweep: lanes that are empty take as long.
double cost_of_sweep(const LaneSweeps& s) {
  constexpr double kPoint = 300;
  return kPoint * kSweepLanes * static_cast<double>(s.points.size());
}

/// Sweeps until the residual is below the target, which is measured after 10, 20, 40, ... sweeps, or the work
/// of the island is spent.
void sweep_to_target(double max_work, int max_sweeps, LaneSweeps& s, Report& report) {
  constexpr int kFirst = 10;
  const double cost = cost_of_sweep(s);
  const auto has_work = [&] {
    report.out_of_work = report.out_of_work || report.work + cost > max_work;
    return !report.out_of_work;
  };
  // a round may end after its first sweep, so that there are as many rounds as sweeps: `last` must not
  // overflow
  for (int last = std::min(kFirst, max_sweeps);
       report.residual > report.target && report.sweeps < max_sweeps && has_work();
       last = last > max_sweeps / 2 ? max_sweeps : 2 * last) {
    for (double change = kInfinity; report.sweeps < last && change > report.target && has_work();
         ++report.sweeps, report.work += cost)
      change = sweep(s);
    report.residual = residual_of(s);
  }
}

}  // namespace

void sweep_in_lanes(RigidBatch& batch, RigidIsland& island, const RigidSettings& settings, LaneSweeps& s) {
  const std::span<RigidBody> bodies = batch.bodies_of(island);
  const std::span<RigidPoint> points = batch.points_of(island);
  gather(bodies, points, s);
  begin(bodies.size() + 1, s);
  KnownMotion known = island.known;
  known.change = residual_of(s);
  island.report = {.backend = Backend::kSweptLanes,
                   .method = Method::kBlock,
                   .residual = known.change,
                   .promised = known.exact};
  const bool forced = settings.backend == RigidBackend::kLaneSweeps;
  if (!forced && !tumbles(known)) return;
  island.report.target = forced ? known.exact : tumbling_target(known);
  sweep_to_target(island.max_work, settings.max_sweeps, s, island.report);
  grade(settings.max_sweeps, 1, island.report);
  const double left = island.report.residual;
  if (forced ? !(left <= island.report.target) : !is_enough_of_sweeps(known, left)) return;
  find_velocities(s);
  if (energy_given(s, points) > 0) return;
  hand_back(s, points, bodies);
  island.solved = true;
  island.corrected = correct_positions(settings.correction, s, points);
}

}  // namespace karakuri::solver
