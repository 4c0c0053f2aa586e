#include "io/native/write_script.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/native/walkers.h"

namespace karakuri::io {

namespace {

class Writer {
 public:
  Writer(const LoadedScene& scene, Emit& out) : in_(scene), m_(scene.scene.mechanism), out_(out) {}

  /// A list of maps, one for each; nothing where there are none.
  template <class T, class Write>
  void list(std::string_view key, const std::vector<T>& things, const Write& write, bool flow = true) {
    if (things.empty()) return;
    out_.key(key);
    out_.begin_list();
    for (const T& thing : things) {
      out_.begin_map(flow);
      write(thing);
      out_.end_map();
    }
    out_.end_list();
  }

  void put_link(std::string_view key, LinkId id) {
    if (id) out_.put(key, m_.link(id).name);
  }
  void put_joint(std::string_view key, JointId id) {
    if (id) out_.put(key, m_.joint(id).name);
  }

  // ---- surroundings

  void write_initial(const InitialJoint& initial) {
    put_joint("joint", initial.joint);
    if (!initial.q.empty()) out_.put("q", std::span<const double>(initial.q));
    if (!initial.v.empty()) out_.put("v", std::span<const double>(initial.v));
  }

  void write_transmissions(const std::vector<Transmission>& all) {
    if (all.empty()) return;
    out_.key("joints");
    out_.begin_list(true);
    for (const Transmission& t : all) {
      out_.begin_map(true);
      put_joint("joint", t.joint);
      if (t.dof != 0) out_.put("dof", t.dof);
      out_.put_unless("gear", t.gear, 1);
      out_.end_map();
    }
    out_.end_list();
  }

  void put_range(std::string_view key, const Interval& range) {
    if (range.bounded()) out_.put(key, range);
  }

  void write_sensor(const Sensor& s) {
    out_.put_name(s.name);
    const std::string_view kind = kSensorWords[static_cast<std::size_t>(s.kind)];
    out_.put("kind", kind);
    if (s.type != kind) out_.put("type", s.type);
    put_link("link", s.link);
    put_joint("joint", s.joint);
    if (s.actuator >= 0) put_actuator(static_cast<std::size_t>(s.actuator));
    out_.put_pose(s.X_LS);
    out_.put_fields(kSensorFields, s);
  }

  /// By name where that is unique, else by number.
  void put_actuator(std::size_t index) {
    const std::string& name = in_.actuators[index].name;
    const auto others = std::count_if(in_.actuators.begin(), in_.actuators.end(),
                                      [&](const Actuator& a) { return a.name == name; });
    out_.put("actuator", !name.empty() && others == 1 ? name : std::to_string(index));
  }

  void write_actuator(const Actuator& a) {
    out_.put_name(a.name);
    write_transmissions(a.transmissions);
    out_.put_fields(kActuatorFields, a);
    put_range("control", a.control);
    put_range("force", a.force);
    write_cable("cable", a.cable);
    if (a.thrust.link) write_thrust(a.thrust);
    if (a.dynamics == ActuatorDynamics::kNone) return;
    out_.put("dynamics", kDynamicsWords[static_cast<std::size_t>(a.dynamics)]);
    put_range("activation", a.activation);
  }

  void write_cable(std::string_view key, const std::vector<CableSegment>& path) {
    if (path.empty()) return;
    out_.key(key);
    out_.begin_list(true);
    for (const CableSegment& s : path) {
      out_.begin_map(true);
      put_link("from", s.from);
      out_.put_unless("from_point", s.p_from, Vec3::Zero());
      put_link("to", s.to);
      out_.put_unless("to_point", s.p_to, Vec3::Zero());
      out_.put_unless("share", s.share, 1);
      out_.end_map();
    }
    out_.end_list();
  }

  void write_thrust(const Thrust& t) {
    out_.key("thrust");
    out_.begin_map(true);
    put_link("link", t.link);
    out_.put_pose(t.X_LT);
    out_.put_unless("force", t.force, Vec3::Zero());
    out_.put_unless("moment", t.moment, Vec3::Zero());
    out_.end_map();
  }

