// Each goal i gives an error e_i and its Jacobian J_i, rows scaled by the weights w:
//   frame F at X, wanted at X*:  e = (log(R*^T R)^-, R*^T (p* - p)),  d(turn) = R*^T w_F, d(move) = R*^T v_F
//   (1) centre of mass:              e = c* - c,   column of dof k: S_k at the centre of what hangs on it,
//   m_k / m (2)
// where log(..)^- is the rotation vector from R to R* in the axes of R*. Its rate is the angular velocity but
// for second order in e, so that Newton's method with (1) converges quadratically where the goal can be met.
//
// One iteration is a lexicographic least-squares problem: with x = C^(1/2) dq for the costs C and
// A = J C^(-1/2),
//   min |A_1 x - e_1|,  then min |A_2 x - e_2| among those,  ...,  then min |x - C^(1/2) (q* - q)|       (3)
// By Householder reflections of the stacked A^T = Q R, pivoted within each level, rows of one level have no
// part in what the levels before have fixed: with y = Q^T x,
//   level l:  R_ll^T y_l = e_l - sum_{m<l} R_ml^T y_m                                                     (4)
// and the y that no level fixes are those of the posture. A. Escande, N. Mansard, P.-B. Wieber (2014),
// "Hierarchical quadratic programming". Each (4) is solved as
//   (R R^T + lambda 1) y = R b,   lambda = damping |e_l|^2 / 2                                            (5)
// after T. Sugihara (2011), "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method":
// damped while far or out of reach, undamped at the solution. Each level has a factor of its own, at first 1:
// four times as much where an error grew in an iteration, half of it where it fell.
//
// Limits: dofs that (3) would take beyond a limit are held there and (3) is solved again for the others.
#include "karakuri/dynamics/inverse_kinematics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>

#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri {

namespace {

using Vector = Eigen::Map<Eigen::VectorXd>;
using ConstVector = Eigen::Map<const Eigen::VectorXd>;

/// Of a row that depends on others: what is left of it, relative to the row.
constexpr double kDependent = 1e-7;

bool has_position(const Body& body, int k) { return !has_quaternion(body.kind) || k < body.dofs - 3; }

Diagnostic refused(std::string where, std::string what, std::string remedy) {
  return {Severity::kError, std::move(where), std::move(what), std::move(remedy)};
}

bool is_weight(const Vec3& w) { return w.allFinite() && w.minCoeff() >= 0; }

}  // namespace

std::vector<Diagnostic> find_flaws(const Model& model, const IkProblem& problem) {
  std::vector<Diagnostic> flaws;
  for (std::size_t i = 0; i < problem.frames.size(); ++i) {
    const FrameGoal& g = problem.frames[i];
    const std::string where = "goal " + std::to_string(i) + " of frames";
    if (!model.find(g.link)) flaws.push_back(refused(where, "its link is not in this model", "name another"));
    if (!is_weight(g.turn) || !is_weight(g.move))
      flaws.push_back(refused(where, "a weight is negative or not finite", "give 0 or more"));
    if (g.priority < 0) flaws.push_back(refused(where, "its priority is negative", "0 comes first"));
    if (!g.X_WF.R.allFinite() || !g.X_WF.p.allFinite())
      flaws.push_back(refused(where, "its place is not finite", "give finite numbers"));
  }
  if (problem.centers.size() > 1)
    flaws.push_back(refused("centers", "there are several", "a mechanism has one centre of mass"));
  for (const CenterGoal& g : problem.centers)
    if (!is_weight(g.weight) || g.priority < 0 || !g.position.allFinite())
      flaws.push_back(refused("centers", "a number is negative or not finite", "mend it"));
  if (!problem.posture.empty() && static_cast<int>(problem.posture.size()) != model.nq)
    flaws.push_back(refused("posture", "it has " + std::to_string(problem.posture.size()) + " numbers",
                            "the model has " + std::to_string(model.nq) + " coordinates"));
  if (!problem.cost.empty() && static_cast<int>(problem.cost.size()) != model.nv)
    flaws.push_back(refused("cost", "it has " + std::to_string(problem.cost.size()) + " numbers",
                            "the model has " + std::to_string(model.nv) + " dofs"));
  if (!std::ranges::all_of(problem.cost, [](double c) { return c > 0; }))
    flaws.push_back(
        refused("cost", "one is not above 0", "give positive numbers, or infinity to hold a dof"));
  return flaws;
}

