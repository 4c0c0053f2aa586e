// Newton's method on the motions of four islands at once. Impulses follow from velocities as in the proximal
// problem of docs/solvers.md, about the centre λ̄ that the last step left:
//   x = λ̄ − (u_free + J v) / (α w),  w the point's mobility                                              (1)
//   open: x_n <= 0, λ = 0;  stick: |x_t| <= μ x_n, λ = x;  slip: λ_n = x_n, λ_t = μ x_n e, e = x_t/|x_t|  (2)
//   F(v) = M v − Jᵀ λ(v) = 0                                                                            (3)
//   (M + Jᵀ A J) d = F,  A = −dλ/du = 1/(αw) {0; 1; n nᵀ + μ x_n/|x_t| q qᵀ, q across e}                 (4)
// A leaves out how the bound of friction follows the normal impulse: so it is symmetric, and a quarter more
// linear solves are half as dear. A step is shortened until d·F has not turned: without the part left out F
// is the gradient of a convex function.
//
// What α leaves over in the slow ways to bend a tower makes it swing for ever: α is small where the last
// impulses nearly hold, and larger where a tower lands and from small ones steps would cycle between classes.
#include <algorithm>
#include <cmath>

#include "karakuri/solver/solve.h"
#include "world/towers.h"

namespace karakuri::world_detail {

namespace {

using namespace lanes;

using V = Tower;
using Goals = std::array<TowerGoal, kTowerLanes>;

constexpr double kFinest = 2e-4, kFine = 2e-3, kCoarse = 1e-2;  // α
constexpr double kFiner = 0.2, kCoarser = 3;                    // from one centre to the next
constexpr double kGain = 0.8;    // of the residual, that another centre must bring
constexpr double kInner = 0.3;   // of the residual may be left of (3)
constexpr int kMostSolves = 10;  // of one problem
constexpr int kMostCoarse = 20, kMostOfAll = 40;
constexpr int kMostShorter = 4;  // trials of shorter steps
constexpr double kTurned = 0.5, kShortEnough = 0.2;

inline Tower3 speed_at(const Tower3& v, const Tower3& w, const Tower3& at) {
  Tower3 u = cross(w, at);
  add(u, v);
  return u;
}

struct Relative {
  Tower3 v, w;
};
inline Relative relative(const TowerPatch& p, const std::vector<TowerMotion>& m) {
  Relative r{m[p.body].v, m[p.body].w};
  subtract(r.v, m[p.other].v);
  subtract(r.w, m[p.other].w);
  return r;
}

inline void along(const TowerPoint& x, const Tower3& u, V* out) {
  out[0] = dot(x.normal, u);
  out[1] = dot(x.tangent[0], u);
  out[2] = dot(x.tangent[1], u);
}

inline void push(const TowerPoint& x, const V* impulse, TowerMotion& sum) {
  Tower3 P = scaled(x.normal, impulse[0]);
  add_scaled(P, x.tangent[0], impulse[1]);
  add_scaled(P, x.tangent[1], impulse[2]);
  add(sum.v, P);
  add(sum.w, cross(x.at, P));
}

void copy_lane(const std::vector<TowerMotion>& from, int lane, std::vector<TowerMotion>& to) {
  for (std::size_t b = 0; b < from.size(); ++b) {
    const Tower* a = &from[b].v.x;
    Tower* c = &to[b].v.x;
    for (int k = 0; k < 6; ++k) c[k][lane] = a[k][lane];
  }
}

void clear(Towers& t, std::vector<TowerMotion>& m) { m.assign(t.bodies + 1, {}); }

inline void give(const TowerPatch& p, const TowerMotion& sum, std::vector<TowerMotion>& force) {
  add(force[p.body].v, sum.v), add(force[p.body].w, sum.w);
  subtract(force[p.other].v, sum.v), subtract(force[p.other].w, sum.w);
}

/// M⁻¹ f.
inline TowerMotion moved(const TowerBody& b, const TowerMotion& f) {
  Tower3 moment = f.w;
  subtract(moment, cross(b.com, f.v));
  TowerMotion m{scaled(f.v, b.inverse_mass), times(b.inverse_inertia, moment)};
  subtract(m.v, cross(m.w, b.com));
  return m;
}

/// M v.
inline TowerMotion momentum(const TowerBody& b, const TowerMotion& m) {
  Tower3 v = m.v;
  add(v, cross(m.w, b.com));
  TowerMotion p{scaled(v, b.mass), times(b.inertia, m.w)};
  add_scaled(p.w, cross(b.com, m.v), b.mass);
  return p;
}

template <class Mask>
inline bool any(Mask mask) {
  return __builtin_reduce_or(mask) != 0;
}

/// (1) and (2) of one point that moves with u.
inline void respond(TowerPoint& x, const V* u, V inverse_alpha) {
  const V zero = {}, tiny = all<V>(1e-300), one = all<V>(1);
  const V k = x.inverse_mobility * inverse_alpha;
  const V n = larger(zero, x.centre[0] - k * u[0]);
  const V s = x.centre[1] - k * u[1], t = x.centre[2] - k * u[2];
  const V most = x.friction * n, square = s * s + t * t;
  const auto sticks = square <= most * most;
  const V works = select(n > zero, k, zero);
  const auto slips = (n > zero) & ~sticks;
  if (!any(slips)) {
    const V on = select(n > zero, one, zero);
    x.impulse[0] = n, x.impulse[1] = on * s, x.impulse[2] = on * t;
    x.even = works;
    x.normal_only = x.across = x.e[0] = x.e[1] = zero;
    return;
  }
  const V length = root(square);
  const V inverse = one / larger(length, tiny);
  const V scale = select(sticks, one, most * inverse);
  x.impulse[0] = n, x.impulse[1] = scale * s, x.impulse[2] = scale * t;
  x.even = select(sticks, works, zero);
  x.normal_only = works - x.even;
  x.across = x.normal_only * scale;
  x.e[0] = s * inverse, x.e[1] = t * inverse;
}

/// Impulses at `trial`; force ← F of (3).
void evaluate(Towers& t, V inverse_alpha) {
  clear(t, t.force);
  for (const TowerPatch& p : t.patches) {
    const Relative m = relative(p, t.trial);
    TowerMotion sum;
    for (int k = p.first; k < p.first + p.count; ++k) {
      TowerPoint& x = t.points[k];
      V u[3];
      along(x, speed_at(m.v, m.w, x.at), u);
      for (int r = 0; r < 3; ++r) u[r] += x.given[r];
      respond(x, u, inverse_alpha);
      push(x, x.impulse, sum);
    }
    give(p, sum, t.force);
  }
  for (int b = 1; b <= t.bodies; ++b) {
    const TowerMotion p = momentum(t.body[b], t.trial[b]);
    t.force[b] = {{p.v.x - t.force[b].v.x, p.v.y - t.force[b].v.y, p.v.z - t.force[b].v.z},
                  {p.w.x - t.force[b].w.x, p.w.y - t.force[b].w.y, p.w.z - t.force[b].w.z}};
  }
}

V slope(const Towers& t) {
  V sum = {};
  for (int b = 1; b <= t.bodies; ++b) sum += dot(t.step[b].v, t.force[b].v) + dot(t.step[b].w, t.force[b].w);
  return sum;
}

void try_length(V length, Towers& t) {
  for (int b = 1; b <= t.bodies; ++b) {
    t.trial[b] = t.motion[b];
    add_scaled(t.trial[b].v, t.step[b].v, -length);
    add_scaled(t.trial[b].w, t.step[b].w, -length);
  }
}

/// One lane's search for where d·F vanishes between 0 and 1.
struct Search {
  double from = 0, to = 1, at_from, at_to, first;
  double length = 1, least;  // the best so far, and |d·F| there
  int side = 0;
  bool over = false;

