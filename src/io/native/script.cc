// What happens while a scene runs, and what is shown.
#include <algorithm>

#include <fmt/format.h>

#include "io/native/context.h"
#include "io/native/names.h"
#include "io/native/walkers.h"

namespace karakuri::io {

namespace {

/// '*' stands for any letters.
bool matches(std::string_view text, std::string_view pattern) {
  std::size_t t = 0, p = 0, star = pattern.npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != pattern.npos) {
      p = star + 1, t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

class ScriptReader {
 public:
  explicit ScriptReader(NativeContext& c) : c_(c), script_(c.build.out.script) {}

  void run(const YamlNode& root) {
    for (const YamlNode* node : items(root, "trajectories")) read_trajectory(*node);
    for (const YamlNode* node : items(root, "controllers")) read_controller(*node);
    for (const YamlNode* node : items(root, "walkers"))
      read_walker(c_, *node, [&](const std::string& pattern) { return matching(*node, "passive", pattern); });
    for (const YamlNode* node : items(root, "behaviours")) read_behaviour(*node);
    // sliders are signals and keys: they come before what may name them
    for (const YamlNode* node : items(root, "ui")) read_element(*node);
    for (const YamlNode* node : items(root, "events")) read_event(*node);
    for (const YamlNode* node : items(root, "plots")) read_plot(*node);
    if (const YamlNode* node = root.find("view")) read_view(*node);
    if (const YamlNode* node = root.find("look")) read_look(*node);
    check_names();
  }

 private:
  // ---- controllers

  void read_trajectory(const YamlNode& node) {
    const YamlNode& name = *node.find("file");
    const std::filesystem::path file = c_.find_file(name, {".csv"}, "a trajectory");
    if (file.empty()) return;
    Result<Trajectory> read = karakuri::read_trajectory(file);
    if (!read.ok()) {
      for (const Diagnostic& e : read.errors())
        c_.file.error(name, fmt::format("{}: {}", e.where, e.what), e.remedy);
      return;
    }
    get(node, "name", read->name);
    get(node, "repeat", read->repeat);
    script_.trajectories.push_back(std::move(*read));
  }

  int find_trajectory(const YamlNode& node) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < script_.trajectories.size(); ++i) {
      names.push_back(script_.trajectories[i].name);
      if (names.back() == node.text) return static_cast<int>(i);
    }
    c_.file.error(node, fmt::format("there is no trajectory {}", in_quotes(node.text)),
                  suggestion(node.text, names, "trajectories"));
    return -1;
  }

  void read_controller(const YamlNode& node) {
    Controller controller;
    get_fields(node, kControllerFields, controller);
    get_angle(node, "target", controller.target);
    get(node, "dof", controller.dof);
    if (const YamlNode* name = node.find("trajectory")) {
      controller.trajectory = find_trajectory(*name);
      if (controller.trajectory < 0) return;
    }
    std::vector<std::string> patterns;
    if (!get(node, "joints", patterns)) {
      if (controller.trajectory < 0) {
        return c_.file.error(node, "a controller has neither joints nor a trajectory", "add `joints`");
      }
      return follow_all(node, controller);
    }
    for (const std::string& pattern : patterns) {
      for (const JointId id : matching(node, "joints", pattern)) add_controller(node, controller, id);
    }
  }

  std::vector<JointId> matching(const YamlNode& node, std::string_view key, const std::string& pattern) {
    if (pattern.find('*') == pattern.npos) {
      const JointId id = c_.joint(*node.find(key), pattern);
      return id ? std::vector<JointId>{id} : std::vector<JointId>{};
    }
    std::vector<JointId> found;
    const Mechanism& m = c_.mechanism();
    for (const JointId id : m.joint_ids()) {
      const bool moves = m.joint(id).kind != JointKind::kFixed && !m.link(m.joint(id).child).is_virtual();
      if (moves && matches(m.joint(id).name, c_.prefixed(pattern))) found.push_back(id);
    }
    if (found.empty()) {
      c_.file.error(*node.find(key), fmt::format("no joint that moves is called like {}", in_quotes(pattern)),
                    "name joints; * stands for any letters");
    }
    return found;
  }

  void add_controller(const YamlNode& node, Controller controller, JointId id) {
    const Joint& joint = c_.mechanism().joint(id);
    controller.joint = id;
    if (c_.mechanism().link(joint.child).is_virtual() || controller.dof >= v_size(joint.kind)) {
      return c_.file.error(
          node, fmt::format("joint {} has no dof {} to drive", in_quotes(joint.name), controller.dof),
          fmt::format("a {} joint of the tree has {}", name(joint.kind), v_size(joint.kind)));
    }
    if (controller.trajectory >= 0) {
      controller.column = find_column(node, controller, joint.name.substr(c_.build.options.prefix.size()));
      if (controller.column < 0) return;
    }
    script_.controllers.push_back(controller);
  }

