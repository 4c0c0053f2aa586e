// What the robots of several scenes are made of.
#pragma once

#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "scenes/setup.h"

namespace karakuri::bench {

inline constexpr double kDensity = 1000;  // MuJoCo's [kg/m^3]
inline constexpr double kDegree = std::numbers::pi / 180;

inline Part solid(const Shape& shape, const Transform& X_BS) {
  return {shape, X_BS, solid_inertia(shape, kDensity).mass};
}

inline Part ball(double radius, const Vec3& at = Vec3::Zero()) {
  return solid(Shape::sphere(radius), Transform::translation(at));
}

inline Part capsule(const Vec3& from, const Vec3& to, double radius) {
  const Vec3 along = to - from;
  const Mat3 R = Quat::FromTwoVectors(Vec3::UnitZ(), along).toRotationMatrix();
  return solid(Shape::capsule(radius, 0.5 * along.norm()), {R, 0.5 * (from + to)});
}

/// Of MuJoCo's humanoid: all have an armature of 0.01 kg m^2.
inline Hinge hinge(const Vec3& axis, double lower, double upper, double stiffness, double damping,
                   const Vec3& anchor = Vec3::Zero()) {
  Hinge h;
  h.axis = axis;
  h.anchor = anchor;
  h.lower = lower * kDegree;
  h.upper = upper * kDegree;
  h.stiffness = stiffness;
  h.damping = damping;
  h.armature = 0.01;
  return h;
}

/// Adds bodies one after the other.
class RobotBuilder {
 public:
  RobotBuilder(Setup& setup, std::string prefix) : setup_(setup), prefix_(std::move(prefix)) {}

  int add(const std::string& name, int parent, const Transform& X_PB, std::vector<Hinge> hinges,
          std::vector<Part> parts) {
    setup_.bodies.push_back({prefix_ + name, parent, X_PB, std::move(hinges), std::move(parts)});
    return static_cast<int>(setup_.bodies.size()) - 1;
  }
  int add(const std::string& name, int parent, const Vec3& at, std::vector<Hinge> hinges,
          std::vector<Part> parts) {
    return add(name, parent, Transform::translation(at), std::move(hinges), std::move(parts));
  }
  void keep_apart(int a, int b) { setup_.apart.emplace_back(a, b); }

 private:
  Setup& setup_;
  std::string prefix_;
};

/// A limb on one hinge held by a servo.
inline Hinge held(const Vec3& axis, double stiffness, double target = 0, double swing = 0) {
  Hinge h;
  h.axis = axis;
  h.armature = 0.01;
  h.servo = {stiffness, 0.05 * stiffness, target, swing};
  return h;
}

inline Part block(double mass, const Vec3& half, const Vec3& at) {
  return {Shape::box(half), Transform::translation(at), mass};
}

// ---- robots.cc
/// Step, friction and softness of MuJoCo's humanoid.
Setup for_mujoco_humanoids();
void add_mujoco_humanoid(Setup& setup, const std::string& prefix, const Transform& X_WB);

}  // namespace karakuri::bench
