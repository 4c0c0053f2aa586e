#include "karakuri/solver/solve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "solver/accuracy.h"
#include "solver/memory.h"

namespace karakuri::solver {

Workspace::Workspace() : memory_(std::make_unique<Memory>()) {}
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

std::span<const double> Workspace::velocities() const { return memory_->returned_u; }

namespace {

struct Name {
  Method method;
  std::string_view name;
};

constexpr std::array kNames{
    Name{Method::kDefault, "default"},
    Name{Method::kBlock, "block"},
    Name{Method::kNewton, "newton"},
    Name{Method::kPgs, "pgs"},
    Name{Method::kPgsIsotropic, "pgs-isotropic"},
    Name{Method::kSpringhead, "springhead"},
    Name{Method::kDantzig, "dantzig"},
    Name{Method::kLemke, "lemke"},
    Name{Method::kQuickstep, "quickstep"},
};

}  // namespace

std::string_view name_of(Method method) {
  for (const Name& n : kNames)
    if (n.method == method) return n.name;
  return "unknown";
}

Result<Method> method_from_name(std::string_view name) {
  std::string known;
  for (const Name& n : kNames) {
    if (n.name == name) return n.method;
    known += (known.empty() ? "" : ", ") + std::string(n.name);
  }
  return Diagnostic{Severity::kError, "solver", "no method is called '" + std::string(name) + "'",
                    "known: " + known};
}

Friction friction_of(Method method) {
  switch (method) {
    case Method::kDefault:
    case Method::kBlock:
    case Method::kNewton:
    case Method::kPgsIsotropic: return Friction::kCone;
    case Method::kPgs: return Friction::kSkewed;
    case Method::kSpringhead:
    case Method::kDantzig:
    case Method::kQuickstep: return Friction::kAxes;
    case Method::kLemke: return Friction::kFaces;
  }
  return Friction::kCone;
}

std::string_view describe(Friction friction) {
  switch (friction) {
    case Friction::kCone: return "bounded by Coulomb's cone";
    case Friction::kSkewed:
      return "bounded by Coulomb's cone, but turned from the slip where mobilities differ";
    case Friction::kAxes: return "bounded axis by axis, up to sqrt(2) times Coulomb's between the axes";
    case Friction::kFaces: return "bounded by the faces of a pyramid within Coulomb's cone";
  }
  return "unknown";
}

std::string_view limits_of(Method method) {
  switch (method) {
    case Method::kDefault:
    case Method::kBlock: return "";
    case Method::kNewton: return "it takes no long trees, and W of at most 1 GiB";
    case Method::kDantzig: return "it takes no long trees, and at most 4000 rows";
    case Method::kLemke:
      return "it takes no long trees, no torsional or rolling friction, and at most 4000 unknowns, of which "
             "a contact has "
             "two and one for each face";
    default: return "it takes no long trees";
  }
}

std::string_view name_of(Status status) {
  switch (status) {
    case Status::kConverged: return "converged";
    case Status::kIterationLimit: return "iteration limit";
    case Status::kStalled: return "stalled";
    case Status::kInfeasible: return "infeasible";
    case Status::kAccepted: return "accepted";
  }
  return "unknown";
}

std::string_view name_of(Ending ending) {
  switch (ending) {
    case Ending::kTolerance: return "tolerance";
    case Ending::kAccuracy: return "accuracy of what moves";
    case Ending::kSweeps: return "sweeps";
    case Ending::kSolves: return "linear solves";
    case Ending::kWork: return "work";
    case Ending::kStall: return "stall";
  }
  return "unknown";
}

std::string_view name_of(Backend backend) {
  switch (backend) {
    case Backend::kNone: return "none";
    case Backend::kSweeps: return "sweeps";
    case Backend::kRows: return "newton on rows";
    case Backend::kImpulses: return "newton on impulses";
    case Backend::kMotions: return "newton on motions";
    case Backend::kSparseMotions: return "sparse newton on motions";
    case Backend::kBandedLanes: return "banded newton in lanes";
    case Backend::kSweptLanes: return "sweeps in lanes";
    case Backend::kElimination: return "elimination";
    case Backend::kPublished: return "published method";
  }
  return "unknown";
}

namespace {

/// Whether the impulse of a contact with the same friction in all directions, or of a row that only pushes,
/// is admissible: the usual blocks and impulses.
bool is_surely_admissible(const Problem& p, const Block& block, const double* x) {
  const bool pushes = x[0] >= 0.0 && x[0] < kInfinity;
  if (block.kind == RowKind::kComplementarity) return pushes;
  if (block.kind != RowKind::kCone || block.size != 3) return false;
  const double mu = p.friction[block.row + 1];
  return pushes && mu == p.friction[block.row + 2] && x[1] * x[1] + x[2] * x[2] <= mu * mu * x[0] * x[0];
}

/// The warm start is a guess: what is not finite or not admissible in it is dropped, not reported.
void clean_warm_start(const Problem& p, std::span<double> lambda) {
  for (const Block& block : p.blocks) {
    double* x = lambda.data() + block.row;
    if (is_surely_admissible(p, block, x)) continue;
    const bool finite = std::all_of(x, x + block.size, [](double v) { return std::isfinite(v); });
    if (!finite) std::fill_n(x, block.size, 0.0);
    if (block.kind == RowKind::kComplementarity) x[0] = std::max(0.0, x[0]);
    if (block.kind == RowKind::kBox) x[0] = std::clamp(x[0], p.lower[block.row], p.upper[block.row]);
    if (block.kind == RowKind::kCone) {
      const ConeScale scale = cone_scale(p, block);
      double z[kMaxBlockSize];
      double unused[kMaxBlockSize];
      to_round(scale, block.size, x, x, z, unused);
      project_cone(z, block.size, scale.mu);
      for (int r = 0; r < block.size; ++r) x[r] = scale.s[r] * z[r];
    }
  }
}

/// Whether a method improves its impulses bit by bit, and can be left at any time.
bool is_sweeping(Method method) {
  return method == Method::kBlock || method == Method::kPgs || method == Method::kPgsIsotropic ||
         method == Method::kSpringhead || method == Method::kQuickstep;
}

void begin(const Problem& p, const Settings& settings, Workspace::Memory& m) {
  constexpr double kForMethod = 0.75;  // of the work; the rest is for what it leaves undone
  m.budget = {0.0, (is_sweeping(settings.method) ? 1.0 : kForMethod) * settings.max_work};
  m.u.resize(p.rows());
  m.best.resize(p.rows());
  m.velocity.resize(p.velocities());
  m.best_residual = kInfinity;
  m.local.all3 = std::all_of(p.blocks.begin(), p.blocks.end(), [](const Block& b) { return b.size == 3; });
  m.target = settings.tolerance * norm_q(p) + settings.absolute;
  m.packed.in_use = settings.method != Method::kQuickstep && suits_packing(p);
  if (m.packed.in_use) pack_terms(p, m.packed);
  m.rho.resize(settings.measure == Measure::kScaled ? p.block_count() : 0);
  if (m.rho.empty()) return;
  if (settings.rho.empty())
    block_rho(p, m.rho);
  else
    std::copy(settings.rho.begin(), settings.rho.end(), m.rho.begin());
}

constexpr int kMaxPivotRows = 4000;        // dense matrices of the pivoting methods: 128 MB
constexpr int kMaxFeasibilityRows = 3000;  // beyond this an unsolved problem is not examined further

Diagnostic refuse(Method method, std::string what, std::string remedy) {
  return {Severity::kError, "solver " + std::string(name_of(method)), std::move(what), std::move(remedy)};
}

/// What this method cannot take of this problem; empty where it can.
std::vector<Diagnostic> unsuited(const Problem& p, const Settings& settings) {
  const Method method = settings.method;
  if (!p.links.empty() && method != Method::kDefault && method != Method::kBlock)
    return {refuse(method, "a tree that is walked along", "write its rows out; or use default or block")};
  if (method != Method::kLemke && method != Method::kDantzig) return {};
  const bool wide = std::any_of(p.blocks.begin(), p.blocks.end(),
                                [](const Block& b) { return b.kind == RowKind::kCone && b.size > 3; });
  if (method == Method::kLemke && wide)
    return {refuse(method, "a cone with torsional or rolling friction",
                   "a pyramid has 2 or 3 rows; use default")};
  const int faces = settings.pyramid_faces;
  if (method == Method::kLemke && (faces < 4 || faces > kMostFaces || faces % 2 != 0))
    return {refuse(method, "a pyramid of " + std::to_string(faces) + " faces",
                   "an even number, 4 to " + std::to_string(kMostFaces))};
  const int size = method == Method::kLemke ? lemke_size(p, settings.pyramid_faces) : p.rows();
  if (size > kMaxPivotRows)
    return {refuse(method, std::to_string(size) + " unknowns need a dense matrix that large",
                   "at most " + std::to_string(kMaxPivotRows) + "; use default")};
  return {};
}

bool returns_last_iterate(Method method) {
  return method != Method::kDefault && method != Method::kBlock && method != Method::kNewton;
}

/// Where rows that hold can be eliminated, that is tried first, unless a rough solution is enough.
void default_method(const Problem& p, const Settings& settings, Workspace::Memory& m,
                    std::span<double> lambda, Report& report) {
  if (m.best_residual <= m.target) return;
  constexpr double kRough = 1e-3;
  if (settings.tolerance > kRough || !suits_elimination(p)) return combined(p, settings, m, lambda, report);
  m.start.assign(lambda.begin(), lambda.end());
  if (eliminate(p, settings, m, lambda, report) <= std::max(m.target, settings.acceptable)) {
    m.target = std::max(m.target, settings.acceptable);
    return;
  }
  const double reached = m.best_residual;
  m.found = m.best;
  std::copy(m.start.begin(), m.start.end(), lambda.begin());
  m.best_residual = kInfinity;
  check(p, lambda, m);
  Settings left = settings;
  left.max_newton = std::max(0, settings.max_newton - report.newton_iterations);
  combined(p, left, m, lambda, report);
  if (m.best_residual > reached) check(p, m.found, m);
}

/// A warm start may have led to less than none at all would have.
void compare_with_none(const Problem& p, Workspace::Memory& m) {
  if (m.best_residual <= m.target) return;
  m.nothing.resize(p.rows());
  write_none(p, m.nothing);
  check(p, m.nothing, m);
}

/// Where a method ran out of work, the best that it found is mended by sweeps with what was kept for that.
void sweep_with_the_rest(const Problem& p, const Settings& settings, Workspace::Memory& m,
                         std::span<double> lambda, Report& report) {
  report.out_of_work = true;
  m.budget.most = settings.max_work;
  if (std::isfinite(check(p, lambda, m)) && m.best_residual <= m.target) return;
  compare_with_none(p, m);
  std::copy(m.best.begin(), m.best.end(), lambda.begin());
  check(p, lambda, m);
  begin_sweeps(p, m, lambda);
  block_gauss_seidel(p, settings.max_sweeps, m, lambda, report);
  report.method = Method::kBlock;
  report.backend = Backend::kSweeps;
  std::copy(m.best.begin(), m.best.end(), lambda.begin());
}

/// Newton's method over motions, where they are told; it ends sooner than over impulses, or not at all.
bool solves_sparse(const Problem& p, const Settings& settings, Workspace::Memory& m, std::span<double> lambda,
                   Report& report) {
  constexpr int kMostSolves = 60;
  if (m.rho.empty() || !suits_sparse(p) || m.best_residual <= m.target) return false;
  report.backend = Backend::kSparseMotions;
  sparse_newton(p, std::min(kMostSolves, settings.max_newton), 0, m, report);
  std::copy(m.best.begin(), m.best.end(), lambda.begin());
  check(p, lambda, m);
  return m.best_residual <= m.target;
}

void run(const Problem& p, const Settings& settings, Workspace::Memory& m, std::span<double> lambda,
         Report& report) {
  switch (settings.method) {
    case Method::kDefault: return default_method(p, settings, m, lambda, report);
    case Method::kBlock:
      report.backend = Backend::kSweeps;
      begin_sweeps(p, m, lambda);
      return block_gauss_seidel(p, settings.max_sweeps, m, lambda, report);
    case Method::kNewton:
      if (m.budget.spent()) return;
      if (solves_sparse(p, settings, m, lambda, report)) return;
      report.backend = Backend::kRows;
      return newton(p, std::max(0, settings.max_newton - report.newton_iterations), m, lambda, report);
    case Method::kPgs:
    case Method::kPgsIsotropic: return extended_pgs(p, settings, m, lambda, report);
    case Method::kSpringhead: return springhead(p, settings, m, lambda, report);
    case Method::kDantzig: return dantzig(p, settings, m, lambda, report);
    case Method::kLemke: return lemke(p, settings, m, lambda, report);
    case Method::kQuickstep: return quickstep(p, settings, m, lambda, report);
  }
}

/// Whether a box asks for an impulse that may not be zero, and so for energy.
bool must_act(const Problem& p) {
  return std::any_of(p.blocks.begin(), p.blocks.end(), [&](const Block& b) {
    return b.kind == RowKind::kBox && (p.lower[b.row] > 0.0 || p.upper[b.row] < 0.0);
  });
}

/// E = lambda . (W + C) lambda / 2 + lambda . q is never positive at a solution, as long as zero is
/// admissible. Impulses that are none, and would give energy, are shortened to the least E in their
/// direction, which is at most that of none at all.
/// @param u  (W + C) lambda + q, kept so. @return Whether they were.
bool take_energy_back(const Problem& p, std::span<double> lambda, std::span<double> u) {
  if (must_act(p)) return false;
  double linear = 0.0;
  double quadratic = 0.0;
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    linear += lambda[i] * p.q[i];
    quadratic += lambda[i] * (u[i] - p.q[i]);
  }
  if (!(linear + 0.5 * quadratic > 0.0)) return false;
  const double share = quadratic > 0.0 ? std::clamp(-linear / quadratic, 0.0, 1.0) : 0.0;
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    lambda[i] *= share;
    u[i] = p.q[i] + share * (u[i] - p.q[i]);
  }
  return true;
}

}  // namespace

