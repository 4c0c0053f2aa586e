// Bodies, joints and loops. All links are made first, then the joints that are written with bodies, then
// those of the list `joints`, then free joints for what hangs on nothing yet, then loops.
#include <numbers>

#include <fmt/format.h>

#include "io/native/context.h"

namespace karakuri::io {

namespace {

/// One body of the file; repeated ones share it.
struct ParsedBody {
  const YamlNode* node = nullptr;
  ParsedShapes shapes;
  Inertia inertia;
  Transform pose;  // in the parent
  std::vector<Copy> copies;
};

struct MadeBody {
  const ParsedBody* parsed = nullptr;
  std::string name, suffix;  // in this file; of a repeated one
  LinkId link;
  LinkId hangs_on;  // of a chain: the link before
  Transform X_PL;
};

Inertia read_inertia(const YamlNode& node) {
  Inertia in;
  Vec3 moments = Vec3::Zero(), products = Vec3::Zero();
  std::vector<double> full;
  get(node, "mass", in.mass);
  get(node, "com", in.com);
  get(node, "moments", moments);
  get(node, "products", products);
  in.about_com << moments.x(), products.x(), products.y(), products.x(), moments.y(), products.z(),
      products.y(), products.z(), moments.z();
  if (get(node, "full", full)) {
    in.about_com << full[0], full[1], full[2], full[3], full[4], full[5], full[6], full[7], full[8];
  }
  return in;
}

Inertia inertia_of(NativeContext& c, const YamlNode& node, const ParsedShapes& shapes) {
  const YamlNode* given = node.find("inertia");
  if (given && node.has("mass")) {
    c.file.error(*given, "the mass is given twice", "leave `mass` or `inertia` out");
  }
  if (given) return read_inertia(*given);
  Inertia in = shapes.inertia();
  double mass = 0;
  if (!get(node, "mass", mass)) return in;
  if (!(in.mass > 0)) {
    // a point where no shape has a volume; a joint that turns it will be refused with the remedy
    return Inertia::point_mass(mass, Vec3::Zero());
  }
  in.about_com *= mass / in.mass;
  in.mass = mass;
  return in;
}

class BodyReader {
 public:
  explicit BodyReader(NativeContext& c) : c_(c) {}

  void run(const YamlNode& root) {
    for (const YamlNode* node : items(root, "bodies")) parse(*node);
    for (const ParsedBody& body : parsed_) make(body);
    if (!c_.build.report.ok()) return;
    const std::vector<const YamlNode*> listed_joints = items(root, "joints");
    for (const YamlNode* node : listed_joints) {
      if (const YamlNode* child = node->find("child")) listed_.insert(c_.prefixed(child->text));
    }
    for (const MadeBody& body : made_) join_nested(body);
    for (const YamlNode* node : listed_joints) join_listed(*node);
    for (const MadeBody& body : made_) hang(body);
    if (!c_.build.report.ok()) return;
    for (const YamlNode* node : items(root, "loops")) close_loop(*node);
  }

 private:
  void parse(const YamlNode& node) {
    ParsedBody& body = parsed_.emplace_back();
    body.node = &node;
    body.copies = read_copies(c_, node);
    c_.includes.bodies += static_cast<std::int64_t>(body.copies.size());
    body.shapes = read_shapes(c_, node);
    body.inertia = inertia_of(c_, node, body.shapes);
    body.pose = read_pose(c_, node);
  }

  void make(const ParsedBody& body) {
    const std::string name = body.node->find("name")->text;
    const std::size_t first = made_.size();
    for (const Copy& copy : body.copies) {
      if (c_.build.report.full()) return;
      MadeBody made{.parsed = &body, .name = name + copy.suffix, .suffix = copy.suffix, .X_PL = body.pose};
      if (c_.links.contains(c_.prefixed(made.name)) || made.name == "world") {
        c_.file.error(*body.node, fmt::format("a second body is called {}", in_quotes(made.name)),
                      "give it another name");
        return;
      }
      made.link = c_.build.add_link(made.name, body.inertia, c_.file.where(*body.node));
      c_.links.emplace(c_.prefixed(made.name), made.link);
      if (copy.chained_to >= 0) {
        made.hangs_on = made_[first + static_cast<std::size_t>(copy.chained_to)].link;
        made.X_PL = Transform::translation(copy.offset);
      } else if (!copy.suffix.empty()) {
        made.X_PL.p += copy.offset;
      }
      add_shapes(c_, made.link, body.shapes);
      by_link_.emplace(made.link, made_.size());
      made_.push_back(std::move(made));
    }
  }

  // ---- joints

