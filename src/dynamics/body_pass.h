// What every algorithm does with one body on its way through the tree, base to tip.
//
//   R_F = R_P R_PF,  r = R_P p_PF (+ slide)                                      pose of F            (1)
//   w = w_P + jw,  v = v_P + w_P x r + jv        (jw, jv) = S v_J, relative motion in the joint        (2)
//   dw/dt = dw_P/dt + S_w a + bias_w,            bias_w = w_P x jw (+ v1 v2 a1 x a2, universal)        (3)
//   dv/dt = dv_P/dt + dw_P/dt x r + S_v a + bias_v,  bias_v = w_P x (w_P x r + 2 jv)                   (4)
//
// (3) and (4) are time derivatives of (2) with S constant in F, which turns with the parent; dv/dt is the
// derivative of the origin's velocity, not the spatial acceleration.
#pragma once

#include "karakuri/dynamics/workspace.h"
#include "karakuri/model/model.h"
#include "spatial/simd.h"

namespace karakuri::kernel {

using namespace simd;  // NOLINT: these headers are private to the module
using simd::load;      // named, so that overloads in this namespace do not hide them
using simd::store;

inline void turn_about_z(M3& R, double c, double s) {
  const V3 x = R.c[0], y = R.c[1];
  R.c[0] = plus_scaled(x * c, y, s);
  R.c[1] = minus_scaled(y * c, x, s);
}

/// Rotation matrix of a quaternion (w, x, y, z) of any length but zero.
inline M3 quaternion_matrix(const double* q) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  const double k = 2.0 / (w * w + x * x + y * y + z * z);
  const double kx = k * x, ky = k * y, kz = k * z;
  const double xx = kx * x, yy = ky * y, zz = kz * z, xy = kx * y, xz = kx * z, yz = ky * z;
  const double wx = kx * w, wy = ky * w, wz = kz * w;
  return {{v3(1 - yy - zz, xy + wz, xz - wy), v3(xy - wz, 1 - xx - zz, yz + wx),
           v3(xz + wy, yz - wx, 1 - xx - yy)}};
}

/// Adds S_k s, the motion of dof k at rate s.
inline void add_motion(DofKind kind, V3 axis, double pitch, double s, V3& angular, V3& linear) {
  switch (kind) {
    case DofKind::kRotation: angular = plus_scaled(angular, axis, s); break;
    case DofKind::kTranslation: linear = plus_scaled(linear, axis, s); break;
    case DofKind::kScrew:
      angular += axis * s;
      linear += axis * (pitch * s);
      break;
  }
}

/// S_k^T (n, f)
inline double project(DofKind kind, V3 axis, double pitch, V3 n, V3 f) {
  switch (kind) {
    case DofKind::kRotation: return dot(axis, n);
    case DofKind::kTranslation: return dot(axis, f);
    case DofKind::kScrew: return dot(axis, n) + pitch * dot(axis, f);
  }
  return 0;
}

/// Places frame F on its parent, turns and slides by q, and stores the pose and the axes of the dofs.  (1)
inline void place(const Model& model, const double* q_all, int i, Workspace& ws) {
  const Body& body = model.bodies[i];
  M3 R = load(body.R_PF);
  V3 r = load(body.p_PF);
  V3 p_parent = zero3();
  if (body.parent != 0) {
    const M3 R_P = load(ws.pose[body.parent].R);
    p_parent = load(ws.pose[body.parent].p);
    R = R_P * R;
    r = R_P * r;
  }
  const double* q = q_all + body.first_q;
  const double* c = ws.cosine.data() + body.first_v;
  const double* s = ws.sine.data() + body.first_v;
  Packed3* axis = ws.axis.data() + body.first_v;
  switch (body.kind) {
    case JointKind::kRevolute:
      store(axis[0], R.c[2]);
      turn_about_z(R, c[0], s[0]);
      break;
    case JointKind::kPrismatic:
      store(axis[0], R.c[2]);
      r += R.c[2] * q[0];
      break;
    case JointKind::kCylindrical:
      store(axis[0], R.c[2]);
      store(axis[1], R.c[2]);
      r += R.c[2] * q[0];
      turn_about_z(R, c[1], s[1]);
      break;
    case JointKind::kScrew:
      store(axis[0], R.c[2]);
      r += R.c[2] * (body.pitch * q[0]);
      turn_about_z(R, c[0], s[0]);
      break;
    case JointKind::kUniversal:
      store(axis[0], R.c[2]);
      turn_about_z(R, c[0], s[0]);
      R = R * load(model.between[body.extra]);
      store(axis[1], R.c[2]);
      turn_about_z(R, c[1], s[1]);
      break;
    case JointKind::kPlanar:
      for (int k = 0; k < 3; ++k) store(axis[k], R.c[k]);
      r += R.c[0] * q[0] + R.c[1] * q[1];
      turn_about_z(R, c[2], s[2]);
      break;
    case JointKind::kSpherical:
      for (int k = 0; k < 3; ++k) store(axis[k], R.c[k]);
      R = R * quaternion_matrix(q);
      break;
    case JointKind::kFree:
      for (int k = 0; k < 3 && body.parent != 0;
           ++k) {  // on the world they never change: Workspace sets them
        store(axis[k], R.c[k]);
        store(axis[3 + k], R.c[k]);
      }
      r += R * v3(q[0], q[1], q[2]);
      R = R * quaternion_matrix(q + 3);
      break;
    case JointKind::kPointOnLine:
    case JointKind::kDistance:
    case JointKind::kFixed: break;
  }
  Workspace::Pose& pose = ws.pose[i];
  store(pose.R, R);
  store(pose.r, r);
  store(pose.p, p_parent + r);
}

