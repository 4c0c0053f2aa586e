// Native scenes: what is written is what is simulated, and what is wrong is told with its place and a remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numbers>

#include <fmt/format.h>

#include "io/corpus.h"
#include "io/stopwatch.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

LoadedScene loaded(const std::string& text, const LoadOptions& options = uncached()) {
  Result<LoadedScene> scene = load_native(text, "s.scene.yaml", options);
  EXPECT_TRUE(scene.ok()) << to_string(scene.errors());
  return scene.ok() ? std::move(*scene) : LoadedScene{};
}

std::string errors_of(const std::string& text) {
  const Result<LoadedScene> scene = load_native(text, "s.scene.yaml", uncached());
  return scene.ok() ? "nothing is wrong with it" : to_string(scene.errors());
}

World world_of(const LoadedScene& scene) {
  Result<World> world = World::make(scene.scene, scene.settings, scene.gravity);
  EXPECT_TRUE(world.ok()) << to_string(world.errors());
  return std::move(*world);
}

// ---- meaning

TEST(Native, ABodyIsWhatTheLibraryMakesOfTheSameNumbers) {
  const LoadedScene scene = loaded(R"(
gravity: [0, 0, -3.7]
ground: true
settings: {dt: 0.002, solver: newton, sleep: {speed: 0.01}}
bodies:
  - name: box
    at: [0, 0, 1]
    mass: 2
    shapes: {box: [0.2, 0.4, 0.6]}
)");
  Scene own;
  own.add_ground();
  own.add_body("box", Shape::box({0.1, 0.2, 0.3}), 2, Transform::translation({0, 0, 1}));
  Result<World> expected = World::make(own, {}, {0, 0, -3.7});
  World world = world_of(scene);
  EXPECT_EQ(scene.settings.dt, 0.002);
  EXPECT_EQ(scene.settings.solver, solver::Method::kNewton);
  EXPECT_EQ(scene.settings.sleep.speed, 0.01);
  EXPECT_EQ(world.scene_hash(), expected->scene_hash());
  EXPECT_EQ(world.hash(), expected->hash());
}

TEST(Native, VelocityIsThatOfTheOriginInTheWorld) {
  // The centre of mass is off the origin and the body is turned: the joint's own velocity is another.
  const LoadedScene scene = loaded(R"(
bodies:
  - name: b
    at: [1, 2, 3]
    rpy_deg: [30, 40, 50]
    shapes: {sphere: 0.1, at: [0.3, 0.2, 0.1]}
    velocity: [1, 2, 3]
    angular_velocity: [0.5, -0.25, 2]
)");
  World world = world_of(scene);
  const Motion v = world.velocity(world.scene().mechanism.find_link("b"));
  // a few roundings of numbers of size 3
  EXPECT_LT((v.linear - Vec3(1, 2, 3)).norm(), 1e-14);
  EXPECT_LT((v.angular - Vec3(0.5, -0.25, 2)).norm(), 1e-14);
}

TEST(Native, APendulumHangsWhereItIsPutAndSwingsAsItShould) {
  const LoadedScene scene = loaded(R"(
gravity: [0, 0, -10]
bodies:
  - name: rod
    at: [0, 0, 2]
    inertia: {mass: 3, com: [0, 0, -0.5], moments: [0.25, 0.25, 0.01]}
    joint: {kind: revolute, axis: [0, 1, 0], q_deg: 90, limits_deg: [-170, 170], name: hinge}
)");
  World world = world_of(scene);
  const JointId hinge = world.scene().mechanism.find_joint("hinge");
  ASSERT_TRUE(hinge);
  EXPECT_DOUBLE_EQ(world.q(hinge)[0], std::numbers::pi / 2);
  EXPECT_DOUBLE_EQ(world.scene().mechanism.joint(hinge).dofs[0].upper, 170 * std::numbers::pi / 180);
  // m g l / (I + m l^2) = 3 * 10 * 0.5 / (0.25 + 0.75) = 15 rad/s^2 towards the lowest point; over one step
  // of 1 ms the angle changes by 1.5e-5 rad, and the torque with its square
  world.step();
  EXPECT_NEAR(world.v(hinge)[0], -0.015, 1e-9);
}