  LinkId parent_of(const MadeBody& body) {
    return body.hangs_on ? body.hangs_on : c_.link_at(*body.parsed->node, "parent", c_.mechanism().world());
  }

  void join_nested(const MadeBody& body) {
    const YamlNode* node = body.parsed->node->find("joint");
    const bool inner = body.hangs_on || body.parsed->node->has("parent");
    if (!node && !inner) return;
    if (listed_.contains(c_.prefixed(body.name))) {
      return c_.file.error(node ? *node : *body.parsed->node,
                           fmt::format("body {} has a joint here and one in `joints`", in_quotes(body.name)),
                           "leave one of them out");
    }
    const LinkId parent = parent_of(body);
    if (!parent) return;
    static const YamlNode kNothing{.kind = YamlNode::Kind::kMap};
    const bool word = node && node->is_scalar();
    ParsedJoint parsed = read_joint_frame(c_, node && !word ? *node : kNothing);
    if (!node) parsed.joint.kind = JointKind::kFixed;
    if (word) parsed.joint.kind = joint_kind(node->text);
    for (const char* key : {"parent", "child"}) {
      const YamlNode* at = node && !word ? node->find(key) : nullptr;
      if (at) c_.file.error(*at, fmt::format("'{}' is of joints in the list `joints`", key), "leave it out");
    }
    join(body, parent, parsed, node && !word ? *node : kNothing, node ? *node : *body.parsed->node);
  }

  void join_listed(const YamlNode& node) {
    if (!require(node, "parent") || !require(node, "child")) return;
    const LinkId parent = c_.link_at(node, "parent"), child = c_.link_at(node, "child");
    if (!parent || !child) return;
    const auto body = by_link_.find(child);
    if (body == by_link_.end()) {
      return c_.file.error(node, "the child of a joint is no body of this file",
                           "use a loop, which may join anything");
    }
    join(made_[body->second], parent, read_joint_frame(c_, node), node, node);
  }

  void join(const MadeBody& body, LinkId parent, ParsedJoint parsed, const YamlNode& node,
            const YamlNode& at) {
    Joint& joint = parsed.joint;
    const std::vector<Copy>& copies = body.parsed->copies;
    joint.name = body.name;
    if (get(node, "name", joint.name)) joint.name += body.suffix;
    joint.parent = parent;
    joint.child = body.link;
    const Inertia& inertia = body.parsed->inertia;
    if (joint.kind == JointKind::kFree && !parsed.in_child) joint.X_CM = Transform::translation(inertia.com);
    if (!parsed.in_parent) {
      joint.X_PF = body.X_PL * joint.X_CM;
    } else if (body.parsed->node->has("at") || copies.size() > 1) {
      c_.file.error(*node.find("in_parent"), "the place is given twice, by the body's pose and by in_parent",
                    "leave one of them out");
    }
    joint.X_PF = c_.on_link(parent, joint.X_PF);
    read_dofs(node, joint);
    if (c_.joints.contains(c_.prefixed(joint.name))) {
      return c_.file.error(at, fmt::format("a second joint is called {}", in_quotes(joint.name)),
                           "give it another name");
    }
    const JointId id = c_.build.add_joint(joint, c_.file.where(at));
    if (!id) return;
    c_.joints.emplace(c_.prefixed(joint.name), id);
    finish_joint(node, id);
    read_velocity(body, id);
  }

  /// What is said of a joint beside the joint itself.
  void finish_joint(const YamlNode& node, JointId id) {
    const InitialJoint initial = read_initial(c_, node, id);
    if (!initial.q.empty() || !initial.v.empty()) c_.build.out.scene.initial.push_back(initial);
    Breakable breakable{.joint = id};
    const bool force = get(node, "break_force", breakable.force);
    const bool torque = get(node, "break_torque", breakable.torque);
    if (force || torque) c_.build.out.script.breakables.push_back(breakable);
  }

  /// Of a body's origin in world axes, as that of the joint's frame M in F (joint.h).
  void read_velocity(const MadeBody& body, JointId id) {
    const YamlNode& node = *body.parsed->node;
    Vec3 v = Vec3::Zero(), w = Vec3::Zero();
    const bool linear = get(node, "velocity", v), angular = get(node, "angular_velocity", w);
    if (!linear && !angular) return;
    const Joint& joint = c_.mechanism().joint(id);
    auto& initial = c_.build.out.scene.initial;
    const bool placed = !initial.empty() && initial.back().joint == id;
    if (joint.kind != JointKind::kFree || joint.parent != c_.mechanism().world() || placed) {
      return c_.file.error(node, "a velocity is of a free body whose joint has no q or v of its own",
                           "give `v` of the joint instead");
    }
    const Mat3& R_pose = c_.build.options.pose.R;
    const Vec3 w_W = R_pose * w, arm = joint.X_PF.R * (joint.X_CM.R.transpose() * joint.X_CM.p);
    const Vec3 v_F = joint.X_PF.R.transpose() * (R_pose * v + w_W.cross(arm));
    const Vec3 w_F = joint.X_PF.R.transpose() * w_W;
    initial.push_back({id, {}, {v_F.x(), v_F.y(), v_F.z(), w_F.x(), w_F.y(), w_F.z()}});
  }

