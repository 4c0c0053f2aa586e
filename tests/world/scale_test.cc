// Nothing depends on units: a scene with all lengths times 2^10, masses times 2^30 and a step times 2^5,
// which leaves gravity as it is, has the same coordinates, times powers of two, bit for bit and for ever. So
// no constant of the step is a length, a speed, a time or a mass.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "karakuri/core/random.h"
#include "karakuri/spatial/rotation.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

/// What a metre, a kilogram and a second are written as.
struct Units {
  int length = 0, mass = 0;  // exponents of two; that of time is half of the first: g stays

  double m(double x) const { return std::ldexp(x, length); }
  Vec3 m(const Vec3& v) const { return std::ldexp(1.0, length) * v; }
  Transform m(Transform X) const {
    X.p = m(X.p);
    return X;
  }
  double kg(double x) const { return std::ldexp(x, mass); }
  double s(double x) const { return std::ldexp(x, length / 2); }
  double per_s(double x) const { return std::ldexp(x, -length / 2); }
  double m_per_s(double x) const { return per_s(m(x)); }
  double newton(double x) const { return kg(x); }  // g is what it is
  double newton_m(double x) const { return m(kg(x)); }
  /// Per radian; or per metre, where the dof slides.
  double stiffness(double x, bool slides) const { return slides ? per_s(per_s(kg(x))) : newton_m(x); }
  double damping(double x, bool slides) const { return s(stiffness(x, slides)); }
  double armature(double x, bool slides) const { return slides ? kg(x) : m(newton_m(x)); }
  double effort(double x, bool slides) const { return slides ? newton(x) : newton_m(x); }
};

constexpr Units kUnits[] = {{-10, 0}, {10, 0}, {0, -30}, {0, 30}, {-10, 30}, {10, -30}, {10, 30}, {-10, -30}};

/// A world and what is done to it before each step.
struct Played {
  World world;
  std::function<void(World&, int)> act = [](World&, int) {};
};
using Make = std::function<Played(const Units&)>;

/// Coordinates and velocities, in metres and seconds.
std::vector<double> numbers_of(const World& world, const Units& units) {
  const Units back{-units.length, -units.mass};
  const Model& model = world.model();
  std::vector<double> q = world.state().q, v = world.state().v;
  for (const Body& body : model.bodies) {
    for (int k = 0; k < body.dofs; ++k) {
      const bool slides = model.dofs[body.first_v + k].kind == DofKind::kTranslation;
      if (slides) q[body.first_q + k] = back.m(q[body.first_q + k]);
      double& rate = v[body.first_v + k];
      rate = slides ? back.m_per_s(rate) : back.per_s(rate);
    }
  }
  q.insert(q.end(), v.begin(), v.end());
  return q;
}

/// Where the contacts of two worlds differ; empty where they do not.
std::string contacts_differ(const World& a, const World& b, const Units& units) {
  const Units back{-units.length, -units.mass};
  if (a.contacts().size() != b.contacts().size())
    return std::to_string(a.contacts().size()) + " contacts, not " + std::to_string(b.contacts().size());
  for (std::size_t i = 0; i < a.contacts().size(); ++i) {
    const Contact &x = a.contacts()[i], &y = b.contacts()[i];
    const std::string name = "contact " + std::to_string(i) + ": ";
    if (x.feature != y.feature) return name + "feature";
    if (x.normal != y.normal) return name + "normal";
    if (x.separation != back.m(y.separation)) return name + "separation";
    if (x.point != back.m(y.point)) return name + "point";
    if (x.state != y.state) return name + "state";
  }
  return {};
}

/// Steps the scene in all units side by side.
void expect_same(const Make& make, int steps, const std::string& name = "") {
  std::vector<Played> others;
  Played plain = make({});
  for (const Units& units : kUnits) others.push_back(make(units));
  for (int k = 0; k < steps; ++k) {
    plain.act(plain.world, k);
    plain.world.step();
    const std::vector<double> expected = numbers_of(plain.world, {});
    for (std::size_t i = 0; i < others.size(); ++i) {
      others[i].act(others[i].world, k);
      others[i].world.step();
      if (expected == numbers_of(others[i].world, kUnits[i])) continue;
      FAIL() << name << ": another state after step " << k + 1 << ", lengths 2^" << kUnits[i].length
             << ", masses 2^" << kUnits[i].mass << "; "
             << contacts_differ(plain.world, others[i].world, kUnits[i]);
    }
  }
}

