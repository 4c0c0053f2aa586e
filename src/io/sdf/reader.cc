// Worlds, models, links and joints as libsdformat has resolved them.
#include "io/sdf/reader.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "io/builder.h"
#include "io/files.h"
#include "io/png.h"
#include "io/root_joint.h"
#include "io/zero_pose.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri::io {

namespace {

namespace fs = std::filesystem;

Vec3 vec3(const ignition::math::Vector3d& v) { return {v.X(), v.Y(), v.Z()}; }

Transform transform(const ignition::math::Pose3d& pose) {
  const auto& q = pose.Rot();
  return {normalized_or_identity(Quat(q.W(), q.X(), q.Y(), q.Z())).toRotationMatrix(), vec3(pose.Pos())};
}

struct KindOfJoint {
  sdf::JointType type;
  JointKind kind;
  int axes;
};
constexpr std::array kJointKinds = {KindOfJoint{sdf::JointType::REVOLUTE, JointKind::kRevolute, 1},
                                    KindOfJoint{sdf::JointType::CONTINUOUS, JointKind::kRevolute, 1},
                                    KindOfJoint{sdf::JointType::PRISMATIC, JointKind::kPrismatic, 1},
                                    KindOfJoint{sdf::JointType::SCREW, JointKind::kScrew, 1},
                                    KindOfJoint{sdf::JointType::UNIVERSAL, JointKind::kUniversal, 2},
                                    KindOfJoint{sdf::JointType::REVOLUTE2, JointKind::kUniversal, 2},
                                    KindOfJoint{sdf::JointType::BALL, JointKind::kSpherical, 0},
                                    KindOfJoint{sdf::JointType::FIXED, JointKind::kFixed, 0}};

struct KindOfSensor {
  sdf::SensorType type;
  SensorKind kind;
};
constexpr std::array kSensorKinds = {KindOfSensor{sdf::SensorType::IMU, SensorKind::kInertialUnit},
                                     KindOfSensor{sdf::SensorType::FORCE_TORQUE, SensorKind::kForceTorque},
                                     KindOfSensor{sdf::SensorType::CONTACT, SensorKind::kTouch},
                                     KindOfSensor{sdf::SensorType::CAMERA, SensorKind::kCamera},
                                     KindOfSensor{sdf::SensorType::DEPTH_CAMERA, SensorKind::kCamera},
                                     KindOfSensor{sdf::SensorType::RGBD_CAMERA, SensorKind::kCamera},
                                     KindOfSensor{sdf::SensorType::LIDAR, SensorKind::kRangefinder},
                                     KindOfSensor{sdf::SensorType::GPU_LIDAR, SensorKind::kRangefinder},
                                     KindOfSensor{sdf::SensorType::SONAR, SensorKind::kRangefinder}};
/// What changes the motion and is not done here, found by its tag.
constexpr std::array kNotDone = {"plugin", "wind",          "atmosphere",
                                 "actor",  "gearbox_ratio", "fluid_added_mass"};
constexpr std::array kOnlySeen = {"light",          "gui",  "scene", "spherical_coordinates",
                                  "magnetic_field", "audio"};

class SdfReader {
 public:
  SdfReader(const Lines& lines, Report& report, const fs::path& path, const LoadOptions& options)
      : lines_(lines), build_(options, report), resolver_(path, options.package_paths) {}

  Result<LoadedScene> run(const sdf::Root& root) {
    tell_features();
    if (const sdf::Model* model = root.Model()) {
      build_.out.name = model->Name();
      read_model(*model, "", build_.options.pose, false, true);
    }
    for (std::uint64_t i = 0; i < root.WorldCount(); ++i) read_world(*root.WorldByIndex(i), i);
    if (build_.report.ok()) build_.hold_massless_joints();
    leave_out_overlaps(build_, robots_);
    return build_.finish();
  }

 private:
  void tell_features() {
    for (const char* tag : kNotDone) {
      const std::string where = lines_.first(tag);
      if (!where.empty())
        build_.report.unsupported(tag, where, fmt::format("<{}> is not supported and has no effect", tag));
    }
    for (const char* tag : kOnlySeen) {
      const std::string where = lines_.first(tag);
      if (!where.empty())
        build_.report.remark(tag, where, fmt::format("<{}>: no effect on the motion, passed over", tag));
    }
  }

