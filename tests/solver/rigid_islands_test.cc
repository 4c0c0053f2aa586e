// Rigid bodies in the lanes of vectors: closed forms, what the general methods say of the same rows, and
// lanes that do not feel each other.
#include <gtest/gtest.h>

#include <cmath>

#include "karakuri/core/random.h"
#include "karakuri/solver/residual.h"
#include "karakuri/spatial/rotation.h"
#include "karakuri/spatial/types.h"
#include "solver/rigid_islands.h"

namespace karakuri::solver {
namespace {

using Eigen::Map;

constexpr double kMass = 3, kSide = 0.4;  // of cubes [kg, m]
constexpr double kFall = 0.0981;          // what a step of gravity gives [m/s]
constexpr double kExact = 1e-10;          // [m/s], of a row

/// Cubes stacked askew on the ground, each at rest but for a little motion, about to fall by a step of
/// gravity.
class Stack {
 public:
  Stack(int bodies, double friction, std::uint64_t seed, double motion = 0) : random_(seed) {
    RigidIsland island{.bodies = bodies};
    for (int b = 0; b < bodies; ++b) add_body(b, motion);
    for (int b = 0; b < bodies; ++b) add_points(b, friction);
    island.points = static_cast<int>(batch.points.size());
    const double unit = std::sqrt(3.0 * island.points);
    island.known = {
        .exact = kExact * unit, .acceptable = kExact * unit, .fall = kFall * unit, .usual = 3 * unit};
    batch.islands = {island};
  }

  RigidBatch batch;

 private:
  void add_body(int b, double motion) {
    const double inertia = kMass * kSide * kSide / 6;
    RigidBody body{.mass = kMass};
    Map<Vec3>(body.com) = Vec3(random_.uniform(-0.05, 0.05), random_.uniform(-0.05, 0.05), kSide * (b + 0.5));
    for (int k = 0; k < 3; ++k) body.inertia[k] = inertia, body.inverse_inertia[k] = 1 / inertia;
    batch.bodies.push_back(body);
    free_.push_back({Vec3(random_.uniform(-motion, motion), random_.uniform(-motion, motion), -kFall),
                     Vec3(random_.uniform(-motion, motion), random_.uniform(-motion, motion), 0)});
  }

  Vec3 speed(int b, const Vec3& at) const {
    if (b == 0) return Vec3::Zero();
    return free_[b - 1].v + free_[b - 1].w.cross(at - Map<const Vec3>(batch.bodies[b - 1].com));
  }

  /// Four corners, under body b + 1.
  void add_points(int b, double friction) {
    const Vec3 centre = Map<const Vec3>(batch.bodies[b].com);
    for (const double x : {-0.4, 0.4}) {
      for (const double y : {-0.4, 0.4}) {
        RigidPoint p{.body = b + 1, .other = b, .friction = friction};
        const Vec3 at = centre + kSide * Vec3(x, y, -0.5);
        Map<Vec3>(p.at) = at;
        const Vec3 axes[3] = {Vec3::UnitZ(), Vec3::UnitX(), Vec3::UnitY()};
        for (int k = 0; k < 3; ++k) {
          Map<Vec3>(p.axes[k]) = axes[k];
          p.given[k] = axes[k].dot(speed(b + 1, at) - speed(b, at));
        }
        batch.points.push_back(p);
      }
    }
  }

  struct Velocity {
    Vec3 v, w;
  };
  Random random_;
  std::vector<Velocity> free_;
};

RigidSettings by(RigidBackend backend) { return {.backend = backend, .max_sweeps = 20000}; }

/// The same rows for the general methods, bodies as subsystems of six velocities.
Problem as_problem(const RigidBatch& batch) {
  Problem p;
  p.clear(OperatorKind::kMatrixFree);
  for (std::size_t b = 0; b < batch.bodies.size(); ++b) p.add_subsystem(6);
  for (const RigidPoint& x : batch.points) {
    p.add_cone(x.friction);
    for (const auto& [body, sign] : {std::pair(x.body, 1.0), std::pair(x.other, -1.0)}) {
      if (body == 0) continue;
      const RigidBody& of = batch.bodies[body - 1];
      const Term term = p.add_term(body - 1);
      const Vec3 arm = Map<const Vec3>(x.at) - Map<const Vec3>(of.com);
      for (int k = 0; k < 3; ++k) {
        double* row = p.jacobian_of(term, 3).data() + 6 * k;
        const Vec3 axis = sign * Vec3(Map<const Vec3>(x.axes[k]));
        Map<Vec3>{row} = axis;
        Map<Vec3>{row + 3} = arm.cross(axis);
      }
      const double* I = of.inverse_inertia;
      const double inverse[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
      set_rigid_response(p, term, 3, 1 / of.mass, inverse);
    }
    for (int k = 0; k < 3; ++k) p.q[p.rows() - 3 + k] = x.given[k];
  }
  return p;
}

/// Natural map of the impulses as the general methods measure it.
double residual_of(const RigidBatch& batch) {
  const Problem p = as_problem(batch);
  std::vector<double> lambda, velocity(p.velocities()), u(p.rows()), rho(p.block_count());
  for (const RigidPoint& x : batch.points) lambda.insert(lambda.end(), x.impulse, x.impulse + 3);
  row_velocities(p, lambda, velocity, u);
  block_rho(p, rho);
  return natural_map(p, lambda, u, rho);
}

constexpr RigidBackend kBoth[] = {RigidBackend::kBandedNewton, RigidBackend::kLaneSweeps};

TEST(RigidIslands, AStackThatRestsCarriesItsWeight) {
  for (const RigidBackend backend : kBoth) {
    Stack stack(4, 0.5, 1);
    RigidWorkspace workspace;
    solve(stack.batch, by(backend), workspace);
    const RigidIsland& island = stack.batch.islands[0];
    ASSERT_TRUE(island.solved);
    EXPECT_EQ(island.report.status, Status::kConverged);
    EXPECT_EQ(island.report.ending, Ending::kTolerance);
    double ground = 0;
    for (const RigidPoint& x : stack.batch.points) ground += x.other == 0 ? x.impulse[0] : 0;
    EXPECT_NEAR(ground, 4 * kMass * kFall, 4 * kMass * island.known.exact);
    // Impulses undo the fall. What is left at points of 0.4 sides from the middle is a turn of 1 / 0.4 of it
    // a side, and adds up from cube to cube, of which there are four.
    const double most = 4 / 0.4 * island.known.exact;
    for (const RigidBody& body : stack.batch.bodies) {
      EXPECT_LT((Map<const Vec3>(body.v) - Vec3(0, 0, kFall)).norm(), most);
      EXPECT_LT(Map<const Vec3>(body.w).norm(), most / kSide);
    }
  }
}

// What is told of an island is what residual.cc measures of the same rows, whichever backend ran.
TEST(RigidIslands, ReportsAreThoseOfTheGeneralMeasure) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const RigidBackend backend : kBoth) {
      SCOPED_TRACE(seed);
      Stack stack(3 + static_cast<int>(seed % 5), 0.3, seed, 0.3);
      RigidWorkspace workspace;
      solve(stack.batch, by(backend), workspace);
      const RigidIsland& island = stack.batch.islands[0];
      if (!island.solved) continue;
      const double residual = residual_of(stack.batch);
      // products are added up in another order, of velocities of some tenths of a metre a second
      EXPECT_NEAR(island.report.residual, residual, 1e-13 + 1e-6 * residual);
      if (island.report.status == Status::kConverged) EXPECT_LE(residual, island.known.exact * (1 + 1e-6));
    }
  }
}

