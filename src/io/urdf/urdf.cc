// URDF (wiki.ros.org/urdf/XML): one robot, a tree of links.
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "io/builder.h"
#include "io/files.h"
#include "io/orientation.h"
#include "io/root_joint.h"
#include "io/urdf/schema.h"
#include "io/xml.h"
#include "io/zero_pose.h"

namespace karakuri {

namespace io {

namespace {

struct KindOfJoint {
  const char* name;
  JointKind kind;
};
constexpr std::array kJointKinds = {
    KindOfJoint{"revolute", JointKind::kRevolute},   KindOfJoint{"continuous", JointKind::kRevolute},
    KindOfJoint{"prismatic", JointKind::kPrismatic}, KindOfJoint{"fixed", JointKind::kFixed},
    KindOfJoint{"floating", JointKind::kFree},       KindOfJoint{"planar", JointKind::kPlanar}};

class UrdfReader {
 public:
  UrdfReader(XmlFile& xml, const std::filesystem::path& path, const LoadOptions& options)
      : xml_(xml), build_(options, xml.report), resolver_(path, options.package_paths) {}

  Result<LoadedScene> run(const XmlElement& robot) {
    if (robot.name != "robot") {
      xml_.error(robot, fmt::format("the root is <{}>, not <robot>", robot.name), "give a URDF file");
      return xml_.report.take_errors();
    }
    check_urdf_schema(xml_, robot);
    build_.out.name = robot.get("name");
    for (const XmlElement& e : robot.children) {
      if (e.name == "material") read_material(e);
      if (e.name == "gazebo") read_gazebo(e);
    }
    for (const XmlElement& e : robot.children) {
      if (e.name == "link") read_link(e);
    }
    for (const XmlElement& e : robot.children) {
      if (e.name == "joint") read_joint(e);
    }
    place_root(robot);
    for (const XmlElement& e : robot.children) {
      if (e.name == "joint") read_mimic(e);
      if (e.name == "transmission") read_transmission(e);
      if (e.name == "sensor") read_sensor(e);
    }
    if (build_.report.ok()) build_.hold_massless_joints();
    leave_out_overlaps(build_, std::vector{as_robot(robot)});
    return build_.finish();
  }

 private:
  std::string where(const XmlElement& e) const { return xml_.where(e); }

  Robot as_robot(const XmlElement& e) {
    Robot robot{build_.options.prefix + build_.out.name, where(e), {}};
    for (const auto& [name, link] : links_)
      if (link.id != build_.mechanism().world()) robot.links.push_back(link.id);
    return robot;
  }

  Transform origin(const XmlElement& e) const {
    const XmlElement* o = e.child("origin");
    if (!o) return {};
    return {from_rpy(xml_.vec3(*o, "rpy", Vec3::Zero())), xml_.vec3(*o, "xyz", Vec3::Zero())};
  }

  // ---- links

  void read_material(const XmlElement& e) {
    if (const XmlElement* color = e.child("color")) colors_[e.get("name")] = read_color(*color);
  }

  Color read_color(const XmlElement& e) const {
    const std::vector<double> c = xml_.numbers(e, "rgba", 4, 4);
    if (c.empty()) return Visual{}.color;
    return {static_cast<float>(c[0]), static_cast<float>(c[1]), static_cast<float>(c[2]),
            static_cast<float>(c[3])};
  }

  /// Friction is the one thing that URDFs carry for Gazebo and that we have.
  void read_gazebo(const XmlElement& e) {
    const XmlElement* mu = e.child("mu1");
    std::vector<double> value;
    if (!mu || !e.has("reference")) return;
    if (!parse_numbers(mu->text, value) || value.size() != 1 || value[0] < 0) {
      return xml_.error(*mu, "mu1 is " + in_quotes(mu->text), "give a coefficient of friction");
    }
    Surface surface;
    surface.static_friction = surface.kinetic_friction = value[0];
    surfaces_[e.get("reference")] = surface;
  }

