// Joint kinds and what is said of each degree of freedom.
//
// A joint holds frame M of its child relative to frame F of its parent. Coordinates q and velocities v,
// always translations before rotations, are those of M in F, in F's axes (a = axis, unit; b = second axis):
//
//   kind          q                          v                        motion of M in F
//   fixed         -                          -                        none
//   revolute      angle                      rate                     turn about a
//   prismatic     distance                   rate                     slide along a
//   cylindrical   distance, angle            rates                    slide along and turn about a
//   screw         angle                      rate                     turn about a, slide by pitch * angle
//   universal     angle, angle               rates                    turn about a, then about the turned b
//   planar        x, y, angle                rates                    slide across a, turn about a
//   spherical     quaternion (w, x, y, z)    angular velocity         turn
//   free          position, quaternion       velocity, angular        anything
//
// Two more have no coordinates of their own and only close loops: point-on-line keeps the origin of M on F's
// axis, distance keeps it at a distance from the origin of F.
//
// Every column of the joint's Jacobian is constant in F but for the second axis of the universal joint.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "karakuri/model/ids.h"
#include "karakuri/model/interval.h"
#include "karakuri/spatial/transform.h"

namespace karakuri {

enum class JointKind : std::uint8_t {
  kFixed,
  kRevolute,
  kPrismatic,
  kCylindrical,
  kScrew,
  kUniversal,
  kPlanar,
  kSpherical,
  kFree,
  kPointOnLine,  // these two only close loops
  kDistance,
};
inline constexpr int kJointKindCount = 9;  // kinds that carry a link; those beyond only close loops
inline constexpr int kMaxJointDofs = 6;

/// How one degree of freedom moves: along its axis, about it, or both.
enum class DofKind : std::uint8_t { kTranslation, kRotation, kScrew };

std::string_view name(JointKind kind);
/// Number of coordinates.
int q_size(JointKind kind);
/// Number of degrees of freedom.
int v_size(JointKind kind);
/// @pre 0 <= dof < v_size(kind)
DofKind dof_kind(JointKind kind, int dof);
/// Whether orientation is a quaternion, at the end of q, with its three rates at the end of v.
bool has_quaternion(JointKind kind);
bool needs_axis(JointKind kind);
/// Whether a joint of this kind cannot carry a link.
inline bool only_closes_loops(JointKind kind) { return static_cast<int>(kind) >= kJointKindCount; }

/// One degree of freedom. Units: rad for rotations, m for translations, N m or N for efforts.
struct DofProperties {
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  double lower =
      -kNone;  // limits of the position; of the three dofs of a quaternion only `upper` of the first
  double upper = kNone;         //   is used and bounds the angle of rotation
  double damping = 0;           // effort per rate [N m s/rad or N s/m]
  double stiffness = 0;         // effort per displacement from `rest`
  double rest = 0;              // a quaternion's rest is the identity
  double dry_friction = 0;      // largest effort of Coulomb friction in the joint
  double armature = 0;          // inertia of what turns with the joint (rotors) [kg m^2 or kg]
  double effort_limit = kNone;  // of a motor at this joint
  double velocity_limit = kNone;
  double limit_stiffness = kNone;  // of lower and upper, per displacement beyond; infinite: rigid
  double limit_damping = 0;        // while beyond, of soft limits

  /// Whether nothing acts in it.
  bool bare() const {
    return damping == 0 && stiffness == 0 && dry_friction == 0 && armature == 0 && lower == -kNone &&
           upper == kNone;
  }
};

struct Joint {
  std::string name;
  JointKind kind = JointKind::kFixed;
  LinkId parent;
  LinkId child;                      // a virtual link where the joint closes a loop
  Transform X_PF;                    // frame F in the parent link
  Transform X_CM;                    // frame M in the child link
  Vec3 axis = Vec3::UnitZ();         // in F
  Vec3 second_axis = Vec3::UnitX();  // universal only, in F at q = 0
  double pitch = 0;                  // screw only [m/rad]
  double distance = 0;               // distance only [m]
  Interval range;                    // distance only: bounds it in place of holding it: ropes and stops [m]
  // A joint that closes a loop may give way, by springs and dampers in place of what it holds; where one of
  // the two stiffnesses is infinite what it speaks of stays rigid, stabilized by ERP.
  double closing_stiffness = DofProperties::kNone;       // of translations [N/m]
  double closing_damping = 0;                            // [N s/m]
  double closing_turn_stiffness = DofProperties::kNone;  // of turns [N m/rad]
  double closing_turn_damping = 0;                       // [N m s/rad]
  std::array<DofProperties, kMaxJointDofs> dofs{};       // the first v_size(kind) count
};

}  // namespace karakuri
