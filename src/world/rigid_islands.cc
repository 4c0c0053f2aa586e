#include "world/rigid_islands.h"

#include <algorithm>
#include <cmath>

#include "solver/choose.h"
#include "world/correct_positions.h"

namespace karakuri::world_detail {

namespace {

void write(const Vec3& from, double* to) { Eigen::Map<Vec3>{to} = from; }

void write(const Mat3& I, double* to) {
  to[0] = I(0, 0), to[1] = I(1, 1), to[2] = I(2, 2);
  to[3] = I(0, 1), to[4] = I(0, 2), to[5] = I(1, 2);
}

solver::RigidBody rigid_body(const World::Impl& w, int body) {
  const FreeBody& free = w.model.free_bodies[w.model.bodies[body].extra];
  const Mat3 R = w.ws.pose[body].R;
  const Mat3 axes = R * Mat3(free.axes);
  solver::RigidBody out{.mass = w.model.bodies[body].mass};
  write(Vec3(Vec3(w.ws.pose[body].p) + R * Vec3(free.com)), out.com);
  write(Mat3(axes * Vec3(free.moments).asDiagonal() * axes.transpose()), out.inertia);
  write(Mat3(axes * Vec3(free.inverse_moments).asDiagonal() * axes.transpose()), out.inverse_inertia);
  return out;
}

/// Number of a body in its island; 0: it does not move.
int number_of(const World::Impl& w, int body, std::int32_t first, Slot& slot) {
  const int tree = w.tree_of[body];
  if (tree < 0) return 0;
  std::int32_t& number = slot.state.tree_subsystem[tree];
  if (number < 0) {
    slot.rigid.bodies.push_back(rigid_body(w, body));
    slot.rigid_bodies.push_back(body);
    number = static_cast<std::int32_t>(slot.rigid.bodies.size()) - first;
  }
  return number;
}

solver::RigidPoint rigid_point(const World::Impl& w, const RowBlock& block) {
  const ImpulseRow* rows = w.rows.impulses.data() + block.row;
  solver::RigidPoint x{.friction = w.rows.friction[block.row + 1],
                       .bias = w.rows.bias[block.row],
                       .error = w.rows.error[block.row]};
  write(Vec3(rows[0].point), x.at);
  for (int k = 0; k < 3; ++k) {
    write(Vec3(rows[k].force), x.axes[k]);
    x.given[k] = w.row_free[block.row + k] + w.rows.bias[block.row + k];
    x.impulse[k] = w.rows.lambda[block.row + k];
  }
  return x;
}

/// Root of the sum of squares of the speeds with which rows move, and with which a part of their depth is
/// about to be corrected: that changes directions of contacts, not what they carry.
double size_of_motion(const World::Impl& w, const Island& island, double h) {
  const solver::PositionCorrection c = correction_of(w.settings.stabilization, h);
  double sum = 0;
  for (const std::int32_t b : w.blocks_of(island)) {
    const int row = w.rows.blocks[b].row;
    const double correction = c.speed_due(w.rows.error[row]);
    sum += correction * correction;
    for (int k = 0; k < 3; ++k) sum += w.row_velocity[row + k] * w.row_velocity[row + k];
  }
  return std::sqrt(sum);
}

solver::KnownMotion known_motion(const World::Impl& w, const Island& island, double h) {
  const double unit = std::sqrt(static_cast<double>(island.rows));
  return {.exact = w.settings.tolerance * unit,
          .acceptable = w.settings.acceptable * unit,
          .motion = size_of_motion(w, island, h),
          .fall = h * w.model.gravity.norm() * unit,
          .usual = w.scales.speed * unit};
}

/// Adds to the velocities that are answered what impulses have given to a free body, at its centre of mass.
void answer(World::Impl& w, int body, const Vec3& v, const Vec3& spin) {
  const Body& b = w.model.bodies[body];
  const Vec3 com = Mat3(w.ws.pose[body].R) * Vec3(w.model.free_bodies[b.extra].com);
  const Vec3 at_origin = v - spin.cross(com);
  for (int k = 0; k < 3; ++k) {
    const Vec3 axis = w.ws.axis[b.first_v + k];
    w.v_answered[b.first_v + k] += axis.dot(at_origin);
    w.v_answered[b.first_v + 3 + k] += axis.dot(spin);
  }
}

void take_point(World::Impl& w, const RowBlock& block, const solver::RigidPoint& x) {
  for (int k = 0; k < 3; ++k) {
    w.rows.lambda[block.row + k] = x.impulse[k];
    w.row_velocity[block.row + k] = x.velocity[k] - w.rows.bias[block.row + k];
  }
  w.contacts[block.index].mobility = x.mobility;
  if (x.push != 0) w.correction[block.row] = x.push;
}

}  // namespace

bool is_rigid(const World::Impl& w, const Island& island) {
  // RK4 has impacts at the start of the step, as if all were bouncing
  if (!island.loose || island.trees < solver::kLeastRigidBodies ||
      w.settings.integrator == Integrator::kRk4 || w.settings.contact != ContactModel::kCone ||
      w.settings.solver != solver::Method::kDefault)
    return false;
  const BlockList blocks = w.blocks_of(island);
  return std::all_of(blocks.begin(), blocks.end(), [&](std::int32_t b) {
    const RowBlock& block = w.rows.blocks[b];
    return block.source == RowSource::kContact && block.size == 3 && w.rows.compliance[block.row] == 0 &&
           w.restitution[b] == 0;
  });
}

void state_rigid(const World::Impl& w, const Island& island, double h, double max_work, Slot& slot) {
  solver::RigidBatch& batch = slot.rigid;
  const auto first = static_cast<std::int32_t>(batch.bodies.size());
  solver::RigidIsland stated{.first_body = first,
                             .first_point = static_cast<std::int32_t>(batch.points.size()),
                             .points = island.block_count,
                             .known = known_motion(w, island, h),
                             .max_work = max_work};
  for (const std::int32_t b : w.blocks_of(island)) {
    const RowBlock& block = w.rows.blocks[b];
    const ImpulseRow& row = w.rows.impulses[block.row];
    solver::RigidPoint& x = batch.points.emplace_back(rigid_point(w, block));
    x.body = number_of(w, row.body, first, slot);
    x.other = number_of(w, row.other, first, slot);
  }
  stated.bodies = static_cast<std::int32_t>(batch.bodies.size()) - first;
  for (std::size_t b = first; b < batch.bodies.size(); ++b)
    slot.state.tree_subsystem[w.tree_of[slot.rigid_bodies[b]]] = -1;
  batch.islands.push_back(stated);
}

void take_answer(World::Impl& w, Island& island, int k, Slot& slot) {
  const solver::RigidIsland& solved = slot.rigid.islands[k];
  const BlockList blocks = w.blocks_of(island);
  for (int b = 0; b < solved.points; ++b)
    take_point(w, w.rows.blocks[blocks[b]], slot.rigid.points[solved.first_point + b]);
  for (int b = solved.first_body; b < solved.first_body + solved.bodies; ++b) {
    const solver::RigidBody& body = slot.rigid.bodies[b];
    answer(w, slot.rigid_bodies[b], Eigen::Map<const Vec3>(body.v), Eigen::Map<const Vec3>(body.w));
  }
  slot.corrected = slot.corrected || solved.corrected;
  island.report = solved.report;
  island.refused = false;
  island.answered = island.solved = true;
}

solver::RigidSettings rigid_settings(const World::Impl& w, double h) {
  solver::RigidSettings out{.correction = correction_of(w.settings.stabilization, h)};
  write(Vec3(h * Vec3(w.model.gravity)), out.fall);
  return out;
}

}  // namespace karakuri::world_detail
