// One island on its rows, from its velocities at the start of a step to its impulses. With u = J v of the
// rows:
//   1. What approaches bounces at the start of the step, impacts.cc.
//   2. The step itself: u+ = u_free + W lambda under all laws.                                            (2)
//   3. Positions that would end deeper than the slop are corrected by pseudo-impulses on the normals alone,
//        W p + gap+ >= 0,  gap+ = gap + h u+,                                                             (3)
//      which shift positions and leave velocities as they are: no energy of motion arises.
#pragma once

#include <span>
#include <vector>

#include "solver/accuracy.h"
#include "solver/position_correction.h"

namespace karakuri::solver {

/// What is known of a block beside its law.
struct IslandBlock {
  bool touches = false;    // a contact
  bool has_gap = false;    // a contact or a limit: its position is corrected where it is rigid
  bool holds = false;      // a loop or a coupling: held by position, too
  double restitution = 0;  //
  double gap = 0;          // of its first row at the start of the step [m]
  double least_give = 0;   // compliance of (3), at least [1/kg]
};

/// What impulses would have to stop if only the higher side of each block moved, for guess_from_above().
/// Asked for where a guess is worth it.
class OneSided {
 public:
  virtual ~OneSided() = default;
  /// @param first_is_higher  By block: of its first two terms.
  /// @param q  By row, with bias.
  virtual void find(std::span<const unsigned char> first_is_higher, std::vector<double>& q) const = 0;
};

/// The fields before `lambda` are to be filled; vectors keep their memory.
struct Island {
  Problem problem;                  // operator and laws; q is written by solve()
  std::vector<IslandBlock> blocks;  // by block
  std::vector<double> u_now;        // rows: at the start of the step; afterwards with bouncing
  std::vector<double> u_free;       // rows: of free motion; afterwards u+
  std::vector<double> bias;         // rows: added to u
  bool loose = false;               // of free bodies alone
  int bodies = 0;                   // that move, a tree counting as one
  bool hardly_moves = false;        // all of it, for some steps
  const OneSided* one_sided = nullptr;
  std::vector<double> lambda;  // rows; in: of the last step, out: of this one
  // ---- answers
  std::vector<double> bounce;      // rows: impulses of bouncing, besides
  std::vector<double> correction;  // rows: p of (3)
  std::vector<double> rho;         // blocks: block_rho()
  bool corrected = false;          // any p is not zero
  bool refused = false;            // by the method that was asked for
  Report report;                   // of (2)
  double work = 0;                 // in: already spent; of all
  bool out_of_work = false;        // likewise

  int block_count() const { return problem.block_count(); }
};

struct IslandSettings {
  Settings solver;                   // of (2), for rows of tolerance `strict`; max_work is of all
  double step = 0;                   // h [s]
  double usual = 0;                  // speed that is usual in the scene [m/s]
  double fall = 0;                   // speed that a step of gravity gives [m/s]
  double restitution_threshold = 0;  // slower impacts do not bounce [m/s]
  double slow = 0;                   // what is slower is not stopped at the start [m/s]
  bool stops_at_start = false;       // what would close within the step at the velocity of its start
  PositionCorrection correction;
};

/// A block of a part: its first rows under a law of their own.
struct Pick {
  int block = 0, rows = 0;
  RowKind kind = RowKind::kEquality;
};

struct IslandWorkspace {
  Workspace solver;
  Problem part;
  std::vector<Pick> picks;
  std::vector<double> part_lambda, errors;     // of the part
  std::vector<double> change, all;             // rows
  std::vector<double> velocity;                // of the problem's subsystems, or the part's
  std::vector<int> level;                      // by subsystem: contacts from what does not move
  std::vector<unsigned char> first_is_higher;  // by block
  std::vector<double> q_above;                 // rows
};

/// Solves it; where the method does not take it, by the default.
void solve(Island& island, const IslandSettings& settings, IslandWorkspace& ws);

// ---- parts of it

/// part ← the blocks that are picked; its q is zero.
void extract(const Problem& problem, std::span<const Pick> picks, Problem& part);

/// Solves a problem with what is left of the island's work; where the method does not take it, by the
/// default.
Report solve_or_default(const Problem& problem, Settings settings, Island& island, Workspace& ws,
                        std::span<double> lambda, bool* refused);

/// impacts.cc (1): what approaches at the start of the step bounces, or is stopped.
void bounce(Island& island, const IslandSettings& settings, IslandWorkspace& ws);

/// Impulses that stop a motion are not those that hold what rests afterwards: of an island that rests but for
/// a tiny motion, the motion is stopped first, like a bounce, so that the impulses of the step hold the next.
void stop(Island& island, Settings settings, IslandWorkspace& ws);

/// (3)
void correct_positions(Island& island, const IslandSettings& settings, IslandWorkspace& ws);

/// How many contacts each subsystem is from what does not move, and by block whether its first term is
/// higher.
void find_levels(const Problem& problem, IslandWorkspace& ws);

}  // namespace karakuri::solver
