// Islands that worlds met on their way, recorded and solved by every backend of the solver.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "karakuri/solver/residual.h"
#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"
#include "support/island_corpus.h"
#include "support/random_worlds.h"
#include "support/test_models.h"
#include "world/scenes.h"

namespace karakuri::test {
namespace {

constexpr double kTolerance = 1e-9;  // of velocities along rows [m/s]

Scene tower_of_boxes(int count) {
  Scene scene;
  const MaterialId wood = add_material(scene, 0.5);
  scene.add_ground(wood);
  Random random(3);
  for (int i = 0; i < count; ++i)
    scene.add_body(
        "box" + std::to_string(i), Shape::box({0.5, 0.5, 0.5}), 1,
        Transform::translation({random.uniform(-0.1, 0.1), random.uniform(-0.1, 0.1), 0.55 + 1.05 * i}),
        wood);
  return scene;
}

/// Layers of two bars, each across the one below, struck by a ball: many bodies that stand high.
World struck_layers(int layers) {
  Scene scene;
  const MaterialId wood = add_material(scene, 0.5);
  scene.add_ground(wood);
  for (int i = 0; i < layers; ++i) {
    for (const double side : {-0.26, 0.26}) {
      const bool turned = i % 2 == 1;
      const Vec3 size = turned ? Vec3(0.25, 0.75, 0.15) : Vec3(0.75, 0.25, 0.15);
      const Vec3 at(turned ? side : 0, turned ? 0 : side, 0.15 + 0.3 * i);
      scene.add_body("bar" + std::to_string(i) + (side < 0 ? "a" : "b"), Shape::box(size), 1,
                     Transform::translation(at), wood);
    }
  }
  const LinkId ball =
      scene.add_body("ball", Shape::sphere(0.2), 1, Transform::translation({-1.2, 0.1, 0.25 * layers}), wood);
  World world = make_world(std::move(scene), with(Integrator::kSemiImplicit, 1.0 / 60));
  world.set_velocity(ball, {Vec3::Zero(), Vec3(3, 0, 0)});
  return world;
}

Scene falling_humanoid() {
  Scene scene;
  scene.mechanism = humanoid36();
  scene.add_ground();
  for (const char* name :
       {"pelvis", "left.foot", "right.foot", "left.hand", "right.hand", "left.shin", "right.shin"})
    scene.add_shape(scene.mechanism.find_link(name), Shape::box({0.06, 0.05, 0.03}));
  return scene;
}

/// A sample of what four worlds meet: boxes that land on each other, a robot that falls, things in a bin, and
/// layers of bars that are struck.
std::vector<RecordedIsland> sample() {
  IslandRecorder recorder(25);
  const auto follow = [&](const std::string& name, World world, int steps) {
    recorder.follow(name, world);
    world.step(steps);
  };
  follow("tower", make_world(tower_of_boxes(5), with(Integrator::kSemiImplicit, 0.01)), 150);
  follow("humanoid", make_world(falling_humanoid(), with(Integrator::kSemiImplicit, 0.005)), 300);
  RandomWorldOptions bin{.kind = WorldKind::kBin};
  bin.shapes_in_bin = 25;
  auto world = start(make_random_world(5, bin));
  EXPECT_TRUE(world.ok());
  follow("bin", std::move(*world), 150);
  follow("layers", struck_layers(12), 150);
  return recorder.take();
}

solver::Settings settings_for(const RecordedIsland& island, solver::Method method) {
  solver::Settings s;
  s.method = method;
  s.measure = solver::Measure::kScaled;
  s.tolerance = 1e-13;
  s.absolute = kTolerance * std::sqrt(static_cast<double>(island.rows()));
  s.max_sweeps = 3000;
  s.max_newton = 200;
  s.max_pivots = 0;
  s.max_work = 3e8;
  s.explain_failure = false;
  return s;
}

/// Impulses, or none where the method does not end within its work.
std::vector<double> solve_by(solver::Method method, const solver::Problem& problem,
                             const RecordedIsland& island) {
  solver::Workspace workspace;
  std::vector<double> lambda = island.old;
  const auto report = solver::solve(problem, settings_for(island, method), workspace, lambda);
  if (!report.ok() || report->status != solver::Status::kConverged) return {};
  return lambda;
}

/// What motions that solve the same island may differ by. Residuals of 1e-9 m/s are this much of a motion at
/// most...
constexpr double kSame = 1e-5;
/// ... but where contacts of one patch slip while it turns, friction depends on how they share their load,
/// which no law says: motions are not unique. Seen: 9e-4, of a foot's box.
constexpr double kUndetermined = 5e-3;

struct Distances {
  int count = 0, same = 0;
  void add(double distance) {
    ++count;
    same += distance <= kSame ? 1 : 0;
    EXPECT_LE(distance, kUndetermined);
  }
};

TEST(Islands, BackendsMoveEachAlike) {
  Distances found;
  int unsolved = 0, banded = 0, swept = 0;
  for (const RecordedIsland& island : sample()) {
    SCOPED_TRACE(island.scene + ", step " + std::to_string(island.step));
    std::vector<std::vector<double>> solutions{
        solve_by(solver::Method::kDefault, island.problem, island),
        solve_by(solver::Method::kDefault, as_dense(island.problem), island),
        solve_by(solver::Method::kNewton, island.problem, island),            // over motions, sparse
        solve_by(solver::Method::kNewton, as_dense(island.problem), island),  // over impulses
        solve_by(solver::Method::kBlock, island.problem, island)};
    const double exact = kTolerance * std::sqrt(static_cast<double>(island.rows()));
    solutions.push_back(solve_rigid(island, solver::RigidBackend::kBandedNewton, exact, 0));
    banded += solutions.back().empty() ? 0 : 1;
    solutions.push_back(solve_rigid(island, solver::RigidBackend::kLaneSweeps, exact, 3000));
    swept += solutions.back().empty() ? 0 : 1;
    std::erase_if(solutions, [](const auto& s) { return s.empty(); });
    if (solutions.empty()) {
      ++unsolved;
      EXPECT_EQ(island.scene, "layers");
    }
    for (std::size_t k = 1; k < solutions.size(); ++k)
      found.add(distance_of_motions(island.problem, solutions[0], solutions[k]).relative());
  }
  // Steps in which the ball strikes: bars are wedged, and no method ends below 1e-4 m/s. How many of them are
  // met depends on rounding: three at most as clang compiles, up to four have been seen with g++.
  EXPECT_LE(unsolved, 5);
  EXPECT_GT(banded, 10);
  EXPECT_GT(swept, 10);
  EXPECT_GT(found.count, 100);
  EXPECT_GT(found.same, 0.8 * found.count);
}

TEST(Islands, AreWhatTheirWorldSolves) {
  // The world solves what tumbles only to a share of its motion; what it solved to its tolerance is compared.
  Distances found;
  for (const RecordedIsland& island : sample()) {
    SCOPED_TRACE(island.scene + ", step " + std::to_string(island.step));
    if (!(island.residual <= kTolerance * std::sqrt(static_cast<double>(island.rows())))) continue;
    const std::vector<double> lambda = solve_by(solver::Method::kDefault, island.problem, island);
    if (lambda.empty()) continue;
    found.add(distance_of_motions(island.problem, lambda, island.impulses).relative());
  }
  EXPECT_GT(found.count, 20);
  EXPECT_GT(found.same, 0.8 * found.count);
}

TEST(Islands, AreReadAsTheyWereWritten) {
  const std::vector<RecordedIsland> all = sample();
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "islands.bin";
  ASSERT_TRUE(write_islands(path, all).empty());
  const auto read = read_islands(path);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ((*read)[i].scene, all[i].scene);
    EXPECT_EQ((*read)[i].problem.jacobian, all[i].problem.jacobian);
    EXPECT_EQ((*read)[i].problem.q, all[i].problem.q);
    EXPECT_EQ((*read)[i].old, all[i].old);
    EXPECT_TRUE(solver::validate((*read)[i].problem).empty());
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_FALSE(read_islands(path).ok());
}

/// Measures every island of a step by residual.cc, whatever the world says of it.
class Measurer : public world_detail::IslandObserver {
 public:
  bool wants(int island, int, std::size_t) override {
    if (island == 0) worst_ = 0;  // another round
    return true;
  }
  void before(int island, world_detail::IslandState state) override { states_[island] = std::move(state); }
  void after(int island, std::span<const double> impulses, const solver::Report&) override {
    const world_detail::IslandState& s = states_[island];
    std::vector<double> velocity(s.problem.velocities()), u(s.problem.rows()), rho(s.problem.block_count());
    solver::row_velocities(s.problem, impulses, velocity, u);
    solver::block_rho(s.problem, rho);
    const double rows = static_cast<double>(s.problem.rows());
    worst_ =
        std::max(worst_, solver::natural_map(s.problem, impulses, u, rho) / (s.tolerance * std::sqrt(rows)));
  }
  /// The largest residual of any island of the last round, as a multiple of what its tolerance allows.
  double worst() const { return worst_; }

