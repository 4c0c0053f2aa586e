// Feed-forward by snapshot: joints of an arm move as asked; efforts are those of inverse dynamics, which
// knows nothing of worlds; the world that is asked does not notice.
#include <gmock/gmock.h>

#include <fstream>

#include <fmt/format.h>

#include "control/following.h"
#include "karakuri/dynamics/rnea.h"
#include "support/no_alloc.h"

namespace karakuri {
namespace {

using test::By;
using test::follow;
using test::humanoid;
using test::kStep;
using test::make;
using test::motors;
using test::scene_of;
using test::Sines;
using test::Standing;
using test::start_on;
using test::Track;
using testing::HasSubstr;

/// A drawing of errors over time, into the folder that KARAKURI_PICTURES names, or nowhere.
struct Curve {
  std::string name;
  const char* color;
  std::vector<double> values;
};
void draw(const std::string& file, const std::vector<Curve>& curves, double seconds) {
  const char* folder = std::getenv("KARAKURI_PICTURES");
  if (!folder) return;
  constexpr double kWidth = 640, kHeight = 300, kLeft = 60, kBottom = 40, kLow = -10, kHigh = 0;  // decades
  const auto x = [&](double t) { return kLeft + (kWidth - kLeft - 20) * t / seconds; };
  const auto y = [&](double e) {
    const double decade = std::clamp(std::log10(std::max(e, 1e-300)), kLow, kHigh);
    return kHeight - kBottom - (kHeight - kBottom - 30) * (decade - kLow) / (kHigh - kLow);
  };
  std::ofstream out(std::string(folder) + "/" + file);
  out << fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n",
      kWidth, kHeight);
  for (int decade = static_cast<int>(kLow); decade <= kHigh; decade += 2)
    out << fmt::format(
        "<line x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#d6dbe0\"/><text x=\"8\" "
        "y=\"{:.1f}\" "
        "fill=\"#24292f\">1e{}</text>\n",
        x(0), x(seconds), y(std::pow(10, decade)), y(std::pow(10, decade)), y(std::pow(10, decade)) + 4,
        decade);
  for (int t = 0; t <= seconds; ++t)
    out << fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"#24292f\">{} s</text>\n", x(t) - 8,
                       kHeight - 20, t);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    std::string points;
    for (std::size_t i = 0; i < curves[c].values.size(); i += 10)
      points +=
          fmt::format("{:.1f},{:.1f} ", x(seconds * i / curves[c].values.size()), y(curves[c].values[i]));
    out << fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", points,
                       curves[c].color);
    out << fmt::format("<text x=\"{}\" y=\"18\" fill=\"{}\">{}</text>\n", kLeft + 190 * c, curves[c].color,
                       curves[c].name);
  }
  out << "</svg>\n";
}

// ---- an open arm

World arm() {
  World world = test::make_world(scene_of(test::arm7()), {.dt = kStep, .tolerance = 5e-11});
  return world;
}

/// In one step M (v' - v) / h + c = tau, and nothing else: inverse dynamics gives the same efforts to
/// rounding, times the condition of the solve.
TEST(Feedforward, OfAnArmIsItsInverseDynamics) {
  World world = arm();
  const std::vector<JointId> joints = motors(world);
  ASSERT_EQ(joints.size(), 7u);
  Feedforward forward = make(world, joints);
  Random random(1);
  Workspace ws(world.model());
  for (int trial = 0; trial < 20; ++trial) {
    const State state = test::random_state(world.model(), random);
    ASSERT_TRUE(world.set_state(state.q, state.v));
    const Eigen::VectorXd target = test::random_vector(7, random);
    ASSERT_TRUE(forward.find(world, {target.data(), 7}).empty());
    const Eigen::VectorXd a = (target - state.v_view()) / kStep;
    Eigen::VectorXd tau(7);
    rnea(world.model(), world.state(), a, {}, ws, tau);
    EXPECT_LT((Eigen::Map<const Eigen::VectorXd>(forward.effort().data(), 7) - tau).norm(),
              1e-7 * tau.norm());
    EXPECT_LT(forward.missed(), 1e-9);
    ASSERT_TRUE(forward.find_for_acceleration(world, {a.data(), 7}).empty());
    EXPECT_LT((Eigen::Map<const Eigen::VectorXd>(forward.effort().data(), 7) - tau).norm(),
              1e-7 * tau.norm());
  }
}