/// What a joint's rates do, S v_J.
struct JointMotion {
  V3 w, v;
};

inline JointMotion joint_motion(const Model& model, const Body& body, const Workspace& ws,
                                const double* rate) {
  const Packed3* axis = ws.axis.data() + body.first_v;
  if (body.kind == JointKind::kRevolute) return {load(axis[0]) * rate[0], zero3()};
  if (body.kind == JointKind::kFree) {
    const M3 F = {load(axis[0]), load(axis[1]), load(axis[2])};
    return {combine(F, rate[3], rate[4], rate[5]), combine(F, rate[0], rate[1], rate[2])};
  }
  JointMotion sum = {zero3(), zero3()};
  for (int k = 0; k < body.dofs; ++k)
    add_motion(model.dofs[body.first_v + k].kind, load(axis[k]), body.pitch, rate[k], sum.w, sum.v);
  return sum;
}

/// Velocity of body i; those before it stand in `out` already.  @pre place(i) (2)
inline void velocity_of(const Model& model, const Workspace& ws, const double* v_all, int i,
                        Workspace::Velocity* out) {
  const Body& body = model.bodies[i];
  JointMotion motion = joint_motion(model, body, ws, v_all + body.first_v);
  if (body.parent != 0) {
    const V3 wp = load(out[body.parent].w);
    motion.v += load(out[body.parent].v) + cross(wp, load(ws.pose[i].r));
    motion.w += wp;
  }
  store(out[i].w, motion.w);
  store(out[i].v, motion.v);
}

/// Velocity and bias accelerations.  @pre place(i) (2)-(4)
inline void move(const Model& model, const double* v_all, int i, Workspace& ws) {
  const Body& body = model.bodies[i];
  const double* rate = v_all + body.first_v;
  const auto [jw, jv] = joint_motion(model, body, ws, rate);
  Workspace::Velocity& out = ws.velocity[i];
  V3 extra = zero3();
  if (body.kind == JointKind::kUniversal) {
    const Packed3* axis = ws.axis.data() + body.first_v;
    extra = cross(load(axis[0]), load(axis[1])) * (rate[0] * rate[1]);
  }
  if (body.parent == 0) {  // the bias is zero and stays so
    store(out.w, jw);
    store(out.v, jv);
    if (body.kind == JointKind::kUniversal) store(ws.bias[i].w, extra);
    return;
  }
  const V3 wp = load(ws.velocity[body.parent].w);
  const V3 carried = cross(wp, load(ws.pose[i].r));
  store(out.w, wp + jw);
  store(out.v, load(ws.velocity[body.parent].v) + carried + jv);
  store(ws.bias[i].w, cross(wp, jw) + extra);
  store(ws.bias[i].v, cross(wp, carried + jv * 2.0));
}

/// A rigid body's inertia turned into world axes.  @pre place(i)
struct WorldInertia {
  M3 I;  // about the body's origin
  V3 h;
  double mass;
};

inline WorldInertia world_inertia(const Body& body, const Workspace::Pose& pose) {
  const M3 R = load(pose.R);
  const double* s = body.inertia;  // xx, yy, zz, xy, xz, yz
  const M3 T = {combine(R, s[0], s[3], s[4]), combine(R, s[3], s[1], s[5]), combine(R, s[4], s[5], s[2])};
  WorldInertia out;
  for (int j = 0; j < 3; ++j) out.I.c[j] = combine(T, R.c[0][j], R.c[1][j], R.c[2][j]);
  out.h = R * load(body.mass_com);
  out.mass = body.mass;
  return out;
}

/// Cosines and sines of all angles at once.
void evaluate_angles(const Model& model, const double* q, Workspace& ws);
/// Those of one tree; the bits are the same.
void evaluate_angles(const Model& model, const double* q, const Tree& tree, Workspace& ws);

}  // namespace karakuri::kernel
