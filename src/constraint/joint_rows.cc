#include "karakuri/constraint/joint_rows.h"

#include <cmath>

#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/model/configuration.h"

namespace karakuri {

namespace {

/// Moment that works on the turning about `axis` and not on that about `idle`.
Vec3 dual(const Vec3& axis, const Vec3& idle) {
  const Vec3 m = axis - axis.dot(idle) * idle;
  // at a universal joint's singularity the two axes fall together and no such moment exists
  return m / std::max(m.dot(axis), 1e-6);
}

int add_joint_row(solver::RowKind kind, RowSource source, const Model& model, const Workspace& ws, int dof,
                  double sign, Rows& rows) {
  const int row = rows.add(kind, source, dof, 1);
  ImpulseRow& impulse = rows.impulses[row] = dof_row(model, ws, dof);
  impulse.force *= sign;
  impulse.moment *= sign;
  return row;
}

/// Limits are looked at from this distance on, or from what the step can close [rad or m].
constexpr double kNear = 2e-3;

void add_limit_row(const Model& model, const Workspace& ws, int dof, double sign, double gap, double u,
                   const StabilizationSettings& stabilization, double h, Rows& rows) {
  if (gap > kNear && gap + 2 * h * u > 0) return;
  const int row =
      add_joint_row(solver::RowKind::kComplementarity, RowSource::kLimit, model, ws, dof, sign, rows);
  const Softness soft = stabilize_gap(stabilization, gap, u, h);
  rows.error[row] = gap;
  rows.bias[row] = soft.bias;
  rows.compliance[row] = soft.compliance;
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
  if (gap > kNear && gap + 2 * h * u > 0) return;
  const int row =
      add_joint_row(solver::RowKind::kComplementarity, RowSource::kLimit, model, ws, first, -1, rows);
  rows.impulses[row].moment.setZero();
  for (int k = 0; k < 3; ++k) rows.impulses[row].moment -= direction[k] * Vec3(ws.axis[first + k]);
  const Softness soft = stabilize_gap(stabilization, gap, u, h);
  rows.error[row] = gap;
  rows.bias[row] = soft.bias;
  rows.compliance[row] = soft.compliance;
}

}  // namespace

ImpulseRow dof_row(const Model& model, const Workspace& ws, int dof) {
  const int i = model.dofs[dof].body;
  const Body& body = model.bodies[i];
  const Vec3 axis = ws.axis[dof];
  ImpulseRow row{.body = i, .other = body.parent, .point = ws.pose[i].p};
  if (model.dofs[dof].kind == DofKind::kTranslation)
    row.force = axis;
  else if (body.kind == JointKind::kUniversal)
    row.moment = dual(axis, ws.axis[dof == body.first_v ? dof + 1 : dof - 1]);
  else
    row.moment = axis;
  return row;
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
}

void add_drive_row(const Model& model, const Workspace& ws, int dof, double displacement, double stiffness,
                   double damping, double v_target, double limit, double h, Rows& rows) {
  const int row = add_joint_row(solver::RowKind::kBox, RowSource::kDrive, model, ws, dof, 1, rows);
  rows.upper[row] = h * limit;
  rows.lower[row] = -h * limit;
  if (std::isinf(damping)) {
    rows.bias[row] = -v_target;
    return;
  }
  const Softness soft = implicit_spring(stiffness, damping, displacement, h);
  rows.bias[row] = soft.bias - damping * v_target / (h * stiffness + damping);
  rows.compliance[row] = soft.compliance;
}

void add_loop_rows(const Model& model, const Workspace& ws, int index,
                   const StabilizationSettings& stabilization, double h, double chord, Rows& rows) {
  const Loop& loop = model.loops[index];
  const LoopRows held = loop_rows(loop, ws);
  if (held.count == 0) return;
  const int row = rows.add(solver::RowKind::kEquality, RowSource::kLoop, index, held.count);
  std::array<double, 6> u{}, bias{};
  if (stabilization.kind == Stabilization::kPosition) bias = loop_bias(loop, held, ws);
  row_velocities({held.row.data(), static_cast<std::size_t>(held.count)}, ws,
                 Eigen::Map<Eigen::VectorXd>(u.data(), held.count));
  for (int k = 0; k < held.count; ++k) {
    const Softness soft = stabilize(stabilization, held.error[k], u[k], h);
    rows.impulses[row + k] = held.row[k];
    rows.error[row + k] = held.error[k];
    rows.bias[row + k] = soft.bias + 0.5 * h * chord * bias[k];
    rows.compliance[row + k] = soft.compliance;
  }
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
