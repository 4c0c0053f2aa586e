// A scene in neutral terms, from which each engine builds a world of its own.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "karakuri/collision/shape.h"
#include "karakuri/spatial/inertia.h"
#include "karakuri/spatial/transform.h"

namespace karakuri::bench {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A drive towards an angle: effort = stiffness (target - q) - damping v, implicit where the engine can.
struct Servo {
  double stiffness = 0;  // [N m/rad]
  double damping = 0;    // [N m s/rad]
  double target = 0;     // [rad]
  double swing = 0;      // amplitude by which the target goes to and fro, once a second [rad]
  double rate = 0;       // at which it goes on [rad/s]

  bool used() const { return stiffness > 0 || damping > 0; }
  double target_at(double time) const;
};

/// One axis between a body and its parent; several follow each other, the first nearest to the parent.
struct Hinge {
  Vec3 anchor = Vec3::Zero();  // in the body's frame [m]
  Vec3 axis = Vec3::UnitZ();   // in the body's frame, any length
  double lower = -kInfinity;   // [rad]
  double upper = kInfinity;
  double damping = 0;
  double stiffness = 0;  // towards 0
  double armature = 0;   // [kg m^2]
  Servo servo;
};

struct Part {
  Shape shape;
  Transform X_BS;   // in the body's frame
  double mass = 0;  // [kg]
};

struct BodyPlan {
  std::string name;
  int parent =
      -1;  // index of Setup::bodies; -1: the world, on which it hangs if it has hinges, else it is free
  Transform X_PB;  // in the parent's frame, or the world's, where all angles are 0
  std::vector<Hinge> hinges;
  std::vector<Part> parts;
  Vec3 velocity = Vec3::Zero();  // at the start, of a free body [m/s]

  bool is_free() const { return parent < 0 && hinges.empty(); }
};

struct Setup {
  std::string name;
  double dt = 1.0 / 60;
  std::vector<BodyPlan> bodies;            // parents before children; a floor at z = 0 is understood
  std::vector<Part> fixed;                 // of the world, beside the floor, whose friction they have
  double floor_friction = 0.5;             // of a body on the floor
  double body_friction = 0.5;              // of bodies on each other, at most floor_friction
  std::vector<std::pair<int, int>> apart;  // bodies that never touch, beside parents and children
  int iterations = 10;                     // of engines that iterate
  bool crowded = false;                    // robots lie on each other: many contacts of each shape
  double loose_by = 0;  // how far a body may be put from its place along the floor and touch nothing else [m]
  // What only MuJoCo knows: softness of contacts and limits, as attributes of its <geom> and <joint>.
  std::string mujoco_geom, mujoco_joint;

  bool articulated() const;
  int dofs() const;
};

/// Shapes that do not move beside the floor, or bodies that hang on the world: not every engine's file has
/// them.
bool needs_world_shapes(const Setup& setup);
bool has_heightfield(const Setup& setup);
/// The same scene of other sizes, masses, frictions and places, as far as that leaves it what it is; 0: as it
/// is.
Setup varied(Setup setup, std::uint64_t seed);

/// Adds a free body that is one shape.
BodyPlan& add_solid(Setup& setup, const Shape& shape, double mass, const Transform& X_WB);
void add_fixed(Setup& setup, const Shape& shape, const Transform& X_WS);

/// Mass, centre of mass and inertia of all parts.
Inertia inertia_of(const BodyPlan& body);
double total_mass(const Setup& setup);
/// Number of bodies.
int largest_tree(const Setup& setup);

/// The bodies' pairs that never touch, smaller index first.
std::set<std::pair<int, int>> pairs_apart(const Setup& setup);

/// A setup with one hinge per link, for engines that know no other: a body with n hinges becomes n links, of
/// which the last is the body itself and those before it lie in the same place and weigh next to nothing.
struct LinkPlan {
  int body = 0;                  // index of Setup::bodies
  bool real = true;              // the body itself
  int parent = -1;               // index of links; -1: the world
  Transform X_PL;                // in the parent link's frame, or the world's, at angle 0
  Transform X_WL;                // in the world, at angle 0
  Inertia inertia;               // in the link's frame
  const Hinge* hinge = nullptr;  // of the setup; none: free
};

struct LinkOptions {
  double small_mass = 1e-4;          // of a link in between [kg]
  double small_radius = 0.01;        // of the ball that it is [m]
  bool armature_as_inertia = false;  // for engines without armature: the rotor turns with the link
};

/// The setup must outlive them.
std::vector<LinkPlan> split_into_links(const Setup& setup, const LinkOptions& options);

/// Principal axes (columns, right-handed) and moments of an inertia.
struct Principal {
  Mat3 axes;
  Vec3 moments;
};
Principal principal_of(const Inertia& inertia);

}  // namespace karakuri::bench