/// What is left is the solver's tolerance, 5e-10 rad/s, added up over the steps (once, or twice for
/// accelerations).
TEST(Feedforward, AloneTracksASineOnAnArm) {
  const World world = arm();
  const double by_velocity = follow(arm(), motors(world), By::kVelocity, 0, 0, 3).largest;
  const double by_acceleration = follow(arm(), motors(world), By::kAcceleration, 0, 0, 3).largest;
  RecordProperty("by_velocity", fmt::format("{:.2g}", by_velocity));
  RecordProperty("by_acceleration", fmt::format("{:.2g}", by_acceleration));
  EXPECT_LT(by_velocity, 1e-8);
  EXPECT_LT(by_acceleration, 1e-6);
}

TEST(Feedforward, WithLowGainsRecoversFromAPush) {
  const World world = arm();
  const Track alone = follow(arm(), motors(world), By::kAcceleration, 0, 10, 6);
  const Track with_gains = follow(arm(), motors(world), By::kAcceleration, 20, 10, 6);
  const Track gains_only = [&] {  // the same gains are too low to follow by themselves
    World other = arm();
    const std::vector<JointId> joints = motors(other);
    const Sines sines(other, joints);
    start_on(other, joints, sines, kStep);
    Track track;
    for (int k = 0; k < 6000; ++k) {
      for (std::size_t i = 0; i < joints.size(); ++i)
        other.set_drive(joints[i], {.stiffness = 20,
                                    .damping = 4,
                                    .q_target = sines.at(i, (k + 1) * kStep),
                                    .v_target = sines.mean_rate(i, k * kStep, kStep)});
      other.step();
      track.errors.push_back(largest_error(other, joints, sines, (k + 1) * kStep));
      track.largest = std::max(track.largest, track.errors.back());
    }
    return track;
  }();
  EXPECT_GT(alone.last, 0.05) << "the push was too weak to prove anything";
  EXPECT_GT(with_gains.largest, 1e-2) << "the push was too weak to prove anything";
  EXPECT_LT(with_gains.last, 1e-3);
  EXPECT_GT(gains_only.largest, 0.1);
  const Track quiet = follow(arm(), motors(world), By::kAcceleration, 0, 0, 6);
  draw("feedforward.svg",
       {{"PD alone", "#9aa4ae", gains_only.errors},
        {"feed-forward, push", "#c8452f", alone.errors},
        {"with PD, push", "#2f6fbb", with_gains.errors},
        {"", "#24292f", quiet.errors}},
       6);
  RecordProperty("alone", fmt::format("{:.2g}", alone.last));
  RecordProperty("with_gains", fmt::format("{:.2g}", with_gains.last));
  RecordProperty("gains_only", fmt::format("{:.2g}", gains_only.largest));
}

// ---- anything else that the step knows

struct Case {
  const char* name;
  WorldSettings settings;
  double tolerance;  // [rad/s or m/s]
};

class EveryWay : public testing::TestWithParam<Case> {};

