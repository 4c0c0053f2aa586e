// Loops are rows J_C of the velocities of the tree,
//   J_C v = 0,   J_C a + (dJ_C/dt) v = 0                                                        (1)
// Of its rows m = rank are independent; of the dofs m follow (S) and the rest leads (G):
//   v_S = H v_G,  H = -J_S^-1 J_G,   a_S = H a_G + dH v_G,  dH v_G = -J_S^-1 (dJ/dt) v           (2)
// W stacks H and unit rows. Any effort tau works on G as W^T tau, so
//   W^T M W a_G = W^T (tau - c - M dW v_G)                                                       (3)
// whose matrix and right side come from inverse dynamics (S3.4): b = W^T rnea(dW v_G), column i =
// W^T rnea(W e_i + dW v_G) - b. By constraint forces instead, with M = L L^T and Y = L^-1 J^T,
//   a = a_free - L^-T (Y^+)^T (J a_free + (dJ/dt) v)                                             (4)
// which needs the pseudo-inverse of Y alone: near a singularity errors grow as its condition number, not as
// that number squared, as they would with (J M^-1 J^T)^-1.
#include "karakuri/dynamics/closed_loop.h"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/dynamics/relation_rows.h"
#include "karakuri/dynamics/rnea.h"
#include "karakuri/model/configuration.h"

