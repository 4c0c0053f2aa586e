// <worldbody>: bodies, their joints and inertias.
//
// MuJoCo moves a body by its joints in turn, each with its anchor p and axis in the body's frame:
//   X_PB = X_0 J_1(q_1) J_2(q_2) ...,   J = T(p) R(axis, q - ref) T(-p)  or  T(axis (q - ref))        (1)
// so a body with several joints is a chain of links of which only the last has mass. With R(axis, -ref) in
// the joint's frame F our q is MuJoCo's.
#include <Eigen/Eigenvalues>

#include <fmt/format.h>

#include "io/mjcf/context.h"

namespace karakuri::io {

namespace {

/// An element of a body, with the <frame>s around it folded into one pose.
struct Item {
  const XmlElement* element;
  Transform X_BF;
  std::string childclass;
};

void collect(const MjcfContext& c, const XmlElement& e, const Transform& X_BF, const std::string& childclass,
             std::vector<Item>& items) {
  for (const XmlElement& child : e.children) {
    if (child.name != "frame") {
      items.push_back({&child, X_BF, childclass});
      continue;
    }
    const std::string& inner = child.has("childclass") ? child.get("childclass") : childclass;
    if (!c.defaults.contains(inner.empty() ? "main" : inner)) c.defaults.report_unknown(c.xml, child, inner);
    collect(c, child, X_BF * read_place(c, child), inner, items);
  }
}

enum class Type { kFree, kBall, kSlide, kHinge };

struct MovingJoint {
  XmlElement element;  // with defaults
  Type type = Type::kHinge;
  Transform X_BF;
};

class BodyReader {
 public:
  BodyReader(MjcfContext& c, int index) : c_(c), index_(index) {}

  /// Everything on the body but its child bodies, which are returned.
  std::vector<Item> read(const XmlElement& e, const std::string& childclass, const Transform& X_PB,
                         const std::string& name) {
    std::vector<Item> items, bodies;
    collect(c_, e, {}, childclass, items);
    for (const Item& item : items) {
      if (item.element->name == "joint" || item.element->name == "freejoint") add_joint(item);
    }
    make_links(e, X_PB, name);
    for (const Item& item : items) {
      const std::string& tag = item.element->name;
      if (tag == "geom") add_geom(item);
      if (tag == "site") add_site(item);
      if (tag == "camera") add_camera(item);
      if (tag == "body") bodies.push_back(item);
    }
    if (index_ > 0) set_inertia(e);
    return bodies;
  }

 private:
  MjcfBody& body() { return c_.bodies[static_cast<std::size_t>(index_)]; }

  Transform on_link() const { return index_ == 0 ? c_.build.options.pose : Transform{}; }

  // ---- joints

  void add_joint(const Item& item) {
    const bool free = item.element->name == "freejoint";
    XmlElement e =
        free ? *item.element : c_.defaults.resolved(c_.xml, *item.element, "joint", item.childclass);
    const std::size_t type = free ? 0 : c_.xml.choice(e, "type", {"free", "ball", "slide", "hinge"}, 3);
    joints_.push_back({std::move(e), static_cast<Type>(type), item.X_BF});
  }

  /// The links and joints of (1). The last link is the body's.
  void make_links(const XmlElement& e, const Transform& X_PB, const std::string& name) {
    if (index_ == 0) return;
    const MjcfBody& parent = c_.bodies[static_cast<std::size_t>(body().parent)];
    body().weld = joints_.empty() ? parent.weld : index_;
    body().joints = static_cast<int>(joints_.size());
    LinkId at = parent.link;
    Transform X = (body().parent == 0 ? c_.build.options.pose : Transform{}) * X_PB;
    if (body().mocap) return hang_mocap(e, name, X);
    if (joints_.empty()) {
      body().link = c_.build.add_link(name, {}, c_.where(e));
      Joint fixed{.name = name + "_fixed", .parent = at, .child = body().link, .X_PF = X};
      c_.build.add_joint(fixed, c_.where(e));
      return;
    }
    if (joints_.size() > 1) check_together(e);
    for (std::size_t k = 0; k < joints_.size(); ++k) {
      const bool last = k + 1 == joints_.size();
      const std::string own = joint_name(joints_[k], name, k);
      const LinkId link = c_.build.add_link(last ? name : name + "/" + own, {}, c_.where(joints_[k].element));
      hang(joints_[k], own, at, link, X);
      at = link, X = {};
    }
    body().link = at;
  }

