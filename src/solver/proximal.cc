#include "solver/proximal.h"

#include <algorithm>
#include <cmath>

namespace karakuri::solver {

namespace {

constexpr int kMostInner = 10;       // linear solves for one proximal problem
constexpr double kInnerGoal = 1e-3;  // of the residual at its start
constexpr double kRightAway = 1e-2;  // a residual that falls to this shows that the classes are right
constexpr double kCurved = 30.0;     // times α: more of the residual left is not the proximal term's
constexpr double kOuterGain = 0.5;   // more of the residual left is a failure
constexpr double kStall = 3.0;  // beyond this factor a failure is one of the classes, not of α being large
constexpr int kMostFailures = 3;
constexpr double kAstray = 10.0;     // a residual that grows by this shows that many classes are wrong
constexpr int kLate = 3;             // and so does one of which
constexpr double kLateShare = 0.03;  // this much is left after so many linear solves
constexpr int kMostSearch = 12;      // linear solves; 8 have been seen
constexpr double kDecrease = 0.03;   // of α
constexpr double kRounding = 1e-15;  // of velocities; over α it is the least residual
constexpr double kRecentreGain = 0.1;
constexpr double kStillMoving = 0.995;  // less gain than this is a contradiction, not a large α

void classify_cone(double mu, double rho, const double* lambda, const double* u, ProximalBlock& b) {
  const double x_n = lambda[0] - rho * u[0];
  b.now = ProximalClass::kOpen;
  if (!(x_n > 0.0)) return;
  const double x[2] = {lambda[1] - rho * u[1], lambda[2] - rho * u[2]};
  const double length = std::sqrt(x[0] * x[0] + x[1] * x[1]);
  b.now = ProximalClass::kStick;
  if (mu > 0.0 && length <= mu * x_n) return;
  b.now = ProximalClass::kSlip;
  const double limit = mu * std::max(lambda[0], 1e-12 * x_n);
  b.kappa = limit > 0.0 ? std::max(0.0, length - limit) / (rho * limit) : kInfinity;
  b.e[0] = mu > 0.0 ? x[0] / length : 0.0;
  b.e[1] = mu > 0.0 ? x[1] / length : 0.0;
}

/// Classes of all blocks at (λ, u).
void classify(const Problem& p, Workspace::Memory& m) {
  ProximalMemory& f = m.proximal;
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    const double *lambda = f.lambda.data() + block.row, *u = f.u.data() + block.row;
    if (block.kind == RowKind::kCone)
      classify_cone(p.friction[block.row + 1], m.rho[i], lambda, u, f.blocks[i]);
    else
      classify_row(p, block, lambda[0] - m.rho[i] * u[0], f.blocks[i]);
  }
}

/// Leaves contacts without impulses open that approach hardly faster than those that press do. As the load
/// has changed since the impulses were found, what they carry sinks a little, and contacts that are open with
/// it.
void leave_open(const Problem& p, ProximalMemory& f) {
  constexpr double kHardly = 2.0;
  double sinking = 0;
  for (const Block& block : p.blocks)
    if (block.kind == RowKind::kCone && f.lambda[block.row] > 0) sinking = std::max(sinking, -f.u[block.row]);
  for (int i = 0; i < p.block_count(); ++i) {
    const int row = p.blocks[i].row;
    if (p.blocks[i].kind == RowKind::kCone && f.lambda[row] == 0 && -f.u[row] <= kHardly * sinking)
      f.blocks[i].now = ProximalClass::kOpen;
  }
}

/// Lets contacts slip on whose impulses are those of one that slips, whichever way the change of the load
/// moves them now: where it slips slowly, that is more than its own motion.
void keep_slipping(const Problem& p, ProximalMemory& f) {
  constexpr double kOnCone = 1 - 1e-6;
  for (int i = 0; i < p.block_count(); ++i) {
    const int row = p.blocks[i].row;
    if (p.blocks[i].kind != RowKind::kCone || f.blocks[i].now != ProximalClass::kStick) continue;
    const double *lambda = f.lambda.data() + row, *u = f.u.data() + row;
    const double limit = p.friction[row + 1] * lambda[0];
    const double length = std::sqrt(lambda[1] * lambda[1] + lambda[2] * lambda[2]);
    if (!(limit > 0) || length < kOnCone * limit) continue;
    f.blocks[i].now = ProximalClass::kSlip;
    f.blocks[i].kappa = std::sqrt(u[1] * u[1] + u[2] * u[2]) / limit;
    for (int t = 0; t < 2; ++t) f.blocks[i].e[t] = lambda[1 + t] / length;
  }
}

/// λ projected onto cones and bounds.
void project(const Problem& p, std::span<double> lambda) {
  for (const Block& block : p.blocks) {
    double* x = lambda.data() + block.row;
    if (block.kind == RowKind::kCone) {
      const double mu = p.friction[block.row + 1];
      const bool inside = x[0] >= 0.0 && x[1] * x[1] + x[2] * x[2] <= mu * mu * x[0] * x[0];
      if (!inside) project_cone(x, 3, mu);
    }
    if (block.kind == RowKind::kComplementarity) x[0] = std::max(0.0, x[0]);
    if (block.kind == RowKind::kBox) x[0] = std::clamp(x[0], p.lower[block.row], p.upper[block.row]);
  }
}

/// u ← velocities of (1) at λ, be it admissible or not. @return Its natural map.
double proximal_residual(const Problem& p, double alpha, Workspace::Memory& m) {
  ProximalMemory& f = m.proximal;
  row_velocities(p, f.lambda, m.velocity, f.u);
  for (int i = 0, blocks = p.block_count(); i < blocks; ++i) {
    const Block& block = p.blocks[i];
    const double pull = alpha * f.pull[i];
    for (int r = block.row; r < block.row + block.size; ++r) f.u[r] += pull * (f.lambda[r] - f.centre[r]);
  }
  return natural_map(p, f.lambda, f.u, m.rho);
}

/// λ ← what solves (2) to (4) about the centre; admissible ← the same within cones and bounds.
/// @return Residual of the latter.
double solve_classes(const Problem& p, double alpha, ProximalSpace& space, Workspace::Memory& m) {
  ProximalMemory& f = m.proximal;
  space.solve(alpha);
  f.admissible.assign(f.lambda.begin(), f.lambda.end());
  project(p, f.admissible);
  return check(p, f.admissible, m);
}

/// x ← the point at `part` of the way to it from `from`.
void go_part(double part, std::span<const double> from, std::span<const double> to, std::span<double> x) {
  for (std::size_t r = 0; r < x.size(); ++r) x[r] = from[r] + part * (to[r] - from[r]);
}

/// λ ← the best of λ and of what lies a half, a quarter and an eighth of the way to it from `from`: between
/// classes that call each other, whole steps go to and fro. Velocities are linear: u goes with it.
/// @return Residual of the proximal problem there.
double search_along(const Problem& p, double residual, Workspace::Memory& m) {
  constexpr double kLeast = 0.1;
  ProximalMemory& f = m.proximal;
  const auto go = [&](double part) {
    go_part(part, f.from, f.to, f.lambda);
    go_part(part, f.u_from, f.u_to, f.u);
    return natural_map(p, f.lambda, f.u, m.rho);
  };
  f.to.assign(f.lambda.begin(), f.lambda.end());
  f.u_to.assign(f.u.begin(), f.u.end());
  double best = 1;
  for (double part = 0.5; part > kLeast; part *= 0.5) {
    const double there = go(part);
    if (there >= residual && best < 1) break;
    if (there >= residual) continue;
    residual = there;
    best = part;
  }
  return go(best);
}

/// Begins a proximal problem about λ.
void centre_on_impulses(Workspace::Memory& m) {
  m.proximal.centre.assign(m.proximal.lambda.begin(), m.proximal.lambda.end());
  m.proximal.u.assign(m.u.begin(), m.u.end());
}

/// Solves the proximal problem about the centre by the space's search. @param residual Out: what is left of
/// it. @return Linear solves taken, 0: there is no search.
int search_proximal(const Problem& p, double alpha, ProximalSpace& space, Workspace::Memory& m,
                    double& residual) {
  ProximalMemory& f = m.proximal;
  const int solves = space.search(alpha, kMostSearch);
  if (solves == 0) return 0;
  m.budget.spend(solves * proximal_cost(p));
  f.admissible.assign(f.lambda.begin(), f.lambda.end());
  residual = check(p, f.admissible, m);
  return solves;
}

/// Solves the proximal problem about the centre. @param warm Whether λ is of the last step. @param residual
/// In: of λ; out: what is left of it, admissible. @param astray Out: whether it had to be searched.
/// @return Linear solves taken.
int solve_proximal(const Problem& p, double alpha, int most, bool warm, ProximalSpace& space,
                   Workspace::Memory& m, double& residual, bool& astray) {
  ProximalMemory& f = m.proximal;
  const double before = residual;
  f.from.resize(p.rows());
  f.u_from.resize(p.rows());
  double now = before;
  for (int k = 1;; ++k) {
    classify(p, m);
    if (warm && k == 1) {
      leave_open(p, f);
      if (!space.is_redundant()) keep_slipping(p, f);
    }
    m.budget.spend(proximal_cost(p));
    space.factor(alpha);
    std::swap(f.from, f.lambda);
    std::swap(f.u_from, f.u);
    residual = solve_classes(p, alpha, space, m);
    if (k == most || m.budget.spent() || residual <= std::max(m.target, kRightAway * before)) return k;
    if (residual > (k < kLate ? kAstray : kLateShare) * before) {
      if (const int more = search_proximal(p, alpha, space, m, residual); more > 0) {
        astray = true;
        return k + more;
      }
    }
    double next = proximal_residual(p, alpha, m);
    if (next <= kInnerGoal * before) return k;
    if (next > now) next = search_along(p, next, m);
    now = next;
  }
}

/// Lets the centre follow λ, as long as the classes stand that.
/// @param slow Out: whether the residual still fell, but by little: α is too large for this W.
/// @return The residual.
double recentre(const Problem& p, double alpha, double residual, ProximalSpace& space, Workspace::Memory& m,
                bool* slow) {
  ProximalMemory& f = m.proximal;
  *slow = false;
  while (residual > m.target && !m.budget.spent()) {
    f.centre.assign(f.admissible.begin(), f.admissible.end());
    const double next = solve_classes(p, alpha, space, m);
    if (!(next < kRecentreGain * residual)) {
      *slow = next < kStillMoving * residual;
      f.lambda.assign(m.best.begin(), m.best.end());
      return check(p, f.lambda, m);
    }
    residual = next;
  }
  std::swap(f.lambda, f.admissible);
  return residual;
}

}  // namespace

