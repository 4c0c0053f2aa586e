// Copies of a session: each has the bits of the session alone, whatever the number of threads, with all that
// a scene can ask for while it runs.
#include "karakuri/session/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "session/scenes.h"
#include "support/no_alloc.h"
#include "support/test_models.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using testing::HasSubstr;

Session stirred() {
  LoadedScene loaded;
  loaded.scene = test::stirred_boxes();
  loaded.settings.dt = 2e-3;
  loaded.gravity = {0, 0, -9.8};
  Session session = test::make_session(std::move(loaded));
  for (const JointEntry& joint : session.world().model().joints)
    if (joint.kind == JointKind::kRevolute) session.set_drive(joint.id, {.stiffness = 5, .damping = 0.3});
  return session;
}

Batch make(const Session& session, int count, int threads) {
  return test::expect_made(Batch::make(session, count, threads));
}

/// Other inputs for each copy and step.
double wave(int copy, int step) { return 0.5 * std::sin(0.3 * copy + 0.01 * step); }

TEST(Batch, CopiesHaveTheBitsOfTheWorldAlone) {
  constexpr int kCopies = 5, kSteps = 200;
  Session origin = stirred();
  origin.step(20);  // warm starts and all
  for (const int threads : {1, 2, 0}) {
    Batch batch = make(origin, kCopies, threads);
    ASSERT_EQ(batch.nq(), origin.world().model().nq);
    const JointEntry &first = origin.world().model().joints[0], &second = origin.world().model().joints[1];
    ASSERT_EQ(first.kind, JointKind::kRevolute);
    ASSERT_EQ(second.kind, JointKind::kRevolute);
    for (int k = 0; k < kSteps; ++k) {
      for (int i = 0; i < kCopies; ++i) {
        batch.q_target()[i * batch.nv() + first.first_v] = wave(i, k);
        batch.effort()[i * batch.nv() + second.first_v] = 0.1 * wave(i, k);
      }
      ASSERT_TRUE(batch.step().empty());
    }
    for (int i = 0; i < kCopies; ++i) {
      Session alone = origin.clone();
      for (int k = 0; k < kSteps; ++k) {
        Drive drive = alone.drive(first.id);
        drive.q_target = wave(i, k);
        alone.set_drive(first.id, drive);
        const double effort = 0.1 * wave(i, k);
        alone.set_effort(second.id, {&effort, 1});
        alone.step();
      }
      EXPECT_EQ(batch.session(i).hash(), alone.hash()) << "copy " << i << " with " << threads << " threads";
      EXPECT_TRUE(std::equal(alone.world().state().q.begin(), alone.world().state().q.end(),
                             batch.q().begin() + i * batch.nq()));
      EXPECT_TRUE(std::equal(alone.world().state().v.begin(), alone.world().state().v.end(),
                             batch.v().begin() + i * batch.nv()));
    }
    EXPECT_NE(batch.session(0).hash(), batch.session(1).hash());
  }
}

TEST(Batch, OneCopyIsResetAndRestoredAndTheOthersGoOn) {
  Session origin = stirred();
  origin.step(20);
  Batch batch = make(origin, 3, 2), other = make(origin, 3, 2);
  for (Batch* b : {&batch, &other}) {
    b->effort()[1] = 0.2;
    ASSERT_TRUE(b->step(10).empty());
  }
  const SessionSnapshot later = batch.session(0).snapshot();
  ASSERT_TRUE(batch.reset(1).empty());
  EXPECT_EQ(batch.session(1).hash(), origin.hash());
  ASSERT_TRUE(batch.restore(2, later).empty());
  EXPECT_EQ(batch.session(2).hash(), batch.session(0).hash());
  EXPECT_EQ(batch.effort()[2 * batch.nv() + 1], 0.2) << "inputs come back too";
  EXPECT_EQ(batch.session(0).hash(), other.session(0).hash());
  ASSERT_TRUE(batch.step(10).empty());
  EXPECT_EQ(batch.session(2).hash(), batch.session(0).hash());
  EXPECT_EQ(batch.session(1).hash(), other.session(1).hash());
  batch.reset();
  EXPECT_EQ(batch.session(0).hash(), origin.hash());
  EXPECT_EQ(batch.effort()[1], 0);
}

