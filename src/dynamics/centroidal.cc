#include "karakuri/dynamics/centroidal.h"

#include <cassert>

#include "dynamics/composite.h"
#include "karakuri/model/configuration.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri {

namespace {

using namespace kernel;

Vec3 vec(V3 v) { return {v[0], v[1], v[2]}; }

/// Of a dof from rest; a quaternion's rest is the identity.
double displacement(const Model& model, const State& state, int v) {
  const Body& body = model.bodies[model.dofs[v].body];
  const bool turns = has_quaternion(body.kind) && v - body.first_v >= body.dofs - 3;
  return dof_position(model, state.q_view(), v) - (turns ? 0 : model.dof_properties[v].rest);
}

Mat3 matrix(const M3& m) {
  Mat3 out;
  out << vec(m.c[0]), vec(m.c[1]), vec(m.c[2]);
  return out;
}

/// At the body's origin.
Force body_momentum(const WorldInertia& in, const Workspace& ws, int i) {
  const V3 w = load(ws.velocity[i].w), v = load(ws.velocity[i].v);
  return {vec(in.I * w + cross(in.h, v)), vec(v * in.mass + cross(w, in.h))};
}

}  // namespace

double total_mass(const Model& model) {
  double mass = 0;
  for (const Body& body : model.bodies) mass += body.mass;
  return mass;
}

Vec3 center_of_mass(const Model& model, const Workspace& ws) {
  Vec3 sum = Vec3::Zero();
  for (int i = 1; i < model.body_count(); ++i) {
    const Body& body = model.bodies[i];
    sum += body.mass * Vec3(ws.pose[i].p) + Mat3(ws.pose[i].R) * Vec3(body.mass_com);
  }
  const double mass = total_mass(model);
  return mass > 0 ? Vec3(sum / mass) : sum;
}

Force momentum(const Model& model, const Workspace& ws, const Vec3& point) {
  Force sum;
  for (int i = 1; i < model.body_count(); ++i)
    sum =
        sum +
        body_momentum(world_inertia(model.bodies[i], ws.pose[i]), ws, i).shifted(point - Vec3(ws.pose[i].p));
  return sum;
}

// Sums about the root's origin first: near, so nothing is lost. A body's inertia comes there by parallel
// axes,
//   I - [r]x [h]x - [h + m r]x [r]x,   [a]x [b]x = b a^T - (a.b) 1                                        (1)
TreeMotion tree_motion(const Model& model, const Workspace& ws, const Tree& tree) {
  return tree_motion(model, ws, ws.velocity, tree);
}

TreeMotion tree_motion(const Model& model, const Workspace& ws,
                       std::span<const Workspace::Velocity> velocities, const Tree& tree) {
  const V3 root = load(ws.pose[tree.first].p);
  M3 inertia = {zero3(), zero3(), zero3()};
  V3 center = zero3(), n = zero3(), f = zero3();
  double mass = 0, trace = 0;
  for (int i = tree.first; i < tree.last; ++i) {
    const WorldInertia in = world_inertia(model.bodies[i], ws.pose[i]);
    const V3 r = load(ws.pose[i].p) - root, moved = plus_scaled(in.h, r, in.mass);
    const V3 w = load(velocities[i].w), v = load(velocities[i].v);
    const V3 linear = plus_scaled(cross(w, in.h), v, in.mass);
    mass += in.mass;
    center += moved;
    f += linear;
    n += in.I * w + cross(in.h, v) + cross(r, linear);
    for (int k = 0; k < 3; ++k)
      inertia.c[k] += minus_scaled(minus_scaled(in.I.c[k], in.h, r[k]), r, moved[k]);  // (1)
    trace += dot(r, in.h + moved);
  }
  const Vec3 c = vec(center) / mass;
  TreeMotion out;
  out.mass = mass;
  out.center = vec(root) + c;
  out.inertia = matrix(inertia) + trace * Mat3::Identity() + mass * skew(c) * skew(c);
  out.momentum = Force{vec(n), vec(f)}.shifted(c);
  return out;
}