 private:
  std::map<int, world_detail::IslandState> states_;
  double worst_ = 0;
};

// Where a step is told to have converged, every island's natural map is within its tolerance; and where it is
// not, the report says what ended it and leaves no doubt about the residual.
TEST(Islands, ToleranceIsKeptWhereTheReportSaysConverged) {
  int converged = 0, accepted = 0, other = 0;
  const auto follow = [&](World world, int steps) {
    Measurer measurer;
    world.add_hook(world_detail::ObserveIslands{&measurer});
    for (int k = 0; k < steps; ++k) {
      world.step();
      const StepReport& r = world.report();
      if (r.rows == 0) continue;
      const bool is_converged = r.status == solver::Status::kConverged;
      // digits: the world's own sums are in another order, of velocities up to some metres a second
      if (is_converged) EXPECT_LE(measurer.worst(), 1 + 1e-4) << "step " << k;
      if (measurer.worst() > 1 + 1e-4) EXPECT_NE(r.status, solver::Status::kConverged) << "step " << k;
      EXPECT_EQ(is_converged, r.residual <= r.promised);
      EXPECT_EQ(is_converged, r.ending == solver::Ending::kTolerance);
      EXPECT_EQ(r.status == solver::Status::kAccepted, r.ending == solver::Ending::kAccuracy);
      if (!is_converged) EXPECT_NE(r.backend, solver::Backend::kNone);
      (is_converged ? converged : r.status == solver::Status::kAccepted ? accepted : other) += 1;
    }
  };
  follow(make_world(tower_of_boxes(5), with(Integrator::kSemiImplicit, 0.01)), 150);
  follow(make_world(falling_humanoid(), with(Integrator::kSemiImplicit, 0.005)), 300);
  follow(struck_layers(12), 150);
  RandomWorldOptions bin{.kind = WorldKind::kBin};
  bin.shapes_in_bin = 25;
  auto world = start(make_random_world(5, bin));
  ASSERT_TRUE(world.ok());
  follow(std::move(*world), 150);
  EXPECT_GT(converged, 100);
  EXPECT_GT(accepted, 20);  // what tumbles
  EXPECT_GT(other, 0);      // the strike
}

TEST(Islands, LookingChangesNothing) {
  World seen = make_world(tower_of_boxes(4), with(Integrator::kSemiImplicit, 0.01)), unseen = seen.clone();
  IslandRecorder recorder(10);
  recorder.follow("tower", seen);
  seen.step(100);
  unseen.step(100);
  EXPECT_GT(recorder.seen(), 0);
  EXPECT_EQ(seen.hash(), unseen.hash());
}

}  // namespace
}  // namespace karakuri::test