  Inertia read_inertial(const XmlElement& link) {
    const XmlElement* e = link.child("inertial");
    if (!e) return {};
    const XmlElement *mass = e->child("mass"), *inertia = e->child("inertia");
    if (!mass || !xml_.require(*mass, "value")) {
      if (!mass) xml_.error(*e, "<inertial> has no <mass>", "add <mass value=\"...\"/>");
      return {};
    }
    Inertia in{.mass = xml_.number(*mass, "value", 0)};
    if (in.mass < 0) {
      xml_.error(*mass, fmt::format("link {} has mass {:g}", in_quotes(link.get("name")), in.mass),
                 "give a mass in kg, not below zero");
    }
    if (inertia) {
      const auto at = [&](const char* a) { return xml_.number(*inertia, a, 0); };
      in.about_com << at("ixx"), at("ixy"), at("ixz"), at("ixy"), at("iyy"), at("iyz"), at("ixz"), at("iyz"),
          at("izz");
    }
    const Inertia placed = in.in_frame(origin(*e));
    if (in.mass == 0) return {};  // a marker, whatever its inertia says
    return build_.possible(placed, where(*e));
  }

  void read_link(const XmlElement& e) {
    if (!xml_.require(e, "name")) return;
    const std::string& name = e.get("name");
    if (links_.contains(name)) {
      return xml_.error(e, fmt::format("a second link is called {}", in_quotes(name)),
                        "give it another name");
    }
    const bool is_world = name == "world";
    const Inertia inertia = is_world ? Inertia{} : read_inertial(e);
    // The URDF's "world" is ours.
    const LinkId link = is_world && build_.options.prefix.empty() ? build_.mechanism().world()
                                                                  : build_.add_link(name, inertia, where(e));
    links_[name] = {link, &e};
    for (const XmlElement& c : e.children) {
      if (c.name == "collision") read_collision(c, link, name);
      if (c.name == "visual" && build_.options.visuals) read_visual(c, link);
    }
  }

  /// Where a link's frame lies on the link it became: only the world has another.
  Transform on_link(LinkId link, const Transform& X) const {
    return link == build_.out.scene.mechanism.world() ? build_.options.pose * X : X;
  }

  void read_collision(const XmlElement& e, LinkId link, const std::string& link_name) {
    const std::optional<Geometry> g = read_geometry(e, true);
    if (!g || !g->shape) return;
    const auto surface = surfaces_.find(link_name);
    const MaterialId material =
        surface == surfaces_.end() ? MaterialId{} : build_.material(surface->second, link_name);
    build_.out.scene.add_shape(link, *g->shape, on_link(link, origin(e)), material);
  }

  void read_visual(const XmlElement& e, LinkId link) {
    const std::optional<Geometry> g = read_geometry(e, false);
    if (!g) return;
    Visual visual{.name = e.get("name"), .link = link, .X_LV = on_link(link, origin(e))};
    visual.mesh = g->mesh;
    if (g->shape) visual.shape = *g->shape;
    if (const XmlElement* material = e.child("material")) {
      if (const XmlElement* color = material->child("color")) {
        visual.color = colors_[material->get("name")] = read_color(*color);
        visual.color_given = true;
      } else if (const auto known = colors_.find(material->get("name")); known != colors_.end()) {
        visual.color = known->second;
        visual.color_given = true;
      } else if (!material->child("texture")) {
        xml_.report.remark("material " + material->get("name"), where(*material),
                           fmt::format("material {} is not defined", in_quotes(material->get("name"))));
      }
    }
    build_.out.visuals.push_back(std::move(visual));
  }

  struct Geometry {
    std::optional<Shape> shape;
    std::shared_ptr<const MeshData> mesh;
  };

  std::optional<Geometry> read_geometry(const XmlElement& parent, bool collides) {
    const XmlElement* e = parent.child("geometry");
    if (!e || e->children.empty()) {
      xml_.error(parent, fmt::format("<{}> has no geometry", parent.name),
                 "add <geometry> with a box, cylinder, sphere, capsule or mesh");
      return std::nullopt;
    }
    const XmlElement& g = e->children[0];
    if (g.name == "mesh") return read_mesh_geometry(g, collides);
    const std::optional<Shape> shape = read_primitive(g);
    if (!shape) return std::nullopt;
    std::vector<Diagnostic> flaws = check(*shape, where(g));
    if (flaws.empty()) return Geometry{shape, nullptr};
    xml_.report.add(std::move(flaws));
    return std::nullopt;
  }

