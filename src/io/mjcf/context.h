// What the parts of the MJCF reader share.
#pragma once

#include <array>
#include <compare>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/builder.h"
#include "io/mjcf/defaults.h"
#include "io/xml.h"

namespace karakuri::io {

enum class FromGeom { kNever, kAlways, kAuto };

/// <compiler>, with MuJoCo's defaults.
struct MjcfCompiler {
  double angle = 0.017453292519943295;  // radians per unit of angle
  std::string euler = "xyz";
  std::string mesh_folder;
  bool auto_limits = true;
  bool strip_path = false;
  bool balance_inertia = false;
  bool fit_aabb = false;
  bool exact_mesh_inertia = false;
  double bound_mass = 0, bound_inertia = 0, total_mass = -1;
  FromGeom inertia_from_geom = FromGeom::kAuto;
  int first_inertia_group = 0, last_inertia_group = 5;
};

/// <option><flag>: what is switched off.
struct MjcfFlags {
  bool constraint = true, equality = true, friction_loss = true, limit = true, contact = true, spring = true,
       damper = true, gravity = true, filter_parent = true, actuation = true, safe_reference = true;
};

/// solref and solimp of one constraint. At these, which are MuJoCo's defaults, it is rigid here.
struct MjcfSoftness {
  std::array<double, 2> reference{0.02, 1};
  std::array<double, 5> impedance{0.9, 0.95, 0.001, 0.5, 2};

  auto operator<=>(const MjcfSoftness&) const = default;
  bool is_rigid() const { return *this == MjcfSoftness{}; }
};

struct MjcfMesh {
  XmlElement element;
  std::shared_ptr<const MeshData> data;  // null until wanted
  std::optional<Inertia> solid;          // of density 1, made when wanted
  bool tried = false;
};

struct MjcfBody {
  std::string name;
  LinkId link;
  int parent = -1;
  int weld = 0;    // the first body of those that move as one with it
  Transform X_WB;  // in the reference pose
  int joints = 0;
  bool mocap = false;
  const XmlElement* element = nullptr;
};

struct MjcfJoint {
  std::string name;
  JointId id;
  JointKind kind = JointKind::kFixed;
  Transform X_WB;  // of a free joint: the body in the reference pose
  Interval range;
  double reference = 0;
  MjcfSoftness softness;       // of its limits
  double time = 0, ratio = 0;  // springdamper, where both are above zero
};

struct MjcfGeom {
  std::string name;
  int body = 0;
  std::size_t placement = 0;  // of the link's shapes
  std::uint32_t contype = 1, conaffinity = 1;
  int condim = 3, priority = 0;
  Vec3 friction{1, 0.005, 0.0001};
  MjcfSoftness softness;
  double mix = 1;       // weight of its softness beside the other geom's
  int pair_class = -1;  // set where a <pair> speaks of this geom alone
};

class ReferencePose;  // softness.cc

struct MjcfContext {
  MjcfContext(XmlFile& xml, SceneBuilder& build, std::filesystem::path path)
      : xml(xml), build(build), path(std::move(path)) {}

  XmlFile& xml;
  SceneBuilder& build;
  std::filesystem::path path;
  MjcfCompiler compiler;
  MjcfFlags flags;
  MjcfDefaults defaults;

  std::map<std::string, MjcfMesh> meshes;
  std::map<std::string, const XmlElement*> heightfields;
  std::map<std::string, std::array<float, 4>> materials;

  std::vector<MjcfBody> bodies;
  std::vector<MjcfJoint> joints;  // in MuJoCo's order
  std::vector<MjcfGeom> geoms;    // those that collide
  std::map<std::string, int> body_by_name, joint_by_name, geom_by_name, actuator_by_name, tendon_by_name;
  std::set<std::string> paired_geoms;                                // those that a <pair> names
  std::map<std::string, std::vector<CableSegment>> spatial_tendons;  // by name; empty: wrapped, or of no use
  std::map<std::string, int> frame_by_name;                  // of build.out.frames, as the file calls them
  std::shared_ptr<ReferencePose> reference_pose, rest_pose;  // made when wanted

