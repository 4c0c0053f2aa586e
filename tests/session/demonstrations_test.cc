// The bundled scenes of closed loops and changing structure: loops do not open, and what is to happen
// happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "session/scenes.h"
#include "support/loop_watch.h"

namespace karakuri::test {
namespace {

/// Loops are held to 1e-11 at the end of each step; this is what is promised.
constexpr double kClosed = 1e-9;

class Demonstration {
 public:
  explicit Demonstration(const std::string& name) : name_(name), session_(make(name)) {}

  /// Runs on, and returns the largest error of any closed loop after any step [m or rad].
  double until(double time) {
    LoopWatch watch;
    watch.until(world(), time, [&] { session_.step(); });
    EXPECT_TRUE(session_.problems().empty()) << to_string(session_.problems().front());
    EXPECT_TRUE(watch.finite);
    if (time >= 60) watch.print(name_.c_str());
    return watch.error;
  }
  const World& world() const { return session_.world(); }
  Transform pose(const char* link) const {
    const LinkId id = session_.scene().scene.mechanism.find_link(link);
    EXPECT_TRUE(id) << link;
    return world().pose(id);
  }
  bool closed(const char* joint) const {
    const JointId id = session_.scene().scene.mechanism.find_joint(joint);
    for (std::size_t i = 0; i < world().model().loops.size(); ++i)
      if (world().model().loops[i].joint == id) return world().state().loop_closed[i];
    ADD_FAILURE() << joint << " closes no loop";
    return false;
  }