  std::optional<Shape> read_primitive(const XmlElement& g) {
    const auto number = [&](const char* a) { return xml_.require(g, a) ? xml_.number(g, a, 1) : 1.0; };
    if (g.name == "box") {
      xml_.require(g, "size");
      return Shape::box(xml_.vec3(g, "size", Vec3::Ones()) / 2);
    }
    if (g.name == "sphere") return Shape::sphere(number("radius"));
    const bool cylinder = g.name == "cylinder";
    if (cylinder || g.name == "capsule") {
      const double radius = number("radius"), half = number("length") / 2;
      return cylinder ? Shape::cylinder(radius, half) : Shape::capsule(radius, half);
    }
    xml_.error(g, fmt::format("<{}> is no geometry", g.name),
               "valid are box, cylinder, sphere, capsule and mesh");
    return std::nullopt;
  }

  std::optional<Geometry> read_mesh_geometry(const XmlElement& g, bool collides) {
    if (!xml_.require(g, "filename")) return std::nullopt;
    const std::string& uri = g.get("filename");
    const Vec3 scale = xml_.vec3(g, "scale", Vec3::Ones());
    if (!is_mesh_file(uri)) {
      xml_.error(g, fmt::format("{} is no file of a mesh by its name", in_quotes(uri)),
                 "valid endings are stl, obj, dae, gltf and glb");
      return std::nullopt;
    }
    const std::filesystem::path file = resolver_.find(uri);
    if (file.empty()) {
      xml_.error(g, fmt::format("there is no mesh {}", in_quotes(uri)), Resolver::remedy(uri));
      return std::nullopt;
    }
    Geometry geometry{std::nullopt, build_.mesh(file, scale, where(g))};
    if (collides) geometry.shape = build_.mesh_shape(geometry.mesh, where(g));
    if (!geometry.mesh) return std::nullopt;
    return geometry;
  }

  // ---- joints

  void read_joint(const XmlElement& e) {
    if (!xml_.require(e, "name") || !xml_.require(e, "type")) return;
    const auto kind = std::find_if(kJointKinds.begin(), kJointKinds.end(),
                                   [&](const KindOfJoint& k) { return e.get("type") == k.name; });
    if (kind == kJointKinds.end()) {
      std::vector<std::string> names;
      for (const KindOfJoint& k : kJointKinds) names.emplace_back(k.name);
      return xml_.error(
          e, fmt::format("joint {} has type {}", in_quotes(e.get("name")), in_quotes(e.get("type"))),
          "valid are " + listed(names));
    }
    const LinkId parent = linked(e, "parent"), child = linked(e, "child");
    if (!parent || !child || joints_.contains(e.get("name"))) {
      if (parent && child) {
        xml_.error(e, fmt::format("a second joint is called {}", in_quotes(e.get("name"))),
                   "give it another name");
      }
      return;
    }
    Joint joint{.name = e.get("name"), .kind = kind->kind, .parent = parent, .child = child};
    joint.X_PF = on_link(parent, origin(e));
    if (const XmlElement* axis = e.child("axis")) {
      joint.axis = xml_.vec3(*axis, "xyz", Vec3::UnitX());
    } else {
      joint.axis = Vec3::UnitX();
    }
    read_dofs(e, joint);
    const JointId id = build_.add_joint(joint, where(e));
    if (!id) return;
    joints_[e.get("name")] = id;
    children_.insert(e.child("child")->get("link"));
  }

