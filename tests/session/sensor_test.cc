// Sensors against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "session/scenes.h"

namespace karakuri::test {
namespace {

/// A sensor's numbers by its name.
std::vector<double> reading(const Session& session, std::string_view name) {
  const auto& sensors = session.scene().sensors;
  for (std::size_t i = 0; i < sensors.size(); ++i) {
    const auto numbers = session.reading(static_cast<int>(i));
    if (sensors[i].name == name) return {numbers.begin(), numbers.end()};
  }
  ADD_FAILURE() << "no sensor " << name;
  return {};
}

void expect_near(const std::vector<double>& got, std::vector<double> expected, double tolerance,
                 const char* what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], tolerance) << what << " " << i;
}

constexpr const char* kAll =
    "<actuator><motor name=\"motor\" joint=\"hinge\" gear=\"2\"/></actuator><sensor>"
    "<jointpos name=\"q\" joint=\"hinge\"/><jointvel name=\"v\" joint=\"hinge\"/>"
    "<actuatorpos name=\"ap\" actuator=\"motor\"/><actuatorvel name=\"av\" actuator=\"motor\"/>"
    "<actuatorfrc name=\"af\" actuator=\"motor\"/><gyro name=\"gyro\" site=\"bob\"/>"
    "<accelerometer name=\"acc\" site=\"bob\"/><velocimeter name=\"vel\" site=\"bob\"/>"
    "<force name=\"force\" site=\"bob\"/><torque name=\"torque\" site=\"bob\"/>"
    "<framepos name=\"pos\" objtype=\"site\" objname=\"bob\"/>"
    "<framequat name=\"quat\" objtype=\"site\" objname=\"bob\"/>"
    "<framexaxis name=\"x\" objtype=\"site\" objname=\"bob\"/>"
    "<framelinvel name=\"lv\" objtype=\"site\" objname=\"bob\"/>"
    "<frameangvel name=\"wv\" objtype=\"site\" objname=\"bob\"/>"
    "<framelinacc name=\"la\" objtype=\"site\" objname=\"bob\"/>"
    "<frameangacc name=\"wa\" objtype=\"site\" objname=\"bob\"/></sensor>";

// m = 2, l = 0.5, g = 10: q'' = -(g / l) sin q + tau / (m l^2)
TEST(Sensors, OfASwingingPendulumAreAsTheFormulasSay) {
  Session session = make_session(read_mjcf(pendulum(kAll, "timestep=\"1e-5\"")));
  const JointId hinge = session.scene().scene.mechanism.find_joint("hinge");
  session.world().set_q(hinge, std::array{0.7});
  session.world().set_v(hinge, std::array{-1.5});
  session.set_control(0, 0.8);
  session.step();
  const double q = session.world().q(hinge)[0], v = session.world().v(hinge)[0];
  const double tau = 2 * 0.8, a = -20 * std::sin(q) + tau / 0.5;
  const double s = std::sin(q), c = std::cos(q);
  const double near = 1e-3;  // first order in the step of 1e-5, accelerations up to 20
  expect_near(reading(session, "q"), {q}, 0, "q");
  expect_near(reading(session, "v"), {v}, 0, "v");
  expect_near(reading(session, "ap"), {2 * q}, 1e-15, "ap");
  expect_near(reading(session, "av"), {2 * v}, 1e-15, "av");
  expect_near(reading(session, "af"), {0.8}, 1e-15, "af");
  expect_near(reading(session, "gyro"), {0, v, 0}, 1e-12, "gyro");
  // turning about y takes -z to (-sin q, 0, -cos q)
  expect_near(reading(session, "pos"), {-0.5 * s, 0, -0.5 * c}, 1e-12, "pos");
  expect_near(reading(session, "quat"), {std::cos(q / 2), 0, std::sin(q / 2), 0}, 1e-12, "quat");
  expect_near(reading(session, "x"), {c, 0, -s}, 1e-12, "x");
  expect_near(reading(session, "lv"), {-0.5 * v * c, 0, 0.5 * v * s}, 1e-12, "lv");
  expect_near(reading(session, "wv"), {0, v, 0}, 1e-12, "wv");
  expect_near(reading(session, "vel"), {-0.5 * v, 0, 0}, 1e-12, "vel");
  expect_near(reading(session, "wa"), {0, a, 0}, near, "wa");
  // along the rod's x: l q'' backwards, less gravity's part; along its z: l v^2 towards the pivot
  const double along = -0.5 * a - 10 * s, up = 0.5 * v * v + 10 * c;
  expect_near(reading(session, "acc"), {along, 0, up}, near, "acc");
  expect_near(reading(session, "la"), {along * c + up * s, 0, -along * s + up * c}, near, "la");
  // what the hinge gives to the rod: mass times the acceleration felt; about the bob: tau, less the arm
  expect_near(reading(session, "force"), {2 * along, 0, 2 * up}, 2 * near, "force");
  const std::vector<double> torque = reading(session, "torque");
  EXPECT_NEAR(torque[1], 0, 2 * near) << "a point mass needs no moment about itself";
}

