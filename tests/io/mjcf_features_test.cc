// One file for each feature of MJCF, tests/io/mjcf/*.xml: MuJoCo reads the same from it.
#include <gtest/gtest.h>

#ifdef KARAKURI_HAVE_MUJOCO

#include <algorithm>

#include "io/corpus.h"
#include "io/mujoco_compare.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return fs::path(KARAKURI_SOURCE_DIR) / "tests" / "io" / "mjcf"; }

std::vector<std::string> features() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder())) names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

struct Both {
  std::unique_ptr<MujocoScene> peer;
  LoadedScene scene;
  Model model;
};

Both load_both(const std::string& feature) {
  const fs::path file = folder() / (feature + ".xml");
  std::string reason;
  auto peer = MujocoScene::load(file.string(), reason);
  if (!peer) throw std::runtime_error(reason);
  LoadOptions strict = uncached();
  strict.strict = true;
  Result<LoadedScene> loaded = load_scene(file, strict);
  if (!loaded.ok()) throw std::runtime_error(to_string(loaded.errors()));
  Result<Model> model = compile(loaded->scene.mechanism, loaded->gravity);
  if (!model.ok()) throw std::runtime_error(to_string(model.errors()));
  return {std::move(peer), std::move(*loaded), std::move(*model)};
}

class Feature : public testing::TestWithParam<std::string> {};

// The numbers come from the same text by the same formulas in double precision, in chains of at most five
// bodies; MuJoCo turns inertias to principal axes by an iteration that stops at about 1e-9.
constexpr double kTolerance = 1e-8;

TEST_P(Feature, IsReadAsMujocoDoes) {
  Both both = load_both(GetParam());
  ASSERT_EQ(both.model.nq, both.peer->model()->nq);
  ASSERT_EQ(both.model.nv, both.peer->model()->nv);
  const Errors worst = compare(both.scene, both.model, *both.peer);
  // MuJoCo keeps vertices, moved to the mesh's centre, in single precision: 2e-8 is seen
  const double of_masses = GetParam() == "mesh_inertia" ? 1e-7 : kTolerance;
  EXPECT_LT(worst.mass, of_masses);
  EXPECT_LT(worst.bias, of_masses);
  EXPECT_LT(worst.passive, kTolerance);
  EXPECT_LT(worst.pose, kTolerance);
  EXPECT_LT(worst.geom, kTolerance);
}

INSTANTIATE_TEST_SUITE_P(All, Feature, testing::ValuesIn(features()),
                         [](const auto& info) { return info.param; });

TEST(Features, LimitsOfJointsAreMujocos) {
  for (const char* feature : {"autolimits", "default_classes"}) {
    Both both = load_both(feature);
    const mjModel& theirs = *both.peer->model();
    int limited = 0;
    for (int j = 0; j < theirs.njnt; ++j) {
      const JointId id = both.scene.scene.mechanism.find_joint(mj_id2name(&theirs, mjOBJ_JOINT, j));
      ASSERT_TRUE(id) << mj_id2name(&theirs, mjOBJ_JOINT, j);
      const DofProperties& dof = both.scene.scene.mechanism.joint(id).dofs[0];
      limited += theirs.jnt_limited[j];
      EXPECT_EQ(std::isfinite(dof.lower), theirs.jnt_limited[j] != 0);
      if (!theirs.jnt_limited[j]) continue;
      EXPECT_NEAR(dof.lower, theirs.jnt_range[2 * j], 1e-15);
      EXPECT_NEAR(dof.upper, theirs.jnt_range[2 * j + 1], 1e-15);
    }
    EXPECT_GT(limited, 0);
  }
}

TEST(Features, KeyframesAreMujocosStates) {
  Both both = load_both("keyframes");
  const mjModel& theirs = *both.peer->model();
  ASSERT_EQ(static_cast<int>(both.scene.keyframes.size()), theirs.nkey);
  for (int k = 0; k < theirs.nkey; ++k) {
    const Keyframe& key = both.scene.keyframes[static_cast<std::size_t>(k)];
    EXPECT_EQ(key.time, theirs.key_time[k]);
    Scene scene = both.scene.scene;
    apply(key, scene);
    State state(both.model);
    for (const InitialJoint& i : scene.initial) {
      const JointEntry& joint = *both.model.find(i.joint);
      std::copy(i.q.begin(), i.q.end(), state.q.begin() + joint.first_q);
      std::copy(i.v.begin(), i.v.end(), state.v.begin() + joint.first_v);
    }
    both.peer->set_state(scene.mechanism, both.model, state);
    const Eigen::Map<const Eigen::VectorXd> q(both.peer->data()->qpos, theirs.nq),
        key_q(theirs.key_qpos + k * theirs.nq, theirs.nq), v(both.peer->data()->qvel, theirs.nv),
        key_v(theirs.key_qvel + k * theirs.nv, theirs.nv);
    EXPECT_LT((q - key_q).norm(), 1e-12) << q.transpose() << "\n" << key_q.transpose();
    EXPECT_LT((v - key_v).norm(), 1e-12) << v.transpose() << "\n" << key_v.transpose();
  }
}

}  // namespace
}  // namespace karakuri::test

#else

TEST(Features, All) { GTEST_SKIP() << "MuJoCo was not found when this was built (libmujoco-dev)"; }

#endif
