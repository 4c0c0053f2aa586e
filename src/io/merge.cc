#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "karakuri/io/loaded_scene.h"

namespace karakuri {

namespace {

/// Copies things and keeps which became which.
class Merger {
 public:
  Merger(LoadedScene& into, const LoadedScene& part)
      : into_(into), part_(part), to_(into.scene.mechanism), from_(part.scene.mechanism) {}

  std::vector<Diagnostic> find_clashes() const {
    std::set<std::string> links, joints;
    for (const LinkId id : to_.link_ids()) links.insert(to_.link(id).name);
    for (const JointId id : to_.joint_ids()) joints.insert(to_.joint(id).name);
    std::vector<Diagnostic> clashes;
    const auto clash = [&](const char* kind, const std::string& name) {
      clashes.push_back({Severity::kError, fmt::format("{} '{}'", kind, name),
                         fmt::format("another {} has this name already", kind),
                         "load one of them with a prefix"});
    };
    for (const LinkId id : from_.link_ids()) {
      if (id != from_.world() && links.contains(from_.link(id).name)) clash("link", from_.link(id).name);
    }
    for (const JointId id : from_.joint_ids()) {
      if (joints.contains(from_.joint(id).name)) clash("joint", from_.joint(id).name);
    }
    return clashes;
  }

  void run() {
    for (const MaterialId id : from_.material_ids()) materials_[id] = to_.add_material(*from_.material(id));
    add_links();
    add_joints();
    add_rest_of_scene();
    add_surroundings();
  }

 private:
  void add_links() {
    for (const LinkId id : from_.link_ids()) {
      const Link& link = from_.link(id);
      if (link.is_virtual()) continue;
      links_[id] = id == from_.world() ? to_.world() : to_.add_link(link.name, link.inertia);
      for (ShapePlacement placed : link.shapes) {
        placed.shape = into_.scene.shapes.insert(part_.scene.shapes[placed.shape]);
        placed.material = materials_[placed.material];
        to_.link(links_[id]).shapes.push_back(placed);
      }
    }
  }

  /// In the order of their slots, which is that of adding them; no cycle can arise that was not there before.
  void add_joints() {
    for (const JointId id : from_.joint_ids()) {
      Joint joint = from_.joint(id);
      const Link& child = from_.link(joint.child);
      joint.parent = links_[joint.parent];
      joint.child = links_[child.is_virtual() ? child.real : joint.child];
      const Result<JointId> added = child.is_virtual() ? to_.add_loop(joint) : to_.add_joint(joint);
      if (added.ok()) joints_[id] = *added;
    }
  }

  void add_rest_of_scene() {
    for (const SurfacePair& p : part_.scene.pairs) {
      into_.scene.pairs.push_back({materials_[p.a], materials_[p.b], p.surface});
    }
    for (const auto& [a, b] : part_.scene.no_contact)
      into_.scene.no_contact.emplace_back(links_[a], links_[b]);
    into_.places.insert(part_.places.begin(), part_.places.end());
    for (const InitialJoint& i : part_.scene.initial) into_.scene.initial.push_back(moved(i));
  }

  InitialJoint moved(InitialJoint initial) {
    initial.joint = joints_[initial.joint];
    return initial;
  }

  template <class T, class Change>
  void append(std::vector<T>& to, const std::vector<T>& from, const Change& change) {
    for (T value : from) change(value), to.push_back(std::move(value));
  }

