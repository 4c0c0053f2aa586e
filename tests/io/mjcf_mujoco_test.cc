// MuJoCo reads the same files: mass matrix, bias and poses agree at random states.
#include <gtest/gtest.h>

#ifdef KARAKURI_HAVE_MUJOCO

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "io/corpus.h"
#include "io/mujoco_scene.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/dynamics/rnea.h"
#include "karakuri/model/configuration.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;

constexpr int kStates = 10;

// MuJoCo turns inertias to principal axes by a rotation that stops at off-diagonal entries of this size, per
// body.
constexpr double kMujocoEigen = 1e-12;  // [kg m^2]

/// Relative, but for what MuJoCo's own rounding explains.
double relative_error(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b, double explained) {
  return std::max(0.0, (a - b).norm() - explained) / b.norm();
}

/// Angles within ±1 rad of the reference, so that chains of three hinges are away from their singularity.
State random_state(const Model& model, Random& random) {
  State state(model);
  VecOut q = state.q_view();
  random_configuration(model, random, q);
  for (double& v : state.v) v = random.uniform(-2, 2);
  return state;
}

/// Worst relative errors over random states: mass matrix, bias, position of bodies.
struct Errors {
  double mass = 0, bias = 0, pose = 0;
};

Errors compare(const LoadedScene& loaded, const Model& model, MujocoScene& peer) {
  Errors worst;
  Random random(3);
  Workspace ws(model);
  MassMatrix sparse(model);
  Eigen::MatrixXd M(model.nv, model.nv);
  Eigen::VectorXd bias(model.nv);
  const Mechanism& m = loaded.scene.mechanism;
  for (int i = 0; i < kStates; ++i) {
    const State state = random_state(model, random);
    peer.set_state(m, model, state);
    mj_forward(peer.model(), peer.data());
    crba(model, state, ws, sparse);
    to_dense(model, sparse, M);
    bias_effort(model, state, {}, ws, bias);
    const double explained = kMujocoEigen * peer.model()->nbody;
    worst.mass = std::max(worst.mass, relative_error(M, peer.mass_matrix(), explained));
    // products of two rates of up to 2 sqrt(nv) rad/s
    worst.bias = std::max(worst.bias, relative_error(bias, peer.bias(), 4 * model.nv * explained));
    for (int b = 1; b < peer.model()->nbody; ++b) {
      const char* name = mj_id2name(peer.model(), mjOBJ_BODY, b);
      const LinkId id = name && *name ? m.find_link(name) : LinkId{};
      if (!id) continue;
      const LinkEntry& link = *model.find(id);
      const Transform X_WL = Transform{Mat3(ws.pose[link.body].R), Vec3(ws.pose[link.body].p)} * link.X_BL;
      const Vec3 p = Eigen::Map<const Vec3>(peer.data()->xpos + 3 * b);
      const Mat3 R =
          Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(peer.data()->xmat + 9 * b);
      worst.pose = std::max({worst.pose, (X_WL.p - p).norm(), (X_WL.R - R).norm()});
    }
  }
  return worst;
}

void expect_agreement(const fs::path& file, double tolerance) {
  std::string reason;
  const auto peer = MujocoScene::load(file.string(), reason);
  if (!peer) GTEST_SKIP() << "MuJoCo " << mj_versionString() << " refuses it: " << reason;
  const Result<LoadedScene> loaded = load_scene(file, uncached());
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  const Result<Model> model = compile(loaded->scene.mechanism, loaded->gravity);
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  ASSERT_EQ(model->nq, peer->model()->nq);
  ASSERT_EQ(model->nv, peer->model()->nv);
  EXPECT_EQ(loaded->settings.dt, peer->model()->opt.timestep);
  EXPECT_EQ(loaded->keyframes.size(), static_cast<std::size_t>(peer->model()->nkey));
  EXPECT_EQ(loaded->actuators.size(), static_cast<std::size_t>(peer->model()->nu));
  const Errors worst = compare(*loaded, *model, *peer);
  EXPECT_LT(worst.mass, tolerance);
  EXPECT_LT(worst.bias, tolerance);
  EXPECT_LT(worst.pose, 1e-9);
  testing::Test::RecordProperty("mass", std::to_string(worst.mass));
  if (std::getenv("KARAKURI_VERBOSE")) {
    printf("%s: mass %.1e bias %.1e pose %.1e\n", file.filename().c_str(), worst.mass, worst.bias,
           worst.pose);
  }
}

std::vector<std::string> corpus_mjcf() {
  std::vector<std::string> files;
  for (const char* folder : {"menagerie", "mujoco", "humanoids"}) {
    if (!fs::exists(corpus() / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(corpus() / folder)) {
      const bool keys = entry.path().filename() == "keyframes.xml";
      if (entry.path().extension() == ".xml" && !keys)
        files.push_back(fs::relative(entry.path(), corpus()).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files.empty() ? std::vector<std::string>{"none"} : files;
}

/// A copy of a file, and of those beside it, without what MuJoCo 2.2 does not know or cannot open and what
/// has no part in the dynamics: cameras, textures, some options. Meshes are linked to.
fs::path made_older(const fs::path& file, const fs::path& folder) {
  static const std::regex unknown(
      R"( (resolution|focalpixel|principalpixel|sensorsize|ls_iterations|integrator|eulerdamp|texture)="[^"]*"|<texture[^>]*/>)");
  fs::remove_all(folder);
  fs::create_directories(folder / "xml");
  for (const auto& entry : fs::directory_iterator(file.parent_path())) {
    if (entry.path().extension() != ".xml") {
      fs::create_symlink(entry.path(), folder / "xml" / entry.path().filename());
      continue;
    }
    std::ifstream in(entry.path());
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    std::ofstream(folder / "xml" / entry.path().filename()) << std::regex_replace(text, unknown, "");
  }
  for (const auto& entry : fs::directory_iterator(file.parent_path().parent_path())) {  // meshdir="../meshes"
    if (entry.path() != file.parent_path() && entry.is_directory()) {
      fs::create_directory_symlink(entry.path(), folder / entry.path().filename());
    }
  }
  return folder / "xml" / file.filename();
}

class AgreesOnCorpus : public testing::TestWithParam<std::string> {};

TEST_P(AgreesOnCorpus, InDynamicsAtRandomStates) {
  KARAKURI_NEEDS_CORPUS(GetParam());
  expect_agreement(corpus() / GetParam(), 1e-8);
}

TEST_P(AgreesOnCorpus, WithoutWhatMujocoIsTooOldFor) {
  KARAKURI_NEEDS_CORPUS(GetParam());
  const fs::path folder = fs::path(testing::TempDir()) / ("older_" + std::to_string(::getpid()));
  const fs::path file = made_older(fs::absolute(corpus() / GetParam()).lexically_normal(), folder);
  expect_agreement(file, 1e-8);
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(All, AgreesOnCorpus, testing::ValuesIn(corpus_mjcf()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace karakuri::test

#else

TEST(AgreesOnCorpus, All) { GTEST_SKIP() << "MuJoCo was not found when this was built (libmujoco-dev)"; }

#endif