Result<Report> solve(const Problem& p, const Settings& settings, Workspace& workspace,
                     std::span<double> lambda) {
  if (!settings.trusted) {
    if (std::vector<Diagnostic> wrong = validate(p); !wrong.empty()) return wrong;
  }
  if (std::vector<Diagnostic> wrong = unsuited(p, settings); !wrong.empty()) return wrong;
  if (static_cast<int>(lambda.size()) != p.rows())
    return refuse(settings.method,
                  std::to_string(lambda.size()) + " impulses for " + std::to_string(p.rows()) + " rows",
                  "one for each row");
  if (!settings.rho.empty() && static_cast<int>(settings.rho.size()) != p.block_count())
    return refuse(
        settings.method,
        std::to_string(settings.rho.size()) + " rho for " + std::to_string(p.block_count()) + " blocks",
        "one for each block, or none");
  Workspace::Memory& m = workspace.memory();
  clean_warm_start(p, lambda);
  begin(p, settings, m);
  Report report;
  report.target = m.target;
  report.method = settings.method;
  report.status = Status::kIterationLimit;
  if (returns_last_iterate(settings.method)) report.backend = Backend::kPublished;
  if (!std::isfinite(check(p, lambda, m))) {  // a warm start so large that it overflows, or W itself
    write_none(p, lambda);
    if (!std::isfinite(check(p, lambda, m)))
      return refuse(settings.method, "W is not finite", "check the state");
  }
  if (settings.method == Method::kNewton && !m.budget.has(coupling_cost(p, m)))
    m.budget.spend(m.budget.most);
  else if (settings.method == Method::kNewton && !prepare_newton(p, m))
    return refuse(settings.method, std::to_string(p.rows()) + " rows whose W is too large to write out",
                  "use default or block");
  run(p, settings, m, lambda, report);
  const bool sweeps = is_sweeping(settings.method);
  if (m.budget.spent() && !sweeps) sweep_with_the_rest(p, settings, m, lambda, report);
  report.out_of_work = report.out_of_work || m.budget.spent();
  compare_with_none(p, m);
  const bool last = returns_last_iterate(settings.method) && (sweeps || !report.out_of_work) &&
                    std::isfinite(check(p, lambda, m));
  if (!last) std::copy(m.best.begin(), m.best.end(), lambda.begin());
  report.residual = last ? check(p, lambda, m) : m.best_residual;
  m.returned_u = last ? m.u : m.best_u;
  report.target = m.target;
  report.work = m.budget.used;
  if (!(report.residual <= report.target) && take_energy_back(p, lambda, m.returned_u))
    report.residual = natural_map(p, lambda, m.returned_u, m.rho);
  report.promised = settings.strict < kInfinity ? settings.tolerance * norm_q(p) + settings.strict : m.target;
  grade(settings.max_sweeps, settings.max_newton, report);
  const bool solved = report.status == Status::kConverged || report.status == Status::kAccepted;
  if (!solved && settings.explain_failure && p.rows() <= kMaxFeasibilityRows &&
      proven_infeasible(p, report.target, m))
    report.status = Status::kInfeasible;
  return report;
}

}  // namespace karakuri::solver