InverseKinematics::InverseKinematics(const Model& model)
    : state_(model), ws_(model), subtree_(static_cast<std::size_t>(model.body_count())), dofs_(model.nv) {
  for (std::vector<double>* v : {&turned_, &scale_, &free_scale_, &pull_, &pull_scaled_, &step_, &held_})
    v->assign(static_cast<std::size_t>(model.nv), 0.0);
}

void InverseKinematics::place(const Model& model, VecIn q) {
  assert(ws_.version() == model.version());
  state_.q_view() = q;
  update_poses(model, state_, ws_);
}

// ---- goals as rows

double* InverseKinematics::add_row(double error) {
  error_.push_back(error);
  const std::size_t first = jacobian_.size();
  jacobian_.resize(first + static_cast<std::size_t>(dofs_), 0.0);
  ++rows_;
  return jacobian_.data() + first;
}

/// (1)
void InverseKinematics::add_frame(const Model& model, const FrameGoal& goal, bool as_rates) {
  const LinkEntry& link = *model.find(goal.link);
  const Transform X_WB{ws_.pose[static_cast<std::size_t>(link.body)].R,
                       ws_.pose[static_cast<std::size_t>(link.body)].p};
  const Transform X_WF = X_WB * (link.X_BL * goal.X_LF);
  const Mat3 axes = goal.X_WF.R.transpose();  // from W to the wanted frame
  Vec3 turn = -rotation_log(axes * X_WF.R), move = axes * (goal.X_WF.p - X_WF.p);
  if (as_rates) turn = axes * goal.velocity.angular, move = axes * goal.velocity.linear;
  double* rows[6] = {};
  const std::size_t first = jacobian_.size();
  int count = 0;
  for (int k = 0; k < 6; ++k) {
    const double weight = k < 3 ? goal.turn[k] : goal.move[k - 3];
    if (weight > 0) add_row(weight * (k < 3 ? turn[k] : move[k - 3])), ++count;
  }
  double* at = jacobian_.data() + first;
  for (int k = 0; k < 6 && count > 0; ++k)
    if ((k < 3 ? goal.turn[k] : goal.move[k - 3]) > 0) rows[k] = at, at += dofs_;
  for (int i = link.body; i != 0; i = model.bodies[static_cast<std::size_t>(i)].parent) {
    const Body& body = model.bodies[static_cast<std::size_t>(i)];
    const Vec3 arm = X_WF.p - Vec3(ws_.pose[static_cast<std::size_t>(i)].p);
    for (int v = body.first_v; v < body.first_v + body.dofs; ++v) {
      const Vec3 axis = ws_.axis[static_cast<std::size_t>(v)];
      const DofKind kind = model.dofs[static_cast<std::size_t>(v)].kind;
      const bool turns = kind != DofKind::kTranslation;
      Vec3 linear = turns ? Vec3(axis.cross(arm)) : axis;
      if (kind == DofKind::kScrew) linear += body.pitch * axis;
      const Vec3 w = turns ? Vec3(axes * axis) : Vec3(Vec3::Zero()), u = axes * linear;
      for (int k = 0; k < 3; ++k) {
        if (rows[k]) rows[k][v] = goal.turn[k] * w[k];
        if (rows[k + 3]) rows[k + 3][v] = goal.move[k] * u[k];
      }
    }
  }
}

