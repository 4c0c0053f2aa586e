// Contact by springs (Kuroda 2002, S. 5): with depth d, its rate u and the stretch s of the tangential
// spring,
//   f_n = max(0, k d - nu u)                                                                              (1)
//   sticking: f_t = -k_t s - nu_t u_t while |f_t| <= mu_s f_n, the anchor stays                           (2)
//   sliding:  f_t = -mu_k f_n along the stretch, the anchor follows so that k_t |s| = mu_k f_n            (3)
// From sliding back to sticking when (2) gives less than kinetic friction.
//
// Usually d, u and s are those at the end of the step: contacts are rows that give way (build_rows.cc),
// solved with all others, and no stiffness makes them unstable. Where nothing else is said, stiffness and
// damping follow from the mass m that meets, as of two trees each as a whole, and from the step,
//   k = m / h^2,   nu = 2 sqrt(k m)                                                                       (4)
// so that a body at rest sinks by g h^2 and comes to rest without swinging. A surface that is softer has its
// own k and nu. How high things bounce follows from k and nu; restitution is not asked, nor is friction
// against spinning and rolling.
//
// For comparison (PenaltySettings::is_explicit) forces act over the step as they are at its start. That is
// stable where
//   h (h k + 2 nu) W < 4                                                                                  (5)
// with the mobility W of all that presses on a body, and refused beyond that.
#include <algorithm>
#include <cmath>
#include <limits>

#include "karakuri/dynamics/response.h"
#include "world/impl.h"
#include "world/penalty.h"

namespace karakuri {

namespace {

Vec3 velocity_at(const Workspace& ws, int body, const Vec3& point) {
  const Workspace::Velocity& v = ws.velocity[body];
  return Vec3(v.v) + Vec3(v.w).cross(point - Vec3(ws.pose[body].p));
}

Vec3 force_on_b(const world_detail::ContactSpring& s, const Surface& surface, const Vec3& u, double h,
                Contact& c) {
  const double normal = std::max(0.0, -s.stiffness * c.separation - s.damping * u.dot(c.normal));  // (1)
  const Vec3 slip = u - u.dot(c.normal) * c.normal;
  c.slip = slip;
  if (c.separation > 0 || normal == 0) {
    c.stretch.setZero();
    c.state = ContactState::kOpen;
    return Vec3::Zero();
  }
  const double k = s.along_stiffness, d = s.along_damping;
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

/// Of the tree of a body as a whole; infinite where it does not respond [kg].
double mass_of(const World::Impl& w, int body) {
  return w.responds(body) ? w.tree_mass[w.tree_of[body]] : std::numeric_limits<double>::infinity();
}

}  // namespace

world_detail::ContactSpring world_detail::contact_spring(const World::Impl& w, int body_a, int body_b,
                                                         const Surface& surface, double h) {
  const PenaltySettings& p = w.settings.penalty;
  const double m = 1 / (1 / mass_of(w, body_a) + 1 / mass_of(w, body_b));
  ContactSpring s;
  s.stiffness = p.stiffness >= 0 ? p.stiffness : m / (h * h);  // (4)
  s.damping = p.damping >= 0 ? p.damping : 2 * std::sqrt(s.stiffness * m);
  if (surface.stiffness < s.stiffness) s.stiffness = surface.stiffness, s.damping = surface.damping;
  s.along_stiffness = p.tangential_share * s.stiffness;
  s.along_damping = p.tangential_share * s.damping;
  return s;
}

bool world_detail::has_implicit_springs(const WorldSettings& settings) {
  return settings.contact == ContactModel::kPenalty && !settings.penalty.is_explicit;
}

void World::Impl::penalty_contacts(double h) {
  penalty_rows.clear();
  penalty_impulses.clear();
  penalty_contact.clear();
  if (settings.contact != ContactModel::kPenalty || !settings.penalty.is_explicit) return;
  for (Contact& c : contacts) {
    const int a = colliders[c.collider_a].body, b = colliders[c.collider_b].body;
    const Vec3 u = velocity_at(ws, b, c.point) - velocity_at(ws, a, c.point);
    const Surface& surface = surface_of(c.collider_a, c.collider_b);
    c.force = force_on_b(world_detail::contact_spring(*this, a, b, surface, h), surface, u, h, c);
    c.impulse = h * c.force;
    const double size = c.impulse.norm();
    if (size == 0) continue;
    penalty_rows.push_back({.body = responds(b) ? b : 0,
                            .other = responds(a) ? a : 0,
                            .point = c.point,
                            .force = c.impulse / size});
    penalty_impulses.push_back(size);
    penalty_contact.push_back(static_cast<std::int32_t>(&c - contacts.data()));
  }
  if (penalty_rows.empty()) return;
  apply_impulses(model, penalty_rows,
                 Eigen::Map<const Eigen::VectorXd>(penalty_impulses.data(),
                                                   static_cast<Eigen::Index>(penalty_impulses.size())),
                 ws, Eigen::Map<Eigen::VectorXd>(v_free.data(), model.nv));
}

}  // namespace karakuri
