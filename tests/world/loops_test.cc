// Closed loops in a world: the IFToMM benchmarks, position errors at every step, energy, momentum.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numbers>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "support/linkages.h"
#include "support/no_alloc.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::make_world;

/// The largest error of any closed loop [m or rad].
double loop_error(const World& world) {
  Workspace ws(world.model());
  update_poses(world.model(), world.state(), ws);
  double most = 0;
  for (std::size_t i = 0; i < world.model().loops.size(); ++i) {
    if (!world.state().loop_closed[i]) continue;
    const LoopRows rows = loop_rows(world.model().loops[i], ws);
    for (int k = 0; k < rows.count; ++k) most = std::max(most, std::abs(rows.error[k]));
  }
  return most;
}

struct Course {
  double error = 0;          // largest of the loops
  double lost = 0, won = 0;  // of the energy, at most [J]
};

Course run(World& world, double time) {
  Course out;
  const double start = world.energies().total();
  const int steps = static_cast<int>(std::lround(time / world.settings().dt));
  for (int i = 0; i < steps; ++i) {
    world.step();
    out.error = std::max(out.error, loop_error(world));
    const double change = world.energies().total() - start;
    out.won = std::max(out.won, change);
    out.lost = std::max(out.lost, -change);
  }
  return out;
}

Vec3 kG(double z) { return {0, 0, z}; }

WorldSettings with(Integrator integrator, double dt = 1e-3) {
  WorldSettings settings;
  settings.dt = dt;
  settings.integrator = integrator;
  settings.sleep.enabled = false;
  return settings;
}

/// B0, the top of the first upright, and its velocity.
std::pair<Vec3, Vec3> top_of(const World& world) {
  const LinkId link = world.scene().mechanism.find_link("upright0");
  const Transform X = world.pose(link);
  const Motion V = world.velocity(link);
  return {X * Vec3::UnitZ(), V.shifted(X.R * Vec3::UnitZ()).linear};
}

// IFToMM A02, N = 2: the exact place and velocity after 10 s, through seven positions where all bars align.
TEST(Loops, LadderIsWhereTheoryHasIt) {
  World world = make_world(test::ladder(2), with(Integrator::kRk4), kG(-9.81));
  const Course course = run(world, 10);
  const auto [p, v] = top_of(world);
  EXPECT_NEAR(p.x(), 0.3284581115, 1e-5);
  EXPECT_NEAR(p.z(), 0.9445185382, 1e-5);
  EXPECT_NEAR(v.x(), 1.4230514702, 1e-5);
  EXPECT_NEAR(v.z(), -0.4948688455, 1e-5);
  EXPECT_LT(std::max(course.won, course.lost), 1e-6);
  EXPECT_LT(course.error, 1e-9);
  RecordProperty("energy", std::to_string(std::max(course.won, course.lost)));
  std::printf("A02 rk4: place %.2e velocity %.2e energy %.2e loop %.2e\n",
              std::hypot(p.x() - 0.3284581115, p.z() - 0.9445185382),
              std::hypot(v.x() - 1.4230514702, v.z() + 0.4948688455), std::max(course.won, course.lost),
              course.error);
}

// IFToMM A04.
TEST(Loops, BricardKeepsItsEnergy) {
  for (const Integrator integrator : {Integrator::kRk4, Integrator::kSemiImplicit}) {
    World world = make_world(test::bricard(), with(integrator), kG(-9.81));
    const Course course = run(world, 10);
    std::printf("A04 %s: won %.2e lost %.2e loop %.2e\n", std::string(name_of(integrator)).c_str(), course.won,
                course.lost, course.error);
    EXPECT_LT(course.error, 1e-9);
    if (integrator == Integrator::kRk4) EXPECT_LT(std::max(course.won, course.lost), 1e-4);
  }
}

TEST(Loops, NoDriftAndNoEnergyGained) {
  struct Case {
    const char* name;
    Scene scene;
  };
  std::vector<Case> cases;
  cases.push_back({"ladder", test::ladder(2)});
  cases.push_back({"four-bar", test::four_bar()});
  cases.push_back({"Chebyshev", test::chebyshev()});
  cases.push_back({"Stewart", test::stewart()});
  cases.push_back({"delta", test::delta()});
  for (Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world = make_world(std::move(c.scene), with(Integrator::kSemiImplicit), kG(-9.81));
    const Course course = run(world, 5);
    std::printf("%s: won %.2e lost %.2e of %.2e loop %.2e\n", c.name, course.won, course.lost,
                world.energies().kinetic, course.error);
    EXPECT_LT(course.error, 1e-9);
  }
}

}  // namespace
}  // namespace karakuri
