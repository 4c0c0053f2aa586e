// The problem that every solver takes: unknown impulses in blocks of rows, and how they move each other.
//
//   u = (W + C) λ + q                                                             (1)
//
// λ: impulses, u: velocities along the rows at the end of the step, W: Delassus operator J M⁻¹ Jᵀ,
// C ≥ 0: diagonal compliance, q: velocities without impulses plus bias. Each block of rows obeys
//
//   equality         u = 0, λ free                                                (2)
//   linear           u = 0 with C > 0: spring, implicit PD, ERP/CFM               (3)
//   complementarity  0 ≤ λ ⊥ u ≥ 0                                                (4)
//   box              λ = l: u ≥ 0;  l < λ < h: u = 0;  λ = h: u ≤ 0               (5)
//   cone             K ∋ λ ⊥ û ∈ K*, û = u + (|(μ_i u_i)|, 0, ...)                (6)
//
// with K = {λ: |(λ_i / μ_i)| ≤ λ_n}, normal row first. (6) is Coulomb's law with maximum dissipation in the
// form of De Saxcé and Feng (1998). Two rows: planar; three: a point, isotropic or not; more rows: torsional
// and rolling friction as further axes of one ellipsoid (Howe and Cutkosky, Int. J. Robotics Res. 15(6),
// 1996); their μ_i has the unit of length.
//
// Nothing here knows of bodies: a test can state other people's problems, and World states its islands.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "karakuri/core/diagnostic.h"

namespace karakuri::solver {

enum class RowKind : unsigned char { kEquality, kLinear, kComplementarity, kBox, kCone };

inline constexpr int kMaxBlockSize = 6;  // rows of one block: a weld, or a contact with all frictions
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Rows [row, row + size), solved together.
struct Block {
  RowKind kind = RowKind::kEquality;
  int row = 0;
  int size = 0;
};

enum class OperatorKind : unsigned char { kDense, kBlockSparse, kMatrixFree };

/// One stored block of W: columns of block `column`, values at entry_values[offset], **column by column**.
struct Entry {
  int column = 0;
  int offset = 0;
};

/// Unknown velocities [velocity, velocity + dof) that rows act on: a free body (dof 6) or a whole tree.
struct Subsystem {
  int velocity = 0;
  int dof = 0;
  int link = -1;  // in Problem::links: one body of a tree that is walked along
};

/// A body of a long tree, dof 6: instead of what each row does to the whole tree, impulses are handed from
/// body to body towards the root, and velocities from the root on:
///   Z_parent += up Z,   v = upᵀ v_parent + own Z                                     (7)
/// whole: what an impulse on the body does to it, the tree being free to answer. 6x6, row by row.
struct Link {
  int subsystem = 0;
  int parent = -1;  // in Problem::links, before this one
  int root = 0;
  int depth = 0;
  double up[36] = {}, own[36] = {}, whole[36] = {};
};

/// What one block of rows does to one subsystem: its Jacobian at jacobian[offset] and its response
/// M⁻¹Jᵀ, transposed, at response[offset]; both size x dof, row by row.
struct Term {
  int subsystem = 0;
  int offset = 0;
};

/// Plain data; clear() keeps the memory, so that a problem filled again each step soon allocates nothing. A
/// dense W keeps its old values too: it is written anew as a whole.
/// Fill order: clear, subsystems, then for each block add_* and its terms (or entries).
struct Problem {
  std::vector<Block> blocks;
  std::vector<double> q;           // rows; [m/s] or [rad/s]
  std::vector<double> compliance;  // rows; added to the diagonal of W, ≥ 0
  std::vector<double> lower;       // rows; used by box rows [N s]
  std::vector<double> upper;       // rows; used by box rows [N s]
  std::vector<double> friction;    // rows; used by the tangential rows of cones: μ_i

