#include "karakuri/world/settings.h"

#include <array>
#include <cmath>

#include "core/compose.h"

namespace karakuri {

namespace {

template <class Kind>
struct Name {
  Kind kind;
  std::string_view name;
};

constexpr std::array kIntegrators{
    Name{Integrator::kSemiImplicit, "semi-implicit"},
    Name{Integrator::kSymplectic, "symplectic"},
    Name{Integrator::kRk4, "rk4"},
    Name{Integrator::kExplicit, "explicit"},
};
constexpr std::array kContactModels{
    Name{ContactModel::kCone, "cone"},
    Name{ContactModel::kPyramid, "pyramid"},
    Name{ContactModel::kPenalty, "penalty"},
    Name{ContactModel::kNone, "none"},
};
constexpr std::array kStabilizations{
    Name{Stabilization::kPosition, "position"},   Name{Stabilization::kErp, "erp"},
    Name{Stabilization::kBaumgarte, "baumgarte"}, Name{Stabilization::kPenalty, "penalty"},
    Name{Stabilization::kNone, "none"},
};

template <class Names, class Kind>
std::string_view name_in(const Names& names, Kind kind) {
  for (const auto& n : names)
    if (n.kind == kind) return n.name;
  return "unknown";
}

template <class Kind, std::size_t N>
Result<Kind> find_in(const std::array<Name<Kind>, N>& names, std::string_view name, std::string_view what) {
  std::string known;
  for (const auto& n : names) {
    if (n.name == name) return n.kind;
    known += (known.empty() ? "" : ", ") + std::string(n.name);
  }
  return Diagnostic{Severity::kError, std::string(what), compose("no {} is called '{}'", what, name),
                    "known: " + known};
}

/// Whether a method has friction bounded by Coulomb's cone, whatever the contact model says.
bool solves_cone(solver::Method method) {
  const solver::Friction friction = solver::friction_of(method);
  return friction == solver::Friction::kCone || friction == solver::Friction::kSkewed;
}

/// What is wrong with the choice of a method and its own settings.
void check_method(const WorldSettings& s, std::vector<Diagnostic>& flaws) {
  if (s.contact == ContactModel::kPyramid && s.solver != solver::Method::kDefault && solves_cone(s.solver))
    flaws.push_back(
        {Severity::kError, "settings: solver",
         compose("'{}' solves Coulomb's cone, but the contact model is 'pyramid'", solver::name_of(s.solver)),
         "choose solver default, springhead, dantzig, lemke or quickstep; or contact model cone"});
  if (s.solver == solver::Method::kNewton && s.max_newton == 0)
    flaws.push_back({Severity::kError, "settings: max_newton",
                     "is 0, and the solver 'newton' does nothing but these linear solves",
                     "set max_newton to 1 or more (10 by default), or choose another solver"});
  if (s.pyramid_faces >= 4 && s.pyramid_faces % 2 != 0)
    flaws.push_back({Severity::kError, "settings: pyramid_faces", compose("is {}", s.pyramid_faces),
                     "expected an even number"});
  if (s.quickstep_relaxation >= 2)
    flaws.push_back({Severity::kError, "settings: quickstep_relaxation",
                     compose("is {:g}, with which iterations grow", s.quickstep_relaxation),
                     "expected less than 2"});
}

/// One number of the settings and the range it must lie in.
struct Check {
  std::string_view name;
  double value, least, most;
  bool open;                // `least` itself is not allowed
  bool may_follow = false;  // from the scene
};

}  // namespace

std::string_view name_of(Integrator integrator) { return name_in(kIntegrators, integrator); }
std::string_view name_of(ContactModel model) { return name_in(kContactModels, model); }
std::string_view name_of(Stabilization kind) { return name_in(kStabilizations, kind); }
Result<Integrator> integrator_from_name(std::string_view name) {
  return find_in(kIntegrators, name, "integrator");
}
Result<ContactModel> contact_model_from_name(std::string_view name) {
  return find_in(kContactModels, name, "contact model");
}
Result<Stabilization> stabilization_from_name(std::string_view name) {
  return find_in(kStabilizations, name, "stabilization");
}

std::vector<Diagnostic> find_flaws(const WorldSettings& s) {
  constexpr double kMost = 1e12;
  const Check checks[] = {
      {"dt", s.dt, 0, 1e6, true},
      {"substeps", double(s.substeps), 1, 1e6, false},
      {"tolerance", s.tolerance, 0, kMost, false, true},
      {"acceptable", s.acceptable, 0, kMost, false, true},
      {"max_sweeps", double(s.max_sweeps), 1, 1e9, false},
      {"max_newton", double(s.max_newton), 0, 1e9, false},
      {"max_work", s.max_work, 0, 1e18, true},
      {"max_newton_rows", double(s.max_newton_rows), 0, 1e9, false},
      {"pyramid_faces", double(s.pyramid_faces), 4, solver::kMostFaces, false},
      {"quickstep_iterations", double(s.quickstep_iterations), 1, 1e9, false},
      {"quickstep_relaxation", s.quickstep_relaxation, 0, 2, true},
      {"stabilization.erp", s.stabilization.erp, 0, 1, false},
      {"stabilization.cfm", s.stabilization.cfm, 0, kMost, false},
      {"stabilization.beta", s.stabilization.beta, 0, kMost, false, true},
      {"stabilization.gamma", s.stabilization.gamma, 0, kMost, false, true},
      {"stabilization.stiffness", s.stabilization.stiffness, 0, kMost, true, true},
      {"stabilization.damping", s.stabilization.damping, 0, kMost, false, true},
      {"stabilization.slop", s.stabilization.slop, 0, kMost, false, true},
      {"stabilization.max_speed", s.stabilization.max_speed, 0, kMost, true, true},
      {"penalty.stiffness", s.penalty.stiffness, 0, kMost, true, true},
      {"penalty.damping", s.penalty.damping, 0, kMost, false, true},
      {"penalty.tangential_share", s.penalty.tangential_share, 0, 1e3, true},
      {"contact_margin", s.contact_margin, 0, kMost, false, true},
      {"restitution_threshold", s.restitution_threshold, 0, kMost, false, true},
      {"sleep.speed", s.sleep.speed, 0, kMost, false, true},
      {"sleep.time", s.sleep.time, 0, kMost, false, true},
      {"threads", double(s.threads), 1, 1024, false},
  };
  std::vector<Diagnostic> flaws;
  for (const Check& c : checks) {
    if (c.may_follow && c.value == kFromScene) continue;
    const bool fits = (c.open ? c.value > c.least : c.value >= c.least) && c.value <= c.most;
    if (!fits)
      flaws.push_back({Severity::kError, compose("settings: {}", c.name), compose("is {:g}", c.value),
                       compose("expected {} {:g}, at most {:g}{}", c.open ? "more than" : "at least", c.least,
                               c.most, c.may_follow ? "; or -1: it follows from the scene" : "")});
  }
  check_method(s, flaws);
  return flaws;
}

solver::Method chosen_method(const WorldSettings& s) {
  const bool axes = s.contact == ContactModel::kPyramid && s.solver == solver::Method::kDefault;
  return axes ? solver::Method::kSpringhead : s.solver;
}

std::vector<Diagnostic> find_notes(const WorldSettings& s) {
  const solver::Friction friction = solver::friction_of(s.solver);
  if (s.contact != ContactModel::kCone || friction == solver::Friction::kCone) return {};
  return {{Severity::kNote, "settings: solver",
           compose("the contact model is 'cone', but friction by '{}' is {}", solver::name_of(s.solver),
                   solver::describe(friction)),
           "choose solver default, block, newton or pgs-isotropic for Coulomb's cone"}};
}

}  // namespace karakuri
