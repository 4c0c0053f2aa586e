// Solving a Problem: the methods by name, their settings, and what is reported back.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "karakuri/core/diagnostic.h"
#include "karakuri/solver/problem.h"
#include "karakuri/solver/residual.h"

namespace karakuri::solver {

enum class Method : unsigned char {
  kDefault,       ///< block, then newton where the residual asks for it
  kBlock,         ///< block Gauss-Seidel with exact local Coulomb solves
  kNewton,        ///< proximal nonsmooth Newton
  kPgs,           ///< extended projected Gauss-Seidel as published (Nakaoka et al. 2007)
  kPgsIsotropic,  ///< the same with one step length for both tangents
  kSpringhead,    ///< row by row with incremental velocity and axis-wise friction bounds
  kDantzig,       ///< box LCP by principal pivoting, friction bounds from the frictionless normal impulses
  kLemke,         ///< Stewart-Trinkle LCP with a pyramid, by complementary pivoting
  kQuickstep,     ///< successive over-relaxation row by row for a fixed number of iterations, as ODE has it
};

std::string_view name_of(Method method);
/// "default", "block", "newton", "pgs", "pgs-isotropic", "springhead", "dantzig", "lemke", "quickstep".
Result<Method> method_from_name(std::string_view name);

/// What bounds the friction of a contact that a method returns, whatever the problem says.
enum class Friction : unsigned char {
  kCone,    ///< Coulomb's cone, against the slip
  kSkewed,  ///< Coulomb's cone, but turned from the slip where the mobilities along the tangents differ
  kAxes,    ///< each tangent by itself: up to sqrt(2) times Coulomb's between them
  kFaces,   ///< a pyramid of Settings::pyramid_faces faces within the cone
};
Friction friction_of(Method method);
/// In words, such as "bounded axis by axis, up to sqrt(2) times Coulomb's between the axes".
std::string_view describe(Friction friction);
/// What a method does not take, in words; empty: nothing. Such problems are refused by solve().
std::string_view limits_of(Method method);

enum class Status : unsigned char {
  kConverged,       ///< residual within tolerance, or within Settings::strict where that is given
  kIterationLimit,  ///< still improving when the sweeps or iterations ran out
  kStalled,         ///< the method has ended at its own fixed point, which does not solve the cone problem
  kInfeasible,      ///< a direction was found that proves that no impulses satisfy all rows
  kAccepted,        ///< above Settings::strict, but within what was asked for: less is asked of what moves
};
/// "converged", "iteration limit", "stalled", "infeasible", "accepted".
std::string_view name_of(Status status);

/// What ended a solution.
enum class Ending : unsigned char {
  kTolerance,  ///< it has converged
  kAccuracy,   ///< more is not asked of what moves
  kSweeps,     ///< Settings::max_sweeps
  kSolves,     ///< Settings::max_newton
  kWork,       ///< Settings::max_work
  kStall,      ///< nothing that the method does makes the residual smaller
};
/// "tolerance", "accuracy of what moves", "sweeps", "linear solves", "work", "stall".
std::string_view name_of(Ending ending);

/// What gave the impulses that a solution returns.
enum class Backend : unsigned char {
  kNone,           ///< the impulses before, as they were
  kSweeps,         ///< block Gauss-Seidel on the rows
  kRows,           ///< newton: W written out
  kImpulses,       ///< proximal newton over impulses, dense
  kMotions,        ///< proximal newton over the ways in which few bodies move, dense
  kSparseMotions,  ///< proximal newton over the motions of subsystems, block-sparse
  kBandedLanes,    ///< the same of small islands of rigid bodies, one in each lane of a vector
  kSweptLanes,     ///< projected Gauss-Seidel on rigid bodies, a contact patch in each lane
  kElimination,    ///< what holds is eliminated first, the rest by any of these
  kPublished,      ///< one of the published methods
};
/// "none", "sweeps", "newton on rows", "newton on impulses", "newton on motions", "sparse newton on motions",
/// "banded newton in lanes", "sweeps in lanes", "elimination", "published method".
std::string_view name_of(Backend backend);

inline constexpr int kMostFaces = 16;  // of a pyramid

struct Settings {
  Method method = Method::kDefault;
  Measure measure = Measure::kUnit;
  double tolerance = 1e-8;  ///< of the natural map, relative to |q|
  double absolute = 0.0;    ///< added to tolerance * |q|; unit of the measure
  double acceptable =
      0.0;  ///< default: a residual that is left as it is where a few linear solves stop there
  /// Where this is given, it stands for `absolute` in what the status promises, and `absolute` is what is
  /// asked for and may be more.
  double strict = kInfinity;
  int max_sweeps = 20000;         ///< Gauss-Seidel methods
  int max_newton = 1000;          ///< newton: linear solves
  int max_pivots = 20000;         ///< dantzig, lemke; default's restart from a pyramid (0: no such restart)
  int pyramid_faces = 8;          ///< lemke; even, 4 to kMostFaces
  int quickstep_iterations = 20;  ///< quickstep: always so many
  double quickstep_relaxation = 1.3;  ///< quickstep; more than 0, less than 2
  /// Multiplications, about, that all methods together may take. Where they run out, the best impulses so far
  /// are mended by sweeps with what is kept for that. Counted, never timed: everywhere the same.
  double max_work = kInfinity;
  /// Where nothing was solved, look for a proof that nothing can be: several linear solves and a copy of the
  /// problem. Not for the inside of a real-time step.
  bool explain_failure = true;
  bool trusted = false;  ///< the problem is not validated: whoever states it knows that it is sound
  /// default: rows above which newton is not tried (memory and time of its factorisation)
  int max_newton_rows = 20000;
  /// block_rho() of the problem, from whoever has it already; else it is computed
  std::span<const double> rho = {};
};

struct Report {
  Status status = Status::kConverged;
  Ending ending = Ending::kTolerance;
  Backend backend = Backend::kNone;
  Method method = Method::kDefault;  ///< that gave the returned impulses
  double residual = 0.0;             ///< natural map in the measure asked for
  double target = 0.0;               ///< what was asked for: tolerance * |q| + absolute
  double promised = 0.0;             ///< what `converged` stands for: target, or that of Settings::strict
  int sweeps = 0;
  int newton_iterations = 0;  ///< linear solves
  int pivots = 0;
  double work = 0.0;         ///< multiplications, about; a proof that nothing can be solved is not counted
  bool out_of_work = false;  ///< Settings::max_work was not enough for the method
};

/// Scratch memory of all methods; grows to what the problems need and is then reused. One for each thread.
class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;
  /// (W + C) λ + q of the impulses that solve() returned last.
  std::span<const double> velocities() const;
  struct Memory;
  Memory& memory() { return *memory_; }

 private:
  std::unique_ptr<Memory> memory_;
};

/// Solves `problem`.
/// @param lambda In: warm start (anything finite; zeros are always good). Out: impulses, finite whatever the
///               status: the best found. Size rows().
/// @return       Errors only for input that cannot be solved by this method at all: an ill-formed problem, or
///               a row kind the method does not know. Never allocates after warm-up unless it fails so.
Result<Report> solve(const Problem& problem, const Settings& settings, Workspace& workspace,
                     std::span<double> lambda);

}  // namespace karakuri::solver
