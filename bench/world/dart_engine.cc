// A setup in DART: one skeleton per tree, its own collision detection where there are boxes and balls only,
// else FCL's. It takes the smaller of two frictions, so that bodies rub on each other as they do on the floor
// where the setup says that they slide; it knows no armature: rotors turn with their links.
#include "engine.h"

#ifdef KARAKURI_HAVE_DART

#include <algorithm>
#include <dart/collision/CollisionFilter.hpp>
#include <dart/collision/dart/DARTCollisionDetector.hpp>
#include <dart/constraint/ConstraintSolver.hpp>
#include <dart/dynamics/BoxShape.hpp>
#include <dart/dynamics/FreeJoint.hpp>
#include <dart/dynamics/RevoluteJoint.hpp>
#include <dart/dynamics/Skeleton.hpp>
#include <dart/dynamics/SphereShape.hpp>
#include <dart/dynamics/WeldJoint.hpp>
#include <dart/simulation/World.hpp>

#include <fmt/format.h>

namespace karakuri::bench {

namespace {

namespace dd = dart::dynamics;

// Its contact problem is dense and solved by pivoting; one for each robot, but one for a whole stack.
constexpr int kMostBodies = 60;
constexpr int kMostOfRobots = 300;

Eigen::Isometry3d isometry(const Transform& X) {
  Eigen::Isometry3d T = Eigen::Isometry3d::Identity();
  T.linear() = X.R;
  T.translation() = X.p;
  return T;
}

bool has_only(const Setup& setup, const std::vector<ShapeKind>& kinds) {
  for (const BodyPlan& body : setup.bodies) {
    for (const Part& part : body.parts) {
      if (std::find(kinds.begin(), kinds.end(), part.shape.kind()) == kinds.end()) return false;
    }
  }
  return true;
}

class Dart : public Engine {
 public:
  explicit Dart(const Setup& setup) : s_(setup), world_(dart::simulation::World::create()) {
    world_->setTimeStep(s_.dt);
    world_->setGravity({0, 0, -9.81});
    world_->getConstraintSolver()->setCollisionDetector(dart::collision::DARTCollisionDetector::create());
    add_floor();
    const auto links = split_into_links(s_, {.small_mass = 1e-3, .armature_as_inertia = true});
    bodies_.resize(s_.bodies.size());
    for (const LinkPlan& link : links) add_link(link);
    for (const auto& skeleton : skeletons_) world_->addSkeleton(skeleton);
    auto filter = std::make_shared<dart::collision::BodyNodeCollisionFilter>();
    for (const auto& [a, b] : pairs_apart(s_)) filter->addBodyNodePairToBlackList(bodies_[a], bodies_[b]);
    auto& option = world_->getConstraintSolver()->getCollisionOption();
    option.collisionFilter = filter;
    option.maxNumContacts = 100'000;
  }

  void step() override {
    for (const auto& [joint, servo] : servos_) joint->setRestPosition(0, servo->target_at(world_->getTime()));
    world_->step();
  }
  Vec3 position(int body) const override { return bodies_[static_cast<std::size_t>(body)]->getCOM(); }
  int contacts() const override {
    return static_cast<int>(world_->getLastCollisionResult().getNumContacts());
  }
  double penetration() const override {
    double deepest = 0;
    for (const auto& contact : world_->getLastCollisionResult().getContacts()) {
      deepest = std::max(deepest, contact.penetrationDepth);
    }
    return deepest;
  }

 private:
  static void add_shape(dd::BodyNode* body, const dd::ShapePtr& shape, const Transform& X, double friction) {
    auto* node = body->createShapeNodeWith<dd::CollisionAspect, dd::DynamicsAspect>(shape);
    node->setRelativeTransform(isometry(X));
    node->getDynamicsAspect()->setFrictionCoeff(friction);
  }

  static void add_part(dd::BodyNode* body, const Part& part, double friction) {
    const Vec3& size = part.shape.size();
    if (part.shape.kind() == ShapeKind::kBox) {
      add_shape(body, std::make_shared<dd::BoxShape>(2 * size), part.X_BS, friction);
      return;
    }
    const auto ball = std::make_shared<dd::SphereShape>(size.x());
    if (part.shape.kind() == ShapeKind::kSphere) {
      add_shape(body, ball, part.X_BS, friction);
      return;
    }
    for (const double z : {-size.z(), size.z()}) {
      add_shape(body, ball, part.X_BS * Transform::translation({0, 0, z}), friction);
    }
  }