Played made(Scene scene, const Units& units, double dt) {
  return {test::make_world(std::move(scene), {.dt = units.s(dt)}, {0, 0, -9.81})};
}

TEST(Scale, AStackOfTen) {
  expect_same(
      [](const Units& u) {
        Scene scene;
        const MaterialId stone = test::add_material(scene, 0.5);
        scene.add_ground(stone);
        for (int i = 0; i < 10; ++i)
          scene.add_body("box" + std::to_string(i), Shape::box(u.m(Vec3(0.5, 0.4, 0.3))), u.kg(1 + 0.3 * i),
                         Transform::translation(u.m(Vec3(0.01 * (i % 3), 0, 0.31 + 0.61 * i))), stone);
        return made(std::move(scene), u, 1.0 / 100);
      },
      300);
}

TEST(Scale, ASlidingBox) {
  expect_same(
      [](const Units& u) {
        Scene scene;
        const MaterialId stone = test::add_material(scene, 0.3);
        scene.add_ground(stone);
        const LinkId box = scene.add_body("box", Shape::box(u.m(Vec3(0.2, 0.1, 0.05))), u.kg(0.7),
                                          Transform::translation(u.m(Vec3(0, 0, 0.05))), stone);
        Played out = made(std::move(scene), u, 1e-3);
        out.world.set_velocity(box, {{0, 0, u.per_s(2)}, u.m_per_s(1) * Vec3(1.2, 0.4, 0)});
        return out;
      },
      600);
}

Joint slide(const Scene& scene, const char* name, LinkId child, const Vec3& axis, const Vec3& at) {
  return {.name = name,
          .kind = JointKind::kPrismatic,
          .parent = scene.mechanism.world(),
          .child = child,
          .X_PF = Transform::translation(at),
          .axis = axis};
}

LinkId add_link(Scene& scene, const char* name, const Shape& shape, double mass, MaterialId material,
                const Transform& X_LS = {}) {
  Inertia inertia = solid_inertia(shape);
  inertia.about_com *= mass / inertia.mass;
  inertia.mass = mass;
  inertia = inertia.in_frame(X_LS);
  const LinkId link = scene.mechanism.add_link(name, inertia);
  scene.add_shape(link, shape, X_LS, material);
  return link;
}

TEST(Scale, APinchedCapsule) {
  expect_same(
      [](const Units& u) {
        Scene scene;
        const MaterialId rubber = test::add_material(scene, 0.7);
        const Shape finger = Shape::box(u.m(Vec3(0.01, 0.02, 0.02)));
        const LinkId left = add_link(scene, "left", finger, u.kg(0.1), rubber);
        const LinkId right = add_link(scene, "right", finger, u.kg(0.1), rubber);
        const JointId a =
            *scene.mechanism.add_joint(slide(scene, "a", left, Vec3::UnitX(), u.m(Vec3(-0.014, 0, 0))));
        const JointId b =
            *scene.mechanism.add_joint(slide(scene, "b", right, -Vec3::UnitX(), u.m(Vec3(0.014, 0, 0))));
        const Transform lying{Eigen::AngleAxisd(std::numbers::pi / 2, Vec3::UnitX()).toRotationMatrix(),
                              Vec3::Zero()};
        scene.add_body("capsule", Shape::capsule(u.m(0.004), u.m(0.01)), u.kg(0.045), lying, rubber);
        Played out = made(std::move(scene), u, 1e-3);
        out.act = [a, b, u](World& world, int) {
          world.set_effort(a, std::vector{u.newton(12)});
          world.set_effort(b, std::vector{u.newton(12)});
        };
        return out;
      },
      500);
}

