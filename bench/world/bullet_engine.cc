// A setup in Bullet (double precision): free bodies as rigid bodies, trees as multibodies in joint
// coordinates. It knows no armature: rotors turn with their links. Springs and dampers are rows of its
// solver, see softness.h.
#include "engine.h"

#ifdef KARAKURI_HAVE_BULLET

#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <BulletDynamics/Featherstone/btMultiBodyConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <BulletDynamics/Featherstone/btMultiBodyJointLimitConstraint.h>
#include <BulletDynamics/Featherstone/btMultiBodyJointMotor.h>
#include <BulletDynamics/Featherstone/btMultiBodyLinkCollider.h>
#include <btBulletDynamicsCommon.h>

#include <algorithm>

#include "karakuri/constraint/softness.h"

namespace karakuri::bench {

namespace {

constexpr int kLongestChain = 500;  // bodies of one tree: each contact row takes time with its length

btVector3 bt(const Vec3& v) { return {v.x(), v.y(), v.z()}; }
btMatrix3x3 bt(const Mat3& R) {
  return {R(0, 0), R(0, 1), R(0, 2), R(1, 0), R(1, 1), R(1, 2), R(2, 0), R(2, 1), R(2, 2)};
}
btTransform bt(const Transform& X) { return btTransform(bt(X.R), bt(X.p)); }
btQuaternion quaternion(const Mat3& R) {
  btQuaternion q;
  bt(R).getRotation(q);
  return q;
}

/// A spring and damper as a soft row: Bullet's motor with compliance.
class SpringMotor : public btMultiBodyJointMotor {
 public:
  SpringMotor(btMultiBody* body, int link, const Hinge& hinge, double dt)
      : btMultiBodyJointMotor(body, link, 0, 0, 1e10), hinge_(hinge), dt_(dt) {
    set_time(0);
    setVelocityTarget(0, 1);
    setErp(1);
  }

  void set_time(double time) {
    const Servo& s = hinge_.servo;
    const double k = hinge_.stiffness + s.stiffness, d = hinge_.damping + s.damping;
    const double rest = k > 0 ? s.stiffness * s.target_at(time) / k : 0;  // of both springs together
    compliance_ = implicit_spring(k, d, 0, dt_).compliance;
    setPositionTarget(rest, dt_ * k / (dt_ * k + d));
  }

  void createConstraintRows(btMultiBodyConstraintArray& rows, btMultiBodyJacobianData& data,
                            const btContactSolverInfo& info) override {
    const int first = rows.size();
    btMultiBodyJointMotor::createConstraintRows(rows, data, info);
    for (int k = first; k < rows.size(); ++k) {
      btMultiBodySolverConstraint& row = rows[k];
      const double inverse = 1 / (1 / row.m_jacDiagABInv + compliance_);
      row.m_rhs *= inverse / row.m_jacDiagABInv;
      row.m_jacDiagABInv = inverse;
      row.m_cfm = compliance_ * inverse;
    }
  }

 private:
  const Hinge& hinge_;
  double dt_;
  double compliance_ = 0;
};

class ApartFilter : public btOverlapFilterCallback {
 public:
  explicit ApartFilter(std::set<std::pair<int, int>> pairs) : pairs_(std::move(pairs)) {}
  bool needBroadphaseCollision(btBroadphaseProxy* a, btBroadphaseProxy* b) const override {
    const int i = static_cast<btCollisionObject*>(a->m_clientObject)->getUserIndex();
    const int j = static_cast<btCollisionObject*>(b->m_clientObject)->getUserIndex();
    return i != j && !pairs_.contains({std::min(i, j), std::max(i, j)});
  }