  void read_world(const sdf::World& world, std::uint64_t index) {
    if (index > 0) {
      return build_.report.unsupported("worlds", lines_.where("world", world.Name()),
                                       "only the first world is read");
    }
    build_.out.name = world.Name();
    build_.out.gravity = vec3(world.Gravity());
    if (const sdf::Physics* physics = world.PhysicsDefault()) {
      if (physics->MaxStepSize() > 0) build_.out.settings.dt = physics->MaxStepSize();
    }
    for (std::uint64_t i = 0; i < world.ModelCount(); ++i) {
      const sdf::Model& model = *world.ModelByIndex(i);
      read_model(model, model.Name() + "::", build_.options.pose, false, true);
    }
  }

  /// Errors of libsdformat, at a line of ours.
  bool resolved(const sdf::Errors& errors, const std::string& where) {
    for (const sdf::Error& e : errors) build_.report.error(where, e.Message(), "correct the frame or name");
    return errors.empty();
  }

  void read_model(const sdf::Model& model, const std::string& scope, const Transform& X_WP, bool fixed,
                  bool outermost) {
    const std::string where = lines_.where("model", model.Name());
    ignition::math::Pose3d pose;
    if (!resolved(model.SemanticPose().Resolve(pose), where)) return;
    const Transform X_WM = X_WP * transform(pose);
    fixed |= model.Static();
    const int group = model.SelfCollide() ? 0 : --last_group_;
    for (std::uint64_t i = 0; i < model.LinkCount(); ++i)
      read_link(*model.LinkByIndex(i), scope, X_WM, group);
    for (std::uint64_t i = 0; i < model.ModelCount(); ++i) {
      const sdf::Model& nested = *model.ModelByIndex(i);
      read_model(nested, scope + nested.Name() + "::", X_WM, fixed, false);
    }
    // joints of the outer model may hold links of the inner ones, which hang on nothing until then
    for (std::uint64_t i = 0; i < model.JointCount() && !fixed; ++i)
      read_joint(*model.JointByIndex(i), scope);
    if (!outermost) return;
    if (!fixed) remember_robot(model.Name(), where);
    hang_roots(scope, fixed);
  }

  /// Of an outermost model.
  void remember_robot(const std::string& name, const std::string& where) {
    Robot robot{build_.options.prefix + name, where, {}};
    for (const std::string& link : order_) robot.links.push_back(links_[link].id);
    robots_.push_back(std::move(robot));
  }

  struct Placed {
    LinkId id;
    Transform X_WL;
    std::string where;
    bool fixed = false;
  };

  // ---- links

