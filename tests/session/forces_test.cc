// Forces that no joint carries, and actuators with a state of their own: against MuJoCo and closed forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>

#include <fmt/format.h>

#include "karakuri/io/save.h"
#include "session/scenes.h"

#ifdef KARAKURI_HAVE_MUJOCO
#include <mujoco/mujoco.h>
#include <unistd.h>
#endif

namespace karakuri::test {
namespace {

using testing::HasSubstr;

/// A body that can do everything, by slides and hinges, whose coordinates are MuJoCo's.
std::string flying(const std::string& on_body, const std::string& more, const std::string& option = "",
                   const std::string& body = "") {
  std::string joints;
  for (const char* type : {"slide", "hinge"})
    for (const char* axis : {"1 0 0", "0 1 0", "0 0 1"})
      joints += fmt::format("<joint name=\"{0}{1}\" type=\"{0}\" axis=\"{1}\"/>", type, axis);
  return "<mujoco><compiler angle=\"radian\" autolimits=\"true\"/><option timestep=\"1e-6\" " + option +
         "/><worldbody><site name=\"post\" pos=\"1 -.5 2\"/><body name=\"b\" pos=\"0 0 1\" " + body + ">" +
         joints +
         "<inertial pos=\".02 -.03 .01\" mass=\"1.3\" fullinertia=\".03 .04 .06 .002 -.001 .003\"/>" +
         on_body + "</body></worldbody>" + more + "</mujoco>";
}

/// Two links that turn about axes across each other.
std::string arm(const std::string& more, const std::string& option = "", const std::string& on_second = "",
                const std::string& second = "") {
  return "<mujoco><compiler angle=\"radian\" autolimits=\"true\"/><option timestep=\"1e-6\" " + option +
         "/><worldbody><site name=\"s0\" pos=\".1 .2 1.6\"/><site name=\"s4\" pos=\"-.3 .1 .2\"/>"
         "<body pos=\"0 0 1\"><joint name=\"one\" axis=\"0 1 0\"/>"
         "<inertial pos=\".2 0 0\" mass=\"2\" diaginertia=\".01 .03 .02\"/><site name=\"s1\" pos=\".2 .05 "
         "0\"/>"
         "<body pos=\".4 0 0\" " +
         second + "><joint name=\"two\" axis=\".3 .2 1\"/>" +
         "<inertial pos=\".1 .02 0\" mass=\"1\" diaginertia=\".002 .004 .003\"/>"
         "<site name=\"s2\" pos=\".1 .03 .04\"/><site name=\"s3\" pos=\".25 0 0\"/>" +
         on_second + "</body></body></worldbody>" + more + "</mujoco>";
}

LoadedScene read_strictly(const std::string& text) {
  LoadOptions options;
  options.cache = false;
  options.strict = true;  // nothing may be left out
  Result<LoadedScene> scene = load_mjcf(text, "test.xml", options);
  if (!scene.ok()) {
    ADD_FAILURE() << to_string(scene.errors());
    std::abort();
  }
  return std::move(*scene);
}

#ifdef KARAKURI_HAVE_MUJOCO

/// The same text, read by MuJoCo.
class Peer {
 public:
  explicit Peer(const std::string& text) {
    const std::string file = fmt::format("{}karakuri_forces_{}.xml", testing::TempDir(), getpid());
    std::ofstream(file) << text;
    char reason[500] = "";
    model = mj_loadXML(file.c_str(), nullptr, reason, sizeof reason);
    std::remove(file.c_str());
    EXPECT_TRUE(model) << reason;
    if (!model) std::abort();
    data = mj_makeData(model);
  }
  ~Peer() { mj_deleteData(data), mj_deleteModel(model); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  mjModel* model;
  mjData* data;
};

/// Accelerations at a state with some of everything in it. One step of a microsecond: what is implicit here
/// and explicit there differs by that times rates of some 100/s.
/// @param theirs  What MuJoCo 2.2 reads in place of what it does not know.
/// @param push  Forces that it shall apply besides.
void expect_same_accelerations(const std::string& text, const std::vector<double>& controls = {},
                               const std::vector<double>& activations = {}, const std::string& theirs = "",
                               const std::function<void(Peer&)>& push = {}) {
  Peer peer(theirs.empty() ? text : theirs);
  LoadedScene scene = read_strictly(text);
  Keyframe& start = scene.keyframes.emplace_back();
  auto next = activations.begin();
  for (const Actuator& a : scene.actuators)
    start.activation.push_back(a.dynamics == ActuatorDynamics::kNone || next == activations.end() ? 0
                                                                                                  : *next++);
  const std::string last = std::to_string(scene.keyframes.size() - 1);
  Session session = make_session(std::move(scene), {.keyframe = last});
  World& world = session.world();
  const Mechanism& m = session.scene().scene.mechanism;
  int i = 0;
  std::vector<JointId> joints;
  for (const JointId id : m.joint_ids()) {
    if (v_size(m.joint(id).kind) != 1) continue;
    const double q = 0.3 * std::sin(1 + 2.0 * i), v = 0.7 * std::cos(3.0 * i);
    ASSERT_TRUE(world.set_q(id, std::array{q}) && world.set_v(id, std::array{v}));
    peer.data->qpos[i] = q, peer.data->qvel[i] = v;
    joints.push_back(id);
    ++i;
  }
  ASSERT_EQ(i, peer.model->nv);
  for (std::size_t k = 0; k < controls.size(); ++k) {
    peer.data->ctrl[k] = controls[k];
    ASSERT_TRUE(session.set_control(static_cast<int>(k), controls[k]));
  }
  if (!activations.empty()) {
    ASSERT_EQ(peer.model->na, static_cast<int>(activations.size()));
    std::copy(activations.begin(), activations.end(), peer.data->act);
  }
  if (push) push(peer);
  mj_forward(peer.model, peer.data);
  std::vector<double> before;
  for (const JointId id : joints) before.push_back(world.v(id)[0]);
  session.step();
  for (std::size_t k = 0; k < joints.size(); ++k) {
    const double ours = (world.v(joints[k])[0] - before[k]) / 1e-6, other = peer.data->qacc[k];
    EXPECT_NEAR(ours, other, 3e-5 * (1 + std::abs(other))) << m.joint(joints[k]).name;
  }
}

TEST(Thrusts, AreThoseOfMujoco) {
  const std::string sites =
      "<site name=\"rotor\" pos=\".2 .1 .05\" euler=\".1 -.2 .5\"/><site name=\"jet\" pos=\"-.1 0 .3\"/>";
  expect_same_accelerations(
      flying(sites,
             "<actuator><motor site=\"rotor\" gear=\"0 0 1 0 .1 -.0201\" ctrlrange=\"0 13\"/>"
             "<velocity site=\"jet\" gear=\"1 .5 0 0 0 .3\" kv=\"4\"/></actuator>"),
      {9.5, 0.8});
}

TEST(Cables, ThroughSitesAndPulleysPullAsMujocos) {
  const std::string tendons =
      "<tendon><spatial name=\"long\" stiffness=\"40\" damping=\"3\" springlength=\".7\"><site site=\"s0\"/>"
      "<site site=\"s1\"/><site site=\"s3\"/><pulley divisor=\"2\"/><site site=\"s2\"/><site site=\"s4\"/>"
      "</spatial><spatial name=\"straight\"><site site=\"s4\"/><site site=\"s3\"/></spatial></tendon>";
  expect_same_accelerations(arm(tendons + "<actuator><motor tendon=\"long\" gear=\"-2\"/>"
                                          "<position tendon=\"straight\" kp=\"30\" forcerange=\"-50 50\"/>"
                                          "</actuator>"),
                            {3, 0.4});
}

TEST(Cables, AreAtEaseWhereMujocosAre) {
  // without springlength: in the pose of rest; with two numbers: between them
  const std::string path =
      "<site site=\"s0\"/><site site=\"s1\"/><site site=\"s3\"/><pulley divisor=\"3\"/><site site=\"s2\"/>"
      "<site site=\"s4\"/></spatial>";
  expect_same_accelerations(arm("<tendon><spatial stiffness=\"50\">" + path + "</tendon>"));
  const auto at_ease = [&](const char* length) {
    return arm(fmt::format("<tendon><spatial stiffness=\"50\" damping=\"2\" springlength=\"{}\">{}</tendon>",
                           length, path));
  };
  expect_same_accelerations(at_ease(".2 .5"), {}, {}, at_ease(".5"));  // it is longer
  expect_same_accelerations(at_ease("2.5 3"), {}, {}, at_ease("2.5"));
  expect_same_accelerations(at_ease(".2 3"), {}, {},
                            arm("<tendon><spatial damping=\"2\">" + path + "</tendon>"));
}

TEST(Lifts, AreMujocosGravityCompensation) {
  // MuJoCo 2.2 does not know it: the same force on the centre of mass of its third body, of 1 kg
  expect_same_accelerations(arm("", "gravity=\"1 0 -9\"", "", "gravcomp=\".6\""), {}, {},
                            arm("", "gravity=\"1 0 -9\""), [](Peer& peer) {
                              ASSERT_EQ(peer.model->nbody, 3);
                              const double force[] = {-.6, 0, 5.4};
                              std::copy(force, force + 3, peer.data->xfrc_applied + 12);
                            });
}

TEST(Fluids, ResistAsInMujoco) {
  expect_same_accelerations(arm("", "density=\"900\" viscosity=\".3\" wind=\"1 -2 .5\""));
  expect_same_accelerations(flying("", "", "density=\"1.2\" viscosity=\"1.8e-5\" wind=\"10 0 0\""));
  expect_same_accelerations(flying("", "", "viscosity=\"2\""));
}

const char* const kStates =
    "<actuator><motor joint=\"one\"/><general joint=\"one\" dyntype=\"integrator\" gainprm=\"5\"/>"
    "<general joint=\"two\" dyntype=\"filter\" dynprm=\".03\" gainprm=\"2\" ctrlrange=\"-1 1\"/>"
    "<general joint=\"two\" dyntype=\"filterexact\" dynprm=\".02\" actrange=\"-.3 .3\" actlimited=\"true\"/>"
    "<cylinder joint=\"one\" timeconst=\".05\" diameter=\".2\" bias=\"1 -2 -.1\"/>"
    "<intvelocity joint=\"two\" kp=\"8\" actrange=\"-.2 .5\"/></actuator>";

/// For MuJoCo 2.2, which has no exact filters.
std::string without_exact_filters(std::string text) {
  return text.replace(text.find("filterexact"), 11, "filter");
}

TEST(ActuatorStates, ActAsMujocos) {
  expect_same_accelerations(arm(kStates), {3, .4, 2, -1, 1.5, .7}, {.2, -.4, .25, .6, .1},
                            without_exact_filters(arm(kStates)));
}

TEST(ActuatorStates, FollowTheirControlsAsMujocosDo) {
  std::string text = arm(kStates);
  text.replace(text.find("1e-6"), 4, ".002");
  Peer peer(without_exact_filters(text));
  Session session = make_session(read_strictly(text));
  const double controls[] = {3, .4, 2, -1, 1.5, .7};
  for (int i = 0; i < 6; ++i) {
    peer.data->ctrl[i] = controls[i];
    session.set_control(i, controls[i]);
  }
  const std::size_t with_state[] = {1, 2, 3, 4, 5};
  for (int n = 0; n < 400; ++n) {
    mj_step(peer.model, peer.data);
    session.step();
    for (const std::size_t k : {0u, 1u, 3u, 4u})  // sums of 400 numbers below 1
      ASSERT_NEAR(session.activations()[with_state[k]], peer.data->act[k], 1e-13) << "state " << k;
    const double exact = std::expm1(-.002 * (n + 1) / .02);  // towards -1
    ASSERT_NEAR(session.activations()[3], std::max(-.3, exact), 1e-13);
  }
  EXPECT_EQ(session.activations()[3], -.3) << "its range";
  EXPECT_EQ(session.activations()[0], 0) << "a motor has none";
}

#endif

// ---- without a peer

TEST(ActuatorStates, ArePartOfSnapshotsAndHash) {
  const std::string text = pendulum("<actuator><general joint=\"hinge\" dyntype=\"integrator\"/></actuator>");
  Session a = make_session(read_strictly(text)), b = make_session(read_strictly(text));
  a.set_control(0, 1e-9);
  a.step();
  b.step();
  EXPECT_NE(a.hash(), b.hash()) << "nothing moves yet, but the state is another";
  const SessionSnapshot then = a.snapshot();
  a.set_control(0, 4);
  a.step(100);
  const std::uint64_t later = a.hash();
  ASSERT_TRUE(b.restore(then).empty());
  b.set_control(0, 4);
  b.step(100);
  EXPECT_EQ(b.hash(), later);
  ASSERT_TRUE(a.reset().empty());
  EXPECT_EQ(a.activations()[0], 0);
}

TEST(ActuatorStates, StartAtAKeyframe) {
  Session session =
      make_session(read_strictly(pendulum(
                       "<actuator><motor joint=\"hinge\"/><general joint=\"hinge\" "
                       "dyntype=\"filter\"/></actuator><keyframe><key name=\"k\" act=\".7\"/></keyframe>")),
                   {.keyframe = "k"});
  EXPECT_THAT(session.activations(), testing::ElementsAre(0, .7));
}

TEST(Servos, AreDampedByTheRatioThatTheyAskFor) {
  // 3 kg on a slide, gear 2: 0.75 kg for the motor
  const LoadedScene scene = read_strictly(
      "<mujoco><worldbody><body><joint name=\"j\" type=\"slide\"/><geom size=\".1\" mass=\"3\"/></body>"
      "</worldbody><actuator><position joint=\"j\" kp=\"100\" gear=\"2\" "
      "dampratio=\"1.5\"/></actuator></mujoco>");
  EXPECT_NEAR(scene.actuators[0].damping, 1.5 * 2 * std::sqrt(100 * 0.75), 1e-12);
}

TEST(Servos, KeepTheDampingOfTheirClass) {
  const LoadedScene scene = read_strictly(
      "<mujoco><default><position kp=\"100\" kv=\"7\"/><default class=\"soft\"><position dampratio=\"1\"/>"
      "</default></default><worldbody><body><joint name=\"j\" type=\"slide\"/><geom size=\".1\" "
      "mass=\"4\"/></body></worldbody><actuator><position joint=\"j\"/><position joint=\"j\" "
      "class=\"soft\" kp=\"25\" timeconst=\".1\"/></actuator></mujoco>");
  EXPECT_EQ(scene.actuators[0].damping, 7);
  EXPECT_NEAR(scene.actuators[1].damping, 2 * std::sqrt(25 * 4.), 1e-12);
  EXPECT_EQ(scene.actuators[1].dynamics, ActuatorDynamics::kExactFilter);
  EXPECT_EQ(scene.actuators[1].time_constant, .1);
}

TEST(Mocaps, StandStillAndLeadWhatIsWeldedToThem) {
  Session session = make_session(read_strictly(
      "<mujoco><worldbody><body name=\"lead\" mocap=\"true\" pos=\"0 0 1\"><geom type=\"box\" "
      "size=\".05 .05 .05\" contype=\"0\" conaffinity=\"0\"/></body>"
      "<body name=\"b\" pos=\"0 .3 1\"><freejoint/><geom size=\".1\"/></body></worldbody>"
      "<equality><weld body1=\"lead\" body2=\"b\"/></equality><keyframe><key name=\"up\" mpos=\"0 0 2\" "
      "qpos=\"0 .3 2 1 0 0 0\"/></keyframe></mujoco>"));
  const LinkId lead = session.world().scene().mechanism.find_link("lead"),
               b = session.world().scene().mechanism.find_link("b");
  session.step(500);
  EXPECT_EQ(session.world().pose(lead).p, Vec3(0, 0, 1));
  EXPECT_NEAR((session.world().pose(b).p - Vec3(0, .3, 1)).norm(), 0, 1e-6);
  ASSERT_FALSE(session.world().awake(b)) << "it shall be woken";
  ASSERT_TRUE(session.world().set_v(session.world().scene().mechanism.find_joint("lead"),
                                    std::array{.5, 0., 0., 0., 0., 0.}));
  session.step(500);
  EXPECT_NEAR((session.world().pose(lead).p - Vec3(.5, 0, 1)).norm(), 0, 1e-9);
  EXPECT_NEAR((session.world().pose(b).p - Vec3(.5, .3, 1)).norm(), 0, 1e-5);
  ASSERT_TRUE(
      session.world().set_v(session.world().scene().mechanism.find_joint("lead"), std::array<double, 6>{}));
  session.step(500);
  ASSERT_FALSE(session.world().awake(b));
  ASSERT_TRUE(session.world().teleport(lead, Transform::translation({.5, .1, 1})));
  session.step(2000);  // it comes at no more than stabilization.max_speed
  EXPECT_NEAR((session.world().pose(b).p - Vec3(.5, .4, 1)).norm(), 0, 1e-5) << "it was woken";
  ASSERT_TRUE(session.reset("up").empty());
  EXPECT_EQ(session.world().pose(lead).p, Vec3(0, 0, 2));
}

TEST(Limits, StopMarginBeforeTheirEnds) {
  const LoadedScene scene = read_strictly(
      "<mujoco><compiler angle=\"radian\"/><worldbody><body><joint range=\"-1 2\" margin=\".1\"/>"
      "<geom size=\".1\"/></body></worldbody></mujoco>");
  const DofProperties& dof = scene.scene.mechanism.joint(scene.scene.mechanism.joint_ids()[0]).dofs[0];
  EXPECT_DOUBLE_EQ(dof.lower, -.9);
  EXPECT_DOUBLE_EQ(dof.upper, 1.9);
}

TEST(Tendons, ThatAreEqualStayEqual) {
  // one - ref = 0.2 + 3 two, whatever the motor does
  Session session = make_session(read_strictly(
      "<mujoco><compiler angle=\"radian\"/><worldbody>"
      "<body><joint name=\"one\" type=\"slide\" ref=\".5\"/><geom size=\".1\"/></body>"
      "<body pos=\"1 0 0\"><joint name=\"two\" type=\"slide\" axis=\"1 0 0\"/><geom size=\".1\"/></body>"
      "</worldbody><tendon><fixed name=\"a\"><joint joint=\"one\" coef=\"1\"/></fixed>"
      "<fixed name=\"b\"><joint joint=\"two\" coef=\"1\"/></fixed></tendon>"
      "<equality><tendon tendon1=\"a\" tendon2=\"b\" polycoef=\"0 3 0 0 0\"/></equality></mujoco>"));
  const Mechanism& m = session.scene().scene.mechanism;
  session.step(300);
  const double one = session.world().q(m.find_joint("one"))[0],
               two = session.world().q(m.find_joint("two"))[0];
  EXPECT_LT(one, 0) << "it falls";
  EXPECT_NEAR(one - .5, 3 * two, 1e-6);
  // m1 g of the fall is shared: (m1 + m2 / 9) a = m1 g
  EXPECT_NEAR(session.world().v(m.find_joint("one"))[0], -9.81 * .6 / (1 + 1 / 9.), 1e-3);
}

TEST(NativeScenes, KeepForcesAndStates) {
  const std::string text =
      arm("<tendon><spatial name=\"long\" stiffness=\"40\"><site site=\"s0\"/><site site=\"s1\"/><site "
          "site=\"s3\"/></spatial></tendon><actuator><motor tendon=\"long\"/><motor site=\"s2\" gear=\"0 0 1 "
          ".1 0 "
          "0\"/><general joint=\"one\" dyntype=\"filter\" dynprm=\".3\" actrange=\"-1 1\"/></actuator>"
          "<keyframe><key name=\"k\" act=\".5\" ctrl=\"1 2 3\"/></keyframe>",
          "density=\"1.2\" viscosity=\".1\" wind=\"1 0 0\"", "", "gravcomp=\".5\"");
  const LoadedScene scene = read_strictly(text);
  const SavedScene saved = to_native(scene, "assets");
  const Result<LoadedScene> again = load_native(saved.text, "test.scene.yaml");
  ASSERT_TRUE(again.ok()) << to_string(again.errors()) << saved.text;
  Session a = make_session(scene, {.keyframe = "k"}), b = make_session(*again, {.keyframe = "k"});
  EXPECT_EQ(a.hash(), b.hash());
  a.step(50);
  b.step(50);
  EXPECT_EQ(a.hash(), b.hash()) << saved.text;
  LoadedScene same = *again;
  same.name = scene.name;  // else the file's
  EXPECT_EQ(to_native(same, "assets").text, saved.text);
}

TEST(NativeScenes, SayWhatIsWrongWithForces) {
  const auto errors = [](const std::string& more) {
    const Result<LoadedScene> scene =
        load_native("bodies: [{name: a, shapes: {sphere: 0.1}}]\n" + more, "t.scene.yaml");
    return scene.ok() ? "" : to_string(scene.errors());
  };
  EXPECT_THAT(errors("actuators: [{thrust: {link: b, force: [0, 0, 1]}}]"),
              HasSubstr("there is no body 'b'"));
  EXPECT_THAT(errors("actuators: [{thrust: {link: a}, cable: [{from: a}]}]"), HasSubstr("several kinds"));
  EXPECT_THAT(errors("actuators: [{dynamics: slow}]"), HasSubstr("exact-filter"));
  EXPECT_THAT(errors("cables: [{path: [{from: a}], rest: [2, 1]}]"), HasSubstr("swap"));
  EXPECT_THAT(errors("fluid: {density: -1}"), HasSubstr("t.scene.yaml:2"));
  EXPECT_THAT(errors("kinematic: [c]"), HasSubstr("there is no body 'c'"));
}

// It was taken, and the session's own snapshot was then refused.
TEST(TimedForces, OnLinksThatAreNotThereAreRefused) {
  Session session = test::make_session(test::read_mjcf(
      "<mujoco><worldbody><body><freejoint/><geom size=\".1\" mass=\"1\"/></body></worldbody></mujoco>"));
  const LinkId link = session.world().model().links.back().id, none{link.index + 7, 1};
  EXPECT_FALSE(session.perform(ForceAction{.link = none, .force = Vec3(1, 0, 0), .duration = 1}).empty());
  EXPECT_FALSE(session.perform(ForceAction{.link = link, .force = Vec3(NAN, 0, 0), .duration = 1}).empty());
  EXPECT_TRUE(session.restore(session.snapshot()).empty());
  EXPECT_TRUE(session.perform(ForceAction{.link = link, .force = Vec3(1, 0, 0), .duration = 1}).empty());
  EXPECT_TRUE(session.restore(session.snapshot()).empty());
}

}  // namespace
}  // namespace karakuri::test
