// Robots that walk.
#include "io/native/walkers.h"

#include <numbers>

#include <fmt/format.h>

#include "io/native/walker_keys.h"

namespace karakuri::io {

namespace {

Side side_of(const std::string& word) { return word == "right" ? Side::kRight : Side::kLeft; }
const char* word_of(Side side) { return side == Side::kLeft ? "left" : "right"; }

void read_stabilizer(const YamlNode& node, Stabilizing& out) {
  out.enabled = true;
  if (node.is_map()) {
    get_fields(node, kStabilizerFields, out);
    get(node, "enabled", out.enabled);
  } else {
    out.enabled = node.text == "true";
  }
}

void read_posture(NativeContext& c, const YamlNode& node, Walker& out) {
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const JointId id = c.joint(node.keys[i], node.keys[i].text);
    if (!id) continue;
    if (v_size(c.mechanism().joint(id).kind) != 1) {
      c.file.error(node.keys[i],
                   fmt::format("joint {} has no single degree of freedom", in_quotes(node.keys[i].text)),
                   "name revolute and prismatic joints");
      continue;
    }
    const std::vector<double> q = numbers(node.items[i]);
    if (!q.empty()) out.biped.posture.emplace_back(id, q[0]);
  }
}

}  // namespace

void read_walker(NativeContext& c, const YamlNode& node,
                 const std::function<std::vector<JointId>(const std::string&)>& matching) {
  Walker out;
  get(node, "name", out.name);
  out.name = c.prefixed(out.name);
  out.biped.root = c.link_at(node, "root");
  std::vector<std::string> names;
  get(node, "feet", names);
  for (std::size_t i = 0; i < 2 && i < names.size(); ++i)
    out.biped.feet[i] = c.link(*node.find("feet"), names[i]);
  get(node, "sole", out.biped.sole);
  if (std::vector<double> box; get(node, "sole_box", box) && box.size() == 4)
    out.biped.sole_box = {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]),
                          std::max(box[1], box[3])};
  if (std::vector<std::string> patterns; get(node, "passive", patterns))
    for (const std::string& pattern : patterns)
      for (const JointId id : matching(pattern)) out.biped.passive.push_back(id);
  if (const YamlNode* posture = node.find("posture")) read_posture(c, *posture, out);
  get(node, "floor", out.floor);
  get(node, "place", out.place);
  if (std::string word; get(node, "first", word)) out.first = side_of(word);
  if (const YamlNode* gait = node.find("gait")) get_fields(*gait, kGaitFields, out.gait);
  if (const YamlNode* stabilizer = node.find("stabilizer")) read_stabilizer(*stabilizer, out.stabilizing);
  for (const YamlNode* at : items(node, "plan")) {
    PlannedSteps steps;
    get(*at, "count", steps.count);
    get_fields(*at, kStepFields, steps.step);
    get_angle(*at, "turn", steps.step.turn);
    out.plan.push_back(steps);
  }
  for (const YamlNode* at : items(node, "footsteps")) {
    std::string word;
    get(*at, "side", word);
    out.footsteps.push_back({side_of(word), read_pose(c, *at)});
  }
  c.build.out.script.walkers.push_back(std::move(out));
}

void write_walker(const Walker& walker, const Mechanism& m, Emit& out) {
  const auto list = [&](const char* key, const auto& all, const auto& write) {
    if (all.empty()) return;
    out.key(key);
    out.begin_list();
    for (const auto& one : all) out.begin_map(true), write(one), out.end_map();
    out.end_list();
  };
  out.put("name", walker.name);
  out.put("root", m.link(walker.biped.root).name);
  out.key("feet");
  out.begin_list(true);
  for (const LinkId foot : walker.biped.feet) out.value(m.link(foot).name);
  out.end_list();
  out.put_unless("sole", walker.biped.sole, Vec3::Zero());
  out.put("sole_box", std::span<const double>(walker.biped.sole_box));
  if (!walker.biped.passive.empty()) {
    out.key("passive");
    out.begin_list(true);
    for (const JointId id : walker.biped.passive) out.value(m.joint(id).name);
    out.end_list();
  }
  if (!walker.biped.posture.empty()) {
    out.key("posture");
    out.begin_map(true);
    for (const auto& [id, q] : walker.biped.posture) out.put(m.joint(id).name, q);
    out.end_map();
  }
  out.put_unless("floor", walker.floor, 0);
  if (!walker.place) out.put("place", false);
  if (walker.first == Side::kRight) out.put("first", "right");
  if (differs(kGaitFields, walker.gait)) {
    out.key("gait");
    out.begin_map();
    out.put_fields(kGaitFields, walker.gait);
    out.end_map();
  }
  out.key("stabilizer");
  out.begin_map();
  out.put("enabled", walker.stabilizing.enabled);
  out.put_fields(kStabilizerFields, walker.stabilizing);
  out.end_map();
  list("plan", walker.plan, [&](const PlannedSteps& steps) {
    out.put("count", steps.count);
    out.put_fields(kStepFields, steps.step);
    out.put_unless("turn", steps.step.turn, 0);
  });
  list("footsteps", walker.footsteps, [&](const Footstep& step) {
    out.put("side", word_of(step.side));
    out.put_pose(step.X_WS);
  });
}

}  // namespace karakuri::io
