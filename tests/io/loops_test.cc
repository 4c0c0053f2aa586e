// Loops of other people's robots: loaded, closed, and closed at every step.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <regex>
#include <sstream>

#include "io/corpus.h"
#include "karakuri/dynamics/closed_loop.h"
#include "karakuri/model/configuration.h"
#include "karakuri/world/world.h"
#include "support/loop_watch.h"
#include "support/no_alloc.h"

namespace karakuri::test {
namespace {

TEST(LoadedLoops, CassieHoldsItsRodsAtEveryStep) {
  KARAKURI_NEEDS_CORPUS("menagerie/agility_cassie/scene.xml");
  LoadOptions rigid = uncached();
  rigid.rigid = true;  // its file has solref="0.005 1"
  Result<LoadedScene> loaded = load_scene(corpus() / "menagerie/agility_cassie/scene.xml", rigid);
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  const Keyframe* home = loaded->find_keyframe("home");
  ASSERT_TRUE(home);
  apply(*home, loaded->scene);
  loaded->settings.sleep.enabled = false;  // it falls, and would sleep most of the time
  Result<World> world = World::make(loaded->scene, loaded->settings, loaded->gravity);
  ASSERT_TRUE(world.ok()) << to_string(world.errors());
  ASSERT_EQ(world->model().loops.size(), 4u);
  Workspace ws(world->model());
  EXPECT_LT(loop_error(*world, ws), 2e-3) << "the keyframe has few digits";
  world->step(10);  // what it starts with is undone at a limited speed
  LoopWatch watch;
  watch.until(*world, long_or(NoAllocGuard::available() ? 60 : 3));  // a minute, but under sanitizers
  watch.print("cassie");
  EXPECT_TRUE(watch.finite);
  EXPECT_LT(watch.error, 1e-9);
}

World world_of(const std::string& text) {
  const Result<LoadedScene> scene = load_native(text, "s.scene.yaml", uncached());
  EXPECT_TRUE(scene.ok()) << to_string(scene.errors());
  return std::move(World::make(scene->scene, scene->settings, scene->gravity).value());
}

// The two kinds that only close loops, as they are written in scenes. A ball on a rope keeps its energy and
// its angular momentum about the vertical; a bead slides down a straight wire as on a slope without friction.
TEST(LoadedLoops, ADistanceIsKeptInANativeScene) {
  for (const char* integrator : {"semi-implicit", "rk4"}) {
    SCOPED_TRACE(integrator);
    World world = world_of(std::string("settings: {dt: 0.001, integrator: ") + integrator + R"(}
bodies:
  - {name: ball, at: [0.4, 0, 0.7], mass: 2, shapes: {sphere: 0.05}, velocity: [0, 1.5, 0]}
loops:
  - {name: rope, kind: distance, parent: world, child: ball, in_parent: {at: [0, 0, 1]}}
)");
    const LinkId ball = world.scene().mechanism.find_link("ball");
    const Vec3 anchor(0, 0, 1);
    const double energy = world.energies().total();
    LoopWatch watch;
    watch.until(world, 5);
    EXPECT_LT(watch.error, 1e-9);
    EXPECT_NEAR((world.pose(ball).p - anchor).norm(), 0.5, 1e-9) << "as long as it was at zero";
    const double turning = world.pose(ball).p.cross(world.velocity(ball).linear).z();
    // of 0.6 m^2/s: rk4 loses (h w)^4 of each step's change, the default (h w)^2
    const bool fine = std::string(integrator) == "rk4";
    EXPECT_NEAR(turning, 0.4 * 1.5, fine ? 1e-8 : 1e-4);
    if (fine) EXPECT_NEAR(world.energies().total(), energy, 1e-7);
  }
}

TEST(LoadedLoops, APointOnALineIsKeptInANativeScene) {
  World world = world_of(R"(
settings: {dt: 0.001, integrator: rk4}
gravity: [0, 0, -10]
bodies:
  - {name: bead, at: [0, 1, 2], mass: 2, shapes: {box: [0.1, 0.2, 0.3]}, angular_velocity: [1, 2, 3]}
loops:
  - {name: wire, kind: point-on-line, axis: [3, 0, -4], parent: world, child: bead, in_parent: {at: [0, 1, 2]}}
)");
  const LinkId bead = world.scene().mechanism.find_link("bead");
  LoopWatch watch;
  watch.until(world, 2);
  EXPECT_LT(watch.error, 1e-9);
  const Vec3 expected = Vec3(0, 1, 2) + 0.5 * (10 * 0.8) * 4 * Vec3(0.6, 0, -0.8);
  EXPECT_LT((world.pose(bead).p - expected).norm(), 1e-9) << "16 m, with rounding";
}

/// The names of frames to weld, from "closed_loop: [['a', 'b'], ...]".
std::vector<std::pair<std::string, std::string>> pairs_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string all = text.str(), line = all.substr(0, all.find('\n'));
  std::vector<std::pair<std::string, std::string>> out;
  const std::regex pair(R"(\['([^']+)', '([^']+)'\])");
  for (auto at = std::sregex_iterator(line.begin(), line.end(), pair); at != std::sregex_iterator(); ++at)
    out.emplace_back((*at)[1], (*at)[2]);
  return out;
}

struct Parallel {
  const char* folder;
  std::size_t loops;
};

TEST(LoadedLoops, ParallelRobotsCloseAndMove) {
  for (const Parallel& robot : {Parallel{"5bar_linkage", 1}, Parallel{"robot_delta", 3}}) {
    SCOPED_TRACE(robot.folder);
    const std::filesystem::path folder = corpus() / "parallel/robots" / robot.folder;
    KARAKURI_NEEDS_CORPUS(folder / "robot.urdf");
    Result<LoadedScene> loaded = load_scene(folder / "robot.urdf", uncached());
    ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
    Mechanism& m = loaded->scene.mechanism;
    for (const auto& [a, b] :
         pairs_of(folder / "robot.yaml")) {  // frames of joints, fixed to what they carry
      const JointId ja = m.find_joint(a), jb = m.find_joint(b);
      ASSERT_TRUE(ja && jb) << a << " " << b;
      ASSERT_TRUE(
          m.add_loop({.name = a + "=" + b, .parent = m.joint(ja).child, .child = m.joint(jb).child}).ok());
    }
    const Result<Model> model = compile(m, loaded->gravity);
    ASSERT_TRUE(model.ok()) << to_string(model.errors());
    ASSERT_EQ(model->loops.size(), robot.loops);
    Workspace ws(*model);
    Random random(1);
    State state(*model);
    double error = close_loops(*model, state, ws);
    for (int trial = 0; trial < 300 && error > 1e-12; ++trial) {
      random_configuration(*model, random, state.q_view());
      error = close_loops(*model, state, ws);
    }
    ASSERT_LT(error, 1e-12);
    ClosedLoop loop;
    update_closed_loop(*model, state, ws, loop);
    std::printf("%s: %d dofs, %d rows, %d redundant, mobility %d\n", robot.folder, model->nv, loop.rows,
                loop.redundant(), loop.mobility());
    EXPECT_GE(loop.mobility(), 2);
    Result<World> world = World::make(loaded->scene, {.dt = 1e-3}, loaded->gravity);
    ASSERT_TRUE(world.ok()) << to_string(world.errors());
    ASSERT_TRUE(world->set_state(state.q, state.v));
    double worst = 0;
    Workspace view(world->model());
    for (int i = 0; i < 1000; ++i) {
      world->step();
      worst = std::max(worst, loop_error(*world, view));
    }
    EXPECT_LT(worst, 1e-9);
  }
}

}  // namespace
}  // namespace karakuri::test
