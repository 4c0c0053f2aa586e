#include "io/native/names.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "io/native/check.h"
#include "io/native/context.h"

namespace karakuri {

namespace io {

namespace {

using enum Subject;

constexpr Word kSignals[] = {
    {"time", kTime, "", "s", "Time since the start."},
    {"link.NAME.PROPERTY", kLink, "px py pz", "m", "Position of the body's frame in the world."},
    {"link.NAME.PROPERTY", kLink, "qw qx qy qz", "", "Its orientation as a quaternion."},
    {"link.NAME.PROPERTY", kLink, "vx vy vz", "m/s", "Velocity of the frame's origin, world axes."},
    {"link.NAME.PROPERTY", kLink, "wx wy wz", "rad/s", "Angular velocity, world axes."},
    {"link.NAME.PROPERTY", kLink, "fx fy fz", "N", "Sum of the contact forces on it, world axes."},
    {"joint.NAME.PROPERTY[.INDEX]", kJoint, "q", "rad or m",
     "Coordinate; the first where no number follows."},
    {"joint.NAME.PROPERTY[.INDEX]", kJoint, "v", "rad/s or m/s", "Velocity of a degree of freedom."},
    {"joint.NAME.PROPERTY[.INDEX]", kJoint, "tau", "N m or N", "Effort of drives on it."},
    {"joint.NAME.PROPERTY[.INDEX]", kJoint, "target target_velocity stiffness damping limit effort", "",
     "Of its drive, as set by controllers and keys."},
    {"sensor.NAME[.INDEX]", kSensor, "", "", "Reading; the first number where none follows."},
    {"actuator.NAME", kActuator, "", "", "Control."},
    {"energy.PROPERTY", kEnergy, "kinetic potential total", "J", "Of the whole world."},
    {"step.PROPERTY", kStep, "contacts islands rows sweeps", "", "Sizes of the last step."},
    {"step.PROPERTY", kStep, "residual", "m/s", "What the solver left."},
    {"step.PROPERTY", kStep, "penetration", "m", "The deepest contact."},
    {"ui.NAME", kUi, "", "", "A slider's value."},
    {"walker.NAME.PROPERTY", kWalker, "steps left standing fallen stabilizer", "",
     "Steps done and to do; 1 or 0."},
    {"walker.NAME.PROPERTY", kWalker, "margin", "m",
     "How far the ZMP is inside what carries; negative: outside."},
    {"walker.NAME.PROPERTY", kWalker, "zmp_x zmp_y planned_zmp_x planned_zmp_y wanted_zmp_x wanted_zmp_y",
     "m", "Zero-moment point: measured, of the plan, and as the stabilizer wants it."},
    {"walker.NAME.PROPERTY", kWalker,
     "center_x center_y center_z planned_center_x planned_center_y planned_center_z", "m",
     "Centre of mass: measured, and of the plan."},
    {"walker.NAME.PROPERTY", kWalker, "left_force right_force", "N", "Vertical force on a foot."},
    {"walker.NAME.PROPERTY", kWalker, "tilt", "rad", "Of the root, from upright."},
    {"walker.NAME.PROPERTY", kWalker, "forward side turn", "", "Of the steps that `steps` asks for."},
    {"behaviour.NAME.PROPERTY", kBehaviour, "", "", "One of its parameters, where it is a number."},
};

constexpr Word kKeys[] = {
    {"gravity", kGravity, "", "m/s^2", "Three numbers."},
    {"gravity.PROPERTY", kGravity, "x y z", "m/s^2", "One of them."},
    {"settings.PROPERTY", kSetting, "", "",
     "Any key of `settings`, such as settings.dt or settings.sleep.speed."},
    {"joint.NAME.PROPERTY[.INDEX]", kJoint, "target target_velocity stiffness damping limit", "",
     "Of the drive of a degree of freedom, see `controllers`; the first where no number follows."},
    {"joint.NAME.PROPERTY[.INDEX]", kJoint, "effort", "N m or N", "Effort, from now on."},
    {"joint.NAME.PROPERTY[.INDEX]", kJoint, "q v", "",
     "Position or velocity, at once; a number or all of them."},
    {"joint.NAME.PROPERTY", kJoint, "closed", "", "Of a loop: true or false."},
    {"link.NAME.PROPERTY", kLink, "kinematic", "",
     "true: its tree moves as its velocities say, whatever pushes it."},
    {"actuator.NAME", kActuator, "", "", "Control."},
    {"ui.NAME", kUi, "", "", "A slider's value."},
    {"walker.NAME.PROPERTY", kWalker, "forward side turn", "m or rad",
     "Of the steps that `steps` asks for next."},
    {"walker.NAME.PROPERTY", kWalker, "steps", "",
     "So many such steps in place of what was planned, then to a stand; 0: stop."},
    {"walker.NAME.PROPERTY", kWalker, "stabilizer", "", "true or false: whether its stabilizer acts."},
    {"behaviour.NAME.PROPERTY", kBehaviour, "", "", "One of its parameters."},
};

/// Cuts ".3" from the end.
bool take_index(std::string& text, int& index) {
  const auto dot = text.rfind('.');
  if (dot == text.npos || dot + 1 == text.size()) return false;
  const char* end = text.data() + text.size();
  int value = 0;
  const auto [at, problem] = std::from_chars(text.data() + dot + 1, end, value);
  if (at != end || problem != std::errc() || value < 0) return false;
  index = value;
  text.resize(dot);
  return true;
}

std::vector<std::string> setting_names(const Section& s, const std::string& before) {
  std::vector<std::string> names;
  for (const Key& key : s.keys) {
    const std::string full = before + std::string(key.name);
    if (key.type != KeyType::kSection) {
      names.push_back(full);
      continue;
    }
    for (std::string& inner : setting_names(section(key.of), full + ".")) names.push_back(std::move(inner));
  }
  return names;
}

/// What there is of a subject in a scene.
std::vector<std::string> names_of(const LoadedScene& scene, Subject subject) {
  const Mechanism& m = scene.scene.mechanism;
  std::vector<std::string> names;
  if (subject == kLink) {
    for (const LinkId id : m.link_ids()) {
      if (!m.link(id).is_virtual()) names.push_back(m.link(id).name);
    }
  } else if (subject == kJoint) {
    for (const JointId id : m.joint_ids()) names.push_back(m.joint(id).name);
    for (std::string& name : attached_names(scene)) names.push_back(std::move(name));
  } else if (subject == kSensor) {
    for (const Sensor& s : scene.sensors) names.push_back(s.name);
  } else if (subject == kActuator) {
    for (const Actuator& a : scene.actuators) names.push_back(a.name);
  } else if (subject == kWalker) {
    for (const Walker& w : scene.script.walkers) names.push_back(w.name);
  } else if (subject == kBehaviour) {
    for (const Behaviour& b : scene.script.behaviours) names.push_back(b.name);
  } else if (subject == kUi) {
    for (const UiElement& e : scene.script.ui) {
      if (const auto* slider = std::get_if<Slider>(&e)) names.push_back(slider->name);
    }
  }
  return names;
}

class Finder {
 public:
  Finder(const LoadedScene& scene, std::span<const Word> words, std::string_view text)
      : scene_(scene), words_(words), text_(text) {}

