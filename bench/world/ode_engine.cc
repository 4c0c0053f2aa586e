// A setup in ODE: bodies in six coordinates each, joined by hinges. It knows no armature: rotors turn with
// their links. Springs and dampers are the hinges' motors with ERP and CFM of their own, see softness.h.
#include "engine.h"

#ifdef KARAKURI_HAVE_ODE

#include <algorithm>

#include <ode/ode.h>

namespace karakuri::bench {

namespace {

constexpr int kMostExact = 40;      // bodies: the exact step's time grows with their cube
constexpr int kMostContacts = 8;    // of one pair of shapes
constexpr int kBoxIterations = 20;  // its default

/// One init for the whole program.
void start() {
  static const bool started = [] {
    dInitODE2(0);
    dSetMessageHandler([](int, const char*, va_list) {});  // it tells of every LCP that is hard
    return true;
  }();
  (void)started;
}

void set_rotation(const Mat3& R, dMatrix3 out) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) out[4 * i + j] = R(i, j);
    out[4 * i + 3] = 0;
  }
}

class Ode : public Engine {
 public:
  explicit Ode(const Setup& setup) : s_(setup), apart_(pairs_apart(setup)) {
    start();
    dRandSetSeed(0);  // its iteration shuffles the rows
    world_ = dWorldCreate();
    space_ = dHashSpaceCreate(nullptr);
    group_ = dJointGroupCreate(0);
    dWorldSetGravity(world_, 0, 0, -9.81);
    exact_ = s_.articulated() && static_cast<int>(s_.bodies.size()) <= kMostExact;
    dWorldSetQuickStepNumIterations(world_, s_.articulated() ? s_.iterations : kBoxIterations);
    dCreatePlane(space_, 0, 0, 1, 0);
    bodies_.resize(s_.bodies.size());
    // links that weigh nothing do not suit coordinates of this kind: 10 g
    const auto links =
        split_into_links(s_, {.small_mass = 0.01, .small_radius = 0.03, .armature_as_inertia = true});
    for (const LinkPlan& link : links) add_link(link);
  }

  ~Ode() override {
    dJointGroupDestroy(group_);
    dSpaceDestroy(space_);
    dWorldDestroy(world_);
  }

  void step() override {
    for (const Motor& motor : motors_) set_motor(motor);
    contacts_ = 0;
    deepest_ = 0;
    dSpaceCollide(space_, this,
                  [](void* self, dGeomID a, dGeomID b) { static_cast<Ode*>(self)->near(a, b); });
    exact_ ? dWorldStep(world_, s_.dt) : dWorldQuickStep(world_, s_.dt);
    dJointGroupEmpty(group_);
    time_ += s_.dt;
  }

  Vec3 position(int body) const override {
    return Vec3(dBodyGetPosition(bodies_[static_cast<std::size_t>(body)]));
  }
  int contacts() const override { return contacts_; }
  double penetration() const override { return deepest_; }

 private:
  struct Motor {
    dJointID joint;
    const Hinge* hinge;
  };