  /// A kinematic body: it stays where it is put, and moves as it is told.
  void hang_mocap(const XmlElement& e, const std::string& name, const Transform& X) {
    if (body().parent != 0 || !joints_.empty())
      c_.xml.error(e, "a mocap body has joints, or hangs on another body",
                   "put it on the world, without joints");
    body().weld = index_;
    body().link = c_.build.add_link(name, {}, c_.where(e));
    Joint free{.name = name, .kind = JointKind::kFree, .parent = c_.bodies[0].link, .child = body().link};
    free.X_PF = X;
    c_.build.add_joint(free, c_.where(e));
    c_.build.out.kinematic.push_back(body().link);
  }

  void check_together(const XmlElement& e) {
    int free = 0, turning = 0;
    for (const MovingJoint& j : joints_) {
      free += j.type == Type::kFree;
      turning += j.type == Type::kHinge ? 1 : j.type == Type::kBall ? 3 : 0;
    }
    if (free > 0) c_.xml.error(e, "a free joint stands with other joints", "a free joint must be alone");
    if (turning > 3) c_.xml.error(e, "its joints turn in more than three ways", "remove some");
  }

  static std::string joint_name(const MovingJoint& j, const std::string& body, std::size_t k) {
    if (j.element.has("name") && !j.element.get("name").empty()) return j.element.get("name");
    return k == 0 ? body + "_joint" : fmt::format("{}_joint{}", body, k);
  }

  void hang(const MovingJoint& from, const std::string& name, LinkId parent, LinkId child,
            const Transform& X_PB) {
    const XmlElement& e = from.element;
    Joint joint{.name = name, .parent = parent, .child = child};
    MjcfJoint record{.name = e.get("name"), .X_WB = body().X_WB};
    const bool free = from.type == Type::kFree;
    const Vec3 anchor = free ? Vec3(Vec3::Zero()) : from.X_BF * c_.xml.vec3(e, "pos", Vec3::Zero());
    joint.axis = (from.X_BF.R * c_.xml.vec3(e, "axis", Vec3::UnitZ()));
    static constexpr JointKind kKinds[] = {JointKind::kFree, JointKind::kSpherical, JointKind::kPrismatic,
                                           JointKind::kRevolute};
    record.kind = joint.kind = kKinds[static_cast<int>(from.type)];
    joint.X_PF = X_PB * Transform::translation(anchor);
    joint.X_CM = Transform::translation(anchor);
    const bool scalar = from.type == Type::kHinge || from.type == Type::kSlide;
    const double unit = from.type == Type::kSlide ? 1 : c_.compiler.angle;
    if (scalar) {
      record.reference = c_.xml.number(e, "ref", 0) * unit;
      if (!(joint.axis.norm() > 1e-12)) {
        c_.xml.error(e, "the axis of a joint is zero", "give a direction");
      } else {
        joint.axis.normalize();
        shift_by_reference(joint, record.reference);
      }
    }
    if (!free || e.name == "joint") set_dofs(e, from.type, unit, joint);
    record.range = {joint.dofs[0].lower, joint.dofs[0].upper};
    const std::vector<double> tuned = free ? std::vector<double>{} : c_.xml.numbers(e, "springdamper", 2, 2);
    if (!tuned.empty()) record.time = tuned[0], record.ratio = tuned[1];
    if (record.range.bounded()) record.softness = read_softness(c_, e, "limits", "limit");
    record.id = c_.build.add_joint(joint, c_.where(e));
    if (record.reference != 0) c_.build.out.scene.initial.push_back({record.id, {record.reference}, {}});
    if (!record.name.empty() &&
        !c_.joint_by_name.emplace(record.name, static_cast<int>(c_.joints.size())).second) {
      c_.xml.error(e, fmt::format("a second joint is called {}", in_quotes(record.name)),
                   "give it another name");
    }
    c_.joints.push_back(record);
  }

  static void shift_by_reference(Joint& joint, double reference) {
    if (reference == 0) return;
    const Transform back =
        joint.kind == JointKind::kPrismatic
            ? Transform::translation(-reference * joint.axis)
            : Transform::rotation(Eigen::AngleAxisd(-reference, joint.axis).toRotationMatrix());
    joint.X_PF = joint.X_PF * back;
  }

