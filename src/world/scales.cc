#include "world/scales.h"

#include <algorithm>
#include <cmath>

namespace karakuri {

double Scales::row_length() const { return std::ldexp(1.0, std::ilogb(length)); }

WorldSettings resolve(const WorldSettings& given, const Scales& scales) {
  WorldSettings s = given;
  const double l = scales.length, v = scales.speed, rate = v / l, mass = scales.mass;
  const auto fill = [](double& setting, double value) {
    if (setting == kFromScene) setting = value;
  };
  fill(s.tolerance, 2e-10 * v);
  fill(s.acceptable, 3e-7 * v);
  fill(s.contact_margin, 1e-3 * l);
  fill(s.restitution_threshold, 3e-3 * v);
  fill(s.sleep.speed, 3e-4 * v);
  fill(s.sleep.time, 1.5 * scales.time());
  StabilizationSettings& t = s.stabilization;
  fill(t.beta, 1.6 * rate);
  fill(t.gamma, 1.6 * rate);
  fill(t.stiffness, 1e5 * mass * rate * rate);
  fill(t.damping, 300 * mass * rate);
  fill(t.slop, 5e-5 * l);
  fill(t.max_speed, 0.3 * v);
  return s;
}

namespace world_detail {

namespace {

/// Of numbers that are overwritten; `fallback` where there are none. Of an even number the lower one.
double median(std::vector<double>& values, double fallback) {
  std::erase_if(values, [](double x) { return !(x > 0) || !std::isfinite(x); });
  if (values.empty()) return fallback;
  const auto middle = values.begin() + (values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double radius_of_gyration(const Body& body) {
  return body.mass > 0 ? std::sqrt((body.inertia[0] + body.inertia[1] + body.inertia[2]) / body.mass) : 0;
}

}  // namespace

Scales measure_bodies(const World::Impl& w) {
  const std::size_t count = w.model.bodies.size();
  std::vector<double> sizes(count, 0.0), masses(count, 0.0);
  for (const BodyShape& c : w.colliders)
    if (const double radius = c.arm + c.radius; std::isfinite(radius))
      sizes[c.body] = std::max(sizes[c.body], radius);
  for (std::size_t i = 1; i < count; ++i) {
    masses[i] = w.model.bodies[i].mass;
    if (sizes[i] == 0) sizes[i] = radius_of_gyration(w.model.bodies[i]);
  }
  sizes[0] = 0;                                                    // the world does not move
  return {.length = median(sizes, 1), .mass = median(masses, 1)};  // (1), (2)
}

double typical_speed(double length, double gravity, double dt) {
  constexpr double kNothing = 1e-12;  // of the length, in a step
  const bool falls = gravity * dt * dt > kNothing * length;
  return falls ? std::sqrt(gravity * length) : 1e-2 * length / dt;  // (3)
}

}  // namespace world_detail

void World::Impl::resolve_settings() {
  scales.speed = world_detail::typical_speed(scales.length, gravity.norm(), given.dt / given.substeps);
  settings = resolve(given, scales);
  rows.length = scales.row_length();
  std::fill(collider_placed.begin(), collider_placed.end(), std::uint8_t{0});  // boxes have a margin
  known.q.clear();
}

}  // namespace karakuri