  Result<Reference> run() {
    const std::string head = text_.substr(0, text_.find('.'));
    for (const Word& word : words_) {
      if (word.form.substr(0, word.form.find_first_of(".[")) == head) rows_.push_back(&word);
    }
    if (rows_.empty()) return unknown_head(head);
    Reference r{.subject = rows_[0]->subject, .name = {}, .property = {}, .index = 0};
    std::string rest = text_.size() > head.size() ? text_.substr(head.size() + 1) : "";
    const std::string_view form = rows_[0]->form;
    const bool alone = form.find('.') == form.npos;
    if (alone && text_.size() == head.size()) return r;
    if (alone && rows_.size() == 1) return refused("nothing follows this word");
    if (alone || r.subject == kSetting || r.subject == kEnergy || r.subject == kStep)
      return property_only(r, rest);
    if (form.find("PROPERTY") == form.npos) return name_only(r, rest, form.find("INDEX") != form.npos);
    return name_and_property(r, rest);
  }

 private:
  Result<Reference> refused(const std::string& why, std::string remedy = "") const {
    return Diagnostic{Severity::kError, "", fmt::format("{}: {}", in_quotes(text_), why), std::move(remedy)};
  }

  Result<Reference> unknown_head(const std::string& head) const {
    std::vector<std::string> heads;
    for (const Word& word : words_) {
      const std::string one(word.form.substr(0, word.form.find_first_of(".[")));
      if (std::find(heads.begin(), heads.end(), one) == heads.end()) heads.push_back(one);
    }
    return refused("it begins with no known word", suggestion(head, heads, "valid"));
  }

