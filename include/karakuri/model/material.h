// What shapes are made of, as far as contact is concerned.
#pragma once

#include <limits>
#include <optional>
#include <string>

namespace karakuri {

/// How two surfaces act on each other. Each material has one, for contact with its like; see combine().
struct Surface {
  double static_friction = 0.5;
  double kinetic_friction = 0.5;  // at most static_friction
  double restitution = 0;         // 0 to 1
  double torsional_friction = 0;  // moment about the normal per normal force [m]
  double rolling_friction = 0;    // moment across the normal per normal force [m]
  double stiffness = kRigid;      // normal force per depth [N/m]
  double damping = 0;             // normal force per rate of depth [N s/m]; of soft surfaces
  static constexpr double kRigid = std::numeric_limits<double>::infinity();
};

struct Material {
  std::string name;
  Surface surface;
};

/// What two materials do to each other where nothing else is said of the pair: the geometric mean of their
/// frictions, the larger restitution, springs and dampers in series.
Surface combine(const Surface& a, const Surface& b);
/// Why no surface is like this: the rest of a sentence, or nothing when it is fine.
std::optional<std::string> find_flaw(const Surface& surface);

}  // namespace karakuri
