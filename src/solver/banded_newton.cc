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
#include "solver/banded_newton.h"
#include "solver/cone.h"

namespace karakuri::solver {

namespace {

using namespace lanes;

using V = Four;
using Goals = std::array<BandGoal, kBandLanes>;

constexpr double kFinest = 2e-4, kFine = 2e-3, kCoarse = 1e-2;  // α
constexpr double kFiner = 0.2, kCoarser = 3;                    // from one centre to the next
constexpr double kGain = 0.8;    // of the residual, that another centre must bring
constexpr double kInner = 0.3;   // of the residual may be left of (3)
constexpr int kMostSolves = 10;  // of one problem
constexpr int kMostCoarse = 20;
constexpr int kMostShorter = 4;  // trials of shorter steps
constexpr double kTurned = 0.5, kShortEnough = 0.2;

inline Four3 speed_at(const Four3& v, const Four3& w, const Four3& at) {
  Four3 u = cross(w, at);
  add(u, v);
  return u;
}

struct Relative {
  Four3 v, w;
};
inline Relative relative(const BandPatch& p, const std::vector<BandMotion>& m) {
  Relative r{m[p.body].v, m[p.body].w};
  subtract(r.v, m[p.other].v);
  subtract(r.w, m[p.other].w);
  return r;
}

inline void along(const BandPoint& x, const Four3& u, V* out) {
  out[0] = dot(x.normal, u);
  out[1] = dot(x.tangent[0], u);
  out[2] = dot(x.tangent[1], u);
}

inline void push(const BandPoint& x, const V* impulse, BandMotion& sum) {
  Four3 P = scaled(x.normal, impulse[0]);
  add_scaled(P, x.tangent[0], impulse[1]);
  add_scaled(P, x.tangent[1], impulse[2]);
  add(sum.v, P);
  add(sum.w, cross(x.at, P));
}

void copy_lane(const std::vector<BandMotion>& from, int lane, std::vector<BandMotion>& to) {
  for (std::size_t b = 0; b < from.size(); ++b) {
    const Four* a = &from[b].v.x;
    Four* c = &to[b].v.x;
    for (int k = 0; k < 6; ++k) c[k][lane] = a[k][lane];
  }
}

void clear_lane(int lane, std::vector<BandMotion>& m) {
  for (BandMotion& x : m)
    for (int k = 0; k < 6; ++k) (&x.v.x)[k][lane] = 0;
}

void clear(Band& t, std::vector<BandMotion>& m) { std::fill_n(m.begin(), t.bodies + 1, BandMotion{}); }

inline void give(const BandPatch& p, const BandMotion& sum, std::vector<BandMotion>& force) {
  add(force[p.body].v, sum.v), add(force[p.body].w, sum.w);
  subtract(force[p.other].v, sum.v), subtract(force[p.other].w, sum.w);
}

/// M v.
inline BandMotion momentum(const BandBody& b, const BandMotion& m) {
  Four3 v = m.v;
  add(v, cross(m.w, b.com));
  BandMotion p{scaled(v, b.mass), times(b.inertia, m.w)};
  add_scaled(p.w, cross(b.com, m.v), b.mass);
  return p;
}

/// (1) of one point that moves with u; the normal part is that of (2).
struct Pull {
  V k, n, s, t;
  V most, square;  // of friction

