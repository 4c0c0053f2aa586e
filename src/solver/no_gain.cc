// Impulses that are no solution must at least not drive anything.
//
// From x0, the admissible impulses that are nearest to none, impulses λ change the energy of motion (and of
// what is compliant) by
//
//   ΔE(s) = s d·u(x0) + ½ s² d·(W + C) d,   d = λ − x0                                     (1)
//
// when a share s of them acts. At a solution, d·u(λ) ≤ 0: contacts that press do not part, friction acts
// against slip, bounds are met by motors that lag behind. Where d·u(λ) > 0, (1) has its minimum at a smaller
// share,
//
//   s = −d·u(x0) / d·(W + C) d,  not less than 0                                           (2)
//
// Cones and boxes are convex: the shorter impulses are admissible where λ is.
#include <algorithm>
#include <cmath>

#include "solver/memory.h"

namespace karakuri::solver {

/// x0 of (1).
void write_none(const Problem& p, std::span<double> lambda) {
  for (const Block& block : p.blocks)
    for (int i = block.row; i < block.row + block.size; ++i)
      lambda[i] = block.kind == RowKind::kBox ? std::clamp(0.0, p.lower[i], p.upper[i]) : 0.0;
}

void shorten_to_no_gain(const Problem& p, Workspace::Memory& m, std::span<double> lambda) {
  for (const Block& block : p.blocks)  // rounding may have left bounds that are large
    if (block.kind == RowKind::kBox)
      lambda[block.row] = std::clamp(lambda[block.row], p.lower[block.row], p.upper[block.row]);
  m.nothing.resize(lambda.size());
  write_none(p, m.nothing);
  row_velocities(p, m.nothing, m.velocity, m.u);
  double at_rest = 0.0;
  for (std::size_t i = 0; i < lambda.size(); ++i) at_rest += (lambda[i] - m.nothing[i]) * m.u[i];
  row_velocities(p, lambda, m.velocity, m.u);
  double at_end = 0.0;
  for (std::size_t i = 0; i < lambda.size(); ++i) at_end += (lambda[i] - m.nothing[i]) * m.u[i];
  if (at_end <= 0.0) return;
  const double share = std::isfinite(at_end) && at_rest < 0.0 ? -at_rest / (at_end - at_rest) : 0.0;  // (2)
  for (std::size_t i = 0; i < lambda.size(); ++i)
    lambda[i] = share > 0.0 ? m.nothing[i] + share * (lambda[i] - m.nothing[i]) : m.nothing[i];
}

}  // namespace karakuri::solver