TEST(Native, RepetitionMakesWallsPyramidsAndChains) {
  const LoadedScene scene = loaded(R"(
bodies:
  - name: brick
    at: [0, 0, 0.05]
    shapes: {box: [0.2, 0.1, 0.1]}
    repeat:
      - {count: 3, offset: [0.1, 0, 0.1]}
      - {count: 3, shrink: 1, offset: [0.2, 0, 0], alternate: [0, 0.01, 0]}
  - name: link
    at: [5, 0, 3]
    shapes: {sphere: 0.1}
    joint: {kind: spherical}
    repeat: {count: 4, offset: [0, 0, -0.5], chain: true}
)");
  const Mechanism& m = scene.scene.mechanism;
  EXPECT_EQ(m.link_ids().size(), 1u + 6 + 4);
  World world = world_of(scene);
  EXPECT_TRUE(world.pose(m.find_link("brick_1_1")).p.isApprox(Vec3(0.3, 0.01, 0.15)));
  EXPECT_TRUE(m.find_link("brick_0_2"));
  EXPECT_FALSE(m.find_link("brick_2_1"));
  EXPECT_EQ(m.link(m.find_link("link_3")).parent, m.find_link("link_2"));
  EXPECT_EQ(m.link(m.find_link("link_0")).parent, m.world());
  EXPECT_TRUE(world.pose(m.find_link("link_3")).p.isApprox(Vec3(5, 0, 1.5)));
}

TEST(Native, EveryKindOfShapeAndJointIsRead) {
  const LoadedScene scene = loaded(R"(
world:
  shapes:
    - plane: true
    - {heightfield: {size: [2, 1], columns: 3, rows: 2, heights: [0, 1, 0, 1, 0, 1]}, at: [9, 0, 0]}
bodies:
  - {name: a, shapes: [{box: [1, 2, 3]}, {sphere: 0.5}], joint: {kind: revolute}}
  - {name: b, parent: a, shapes: {capsule: {radius: 0.1, length: 1}}, joint: {kind: prismatic}}
  - {name: c, parent: a, shapes: {cylinder: {radius: 0.1, length: 1}}, joint: {kind: cylindrical}}
  - {name: d, parent: a, shapes: {cone: {radius: 0.1, height: 1}}, joint: {kind: screw, pitch: 0.1}}
  - {name: e, parent: a, shapes: {ellipsoid: [0.1, 0.2, 0.3]}, joint: {kind: universal, axis: [1, 0, 0], second_axis: [0, 1, 0]}}
  - {name: f, parent: a, shapes: {hull: {points: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]}}, joint: {kind: planar}}
  - {name: g, parent: a, joint: spherical,
     shapes: {compound: [{box: [1, 1, 1]}, {sphere: 0.2, at: [0, 0, 1]}]}}
  - {name: h, parent: a, joint: {kind: spherical, dofs: [{limits: [0, 1]}, {damping: 2}]}, shapes: {box: [1, 1, 1]}}
  - {name: i, joint: fixed, shapes: {box: [1, 1, 1]}}
  - {name: j, parent: a}
  - {name: k, shapes: {box: [1, 1, 1]}}
loops:
  - {name: closing, kind: cylindrical, parent: b, child: c, in_parent: {at: [0, 0, 0.5]}}
)");
  const Mechanism& m = scene.scene.mechanism;
  const std::pair<const char*, JointKind> kinds[] = {
      {"a", JointKind::kRevolute},  {"b", JointKind::kPrismatic}, {"c", JointKind::kCylindrical},
      {"d", JointKind::kScrew},     {"e", JointKind::kUniversal}, {"f", JointKind::kPlanar},
      {"g", JointKind::kSpherical}, {"h", JointKind::kSpherical}, {"i", JointKind::kFixed},
      {"j", JointKind::kFixed},     {"k", JointKind::kFree},      {"closing", JointKind::kCylindrical}};
  for (const auto& [name, kind] : kinds) EXPECT_EQ(m.joint(m.find_joint(name)).kind, kind) << name;
  EXPECT_EQ(m.joint(m.find_joint("h")).dofs[1].damping, 2);
  EXPECT_EQ(scene.scene.shapes.size(), 2 + 2 + 9);
  // where the other frame is when nothing has moved: b and c lie in the same place
  EXPECT_TRUE(m.joint(m.find_joint("closing")).X_CM.p.isApprox(Vec3(0, 0, 0.5)));
  EXPECT_NEAR(m.link(m.find_link("f")).inertia.mass, 1000.0 / 6, 1e-10);  // 1000 kg/m^3 of a sixth of a cube
  world_of(scene);
}

