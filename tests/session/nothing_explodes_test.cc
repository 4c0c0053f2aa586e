// Scenes of files, as they are: what moves stays finite and keeps its energy, whatever the contact model, the
// integrator and the step. Each test here is a scene in which that once was otherwise.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>

#include "io/corpus.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "session/scenes.h"

namespace karakuri::test {
namespace {

/// What there is to be exchanged: the energy of motion at the start, and what has been given to gravity.
struct EnergyWatch {
  double start, lowest;
  double kinetic;

  explicit EnergyWatch(const World& world)
      : start(world.energies().total()),
        lowest(world.energies().potential),
        kinetic(world.energies().kinetic) {}
  /// How much more than at the start is there, as a share of what was exchanged.
  double rise(const World& world) {
    const Energies now = world.energies();
    if (!std::isfinite(now.total())) return std::numeric_limits<double>::infinity();
    lowest = std::min(lowest, now.potential);
    return (now.total() - start) / (start - lowest + 1e-9 * (std::abs(start) + kinetic));
  }
};

bool any_quarantined(const World& world) {
  for (const LinkEntry& link : world.model().links)
    if (world.quarantined(link.id)) return true;
  return false;
}

/// The scene has nothing in it that could do work but gravity.
void expect_no_energy_made(const LoadedScene& scene, double time, double share, const std::string& what) {
  Session session = make_session(scene);
  EnergyWatch watch(session.world());
  for (int k = 0; session.time() < time; ++k) {
    session.step();
    ASSERT_LT(watch.rise(session.world()), share) << what << ", step " << k + 1;
    ASSERT_FALSE(any_quarantined(session.world())) << what << ", step " << k + 1;
  }
}

// ---- penalty
class Penalty : public testing::TestWithParam<const char*> {};
TEST_P(Penalty, MakesNoEnergy) {
  LoadedScene scene = bundled(GetParam());
  scene.settings.contact = ContactModel::kPenalty;
  expect_no_energy_made(scene, 1, 0.02, GetParam());
}
INSTANTIATE_TEST_SUITE_P(NothingExplodes, Penalty,
                         testing::Values("wall", "pyramid", "slope", "static-friction", "sliding"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// They are pushed by 3 N, over no more than what is as high as a domino.
TEST(NothingExplodes, DominoesByPenaltyGainNoMoreThanTheirPush) {
  LoadedScene scene = bundled("domino");
  scene.settings.contact = ContactModel::kPenalty;
  Session session = make_session(std::move(scene));
  const double start = session.world().energies().total();
  while (session.time() < 3) {
    session.step();
    ASSERT_LT(session.world().energies().total(), start + 3) << session.time();
    ASSERT_FALSE(any_quarantined(session.world())) << session.time();
  }
}

// ---- long steps
TEST(NothingExplodes, TheWallAtStepsOfASecond) {
  LoadedScene scene = bundled("wall");
  scene.settings.dt = 1;
  expect_no_energy_made(scene, 20, 0.02, "wall");
}

TEST(NothingExplodes, TheStrandbeestAtStepsOfASecond) {
  LoadedScene scene = bundled("strandbeest");
  scene.settings.dt = 1;
  Session session = make_session(std::move(scene));
  for (int k = 0; k < 10; ++k) {
    session.step();
    ASSERT_FALSE(any_quarantined(session.world())) << "step " << k + 1;
    for (const double v : session.world().state().v) ASSERT_LT(std::abs(v), 1e3) << "step " << k + 1;
  }
}

// ---- integrators
class Integrators : public testing::TestWithParam<std::tuple<const char*, Integrator>> {};
TEST_P(Integrators, StayFinite) {
  LoadedScene scene = bundled(std::get<0>(GetParam()));
  scene.settings.integrator = std::get<1>(GetParam());
  Session session = make_session(std::move(scene));
  for (int k = 0; k < 300; ++k) {
    session.step();
    ASSERT_FALSE(any_quarantined(session.world())) << "step " << k + 1;
    for (const double v : session.world().state().v) ASSERT_LT(std::abs(v), 1e3) << "step " << k + 1;
  }
}
INSTANTIATE_TEST_SUITE_P(NothingExplodes, Integrators,
                         testing::Combine(testing::Values("humanoid", "arm", "human-40"),
                                          testing::Values(Integrator::kSymplectic, Integrator::kRk4)),
                         [](const auto& info) {
                           std::string name = std::string(std::get<0>(info.param)) + "_" +
                                              std::string(name_of(std::get<1>(info.param)));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// ---- forces in flight
TEST(NothingExplodes, GravcompHoversWithoutRising) {
  Session session = make_session(
      read_mjcf("<mujoco><option timestep=\"0.01\"/><worldbody><body name=\"b\" pos=\"0 0 1\" gravcomp=\"1\">"
                "<freejoint/><geom size=\".1\" mass=\"2\"/></body></worldbody></mujoco>"));
  session.step(500);
  EXPECT_NEAR(session.world().pose(session.scene().scene.mechanism.find_link("b")).p.z(), 1, 1e-9);
}

TEST(NothingExplodes, ADroneWhoseThrustIsItsWeightHovers) {
  Session session = make_session(
      read_mjcf(
          "<mujoco><option timestep=\"0.01\" gravity=\"0 0 -10\"/><worldbody>"
          "<body name=\"b\" pos=\"0 0 1\"><freejoint/><geom type=\"box\" size=\".1 .1 .03\" mass=\"2\"/>"
          "<site name=\"s\"/></body></worldbody>"
          "<actuator><motor site=\"s\" gear=\"0 0 20 0 0 0\" ctrllimited=\"false\"/></actuator>"
          "<keyframe><key ctrl=\"1\"/></keyframe></mujoco>"),
      {.keyframe = "0"});
  session.step(500);
  EXPECT_NEAR(session.world().pose(session.scene().scene.mechanism.find_link("b")).p.z(), 1, 1e-9);
}

// ---- other people's robots
TEST(NothingExplodes, SlowHumanoidsDroppedIntoOnePitLieStill) {
  KARAKURI_NEEDS_CORPUS("mujoco/humanoid.xml");
  constexpr int kCount = 5;
  LoadedScene pit;
  for (int i = 0; i < kCount; ++i) {
    LoadOptions options = uncached();
    options.prefix = "h" + std::to_string(i) + "_";
    const LoadedScene one = load_scene(corpus() / "mujoco/humanoid.xml", options).value();
    if (i == 0) {
      pit.settings = one.settings;
      pit.gravity = one.gravity;
    }
    ASSERT_TRUE(merge(pit, one).empty());
  }
  const LinkId world = pit.scene.mechanism.world();
  for (const int axis : {0, 1})
    for (const double side : {-1.0, 1.0}) {
      Vec3 at(0, 0, 1), size(1.2, 1.2, 1);
      at[axis] = side * 1.2, size[axis] = 0.1;
      pit.scene.add_shape(world, Shape::box(size), Transform::translation(at));
    }
  Session session = make_session(std::move(pit));
  for (int i = 0; i < kCount; ++i) {
    const LinkId torso = session.world().scene().mechanism.find_link("h" + std::to_string(i) + "_torso");
    Transform X = session.world().pose(torso);
    X.p += Vec3(0.1 * (i % 2), 0.1 * (i / 2), 1.5 * i);
    ASSERT_TRUE(session.world().teleport(torso, X));
  }
  const double start = session.world().energies().total();
  for (int k = 0; session.time() < 3; ++k) {
    session.step();
    ASSERT_FALSE(any_quarantined(session.world())) << "step " << k + 1;
    // heads and feet overlap at the start, and the file's contacts are springs that give back what they hold
    ASSERT_LT(session.world().energies().total(), 1.02 * start) << "step " << k + 1;
  }
  EXPECT_LT(session.world().energies().kinetic, 0.02 * start);
}

TEST(NothingExplodes, KukasArmDoesNotJump) {
  KARAKURI_NEEDS_CORPUS("others/bullet/kuka_iiwa/model.urdf");
  Session session =
      make_session(load_scene(corpus() / "others/bullet/kuka_iiwa/model.urdf", uncached()).value());
  for (int k = 0; k < 20; ++k) {
    const std::vector<double> before = session.world().state().q;
    session.step();
    for (std::size_t i = 0; i < before.size(); ++i)
      ASSERT_LT(std::abs(session.world().state().q[i] - before[i]), 0.05) << "q" << i << ", step " << k + 1;
  }
}

/// Every tree hangs on the world by a free joint from now on; what has no mass gets some.
void set_free(Scene& scene) {
  Mechanism& m = scene.mechanism;
  for (const LinkId id : m.link_ids()) {
    if (id == m.world() || m.link(id).parent != m.world() || m.link(id).is_virtual()) continue;
    const Joint joint = m.joint(m.link(id).joint);
    if (!(m.link(id).inertia.mass > 0)) m.link(id).inertia = Inertia::solid_sphere(1, 0.1);
    if (joint.kind != JointKind::kFree) (void)m.cut(m.link(id).joint, joint.X_PF * joint.X_CM.inverse());
  }
  std::erase_if(scene.initial, [&](const InitialJoint& start) { return !m.contains(start.joint); });
}

/// The scene without what stands on the ground or acts by itself.
LoadedScene in_the_air(const std::string& model) {
  Result<LoadedScene> loaded = load_scene(corpus() / model, uncached());
  if (!loaded.ok()) return {};
  LoadedScene out;
  out.scene = std::move(loaded->scene);
  out.settings = loaded->settings;
  out.scene.mechanism.link(out.scene.mechanism.world()).shapes.clear();
  set_free(out.scene);
  return out;
}

Vec3 center_of_mass(const World& world) {
  Workspace ws(world.model());
  update_poses(world.model(), world.state(), ws);
  return karakuri::center_of_mass(world.model(), ws);
}

bool all_free(const World& world) {
  for (const Tree& tree : world.model().trees)
    if (world.model().bodies[tree.first].kind != JointKind::kFree) return false;
  for (const Loop& loop : world.model().loops)
    if (loop.body_f == 0 || loop.body_m == 0) return false;
  return !world.model().trees.empty();
}

class Falls : public testing::TestWithParam<std::string> {};
TEST_P(Falls, AsFastAsGravitySays) {
  if (GetParam() == "none") GTEST_SKIP() << "the external corpus is not here: " << corpus();
  const LoadedScene scene = in_the_air(GetParam());
  if (is_fragment(GetParam()) || scene.scene.mechanism.joint_ids().empty()) GTEST_SKIP() << "no robot";
  Result<World> made = World::make(scene.scene, scene.settings, Vec3(0, 0, -9.81));
  ASSERT_TRUE(made.ok()) << to_string(made.errors());
  World& world = *made;
  if (!all_free(world)) GTEST_SKIP() << "it is fixed to the world";
  const Vec3 start = center_of_mass(world);
  for (int k = 0; k < 200; ++k) {
    world.step();
    ASSERT_FALSE(any_quarantined(world)) << "step " << k + 1;
  }
  const Vec3 fall = center_of_mass(world) - start;
  const double expected = -0.5 * 9.81 * world.time() * world.time();
  EXPECT_NEAR(fall.z(), expected, 1e-9 * std::abs(expected));
}
INSTANTIATE_TEST_SUITE_P(NothingExplodes, Falls, testing::ValuesIn(all_models()), name_of_model);

}  // namespace
}  // namespace karakuri::test
