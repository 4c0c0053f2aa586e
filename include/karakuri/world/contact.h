// What can be read of a world after a step.
#pragma once

#include <array>
#include <cstdint>

#include "karakuri/model/ids.h"
#include "karakuri/solver/solve.h"
#include "karakuri/spatial/spatial_vector.h"

namespace karakuri {

enum class ContactState : std::uint8_t {
  kOpen,   // no force
  kStick,  // force within the cone, no slip
  kSlide,  // force on the cone's side, against the slip
};

/// One contact point between two shapes. All vectors in world axes.
struct Contact {
  LinkId link_a, link_b;
  std::int32_t collider_a = -1, collider_b = -1;  // of World::colliders()
  std::uint32_t part_a = 0, part_b = 0;           // of compound shapes
  std::uint64_t feature = 0;    // which features of the shapes meet; lasts from step to step
  Vec3 point = Vec3::Zero();    // half way between the surfaces [m]
  Vec3 normal = Vec3::UnitZ();  // from A to B
  double separation = 0;        // negative: depth [m]
  Vec3 force = Vec3::Zero();    // on B, mean over the step [N]
  Vec3 moment = Vec3::Zero();   // on B: torsional and rolling friction [N m]
  Vec3 slip = Vec3::Zero();     // velocity of B relative to A along the surface [m/s]
  ContactState state = ContactState::kOpen;

  // What the next step starts from.
  Vec3 impulse = Vec3::Zero();          // on B, without that of bouncing [N s]
  Vec3 turning_impulse = Vec3::Zero();  // [N m s]
  Vec3 stretch = Vec3::Zero();          // slip since it sticks, undone by and by; kPenalty: of the spring [m]
  double mobility = 0;                  // mean velocity per own impulse; 0: not known [1/kg]
};

enum class EventKind : std::uint8_t {
  kContactBegin,  // two links begin to press on each other
  kContactEnd,
  kLimitHit,  // a joint comes to its limit
  kSleep,     // a link with all that it touches
  kWake,
  kQuarantine,  // a link's state became non-finite; it is frozen
  kBreak,       // a joint was overloaded and is no more
};

struct Event {
  EventKind kind = EventKind::kContactBegin;
  double time = 0;
  LinkId link_a,
      link_b;     // contact: both; break: that were joined; sleep, wake, quarantine: the root of the tree
  JointId joint;  // limit, break
};

/// What a joint carries, mean over the step.
struct JointLoad {
  Force wrench;                      // from parent to child at the joint's frame M, world axes [N m, N]
  std::array<double, 6> drive{};     // effort of drives and set_effort() on each dof [N m or N]
  std::array<double, 6> friction{};  // of dry friction
  std::array<double, 6> limit{};     // of limits
};

struct Energies {
  double kinetic = 0;    // [J]
  double potential = 0;  // of gravity and the joints' springs [J]
  double total() const { return kinetic + potential; }
};

/// Seconds spent in the parts of the last step.
struct StepTimes {
  double hooks = 0, dynamics = 0, collision = 0, rows = 0, solve = 0, integrate = 0, finish = 0;
  double total() const { return hooks + dynamics + collision + rows + solve + integrate + finish; }
};

/// What WorldSettings::max_work bounds.
struct WorkReport {
  double work = 0;    // multiplications, about, of all islands, and of contacts of meshes and terrain
  int cut = 0;        // pairs so deep in each other that contacts were taken of an even spread of them
  int exhausted = 0;  // islands that ran out of it: their impulses are safe, but not what was asked for
  solver::Method method = solver::Method::kDefault;  // that ran out
};

/// How well the last step was solved: the worst island's report, and sizes. Where `status` is converged,
/// every island's residual is within WorldSettings::tolerance times the root of its rows.
struct StepReport {
  solver::Status status = solver::Status::kConverged;
  solver::Ending ending = solver::Ending::kTolerance;  // what ended the solution of the worst island
  solver::Backend backend = solver::Backend::kNone;    // and what solved it
  double residual = 0;                                 // and what it leaves: its natural map [m/s]
  double promised = 0;  // the residual up to which it would have converged [m/s]
  int islands = 0;      // with rows
  int rows = 0;
  int contacts = 0;  // within their margins
  int sweeps = 0;    // most of any island
  int newton = 0;
  WorkReport budget;
  int refused = 0;         // islands that the chosen method could not take; the default solved them
  double penetration = 0;  // deepest contact at the start of the step [m]
  // What should be zero. Energy made is the rise of the step that no force, drive or kinematic body accounts
  // for; motion lost is how far the displacement of the link for which it is most fell short of its velocity
  // times the step.
  double energy_made = 0;       // [J]
  double energy_exchanged = 0;  // what energy_made is to be compared with [J]
  LinkId energy_link;           // where most of it was made; none: nowhere
  double motion_lost = 0;       // [m]
  LinkId motion_link;           // none: nothing was lost
  // In how many parts it was made: more than WorldSettings::substeps where something moved further than one
  // of them can follow. Forces, loads and accelerations are those of the last part.
  int parts = 0;
  // What the step would have made and was slowed down by instead: errors of integration, of impulses and of
  // corrections, beyond the order of the integrator. It damps, so a small part of the energy exchanged is
  // good.
  double energy_taken = 0;  // [J]
};

}  // namespace karakuri
