// Energy that the last step made out of nothing. Of the trees that respond, energy of motion, height and
// springs changes by
//   E+ - E = W + made                                                                                     (1)
// where W is the work of all that may do any: forces f and efforts tau over the way that their points and
// dofs went, springs to points of the world, contacts and loops with kinematic bodies, and overlaps that come
// apart,
//   W = sum tau . dq + sum f . dx + sum f_contact . dx_kinematic + sum f_n d                              (2)
// with d the part of a depth that a position correction has undone under the force f_n. All other impulses
// act between trees that respond, or on what stands still, and can only lose energy. Nothing of this is
// computed before somebody asks for the report.
#include <algorithm>
#include <cmath>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "world/impl.h"

namespace karakuri {

namespace {

using Impl = World::Impl;

struct TreeEnergy {
  double motion = 0, height = 0;  // the latter with springs [J]
};

/// About the body's origin, in its axes.
Mat3 rotational_inertia(const Body& body) {
  const double* I = body.inertia;
  Mat3 out;
  out << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
  return out;
}

TreeEnergy energy_of(const Impl& w, const Tree& tree, const State& state, const Workspace& ws) {
  TreeEnergy sum;
  for (int i = tree.first; i < tree.last; ++i) {
    const Body& body = w.model.bodies[i];
    const Mat3 R = ws.pose[i].R;
    const Vec3 v = ws.velocity[i].v, spin = ws.velocity[i].w, moment = R * Vec3(body.mass_com);
    const Vec3 local = R.transpose() * spin;
    sum.motion += 0.5 * (local.dot(rotational_inertia(body) * local) + body.mass * v.squaredNorm()) +
                  v.dot(spin.cross(moment));
    sum.height -= w.model.gravity.dot(body.mass * Vec3(ws.pose[i].p) + moment);
    for (int k = body.first_v; k < body.first_v + body.dofs; ++k) {
      sum.motion += 0.5 * w.model.armature[k] * state.v[k] * state.v[k];
      if (const DofProperties& p = w.model.dof_properties[k]; p.stiffness > 0) {
        const bool turns = has_quaternion(body.kind) && k - body.first_v >= body.dofs - 3;
        const double x = dof_position(w.model, state.q_view(), k) - (turns ? 0 : p.rest);
        sum.height += 0.5 * p.stiffness * x * x;
      }
    }
  }
  return sum;
}

/// How far a point that a body has at the start of the step goes in it, seen from the world.
Vec3 way_of(const Impl& w, int body, const Vec3& point) {
  const Workspace::Pose &from = w.past.pose[body], &to = w.view.pose[body];
  return Vec3(to.p) + Mat3(to.R) * (Mat3(from.R).transpose() * (point - Vec3(from.p))) - point;
}

/// Work on trees that respond by one side of an impulse that acts between two bodies, where the other one
/// does not respond but moves.
double work_of_side(const Impl& w, int body, int other, const Vec3& point, const Vec3& force,
                    const Vec3& moment) {
  if (!w.responds(body) || w.responds(other) || w.tree_of[other] < 0) return 0;
  return force.dot(way_of(w, other, point)) + moment.dot(w.h_before * Vec3(w.past.velocity[other].w));
}

double work_of_contacts(const Impl& w) {
  double sum = 0;
  for (const Contact& c : w.contacts) {
    if (c.force.isZero(0)) continue;
    const int a = w.colliders[c.collider_a].body, b = w.colliders[c.collider_b].body;
    sum += work_of_side(w, b, a, c.point, c.force, c.moment);
    sum += work_of_side(w, a, b, c.point, -c.force, -c.moment);
  }
  return sum;
}

double work_of_loops(const Impl& w) {
  double sum = 0;
  for (std::size_t i = 0; i < w.model.loops.size() && w.has_unresponsive; ++i) {
    if (!w.state.loop_closed[i]) continue;
    const Loop& loop = w.model.loops[i];
    const Force on_m = w.loop_wrench(static_cast<int>(i));
    const Vec3 at = Vec3(w.past.pose[loop.body_m].p);
    sum += work_of_side(w, loop.body_m, loop.body_f, at, on_m.force, on_m.moment);
    sum += work_of_side(w, loop.body_f, loop.body_m, at, -on_m.force, -on_m.moment);
  }
  return sum;
}

double work_of_forces(const Impl& w) {
  double sum = 0;
  for (const world_detail::PendingForce& f : w.applied) {
    const LinkEntry* link = w.model.find(f.link);
    if (!link || !w.responds(link->body)) continue;
    const Vec3 point = link_pose(w.model, w.past, f.link) * f.p_L;
    sum += f.force.dot(way_of(w, link->body, point)) +
           f.moment.dot(w.h_before * Vec3(w.view.velocity[link->body].w));
  }
  for (const world_detail::SpringSlot& slot : w.springs) {
    const LinkEntry* link = slot.used ? w.model.find(slot.spring.link) : nullptr;
    if (!link || !w.responds(link->body)) continue;
    const Vec3 point = link_pose(w.model, w.past, slot.spring.link) * slot.spring.p_L;
    sum += slot.impulse.dot(way_of(w, link->body, point)) / w.h_before;
  }
  return sum;
}

/// Of efforts and drives, on one tree.
double work_of_efforts(const Impl& w, const Tree& tree) {
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  double sum = 0;
  for (int i = root.first_v; i < last.first_v + last.dofs; ++i) sum += w.drive_effort[i] * w.past_way[i];
  return sum;
}

}  // namespace

void World::Impl::account() const {
  if (!account_pending || !(h_before > 0)) return;
  account_pending = false;
  refresh_view();
  refresh_past();
  difference(model, past_state.q_view(), state.q_view(),
             Eigen::Map<Eigen::VectorXd>(past_way.data(), model.nv));
  report.energy_made = report.energy_exchanged = 0;
  double made = -work_of_contacts(*this) - work_of_loops(*this) - work_of_forces(*this) - released;
  double most = 0;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (!trees[t].responds()) continue;
    const TreeEnergy before = energy_of(*this, model.trees[t], past_state, past);
    const TreeEnergy now = energy_of(*this, model.trees[t], state, view);
    const double work = work_of_efforts(*this, model.trees[t]);
    const double rise = now.motion + now.height - before.motion - before.height - work;
    made += rise;
    report.energy_exchanged +=
        std::abs(now.motion - before.motion) + std::abs(now.height - before.height) + std::abs(work);
    if (rise > most) most = rise, report.energy_link = root_links[t];
  }
  report.energy_made = std::max(0.0, made);
  if (!(made > 0)) report.energy_link = {};
}

}  // namespace karakuri
