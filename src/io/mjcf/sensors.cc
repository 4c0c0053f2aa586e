// <sensor> and <keyframe>.
#include <algorithm>

#include <fmt/format.h>

#include "io/mjcf/context.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri::io {

namespace {

enum class On { kSite, kJoint, kActuator, kObject, kNothing };

struct Row {
  const char* type;
  SensorKind kind;
  On on;
};
constexpr Row kSensors[] = {
    {"touch", SensorKind::kTouch, On::kSite},
    {"accelerometer", SensorKind::kAccelerometer, On::kSite},
    {"velocimeter", SensorKind::kVelocimeter, On::kSite},
    {"gyro", SensorKind::kGyro, On::kSite},
    {"force", SensorKind::kForce, On::kSite},
    {"torque", SensorKind::kTorque, On::kSite},
    {"rangefinder", SensorKind::kRangefinder, On::kSite},
    {"magnetometer", SensorKind::kOther, On::kSite},
    {"jointpos", SensorKind::kJointPosition, On::kJoint},
    {"jointvel", SensorKind::kJointVelocity, On::kJoint},
    {"jointactuatorfrc", SensorKind::kJointEffort, On::kJoint},
    {"ballquat", SensorKind::kJointPosition, On::kJoint},
    {"ballangvel", SensorKind::kJointVelocity, On::kJoint},
    {"actuatorpos", SensorKind::kActuatorPosition, On::kActuator},
    {"actuatorvel", SensorKind::kActuatorVelocity, On::kActuator},
    {"actuatorfrc", SensorKind::kActuatorForce, On::kActuator},
    {"framepos", SensorKind::kFramePosition, On::kObject},
    {"framequat", SensorKind::kFrameOrientation, On::kObject},
    {"framexaxis", SensorKind::kFrameAxis, On::kObject},
    {"frameyaxis", SensorKind::kFrameAxis, On::kObject},
    {"framezaxis", SensorKind::kFrameAxis, On::kObject},
    {"framelinvel", SensorKind::kFrameLinearVelocity, On::kObject},
    {"frameangvel", SensorKind::kFrameAngularVelocity, On::kObject},
    {"framelinacc", SensorKind::kFrameLinearAcceleration, On::kObject},
    {"frameangacc", SensorKind::kFrameAngularAcceleration, On::kObject},
};

void sit_on_frame(MjcfContext& c, const XmlElement& e, const char* attribute, Sensor& sensor) {
  const int index = c.named(c.frame_by_name, e, attribute, "site");
  if (index < 0) return;
  sensor.link = c.build.out.frames[static_cast<std::size_t>(index)].link;
  sensor.X_LS = c.build.out.frames[static_cast<std::size_t>(index)].X_LF;
}

void sit_on_object(MjcfContext& c, const XmlElement& e, Sensor& sensor) {
  const std::string& type = e.get("objtype");
  if (e.has("reftype") || e.has("refname")) {
    c.xml.report.unsupported("sensor reference", c.where(e),
                             "sensors relative to another frame measure in the world");
  }
  if (type == "site") return sit_on_frame(c, e, "objname", sensor);
  if (type == "body" || type == "xbody") {
    const int index = c.named(c.body_by_name, e, "objname", "body");
    if (index < 0) return;
    sensor.link = c.bodies[static_cast<std::size_t>(index)].link;
    // "body" means its centre of mass
    if (type == "body") sensor.X_LS.p = c.build.mechanism().link(sensor.link).inertia.com;
    return;
  }
  c.xml.report.unsupported("sensor on " + type, c.where(e),
                           fmt::format("sensors on a {} are left where they are", type));
}

void read_sensor(MjcfContext& c, const XmlElement& e) {
  Sensor sensor{.name = c.build.options.prefix + e.get("name"), .type = e.name};
  sensor.noise = c.xml.number(e, "noise", 0);
  sensor.cutoff = c.xml.number(e, "cutoff", 0);
  On on = On::kNothing;
  for (const Row& row : kSensors) {
    if (e.name == row.type) sensor.kind = row.kind, on = row.on;
  }
  if (on == On::kSite) {
    sit_on_frame(c, e, "site", sensor);
  } else if (on == On::kJoint) {
    const int joint = c.named(c.joint_by_name, e, "joint", "joint");
    if (joint >= 0) sensor.joint = c.joints[static_cast<std::size_t>(joint)].id;
  } else if (on == On::kActuator) {
    sensor.actuator = c.named(c.actuator_by_name, e, "actuator", "actuator");
  } else if (on == On::kObject) {
    sit_on_object(c, e, sensor);
  }
  if (sensor.kind == SensorKind::kOther) {
    c.xml.report.unsupported("sensor/" + e.name, c.where(e),
                             fmt::format("sensor <{}> is not supported", e.name));
  }
  c.build.out.sensors.push_back(std::move(sensor));
}

/// MuJoCo's position and quaternion of the body in the file's world, as ours of M in F.
std::vector<double> free_q(const MjcfContext& c, const MjcfJoint& joint, const double* q) {
  const Joint& ours = c.build.out.scene.mechanism.joint(joint.id);
  const Quat turn = normalized_or_identity(Quat(q[3], q[4], q[5], q[6]));
  const Transform X_WB = c.build.options.pose * Transform{turn.toRotationMatrix(), Vec3(q[0], q[1], q[2])};
  const Transform X_FM = ours.X_PF.inverse() * X_WB * ours.X_CM;
  const Quat r = normalized_or_identity(Quat(X_FM.R));
  return {X_FM.p.x(), X_FM.p.y(), X_FM.p.z(), r.w(), r.x(), r.y(), r.z()};
}

/// MuJoCo's velocity of the body's origin in the world's axes and angular velocity in its own.
std::vector<double> free_v(const MjcfContext& c, const MjcfJoint& joint, const double* q, const double* v) {
  const Joint& ours = c.build.out.scene.mechanism.joint(joint.id);
  const Mat3 R =
      c.build.options.pose.R * normalized_or_identity(Quat(q[3], q[4], q[5], q[6])).toRotationMatrix();
  const Vec3 w = R * Vec3(v[3], v[4], v[5]);
  const Vec3 at_m = c.build.options.pose.R * Vec3(v[0], v[1], v[2]) + w.cross(Vec3(R * ours.X_CM.p));
  const Vec3 linear = ours.X_PF.R.transpose() * at_m, angular = ours.X_PF.R.transpose() * w;
  return {linear.x(), linear.y(), linear.z(), angular.x(), angular.y(), angular.z()};
}

/// The angular velocity of a ball joint is in the moving axes in MuJoCo, in F's here.
std::vector<double> ball_v(const double* q, const double* v) {
  const Vec3 w = normalized_or_identity(Quat(q[0], q[1], q[2], q[3])) * Vec3(v[0], v[1], v[2]);
  return {w.x(), w.y(), w.z()};
}

/// qpos where a key does not give it.
std::vector<double> reference_qpos(const MjcfContext& c) {
  std::vector<double> q;
  for (const MjcfJoint& joint : c.joints) {
    if (joint.kind == JointKind::kFree) q.insert(q.end(), joint.X_WB.p.data(), joint.X_WB.p.data() + 3);
    if (has_quaternion(joint.kind)) {
      const Quat r = joint.kind == JointKind::kFree ? Quat(joint.X_WB.R) : Quat(1, 0, 0, 0);
      q.insert(q.end(), {r.w(), r.x(), r.y(), r.z()});
    } else {
      q.push_back(joint.reference);
    }
  }
  return q;
}

/// MuJoCo lists the states of those actuators that have one.
void set_activation(const MjcfContext& c, const XmlElement& e, Keyframe& key) {
  const std::vector<Actuator>& all = c.build.out.actuators;
  const auto states = static_cast<std::size_t>(
      std::ranges::count_if(all, [](const Actuator& a) { return a.dynamics != ActuatorDynamics::kNone; }));
  const std::vector<double> act = c.xml.numbers(e, "act", states, states);
  if (act.empty()) return;
  auto next = act.begin();
  for (const Actuator& a : all)
    key.activation.push_back(a.dynamics != ActuatorDynamics::kNone ? *next++ : 0.0);
}

/// Where the mocap bodies are.
void set_mocap(const MjcfContext& c, const XmlElement& e, Keyframe& key) {
  const Mechanism& m = c.build.out.scene.mechanism;
  const std::size_t count = c.build.out.kinematic.size();
  const std::vector<double> p = c.xml.numbers(e, "mpos", 3 * count, 3 * count),
                            r = c.xml.numbers(e, "mquat", 4 * count, 4 * count);
  if (p.empty() && r.empty()) return;
  std::size_t i = 0;
  for (const MjcfBody& body : c.bodies) {
    if (!body.mocap) continue;
    std::vector<double> q{body.X_WB.p.x(), body.X_WB.p.y(), body.X_WB.p.z()};
    const Quat own(body.X_WB.R);
    q.insert(q.end(), {own.w(), own.x(), own.y(), own.z()});
    if (!p.empty()) std::copy_n(p.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, q.begin());
    if (!r.empty()) std::copy_n(r.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, q.begin() + 3);
    const MjcfJoint joint{.id = m.link(body.link).joint};
    key.joints.push_back({joint.id, free_q(c, joint, q.data()), {}});
    ++i;
  }
}

}  // namespace

