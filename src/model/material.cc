#include "karakuri/model/material.h"

#include <algorithm>
#include <cmath>

#include "core/compose.h"

namespace karakuri {

namespace {

/// Two springs or dampers one after the other. Infinite: rigid.
double in_series(double a, double b) {
  if (std::isinf(a)) return b;
  if (std::isinf(b)) return a;
  return a + b > 0 ? a * b / (a + b) : 0;
}

/// A damper of a rigid surface says nothing.
double damping_in_series(const Surface& a, const Surface& b) {
  if (std::isinf(a.stiffness)) return b.damping;
  if (std::isinf(b.stiffness)) return a.damping;
  return in_series(a.damping, b.damping);
}

bool is_length(double x) { return x >= 0 && std::isfinite(x); }

}  // namespace

Surface combine(const Surface& a, const Surface& b) {
  return {.static_friction = std::sqrt(a.static_friction * b.static_friction),
          .kinetic_friction = std::sqrt(a.kinetic_friction * b.kinetic_friction),
          .restitution = std::max(a.restitution, b.restitution),
          .torsional_friction = std::max(a.torsional_friction, b.torsional_friction),
          .rolling_friction = std::max(a.rolling_friction, b.rolling_friction),
          .stiffness = in_series(a.stiffness, b.stiffness),
          .damping = damping_in_series(a, b)};
}

std::optional<std::string> find_flaw(const Surface& s) {
  for (const double friction : {s.static_friction, s.kinetic_friction}) {
    if (!is_length(friction)) return compose("has a friction of {:g}; expected 0 or more", friction);
  }
  if (s.kinetic_friction > s.static_friction)
    return compose("has a kinetic friction of {:g}, above its static friction of {:g}", s.kinetic_friction,
                   s.static_friction);
  if (!(s.restitution >= 0 && s.restitution <= 1))
    return compose("has a restitution of {:g}; expected 0 to 1", s.restitution);
  for (const double length : {s.torsional_friction, s.rolling_friction}) {
    if (!is_length(length))
      return compose("has a torsional or rolling friction of {:g} m; expected 0 or more", length);
  }
  if (!(s.stiffness > 0)) return compose("has a stiffness of {:g} N/m; expected more than 0", s.stiffness);
  if (!is_length(s.damping)) return compose("has a damping of {:g} N s/m; expected 0 or more", s.damping);
  return std::nullopt;
}

}  // namespace karakuri
