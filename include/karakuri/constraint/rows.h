// The rows of one step: how each acts on bodies, and what law it obeys. World hands them, island by island,
// to the solvers.
#pragma once

#include <cstdint>
#include <vector>

#include "karakuri/dynamics/response.h"
#include "karakuri/solver/problem.h"

namespace karakuri {

/// What a block of rows stands for; `RowBlock::index` says which.
enum class RowSource : std::uint8_t {
  kLoop,          // Model::loops: one that is held
  kSoftLoop,      // one whose joint gives way
  kLoopLow,       // the least distance of one that bounds it
  kLoopHigh,      // and the largest
  kCoupling,      // Model::relations: one that is held
  kLimit,         // dof
  kFriction,      // dof: dry friction in the joint
  kDrive,         // dof
  kSpring,        // spring of the world
  kTendonLow,     // Model::relations: a lower limit
  kTendonHigh,    // and an upper one
  kTendonSpring,  // and its spring and damper
  kContact,       // contact of the world
};

/// Whether rows of this source are held by position too, after the step.
inline bool is_held(RowSource source) { return source == RowSource::kLoop || source == RowSource::kCoupling; }
/// Whether they are limits: complementary, with a gap.
inline bool is_limit(RowSource source) {
  switch (source) {
    case RowSource::kLimit:
    case RowSource::kTendonLow:
    case RowSource::kTendonHigh:
    case RowSource::kLoopLow:
    case RowSource::kLoopHigh: return true;
    default: return false;
  }
}

/// Rows [row, row + size) that are solved together.
struct RowBlock {
  solver::RowKind kind = solver::RowKind::kEquality;
  RowSource source = RowSource::kContact;
  std::int32_t index = 0;
  std::int32_t row = 0;
  std::int32_t size = 0;
  std::uint8_t which = 0;  // of a loop's rows these are: bit k for row k
};

/// Built between clear() and close(). Units: translational rows m/s and N s, rotational rows rad/s and N m s.
struct Rows {
  std::vector<RowBlock> blocks;
  std::vector<ImpulseRow> impulses;  // the velocity J v and the impulse J^T lambda of each row
  std::vector<ImpulseRow> parts;     // what ImpulseRow::more points to; reserve() before adding such rows
  std::vector<double> error;         // of the position: of equalities; of inequalities their gap [m or rad]
  std::vector<double> bias;          // added to J v
  std::vector<double> compliance;    // velocity per impulse
  std::vector<double> lower, upper;  // impulses of box rows
  std::vector<double> friction;      // coefficients of the tangential rows of cones
  std::vector<double> lambda;        // in: warm start, out: impulses

  int size() const { return count; }
  /// Keeps the arrays as they are: their rows are overwritten one by one.
  void clear();
  /// After the last row: the arrays end with it.
  void close();
  /// Room in `parts` for all rows of the model's couplings and tendons.
  void reserve(const Model& model);
  /// Appends a block of zeroed rows; returns its first row.
  int add(solver::RowKind kind, RowSource source, int index, int size);

  int count = 0;  // of rows
};

}  // namespace karakuri