  std::vector<std::string> properties() const {
    if (rows_[0]->subject == kSetting) return setting_names(section("settings"), "");
    std::vector<std::string> all;
    for (const Word* row : rows_) {
      for (std::string& word : words_of(row->properties)) all.push_back(std::move(word));
    }
    return all;
  }

  Result<Reference> property_only(Reference r, const std::string& rest) const {
    const std::vector<std::string> known = properties();
    if (std::find(known.begin(), known.end(), rest) == known.end()) {
      return refused(fmt::format("there is no {}", in_quotes(rest)), suggestion(rest, known, "valid"));
    }
    r.property = rest;
    return r;
  }

  Result<Reference> name_only(Reference r, std::string rest, bool indexed) const {
    const std::vector<std::string> known = names_of(scene_, r.subject);
    const auto has = [&](const std::string& name) {
      return std::find(known.begin(), known.end(), name) != known.end();
    };
    if (!has(rest) && indexed) {
      std::string shorter = rest;
      if (take_index(shorter, r.index) && has(shorter)) rest = shorter;
    }
    if (!has(rest)) return no_such_name(r.subject, rest, known);
    r.name = rest;
    return r;
  }

  Result<Reference> no_such_name(Subject subject, const std::string& name,
                                 std::vector<std::string> known) const {
    if (known.size() > 2000) known.resize(2000);
    const std::string_view word =
        subject == kLink ? "body" : rows_[0]->form.substr(0, rows_[0]->form.find('.'));
    return refused(fmt::format("there is no {} {}", word, in_quotes(name)),
                   suggestion(name, known, "there are"));
  }

  Result<Reference> name_and_property(Reference r, std::string rest) const {
    const bool indexed = rows_[0]->form.find("INDEX") != std::string_view::npos;
    const bool numbered = indexed && take_index(rest, r.index);
    const auto dot = rest.rfind('.');
    if (dot == rest.npos)
      return refused("no property follows the name", fmt::format("write {}", rows_[0]->form));
    r.name = rest.substr(0, dot);
    r.property = rest.substr(dot + 1);
    if (r.subject == kBehaviour) return behaviour(r);
    const std::vector<std::string> known = properties();
    if (std::find(known.begin(), known.end(), r.property) == known.end()) {
      return refused(fmt::format("there is no property {}", in_quotes(r.property)),
                     suggestion(r.property, known, "valid"));
    }
    if (r.subject == kWalker) {
      const std::vector<std::string> names = names_of(scene_, kWalker);
      if (std::find(names.begin(), names.end(), r.name) != names.end()) return r;
      return no_such_name(kWalker, r.name, names);
    }
    const Mechanism& m = scene_.scene.mechanism;
    if (r.subject == kLink) {
      if (m.find_link(r.name)) return r;
      return no_such_name(kLink, r.name, names_of(scene_, kLink));
    }
    const JointId joint = m.find_joint(r.name);
    if (!joint) {
      const std::vector<std::string> names = names_of(scene_, kJoint);
      if (std::find(names.begin(), names.end(), r.name) != names.end()) return r;
      return no_such_name(kJoint, r.name, names);
    }
    const JointKind kind = m.joint(joint).kind;
    const int count = r.property == "q" ? q_size(kind) : v_size(kind);
    if (r.property != "closed" && r.index >= count) {
      return refused(
          fmt::format("joint {} has no number {}", in_quotes(r.name), r.index),
          fmt::format("a {} joint has {} of '{}', counted from 0", karakuri::name(kind), count, r.property));
    }
    if (!numbered) r.index = 0;
    return r;
  }

