// Models from other files.
#include <fmt/format.h>

#include "io/native/context.h"

namespace karakuri::io {

namespace {

const std::vector<std::string> kEndings = {".urdf",  ".xml",   ".mjcf", ".sdf",
                                           ".world", ".model", ".yaml", ".yml"};

LoadOptions options_of(NativeContext& c, const YamlNode& node, const Copy& copy) {
  LoadOptions options = c.build.options;
  std::string word;
  get(node, "prefix", word);
  if (!copy.suffix.empty()) word += fmt::format("{}_", copy.suffix.substr(1));
  options.prefix += word;
  Transform X = read_pose(c, node);
  if (!copy.suffix.empty()) X.p += copy.offset;
  options.pose = c.in_world(X);
  options.base = Base::kAuto;
  if (get(node, "base", word) && word != "auto") options.base = word == "fixed" ? Base::kFixed : Base::kFree;
  get(node, "overlapping_touch", options.overlapping_touch);
  options.mesh_collision = MeshCollision::kHull;
  if (get(node, "mesh_collision", word) && word != "hull") {
    options.mesh_collision = word == "solid" ? MeshCollision::kSolid : MeshCollision::kDecomposed;
  }
  return options;
}

bool is_native(const std::filesystem::path& file) {
  const std::string end = ending(file);
  return end == ".yaml" || end == ".yml";
}

Result<LoadedScene> load(NativeContext& c, const std::filesystem::path& file, const LoadOptions& options) {
  if (!is_native(file)) return load_scene(file, options);
  const Result<std::string> text = read_file(file, 33u << 20);
  if (!text.ok()) return text.errors();
  return load_native(*text, file, options, c.includes);
}

/// The joint of a part by its name without the prefix.
JointId find_joint(NativeContext& c, const YamlNode& key, const LoadedScene& part,
                   const std::string& prefix) {
  const JointId id = part.scene.mechanism.find_joint(prefix + key.text);
  if (id) return id;
  std::vector<std::string> names;
  for (const JointId j : part.scene.mechanism.joint_ids()) {
    const std::string& full = part.scene.mechanism.joint(j).name;
    names.push_back(full.starts_with(prefix) ? full.substr(prefix.size()) : full);
  }
  c.file.error(key, fmt::format("the robot has no joint {}", in_quotes(key.text)),
               suggestion(key.text, names, "its joints"));
  return {};
}

void set_start(NativeContext& c, const YamlNode& node, LoadedScene& part, const std::string& prefix) {
  if (const YamlNode* key = node.find("keyframe")) {
    const Keyframe* keyframe = part.find_keyframe(key->text);
    std::vector<std::string> names;
    for (const Keyframe& k : part.keyframes) names.push_back(k.name);
    if (keyframe) {
      apply(*keyframe, part.scene);
    } else {
      c.file.error(*key, fmt::format("the robot has no keyframe {}", in_quotes(key->text)),
                   suggestion(key->text, names, "its keyframes"));
    }
  }
  const YamlNode* q = node.find("q");
  Keyframe start;
  for (std::size_t i = 0; q && i < q->keys.size(); ++i) {
    const JointId id = find_joint(c, q->keys[i], part, prefix);
    if (!id) continue;
    const Joint& joint = part.scene.mechanism.joint(id);
    const std::vector<double> values = numbers(q->items[i]);
    if (static_cast<int>(values.size()) != q_size(joint.kind)) {
      c.file.error(q->items[i],
                   fmt::format("joint {} is given {} numbers", in_quotes(joint.name), values.size()),
                   fmt::format("a {} joint has {}", name(joint.kind), q_size(joint.kind)));
      continue;
    }
    start.joints.push_back({id, values, {}});
  }
  apply(start, part.scene);
}

/// What is no native scene is counted when its first copy is read, before the `more` others are. False, with
/// the error reported, where there are too many bodies.
bool count_part(NativeContext& c, const YamlNode& node, const LoadedScene& part, std::size_t more) {
  const Mechanism& m = part.scene.mechanism;
  std::int64_t links = 0;
  for (const LinkId id : m.link_ids()) links += id != m.world() && !m.link(id).is_virtual();
  c.includes.bodies += links;
  const std::int64_t all = c.includes.bodies + links * static_cast<std::int64_t>(more);
  if (all <= kMostBodies) return true;
  c.file.error(node,
               fmt::format("{} bodies would be made, {} of each {}; a scene has at most {}", all, links,
                           in_quotes(node.find("file")->text), kMostBodies),
               "repeat less");
  return false;
}

void add(NativeContext& c, const YamlNode& node, LoadedScene part) {
  std::vector<Diagnostic> clashes = merge(c.build.out, part);
  for (const Diagnostic& clash : clashes) {
    c.file.error(node, fmt::format("{}: {}", clash.where, clash.what), "give the robot a prefix");
  }
  if (!clashes.empty()) return;
  // as SceneBuilder and what follows in this file know them
  c.build.adopt_names();
  const Mechanism& m = c.mechanism();
  for (const LinkId id : m.link_ids()) {
    if (!m.link(id).is_virtual()) c.links.emplace(m.link(id).name, id);
  }
  for (const JointId id : m.joint_ids()) c.joints.emplace(m.joint(id).name, id);
}

}  // namespace

void read_robots(NativeContext& c, const YamlNode& root) {
  for (const YamlNode* node : items(root, "robots")) {
    const std::filesystem::path file = c.find_file(*node->find("file"), kEndings, "a robot");
    if (file.empty()) continue;
    const std::vector<Copy> copies = read_copies(c, *node);
    for (const Copy& copy : copies) {
      if (++c.includes.count > kMostFiles) {
        return c.file.error(*node, fmt::format("more than {} files are included", kMostFiles),
                            "include fewer");
      }
      const LoadOptions options = options_of(c, *node, copy);
      Result<LoadedScene> part = load(c, file, options);
      if (!part.ok()) {
        c.file.error(*node->find("file"), fmt::format("{} cannot be used", in_quotes(file.string())),
                     "see below");
        c.build.report.add(part.errors());
        break;
      }
      const auto more = static_cast<std::size_t>(&copies.back() - &copy);
      if (!is_native(file) && !count_part(c, *node, *part, more)) return;
      set_start(c, *node, *part, options.prefix);
      add(c, *node, std::move(*part));
    }
  }
}

}  // namespace karakuri::io
