// From any scene to a native one. Bodies and joints are written in the order of their ids, so that the reader
// makes the same ids; what equals the default of the table is left out.
#include "karakuri/io/save.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "io/native/assets.h"
#include "io/native/emit.h"
#include "io/native/write_script.h"

namespace karakuri {

namespace io {

namespace {

constexpr int kInlinePoints = 24;  // of a hull; larger ones get a file
constexpr std::size_t kInlineHeights = 64;

class Writer {
 public:
  Writer(const LoadedScene& scene, const std::filesystem::path& folder)
      : in_(scene), m_(scene.scene.mechanism), assets_(folder) {
    for (const JointId id : m_.joint_ids()) {
      (m_.link(m_.joint(id).child).is_virtual() ? loops_ : tree_).push_back(id);
    }
    name_materials();
    for (const Visual& visual : in_.visuals) visuals_[visual.link].push_back(&visual);
    for (const Breakable& b : in_.script.breakables) breakables_[b.joint] = &b;
  }

  SavedScene run() {
    out_.begin_map();
    out_.put_name(in_.name);
    if (!in_.script.description.empty()) out_.put("description", in_.script.description);
    out_.put_unless("gravity", in_.gravity, kEarthGravity);
    write_settings();
    write_materials();
    write_world();
    write_bodies();
    write_joint_list("joints", nested_ ? std::vector<JointId>{} : tree_);
    write_joint_list("loops", loops_);
    write_links_without_contact();
    write_surroundings(in_, out_);
    write_script(in_, assets_, out_);
    out_.end_map();
    return {out_.text(), assets_.take()};
  }

 private:
  // ---- settings and materials

  static bool is_default(const WorldSettings& s) {
    const WorldSettings fallback;
    const bool words = s.integrator == fallback.integrator && s.contact == fallback.contact &&
                       s.solver == fallback.solver && s.stabilization.kind == fallback.stabilization.kind &&
                       s.sleep.enabled == fallback.sleep.enabled && !s.penalty.is_explicit;
    return words && !differs(kSettingNumbers, s) && !differs(kSettingIntegers, s) &&
           !differs(kSettingFlags, s) && !differs(kStabilizationFields, s.stabilization) &&
           !differs(kPenaltyFields, s.penalty) && !differs(kSleepFields, s.sleep);
  }

  void write_settings() {
    const WorldSettings& s = in_.settings;
    const WorldSettings fallback;
    if (is_default(s)) return;
    out_.key("settings");
    out_.begin_map();
    out_.put_fields(kSettingNumbers, s);
    out_.put_fields(kSettingIntegers, s);
    out_.put_fields(kSettingFlags, s);
    if (s.integrator != fallback.integrator) out_.put("integrator", name_of(s.integrator));
    if (s.contact != fallback.contact) out_.put("contact", name_of(s.contact));
    if (s.solver != fallback.solver) out_.put("solver", solver::name_of(s.solver));
    const bool other_kind = s.stabilization.kind != fallback.stabilization.kind;
    if (other_kind || differs(kStabilizationFields, s.stabilization)) {
      out_.key("stabilization");
      out_.begin_map(true);
      if (other_kind) out_.put("kind", name_of(s.stabilization.kind));
      out_.put_fields(kStabilizationFields, s.stabilization);
      out_.end_map();
    }
    if (s.penalty.is_explicit || differs(kPenaltyFields, s.penalty)) {
      out_.key("penalty");
      out_.begin_map(true);
      if (s.penalty.is_explicit) out_.put("explicit", true);
      out_.put_fields(kPenaltyFields, s.penalty);
      out_.end_map();
    }
    if (!s.sleep.enabled || differs(kSleepFields, s.sleep)) {
      out_.key("sleep");
      out_.begin_map(true);
      if (!s.sleep.enabled) out_.put("enabled", false);
      out_.put_fields(kSleepFields, s.sleep);
      out_.end_map();
    }
    out_.end_map();
  }

  void name_materials() {
    std::set<std::string> taken;
    for (const MaterialId id : m_.material_ids()) {
      const std::string wanted = m_.material(id)->name.empty() ? "material" : m_.material(id)->name;
      std::string name = wanted;
      for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
      materials_[id] = name;
    }
  }

  void write_materials() {
    if (!materials_.empty()) {
      out_.key("materials");
      out_.begin_list();
      for (const MaterialId id : m_.material_ids()) {
        out_.begin_map(true);
        out_.put("name", materials_[id]);
        out_.put_fields(kSurfaceFields, m_.material(id)->surface);
        out_.end_map();
      }
      out_.end_list();
    }
    if (in_.scene.pairs.empty()) return;
    out_.key("pairs");
    out_.begin_list();
    for (const SurfacePair& pair : in_.scene.pairs) {
      out_.begin_map(true);
      put_names("between", {materials_[pair.a], materials_[pair.b]});
      out_.put_fields(kSurfaceFields, pair.surface);
      out_.end_map();
    }
    out_.end_list();
  }