namespace karakuri {

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// Pivots below this share of the largest are none: three digits above the rounding of J.
constexpr double kRankTolerance = 1e-12;
// Coordinates are kept while their worst pivot is no worse than this share of the best choice's. Without
// a reserve two choices of equal worth would take turns.
constexpr double kKeep = 0.1;

/// Adds the row of one side to a row of J.
void add_side(const Model& model, const Workspace& ws, const ImpulseRow& impulse, int body, double sign,
              Eigen::Ref<Eigen::RowVectorXd, 0, Eigen::InnerStride<>> J) {
  for (int i = body; i != 0; i = model.bodies[i].parent) {
    const Body& at = model.bodies[i];
    const Vec3 moment = impulse.moment + (impulse.point - Vec3(ws.pose[i].p)).cross(impulse.force);
    for (int v = at.first_v; v < at.first_v + at.dofs; ++v) {
      const Vec3 axis = ws.axis[v];
      const DofKind kind = model.dofs[v].kind;
      if (kind != DofKind::kTranslation) J[v] += sign * axis.dot(moment);
      if (kind == DofKind::kTranslation) J[v] += sign * axis.dot(impulse.force);
      if (kind == DofKind::kScrew) J[v] += sign * at.pitch * axis.dot(impulse.force);
    }
  }
}

void fill_rows(const Model& model, const State& state, const Workspace& ws, ClosedLoop& out) {
  out.nv = model.nv;
  out.rows = 0;
  for (std::size_t i = 0; i < model.loops.size(); ++i)
    if (state.loop_closed[i] && model.loops[i].held()) out.rows += loop_row_count(model.loops[i].kind);
  for (const Relation& r : model.relations) out.rows += r.held ? 1 : 0;
  out.jacobian.assign(static_cast<std::size_t>(out.rows) * model.nv, 0.0);
  out.bias.clear();
  out.error.clear();
  out.loop_of.clear();
  Eigen::Map<Matrix> J(out.jacobian.data(), out.rows, model.nv);
  for (std::size_t i = 0; i < model.loops.size(); ++i) {
    if (!state.loop_closed[i] || !model.loops[i].held()) continue;
    const LoopRows rows = loop_rows(model.loops[i], ws);
    const std::array<double, 6> bias = loop_bias(model.loops[i], rows, ws);
    for (int k = 0; k < rows.count; ++k) {
      const auto row = static_cast<Eigen::Index>(out.error.size());
      add_side(model, ws, rows.row[k], rows.row[k].body, 1, J.row(row));
      add_side(model, ws, rows.row[k], rows.row[k].other, -1, J.row(row));
      out.error.push_back(rows.error[k]);
      out.bias.push_back(bias[k]);
      out.loop_of.push_back(static_cast<int>(i));
    }
  }
  for (std::size_t i = 0; i < model.relations.size(); ++i) {
    const Relation& r = model.relations[i];
    if (!r.held) continue;
    const auto row = static_cast<Eigen::Index>(out.error.size());
    r.for_each_dof([&](const Relation::Term& t) {
      J(row, t.dof) = relation_rate(r, state.q_view(), Vector::Unit(model.nv, t.dof));
    });
    out.error.push_back(relation_position(r, state.q_view()));
    out.bias.push_back(relation_bias(r, state.q_view(), state.v_view()));
    out.loop_of.push_back(static_cast<int>(model.loops.size() + i));
  }
}

/// 1 / sqrt(M_ii): dofs in metres and in radians become comparable.
Vector dof_scale(const Model& model, Workspace& ws) {
  MassMatrix M(model);
  crba(model, ws, M);
  Vector scale(model.nv);
  for (int v = 0; v < model.nv; ++v)
    scale[v] = 1 / std::sqrt(std::max(M.entries[model.dofs[v].row + model.dofs[v].depth], 1e-300));
  return scale;
}

using PivotedQr = Eigen::ColPivHouseholderQR<Matrix>;

int rank_of(const PivotedQr& qr) {
  const auto d = qr.matrixQR().diagonal().cwiseAbs();
  int rank = 0;
  while (rank < d.size() && d[rank] > kRankTolerance * d[0] && d[rank] > 0) ++rank;
  return rank;
}

std::vector<int> first_pivots(const PivotedQr& qr, int count) {
  const auto& order = qr.colsPermutation().indices();
  std::vector<int> out(order.data(), order.data() + count);
  std::sort(out.begin(), out.end());
  return out;
}

double worst_pivot(const PivotedQr& qr, int rank) {
  return rank == 0 ? 1 : std::abs(qr.matrixQR()(rank - 1, rank - 1));
}

/// Nothing is held: every dof leads.
void choose_all(ClosedLoop& out) {
  out.rank = 0;
  out.rechosen = !out.dependent.empty();
  out.chosen_rows.clear();
  out.dependent.clear();
  out.regularity = 1;
  out.generalized.resize(out.nv);
  std::iota(out.generalized.begin(), out.generalized.end(), 0);
}

/// Independent rows, and which dofs follow. (2)
void choose(const Vector& scale, ClosedLoop& out) {
  if (out.rows == 0) return choose_all(out);
  const Matrix scaled = out.J() * scale.asDiagonal();
  const PivotedQr by_rows(scaled.transpose());
  out.rank = rank_of(by_rows);
  out.chosen_rows = first_pivots(by_rows, out.rank);
  if (out.rank == 0) return choose_all(out);
  const Matrix independent = scaled(out.chosen_rows, Eigen::all);
  const PivotedQr by_columns(independent);
  const double best = worst_pivot(by_columns, out.rank);
  const bool comparable =
      static_cast<int>(out.dependent.size()) == out.rank &&
      std::all_of(out.dependent.begin(), out.dependent.end(), [&](int v) { return v < out.nv; });
  const double kept =
      comparable ? worst_pivot(PivotedQr(Matrix(independent(Eigen::all, out.dependent))), out.rank) : 0;
  out.rechosen = !comparable || kept < kKeep * best;
  if (out.rechosen) out.dependent = first_pivots(by_columns, out.rank);
  const double largest = std::abs(by_columns.matrixQR()(0, 0));
  out.regularity = (out.rechosen ? best : kept) / largest;
  out.generalized.clear();
  for (int v = 0; v < out.nv; ++v)
    if (!std::binary_search(out.dependent.begin(), out.dependent.end(), v)) out.generalized.push_back(v);
}

/// H, dH v_G and W. (2)
void fill_maps(ClosedLoop& out) {
  const int free = out.mobility();
  out.map.assign(static_cast<std::size_t>(out.nv) * free, 0.0);
  out.map_bias.assign(static_cast<std::size_t>(out.nv), 0.0);
  Eigen::Map<Matrix> W(out.map.data(), out.nv, free);
  for (int k = 0; k < free; ++k) W(out.generalized[k], k) = 1;
  if (out.rank == 0) return;
  const Matrix J_S = out.J()(out.chosen_rows, out.dependent), J_G = out.J()(out.chosen_rows, out.generalized);
  const PivotedQr solve(J_S);
  const Matrix H = -solve.solve(J_G);
  const Vector b = Eigen::Map<const Vector>(out.bias.data(), out.rows)(out.chosen_rows);
  const Vector dH = -solve.solve(b);
  for (int i = 0; i < out.rank; ++i) {
    W.row(out.dependent[i]) = H.row(i);
    out.map_bias[out.dependent[i]] = dH[i];
  }
}

/// L with M = L L^T.
Eigen::LLT<Matrix> factor_mass(const Model& model, Workspace& ws) {
  MassMatrix M(model);
  crba(model, ws, M);
  Matrix dense(model.nv, model.nv);
  to_dense(model, M, dense);
  return Eigen::LLT<Matrix>(dense);
}

/// The change of least norm in the metric of M that changes J x by `r`: L^-T (Y^+)^T r. (4)
Vector least_change(const Eigen::LLT<Matrix>& mass, const ClosedLoop& loop, const Vector& r,
                    double tolerance) {
  if (loop.rows == 0) return Vector::Zero(loop.nv);
  // Y^T (rows x nv) x = r, of least norm: a complete orthogonal decomposition finds it at any rank
  const Matrix Y = mass.matrixL().solve(loop.J().transpose());
  Eigen::CompleteOrthogonalDecomposition<Matrix> cod;
  cod.setThreshold(tolerance);
  cod.compute(Y.transpose());
  return mass.matrixL().transpose().solve(Vector(cod.solve(r)));
}

Vector inverse(const Model& model, const State& state, const Vector& a, std::span<const Force> f_ext,
               Workspace& ws) {
  Vector tau(model.nv);
  rnea(model, state, a, f_ext, ws, tau);
  return tau;
}

Eigen::Map<const Vector> view(const std::vector<double>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}

/// min |x|^2 / 2 with S^T x = b and l <= x <= h. Its solution is x = clamp(S y) where y is the multiplier,
/// and y minimises a convex piecewise quadratic whose gradient is S^T clamp(S y) - b: Newton's method on y
/// with a line search finds the active bounds in a finite number of steps.
struct BoundedLeastNorm {
  const Matrix& S;
  const Vector& b;
  Vector low, high;

