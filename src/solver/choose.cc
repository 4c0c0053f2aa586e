// Costs are counted in multiplications, from the problem itself and never from the clock, so that the same
// problem takes the same path everywhere.
#include "solver/choose.h"

#include <algorithm>

#include "solver/memory.h"

namespace karakuri::solver {

namespace {

constexpr double kLocalCost = 60.0;  // multiplications worth of one local solve
constexpr int kMostMotions = 128;    // ways to move; above this, sweeps are tried first
// Newton's method is tried first where a solve costs no more than so many sweeps, or from impulses that leave
// so little of q.
constexpr double kProximalCost = 30.0, kNearlyRight = 1e-3;

}  // namespace

double sweep_cost(const Problem& p) {
  const double local = kLocalCost * p.block_count();
  switch (p.storage) {
    case OperatorKind::kDense: return local + static_cast<double>(p.rows()) * p.rows();
    case OperatorKind::kBlockSparse: return local + static_cast<double>(p.entry_values.size());
    case OperatorKind::kMatrixFree: return local + 2.0 * static_cast<double>(p.jacobian.size());
  }
  return local;
}

double proximal_cost(const Problem& p) {
  // of a small dense problem the motions are not known; robots and stacks have about half as many as rows
  const double motions = p.storage == OperatorKind::kMatrixFree ? p.velocities() : 0.5 * p.rows();
  return motions * motions * (p.rows() + motions / 3);
}

bool is_stated_dense(std::size_t rows) {
  constexpr std::size_t kDense = 96;
  return rows <= kDense;
}

bool is_stated_by_bodies(std::size_t rows, std::size_t bodies) {
  constexpr std::size_t kFew = 40;  // rows: below, a dense W is cheaper
  constexpr std::size_t kMostBodies = 8, kRowsOfEach = 18;
  return rows > kFew && bodies <= kMostBodies && kRowsOfEach * bodies <= rows;
}

bool is_walked(int dofs) {
  constexpr int kLong = 64;
  return dofs > kLong;
}

bool may_be_banded(int bodies) {
  constexpr int kMostBodies = 24;
  return bodies <= kMostBodies;
}

bool may_be_swept(const KnownMotion& known, int bodies) {
  // more bodies may stand higher than sweeps reach down, and are mended from above where they are calm
  constexpr int kTall = 21;
  return moves(known) && (bodies <= kTall || !is_calm(known));
}

bool has_few_motions(const Problem& p) { return p.velocities() <= kMostMotions; }

bool is_soon_exact(const Problem& p) { return has_few_motions(p) || !p.links.empty(); }

bool may_be_mended(const Problem& p) {
  return p.storage == OperatorKind::kMatrixFree && p.links.empty() && !has_few_motions(p);
}

// ---- combined.cc

bool takes_proximal(const Problem& p, const Workspace::Memory& m) {
  return !m.rho.empty() && suits_proximal(p, kMostMotions);
}

bool is_nearly_right(const Problem& p, const Workspace::Memory& m) {
  return m.best_residual < kNearlyRight * norm_q(p);
}

bool wants_proximal(const Problem& p, const Workspace::Memory& m) {
  return takes_proximal(p, m) && (proximal_cost(p) < kProximalCost * sweep_cost(p) || is_nearly_right(p, m));
}

namespace {

/// How many contacts the farthest subsystem is from what does not move.
int height_of(const Problem& p, std::vector<int>& level) {
  level.assign(p.subsystems.size(), 0);
  for (int b = 0; b < p.block_count(); ++b)
    if (p.term_start[b + 1] - p.term_start[b] == 1) level[p.terms[p.term_start[b]].subsystem] = 1;
  for (int now = 1;; ++now) {
    bool any = false;
    for (int b = 0; b < p.block_count(); ++b) {
      const int first = p.term_start[b], end = p.term_start[b + 1];
      const auto is_now = [&](int t) { return level[p.terms[t].subsystem] == now; };
      bool touches = false;
      for (int t = first; t < end && end - first > 1; ++t) touches = touches || is_now(t);
      for (int t = first; t < end && touches; ++t) {
        int& there = level[p.terms[t].subsystem];
        if (there == 0) there = now + 1, any = true;
      }
    }
    if (!any) return now;
  }
}

}  // namespace

bool is_of_bodies(const Problem& p) {
  return std::all_of(p.subsystems.begin(), p.subsystems.end(), [](const Subsystem& s) { return s.dof <= 6; });
}

bool wants_sparse(const Problem& p, Workspace::Memory& m) {
  constexpr double kTypicalSolves = 8.0;
  // of trees, measured, 25 solves are as dear as the sweeps that are enough
  if (!is_of_bodies(p) || !suits_sparse(p) || p.velocities() <= kMostMotions) return false;
  const double height = height_of(p, m.sparse.level);
  return sparse_pays(p, height * height / kTypicalSolves, m);
}

}  // namespace karakuri::solver
