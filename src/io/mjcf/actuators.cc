// <actuator>. MuJoCo's shortcuts are settings of one general actuator,
//   force = (g0 + g1 * length + g2 * rate) * control + b0 + b1 * length + b2 * rate,
// and its defaults are such settings too, so they are applied one after the other. `control` may be a state
// that follows it.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "io/mjcf/context.h"

namespace karakuri::io {

namespace {

struct General {
  bool affine_bias = false, fixed_gain = true;
  std::size_t dynamics = 0;  // of kDynamics
  double time_constant = 1;
  double servo_damping = 0, damping_ratio = 0;  // of position and intvelocity
  bool affine_gain = false;                     // of the rate alone
  double gain = 1, rate_gain = 0, bias[3] = {0, 0, 0};
  XmlElement common;  // attributes that all kinds have
};

const std::vector<std::string> kDynamics = {"none",   "integrator", "filter", "filterexact",
                                            "muscle", "user",       "dcmotor"};

/// Of a servo: a damping, or its ratio to the critical one; what defaults say of servos stays.
void set_servo(const XmlFile& xml, const XmlElement& e, General& to) {
  to.gain = xml.number(e, "kp", to.gain);
  to.bias[0] = 0, to.bias[1] = -to.gain;
  to.fixed_gain = to.affine_bias = true;
  if (e.has("kv") && e.has("dampratio")) xml.error(e, "kv and dampratio are both given", "leave one out");
  if (e.has("kv")) to.servo_damping = xml.number(e, "kv", 0), to.damping_ratio = 0;
  if (e.has("dampratio")) to.servo_damping = 0, to.damping_ratio = xml.number(e, "dampratio", 0);
  to.bias[2] = -to.servo_damping;
  if (to.servo_damping < 0 || to.damping_ratio < 0)
    xml.error(e, "kv or dampratio is below zero", "give 0 or more");
}

void set_cylinder(const XmlFile& xml, const XmlElement& e, General& to) {
  to.time_constant = xml.number(e, "timeconst", to.time_constant);
  to.gain = xml.number(e, "area", to.gain);
  const double diameter = xml.number(e, "diameter", 0);
  if (diameter > 0) to.gain = std::numbers::pi / 4 * diameter * diameter;
  const std::vector<double> bias = xml.numbers(e, "bias", 1, 3);
  std::copy(bias.begin(), bias.end(), to.bias);
  to.dynamics = 2, to.fixed_gain = to.affine_bias = true;
}

void set(MjcfContext& c, const XmlElement& e, General& to) {
  const XmlFile& xml = c.xml;
  const auto clear_bias = [&] { to.bias[0] = to.bias[1] = to.bias[2] = 0; };
  if (e.name == "general") {
    const std::vector<double> gain = xml.numbers(e, "gainprm", 1, 10),
                              bias = xml.numbers(e, "biasprm", 1, 10);
    if (!gain.empty()) to.gain = gain[0], to.rate_gain = gain.size() > 2 ? gain[2] : 0;
    for (std::size_t k = 0; k < 3 && !bias.empty(); ++k) to.bias[k] = k < bias.size() ? bias[k] : to.bias[k];
    if (e.has("biastype")) {
      const std::size_t type = xml.choice(e, "biastype", {"none", "affine", "muscle", "user", "dcmotor"}, 0);
      to.affine_bias = type == 1;
      if (type > 1)
        xml.report.unsupported("biastype", c.where(e), "only biastype none and affine are supported");
    }
    if (e.has("gaintype")) {
      const std::size_t type = xml.choice(e, "gaintype", {"fixed", "affine", "muscle", "user", "dcmotor"}, 0);
      to.fixed_gain = type == 0;
      to.affine_gain = type == 1 && (gain.size() < 2 || gain[1] == 0);
    }
    to.dynamics = xml.choice(e, "dyntype", kDynamics, to.dynamics);
    const std::vector<double> dynamics = xml.numbers(e, "dynprm", 1, 10);
    if (!dynamics.empty()) to.time_constant = dynamics[0];
  } else if (e.name == "motor") {
    to.gain = 1, to.dynamics = 0, to.fixed_gain = true, to.affine_bias = false;
    clear_bias();
  } else if (e.name == "position") {
    set_servo(xml, e, to);
    if (e.has("timeconst")) {
      to.time_constant = xml.number(e, "timeconst", 0);
      to.dynamics = to.time_constant > 0 ? 3 : 0;
    }
  } else if (e.name == "intvelocity") {
    set_servo(xml, e, to);
    to.dynamics = 1;
  } else if (e.name == "cylinder") {
    set_cylinder(xml, e, to);
  } else if (e.name == "velocity") {
    clear_bias();
    to.gain = xml.number(e, "kv", to.gain);
    to.bias[2] = -to.gain;
    to.dynamics = 0, to.fixed_gain = to.affine_bias = true;
  } else if (e.name == "damper") {
    clear_bias();
    to.gain = 0, to.rate_gain = -xml.number(e, "kv", 1);
    to.fixed_gain = to.affine_bias = false, to.affine_gain = true, to.dynamics = 0;
    if (to.rate_gain > 0) xml.error(e, "kv is below zero", "give its magnitude");
  } else {
    to.fixed_gain = to.affine_gain = false;
  }
  XmlElement merged = e;
  inherit(to.common, merged);
  to.common = std::move(merged);
}

void set_transmission(MjcfContext& c, const XmlElement& e, Actuator& actuator) {
  std::vector<double> gear = c.xml.numbers(e, "gear", 1, 6);
  if (gear.empty()) gear = {1};
  gear.resize(6, 0.0);
  const char* by = e.has("joint") ? "joint" : e.has("jointinparent") ? "jointinparent" : nullptr;
  if (by) {
    const int index = c.named(c.joint_by_name, e, by, "joint");
    if (index < 0) return;
    const MjcfJoint& joint = c.joints[static_cast<std::size_t>(index)];
    const int dofs = v_size(joint.kind);
    for (int k = 0; k < dofs; ++k) {
      if (dofs == 1 || gear[static_cast<std::size_t>(k)] != 0) {
        actuator.transmissions.push_back({joint.id, k, gear[static_cast<std::size_t>(k)]});
      }
    }
    if (dofs > 1) {
      c.xml.report.remark("multi-dof actuator", c.where(e),
                          "an actuator of a ball or free joint acts along the axes of the joint's frame F");
    }
  } else if (const auto cable = c.spatial_tendons.find(e.get("tendon")); cable != c.spatial_tendons.end()) {
    if (cable->second.empty())
      c.xml.report.unsupported("actuators of wrapped tendons", c.where(e),
                               "actuators of tendons that are wrapped around geoms have no effect");
    actuator.cable = cable->second;
    for (CableSegment& s : actuator.cable) s.share *= gear[0];
  } else if (e.has("site")) {
    const int index = c.named(c.frame_by_name, e, "site", "site");
    if (index < 0) return;
    const Frame& site = c.build.out.frames[static_cast<std::size_t>(index)];
    actuator.thrust = {site.link, site.X_LF, {gear[0], gear[1], gear[2]}, {gear[3], gear[4], gear[5]}};
  } else if (e.has("tendon")) {
    const int index = c.named(c.tendon_by_name, e, "tendon", "fixed tendon");
    if (index < 0) return;
    for (Transmission t : c.build.out.scene.mechanism.tendons()[static_cast<std::size_t>(index)].joints) {
      t.gear *= gear[0];
      actuator.transmissions.push_back(t);
    }
  }
}

/// Joint range for position servos that ask for it.
void set_inherited_range(MjcfContext& c, const XmlElement& e, Interval& to) {
  const double share = c.xml.number(e, "inheritrange", 0);
  const auto joint = c.joint_by_name.find(e.get("joint"));
  if (share <= 0 || joint == c.joint_by_name.end()) return;
  const Interval range = c.joints[static_cast<std::size_t>(joint->second)].range;
  const double mean = 0.5 * (range.low + range.high), half = 0.5 * (range.high - range.low) * share;
  if (std::isfinite(mean)) to = {mean - half, mean + half};
}

Interval read_range(MjcfContext& c, const XmlElement& e, const char* flag, const char* name) {
  if (!is_limited(c, e, flag, name)) return {};
  const std::vector<double> range = c.xml.numbers(e, name, 2, 2);
  if (range.empty()) return {};
  if (range[0] > range[1]) {
    c.xml.error(e, fmt::format("{} has its lower end above its upper", name), "swap them");
    return {};
  }
  return {range[0], range[1]};
}

void set_dynamics(MjcfContext& c, const XmlElement& e, const General& general, Actuator& actuator) {
  actuator.time_constant = general.time_constant;
  actuator.activation = read_range(c, e, "actlimited", "actrange");
  if (general.dynamics < 4) actuator.dynamics = static_cast<ActuatorDynamics>(general.dynamics);
  if (actuator.dynamics == ActuatorDynamics::kNone) actuator.time_constant = 1, actuator.activation = {};
  if (general.damping_ratio > 0 && (e.name == "position" || e.name == "intvelocity")) {
    const double inertia = reflected_inertia(c, actuator.transmissions);
    actuator.damping = 2 * general.damping_ratio * std::sqrt(std::max(0.0, general.gain * inertia));
  }
  if ((general.fixed_gain || general.affine_gain) && general.dynamics < 4) return;
  c.xml.report.unsupported("actuator dynamics", c.where(e),
                           "muscles, adhesion and gains that depend on length do not act as they should",
                           "use motor, position, velocity, damper, intvelocity or cylinder");
}

}  // namespace

void read_actuators(MjcfContext& c, const XmlElement& section) {
  for (const XmlElement& e : section.children) {
    General general;
    for (const XmlElement& d : c.defaults.actuators(c.xml, e)) set(c, d, general);
    set(c, e, general);
    general.common.file = e.file, general.common.line = e.line;
    const XmlElement& merged = general.common;
    Actuator actuator{.name = c.build.options.prefix + e.get("name")};
    actuator.gain = general.gain;
    if (general.affine_bias) {
      actuator.bias = general.bias[0];
      actuator.stiffness = -general.bias[1];
      actuator.damping = -general.bias[2];
    }
    if (general.affine_gain) actuator.control_damping = -general.rate_gain;
    set_transmission(c, merged, actuator);
    set_dynamics(c, merged, general, actuator);
    actuator.control = read_range(c, merged, "ctrllimited", "ctrlrange");
    actuator.force = read_range(c, merged, "forcelimited", "forcerange");
    if (e.name == "position") set_inherited_range(c, merged, actuator.control);
    if (e.name == "intvelocity") set_inherited_range(c, merged, actuator.activation);
    if (e.has("name")) c.actuator_by_name[e.get("name")] = static_cast<int>(c.build.out.actuators.size());
    c.build.out.actuators.push_back(std::move(actuator));
  }
}

}  // namespace karakuri::io