/// A trunk that floats and arms with joints of all kinds, springs, dampers, dry friction and armatures: after
/// one step with the efforts that were found the velocities are those that were asked for.
TEST_P(EveryWay, OneStepReachesWhatWasAskedFor) {
  Random random(4);
  Mechanism m;
  const LinkId trunk = m.add_link("trunk", test::random_inertia(random));
  ASSERT_TRUE(
      m.add_joint({.name = "trunk", .kind = JointKind::kFree, .parent = m.world(), .child = trunk}).ok());
  for (const JointKind kind :
       {JointKind::kRevolute, JointKind::kPrismatic, JointKind::kSpherical, JointKind::kUniversal,
        JointKind::kCylindrical, JointKind::kPlanar, JointKind::kScrew}) {
    const std::string name(karakuri::name(kind));
    const LinkId link = m.add_link(name, test::random_inertia(random));
    Joint joint = test::random_joint(random, kind, name, trunk, link);
    for (DofProperties& p : joint.dofs) p.damping = 0.5, p.stiffness = 3, p.dry_friction = 0.2;
    ASSERT_TRUE(m.add_joint(joint).ok());
  }
  World world = test::make_world(scene_of(std::move(m)), GetParam().settings);
  const std::vector<JointId> joints = motors(world);
  Feedforward forward = make(world, joints);
  for (int trial = 0; trial < 5; ++trial) {
    const State state = test::random_state(world.model(), random, 0.5);
    ASSERT_TRUE(world.set_state(state.q, state.v));
    std::vector<double> target;
    for (const JointId joint : joints)
      for (const double v : world.v(joint)) target.push_back(v + random.uniform(-0.05, 0.05));
    ASSERT_TRUE(forward.find(world, target).empty());
    EXPECT_LT(forward.missed(), GetParam().tolerance);
    ASSERT_TRUE(forward.apply(world));
    world.step();
    std::size_t at = 0;
    for (const JointId joint : joints)
      for (const double v : world.v(joint)) EXPECT_NEAR(v, target[at++], GetParam().tolerance);
  }
}

