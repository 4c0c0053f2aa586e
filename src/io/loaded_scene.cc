#include "karakuri/io/loaded_scene.h"

#include <algorithm>
#include <cmath>

namespace karakuri {

double next_activation(const Actuator& a, double activation, double control, double dt) {
  const double u = std::clamp(control, a.control.low, a.control.high);
  const double time = std::max(a.time_constant, 1e-15);
  double x = activation;
  switch (a.dynamics) {
    case ActuatorDynamics::kNone: return u;
    case ActuatorDynamics::kIntegrator: x += dt * u; break;
    case ActuatorDynamics::kFilter: x += dt * (u - activation) / time; break;
    case ActuatorDynamics::kExactFilter: x += (u - activation) * -std::expm1(-dt / time); break;
  }
  return std::clamp(x, a.activation.low, a.activation.high);
}

ActuatorOutput actuator_output(const Actuator& a, double x, std::size_t transmission) {
  if (transmission >= a.transmissions.size()) return {};
  const double gear = a.transmissions[transmission].gear;
  const Interval& range = a.dynamics == ActuatorDynamics::kNone ? a.control : a.activation;
  const double u = std::clamp(x, range.low, range.high);
  const double constant = a.gain * u + a.bias;
  ActuatorOutput out;
  const double damping = a.damping + a.control_damping * std::max(0.0, u);
  if (a.stiffness == 0 && damping == 0) {
    out.effort = gear * std::clamp(constant, a.force.low, a.force.high);
    return out;
  }
  // gear * (constant - stiffness gear q - damping gear v), as a drive of the joint's own q and v
  out.drive.stiffness = a.stiffness * gear * gear;
  out.drive.damping = damping * gear * gear;
  if (a.stiffness != 0 && gear != 0) {
    out.drive.q_target = constant / (a.stiffness * gear);
  } else if (gear != 0) {
    out.drive.v_target = constant / (damping * gear);
  }
  const double limit = std::max(std::abs(a.force.low), std::abs(a.force.high));
  out.drive.limit = limit * std::abs(gear);
  return out;
}

const Keyframe* LoadedScene::find_keyframe(std::string_view wanted) const {
  for (const Keyframe& keyframe : keyframes) {
    if (keyframe.name == wanted) return &keyframe;
  }
  return nullptr;
}

void apply(const Keyframe& keyframe, Scene& scene) {
  for (const InitialJoint& set : keyframe.joints) {
    const auto known = std::find_if(scene.initial.begin(), scene.initial.end(),
                                    [&](const InitialJoint& i) { return i.joint == set.joint; });
    if (known == scene.initial.end()) {
      scene.initial.push_back(set);
    } else {
      if (!set.q.empty()) known->q = set.q;
      if (!set.v.empty()) known->v = set.v;
    }
  }
}

}  // namespace karakuri
