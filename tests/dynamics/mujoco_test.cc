// Mass matrix, bias and acceleration agree with those of MuJoCo, an engine written by others.
#include <gtest/gtest.h>

#ifdef KARAKURI_HAVE_MUJOCO

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/dynamics/rnea.h"
#include "support/mujoco_peer.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

constexpr int kStates = 20;

// Both engines round at 1e-16 and differ in the order of their sums; sums of up to 40 bodies' terms are seen
// to differ by less than 1e-14. An acceleration also suffers the condition of the mass matrix (1e5 in the
// chain): seen are differences up to 3e-12.
constexpr double kEffortTolerance = 1e-12;
constexpr double kAccelerationTolerance = 1e-10;

struct Case {
  std::string name;
  std::function<Mechanism()> make;
  friend void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }
};

/// A random tree of these kinds. Armatures are alike within each joint, since MuJoCo's turn with the child.
Mechanism random_mechanism(int dofs, std::uint64_t seed, const std::vector<JointKind>& kinds) {
  Random random(seed);
  Mechanism m;
  std::vector<LinkId> links{m.world()};
  for (int total = 0, i = 0; total < dofs; ++i) {
    const JointKind kind = kinds[random.below(static_cast<int>(kinds.size()))];
    const LinkId parent = links[random.below(static_cast<int>(links.size()))];
    const LinkId link = m.add_link(fmt::format("link{}", i), random_inertia(random));
    Joint joint = random_joint(random, kind, fmt::format("joint{}", i), parent, link);
    for (DofProperties& dof : joint.dofs) dof.armature = joint.dofs[0].armature;
    if (!m.add_joint(joint)) std::abort();
    links.push_back(link);
    total += v_size(kind);
  }
  return m;
}

std::vector<JointKind> all_of_mujoco() {
  std::vector<JointKind> kinds;
  for (int k = 0; k < kJointKindCount; ++k) {
    if (static_cast<JointKind>(k) != JointKind::kScrew) kinds.push_back(static_cast<JointKind>(k));
  }
  return kinds;
}

/// Joints on free links and free links on joints, where the exporter writes slides and a ball.
Mechanism nested_free() {
  Random random(5);
  Mechanism m;
  LinkId at = m.add_free_link("base", random_inertia(random), random_transform(random, 1));
  for (int i = 0; i < 3; ++i) {
    const LinkId link = m.add_link(fmt::format("link{}", i), random_inertia(random));
    Joint joint = random_joint(random, JointKind::kFree, fmt::format("joint{}", i), at, link);
    for (DofProperties& dof : joint.dofs) dof.armature = 0.01 * i;
    if (!m.add_joint(joint)) std::abort();
    at = link;
  }
  return m;
}

std::vector<Case> cases() {
  using enum JointKind;
  std::vector<Case> all{
      {"arm", arm7},
      {"humanoid", humanoid36},
      {"chain30", [] { return chain(30); }},
      {"balls", [] { return random_mechanism(30, 1, {kSpherical}); }},
      {"balls_and_hinges", [] { return random_mechanism(30, 2, {kSpherical, kRevolute}); }},
      {"sliders", [] { return random_mechanism(20, 3, {kPrismatic, kRevolute}); }},
      {"nested_free", nested_free},
  };
  for (JointKind kind : all_of_mujoco()) {
    if (kind == kFixed) continue;
    all.push_back({std::string(name(kind)), [=] { return random_mechanism(3 * v_size(kind), 4, {kind}); }});
  }
  for (std::uint64_t seed = 10; seed < 20; ++seed) {
    all.push_back({fmt::format("tree{}", seed), [=] { return random_mechanism(40, seed, all_of_mujoco()); }});
  }
  return all;
}

double relative_error(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return (a - b).norm() / std::max(b.norm(), 1e-3);
}

