#include "karakuri/dynamics/kinematics.h"

#include <cassert>

#include "dynamics/body_pass.h"

namespace karakuri {

namespace {

using namespace kernel;

const LinkEntry& entry(const Model& model, LinkId link) {
  const LinkEntry* found = model.find(link);
  assert(found);
  return *found;
}

/// From the body's origin to a point of the link, in world axes.
Vec3 arm(const LinkEntry& link, const Workspace& ws, const Vec3& p_L) {
  return Mat3(ws.pose[link.body].R) * (link.X_BL * p_L);
}

template <bool kWithAcceleration>
void accelerate(const Model& model, const double* a, Workspace& ws) {
  for (int i = 1; i < model.body_count(); ++i) {
    const Body& body = model.bodies[i];
    const Workspace::Acceleration& parent = ws.acceleration[body.parent];
    const V3 dwp = load(parent.w);
    V3 dw = dwp + load(ws.bias[i].w);
    V3 dv = load(parent.v) + cross(dwp, load(ws.pose[i].r)) + load(ws.bias[i].v);
    for (int k = 0; kWithAcceleration && k < body.dofs; ++k) {
      const int v = body.first_v + k;
      add_motion(model.dofs[v].kind, load(ws.axis[v]), body.pitch, a[v], dw, dv);
    }
    store(ws.acceleration[i].w, dw);
    store(ws.acceleration[i].v, dv);
  }
}

}  // namespace

void update_poses(const Model& model, const State& state, Workspace& ws) {
  assert(ws.version() == model.version());
  evaluate_angles(model, state.q.data(), ws);
  for (int i = 1; i < model.body_count(); ++i) place(model, state.q.data(), i, ws);
}

void update_poses(const Model& model, const State& state, const Tree& tree, Workspace& ws) {
  assert(ws.version() == model.version());
  evaluate_angles(model, state.q.data(), tree, ws);
  for (int i = tree.first; i < tree.last; ++i) place(model, state.q.data(), i, ws);
}

void update_velocities(const Model& model, const State& state, const Tree& tree, Workspace& ws) {
  for (int i = tree.first; i < tree.last; ++i) move(model, state.v.data(), i, ws);
}

void update_velocities(const Model& model, const State& state, Workspace& ws) {
  for (int i = 1; i < model.body_count(); ++i) move(model, state.v.data(), i, ws);
}

void body_velocities(const Model& model, const Workspace& ws, VecIn v, std::span<Workspace::Velocity> out) {
  assert(v.size() == model.nv && static_cast<int>(out.size()) == model.body_count());
  for (int i = 1; i < model.body_count(); ++i) velocity_of(model, ws, v.data(), i, out.data());
}

void update_accelerations(const Model& model, VecIn a, Workspace& ws) {
  assert(a.size() == model.nv);
  accelerate<true>(model, a.data(), ws);
}

void update_bias_accelerations(const Model& model, Workspace& ws) { accelerate<false>(model, nullptr, ws); }

Transform link_pose(const Model& model, const Workspace& ws, LinkId link) {
  const LinkEntry& e = entry(model, link);
  const Workspace::Pose& pose = ws.pose[e.body];
  return Transform{pose.R, pose.p} * e.X_BL;
}

Motion point_velocity(const Model& model, const Workspace& ws, LinkId link, const Vec3& p_L) {
  const LinkEntry& e = entry(model, link);
  const Workspace::Velocity& at = ws.velocity[e.body];
  return Motion{at.w, at.v}.shifted(arm(e, ws, p_L));
}

Motion point_acceleration(const Model& model, const Workspace& ws, LinkId link, const Vec3& p_L) {
  const LinkEntry& e = entry(model, link);
  const Vec3 d = arm(e, ws, p_L), w = ws.velocity[e.body].w;
  const Workspace::Acceleration& at = ws.acceleration[e.body];
  Motion result = Motion{at.w, at.v}.shifted(d);
  result.linear += w.cross(w.cross(d));
  return result;
}

void add_external_wrench(const Model& model, const Workspace& ws, LinkId link, const Vec3& p_L,
                         const Force& wrench_W, std::span<Force> f_ext) {
  const LinkEntry& e = entry(model, link);
  Force& sum = f_ext[e.body];
  sum = sum + wrench_W.shifted(-arm(e, ws, p_L));
}

}  // namespace karakuri