TEST(Scale, SlowDominoes) {
  expect_same(
      [](const Units& u) {
        Scene scene;
        const MaterialId wood = test::add_material(scene, 0.4);
        scene.add_ground(wood);
        for (int i = 0; i < 12; ++i) {
          Transform X = Transform::translation(u.m(Vec3(0.03 * i, 0, 0.024)));
          if (i == 0) X.R = Eigen::AngleAxisd(0.3, Vec3::UnitY()).toRotationMatrix();
          scene.add_body("d" + std::to_string(i), Shape::box(u.m(Vec3(0.0035, 0.012, 0.024))), u.kg(0.01), X,
                         wood);
        }
        return made(std::move(scene), u, 2e-3);
      },
      400);
}

/// A link of a figure: a capsule that hangs from its joint.
struct Limb {
  const char *name, *parent;
  JointKind kind;
  Vec3 at, axis;
  double radius, length, mass;
  double lower, upper;
};

constexpr double kFree = DofProperties::kNone;

const Limb kLimbs[] = {
    {"torso", "", JointKind::kFree, {0, 0, 1.2}, {0, 0, 1}, 0.12, 0.4, 20, -kFree, kFree},
    {"head", "torso", JointKind::kSpherical, {0, 0, 0.15}, {0, 0, 1}, 0.1, 0.1, 4, -kFree, 0.5},
    {"arm_l", "torso", JointKind::kUniversal, {0, 0.2, 0.05}, {1, 0, 0}, 0.05, 0.25, 2, -1.5, 1.5},
    {"fore_l", "arm_l", JointKind::kRevolute, {0, 0, -0.3}, {0, 1, 0}, 0.04, 0.22, 1.5, -2.4, 0.01},
    {"arm_r", "torso", JointKind::kUniversal, {0, -0.2, 0.05}, {1, 0, 0}, 0.05, 0.25, 2, -1.5, 1.5},
    {"fore_r", "arm_r", JointKind::kRevolute, {0, 0, -0.3}, {0, 1, 0}, 0.04, 0.22, 1.5, -2.4, 0.01},
    {"thigh_l", "torso", JointKind::kSpherical, {0, 0.1, -0.5}, {0, 0, 1}, 0.07, 0.35, 7, -kFree, 0.9},
    {"shin_l", "thigh_l", JointKind::kRevolute, {0, 0, -0.45}, {0, 1, 0}, 0.05, 0.35, 4, -0.01, 2.2},
    {"foot_l", "shin_l", JointKind::kPrismatic, {0, 0, -0.42}, {0, 0, 1}, 0.06, 0.1, 1, -0.02, 0.03},
    {"thigh_r", "torso", JointKind::kSpherical, {0, -0.1, -0.5}, {0, 0, 1}, 0.07, 0.35, 7, -kFree, 0.9},
    {"shin_r", "thigh_r", JointKind::kRevolute, {0, 0, -0.45}, {0, 1, 0}, 0.05, 0.35, 4, -0.01, 2.2},
    {"foot_r", "shin_r", JointKind::kPrismatic, {0, 0, -0.42}, {0, 0, 1}, 0.06, 0.1, 1, -0.02, 0.03},
};

/// Limits, springs, dampers, dry friction and rotors of one dof.
DofProperties dof_of(const Limb& limb, int k, const Units& u) {
  const bool slides = limb.kind == JointKind::kPrismatic;
  DofProperties p;
  p.lower = slides ? u.m(limb.lower) : limb.lower;
  p.upper = slides ? u.m(limb.upper) : limb.upper;
  p.stiffness = u.stiffness(slides ? 4000 : 3, slides);
  p.damping = u.damping(slides ? 20 : 0.4, slides);
  p.armature = u.armature(slides ? 0.1 : 0.01, slides);
  if (limb.kind == JointKind::kRevolute) p.dry_friction = u.effort(0.7 + 0.1 * k, false);
  return p;
}

