// Newton's method on a sequence of proximal problems: what its two spaces share.
//
// The problem about the impulses λ̄, with A = α ŵ of each block (ŵ: its mean diagonal),
//
//   u + A (λ − λ̄),  u = (W + C) λ + q                                                        (1)
//
// under the laws of the blocks, has one solution whatever the rows' redundancy. Each block is classified by
// x = λ − ρ u, as Alart and Curnier do (Comput. Methods Appl. Mech. Eng. 92, 1991):
//
//   open:   λ = 0 (or the bound of a row)                                                    (2)
//   stick:  u = 0                                                                            (3)
//   slip:   u_n = 0, λ_t = μ λ_n e + s ⊥,  ⊥·u + κ s = 0,  e = x_t / |x_t|                  (4)
//
// What then is linear is solved by one of two ways, `ProximalSpace`. As λ̄ follows λ, the proximal term
// vanishes: each time the residual falls by about α, and the factors stay as they are. From the impulses of
// the last step one or two factorisations reach rounding, where sweeps crawl.
#pragma once

#include "solver/memory.h"

namespace karakuri::solver {

/// How the linear equations of given classes (m.proximal.blocks) are solved.
class ProximalSpace {
 public:
  virtual ~ProximalSpace() = default;
  /// α to begin with: what the digits that this space loses to a small one allow.
  virtual double first_alpha() const = 0;
  /// Prepares solve() for the classes as they are now.
  virtual void factor(double alpha) = 0;
  /// m.proximal.lambda ← what solves the equations about m.proximal.centre.
  virtual void solve(double alpha) = 0;
  /// Where solve() leads astray: classes of the proximal problem about the centre, by a search that does not
  /// cycle. Prepares solve() for them and leaves their impulses, which are admissible, in m.proximal.lambda.
  /// @return Linear solves taken, at most `most`; 0: this space knows no such search.
  virtual int search(double alpha, int most);
  /// Whether contacts are so many that most of them share a load with others.
  virtual bool is_redundant() const { return false; }
};

/// Class of a block of one row whose impulse would be x without bounds.
void classify_row(const Problem& problem, const Block& block, double x, ProximalBlock& b);

/// A few steps from λ, enough where λ is nearly right; what is best is left in m.best.
/// @pre check(λ) was the last check, the measure is scaled: m.rho is there; and m.proximal.pull is set.
void proximal_newton(const Problem& problem, int max_solves, double acceptable, ProximalSpace& space,
                     Workspace::Memory& m, std::span<const double> lambda, Report& report);

}  // namespace karakuri::solver