  void write_forces() {
    list("cables", in_.cables, [&](const Cable& c) {
      out_.put_name(c.name);
      write_cable("path", c.path);
      out_.put_fields(kCableFields, c);
      out_.put("rest", c.rest);
    });
    list("lifts", in_.lifts, [&](const Lift& l) {
      put_link("link", l.link);
      out_.put_unless("share", l.share, 1);
    });
    if (in_.fluid.acts()) {
      out_.key("fluid");
      out_.begin_map(true);
      out_.put_fields(kFluidFields, in_.fluid);
      out_.put_unless("wind", in_.fluid.wind, Vec3::Zero());
      out_.end_map();
    }
    std::vector<std::string> kinematic;
    for (const LinkId link : in_.kinematic) kinematic.push_back(m_.link(link).name);
    if (!kinematic.empty()) put_names(out_, "kinematic", kinematic);
  }

  void write_keyframe(const Keyframe& k) {
    out_.put_name(k.name);
    out_.put_unless("time", k.time, 0);
    list("joints", k.joints, [&](const InitialJoint& i) { write_initial(i); });
    if (!k.control.empty()) out_.put("control", std::span<const double>(k.control));
    if (!k.activation.empty()) out_.put("activation", std::span<const double>(k.activation));
  }

  void write_coupling(const Coupling& c) {
    out_.put_name(c.name);
    put_joint("follower", c.follower);
    put_joint("leader", c.leader);
    out_.put("coefficients", std::span<const double>(c.coefficients));
    out_.put_fields(kCouplingFields, c);
    out_.put_unless("active", c.active, true);
  }

  void surroundings() {
    std::vector<InitialJoint> initial = in_.scene.initial;
    std::erase_if(initial, [](const InitialJoint& i) { return i.q.empty() && i.v.empty(); });
    list("initial", initial, [&](const InitialJoint& i) { write_initial(i); });
    list("frames", in_.frames, [&](const Frame& f) {
      out_.put("name", f.name);
      put_link("link", f.link);
      out_.put_pose(f.X_LF);
    });
    list("cameras", in_.cameras, [&](const Camera& c) {
      out_.put_name(c.name);
      put_link("link", c.link);
      out_.put_pose(c.X_LC);
      out_.put_unless("field_of_view", c.field_of_view, Camera{}.field_of_view);
    });
    write_forces();
    list("actuators", in_.actuators, [&](const Actuator& a) { write_actuator(a); });
    list("sensors", in_.sensors, [&](const Sensor& s) { write_sensor(s); });
    list("keyframes", in_.keyframes, [&](const Keyframe& k) { write_keyframe(k); }, false);
    list("couplings", in_.scene.mechanism.couplings(), [&](const Coupling& c) { write_coupling(c); });
    list("tendons", in_.scene.mechanism.tendons(), [&](const FixedTendon& t) {
      out_.put_name(t.name);
      write_transmissions(t.joints);
      put_range("range", t.range);
      out_.put_fields(kTendonFields, t);
    });
  }

  // ---- script

  void write_action(const Action& action) {
    if (const auto* force = std::get_if<ForceAction>(&action)) {
      out_.key("force");
      out_.begin_map(true);
      put_link("link", force->link);
      out_.put_fields(kForceVectors, *force);
      out_.put_unless("duration", force->duration, 0);
      out_.end_map();
    } else if (const auto* attach = std::get_if<AttachAction>(&action)) {
      out_.key("attach");
      out_.begin_map(true);
      out_.put("name", attach->joint.name);
      put_link("parent", attach->joint.parent);
      put_link("child", attach->joint.child);
      write_joint_frame(attach->joint, true, !attach->here, out_);
      if (attach->here) out_.put("here", true);
      if (attach->tree) out_.put("tree", true);
      out_.end_map();
    } else if (const auto* detach = std::get_if<DetachAction>(&action)) {
      out_.put("detach", detach->joint);
    } else if (const auto* set = std::get_if<SetAction>(&action)) {
      out_.key("set");
      out_.begin_map(true);
      out_.put(set->key, set->value);
      out_.end_map();
    }
  }

  void write_element(const UiElement& element) {
    const auto* button = std::get_if<Button>(&element);
    const auto* slider = std::get_if<Slider>(&element);
    out_.key(button ? "button" : slider ? "slider" : "text");
    out_.begin_map(true);
    if (slider) {
      out_.put("name", slider->name);
      if (!slider->key.empty()) out_.put("key", slider->key);
      out_.put_fields(kSliderFields, *slider);
    } else if (button) {
      out_.put("name", button->name);
      list("do", button->actions, [&](const Action& a) { write_action(a); });
    } else {
      const Text& text = std::get<Text>(element);
      out_.put_name(text.name);
      out_.put("text", text.text);
    }
    out_.end_map();
  }

