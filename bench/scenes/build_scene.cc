#include "scenes/build_scene.h"

#include <fmt/format.h>

namespace karakuri::bench {

namespace {

Joint hinge_joint(const LinkPlan& plan, const std::string& name, LinkId parent, LinkId child) {
  const Hinge& h = *plan.hinge;
  Joint joint;
  joint.name = name;
  joint.kind = JointKind::kRevolute;
  joint.parent = parent;
  joint.child = child;
  joint.X_PF = plan.X_PL * Transform::translation(h.anchor);
  joint.X_CM = Transform::translation(h.anchor);
  joint.axis = h.axis.normalized();
  joint.dofs[0].lower = h.lower;
  joint.dofs[0].upper = h.upper;
  joint.dofs[0].damping = h.damping;
  joint.dofs[0].stiffness = h.stiffness;
  joint.dofs[0].armature = h.armature;
  return joint;
}

class Builder {
 public:
  explicit Builder(const Setup& setup) : s_(setup) {}

  BuiltScene run() {
    const MaterialId floor = add_material("floor", s_.floor_friction);
    body_ = add_material("body", s_.body_friction);
    Surface between;
    between.static_friction = between.kinetic_friction = s_.floor_friction;
    out_.scene.pairs.push_back({floor, body_, between});
    out_.scene.add_ground(floor);
    for (const Part& part : s_.fixed)
      out_.scene.add_shape(out_.scene.mechanism.world(), part.shape, part.X_BS, floor);
    const std::vector<LinkPlan> plans = split_into_links(s_, {});
    for (std::size_t i = 0; i < plans.size(); ++i) add_link(plans[i], static_cast<int>(i));
    for (const auto& [a, b] : pairs_apart(s_)) {
      out_.scene.no_contact.emplace_back(out_.links[a], out_.links[b]);
    }
    return std::move(out_);
  }

 private:
  MaterialId add_material(const std::string& name, double friction) {
    Material material{name, {}};
    material.surface.static_friction = material.surface.kinetic_friction = friction;
    return out_.scene.mechanism.add_material(material);
  }

  void add_link(const LinkPlan& plan, int index) {
    Mechanism& m = out_.scene.mechanism;
    const BodyPlan& body = s_.bodies[plan.body];
    const std::string name = fmt::format("{}.{}", body.name, index);
    if (!plan.hinge) {
      links_.push_back(m.add_free_link(name, plan.inertia, plan.X_WL));
    } else {
      links_.push_back(m.add_link(name, plan.inertia));
      const LinkId parent = plan.parent < 0 ? m.world() : links_[plan.parent];
      const JointId joint = m.add_joint(hinge_joint(plan, name, parent, links_.back())).value();
      if (plan.hinge->servo.used()) {
        out_.joints.push_back(joint);
        out_.servos.push_back(&plan.hinge->servo);
      }
    }
    if (!plan.real) return;
    out_.links.push_back(links_.back());
    for (const Part& part : body.parts) out_.scene.add_shape(links_.back(), part.shape, part.X_BS, body_);
  }

  const Setup& s_;
  BuiltScene out_;
  MaterialId body_;
  std::vector<LinkId> links_;  // of the plans
};

}  // namespace

BuiltScene build_scene(const Setup& setup) { return Builder(setup).run(); }

void set_velocities(const Setup& setup, const BuiltScene& built, World& world) {
  for (std::size_t i = 0; i < setup.bodies.size(); ++i) {
    const BodyPlan& body = setup.bodies[i];
    if (body.is_free() && !body.velocity.isZero(0))
      world.set_velocity(built.links[i], {Vec3::Zero(), body.velocity});
  }
}

void set_drives(const BuiltScene& built, World& world) {
  for (std::size_t k = 0; k < built.joints.size(); ++k) {
    Drive drive;
    drive.stiffness = built.servos[k]->stiffness;
    drive.damping = built.servos[k]->damping;
    drive.q_target = built.servos[k]->target_at(world.time());
    world.set_drive(built.joints[k], drive);
  }
}

}  // namespace karakuri::bench