  Result<Reference> behaviour(const Reference& r) const {
    std::vector<std::string> names;
    for (const Behaviour& b : scene_.script.behaviours) {
      for (const auto& [parameter, value] : b.parameters) {
        names.push_back(b.name + "." + parameter);
        if (b.name == r.name && parameter == r.property) return r;
      }
    }
    return refused("there is no such parameter", suggestion(r.name + "." + r.property, names, "there are"));
  }

  const LoadedScene& scene_;
  std::span<const Word> words_;
  std::string text_;
  std::vector<const Word*> rows_;
};

void add_attached(const Action& action, std::vector<std::string>& names) {
  if (const auto* attach = std::get_if<AttachAction>(&action)) names.push_back(attach->joint.name);
}

YamlNode node_of(const Value& value) {
  YamlNode node{.kind = YamlNode::Kind::kScalar};
  if (const auto* number = std::get_if<double>(&value)) node.text = fmt::format("{}", *number);
  if (const auto* word = std::get_if<std::string>(&value)) node.text = *word;
  if (const auto* list = std::get_if<std::vector<double>>(&value)) {
    node.kind = YamlNode::Kind::kList;
    for (const double x : *list) node.items.push_back(node_of(x));
  }
  return node;
}

}  // namespace

std::span<const Word> signal_words() { return kSignals; }
std::span<const Word> key_words() { return kKeys; }

std::vector<std::string> attached_names(const LoadedScene& scene) {
  std::vector<std::string> names;
  for (const TimedEvent& event : scene.script.events) add_attached(event.action, names);
  for (const UiElement& element : scene.script.ui) {
    const auto* button = std::get_if<Button>(&element);
    for (std::size_t i = 0; button && i < button->actions.size(); ++i)
      add_attached(button->actions[i], names);
  }
  return names;
}

}  // namespace io

Result<Reference> find_signal(const LoadedScene& scene, std::string_view signal) {
  return io::Finder(scene, io::signal_words(), signal).run();
}
Result<Reference> find_key(const LoadedScene& scene, std::string_view key) {
  return io::Finder(scene, io::key_words(), key).run();
}

std::string to_string(const Reference& r) {
  static constexpr std::string_view kHeads[] = {"time", "link", "joint",    "sensor",  "actuator",  "energy",
                                                "step", "ui",   "settings", "gravity", "behaviour", "walker"};
  std::string text(kHeads[static_cast<std::size_t>(r.subject)]);
  if (!r.name.empty()) text += "." + r.name;
  if (!r.property.empty()) text += "." + r.property;
  if (r.index > 0) text += fmt::format(".{}", r.index);
  return text;
}

std::vector<Diagnostic> set_setting(WorldSettings& settings, std::string_view name, const Value& value) {
  io::Report report;
  const io::YamlFile file{"settings", report};
  // the same as a file would have it: checked and read by the same table
  io::YamlNode node = io::node_of(value);
  std::string_view rest = name;
  while (!rest.empty()) {
    const auto dot = rest.rfind('.');
    const std::string_view last = dot == rest.npos ? rest : rest.substr(dot + 1);
    io::YamlNode map{.kind = io::YamlNode::Kind::kMap};
    map.keys.push_back({.kind = io::YamlNode::Kind::kScalar, .text = std::string(last)});
    map.items.push_back(std::move(node));
    node = std::move(map);
    rest = dot == rest.npos ? std::string_view() : rest.substr(0, dot);
  }
  std::vector<Diagnostic> errors;
  if (!node.is_map()) report.error("", "a setting has no name", "name a key of `settings`, such as dt");
  if (report.ok() && io::check_section(file, node, io::section("settings"))) {
    WorldSettings changed = settings;
    io::read_settings(node, changed);
    errors = find_flaws(changed);
    if (errors.empty()) settings = changed;
  } else {
    errors = report.take_errors();
  }
  for (Diagnostic& e : errors) e.where = fmt::format("settings.{}", name);
  return errors;
}

}  // namespace karakuri