 private:
  std::set<std::pair<int, int>> pairs_;
};

/// The floor's friction counts where it takes part.
btScalar floors_friction(const btCollisionObject* a, const btCollisionObject* b) {
  return a->isStaticObject() ? a->getFriction() : b->isStaticObject() ? b->getFriction() : a->getFriction();
}

class Bullet : public Engine {
 public:
  explicit Bullet(const Setup& setup) : s_(setup), filter_(pairs_apart(setup)) {
    dispatcher_ = std::make_unique<btCollisionDispatcher>(&configuration_);
    if (s_.articulated()) {
      auto solver = std::make_unique<btMultiBodyConstraintSolver>();
      world_ = std::make_unique<btMultiBodyDynamicsWorld>(dispatcher_.get(), &broadphase_, solver.get(),
                                                          &configuration_);
      solver_ = std::move(solver);
    } else {
      solver_ = std::make_unique<btSequentialImpulseConstraintSolver>();
      world_ = std::make_unique<btDiscreteDynamicsWorld>(dispatcher_.get(), &broadphase_, solver_.get(),
                                                         &configuration_);
    }
    gCalculateCombinedFrictionCallback = floors_friction;
    world_->setGravity({0, 0, -9.81});
    world_->getSolverInfo().m_numIterations = s_.iterations;
    world_->getPairCache()->setOverlapFilterCallback(&filter_);
    objects_.resize(s_.bodies.size(), nullptr);
    add_still(keep(std::make_unique<btStaticPlaneShape>(btVector3(0, 0, 1), 0)), Transform::identity());
    for (const Part& part : s_.fixed) add_still(convert(part.shape), part.X_BS);
    add_trees();
  }

  ~Bullet() override {
    for (const auto& constraint : constraints_) multi_world().removeMultiBodyConstraint(constraint.get());
    for (const auto& body : multi_bodies_) multi_world().removeMultiBody(body.get());
    for (int k = world_->getNumCollisionObjects() - 1; k >= 0; --k) {
      world_->removeCollisionObject(world_->getCollisionObjectArray()[k]);
    }
  }

  void step() override {
    for (SpringMotor* motor : servos_) motor->set_time(time_);
    world_->stepSimulation(s_.dt, 0);
    time_ += s_.dt;
  }

  Vec3 position(int body) const override {
    const btVector3& p = objects_[static_cast<std::size_t>(body)]->getWorldTransform().getOrigin();
    return {p.x(), p.y(), p.z()};
  }
  int contacts() const override {
    int n = 0;
    each_contact([&](const btManifoldPoint& point) { n += point.getAppliedImpulse() > 0; });
    return n;
  }
  double penetration() const override {
    double deepest = 0;
    each_contact([&](const btManifoldPoint& point) { deepest = std::max(deepest, -point.getDistance()); });
    return deepest;
  }

 private:
  btMultiBodyDynamicsWorld& multi_world() { return static_cast<btMultiBodyDynamicsWorld&>(*world_); }

  template <class Call>
  void each_contact(const Call& call) const {
    for (int k = 0; k < dispatcher_->getNumManifolds(); ++k) {
      const btPersistentManifold& manifold = *dispatcher_->getManifoldByIndexInternal(k);
      for (int i = 0; i < manifold.getNumContacts(); ++i) call(manifold.getContactPoint(i));
    }
  }

  btCollisionShape* keep(std::unique_ptr<btCollisionShape> shape) {
    shapes_.push_back(std::move(shape));
    return shapes_.back().get();
  }

  btCollisionShape* convert(const Shape& shape) {
    const Vec3& size = shape.size();
    switch (shape.kind()) {
      case ShapeKind::kSphere: return keep(std::make_unique<btSphereShape>(size.x()));
      case ShapeKind::kCapsule: return keep(std::make_unique<btCapsuleShapeZ>(size.x(), 2 * size.z()));
      case ShapeKind::kCylinder:
        return keep(std::make_unique<btCylinderShapeZ>(btVector3(size.x(), size.x(), size.z())));
      case ShapeKind::kBox: {
        auto box = std::make_unique<btBoxShape>(bt(size));
        box->setSafeMargin(bt(size));
        return keep(std::move(box));
      }
      default: break;
    }
    auto hull = std::make_unique<btConvexHullShape>();
    for (int v = 0; v < shape.as_hull().vertex_count; ++v)
      hull->addPoint(bt(shape.as_hull().vertex(v)), false);
    hull->recalcLocalAabb();
    hull->setMargin(0.001);
    hull->initializePolyhedralFeatures();
    return keep(std::move(hull));
  }