  int find_column(const YamlNode& node, const Controller& controller, std::string name) {
    if (controller.dof > 0) name += fmt::format(".{}", controller.dof);
    get(node, "column", name);
    const std::vector<std::string>& columns =
        script_.trajectories[static_cast<std::size_t>(controller.trajectory)].columns;
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found != columns.end()) return static_cast<int>(found - columns.begin());
    c_.file.error(node, fmt::format("the trajectory has no column {}", in_quotes(name)),
                  suggestion(name, columns, "its columns"));
    return -1;
  }

  /// A controller for each column, which is a joint or "JOINT.DOF".
  void follow_all(const YamlNode& node, Controller controller) {
    const Trajectory& trajectory = script_.trajectories[static_cast<std::size_t>(controller.trajectory)];
    for (std::size_t k = 0; k < trajectory.columns.size(); ++k) {
      std::string name = trajectory.columns[k];
      controller.dof = 0;
      controller.column = static_cast<int>(k);
      const auto dot = name.rfind('.');
      double dof = 0;
      if (!c_.joints.contains(c_.prefixed(name)) && dot != name.npos &&
          parse_number(name.substr(dot + 1), dof) && dof >= 0 && dof < kMaxJointDofs) {
        controller.dof = static_cast<int>(dof);
        name.resize(dot);
      }
      const JointId id = c_.joint(*node.find("trajectory"), name);
      if (!id) return;
      const Joint& joint = c_.mechanism().joint(id);
      if (controller.dof >= v_size(joint.kind) || c_.mechanism().link(joint.child).is_virtual()) {
        return c_.file.error(node, fmt::format("joint {} has no dof {}", in_quotes(name), controller.dof),
                             "mend the column");
      }
      controller.joint = id;
      script_.controllers.push_back(controller);
    }
  }

  void read_behaviour(const YamlNode& node) {
    Behaviour behaviour;
    const std::filesystem::path found = c_.find_file(*node.find("file"), {".py"}, "Python");
    behaviour.name = found.stem().string();
    std::error_code ignored;
    behaviour.file = std::filesystem::canonical(found, ignored);
    behaviour.named_by = std::filesystem::weakly_canonical(c_.path, ignored);
    get(node, "name", behaviour.name);
    const YamlNode* parameters = node.find("parameters");
    for (std::size_t i = 0; parameters && i < parameters->keys.size(); ++i) {
      behaviour.parameters.emplace_back(parameters->keys[i].text, value_of(parameters->items[i]));
    }
    script_.behaviours.push_back(std::move(behaviour));
  }

  // ---- actions

  /// One for each key of `set`, else one.
  std::vector<Action> read_actions(const YamlNode& node) {
    std::vector<std::string> found;
    for (const Key& key : section("action").keys) {
      if (node.has(key.name)) found.emplace_back(key.name);
    }
    if (found.size() != 1) {
      c_.file.error(
          node, found.empty() ? "there is nothing to do" : "there are several things to do: " + listed(found),
          "give exactly one of 'force', 'attach', 'detach' and 'set'");
      return {};
    }
    const YamlNode& at = *node.find(found[0]);
    if (found[0] == "force") return {read_force(at)};
    if (found[0] == "attach") return {read_attach(at)};
    if (found[0] == "detach") {
      later_.push_back({&at, Later::kDetach, c_.prefixed(at.text)});
      return {DetachAction{c_.prefixed(at.text)}};
    }
    std::vector<Action> actions;
    for (std::size_t i = 0; i < at.keys.size(); ++i) {
      actions.push_back(SetAction{checked(at.keys[i], at.keys[i].text, Later::kKey), value_of(at.items[i])});
    }
    return actions;
  }

  ForceAction read_force(const YamlNode& node) {
    ForceAction force{.link = c_.link_at(node, "link")};
    get_fields(node, kForceVectors, force);
    get(node, "duration", force.duration);
    force.force = c_.build.options.pose.R * force.force;
    force.moment = c_.build.options.pose.R * force.moment;
    return force;
  }

  AttachAction read_attach(const YamlNode& node) {
    ParsedJoint parsed = read_joint_frame(c_, node);
    AttachAction attach{.joint = parsed.joint, .here = !parsed.in_child};
    if (!node.has("kind")) attach.joint.kind = JointKind::kFixed;
    get(node, "here", attach.here);
    get(node, "tree", attach.tree);
    get(node, "name", attach.joint.name);
    attach.joint.name = c_.prefixed(attach.joint.name);
    attach.joint.parent = c_.link_at(node, "parent");
    attach.joint.child = c_.link_at(node, "child");
    attach.joint.X_PF = c_.on_link(attach.joint.parent, attach.joint.X_PF);
    attach.joint.X_CM = c_.on_link(attach.joint.child, attach.joint.X_CM);
    if (attach.joint.parent && attach.joint.parent == attach.joint.child) {
      c_.file.error(node, "a body is attached to itself", "name two bodies");
    }
    return attach;
  }

  void read_event(const YamlNode& node) {
    TimedEvent event;
    get(node, "time", event.time);
    get(node, "every", event.period);
    for (Action& action : read_actions(node)) {
      event.action = std::move(action);
      script_.events.push_back(event);
    }
  }

  // ---- what is shown