  LinkId linked(const XmlElement& joint, const char* role) {
    const XmlElement* e = joint.child(role);
    if (!e) {
      xml_.error(joint, fmt::format("joint {} has no <{}>", in_quotes(joint.get("name")), role),
                 fmt::format("add <{} link=\"...\"/>", role));
      return {};
    }
    if (!xml_.require(*e, "link")) return {};
    const auto found = links_.find(e->get("link"));
    if (found != links_.end()) return found->second.id;
    if (build_.report.full()) return {};
    std::vector<std::string> names;
    for (const auto& [name, link] : links_) names.push_back(name);
    xml_.error(*e, fmt::format("there is no link {}", in_quotes(e->get("link"))),
               "the links are " + listed(names));
    return {};
  }

  void read_dofs(const XmlElement& e, Joint& joint) {
    const XmlElement *limit = e.child("limit"), *dynamics = e.child("dynamics");
    const bool bounded = e.get("type") == "revolute" || e.get("type") == "prismatic";
    DofProperties dof;
    if (bounded && !limit) {
      xml_.report.unsupported("no limit", where(e),
                              fmt::format("{} joint {} has no <limit>: it moves without limits",
                                          e.get("type"), in_quotes(e.get("name"))),
                              "add <limit lower=... upper=... effort=... velocity=.../>");
    }
    if (limit) {
      dof.effort_limit = magnitude(*limit, "effort");
      dof.velocity_limit = magnitude(*limit, "velocity");
      if (bounded) {
        dof.lower = xml_.limit(*limit, "lower", 0);
        dof.upper = xml_.limit(*limit, "upper", 0);
      }
    }
    if (dynamics) {
      dof.damping = xml_.number(*dynamics, "damping", 0);
      dof.dry_friction = xml_.number(*dynamics, "friction", 0);
      dof.stiffness = xml_.number(*dynamics, "spring_stiffness", 0);
      dof.rest = xml_.number(*dynamics, "spring_reference", 0);
      dof.armature = xml_.number(*dynamics, "armature", 0);
    }
    for (int k = 0; k < v_size(joint.kind); ++k) joint.dofs[static_cast<std::size_t>(k)] = dof;
  }

  /// Exporters write 0 where they know no limit; one that held the joint still would be a fixed joint.
  double magnitude(const XmlElement& limit, const char* attribute) {
    const double value = xml_.limit(limit, attribute, DofProperties::kNone);
    if (value != 0) return value;
    xml_.report.remark(fmt::format("zero {}", attribute), where(limit),
                       fmt::format("an {} limit of 0 is taken for none", attribute));
    return DofProperties::kNone;
  }

  void place_root(const XmlElement& robot) {
    if (links_.empty()) return xml_.error(robot, "the robot has no links", "add a <link>");
    std::vector<std::string> roots;
    for (const auto& [name, link] : links_) {
      if (!children_.contains(name)) roots.push_back(name);
    }
    if (!build_.report.ok()) return;  // what was refused leaves other roots behind
    if (roots.size() != 1) {
      const XmlElement& at = roots.empty() ? robot : *links_[roots[1]].element;
      return xml_.error(at,
                        roots.empty() ? "the joints form a ring: no link is the root"
                                      : "more than one link hangs on nothing: " + listed(roots),
                        "join the links to one tree");
    }
    const Entry& root = links_[roots[0]];
    if (root.id == build_.mechanism().world()) return;
    const bool free = is_free(root, roots[0]);
    build_.add_joint(root_joint(build_.mechanism(), roots[0], root.id, build_.options.pose, free),
                     where(*root.element));
  }

  struct Entry {
    LinkId id;
    const XmlElement* element = nullptr;
  };

  bool is_free(const Entry& root, const std::string& name) {
    if (build_.options.base != Base::kAuto) return build_.options.base == Base::kFree;
    if (name == "world") return false;
    if (has_mass(root.id)) return true;
    build_.report.remark("massless root", where(*root.element),
                         fmt::format("the root {} has no mass: it is fixed to the world", in_quotes(name)),
                         "call the root 'world' to say so");
    return false;
  }

