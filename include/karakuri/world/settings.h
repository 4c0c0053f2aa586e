// How a World steps. All may be changed between steps.
#pragma once

#include <cstdint>
#include <string_view>

#include "karakuri/constraint/softness.h"
#include "karakuri/core/diagnostic.h"
#include "karakuri/solver/solve.h"
#include "karakuri/spatial/types.h"

namespace karakuri {

/// Joints' springs, dampers and drives that are stiff for the step are taken at its end by all of them, and
/// are never unstable.
enum class Integrator : std::uint8_t {
  kSemiImplicit,  // velocity first; all springs, dampers and drives at the end of the step
  kSymplectic,    // velocity first; soft springs, dampers and drives at the start of the step
  kRk4,       // the smooth part by Runge-Kutta, constraint forces held over the step (Nakaoka et al. 2007)
  kExplicit,  // position first, with the old velocity, soft ones at the start; for comparison
};

enum class ContactModel : std::uint8_t {
  kCone,     // rigid, Coulomb's cone
  kPyramid,  // rigid, friction bounded axis by axis
  kPenalty,  // springs and dampers, friction by anchors that stick or slide; see PenaltySettings
  kNone,     // everything passes through everything
};

std::string_view name_of(Integrator integrator);
std::string_view name_of(ContactModel model);
std::string_view name_of(Stabilization kind);
/// Unknown names list the known ones.
Result<Integrator> integrator_from_name(std::string_view name);
Result<ContactModel> contact_model_from_name(std::string_view name);
Result<Stabilization> stabilization_from_name(std::string_view name);

struct SleepSettings {
  bool enabled = true;
  // At most, of the origin of every moving link and along every joint [m/s]. Turning may not move anything
  // that is a body's size (Scales::length) or further from the origin, to the end of its shapes and its
  // centre of mass, faster than ten times that [m/s].
  double speed = kFromScene;
  double time = kFromScene;  // for so long [s]
};

/// Contact springs of ContactModel::kPenalty. A surface that is softer has its own stiffness and damping
/// instead. Restitution, torsional and rolling friction of surfaces are not used. The springs are taken at
/// the end of the step, and stable for any stiffness and step.
struct PenaltySettings {
  double stiffness = kFromScene;  // [N/m]; negative: follows from the masses that meet and the step
  double damping = kFromScene;    // [N s/m]; negative: critical
  double tangential_share = 1;    // stiffness and damping along the surface, relative to the normal's
  /// Forces as they are at the start of the step, for comparison. Refused where dt (dt stiffness + 2 damping)
  /// is too much for the lightest body.
  bool is_explicit = false;
};

/// Numbers that are kFromScene follow from the scene, see scales.h: World::effective_settings() has what they
/// are.
struct WorldSettings {
  double dt = 1e-3;  // [s]
  int substeps = 1;  // steps of dt / substeps, each with its own contacts
  Integrator integrator = Integrator::kSemiImplicit;
  ContactModel contact = ContactModel::kCone;

  solver::Method solver = solver::Method::kDefault;
  double tolerance = kFromScene;  // of the velocities along constraints [m/s]
  // Redundant contacts of moving robots contradict each other by their gaps; below this no more work is spent
  // on that [m/s].
  double acceptable = kFromScene;
  int max_sweeps = 100;  // of Gauss-Seidel methods
  int max_newton = 10;   // linear solves of the Newton method
  int max_newton_rows = 1500;
  // Multiplications, about, that solving what acts on each other may take in a step; 50 000 rows get twice as
  // much as few, and so on. Counted, never timed, so that a step gives the same bits everywhere.
  double max_work = 4e8;
  int pyramid_faces = 8;              // of lemke; even, 4 to 16
  int quickstep_iterations = 20;      // of quickstep: always so many
  double quickstep_relaxation = 1.3;  // of quickstep; more than 0, less than 2

  StabilizationSettings stabilization;
  PenaltySettings penalty;
  // contacts are known from this distance on, or from what a step can close [m]
  double contact_margin = kFromScene;
  double restitution_threshold = kFromScene;  // slower impacts do not bounce [m/s]
  bool continuous = true;                     // fast bodies stop at what they would have passed
  bool warm_start = true;
  SleepSettings sleep;
  int threads = 1;
};

/// What is wrong with the settings; empty: nothing.
std::vector<Diagnostic> find_flaws(const WorldSettings& settings);
/// What is otherwise than the settings sound: the friction that their solver really has.
std::vector<Diagnostic> find_notes(const WorldSettings& settings);
/// The method that is meant: `default` under the contact model `pyramid` is springhead.
solver::Method chosen_method(const WorldSettings& settings);

}  // namespace karakuri