  void read_plot(const YamlNode& node) {
    Plot plot;
    get(node, "title", plot.title);
    for (const YamlNode& signal : node.find("signals")->items) {
      plot.signals.push_back(checked(signal, signal.text, Later::kSignal));
    }
    script_.plots.push_back(std::move(plot));
  }

  void read_element(const YamlNode& node) {
    if (node.keys.size() != 1 || node.items[0].kind == YamlNode::Kind::kNull) {
      return c_.file.error(node, "an element of the page is one thing",
                           "give one of 'slider', 'button' and 'text'");
    }
    const YamlNode& at = node.items[0];
    if (node.keys[0].text == "slider") {
      Slider slider;
      get(at, "name", slider.name);
      get_fields(at, kSliderFields, slider);
      if (const YamlNode* key = at.find("key")) slider.key = checked(*key, key->text, Later::kSliderKey);
      if (!(slider.min < slider.max) || slider.value < slider.min || slider.value > slider.max) {
        c_.file.error(at,
                      fmt::format("slider {} goes from {:g} to {:g} and stands at {:g}",
                                  in_quotes(slider.name), slider.min, slider.max, slider.value),
                      "let min be below max, and value between them");
      }
      script_.ui.emplace_back(std::move(slider));
    } else if (node.keys[0].text == "button") {
      Button button;
      get(at, "name", button.name);
      for (const YamlNode* action : items(at, "do")) {
        for (Action& one : read_actions(*action)) button.actions.push_back(std::move(one));
      }
      script_.ui.emplace_back(std::move(button));
    } else {
      Text text;
      get(at, "name", text.name);
      text.text = text_with_names(at);
      script_.ui.emplace_back(std::move(text));
    }
  }

  /// Each {SIGNAL} of the text is checked, and gets the prefix.
  std::string text_with_names(const YamlNode& node) {
    const YamlNode& at = *node.find("text");
    std::string out;
    std::string_view rest = at.text;
    for (auto open = rest.find('{'); open != rest.npos; open = rest.find('{')) {
      const auto close = rest.find('}', open);
      if (close == rest.npos) break;
      out += rest.substr(0, open + 1);
      out += checked(at, std::string(rest.substr(open + 1, close - open - 1)), Later::kSignal) + "}";
      rest.remove_prefix(close + 1);
    }
    return out += rest;
  }

  void read_view(const YamlNode& node) {
    View view;
    get(node, "from", view.from);
    get(node, "to", view.to);
    get_angle(node, "field_of_view", view.field_of_view);
    script_.view = view;
  }

  void read_look(const YamlNode& node) {
    Look look;
    get(node, "sky", look.sky);
    get(node, "ground", look.ground);
    get(node, "grid", look.grid);
    get(node, "shadows", look.shadows);
    script_.look = look;
  }

  // ---- names, which may be of what comes later in the file

  struct Later {
    const YamlNode* node;
    enum Kind { kSignal, kKey, kSliderKey, kDetach } kind;
    std::string text;
  };

  /// As it is to be kept; looked up at the end.
  std::string checked(const YamlNode& node, std::string text, Later::Kind kind) {
    text = with_prefix(text, c_.build.options.prefix);
    later_.push_back({&node, kind, text});
    return text;
  }

  static std::string with_prefix(const std::string& text, const std::string& prefix) {
    for (const std::string_view subject : {"link.", "joint.", "sensor.", "actuator.", "walker."}) {
      if (text.starts_with(subject)) return std::string(subject) + prefix + text.substr(subject.size());
    }
    return text;
  }

  void check_names() {
    constexpr std::size_t kMost = 2000;  // each may be looked for among a hundred thousand bodies
    if (later_.size() > kMost) {
      return c_.file.error(*later_[kMost].node, fmt::format("there are more than {} signals and keys", kMost),
                           "plot and set less");
    }
    for (const Later& later : later_) {
      if (c_.build.report.full()) return;
      if (later.kind == Later::kDetach) {
        check_detached(later);
        continue;
      }
      const LoadedScene& scene = c_.build.out;
      const Result<Reference> found =
          later.kind == Later::kSignal ? find_signal(scene, later.text) : find_key(scene, later.text);
      if (found.ok()) {
        if (later.kind == Later::kSliderKey) check_one_number(later, *found);
        continue;
      }
      for (const Diagnostic& e : found.errors()) c_.file.error(*later.node, e.what, e.remedy);
    }
  }

  void check_one_number(const Later& later, const Reference& key) {
    if (key.subject != Subject::kGravity || !key.property.empty()) return;
    c_.file.error(*later.node, "a slider gives one number, and gravity has three",
                  "write gravity.x, gravity.y or gravity.z");
  }

  void check_detached(const Later& later) {
    if (c_.joints.contains(later.text)) return;
    const std::vector<std::string> made = attached_names(c_.build.out);
    if (std::find(made.begin(), made.end(), later.text) != made.end()) return;
    c_.joint(*later.node, later.node->text);  // says so
  }

  NativeContext& c_;
  Script& script_;
  std::vector<Later> later_;
};

}  // namespace

void read_script(NativeContext& c, const YamlNode& root) { ScriptReader(c).run(root); }

}  // namespace karakuri::io