  /// All parts of a body, in the frame of its principal axes.
  btCollisionShape* shape_of(const BodyPlan& body, const Transform& X_PB) {
    const Transform first = X_PB * body.parts[0].X_BS;
    if (body.parts.size() == 1 && first.p.norm() < 1e-12 && first.R.isIdentity(1e-12)) {
      return convert(body.parts[0].shape);
    }
    auto compound = std::make_unique<btCompoundShape>(true, static_cast<int>(body.parts.size()));
    for (const Part& part : body.parts) compound->addChildShape(bt(X_PB * part.X_BS), convert(part.shape));
    return keep(std::move(compound));
  }

  void add_still(btCollisionShape* shape, const Transform& X) {
    rigid_bodies_.push_back(std::make_unique<btRigidBody>(0, nullptr, shape));
    rigid_bodies_.back()->setWorldTransform(bt(X));
    rigid_bodies_.back()->setFriction(s_.floor_friction);
    rigid_bodies_.back()->setUserIndex(-1);
    world_->addRigidBody(rigid_bodies_.back().get());
  }

  void add_free(int index) {
    const BodyPlan& plan = s_.bodies[static_cast<std::size_t>(index)];
    const Inertia inertia = inertia_of(plan);
    const Principal principal = principal_of(inertia);
    const Transform X_BP{principal.axes, inertia.com};
    auto body = std::make_unique<btRigidBody>(inertia.mass, nullptr, shape_of(plan, X_BP.inverse()),
                                              bt(principal.moments));
    body->setWorldTransform(bt(plan.X_PB * X_BP));
    body->setFriction(s_.body_friction);
    body->setUserIndex(index);
    body->setActivationState(DISABLE_DEACTIVATION);
    body->setLinearVelocity(bt(plan.velocity));
    objects_[static_cast<std::size_t>(index)] = body.get();
    world_->addRigidBody(body.get());
    rigid_bodies_.push_back(std::move(body));
  }

  void add_trees() {
    const std::vector<LinkPlan> links =
        split_into_links(s_, {.small_mass = 1e-3, .armature_as_inertia = true});
    std::size_t first = 0;
    while (first < links.size()) {
      std::size_t last = first + 1;
      while (last < links.size() && links[last].parent >= 0) ++last;
      if (last == first + 1 && !links[first].hinge)
        add_free(links[first].body);
      else
        add_tree(links, first, last);
      first = last;
    }
  }

  static Transform principal_frame(const LinkPlan& link) {
    return {principal_of(link.inertia).axes, link.inertia.com};
  }

  /// Links [first, last): the first one is the base, or hangs on a base that is the world.
  void add_tree(const std::vector<LinkPlan>& links, std::size_t first, std::size_t last) {
    static const LinkPlan kWorld;
    const bool hangs = links[first].hinge != nullptr;
    const LinkPlan& base = hangs ? kWorld : links[first];
    const std::size_t from = hangs ? first : first + 1;
    const auto index = [&](std::size_t k) { return static_cast<int>(k) - static_cast<int>(from); };
    auto body = std::make_unique<btMultiBody>(
        static_cast<int>(last - from), hangs ? 0 : base.inertia.mass,
        hangs ? btVector3(0, 0, 0) : bt(principal_of(base.inertia).moments), hangs, false);
    body->setBaseWorldTransform(bt(hangs ? Transform::identity() : base.X_WL * principal_frame(base)));
    for (std::size_t k = from; k < last; ++k) {
      const bool on_base = links[k].parent < static_cast<int>(from);
      add_hinge(*body, index(k), on_base ? -1 : index(static_cast<std::size_t>(links[k].parent)), links[k],
                on_base ? base : links[static_cast<std::size_t>(links[k].parent)]);
    }
    body->finalizeMultiDof();
    body->setHasSelfCollision(true);
    body->setLinearDamping(0);
    body->setAngularDamping(0);
    multi_world().addMultiBody(body.get());
    for (std::size_t k = first; k < last; ++k) {
      if (links[k].real) add_collider(*body, index(k), links[k]);
      if (links[k].hinge) add_rows(*body, index(k), *links[k].hinge);
    }
    multi_bodies_.push_back(std::move(body));
  }