  void start(double at_zero, double at_one) {
    at_from = first = at_zero;
    at_to = at_one;
    least = std::abs(at_one);
    over = !(at_one < -kTurned * at_zero);
  }
  double next() const { return (from * at_to - to * at_from) / (at_to - at_from); }
  void found(double at, double value) {
    if (std::abs(value) < least) least = std::abs(value), length = at;
    over = least <= kShortEnough * first;
    if (value > 0) {
      from = at, at_from = value;
      if (side == 1) at_to *= 0.5;
      side = 1;
    } else {
      to = at, at_to = value;
      if (side == -1) at_from *= 0.5;
      side = -1;
    }
  }
  /// The last length before it turned is safe.
  void end() {
    if (!over && from > 0) length = from;
  }
};

/// motion ← motion − length · step; impulses and F are those there.
void search(Towers& t, V inverse_alpha) {
  const V start = slope(t);
  V tried = all<V>(1);
  try_length(tried, t);
  evaluate(t, inverse_alpha);
  const V at_one = slope(t);
  std::array<Search, kTowerLanes> searches;
  for (int l = 0; l < kTowerLanes; ++l) searches[l].start(start[l], at_one[l]);
  const auto over = [](const Search& s) { return s.over; };
  for (int k = 0; k < kMostShorter && !std::all_of(searches.begin(), searches.end(), over); ++k) {
    for (int l = 0; l < kTowerLanes; ++l)
      tried[l] = searches[l].over ? searches[l].length : searches[l].next();
    try_length(tried, t);
    evaluate(t, inverse_alpha);
    const V value = slope(t);
    for (int l = 0; l < kTowerLanes; ++l)
      if (!searches[l].over) searches[l].found(tried[l], value[l]);
  }
  bool same = true;
  for (int l = 0; l < kTowerLanes; ++l) {
    searches[l].end();
    same = same && tried[l] == searches[l].length;
    tried[l] = searches[l].length;
  }
  if (!same) {
    try_length(tried, t);
    evaluate(t, inverse_alpha);
  }
  std::swap(t.motion, t.trial);
}

struct Measured {
  V residual = {}, inner = {};
};

/// Natural map of the present impulses at the motions that they give, and how far these are from `motion`.
Measured measure(Towers& t) {
  for (int b = 1; b <= t.bodies; ++b) t.error[b] = moved(t.body[b], t.force[b]);
  Measured sum;
  for (const TowerPatch& p : t.patches) {
    const Relative m = relative(p, t.motion), e = relative(p, t.error);
    for (int k = p.first; k < p.first + p.count; ++k) {
      const TowerPoint& x = t.points[k];
      V u[3], off[3];
      along(x, speed_at(m.v, m.w, x.at), u);
      along(x, speed_at(e.v, e.w, x.at), off);
      for (int r = 0; r < 3; ++r) {
        u[r] += x.given[r] - off[r];
        sum.inner += off[r] * off[r];
      }
      sum.residual += natural_map(x.friction, x.mobility, x.impulse, u);
    }
  }
  return {root(sum.residual), root(sum.inner)};
}

/// trial ← motions that the present impulses give.
void move_by_impulses(Towers& t) {
  clear(t, t.force);
  for (const TowerPatch& p : t.patches) {
    TowerMotion sum;
    for (int k = p.first; k < p.first + p.count; ++k) push(t.points[k], t.points[k].impulse, sum);
    give(p, sum, t.force);
  }
  for (int b = 1; b <= t.bodies; ++b) t.trial[b] = moved(t.body[b], t.force[b]);
}

/// What is kept of a lane from one linear solve to the next.
struct Course {
  bool over = true;
  int solves = 0;  // of this problem
  double alpha = kFine;
  double last = solver::kInfinity;  // residual of the centre, where it was moved
  double least = kFinest;           // α

