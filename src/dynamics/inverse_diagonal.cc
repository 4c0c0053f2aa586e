// The elimination of articulated.h writes M^-1 as what independent efforts u_i of variance d_i do:
//   a_i = (u_i - U_i^T a) / d_i,   a <- a + S_i a_i                                                       (1)
// so M^-1 is the covariance of the accelerations, and that of a body's motion, C, is handed from base to tip
// (as the operational-space inertia is: Kreutz-Delgado, Jain, Rodriguez, IJRR 11 (1992)):
//   (M^-1)_ii = 1 / d + U^T C U / d^2 =: g                                                                (2)
//   C <- C - (S (C U)^T + C U S^T) / d + S S^T g                                                          (3)
// From the parent's origin to the body's, r away, dv = dv_P + dw_P x r:
//   C_vw <- C_vw + [dw x r],   C <- X C X^T,   X = | 1      0 |
//                                                  | -[r]x  1 |                                           (4)
#include "karakuri/dynamics/inverse_diagonal.h"

#include <cassert>

#include "karakuri/spatial/types.h"

namespace karakuri {

namespace {

using Mat6 = Eigen::Matrix<double, 6, 6>;
using Vec6 = Eigen::Matrix<double, 6, 1>;

/// C of a body: where its articulated inertia was.
Mat6 load(const Workspace::ArticulatedInertia& from) {
  Mat6 C;
  C << Mat3(from.I), Mat3(from.G).transpose(), Mat3(from.G), Mat3(from.M);
  return C;
}
void store(Workspace::ArticulatedInertia& to, const Mat6& C) {
  to.I = Mat3(C.topLeftCorner<3, 3>());
  to.G = Mat3(C.bottomLeftCorner<3, 3>());
  to.M = Mat3(C.bottomRightCorner<3, 3>());
}

/// (4)
Mat6 at_child(const Mat6& C, const Vec3& r) {
  Mat6 X = Mat6::Identity();
  X.bottomLeftCorner<3, 3>() = -skew(r);
  return X * C * X.transpose();
}

Vec6 motion_of(const Model& model, const Workspace& ws, int dof, double pitch) {
  const Vec3 axis = ws.axis[dof], none = Vec3::Zero();
  Vec6 S;
  switch (model.dofs[dof].kind) {
    case DofKind::kRotation: S << axis, none; break;
    case DofKind::kTranslation: S << none, axis; break;
    case DofKind::kScrew: S << axis, pitch * axis; break;
  }
  return S;
}

}  // namespace

void inverse_mass_diagonal(const Model& model, const Tree& tree, Workspace& ws, VecOut out) {
  assert(ws.version() == model.version() && out.size() == model.nv && !model.bodies[tree.first].alone);
  for (int i = tree.first; i < tree.last; ++i) {
    const Body& body = model.bodies[i];
    Mat6 C = Mat6::Zero();
    if (body.parent != 0) C = at_child(load(ws.articulated[body.parent]), ws.pose[i].r);
    for (int v = body.first_v; v < body.first_v + body.dofs; ++v) {
      const Workspace::Pivot& pivot = ws.pivot[v];
      Vec6 U;
      U << Vec3(pivot.Un), Vec3(pivot.Uf);
      const Vec6 S = motion_of(model, ws, v, body.pitch), CU = pivot.inverse_d * (C * U);
      out[v] = pivot.inverse_d * (1 + U.dot(CU));                                 // (2)
      C += out[v] * S * S.transpose() - S * CU.transpose() - CU * S.transpose();  // (3)
    }
    store(ws.articulated[i], C);
  }
}

}  // namespace karakuri
