#include "fuzz/scenes.h"

#include "fuzz/target.h"
#include "karakuri/io/load.h"

namespace karakuri::fuzz {
namespace {

constexpr double kMostWork = 1e5;  // of a step: as much as small scenes need, and sanitizers are slow
constexpr int kMostSubsteps = 2, kMostIterations = 50;

/// Contacts, a sleeper, what floats.
constexpr const char* kBoxes = R"(
name: boxes
settings: {dt: 0.005}
ground: true
bodies:
  - {name: box, shapes: {box: [0.4, 0.4, 0.4]}, mass: 2, at: [0, 0, 0.2]}
  - {name: ball, shapes: {sphere: 0.2}, mass: 1, at: [0.1, 0, 0.65]}
  - {name: beam, shapes: {capsule: {radius: 0.1, length: 0.4}}, mass: 1, at: [1, 0, 0.4], rpy_deg: [0, 60, 0]}
)";

/// Trees, loops that are closed, soft and open, drives, limits, dry friction.
constexpr const char* kLinkage = R"(
name: linkage
settings: {dt: 0.004}
bodies:
  - {name: crank, at: [0, 0, 1], joint: {name: turn, kind: revolute, axis: [0, 1, 0], dofs: [{damping: 0.1, dry_friction: 0.2}]}, shapes: {capsule: {radius: 0.05, length: 0.3}, at: [0, 0, -0.2]}, mass: 1}
  - {name: rod, parent: crank, at: [0, 0, -0.4], joint: {name: knee, kind: universal, axis: [0, 1, 0], second_axis: [1, 0, 0]}, shapes: {sphere: 0.1}, mass: 1}
  - {name: slide, at: [0.5, 0, 1], joint: {name: rail, kind: prismatic, axis: [1, 0, 0], limits: [-0.3, 0.3]}, shapes: {box: [0.1, 0.1, 0.1]}, mass: 2}
  - {name: swing, parent: slide, at: [0, 0, -0.3], joint: {name: hook, kind: spherical, in_child: {at: [0, 0, 0.2]}}, shapes: {sphere: 0.1}, mass: 1}
loops:
  - {name: tie, parent: rod, child: slide, kind: distance, range: [0.1, 0.8]}
  - {name: soft, parent: rod, child: swing, kind: spherical, closing_stiffness: 100, closing_damping: 5}
  - {name: lock, parent: crank, child: slide, kind: fixed, open: true}
)";

/// What a scene says of its run: actuators, sensors, events, the page's elements.
constexpr const char* kScript = R"(
name: script
settings: {dt: 0.005}
ground: true
bodies:
  - {name: base, shapes: {box: [0.4, 0.4, 0.1]}, mass: 2, at: [0, 0, 0.05]}
  - {name: arm, parent: base, at: [0, 0, 0.1], joint: {name: elbow, kind: revolute, axis: [0, 1, 0], limits: [-1, 1], break_force: 500}, shapes: {capsule: {radius: 0.05, length: 0.3}, at: [0, 0, 0.2]}, mass: 1}
actuators: [{name: motor, joints: [{joint: elbow, gear: 2}], control: [-1, 1], dynamics: filter, time_constant: 0.1, activation: [-1, 1]}, {name: jet, thrust: {link: arm, force: [0, 0, 1]}}]
controllers: [{joints: elbow, target: 0.3, stiffness: 20, damping: 2}]
sensors: [{name: gyro, kind: gyro, link: arm, noise: 0.1}, {name: angle, kind: joint-position, joint: elbow, rate: 50}]
keyframes: [{name: bent, joints: [{joint: elbow, q: 0.5}], control: [0.3, 0]}]
events: [{time: 0.12, force: {link: arm, force: [1, 2, 3], duration: 0.02}}, {time: 0.01, every: 0.03, set: {joint.elbow.target: 0.5}}]
plots: [{signals: [time, link.arm.px]}]
ui: [{slider: {name: pull, key: gravity.z, min: -20, max: 2, value: -9}}, {button: {name: part, do: {detach: elbow}}}, {text: {text: "{time}"}}]
)";

Session make(const char* text, int steps) {
  LoadOptions options;
  options.cache = false;
  Result<LoadedScene> scene = load_native(text, "fuzz.scene.yaml", options);
  if (!scene.ok()) found(to_string(scene.errors()));
  Result<Session> session = Session::make(std::move(*scene));
  if (!session.ok()) found(to_string(session.errors()));
  session->step(steps);
  session->perform(
      ForceAction{.link = session->world().model().links.back().id, .force = Vec3(1, 2, 3), .duration = 0.2});
  return std::move(*session);
}

bool is_cheap(const WorldSettings& s) {
  return s.max_work <= kMostWork && s.substeps <= kMostSubsteps && s.threads == 1 &&
         s.quickstep_iterations <= kMostIterations;
}

WorldSettings cheaper(WorldSettings s) {
  s.max_work = std::min(s.max_work, kMostWork);
  s.substeps = std::min(s.substeps, kMostSubsteps);
  s.quickstep_iterations = std::min(s.quickstep_iterations, kMostIterations);
  s.threads = 1;
  return s;
}

}  // namespace

const std::vector<Session>& sessions() {
  static const std::vector<Session> all = [] {
    std::vector<Session> made;
    made.push_back(make(kBoxes, 60));
    made.push_back(make(kLinkage, 20));
    made.push_back(make(kScript, 20));
    return made;
  }();
  return all;
}

void step_bounded(Session& session) {
  World& world = session.world();
  if (!is_cheap(world.settings()))
    if (const auto flaws = world.set_settings(cheaper(world.settings())); !flaws.empty())
      found("settings that were taken are refused with less work:\n" + to_string(flaws));
  session.step();
  for (const LinkEntry& link : world.model().links)
    if (!world.quarantined(link.id) && !world.pose(link.id).p.allFinite())
      found("'" + link.name + "' is not finite, and not said to be frozen");
}

}  // namespace karakuri::fuzz