  OperatorKind storage = OperatorKind::kDense;
  std::vector<double> dense;          // kDense: rows², row by row
  std::vector<int> entry_start;       // kBlockSparse: blocks + 1
  std::vector<Entry> entries;         //   by block row, columns ascending
  std::vector<double> entry_values;   //
  std::vector<Subsystem> subsystems;  // kMatrixFree
  std::vector<int> term_start;        //   blocks + 1
  std::vector<Term> terms;            //   by block
  std::vector<double> jacobian;       //
  std::vector<double> response;       //
  std::vector<Link> links;            //   of walked trees, parents first
  std::vector<double>
      inverse_mass;        //   velocities: of each its own, responses are Jacobians times it; or none
  bool unit_mass = false;  //   one subsystem, see add_unit_mass()

  int rows() const { return static_cast<int>(q.size()); }
  int block_count() const { return static_cast<int>(blocks.size()); }
  /// Number of velocities of all subsystems.
  int velocities() const {
    return subsystems.empty() ? 0 : subsystems.back().velocity + subsystems.back().dof;
  }

  void clear(OperatorKind kind);

  /// Each returns the number of the new block; its q and compliance are zero until set.
  int add_equality(int size);
  int add_linear(double compliance, double bias);
  int add_complementarity();
  int add_box(double low, double high);
  int add_cone(double mu);                   // 3 rows
  int add_planar_cone(double mu);            // 2 rows
  int add_cone(std::span<const double> mu);  // 1 + mu.size() rows, one μ_i for each tangential row

  /// kMatrixFree: a subsystem with `dof` velocities; returns its number.
  int add_subsystem(int dof);
  /// kMatrixFree: a body of a walked tree and its subsystem; its matrices are zero until set.
  /// @param parent Its parent's link, -1: none.
  Link& add_link(int parent);
  /// kMatrixFree: lets the block added last act on `subsystem`; returns its term, zeroed.
  Term add_term(int subsystem);
  /// kMatrixFree: lets all blocks, which are there already, act on one subsystem of `dof` velocities whose
  /// mass is one: responses are Jacobians, W = J Jᵀ. `jacobian` is then J, row by row, to be filled and
  /// followed by responses_are_jacobians(). @param dof A multiple of four; what is too much is left zero.
  void add_unit_mass(int dof);
  void responses_are_jacobians() { response = jacobian; }
  std::span<double> jacobian_of(const Term& term, int size) {
    return {jacobian.data() + term.offset, static_cast<std::size_t>(size * subsystems[term.subsystem].dof)};
  }
  std::span<double> response_of(const Term& term, int size) {
    return {response.data() + term.offset, static_cast<std::size_t>(size * subsystems[term.subsystem].dof)};
  }

  /// kBlockSparse: appends a block of W to the row of the block added last; returns its values, zeroed. All
  /// blocks' sizes must be known first, so this is called in a second pass by `begin_entries(i)`.
  void begin_entries(int block);
  std::span<double> add_entry(int column_block);

 private:
  int add_block(RowKind kind, int size);
};

/// Fills the response of a free body's term from its Jacobian (columns: linear, then angular, world axes at
/// the centre of mass). @param inverse_inertia 3x3, row by row, world axes [1/(kg m²)].
void set_rigid_response(Problem& problem, const Term& term, int size, double inverse_mass,
                        std::span<const double, 9> inverse_inertia);

/// What is wrong with a problem: sizes, indices, bounds, signs, values that are not finite. Empty: nothing.
std::vector<Diagnostic> validate(const Problem& problem);

/// out = W λ (without compliance and q). @param velocity Scratch of velocities() for kMatrixFree, else empty.
void apply_operator(const Problem& problem, std::span<const double> lambda, std::span<double> velocity,
                    std::span<double> out);

/// u = (W + C) λ + q.
void row_velocities(const Problem& problem, std::span<const double> lambda, std::span<double> velocity,
                    std::span<double> u);

/// kMatrixFree: velocity = M⁻¹ Jᵀ λ, the change of all subsystems' velocities.
void velocity_change(const Problem& problem, std::span<const double> lambda, std::span<double> velocity);

/// Diagonal block of W (size x size, symmetric part is not taken), column by column.
void diagonal_block(const Problem& problem, int block, double* out);
/// Only its diagonal: `size` numbers.
void block_diagonal(const Problem& problem, int block, double* out);

}  // namespace karakuri::solver
