// All rows of the step in a fixed order: loops, couplings, loops that give way, limits, tendons, dry
// friction, drives, springs, contacts.
#include <algorithm>
#include <cmath>

#include "dynamics/relative_velocity.h"
#include "karakuri/constraint/contact_rows.h"
#include "karakuri/constraint/joint_rows.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "world/impl.h"

namespace karakuri {

using world_detail::SpringSlot;

double world_detail::limit_sign(const Model& model, const Workspace& ws, const Rows& rows,
                                const RowBlock& block) {
  const Body& body = model.bodies[model.dofs[block.index].body];
  if (has_quaternion(body.kind) && block.index - body.first_v >= body.dofs - 3) return -1;
  const ImpulseRow& row = rows.impulses[block.row];
  return (row.force + row.moment).dot(Vec3(ws.axis[block.index])) > 0 ? 1 : -1;
}

namespace {

void add_loops(World::Impl& w, double h) {
  if (w.model.loops.empty()) return;
  update_bias_accelerations(w.model, w.ws);
  for (std::size_t i = 0; i < w.model.loops.size(); ++i) {
    const Loop& loop = w.model.loops[i];
    if (!loop.held() || !w.state.loop_closed[i] || !w.answers(loop)) continue;
    int row = w.rows.size();
    add_loop_rows(w.model, w.ws, static_cast<int>(i), w.settings.stabilization, h, w.loop_chord[i], w.rows);
    if (row == w.rows.size()) continue;
    for (int k = 0; k < 6; ++k)
      if (w.rows.blocks.back().which >> k & 1) w.rows.lambda[row++] = w.loop_impulse[i][k];
  }
}

/// Loops that give way or bound a distance, after all that is held: hold_impulses() counts on that.
void add_soft_loops(World::Impl& w, double h) {
  for (std::size_t i = 0; i < w.model.loops.size(); ++i) {
    const Loop& loop = w.model.loops[i];
    if (loop.held() || !w.state.loop_closed[i] || !w.answers(loop)) continue;
    const std::size_t first = w.rows.blocks.size();
    add_soft_loop_rows(w.model, w.ws, static_cast<int>(i), w.settings.stabilization, h, w.rows);
    for (std::size_t b = first; b < w.rows.blocks.size(); ++b) {
      const RowBlock& block = w.rows.blocks[b];
      const std::array<double, 6>& last = w.loop_impulse[i];
      if (block.source == RowSource::kSoftLoop)
        std::copy_n(last.begin(), block.size, w.rows.lambda.begin() + block.row);
      else
        w.rows.lambda[block.row] = std::max(0.0, world_detail::loop_limit_sign(block.source) * last[0]);
    }
  }
}

void add_couplings(World::Impl& w, double h) {
  for (std::size_t i = 0; i < w.model.relations.size(); ++i) {
    if (!w.model.relations[i].held || !w.responds(w.model.relations[i])) continue;
    add_coupling_row(w.model, w.state, w.ws, static_cast<int>(i), w.settings.stabilization, h,
                     w.relation_chord[i], w.rows);
    w.rows.lambda[w.rows.size() - 1] = w.relation_impulse[i][0];
  }
}

void add_tendons(World::Impl& w, double h) {
  const Eigen::Map<const Eigen::VectorXd> v_free(w.v_free.data(), w.model.nv);
  for (std::size_t i = 0; i < w.model.relations.size(); ++i) {
    if (w.model.relations[i].held || !w.responds(w.model.relations[i])) continue;
    const std::size_t first = w.rows.blocks.size();
    add_tendon_rows(w.model, w.state, w.ws, static_cast<int>(i), v_free, w.settings.stabilization, h, w.rows);
    for (std::size_t b = first; b < w.rows.blocks.size(); ++b)
      w.rows.lambda[w.rows.blocks[b].row] =
          w.relation_impulse[i][world_detail::relation_slot(w.rows.blocks[b].source)];
  }
}

void add_limits(World::Impl& w, double h) {
  const Eigen::Map<const Eigen::VectorXd> v_free(w.v_free.data(), w.model.nv);
  for (const std::int32_t body : w.limited_bodies) {
    if (!w.responds(body)) continue;
    const std::size_t first = w.rows.blocks.size();
    add_limit_rows(w.model, w.state, w.ws, body, v_free, w.settings.stabilization, h, w.rows);
    for (std::size_t b = first; b < w.rows.blocks.size(); ++b) {
      const RowBlock& block = w.rows.blocks[b];
      const double sign = world_detail::limit_sign(w.model, w.ws, w.rows, block);
      w.rows.lambda[block.row] = std::max(0.0, sign * w.limit_impulse[block.index]);
    }
  }
}

void add_dof_rows(World::Impl& w, double h) {
  for (const std::int32_t dof : w.rubbing_dofs) {
    if (!w.responds(w.model.dofs[dof].body)) continue;
    const int row = w.rows.size();
    add_friction_row(w.model, w.ws, dof, h, w.rows);
    w.rows.lambda[row] = w.friction_impulse[dof];
  }
  for (int dof = 0; dof < w.model.nv; ++dof) {
    if (!w.drive_is_row[dof] || !w.responds(w.model.dofs[dof].body)) continue;
    const Drive& drive = w.drives[dof];
    const double q = dof_position(w.model, w.state.q_view(), dof);
    const int row = w.rows.size();
    add_drive_row(w.model, w.ws, dof, q - drive.q_target, drive.stiffness, drive.damping, drive.v_target,
                  world_detail::drive_limit(w.model, drive, dof), h, w.rows);
    w.rows.lambda[row] = w.drive_impulse[dof];
  }
}

void add_springs(World::Impl& w, double h) {
  for (std::size_t i = 0; i < w.springs.size(); ++i) {
    const SpringSlot& slot = w.springs[i];
    if (!slot.used || !(slot.spring.stiffness > 0 || slot.spring.damping > 0)) continue;
    const LinkEntry* link = w.model.find(slot.spring.link);
    if (!link || link->body == 0) continue;
    w.wake_tree(w.tree_of[link->body]);
    if (!w.responds(link->body)) continue;
    const Vec3 point = link_pose(w.model, w.ws, slot.spring.link) * slot.spring.p_L;
    const int row = w.rows.size();
    add_spring_rows(w.ws, static_cast<int>(i), link->body, point, slot.spring.target, slot.spring.stiffness,
                    slot.spring.damping, h, w.rows);
    for (int k = 0; k < 3; ++k) w.rows.lambda[row + k] = slot.impulse[k];
  }
}

/// A contact that slides, or that begins with slip, has kinetic friction.
double friction_of(const Contact& c, const Surface& surface, const Vec3& u) {
  constexpr double kNoSlip = 1e-3;  // [m/s]
  if (surface.static_friction == surface.kinetic_friction) return surface.static_friction;
  const bool slides = c.state == ContactState::kSlide ||
                      (c.state == ContactState::kOpen && (u - u.dot(c.normal) * c.normal).norm() > kNoSlip);
  return slides ? surface.kinetic_friction : surface.static_friction;
}

/// J v of the rows of a contact, which share its point.
void write_velocities(const Rows& rows, const RowBlock& block, const kernel::RelativeVelocity& u,
                      std::vector<double>& out) {
  if (out.size() < rows.impulses.size()) out.resize(rows.impulses.size());
  const Vec3 linear(u.v[0], u.v[1], u.v[2]), turning(u.w[0], u.w[1], u.w[2]);
  for (int i = block.row; i < block.row + block.size; ++i)
    out[i] = rows.impulses[i].force.dot(linear) + rows.impulses[i].moment.dot(turning);
}

void add_contact(World::Impl& w, int i, double h) {
  const Contact& c = w.contacts[i];
  const int a = w.colliders[c.collider_a].body, b = w.colliders[c.collider_b].body;
  const Surface& surface = w.surface_of(c.collider_a, c.collider_b);
  const simd::V3 point = simd::v3(c.point.x(), c.point.y(), c.point.z());
  const auto now = kernel::relative_velocity(b, a, point, w.ws, w.ws.velocity);
  const auto free = kernel::relative_velocity(b, a, point, w.ws, w.free_velocity);
  const Vec3 u(now.v[0], now.v[1], now.v[2]);
  const ContactGeometry geometry{a, b, c.point, contact_frame(c.normal), c.separation};
  add_contact_rows(geometry, surface, friction_of(c, surface, u), u.dot(c.normal), w.settings.stabilization,
                   h, i, w.rows);
  const RowBlock& block = w.rows.blocks.back();
  write_velocities(w.rows, block, now, w.row_velocity);
  write_velocities(w.rows, block, free, w.row_free);
  if (block.size >= 3 && c.state == ContactState::kStick &&
      w.settings.stabilization.kind == Stabilization::kPosition) {
    // what the solver's tolerance has let slip is taken back: nothing creeps, however long it is held. Not
    // below what contacts of one patch may ask for in directions that no rigid body has.
    constexpr double kUnfelt = 1e-7;  // [m]
    const double share = w.settings.stabilization.erp / h;
    for (int k = 1; k < 3; ++k) {
      const double slipped = c.stretch.dot(w.rows.impulses[block.row + k].force);
      w.rows.bias[block.row + k] = share * (slipped - std::clamp(slipped, -kUnfelt, kUnfelt));
    }
  }
  if (w.settings.warm_start) write_contact_impulse({c.impulse, c.turning_impulse}, block, w.rows);
  w.restitution[w.rows.blocks.size() - 1] = surface.restitution;
}

/// J v and J v_free of all rows so far, which are those of joints.
void find_joint_row_velocities(World::Impl& w) {
  w.row_velocity.resize(std::max(w.row_velocity.size(), w.rows.impulses.size()));
  w.row_free.resize(w.row_velocity.size());
  const std::span<const ImpulseRow> rows(w.rows.impulses.data(), w.rows.size());
  row_velocities(rows, w.ws, Eigen::Map<Eigen::VectorXd>(w.row_velocity.data(), w.rows.size()));
  row_velocities(rows, w.ws, w.free_velocity, Eigen::Map<Eigen::VectorXd>(w.row_free.data(), w.rows.size()));
}

/// Rows do not move what does not respond: kinematic and quarantined trees.
void hold_what_does_not_respond(World::Impl& w) {
  if (!w.has_unresponsive) return;
  w.release_unresponsive(w.rows.impulses);
  w.release_unresponsive(w.rows.parts);
}

}  // namespace

void World::Impl::release_unresponsive(std::span<ImpulseRow> all) const {
  for (ImpulseRow& row : all) {
    if (!responds(row.body)) row.body = 0;
    if (!responds(row.other)) row.other = 0;
  }
}

bool World::Impl::answers(const Loop& loop) const { return responds(loop.body_f) || responds(loop.body_m); }

bool World::Impl::responds(const Relation& relation) const {
  bool any = false;
  relation.for_each_dof([&](const Relation::Term& t) { any = any || responds(model.dofs[t.dof].body); });
  return any;
}

void World::Impl::build_rows(double h) {
  rows.clear();
  rows.reserve(model);
  add_loops(*this, h);
  add_couplings(*this, h);
  add_soft_loops(*this, h);
  add_limits(*this, h);
  add_tendons(*this, h);
  add_dof_rows(*this, h);
  add_springs(*this, h);
  penalty_rows.clear();
  if (settings.contact == ContactModel::kPenalty) penalty_contacts(h);
  body_velocities(model, ws, Eigen::Map<const Eigen::VectorXd>(v_free.data(), model.nv), free_velocity);
  find_joint_row_velocities(*this);
  restitution.assign(rows.blocks.size() + contacts.size(), 0.0);
  for (std::size_t i = 0; i < contacts.size() && settings.contact != ContactModel::kPenalty; ++i) {
    const bool answered =
        responds(colliders[contacts[i].collider_a].body) || responds(colliders[contacts[i].collider_b].body);
    if (answered) add_contact(*this, static_cast<int>(i), h);
  }
  rows.close();
  hold_what_does_not_respond(*this);
}

}  // namespace karakuri