void proximal_newton(const Problem& p, int max_solves, double acceptable, ProximalSpace& space,
                     Workspace::Memory& m, std::span<const double> lambda, Report& report) {
  ProximalMemory& f = m.proximal;
  f.blocks.resize(p.block_count());
  f.lambda.assign(lambda.begin(), lambda.end());
  double alpha = space.first_alpha();
  double before = m.best_residual;
  int failures = 0;
  bool astray = false;
  for (int left = max_solves; left > 0 && failures < kMostFailures && !m.budget.spent();) {
    double after = before;
    centre_on_impulses(m);
    const int solves = astray ? search_proximal(p, alpha, space, m, after)
                              : solve_proximal(p, alpha, std::min(kMostInner, left), left == max_solves,
                                               space, m, after, astray);
    left -= solves;
    report.newton_iterations += solves;
    if (!astray && after > std::max(m.target, kCurved * alpha * before) && after < kOuterGain * before) {
      before = after;
      std::swap(f.lambda, f.admissible);
      continue;
    }
    bool slow = false;
    after = recentre(p, alpha, after, space, m, &slow);
    if (after <= m.target) return;
    if (astray || after < kOuterGain * before) {
      before = after;
      if (astray || slow) alpha = std::max(kRounding * norm_q(p) / m.target, kDecrease * alpha);
      continue;
    }
    if (m.best_residual <= acceptable && !slow) return;
    ++failures;
    alpha *= after < kStall * before ? kDecrease : 10.0;
    f.lambda.assign(m.best.begin(), m.best.end());
    before = check(p, f.lambda, m);
  }
}

