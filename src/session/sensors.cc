// What sensors measure. Frames: W world, L the sensor's link, S the sensor.
#include <algorithm>
#include <cmath>

#include "session/impl.h"

namespace karakuri {

using namespace session_detail;

namespace session_detail {

std::array<double, 4> unit_quaternion(const Mat3& R) {
  const Quat r(R);
  const double sign = r.w() < 0 ? -1 : 1;
  return {sign * r.w(), sign * r.x(), sign * r.y(), sign * r.z()};
}

Stroke stroke_of(const World& world, const Actuator& actuator) {
  Stroke out;
  for (const Transmission& t : actuator.transmissions) {
    const auto q = world.q(t.joint), v = world.v(t.joint);
    const auto dof = static_cast<std::size_t>(t.dof);
    if (dof >= v.size()) continue;
    if (dof < q.size()) out.length += t.gear * q[dof];
    out.rate += t.gear * v[dof];
  }
  const Stroke cable = stroke_of(world, actuator.cable);
  out.length += cable.length, out.rate += cable.rate;
  if (const Thrust& t = actuator.thrust; world.model().find(t.link)) {
    const Transform X_WT = world.pose(t.link) * t.X_LT;
    const Motion V = world.velocity(t.link).shifted(X_WT.p - world.pose(t.link).p);
    out.rate += t.force.dot(X_WT.R.transpose() * V.linear) + t.moment.dot(X_WT.R.transpose() * V.angular);
  }
  return out;
}

double actuator_force(const World& world, const Actuator& a, double x) {
  const Interval& range = a.dynamics == ActuatorDynamics::kNone ? a.control : a.activation;
  const double u = std::clamp(x, range.low, range.high);
  const double damping = a.damping + a.control_damping * std::max(0.0, u);
  double force = a.gain * u + a.bias;
  if (a.stiffness != 0 || damping != 0) {
    const Stroke stroke = stroke_of(world, a);
    force -= a.stiffness * stroke.length + damping * stroke.rate;
  }
  return std::clamp(force, a.force.low, a.force.high);
}

int sensor_size(const LoadedScene& scene, const Sensor& sensor) {
  const Mechanism& m = scene.scene.mechanism;
  const bool on_link = m.contains(sensor.link), on_joint = m.contains(sensor.joint);
  const bool on_actuator = sensor.actuator >= 0 && sensor.actuator < static_cast<int>(scene.actuators.size());
  switch (sensor.kind) {
    case SensorKind::kJointPosition: return on_joint ? q_size(m.joint(sensor.joint).kind) : 0;
    case SensorKind::kJointVelocity:
    case SensorKind::kJointEffort: return on_joint ? v_size(m.joint(sensor.joint).kind) : 0;
    case SensorKind::kActuatorPosition:
    case SensorKind::kActuatorVelocity:
    case SensorKind::kActuatorForce: return on_actuator ? 1 : 0;
    case SensorKind::kTouch:
    case SensorKind::kRangefinder: return on_link ? 1 : 0;
    case SensorKind::kFrameOrientation: return on_link ? 4 : 0;
    case SensorKind::kInertialUnit:
    case SensorKind::kForceTorque: return on_link || on_joint ? 6 : 0;
    case SensorKind::kCamera:
    case SensorKind::kOther: return 0;
    default: return on_link ? 3 : 0;
  }
}

}  // namespace session_detail

namespace {

void put_at(const Vec3& v, std::span<double> out, std::size_t at = 0) {
  for (int i = 0; i < 3; ++i) out[at + static_cast<std::size_t>(i)] = v[i];
}

/// What a link takes from its parent, about its own origin, world axes. A joint that moves knows. A link that
/// is fixed to its parent is part of a larger body: what it and those fixed to it need to move as they do,
/// less what touches them, plus what they pass on.
Force carried_by_fixed(const World& world, LinkId link);

Force carried(const World& world, LinkId link) {
  const Mechanism& m = world.scene().mechanism;
  const Joint* joint = m.contains(m.link(link).joint) ? &m.joint(m.link(link).joint) : nullptr;
  if (!joint) return {};
  if (joint->kind == JointKind::kFixed) return carried_by_fixed(world, link);
  const Vec3 arm = world.pose(link).R * joint->X_CM.p;  // from the link's origin to M
  return world.load(m.link(link).joint).wrench.shifted(-arm);
}

Force carried_by_fixed(const World& world, LinkId id) {
  const Mechanism& m = world.scene().mechanism;
  const Link& link = m.link(id);
  const Transform X = world.pose(id);
  const Motion V = world.velocity(id), A = world.acceleration(id);
  const Vec3 com = X.R * link.inertia.com, w = V.angular;
  const Mat3 I = X.R * link.inertia.about_com * X.R.transpose();
  const Vec3 a = A.linear + A.angular.cross(com) + w.cross(w.cross(com)) - world.gravity();
  const Vec3 force = link.inertia.mass * a, spin = I * w;
  const Vec3 moment = I * A.angular + w.cross(spin) + com.cross(force);
  Force sum = Force{moment, force} - world.contact_force(id);
  for (LinkId child = link.child; child; child = m.link(child).sibling) {
    if (m.link(child).is_virtual()) continue;
    sum = sum + carried(world, child).shifted(X.p - world.pose(child).p);
  }
  return sum;
}

/// On the sensor, about its origin, in its axes.
Force wrench_at(const World& world, const Sensor& sensor, const LoadedScene& scene) {
  const Mechanism& m = scene.scene.mechanism;
  const LinkId link = m.contains(sensor.link) ? sensor.link : m.joint(sensor.joint).child;
  if (!world.model().find(link)) return {};
  const Transform X_WS = world.pose(link) * sensor.X_LS;
  return carried(world, link).shifted(X_WS.p - world.pose(link).p).rotated(X_WS.R.transpose());
}

double touch(const World& world, LinkId link) {
  double sum = 0;
  for (const Contact& c : world.contacts()) {
    if (c.link_a == link || c.link_b == link) sum += std::max(0.0, c.force.dot(c.normal));
  }
  return sum;
}

/// MuJoCo's rangefinders look along z, those of URDF and SDF along x. -1 where nothing is hit.
double range(const World& world, const Sensor& sensor, const Transform& X_WS) {
  const Vec3 direction = X_WS.R.col(sensor.type == "rangefinder" ? 2 : 0);
  const double far = sensor.cutoff > 0 ? sensor.cutoff : 1e3;
  const auto hit = world.ray_cast(X_WS.p, direction, far, sensor.link);
  return hit ? hit->hit.t : -1;
}

int axis_of(const Sensor& sensor) {
  return sensor.type == "framexaxis" ? 0 : sensor.type == "frameyaxis" ? 1 : 2;
}

void measure_joint(const World& world, const Sensor& sensor, std::span<double> out) {
  if (sensor.kind == SensorKind::kJointEffort) {
    const JointLoad load = world.load(sensor.joint);
    std::copy_n(load.drive.begin(), out.size(), out.begin());
    return;
  }
  const auto from = sensor.kind == SensorKind::kJointPosition ? world.q(sensor.joint) : world.v(sensor.joint);
  std::copy_n(from.begin(), std::min(out.size(), from.size()), out.begin());
}

void measure_frame(const World& world, const Sensor& sensor, std::span<double> out) {
  const Transform X_WL = world.pose(sensor.link), X_WS = X_WL * sensor.X_LS;
  const Vec3 arm = X_WS.p - X_WL.p;
  const Motion V = world.velocity(sensor.link);
  switch (sensor.kind) {
    case SensorKind::kFramePosition: return put_at(X_WS.p, out);
    case SensorKind::kFrameAxis: return put_at(X_WS.R.col(axis_of(sensor)), out);
    case SensorKind::kFrameOrientation: {
      const auto quaternion = unit_quaternion(X_WS.R);
      std::copy(quaternion.begin(), quaternion.end(), out.begin());
      return;
    }
    case SensorKind::kFrameLinearVelocity: return put_at(V.shifted(arm).linear, out);
    case SensorKind::kFrameAngularVelocity: return put_at(V.angular, out);
    case SensorKind::kVelocimeter: return put_at(X_WS.R.transpose() * V.shifted(arm).linear, out);
    case SensorKind::kFrameAngularAcceleration: return put_at(world.acceleration(sensor.link).angular, out);
    case SensorKind::kFrameLinearAcceleration:
      // as MuJoCo has it, gravity counts: a frame at rest reads 9.81 upwards
      return put_at(X_WL.R * world.inertial(sensor.link, sensor.X_LS.p).acceleration, out);
    case SensorKind::kTouch: out[0] = touch(world, sensor.link); return;
    case SensorKind::kRangefinder: out[0] = range(world, sensor, X_WS); return;
    default: return;
  }
}

void measure_inertial(const World& world, const Sensor& sensor, std::span<double> out) {
  const World::InertialReading felt = world.inertial(sensor.link, sensor.X_LS.p);
  const Mat3 R_SL = sensor.X_LS.R.transpose();
  if (sensor.kind != SensorKind::kAccelerometer) put_at(R_SL * felt.angular_velocity, out);
  if (sensor.kind == SensorKind::kAccelerometer) put_at(R_SL * felt.acceleration, out);
  if (sensor.kind == SensorKind::kInertialUnit) put_at(R_SL * felt.acceleration, out, 3);
}

}  // namespace

void Session::Impl::measure(int index, std::span<double> out) const {
  const auto i = static_cast<std::size_t>(index);
  const Sensor& sensor = scene.sensors[i];
  if (out.empty()) return;
  std::fill(out.begin(), out.end(), 0.0);
  const auto actuator = static_cast<std::size_t>(std::max(0, sensor.actuator));
  switch (sensor.kind) {
    case SensorKind::kJointPosition:
    case SensorKind::kJointVelocity:
    case SensorKind::kJointEffort: measure_joint(world, sensor, out); break;
    case SensorKind::kActuatorPosition: out[0] = stroke_of(world, scene.actuators[actuator]).length; break;
    case SensorKind::kActuatorVelocity: out[0] = stroke_of(world, scene.actuators[actuator]).rate; break;
    case SensorKind::kActuatorForce:
      out[0] = actuator_force(world, scene.actuators[actuator], signal(actuator));
      break;
    case SensorKind::kGyro:
    case SensorKind::kAccelerometer:
    case SensorKind::kInertialUnit: measure_inertial(world, sensor, out); break;
    case SensorKind::kForce: put_at(wrench_at(world, sensor, scene).force, out); break;
    case SensorKind::kTorque: put_at(wrench_at(world, sensor, scene).moment, out); break;
    case SensorKind::kForceTorque: {
      const Force wrench = wrench_at(world, sensor, scene);
      put_at(wrench.force, out);
      put_at(wrench.moment, out, 3);
      break;
    }
    default: measure_frame(world, sensor, out);
  }
  if (sensor.cutoff > 0) {
    for (double& x : out) x = std::clamp(x, -sensor.cutoff, sensor.cutoff);
  }
}

void Session::Impl::sample_sensors() {
  const double now = world.time(), dt = world.settings().dt;
  for (std::size_t i = 0; i < sensors.size(); ++i) {
    const SensorSlot& slot = sensors[i];
    const Sensor& sensor = scene.sensors[i];
    if (!slot.sampled || state.next_sample[i] > now + 1e-3 * dt) continue;
    if (sensor.rate > 0) state.next_sample[i] += 1 / sensor.rate;
    const std::span<double> out(state.readings.data() + slot.first, static_cast<std::size_t>(slot.size));
    measure(static_cast<int>(i), out);
    for (double& x : out) {
      if (sensor.noise > 0) x += sensor.noise * world.random().normal();
    }
  }
}

}  // namespace karakuri