 private:
  static Session make(const std::string& name) { return test::make_session(test::bundled(name)); }
  std::string name_;
  Session session_;
};

TEST(Demonstrations, HighBarIsLetGoByOneHandAndThenTheOther) {
  Demonstration d("high-bar");
  const Vec3 palm(0, 0, 0.35), left(0, 0.22, 2.45), right(0, -0.22, 2.45);
  EXPECT_LT(d.until(1.49), kClosed);
  EXPECT_LT((d.pose("forearm_r") * palm - right).norm(), kClosed);
  EXPECT_LT(d.until(2.5), kClosed);
  EXPECT_FALSE(d.closed("grip_r"));
  EXPECT_TRUE(d.closed("grip_l"));
  EXPECT_GT((d.pose("forearm_r") * palm - right).norm(), 0.05);
  EXPECT_LT((d.pose("forearm_l") * palm - left).norm(), kClosed);
  EXPECT_LT(d.until(5), kClosed);
  EXPECT_FALSE(d.closed("grip_l"));
  EXPECT_LT(d.pose("trunk").p.z(), 0.6) << "it lies on the ground";
}

TEST(Demonstrations, SwingBreaksUnderTheBlow) {
  Demonstration d("swing");
  EXPECT_LT(d.until(1.99), kClosed);
  EXPECT_TRUE(d.closed("knot_l"));
  EXPECT_LT(d.until(2.1), kClosed);
  EXPECT_FALSE(d.closed("knot_l"));
  EXPECT_TRUE(d.closed("seat_l"));
  EXPECT_LT(d.until(2.8), kClosed);
  EXPECT_FALSE(d.closed("seat_l"));
  EXPECT_TRUE(d.closed("hand_l"));
  EXPECT_LT((d.pose("board") * Vec3(0, 0.6, 0)).z(), d.pose("board").p.z()) << "its left end hangs down";
}

TEST(Demonstrations, ChainsDockAndPart) {
  Demonstration d("docking");
  d.until(1.99);
  EXPECT_TRUE(d.world().attachments().empty());
  const double before = d.world().energies().kinetic;
  EXPECT_LT(d.until(2.1), kClosed);
  ASSERT_EQ(d.world().attachments().size(), 1u);
  EXPECT_LT(d.world().energies().kinetic, before);
  const Transform docked = d.pose("left3").inverse() * d.pose("right3");
  EXPECT_LT(d.until(5.9), kClosed);
  const Transform later = d.pose("left3").inverse() * d.pose("right3");
  EXPECT_LT((later.p - docked.p).norm() + (later.R - docked.R).norm(), 1e-8);  // 3 m from end to end
  d.until(6.5);
  EXPECT_TRUE(d.world().attachments().empty());
}

TEST(Demonstrations, TheFigureIsCaughtByItsHand) {
  Demonstration d("human-40");
  EXPECT_EQ(d.world().model().nv, 46);
  EXPECT_LT(d.until(2.4), kClosed);
  ASSERT_EQ(d.world().attachments().size(), 1u);
  EXPECT_GT(d.pose("hand_l").p.z(), 1);
  d.until(4);
  EXPECT_TRUE(d.world().attachments().empty());
  EXPECT_LT(d.pose("hand_l").p.z(), 0.6) << "it has fallen";
  EXPECT_EQ(Demonstration("human-16").world().model().nv, 22);
}

TEST(Demonstrations, StewartPlatformLiftsAndComesBack) {
  Demonstration d("stewart");
  const double start = d.pose("plate").p.z();
  EXPECT_LT(d.until(3.4), kClosed);
  EXPECT_GT(d.pose("plate").p.z(), start + 0.12) << "all pistons are out by 0.15 m";
  EXPECT_GT(d.pose("plate").R(2, 2), 0.999) << "level";
  EXPECT_LT(d.until(4.4), kClosed);
  const Mat3 turned = d.pose("plate").R;
  EXPECT_GT(std::abs(std::atan2(turned(1, 0), turned(0, 0))), 0.05) << "every second piston short: it turns";
}

TEST(Demonstrations, DeltaRobotNeverTilts) {
  Demonstration d("delta");
  double lowest = 1, highest = 0;
  for (double t = 0.1; t < 3; t += 0.1) {
    EXPECT_LT(d.until(t), kClosed);
    // the file's coordinates have six digits, so that the parallelograms are not quite such
    EXPECT_LT((d.pose("tool").R - Mat3::Identity()).norm(), 1e-5);
    lowest = std::min(lowest, d.pose("tool").p.z());
    highest = std::max(highest, d.pose("tool").p.z());
  }
  EXPECT_GT(highest - lowest, 0.1);
  if (const double end = long_or(3); end > 3) EXPECT_LT(d.until(end), kClosed);
}

TEST(Demonstrations, ClosedChainHangsThroughBetweenItsEnds) {
  Demonstration d("closed-chain");
  EXPECT_LT(d.until(3), kClosed);
  EXPECT_LT(d.pose("bar3").p.z(), 1.8);
  EXPECT_LT(d.until(3.4), kClosed);
  EXPECT_GT(std::abs(d.pose("bar3").p.y()), 0.02) << "the push bends it across";
}

TEST(Demonstrations, ChebyshevDrawsAlmostALine) {
  Demonstration d("chebyshev");
  double low = 1, high = 0, left = 0, right = 0;
  for (double t = 0.02; t < 3; t += 0.02) {
    EXPECT_LT(d.until(t), kClosed);
    const Vec3 pen = d.pose("coupler") * Vec3(-0.1, 0, 0);
    low = std::min(low, pen.z()), high = std::max(high, pen.z());
    left = std::min(left, pen.x()), right = std::max(right, pen.x());
  }
  EXPECT_GT(right - left, 0.3);
  EXPECT_LT(high - low, 0.01 * (right - left));
}

TEST(Demonstrations, StrandbeestWalksSlow) {
  Demonstration d("strandbeest");
  const double end = long_or(1.5);
  EXPECT_LT(d.until(end), kClosed);
  EXPECT_GT(std::abs(d.pose("body").p.x()), 0.13 * end) << "it walks on";
  EXPECT_GT(d.pose("body").R(2, 2), 0.95) << "upright";
}

}  // namespace
}  // namespace karakuri::test