  Vector at(const Vector& y) const { return (S * y).cwiseMax(low).cwiseMin(high); }
  double value(const Vector& y) const {
    const Vector x = at(y);
    return x.dot(S * y) - 0.5 * x.squaredNorm() - b.dot(y);
  }
  Vector newton_step(const Vector& y, const Vector& gradient) const {
    const Vector raw = S * y;
    Matrix free = S;
    for (Eigen::Index i = 0; i < raw.size(); ++i)
      if (raw[i] <= low[i] || raw[i] >= high[i]) free.row(i).setZero();
    const Matrix normal = free.transpose() * free;
    // where too few are free the gradient itself leads on
    return -Eigen::CompleteOrthogonalDecomposition<Matrix>(normal).solve(gradient) -
           (free.isZero(0)
                ? gradient
                : Vector(gradient - normal * normal.completeOrthogonalDecomposition().solve(gradient)));
  }
  Vector solve() const {
    Vector y = (S.transpose() * S).completeOrthogonalDecomposition().solve(b);
    for (int k = 0; k < 100; ++k) {
      const Vector gradient = S.transpose() * at(y) - b;
      if (gradient.norm() <= 1e-13 * (1 + b.norm())) break;
      const Vector step = newton_step(y, gradient);
      double length = 1;
      const double now = value(y), slope = gradient.dot(step);
      while (length > 1e-12 && value(y + length * step) > now + 1e-4 * length * slope) length *= 0.5;
      y += length * step;
    }
    return at(y);
  }
};

}  // namespace

double ClosedLoop::largest_error() const {
  double most = 0;
  for (const double e : error) most = std::max(most, std::abs(e));
  return most;
}

