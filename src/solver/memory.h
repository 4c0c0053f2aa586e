// What a Workspace holds: every method's scratch, kept between solves.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "karakuri/solver/solve.h"
#include "solver/clamped_set.h"
#include "solver/coupling.h"
#include "solver/envelope_lu.h"
#include "solver/local_coulomb.h"
#include "solver/packed_terms.h"
#include "solver/sparse_factors.h"

namespace karakuri::solver {

/// The blocks' own parts of W, prepared for local solves; see gauss_seidel.cc.
struct LocalBlocks {
  bool all3 = false;       // every block has 3 rows; set by solve() before any velocity is computed
  std::vector<int> index;  // blocks; into the array of its kind
  std::vector<LocalCone<2>> contacts;  // cones of 3 rows
  std::vector<LocalCone<-1>> cones;    // cones of any other size
  std::vector<double> inverse;         // equality blocks: Ŵ⁻¹, size², and box rows: 1/ŵ
};

/// One block in a Newton step, see newton.cc: its impulse moves along the columns of `move`, and its velocity
/// has to vanish along the columns of `test`; both size x count, column by column.
struct NewtonBlock {
  int begin = 0;       // first reduced unknown
  int count = 0;       // 0: the impulse is held
  bool whole = false;  // move = test = identity
  double move[kMaxBlockSize * kMaxBlockSize];
  double test[kMaxBlockSize * kMaxBlockSize];
  double stiffness[kMaxBlockSize];  // added to the diagonal of the reduced matrix
};

struct NewtonMemory {
  Coupling coupling;
  EnvelopeLu lu;
  std::vector<NewtonBlock> blocks;
  std::vector<double> prox;            // blocks: ŵ_i, the scale of the proximal term
  std::vector<int> first;              // reduced rows
  std::vector<double> step;            // reduced rows
  std::vector<double> snapped, trial;  // rows
  std::vector<double> centre;          // rows: λ about which the proximal term pulls
  std::vector<double> u;               // rows: velocities of the proximal problem
};

enum class ProximalClass : unsigned char { kOpen, kStick, kSlip };

/// One block in proximal.h.
struct ProximalBlock {
  ProximalClass now = ProximalClass::kOpen;
  double held = 0;   // the bound that an open row is at
  double e[2] = {};  // which way friction of a slipping contact acts
  double kappa = 0;  // and what it resists being turned by
};

struct ProximalMemory {
  std::vector<double> lambda, admissible, centre;  // rows
  std::vector<double> u;                           // rows: velocities of the proximal problem
  std::vector<double> from, u_from;                // rows: λ and u before a step
  std::vector<double> to, u_to;                    // rows: and after it
  std::vector<double> pull;                        // blocks: A / α
  std::vector<ProximalBlock> blocks;
};

/// See range_newton.cc. Rows of matrices are `stride` apart.
struct RangeMemory {
  int rank = 0;
  int stride = 0;                      // rank, rounded up to four
  int padded = 0;                      // rows, rounded up to four
  int active = 0;                      // rows of `scaled` in use
  std::vector<double> columns;         // rank x padded: L column by column
  const double* factor = nullptr;      // rows x stride: L row by row
  std::vector<double> written;         // where it is written, unless the problem comes with it
  std::vector<double> scaled;          // active x rank: D L
  std::vector<int> rows;               // active: which rows these are
  std::vector<double> matrix, lower;   // stride x stride: F', then its factors
  std::vector<double> diagonal;        // rows: of W, less what L has of it
  std::vector<double> column;          // padded: of W, or L y + q
  std::vector<int> block_of;           // rows
  Users users;                         // of matrix-free problems
  std::vector<double> y, residual;     // rank
  std::vector<double> from, step;      // rank: of a search
  std::vector<ProximalClass> classes;  // blocks: as they were when F' was factored
};

/// Up to four unknowns of impulse_newton.cc, from `index` on: the impulses of the rows from `row` on.
struct RowPiece {
  int index = 0, row = 0, size = 0;
};

/// The unknowns of a contact that slips: how it presses and, where it can, how its friction turns.
struct SlipUnknowns {
  int index = 0;                       // of what presses; what turns is the next
  int row = 0;                         // the contact's first
  double press[2] = {}, turn[2] = {};  // along the tangents: μ e and ⊥; the latter zero where nothing turns
};

/// See impulse_newton.cc. What is written by fours has room for three more.
struct ImpulseMemory {
  int count = 0;                        // unknowns
  int padded = 0;                       // the same, rounded up to four
  int stride = 0;                       // from column to column of the matrix, padded + 4
  int symmetric = 0;                    // unknowns of rows that stick, which come first
  std::vector<int> sticking, slipping;  // blocks; beyond those that do, anything
  std::vector<int> held;                // blocks whose impulse is at a bound that is not zero
  std::vector<RowPiece> pieces;         // of rows that stick
  std::vector<SlipUnknowns> slips;      // after them
  std::vector<double> stiffness;        // by unknown: added to the diagonal
  std::vector<const double*> moves;     // by unknown: its column of W P, over all rows
  std::vector<double> moved;            // where these are written, unless they are W's
  std::vector<double> matrix;           // padded x padded, then its factors
  std::vector<double> column;           // rows: the right side
  std::vector<double> q;                // rows: q and what the held rows add, if there are any
  std::vector<double> x;                // padded
};

/// Velocities of one subsystem that the same rows act on.
struct SparseNode {
  int subsystem = 0, first = 0, width = 0;  // first: of its subsystem's velocities
};

/// Blocks that follow each other and act on the same nodes.
struct SparsePatch {
  int block = 0, block_count = 0, row = 0, row_count = 0;
  int stride = 0;    // from row to row of its Jacobian, over its nodes one after the other
  int jacobian = 0;  // in SparseMemory::jacobian
};

/// -dλ/du of one block, see sparse_newton.cc.
struct SparseResponse {
  double normal = 0, even = 0, across = 0;  // rows that are no cones: `even` alone
  double e[2] = {};                         // which way friction of a slipping contact acts
};

/// See sparse_newton.cc.
struct SparseMemory {
  SparseFactors factors;
  int velocities = 0;  // of all nodes
  std::vector<SparseNode> nodes;
  std::vector<int> node_start;  // by subsystem
  std::vector<int> widths;      // by node
  std::vector<SparsePatch> patches;
  std::vector<int> patch_start, patch_nodes;     // what is known of patches before they are ordered
  std::vector<std::uint64_t> signature;          // by velocity, scratch
  std::vector<double> jacobian;                  // by patch
  std::vector<int> place;                        // by node: of its velocities in those below
  std::vector<double> v, step, force;            // by velocity of all nodes
  std::vector<double> unit;                      // likewise: their mass
  std::vector<double> root;                      // by velocity: of its inverse mass
  std::vector<double> local, product;            // of a patch
  std::vector<double> lambda, centre, u;         // rows
  std::vector<double> along, off;                // rows: J step, J F
  std::vector<SparseResponse> response;          // blocks
  std::vector<ProximalClass> classes, factored;  // blocks: as they are, and as they were when factored
  std::vector<int> level;                        // by subsystem: contacts from what does not move
};

/// One contact that a subsystem rests on, see guess.cc.
struct Support {
  int block = 0, term = 0;
  LocalCone<2> cone = {};
  double w_nn = 0;        // complementarity blocks
  bool left_out = false;  // would pull
  double start[3] = {};   // impulse before
};

struct GuessMemory {
  struct Place {
    int subsystem, block, term;
  };
  std::vector<Place> order;
  std::vector<Support> supports;  // of one subsystem
  std::vector<double> velocity;
};

/// See walk.h; six numbers of each link.
struct WalkMemory {
  std::vector<double> z;      // Z
  std::vector<double> known;  // what of it the parent knows
  std::vector<int> at;        // by root: the link the cursor stands on
  std::vector<int> way;
};

/// See eliminate.cc. The rows that hold come first; matrices have rows `stride` apart.
struct HeldMemory {
  int held = 0;            // rows that hold
  bool redundant = false;  // and `gram` is factored
  std::ptrdiff_t stride = 0;
  std::vector<int> rows, place;            // of the problem, by row here; and back, -1: left out
  std::vector<int> pivots;                 // rank, in the order of the factor's columns
  std::vector<double> diagonal;            // rows of the problem
  std::vector<double> scale, left;         // rows here; left: of the diagonal, after the factor's columns
  std::vector<double> jacobian, response;  // written out over all velocities
  std::vector<double> w, factor, gram;
  std::vector<double> b, x, y;
  Problem rest;
  Workspace solver;  // of the rest

