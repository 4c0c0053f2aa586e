// Configurations live on a manifold: integrate and difference are inverse to each other, for every joint
// kind.
#include "karakuri/model/configuration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "karakuri/model/state.h"
#include "karakuri/spatial/rotation.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

constexpr double kPi = std::numbers::pi;

// Numbers here are of order one and each is the end of some twenty operations.
constexpr double kRounding = 1e-14;

/// One link of each kind that moves, as a chain.
Mechanism one_of_each() {
  Random random(1);
  Mechanism m;
  LinkId at = m.world();
  for (int k = 1; k < kJointKindCount; ++k) {
    const auto kind = static_cast<JointKind>(k);
    const LinkId link = m.add_link(std::string(name(kind)), random_inertia(random));
    EXPECT_TRUE(m.add_joint(random_joint(random, kind, std::string(name(kind)), at, link)).ok());
    at = link;
  }
  return m;
}

Quat quat_of(const Model& model, const State& state, const char* joint) {
  for (const JointEntry& entry : model.joints) {
    if (entry.name != joint) continue;
    const double* q = &state.q[entry.first_q + q_size(entry.kind) - 4];
    return Quat(q[0], q[1], q[2], q[3]);
  }
  ADD_FAILURE() << "no joint " << joint;
  return Quat::Identity();
}

void set_quat(const Model& model, State& state, const char* joint, const Quat& quat) {
  for (const JointEntry& entry : model.joints) {
    if (entry.name != joint) continue;
    double* q = &state.q[entry.first_q + q_size(entry.kind) - 4];
    q[0] = quat.w(), q[1] = quat.x(), q[2] = quat.y(), q[3] = quat.z();
  }
}

TEST(Configuration, SizesOfEachKind) {
  const struct {
    JointKind kind;
    int q, v;
  } sizes[] = {{JointKind::kFixed, 0, 0},  {JointKind::kRevolute, 1, 1},    {JointKind::kPrismatic, 1, 1},
               {JointKind::kScrew, 1, 1},  {JointKind::kCylindrical, 2, 2}, {JointKind::kUniversal, 2, 2},
               {JointKind::kPlanar, 3, 3}, {JointKind::kSpherical, 4, 3},   {JointKind::kFree, 7, 6}};
  for (const auto& [kind, q, v] : sizes) {
    EXPECT_EQ(q_size(kind), q) << name(kind);
    EXPECT_EQ(v_size(kind), v) << name(kind);
  }
  const Model model = compile_or_die(one_of_each());
  EXPECT_EQ(model.nq, 21);
  EXPECT_EQ(model.nv, 19);
}

TEST(Configuration, NeutralIsZeroWithUnitQuaternions) {
  const Model model = compile_or_die(one_of_each());
  State state(model);
  Random random(1);
  random_configuration(model, random, state.q_view());
  neutral(model, state.q_view());
  EXPECT_EQ(std::count(state.q.begin(), state.q.end(), 1.0), 2);
  EXPECT_EQ(std::count(state.q.begin(), state.q.end(), 0.0), model.nq - 2);
  for (const char* joint : {"spherical", "free"}) EXPECT_EQ(quat_of(model, state, joint).w(), 1.0);
}

TEST(Configuration, DifferenceUndoesIntegrate) {
  const Model model = compile_or_die(one_of_each());
  Random random(2);
  for (int repeat = 0; repeat < 100; ++repeat) {
    State state = random_state(model, random);
    const std::vector<double> q0 = state.q;
    // the way back is unique up to turns of pi: |v| stays below it
    const Eigen::VectorXd v = random_vector(model.nv, random, 1.7);
    integrate(model, state.q_view(), v, 1.0);
    Eigen::VectorXd back(model.nv);
    difference(model, Eigen::Map<const Eigen::VectorXd>(q0.data(), model.nq), state.q_view(), back);
    EXPECT_LT((back - v).cwiseAbs().maxCoeff(), kRounding);
  }
}

TEST(Configuration, IntegrateUndoesDifference) {
  const Model model = compile_or_die(one_of_each());
  Random random(3);
  for (int repeat = 0; repeat < 100; ++repeat) {
    State a = random_state(model, random);
    const State b = random_state(model, random);
    Eigen::VectorXd v(model.nv);
    difference(model, a.q_view(), b.q_view(), v);
    integrate(model, a.q_view(), v, 1.0);
    difference(model, a.q_view(), b.q_view(), v);  // not a - b: q and -q are the same rotation
    EXPECT_LT(v.cwiseAbs().maxCoeff(), kRounding);
  }
}

TEST(Configuration, DifferenceTakesTheShortWayRound) {
  const Model model = compile_or_die(one_of_each());
  State a(model), b(model);
  set_quat(model, b, "spherical", quat_exp({0, 0, 1.5 * kPi}));
  Eigen::VectorXd v(model.nv);
  difference(model, a.q_view(), b.q_view(), v);
  EXPECT_NEAR(v.minCoeff(), -0.5 * kPi, kRounding);
  EXPECT_NEAR(v.maxCoeff(), 0.0, kRounding);
}

TEST(Configuration, StepsScaleVelocities) {
  const Model model = compile_or_die(one_of_each());
  Random random(4);
  State whole = random_state(model, random), halves = whole;
  integrate(model, whole.q_view(), whole.v_view(), 0.4);
  for (int i = 0; i < 2; ++i) integrate(model, halves.q_view(), halves.v_view(), 0.2);
  Eigen::VectorXd v(model.nv);
  difference(model, whole.q_view(), halves.q_view(), v);
  EXPECT_LT(v.cwiseAbs().maxCoeff(), kRounding) << "constant velocity for 0.4 s is the same in two steps";
}