  void add_link(const LinkPlan& link) {
    dBodyID body = dBodyCreate(world_);
    const Vec3 com = link.X_WL * link.inertia.com;
    dBodySetPosition(body, com.x(), com.y(), com.z());
    dMatrix3 R;
    set_rotation(link.X_WL.R, R);
    dBodySetRotation(body, R);
    dMass mass;
    const Mat3& I = link.inertia.about_com;
    dMassSetParameters(&mass, link.inertia.mass, 0, 0, 0, I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2),
                       I(1, 2));
    dBodySetMass(body, &mass);
    link_bodies_.push_back(body);
    if (link.hinge) add_hinge(link, body);
    if (!link.real) return;
    const BodyPlan& plan = s_.bodies[static_cast<std::size_t>(link.body)];
    bodies_[static_cast<std::size_t>(link.body)] = body;
    for (const Part& part : plan.parts) {
      dGeomID geom = make_geom(part.shape);
      dGeomSetData(geom, reinterpret_cast<void*>(static_cast<std::intptr_t>(link.body)));
      dGeomSetBody(geom, body);
      const Vec3 p = part.X_BS.p - link.inertia.com;
      dGeomSetOffsetPosition(geom, p.x(), p.y(), p.z());
      set_rotation(part.X_BS.R, R);
      dGeomSetOffsetRotation(geom, R);
    }
  }

  dGeomID make_geom(const Shape& shape) {
    const Vec3& size = shape.size();
    switch (shape.kind()) {
      case ShapeKind::kSphere: return dCreateSphere(space_, size.x());
      case ShapeKind::kCapsule: return dCreateCapsule(space_, size.x(), 2 * size.z());
      case ShapeKind::kBox: return dCreateBox(space_, 2 * size.x(), 2 * size.y(), 2 * size.z());
      default: return nullptr;  // refused before
    }
  }

  void add_hinge(const LinkPlan& link, dBodyID body) {
    const Hinge& h = *link.hinge;
    dJointID joint = dJointCreateHinge(world_, nullptr);
    dJointAttach(joint, body, link_bodies_[static_cast<std::size_t>(link.parent)]);
    const Vec3 anchor = link.X_WL * h.anchor, axis = link.X_WL.R * h.axis.normalized();
    dJointSetHingeAnchor(joint, anchor.x(), anchor.y(), anchor.z());
    dJointSetHingeAxis(joint, axis.x(), axis.y(), axis.z());
    if (h.lower > -kInfinity) {
      dJointSetHingeParam(joint, dParamLoStop, h.lower);
      dJointSetHingeParam(joint, dParamHiStop, h.upper);
    }
    if (h.stiffness > 0 || h.damping > 0 || h.servo.used()) {
      motors_.push_back({joint, &h});
      set_motor(motors_.back());
    }
  }

  void set_motor(const Motor& motor) const {
    const Hinge& h = *motor.hinge;
    const double k = h.stiffness + h.servo.stiffness, d = h.damping + h.servo.damping;
    const double rest = k > 0 ? h.servo.stiffness * h.servo.target_at(time_) / k : 0;
    const double angle = dJointGetHingeAngle(motor.joint);
    // at a limit the motor's row gives way to that of the limit, and the motor's full force would be added
    dJointSetHingeParam(motor.joint, dParamFMax, angle > h.lower && angle < h.upper ? 1e10 : 0);
    dJointSetHingeParam(motor.joint, dParamVel, k * (rest - angle) / (s_.dt * k + d));
    dJointSetHingeParam(motor.joint, dParamCFM, 1 / (s_.dt * k + d));
  }

  void near(dGeomID a, dGeomID b) {
    dBodyID body_a = dGeomGetBody(a), body_b = dGeomGetBody(b);
    if (body_a && body_b) {
      const int i = static_cast<int>(reinterpret_cast<std::intptr_t>(dGeomGetData(a)));
      const int j = static_cast<int>(reinterpret_cast<std::intptr_t>(dGeomGetData(b)));
      if (i == j || apart_.contains({std::min(i, j), std::max(i, j)})) return;
    }
    dContact contacts[kMostContacts] = {};
    const int n = dCollide(a, b, kMostContacts, &contacts[0].geom, sizeof(dContact));
    for (int k = 0; k < n; ++k) {
      contacts[k].surface.mode = dContactApprox1;  // the friction's bound follows the normal force
      contacts[k].surface.mu = body_a && body_b ? s_.body_friction : s_.floor_friction;
      dJointAttach(dJointCreateContact(world_, group_, &contacts[k]), body_a, body_b);
      deepest_ = std::max<double>(deepest_, contacts[k].geom.depth);
    }
    contacts_ += n;
  }

  const Setup& s_;
  std::set<std::pair<int, int>> apart_;
  dWorldID world_ = nullptr;
  dSpaceID space_ = nullptr;
  dJointGroupID group_ = nullptr;
  bool exact_ = false;
  std::vector<dBodyID> bodies_;       // of the setup's bodies
  std::vector<dBodyID> link_bodies_;  // of the links
  std::vector<Motor> motors_;
  int contacts_ = 0;
  double deepest_ = 0;
  double time_ = 0;
};

}  // namespace

Made make_ode(const Setup& setup) {
  if (needs_world_shapes(setup))
    return Diagnostic{Severity::kNote, "ODE", "left out: only the floor is built there", ""};
  for (const BodyPlan& body : setup.bodies) {
    if (body.parts[0].shape.kind() == ShapeKind::kHull) {
      return Diagnostic{Severity::kNote, "ODE", "left out: contacts of its convex polyhedra end the program",
                        ""};
    }
  }
  return std::unique_ptr<Engine>(std::make_unique<Ode>(setup));
}

}  // namespace karakuri::bench

#else

namespace karakuri::bench {
Made make_ode(const Setup&) { return not_installed("ODE", "libode-dev"); }
}  // namespace karakuri::bench

#endif
