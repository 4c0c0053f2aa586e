// A setup as a Scene of ours. Bodies with several hinges hang on links in between that weigh 0.1 g.
#include <fmt/format.h>

#include "engine.h"
#include "karakuri/world/world.h"

namespace karakuri::bench {

namespace {

struct BuiltScene {
  Scene scene;
  std::vector<LinkId> links;         // of the setup's bodies
  std::vector<JointId> joints;       // with servos
  std::vector<const Servo*> servos;  // of these joints
};

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
      const JointId joint = m.add_joint(hinge_joint(plan, name, links_[plan.parent], links_.back())).value();
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

class Ours : public Engine {
 public:
  Ours(const Setup& setup, World world, const BuiltScene& built)
      : s_(setup),
        world_(std::move(world)),
        links_(built.links),
        joints_(built.joints),
        servos_(built.servos) {
    for (const BodyPlan& body : s_.bodies) coms_.push_back(inertia_of(body).com);
    set_drives();
  }

  void step() override {
    set_drives();
    world_.step();
  }
  Vec3 position(int body) const override { return world_.pose(links_[body]) * coms_[body]; }
  int contacts() const override {
    int n = 0;
    for (const Contact& c : world_.contacts()) n += c.state != ContactState::kOpen;
    return n;
  }
  double penetration() const override { return world_.report().penetration; }
  std::optional<StepReport> report() const override { return world_.report(); }
  std::optional<StepTimes> times() const override { return world_.times(); }

 private:
  void set_drives() {
    for (std::size_t k = 0; k < joints_.size(); ++k) {
      Drive drive;
      drive.stiffness = servos_[k]->stiffness;
      drive.damping = servos_[k]->damping;
      drive.q_target = servos_[k]->target_at(world_.time());
      world_.set_drive(joints_[k], drive);
    }
  }

  const Setup& s_;
  World world_;
  std::vector<LinkId> links_;
  std::vector<JointId> joints_;
  std::vector<const Servo*> servos_;
  std::vector<Vec3> coms_;
};

}  // namespace

Made make_karakuri(const Setup& setup, const WorldSettings& wanted) {
  BuiltScene built = Builder(setup).run();
  WorldSettings settings = wanted;
  settings.dt = setup.dt;
  settings.sleep.enabled = false;
  Result<World> world = World::make(std::move(built.scene), settings);
  if (!world) return world.errors();
  return std::unique_ptr<Engine>(std::make_unique<Ours>(setup, std::move(world).value(), built));
}

}  // namespace karakuri::bench
