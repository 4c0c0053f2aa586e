// What the parts of the reader of native scenes share.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "io/builder.h"
#include "io/files.h"
#include "io/native/check.h"
#include "io/native/fields.h"
#include "io/native/values.h"
#include "io/native/yaml.h"

namespace karakuri::io {

// Of a scene with all that it repeats and includes. Far above what can be simulated, and made in a second.
inline constexpr std::int64_t kMostBodies = 50'000;
inline constexpr std::int64_t kMostShapes = 500'000;  // and visuals
inline constexpr int kMostFiles = 300;                // included in all

/// Files that are being read, one within the other, and what was read in all.
struct Includes {
  std::vector<std::filesystem::path> stack;
  int count = 0;
  std::int64_t bodies = 0;
};

struct ParsedShape {
  Shape shape;
  std::shared_ptr<const MeshData> mesh;  // what is seen, where it is a mesh
  Transform X;
};

struct PlacedShape {
  Shape shape;
  ShapePlacement placement;
  double density = 0;  // [kg/m^3]
};
/// The shapes and visuals of a body or of the world, before they are on a link.
struct ParsedShapes {
  std::vector<PlacedShape> shapes;
  std::vector<Visual> visuals;
  Inertia inertia() const;
};

struct NativeContext {
  NativeContext(const YamlFile& file, SceneBuilder& build, const std::filesystem::path& path,
                Includes& includes)
      : file(file),
        build(build),
        resolver(path, build.options.package_paths),
        path(path),
        includes(includes) {}

  const YamlFile& file;
  SceneBuilder& build;
  Resolver resolver;
  const std::filesystem::path& path;
  Includes& includes;

  std::unordered_map<std::string, LinkId> links;    // by full name; the world as well
  std::unordered_map<std::string, JointId> joints;  // by full name
  std::map<std::string, MaterialId> materials;      // by the name in this file

  Mechanism& mechanism() { return build.mechanism(); }
  std::string prefixed(const std::string& name) const { return build.options.prefix + name; }
  /// A pose in this file's world, in ours; exactly the same where they are one.
  Transform in_world(const Transform& X) const;
  /// A pose on a link: of the world's things through in_world().
  Transform on_link(LinkId link, const Transform& X) const;

  /// None, with the error at `node` that lists the near ones, where there is no such name.
  LinkId link(const YamlNode& node, const std::string& name);
  JointId joint(const YamlNode& node, const std::string& name);
  /// Of the thing under `key`; the fallback where the key is absent.
  LinkId link_at(const YamlNode& node, std::string_view key, LinkId fallback = {});
  JointId joint_at(const YamlNode& node, std::string_view key);
  /// A file that a scene names, if it has one of these endings and is there; else empty, with the error.
  std::filesystem::path find_file(const YamlNode& node, const std::vector<std::string>& endings,
                                  const char* what);
};

/// The orientation must be given in one way at most.
Transform read_pose(const NativeContext& c, const YamlNode& node);

template <class Struct, class Member, std::size_t n>
void get_fields(const YamlNode& node, const std::array<Field<Struct, Member>, n>& fields, Struct& out) {
  for (const auto& field : fields) get(node, field.key, out.*field.member);
}

void read_settings(const YamlNode& node, WorldSettings& settings);
Surface read_surface(const YamlNode& node);
/// Of the key `material`, which may be absent.
MaterialId read_material_of(NativeContext& c, const YamlNode& node);
/// Nothing, with the error reported, where it cannot be made.
std::optional<ParsedShape> read_geometry(NativeContext& c, const YamlNode& node);
/// The keys `shapes` and `visuals` of a body or of the world.
ParsedShapes read_shapes(NativeContext& c, const YamlNode& owner);
void add_shapes(NativeContext& c, LinkId link, const ParsedShapes& shapes);

/// A joint's kind and axes, and its frames as far as they are given.
struct ParsedJoint {
  Joint joint;
  bool in_parent = false, in_child = false;  // given
};
JointKind joint_kind(std::string_view word);
ParsedJoint read_joint_frame(const NativeContext& c, const YamlNode& node);

void read_materials(NativeContext& c, const YamlNode& root);
void read_world(NativeContext& c, const YamlNode& root);
void read_robots(NativeContext& c, const YamlNode& root);
void read_bodies(NativeContext& c, const YamlNode& root);
void read_surroundings(NativeContext& c, const YamlNode& root);
void read_script(NativeContext& c, const YamlNode& root);

/// How often and where a thing with `repeat` stands.
struct Copy {
  std::string suffix;  // of its name
  Vec3 offset = Vec3::Zero();
  int chained_to = -1;  // the copy on which it hangs
};
std::vector<Copy> read_copies(NativeContext& c, const YamlNode& node);
/// How many read_copies() gives, without making them; where a repetition among them has more than
/// kMostBodies, the number of that one.
std::int64_t count_copies(const YamlNode& node);
/// False, with the error reported, where this file and what it includes have too many bodies or shapes.
bool count_scene(NativeContext& c, const YamlNode& root);

/// Position and velocity of a joint under the keys q, q_deg and v.
InitialJoint read_initial(NativeContext& c, const YamlNode& node, JointId joint);

Result<LoadedScene> load_native(std::string_view text, const std::filesystem::path& path,
                                const LoadOptions& options, Includes& includes);

}  // namespace karakuri::io
