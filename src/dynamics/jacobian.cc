// Column of dof k on body B, for a point at p:  rotation (a, a x (p - p_B));  translation (0, a);
// screw: the first plus pitch times the second.
#include "karakuri/dynamics/jacobian.h"

#include <cassert>

namespace karakuri {

namespace {

template <bool kWithAngular>
void fill(const Model& model, const Workspace& ws, LinkId link, const Vec3& p_L, MatOut& J) {
  const LinkEntry* e = model.find(link);
  assert(e && J.cols() == model.nv);
  J.setZero();
  const Vec3 p = Mat3(ws.pose[e->body].R) * (e->X_BL * p_L) + Vec3(ws.pose[e->body].p);
  constexpr int kLinear = kWithAngular ? 3 : 0;
  for (int i = e->body; i != 0; i = model.bodies[i].parent) {
    const Body& body = model.bodies[i];
    const Vec3 arm = p - Vec3(ws.pose[i].p);
    for (int v = body.first_v; v < body.first_v + body.dofs; ++v) {
      const Vec3 axis = ws.axis[v];
      const DofKind kind = model.dofs[v].kind;
      if (kind == DofKind::kTranslation) {
        J.template block<3, 1>(kLinear, v) = axis;
        continue;
      }
      if constexpr (kWithAngular) J.template block<3, 1>(0, v) = axis;
      J.template block<3, 1>(kLinear, v) = axis.cross(arm);
      if (kind == DofKind::kScrew) J.template block<3, 1>(kLinear, v) += body.pitch * axis;
    }
  }
}

}  // namespace

void frame_jacobian(const Model& model, const Workspace& ws, LinkId link, const Vec3& p_L, MatOut J) {
  assert(J.rows() == 6);
  fill<true>(model, ws, link, p_L, J);
}

void point_jacobian(const Model& model, const Workspace& ws, LinkId link, const Vec3& p_L, MatOut J) {
  assert(J.rows() == 3);
  fill<false>(model, ws, link, p_L, J);
}

}  // namespace karakuri
