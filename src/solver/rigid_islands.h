// Islands of rigid bodies that are free to move and touch each other in points, with Coulomb friction and
// nothing that gives way: what piles, walls and things that are poured are made of.
//
// They need no rows written out. A point is two bodies, a place and three axes; two backends work in the
// lanes of vectors on these numbers alone:
//   banded Newton in lanes (banded_lanes.h): small islands whose matrix over motions is a narrow band, one in
//     each lane;
//   projected Gauss-Seidel in lanes (lane_sweeps.h): islands of any size that tumble, one contact patch in
//     each lane.
// What neither of them solves to what accuracy.h asks is left to solve() on the rows.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "solver/accuracy.h"
#include "solver/position_correction.h"

namespace karakuri::solver {

struct RigidBody {
  double com[3] = {};              // centre of mass, world axes [m]
  double mass = 1;                 // [kg]
  double inertia[6] = {};          // about it, world axes: xx, yy, zz, xy, xz, yz [kg m^2]
  double inverse_inertia[6] = {};  // [1/(kg m^2)]
  // ---- answers: the motion that impulses give, at the centre of mass
  double v[3] = {}, w[3] = {};
};

/// A point where two bodies touch.
struct RigidPoint {
  std::int32_t body = 0, other = 0;  // of its island, from 1 on; 0: what does not move
  double axes[3][3] = {};            // the normal, towards `body`, and two tangents; world axes
  double at[3] = {};                 // [m]
  double given[3] = {};              // velocity along the axes without impulses, with bias [m/s]
  double friction = 0;
  double bias = 0;   // of the normal, contained in given[0] [m/s]
  double error = 0;  // of the position at the start of the step: negative where they overlap [m]
  // ---- answers
  double impulse[3] = {};   // in: of the last step [N s]
  double velocity[3] = {};  // with impulses and bias
  double mobility = 0;      // mean diagonal of the point's own block of W [1/kg]
  double push = 0;          // pseudo-impulse along the normal that corrects the position [kg m]
};

enum class RigidBackend : std::uint8_t {
  kChosen,        // by choose.h
  kBandedNewton,  // these two for whatever they can take
  kLaneSweeps,
};

/// One of a batch.
struct RigidIsland {
  std::int32_t first_body = 0, bodies = 0;   // in RigidBatch::bodies
  std::int32_t first_point = 0, points = 0;  // in RigidBatch::points; those of two bodies follow each other
  KnownMotion known;                         // but for what changes
  double max_work = kInfinity;               // Settings::max_work
  // ---- answers
  bool solved = false;  // to what is asked of it; else it is left to other methods, whatever the report says
  bool corrected = false;  // any push is not zero
  Report report;
};

/// Islands that are stated together. clear() keeps the memory.
struct RigidBatch {
  std::vector<RigidIsland> islands;
  std::vector<RigidBody> bodies;
  std::vector<RigidPoint> points;

  void clear() { islands.clear(), bodies.clear(), points.clear(); }
  std::span<RigidBody> bodies_of(const RigidIsland& i) {
    return std::span(bodies).subspan(i.first_body, i.bodies);
  }
  std::span<RigidPoint> points_of(const RigidIsland& i) {
    return std::span(points).subspan(i.first_point, i.points);
  }
};

struct RigidSettings {
  RigidBackend backend = RigidBackend::kChosen;
  double fall[3] = {};  // what a step of gravity gives to the velocity of each body [m/s]
  PositionCorrection correction;
  int max_sweeps = 40;
};

/// Scratch of both backends.
class RigidWorkspace {
 public:
  RigidWorkspace();
  ~RigidWorkspace();
  RigidWorkspace(RigidWorkspace&&) noexcept;
  RigidWorkspace& operator=(RigidWorkspace&&) noexcept;
  struct Memory;
  Memory& memory() { return *memory_; }

 private:
  std::unique_ptr<Memory> memory_;
};

/// Solves the islands of a batch, each as if it were alone: what else is in the batch changes no bit.
/// Impulses that would give energy are never returned as solved.
void solve(RigidBatch& batch, const RigidSettings& settings, RigidWorkspace& workspace);

}  // namespace karakuri::solver
