#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "karakuri/core/random.h"
#include "karakuri/spatial/rotation.h"
#include "scenes/robot_parts.h"
#include "scenes/scenes.h"

namespace karakuri::bench {

namespace {

/// Right: side = -1. What lies in the plane of symmetry is mirrored in y; axes so that equal angles mirror.
void add_leg(RobotBuilder& b, int pelvis, int waist, double side) {
  const std::string s = side < 0 ? "_right" : "_left";
  const Vec3 y = Vec3::UnitY();
  const int thigh = b.add(
      "thigh" + s, pelvis, Vec3(0, 0.1 * side, -0.04),
      {hinge({-side, 0, 0}, -30, 10, 10, 5), hinge({0, 0, -side}, -60, 35, 10, 5), hinge(y, -150, 20, 10, 5)},
      {capsule({0, 0, 0}, {0, -0.01 * side, -0.34}, 0.06)});
  const int shin =
      b.add("shin" + s, thigh, Vec3(0, -0.01 * side, -0.4), {hinge(-y, -160, 2, 1, 0.2, {0, 0, 0.02})},
            {capsule({0, 0, 0}, {0, 0, -0.3}, 0.049)});
  b.add("foot" + s, shin, Vec3(0, 0, -0.39),
        {hinge(y, -50, 50, 6, 0.2, {0, 0, 0.08}),
         hinge({-side, 0, -0.5 * side}, -50, 50, 3, 0.2, {0, 0, 0.04})},
        {capsule({-0.07, -0.01, 0}, {0.14, -0.03, 0}, 0.027),
         capsule({-0.07, 0.01, 0}, {0.14, 0.03, 0}, 0.027)});
  b.keep_apart(waist, thigh);
}

void add_arm(RobotBuilder& b, int torso, double side) {
  const std::string s = side < 0 ? "_right" : "_left";
  const Vec3 across(0, -1, -side);
  const int upper = b.add("upper_arm" + s, torso, Vec3(0, 0.17 * side, 0.06),
                          {hinge({-2 * side, 1, -side}, -85, 60, 1, 0.2), hinge(across, -85, 60, 1, 0.2)},
                          {capsule({0, 0, 0}, {0.16, 0.16 * side, -0.16}, 0.04)});
  b.add("lower_arm" + s, upper, Vec3(0.18, 0.18 * side, -0.18), {hinge(across, -100, 50, 0, 0.2)},
        {capsule({0.01, -0.01 * side, 0.01}, {0.17, -0.17 * side, 0.17}, 0.031),
         ball(0.04, {0.18, -0.18 * side, 0.18})});
}

}  // namespace

void add_mujoco_humanoid(Setup& setup, const std::string& prefix, const Transform& X_WB) {
  RobotBuilder b(setup, prefix);
  const int torso =
      b.add("torso", -1, X_WB, {},
            {capsule({0, -0.07, 0}, {0, 0.07, 0}, 0.07),
             capsule({-0.01, -0.06, -0.12}, {-0.01, 0.06, -0.12}, 0.06), ball(0.09, {0, 0, 0.19})});
  const int waist = b.add("waist_lower", torso, Vec3(-0.01, 0, -0.26),
                          {hinge(Vec3::UnitZ(), -45, 45, 20, 5, {0, 0, 0.065}),
                           hinge(Vec3::UnitY(), -75, 30, 10, 5, {0, 0, 0.065})},
                          {capsule({0, -0.06, 0}, {0, 0.06, 0}, 0.06)});
  const int pelvis =
      b.add("pelvis", waist, Vec3(0, 0, -0.165), {hinge(Vec3::UnitX(), -35, 35, 10, 5, {0, 0, 0.1})},
            {capsule({-0.02, -0.07, 0}, {-0.02, 0.07, 0}, 0.09)});
  for (const double side : {-1.0, 1.0}) add_leg(b, pelvis, waist, side);
  for (const double side : {-1.0, 1.0}) add_arm(b, torso, side);
}

namespace {

/// The balls under one foot, in rows along it.
std::vector<Part> sole(int count) {
  const int across = count >= 16 ? 4 : 2, along = count / across;
  std::vector<Part> parts{block(1, {0.12, 0.06, 0.02}, {0.04, 0, -0.04})};
  for (int i = 0; i < along; ++i) {
    for (int j = 0; j < across; ++j) {
      const Vec3 at(0.04 + 0.22 * (i / (along - 1.0) - 0.5), 0.1 * (j / (across - 1.0) - 0.5), -0.06);
      parts.push_back({Shape::sphere(0.01), Transform::translation(at), 0.5 / count});
    }
  }
  return parts;
}

}  // namespace

Setup for_mujoco_humanoids() {
  Setup setup;
  setup.dt = 0.005;
  setup.floor_friction = 1;  // the larger of the floor's and the humanoid's, as MuJoCo takes it
  setup.body_friction = 0;   // its capsules slide on each other
  setup.iterations = 50;
  setup.mujoco_geom = R"(solimp=".9 .99 .003" solref=".015 1")";
  setup.mujoco_joint = R"(solimplimit="0 .99 .01")";
  return setup;
}

Setup falling_humanoids(int count, std::uint64_t seed) {
  Setup setup = for_mujoco_humanoids();
  Random random(5 + seed);
  const int columns = static_cast<int>(std::ceil(std::sqrt(count)));
  for (int k = 0; k < count; ++k) {
    const bool first = k == 0 && seed == 0;
    const Vec3 turn(random.uniform(-0.3, 0.3), random.uniform(-0.3, 0.3), random.uniform(-3, 3));
    const Vec3 at(2.5 * (k % columns), 2.5 * (k / columns), first ? 1.4 : 1.4 + random.uniform(0, 0.3));
    const std::string prefix = count == 1 ? "" : fmt::format("{}.", k);
    add_mujoco_humanoid(setup, prefix, {first ? Mat3::Identity() : rotation_exp(turn), at});
  }
  return setup;
}

Setup standing_humanoid(int contacts) {
  Setup setup;
  setup.dt = 0.005;
  setup.floor_friction = setup.body_friction = 0.8;
  setup.iterations = 50;
  RobotBuilder b(setup, "");
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY(), z = Vec3::UnitZ();
  const double leg = 0.4, bend = 0.3;  // upper and lower leg [m]; how the knee stands, half of it [rad]
  const double height = 2 * leg * std::cos(bend) + 0.07 + 0.1;
  const int pelvis = b.add("pelvis", -1, Vec3(0, 0, height), {}, {block(10, {0.1, 0.15, 0.1}, {0, 0, 0})});
  const int chest = b.add("chest", pelvis, Vec3(0, 0, 0.15), {held(z, 1000), held(y, 2000)},
                          {block(12, {0.1, 0.15, 0.15}, {0, 0, 0.2})});
  b.add("head", chest, Vec3(0, 0, 0.4), {held(z, 100), held(y, 100)},
        {{Shape::sphere(0.1), Transform::translation({0, 0, 0.1}), 4}});
  for (const double side : {1.0, -1.0}) {
    const std::string s = side > 0 ? "left." : "right.";
    // angles are 0 where the leg is bent: the bodies' frames are turned instead
    const auto turned = [&](double angle, const Vec3& p) {
      return Transform{rotation_exp(Vec3(0, angle, 0)), p};
    };
    const int thigh = b.add(s + "thigh", pelvis, turned(-bend, {0, 0.1 * side, -0.1}),
                            {held(z, 1000), held(x, 2000), held(y, 2000)},
                            {block(6, {0.05, 0.05, 0.15}, {0, 0, -0.5 * leg})});
    const int shin = b.add(s + "shin", thigh, turned(2 * bend, {0, 0, -leg}), {held(y, 2000)},
                           {block(4, {0.04, 0.04, 0.15}, {0, 0, -0.5 * leg})});
    b.add(s + "foot", shin, turned(-bend, {0, 0, -leg}), {held(y, 2000), held(x, 2000)}, sole(contacts / 2));
    const int upper = b.add(s + "upper arm", chest, Vec3(0, 0.22 * side, 0.3),
                            {held(y, 300, 0, 0.3 * side), held(x, 300), held(z, 300)},
                            {block(2, {0.03, 0.03, 0.12}, {0, 0.03 * side, -0.15})});
    const int lower = b.add(s + "forearm", upper, Vec3(0, 0.03 * side, -0.3), {held(y, 200), held(z, 200)},
                            {block(1.5, {0.03, 0.03, 0.1}, {0, 0, -0.12})});
    b.add(s + "hand", lower, Vec3(0, 0, -0.25), {held(y, 50), held(x, 50)},
          {block(0.5, {0.02, 0.03, 0.05}, {0, 0, -0.05})});
  }
  return setup;
}

Setup chain_on_floor(int links) {
  constexpr double length = 0.2, radius = 0.04;
  Setup setup;
  setup.dt = 0.005;
  setup.floor_friction = setup.body_friction = 0.5;
  setup.iterations = 50;
  RobotBuilder b(setup, "");
  const std::vector<Part> part{capsule({0.05, 0, 0}, {0.15, 0, 0}, radius)};
  int at = b.add("0", -1, Vec3(0, 0, radius + 0.05), {}, part);
  for (int k = 1; k < links; ++k) {
    Hinge h;
    h.axis = k % 2 == 0 ? Vec3::UnitY() : Vec3::UnitZ();
    h.damping = 0.01;
    // bends to and fro, so that the chain lies in waves
    const double turn = k % 40 < 20 ? 0.1 : -0.1;
    const Transform X{rotation_exp(Vec3(0, 0, turn)), Vec3(length, 0, 0)};
    at = b.add(std::to_string(k), at, X, {h}, part);
  }
  return setup;
}

}  // namespace karakuri::bench