  Pull(const BandPoint& x, const V* u, V inverse_alpha) {
    k = x.inverse_mobility * inverse_alpha;
    n = larger(V{}, x.centre[0] - k * u[0]);
    s = x.centre[1] - k * u[1], t = x.centre[2] - k * u[2];
    most = x.friction * n, square = s * s + t * t;
  }
  auto sticks() const { return square <= most * most; }
  auto slips() const { return (n > V{}) & ~sticks(); }
};

/// (2), and A of (4).
inline void respond(BandPoint& x, V inverse_alpha) {
  const V zero = {}, tiny = all<V>(1e-300), one = all<V>(1);
  const Pull p(x, x.u, inverse_alpha);
  const V works = select(p.n > zero, p.k, zero);
  if (!lanes::any(p.slips())) {
    const V on = select(p.n > zero, one, zero);
    x.impulse[0] = p.n, x.impulse[1] = on * p.s, x.impulse[2] = on * p.t;
    x.even = works;
    x.normal_only = x.across = x.e[0] = x.e[1] = zero;
    return;
  }
  const V inverse = one / larger(root(p.square), tiny);
  const V scale = select(p.sticks(), one, p.most * inverse);
  x.impulse[0] = p.n, x.impulse[1] = scale * p.s, x.impulse[2] = scale * p.t;
  x.even = select(p.sticks(), works, zero);
  x.normal_only = works - x.even;
  x.across = x.normal_only * scale;
  x.e[0] = p.s * inverse, x.e[1] = p.t * inverse;
}

/// (2) alone, times the velocity v.
inline V power(const BandPoint& x, const V* u, const V* v, V inverse_alpha) {
  const V zero = {}, tiny = all<V>(1e-300), one = all<V>(1);
  const Pull p(x, u, inverse_alpha);
  V scale = select(p.n > zero, one, zero);
  if (lanes::any(p.slips())) scale = select(p.sticks(), scale, p.most / larger(root(p.square), tiny));
  return p.n * v[0] + scale * (p.s * v[1] + p.t * v[2]);
}

/// Impulses at `trial`; force ← F of (3).
void evaluate(Band& t, V inverse_alpha) {
  clear(t, t.force);
  for (const BandPatch& p : t.patches) {
    const Relative m = relative(p, t.trial);
    BandMotion sum;
    for (int k = p.first; k < p.first + p.count; ++k) {
      BandPoint& x = t.points[k];
      along(x, speed_at(m.v, m.w, x.at), x.u);
      for (int r = 0; r < 3; ++r) x.u[r] += x.given[r];
      respond(x, inverse_alpha);
      push(x, x.impulse, sum);
    }
    give(p, sum, t.force);
  }
  for (int b = 1; b <= t.bodies; ++b) {
    const BandMotion p = momentum(t.body[b], t.trial[b]);
    t.force[b] = {{p.v.x - t.force[b].v.x, p.v.y - t.force[b].v.y, p.v.z - t.force[b].v.z},
                  {p.w.x - t.force[b].w.x, p.w.y - t.force[b].w.y, p.w.z - t.force[b].w.z}};
  }
}

V slope(const Band& t) {
  V sum = {};
  for (int b = 1; b <= t.bodies; ++b) sum += dot(t.step[b].v, t.force[b].v) + dot(t.step[b].w, t.force[b].w);
  return sum;
}

void try_length(V length, Band& t) {
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
  double end() const { return !over && from > 0 ? from : length; }
};

/// d·F along the step, without the forces themselves.
class Line {
 public:
  Line(Band& t, V inverse_alpha) : t_(t), inverse_alpha_(inverse_alpha), at_zero_(slope(t)) {
    for (int b = 1; b <= t.bodies; ++b) {
      const BandMotion p = momentum(t.body[b], t.step[b]);
      inertia_ += dot(t.step[b].v, p.v) + dot(t.step[b].w, p.w);
    }
    without_impulses_ = at_zero_;
    for (const BandPatch& p : t.patches) {
      const Relative m = relative(p, t.step);
      for (int k = p.first; k < p.first + p.count; ++k) {
        BandPoint& x = t.points[k];
        along(x, speed_at(m.v, m.w, x.at), x.step);
        for (int r = 0; r < 3; ++r) without_impulses_ += x.impulse[r] * x.step[r];
      }
    }
  }

  V at_zero() const { return at_zero_; }
  V at(V length) const {
    V sum = without_impulses_ - length * inertia_;
    for (const BandPatch& p : t_.patches) {
      for (int k = p.first; k < p.first + p.count; ++k) {
        const BandPoint& x = t_.points[k];
        const V u[3] = {x.u[0] - length * x.step[0], x.u[1] - length * x.step[1],
                        x.u[2] - length * x.step[2]};
        sum -= power(x, u, x.step, inverse_alpha_);
      }
    }
    return sum;
  }