  void add_surroundings() {
    const auto set_link = [&](auto& thing) { thing.link = links_[thing.link]; };
    const auto set_joints = [&](std::vector<Transmission>& list) {
      for (Transmission& t : list) t.joint = joints_[t.joint];
    };
    const auto set_ends = [&](std::vector<CableSegment>& path) {
      for (CableSegment& s : path) s.from = links_[s.from], s.to = links_[s.to];
    };
    const int first_actuator = static_cast<int>(into_.actuators.size());
    append(into_.visuals, part_.visuals, set_link);
    append(into_.frames, part_.frames, set_link);
    append(into_.cameras, part_.cameras, set_link);
    append(into_.actuators, part_.actuators, [&](Actuator& a) {
      set_joints(a.transmissions);
      set_ends(a.cable);
      a.thrust.link = links_[a.thrust.link];
    });
    append(into_.cables, part_.cables, [&](Cable& c) { set_ends(c.path); });
    append(into_.lifts, part_.lifts, set_link);
    append(into_.kinematic, part_.kinematic, [&](LinkId& id) { id = links_[id]; });
    if (!into_.fluid.acts()) into_.fluid = part_.fluid;
    append(to_.tendons(), from_.tendons(), [&](FixedTendon& t) { set_joints(t.joints); });
    append(to_.couplings(), from_.couplings(), [&](Coupling& c) {
      c.follower = joints_[c.follower];
      c.leader = joints_[c.leader];
    });
    append(into_.sensors, part_.sensors, [&](Sensor& s) {
      s.link = links_[s.link];
      s.joint = joints_[s.joint];
      if (s.actuator >= 0) s.actuator += first_actuator;
    });
    append(into_.open_loops, part_.open_loops, [&](JointId& id) { id = joints_[id]; });
    into_.notes.insert(into_.notes.end(), part_.notes.begin(), part_.notes.end());
    for (const Keyframe& key : part_.keyframes) add_keyframe(key, static_cast<std::size_t>(first_actuator));
    add_script();
  }

  void add_script() {
    Script& to = into_.script;
    const Script& from = part_.script;
    const int first_trajectory = static_cast<int>(to.trajectories.size());
    append(to.trajectories, from.trajectories, [](Trajectory&) {});
    append(to.controllers, from.controllers, [&](Controller& c) {
      c.joint = joints_[c.joint];
      if (c.trajectory >= 0) c.trajectory += first_trajectory;
    });
    append(to.events, from.events, [&](TimedEvent& e) { move(e.action); });
    append(to.breakables, from.breakables, [&](Breakable& b) { b.joint = joints_[b.joint]; });
    append(to.walkers, from.walkers, [&](Walker& w) {
      w.biped.root = links_[w.biped.root];
      for (LinkId& foot : w.biped.feet) foot = links_[foot];
      for (JointId& joint : w.biped.passive) joint = joints_[joint];
      for (auto& [joint, q] : w.biped.posture) joint = joints_[joint];
    });
    append(to.behaviours, from.behaviours, [](Behaviour&) {});
    append(to.plots, from.plots, [](Plot&) {});
    append(to.ui, from.ui, [&](UiElement& e) {
      if (auto* button = std::get_if<Button>(&e)) {
        for (Action& a : button->actions) move(a);
      }
    });
    if (!to.view) to.view = from.view;
    if (!to.look) to.look = from.look;
  }

  void move(Action& action) {
    if (auto* force = std::get_if<ForceAction>(&action)) force->link = links_[force->link];
    if (auto* attach = std::get_if<AttachAction>(&action)) {
      attach->joint.parent = links_[attach->joint.parent];
      attach->joint.child = links_[attach->joint.child];
    }
  }

  void add_keyframe(const Keyframe& from, std::size_t first_actuator) {
    auto known = std::find_if(into_.keyframes.begin(), into_.keyframes.end(),
                              [&](const Keyframe& k) { return k.name == from.name; });
    if (known == into_.keyframes.end()) {
      into_.keyframes.push_back({.name = from.name, .time = from.time});
      known = into_.keyframes.end() - 1;
    }
    Keyframe& key = *known;
    for (const InitialJoint& i : from.joints) key.joints.push_back(moved(i));
    for (auto numbers : {&Keyframe::control, &Keyframe::activation}) {
      const std::vector<double>& more = from.*numbers;
      if (more.empty()) continue;
      (key.*numbers).resize(first_actuator, 0.0);
      (key.*numbers).insert((key.*numbers).end(), more.begin(), more.end());
    }
  }

  LoadedScene& into_;
  const LoadedScene& part_;
  Mechanism& to_;
  const Mechanism& from_;
  std::unordered_map<LinkId, LinkId> links_;
  std::unordered_map<JointId, JointId> joints_;
  std::unordered_map<MaterialId, MaterialId> materials_;
};

}  // namespace

std::vector<Diagnostic> merge(LoadedScene& into, const LoadedScene& part) {
  Merger merger(into, part);
  std::vector<Diagnostic> clashes = merger.find_clashes();
  if (clashes.empty()) merger.run();
  return clashes;
}

}  // namespace karakuri