  void hang(const MadeBody& body) {
    if (c_.mechanism().link(body.link).joint || !c_.build.report.ok()) return;
    static const YamlNode kNothing{.kind = YamlNode::Kind::kMap};
    ParsedJoint parsed;
    parsed.joint.kind = JointKind::kFree;
    join(body, c_.mechanism().world(), parsed, kNothing, *body.parsed->node);
  }

  // ---- loops

  /// Of a link in the world, with all joints neutral.
  Transform neutral_pose(LinkId link) const {
    const Mechanism& m = c_.build.mechanism();
    Transform X;
    for (; link != m.world() && m.link(link).joint; link = m.link(link).parent) {
      const Joint& joint = m.joint(m.link(link).joint);
      X = joint.X_PF * joint.X_CM.inverse() * X;
    }
    return X;
  }

  void close_loop(const YamlNode& node) {
    if (!require(node, "name") || !require(node, "parent") || !require(node, "child")) return;
    ParsedJoint parsed = read_joint_frame(c_, node);
    Joint& joint = parsed.joint;
    get(node, "name", joint.name);
    joint.parent = c_.link_at(node, "parent");
    joint.child = c_.link_at(node, "child");
    if (!joint.parent || !joint.child) return;
    joint.X_PF = c_.on_link(joint.parent, joint.X_PF);
    joint.X_CM = c_.on_link(joint.child, joint.X_CM);
    if (joint.kind == JointKind::kDistance) {  // its frames are meant to be apart
      const Vec3 from = (neutral_pose(joint.parent) * joint.X_PF).p,
                 to = (neutral_pose(joint.child) * joint.X_CM).p;
      if (!node.find("distance") && !joint.range.bounded()) joint.distance = (to - from).norm();
    } else if (!parsed.in_child) {
      joint.X_CM = neutral_pose(joint.child).inverse() * neutral_pose(joint.parent) * joint.X_PF;
    } else if (!parsed.in_parent) {
      joint.X_PF = neutral_pose(joint.parent).inverse() * neutral_pose(joint.child) * joint.X_CM;
    }
    read_dofs(node, joint);
    if (c_.joints.contains(c_.prefixed(joint.name))) {
      return c_.file.error(node, fmt::format("a second joint is called {}", in_quotes(joint.name)),
                           "give it another name");
    }
    const JointId id = c_.build.add_loop(joint, c_.file.where(node));
    if (!id) return;
    c_.joints.emplace(c_.prefixed(joint.name), id);
    finish_joint(node, id);
    bool open = false;
    if (get(node, "open", open) && open) c_.build.out.open_loops.push_back(id);
  }

  // ---- values

  bool require(const YamlNode& node, const char* key) {
    if (node.has(key)) return true;
    c_.file.error(node, fmt::format("a joint in this list has no '{}'", key), "add it");
    return false;
  }

  static void read_dof(const YamlNode& node, DofProperties& dof) {
    std::vector<double> limits;
    if (get(node, "limits", limits)) dof.lower = limits[0], dof.upper = limits[1];
    if (get(node, "limits_deg", limits)) {
      dof.lower = limits[0] * std::numbers::pi / 180, dof.upper = limits[1] * std::numbers::pi / 180;
    }
    get_fields(node, kDofFields, dof);
  }

  void read_dofs(const YamlNode& node, Joint& joint) {
    const auto count = static_cast<std::size_t>(v_size(joint.kind));
    for (std::size_t k = 0; k < count; ++k) read_dof(node, joint.dofs[k]);
    const std::vector<const YamlNode*> each = items(node, "dofs");
    if (each.size() > count) {
      return c_.file.error(*node.find("dofs"), fmt::format("there are {} of `dofs`", each.size()),
                           fmt::format("a {} joint has {}", name(joint.kind), count));
    }
    for (std::size_t k = 0; k < each.size(); ++k) read_dof(*each[k], joint.dofs[k]);
  }

