// Every point in turn, with the motion v, w of its two bodies at hand:
//   u = u_free + (v + w x r) - (v' + w' x r')                                          (1)
//   λn ← max(0, λn − u_n / W_nn)                                                       (2)
//   λt ← λt − W_tt⁻¹ u_t  where that is inside the cone,                               (3)
//   λt ← P(λt − u_t / ŵ), ŵ the largest eigenvalue of W_tt, else                       (4)
// (4) takes one step length for both tangents: at its fixed points friction opposes slip exactly. Sweeps are
// extrapolated as in gauss_seidel.cc.
#include <algorithm>
#include <cmath>

#include "solver/cone.h"
#include "solver/lane_sweeps.h"

namespace karakuri::solver {

namespace {

using namespace lanes;

using V = Eight;
using Mask = long long __attribute__((vector_size(8 * kSweepLanes)));

/// The two bodies of each lane.
struct Pair {
  Eight3 v, w, other_v, other_w;
};

inline void read(const SweptMotion* m, const std::int32_t* at, Eight3& v, Eight3& w) {
  for (int k = 0; k < kSweepLanes; ++k) {
    const SweptMotion& body = m[at[k]];
    v.x[k] = body.v[0], v.y[k] = body.v[1], v.z[k] = body.v[2];
    w.x[k] = body.w[0], w.y[k] = body.w[1], w.z[k] = body.w[2];
  }
}

inline void write(SweptMotion* m, const std::int32_t* at, const Eight3& v, const Eight3& w) {
  for (int k = 0; k < kSweepLanes; ++k) {
    SweptMotion& body = m[at[k]];
    body.v[0] = v.x[k], body.v[1] = v.y[k], body.v[2] = v.z[k];
    body.w[0] = w.x[k], body.w[1] = w.y[k], body.w[2] = w.z[k];
  }
}

inline Pair read(const SweptGroup& g, const SweptMotion* m) {
  Pair p;
  read(m, g.body, p.v, p.w);
  read(m, g.other, p.other_v, p.other_w);
  return p;
}

inline void write(const SweptGroup& g, const Pair& p, SweptMotion* m) {
  write(m, g.body, p.v, p.w);
  write(m, g.other, p.other_v, p.other_w);
}

/// Relative velocity at a point.
inline Eight3 relative(const Pair& p, const SweptPoint& x) {
  Eight3 u = p.v;
  add(u, cross(p.w, x.arm));
  subtract(u, p.other_v);
  subtract(u, cross(p.other_w, x.other_arm));
  return u;
}

inline void velocity_of(const Pair& p, const SweptPoint& x, V* u) {
  const Eight3 all_axes = relative(p, x);
  u[0] = x.velocity[0] + dot(x.normal, all_axes);
  for (int k = 0; k < 2; ++k) u[1 + k] = x.velocity[1 + k] + dot(x.tangent[k], all_axes);
}

inline void push(const SweptGroup& g, const SweptPoint& x, const Eight3& P, Pair& p) {
  add_scaled(p.v, P, g.inverse_mass);
  add(p.w, times(g.inertia, cross(x.arm, P)));
  add_scaled(p.other_v, P, -g.other_inverse_mass);
  subtract(p.other_w, times(g.other_inertia, cross(x.other_arm, P)));
}

inline Eight3 sum(const SweptPoint& x, V n, V s, V t) {
  Eight3 P{x.normal.x * n, x.normal.y * n, x.normal.z * n};
  add_scaled(P, x.tangent[0], s);
  add_scaled(P, x.tangent[1], t);
  return P;
}

struct Progress {
  V change = {}, agreement = {};
};

inline void solve_point(const SweptGroup& g, SweptPoint& x, Pair& p, Progress& progress) {
  const V zero = all<V>(0), tiny = all<V>(1e-300);
  const Eight3 u = relative(p, x);                                                             // (1)
  const V n = larger(zero, x.impulse[0] - (dot(x.normal, u) + x.velocity[0]) * x.inverse_nn);  // (2)
  const V dn = n - x.impulse[0];
  const V us = dot(x.tangent[0], u) + x.velocity[1] + x.w_tn[0] * dn;
  const V ut = dot(x.tangent[1], u) + x.velocity[2] + x.w_tn[1] * dn;
  const V stick_s = x.impulse[1] - (x.inverse_tt[0] * us + x.inverse_tt[1] * ut);
  const V stick_t = x.impulse[2] - (x.inverse_tt[1] * us + x.inverse_tt[2] * ut);
  const V slip_s = x.impulse[1] - us * x.inverse_slip, slip_t = x.impulse[2] - ut * x.inverse_slip;
  const V most = x.friction * n;
  const V scale = most / larger(larger(root(slip_s * slip_s + slip_t * slip_t), most), tiny);
  const Mask sticks = stick_s * stick_s + stick_t * stick_t <= most * most;
  const V s = select(sticks, stick_s, slip_s * scale), t = select(sticks, stick_t, slip_t * scale);
  const V ds = s - x.impulse[1], dt = t - x.impulse[2];
  push(g, x, sum(x, dn, ds, dt), p);
  progress.change += (dn * dn + ds * ds + dt * dt) * (x.mobility * x.mobility);
  progress.agreement += dn * (n - x.before[0]) + ds * (s - x.before[1]) + dt * (t - x.before[2]);
  x.impulse[0] = n, x.impulse[1] = s, x.impulse[2] = t;
}

void extrapolate(double beta, LaneSweeps& h) {
  const V b = all<V>(beta);
  for (SweptPoint& x : h.points) {
    for (int k = 0; k < 3; ++k) {
      const V now = x.impulse[k];
      x.impulse[k] = now + b * (now - x.before[k]);
      x.before[k] = now;
    }
  }
  for (std::size_t i = 1; i < h.motion.size(); ++i) {
    SweptMotion &now = h.motion[i], &before = h.motion_before[i];
    const SweptMotion end = now;
    for (int k = 0; k < 3; ++k) {
      now.v[k] += beta * (now.v[k] - before.v[k]);
      now.w[k] += beta * (now.w[k] - before.w[k]);
    }
    before = end;
  }
}

/// The blocks of W of a point with itself.
void prepare(const SweptGroup& g, SweptPoint& x) {
  const Eight3* axes[3] = {&x.normal, &x.tangent[0], &x.tangent[1]};
  Eight3 moved[3];  // velocity of the point by a unit impulse
  for (int k = 0; k < 3; ++k) {
    Pair p{};
    push(g, x, *axes[k], p);
    moved[k] = relative(p, x);
  }
  const V zero = all<V>(0), one = all<V>(1);
  const auto inverse = [&](V a) { return select(a > zero, one / select(a > zero, a, one), zero); };
  const V nn = dot(x.normal, moved[0]), ss = dot(x.tangent[0], moved[1]), tt = dot(x.tangent[1], moved[2]);
  const V st = dot(x.tangent[0], moved[2]);
  x.inverse_nn = inverse(nn);
  x.w_tn[0] = dot(x.tangent[0], moved[0]);
  x.w_tn[1] = dot(x.tangent[1], moved[0]);
  const V inverse_det = inverse(ss * tt - st * st);
  x.inverse_tt[0] = tt * inverse_det;
  x.inverse_tt[1] = -st * inverse_det;
  x.inverse_tt[2] = ss * inverse_det;
  const V half = all<V>(0.5), d = half * (ss - tt);
  x.inverse_slip = inverse(half * (ss + tt) + root(d * d + st * st));
  x.mobility = (nn + ss + tt) * all<V>(1.0 / 3);
}

}  // namespace

void begin(std::size_t bodies, LaneSweeps& h) {
  h.theta = 1;
  h.motion.assign(bodies, {});
  for (SweptGroup& g : h.groups) {
    Pair p = read(g, h.motion.data());
    for (int k = g.first; k < g.first + g.count; ++k) {
      SweptPoint& x = h.points[k];
      prepare(g, x);
      for (int r = 0; r < 3; ++r) x.before[r] = x.impulse[r];
      push(g, x, sum(x, x.impulse[0], x.impulse[1], x.impulse[2]), p);
    }
    write(g, p, h.motion.data());
  }
  h.motion_before = h.motion;
}

double sweep(LaneSweeps& h) {
  const double next = 0.5 * (1 + std::sqrt(1 + 4 * h.theta * h.theta));
  extrapolate((h.theta - 1) / next, h);
  h.theta = next;
  Progress progress;
  for (const SweptGroup& g : h.groups) {
    Pair p = read(g, h.motion.data());
    for (int k = g.first; k < g.first + g.count; ++k) solve_point(g, h.points[k], p, progress);
    write(g, p, h.motion.data());
  }
  if (!(sum_of(progress.agreement) >= 0)) h.theta = 1;
  return std::sqrt(sum_of(progress.change));
}

double residual_of(const LaneSweeps& h) {
  V sum = all<V>(0);
  for (const SweptGroup& g : h.groups) {
    const Pair p = read(g, h.motion.data());
    for (int k = g.first; k < g.first + g.count; ++k) {
      V u[3];
      velocity_of(p, h.points[k], u);
      const SweptPoint& x = h.points[k];
      sum += natural_map_in_lanes(x.friction, x.mobility, x.impulse, u);
    }
  }
  return std::sqrt(sum_of(sum));
}

void find_velocities(LaneSweeps& h) {
  for (const SweptGroup& g : h.groups) {
    const Pair p = read(g, h.motion.data());
    for (int k = g.first; k < g.first + g.count; ++k) {
      V u[3];
      velocity_of(p, h.points[k], u);
      std::copy_n(u, 3, h.points[k].velocity);
    }
  }
}

void sweep_positions(LaneSweeps& h, int sweeps) {
  h.shift.assign(h.motion.size(), {});
  for (SweptPoint& x : h.points) x.push = all<V>(0);
  for (int i = 0; i < sweeps; ++i) {
    for (const SweptGroup& g : h.groups) {
      Pair p = read(g, h.shift.data());
      for (int k = g.first; k < g.first + g.count; ++k) {
        SweptPoint& x = h.points[k];
        const V gap = dot(x.normal, relative(p, x)) + x.gap;
        const V step = (gap * x.inverse_nn + kGivesWay * x.push) / (1 + kGivesWay);
        const V next = larger(all<V>(0), x.push - step), d = next - x.push;
        push(g, x, {x.normal.x * d, x.normal.y * d, x.normal.z * d}, p);
        x.push = next;
      }
      write(g, p, h.shift.data());
    }
  }
}

}  // namespace karakuri::solver
