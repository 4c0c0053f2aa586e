// How far impulses are from a solution: the one set of measures that all solvers, tests and benchmarks use.
#pragma once

#include <span>

#include "karakuri/solver/problem.h"

namespace karakuri::solver {

/// The natural map F = λ − P_K(λ − ρ û) vanishes exactly at solutions, for every ρ > 0.
enum class Measure : unsigned char {
  kUnit,    ///< ρ = 1, as published with the collections of friction problems; mixes N s and m/s
  kScaled,  ///< ρ = 1 / mean diagonal of each block of W, F / ρ in m/s: does not change with the unit of mass
};

struct Residuals {
  double natural_map = 0.0;      ///< 2-norm over all rows
  double complementarity = 0.0;  ///< largest |λ·û| of a block, or |λ − bound| |u| of a box row
  double violation = 0.0;        ///< largest distance of an impulse from its cone or bounds [N s]
  double direction_error = 0.0;  ///< largest angle between friction and −slip of a sliding contact [rad]
};

/// 2-norm of the natural map. @param u (W + C) λ + q, by row_velocities.
/// @param rho One ρ for each block; empty: 1. The block's part is divided by its ρ.
double natural_map(const Problem& problem, std::span<const double> lambda, std::span<const double> u,
                   std::span<const double> rho = {});

/// |F|² of one block, not divided by ρ. @param lambda, u Of all rows.
double block_natural_map(const Problem& problem, int block, std::span<const double> lambda,
                         std::span<const double> u, double rho);

/// ρ of Measure::kScaled for each block; where the block of W is zero, the largest of the others, or 1.
void block_rho(const Problem& problem, std::span<double> rho);

/// All measures. Contacts count as sliding above `slip` [m/s] and `load` [N s].
Residuals measure_all(const Problem& problem, std::span<const double> lambda, std::span<const double> u,
                      double slip, double load, std::span<const double> rho = {});

/// 2-norm of q: what residuals are compared with.
double norm_q(const Problem& problem);

}  // namespace karakuri::solver