  NativeContext& c_;
  std::vector<ParsedBody> parsed_;
  std::vector<MadeBody> made_;
  std::unordered_map<LinkId, std::size_t> by_link_;  // index of made_
  std::set<std::string> listed_;                     // children of `joints`, by full name
};

}  // namespace

JointKind joint_kind(std::string_view word) {
  for (int k = 0; k <= static_cast<int>(JointKind::kDistance); ++k) {
    if (name(static_cast<JointKind>(k)) == word) return static_cast<JointKind>(k);
  }
  return JointKind::kFixed;  // the table allows no other words
}

ParsedJoint read_joint_frame(const NativeContext& c, const YamlNode& node) {
  ParsedJoint out;
  std::string kind = "revolute";
  get(node, "kind", kind);
  out.joint.kind = joint_kind(kind);
  get(node, "axis", out.joint.axis);
  get(node, "second_axis", out.joint.second_axis);
  get(node, "pitch", out.joint.pitch);
  get(node, "distance", out.joint.distance);
  out.joint.range = read_interval(node, "range");
  get_fields(node, kClosingFields, out.joint);
  if (const YamlNode* at = node.find("in_parent")) out.in_parent = true, out.joint.X_PF = read_pose(c, *at);
  if (const YamlNode* at = node.find("in_child")) out.in_child = true, out.joint.X_CM = read_pose(c, *at);
  return out;
}

InitialJoint read_initial(NativeContext& c, const YamlNode& node, JointId id) {
  InitialJoint initial{.joint = id, .q = {}, .v = {}};
  const Joint& joint = c.mechanism().joint(id);
  get(node, "v", initial.v);
  if (!get(node, "q", initial.q) && get(node, "q_deg", initial.q)) {
    bool turns = !has_quaternion(joint.kind);
    for (int k = 0; k < v_size(joint.kind); ++k)
      turns = turns && dof_kind(joint.kind, k) != DofKind::kTranslation;
    if (!turns)
      c.file.error(*node.find("q_deg"), fmt::format("degrees do not fit a {} joint", name(joint.kind)),
                   "give q");
    for (double& q : initial.q) q *= std::numbers::pi / 180;
  }
  const auto fits = [&](const std::vector<double>& values, int size, const char* key) {
    if (values.empty() || static_cast<int>(values.size()) == size) return;
    const YamlNode* at = node.find(key);
    c.file.error(at ? *at : node,
                 fmt::format("{} of joint {} has {} numbers", key, in_quotes(joint.name), values.size()),
                 fmt::format("a {} joint has {}", name(joint.kind), size));
  };
  fits(initial.q, q_size(joint.kind), "q");
  fits(initial.v, v_size(joint.kind), "v");
  const bool closes = c.mechanism().link(joint.child).is_virtual();
  if (closes && (!initial.q.empty() || !initial.v.empty())) {
    c.file.error(node, "a joint that closes a loop has no position of its own", "leave q and v out");
    return {.joint = id, .q = {}, .v = {}};
  }
  return initial;
}

std::vector<Copy> read_copies(NativeContext& c, const YamlNode& node) {
  std::vector<Copy> copies{Copy{}};
  std::vector<int> outer{0};  // index of each copy in the repetition before
  for (const YamlNode* repeat : items(node, "repeat")) {
    int count = 0, shrink = 0;
    bool chain = false;
    Vec3 offset = Vec3::Zero(), alternate = Vec3::Zero();
    get(*repeat, "count", count), get(*repeat, "shrink", shrink), get(*repeat, "chain", chain);
    get(*repeat, "offset", offset), get(*repeat, "alternate", alternate);
    std::vector<Copy> next;
    std::vector<int> index;
    for (std::size_t k = 0; k < copies.size(); ++k) {
      const int here = static_cast<int>(std::max<std::int64_t>(0, count - std::int64_t{shrink} * outer[k]));
      for (int i = 0; i < here; ++i) {
        Copy copy = copies[k];
        copy.suffix += fmt::format("_{}", i);
        if (chain && i > 0) {
          copy.offset = offset;
          copy.chained_to = static_cast<int>(next.size()) - 1;
        } else if (!chain) {
          copy.offset += i * offset + (i % 2) * alternate;
        }
        next.push_back(std::move(copy));
        index.push_back(i);
      }
    }
    const bool last = repeat == items(node, "repeat").back();
    if (chain && !last)
      c.file.error(*repeat, "a chain is repeated within", "let the chain be the last repetition");
    copies = std::move(next);
    outer = std::move(index);
  }
  return copies;
}

void read_bodies(NativeContext& c, const YamlNode& root) { BodyReader(c).run(root); }

}  // namespace karakuri::io
