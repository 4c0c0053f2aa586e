// Feed-forward by snapshot: joints move as asked, on arms, closed chains and a robot that stands; efforts are
// those of inverse dynamics, which knows nothing of worlds; the world that is asked does not notice.
#include "karakuri/control/feedforward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numbers>

#include <fmt/format.h>

#include "karakuri/dynamics/closed_loop.h"
#include "karakuri/dynamics/rnea.h"
#include "karakuri/io/load.h"
#include "support/linkages.h"
#include "support/no_alloc.h"
#include "support/test_models.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using testing::HasSubstr;

constexpr double kStep = 1e-3;                  // [s]
constexpr double kTurn = 2 * std::numbers::pi;  // 1 Hz [rad/s]
constexpr double kSwing = 0.4;                  // [rad]

Scene scene_of(Mechanism mechanism) {
  Scene scene;
  scene.mechanism = std::move(mechanism);
  return scene;
}

/// All joints of the trees that have dofs, but for free ones.
std::vector<JointId> motors(const World& world) {
  std::vector<JointId> out;
  for (const JointEntry& joint : world.model().joints)
    if (joint.first_v >= 0 && joint.kind != JointKind::kFree) out.push_back(joint.id);
  return out;
}

Feedforward make(const World& world, std::vector<JointId> joints, const FeedforwardOptions& options = {}) {
  Result<Feedforward> made = Feedforward::make(world, std::move(joints), options);
  if (!made.ok()) {
    ADD_FAILURE() << to_string(made.errors());
    std::abort();
  }
  return std::move(*made);
}

/// Sines of 1 Hz about where the joints are, in different phases.
struct Sines {
  std::vector<double> centre;

  explicit Sines(const World& world, const std::vector<JointId>& joints) {
    for (std::size_t i = 0; i < joints.size(); ++i) centre.push_back(world.q(joints[i])[0] - at_of(i, 0));
  }
  static double at_of(std::size_t i, double t) { return kSwing * std::sin(kTurn * t + 0.7 * i); }
  double at(std::size_t i, double t) const { return centre[i] + at_of(i, t); }
  double rate(std::size_t i, double t) const { return kTurn * kSwing * std::cos(kTurn * t + 0.7 * i); }
  /// Over the step that starts at t: what takes a joint from one point of the sine to the next.
  double mean_rate(std::size_t i, double t, double h) const { return (at(i, t + h) - at(i, t)) / h; }
};

double largest_error(const World& world, const std::vector<JointId>& joints, const Sines& sines, double t) {
  double most = 0;
  for (std::size_t i = 0; i < joints.size(); ++i)
    most = std::max(most, std::abs(world.q(joints[i])[0] - sines.at(i, t)));
  return most;
}

void start_on(World& world, const std::vector<JointId>& joints, const Sines& sines, double h) {
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const double v = sines.mean_rate(i, -h, h);
    ASSERT_TRUE(world.set_v(joints[i], {&v, 1}));
  }
}

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
  World world = test::make_world(scene_of(test::arm7()), {.dt = kStep});
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

enum class By { kVelocity, kAcceleration };

struct Track {
  double largest = 0;          // error [rad]
  double last = 0;             // in the last 0.2 s
  std::vector<double> errors;  // by step
};

