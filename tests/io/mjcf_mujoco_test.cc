// MuJoCo reads the same files: mass matrix, bias and poses agree at random states.
#include <gtest/gtest.h>

#ifdef KARAKURI_HAVE_MUJOCO

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>

#include "io/corpus.h"
#include "io/mujoco_compare.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;

/// Our inertias as MuJoCo would keep them: it turns each to principal axes by mju_eig3, whose axes are good
/// to about 1e-6 only, so that what it simulates is not quite what it read.
Mechanism through_eig3(Mechanism m) {
  for (const LinkId id : m.link_ids()) {
    Mat3& I = m.link(id).inertia.about_com;  // symmetric: by rows or by columns is the same
    double moments[3], axes[9], quat[4];
    mju_eig3(moments, axes, quat, I.data());
    const Mat3 R = Quat(quat[0], quat[1], quat[2], quat[3]).toRotationMatrix();
    I = R * Vec3(moments[0], moments[1], moments[2]).asDiagonal() * R.transpose();
    I = 0.5 * (I + I.transpose()).eval();
  }
  return m;
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
  Errors worst = compare(*loaded, *model, *peer);
  if (std::getenv("KARAKURI_VERBOSE")) {
    printf("%s: mass %.1e bias %.1e pose %.1e\n", file.filename().c_str(), worst.mass, worst.bias,
           worst.pose);
  }
  // where the files themselves do not agree, they must once MuJoCo's own loss is taken in
  if (std::max(worst.mass, worst.bias) >= tolerance) {
    const Result<Model> lossy = compile(through_eig3(loaded->scene.mechanism), loaded->gravity);
    ASSERT_TRUE(lossy.ok()) << to_string(lossy.errors());
    const Errors raw = worst;
    worst = compare(*loaded, *lossy, *peer);
    EXPECT_LT(std::max(raw.mass, raw.bias), 10 * tolerance);
    if (std::getenv("KARAKURI_VERBOSE"))
      printf("  through mju_eig3: mass %.1e bias %.1e\n", worst.mass, worst.bias);
  }
  EXPECT_LT(worst.mass, tolerance);
  EXPECT_LT(worst.bias, tolerance);
  EXPECT_LT(worst.pose, 1e-9);
  EXPECT_LT(worst.geom, 1e-9);
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

// ---- what the corpus does not have

struct OwnModel {
  const char* name;
  const char* text;
  double tolerance = 1e-12;
  friend void PrintTo(const OwnModel& m, std::ostream* os) { *os << m.name; }
};

// Every way to write a pose, every geom with mass, several joints on a body, classes within classes, a mesh
// in the file, references that are not zero. Written for MuJoCo 2.2 to read as well.
const OwnModel kOwnModels[] = {
    {"orientations", R"(<mujoco><compiler angle="degree" eulerseq="zXy"/><worldbody>
<body name="a" pos="0 0 1" euler="10 20 30"><joint axis="1 2 3" pos=".1 0 0"/><geom type="box" size=".1 .2 .3" euler="40 -50 60"/>
<body name="b" pos=".3 0 0" axisangle="1 1 0 50"><joint type="slide" axis="0 2 1"/><geom type="capsule" size=".05 .2" xyaxes="1 1 0 0 1 1"/>
<body name="c" pos="0 .3 0" zaxis="1 2 -1"><joint type="ball" pos="0 0 .1" armature=".2"/><geom type="cylinder" size=".05 .2" zaxis="0 1 1" density="500"/>
<body name="d" pos="0 .3 0" xyaxes="0 1 0 -1 0 .5"><joint type="hinge"/><geom type="ellipsoid" size=".05 .2 .1" quat="1 2 3 4" mass="2"/>
</body></body></body></body></worldbody></mujoco>)"},
    {"several_joints", R"(<mujoco><compiler angle="radian"/><worldbody>
<body name="cart" pos="0 0 1"><joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0" ref=".2"/>
<joint name="turn" type="hinge" axis="0 0 1" pos=".1 .2 0" ref=".7"/><geom type="box" size=".3 .2 .1"/>
<body name="arm" pos="0 0 .3"><joint name="h1" axis="1 0 0" pos="0 0 .1" ref="-.3"/><joint name="h2" axis="0 1 0"/>
<joint name="h3" axis="0 .5 1" pos=".1 0 0" armature=".01"/><geom type="capsule" size=".05" fromto="0 0 0 .1 .2 .5"/>
<body name="tip" pos=".1 .2 .5"><joint type="slide" axis="0 0 1" name="s"/><joint type="ball" name="ball"/><geom size=".1"/></body>
</body></body></worldbody></mujoco>)"},
    {"classes", R"(<mujoco><compiler angle="radian"/><default><geom density="2000"/><joint armature=".3"/>
<default class="A"><geom type="box" size=".1 .1 .1"/><joint axis="1 0 0" damping="2"/>
<default class="B"><geom size=".1 .2 .3" quat="1 1 0 0"/></default></default></default><worldbody>
<body name="a" childclass="A"><joint/><geom/><geom class="B" pos="0 0 1"/><body name="b" pos="0 1 0"><joint class="main"/><geom euler="0 .3 0" class="B"/>
<body name="c" childclass="B" pos="0 .2 0"><joint armature="0"/><geom/></body></body></body></worldbody></mujoco>)"},
    {"free_bodies", R"(<mujoco><worldbody>
<body name="a" pos="1 2 3" quat="1 2 0 1"><freejoint/><geom type="box" size=".1 .2 .3" pos=".3 .1 0"/>
<body name="weld" pos="0 0 .5"><geom size=".1"/></body><body name="leg" pos="0 .3 0"><joint axis="0 1 0"/><geom size=".1" pos="0 0 .2"/></body></body>
<body name="b" pos="-1 0 0" euler="0 30 0"><joint type="free" armature=".1"/><geom size=".2" pos="0 .1 0"/></body></worldbody></mujoco>)"},
    {"inertias",
     R"(<mujoco><compiler balanceinertia="true" boundmass=".5" boundinertia=".01" settotalmass="7" inertiagrouprange="0 1"/><worldbody>
<body name="a"><joint/><inertial pos="1 2 3" mass="2" diaginertia=".1 .2 .9" euler="10 20 30"/><geom size="3"/>
<body name="b"><joint axis="1 0 0"/><inertial pos="0 0 1" mass=".1" fullinertia=".2 .3 .4 .01 .02 .03"/>
<body name="c"><joint axis="0 1 0"/><geom size=".1"/><geom size=".5" group="3"/><geom size=".2" mass="0"/></body></body></body></worldbody></mujoco>)",
     1e-8},
    {"meshes", R"(<mujoco><asset>
<mesh name="m" vertex="0 0 0  1 0 0  0 2 0  0 0 3  1 1 1" scale=".1 .1 -.1"/>
<mesh name="r" vertex="0 0 0  1 0 0  0 2 0  0 0 3  1 1 1" refpos=".1 .2 .3" refquat="1 1 0 0" scale=".1 .2 .1"/></asset><worldbody>
<body name="a"><joint/><geom type="mesh" mesh="m" pos=".1 0 0" euler="30 0 0"/>
<body name="b"><joint axis="1 0 0"/><geom type="mesh" mesh="r" mass="2"/>
<body name="c"><joint axis="0 1 0"/><geom type="capsule" mesh="m"/><body name="d"><joint axis="0 1 1"/><geom type="box" mesh="r" fitscale=".5"/>
<body name="e"><joint axis="0 1 1" pos="1 0 0"/><geom type="cylinder" mesh="m"/></body></body></body></body></body></worldbody></mujoco>)",
     1e-6},  // 4e-8 is seen: MuJoCo rounds scaled and turned vertices to single precision, we only the result
};

