#include "karakuri/solver/solve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "solver/memory.h"

namespace karakuri::solver {

Workspace::Workspace() : memory_(std::make_unique<Memory>()) {}
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

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

std::string_view name_of(Status status) {
  switch (status) {
    case Status::kConverged: return "converged";
    case Status::kIterationLimit: return "iteration limit";
    case Status::kStalled: return "stalled";
    case Status::kInfeasible: return "infeasible";
  }
  return "unknown";
}

namespace {

/// The warm start is a guess: what is not finite or not admissible in it is dropped, not reported.
void clean_warm_start(const Problem& p, std::span<double> lambda) {
  for (const Block& block : p.blocks) {
    double* x = lambda.data() + block.row;
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

void begin(const Problem& p, const Settings& settings, Workspace::Memory& m) {
  m.u.resize(p.rows());
  m.best.resize(p.rows());
  m.velocity.resize(p.velocities());
  m.best_residual = kInfinity;
  m.target = settings.tolerance * norm_q(p) + settings.absolute;
  m.rho.resize(settings.measure == Measure::kScaled ? p.block_count() : 0);
  if (!m.rho.empty()) block_rho(p, m.rho);
}

}  // namespace

Result<Report> solve(const Problem& p, const Settings& settings, Workspace& workspace,
                     std::span<double> lambda) {
  Workspace::Memory& m = workspace.memory();
  clean_warm_start(p, lambda);
  begin(p, settings, m);
  Report report;
  report.target = m.target;
  report.method = settings.method;
  check(p, lambda, m);
  switch (settings.method) {
    case Method::kDefault: combined(p, settings, m, lambda, report); break;
    case Method::kBlock:
      begin_sweeps(p, m, lambda);
      block_gauss_seidel(p, settings.max_sweeps, m, lambda, report);
      break;
    case Method::kNewton:
      if (prepare_newton(p, m)) newton(p, settings.max_newton, m, lambda, report);
      break;
    default: break;
  }
  std::copy(m.best.begin(), m.best.end(), lambda.begin());
  report.residual = m.best_residual;
  report.status = report.residual <= report.target ? Status::kConverged : Status::kIterationLimit;
  return report;
}

}  // namespace karakuri::solver