/// Follows the sines for some seconds, with drives of low gain (or none), under a push between 1 and 1.1 s.
Track follow(World world, const std::vector<JointId>& joints, By by, double stiffness, double push,
             double seconds, const FeedforwardOptions& options = {}) {
  const Sines sines(world, joints);
  start_on(world, joints, sines, kStep);
  Feedforward forward = make(world, joints, options);
  std::vector<double> target(joints.size());
  const LinkId hand = world.model().links.back().id;
  Track track;
  const int steps = static_cast<int>(std::round(seconds / kStep));
  for (int k = 0; k < steps; ++k) {
    const double t = k * kStep;
    for (std::size_t i = 0; i < joints.size(); ++i) {
      target[i] = sines.mean_rate(i, t, kStep);
      if (by == By::kAcceleration) target[i] = (target[i] - sines.mean_rate(i, t - kStep, kStep)) / kStep;
    }
    const auto flaws =
        by == By::kVelocity ? forward.find(world, target) : forward.find_for_acceleration(world, target);
    EXPECT_TRUE(flaws.empty()) << to_string(flaws);
    forward.apply(world);
    for (std::size_t i = 0; i < joints.size() && stiffness > 0; ++i)
      world.set_drive(joints[i], {.stiffness = stiffness,
                                  .damping = 0.2 * stiffness,
                                  .q_target = sines.at(i, t + kStep),
                                  .v_target = sines.mean_rate(i, t, kStep)});
    if (push > 0 && t >= 1 && t < 1.1) world.add_force(hand, {0, push, 0});
    world.step();
    track.errors.push_back(largest_error(world, joints, sines, t + kStep));
    track.largest = std::max(track.largest, track.errors.back());
    if (t > seconds - 0.2) track.last = std::max(track.last, track.errors.back());
  }
  return track;
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
    testing::Values(Case{"semi_implicit", {.dt = kStep}, 1e-8},
                    Case{"symplectic", {.dt = kStep, .integrator = Integrator::kSymplectic}, 1e-8},
                    Case{"rk4", {.dt = kStep, .integrator = Integrator::kRk4}, 5e-3},
                    Case{"long_step", {.dt = 0.02}, 1e-8}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Feedforward, CalledFromHooksTakesTheSubstep) {
  World world = test::make_world(scene_of(test::arm7()), {.dt = 4 * kStep, .substeps = 4});
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
  World world = test::make_world(scene_of(std::move(m)), {.dt = kStep});
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

// ---- closed chains

/// Ground 1 m, two cranks of 0.4 m, two couplers of 0.8 m: two freedoms.
Scene five_bar() {
  test::Linkage m;
  const Vec3 y = Vec3::UnitY(), A(0, 0, 0), E(1, 0, 0), B(-0.1, 0, std::sqrt(0.15)),
             D(1.1, 0, std::sqrt(0.15)), C(0.5, 0, std::sqrt(0.15) + std::sqrt(0.28));
  const LinkId left = m.hang("left", m.world(), JointKind::kRevolute, A, y, test::rod(A, B, 1));
  const LinkId left_coupler = m.hang("left_coupler", left, JointKind::kRevolute, B, y, test::rod(B, C, 1.5));
  const LinkId right = m.hang("right", m.world(), JointKind::kRevolute, E, y, test::rod(E, D, 1));
  const LinkId right_coupler =
      m.hang("right_coupler", right, JointKind::kRevolute, D, y, test::rod(D, C, 1.5));
  m.join("top", left_coupler, right_coupler, JointKind::kRevolute, C, y);
  return std::move(m.scene);
}

std::vector<JointId> named(const World& world, std::initializer_list<const char*> names) {
  std::vector<JointId> out;
  for (const char* name : names)
    for (const JointEntry& joint : world.model().joints)
      if (joint.name == name) out.push_back(joint.id);
  EXPECT_EQ(out.size(), names.size());
  return out;
}

struct Chain {
  const char* name;
  Scene (*scene)();
  std::initializer_list<const char*> motors;
};
const Chain kChains[] = {{"four-bar", test::four_bar, {"crank"}}, {"five-bar", five_bar, {"left", "right"}}};

TEST(Feedforward, AloneTracksASineOnClosedChains) {
  for (const Chain& chain : kChains) {
    SCOPED_TRACE(chain.name);
    World world = test::make_world(chain.scene(), {.dt = kStep});
    const std::vector<JointId> joints = named(world, chain.motors);
    const Track track = follow(std::move(world), joints, By::kVelocity, 0, 0, 2);
    RecordProperty(chain.name[1] == 'o' ? "four" : "five", fmt::format("{:.2g}", track.largest));
    EXPECT_LT(track.largest, 2e-5);  // loops are settled at the end of a step, by what they have opened
  }
}

/// Efforts that take the motors along their sines, beside those that inverse dynamics of closed loops gives
/// at the same states.
struct Beside {
  double difference = 0, size = 0;  // largest [N m]
};
Beside beside_inverse_dynamics(const Chain& chain, double h) {
  World world = test::make_world(chain.scene(), {.dt = h});
  const std::vector<JointId> joints = named(world, chain.motors);
  const Sines sines(world, joints);
  start_on(world, joints, sines, h);
  Feedforward forward = make(world, joints);
  Workspace ws(world.model());
  ClosedLoop loop;
  std::vector<Actuated> actuated;
  for (const JointId joint : joints) actuated.push_back({world.model().find(joint)->first_v});
  const auto n = static_cast<Eigen::Index>(joints.size());
  std::vector<double> target(joints.size());
  Eigen::VectorXd mean[2] = {Eigen::VectorXd::Zero(n), Eigen::VectorXd::Zero(n)};
  Beside out;
  for (int k = 0; k < static_cast<int>(std::round(0.5 / h)); ++k) {
    const double t = k * h;
    Eigen::VectorXd a(n);
    for (std::size_t i = 0; i < joints.size(); ++i) {
      target[i] = sines.mean_rate(i, t, h);
      a[static_cast<Eigen::Index>(i)] = (target[i] - sines.mean_rate(i, t - h, h)) / h;
    }
    EXPECT_TRUE(forward.find(world, target).empty());
    if (t > 0.1) {
      update_closed_loop(world.model(), world.state(), ws, loop);
      Eigen::MatrixXd S(n, loop.mobility());
      for (Eigen::Index i = 0; i < n; ++i) {
        S.row(i) = loop.W().row(actuated[static_cast<std::size_t>(i)].dof);
        a[i] -= loop.map_bias[static_cast<std::size_t>(actuated[static_cast<std::size_t>(i)].dof)];
      }
      const Eigen::VectorXd a_G = S.lu().solve(a);
      const ClosedLoopEfforts wanted =
          closed_loop_inverse_dynamics(world.model(), world.state(), loop, a_G, actuated, {}, ws);
      for (Eigen::Index i = 0; i < n; ++i) {
        mean[0][i] += forward.effort()[static_cast<std::size_t>(i)];
        mean[1][i] += wanted.effort[static_cast<std::size_t>(i)];
      }
      if (k % 10 == 9) {  // means over ten steps
        out.difference = std::max(out.difference, (mean[0] - mean[1]).cwiseAbs().maxCoeff() / 10);
        out.size = std::max(out.size, mean[1].cwiseAbs().maxCoeff() / 10);
        mean[0].setZero(), mean[1].setZero();
      }
    } else if (k % 10 == 9) {
      mean[0].setZero(), mean[1].setZero();
    }
    forward.apply(world);
    world.step();
  }
  return out;
}

/// The world's step is of first order, inverse dynamics holds in an instant: their difference is of the order
/// of the step.
TEST(Feedforward, OfClosedChainsTendsToTheirInverseDynamics) {
  for (const Chain& chain : kChains) {
    SCOPED_TRACE(chain.name);
    const Beside coarse = beside_inverse_dynamics(chain, 1e-3), fine = beside_inverse_dynamics(chain, 2.5e-4);
    RecordProperty(chain.name[1] == 'o' ? "four" : "five",
                   fmt::format("{:.2g} and {:.2g} of {:.2g}", coarse.difference, fine.difference, fine.size));
    EXPECT_LT(coarse.difference, 0.03 * coarse.size);
    EXPECT_LT(fine.difference, 0.5 * coarse.difference);
  }
}

TEST(Feedforward, ContradictingTargetsAreTold) {
  World world = test::make_world(test::four_bar(), {.dt = kStep});
  const std::vector<JointId> joints = named(world, {"crank", "rocker"});
  Feedforward forward = make(world, joints);
  ASSERT_TRUE(forward.find(world, std::vector<double>{0, 0}).empty());
  EXPECT_LT(forward.missed(), 1e-6) << "both can stand";
  ASSERT_TRUE(forward.find(world, std::vector<double>{0, 1}).empty());
  EXPECT_GT(forward.missed(), 0.1) << "the rocker cannot turn while the crank stands";
}

// ---- standing

struct Standing {
  World world;
  std::vector<JointId> joints;
  LinkId pelvis;
};

/// The bundled humanoid without its controllers; its rubber bushes have no motors.
Standing humanoid() {
  Result<LoadedScene> loaded = load_scene(KARAKURI_SOURCE_DIR "/scenes/humanoid.scene.yaml");
  if (!loaded.ok()) {
    ADD_FAILURE() << to_string(loaded.errors());
    std::abort();
  }
  Standing out{test::make_world(loaded->scene, loaded->settings, loaded->gravity), {}, {}};
  for (const JointEntry& joint : out.world.model().joints)
    if (joint.first_v >= 0 && joint.kind != JointKind::kFree && joint.name.find("bush") == std::string::npos)
      out.joints.push_back(joint.id);
  for (const LinkEntry& link : out.world.model().links)
    if (link.name == "pelvis") out.pelvis = link.id;
  return out;
}

double stand(Standing& robot, bool contact, double seconds, double bend = 0, By by = By::kVelocity) {
  Feedforward forward = make(robot.world, robot.joints, {.contact = contact});
  std::vector<double> target(robot.joints.size(), 0.0);
  const double height = robot.world.pose(robot.pelvis).p.z();
  double lowest = 0;
  for (int k = 0; k < static_cast<int>(seconds / kStep); ++k) {
    for (std::size_t i = 0; i < target.size(); ++i) {
      const std::string& name = robot.world.model().find(robot.joints[i])->name;
      const double share = name.ends_with("knee")                                         ? 1
                           : name.ends_with("hip_pitch") || name.ends_with("ankle_pitch") ? -0.5
                                                                                          : 0;
      target[i] = share * bend * 0.5 * kTurn / 2 * std::sin(kTurn / 2 * k * kStep);  // down and up in 2 s
    }
    const auto flaws = by == By::kVelocity ? forward.find(robot.world, target)
                                           : forward.find_for_acceleration(robot.world, target);
    EXPECT_TRUE(flaws.empty()) << to_string(flaws);
    forward.apply(robot.world);
    robot.world.step();
    lowest = std::max(lowest, height - robot.world.pose(robot.pelvis).p.z());
  }
  return lowest;
}

double tilt(const Standing& robot) {
  return std::acos(std::min(1.0, robot.world.pose(robot.pelvis).R(2, 2)));
}

TEST(Feedforward, HoldsAHumanoidThatStandsWithContactsCounted) {
  Standing robot = humanoid();
  EXPECT_EQ(robot.joints.size(), 24u);
  // the feet start a hair above the ground, and the bushes give 65 kg * 9.8 / (2 * 1e5 N/m) = 3 mm
  const double sunk = stand(robot, true, 2);
  RecordProperty("sunk", fmt::format("{:.2g}", sunk));
  RecordProperty("tilt", fmt::format("{:.2g}", tilt(robot)));
  EXPECT_LT(sunk, 0.03);
  EXPECT_LT(tilt(robot), 0.03);
  double turned = 0;
  for (const JointId joint : robot.joints) turned = std::max(turned, std::abs(robot.world.q(joint)[0]));
  EXPECT_LT(turned, 1e-4) << "no joint has moved from where it was";
}

TEST(Feedforward, LetsAHumanoidBendItsKneesSlow) {
  Standing robot = humanoid();
  const double lowest =
      stand(robot, true, 2, 0.6);  // legs of 0.4 + 0.4 m with knees at 0.6 rad: 0.8 (1 - cos 0.3) = 36 mm
  RecordProperty("lowest", fmt::format("{:.2g}", lowest));
  EXPECT_GT(lowest, 0.03);
  EXPECT_LT(lowest, 0.06);
  EXPECT_LT(tilt(robot), 0.05);
}

TEST(Feedforward, WithoutContactsAStandingRobotIsTakenForOneThatFallsSlow) {
  Standing robot = humanoid();
  stand(robot, true, 1, 0.6);  // down: straight legs would carry it without any effort
  Standing held{robot.world.clone(), robot.joints, robot.pelvis};
  // by accelerations: a velocity target would undo, step by step, what the missing weight has done
  EXPECT_LT(stand(held, true, 0.5, 0, By::kAcceleration), 0.01);
  EXPECT_GT(stand(robot, false, 0.5, 0, By::kAcceleration), 0.1);
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