void InverseKinematics::find_subtrees(const Model& model) {
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    const Body& body = model.bodies[i];
    subtree_[i].moment = Vec3(body.mass * Vec3(ws_.pose[i].p) + Mat3(ws_.pose[i].R) * Vec3(body.mass_com));
    subtree_[i].mass = body.mass;
  }
  for (std::size_t i = model.bodies.size(); --i > 0;) {
    const auto parent = static_cast<std::size_t>(model.bodies[i].parent);
    subtree_[parent].moment = Vec3(Vec3(subtree_[parent].moment) + Vec3(subtree_[i].moment));
    subtree_[parent].mass += subtree_[i].mass;
  }
}

/// (2)
void InverseKinematics::add_center(const Model& model, const CenterGoal& goal, bool as_rates) {
  find_subtrees(model);
  const double mass = subtree_[0].mass;
  if (!(mass > 0)) return;
  const Vec3 error = as_rates ? goal.velocity : Vec3(goal.position - Vec3(subtree_[0].moment) / mass);
  for (int k = 0; k < 3; ++k) {
    if (!(goal.weight[k] > 0)) continue;
    double* row = add_row(goal.weight[k] * error[k]);
    for (int v = 0; v < model.nv; ++v) {
      const Dof& dof = model.dofs[static_cast<std::size_t>(v)];
      const auto i = static_cast<std::size_t>(dof.body);
      const Vec3 axis = ws_.axis[static_cast<std::size_t>(v)];
      const Subtree& part = subtree_[i];
      Vec3 moved = part.mass * axis;
      if (dof.kind != DofKind::kTranslation) {
        moved = axis.cross(Vec3(part.moment) - part.mass * Vec3(ws_.pose[i].p));
        if (dof.kind == DofKind::kScrew) moved += part.mass * model.bodies[i].pitch * axis;
      }
      row[v] = goal.weight[k] * moved[k] / mass;
    }
  }
}

void InverseKinematics::collect(const Model& model, const IkProblem& problem, bool as_rates) {
  rows_ = 0;
  jacobian_.clear(), error_.clear(), level_end_.clear();
  int last = 0;
  for (const FrameGoal& g : problem.frames) last = std::max(last, g.priority);
  for (const CenterGoal& g : problem.centers) last = std::max(last, g.priority);
  for (int level = 0; level <= last; ++level) {
    for (const FrameGoal& g : problem.frames)
      if (g.priority == level) add_frame(model, g, as_rates);
    for (const CenterGoal& g : problem.centers)
      if (g.priority == level) add_center(model, g, as_rates);
    level_end_.push_back(rows_);
  }
}

/// After an iteration. What makes the error of a level grow is first of all the steps of those after it,
/// which see it to first order only; where these are damped already, its own.
void InverseKinematics::adapt_damping() {
  constexpr double kMost = 1e4;
  int first = 0;
  bool earlier_grew = false;
  for (std::size_t level = 0; level < level_end_.size(); ++level) {
    const double now = ConstVector(error_.data() + first, level_end_[level] - first).squaredNorm();
    const bool is_last = level + 1 == level_end_.size(), grew = now > square_[level];
    if (earlier_grew || (grew && (is_last || factor_[level + 1] > kMost)))
      factor_[level] *= 4;
    else if (now < square_[level])
      factor_[level] = std::max(1.0, factor_[level] / 2);
    earlier_grew = earlier_grew || grew;
    square_[level] = now;
    first = level_end_[level];
  }
}

double InverseKinematics::largest_error() const {
  double largest = 0;
  for (const double e : error_) largest = std::max(largest, std::abs(e));
  return largest;
}

// ---- one iteration

/// What each dof costs, and where the posture wants it.
void InverseKinematics::prepare(const Model& model, const IkProblem& problem, bool with_posture) {
  for (int v = 0; v < dofs_; ++v) {
    const auto i = static_cast<std::size_t>(v);
    const double cost = problem.cost.empty() ? 1.0 : problem.cost[i];
    scale_[i] = std::isinf(cost) ? 0.0 : 1 / std::sqrt(cost);
    pull_[i] = 0;
    const Body& body = model.bodies[static_cast<std::size_t>(model.dofs[i].body)];
    const int k = v - body.first_v;
    if (!with_posture || problem.posture.empty() || scale_[i] == 0) continue;
    if (body.kind == JointKind::kFree || !has_position(body, k)) continue;
    const auto at = static_cast<std::size_t>(body.first_q + k);
    pull_[i] = problem.posture[at] - state_.q[at];
  }
}