void centroidal_momentum_matrix(const Model& model, Workspace& ws, MatOut A) {
  assert(A.rows() == 6 && A.cols() == model.nv);
  accumulate_composites(model, ws);
  const Vec3 center = center_of_mass(model, ws);
  for (int v = 0; v < model.nv; ++v) {
    const int i = model.dofs[v].body;
    const DofMomentum m =
        momentum_of(ws.composite[i], model.dofs[v].kind, load(ws.axis[v]), model.bodies[i].pitch);
    const Force column = Force{vec(m.n), vec(m.f)}.shifted(center - Vec3(ws.pose[i].p));
    A.block<3, 1>(0, v) = column.moment;
    A.block<3, 1>(3, v) = column.force;
  }
}

double kinetic_energy(const Model& model, const State& state, const Workspace& ws) {
  double twice = 0;
  for (int i = 1; i < model.body_count(); ++i) {
    const WorldInertia in = world_inertia(model.bodies[i], ws.pose[i]);
    const V3 w = load(ws.velocity[i].w), v = load(ws.velocity[i].v);
    twice += dot(w, in.I * w) + 2 * dot(v, cross(w, in.h)) + in.mass * dot(v, v);
  }
  for (int v = 0; v < model.nv; ++v) twice += model.armature[v] * state.v[v] * state.v[v];
  return 0.5 * twice;
}

double potential_energy(const Model& model, const State& state, const Workspace& ws) {
  double energy = 0;
  for (int i = 1; i < model.body_count(); ++i) {
    const Body& body = model.bodies[i];
    energy -= model.gravity.dot(body.mass * Vec3(ws.pose[i].p) + Mat3(ws.pose[i].R) * Vec3(body.mass_com));
  }
  for (int v = 0; v < model.nv; ++v) {
    if (const double k = model.dof_properties[v].stiffness; k > 0) {
      const double x = displacement(model, state, v);
      energy += 0.5 * k * x * x;
    }
  }
  return energy;
}

Vec3 rotation_spring_effort(const Vec3& stiffness, const Vec3& phi) {
  return -quat_log_rate(phi).transpose() * stiffness.cwiseProduct(phi);
}

void add_passive_efforts(const Model& model, const State& state, VecOut tau) {
  assert(tau.size() == model.nv);
  for (const Body& body : model.bodies) {
    const int plain = has_quaternion(body.kind) ? body.dofs - 3 : body.dofs;
    for (int v = body.first_v; v < body.first_v + body.dofs; ++v) {
      const DofProperties& p = model.dof_properties[v];
      if (p.stiffness > 0 && v < body.first_v + plain) tau[v] -= p.stiffness * displacement(model, state, v);
      tau[v] -= p.damping * state.v[v];
    }
    if (plain == body.dofs) continue;
    const int first = body.first_v + plain;
    Vec3 stiffness, phi;
    for (int k = 0; k < 3; ++k) stiffness[k] = model.dof_properties[first + k].stiffness;
    if (stiffness.isZero(0)) continue;
    for (int k = 0; k < 3; ++k) phi[k] = displacement(model, state, first + k);
    tau.segment<3>(first) += rotation_spring_effort(stiffness, phi);
  }
}

TreeMotion sum_of(std::span<const TreeMotion> trees) {
  TreeMotion sum;
  for (const TreeMotion& t : trees) {
    sum.mass += t.mass;
    sum.center += t.mass * t.center;
  }
  sum.center /= sum.mass;
  for (const TreeMotion& t : trees) {
    const Vec3 d = t.center - sum.center;
    sum.momentum = sum.momentum + Force{t.momentum.moment + d.cross(t.momentum.force), t.momentum.force};
    sum.inertia += t.inertia - t.mass * skew(d) * skew(d);
  }
  return sum;
}

}  // namespace karakuri