  /// Of the link and all that is fixed to it.
  bool has_mass(LinkId root) const {
    const Mechanism& m = build_.out.scene.mechanism;
    std::vector<LinkId> waiting{root};
    while (!waiting.empty()) {
      const Link& link = m.link(waiting.back());
      waiting.pop_back();
      if (link.inertia.mass > 0) return true;
      for (LinkId c = link.child; c; c = m.link(c).sibling) {
        if (m.joint(m.link(c).joint).kind == JointKind::kFixed) waiting.push_back(c);
      }
    }
    return false;
  }

  // ---- what else is said

  JointId named_joint(const XmlElement& e, const std::string& name) {
    const auto found = joints_.find(name);
    if (found != joints_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, id] : joints_) names.push_back(known);
    if (build_.report.ok()) {  // else the joint may be missing because it was refused
      xml_.error(e, fmt::format("there is no joint {}", in_quotes(name)), "the joints are " + listed(names));
    }
    return {};
  }

  void read_mimic(const XmlElement& e) {
    const XmlElement* mimic = e.child("mimic");
    if (!mimic || !xml_.require(*mimic, "joint")) return;
    Coupling coupling{.name = e.get("name")};
    coupling.follower = named_joint(e, e.get("name"));
    coupling.leader = named_joint(*mimic, mimic->get("joint"));
    coupling.coefficients = {xml_.number(*mimic, "offset", 0), xml_.number(*mimic, "multiplier", 1), 0, 0, 0};
    if (coupling.follower && coupling.leader) build_.out.scene.mechanism.add_coupling(std::move(coupling));
  }

  void read_transmission(const XmlElement& e) {
    const XmlElement *joint = e.child("joint"), *motor = e.child("actuator");
    if (!joint || !joint->has("name")) return;
    Actuator actuator{.name = motor && motor->has("name") ? motor->get("name") : e.get("name")};
    const JointId id = named_joint(*joint, joint->get("name"));
    if (!id) return;
    double reduction = 1;
    for (const XmlElement* at : {motor, joint}) {
      const XmlElement* r = at ? at->child("mechanicalReduction") : nullptr;
      std::vector<double> value;
      if (!r) continue;
      if (!parse_numbers(r->text, value) || value.size() != 1) {
        xml_.error(*r, "mechanicalReduction is " + in_quotes(r->text), "give a number");
      } else {
        reduction = value[0];
      }
    }
    actuator.transmissions.push_back({id, 0, reduction});
    build_.out.actuators.push_back(std::move(actuator));
  }

  void read_sensor(const XmlElement& e) {
    const XmlElement* parent = e.child("parent");
    const auto link = links_.find(parent ? parent->get("link") : "");
    if (link == links_.end()) {
      return xml_.error(e, fmt::format("sensor {} is on no link", in_quotes(e.get("name"))),
                        "add <parent link=\"...\"/>");
    }
    Sensor sensor{.name = e.get("name"), .type = e.get("type"), .link = link->second.id};
    sensor.X_LS = on_link(sensor.link, origin(e));
    sensor.rate = xml_.number(e, "update_rate", 0);
    if (e.child("camera") || sensor.type == "camera") sensor.kind = SensorKind::kCamera;
    if (e.child("ray") || sensor.type == "ray") sensor.kind = SensorKind::kRangefinder;
    if (sensor.type == "imu") sensor.kind = SensorKind::kInertialUnit;
    build_.out.sensors.push_back(std::move(sensor));
  }

  XmlFile& xml_;
  SceneBuilder build_;
  Resolver resolver_;
  std::map<std::string, Entry> links_;
  std::map<std::string, JointId> joints_;
  std::set<std::string> children_;
  std::map<std::string, Color> colors_;
  std::map<std::string, Surface> surfaces_;
};

}  // namespace

}  // namespace io

Result<LoadedScene> load_urdf(std::string_view text, const std::filesystem::path& path,
                              const LoadOptions& options) {
  io::Report report(options.strict);
  io::XmlFile xml(report);
  io::XmlElement root;
  if (!xml.parse(text, path.string(), root)) return report.take_errors();
  return io::UrdfReader(xml, path, options).run(root);
}

}  // namespace karakuri
