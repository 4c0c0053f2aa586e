// The terms of second order in the velocities (Coriolis, centrifugal) are those at the start of the step.
// Where joints turn far within it, they may be anything at its end, and the motion of a tree that nobody
// drives gains energy. So trees that turn by more than a part of a radian are looked at: what they may have
// is
//   E = T(q, v) + V(q) + W,   W = T(q, v+) - T(q, v) + h/2 (v + v+).c(q, v)                               (1)
// with V of gravity, c the efforts of gravity and of the velocities, and thus W the work of all else in the
// step: efforts, springs, forces, impulses. What they have is T(q+, v+) + V(q+).
//
// A tree that has more is slowed down. The motion of a floating one is that of a rigid body with its linear
// and angular momentum P, L and, orthogonal to it in the metric of the mass matrix, one within its joints:
//   T = P^2 / 2m + L^T I^-1 L / 2 + T_joints                                                              (2)
// T_joints is scaled first, and only where that is not enough, L. Of trees on a fixed base all of T is. Where
// they stand higher than E allows, they take a part of their way only; a half, a quarter, ... is tried, and
// none of it is always possible.
//
// Trees that turn less are left as they are: their error is what the order of the integrator says.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "world/impl.h"

namespace karakuri {

namespace {

using Velocities = std::span<const Workspace::Velocity>;

// Of trees that turn by more in a step [rad]. One dof has no terms of second order: velocity first keeps the
// energy of its swings until it turns over.
constexpr double kFar = 0.05, kFarForRk4 = 1, kFarForOne = 1.5;

int end_dof(const Model& model, const Tree& tree) {
  const Body& last = model.bodies[tree.last - 1];
  return last.first_v + last.dofs;
}

/// Whether any body turns far in a step, or any joint.
bool turns_far(const World::Impl& w, const Tree& tree, const std::vector<double>& v, double h) {
  const int first = w.model.bodies[tree.first].first_v, end = end_dof(w.model, tree);
  const double far = end - first == 1                            ? kFarForOne
                     : w.settings.integrator == Integrator::kRk4 ? kFarForRk4
                                                                 : kFar;
  const double most = far / h;
  for (int i = first; i < end; ++i)
    if (w.model.dofs[i].kind != DofKind::kTranslation && !(std::abs(v[i]) < most)) return true;
  return false;
}

/// First and second moments of a body's mass about its origin, in world axes.
struct Masses {
  double mass;
  Vec3 moment;
  Mat3 inertia;

