// The default: block Gauss-Seidel, and proximal Newton where that would be cheaper.
//
// Sweeps cost little and most problems need few of them; a Newton step costs a factorisation, and then
// finishes what sweeps would crawl towards. Which is cheaper is estimated in multiplications from the problem
// itself, never from the clock, so that the same problem takes the same path everywhere:
//
//   sweeps left = log(residual / target) / rate,  rate: mean decrease of log(residual) in the last round (1)
//   newton when (sweeps left) * (cost of a sweep) > kSolves * (cost of a factorisation) (2)
//
// Old impulses may be in Newton's way: about some that jam a contact, no classes fit and it goes to and fro
// between them, while from nothing it finds others. That is tried before any sweeps.
//
// Rounds alternate with growing budgets, each from the best impulses so far, until the settings' limits: a
// problem on which one of the two stalls is finished by the other. A small problem on which both have stalled
// twice is one where the search has gone to the wrong place altogether (friction makes several such places).
// Lemke's method does not search downhill: it finds a solution of the pyramid from anywhere, and newton goes
// on from there.
#include <algorithm>
#include <cmath>

#include "solver/memory.h"

namespace karakuri::solver {

namespace {

constexpr int kProximalSolves = 12;
constexpr int kFirstSweeps = 100;
constexpr int kFirstSolves = 15;
constexpr int kMostSparse = 400;
constexpr int kMostRounds = 16;
constexpr int kLemkeFaces = 16;
constexpr int kLemkeRound = 2;        // failures of newton before lemke is asked
constexpr int kMostUnknowns = 900;    // of its LCP: tens of milliseconds
constexpr double kSolves = 10.0;      // linear solves that newton typically takes
constexpr double kFactorSpeed = 0.3;  // time per multiplication in the factorisation relative to a sweep's

void back_to_best(Workspace::Memory& m, std::span<double> lambda) {
  std::copy(m.best.begin(), m.best.end(), lambda.begin());
}

enum class Ready { kUnknown, kYes, kNo };

/// Whether newton goes by motions where it is tried after sweeps: of bodies alone that was tried before them,
/// and what it left, newton on their rows may still solve.
bool goes_by_motions(const Problem& p, const Workspace::Memory& m) {
  return !m.rho.empty() && suits_sparse(p) && !is_of_bodies(p);
}

/// Cost of one Newton step in the unit of sweep_cost; prepares newton on first use.
double step_cost(const Problem& p, const Settings& settings, Workspace::Memory& m, Ready& ready) {
  if (goes_by_motions(p, m)) {
    // so many solves must fit into the time of all sweeps; finding an order for more would already be dear
    constexpr double kLeastSolves = 5.0;
    if (ready == Ready::kUnknown)
      ready = sparse_pays(p, settings.max_sweeps / kLeastSolves, m) ? Ready::kYes : Ready::kNo;
    return ready == Ready::kYes ? sparse_cost(p, m) : kInfinity;
  }
  if (ready == Ready::kUnknown)
    ready = m.budget.has(coupling_cost(p, m)) && prepare_newton(p, m) ? Ready::kYes : Ready::kNo;
  return ready == Ready::kYes ? kFactorSpeed * 2.0 * newton_cost(p, m) + 4.0 * sweep_cost(p) : kInfinity;
}

int grown(int value, int factor, int most) { return value > most / factor ? most : factor * value; }

bool suits_lemke(const Problem& p) {
  const bool wide = std::any_of(p.blocks.begin(), p.blocks.end(),
                                [](const Block& b) { return b.kind == RowKind::kCone && b.size > 3; });
  return !wide && lemke_size(p, kLemkeFaces) <= kMostUnknowns;
}

/// Newton from the pyramid's solution.
void from_pyramid(const Problem& p, const Settings& settings, int solves, Workspace::Memory& m,
                  std::span<double> lambda, Report& report) {
  Settings pyramid = settings;
  pyramid.pyramid_faces = kLemkeFaces;
  lemke(p, pyramid, m, lambda, report);
  report.status = Status::kIterationLimit;
  if (m.budget.spent()) return;
  if (!std::isfinite(check(p, lambda, m))) return;
  if (prepare_newton(p, m)) newton(p, solves, m, lambda, report);
}

/// @return Whether nothing more is to be done.
bool solve_sparse(const Problem& p, const Settings& settings, Workspace::Memory& m, Report& report) {
  constexpr int kMostSolves = 2;  // for each of Settings::max_newton: they cost as little as some sweeps
  constexpr double kEnough =
      0.3;  // of the residual: the few sweeps of a step do little about what is left then
  const double before = m.best_residual;
  sparse_newton(p, grown(settings.max_newton, kMostSolves, kMostSparse), settings.acceptable, m, report);
  report.method = Method::kNewton;
  report.backend = Backend::kSparseMotions;
  m.target = std::max(m.target, settings.acceptable);
  if (m.best_residual <= m.target) return true;
  return settings.max_sweeps <= kFirstSweeps && m.best_residual <= kEnough * before;
}

/// Sweeps and newton in turn, from λ.
void alternate(const Problem& p, const Settings& settings, Workspace::Memory& m, std::span<double> lambda,
               Report& report) {
  Ready ready = p.rows() <= settings.max_newton_rows ? Ready::kUnknown : Ready::kNo;
  int sweeps = kFirstSweeps;
  int solves = kFirstSolves;
  int failures = 0;
  const int spent = report.newton_iterations;
  begin_sweeps(p, m, lambda);
  report.method = Method::kBlock;
  report.backend = Backend::kSweeps;
  // sweeps may come to rest without solving anything and so not use up their budget: rounds are counted too
  for (int round = 0; round < kMostRounds && m.best_residual > m.target && !m.budget.spent(); ++round) {
    const double before = m.best_residual;
    const int planned = std::min(sweeps, settings.max_sweeps - report.sweeps);
    block_gauss_seidel(p, planned, m, lambda, report);
    sweeps = grown(sweeps, 3, settings.max_sweeps);
    if (m.best_residual <= m.target) return;
    const int sweeps_left = settings.max_sweeps - report.sweeps;
    const int solves_left = settings.max_newton - (report.newton_iterations - spent);
    const bool by_motions = failures == 0 && takes_proximal(p, m) && is_nearly_right(p, m);
    const bool has_newton = solves_left > 0 && (by_motions || ready != Ready::kNo);
    if (sweeps_left <= 0 && !has_newton) return;
    if (!has_newton) continue;
    const double cost = by_motions ? proximal_cost(p) : step_cost(p, settings, m, ready);
    const double rate = std::log(before / m.best_residual) / std::max(1, planned);
    const double left = rate > 0.0 ? std::log(m.best_residual / m.target) / rate : kInfinity;  // (1)
    if (left < sweeps_left && left * sweep_cost(p) < kSolves * cost) continue;                 // (2)
    if (!by_motions && ready == Ready::kNo) continue;
    back_to_best(m, lambda);
    if (by_motions) {
      check(p, lambda, m);
      proximal(p, std::min(solves, solves_left), settings.acceptable, m, lambda, report);
    } else if (goes_by_motions(p, m)) {
      sparse_newton(p, std::min(solves, solves_left), settings.acceptable, m, report);
      std::copy(m.best.begin(), m.best.end(), lambda.begin());
    } else {
      report.backend = Backend::kRows;
      newton(p, std::min(solves, solves_left), m, lambda, report);
    }
    solves = grown(solves, 2, settings.max_newton);
    report.method = Method::kNewton;
    if (m.best_residual > m.target && ++failures == kLemkeRound && settings.max_pivots > 0 && suits_lemke(p))
      from_pyramid(p, settings, solves, m, lambda, report);
    if (m.best_residual <= m.target) return;
    back_to_best(m, lambda);
    check(p, lambda, m);
    begin_sweeps(p, m, lambda);
    report.method = Method::kBlock;
    report.backend = Backend::kSweeps;
  }
}

}  // namespace

void combined(const Problem& p, const Settings& settings, Workspace::Memory& m, std::span<double> lambda,
              Report& report) {
  if (m.best_residual <= m.target) return;
  if (settings.max_newton > 0 && !m.rho.empty() && wants_sparse(p, m)) {
    if (solve_sparse(p, settings, m, report)) return;
    const double reached = m.best_residual;
    m.found.assign(m.best.begin(), m.best.end());
    m.best_residual = kInfinity;
    check(p, lambda, m);
    alternate(p, settings, m, lambda, report);
    if (m.best_residual > reached) report.backend = Backend::kSparseMotions, check(p, m.found, m);
    return;
  }
  if (settings.max_newton <= 0 || !wants_proximal(p, m)) return alternate(p, settings, m, lambda, report);
  const int solves = std::min(kProximalSolves, settings.max_newton);
  proximal(p, solves, settings.acceptable, m, lambda, report);
  report.method = Method::kNewton;
  m.target = std::max(m.target, settings.acceptable);
  if (m.best_residual <= m.target) return;
  m.nothing.resize(lambda.size());
  write_none(p, m.nothing);
  if (!std::equal(lambda.begin(), lambda.end(), m.nothing.begin())) {
    check(p, m.nothing, m);
    proximal(p, solves, settings.acceptable, m, m.nothing, report);
    if (m.best_residual <= m.target) return;
  }
  // where it went is often no good place to go on from
  const double reached = m.best_residual;
  const Backend reached_by = report.backend;
  m.proximal.lambda.assign(m.best.begin(), m.best.end());
  m.best_residual = kInfinity;
  check(p, lambda, m);
  alternate(p, settings, m, lambda, report);
  if (m.best_residual > reached) report.backend = reached_by, check(p, m.proximal.lambda, m);
}

}  // namespace karakuri::solver