class AgreesWithMujoco : public testing::TestWithParam<Case> {
 protected:
  AgreesWithMujoco()
      : mechanism(GetParam().make()),
        model(compile_or_die(mechanism, {0.3, -1.1, -9.81})),  // not along an axis, so that no term vanishes
        made(MujocoPeer::make(mechanism, model)) {}

  void SetUp() override { ASSERT_TRUE(made.ok()) << to_string(made.errors()); }

  State next_state() { return random_state(model, random, 2.0); }

  Random random{11};
  Mechanism mechanism;
  Model model;
  Result<MujocoPeer> made;
};

TEST_P(AgreesWithMujoco, MassMatrix) {
  MujocoPeer& peer = *made;
  Workspace ws(model);
  MassMatrix sparse(model);
  Eigen::MatrixXd ours(model.nv, model.nv);
  for (int i = 0; i < kStates; ++i) {
    const State state = next_state();
    peer.set_state(state);
    mj_forward(peer.model(), peer.data());
    // row-major or not is the same for a symmetric matrix
    Eigen::MatrixXd M(model.nv, model.nv);
    mj_fullM(peer.model(), M.data(), peer.data()->qM);
    crba(model, state, ws, sparse);
    to_dense(model, sparse, ours);
    const Eigen::MatrixXd T = peer.transform(state);
    EXPECT_LT(relative_error(ours, T.transpose() * M * T), kEffortTolerance);
  }
}

TEST_P(AgreesWithMujoco, Bias) {
  MujocoPeer& peer = *made;
  Workspace ws(model);
  for (int i = 0; i < kStates; ++i) {
    const State state = next_state();
    peer.set_state(state);
    mj_forward(peer.model(), peer.data());
    const Eigen::Map<const Eigen::VectorXd> bias(peer.data()->qfrc_bias, model.nv);
    Eigen::VectorXd ours(model.nv);
    bias_effort(model, state, {}, ws, ours);
    EXPECT_LT(relative_error(ours, peer.effort_from_peer(state, bias)), kEffortTolerance);
  }
}

TEST_P(AgreesWithMujoco, Acceleration) {
  MujocoPeer& peer = *made;
  Workspace ws(model);
  for (int i = 0; i < kStates; ++i) {
    const State state = next_state();
    const Eigen::VectorXd tau = random_vector(model.nv, random, 10);
    const Eigen::VectorXd tau_peer = peer.effort_to_peer(state, tau);
    peer.set_state(state);
    std::copy(tau_peer.begin(), tau_peer.end(), peer.data()->qfrc_applied);
    mj_forward(peer.model(), peer.data());
    const Eigen::Map<const Eigen::VectorXd> a_peer(peer.data()->qacc, model.nv);
    Eigen::VectorXd a(model.nv);
    aba(model, state, tau, {}, ws, a);
    EXPECT_LT(relative_error(peer.to_peer(state, a), a_peer), kAccelerationTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, AgreesWithMujoco, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(MujocoPeer, SaysWhatMujocoDoesNotHave) {
  Random random(1);
  Mechanism m;
  const LinkId link = m.add_link("nut", random_inertia(random));
  ASSERT_TRUE(m.add_joint(random_joint(random, JointKind::kScrew, "thread", m.world(), link)));
  const auto files = to_mjcf(m, kEarthGravity);
  ASSERT_FALSE(files.ok());
  EXPECT_NE(to_string(files.errors()).find("'thread' is a screw"), std::string::npos);
}

TEST(MujocoPeer, LongChainsAreSpreadOverFiles) {
  const Mechanism m = chain(200);
  const Model model = compile_or_die(m);
  auto peer = MujocoPeer::make(m, model);
  ASSERT_TRUE(peer.ok()) << to_string(peer.errors());
  EXPECT_EQ(peer->model()->nv, 200);
}

}  // namespace
}  // namespace karakuri::test

#else

TEST(AgreesWithMujoco, All) { GTEST_SKIP() << "MuJoCo was not found when this was built (libmujoco-dev)"; }

#endif