TEST(Native, MaterialsAndPairs) {
  const LoadedScene scene = loaded(R"(
materials:
  - {name: ice, friction: 0.1}
  - {name: rubber, static_friction: 0.9, kinetic_friction: 0.8, restitution: 0.5}
pairs:
  - {between: [ice, rubber], friction: 0.3}
ground: {material: ice, height: 0.5}
bodies:
  - {name: b, material: rubber, shapes: [{sphere: 1}, {sphere: 1, material: ice}]}
)");
  const Mechanism& m = scene.scene.mechanism;
  const auto& shapes = m.link(m.find_link("b")).shapes;
  EXPECT_EQ(m.material(shapes[0].material)->name, "rubber");
  EXPECT_EQ(m.material(shapes[1].material)->surface.kinetic_friction, 0.1);
  EXPECT_EQ(m.material(shapes[0].material)->surface.kinetic_friction, 0.8);
  ASSERT_EQ(scene.scene.pairs.size(), 1u);
  EXPECT_EQ(scene.scene.pairs[0].surface.static_friction, 0.3);
  EXPECT_EQ(m.link(m.world()).shapes[0].X_LS.p.z(), 0.5);
}

TEST(Native, TheScriptIsRead) {
  const LoadedScene scene = loaded(R"(
bodies:
  - {name: base, shapes: {box: [1, 1, 1]}}
  - {name: left_arm, parent: base, joint: {kind: revolute, break_force: 30}, shapes: {box: [1, 1, 1]}}
  - {name: right_arm, parent: base, joint: {kind: revolute}, shapes: {box: [1, 1, 1]}}
controllers:
  - {joints: "*_arm", target_deg: 90, stiffness: 10, damping: 1, limit: 5}
events:
  - {time: 1, force: {link: base, force: [1, 0, 0], duration: 0.5}}
  - {time: 2, attach: {name: grip, parent: left_arm, child: right_arm, kind: spherical}}
  - {time: 3, detach: grip}
  - {time: 4, every: 2, set: {joint.left_arm.target: 0.5, gravity: [0, 0, 0], settings.solver: block}}
plots:
  - {title: arms, signals: [joint.left_arm.q, link.base.pz, joint.base.q.6, energy.total, ui.gain]}
ui:
  - slider: {name: gain, key: joint.right_arm.stiffness, min: 0, max: 50, value: 10}
  - button: {name: push, do: [{force: {link: base, force: [0, 0, 9]}}, {set: {joint.left_arm.target: 0}}]}
  - text: {text: "height {link.base.pz}"}
view: {from: [1, 2, 3], field_of_view_deg: 60}
look: {sky: "#ff0000", grid: false}
)");
  const Script& s = scene.script;
  ASSERT_EQ(s.controllers.size(), 2u);
  EXPECT_DOUBLE_EQ(s.controllers[1].target, std::numbers::pi / 2);
  ASSERT_EQ(s.breakables.size(), 1u);
  ASSERT_EQ(s.events.size(), 6u);
  EXPECT_EQ(std::get<ForceAction>(s.events[0].action).duration, 0.5);
  EXPECT_TRUE(std::get<AttachAction>(s.events[1].action).here);
  EXPECT_EQ(std::get<DetachAction>(s.events[2].action).joint, "grip");
  EXPECT_EQ(std::get<std::string>(std::get<SetAction>(s.events[5].action).value), "block");
  EXPECT_EQ(s.events[5].period, 2);
  ASSERT_EQ(s.ui.size(), 3u);
  EXPECT_EQ(std::get<Button>(s.ui[1]).actions.size(), 2u);
  EXPECT_EQ(s.look->sky, (Color{1, 0, 0, 1}));
  EXPECT_DOUBLE_EQ(s.view->field_of_view, std::numbers::pi / 3);
}

