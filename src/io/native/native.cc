// Native scenes, docs/scenes.md. First everything is checked against the table of keys, then it is read in
// the order of what needs what.
#include <algorithm>

#include <fmt/format.h>

#include "io/native/context.h"
#include "io/orientation.h"

namespace karakuri {

namespace io {

namespace {

constexpr std::size_t kMostIncludes = 12;  // one within the other

template <class Map>
std::vector<std::string> names_of(const Map& map) {
  constexpr std::size_t kMost = 2000;  // more would take time and help nobody
  std::vector<std::string> names;
  for (const auto& [name, value] : map) {
    if (names.size() < kMost) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

template <class Id>
Id find_named(const NativeContext& c, const std::unordered_map<std::string, Id>& map, const YamlNode& node,
              const std::string& name, const char* kind) {
  auto found = map.find(c.prefixed(name));
  if (found == map.end()) found = map.find(name);  // the world has no prefix
  if (found != map.end()) return found->second;
  if (c.build.report.full()) return {};
  const std::vector<std::string> known = names_of(map);
  c.file.error(node, fmt::format("there is no {} {}", kind, in_quotes(name)),
               suggestion(name, known, fmt::format("{} names", kind)));
  return {};
}

MaterialId find_material(NativeContext& c, const YamlNode& name) {
  const auto found = c.materials.find(name.text);
  if (found != c.materials.end()) return found->second;
  c.file.error(name, fmt::format("there is no material {}", in_quotes(name.text)),
               suggestion(name.text, names_of(c.materials), "materials"));
  return {};
}

void read_scene(NativeContext& c, const YamlNode& root) {
  LoadedScene& out = c.build.out;
  out.name = c.path.stem().stem().string();
  get(root, "name", out.name);
  get(root, "description", out.script.description);
  get(root, "gravity", out.gravity);
  if (const YamlNode* settings = root.find("settings")) read_settings(*settings, out.settings);
  c.links.emplace("world", c.mechanism().world());
  read_materials(c, root);
  read_robots(c, root);
  read_world(c, root);
  read_bodies(c, root);
  if (!c.build.report.ok()) return;  // what follows refers to what may be missing
  read_surroundings(c, root);
  read_script(c, root);
}

}  // namespace

// ---- what the parts share

Transform NativeContext::in_world(const Transform& X) const {
  const Transform& pose = build.options.pose;
  const bool same = pose.R == Mat3::Identity() && pose.p == Vec3::Zero();
  return same ? X : pose * X;  // -0 + 0 is not -0
}

Transform NativeContext::on_link(LinkId link, const Transform& X) const {
  return link == build.mechanism().world() ? in_world(X) : X;
}

LinkId NativeContext::link(const YamlNode& node, const std::string& name) {
  return find_named(*this, links, node, name, "body");
}
JointId NativeContext::joint(const YamlNode& node, const std::string& name) {
  return find_named(*this, joints, node, name, "joint");
}
LinkId NativeContext::link_at(const YamlNode& node, std::string_view key, LinkId fallback) {
  const YamlNode* at = node.find(key);
  return at ? link(*at, at->text) : fallback;
}
JointId NativeContext::joint_at(const YamlNode& node, std::string_view key) {
  const YamlNode* at = node.find(key);
  return at ? joint(*at, at->text) : JointId{};
}

std::filesystem::path NativeContext::find_file(const YamlNode& node, const std::vector<std::string>& endings,
                                               const char* what) {
  const std::string& uri = node.text;
  if (std::find(endings.begin(), endings.end(), ending(uri)) == endings.end()) {
    file.error(node, fmt::format("{} is no file of {} by its name", in_quotes(uri), what),
               "valid endings are " + listed(endings));
    return {};
  }
  const std::filesystem::path found = resolver.find(uri);
  if (found.empty())
    file.error(node, fmt::format("there is no file {}", in_quotes(uri)), Resolver::remedy(uri));
  return found;
}

// ---- settings and materials

void read_settings(const YamlNode& node, WorldSettings& s) {
  get_fields(node, kSettingNumbers, s);
  get_fields(node, kSettingIntegers, s);
  get_fields(node, kSettingFlags, s);
  std::string word;
  if (get(node, "integrator", word)) s.integrator = *integrator_from_name(word);
  if (get(node, "contact", word)) s.contact = *contact_model_from_name(word);
  if (get(node, "solver", word)) s.solver = *solver::method_from_name(word);
  if (const YamlNode* at = node.find("stabilization")) {
    get_fields(*at, kStabilizationFields, s.stabilization);
    if (get(*at, "kind", word)) s.stabilization.kind = *stabilization_from_name(word);
  }
  if (const YamlNode* at = node.find("penalty")) {
    get_fields(*at, kPenaltyFields, s.penalty);
    get(*at, "explicit", s.penalty.is_explicit);
  }
  if (const YamlNode* at = node.find("sleep")) {
    get_fields(*at, kSleepFields, s.sleep);
    get(*at, "enabled", s.sleep.enabled);
  }
}

Surface read_surface(const YamlNode& node) {
  Surface s;
  if (get(node, "friction", s.static_friction)) s.kinetic_friction = s.static_friction;
  if (get(node, "static_friction", s.static_friction) && !node.has("kinetic_friction")) {
    s.kinetic_friction = std::min(s.kinetic_friction, s.static_friction);
  }
  get_fields(node, kSurfaceFields, s);
  return s;
}

void read_materials(NativeContext& c, const YamlNode& root) {
  const auto checked = [&](const YamlNode& node) {
    const Surface surface = read_surface(node);
    if (const auto flaw = find_flaw(surface)) c.file.error(node, "this surface " + *flaw, "mend it");
    return surface;
  };
  for (const YamlNode* node : items(root, "materials")) {
    const std::string name = node->find("name")->text;
    const MaterialId id = c.mechanism().add_material({c.prefixed(name), checked(*node)});
    if (c.materials.try_emplace(name, id).second) continue;
    c.file.error(*node, fmt::format("a second material is called {}", in_quotes(name)),
                 "give it another name");
  }
  for (const YamlNode* node : items(root, "pairs")) {
    const YamlNode& between = *node->find("between");
    const MaterialId a = find_material(c, between.items[0]), b = find_material(c, between.items[1]);
    c.build.out.scene.pairs.push_back({a, b, checked(*node)});
  }
}

MaterialId read_material_of(NativeContext& c, const YamlNode& node) {
  const YamlNode* name = node.find("material");
  return name ? find_material(c, *name) : MaterialId{};
}

Transform read_pose(const NativeContext& c, const YamlNode& node) {
  Transform X;
  get(node, "at", X.p);
  int ways = 0;
  for (const char* key : {"rpy", "rpy_deg", "quat", "matrix"}) ways += node.has(key) ? 1 : 0;
  if (ways > 1) {
    c.file.error(node, "an orientation is given twice",
                 "leave all but one of rpy, rpy_deg, quat and matrix out");
    return X;
  }
  if (const YamlNode* at = node.find("quat")) {
    const std::vector<double> q = numbers(*at);
    const std::optional<Mat3> R = from_quaternion(q);
    if (!R) c.file.error(*at, "the quaternion has no length", "give w, x, y, z");
    if (R) X.R = *R;
  } else if (const YamlNode* matrix = node.find("matrix")) {
    const std::vector<double> m = numbers(*matrix);
    X.R << m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8];
    // as find_flaws(Mechanism) has it
    const bool rigid = (X.R.transpose() * X.R - Mat3::Identity()).cwiseAbs().maxCoeff() < 2e-6;
    if (!rigid || X.R.determinant() < 0) {
      c.file.error(*matrix, "the matrix is no rotation", "give orthonormal, right-handed axes");
    }
  } else if (Vec3 rpy; get(node, "rpy", rpy)) {
    X.R = from_rpy(rpy);
  } else if (get(node, "rpy_deg", rpy)) {
    X.R = from_rpy_degrees(rpy);
  }
  return X;
}

Result<LoadedScene> load_native(std::string_view text, const std::filesystem::path& path,
                                const LoadOptions& options, Includes& includes) {
  Report report(options.strict);
  YamlFile file{path.string(), report};
  const std::filesystem::path self = std::filesystem::absolute(path).lexically_normal();
  if (std::find(includes.stack.begin(), includes.stack.end(), self) != includes.stack.end() ||
      includes.stack.size() >= kMostIncludes) {
    report.error(path.string() + ":1:1", "it includes itself, or too many files include each other",
                 "leave one of the includes out");
    return report.take_errors();
  }
  YamlNode root;
  if (!file.parse(text, root)) return report.take_errors();
  if (!check_section(file, root, section("scene"))) return report.take_errors();
  SceneBuilder build(options, report);
  NativeContext context(file, build, path, includes);
  // what is included is counted with what includes it
  if (includes.stack.empty() && !count_scene(context, root)) return report.take_errors();
  includes.stack.push_back(self);
  read_scene(context, root);
  includes.stack.pop_back();
  return build.finish();
}

}  // namespace io

Result<LoadedScene> load_native(std::string_view text, const std::filesystem::path& path,
                                const LoadOptions& options) {
  io::Includes includes;
  return io::load_native(text, path, options, includes);
}

}  // namespace karakuri
