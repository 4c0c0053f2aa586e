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
#include "world/penalty.h"

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
      if (w.rows.blocks.back().which >> k & 1) w.rows.set_impulse(row++, w.loop_impulse[i][k]);
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
        for (int k = 0; k < block.size; ++k) w.rows.set_impulse(block.row + k, last[k]);
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
    w.rows.set_impulse(w.rows.size() - 1, w.relation_impulse[i][0]);
  }
}

void add_tendons(World::Impl& w, double h) {
  const Eigen::Map<const Eigen::VectorXd> v_free(w.v_free.data(), w.model.nv);
  for (std::size_t i = 0; i < w.model.relations.size(); ++i) {
    if (w.model.relations[i].held || !w.responds(w.model.relations[i])) continue;
    const std::size_t first = w.rows.blocks.size();
    add_tendon_rows(w.model, w.state, w.ws, static_cast<int>(i), v_free, w.settings.stabilization, h, w.rows);
    for (std::size_t b = first; b < w.rows.blocks.size(); ++b)
      w.rows.set_impulse(w.rows.blocks[b].row,
                         w.relation_impulse[i][world_detail::relation_slot(w.rows.blocks[b].source)]);
  }
}

/// Where limits are looked at. An explicit step moves by the old velocity whatever is solved: then at its
/// end.
const State& limited_state(World::Impl& w, double h) {
  if (w.settings.integrator != Integrator::kExplicit) return w.state;
  w.stage.q = w.state.q;
  for (std::size_t t = 0; t < w.trees.size(); ++t)
    if (w.led_by_start[t])
      integrate(w.model, w.model.trees[t].first, w.model.trees[t].last, w.stage.q_view(), w.state.v_view(),
                h);
  return w.stage;
}

/// Whether the velocity of the start moves a body that responds, whatever is solved.
bool is_led_by_start(const World::Impl& w, int body) {
  return w.tree_of[body] >= 0 && w.led_by_start[w.tree_of[body]] != 0;
}

void add_limits(World::Impl& w, double h) {
  if (w.limits.empty()) return;
  const State& at = limited_state(w, h);
  const Eigen::Map<const Eigen::VectorXd> v_free(w.v_free.data(), w.model.nv);
  for (const World::Impl::Limits& l : w.limits) {
    const double size = w.rows.length / dof_unit(w.model, l.dof, w.rows.length);
    if (l.q >= 0 && is_far_from_limit(at.q[l.q] - l.lower, w.v_free[l.dof], h, size) &&
        is_far_from_limit(l.upper - at.q[l.q], -w.v_free[l.dof], h, size))
      continue;
    if (!w.responds(l.body)) continue;
    const std::size_t first = w.rows.blocks.size();
    add_limit_rows(w.model, at, w.ws, l.body, v_free, w.settings.stabilization, h, w.rows);
    for (std::size_t b = first; b < w.rows.blocks.size(); ++b) {
      const RowBlock& block = w.rows.blocks[b];
      const double sign = world_detail::limit_sign(w.model, w.ws, w.rows, block);
      w.rows.set_impulse(block.row, std::max(0.0, sign * w.limit_impulse[block.index]));
    }
  }
}

