// Forces that no joint carries: thrusts, cables, lift, and what flows around links. All are those of the
// start of a step and are held over it.
//
// Cable through points a, b of links, with unit vector u from a to b:
//   length = sum share |b - a|,  rate = sum share u . (v_b - v_a),  and a pull of f draws both ends by share
//   f
//                                                                                                       (1)
// Fluid around a box of sides s and mean side d, velocities v and w of its centre in its own axes
// (MuJoCo's documentation, "Inertia model"):
//   f_i = - rho/2 s_j s_k |v_i| v_i - 3 pi d eta v_i
//   m_i = - rho/64 s_i (s_j^4 + s_k^4) |w_i| w_i - pi d^3 eta w_i                                       (2)
// where the box has the link's mass and moments, s_i = sqrt(6 (I_j + I_k - I_i) / m).
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "session/impl.h"

namespace karakuri {

using namespace session_detail;

namespace {

struct Ends {
  Vec3 from, to;  // in the world
  Vec3 along = Vec3::Zero();
  double distance = 0;
};

Ends ends_of(const World& world, const CableSegment& s) {
  Ends e{world.pose(s.from) * s.p_from, world.pose(s.to) * s.p_to};
  e.distance = (e.to - e.from).norm();
  if (e.distance > 1e-12) e.along = (e.to - e.from) / e.distance;
  return e;
}

bool is_there(const World& world, const CableSegment& s) {
  return world.model().find(s.from) && world.model().find(s.to);
}

Vec3 velocity_at(const World& world, LinkId link, const Vec3& point) {
  return world.velocity(link).shifted(point - world.pose(link).p).linear;
}

/// Draws the ends of each piece together, or apart where `force` is below zero.
void pull(World& world, std::span<const CableSegment> cable, double force) {
  if (force == 0) return;  // or what sleeps would wake
  for (const CableSegment& s : cable) {
    if (!is_there(world, s)) continue;
    const Vec3 f = s.share * force * ends_of(world, s).along;
    world.add_force(s.from, f, s.p_from);
    world.add_force(s.to, -f, s.p_to);
  }
}

double spring_force(const World& world, const Cable& cable) {
  const Stroke stroke = stroke_of(world, cable.path);
  const double off = stroke.length - std::clamp(stroke.length, cable.rest.low, cable.rest.high);
  return cable.stiffness * off + cable.damping * stroke.rate;
}

/// (2)
void drag(World& world, const FluidBox& box, const Fluid& fluid) {
  const Transform X_WL = world.pose(box.link), X_WB = X_WL * box.X_LB;
  const Motion V = world.velocity(box.link).shifted(X_WB.p - X_WL.p);
  const Vec3 v = X_WB.R.transpose() * (V.linear - fluid.wind), w = X_WB.R.transpose() * V.angular;
  if (v.isZero(0) && w.isZero(0)) return;
  const Vec3& s = box.size;
  const double d = s.mean(), pi = std::numbers::pi;
  Vec3 force, moment;
  for (int i = 0; i < 3; ++i) {
    const double sj = s[(i + 1) % 3], sk = s[(i + 2) % 3];
    force[i] = -0.5 * fluid.density * sj * sk * std::abs(v[i]) * v[i] - 3 * pi * d * fluid.viscosity * v[i];
    moment[i] = -fluid.density * s[i] * (std::pow(sj, 4) + std::pow(sk, 4)) * std::abs(w[i]) * w[i] / 64 -
                pi * d * d * d * fluid.viscosity * w[i];
  }
  world.add_force(box.link, X_WB.R * force, box.X_LB.p, X_WB.R * moment);
}

}  // namespace

/// (1)
Stroke session_detail::stroke_of(const World& world, std::span<const CableSegment> cable) {
  Stroke out;
  for (const CableSegment& s : cable) {
    if (!is_there(world, s)) continue;
    const Ends e = ends_of(world, s);
    out.length += s.share * e.distance;
    out.rate += s.share * e.along.dot(velocity_at(world, s.to, e.to) - velocity_at(world, s.from, e.from));
  }
  return out;
}

void Session::Impl::find_boxes() {
  boxes.clear();
  if (!scene.fluid.acts()) return;
  const Mechanism& m = scene.scene.mechanism;
  for (const LinkId id : m.link_ids()) {
    const Inertia& in = m.link(id).inertia;
    if (id == m.world() || m.link(id).is_virtual() || !(in.mass > 0)) continue;
    const Eigen::SelfAdjointEigenSolver<Mat3> axes(in.about_com);
    Mat3 R = axes.eigenvectors();
    if (R.determinant() < 0) R.col(2) = -R.col(2);
    const Vec3 moments = axes.eigenvalues();
    Vec3 size;
    for (int i = 0; i < 3; ++i)
      size[i] = std::sqrt(std::max(1e-15, moments.sum() - 2 * moments[i]) / in.mass * 6);
    boxes.push_back({id, {R, in.com}, size});
  }
}

void Session::Impl::push_actuators() {
  for (std::size_t i = 0; i < scene.actuators.size(); ++i) {
    const Actuator& a = scene.actuators[i];
    const bool thrusts = static_cast<bool>(a.thrust.link);
    if (!thrusts && a.cable.empty()) continue;
    const double force = actuator_force(world, a, signal(i));
    // a motor of positive force makes its cable longer, as a joint's makes its coordinate larger
    pull(world, a.cable, -force);
    if (!thrusts || force == 0) continue;
    const Transform X_WT = world.pose(a.thrust.link) * a.thrust.X_LT;
    world.add_force(a.thrust.link, X_WT.R * (force * a.thrust.force), a.thrust.X_LT.p,
                    X_WT.R * (force * a.thrust.moment));
  }
}

void Session::Impl::push_surroundings() {
  for (const Cable& cable : scene.cables) pull(world, cable.path, spring_force(world, cable));
  for (const Lift& lift : scene.lifts) {
    const Inertia& in = scene.scene.mechanism.link(lift.link).inertia;
    const Vec3 force = -lift.share * in.mass * world.gravity();
    if (!force.isZero(0)) world.add_force(lift.link, force, in.com);
  }
  for (const FluidBox& box : boxes) drag(world, box, scene.fluid);
}

}  // namespace karakuri