class AgreesOnOwnModel : public testing::TestWithParam<OwnModel> {};

TEST_P(AgreesOnOwnModel, InDynamicsAtRandomStates) {
  const fs::path file = fs::path(testing::TempDir()) / (std::string(GetParam().name) + "_own.xml");
  std::ofstream(file) << GetParam().text;
  std::string reason;
  ASSERT_TRUE(MujocoScene::load(file.string(), reason)) << reason;
  expect_agreement(file, GetParam().tolerance);
  fs::remove(file);
}

INSTANTIATE_TEST_SUITE_P(All, AgreesOnOwnModel, testing::ValuesIn(kOwnModels),
                         [](const auto& info) { return info.param.name; });

// Actuators: forces on the joints against MuJoCo's, at random controls.
TEST(AgreesWithMujoco, OnActuators) {
  const fs::path file = fs::path(testing::TempDir()) / "actuators_own.xml";
  std::ofstream(file)
      << R"(<mujoco><compiler autolimits="true"/><default><position kp="30"/><general biastype="affine" gainprm="7" biasprm="1 -5 -2"/>
<default class="weak"><motor ctrlrange="-1 1" gear="3"/></default></default><worldbody>
<body><joint name="a" type="hinge"/><geom size=".1" pos="1 0 0"/><body><joint name="b" type="slide"/><geom size=".1"/>
<body><joint name="c" axis="1 0 0"/><geom size=".1"/></body></body></body></worldbody>
<tendon><fixed name="t"><joint joint="a" coef=".5"/><joint joint="c" coef="-2"/></fixed></tendon>
<actuator><motor name="m1" joint="a" gear="20"/><motor name="m2" joint="b" class="weak"/><position name="p" joint="c" ctrlrange="-1 1" forcerange="-20 20"/>
<velocity name="v" joint="b" kv="4" gear="2"/><general name="g" joint="a" gear="3"/><general name="g2" tendon="t" gainprm="2" biasprm="0 -3 -1"/>
<damper name="d" joint="c" kv="6" ctrlrange="0 1.5" gear="2"/></actuator></mujoco>)";
  std::string reason;
  const auto peer = MujocoScene::load(file.string(), reason);
  ASSERT_TRUE(peer) << reason;
  const Result<LoadedScene> loaded = load_scene(file, uncached());
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  const Result<Model> model = compile(loaded->scene.mechanism);
  Random random(2);
  for (int i = 0; i < 20; ++i) {
    const State state = random_state(*model, random);
    peer->set_state(loaded->scene.mechanism, *model, state);
    Eigen::VectorXd tau = Eigen::VectorXd::Zero(model->nv);
    for (std::size_t k = 0; k < loaded->actuators.size(); ++k) {
      const Actuator& a = loaded->actuators[k];
      const double control = peer->data()->ctrl[k] = random.uniform(-2, 2);
      double length = 0, rate = 0;
      for (const Transmission& t : a.transmissions) {
        length += t.gear * state.q[static_cast<std::size_t>(model->find(t.joint)->first_q)];
        rate += t.gear * state.v[static_cast<std::size_t>(model->find(t.joint)->first_v)];
      }
      const double u = std::clamp(control, a.control.low, a.control.high);
      const double damping = a.damping + a.control_damping * u;
      const double force =
          std::clamp(a.gain * u + a.bias - a.stiffness * length - damping * rate, a.force.low, a.force.high);
      for (const Transmission& t : a.transmissions) tau[model->find(t.joint)->first_v] += t.gear * force;
      if (a.transmissions.size() != 1) continue;
      // the same as a drive
      const ActuatorOutput out = actuator_output(a, control);
      const double q = state.q[static_cast<std::size_t>(model->find(a.transmissions[0].joint)->first_q)];
      const double v = state.v[static_cast<std::size_t>(model->find(a.transmissions[0].joint)->first_v)];
      const double pd =
          out.drive.stiffness * (out.drive.q_target - q) + out.drive.damping * (out.drive.v_target - v);
      EXPECT_NEAR(out.effort + std::clamp(pd, -out.drive.limit, out.drive.limit),
                  a.transmissions[0].gear * force, 1e-9);
    }
    mj_forward(peer->model(), peer->data());
    const Eigen::VectorXd theirs = Eigen::Map<Eigen::VectorXd>(peer->data()->qfrc_actuator, model->nv);
    EXPECT_LT((tau - theirs).norm(), 1e-10 * (1 + theirs.norm()));
  }
}