void read_sensors(MjcfContext& c, const XmlElement& section) {
  for (const XmlElement& e : section.children) read_sensor(c, e);
}

void read_keyframes(MjcfContext& c, const XmlElement& section) {
  std::size_t nq = 0, nv = 0;
  for (const MjcfJoint& joint : c.joints) {
    nq += static_cast<std::size_t>(q_size(joint.kind));
    nv += static_cast<std::size_t>(v_size(joint.kind));
  }
  for (const XmlElement& e : section.children) {
    Keyframe key{.name = e.get("name"), .time = c.xml.number(e, "time", 0)};
    std::vector<double> qpos = c.xml.numbers(e, "qpos", nq, nq);
    const std::vector<double> qvel = c.xml.numbers(e, "qvel", nv, nv);
    key.control = c.xml.numbers(e, "ctrl", c.build.out.actuators.size(), c.build.out.actuators.size());
    set_activation(c, e, key);
    set_mocap(c, e, key);
    if (qpos.empty()) qpos = reference_qpos(c);
    std::size_t q = 0, v = 0;
    for (const MjcfJoint& joint : c.joints) {
      if (!joint.id || qpos.size() < nq) continue;
      InitialJoint set{.joint = joint.id};
      const double *qj = qpos.data() + q, *vj = qvel.empty() ? nullptr : qvel.data() + v;
      const int n = v_size(joint.kind);
      if (joint.kind == JointKind::kFree) {
        set.q = free_q(c, joint, qj);
        if (vj) set.v = free_v(c, joint, qj, vj);
      } else {
        set.q.assign(qj, qj + q_size(joint.kind));
        if (vj)
          set.v = joint.kind == JointKind::kSpherical ? ball_v(qj, vj) : std::vector<double>(vj, vj + n);
      }
      key.joints.push_back(std::move(set));
      q += static_cast<std::size_t>(q_size(joint.kind)), v += static_cast<std::size_t>(n);
    }
    c.build.out.keyframes.push_back(std::move(key));
  }
}

}  // namespace karakuri::io