  void set_dofs(const XmlElement& e, Type type, double unit, Joint& joint) {
    DofProperties dof;
    dof.stiffness = c_.flags.spring ? c_.xml.number(e, "stiffness", 0) : 0;
    dof.damping = c_.flags.damper ? c_.xml.number(e, "damping", 0) : 0;
    dof.dry_friction = c_.flags.friction_loss ? c_.xml.number(e, "frictionloss", 0) : 0;
    dof.armature = c_.xml.number(e, "armature", 0);
    if (type == Type::kHinge || type == Type::kSlide) dof.rest = c_.xml.number(e, "springref", 0) * unit;
    if (is_limited(c_, e, "actuatorfrclimited", "actuatorfrcrange")) {
      const std::vector<double> range = c_.xml.numbers(e, "actuatorfrcrange", 2, 2);
      if (!range.empty()) dof.effort_limit = std::max(std::abs(range[0]), std::abs(range[1]));
    }
    for (int k = 0; k < v_size(joint.kind); ++k) joint.dofs[static_cast<std::size_t>(k)] = dof;
    if (type == Type::kFree || !c_.flags.limit || !is_limited(c_, e, "limited", "range")) return;
    const std::vector<double> range = c_.xml.numbers(e, "range", 2, 2);
    if (range.empty()) return;
    // MuJoCo pushes from `margin` before the limit on: that is where the joint stops
    const double margin = c_.xml.number(e, "margin", 0) * unit;
    if (type != Type::kBall) joint.dofs[0].lower = range[0] * unit + margin;
    joint.dofs[0].upper = range[1] * unit - margin;
  }

  // ---- what stands on the body

  void add_geom(const Item& item) {
    const XmlElement e = c_.defaults.resolved(c_.xml, *item.element, "geom", item.childclass);
    geoms_.push_back(read_geom(c_, e, index_, item.X_BF));
  }

  void add_site(const Item& item) {
    const XmlElement e = c_.defaults.resolved(c_.xml, *item.element, "site", item.childclass);
    Frame frame{.name = c_.build.options.prefix + e.get("name"), .link = body().link};
    frame.X_LF = on_link() * item.X_BF * read_place(c_, e);
    if (!e.get("name").empty())
      c_.frame_by_name[e.get("name")] = static_cast<int>(c_.build.out.frames.size());
    c_.build.out.frames.push_back(std::move(frame));
  }

  void add_camera(const Item& item) {
    const XmlElement e = c_.defaults.resolved(c_.xml, *item.element, "camera", item.childclass);
    Camera camera{.name = c_.build.options.prefix + e.get("name"), .link = body().link};
    camera.X_LC = on_link() * item.X_BF * read_place(c_, e);
    camera.field_of_view =
        c_.xml.number(e, "fovy", 45) * 0.017453292519943295;  // degrees whatever <compiler> says
    c_.build.out.cameras.push_back(std::move(camera));
  }

  // ---- inertia

  Inertia explicit_inertia(const XmlElement& e) {
    Inertia in;
    c_.xml.require(e, "mass");
    in.mass = c_.xml.number(e, "mass", 0);
    if (in.mass < 0)
      c_.xml.error(e, fmt::format("the mass is {:g}", in.mass), "give a mass in kg, not below zero");
    const std::vector<double> full = c_.xml.numbers(e, "fullinertia", 6, 6);
    Transform X = read_place(c_, e);
    if (!full.empty()) {
      in.about_com << full[0], full[3], full[4], full[3], full[1], full[5], full[4], full[5], full[2];
      X.R.setIdentity();  // MuJoCo allows no orientation with it
    } else {
      c_.xml.require(e, "diaginertia");
      in.about_com = c_.xml.vec3(e, "diaginertia", Vec3::Zero()).asDiagonal();
    }
    return in.in_frame(X);
  }

  Inertia inertia_of_geoms() const {
    Inertia sum;
    for (const GeomResult& g : geoms_) {
      const bool counts =
          g.group >= c_.compiler.first_inertia_group && g.group <= c_.compiler.last_inertia_group;
      if (!counts || !(g.inertia.mass > 0)) continue;
      sum = sum.mass > 0 ? sum + g.inertia : g.inertia;
    }
    return sum;
  }

  /// Lower bounds and balance as <compiler> asks.
  Inertia adjusted(Inertia in) const {
    const MjcfCompiler& compiler = c_.compiler;
    in.mass = std::max(in.mass, compiler.bound_mass);
    const bool bounds = compiler.bound_inertia > 0;
    if (!bounds && !compiler.balance_inertia) return in;
    const Eigen::SelfAdjointEigenSolver<Mat3> eigen(in.about_com);
    Vec3 m = eigen.eigenvalues().cwiseMax(compiler.bound_inertia);
    const bool impossible = m[0] + m[1] < m[2];
    if (impossible && compiler.balance_inertia) m.setConstant(m.sum() / 3);
    if (m == Vec3(eigen.eigenvalues())) return in;
    in.about_com = eigen.eigenvectors() * m.asDiagonal() * eigen.eigenvectors().transpose();
    in.about_com = 0.5 * (in.about_com + in.about_com.transpose()).eval();
    return in;
  }

