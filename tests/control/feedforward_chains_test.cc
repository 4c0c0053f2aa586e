// Feed-forward by snapshot on closed chains, and for a robot that stands.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "control/following.h"
#include "karakuri/dynamics/closed_loop.h"
#include "support/linkages.h"

namespace karakuri {
namespace {

using test::By;
using test::follow;
using test::humanoid;
using test::kStep;
using test::kTurn;
using test::make;
using test::Sines;
using test::Standing;
using test::start_on;
using test::Track;
using testing::HasSubstr;

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

}  // namespace
}  // namespace karakuri