/// (3), (4) for the dofs whose free_scale_ is not zero; the others move by held_.
void InverseKinematics::solve_levels(double damping) {
  const auto n = static_cast<Eigen::Index>(dofs_);
  const auto m = static_cast<std::size_t>(rows_);
  reflected_.resize(jacobian_.size());
  reflector_.resize(jacobian_.size());
  right_.resize(m), beta_.resize(m), order_.resize(m), rhs_.resize(m);
  normal_.resize(m * m);
  const ConstVector scale(free_scale_.data(), n), held(held_.data(), n);
  for (int r = 0; r < rows_; ++r) {
    const ConstVector row(jacobian_.data() + r * n, n);
    Vector(reflected_.data() + r * n, n) = row.cwiseProduct(scale);
    right_[static_cast<std::size_t>(r)] = error_[static_cast<std::size_t>(r)] - row.dot(held);
    order_[static_cast<std::size_t>(r)] = r;
  }
  rank_ = 0;
  std::ranges::fill(turned_, 0.0);
  int first = 0;
  for (std::size_t level = 0; level < level_end_.size(); ++level) {
    const int start = rank_, last = level_end_[level];
    reflect_level(first, last);
    solve_level(first, last, start, damping * factor_[level]);
    first = last;
  }
  turn_back();
  Vector(step_.data(), n) = scale.cwiseProduct(ConstVector(turned_.data(), n)) + held;
}

/// Rows [first, last): Householder reflections that take them, one after the other, to the first of the
/// coordinates y that are still free. The row of which most is left comes next; what depends on others stays.
void InverseKinematics::reflect_level(int first, int last) {
  const auto n = static_cast<Eigen::Index>(dofs_);
  double whole = 0;
  for (int j = first; j < last; ++j) whole = std::max(whole, ConstVector(column(j), n).norm());
  for (int j = first; j < last && rank_ < dofs_; ++j) {
    const auto rest = [&](int k) { return ConstVector(column(k) + rank_, n - rank_).squaredNorm(); };
    int best = j;
    double most = rest(j);
    for (int k = j + 1; k < last; ++k)
      if (const double square = rest(k); square > most) most = square, best = k;
    const double length = std::sqrt(most);
    if (length <= kDependent * whole) break;
    std::swap(order_[static_cast<std::size_t>(j)], order_[static_cast<std::size_t>(best)]);
    Vector row(column(j) + rank_, n - rank_), a(reflector_.data() + rank_ * n + rank_, n - rank_);
    const double alpha = row[0] > 0 ? -length : length;
    a = row;
    a[0] -= alpha;
    const double beta = 2 / a.squaredNorm();
    row.setZero();
    row[0] = alpha;
    for (int k = j + 1; k < rows_; ++k) {  // those of later levels, too
      Vector other(column(k) + rank_, n - rank_);
      other -= (beta * a.dot(other)) * a;
    }
    beta_[static_cast<std::size_t>(rank_++)] = beta;
  }
}

/// (4), (5): what the rows [first, last) say of y[start, rank).
void InverseKinematics::solve_level(int first, int last, int start, double damping) {
  const Eigen::Index r = rank_ - start;
  if (r == 0) return;
  Eigen::Map<Eigen::MatrixXd> normal(normal_.data(), r, r);
  Vector y(turned_.data() + start, r), b(rhs_.data(), r);
  const ConstVector before(turned_.data(), start);
  normal.setZero(), b.setZero();
  double square = 0;
  const bool exact = damping == 0 && r == last - first;
  for (int j = first; j < last; ++j) {
    const ConstVector coupling(column(j), start), own(column(j) + start, r);
    const double wanted =
        right_[static_cast<std::size_t>(order_[static_cast<std::size_t>(j)])] - coupling.dot(before);
    if (exact) {
      const Eigen::Index k = j - first;
      y[k] = (wanted - own.head(k).dot(y.head(k))) / own[k];
      continue;
    }
    square += wanted * wanted;
    normal.selfadjointView<Eigen::Lower>().rankUpdate(own);
    b += wanted * own;
  }
  if (exact) return;
  const double most = normal.diagonal().maxCoeff();
  normal.diagonal().array() += 0.5 * damping * square + 1e-15 * most;
  Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(normal);
  y = b;
  factor.solveInPlace(y);
}