 private:
  const Band& t_;
  V inverse_alpha_, at_zero_, without_impulses_, inertia_ = {};
};

/// motion ← motion − length · step; impulses and F are those there.
void search(Band& t, V inverse_alpha) {
  const Line line(t, inverse_alpha);
  V length = all<V>(1);
  const V at_one = line.at(length);
  std::array<Search, kBandLanes> searches;
  for (int l = 0; l < kBandLanes; ++l) searches[l].start(line.at_zero()[l], at_one[l]);
  const auto over = [](const Search& s) { return s.over; };
  for (int k = 0; k < kMostShorter && !std::all_of(searches.begin(), searches.end(), over); ++k) {
    for (int l = 0; l < kBandLanes; ++l)
      length[l] = searches[l].over ? searches[l].length : searches[l].next();
    const V value = line.at(length);
    for (int l = 0; l < kBandLanes; ++l)
      if (!searches[l].over) searches[l].found(length[l], value[l]);
  }
  for (int l = 0; l < kBandLanes; ++l) length[l] = searches[l].end();
  try_length(length, t);
  evaluate(t, inverse_alpha);
  std::swap(t.motion, t.trial);
}

struct Measured {
  V residual = {}, inner = {};
};

/// Natural map of the present impulses at the motions that they give, and how far these are from `motion`.
Measured measure(Band& t) {
  for (int b = 1; b <= t.bodies; ++b) t.error[b] = moved(t.body[b], t.force[b]);
  Measured sum;
  for (const BandPatch& p : t.patches) {
    const Relative m = relative(p, t.motion), e = relative(p, t.error);
    for (int k = p.first; k < p.first + p.count; ++k) {
      const BandPoint& x = t.points[k];
      V u[3], off[3];
      along(x, speed_at(m.v, m.w, x.at), u);
      along(x, speed_at(e.v, e.w, x.at), off);
      for (int r = 0; r < 3; ++r) {
        u[r] += x.given[r] - off[r];
        sum.inner += off[r] * off[r];
      }
      sum.residual += natural_map_in_lanes(x.friction, x.mobility, x.impulse, u);
    }
  }
  return {root(sum.residual), root(sum.inner)};
}

/// trial ← motions that the present impulses give.
void move_by_impulses(Band& t) {
  clear(t, t.force);
  for (const BandPatch& p : t.patches) {
    BandMotion sum;
    for (int k = p.first; k < p.first + p.count; ++k) push(t.points[k], t.points[k].impulse, sum);
    give(p, sum, t.force);
  }
  for (int b = 1; b <= t.bodies; ++b) t.trial[b] = moved(t.body[b], t.force[b]);
}

}  // namespace

ByLane residual_in_lanes(Band& t) {
  move_by_impulses(t);
  V sum = {};
  for (const BandPatch& p : t.patches) {
    const Relative m = relative(p, t.trial);
    for (int k = p.first; k < p.first + p.count; ++k) {
      const BandPoint& x = t.points[k];
      V u[3];
      along(x, speed_at(m.v, m.w, x.at), u);
      for (int r = 0; r < 3; ++r) u[r] += x.given[r];
      sum += natural_map_in_lanes(x.friction, x.mobility, x.impulse, u);
    }
  }
  ByLane out;
  for (int l = 0; l < kBandLanes; ++l) out[l] = std::sqrt(sum[l]);
  return out;
}

bool BandedNewton::Course::is_moved() const { return last < kInfinity; }

void BandedNewton::enter(int lane, const BandGoal& goal) {
  goals_[lane] = goal;
  course_[lane] = {.over = false, .least = kFinest, .last = kInfinity};
  begin_problem(lane, goal.is_hard ? kCoarse : goal.is_quick ? kFine : kFinest);
  for (BandPoint& x : t_.points)
    for (int k = 0; k < 3; ++k) x.centre[k][lane] = x.impulse[k][lane];
  if (goal.is_quick)
    go_to_start(lane);
  else
    copy_lane(t_.trial, lane, t_.motion);
}

void BandedNewton::step() {
  if (stale_) refresh();
  assemble_band(t_);
  factor_band(t_);
  std::copy_n(t_.force.begin() + 1, t_.bodies, t_.step.begin() + 1);  // what does not move stays where it is
  solve_band(t_, t_.step);
  hold_lanes_that_are_over();
  search(t_, inverse_alpha_);
  const Measured now = measure(t_);
  for (int l = 0; l < kBandLanes; ++l) {
    if (course_[l].over) continue;
    ++course_[l].solves;
    ++goals_[l].solves;
    if (decide(l, now.residual[l], now.inner[l])) stale_ = true;
  }
  take_back_lanes_that_gave_up();
}

/// Impulses at `motion`.
void BandedNewton::refresh() {
  std::copy_n(t_.motion.begin(), t_.bodies + 1, t_.trial.begin());
  evaluate(t_, inverse_alpha_);
  stale_ = false;
}

void BandedNewton::begin_problem(int lane, double alpha) {
  course_[lane].solves = 0;
  course_[lane].alpha = alpha;
  inverse_alpha_[lane] = 1 / alpha;
  stale_ = true;
}

void BandedNewton::go_to_start(int lane) {
  clear_lane(lane, t_.motion);
  if (!t_.lane[lane]->is_carried) return;
  for (int b = 1; b <= t_.lane[lane]->bodies; ++b) {
    Four3& v = t_.motion[b].v;
    v.x[lane] = start_.x(), v.y[lane] = start_.y(), v.z[lane] = start_.z();
  }
}

void BandedNewton::hold_lanes_that_are_over() {
  V share = {};
  for (int l = 0; l < kBandLanes; ++l) share[l] = course_[l].over ? 0 : 1;
  const auto goes_on = share > all<V>(0);
  const auto hold = [&](Four3& a) {
    a.x = select(goes_on, a.x, all<V>(0));
    a.y = select(goes_on, a.y, all<V>(0));
    a.z = select(goes_on, a.z, all<V>(0));
  };
  for (int b = 1; b <= t_.bodies; ++b) hold(t_.step[b].v), hold(t_.step[b].w);
}

/// Goes on about the present impulses, with a smaller α.
bool BandedNewton::recentre(int lane, double residual) {
  Course& c = course_[lane];
  for (BandPoint& x : t_.points)
    for (int k = 0; k < 3; ++k) x.centre[k][lane] = x.impulse[k][lane];
  c.last = residual;
  begin_problem(lane, std::max(c.least, kFiner * c.alpha));
  return true;
}

/// Back to the centre, or to the start, with a larger α. @return Whether there is one to try.
bool BandedNewton::try_coarser(int lane) {
  Course& c = course_[lane];
  if (c.is_moved()) {
    c.least = kCoarser * c.alpha;
    if (c.least > kCoarse) return give_up(lane);
    restore(lane);
    move_by_impulses(t_);
    copy_lane(t_.trial, lane, t_.motion);
    begin_problem(lane, c.least);
    return true;
  }
  if (c.alpha >= kCoarse) return give_up(lane);
  go_to_start(lane);
  begin_problem(lane, kCoarse);
  return true;
}

bool BandedNewton::end(int lane, double residual) {
  goals_[lane].solved = true;
  goals_[lane].residual = residual;
  course_[lane].over = true;
  return false;
}

/// Nothing more is to be gained: the centre is the best there is.
bool BandedNewton::give_up(int lane) {
  Course& c = course_[lane];
  c.over = c.gave_up = true;
  goals_[lane].solved = c.is_moved() && c.last <= goals_[lane].enough;
  goals_[lane].residual = c.last;
  return false;
}

void BandedNewton::restore(int lane) {
  for (BandPoint& x : t_.points)
    for (int k = 0; k < 3; ++k) x.impulse[k][lane] = x.centre[k][lane];
}

/// motion − error ← what the centre gives.
void BandedNewton::take_back_lanes_that_gave_up() {
  for (int l = 0; l < kBandLanes; ++l) {
    if (!course_[l].gave_up) continue;
    course_[l].gave_up = false;
    restore(l);
    move_by_impulses(t_);
    copy_lane(t_.trial, l, t_.motion);
    clear_lane(l, t_.error);
    stale_ = true;
  }
}

/// @return Whether the lane goes on with another problem.
bool BandedNewton::decide(int lane, double residual, double inner) {
  Course& c = course_[lane];
  const BandGoal& goal = goals_[lane];
  const bool is_rough = !c.is_moved() && c.alpha > kFine && !goal.is_hard;
  if (!std::isfinite(residual)) return try_coarser(lane);
  const bool converged = inner <= kInner * residual;
  if (residual <= goal.target || (converged && residual <= goal.good && !is_rough))
    return end(lane, residual);
  if (converged && !(residual < kGain * c.last)) return give_up(lane);
  if (converged) return recentre(lane, residual);
  if (goal.solves >= kMostSolvesOfAll) return give_up(lane);
  const int most = c.alpha < kCoarse ? kMostSolves : kMostCoarse;
  return c.solves >= most ? try_coarser(lane) : false;
}

}  // namespace karakuri::solver
