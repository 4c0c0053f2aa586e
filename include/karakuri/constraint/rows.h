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
  kExcess,        // contact of the world that gives way: how deep it may at most
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

/// Built between clear() and close(). All rows are in m/s and N s, so that a solver may add their squares: a
/// row whose own coordinate is an angle, or whatever a coupling is about, is multiplied by a length,
///   J, bias and error by L, compliance by L^2, bounds and friction by 1 / L,                             (1)
/// which is a power of two and changes no digit. Its impulse in its own unit is L times lambda.
struct Rows {
  double length = 1;  // L of angles: about the size of a body, a power of two [m]

  std::vector<RowBlock> blocks;
  std::vector<ImpulseRow> impulses;  // the velocity J v and the impulse J^T lambda of each row
  std::vector<ImpulseRow> parts;     // what ImpulseRow::more points to; reserve() before adding such rows
  std::vector<double> unit;          // L of (1); 1 where the row's own coordinate is a length
  std::vector<double> error;         // of the position: of equalities; of inequalities their gap [m]
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
  /// The same, but the rows are still to be written.
  int append(solver::RowKind kind, RowSource source, int index, int size);
  /// Row i, of which all else is zero.
  void write(int i, const ImpulseRow& impulse) {
    impulses[i] = impulse;
    unit[i] = 1;
    error[i] = bias[i] = compliance[i] = lower[i] = upper[i] = friction[i] = lambda[i] = 0;
  }

  /// (1) of row i, which is written in the unit of its own coordinate. @param metres L, a power of two
  void change_unit(int i, double metres);
  /// Impulse of row i in the unit of its own coordinate [N s or N m s].
  double impulse(int i) const { return unit[i] * lambda[i]; }
  void set_impulse(int i, double impulse) { lambda[i] = impulse / unit[i]; }

  int count = 0;  // of rows
};

}  // namespace karakuri