/// turned_ <- x = Q y, with the posture in the y that are left.
void InverseKinematics::turn_back() {
  const auto n = static_cast<Eigen::Index>(dofs_);
  Vector y(turned_.data(), n), wish(pull_scaled_.data(), n);
  for (Eigen::Index v = 0; v < n; ++v) {
    const auto i = static_cast<std::size_t>(v);
    wish[v] = free_scale_[i] > 0 ? pull_[i] / free_scale_[i] : 0;
  }
  const auto reflect = [&](int k, Vector& x) {
    const ConstVector a(reflector_.data() + k * n + k, n - k);
    x.tail(n - k) -= (beta_[static_cast<std::size_t>(k)] * a.dot(x.tail(n - k))) * a;
  };
  for (int k = 0; k < rank_; ++k) reflect(k, wish);
  y.tail(n - rank_) = wish.tail(n - rank_);
  for (int k = rank_; k-- > 0;) reflect(k, y);
}

/// Returns how many dofs are held at their limits.
int InverseKinematics::solve_within_limits(const Model& model, bool limits, double damping) {
  std::ranges::copy(scale_, free_scale_.begin());
  std::ranges::fill(held_, 0.0);
  int count = 0;
  for (bool again = true; again;) {
    solve_levels(damping);
    again = false;
    for (int v = 0; v < dofs_ && limits; ++v) {
      const auto i = static_cast<std::size_t>(v);
      const Body& body = model.bodies[static_cast<std::size_t>(model.dofs[i].body)];
      if (free_scale_[i] == 0 || !has_position(body, v - body.first_v)) continue;
      const double q = state_.q[static_cast<std::size_t>(body.first_q + v - body.first_v)];
      const DofProperties& p = model.dof_properties[i];
      const double reached = q + step_[i], kept = std::clamp(reached, p.lower, p.upper);
      if (reached == kept) continue;
      held_[i] = kept - q, free_scale_[i] = 0;
      ++count;
      again = true;
    }
  }
  return count;
}

// ---- the whole

IkReport InverseKinematics::solve(const Model& model, const IkProblem& problem, const IkOptions& options,
                                  VecOut q) {
  assert(q.size() == model.nq);
  IkReport report;
  place(model, q);
  collect(model, problem, false);
  factor_.assign(level_end_.size(), 1.0);
  square_.assign(level_end_.size(), std::numeric_limits<double>::infinity());
  adapt_damping();
  for (; report.iterations < options.max_iterations && !report.converged; ++report.iterations) {
    prepare(model, problem, true);
    report.at_limits = solve_within_limits(model, options.limits, options.damping);
    Vector step(step_.data(), dofs_);
    const double largest = dofs_ > 0 ? step.lpNorm<Eigen::Infinity>() : 0;
    if (largest > options.max_step) step *= options.max_step / largest;
    integrate(model, q, step, 1);
    report.last_step = std::min(largest, options.max_step);
    report.converged = largest <= options.tolerance;
    place(model, q);
    collect(model, problem, false);
    adapt_damping();
  }
  report.error = largest_error();
  return report;
}

void InverseKinematics::rates(const Model& model, const IkProblem& problem, VecIn q, VecOut v) {
  place(model, q);
  collect(model, problem, true);
  factor_.assign(level_end_.size(), 1.0);
  prepare(model, problem, false);
  solve_within_limits(model, false, 0);
  v = Vector(step_.data(), dofs_);
}

}  // namespace karakuri