  bool is_moved() const { return last < solver::kInfinity; }
};

class Newton {
 public:
  Newton(Towers& t, const Vec3& start, Goals& goals) : t_(t), start_(start), goals_(goals) {}

  void run() {
    begin();
    while (std::any_of(course_.begin(), course_.end(), [](const Course& c) { return !c.over; })) {
      assemble_towers(t_);
      factor_towers(t_);
      t_.step = t_.force;
      solve_towers_linear(t_, t_.step);
      hold_lanes_that_are_over();
      search(t_, inverse_alpha_);
      decide(measure(t_));
    }
    for (int l = 0; l < kTowerLanes; ++l)
      if (goals_[l].gave_up) restore(l);
  }

 private:
  void begin() {
    for (int l = 0; l < kTowerLanes; ++l) {
      if (!goals_[l].wanted) continue;
      const double alpha = goals_[l].is_hard ? kCoarse : goals_[l].is_quick ? kFine : kFinest;
      course_[l].over = false;
      enter(l, alpha);
    }
    for (TowerPoint& x : t_.points) std::copy_n(x.impulse, 3, x.centre);
    t_.motion = t_.trial;
    for (int l = 0; l < kTowerLanes; ++l)
      if (goals_[l].is_quick) go_to_start(l);
    t_.trial = t_.motion;
    evaluate(t_, inverse_alpha_);
  }