  std::string where(const XmlElement& e) const { return xml.where(e); }
  /// Index of a named thing, or -1 with the error reported, listing the names.
  int named(const std::map<std::string, int>& table, const XmlElement& e, std::string_view attribute,
            const char* kind) const;
};

// ---- the parts, in the order in which they are read

/// Puts the contents of included files in their place.
bool expand_includes(XmlFile& xml, const std::filesystem::path& path, XmlElement& root);
void read_compiler(MjcfContext& c, const XmlElement& e);
void read_option(MjcfContext& c, const XmlElement& e);
void read_assets(MjcfContext& c, const XmlElement& e);
/// Writes out what <replicate> repeats. False, with the error reported, where that cannot be done.
bool expand_replicates(MjcfContext& c, XmlElement& root);
void read_worldbody(MjcfContext& c, const XmlElement& e);
void scale_total_mass(MjcfContext& c);
/// Categories, materials and exclusions, when all geoms are known.
void read_contact(MjcfContext& c, const std::vector<const XmlElement*>& sections);
/// Springs and dampers that are given by their time and ratio, when all masses are known.
void set_spring_dampers(MjcfContext& c);
/// Springs of soft limits, likewise.
void soften_limits(MjcfContext& c);
void read_equality(MjcfContext& c, const XmlElement& e);
void read_tendons(MjcfContext& c, const XmlElement& e);
/// Those of <equality> that speak of tendons, when these are known.
void read_tendon_equalities(MjcfContext& c, const XmlElement& e);
void read_actuators(MjcfContext& c, const XmlElement& e);
void read_sensors(MjcfContext& c, const XmlElement& e);
void read_keyframes(MjcfContext& c, const XmlElement& e);

// ---- shared pieces

/// Position and orientation in whichever way they are written.
Transform read_place(const MjcfContext& c, const XmlElement& e);
/// Whether a limit counts: 'true', 'false', or 'auto', which asks whether there is a range.
bool is_limited(const MjcfContext& c, const XmlElement& e, const char* flag, const char* range);
/// None, with the error reported, where there is no such mesh or it cannot be read.
MjcfMesh* find_mesh(MjcfContext& c, const XmlElement& e, const std::string& name);
/// Volume, centre and inertia of density 1, by the law that the mesh asks for.
Inertia mesh_inertia(MjcfContext& c, MjcfMesh& mesh, bool shell);
std::optional<Shape> heightfield_shape(MjcfContext& c, const XmlElement& geom);

// ---- softness (softness.cc)

/// What the attributes say, which may be absent or cut short. A remark tells where it is not rigid.
/// @param what  That becomes soft, for the remark.
/// @param ending  Of the attributes' names: "" or "limit".
MjcfSoftness read_softness(const MjcfContext& c, const XmlElement& e, const char* what,
                           const std::string& ending = "");
/// Of two geoms. @param share  That of `a`, 0 to 1.
MjcfSoftness mixed(const MjcfSoftness& a, const MjcfSoftness& b, double share);

struct SpringAndDamper {
  double stiffness = std::numeric_limits<double>::infinity();  // rigid
  double damping = 0;
};
/// @param mobility  Velocity per impulse, as MuJoCo has it: in the reference pose, once for all [1/kg].
SpringAndDamper spring_of(const MjcfContext& c, const MjcfSoftness& softness, double mobility);

/// How a push at the centre of mass moves a body, mean over directions [1/kg]; 0: it is on the world. As all
/// mobilities here in the reference pose, and 0 where there is none.
double body_mobility(MjcfContext& c, const MjcfBody& body);
/// Of a joint's dofs, mean over them.
double joint_mobility(MjcfContext& c, const MjcfJoint& joint);
/// What a motor on these joints moves when they alone move, in its own units [kg or kg m^2].
double reflected_inertia(MjcfContext& c, const std::vector<Transmission>& joints);
/// Of a sum of joints.
double tendon_mobility(MjcfContext& c, const std::vector<Transmission>& joints);
/// Of the distance between two places on links.
double distance_mobility(MjcfContext& c, const Frame& a, const Frame& b);
/// Where the springs of all joints are at ease.
double distance_at_rest(MjcfContext& c, const Frame& a, const Frame& b);

/// What a geom adds to its body.
struct GeomResult {
  Inertia inertia;
  int group = 0;
};
/// Adds shape and visual; `X_BF` is the frame it stands in.
GeomResult read_geom(MjcfContext& c, const XmlElement& resolved, int body, const Transform& X_BF);

}  // namespace karakuri::io
