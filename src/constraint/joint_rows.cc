#include "karakuri/constraint/joint_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/model/configuration.h"

namespace karakuri {

namespace {

int add_joint_row(solver::RowKind kind, RowSource source, const Model& model, const Workspace& ws, int dof,
                  double sign, Rows& rows) {
  const int row = rows.add(kind, source, dof, 1);
  ImpulseRow& impulse = rows.impulses[row] = dof_row(model, ws, dof);
  impulse.force *= sign;
  impulse.moment *= sign;
  return row;
}

/// What makes a row a limit with `gap`, rigid or with a spring and a damper, in the row's own unit; and its
/// change to metres.
void set_gap(double gap, double u, double stiffness, double damping,
             const StabilizationSettings& stabilization, double h, double unit, int row, Rows& rows) {
  const bool gives = std::isfinite(stiffness);
  const Softness soft =
      gives ? soft_gap(stiffness, damping, gap, h) : stabilize_gap(stabilization, unit * gap, unit * u, h);
  rows.error[row] = gives ? std::max(gap, 0.0) : gap;  // how far it gives way is no error
  rows.bias[row] = gives ? soft.bias : soft.bias / unit;
  rows.compliance[row] = gives ? soft.compliance : soft.compliance / (unit * unit);
  rows.change_unit(row, unit);
}

/// What undoes an error of an equality, in the row's own unit.
Softness stabilize_in(const StabilizationSettings& stabilization, double error, double u, double h,
                      double unit) {
  const Softness soft = stabilize(stabilization, unit * error, unit * u, h);
  return {soft.bias / unit, soft.compliance / (unit * unit)};
}

void add_limit_row(const Model& model, const Workspace& ws, int dof, double sign, double gap, double u,
                   const StabilizationSettings& stabilization, double h, Rows& rows) {
  if (is_far_from_limit(gap, u, h, rows.length / dof_unit(model, dof, rows.length))) return;
  const int row =
      add_joint_row(solver::RowKind::kComplementarity, RowSource::kLimit, model, ws, dof, sign, rows);
  const DofProperties& p = model.dof_properties[dof];
  set_gap(gap, u, p.limit_stiffness, p.limit_damping, stabilization, h, dof_unit(model, dof, rows.length),
          row, rows);
}

/// The limit of an orientation: on the angle of rotation, whatever its axis.
void add_turn_limit_row(const Model& model, const State& state, const Workspace& ws, const Body& body,
                        VecIn v_free, const StabilizationSettings& stabilization, double h, Rows& rows) {
  const int first = body.first_v + body.dofs - 3;
  const double most = model.dof_properties[first].upper;
  if (std::isinf(most)) return;
  Vec3 turn;
  for (int k = 0; k < 3; ++k) turn[k] = dof_position(model, state.q_view(), first + k);
  const double angle = turn.norm();
  const Vec3 direction = angle > 1e-9 ? Vec3(turn / angle) : Vec3::UnitX();
  const double gap = most - angle, u = -direction.dot(v_free.segment<3>(first));
  if (is_far_from_limit(gap, u, h, 1)) return;
  const int row =
      add_joint_row(solver::RowKind::kComplementarity, RowSource::kLimit, model, ws, first, -1, rows);
  rows.impulses[row].moment.setZero();
  for (int k = 0; k < 3; ++k) rows.impulses[row].moment -= direction[k] * Vec3(ws.axis[first + k]);
  const DofProperties& p = model.dof_properties[first];
  set_gap(gap, u, p.limit_stiffness, p.limit_damping, stabilization, h, rows.length, row, rows);
}

}  // namespace

double relation_unit(const Model& model, const Relation& r, double length) {
  double most = 0;  // of dx per metre
  for (const Relation::Term& t : r.terms)
    most = std::max(most, std::abs(t.scale) / dof_unit(model, t.dof, length));
  return most > 0 ? std::ldexp(1.0, -std::ilogb(most)) : 1;
}

void add_limit_rows(const Model& model, const State& state, const Workspace& ws, int i, VecIn v_free,
                    const StabilizationSettings& stabilization, double h, Rows& rows) {
  const Body& body = model.bodies[i];
  const bool turns = has_quaternion(body.kind);
  for (int k = 0; k < body.dofs - (turns ? 3 : 0); ++k) {
    const int dof = body.first_v + k;
    const DofProperties& p = model.dof_properties[dof];
    const double q = state.q[body.first_q + k];
    if (p.lower > -DofProperties::kNone)
      add_limit_row(model, ws, dof, 1, q - p.lower, v_free[dof], stabilization, h, rows);
    if (p.upper < DofProperties::kNone)
      add_limit_row(model, ws, dof, -1, p.upper - q, -v_free[dof], stabilization, h, rows);
  }
  if (turns) add_turn_limit_row(model, state, ws, body, v_free, stabilization, h, rows);
}

void add_friction_row(const Model& model, const Workspace& ws, int dof, double h, Rows& rows) {
  const int row = add_joint_row(solver::RowKind::kBox, RowSource::kFriction, model, ws, dof, 1, rows);
  rows.upper[row] = h * model.dof_properties[dof].dry_friction;
  rows.lower[row] = -rows.upper[row];
  rows.change_unit(row, dof_unit(model, dof, rows.length));
}

void add_drive_row(const Model& model, const Workspace& ws, int dof, double displacement, double stiffness,
                   double damping, double v_target, double limit, double h, Rows& rows) {
  const int row = add_joint_row(solver::RowKind::kBox, RowSource::kDrive, model, ws, dof, 1, rows);
  rows.upper[row] = h * limit;
  rows.lower[row] = -h * limit;
  if (std::isinf(damping)) {
    rows.bias[row] = -v_target;
  } else {
    const Softness soft = implicit_spring(stiffness, damping, displacement, h);
    rows.bias[row] = soft.bias - damping * v_target / (h * stiffness + damping);
    rows.compliance[row] = soft.compliance;
  }
  rows.change_unit(row, dof_unit(model, dof, rows.length));
}

void add_loop_rows(const Model& model, const Workspace& ws, int index,
                   const StabilizationSettings& stabilization, double h, double chord, Rows& rows) {
  const Loop& loop = model.loops[index];
  const LoopRows held = loop_rows(loop, ws);
  const unsigned which = moving_rows(model, loop, held, ws);
  if (which == 0) return;
  int row = rows.add(solver::RowKind::kEquality, RowSource::kLoop, index, std::popcount(which));
  rows.blocks.back().which = static_cast<std::uint8_t>(which);
  std::array<double, 6> u{}, bias{};
  if (stabilization.kind == Stabilization::kPosition) bias = loop_bias(loop, held, ws);
  row_velocities({held.row.data(), static_cast<std::size_t>(held.count)}, ws,
                 Eigen::Map<Eigen::VectorXd>(u.data(), held.count));
  for (int k = 0; k < held.count; ++k) {
    if (!(which >> k & 1)) continue;
    const double unit = loop_row_unit(held.row[k], rows.length);
    const Softness soft = stabilize_in(stabilization, held.error[k], u[k], h, unit);
    rows.impulses[row] = held.row[k];
    rows.error[row] = held.error[k];
    rows.bias[row] = soft.bias + 0.5 * h * chord * bias[k];
    rows.compliance[row] = soft.compliance;
    rows.change_unit(row++, unit);
  }
}

namespace {

/// The limits of a distance. Row 0 of the loop is along it, with the error from Loop::distance.
void add_distance_limits(const Loop& loop, const LoopRows& along, const Workspace& ws, int index,
                         const StabilizationSettings& stabilization, double h, Rows& rows) {
  double u = 0;
  row_velocities({along.row.data(), 1}, ws, Eigen::Map<Eigen::VectorXd>(&u, 1));
  const double length = loop.distance + along.error[0];
  const auto limit = [&](RowSource source, double sign, double gap) {
    if (is_far_from_limit(gap, sign * u, h, rows.length)) return;
    const int row = rows.add(solver::RowKind::kComplementarity, source, index, 1);
    rows.impulses[row] = along.row[0];
    rows.impulses[row].force *= sign;
    set_gap(gap, sign * u, loop.stiffness, loop.damping, stabilization, h, 1, row, rows);
  };
  limit(RowSource::kLoopLow, 1, length - loop.range.low);
  limit(RowSource::kLoopHigh, -1, loop.range.high - length);
}

}  // namespace

void add_soft_loop_rows(const Model& model, const Workspace& ws, int index,
                        const StabilizationSettings& stabilization, double h, Rows& rows) {
  const Loop& loop = model.loops[index];
  const LoopRows held = loop_rows(loop, ws);
  if (loop.bounds()) return add_distance_limits(loop, held, ws, index, stabilization, h, rows);
  if (held.count == 0) return;
  const int row = rows.add(solver::RowKind::kEquality, RowSource::kSoftLoop, index, held.count);
  for (int k = 0; k < held.count; ++k) {
    const bool turns = held.row[k].force.isZero();
    const double stiffness = turns ? loop.turn_stiffness : loop.stiffness;
    const Softness soft =
        std::isinf(stiffness)
            ? Softness{stabilization.erp * held.error[k] / h, 0}
            : implicit_spring(stiffness, turns ? loop.turn_damping : loop.damping, held.error[k], h);
    rows.impulses[row + k] = held.row[k];
    rows.bias[row + k] = soft.bias;
    rows.compliance[row + k] = soft.compliance;
    rows.change_unit(row + k, loop_row_unit(held.row[k], rows.length));
  }
}

void add_coupling_row(const Model& model, const State& state, const Workspace& ws, int index,
                      const StabilizationSettings& stabilization, double h, double chord, Rows& rows) {
  const Relation& r = model.relations[index];
  const auto q = state.q_view(), v = state.v_view();
  const double error = relation_position(r, q), unit = relation_unit(model, r, rows.length);
  const Softness soft = stabilize_in(stabilization, error, relation_rate(r, q, v), h, unit);
  const int row = rows.add(solver::RowKind::kEquality, RowSource::kCoupling, index, 1);
  rows.impulses[row] = relation_row(model, r, q, ws, 1, rows.parts);
  rows.error[row] = error;
  rows.bias[row] = soft.bias;
  if (stabilization.kind == Stabilization::kPosition)
    rows.bias[row] += 0.5 * h * chord * relation_bias(r, q, v);
  rows.compliance[row] = soft.compliance;
  rows.change_unit(row, unit);
}

void add_tendon_rows(const Model& model, const State& state, const Workspace& ws, int index, VecIn v_free,
                     const StabilizationSettings& stabilization, double h, Rows& rows) {
  const Relation& r = model.relations[index];
  const auto q = state.q_view();
  const double x = relation_position(r, q), u = relation_rate(r, q, v_free);
  const double unit = relation_unit(model, r, rows.length);
  const auto limit = [&](RowSource source, double sign, double gap) {
    if (is_far_from_limit(gap, sign * u, h, rows.length / unit)) return;
    const int row = rows.add(solver::RowKind::kComplementarity, source, index, 1);
    rows.impulses[row] = relation_row(model, r, q, ws, sign, rows.parts);
    set_gap(gap, sign * u, r.limit_stiffness, r.limit_damping, stabilization, h, unit, row, rows);
  };
  limit(RowSource::kTendonLow, 1, x - r.range.low);
  limit(RowSource::kTendonHigh, -1, r.range.high - x);
  if (!(r.stiffness > 0 || r.damping > 0)) return;
  const int row = rows.add(solver::RowKind::kEquality, RowSource::kTendonSpring, index, 1);
  rows.impulses[row] = relation_row(model, r, q, ws, 1, rows.parts);
  const Softness soft = implicit_spring(r.stiffness, r.damping, x - r.rest, h);
  rows.bias[row] = soft.bias;
  rows.compliance[row] = soft.compliance;
  rows.change_unit(row, unit);
}

void add_spring_rows(const Workspace&, int spring, int body, const Vec3& point, const Vec3& target,
                     double stiffness, double damping, double h, Rows& rows) {
  const int row = rows.add(solver::RowKind::kEquality, RowSource::kSpring, spring, 3);
  for (int k = 0; k < 3; ++k) {
    rows.impulses[row + k] = {.body = body, .other = 0, .point = point, .force = Vec3::Unit(k)};
    const Softness soft = implicit_spring(stiffness, damping, point[k] - target[k], h);
    rows.bias[row + k] = soft.bias;
    rows.compliance[row + k] = soft.compliance;
  }
}

}  // namespace karakuri
