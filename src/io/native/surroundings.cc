// What names, looks, drives and measures: frames, cameras, sensors, actuators, keyframes, couplings, tendons.
#include <algorithm>

#include <fmt/format.h>

#include "io/native/context.h"

namespace karakuri::io {

namespace {

/// These names have no meaning beyond the scene; only those that are given get the prefix.
std::string name_of(const NativeContext& c, const YamlNode& node) {
  std::string name;
  return get(node, "name", name) ? c.prefixed(name) : "";
}

std::vector<Transmission> read_transmissions(NativeContext& c, const YamlNode& node) {
  std::vector<Transmission> all;
  for (const YamlNode* at : items(node, "joints")) {
    Transmission t{.joint = c.joint_at(*at, "joint")};
    get(*at, "dof", t.dof);
    get(*at, "gear", t.gear);
    if (!t.joint) continue;
    const Joint& joint = c.mechanism().joint(t.joint);
    if (t.dof >= v_size(joint.kind)) {
      c.file.error(*at, fmt::format("joint {} has no dof {}", in_quotes(joint.name), t.dof),
                   fmt::format("a {} joint has {}, counted from 0", name(joint.kind), v_size(joint.kind)));
    }
    all.push_back(t);
  }
  return all;
}

void read_frames(NativeContext& c, const YamlNode& root) {
  for (const YamlNode* node : items(root, "frames")) {
    Frame frame{.name = name_of(c, *node), .link = c.link_at(*node, "link", c.mechanism().world())};
    frame.X_LF = c.on_link(frame.link, read_pose(c, *node));
    c.build.out.frames.push_back(std::move(frame));
  }
  for (const YamlNode* node : items(root, "cameras")) {
    Camera camera{.name = name_of(c, *node), .link = c.link_at(*node, "link", c.mechanism().world())};
    camera.X_LC = c.on_link(camera.link, read_pose(c, *node));
    get_angle(*node, "field_of_view", camera.field_of_view);
    c.build.out.cameras.push_back(std::move(camera));
  }
}

std::vector<CableSegment> read_cable(NativeContext& c, const YamlNode& node, std::string_view key) {
  std::vector<CableSegment> path;
  for (const YamlNode* at : items(node, key)) {
    CableSegment s{.from = c.link_at(*at, "from", c.mechanism().world()),
                   .to = c.link_at(*at, "to", c.mechanism().world())};
    get(*at, "from_point", s.p_from);
    get(*at, "to_point", s.p_to);
    get(*at, "share", s.share);
    s.p_from = c.on_link(s.from, Transform::translation(s.p_from)).p;
    s.p_to = c.on_link(s.to, Transform::translation(s.p_to)).p;
    if (s.from && s.to) path.push_back(s);
  }
  return path;
}

Thrust read_thrust(NativeContext& c, const YamlNode& node) {
  Thrust thrust{.link = c.link_at(node, "link"), .X_LT = read_pose(c, node)};
  get(node, "force", thrust.force);
  get(node, "moment", thrust.moment);
  return thrust;
}

void read_forces(NativeContext& c, const YamlNode& root) {
  for (const YamlNode* node : items(root, "cables")) {
    Cable cable{.name = name_of(c, *node), .path = read_cable(c, *node, "path")};
    get_fields(*node, kCableFields, cable);
    if (node->has("rest")) cable.rest = read_interval(*node, "rest");
    if (!(cable.rest.low <= cable.rest.high))
      c.file.error(*node, "the shortest rest is longer than the longest", "swap them");
    c.build.out.cables.push_back(std::move(cable));
  }
  for (const YamlNode* node : items(root, "lifts")) {
    Lift lift{.link = c.link_at(*node, "link")};
    get(*node, "share", lift.share);
    if (lift.link) c.build.out.lifts.push_back(lift);
  }
  if (const YamlNode* node = root.find("fluid")) {
    get_fields(*node, kFluidFields, c.build.out.fluid);
    get(*node, "wind", c.build.out.fluid.wind);
  }
  if (const YamlNode* node = root.find("kinematic")) {
    for (const YamlNode& name : node->items)
      if (const LinkId link = c.link(name, name.text)) c.build.out.kinematic.push_back(link);
  }
}

void read_actuators(NativeContext& c, const YamlNode& root) {
  for (const YamlNode* node : items(root, "actuators")) {
    Actuator actuator{.name = name_of(c, *node), .transmissions = read_transmissions(c, *node)};
    get_fields(*node, kActuatorFields, actuator);
    actuator.control = read_interval(*node, "control");
    actuator.force = read_interval(*node, "force");
    actuator.activation = read_interval(*node, "activation");
    actuator.cable = read_cable(c, *node, "cable");
    if (const YamlNode* at = node->find("thrust")) actuator.thrust = read_thrust(c, *at);
    std::string word = "none";
    get(*node, "dynamics", word);
    actuator.dynamics =
        static_cast<ActuatorDynamics>(std::ranges::find(kDynamicsWords, word) - kDynamicsWords.begin());
    const bool joints = !actuator.transmissions.empty(), cable = !actuator.cable.empty();
    if (joints + cable + node->has("thrust") > 1)
      c.file.error(*node, "an actuator works on several kinds of things",
                   "leave all but one of `joints`, `cable` and `thrust` out");
    c.build.out.actuators.push_back(std::move(actuator));
  }
}

int find_actuator(NativeContext& c, const YamlNode& node) {
  const std::vector<Actuator>& all = c.build.out.actuators;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    names.push_back(all[i].name);
    if (all[i].name == c.prefixed(node.text)) return static_cast<int>(i);
  }
  double number = -1;
  if (parse_number(node.text, number) && number >= 0 && number < static_cast<double>(all.size())) {
    return static_cast<int>(number);
  }
  c.file.error(node, fmt::format("there is no actuator {}", in_quotes(node.text)),
               suggestion(node.text, names, "actuators"));
  return -1;
}

void read_sensors(NativeContext& c, const YamlNode& root) {
  for (const YamlNode* node : items(root, "sensors")) {
    Sensor sensor{.name = name_of(c, *node)};
    std::string word = "other";
    get(*node, "kind", word);
    const auto kind = std::find(kSensorWords.begin(), kSensorWords.end(), word);
    sensor.kind = static_cast<SensorKind>(kind - kSensorWords.begin());
    sensor.type = word;
    get(*node, "type", sensor.type);
    sensor.link = c.link_at(*node, "link");
    sensor.joint = c.joint_at(*node, "joint");
    if (const YamlNode* actuator = node->find("actuator")) sensor.actuator = find_actuator(c, *actuator);
    sensor.X_LS = c.on_link(sensor.link, read_pose(c, *node));
    get_fields(*node, kSensorFields, sensor);
    c.build.out.sensors.push_back(std::move(sensor));
  }
}

std::vector<InitialJoint> read_initials(NativeContext& c, const YamlNode& node, std::string_view key) {
  std::vector<InitialJoint> all;
  for (const YamlNode* at : items(node, key)) {
    if (const JointId joint = c.joint_at(*at, "joint")) all.push_back(read_initial(c, *at, joint));
  }
  return all;
}

void read_keyframes(NativeContext& c, const YamlNode& root) {
  for (const YamlNode* node : items(root, "keyframes")) {
    Keyframe key;
    get(*node, "name", key.name);
    get(*node, "time", key.time);
    key.joints = read_initials(c, *node, "joints");
    get(*node, "control", key.control);
    get(*node, "activation", key.activation);
    const std::size_t count = c.build.out.actuators.size();
    for (const auto& [name, numbers] :
         {std::pair("control", &key.control), std::pair("activation", &key.activation)}) {
      if (numbers->empty() || numbers->size() == count) continue;
      c.file.error(*node->find(name), fmt::format("{} has {} numbers", name, numbers->size()),
                   fmt::format("there are {} actuators", count));
    }
    c.build.out.keyframes.push_back(std::move(key));
  }
}

void read_couplings(NativeContext& c, const YamlNode& root) {
  for (const YamlNode* node : items(root, "couplings")) {
    Coupling coupling{.name = name_of(c, *node)};
    coupling.follower = c.joint_at(*node, "follower");
    coupling.leader = c.joint_at(*node, "leader");
    std::vector<double> k;
    if (get(*node, "coefficients", k)) std::copy(k.begin(), k.end(), coupling.coefficients.begin());
    get_fields(*node, kCouplingFields, coupling);
    get(*node, "active", coupling.active);
    if (coupling.follower) c.build.out.scene.mechanism.add_coupling(std::move(coupling));
  }
  for (const YamlNode* node : items(root, "tendons")) {
    FixedTendon tendon{.name = name_of(c, *node), .joints = read_transmissions(c, *node)};
    tendon.range = read_interval(*node, "range");
    get_fields(*node, kTendonFields, tendon);
    c.build.out.scene.mechanism.add_tendon(std::move(tendon));
  }
}

}  // namespace

void read_surroundings(NativeContext& c, const YamlNode& root) {
  for (const YamlNode* node : items(root, "no_contact")) {
    const YamlNode& between = *node->find("between");
    const LinkId a = c.link(between.items[0], between.items[0].text);
    const LinkId b = c.link(between.items[1], between.items[1].text);
    if (a && b) c.build.out.scene.no_contact.emplace_back(a, b);
  }
  Keyframe start;  // what a joint says of itself is replaced
  start.joints = read_initials(c, root, "initial");
  apply(start, c.build.out.scene);
  read_frames(c, root);
  read_forces(c, root);
  read_actuators(c, root);
  read_sensors(c, root);
  read_keyframes(c, root);
  read_couplings(c, root);
}

}  // namespace karakuri::io