void classify_row(const Problem& p, const Block& block, double x, ProximalBlock& b) {
  b.now = ProximalClass::kStick;
  if (block.kind == RowKind::kEquality || block.kind == RowKind::kLinear) return;
  const double low = block.kind == RowKind::kComplementarity ? 0.0 : p.lower[block.row];
  const double high = block.kind == RowKind::kComplementarity ? kInfinity : p.upper[block.row];
  if (x > low && x < high) return;
  b.now = ProximalClass::kOpen;
  b.held = x <= low ? low : high;
}

int ProximalSpace::search(double, int) { return 0; }

bool suits_proximal(const Problem& p, int limit) {
  if (p.block_count() < 2 || !p.links.empty()) return false;  // one local solve is exact
  const int motions = p.storage == OperatorKind::kMatrixFree ? p.velocities() : p.rows();
  if (p.storage == OperatorKind::kBlockSparse || motions > limit) return false;
  return std::all_of(p.blocks.begin(), p.blocks.end(), [&](const Block& b) {
    if (b.kind != RowKind::kCone) return true;
    return b.size == 3 && p.friction[b.row + 1] == p.friction[b.row + 2] &&
           p.compliance[b.row + 1] == p.compliance[b.row + 2];
  });
}

void proximal(const Problem& p, int max_solves, double acceptable, Workspace::Memory& m,
              std::span<const double> lambda, Report& report) {
  constexpr int kFewRows = 96;  // measured, of robots
  const bool few = p.storage == OperatorKind::kDense && p.rows() <= kFewRows;
  report.backend = few ? Backend::kImpulses : Backend::kMotions;
  (few ? impulse_newton : range_newton)(p, max_solves, acceptable, m, lambda, report);
}

}  // namespace karakuri::solver