  int count() const { return static_cast<int>(rows.size()); }
  int rank() const { return static_cast<int>(pivots.size()); }
};

/// Extrapolation between sweeps, see gauss_seidel.cc.
struct Momentum {
  double theta = 1.0;
  std::vector<double> previous, start;    // rows
  std::vector<double> previous_velocity;  // velocities()
};

/// A variable of an LCP that is an impulse: `size` rows from `row` on, with these coefficients; how large a
/// unit of it is.
struct Direction {
  int row = 0, size = 0;
  double c[2] = {};
  double unit = 1.0;
};

/// Dense scratch of the pivoting methods.
struct PivotMemory {
  std::vector<double> matrix;  // W, scaled
  std::vector<double> scale;   // rows: impulses are this times x
  std::vector<double> x, w, low, high;
  // dantzig.cc
  ClampedMemory clamped;
  bool symmetric = true;
  std::vector<double> diagonal, b, b0, db, dx, dw, kept;
  std::vector<int> order, side, next_side, kept_side;
  // lemke.cc
  std::vector<Direction> directions;  // by variable
  std::vector<double> tableau, z;
  std::vector<int> set, place, where, kind;
};

/// One row of quickstep.cc.
struct RelaxedRow {
  int block = 0, r = 0;  // of the block
  double step = 0;       // relaxation over the diagonal; 0: nothing moves it
};

/// Settings::max_work. What is spent is counted where it is done; whoever could go on for long asks.
struct Budget {
  double used = 0.0, most = kInfinity;
  void spend(double work) { used += work; }
  bool spent() const { return used >= most; }
  bool has(double work) const { return used + work < most; }
};

struct Workspace::Memory {
  Budget budget;
  std::vector<RelaxedRow> relaxed;
  PivotMemory pivot;
  Momentum momentum;
  NewtonMemory newton;
  ProximalMemory proximal;
  RangeMemory range;
  ImpulseMemory impulse;
  SparseMemory sparse;
  GuessMemory guess;
  WalkMemory walk;
  std::unique_ptr<HeldMemory> held;
  LocalBlocks local;
  PackedTerms packed;  // in place of the problem's own where it is in use
  std::vector<double>
      velocity;           // velocities(): M⁻¹Jᵀλ, kept up to date by matrix-free sweeps that are not packed
  std::vector<double> u;  // rows
  std::vector<double> q;  // rows: what the sweeps use for q and C, with a proximal term or without
  std::vector<double> compliance;    //
  std::vector<double> rho;           // blocks; empty for Measure::kUnit
  std::vector<double> best, best_u;  // rows: impulses with the smallest residual so far, and their velocities
  std::vector<double> returned_u;    // rows: Workspace::velocities()
  Problem frictionless;              // feasibility.cc
  std::vector<double> drift;         // rows; feasibility.cc
  std::vector<double> start, found;  // rows; default: before and after elimination
  std::vector<double> nothing;       // rows: no impulses
  std::vector<unsigned char> flags;  // rows
  double best_residual = kInfinity;
  double target = 0.0;
};

/// Residual of λ in the measure asked for; fills m.u, and keeps λ as m.best if it is the best so far.
double check(const Problem& problem, std::span<const double> lambda, Workspace::Memory& m);

// ---- choose.cc

/// Multiplications, about, of one pass over all blocks, which is also about what check() takes.
double sweep_cost(const Problem& problem);
/// Of one solve of proximal().
double proximal_cost(const Problem& problem);
/// Whether proximal() can be tried.
bool takes_proximal(const Problem& problem, const Workspace::Memory& m);
bool is_nearly_right(const Problem& problem, const Workspace::Memory& m);
/// Whether proximal() is worth trying first: its solves cost no more than a few sweeps, or the impulses
/// are nearly right already. Loose things that fall on each other are neither.
bool wants_proximal(const Problem& problem, const Workspace::Memory& m);
/// Whether no subsystem is a tree of several links.
bool is_of_bodies(const Problem& problem);
/// Whether Newton's method over the motions of bodies is worth trying first. Sweeps hand a load on from body
/// to body and need about the square of the height for it; a few linear solves do not depend on that.
bool wants_sparse(const Problem& problem, Workspace::Memory& m);

// ----

/// One method each: impulses in and out, sweeps or iterations spent; the caller checks and reports.
/// Prepares local solves with m.compliance.
void prepare_blocks(const Problem& problem, Workspace::Memory& m);
/// One pass over all blocks. @return |Δλ|.
double gauss_seidel_sweep(const Problem& problem, Workspace::Memory& m, double* lambda);
/// Prepares sweeps on the problem itself from λ; block_gauss_seidel then goes on from wherever it was left.
/// @pre check(λ) was the last check.
void begin_sweeps(const Problem& problem, Workspace::Memory& m, std::span<const double> lambda);
void block_gauss_seidel(const Problem& problem, int sweeps, Workspace::Memory& m, std::span<double> lambda,
                        Report& report);

/// Of writing out W for newton.
double coupling_cost(const Problem& problem, Workspace::Memory& m);
/// Builds what newton() needs of the problem. False where W is too large to write out.
bool prepare_newton(const Problem& problem, Workspace::Memory& m);
/// Multiplications of one factorisation with every contact sticking.
double newton_cost(const Problem& problem, Workspace::Memory& m);
void newton(const Problem& problem, int max_solves, Workspace::Memory& m, std::span<double> lambda,
            Report& report);
/// Whether proximal() takes the problem; `limit`: most ways to move.
bool suits_proximal(const Problem& problem, int limit);
/// Newton's method of proximal.h in the space that is cheaper. @pre check(λ) was the last check.
void proximal(const Problem& problem, int max_solves, double acceptable, Workspace::Memory& m,
              std::span<const double> lambda, Report& report);
/// Whether sparse_newton() takes the problem.
bool suits_sparse(const Problem& problem);
/// Whether one solve of sparse_newton() takes no longer than so many sweeps. @pre suits_sparse()
bool sparse_pays(const Problem& problem, double sweeps, Workspace::Memory& m);
/// Of one solve of sparse_newton() in the unit of sweep_cost(). @pre The structure of the problem is found.
double sparse_cost(const Problem& problem, const Workspace::Memory& m);
/// Newton's method over the motions of subsystems, whatever their number; see sparse_newton.cc. What is best
/// is left in m.best, where it begins. @pre suits_sparse(); check() of what to start from, and the measure is
/// scaled: m.rho is there.
void sparse_newton(const Problem& problem, int max_solves, double acceptable, Workspace::Memory& m,
                   Report& report);
/// The two spaces.
void range_newton(const Problem& problem, int max_solves, double acceptable, Workspace::Memory& m,
                  std::span<const double> lambda, Report& report);
void impulse_newton(const Problem& problem, int max_solves, double acceptable, Workspace::Memory& m,
                    std::span<const double> lambda, Report& report);

/// The published methods; all leave their last iterate in λ, not the one with the smallest residual.
void extended_pgs(const Problem& problem, const Settings& settings, Workspace::Memory& m,
                  std::span<double> lambda, Report& report);
void springhead(const Problem& problem, const Settings& settings, Workspace::Memory& m,
                std::span<double> lambda, Report& report);
void dantzig(const Problem& problem, const Settings& settings, Workspace::Memory& m, std::span<double> lambda,
             Report& report);
void lemke(const Problem& problem, const Settings& settings, Workspace::Memory& m, std::span<double> lambda,
           Report& report);
void quickstep(const Problem& problem, const Settings& settings, Workspace::Memory& m,
               std::span<double> lambda, Report& report);
/// The impulses that are admissible and nearest to none at all.
void write_none(const Problem& problem, std::span<double> lambda);
/// Variables of the LCP that lemke makes of a problem.
int lemke_size(const Problem& problem, int faces);
/// Brings impulses within their boxes, and shortens those that would add energy, until they add none; see
/// no_gain.cc. What solves the problem stays as it is.
void shorten_to_no_gain(const Problem& problem, Workspace::Memory& m, std::span<double> lambda);
/// W + C as a dense matrix, row by row.
void densify(const Problem& problem, Workspace::Memory& m, std::vector<double>& matrix);

/// One proximal problem about λ, by Newton's method; for feasibility.cc. prepare_newton() first.
void proximal_step(const Problem& problem, double alpha, Workspace::Memory& m, std::span<double> lambda,
                   Report& report);
/// Whether a direction proves that nothing brings the residual below `target`. Overwrites m.best.
bool proven_infeasible(const Problem& problem, double target, Workspace::Memory& m);

/// Whether eliminate() takes the problem.
bool suits_elimination(const Problem& problem);
/// Solves what is left when the rows that hold whatever happens are eliminated; see eliminate.cc. @return The
/// residual; best impulses as check() keeps them.
double eliminate(const Problem& problem, const Settings& settings, Workspace::Memory& m,
                 std::span<double> lambda, Report& report);

/// block and newton in turn, see combined.cc.
void combined(const Problem& problem, const Settings& settings, Workspace::Memory& m,
              std::span<double> lambda, Report& report);

}  // namespace karakuri::solver
