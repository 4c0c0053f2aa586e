#include "solver/choose.h"

namespace karakuri::solver {

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

bool has_few_motions(const Problem& p) {
  constexpr int kFew = 128;
  return p.velocities() <= kFew;
}

bool is_soon_exact(const Problem& p) { return has_few_motions(p) || !p.links.empty(); }

bool may_be_mended(const Problem& p) {
  return p.storage == OperatorKind::kMatrixFree && p.links.empty() && !has_few_motions(p);
}

}  // namespace karakuri::solver