  /// Their names in the file: those of merged scenes may be the same.
  static std::vector<std::string> trajectory_names(const std::vector<Trajectory>& all) {
    std::vector<std::string> names;
    for (const Trajectory& t : all) {
      std::string name = t.name;
      for (int i = 2; std::find(names.begin(), names.end(), name) != names.end(); ++i)
        name = fmt::format("{}_{}", t.name, i);
      names.push_back(name);
    }
    return names;
  }

  void write_controller(const Controller& c, const std::vector<std::string>& names) {
    put_joint("joints", c.joint);
    if (c.dof != 0) out_.put("dof", c.dof);
    out_.put_fields(kControllerFields, c);
    if (c.trajectory < 0) return;
    const auto index = static_cast<std::size_t>(c.trajectory);
    out_.put("trajectory", names[index]);
    out_.put("column", in_.script.trajectories[index].columns[static_cast<std::size_t>(c.column)]);
  }

  void script(Assets& assets) {
    const Script& s = in_.script;
    const std::vector<std::string> names = trajectory_names(s.trajectories);
    std::size_t index = 0;
    list("trajectories", s.trajectories, [&](const Trajectory& t) {
      out_.put("name", names[index++]);
      out_.put("file", assets.add(t));
      if (t.repeat) out_.put("repeat", true);
    });
    list("controllers", s.controllers, [&](const Controller& c) { write_controller(c, names); });
    list("events", s.events, [&](const TimedEvent& e) {
      out_.put("time", e.time);
      if (e.period > 0) out_.put("every", e.period);
      write_action(e.action);
    });
    list("walkers", s.walkers, [&](const Walker& w) { write_walker(w, in_.scene.mechanism, out_); });
    list("behaviours", s.behaviours, [&](const Behaviour& b) {
      out_.put_name(b.name);
      out_.put("file", assets.add_copy(b.file));
      if (b.parameters.empty()) return;
      out_.key("parameters");
      out_.begin_map(true);
      for (const auto& [name, value] : b.parameters) out_.put(name, value);
      out_.end_map();
    });
    list("plots", s.plots, [&](const Plot& p) {
      if (!p.title.empty()) out_.put("title", p.title);
      put_names(out_, "signals", p.signals);
    });
    list("ui", s.ui, [&](const UiElement& e) { write_element(e); });
    if (s.view) write_view(*s.view);
    if (s.look) write_look(*s.look);
  }

  void write_view(const View& view) {
    out_.key("view");
    out_.begin_map(true);
    out_.put("from", view.from);
    out_.put("to", view.to);
    out_.put_unless("field_of_view", view.field_of_view, View{}.field_of_view);
    out_.end_map();
  }

  void write_look(const Look& look) {
    out_.key("look");
    out_.begin_map(true);
    out_.put("sky", look.sky);
    out_.put("ground", look.ground);
    out_.put("grid", look.grid);
    out_.put("shadows", look.shadows);
    out_.end_map();
  }

 private:
  const LoadedScene& in_;
  const Mechanism& m_;
  Emit& out_;
};

}  // namespace

void put_names(Emit& out, std::string_view key, const std::vector<std::string>& names) {
  out.key(key);
  out.begin_list(true);
  for (const std::string& name : names) out.value(name);
  out.end_list();
}

void write_joint_frame(const Joint& joint, bool in_parent, bool in_child, Emit& out) {
  out.put("kind", name(joint.kind));
  out.put_unless("axis", joint.axis, Vec3::UnitZ());
  out.put_unless("second_axis", joint.second_axis, Vec3::UnitX());
  out.put_unless("pitch", joint.pitch, 0);
  if (joint.kind == JointKind::kDistance && joint.distance > 0) out.put("distance", joint.distance);
  if (joint.range.bounded()) out.put("range", joint.range);
  out.put_fields(kClosingFields, joint);
  const auto frame = [&](const char* key, const Transform& X) {
    out.key(key);
    out.begin_map(true);
    out.put_pose(X);
    out.end_map();
  };
  if (in_parent) frame("in_parent", joint.X_PF);
  if (in_child) frame("in_child", joint.X_CM);
}

void write_surroundings(const LoadedScene& scene, Emit& out) { Writer(scene, out).surroundings(); }
void write_script(const LoadedScene& scene, Assets& assets, Emit& out) { Writer(scene, out).script(assets); }

}  // namespace karakuri::io
