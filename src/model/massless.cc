// The articulated inertia of Featherstone, RBDA (2008), §7.2, at one configuration without symmetry:
//   D = s^T A s + armature                                    of each dof s, the last of a joint first   (1)
//   A <- A - (A s)(A s)^T / D                                                                            (2)
//   A_parent += X^T A X                                                                                  (3)
// A dof is resisted when D is not lost in rounding against that of the rigid composite C of all that it
// carries,
//   D > 1e-10 (s^T C s + armature)                                                                       (4)
// D/C falls with the ratio of inertias along a chain; those of machines stay far above 1e-10.
#include "model/massless.h"

#include "karakuri/spatial/rotation.h"

namespace karakuri {

namespace {

using Vec6 = Eigen::Matrix<double, 6, 1>;
using Mat6 = Eigen::Matrix<double, 6, 6>;

Mat6 own_inertia(const Body& body) {  // angular before linear, at B
  const double* I = body.inertia;
  Mat3 about_origin;
  about_origin << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
  const Mat3 h = skew(Vec3(body.mass_com));
  Mat6 out;
  out << about_origin, h, h.transpose(), body.mass * Mat3::Identity();
  return out;
}

/// The dofs of a joint in B. The second angle of a universal joint is zero in the configuration looked at.
Vec6 motion_of(const Model& model, const Body& body, int k) {
  Vec6 s = Vec6::Zero();
  const DofKind kind = model.dofs[body.first_v + k].kind;
  const bool planar_or_free = body.dofs >= 3;
  if (kind == DofKind::kTranslation) {
    s[planar_or_free ? 3 + k : 5] = 1;
  } else if (has_quaternion(body.kind)) {
    s[k - (body.dofs - 3)] = 1;
  } else if (body.kind == JointKind::kUniversal && k == 0) {
    s.head<3>() = Mat3(model.between[body.extra]).row(2).transpose();
  } else {
    s[2] = 1;
    if (kind == DofKind::kScrew) s[5] = body.pitch;
  }
  return s;
}

/// Velocities of P to those of B, at a pose that differs from body to body.
Mat6 from_parent(const Model& model, int i) {
  const Body& body = model.bodies[i];
  const double angle = 0.3 + 0.7 * ((i * 7) % 11) / 11.0;  // [rad]
  Mat3 R = rotation_exp({0, 0, angle});
  if (body.kind == JointKind::kUniversal) R *= Mat3(model.between[body.extra]);
  if (has_quaternion(body.kind)) R = rotation_exp({angle, 0.5 * angle, -0.2 * angle});
  if (body.kind == JointKind::kPrismatic) R.setIdentity();
  const bool slides = model.dofs[body.first_v].kind == DofKind::kTranslation;
  const Vec3 slide = slides ? Vec3(0, 0, 0.1 * angle) : Vec3(Vec3::Zero());
  const Mat3 R_PB = Mat3(body.R_PF) * R;
  const Vec3 p = Vec3(body.p_PF) + Mat3(body.R_PF) * slide;
  Mat6 X = Mat6::Zero();
  X.topLeftCorner<3, 3>() = X.bottomRightCorner<3, 3>() = R_PB.transpose();
  X.bottomLeftCorner<3, 3>() = -R_PB.transpose() * skew(p);
  return X;
}

}  // namespace

std::vector<int> find_unresisted_massless(const Model& model) {
  std::vector<Mat6> A(model.bodies.size(), Mat6::Zero()), C = A;
  std::vector<int> found;
  for (int i = model.body_count() - 1; i > 0; --i) {
    const Body& body = model.bodies[i];
    A[i] += own_inertia(body);
    C[i] += own_inertia(body);
    bool resisted = true;
    for (int k = body.dofs - 1; k >= 0; --k) {
      const Vec6 s = motion_of(model, body, k), U = A[i] * s;
      const double armature = model.armature[body.first_v + k];
      const double D = s.dot(U) + armature;                 // (1)
      const double composite = s.dot(C[i] * s) + armature;  // (4)
      const double least = 1e-12 * C[i].topLeftCorner<3, 3>().trace() * s.head<3>().squaredNorm();
      if (D > 1e-10 * composite && D > least) {
        A[i] -= U * U.transpose() / D;  // (2)
      } else {
        resisted = false;
      }
    }
    if (body.mass == 0 && !resisted) found.push_back(i);
    if (body.parent == 0) continue;
    const Mat6 X = from_parent(model, i);
    A[body.parent] += X.transpose() * A[i] * X;  // (3)
    C[body.parent] += X.transpose() * C[i] * X;
  }
  return found;
}

}  // namespace karakuri
