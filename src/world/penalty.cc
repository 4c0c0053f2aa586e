// Contact by springs (Kuroda 2002, S. 5): with depth d, its rate u and the stretch s of the tangential
// spring,
//   f_n = max(0, k d - nu u)                                                                              (1)
//   sticking: f_t = -k_t s - nu_t u_t while |f_t| <= mu_s f_n, the anchor stays                           (2)
//   sliding:  f_t = -mu_k f_n along the stretch, the anchor follows so that k_t |s| = mu_k f_n            (3)
// From sliding back to sticking when (2) gives less than kinetic friction. Forces act over the step as they
// are at its start. A surface that is softer than the settings' spring has its own k and nu. How high things
// bounce follows from k and nu; restitution is not asked, nor is friction against spinning and rolling.
#include <algorithm>

#include "karakuri/dynamics/response.h"
#include "world/impl.h"

namespace karakuri {

namespace {

Vec3 velocity_at(const Workspace& ws, int body, const Vec3& point) {
  const Workspace::Velocity& v = ws.velocity[body];
  return Vec3(v.v) + Vec3(v.w).cross(point - Vec3(ws.pose[body].p));
}

Vec3 force_on_b(const PenaltySettings& s, const Surface& surface, const Vec3& u, double h, Contact& c) {
  const bool soft = surface.stiffness < s.stiffness;
  const double stiffness = soft ? surface.stiffness : s.stiffness;
  const double damping = soft ? surface.damping : s.damping;
  const double normal = std::max(0.0, -stiffness * c.separation - damping * u.dot(c.normal));  // (1)
  const Vec3 slip = u - u.dot(c.normal) * c.normal;
  c.slip = slip;
  if (c.separation > 0 || normal == 0) {
    c.stretch.setZero();
    c.state = ContactState::kOpen;
    return Vec3::Zero();
  }
  const double k = s.tangential_share * stiffness, d = s.tangential_share * damping;
  const bool slid = c.state == ContactState::kSlide;
  c.stretch += h * slip;
  Vec3 tangential = -k * c.stretch - d * slip;  // (2)
  const double most = (slid ? surface.kinetic_friction : surface.static_friction) * normal;
  c.state = ContactState::kStick;
  if (const double size = tangential.norm(); size > most) {
    tangential *= surface.kinetic_friction * normal / size;
    c.stretch = -tangential / k;  // (3)
    c.state = ContactState::kSlide;
  }
  return normal * c.normal + tangential;
}

}  // namespace

void World::Impl::penalty_contacts(double h) {
  penalty_impulses.clear();
  for (Contact& c : contacts) {
    const int a = colliders[c.collider_a].body, b = colliders[c.collider_b].body;
    const Vec3 u = velocity_at(ws, b, c.point) - velocity_at(ws, a, c.point);
    c.force = force_on_b(settings.penalty, surface_of(c.collider_a, c.collider_b), u, h, c);
    c.impulse = h * c.force;
    const double size = c.impulse.norm();
    if (size == 0) continue;
    penalty_rows.push_back({.body = responds(b) ? b : 0,
                            .other = responds(a) ? a : 0,
                            .point = c.point,
                            .force = c.impulse / size});
    penalty_impulses.push_back(size);
  }
  if (penalty_rows.empty()) return;
  apply_impulses(model, penalty_rows,
                 Eigen::Map<const Eigen::VectorXd>(penalty_impulses.data(),
                                                   static_cast<Eigen::Index>(penalty_impulses.size())),
                 ws, Eigen::Map<Eigen::VectorXd>(v_free.data(), model.nv));
}

}  // namespace karakuri