/// Which geoms MuJoCo lets touch at all, against our categories and exclusions.
TEST(AgreesWithMujoco, OnWhatMayTouch) {
  const fs::path file = fs::path(testing::TempDir()) / "filters_own.xml";
  // all in one place, so that MuJoCo reports every pair that it does not filter
  std::ofstream(file) << R"(<mujoco><worldbody>
<geom name="w" size=".3"/><body name="A"><freejoint/><geom name="a1" size=".3" contype="1" conaffinity="0"/><geom name="a2" size=".3" contype="2" conaffinity="4"/>
<body name="A2"><joint/><joint axis="1 0 0"/><geom name="c1" size=".3"/><body name="A3"><geom name="d1" size=".3" contype="6"/></body><body name="A4"><joint/><geom name="e1" size=".3" contype="2" conaffinity="3"/></body></body></body>
<body name="B"><freejoint/><geom name="b1" size=".3" contype="0" conaffinity="1"/><geom name="b2" size=".3" contype="4" conaffinity="2"/><geom name="b3" size=".3" contype="8" conaffinity="16"/></body>
<body name="C"><freejoint/><geom name="f1" size=".3" contype="0" conaffinity="0"/><geom name="f2" size=".3" contype="3" conaffinity="0"/></body></worldbody>
<contact><exclude body1="A" body2="C"/><pair geom1="b3" geom2="f1" friction="0.3 0.3 .01 .001 .001"/></contact></mujoco>)";
  std::string reason;
  const auto peer = MujocoScene::load(file.string(), reason);
  ASSERT_TRUE(peer) << reason;
  mj_forward(peer->model(), peer->data());
  std::set<std::pair<std::string, std::string>> theirs, ours;
  for (int i = 0; i < peer->data()->ncon; ++i) {
    std::string a = mj_id2name(peer->model(), mjOBJ_GEOM, peer->data()->contact[i].geom1);
    std::string b = mj_id2name(peer->model(), mjOBJ_GEOM, peer->data()->contact[i].geom2);
    theirs.emplace(std::min(a, b), std::max(a, b));
  }
  const Result<LoadedScene> loaded = load_scene(file, uncached());
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  const Mechanism& m = loaded->scene.mechanism;
  struct Placed {
    std::string name;
    LinkId link;
    ShapePlacement shape;
  };
  std::vector<Placed> all;
  for (const LinkId id : m.link_ids()) {
    std::size_t k = 0;
    for (const Visual& v : loaded->visuals) {
      const bool touches = k < m.link(id).shapes.size();
      if (v.link == id && touches) all.push_back({v.name, id, m.link(id).shapes[k++]});
    }
  }
  const Result<Model> model = compile(m);
  for (const Placed& a : all) {
    for (const Placed& b : all) {
      if (!(a.name < b.name) || model->find(a.link)->body == model->find(b.link)->body) continue;
      // what every world leaves out: bodies that a joint joins, but for those on the world
      const int ba = model->find(a.link)->body, bb = model->find(b.link)->body;
      const bool joined =
          ba != 0 && bb != 0 && (model->bodies[ba].parent == bb || model->bodies[bb].parent == ba);
      const bool excluded =
          std::any_of(loaded->scene.no_contact.begin(), loaded->scene.no_contact.end(), [&](const auto& p) {
            return (p.first == a.link && p.second == b.link) || (p.first == b.link && p.second == a.link);
          });
      if (excluded || joined) continue;
      if ((a.shape.category & b.shape.mask) && (b.shape.category & a.shape.mask))
        ours.emplace(a.name, b.name);
    }
  }
  EXPECT_EQ(ours, theirs);
}

}  // namespace
}  // namespace karakuri::test

#else

TEST(AgreesOnCorpus, All) { GTEST_SKIP() << "MuJoCo was not found when this was built (libmujoco-dev)"; }

#endif
