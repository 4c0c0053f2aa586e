// Coupled joints and tendons of files: MuJoCo has the same rows, errors and accelerations; mimic joints
// follow.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "io/corpus.h"
#include "io/mujoco_scene.h"
#include "karakuri/dynamics/closed_loop.h"
#include "karakuri/dynamics/relation_rows.h"
#include "karakuri/world/world.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGears =
    R"(<mujoco><compiler angle="radian"/><option jacobian="dense"><flag contact="disable"/></option>
<worldbody>
<body name="a"><joint name="a" axis="0 1 0" ref="0.2"/><geom type="capsule" size=".05 .2" pos="0 0 .2"/>
  <body name="b" pos="0 0 .4"><joint name="b" axis="0 1 0" springref="0.1"/><geom type="capsule" size=".04 .2" pos="0 0 .2"/>
    <body name="c" pos="0 0 .4"><joint name="c" axis="1 0 0"/><geom type="box" size=".1 .05 .1" pos=".1 0 0"/></body></body></body>
<body name="s" pos="1 0 0"><joint name="s" type="slide" axis="0 0 1" ref="-0.1"/><geom type="sphere" size=".1"/></body>
</worldbody>
<equality>
<joint joint1="b" joint2="a" polycoef=".1 -2 .3 .2 -.1"/>
<joint joint1="s" joint2="c" polycoef="0 .5 .25 0 0"/>
<joint joint1="c" polycoef=".3 0 0 0 0" active="false"/>
</equality>
<tendon><fixed name="t" limited="true" range="-0.5 0.7" stiffness="30" damping="2"><joint joint="a" coef="1"/><joint joint="b" coef="-.5"/>
<joint joint="s" coef="2"/></fixed></tendon></mujoco>)";