// Budgets that are too small are told, and nothing of it is called converged.
TEST(RigidIslands, SweepsThatRunOutSaySo) {
  Stack stack(12, 0.5, 2, 0.3);
  RigidWorkspace workspace;
  RigidSettings settings = by(RigidBackend::kLaneSweeps);
  settings.max_sweeps = 5;
  solve(stack.batch, settings, workspace);
  EXPECT_FALSE(stack.batch.islands[0].solved);
  EXPECT_EQ(stack.batch.islands[0].report.status, Status::kIterationLimit);
  EXPECT_EQ(stack.batch.islands[0].report.ending, Ending::kSweeps);
  EXPECT_EQ(stack.batch.islands[0].report.backend, Backend::kSweptLanes);
  stack.batch.islands[0].max_work = 1;
  settings.max_sweeps = 100;
  solve(stack.batch, settings, workspace);
  EXPECT_EQ(stack.batch.islands[0].report.ending, Ending::kWork);
}

/// Adds the islands of one batch to another.
void append(const RigidBatch& from, RigidBatch& to) {
  for (RigidIsland island : from.islands) {
    island.first_body += static_cast<int>(to.bodies.size());
    island.first_point += static_cast<int>(to.points.size());
    to.islands.push_back(island);
  }
  to.bodies.insert(to.bodies.end(), from.bodies.begin(), from.bodies.end());
  to.points.insert(to.points.end(), from.points.begin(), from.points.end());
}

TEST(RigidIslands, IslandsDoNotFeelWhatElseIsInTheBatch) {
  RigidBatch together;
  std::vector<RigidBatch> alone;
  for (std::uint64_t seed = 1; seed <= 11; ++seed) {
    const Stack stack(1 + static_cast<int>(seed % 6), 0.4, seed, 0.2);
    append(stack.batch, together);
    alone.push_back(stack.batch);
  }
  RigidWorkspace workspace;
  solve(together, by(RigidBackend::kBandedNewton), workspace);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    solve(alone[i], by(RigidBackend::kBandedNewton), workspace);
    const RigidIsland& island = together.islands[i];
    EXPECT_EQ(island.solved, alone[i].islands[0].solved);
    for (int k = 0; k < island.points; ++k)
      for (int r = 0; r < 3; ++r)
        EXPECT_EQ(together.points[island.first_point + k].impulse[r], alone[i].points[k].impulse[r]);
  }
}

// Two stacks that do not touch, stated as one island: an order is found for both.
TEST(RigidIslands, PartsThatDoNotTouchAreSolvedTogether) {
  Stack a(3, 0.5, 5);
  const Stack b(3, 0.5, 6);
  RigidIsland& island = a.batch.islands[0];
  for (RigidPoint x : b.batch.points) {
    x.body += 3;
    x.other += x.other > 0 ? 3 : 0;
    a.batch.points.push_back(x);
  }
  a.batch.bodies.insert(a.batch.bodies.end(), b.batch.bodies.begin(), b.batch.bodies.end());
  island.bodies = 6;
  island.points = static_cast<int>(a.batch.points.size());
  RigidWorkspace workspace;
  solve(a.batch, by(RigidBackend::kBandedNewton), workspace);
  ASSERT_TRUE(a.batch.islands[0].solved);
  EXPECT_LE(residual_of(a.batch), a.batch.islands[0].known.exact * (1 + 1e-6));
}

}  // namespace
}  // namespace karakuri::solver