TEST(Configuration, AngularVelocityIsInTheParentsAxes) {
  const Model model = compile_or_die(one_of_each());
  State state(model);
  const Quat start = quat_exp({0, 0.5 * kPi, 0});
  set_quat(model, state, "spherical", start);
  for (const JointEntry& entry : model.joints) {
    if (entry.kind == JointKind::kSpherical) state.v[entry.first_v + 2] = 0.3;
  }
  integrate(model, state.q_view(), state.v_view(), 1.0);
  const Quat expected = quat_exp({0, 0, 0.3}) * start;
  EXPECT_LT(quat_of(model, state, "spherical").angularDistance(expected), 1e-7);  // an arc cosine near one
}

TEST(Configuration, QuaternionsStayNormalized) {
  const Model model = compile_or_die(one_of_each());
  Random random(5);
  State state = random_state(model, random, 30.0);
  for (int i = 0; i < 100'000; ++i) integrate(model, state.q_view(), state.v_view(), 1e-3);
  for (const char* joint : {"spherical", "free"}) {
    EXPECT_NEAR(quat_of(model, state, joint).norm(), 1.0, 4e-16) << "after 100000 steps";
  }
  set_quat(model, state, "free", Quat(0, 3, 0, 4));  // as from a careless file
  integrate(model, state.q_view(), state.v_view(), 0.0);
  EXPECT_NEAR(quat_of(model, state, "free").x(), 0.6, kRounding);
  set_quat(model, state, "free", Quat(0, 0, 0, 0));
  integrate(model, state.q_view(), Eigen::VectorXd::Zero(model.nv), 1.0);
  EXPECT_EQ(quat_of(model, state, "free").w(), 1.0) << "no rotation where there is none to normalize";
}

TEST(Configuration, RandomRespectsLimits) {
  Mechanism m = one_of_each();
  const struct {
    double lower, upper;
  } limits[] = {{-0.1, 0.2}, {5, 7}, {-9, -8}, {-100, 100}, {0.3, 0.3}, {-DofProperties::kNone, -4}};
  for (const auto& [lower, upper] : limits) {
    for (JointId id : m.joint_ids()) {
      Joint& joint = m.joint(id);
      const int plain = has_quaternion(joint.kind) ? v_size(joint.kind) - 3 : v_size(joint.kind);
      for (int k = 0; k < plain; ++k) joint.dofs[k].lower = lower, joint.dofs[k].upper = upper;
    }
    const Model model = compile_or_die(m);
    Random random(6);
    State state(model);
    for (int repeat = 0; repeat < 50; ++repeat) {
      random_configuration(model, random, state.q_view());
      for (const JointEntry& entry : model.joints) {
        const int plain = has_quaternion(entry.kind) ? v_size(entry.kind) - 3 : v_size(entry.kind);
        for (int k = 0; k < plain; ++k) {
          EXPECT_GE(state.q[entry.first_q + k], lower) << entry.name;
          EXPECT_LE(state.q[entry.first_q + k], upper) << entry.name;
        }
      }
    }
  }
}

TEST(Configuration, RandomRespectsTheAngleOfQuaternions) {
  Mechanism m = one_of_each();
  for (JointId id : m.joint_ids()) {
    if (has_quaternion(m.joint(id).kind)) m.joint(id).dofs[v_size(m.joint(id).kind) - 3].upper = 0.5;
  }
  const Model model = compile_or_die(m);
  Random random(7);
  State state(model);
  double widest = 0;
  for (int repeat = 0; repeat < 200; ++repeat) {
    random_configuration(model, random, state.q_view());
    for (const char* joint : {"spherical", "free"}) {
      widest = std::max(widest, quat_log(quat_of(model, state, joint)).norm());
    }
  }
  EXPECT_LE(widest, 0.5 + kRounding);
  EXPECT_GT(widest, 0.4);  // and makes use of them
}

TEST(Configuration, RandomCoversTheRange) {
  const Model model = compile_or_die(one_of_each());
  Random random(8);
  State state(model);
  Eigen::VectorXd low = Eigen::VectorXd::Zero(model.nq), high = low;
  Mat3 mean = Mat3::Zero();
  constexpr int kDraws = 2000;
  for (int repeat = 0; repeat < kDraws; ++repeat) {
    random_configuration(model, random, state.q_view());
    low = low.cwiseMin(state.q_view());
    high = high.cwiseMax(state.q_view());
    mean += quat_of(model, state, "free").toRotationMatrix() / kDraws;
  }
  for (const JointEntry& entry : model.joints) {
    if (entry.kind == JointKind::kRevolute) {
      EXPECT_LT(low[entry.first_q], -0.99 * kPi);
      EXPECT_GT(high[entry.first_q], 0.99 * kPi);
    }
  }
  // the mean of uniform rotations is zero; each entry has variance 1/3, so 2000 draws give 0.013: five of
  // these
  EXPECT_LT(mean.cwiseAbs().maxCoeff(), 0.065);
}

TEST(State, IsAPlainCopy) {
  const Model model = compile_or_die(one_of_each());
  Random random(9);
  State state = random_state(model, random);
  state.time = 1.5;
  const State snapshot = state;
  const std::vector<double> q = state.q;
  integrate(model, state.q_view(), state.v_view(), 1.0);
  state.v[0] += 1;
  state.time = 2;
  EXPECT_EQ(snapshot.q, q) << "the copy shares nothing with the original";
  EXPECT_NE(state.q, q);
  state = snapshot;
  EXPECT_EQ(state.q, q);
  EXPECT_EQ(state.v, snapshot.v);
  EXPECT_EQ(state.time, 1.5);
}

}  // namespace
}  // namespace karakuri::test