  void put_names(std::string_view key, const std::vector<std::string>& names) {
    io::put_names(out_, key, names);
  }

  // ---- shapes

  void write_world() {
    const bool anything = !m_.link(m_.world()).shapes.empty() || visuals_.contains(m_.world());
    if (!anything) return;
    out_.key("world");
    out_.begin_map();
    write_shapes(m_.world(), "world");
    out_.end_map();
  }

  /// A primitive that is seen as it collides is written once.
  static bool same(const Visual& v, const Shape& shape, const Transform& X) {
    return !v.mesh && v.name.empty() && v.shown && shape.kind() < ShapeKind::kHull &&
           v.shape.kind() == shape.kind() && same_bits(v.shape.size(), shape.size()) && same_bits(v.X_LV, X);
  }

  void write_shapes(LinkId link, const std::string& name) {
    std::vector<const Visual*> seen = visuals_[link];
    std::size_t next = 0;  // the reader makes the visuals of shapes first, in their order
    const std::vector<ShapePlacement>& shapes = m_.link(link).shapes;
    if (!shapes.empty()) {
      out_.key("shapes");
      out_.begin_list();
      for (const ShapePlacement& placed : shapes) {
        const Shape& shape = in_.scene.shapes[placed.shape];
        const bool paired = next < seen.size() && same(*seen[next], shape, placed.X_LS);
        write_shape(placed, shape, paired ? seen[next++] : nullptr, name);
      }
      out_.end_list();
    }
    if (next == seen.size()) return;
    out_.key("visuals");
    out_.begin_list();
    for (; next < seen.size(); ++next) write_visual(*seen[next], name);
    out_.end_list();
  }

  void write_shape(const ShapePlacement& placed, const Shape& shape, const Visual* seen,
                   const std::string& name) {
    out_.begin_map(true);
    write_geometry(shape, name);
    out_.put_pose(placed.X_LS);
    if (placed.material) out_.put("material", materials_[placed.material]);
    const ShapePlacement fallback;
    if (placed.category != fallback.category) out_.put("category", static_cast<double>(placed.category));
    if (placed.mask != fallback.mask) out_.put("mask", static_cast<double>(placed.mask));
    if (placed.group != fallback.group) out_.put("group", static_cast<double>(placed.group));
    if (!seen) out_.put("visible", false);
    if (seen && seen->color_given) out_.put("color", seen->color);
    out_.end_map();
  }

  void write_visual(const Visual& v, const std::string& name) {
    out_.begin_map(true);
    if (v.mesh) {
      out_.key("mesh");
      out_.begin_map(true);
      out_.put("file", assets_.add(*v.mesh));
      out_.end_map();
    } else {
      write_geometry(v.shape, name);
    }
    out_.put_pose(v.X_LV);
    out_.put_name(v.name);
    if (v.color_given) out_.put("color", v.color);
    if (!v.shown) out_.put("shown", false);
    out_.end_map();
  }

  void write_rod(const char* key, const char* length, const Shape& shape) {
    out_.key(key);
    out_.begin_map(true);
    out_.put("radius", shape.size().x());
    out_.put(length, 2 * shape.size().z());
    out_.end_map();
  }

  void write_geometry(const Shape& shape, const std::string& name) {
    switch (shape.kind()) {
      case ShapeKind::kSphere: return out_.put("sphere", shape.size().x());
      case ShapeKind::kCapsule: return write_rod("capsule", "length", shape);
      case ShapeKind::kBox: return out_.put("box", Vec3(2 * shape.size()));
      case ShapeKind::kCylinder: return write_rod("cylinder", "length", shape);
      case ShapeKind::kCone: return write_rod("cone", "height", shape);
      case ShapeKind::kEllipsoid: return out_.put("ellipsoid", shape.size());
      case ShapeKind::kPlane: return out_.put("plane", true);
      case ShapeKind::kHull: return write_hull(shape.as_hull(), name);
      case ShapeKind::kHeightfield: return write_heightfield(shape.as_heightfield(), name);
      case ShapeKind::kMesh: return write_mesh(shape.as_mesh(), name);
      case ShapeKind::kCompound: return write_compound(shape.as_compound(), name);
    }
  }

  void write_hull(const ConvexHull& hull, const std::string& name) {
    out_.key("hull");
    out_.begin_map(true);
    if (hull.vertex_count <= kInlinePoints) {
      out_.key("points");
      out_.begin_list(true);
      for (int i = 0; i < hull.vertex_count; ++i)
        out_.value(std::span<const double>(hull.vertex(i).data(), 3));
      out_.end_list();
    } else {
      out_.put("file", assets_.add(hull, name));
    }
    out_.end_map();
  }