TEST(Native, SignalsAndKeysAreTakenApart) {
  const LoadedScene scene = loaded(R"(
bodies:
  - {name: a.b, shapes: {box: [1, 1, 1]}}
  - {name: c, parent: a.b, joint: {kind: revolute, name: j.1}, shapes: {box: [1, 1, 1]}}
)");
  for (const char* text : {"time", "link.a.b.px", "joint.a.b.q.6", "joint.j.1.v", "step.residual"}) {
    const Result<Reference> found = find_signal(scene, text);
    ASSERT_TRUE(found.ok()) << to_string(found.errors());
    EXPECT_EQ(to_string(*found), text);
  }
  EXPECT_EQ(find_signal(scene, "joint.a.b.q.6")->index, 6);
  EXPECT_EQ(find_signal(scene, "joint.j.1.q")->name, "j.1");
  EXPECT_EQ(find_key(scene, "settings.sleep.speed")->property, "sleep.speed");
  EXPECT_THAT(to_string(find_signal(scene, "joint.k.q").errors()), HasSubstr("there is no joint 'k'"));
  EXPECT_THAT(to_string(find_signal(scene, "joint.j.1.q.1").errors()), HasSubstr("has no number 1"));
  EXPECT_THAT(to_string(find_key(scene, "settings.dts").errors()), HasSubstr("did you mean 'dt'?"));
  EXPECT_THAT(to_string(find_key(scene, "time").errors()), HasSubstr("it begins with no known word"));
}

TEST(Native, SettingsByName) {
  WorldSettings s;
  EXPECT_TRUE(set_setting(s, "dt", 0.01).empty());
  EXPECT_TRUE(set_setting(s, "sleep.enabled", std::string("false")).empty());
  EXPECT_TRUE(set_setting(s, "stabilization.kind", std::string("erp")).empty());
  EXPECT_EQ(s.dt, 0.01);
  EXPECT_FALSE(s.sleep.enabled);
  EXPECT_EQ(s.stabilization.kind, Stabilization::kErp);
  EXPECT_THAT(to_string(set_setting(s, "dt", -1.0)), HasSubstr("settings.dt: error: dt of settings is '-1'"));
  EXPECT_THAT(to_string(set_setting(s, "sleep.sped", 1.0)), HasSubstr("did you mean 'speed'?"));
  EXPECT_FALSE(set_setting(s, "", 1.0).empty());
  EXPECT_EQ(s.dt, 0.01);
}

// ---- trajectories and robots, from a folder of their own

class NativeFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  fs::path folder_;
};