  void enter(int lane, double alpha) {
    course_[lane].solves = 0;
    course_[lane].alpha = alpha;
    inverse_alpha_[lane] = 1 / alpha;
  }

  void go_to_start(int lane) {
    for (int b = 1; b <= t_.bodies; ++b) {
      TowerMotion& m = t_.motion[b];
      const double share = goals_[lane].is_carried ? 1 : 0;
      m.v.x[lane] = share * start_.x(), m.v.y[lane] = share * start_.y(), m.v.z[lane] = share * start_.z();
      m.w.x[lane] = m.w.y[lane] = m.w.z[lane] = 0;
    }
  }

  void hold_lanes_that_are_over() {
    V share = {};
    for (int l = 0; l < kTowerLanes; ++l) share[l] = course_[l].over ? 0 : 1;
    const auto goes_on = share > all<V>(0);
    const auto hold = [&](Tower3& a) {
      a.x = select(goes_on, a.x, all<V>(0));
      a.y = select(goes_on, a.y, all<V>(0));
      a.z = select(goes_on, a.z, all<V>(0));
    };
    for (int b = 1; b <= t_.bodies; ++b) hold(t_.step[b].v), hold(t_.step[b].w);
  }

  /// Goes on about the present impulses, with a smaller α.
  bool recentre(int lane, double residual) {
    Course& c = course_[lane];
    for (TowerPoint& x : t_.points)
      for (int k = 0; k < 3; ++k) x.centre[k][lane] = x.impulse[k][lane];
    c.last = residual;
    enter(lane, std::max(c.least, kFiner * c.alpha));
    return true;
  }

  /// Back to the centre, or to the start, with a larger α. @return Whether there is one to try.
  bool try_coarser(int lane) {
    Course& c = course_[lane];
    if (c.is_moved()) {
      c.least = kCoarser * c.alpha;
      if (c.least > kCoarse) return give_up(lane);
      restore(lane);
      move_by_impulses(t_);
      copy_lane(t_.trial, lane, t_.motion);
      enter(lane, c.least);
      return true;
    }
    if (c.alpha >= kCoarse) return give_up(lane);
    go_to_start(lane);
    enter(lane, kCoarse);
    return true;
  }

  bool end(int lane) {
    goals_[lane].solved = true;
    course_[lane].over = true;
    return false;
  }

  /// Nothing more is to be gained: the centre is the best there is.
  bool give_up(int lane) {
    Course& c = course_[lane];
    c.over = true;
    goals_[lane].gave_up = true;
    goals_[lane].solved = c.is_moved() && c.last <= goals_[lane].enough;
    return false;
  }

  void restore(int lane) {
    for (TowerPoint& x : t_.points)
      for (int k = 0; k < 3; ++k) x.impulse[k][lane] = x.centre[k][lane];
  }

  /// @return Whether the lane goes on with another problem.
  bool decide(int lane, double residual, double inner) {
    Course& c = course_[lane];
    const TowerGoal& goal = goals_[lane];
    const bool is_rough = !c.is_moved() && c.alpha > kFine && !goal.is_hard;
    const bool converged = inner <= kInner * residual;
    if (residual <= goal.target || (converged && residual <= goal.good && !is_rough)) return end(lane);
    if (converged && !(residual < kGain * c.last)) return give_up(lane);
    if (converged) return recentre(lane, residual);
    if (goal.solves >= kMostOfAll) return give_up(lane);
    const int most = c.alpha < kCoarse ? kMostSolves : kMostCoarse;
    return c.solves >= most || !std::isfinite(residual) ? try_coarser(lane) : false;
  }