  void set_inertia(const XmlElement& e) {
    const XmlElement* given = e.child("inertial");
    const bool use_geoms = c_.compiler.inertia_from_geom == FromGeom::kAlways ||
                           (!given && c_.compiler.inertia_from_geom == FromGeom::kAuto);
    Inertia in = use_geoms ? inertia_of_geoms() : given ? explicit_inertia(*given) : Inertia{};
    in = adjusted(in);
    if (in.mass == 0) in = {};
    Link& link = c_.build.mechanism().link(body().link);
    // what nothing can push needs a mass all the same
    if (body().mocap && !(in.mass > 0)) in = Inertia{1, Vec3::Zero(), 0.01 * Mat3::Identity()};
    link.inertia = c_.build.possible(in, c_.where(given ? *given : e));
    place_free_joint(link);
  }

  /// M in the centre of mass, as Mechanism::add_free_link does; not where the joint has forces of its own,
  /// which act on the body's origin.
  void place_free_joint(const Link& link) {
    Joint& joint = c_.build.mechanism().joint(link.joint);
    const DofProperties& dof = joint.dofs[0];
    if (joint.kind != JointKind::kFree || dof.armature > 0 || dof.damping > 0 || dof.stiffness > 0) return;
    const Transform shift = Transform::translation(link.inertia.com);
    joint.X_PF = joint.X_PF * shift;
    joint.X_CM = shift;
  }

  MjcfContext& c_;
  int index_;
  std::vector<MovingJoint> joints_;
  std::vector<GeomResult> geoms_;
};

struct Waiting {
  Item item;
  int parent;
};

}  // namespace

void read_worldbody(MjcfContext& c, const XmlElement& worldbody) {
  // Depth first, in the order of the file: MuJoCo numbers joints so.
  std::vector<Waiting> stack;
  const auto push = [&](const std::vector<Item>& bodies, int parent) {
    for (auto item = bodies.rbegin(); item != bodies.rend(); ++item) stack.push_back({*item, parent});
  };
  push(BodyReader(c, 0).read(worldbody, "", {}, "world"), 0);
  while (!stack.empty() && !c.xml.report.full()) {
    const auto [item, parent] = stack.back();
    stack.pop_back();
    const XmlElement& e = *item.element;
    const int index = static_cast<int>(c.bodies.size());
    const std::string childclass = e.has("childclass") ? e.get("childclass") : item.childclass;
    if (!c.defaults.contains(childclass.empty() ? "main" : childclass)) {
      c.defaults.report_unknown(c.xml, e, childclass);
      continue;
    }
    MjcfBody body{.name = e.get("name"), .parent = parent, .element = &e};
    const Transform X_PB = item.X_BF * read_place(c, e);
    body.mocap = c.xml.flag(e, "mocap", false);
    body.X_WB = c.bodies[static_cast<std::size_t>(parent)].X_WB * X_PB;
    c.bodies.push_back(body);
    if (!body.name.empty() && !c.body_by_name.emplace(body.name, index).second) {
      c.xml.error(e, fmt::format("a second body is called {}", in_quotes(body.name)), "give it another name");
    }
    const std::string name = body.name.empty() ? fmt::format("body{}", index) : body.name;
    push(BodyReader(c, index).read(e, childclass, X_PB, name), index);
    const double lift = c.xml.number(e, "gravcomp", 0);
    if (lift != 0) c.build.out.lifts.push_back({c.bodies[static_cast<std::size_t>(index)].link, lift});
  }
}

void scale_total_mass(MjcfContext& c) {
  if (!(c.compiler.total_mass > 0)) return;
  double sum = 0;
  for (const MjcfBody& b : c.bodies) sum += c.build.mechanism().link(b.link).inertia.mass;
  if (!(sum > 0)) return;
  for (std::size_t i = 1; i < c.bodies.size(); ++i) {
    Inertia& in = c.build.mechanism().link(c.bodies[i].link).inertia;
    in.mass *= c.compiler.total_mass / sum;
    in.about_com *= c.compiler.total_mass / sum;
  }
}

}  // namespace karakuri::io