TEST_F(NativeFiles, ATrajectoryIsFollowedInStraightLines) {
  write("t.csv", "time, arm\n0, 0\n1, 2\n3, 0\n");
  const fs::path file = write("s.scene.yaml", R"(
bodies: [{name: arm, joint: {kind: revolute}, shapes: {box: [1, 1, 1]}}]
trajectories: [{name: swing, file: t.csv, repeat: true}]
controllers: [{trajectory: swing, stiffness: 10}]
)");
  const Result<LoadedScene> scene = load_scene(file, uncached());
  ASSERT_TRUE(scene.ok()) << to_string(scene.errors());
  ASSERT_EQ(scene->script.controllers.size(), 1u);
  const Trajectory& t = scene->script.trajectories[0];
  EXPECT_DOUBLE_EQ(sample(t, 0, 0.25).position, 0.5);
  EXPECT_DOUBLE_EQ(sample(t, 0, 0.25).velocity, 2);
  EXPECT_DOUBLE_EQ(sample(t, 0, 2.5).position, 0.5);
  EXPECT_DOUBLE_EQ(sample(t, 0, 3.25).position, 0.5);  // again from the start
  EXPECT_DOUBLE_EQ(sample(t, 0, -1).position, 0);
}

TEST_F(NativeFiles, RobotsStandWhereTheyArePutUnderTheirPrefix) {
  write("r.urdf",
        "<robot name='r'><link name='base'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
        "izz='1'/></inertial>"
        "</link><link name='arm'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
        "izz='1'/></inertial></link>"
        "<joint name='j' type='continuous'><parent link='base'/><child link='arm'/></joint></robot>");
  write("part.scene.yaml", R"(
ground: true
bodies: [{name: box, at: [0, 0, 1], shapes: {box: [1, 1, 1]}, velocity: [1, 0, 0]}]
plots: [{signals: [link.box.px]}]
)");
  const fs::path file = write("s.scene.yaml", R"(
robots:
  - {file: r.urdf, prefix: left/, at: [1, 0, 0], base: fixed, q: {j: 0.5}}
  - {file: r.urdf, prefix: r, at: [2, 0, 0], repeat: {count: 2, offset: [0, 1, 0]}}
  - {file: part.scene.yaml, prefix: p/, at: [0, 5, 0], rpy_deg: [0, 0, 90]}
bodies: [{name: hat, parent: left/arm, shapes: {sphere: 0.1}}]
)");
  const Result<LoadedScene> scene = load_scene(file, uncached());
  ASSERT_TRUE(scene.ok()) << to_string(scene.errors());
  World world = world_of(*scene);
  const Mechanism& m = world.scene().mechanism;
  EXPECT_EQ(m.joint(m.find_joint("left/base")).kind, JointKind::kFixed);
  EXPECT_EQ(m.joint(m.find_joint("r0_base")).kind, JointKind::kFree);
  EXPECT_TRUE(world.pose(m.find_link("r1_base")).p.isApprox(Vec3(2, 1, 0)));
  EXPECT_EQ(world.q(m.find_joint("left/j"))[0], 0.5);
  EXPECT_TRUE(world.pose(m.find_link("p/box")).p.isApprox(Vec3(0, 5, 1)));
  // a quarter turn of the part turns its x into our y
  EXPECT_LT((world.velocity(m.find_link("p/box")).linear - Vec3(0, 1, 0)).norm(), 1e-15);
  EXPECT_EQ(scene->script.plots[0].signals[0], "link.p/box.px");
}

TEST_F(NativeFiles, RingsOfIncludesAreRefused) {
  write("a.scene.yaml", "robots: [{file: b.scene.yaml}]");
  const fs::path file = write("b.scene.yaml", "robots:\n  - {file: a.scene.yaml}");
  const Result<LoadedScene> scene = load_scene(file, uncached());
  ASSERT_FALSE(scene.ok());
  EXPECT_THAT(to_string(scene.errors()), HasSubstr("b.scene.yaml:2:12: error: '"));
  EXPECT_THAT(to_string(scene.errors()), HasSubstr("it includes itself"));
}