// Ten times the solver's tolerance. Runge-Kutta takes efforts through its stages and drives as an impulse:
// they differ by h^2 times how fast the mass matrix and the accelerations (here up to 100 rad/s^2) change.
INSTANTIATE_TEST_SUITE_P(
    All, EveryWay,
    testing::Values(Case{"semi_implicit", {.dt = kStep, .tolerance = 5e-11}, 1e-8},
                    Case{"symplectic", {.dt = kStep, .integrator = Integrator::kSymplectic}, 1e-8},
                    Case{"rk4", {.dt = kStep, .integrator = Integrator::kRk4}, 5e-3},
                    Case{"long_step", {.dt = 0.02}, 1e-8}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Feedforward, CalledFromHooksTakesTheSubstep) {
  World world =
      test::make_world(scene_of(test::arm7()), {.dt = 4 * kStep, .substeps = 4, .tolerance = 5e-11});
  const std::vector<JointId> joints = motors(world);
  Feedforward forward = make(world, joints, {.duration = kStep});
  const std::vector<double> target(7, 0.3);
  world.add_hook([&](World& w) {
    EXPECT_TRUE(forward.find(w, target).empty());
    forward.apply(w);
  });
  world.step(5);
  for (const JointId joint : joints) EXPECT_NEAR(world.v(joint)[0], 0.3, 1e-8);
}

TEST(Feedforward, EffortLimitsAndWhatTheyCostAreTold) {
  Mechanism m = test::arm7();
  World world = test::make_world(scene_of(std::move(m)), {.dt = kStep, .tolerance = 5e-11});
  const std::vector<JointId> joints = motors(world);
  ASSERT_TRUE(world
                  .edit([&](Scene& s) {
                    for (const JointId joint : joints) s.mechanism.joint(joint).dofs[0].effort_limit = 2;
                  })
                  .empty());
  Feedforward forward = make(world, joints);
  ASSERT_TRUE(forward.find(world, std::vector<double>(7, 1.0)).empty());
  double most = 0;
  for (const double effort : forward.effort()) most = std::max(most, std::abs(effort));
  EXPECT_NEAR(most, 2, 1e-9);
  EXPECT_GT(forward.missed(), 0.1);
}

// ---- the world that is asked

TEST(Feedforward, LeavesTheWorldAsItIs) {
  Standing asked = humanoid(), left = humanoid();
  asked.world.step(100), left.world.step(100);
  Feedforward with = make(asked.world, asked.joints, {.contact = true}),
              without = make(asked.world, asked.joints);
  const std::vector<double> target(asked.joints.size(), 0.1);
  for (int k = 0; k < 50; ++k) {
    const std::uint64_t before = asked.world.hash();
    ASSERT_TRUE(with.find(asked.world, target).empty());
    ASSERT_TRUE(without.find(asked.world, target).empty());
    ASSERT_EQ(asked.world.hash(), before);
    asked.world.step(), left.world.step();
    ASSERT_EQ(asked.world.hash(), left.world.hash()) << "in step " << k;
  }
  // and a trial has the same bits whatever was tried before: an object made anew agrees
  ASSERT_TRUE(with.find(asked.world, target).empty());
  const Result<std::vector<double>> anew = feedforward(asked.world, asked.joints, target, {.contact = true});
  ASSERT_TRUE(anew.ok());
  EXPECT_TRUE(std::equal(anew->begin(), anew->end(), with.effort().begin(), with.effort().end()));
}

TEST(Feedforward, SeesEditsGravityAndChangesOfStructure) {
  World world = arm();
  const std::vector<JointId> joints = motors(world);
  Feedforward forward = make(world, joints);
  const std::vector<double> still(7, 0.0);
  const auto expect_still = [&](const char* after) {
    SCOPED_TRACE(after);
    ASSERT_TRUE(forward.find(world, still).empty());
    forward.apply(world);
    world.step();
    for (const JointId joint : joints) EXPECT_LT(std::abs(world.v(joint)[0]), 1e-8);
  };
  expect_still("nothing");
  ASSERT_TRUE(world
                  .edit([](Scene& s) {
                    for (const LinkId link : s.mechanism.link_ids()) s.mechanism.link(link).inertia.mass *= 3;
                  })
                  .empty());
  expect_still("an edit");
  world.set_gravity({1, 2, -4});
  expect_still("gravity");
  const LinkId hand = world.model().links.back().id;
  Joint ball{.name = "ball", .kind = JointKind::kSpherical};
  ASSERT_TRUE(world.attach_here(world.scene().mechanism.world(), hand, world.pose(hand), ball).ok());
  expect_still("attach");
  ASSERT_TRUE(world.detach(joints[6]).empty());
  const auto flaws = forward.find(world, still);
  ASSERT_EQ(flaws.size(), 1u);
  EXPECT_THAT(to_string(flaws), HasSubstr("cut"));
}

TEST(Feedforward, DoesNotAllocate) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  Standing robot = humanoid();
  Feedforward forward = make(robot.world, robot.joints, {.contact = true});
  const std::vector<double> target(robot.joints.size(), 0.0);
  const auto one = [&] {
    forward.find(robot.world, target);
    forward.apply(robot.world);
    robot.world.step();
  };
  for (int k = 0; k < 300; ++k) one();
  test::NoAllocGuard guard;
  for (int k = 0; k < 20; ++k) one();
  EXPECT_EQ(guard.allocations(), 0);
}

TEST(Feedforward, TellsWhatIsWrong) {
  World world = arm();
  std::vector<JointId> joints = motors(world);
  const auto why = [&](std::vector<JointId> some, const FeedforwardOptions& options = {}) {
    const Result<Feedforward> made = Feedforward::make(world, std::move(some), options);
    return made.ok() ? std::string("nothing") : to_string(made.errors());
  };
  EXPECT_THAT(why({}), HasSubstr("no joints"));
  EXPECT_THAT(why({JointId{77, 1}}), HasSubstr("number 0 of the list has no dofs"));
  EXPECT_THAT(why({joints[1], joints[1]}), HasSubstr("twice"));
  EXPECT_THAT(why(joints, {.duration = -1}), HasSubstr("duration"));
  Feedforward forward = make(world, joints);
  EXPECT_THAT(to_string(forward.find(world, std::vector<double>(6, 0.0))),
              HasSubstr("6 velocities are given"));
  EXPECT_THAT(to_string(forward.find(world, std::vector<double>(7, NAN))), HasSubstr("not finite"));
  EXPECT_THAT(to_string(forward.find_for_acceleration(world, {})), HasSubstr("0 accelerations are given"));
}

}  // namespace
}  // namespace karakuri