class File {
 public:
  File(const char* name, const char* text) : path_(fs::path(testing::TempDir()) / name) {
    std::ofstream(path_) << text;
  }
  ~File() { fs::remove(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(Couplings, AreReadWithoutAWarning) {
  const File file("gears_read.xml", kGears);
  const Result<LoadedScene> scene = load_scene(file.path(), uncached());
  ASSERT_TRUE(scene.ok()) << to_string(scene.errors());
  for (const Diagnostic& note : scene->notes) EXPECT_EQ(note.severity, Severity::kNote) << to_string(note);
  const Mechanism& m = scene->scene.mechanism;
  ASSERT_EQ(m.couplings().size(), 3u);
  EXPECT_FALSE(m.couplings()[2].active);
  ASSERT_EQ(m.tendons().size(), 1u);
  EXPECT_NEAR(m.tendons()[0].rest, -0.5 * 0.1, 1e-15) << "where its joints' springs are at ease";
  EXPECT_EQ(compile(m)->relations.size(), 3u) << "the one that is not active is none";
}

#ifdef KARAKURI_HAVE_MUJOCO

/// a of M a + bias = tau, J a = -rate: what MuJoCo's own matrices say of rigid couplings.
Eigen::VectorXd rigid_acceleration(const Eigen::MatrixXd& M, const Eigen::VectorXd& effort,
                                   const Eigen::MatrixXd& J, const Eigen::VectorXd& rate) {
  const Eigen::MatrixXd Mi = M.inverse();
  const Eigen::VectorXd free = Mi * effort;
  return free - Mi * J.transpose() * (J * Mi * J.transpose()).ldlt().solve(J * free + rate);
}

TEST(Couplings, AgreeWithMujoco) {
  const File file("gears_peer.xml", kGears);
  const LoadedScene scene = load_scene(file.path(), uncached()).value();
  const Model model = compile(scene.scene.mechanism, scene.gravity).value();
  std::string reason;
  const auto peer = MujocoScene::load(file.path().string(), reason);
  ASSERT_TRUE(peer) << reason;
  Random random(5);
  Workspace ws(model);
  for (int trial = 0; trial < 10; ++trial) {
    State state(model);
    for (double& q : state.q) q = random.uniform(-1, 1);
    for (double& v : state.v) v = random.uniform(-2, 2);
    peer->set_state(scene.scene.mechanism, model, state);
    mj_forward(peer->model(), peer->data());
    const mjData& d = *peer->data();
    ClosedLoop loop;
    update_closed_loop(model, state, ws, loop);
    ASSERT_EQ(loop.rows, 2);
    Eigen::MatrixXd J(2, model.nv);
    for (int row = 0; row < 2; ++row) {
      ASSERT_EQ(d.efc_type[row], mjCNSTR_EQUALITY);
      EXPECT_NEAR(loop.error[row], d.efc_pos[row], 1e-12);
      for (int v = 0; v < model.nv; ++v) J(row, v) = d.efc_J[row * model.nv + v];
    }
    EXPECT_LT((loop.J() - J).norm(), 1e-12);
    EXPECT_NEAR(relation_position(model.relations[2], state.q_view()), d.ten_length[0], 1e-12);
    // dJ/dt by differences of MuJoCo's rows along the motion
    const double dt = 1e-6;
    State ahead = state;
    for (std::size_t i = 0; i < ahead.q.size(); ++i) ahead.q[i] += dt * ahead.v[i];
    peer->set_state(scene.scene.mechanism, model, ahead);
    mj_forward(peer->model(), peer->data());
    Eigen::MatrixXd J_ahead(2, model.nv);
    for (int i = 0; i < 2 * model.nv; ++i) J_ahead(i / model.nv, i % model.nv) = peer->data()->efc_J[i];
    const Eigen::VectorXd rate = (J_ahead - J) / dt * state.v_view();
    peer->set_state(scene.scene.mechanism, model, state);
    mj_forward(peer->model(), peer->data());
    const Eigen::VectorXd expected = rigid_acceleration(peer->mass_matrix(), -peer->bias(), J, rate);
    Eigen::VectorXd a(model.nv);
    constrained_forward_dynamics(model, state, loop, Eigen::VectorXd::Zero(model.nv), {}, ws, a);
    EXPECT_LT((a - expected).norm(), 1e-4 * (1 + expected.norm()));  // of the differences: 1e-6 times P'''
  }
}

#endif

TEST(Couplings, MimicJointsFollow) {
  const File file("mimic.urdf", R"(<robot name="r"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="x"><inertial><origin xyz="0.3 0 0"/><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="y"><inertial><origin xyz="0.3 0 0"/><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="x" type="continuous"><parent link="base"/><child link="x"/><axis xyz="0 1 0"/></joint>
<joint name="y" type="continuous"><parent link="x"/><child link="y"/><origin xyz="0.6 0 0"/><axis xyz="0 1 0"/>
<mimic joint="x" multiplier="-1.5" offset="0.2"/></joint></robot>)");
  LoadOptions options = uncached();
  options.base = Base::kFixed;
  const LoadedScene scene = load_scene(file.path(), options).value();
  EXPECT_TRUE(scene.notes.empty()) << to_string(scene.notes);
  WorldSettings settings = scene.settings;
  settings.dt = 1e-3;
  World world = World::make(scene.scene, settings, scene.gravity).value();
  const JointId x = scene.scene.mechanism.find_joint("x"), y = scene.scene.mechanism.find_joint("y");
  world.step(400);  // it starts 0.2 rad off and comes to its place
  for (int i = 0; i < 1000; ++i) {
    world.step();
    ASSERT_NEAR(world.q(y)[0], 0.2 - 1.5 * world.q(x)[0], 1e-9);
  }
  EXPECT_GT(std::abs(world.q(x)[0]), 0.1) << "it swings";
}

// Models of the corpus whose grippers and hands are coupled.
TEST(Couplings, OfTheCorpusHold) {
  KARAKURI_NEEDS_CORPUS("humanoids");
  int found = 0;
  for (const std::string& name : all_models()) {
    if (is_fragment(name)) continue;
    const Result<LoadedScene> scene = load_scene(corpus() / name, uncached());
    if (!scene.ok() || scene->scene.mechanism.couplings().empty()) continue;
    SCOPED_TRACE(name);
    WorldSettings settings = scene->settings;
    settings.dt = 1e-3;
    World world = World::make(scene->scene, settings, scene->gravity).value();
    ++found;
    world.step(100);
    for (int i = 0; i < 50; ++i) {
      world.step();
      for (const Relation& r : world.model().relations)
        if (r.held) ASSERT_LT(std::abs(relation_position(r, world.state().q_view())), 1e-9) << r.name;
    }
  }
  EXPECT_GE(found, 2);
}

}  // namespace
}  // namespace karakuri::test