  /// A box: its planes do not work with all of its shapes.
  void add_floor() {
    auto skeleton = dd::Skeleton::create("floor");
    dd::BodyNode* body = skeleton->createJointAndBodyNodePair<dd::WeldJoint>().second;
    add_shape(body, std::make_shared<dd::BoxShape>(Vec3(1000, 1000, 2)), Transform::translation({0, 0, -1}),
              s_.floor_friction);
    world_->addSkeleton(skeleton);
  }

  void add_link(const LinkPlan& link) {
    const std::string name = fmt::format("link{}", links_.size());
    dd::BodyNode* body = link.hinge ? add_hinged(link, name) : add_free(link, name);
    body->setInertia(dd::Inertia(link.inertia.mass, link.inertia.com, link.inertia.about_com));
    links_.push_back(body);
    if (!link.real) return;
    bodies_[static_cast<std::size_t>(link.body)] = body;
    const double friction = s_.body_friction > 0 ? s_.body_friction : s_.floor_friction;
    for (const Part& part : s_.bodies[static_cast<std::size_t>(link.body)].parts) {
      add_part(body, part, friction);
    }
  }

  dd::BodyNode* add_free(const LinkPlan& link, const std::string& name) {
    skeletons_.push_back(dd::Skeleton::create(name));
    skeletons_.back()->enableSelfCollisionCheck();
    dd::FreeJoint::Properties properties;
    properties.mName = name;
    properties.mT_ParentBodyToJoint = isometry(link.X_WL);
    return skeletons_.back()
        ->createJointAndBodyNodePair<dd::FreeJoint>(nullptr, properties, dd::BodyNode::AspectProperties(name))
        .second;
  }

  dd::BodyNode* add_hinged(const LinkPlan& link, const std::string& name) {
    const Hinge& h = *link.hinge;
    dd::RevoluteJoint::Properties properties;
    properties.mName = name;
    properties.mT_ParentBodyToJoint = isometry(link.X_PL * Transform::translation(h.anchor));
    properties.mT_ChildBodyToJoint = isometry(Transform::translation(h.anchor));
    properties.mAxis = h.axis.normalized();
    const auto [joint, body] = skeletons_.back()->createJointAndBodyNodePair<dd::RevoluteJoint>(
        links_[static_cast<std::size_t>(link.parent)], properties, dd::BodyNode::AspectProperties(name));
    joint->setSpringStiffness(0, h.stiffness + h.servo.stiffness);
    joint->setDampingCoefficient(0, h.damping + h.servo.damping);
    if (h.lower > -kInfinity) {
      joint->setPositionLowerLimit(0, h.lower);
      joint->setPositionUpperLimit(0, h.upper);
      joint->setLimitEnforcement(true);
    }
    if (h.servo.used()) servos_.emplace_back(joint, &h.servo);
    return body;
  }

  const Setup& s_;
  dart::simulation::WorldPtr world_;
  std::vector<dd::SkeletonPtr> skeletons_;
  std::vector<dd::BodyNode*> bodies_;  // of the setup's bodies
  std::vector<dd::BodyNode*> links_;   // of the links
  std::vector<std::pair<dd::Joint*, const Servo*>> servos_;
};

}  // namespace

Made make_dart(const Setup& setup) {
  if (needs_world_shapes(setup))
    return Diagnostic{Severity::kNote, "DART", "left out: only the floor is built there", ""};
  const int most = setup.articulated() ? kMostOfRobots : kMostBodies;
  if (static_cast<int>(setup.bodies.size()) > most) {
    return too_slow("DART", setup, "its contact problem is dense: more than a second a step");
  }
  if (!has_only(setup, {ShapeKind::kBox, ShapeKind::kSphere, ShapeKind::kCapsule})) {
    return Diagnostic{Severity::kNote, "DART", "left out where there are convex polyhedra", ""};
  }
  return std::unique_ptr<Engine>(std::make_unique<Dart>(setup));
}

}  // namespace karakuri::bench

#else

namespace karakuri::bench {
Made make_dart(const Setup&) { return not_installed("DART", "libdart-dev"); }
}  // namespace karakuri::bench

#endif