TEST(Sensors, OfALinkThatIsFixedReadWhatHangsBelowIt) {
  Session session = make_session(read_mjcf(
      "<mujoco><option gravity=\"0 0 -10\"/><worldbody>"
      "<body name=\"arm\" pos=\"0 0 1\"><joint name=\"lift\" type=\"slide\" axis=\"0 0 1\"/>"
      "<inertial pos=\"0 0 0\" mass=\"5\" diaginertia=\".1 .1 .1\"/>"
      "<body name=\"wrist\" pos=\"0.3 0 0\"><inertial pos=\"0.1 0 0\" mass=\"1\" diaginertia=\".1 .1 .1\"/>"
      "<site name=\"s\"/>"
      "<body name=\"tool\" pos=\"0.2 0 0\"><joint name=\"roll\" axis=\"0 0 1\"/><inertial pos=\"0 0 0\" "
      "mass=\"2\" "
      "diaginertia=\".1 .1 .1\"/></body></body></body></worldbody>"
      "<actuator><position joint=\"lift\" kp=\"1e6\"/><velocity joint=\"lift\" kv=\"1e4\"/></actuator>"
      "<sensor><force name=\"f\" site=\"s\"/><torque name=\"t\" site=\"s\"/></sensor></mujoco>"));
  session.step(2000);
  // 1 kg at 0.1 m and 2 kg at 0.2 m beyond the sensor
  expect_near(reading(session, "f"), {0, 0, 30}, 1e-6, "force");
  expect_near(reading(session, "t"), {0, -5, 0}, 1e-6, "torque");
}

TEST(Sensors, TouchAndRangefinder) {
  Session session = make_session(read_mjcf(
      "<mujoco><option gravity=\"0 0 -10\"/><worldbody><geom type=\"plane\" size=\"5 5 1\"/>"
      "<body name=\"box\" pos=\"0 0 0.1\"><freejoint/><geom type=\"box\" size=\".1 .1 .1\" mass=\"3\"/>"
      "<site name=\"in\"/></body>"
      "<body name=\"eye\" pos=\"2 0 1.5\"><geom type=\"sphere\" size=\".05\" mass=\"1\"/>"
      "<site name=\"down\" quat=\"0 1 0 0\"/><site name=\"up\"/></body></worldbody>"
      "<sensor><touch name=\"touch\" site=\"in\"/><rangefinder name=\"down\" site=\"down\"/>"
      "<rangefinder name=\"up\" site=\"up\"/><rangefinder name=\"near\" site=\"down\" "
      "cutoff=\"1\"/></sensor></mujoco>"));
  session.step(500);
  expect_near(reading(session, "touch"), {30}, 1e-6, "touch");
  expect_near(reading(session, "down"), {1.5}, 1e-12, "its own ball does not hide the ground");
  expect_near(reading(session, "up"), {-1}, 0, "nothing there");
  expect_near(reading(session, "near"), {-1}, 0, "nothing within the cutoff");
}

TEST(Sensors, NoiseHasItsSizeAndComesFromTheSeed) {
  const auto run = [](std::uint64_t seed) {
    Session session = make_session(
        read_mjcf(pendulum("<sensor><jointpos name=\"q\" joint=\"hinge\" noise=\"0.2\"/></sensor>")),
        {.seed = seed});
    std::vector<double> values;
    for (int i = 0; i < 4000; ++i) {
      session.step();
      values.push_back(session.reading(0)[0]);
      EXPECT_EQ(session.reading(0)[0], values.back()) << "reading twice is reading the same";
    }
    return values;
  };
  const std::vector<double> a = run(1), b = run(1), c = run(2);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  double sum = 0, squares = 0;
  for (const double x : a) sum += x, squares += x * x;
  const double n = static_cast<double>(a.size());
  EXPECT_NEAR(sum / n, 0, 5 * 0.2 / std::sqrt(n));  // it hangs still: five standard errors
  EXPECT_NEAR(std::sqrt(squares / n), 0.2, 5 * 0.2 / std::sqrt(2 * n));
}

TEST(Sensors, WithARateHoldTheirValue) {
  LoadedScene scene = read_mjcf(pendulum("<sensor><jointpos name=\"q\" joint=\"hinge\"/></sensor>"));
  scene.sensors[0].rate = 100;  // every tenth step
  Session session = make_session(std::move(scene));
  const JointId hinge = session.scene().scene.mechanism.find_joint("hinge");
  session.world().set_v(hinge, std::array{1.0});
  int changes = 0;
  double last = session.reading(0)[0];
  for (int i = 0; i < 100; ++i) {
    session.step();
    changes += session.reading(0)[0] != last;
    last = session.reading(0)[0];
  }
  EXPECT_EQ(changes, 10);
  EXPECT_EQ(last, session.world().q(hinge)[0]) << "taken at 0.1 s";
}

TEST(Sensors, ThatCannotBeReadHaveNoNumbers) {
  Session session =
      make_session(read_mjcf(pendulum("<sensor><magnetometer name=\"m\" site=\"bob\"/></sensor>")));
  EXPECT_TRUE(session.reading(0).empty());
  EXPECT_TRUE(session.reading(7).empty());
  EXPECT_TRUE(session.reading(-1).empty());
}

}  // namespace
}  // namespace karakuri::test