  void read_link(const sdf::Link& link, const std::string& scope, const Transform& X_WM, int group) {
    const std::string where = lines_.where("link", link.Name());
    ignition::math::Pose3d pose;
    if (!resolved(link.SemanticPose().Resolve(pose), where)) return;
    const auto& given = link.Inertial();
    Inertia inertia{.mass = given.MassMatrix().Mass(), .com = vec3(given.Pose().Pos())};
    const ignition::math::Matrix3d moi = given.Moi();
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) inertia.about_com(r, c) = 0.5 * (moi(r, c) + moi(c, r));
    }
    const std::string name = scope + link.Name();
    const LinkId id = build_.add_link(name, build_.possible(inertia, where), where);
    links_[name] = {id, X_WM * transform(pose), where};
    order_.push_back(name);
    for (std::uint64_t i = 0; i < link.CollisionCount(); ++i)
      read_collision(*link.CollisionByIndex(i), id, group);
    for (std::uint64_t i = 0; i < link.VisualCount() && build_.options.visuals; ++i) {
      read_visual(*link.VisualByIndex(i), id);
    }
    for (std::uint64_t i = 0; i < link.SensorCount(); ++i) read_sensor(*link.SensorByIndex(i), id, {});
  }

  void read_collision(const sdf::Collision& collision, LinkId link, int group) {
    const std::string where = lines_.where("collision", collision.Name());
    ignition::math::Pose3d pose;
    if (!resolved(collision.SemanticPose().Resolve(pose), where)) return;
    const std::optional<Geometry> g = read_geometry(*collision.Geom(), where, true);
    if (!g || !g->shape) return;
    build_.out.scene.add_shape(link, *g->shape, transform(pose) * g->X_GS, read_material(collision));
    ShapePlacement& placed = build_.mechanism().link(link).shapes.back();
    placed.group = group;
    const sdf::Contact* contact = collision.Surface() ? collision.Surface()->Contact() : nullptr;
    if (contact && contact->CollideBitmask() != 0xFF)
      placed.category = placed.mask = contact->CollideBitmask();
  }

  MaterialId read_material(const sdf::Collision& collision) {
    const auto within = [](sdf::ElementPtr e, std::initializer_list<const char*> tags) {
      for (const char* tag : tags) e = e && e->HasElement(tag) ? e->GetElement(tag) : nullptr;
      return e;
    };
    const sdf::ElementPtr friction = within(collision.Element(), {"surface", "friction", "ode"}),
                          bounce = within(collision.Element(), {"surface", "bounce"});
    if (!friction && !bounce) return {};
    Surface surface;
    if (friction) surface.static_friction = surface.kinetic_friction = friction->Get<double>("mu", 1.0).first;
    if (bounce) surface.restitution = bounce->Get<double>("restitution_coefficient", 0.0).first;
    if (!(surface.restitution >= 0 && surface.restitution <= 1)) {
      build_.report.error(lines_.where("collision", collision.Name()),
                          fmt::format("restitution_coefficient is {:g}", surface.restitution),
                          "give a number from 0 to 1");
      return {};
    }
    return build_.material(surface, collision.Name());
  }

  void read_visual(const sdf::Visual& from, LinkId link) {
    const std::string where = lines_.where("visual", from.Name());
    ignition::math::Pose3d pose;
    if (!resolved(from.SemanticPose().Resolve(pose), where)) return;
    const std::optional<Geometry> g = read_geometry(*from.Geom(), where, false);
    if (!g) return;
    Visual visual{.name = from.Name(), .link = link, .X_LV = transform(pose) * g->X_GS};
    visual.mesh = g->mesh;
    if (g->shape) visual.shape = *g->shape;
    if (const sdf::Material* material = from.Material()) {
      const auto& d = material->Diffuse();
      visual.color = {d.R(), d.G(), d.B(), d.A()};
      visual.color_given = true;
    }
    build_.out.visuals.push_back(std::move(visual));
  }

  struct Geometry {
    std::optional<Shape> shape;
    std::shared_ptr<const MeshData> mesh;
    Transform X_GS;
  };

  std::optional<Geometry> read_geometry(const sdf::Geometry& from, const std::string& where, bool collides) {
    Geometry g;
    switch (from.Type()) {
      case sdf::GeometryType::BOX: g.shape = Shape::box(vec3(from.BoxShape()->Size()) / 2); break;
      case sdf::GeometryType::SPHERE: g.shape = Shape::sphere(from.SphereShape()->Radius()); break;
      case sdf::GeometryType::CYLINDER:
        g.shape = Shape::cylinder(from.CylinderShape()->Radius(), from.CylinderShape()->Length() / 2);
        break;
      case sdf::GeometryType::CAPSULE:
        g.shape = Shape::capsule(from.CapsuleShape()->Radius(), from.CapsuleShape()->Length() / 2);
        break;
      case sdf::GeometryType::ELLIPSOID:
        g.shape = Shape::ellipsoid(vec3(from.EllipsoidShape()->Radii()));
        break;
      case sdf::GeometryType::PLANE:
        g.shape = Shape::plane();
        g.X_GS = Transform::rotation(frame_with_z(vec3(from.PlaneShape()->Normal())));
        break;
      case sdf::GeometryType::MESH: return read_mesh(*from.MeshShape(), where, collides);
      case sdf::GeometryType::HEIGHTMAP: return read_heightmap(*from.HeightmapShape(), where);
      case sdf::GeometryType::EMPTY: return std::nullopt;
      default:
        build_.report.unsupported("geometry", where, "this geometry is not read from SDF, and left out",
                                  "use a mesh");
        return std::nullopt;
    }
    std::vector<Diagnostic> flaws = check(*g.shape, where);
    if (flaws.empty()) return g;
    build_.report.add(std::move(flaws));
    return std::nullopt;
  }

  /// A picture whose white is `size.z` high; its top is at +y. Below it all is solid.
  std::optional<Geometry> read_heightmap(const sdf::Heightmap& from, const std::string& where) {
    const std::string uri = from.Uri();
    if (ending(uri) != ".png") {
      build_.report.unsupported("heightmap", where,
                                fmt::format("heightmaps are read from PNG: {} is left out", in_quotes(uri)),
                                "save it as a grey PNG");
      return std::nullopt;
    }
    fs::path file = resolver_.find(uri);
    if (file.empty() && !from.FilePath().empty())
      file = Resolver(from.FilePath(), build_.options.package_paths).find(uri);
    constexpr std::size_t kLargest = 64u << 20;
    const Result<std::string> content =
        file.empty() ? Result<std::string>(Diagnostic{}) : read_file(file, kLargest);
    const std::optional<GrayPicture> picture = content.ok() ? decode_png(*content) : std::nullopt;
    if (!picture) {
      build_.report.error(where,
                          fmt::format("{} {}", file.empty() ? "there is no heightmap" : "this is no picture:",
                                      in_quotes(uri)),
                          file.empty() ? Resolver::remedy(uri) : "give a PNG of at most 16 million pixels");
      return std::nullopt;
    }
    const Vec3 size = vec3(from.Size());
    std::vector<double> heights;
    for (int row = picture->height; row-- > 0;)
      for (int column = 0; column < picture->width; ++column)
        heights.push_back(picture->at(column, row) / 255.0 * size.z());
    Result<Heightfield> field =
        make_heightfield(picture->width, picture->height, size.x(), size.y(), std::move(heights));
    if (!field.ok()) {
      build_.report.error(where, field.errors()[0].what, field.errors()[0].remedy);
      return std::nullopt;
    }
    Geometry g{.shape = Shape::heightfield(std::move(*field))};
    g.X_GS = Transform::translation(vec3(from.Position()));
    return g;
  }

  std::optional<Geometry> read_mesh(const sdf::Mesh& from, const std::string& where, bool collides) {
    const std::string uri = from.Uri();
    if (!is_mesh_file(uri)) {
      build_.report.error(where, fmt::format("{} is no file of a mesh by its name", in_quotes(uri)),
                          "valid endings are stl, obj, dae, gltf and glb");
      return std::nullopt;
    }
    fs::path file = resolver_.find(uri);
    if (file.empty() && !from.FilePath().empty()) {  // of an included model, beside its own file
      file = Resolver(from.FilePath(), build_.options.package_paths).find(uri);
    }
    if (file.empty()) {
      build_.report.error(where, fmt::format("there is no mesh {}", in_quotes(uri)), Resolver::remedy(uri));
      return std::nullopt;
    }
    if (!from.Submesh().empty()) {
      build_.report.unsupported("submesh", where, "submeshes are not taken apart: the whole mesh is used");
    }
    Geometry g;
    g.mesh = build_.mesh(file, vec3(from.Scale()), where);
    if (collides) g.shape = build_.mesh_shape(g.mesh, where);
    if (!g.mesh) return std::nullopt;
    return g;
  }

  void read_sensor(const sdf::Sensor& from, LinkId link, JointId joint) {
    Sensor sensor{.name = build_.options.prefix + from.Name(), .type = from.TypeStr(), .link = link};
    sensor.joint = joint;
    sensor.rate = from.UpdateRate();
    ignition::math::Pose3d pose;
    if (from.SemanticPose().Resolve(pose).empty()) sensor.X_LS = transform(pose);
    for (const KindOfSensor& k : kSensorKinds) {
      if (k.type == from.Type()) sensor.kind = k.kind;
    }
    if (sensor.kind == SensorKind::kOther) {
      build_.report.unsupported("sensor " + sensor.type, lines_.where("sensor", from.Name()),
                                fmt::format("sensors of type {} are not supported", in_quotes(sensor.type)));
    }
    build_.out.sensors.push_back(std::move(sensor));
  }

  // ---- joints

  void read_joint(const sdf::Joint& from, const std::string& scope) {
    const std::string where = lines_.where("joint", from.Name());
    const auto kind = std::find_if(kJointKinds.begin(), kJointKinds.end(),
                                   [&](const KindOfJoint& k) { return k.type == from.Type(); });
    if (kind == kJointKinds.end()) {
      return build_.report.unsupported(
          "joint type", where,
          fmt::format("joint {} is of a type that is not supported, and left out", in_quotes(from.Name())),
          "valid are revolute, continuous, prismatic, screw, universal, revolute2, ball, fixed");
    }
    std::string parent_name, child_name;
    if (!resolved(from.ResolveParentLink(parent_name), where)) return;
    if (!resolved(from.ResolveChildLink(child_name), where)) return;
    const Placed *parent = find(scope, parent_name), *child = find(scope, child_name);
    ignition::math::Pose3d pose;
    if (!parent || !child || !resolved(from.SemanticPose().Resolve(pose, child_name), where)) return;
    if (child->id == build_.mechanism().world()) {
      return build_.report.error(where, "the child of a joint is the world, which cannot move",
                                 "swap parent and child");
    }
    Joint joint{.name = scope + from.Name(), .kind = kind->kind, .parent = parent->id, .child = child->id};
    joint.X_CM = transform(pose);
    joint.X_PF = parent->X_WL.inverse() * child->X_WL * joint.X_CM;
    if (kind->kind == JointKind::kScrew) {
      // SDF: radians of turn per metre, the other way round
      if (from.ThreadPitch() == 0) return build_.report.error(where, "thread_pitch is zero", "give it");
      joint.pitch = -1 / from.ThreadPitch();
    }
    for (int k = 0; k < kind->axes; ++k) read_axis(from, k, where, joint);
    const bool loop = build_.mechanism().link(child->id).joint || hangs_on(parent->id, child->id);
    const JointId id = loop ? build_.add_loop(joint, where) : build_.add_joint(joint, where);
    for (std::uint64_t i = 0; i < from.SensorCount() && id; ++i)
      read_sensor(*from.SensorByIndex(i), child->id, id);
  }

  const Placed* find(const std::string& scope, const std::string& name) {
    if (name == "world") {
      world_ = {build_.mechanism().world(), {}, ""};
      return &world_;
    }
    const auto found = links_.find(scope + name);
    if (found != links_.end()) return &found->second;
    build_.report.error(lines_.where("link", name),
                        fmt::format("there is no link {}", in_quotes(scope + name)), "");
    return nullptr;
  }

  bool hangs_on(LinkId link, LinkId ancestor) const {
    const Mechanism& m = build_.out.scene.mechanism;
    for (LinkId up = link; up; up = m.link(up).parent) {
      if (up == ancestor) return true;
    }
    return false;
  }

  void read_axis(const sdf::Joint& from, int k, const std::string& where, Joint& joint) {
    const sdf::JointAxis* axis = from.Axis(static_cast<unsigned>(k));
    if (!axis) return build_.report.error(where, "the joint has no axis", "add <axis>");
    ignition::math::Vector3d xyz;
    if (!resolved(axis->ResolveXyz(xyz), where)) return;
    (k == 0 ? joint.axis : joint.second_axis) = vec3(xyz);
    DofProperties& dof = joint.dofs[static_cast<std::size_t>(k)];
    constexpr double kUnlimited = 1e16;  // how SDF writes infinity
    if (from.Type() != sdf::JointType::CONTINUOUS) {
      if (axis->Lower() > -kUnlimited) dof.lower = axis->Lower();
      if (axis->Upper() < kUnlimited) dof.upper = axis->Upper();
    }
    if (axis->Effort() >= 0) dof.effort_limit = axis->Effort();
    if (axis->MaxVelocity() >= 0) dof.velocity_limit = axis->MaxVelocity();
    dof.damping = axis->Damping();
    dof.dry_friction = axis->Friction();
    dof.stiffness = axis->SpringStiffness();
    dof.rest = axis->SpringReference();
  }

  /// Links of the model that no joint holds float, or stand where the model is static.
  void hang_roots(const std::string& scope, bool fixed) {
    for (const std::string& name : order_) {
      if (!name.starts_with(scope)) continue;
      const Placed& link = links_[name];
      if (build_.mechanism().link(link.id).joint) continue;
      build_.add_joint(root_joint(build_.mechanism(), name, link.id, link.X_WL, !fixed), link.where);
    }
    order_.clear();
  }

  const Lines& lines_;
  SceneBuilder build_;
  Resolver resolver_;
  std::map<std::string, Placed> links_;
  std::vector<std::string> order_;
  std::vector<Robot> robots_;
  Placed world_;
  int last_group_ = 0;
};

}  // namespace

Result<LoadedScene> read_sdf(const sdf::Root& root, const Lines& lines, Report& report,
                             const std::filesystem::path& path, const LoadOptions& options) {
  return SdfReader(lines, report, path, options).run(root);
}

}  // namespace karakuri::io