  Masses(const Body& body, const Workspace::Pose& pose) : mass(body.mass) {
    const Mat3 R = pose.R;
    const double* s = body.inertia;
    Mat3 I;
    I << s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2];
    moment = R * Vec3(body.mass_com);
    inertia = R * I * R.transpose();
  }
};

double kinetic(const World::Impl& w, const Tree& tree, Velocities velocity,
               const std::vector<double>& rates) {
  double twice = 0;
  for (int i = tree.first; i < tree.last; ++i) {
    const Masses m(w.model.bodies[i], w.ws.pose[i]);
    const Vec3 turn = velocity[i].w, v = velocity[i].v;
    twice += turn.dot(m.inertia * turn) + 2 * v.dot(turn.cross(m.moment)) + m.mass * v.squaredNorm();
  }
  for (int i = w.model.bodies[tree.first].first_v; i < end_dof(w.model, tree); ++i)
    twice += w.model.armature[i] * rates[i] * rates[i];
  return 0.5 * twice;
}

double height(const World::Impl& w, const Tree& tree) {
  double energy = 0;
  for (int i = tree.first; i < tree.last; ++i) {
    const Body& body = w.model.bodies[i];
    energy -=
        w.model.gravity.dot(body.mass * Vec3(w.ws.pose[i].p) + Mat3(w.ws.pose[i].R) * Vec3(body.mass_com));
  }
  return energy;
}

/// (v + v+).c(q, v) / 2: what the bodies, moving on without accelerations of their joints, would have to be
/// given. Overwrites ws.acceleration of the tree.
double power_of_velocities(World::Impl& w, const Tree& tree, Velocities after) {
  double sum = 0;
  for (int i = tree.first; i < tree.last; ++i) {
    const Body& body = w.model.bodies[i];
    const Masses m(body, w.ws.pose[i]);
    Vec3 dw = w.ws.bias[i].w, dv = w.ws.bias[i].v;
    if (body.parent == 0) {
      dv -= w.model.gravity;
    } else {
      const Workspace::Acceleration& parent = w.ws.acceleration[body.parent];
      dw += Vec3(parent.w);
      dv += Vec3(parent.v) + Vec3(parent.w).cross(Vec3(w.ws.pose[i].r));
    }
    w.ws.acceleration[i].w = dw;
    w.ws.acceleration[i].v = dv;
    const Vec3 turn = w.ws.velocity[i].w;
    const Vec3 n = m.inertia * dw + turn.cross(m.inertia * turn) + m.moment.cross(dv);
    const Vec3 f = m.mass * dv + dw.cross(m.moment) + turn.cross(turn.cross(m.moment));
    sum += 0.5 * (n.dot(turn + Vec3(after[i].w)) + f.dot(Vec3(w.ws.velocity[i].v) + Vec3(after[i].v)));
  }
  return sum;
}

/// T of (2) that is left when its motion within the joints is, and the scale of that and of L.
struct Scale {
  double joints = 1, spin = 1;
};
Scale scale_of(const TreeMotion& m, double kinetic, double allowed) {
  const double left = allowed - 0.5 * m.momentum.force.squaredNorm() / m.mass;
  const double rigid = 0.5 * m.momentum.moment.dot(m.inertia.ldlt().solve(m.momentum.moment));
  const double joints = kinetic - 0.5 * m.momentum.force.squaredNorm() / m.mass - rigid;
  if (left >= rigid) return {joints > 0 ? std::sqrt(std::min(1.0, (left - rigid) / joints)) : 1, 1};
  return {0, rigid > 0 ? std::sqrt(std::max(0.0, left) / rigid) : 1};
}

void look(World::Impl& w, const Tree& tree) {
  update_poses(w.model, w.state, tree, w.ws);
  update_velocities(w.model, w.state, tree, w.ws);
}

/// As it was at the start of the step: the last resort, where stages of RK4 have overflowed.
void stay(World::Impl& w, const Tree& tree) {
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  std::copy(w.q_before.begin() + root.first_q, w.q_before.begin() + last.first_q + q_size(last.kind),
            w.state.q.begin() + root.first_q);
  std::copy(w.v_before.begin() + root.first_v, w.v_before.begin() + end_dof(w.model, tree),
            w.state.v.begin() + root.first_v);
}

/// (2)
void slow_floating(World::Impl& w, const Tree& tree, double has, double allowed) {
  const Body& root = w.model.bodies[tree.first];
  const TreeMotion wanted = tree_motion(w.model, w.ws, tree);
  const Scale scale = scale_of(wanted, has, allowed);
  for (int i = root.first_v + 6; i < end_dof(w.model, tree); ++i) w.state.v[i] *= scale.joints;
  update_velocities(w.model, w.state, tree, w.ws);
  const TreeMotion now = tree_motion(w.model, w.ws, tree);
  const Vec3 turn = now.inertia.ldlt().solve(scale.spin * wanted.momentum.moment - now.momentum.moment);
  const Vec3 along = (wanted.momentum.force - now.momentum.force) / now.mass +
                     turn.cross(Vec3(w.ws.pose[tree.first].p) - now.center);
  const Mat3 to_F = Mat3(root.R_PF).transpose();
  Eigen::Map<Vec3>(w.state.v.data() + root.first_v) += to_F * along;
  Eigen::Map<Vec3>(w.state.v.data() + root.first_v + 3) += to_F * turn;
}

/// Takes a part of the way where the end of it is too high.
void lower(World::Impl& w, const Tree& tree, double most) {
  constexpr int kMostHalves = 8;
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  difference(w.model, Eigen::Map<const Eigen::VectorXd>(w.q_before.data(), w.model.nq), w.state.q_view(),
             Eigen::Map<Eigen::VectorXd>(w.move.data(), w.model.nv));
  double share = 1;
  for (int k = 0; k <= kMostHalves && height(w, tree) > most; ++k) {
    share = k < kMostHalves ? 0.5 * share : 0;
    std::copy(w.q_before.begin() + root.first_q, w.q_before.begin() + last.first_q + q_size(last.kind),
              w.state.q.begin() + root.first_q);
    integrate(w.model, tree.first, tree.last, w.state.q_view(),
              Eigen::Map<Eigen::VectorXd>(w.move.data(), w.model.nv), share);
    update_poses(w.model, w.state, tree, w.ws);
  }
}

void slow_fixed(World::Impl& w, const Tree& tree, double energy) {
  if (height(w, tree) > energy) lower(w, tree, energy);
  update_velocities(w.model, w.state, tree, w.ws);
  const double has = kinetic(w, tree, w.ws.velocity, w.state.v);
  const double allowed = std::max(0.0, energy - height(w, tree));
  if (!(has > allowed)) return;
  const double scale = std::sqrt(allowed / has);
  for (int i = w.model.bodies[tree.first].first_v; i < end_dof(w.model, tree); ++i) w.state.v[i] *= scale;
}

}  // namespace

void World::Impl::remember_energy(int t, const std::vector<double>& v_end, double h) {
  const Tree& tree = model.trees[t];
  energy_allowed[t] = std::numeric_limits<double>::infinity();
  if (model.bodies[tree.first].alone || !trees[t].responds() || holds_anything()) return;
  const bool is_rk4 = settings.integrator == Integrator::kRk4;  // what its stages do is not known yet
  if (!is_rk4 && !turns_far(*this, tree, v_end, h) && !turns_far(*this, tree, v_before, h)) return;
  body_velocities(model, ws, Eigen::Map<const Eigen::VectorXd>(v_end.data(), model.nv), tree, trial_velocity);
  energy_allowed[t] = kinetic(*this, tree, trial_velocity, v_end) + height(*this, tree) +
                      h * power_of_velocities(*this, tree, trial_velocity);  // (1)
}

void World::Impl::limit_energy(int t) {
  constexpr double kRounding = 1e-12;
  const Tree& tree = model.trees[t];
  const double energy = energy_allowed[t];
  if (std::isinf(energy)) return;
  const bool is_rk4 = settings.integrator == Integrator::kRk4;
  if (is_rk4 && !turns_far(*this, tree, v_before, h_before) && !turns_far(*this, tree, state.v, h_before))
    return;
  look(*this, tree);
  const double moves = kinetic(*this, tree, ws.velocity, state.v), stands = height(*this, tree);
  if (!std::isfinite(moves + stands)) return stay(*this, tree);
  if (moves + stands <= energy + kRounding * (moves + std::abs(stands))) return;
  if (model.bodies[tree.first].kind == JointKind::kFree && model.bodies[tree.first].parent == 0)
    slow_floating(*this, tree, moves, energy - stands);
  else
    slow_fixed(*this, tree, energy);
}

}  // namespace karakuri
