// Steps whose solver would take minutes are bounded, deterministically, and say so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "session/scenes.h"

namespace karakuri {
namespace {

using testing::HasSubstr;

/// Boxes that all start in one place: each touches each.
LoadedScene overlapping_boxes(int count) {
  LoadedScene scene;
  scene.name = "overlapping";
  scene.scene.add_ground();
  for (int i = 0; i < count; ++i)
    scene.scene.add_body(fmt::format("box{}", i), Shape::box(Vec3::Constant(0.1)), 1,
                         Transform::translation({0, 0, 0.5}));
  return scene;
}

std::string told(const Session& session) {
  return to_string(std::vector<Diagnostic>(session.problems().begin(), session.problems().end()));
}

/// Of one step at most, and that it was told, once.
void expect_bounded(Session& session, int steps, double most) {
  double work = 0;
  int exhausted = 0;
  for (int k = 0; k < steps; ++k) {
    session.step();
    work = std::max(work, session.world().report().budget.work);
    exhausted += session.world().report().budget.exhausted;
  }
  EXPECT_LE(work, most);
  EXPECT_GT(exhausted, 0);
  const std::string all = told(session);
  EXPECT_THAT(all, HasSubstr("ran out of its work"));
  EXPECT_EQ(all.find("ran out"), all.rfind("ran out"));
}

/// What an island of so many rows may take, and what it may be over: no method looks after each number.
double most_work(const Session& session, double rows) {
  return 1.3 * session.world().settings().max_work * (1 + rows / 50'000);
}

TEST(StepBudget, NewtonOnOverlappingBoxes) {
  constexpr int kBoxes = 60;
  Session session = test::make_session(overlapping_boxes(kBoxes));
  ASSERT_TRUE(session.set("settings.solver", "newton").empty());
  expect_bounded(session, 1, most_work(session, 3 * 4 * kBoxes * kBoxes / 2));  // four points of each pair
  EXPECT_EQ(session.world().report().budget.method, solver::Method::kNewton);
}

TEST(StepBudget, DantzigOnAPyramid) {
  Session session = test::make_session(test::bundled("pyramid"));
  ASSERT_TRUE(session.set("settings.solver", "dantzig").empty());
  ASSERT_TRUE(session.set("settings.max_work", 5e7).empty());  // a quarter of what its first steps take
  const double before = session.world().energies().total();
  expect_bounded(session, 5, most_work(session, 2352));
  EXPECT_LE(session.world().energies().total(), before * (1 + 1e-9));
}

/// A spiral whose turns lie on each other.
std::string wound_chain(int links) {
  std::string text = "name: chain\nground: true\nsettings: {dt: 0.005}\nbodies:\n";
  for (int i = 0; i < links; ++i) {
    const std::string place = i == 0 ? "at: [0, 0, 0.03]"
                                     : fmt::format(
                                           "parent: l{}, at: [0.1, 0, 0.0012], rpy_deg: [0, 0, 9], joint: "
                                           "{{name: j{}, kind: spherical}}",
                                           i - 1, i);
    text += fmt::format(
        "  - {{name: l{}, {}, mass: 0.1, shapes: {{capsule: {{radius: 0.03, length: 0.05}}, at: [0.05, 0, "
        "0], "
        "rpy_deg: [0, 90, 0]}}}}\n",
        i, place);
  }
  return text;
}

TEST(StepBudget, AChainThatIsWoundOntoItself) {
  Result<LoadedScene> scene = load_native(wound_chain(400), "chain.scene.yaml");
  ASSERT_TRUE(scene.ok()) << to_string(scene.errors());
  Session session = test::make_session(std::move(*scene));
  ASSERT_TRUE(session.set("settings.max_work", 5e7).empty());
  expect_bounded(session, 2, most_work(session, 3 * 800));
}

TEST(StepBudget, ASmallerOneIsHonoured) {
  for (const char* solver :
       {"default", "block", "newton", "pgs", "springhead", "dantzig", "lemke", "quickstep"}) {
    SCOPED_TRACE(solver);
    Session session = test::make_session(overlapping_boxes(5));
    ASSERT_TRUE(session.set("settings.solver", solver).empty());
    ASSERT_TRUE(session.set("settings.max_work", 1e4).empty());
    const double before = session.world().energies().total();
    expect_bounded(session, 5, 1e6);
    EXPECT_LE(session.world().energies().total(), before * (1 + 1e-9));
  }
}

// A step must give the same bits whatever the machine does meanwhile, also where it runs out.
TEST(StepBudget, TheSameBitsOnAnyNumberOfThreads) {
  std::vector<std::uint64_t> hashes;
  for (const double threads : {1, 1, 4}) {
    Session session = test::make_session(overlapping_boxes(12));
    ASSERT_TRUE(session.set("settings.max_work", 1e5).empty());
    ASSERT_TRUE(session.set("settings.threads", threads).empty());
    session.step(20);
    hashes.push_back(session.hash());
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
}

}  // namespace
}  // namespace karakuri