void add_dof_rows(World::Impl& w, double h) {
  for (const std::int32_t dof : w.rubbing_dofs) {
    if (!w.responds(w.model.dofs[dof].body)) continue;
    const int row = w.rows.size();
    add_friction_row(w.model, w.ws, dof, h, w.rows);
    w.rows.set_impulse(row, w.friction_impulse[dof]);
  }
  for (int dof = 0; dof < w.model.nv; ++dof) {
    if (!w.drive_is_row[dof] || !w.responds(w.model.dofs[dof].body)) continue;
    const Drive& drive = w.drives[dof];
    const double q = dof_position(w.model, w.state.q_view(), dof);
    const int row = w.rows.size();
    add_drive_row(w.model, w.ws, dof, q - drive.q_target, drive.stiffness, drive.damping, drive.v_target,
                  world_detail::drive_limit(w.model, drive, dof), h, w.rows);
    w.rows.set_impulse(row, w.drive_impulse[dof]);
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
double friction_of(const Contact& c, const Surface& surface, const Vec3& u, double typical_speed) {
  constexpr double kNoSlip = 3e-4;  // of what is usual in the scene
  if (surface.static_friction == surface.kinetic_friction) return surface.static_friction;
  const bool slides =
      c.state == ContactState::kSlide ||
      (c.state == ContactState::kOpen && (u - u.dot(c.normal) * c.normal).norm() > kNoSlip * typical_speed);
  return slides ? surface.kinetic_friction : surface.static_friction;
}

using simd::M3;
using simd::V3;
Vec3 vec(V3 v) { return {v[0], v[1], v[2]}; }

/// Takes vectors to numbers along the axes of a contact's rows: normal, tangents.
M3 to_rows(const Mat3& frame) {
  return {{simd::v3(frame(0, 2), frame(0, 0), frame(0, 1)), simd::v3(frame(1, 2), frame(1, 0), frame(1, 1)),
           simd::v3(frame(2, 2), frame(2, 0), frame(2, 1))}};
}

/// Writes the numbers of a contact's rows: `along` its axes, and where it has more than three `about` them.
void write_rows(const RowBlock& block, V3 along, V3 about, std::vector<double>& out) {
  double* at = out.data() + block.row;
  if (block.size == 3) return simd::store3(at, along);
  for (int k = 0; k < block.size; ++k) at[k] = k < 3 ? along[k] : about[k - 3];
}

/// What the solver's tolerance has let slip is taken back: nothing creeps, however long it is held. Not below
/// what contacts of one patch may ask for in directions that no rigid body has.
void hold_anchor(const StabilizationSettings& s, const RowBlock& block, V3 stretch, double h, double size,
                 Rows& rows) {
  const double unfelt = 1e-7 * size;
  for (int k = 1; k < 3; ++k)
    rows.bias[block.row + k] = s.erp / h * (stretch[k] - std::clamp(stretch[k], -unfelt, unfelt));
}

/// Of a contact by springs: those along the surface, at their stretch.
void stretch_springs(const world_detail::ContactSpring& s, const RowBlock& block, V3 stretch, double h,
                     Rows& rows) {
  for (int k = 1; k < std::min(3, block.size); ++k) {
    const Softness soft = implicit_spring(s.along_stiffness, s.along_damping, stretch[k], h);
    rows.bias[block.row + k] = soft.bias;
    rows.compliance[block.row + k] = soft.compliance;
  }
}

/// A contact that gives way does so by no more than a part of the thinner shape: a row of its own, where the
/// step may come that far.
void bound_depth(World::Impl& w, int i, double u_free, double h) {
  constexpr double kLayer = 0.25;  // of the inner radius
  const Contact& c = w.contacts[i];
  const auto& a = w.colliders[c.collider_a];
  const auto& b = w.colliders[c.collider_b];
  const double left = c.separation + kLayer * std::min(a.inner_radius, b.inner_radius);
  if (!(left + 2 * h * u_free < 0)) return;
  const int contact_row = w.rows.blocks.back().row;
  const ImpulseRow normal = w.rows.impulses[contact_row];
  const int row = w.rows.append(solver::RowKind::kComplementarity, RowSource::kExcess, i, 1);
  w.rows.write(row, normal);
  w.rows.bias[row] = std::max(0.0, left) / h;
  for (std::vector<double>* out : {&w.row_velocity, &w.row_free})
    if (out->size() < w.rows.impulses.size()) out->resize(w.rows.impulses.size());
  w.row_velocity[row] = w.row_velocity[contact_row];
  w.row_free[row] = w.row_free[contact_row];
}

/// A contact by springs has those of the model, and no bounce but theirs.
Surface springs_of(const world_detail::ContactSpring& s, Surface surface) {
  surface.stiffness = s.stiffness;
  surface.damping = s.damping;
  surface.restitution = surface.torsional_friction = surface.rolling_friction = 0;
  return surface;
}

void add_contact(World::Impl& w, int i, double h) {
  const Contact& c = w.contacts[i];
  const int a = w.colliders[c.collider_a].body, b = w.colliders[c.collider_b].body;
  const Surface& given = w.surface_of(c.collider_a, c.collider_b);
  const bool by_springs = world_detail::has_implicit_springs(w.settings);
  world_detail::ContactSpring springs;
  Surface own;
  if (by_springs) springs = world_detail::contact_spring(w, a, b, given, h), own = springs_of(springs, given);
  const Surface& surface = by_springs ? own : given;
  const auto now = kernel::relative_velocity(b, a, simd::v3(c.point), w.ws, w.ws.velocity);
  const auto free = kernel::relative_velocity(b, a, simd::v3(c.point), w.ws, w.free_velocity);
  ContactGeometry geometry{a, b, c.point, contact_frame(c.normal), c.separation};
  const M3 axes = to_rows(geometry.frame);
  const V3 u = axes * now.v;
  if (is_led_by_start(w, a) || is_led_by_start(w, b)) geometry.gap += h * u[0];
  const StabilizationSettings& stabilization = w.settings.stabilization;
  add_contact_rows(geometry, surface, friction_of(c, surface, vec(now.v), w.scales.speed), u[0],
                   stabilization, h, i, w.rows);
  const RowBlock& block = w.rows.blocks.back();
  for (std::vector<double>* out : {&w.row_velocity, &w.row_free})
    if (out->size() < w.rows.impulses.size()) out->resize(w.rows.impulses.size());
  const double length = w.rows.length;
  write_rows(block, u, (axes * now.w) * length, w.row_velocity);
  write_rows(block, axes * free.v, (axes * free.w) * length, w.row_free);
  if (by_springs && w.settings.penalty.stiffness < 0)  // nobody asked for what they hold at such a depth
    w.rows.bias[block.row] = std::max(w.rows.bias[block.row], -stabilization.max_speed);
  if (by_springs)
    stretch_springs(springs, block, axes * simd::v3(c.stretch), h, w.rows);
  else if (block.size >= 3 && c.state == ContactState::kStick &&
           stabilization.kind == Stabilization::kPosition)
    hold_anchor(stabilization, block, axes * simd::v3(c.stretch), h, w.scales.length, w.rows);
  if (w.settings.warm_start)
    write_rows(block, axes * simd::v3(c.impulse), (axes * simd::v3(c.turning_impulse)) * (1 / length),
               w.rows.lambda);
  w.restitution[w.rows.blocks.size() - 1] = surface.restitution;
  if (std::isfinite(surface.stiffness)) bound_depth(w, i, (axes * free.v)[0], h);
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
  w.row_carried.resize(w.rows.size());
  row_velocities(w.rows.impulses, w.ws, Eigen::Map<Eigen::VectorXd>(w.row_carried.data(), w.rows.size()));
  for (int i = 0; i < w.rows.size(); ++i) w.row_carried[i] = w.row_velocity[i] - w.row_carried[i];
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
  body_velocities(model, ws, Eigen::Map<const Eigen::VectorXd>(v_free.data(), model.nv), free_velocity);
  find_joint_row_velocities(*this);
  const bool by_rows = settings.contact != ContactModel::kPenalty || !settings.penalty.is_explicit;
  restitution.assign(rows.blocks.size() + 2 * contacts.size(), 0.0);  // some have a row more
  for (std::size_t i = 0; i < contacts.size() && by_rows; ++i) {
    const bool answered =
        responds(colliders[contacts[i].collider_a].body) || responds(colliders[contacts[i].collider_b].body);
    if (answered) add_contact(*this, static_cast<int>(i), h);
  }
  rows.close();
  hold_what_does_not_respond(*this);
}

}  // namespace karakuri