void update_closed_loop(const Model& model, const State& state, Workspace& ws, ClosedLoop& out) {
  update_poses(model, state, ws);
  update_velocities(model, state, ws);
  update_bias_accelerations(model, ws);
  fill_rows(model, state, ws, out);
  choose(dof_scale(model, ws), out);
  fill_maps(out);
}

ClosedLoopEfforts closed_loop_inverse_dynamics(const Model& model, const State& state, const ClosedLoop& loop,
                                               VecIn a_G, std::span<const Actuated> actuated,
                                               std::span<const Force> f_ext, Workspace& ws) {
  assert(a_G.size() == loop.mobility());
  const Vector a = loop.W() * a_G + view(loop.map_bias);
  const Vector tau_G = loop.W().transpose() * inverse(model, state, a, f_ext, ws);
  const auto count = static_cast<Eigen::Index>(actuated.size());
  Matrix S(count, loop.mobility());
  Vector low(count), high(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    S.row(i) = loop.W().row(actuated[i].dof);
    low[i] = actuated[i].least;
    high[i] = actuated[i].most;
  }
  const Vector x = BoundedLeastNorm{S, tau_G, low, high}.solve();
  const double missing = (S.transpose() * x - tau_G).norm();
  return {{x.data(), x.data() + count}, missing <= 1e-10 * (1 + tau_G.norm()) ? 0 : missing};
}

void closed_loop_forward_dynamics(const Model& model, const State& state, const ClosedLoop& loop, VecIn tau,
                                  std::span<const Force> f_ext, Workspace& ws, VecOut a) {
  const auto W = loop.W();
  const Vector drift = view(loop.map_bias);
  const Vector b = W.transpose() * inverse(model, state, drift, f_ext, ws);
  Matrix A(loop.mobility(), loop.mobility());
  for (int i = 0; i < loop.mobility(); ++i)
    A.col(i) = W.transpose() * inverse(model, state, W.col(i) + drift, f_ext, ws) - b;
  const Vector a_G = A.ldlt().solve(W.transpose() * tau - b);  // (3)
  a = W * a_G + drift;
}

void constrained_forward_dynamics(const Model& model, const State& state, const ClosedLoop& loop, VecIn tau,
                                  std::span<const Force> f_ext, Workspace& ws, VecOut a) {
  aba(model, state, tau, f_ext, ws, a);
  const Vector wrong = loop.J() * a + view(loop.bias);
  a -= least_change(factor_mass(model, ws), loop, wrong, kRankTolerance);  // (4)
}

double close_loops(const Model& model, State& state, Workspace& ws, int most_iterations) {
  // Directions in which the loops hardly move are left alone: there a Newton step would lead anywhere. Rows
  // that fall together at closed positions do not quite where loops are open: by as much as they are open, so
  // what moves no more than that is no direction of its own, unless nothing is won without it.
  constexpr double kTrust = 1e-7, kPerError = 10;
  double most_trust = 1e-4;
  ClosedLoop loop;
  const auto look = [&] {
    update_poses(model, state, ws);
    fill_rows(model, state, ws, loop);
    return loop.largest_error();
  };
  double error = look();
  for (int k = 0; k < most_iterations && error > 1e-15; ++k) {
    const double trust = std::clamp(kPerError * error, kTrust, most_trust);
    const Vector step = least_change(factor_mass(model, ws), loop, -view(loop.error), trust);
    const std::vector<double> before = state.q;
    double share = 1, after = 0;
    for (; share > 1e-3; share *= 0.5) {
      integrate(model, state.q_view(), step, share);
      after = look();
      if (after < error) break;
      state.q = before;
    }
    if (after < error) {
      error = after;
      continue;
    }
    if (trust == kTrust) break;
    most_trust = kTrust;
    look();
  }
  return look();
}

void project_velocities(const Model& model, State& state, Workspace& ws) {
  ClosedLoop loop;
  update_poses(model, state, ws);
  fill_rows(model, state, ws, loop);
  state.v_view() -= least_change(factor_mass(model, ws), loop, loop.J() * state.v_view(), kRankTolerance);
}

}  // namespace karakuri
