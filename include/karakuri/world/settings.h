// How a World steps. All may be changed between steps.
#pragma once

#include <cstdint>
#include <string_view>

#include "karakuri/constraint/softness.h"
#include "karakuri/core/diagnostic.h"
#include "karakuri/solver/solve.h"
#include "karakuri/spatial/types.h"

namespace karakuri {

enum class Integrator : std::uint8_t {
  kSemiImplicit,  // velocity first; joints' springs, dampers and drives at the end of the step: never
                  // unstable
  kSymplectic,    // velocity first; springs and dampers at the start of the step
  kRk4,       // the smooth part by Runge-Kutta, constraint forces held over the step (Nakaoka et al. 2007)
  kExplicit,  // position first, with the old velocity; for comparison
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
  // At most, of the origin of every moving link and along every joint [m/s]. Turning may be ten times that
  // [rad/s], but may not move anything that is further than a metre from the origin, to the end of its
  // shapes and its centre of mass, faster than ten times that [m/s].
  double speed = 1e-3;
  double time = 0.5;  // for so long [s]
};

/// Contact springs of ContactModel::kPenalty. A surface that is softer has its own stiffness and damping
/// instead. Restitution, torsional and rolling friction of surfaces are not used. Forces are those at the
/// start of the step: stable where dt (dt stiffness + 2 damping) is less than 4 times the mass on a contact,
/// with kRk4 also dt stiffness < 2 damping, with kExplicit dt stiffness < damping.
struct PenaltySettings {
  double stiffness = 1e5;       // [N/m]
  double damping = 1e2;         // [N s/m]
  double tangential_share = 1;  // stiffness and damping along the surface, relative to the normal's
};

struct WorldSettings {
  double dt = 1e-3;  // [s]
  int substeps = 1;  // steps of dt / substeps, each with its own contacts
  Integrator integrator = Integrator::kSemiImplicit;
  ContactModel contact = ContactModel::kCone;

  solver::Method solver = solver::Method::kDefault;
  double tolerance = 5e-10;  // of the velocities along constraints [m/s]
  // Redundant contacts of moving robots contradict each other by their gaps; below this no more work is spent
  // on that [m/s].
  double acceptable = 1e-6;
  int max_sweeps = 100;  // of Gauss-Seidel methods
  int max_newton = 10;   // linear solves of the Newton method
  int max_newton_rows = 1500;

  StabilizationSettings stabilization;
  PenaltySettings penalty;
  double contact_margin =
      1e-3;  // contacts are known from this distance on, or from what a step can close [m]
  double restitution_threshold = 0.01;  // slower impacts do not bounce [m/s]
  bool continuous = true;               // fast bodies stop at what they would have passed
  bool warm_start = true;
  SleepSettings sleep;
  int threads = 1;
};

/// What is wrong with the settings; empty: nothing.
std::vector<Diagnostic> find_flaws(const WorldSettings& settings);

}  // namespace karakuri