Played figure(const Units& u) {
  Scene scene;
  const MaterialId rubber = scene.mechanism.add_material(
      {"rubber", {.static_friction = 0.8, .kinetic_friction = 0.6, .restitution = 0.1}});
  scene.add_ground(rubber);
  std::vector<LinkId> links;
  std::vector<JointId> joints;
  for (const Limb& limb : kLimbs) {
    const double z = limb.kind == JointKind::kFree ? -0.1 : limb.name[0] == 'h' ? 0.1 : -0.5 * limb.length;
    const LinkId link = add_link(scene, limb.name, Shape::capsule(u.m(limb.radius), u.m(0.5 * limb.length)),
                                 u.kg(limb.mass), rubber, Transform::translation(u.m(Vec3(0, 0, z))));
    links.push_back(link);
    LinkId parent = scene.mechanism.world();
    for (std::size_t i = 0; i + 1 < links.size(); ++i)
      if (std::string(kLimbs[i].name) == limb.parent) parent = links[i];
    Joint joint{.name = std::string("j_") + limb.name,
                .kind = limb.kind,
                .parent = parent,
                .child = link,
                .X_PF = Transform::translation(u.m(limb.at)),
                .axis = limb.axis,
                .second_axis = Vec3::UnitY()};
    for (int k = 0; k < v_size(limb.kind) && limb.kind != JointKind::kFree; ++k)
      joint.dofs[k] = dof_of(limb, k, u);
    joints.push_back(*scene.mechanism.add_joint(joint));
  }
  Played out = made(std::move(scene), u, 2e-3);
  for (std::size_t i = 0; i < joints.size(); ++i) {
    if (kLimbs[i].kind != JointKind::kRevolute) continue;
    out.world.set_drive(joints[i], {.stiffness = u.stiffness(60, false),
                                    .damping = u.damping(3, false),
                                    .q_target = 0.4 * kLimbs[i].lower,
                                    .limit = u.effort(i % 2 == 0 ? 15 : 400, false)});
  }
  return out;
}

TEST(Scale, SlowFallingHumanoid) { expect_same(figure, 500); }

// ---- random worlds

