// Mechanisms with closed loops that tests, benchmarks and demonstrations share. All stand in the x-z plane or
// above it, gravity along -z; lengths in metres.
#pragma once

#include <string>
#include <vector>

#include "karakuri/dynamics/workspace.h"
#include "karakuri/model/state.h"
#include "karakuri/world/scene.h"

namespace karakuri::test {

/// Links that stand with their axes along the world's when all coordinates are neutral, named by where they
/// are then.
class Linkage {
 public:
  Scene scene;

  /// A link that hangs on `parent` by a joint at a point of the world. The inertia is about the world's
  /// origin and axes.
  LinkId hang(const std::string& name, LinkId parent, JointKind kind, const Vec3& at, const Vec3& axis,
              const Inertia& inertia_W);
  /// Lets the two links share a joint at a point of the world.
  JointId join(const std::string& name, LinkId a, LinkId b, JointKind kind, const Vec3& at, const Vec3& axis,
               const Vec3& second_axis = Vec3::UnitX());
  LinkId world() const { return scene.mechanism.world(); }
  /// Where the origin of a link is in the neutral position.
  Vec3 origin(LinkId link) const { return link == world() ? Vec3(Vec3::Zero()) : origins_[link.index]; }
  JointId joint_of(LinkId link) const { return scene.mechanism.link(link).joint; }

 private:
  std::vector<Vec3> origins_;  // by slot
};

/// A uniform rod between two points, of some thickness.
Inertia rod(const Vec3& from, const Vec3& to, double mass, double radius = 0.01);

/// The initial state of a scene.
State initial_state(const Scene& scene, const Model& model);
/// Writes a state as the scene's initial one.
void set_initial(Scene& scene, const Model& model, const State& state);

/// IFToMM A02: n + 1 upright bars on the ground, n level bars that join their tops; all of 1 m and 1 kg.
/// Moves at 1 rad/s. Link "upright0" ends in B0.
Scene ladder(int n);
/// Ground 1, crank 0.3, coupler 0.9, rocker 0.8; at rest.
Scene four_bar();
/// Two rockers and a coupler whose middle runs along a line, almost.
Scene chebyshev();
/// IFToMM A04: five rods of 1 m and 1 kg and the ground make a hexagon along the edges of a cube, six
/// revolute joints: Gruebler counts no freedom, it has one.
Scene bricard();
/// Six legs with universal and spherical joints under a plate: six freedoms.
Scene stewart();
/// Three arms with parallelograms of rods between ball joints: the plate only translates.
Scene delta();
/// Andrews' squeezing mechanism (IFToMM A03; Schiehlen 1990) without its spring, at its starting position.
struct Andrews {
  Scene scene;
  JointId crank;     // beta
  LinkId sprung;     // K3
  Vec3 spring_on_3;  // in the frame of K3
  Vec3 spring_fixed;
  double stiffness = 4530, length = 0.07785, drive = 0.033;  // [N/m, m, N m]
};
Andrews andrews();
/// The stiff flyball governor (IFToMM A05): a shaft that turns freely about z, two rods of 1 m with 5 kg at
/// their ends hinged on its head, 30 degrees below the horizon, and a slider of 3 kg on the shaft, joined
/// with the middle of each rod: by a coupler that is a spring and damper of no mass to speak of, or by a
/// rigid one, which is a distance. Turns at 2 pi rad/s.
struct Governor {
  static constexpr double kLength = 1, kWidth = 0.01, kSlider = 0.1, kDensity = 3000;  // [m, kg/m^3]
  static constexpr double kBall = 5, kHinge = 0.05;          // [kg, m from the axis of the shaft]
  static constexpr double kCoupler = 0.5, kHeight = 0.5;     // [m]: at rest; of the slider at the start
  static constexpr double kStiffness = 8e5, kDamping = 4e4;  // [N/m, N s/m]
  static constexpr double kRod = kDensity * kLength * kWidth * kWidth;
  static constexpr double kSliderMass = kDensity * kSlider * kSlider * kSlider;
  Scene scene;
  JointId shaft, slider;
};
Governor flyball_governor(bool stiff);

}  // namespace karakuri::test
