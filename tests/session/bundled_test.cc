// The bundled scenes load without a word, run, stay finite, and each shows what it is there to show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "session/scenes.h"

namespace karakuri::test {
namespace {

LinkId link(const Session& session, const std::string& name) {
  const LinkId id = session.scene().scene.mechanism.find_link(name);
  EXPECT_TRUE(id) << name;
  return id;
}
Transform pose(const Session& session, const std::string& name) {
  return session.world().pose(link(session, name));
}
Motion velocity(const Session& session, const std::string& name) {
  return session.world().velocity(link(session, name));
}
double q(const Session& session, const std::string& joint) {
  return session.world().q(session.scene().scene.mechanism.find_joint(joint))[0];
}
void run_until(Session& session, double time) {
  while (session.time() < time - 1e-9) session.step();
}

class Bundled : public testing::TestWithParam<std::string> {};

TEST_P(Bundled, LoadsRunsAndStaysFinite) {
  LoadedScene scene = bundled(GetParam());
  EXPECT_FALSE(scene.name.empty());
  EXPECT_FALSE(scene.script.description.empty()) << "a line for the list";
  EXPECT_TRUE(scene.script.view.has_value()) << "where to look from";
  EXPECT_THAT(scene.notes, testing::IsEmpty());
  for (const Plot& plot : scene.script.plots)
    for (const std::string& signal : plot.signals) EXPECT_TRUE(find_signal(scene, signal).ok()) << signal;
  Session session = make_session(std::move(scene));
  const double seconds = session.world().model().bodies.size() > 500 ? 0.2 : 2;
  run_until(session, seconds);
  for (const double x : session.world().state().q) EXPECT_TRUE(std::isfinite(x));
  for (const LinkEntry& entry : session.world().model().links)
    EXPECT_FALSE(session.world().quarantined(entry.id)) << entry.name;
  EXPECT_TRUE(session.problems().empty()) << to_string(session.problems().front());
}

INSTANTIATE_TEST_SUITE_P(All, Bundled, testing::ValuesIn(bundled_names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(BundledScenes, OnTheSlopeThreeSlideAsTheorySaysAndThreeStay) {
  Session session = make_session(bundled("slope"));
  const Vec3 down(std::cos(std::numbers::pi / 6), 0, -std::sin(std::numbers::pi / 6));
  run_until(session, 1);
  for (const int f : {30, 40, 50}) {
    const double a = 9.81 * (0.5 - 0.01 * f * std::cos(std::numbers::pi / 6));
    // they start 1e-10 m above the slope, and fall that far
    EXPECT_NEAR(velocity(session, fmt::format("box_{}", f)).linear.dot(down), a * 1, 1e-6) << f;
  }
  run_until(session, 3);
  for (const int f : {60, 70, 80})
    EXPECT_NEAR(pose(session, fmt::format("box_{}", f)).p.x(), -1.6320508076, 1e-6) << f;
}

TEST(BundledScenes, SlidingBoxesStopWhereTheoryStopsThem) {
  Session session = make_session(bundled("sliding"));
  run_until(session, 7);
  const double dt = session.world().settings().dt;
  const std::pair<const char*, double> boxes[] = {{"slow", 9.8}, {"medium", 19.6}, {"fast", 29.4}};
  for (const auto& [name, v0] : boxes) {
    EXPECT_NEAR(pose(session, name).p.x(), v0 * v0 / 9.8, 0.5 * dt * v0 + 1e-9) << name;
    EXPECT_LT(velocity(session, name).linear.norm(), 1e-9) << name;
  }
}

TEST(BundledScenes, StaticFrictionHoldsOneBoxAndNotTheOther) {
  Session session = make_session(bundled("static-friction"));
  run_until(session, 10);
  EXPECT_LT(std::abs(pose(session, "below").p.x()), 1e-6);
  EXPECT_NEAR(pose(session, "above").p.x(), 0.5 * 0.01 * 100, 0.01) << "0.01 N is left for 1 kg";
}

TEST(BundledScenes, TheDoublePendulumSwingsAsPublished) {
  Session session = make_session(bundled("double-pendulum"));
  struct At {
    double t, q0, q1;
  };
  // first order at the moments when friction changes its sign: ten times the error of a tenth of the step
  for (const At& at : {At{1, 0.1175, 0.4148}, At{2, -0.4290, -0.5464}, At{5, 0.7578, 0.0357}}) {
    run_until(session, at.t);
    EXPECT_NEAR(q(session, "shoulder"), at.q0, 1e-3) << at.t;
    EXPECT_NEAR(q(session, "elbow"), at.q1, 1e-3) << at.t;
  }
}

TEST(BundledScenes, BallsRollOnTheCarpet) {
  Session session = make_session(bundled("rolling-carpet"));
  const Vec3 push = Vec3(0.5, 0.866, 0).normalized();
  run_until(session, 2);
  EXPECT_NEAR(velocity(session, "board").linear.dot(push), 2 * 0.7385, 2e-4);
  EXPECT_NEAR(velocity(session, "ball_2_2").linear.dot(push), 2 * 0.2110, 2e-4);
  EXPECT_NEAR(velocity(session, "ball_4_0").linear.cross(push).norm(), 0, 1e-6) << "straight";
}

TEST(BundledScenes, TheWallStandsUntilTheBallComes) {
  Session session = make_session(bundled("wall"));
  const Vec3 top = pose(session, "brick_9_5").p, middle = pose(session, "brick_2_4").p;
  run_until(session, 2);
  // each row may settle by the depth of contacts that is left alone, 0.05 mm
  EXPECT_LT((pose(session, "brick_9_5").p - top).norm(), 10 * 5e-5) << "stands";
  EXPECT_LT((pose(session, "brick_2_4").p - middle).norm(), 10 * 5e-5) << "stands";
  EXPECT_NEAR(velocity(session, "ball").linear.y(), 8, 1e-6) << "rolls without loss";
  run_until(session, 3);
  EXPECT_GT(pose(session, "brick_2_4").p.y() - middle.y(), 1) << "is hit";
  EXPECT_LT(velocity(session, "ball").linear.y(), 7);
}

TEST(BundledScenes, ThePyramidStandsAndSleeps) {
  Session session = make_session(bundled("pyramid"));
  const Vec3 top = pose(session, "box_13_0").p;
  EXPECT_NEAR(top.z(), 13.5, 1e-9);
  run_until(session, 5);
  EXPECT_LT((pose(session, "box_13_0").p - top).norm(), 1e-4);
  EXPECT_FALSE(session.world().awake(link(session, "box_13_0")));
}

TEST(BundledScenes, TheGreatPyramidStandsSlow) {
  Session session = make_session(bundled("pyramid-990"));
  EXPECT_EQ(session.world().model().links.size(), 991u);
  const Vec3 top = pose(session, "box_43_0").p;
  run_until(session, 2);
  EXPECT_LT((pose(session, "box_43_0").p - top).norm(), 1e-3);
}

TEST(BundledScenes, TheWaveRunsThroughAllDominoesSlow) {
  Session session = make_session(bundled("domino"));
  run_until(session, 0.5);
  EXPECT_NEAR(pose(session, "domino_20").p.z(), 0.5, 1e-6) << "they stand at first";
  std::vector<double> fell(40, 0);
  while (session.time() < 12 && fell.back() == 0) {
    session.step();
    for (std::size_t i = 0; i < fell.size(); ++i)
      if (fell[i] == 0 && pose(session, fmt::format("domino_{}", i)).p.z() < 0.45) fell[i] = session.time();
  }
  EXPECT_GT(fell.back(), 0) << "the last one falls";
  EXPECT_TRUE(std::is_sorted(fell.begin(), fell.end()));
  // after the first ten the wave is steady
  EXPECT_NEAR(fell[39] - fell[29], fell[29] - fell[19], 0.1 * (fell[29] - fell[19]));
}

TEST(BundledScenes, TheCradlePassesItsMomentumOn) {
  Session session = make_session(bundled("newtons-cradle"));
  double most = 0, inner = 0;
  const double start = session.world().energies().total();
  while (session.time() < 2) {  // half of the period of about 2 s passes between the two sides
    session.step();
    most = std::min(most, q(session, "ball_4"));
    for (const int i : {1, 2, 3}) inner = std::max(inner, std::abs(q(session, fmt::format("ball_{}", i))));
  }
  // turning about y, positive angles swing towards -x: the last one is thrown to -40 degrees
  EXPECT_NEAR(most, -40 * std::numbers::pi / 180, 0.01);
  EXPECT_LT(inner, 0.02);
  EXPECT_NEAR(session.world().energies().total(), start,
              1e-2 * 9.81 * (1 - std::cos(40 * std::numbers::pi / 180)));
}

TEST(BundledScenes, ThePinchedCapsuleDoesNotCreep) {
  Session session = make_session(bundled("pinched-capsule"));
  run_until(session, 0.5);
  const double start = pose(session, "capsule").p.z();
  EXPECT_GT(start, -1e-3);
  run_until(session, 3);
  EXPECT_LT(std::abs(pose(session, "capsule").p.z() - start) / 2.5, 1e-8);
}

TEST(BundledScenes, TheArmGoesWhereItIsTold) {
  Session session = make_session(bundled("arm"));
  run_until(session, 2.4);
  // gravity bends it by its torque, below 60 N m, over a stiffness of 4000 N m/rad
  EXPECT_NEAR(q(session, "yaw"), 0.8, 1e-3);
  EXPECT_NEAR(q(session, "shoulder"), 0.9, 0.015);
  EXPECT_NEAR(q(session, "elbow"), 1.1, 0.015);
  run_until(session, 4.4);
  EXPECT_NEAR(q(session, "yaw"), -0.8, 1e-3);
  EXPECT_NEAR(q(session, "tool_roll"), 1.5, 1e-3);
}

TEST(BundledScenes, TheGripTakesTheBoxAndLetsItGo) {
  Session session = make_session(bundled("grip"));
  const auto height = [&] { return pose(session, "box").p.z(); };
  const auto until = [&](double time) {
    while (session.world().time() < time - 1e-9) session.step();
  };
  until(0.9);
  EXPECT_NEAR(height(), 0.1, 1e-3);
  until(2.9);
  EXPECT_NEAR(height(), 0.7, 0.01) << "it hangs where the gripper is";
  until(4);
  EXPECT_NEAR(height(), 0.1, 1e-3) << "it fell";
  EXPECT_TRUE(session.problems().empty());
  ASSERT_TRUE(session.reset("").empty());
  until(2.9);
  EXPECT_NEAR(height(), 0.7, 0.01) << "and again";
  EXPECT_TRUE(session.problems().empty());
}

TEST(BundledScenes, TheChainBreaksAtItsWeakestJointAndNotBefore) {
  Session session = make_session(bundled("breaking-chain"));
  const auto until = [&](double time) {
    while (session.world().time() < time - 1e-9) session.step();
  };
  // the joint carries 0.2 + 0.2 + 2 kg and the pull: 23.5 + 50 N, then 23.5 + 90 N
  until(1.9);
  EXPECT_GT(pose(session, "weight").p.z(), -0.9);
  until(3);
  EXPECT_LT(pose(session, "weight").p.z(), -1.5) << "what broke off fell";
  EXPECT_GT(pose(session, "link2").p.z(), -0.3) << "the rest hangs on";
}

}  // namespace
}  // namespace karakuri::test