TEST_F(NativeFiles, BombsOfIncludesAreRefusedSoon) {
  for (int i = 0; i < 11; ++i) {
    const std::string next = fmt::format("f{}.scene.yaml", i + 1);
    write(fmt::format("f{}.scene.yaml", i),
          fmt::format("robots: [{{file: {0}, prefix: a}}, {{file: {0}, prefix: b}}, "
                      "{{file: {0}, prefix: c}}]",
                      next));
  }
  for (const auto& [leaf, told] :
       {std::pair{"bodies: [{name: x, shapes: {sphere: 1}}]", "bodies of 'f2.scene.yaml'"},
        std::pair{"frames: [{name: x, link: world}]", "files are included"}}) {
    write("f11.scene.yaml", leaf);
    const Stopwatch watch;
    const Result<LoadedScene> scene = load_scene(folder_ / "f0.scene.yaml", uncached());
    ASSERT_FALSE(scene.ok());
    EXPECT_THAT(to_string(scene.errors()), HasSubstr(told));
    EXPECT_LT(watch.seconds(), kSecond);
  }
}

// ---- what is wrong is told

struct Case {
  const char* text;
  const char* error;
};

TEST(NativeErrors, NameFileLineAndColumn) {
  const Case cases[] = {
      {"", "s.scene.yaml:1:1: error: there is nothing in it"},
      {"bodies:\n  - name: box\n    masss: 1",
       "s.scene.yaml:3:5: error: unknown key 'masss' in body 'box' (did you mean 'mass'? keys here: "
       "'name', "},
      {"bodies:\n  - name: box\n    mass: heavy",
       "s.scene.yaml:3:11: error: mass of body 'box' is 'heavy' (give a number: The shapes' inertia, scaled "
       "to "
       "this mass. [kg])"},
      {"bodies:\n  - name: box\n    mass: -1",
       "s.scene.yaml:3:11: error: mass of body 'box' is '-1' (give a number from 0"},
      {"bodies:\n  - name: box\n    mass: .nan",
       "s.scene.yaml:3:11: error: mass of body 'box' is '.nan' (give a finite"},
      {"bodies:\n  - name: box\n    at: [1, 2]",
       "s.scene.yaml:3:9: error: at of body 'box' is a list of 2 (give 3 numbers"},
      {"ui:\n  - slider: {name: g, key: gravity, min: 0, max: 1}",
       "s.scene.yaml:2:28: error: a slider gives one number, and gravity has three (write gravity.x, "},
      {"ui:\n  - slider: {name: g, key: gravity.q, min: 0, max: 1}",
       "s.scene.yaml:2:28: error: 'gravity.q': there is no 'q'"},
      {"bodies:\n - {name: a, mass: 1, repeat: {count: 2, shrink: 99999999999999999999}}",
       "s.scene.yaml:2:50: error: shrink of repeat is '99999999999999999999' (give a number up to "
       "2147483647"},
      {"ui:\n  - text:", "s.scene.yaml:2:5: error: an element of the page is one thing"},
      {"bodies:\n  - mass: 1", "s.scene.yaml:2:5: error: body has no 'name'"},
      {"bodies: {name: a}", "s.scene.yaml:1:9: error: bodies of scene is a map (give a list"},
      {"bodies: [1]", "s.scene.yaml:1:10: error: body is '1' (write a map"},
      {"name: a\nname: b", "s.scene.yaml:2:1: error: key 'name' stands here twice (first in line 1)"},
      {"bodies:\n - {name: a, shapes: {box: [1, 1, 1]}}\n - {name: a, shapes: {box: [1, 1, 1]}}",
       "s.scene.yaml:3:4: error: a second body is called 'a'"},
      {"bodies:\n - {name: a, parent: b, shapes: {box: [1, 1, 1]}}",
       "s.scene.yaml:2:22: error: there is no body 'b' (did you mean 'a'? body names: 'a' and 'world')"},
      {"bodies:\n - {name: a, shapes: {box: [1, 1, 1], sphere: 1}}",
       "s.scene.yaml:2:22: error: a shape has several geometries: 'box' and 'sphere'"},
      {"bodies:\n - {name: a, shapes: {at: [0, 0, 0]}}", "s.scene.yaml:2:22: error: a shape has no geometry"},
      {"bodies:\n - {name: a, shapes: {box: [1, 0, 1]}}", "s.scene.yaml:2:28: error: box has size"},
      {"bodies:\n - {name: a, joint: wheel}", "s.scene.yaml:2:21: error: joint of body 'a' is 'wheel'"},
      {"bodies:\n - {name: a, joint: {kind: hinge}}", "s.scene.yaml:2:28: error: kind of joint is 'hinge'"},
      {"bodies:\n - {name: a}", "s.scene.yaml:2:4: error: link 'a': it moves by joint 'a' but has no mass"},
      {"bodies:\n - {name: a, mass: 1, rpy: [0, 0, 0], quat: [1, 0, 0, 0]}",
       "s.scene.yaml:2:4: error: an orientation is given twice"},
      {"bodies:\n - {name: a, mass: 1, quat: [0, 0, 0, 0]}",
       "s.scene.yaml:2:29: error: the quaternion has no length"},
      {"bodies:\n - {name: a, mass: 1, matrix: [1, 0, 0, 0, 1, 0, 0, 0, 2]}",
       "s.scene.yaml:2:31: error: the matrix is no rotation"},
      {"bodies:\n - {name: a, material: tin, shapes: {sphere: 1}}",
       "s.scene.yaml:2:24: error: there is no material 'tin'"},
      {"bodies:\n - {name: a, shapes: {mesh: {file: nothing.stl}}}",
       "s.scene.yaml:2:36: error: there is no file 'nothing.stl'"},
      {"bodies:\n - {name: a, shapes: {mesh: {file: /etc/passwd}}}",
       "s.scene.yaml:2:36: error: '/etc/passwd' is no file of a mesh"},
      {"behaviours:\n - {file: /etc/passwd}", "s.scene.yaml:2:11: error: '/etc/passwd' is no file of Python"},
      {"robots:\n - {file: ../../../etc/passwd}",
       "s.scene.yaml:2:11: error: '../../../etc/passwd' is no file of a robot"},
      {"trajectories:\n - {name: t, file: /etc/passwd}",
       "s.scene.yaml:2:20: error: '/etc/passwd' is no file of a traj"},
      {"world:\n shapes: {heightfield: {size: [1, 1], columns: 2, rows: 2, file: /etc/passwd}}",
       "s.scene.yaml:2:66: error: '/etc/passwd' is no file of heights"},
      {"controllers:\n - {joints: elbow}", "s.scene.yaml:2:13: error: there is no joint 'elbow'"},
      {"events:\n - {time: 1}", "s.scene.yaml:2:4: error: there is nothing to do"},
      {"events:\n - {detach: grip}", "s.scene.yaml:2:13: error: there is no joint 'grip'"},
      {"events:\n - {set: {setings.dt: 1}}",
       "s.scene.yaml:2:11: error: 'setings.dt': it begins with no known word "
       "(did you mean 'settings'?"},
      {"plots:\n - {signals: [link.a.px]}", "s.scene.yaml:2:15: error: 'link.a.px': there is no body 'a'"},
      {"bodies: [{name: a, mass: 1, shapes: {sphere: 1}, joint: {q: [1, 2]}}]",
       "s.scene.yaml:1:61: error: q of joint 'a' has 2 numbers (a revolute joint has 1)"},
      {"bodies: [{name: a, mass: 1, shapes: {sphere: 1}, repeat: {count: 1000000}}]",
       "s.scene.yaml:1:66: error: count of repeat is '1000000'"},
      {"a: [1", "s.scene.yaml:"},
      {"a: b: c", "s.scene.yaml:1:5: error: it is no YAML here"},
      {"\t- a", "s.scene.yaml:1:"},
      {"name: a\n---\nname: b", "s.scene.yaml:3:1: error: a second document begins"},
      {"? [a]\n: b", "s.scene.yaml:1:3: error: a key is not a word"},
      {"name: &a [*a]", "s.scene.yaml:1:"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_THAT(errors_of(c.text), HasSubstr(c.error));
  }
}

TEST(NativeErrors, AllAreTold) {
  const std::string errors = errors_of("bodis: []\ngravity: 3\nbodies:\n - {name: a, masss: 1}\n - {nam: b}");
  for (const char* place : {":1:1:", ":2:10:", ":4:14:", ":5:5:", ":5:4:"})
    EXPECT_THAT(errors, HasSubstr(place));
}

TEST(Native, AnchorsAndMergeKeysSaveWriting) {
  const LoadedScene scene = loaded(R"(
bodies:
  - &brick {name: a, mass: 2, shapes: {box: [1, 1, 1]}}
  - {<<: *brick, name: b, at: [0, 0, 2]}
)");
  const Mechanism& m = scene.scene.mechanism;
  EXPECT_EQ(m.link(m.find_link("b")).inertia.mass, 2);
}

// ---- files written by nobody

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(NativeHostile, IsRefusedWithinASecond) {
  std::string laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = fmt::format("*a{0}", i - 1);
    laughs += fmt::format("a{0}: &a{0} [{1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}]\n", i, before);
  }
  const std::pair<const char*, std::string> cases[] = {
      {"laughs", laughs},
      {"depth of lists", "a: " + repeated("[", 100000)},
      {"depth of maps", repeated("{a: ", 100000)},
      {"depth of blocks", repeated("- ", 100000)},
      {"a line of 100 MB", "name: " + repeated("a", 100'000'000)},
      {"a line of 5 MB", "nam: " + repeated("a", 4'000'000)},
      {"a quoted line of 5 MB", "nam: \"" + repeated("\\n", 2'000'000) + "\""},
      {"a million numbers", "gravity: [" + repeated("1, ", 1'500'000) + "1]"},
      {"many keys", repeated("a: 1\n", 500'000)},
      {"many other keys",
       [] {
         std::string s;
         for (int i = 0; i < 100000; ++i) s += fmt::format("k{}: 1\n", i);
         return s;
       }()},
      {"many bodies", "bodies:\n" + repeated(" - {name: a, masss: 1}\n", 100'000)},
      {"zero bytes", std::string("name: a\nb\0c: d", 14)},
      {"spaces", repeated(" ", 4'000'000) + "a: 1"},
      {"lines", repeated("\n", 4'000'000) + "a: 1"},
      {"comments", repeated("#a\n", 1'500'000) + "a: 1"},
      {"question marks", repeated("? ", 100'000)},
      {"anchors", repeated("&a ", 100'000)},
      {"colons", "a" + repeated(":", 4'000'000)},
      {"exclamation marks", "a: " + repeated("!", 100'000)},
      {"not UTF-8", "name: \xff\xfe\x80"},
      {"too many names", "plots: [{signals: [" + repeated("link.world.px, ", 3000) + "time]}]"},
  };
  for (const auto& [name, text] : cases) {
    SCOPED_TRACE(name);
    const Stopwatch watch;
    const Result<LoadedScene> scene = load_native(text, "s.scene.yaml", uncached());
    EXPECT_LT(watch.seconds(), kSecond);
    if (!scene.ok())
      EXPECT_THAT(scene.errors()[0].where, testing::ContainsRegex("s.scene.yaml:[0-9]+:[0-9]+$"));
    EXPECT_EQ(scene.ok(), std::string_view(name) == "not UTF-8");
  }
}

TEST(NativeHostile, TheLargestRepetitionLoadsSoon) {
  const Stopwatch watch;
  loaded(
      "bodies: [{name: a, shapes: {sphere: 0.1}, repeat: [{count: 220, offset: [1, 0, 0]}, {count: 220, "
      "offset: [0, 1, 0]}]}]");
  EXPECT_LT(watch.seconds(), kSecond);
}

}  // namespace
}  // namespace karakuri::test