  static void add_hinge(btMultiBody& body, int index, int parent, const LinkPlan& link, const LinkPlan& on) {
    const Transform X_LP = principal_frame(link), X_onP = principal_frame(on);
    const Transform X = X_onP.inverse() * link.X_PL * X_LP;  // of this one's frame in the parent's
    const Vec3 anchor_on = X_onP.inverse() * (link.X_PL * link.hinge->anchor);
    const Vec3 to_com = -(X_LP.inverse() * link.hinge->anchor);
    const Vec3 axis = X_LP.R.transpose() * link.hinge->axis.normalized();
    body.setupRevolute(index, link.inertia.mass, bt(principal_of(link.inertia).moments), parent,
                       quaternion(X.R.transpose()), bt(axis), bt(anchor_on), bt(to_com), true);
  }

  void add_collider(btMultiBody& body, int link, const LinkPlan& plan) {
    auto collider = std::make_unique<btMultiBodyLinkCollider>(&body, link);
    const Transform X_LP = principal_frame(plan);
    collider->setCollisionShape(shape_of(s_.bodies[static_cast<std::size_t>(plan.body)], X_LP.inverse()));
    collider->setWorldTransform(bt(plan.X_WL * X_LP));
    collider->setFriction(s_.body_friction);
    collider->setUserIndex(plan.body);
    collider->setActivationState(DISABLE_DEACTIVATION);
    world_->addCollisionObject(collider.get(), btBroadphaseProxy::DefaultFilter,
                               btBroadphaseProxy::AllFilter);
    if (link < 0) {
      body.setBaseCollider(collider.get());
    } else {
      body.getLink(link).m_collider = collider.get();
    }
    objects_[static_cast<std::size_t>(plan.body)] = collider.get();
    colliders_.push_back(std::move(collider));
  }

  void add_rows(btMultiBody& body, int link, const Hinge& hinge) {
    const auto add = [&](std::unique_ptr<btMultiBodyConstraint> constraint) {
      constraint->finalizeMultiDof();
      multi_world().addMultiBodyConstraint(constraint.get());
      constraints_.push_back(std::move(constraint));
    };
    if (hinge.lower > -kInfinity) {
      add(std::make_unique<btMultiBodyJointLimitConstraint>(&body, link, hinge.lower, hinge.upper));
    }
    if (hinge.stiffness > 0 || hinge.damping > 0 || hinge.servo.used()) {
      auto motor = std::make_unique<SpringMotor>(&body, link, hinge, s_.dt);
      if (hinge.servo.used()) servos_.push_back(motor.get());
      add(std::move(motor));
    }
  }

  const Setup& s_;
  ApartFilter filter_;
  btDefaultCollisionConfiguration configuration_;
  btDbvtBroadphase broadphase_;
  std::unique_ptr<btCollisionDispatcher> dispatcher_;
  std::unique_ptr<btConstraintSolver> solver_;
  std::unique_ptr<btDiscreteDynamicsWorld> world_;
  std::vector<std::unique_ptr<btCollisionShape>> shapes_;
  std::vector<std::unique_ptr<btRigidBody>> rigid_bodies_;
  std::vector<std::unique_ptr<btMultiBody>> multi_bodies_;
  std::vector<std::unique_ptr<btMultiBodyLinkCollider>> colliders_;
  std::vector<std::unique_ptr<btMultiBodyConstraint>> constraints_;
  std::vector<SpringMotor*> servos_;
  std::vector<const btCollisionObject*> objects_;  // of the setup's bodies
  double time_ = 0;
};

}  // namespace

Made make_bullet(const Setup& setup) {
  if (has_heightfield(setup))
    return Diagnostic{Severity::kNote, "Bullet", "left out where there are hills", ""};
  if (largest_tree(setup) > kLongestChain) return too_slow("Bullet", setup, "a minute a step of a chain");
  return std::unique_ptr<Engine>(std::make_unique<Bullet>(setup));
}

}  // namespace karakuri::bench

#else

namespace karakuri::bench {
Made make_bullet(const Setup&) { return not_installed("Bullet", "libbullet-dev"); }
}  // namespace karakuri::bench

#endif