  void write_mesh(const Mesh& mesh, const std::string& name) {
    out_.key("mesh");
    out_.begin_map(true);
    out_.put("file", assets_.add(mesh, name));
    out_.put("use", mesh.use == MeshUse::kSolid ? "solid" : "surface");
    out_.end_map();
  }

  void write_heightfield(const Heightfield& field, const std::string& name) {
    out_.key("heightfield");
    out_.begin_map(true);
    const double size[] = {-2 * field.x0, -2 * field.y0};  // exact, which (columns - 1) dx is not
    out_.put("size", std::span<const double>(size));
    out_.put("columns", field.columns);
    out_.put("rows", field.rows);
    if (field.heights.size() <= kInlineHeights) {
      out_.put("heights", std::span<const double>(field.heights));
    } else {
      out_.put("file", assets_.add(field, name));
    }
    out_.end_map();
  }

  void write_compound(const Compound& compound, const std::string& name) {
    out_.key("compound");
    out_.begin_list(true);
    for (const Compound::Part& part : compound.parts) {
      out_.begin_map(true);
      write_geometry(part.shape, name);
      out_.put_pose(part.pose);
      out_.end_map();
    }
    out_.end_list();
  }

  // ---- bodies and joints

  void write_bodies() {
    std::vector<LinkId> bodies;
    for (const LinkId id : m_.link_ids()) {
      if (id != m_.world() && !m_.link(id).is_virtual()) bodies.push_back(id);
    }
    std::vector<JointId> by_body;
    for (const LinkId id : bodies) by_body.push_back(m_.link(id).joint);
    nested_ = by_body == tree_;  // else the joints are a list of their own, in their own order
    if (bodies.empty()) return;
    out_.key("bodies");
    out_.begin_list();
    for (const LinkId id : bodies) write_body(id);
    out_.end_list();
  }

  void write_body(LinkId id) {
    const Link& link = m_.link(id);
    const Joint& joint = m_.joint(link.joint);
    out_.begin_map();
    out_.put("name", link.name);
    if (nested_ && joint.parent != m_.world()) out_.put("parent", m_.link(joint.parent).name);
    const bool by_pose = placed_by_pose(joint);
    if (by_pose) out_.put_pose(body_pose(joint));
    write_inertia(link.inertia);
    write_shapes(id, link.name);
    if (nested_) {
      out_.key("joint");
      out_.begin_map(true);
      write_joint(link.joint, !by_pose);
      out_.end_map();
    }
    out_.end_map();
  }

  void write_inertia(const Inertia& in) {
    out_.key("inertia");
    out_.begin_map(true);
    out_.put("mass", in.mass);
    out_.put_unless("com", in.com, Vec3::Zero());
    const Mat3& I = in.about_com;
    if (same_bits(I, I.transpose())) {
      out_.put_unless("moments", Vec3(I.diagonal()), Vec3::Zero());
      out_.put_unless("products", Vec3(I(0, 1), I(0, 2), I(1, 2)), Vec3::Zero());
    } else {
      const Eigen::Matrix<double, 3, 3, Eigen::RowMajor> rows = I;
      out_.put("full", std::span<const double>(rows.data(), 9));
    }
    out_.end_map();
  }

  /// Where frame M is where nothing is said of it.
  Transform usual_frame(const Joint& joint) const {
    if (joint.kind != JointKind::kFree || m_.link(joint.child).is_virtual()) return {};
    return Transform::translation(m_.link(joint.child).inertia.com);
  }
  Transform body_pose(const Joint& joint) const {
    Transform X = joint.X_PF;
    if (!same_bits(joint.X_CM, Transform{})) X = joint.X_PF * joint.X_CM.inverse();
    return X;
  }
  /// Whether the reader makes the same bits of F from the body's pose.
  bool placed_by_pose(const Joint& joint) const {
    return same_bits(body_pose(joint) * joint.X_CM, joint.X_PF);
  }

  void write_joint(JointId id, bool in_parent) {
    const Joint& joint = m_.joint(id);
    if (joint.name != m_.link(joint.child).name) out_.put("name", joint.name);
    write_joint_frame(joint, in_parent, !same_bits(joint.X_CM, usual_frame(joint)), out_);
    write_dofs(joint);
    write_breaking(id);
  }

  void write_breaking(JointId id) {
    const auto breakable = breakables_.find(id);
    if (breakable == breakables_.end()) return;
    out_.put("break_force", breakable->second->force);
    out_.put("break_torque", breakable->second->torque);
  }