  void decide(const Measured& now) {
    bool anew = false;
    for (int l = 0; l < kTowerLanes; ++l) {
      if (course_[l].over) continue;
      ++course_[l].solves;
      ++goals_[l].solves;
      if (decide(l, now.residual[l], now.inner[l])) anew = true;
    }
    if (!anew) return;
    t_.trial = t_.motion;
    evaluate(t_, inverse_alpha_);
  }

  Towers& t_;
  const Vec3& start_;
  Goals& goals_;
  std::array<Course, kTowerLanes> course_;
  V inverse_alpha_ = all<V>(1 / kFine);
};

/// Velocity of the point by a unit impulse on both bodies of its patch.
inline V response(const TowerBody& b, const TowerPoint& x, const Tower3& axis) {
  Tower3 arm = x.at;
  subtract(arm, b.com);
  const Tower3 moment = cross(arm, axis);
  return b.inverse_mass + dot(moment, times(b.inverse_inertia, moment));
}

}  // namespace

void begin_towers(Towers& t) {
  for (auto* m : {&t.motion, &t.step, &t.trial, &t.force, &t.error}) clear(t, *m);
  t.diagonal.resize(t.bodies + 1);
  t.below.resize((t.bodies + 1) * t.band);
  for (const TowerPatch& p : t.patches) {
    for (int k = p.first; k < p.first + p.count; ++k) {
      TowerPoint& x = t.points[k];
      V w[3];
      const Tower3* axes[3] = {&x.normal, &x.tangent[0], &x.tangent[1]};
      for (int r = 0; r < 3; ++r) {
        w[r] = response(t.body[p.body], x, *axes[r]);
        if (p.other) w[r] += response(t.body[p.other], x, *axes[r]);
      }
      x.mobility = (w[0] + w[1] + w[2]) * all<V>(1.0 / 3);
      x.inverse_mobility = all<V>(1) / x.mobility;
      x.inverse_nn = all<V>(1) / w[0];
    }
  }
}

ByLane residual_of_towers(Towers& t, bool keep_velocities) {
  move_by_impulses(t);
  V sum = {};
  for (const TowerPatch& p : t.patches) {
    const Relative m = relative(p, t.trial);
    for (int k = p.first; k < p.first + p.count; ++k) {
      TowerPoint& x = t.points[k];
      V u[3];
      along(x, speed_at(m.v, m.w, x.at), u);
      for (int r = 0; r < 3; ++r) u[r] += x.given[r];
      sum += natural_map(x.friction, x.mobility, x.impulse, u);
      if (keep_velocities) std::copy_n(u, 3, x.given);
    }
  }
  ByLane out;
  for (int l = 0; l < kTowerLanes; ++l) out[l] = std::sqrt(sum[l]);
  return out;
}

void solve_goals(Towers& t, const Vec3& start, Goals& goals) { Newton(t, start, goals).run(); }

void push_towers(Towers& t, int sweeps) {
  clear(t, t.trial);
  for (TowerPoint& x : t.points) x.push = {};
  for (int i = 0; i < sweeps; ++i) {
    for (const TowerPatch& p : t.patches) {
      for (int k = p.first; k < p.first + p.count; ++k) {
        TowerPoint& x = t.points[k];
        const Relative m = relative(p, t.trial);
        const V gap = dot(x.normal, speed_at(m.v, m.w, x.at)) + x.gap;
        const V next = larger(V{}, x.push - gap * x.inverse_nn), d = next - x.push;
        const Tower3 P = scaled(x.normal, d);
        const TowerMotion wrench{P, cross(x.at, P)};
        const TowerMotion there = moved(t.body[p.body], wrench);
        add(t.trial[p.body].v, there.v), add(t.trial[p.body].w, there.w);
        x.push = next;
        if (p.other == 0) continue;
        const TowerMotion here = moved(t.body[p.other], wrench);
        subtract(t.trial[p.other].v, here.v), subtract(t.trial[p.other].w, here.w);
      }
    }
  }
}

}  // namespace karakuri::world_detail