TEST(Batch, StatesAreSetByRow) {
  const Session origin = stirred();
  Batch batch = make(origin, 2, 1);
  std::vector<double> q(batch.q().begin(), batch.q().begin() + batch.nq()), v(batch.nv(), 0.0);
  q[0] = 0.3;
  v[1] = -0.2;
  ASSERT_TRUE(batch.set_state(1, q, v).empty());
  EXPECT_EQ(batch.q()[batch.nq()], 0.3);
  EXPECT_EQ(batch.v()[batch.nv() + 1], -0.2);
  EXPECT_NE(batch.q()[0], 0.3);
}

/// Two bars, of which one breaks off in the copy that is pulled.
TEST(Batch, ACopyThatBreaksIsToldAndCanBeReset) {
  LoadedScene scene;
  scene.scene.mechanism = test::chain(2);
  Session origin = test::make_session(std::move(scene));
  const JointId joint = origin.world().model().joints[1].id;
  ASSERT_TRUE(origin.world().set_breaking(joint, 500));
  Batch batch = make(origin, 2, 1);
  batch.world(1).add_force(batch.world(1).model().links.back().id, {0, 0, -1e5});
  ASSERT_TRUE(batch.step(2).empty());
  EXPECT_TRUE(std::isfinite(batch.q()[0]));
  EXPECT_TRUE(std::isnan(batch.q()[batch.nq()]));
  ASSERT_TRUE(batch.step(2).empty()) << "it goes on without its inputs";
  EXPECT_THAT(to_string(batch.set_state(1, std::vector<double>(batch.nq()), std::vector<double>(batch.nv()))),
              HasSubstr("reset it first"));
  ASSERT_TRUE(batch.reset(1).empty());
  EXPECT_TRUE(std::isfinite(batch.q()[batch.nq()]));
  EXPECT_EQ(batch.session(1).hash(), origin.hash());
}

TEST(Batch, StepsAndResetsWithoutAllocating) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  Batch batch = make(stirred(), 3, 1);
  for (int k = 0; k < 300; ++k) batch.step();
  batch.reset();
  test::NoAllocGuard guard;
  batch.step(100);
  batch.reset();
  EXPECT_EQ(guard.allocations(), 0);
}