  void write_dofs(const Joint& joint) {
    const int count = v_size(joint.kind);
    const auto same = [](const DofProperties& a, const DofProperties& b) {
      bool equal = same_bits(a.lower, b.lower) && same_bits(a.upper, b.upper);
      for (const auto& field : kDofFields) equal = equal && same_bits(a.*field.member, b.*field.member);
      return equal;
    };
    const auto end = joint.dofs.begin() + count;
    if (std::all_of(joint.dofs.begin(), end,
                    [&](const DofProperties& d) { return same(d, joint.dofs[0]); })) {
      if (count > 0) write_dof(joint.dofs[0]);
      return;
    }
    out_.key("dofs");
    out_.begin_list(true);
    for (auto dof = joint.dofs.begin(); dof != end; ++dof) {
      out_.begin_map(true);
      write_dof(*dof);
      out_.end_map();
    }
    out_.end_list();
  }

  void write_dof(const DofProperties& dof) {
    const DofProperties fallback;
    const bool limited = !same_bits(dof.lower, fallback.lower) || !same_bits(dof.upper, fallback.upper);
    if (limited) out_.put("limits", Interval{dof.lower, dof.upper});
    out_.put_fields(kDofFields, dof);
  }

  void write_joint_list(std::string_view key, const std::vector<JointId>& ids) {
    if (ids.empty()) return;
    const std::set<JointId> open(in_.open_loops.begin(), in_.open_loops.end());
    out_.key(key);
    out_.begin_list();
    for (const JointId id : ids) {
      const Joint& joint = m_.joint(id);
      const Link& child = m_.link(joint.child);
      out_.begin_map(true);
      if (child.is_virtual()) {
        out_.put("name", joint.name);
      }
      out_.put("parent", m_.link(joint.parent).name);
      out_.put("child", child.is_virtual() ? m_.link(child.real).name : child.name);
      if (child.is_virtual()) {
        write_joint_frame(joint, true, true, out_);
        write_dofs(joint);
        write_breaking(id);
      } else {
        write_joint(id, !placed_by_pose(joint));
      }
      if (open.contains(id)) out_.put("open", true);
      out_.end_map();
    }
    out_.end_list();
  }

  void write_links_without_contact() {
    if (in_.scene.no_contact.empty()) return;
    out_.key("no_contact");
    out_.begin_list();
    for (const auto& [a, b] : in_.scene.no_contact) {
      out_.begin_map(true);
      put_names("between", {m_.link(a).name, m_.link(b).name});
      out_.end_map();
    }
    out_.end_list();
  }

  const LoadedScene& in_;
  const Mechanism& m_;
  Emit out_;
  Assets assets_;
  std::vector<JointId> tree_, loops_;  // in the order of their slots
  bool nested_ = true;
  std::unordered_map<MaterialId, std::string> materials_;
  std::unordered_map<LinkId, std::vector<const Visual*>> visuals_;
  std::unordered_map<JointId, const Breakable*> breakables_;
};

std::string write_file(const std::filesystem::path& file, const std::string& content) {
  std::ofstream out(file, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.flush();
  return out ? "" : "it cannot be written";
}

}  // namespace

}  // namespace io

SavedScene to_native(const LoadedScene& scene, const std::filesystem::path& assets) {
  return io::Writer(scene, assets).run();
}

std::vector<Diagnostic> save_native(const LoadedScene& scene, const std::filesystem::path& path) {
  std::filesystem::path stem = path.stem();
  if (stem.extension() == ".scene") stem = stem.stem();
  const SavedScene saved = to_native(scene, stem.string() + ".assets");
  std::vector<Diagnostic> errors;
  const auto write = [&](const std::filesystem::path& file, const std::string& content) {
    std::error_code problem;
    if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), problem);
    const std::string flaw = problem ? problem.message() : io::write_file(file, content);
    if (!flaw.empty())
      errors.push_back({Severity::kError, file.string(), flaw, "check the folder and its permissions"});
  };
  for (const SavedScene::Asset& asset : saved.assets) write(path.parent_path() / asset.file, asset.content);
  write(path, saved.text);
  return errors;
}

void keep_state(LoadedScene& scene, const World& world) {
  Keyframe now;
  for (const JointEntry& joint : world.model().joints) {
    if (joint.first_q < 0 || !scene.scene.mechanism.contains(joint.id)) continue;  // cut since
    const auto q = world.q(joint.id), v = world.v(joint.id);
    now.joints.push_back({joint.id, {q.begin(), q.end()}, {v.begin(), v.end()}});
  }
  apply(now, scene.scene);
  scene.open_loops.clear();
  for (std::size_t i = 0; i < world.model().loops.size(); ++i) {
    const JointId joint = world.model().loops[i].joint;
    if (!world.state().loop_closed[i] && scene.scene.mechanism.contains(joint))
      scene.open_loops.push_back(joint);
  }
  scene.gravity = world.gravity();
  scene.settings = world.settings();
}

}  // namespace karakuri