/// The same numbers in all units.
Played random_world(std::uint64_t seed, const Units& u) {
  Random random(seed);
  Scene scene;
  Surface surface{.static_friction = random.uniform(0.2, 1.0)};
  surface.kinetic_friction = random.below(2) == 0 ? surface.static_friction : 0.7 * surface.static_friction;
  surface.restitution = random.below(3) == 0 ? 0.4 : 0;
  if (random.below(3) == 0) surface.torsional_friction = u.m(0.005);
  if (random.below(4) == 0) surface.rolling_friction = u.m(0.002);
  if (random.below(6) == 0) {
    surface.stiffness = u.stiffness(2e4, true);
    surface.damping = u.damping(50, true);
  }
  const MaterialId material = scene.mechanism.add_material({"m", surface});
  scene.add_ground(material);
  const double size = random.uniform(0.05, 0.5);
  const auto shape = [&] {
    const auto l = [&] { return u.m(size * random.uniform(0.3, 1.0)); };
    switch (random.below(4)) {
      case 0: return Shape::sphere(l());
      case 1: {
        const double x = l(), y = l(), z = l();
        return Shape::box({x, y, z});
      }
      case 2: {
        const double r = l(), half = l();
        return Shape::capsule(0.5 * r, half);
      }
      default: {
        const double r = l(), half = l();
        return Shape::cylinder(r, half);
      }
    }
  };
  const auto direction = [&] {
    const double x = random.normal(), y = random.normal(), z = random.normal();
    return Vec3(x, y, z).normalized();
  };
  std::vector<std::pair<JointId, JointKind>> joints;
  const int trees = 1 + random.below(4);
  for (int t = 0; t < trees; ++t) {
    LinkId parent;
    const int count = 1 + random.below(4);
    for (int i = 0; i < count; ++i) {
      const double mass = random.uniform(0.3, 3.0);
      const std::string name = std::to_string(t) + "_" + std::to_string(i);
      const Shape own = shape();
      const Vec3 axis = direction(), at = direction();
      const JointKind kinds[] = {JointKind::kRevolute, JointKind::kSpherical, JointKind::kPrismatic,
                                 JointKind::kUniversal};
      const JointKind kind = i == 0 ? JointKind::kFree : kinds[random.below(4)];
      const LinkId link = add_link(scene, name.c_str(), own, u.kg(mass), material);
      Joint joint{.name = "j" + name,
                  .kind = kind,
                  .parent = i == 0 ? scene.mechanism.world() : parent,
                  .child = link,
                  .X_PF = Transform::translation(
                      u.m(i == 0 ? size * Vec3(1.5 * t, at.x(), 2.5 + at.y()) : Vec3(2.2 * size * at))),
                  .axis = axis,
                  .second_axis = axis.unitOrthogonal()};
      const bool slides = kind == JointKind::kPrismatic;
      for (int k = 0; k < v_size(kind) && i > 0; ++k) {
        const bool limited = random.below(2) == 0, rubs = random.below(3) == 0,
                   springs = random.below(3) == 0;
        const double range = random.uniform(0.2, 1.5);
        if (limited) {
          joint.dofs[k].lower = slides ? -u.m(range * size) : -range;
          joint.dofs[k].upper = slides ? u.m(range * size) : range;
        }
        if (rubs) joint.dofs[k].dry_friction = u.effort(slides ? 2 : size, slides);
        if (springs) joint.dofs[k].stiffness = u.stiffness(slides ? 300 : 10 * size, slides);
        if (springs) joint.dofs[k].damping = u.damping(slides ? 2 : 0.1 * size, slides);
      }
      if (has_quaternion(kind))
        for (int k = 0; k < 3 && i > 0; ++k) joint.dofs[k].dry_friction = 0;
      joints.emplace_back(*scene.mechanism.add_joint(joint), kind);
      parent = link;
    }
  }
  Played out = made(std::move(scene), u, random.below(2) == 0 ? 2e-3 : 1.0 / 120);
  for (const auto& [joint, kind] : joints) {
    if (kind != JointKind::kRevolute || random.below(2) == 0) continue;
    out.world.set_drive(joint,
                        {.stiffness = u.stiffness(20 * size, false),
                         .damping = u.damping(size, false),
                         .q_target = random.uniform(-1, 1),
                         .limit = random.below(2) == 0 ? u.effort(3 * size, false) : DofProperties::kNone});
  }
  return out;
}

TEST(Scale, SlowRandomWorlds) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed)
    expect_same([seed](const Units& u) { return random_world(seed, u); }, 200,
                "seed " + std::to_string(seed));
}

TEST(Scale, SettingsFollowFromTheScene) {
  const auto world = [](const Units& u) { return random_world(3, u).world.effective_settings(); };
  const WorldSettings plain = world({}), large = world({10, 30});
  const Units u{10, 30};
  EXPECT_EQ(large.tolerance, u.m_per_s(plain.tolerance));
  EXPECT_EQ(large.contact_margin, u.m(plain.contact_margin));
  EXPECT_EQ(large.sleep.time, u.s(plain.sleep.time));
  EXPECT_EQ(large.stabilization.slop, u.m(plain.stabilization.slop));
  EXPECT_EQ(large.penalty.stiffness, kFromScene) << "it follows from the masses that meet and the step";
}

TEST(Scale, SettingsThatAreGivenStay) {
  test::BoxOnGround s(0.5);
  WorldSettings given{.tolerance = 1e-7};
  given.sleep.time = 3;
  World world = test::make_world(std::move(s.scene), given);
  EXPECT_EQ(world.effective_settings().tolerance, 1e-7);
  EXPECT_EQ(world.effective_settings().sleep.time, 3);
  EXPECT_EQ(world.settings().acceptable, kFromScene);
  EXPECT_GT(world.effective_settings().acceptable, 0);
  given.contact_margin = -0.5;
  EXPECT_FALSE(world.set_settings(given).empty());
}

}  // namespace
}  // namespace karakuri