TEST(Batch, TellsWhatIsWrong) {
  const Session origin = stirred();
  const auto why = [&](int count, int threads) {
    const Result<Batch> made = Batch::make(origin, count, threads);
    return made.ok() ? std::string("nothing") : to_string(made.errors());
  };
  EXPECT_THAT(why(0, 1), HasSubstr("0 copies"));
  EXPECT_THAT(why(-3, 1), HasSubstr("-3 copies"));
  EXPECT_THAT(why(2'000'000'000, 1), HasSubstr("ask for 1 to"));
  EXPECT_THAT(why(2, -1), HasSubstr("-1 threads"));
  Batch batch = make(origin, 2, 1);
  EXPECT_THAT(to_string(batch.reset(2)), HasSubstr("they are 0 to 1"));
  EXPECT_THAT(to_string(batch.reset(-1)), HasSubstr("no copy -1"));
  EXPECT_THAT(to_string(batch.restore(5, origin.snapshot())), HasSubstr("no copy 5"));
  EXPECT_FALSE(batch.restore(0, SessionSnapshot{}).empty());
  EXPECT_THAT(to_string(batch.set_state(0, std::vector<double>(1), {})), HasSubstr("a copy has"));
  batch.effort()[batch.nv() + 1] = NAN;
  const std::uint64_t before = batch.session(0).hash();
  EXPECT_THAT(to_string(batch.step()), HasSubstr("effort[1][1] is nan"));
  EXPECT_EQ(batch.session(0).hash(), before) << "nothing was done";
}

// ---- what a scene asks for while it runs

void expect_bits_of_the_single_session(LoadedScene scene, int steps) {
  Session single = test::make_session(std::move(scene));
  Batch batch = make(single, 3, 2);
  const std::uint64_t start = single.hash();
  for (int k = 0; k < steps; k += 10) {
    single.step(10);
    ASSERT_TRUE(batch.step(10).empty());
    for (int i = 0; i < batch.size(); ++i) {
      ASSERT_EQ(batch.session(i).hash(), single.hash()) << "copy " << i << " after " << k + 10 << " steps";
      ASSERT_EQ(batch.session(i).snapshot().bytes, single.snapshot().bytes) << "copy " << i;
    }
  }
  EXPECT_NE(single.hash(), start);
  batch.reset();
  for (int i = 0; i < batch.size(); ++i) EXPECT_EQ(batch.session(i).hash(), start);
  ASSERT_TRUE(batch.restore(1, single.snapshot()).empty());
  EXPECT_EQ(batch.session(1).hash(), single.hash());
}

// Joints made and cut at times, timed forces, trajectories, drives, loops.
TEST(Batch, RunsTheEventsTrajectoriesAndForcesOfBundledScenes) {
  for (const auto& [name, seconds] :
       {std::pair{"grip", 3.2}, std::pair{"breaking-chain", 2.5}, std::pair{"arm", 1.0},
        std::pair{"hand", 1.0}, std::pair{"swing", 1.0}, std::pair{"docking", 1.0}}) {
    SCOPED_TRACE(name);
    LoadedScene scene = test::bundled(name);
    scene.script.behaviours.clear();
    const int steps = static_cast<int>(seconds / scene.settings.dt);
    expect_bits_of_the_single_session(std::move(scene), std::min(steps, 1500));
  }
}

constexpr const char* kSurroundings =
    R"(<mujoco><option timestep="0.002" density="1.2" viscosity="0.1" wind="1 0 0"/><worldbody>
<site name="hook" pos="0 0 2"/>
<body name="kite" pos="0 0 1" gravcomp="0.5"><freejoint/><geom type="box" size=".2 .1 .05" mass="1"/>
<site name="eye" pos=".1 0 0"/><site name="tail" pos="-.2 0 .1"/><site name="rotor" pos="0 .1 0"/></body>
<body name="rod" pos="2 0 1"><joint name="hinge" axis="0 1 0"/><geom type="capsule" size=".05 .2" mass="1"/></body>
</worldbody>
<tendon><spatial name="line" stiffness="30" damping="1" springlength=".5"><site site="hook"/><site site="eye"/><site site="tail"/></spatial></tendon>
<actuator><general joint="hinge" dyntype="filter" dynprm="0.1"/><motor site="rotor" gear="0 0 1 0 0 .1"/></actuator>
<sensor><jointpos joint="hinge" noise="0.01"/></sensor></mujoco>)";

TEST(Batch, RunsFluidsLiftsCablesActuatorsAndSensors) {
  LoadedScene scene = test::read_mjcf(kSurroundings);
  ASSERT_TRUE(scene.fluid.acts());
  ASSERT_FALSE(scene.lifts.empty());
  ASSERT_FALSE(scene.cables.empty());
  const LinkId kite = scene.scene.mechanism.find_link("kite");
  scene.script.events.push_back(
      {.time = 0.1, .period = 0.3, .action = ForceAction{.link = kite, .force = {0, 3, 0}, .duration = 0.1}});
  scene.script.events.push_back(
      {.time = 0.2, .action = SetAction{.key = "joint.hinge.effort", .value = 0.3}});
  expect_bits_of_the_single_session(scene, 500);
  // controls are inputs
  Session single = test::make_session(std::move(scene));
  Batch batch = make(single, 2, 1);
  ASSERT_EQ(batch.nu(), 2);
  batch.control()[3] = 2;  // of the second copy
  single.set_control(1, 2);
  single.step(110);
  ASSERT_TRUE(batch.step(110).empty());
  EXPECT_EQ(batch.session(1).hash(), single.hash());
  EXPECT_NE(batch.session(0).hash(), single.hash());
  EXPECT_EQ(batch.effort()[batch.nv() + 6], 0.3) << "what an event has set shows";
}

TEST(Batch, RefusesWhatItCannotCopy) {
  const auto why = [](const Session& session) {
    const Result<Batch> made = Batch::make(session, 2);
    return made.ok() ? std::string("nothing") : to_string(made.errors());
  };
  Session session = stirred();
  const int hook = session.add_hook([](Session&) {});
  EXPECT_THAT(why(session), HasSubstr("hooks"));
  session.remove_hook(hook);
  const int inner = session.world().add_hook([](World&) {});
  EXPECT_THAT(why(session), HasSubstr("hooks"));
  session.world().remove_hook(inner);
  EXPECT_EQ(why(session), "nothing");
  struct Host : BehaviourHost {
    bool before_step(Session&, std::vector<Diagnostic>&) override { return true; }
  };
  session.set_behaviours(std::make_unique<Host>());
  EXPECT_THAT(why(session), HasSubstr("behaviours"));
}

}  // namespace
}  // namespace karakuri
