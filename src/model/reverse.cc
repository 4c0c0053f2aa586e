// With X = (R, p) the pose of M in F, w its angular velocity and v the velocity of its origin, in F, those of
// F in M are
//   R' = R^T,   p' = -R^T p,   w' = -R^T w,   v' = R^T (w x p - v)                                        (1)
// Turns about and slides along an axis a are undone by the same about and along -a: there coordinates stay as
// they are, with the axis turned round. Of a universal joint
//   (Rot(a, q1) Rot(b, q2))^-1 = Rot(-b, q2) Rot(-a, q1)                                                  (2)
// the axes change places too. Only planar, spherical and free joints have other coordinates afterwards.
#include "karakuri/model/reverse.h"

#include <cmath>

#include "core/compose.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri {

namespace {

bool has_new_coordinates(JointKind kind) { return kind == JointKind::kPlanar || has_quaternion(kind); }

/// Three turns whose springs, dampers and armatures are the same in all directions.
bool is_round(std::span<const DofProperties> turns) {
  bool round = true;
  for (const DofProperties& p : turns)
    round = round && p.damping == turns[0].damping && p.stiffness == turns[0].stiffness &&
            p.armature == turns[0].armature && p.dry_friction == 0;
  return round;
}

/// Whether what is said of the dofs is the same of the joint turned round.
bool can_turn(const Joint& joint) {
  if (!has_new_coordinates(joint.kind)) return true;
  const bool is_planar = joint.kind == JointKind::kPlanar;
  const int slides = is_planar ? 2 : v_size(joint.kind) - 3;
  for (int k = 0; k < slides; ++k)
    if (!joint.dofs[k].bare()) return false;
  return is_planar || is_round(std::span(joint.dofs).subspan(slides, 3));
}

struct Placed {
  Mat3 R;
  Vec3 p, w, v;
};

/// Of planar, spherical and free joints.
Placed place(const Joint& joint, std::span<const double> q, std::span<const double> v) {
  if (joint.kind == JointKind::kPlanar) {
    const Mat3 A = frame_with_z(joint.axis);
    return {rotation_exp(q[2] * A.col(2)), A * Vec3(q[0], q[1], 0), v[2] * A.col(2), A * Vec3(v[0], v[1], 0)};
  }
  const std::size_t at = q.size() - 4, turn = v.size() - 3;
  const Quat quat = normalized_or_identity(Quat(q[at], q[at + 1], q[at + 2], q[at + 3]));
  Placed out{quat.toRotationMatrix(), Vec3::Zero(), Vec3(v[turn], v[turn + 1], v[turn + 2]), Vec3::Zero()};
  if (joint.kind == JointKind::kFree) out.p = Vec3(q[0], q[1], q[2]), out.v = Vec3(v[0], v[1], v[2]);
  return out;
}

/// The angle of a turn about the unit axis a, from what it does to everything across it.
double angle_about(const Vec3& a, const Mat3& R) {
  const Vec3 twice_sine(R(2, 1) - R(1, 2), R(0, 2) - R(2, 0), R(1, 0) - R(0, 1));
  return std::atan2(a.dot(twice_sine), R.trace() - a.dot(R * a));
}

/// Turns about a, then b, both unit: (2).
void fit_universal(const Vec3& a, const Vec3& b, const Mat3& R, const Vec3& w, std::span<double> q,
                   std::span<double> v) {
  // R b = Rot(a, q1) b: the angle about a from b to R b
  const Vec3 from = b - a.dot(b) * a, to = R * b - a.dot(R * b) * a;
  q[0] = std::atan2(a.dot(from.cross(to)), from.dot(to));
  const Mat3 first = rotation_exp(q[0] * a);
  q[1] = angle_about(b, first.transpose() * R);
  // w = a v1 + (Rot(a, q1) b) v2
  const Vec3 c = first * b;
  const double ac = a.dot(c), scale = 1 / (1 - ac * ac);
  v[0] = scale * (w.dot(a) - ac * w.dot(c));
  v[1] = scale * (w.dot(c) - ac * w.dot(a));
}

void write_quat(const Mat3& R, double* q) {
  const Quat quat = normalized_or_identity(Quat(R));
  q[0] = quat.w(), q[1] = quat.x(), q[2] = quat.y(), q[3] = quat.z();
}

}  // namespace

Result<Joint> reversed(const Joint& joint) {
  if (!can_turn(joint))
    return Diagnostic{
        Severity::kError, compose("joint '{}'", joint.name),
        compose("it is {} and has springs, limits or the like that cannot be turned round", name(joint.kind)),
        "attach the link as a loop, or leave them out"};
  Joint out = joint;
  std::swap(out.parent, out.child);
  std::swap(out.X_PF, out.X_CM);
  out.axis = -joint.axis;
  if (joint.kind == JointKind::kUniversal) {  // (2)
    out.axis = -joint.second_axis;
    out.second_axis = -joint.axis;
    std::swap(out.dofs[0], out.dofs[1]);
  }
  return out;
}

void reverse_coordinates(const Joint& joint, std::span<double> q, std::span<double> v) {
  if (joint.kind == JointKind::kUniversal) {
    std::swap(q[0], q[1]);
    std::swap(v[0], v[1]);
  }
  if (!has_new_coordinates(joint.kind)) return;
  const Placed at = place(joint, q, v);
  const Mat3 back = at.R.transpose();
  Joint turned{.kind = joint.kind, .axis = -joint.axis};
  fit_coordinates(turned, {back, -(back * at.p)}, -(back * at.w), back * (at.w.cross(at.p) - at.v), q,
                  v);  // (1)
}

void fit_coordinates(const Joint& joint, const Transform& X, const Vec3& w, const Vec3& v_FM,
                     std::span<double> q, std::span<double> v) {
  const Vec3 a = needs_axis(joint.kind) ? joint.axis.normalized() : Vec3::UnitZ();
  switch (joint.kind) {
    case JointKind::kRevolute:
    case JointKind::kScrew: q[0] = angle_about(a, X.R), v[0] = a.dot(w); break;
    case JointKind::kPrismatic: q[0] = a.dot(X.p), v[0] = a.dot(v_FM); break;
    case JointKind::kCylindrical:
      q[0] = a.dot(X.p), v[0] = a.dot(v_FM);
      q[1] = angle_about(a, X.R), v[1] = a.dot(w);
      break;
    case JointKind::kUniversal: fit_universal(a, joint.second_axis.normalized(), X.R, w, q, v); break;
    case JointKind::kPlanar: {
      const Mat3 A = frame_with_z(a);
      q[2] = angle_about(a, X.R), v[2] = a.dot(w);
      for (int k = 0; k < 2; ++k) q[k] = A.col(k).dot(X.p), v[k] = A.col(k).dot(v_FM);
      break;
    }
    case JointKind::kFree:
      for (int k = 0; k < 3; ++k) q[k] = X.p[k], v[k] = v_FM[k];
      [[fallthrough]];
    case JointKind::kSpherical:
      write_quat(X.R, q.data() + q.size() - 4);
      for (int k = 0; k < 3; ++k) v[v.size() - 3 + k] = w[k];
      break;
    case JointKind::kFixed:
    case JointKind::kPointOnLine:
    case JointKind::kDistance: break;
  }
}

}  // namespace karakuri
