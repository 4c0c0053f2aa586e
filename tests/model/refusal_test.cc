// Bad models are refused by name, with the remedy, and never crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "karakuri/dynamics/aba.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// A base on the world by "hip" (of `kind`) and a "foot" on it by "knee"; all is well with it.
struct Leg {
  Mechanism m;
  LinkId base, foot;
  JointId hip, knee;

  explicit Leg(JointKind kind = JointKind::kRevolute) {
    const Inertia box = Inertia::solid_box(1, {0.1, 0.2, 0.3});
    base = m.add_link("base", box);
    foot = m.add_link("foot", box);
    hip = *m.add_joint({.name = "hip", .kind = kind, .parent = m.world(), .child = base});
    knee = *m.add_joint({.name = "knee", .kind = JointKind::kRevolute, .parent = base, .child = foot});
  }
};

/// compile() refuses it with exactly one finding, about `where`, that says `what` and gives a remedy.
void expect_refused(const Mechanism& m, const std::string& where, const std::string& what) {
  const Result<Model> model = compile(m);
  ASSERT_FALSE(model.ok()) << "accepted, though " << where << ' ' << what;
  ASSERT_EQ(model.errors().size(), 1u) << to_string(model.errors());
  const Diagnostic& found = model.errors()[0];
  EXPECT_EQ(found.severity, Severity::kError);
  EXPECT_THAT(found.where, HasSubstr(where));
  EXPECT_THAT(found.what, HasSubstr(what));
  EXPECT_THAT(found.remedy, Not(IsEmpty()));
}

void expect_refused(const Result<JointId>& added, const std::string& where, const std::string& what) {
  ASSERT_FALSE(added.ok()) << "accepted, though " << where << ' ' << what;
  EXPECT_THAT(added.errors()[0].where, HasSubstr(where));
  EXPECT_THAT(added.errors()[0].what, HasSubstr(what));
  EXPECT_THAT(added.errors()[0].remedy, Not(IsEmpty()));
}

TEST(Refusal, NothingIsWrongWithTheModelTheseTestsSpoil) {
  for (int kind = 0; kind < kJointKindCount; ++kind) {
    EXPECT_TRUE(compile(Leg(static_cast<JointKind>(kind)).m).ok());
  }
}

TEST(Refusal, Mass) {
  for (const double mass : {0.0, -1.0}) {
    Leg leg;
    leg.m.link(leg.foot).inertia.mass = mass;
    expect_refused(leg.m, "link 'foot'", "mass");
  }
  Leg leg;  // a marker must not move by itself
  leg.m.link(leg.foot).inertia = {};
  expect_refused(leg.m, "link 'foot'", "joint 'knee' but has no mass");
}

TEST(Refusal, MarkersWithoutMassAreFineWhereTheyAreFixed) {
  Leg leg;
  const LinkId tip = leg.m.add_link("tip", {});
  ASSERT_TRUE(leg.m.add_joint({.name = "weld", .parent = leg.foot, .child = tip}).ok());
  EXPECT_TRUE(compile(leg.m).ok());
}

/// A link on the world by revolute joints about these axes in turn, without mass between them.
Mechanism behind_massless_links(const std::vector<Vec3>& axes) {
  Mechanism m;
  LinkId at = m.world();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool last = i + 1 == axes.size();
    const Inertia inertia = last ? Inertia::solid_box(1, {0.1, 0.2, 0.3}) : Inertia{};
    const LinkId link = m.add_link("link" + std::to_string(i), inertia);
    Joint joint{.name = "joint" + std::to_string(i), .kind = JointKind::kRevolute};
    joint.parent = at, joint.child = link, joint.axis = axes[i];
    if (!m.add_joint(joint)) std::abort();
    at = link;
  }
  return m;
}

TEST(Refusal, MasslessLinksBetweenJointsAreFineWhereSomethingResists) {
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY(), z = Vec3::UnitZ();
  EXPECT_TRUE(compile(behind_massless_links({x, y, z})).ok());
  EXPECT_TRUE(compile(behind_massless_links({x, Vec3(1, 0.1, 0)})).ok());
  // two turns about one line are one
  expect_refused(behind_massless_links({x, x}), "link 'link0'", "does not resist joint 'joint0'");
  // regular at q = 0 but for rounding: four rotations of one body never are
  expect_refused(behind_massless_links({x, y, z, Vec3(1, 2, 3)}), "link 'link0'", "does not resist");
}

TEST(Refusal, InertiaThatNoBodyHas) {
  const struct {
    Vec3 moments;
    const char* what;
  } cases[] = {{{1, 1, 2.1}, "triangle inequality"},
               {{1, -1, 1}, "not positive definite"},
               {{-1, -1, -1}, "not positive definite"}};
  for (const auto& [moments, what] : cases) {
    for (const Vec3& turn : {Vec3(0, 0, 0), Vec3(1, 2, 3)}) {  // also where the diagonal does not show it
      Leg leg;
      const Mat3 R = Eigen::AngleAxisd(turn.norm(), turn.norm() > 0 ? turn.normalized() : Vec3(Vec3::UnitX()))
                         .toRotationMatrix();
      leg.m.link(leg.foot).inertia.about_com = R * moments.asDiagonal() * R.transpose();
      expect_refused(leg.m, "link 'foot'", what);
    }
  }
  Leg leg;
  leg.m.link(leg.foot).inertia.about_com(0, 1) = 0.01;
  expect_refused(leg.m, "link 'foot'", "not symmetric");
}

TEST(Refusal, RotationsWithoutInertia) {
  const Inertia off_axis = Inertia::point_mass(1, {0.1, 0, 0}), on_axis = Inertia::point_mass(1, {0, 0, 0.1});
  const struct {
    JointKind kind;
    Inertia inertia;
    double pitch;
    bool fine;
  } cases[] = {
      {JointKind::kRevolute, off_axis, 0, true},   {JointKind::kRevolute, on_axis, 0, false},
      {JointKind::kPrismatic, on_axis, 0, true},   {JointKind::kCylindrical, on_axis, 0, false},
      {JointKind::kPlanar, on_axis, 0, false},     {JointKind::kPlanar, off_axis, 0, false},
      {JointKind::kSpherical, off_axis, 0, false}, {JointKind::kFree, off_axis, 0, false},
      {JointKind::kScrew, on_axis, 0.1, true},     {JointKind::kScrew, on_axis, 0, false},
      {JointKind::kUniversal, off_axis, 0, false},  // on its second axis
      {JointKind::kUniversal, on_axis, 0, false},   // on its first axis, when straight
  };
  for (const auto& [kind, inertia, pitch, fine] : cases) {
    SCOPED_TRACE(name(kind));
    Leg leg;
    leg.m.link(leg.foot).inertia = inertia;
    leg.m.joint(leg.knee).kind = kind;
    leg.m.joint(leg.knee).pitch = pitch;
    if (fine) {
      EXPECT_TRUE(compile(leg.m).ok());
    } else {
      expect_refused(leg.m, "link 'foot'", "no inertia against a rotation that joint 'knee' allows");
      for (DofProperties& dof : leg.m.joint(leg.knee).dofs) dof.armature = 0.1;
      EXPECT_TRUE(compile(leg.m).ok()) << "the remedy does not help";
    }
  }
}

TEST(Refusal, NumbersThatAreNotFinite) {
  using Spoil = std::function<double*(Leg&)>;
  const std::pair<const char*, Spoil> numbers[] = {
      {"link 'foot'", [](Leg& l) { return &l.m.link(l.foot).inertia.mass; }},
      {"link 'foot'", [](Leg& l) { return &l.m.link(l.foot).inertia.com.y(); }},
      {"link 'foot'", [](Leg& l) { return &l.m.link(l.foot).inertia.about_com(1, 2); }},
      {"joint 'knee'", [](Leg& l) { return &l.m.joint(l.knee).X_PF.p.x(); }},
      {"joint 'knee'", [](Leg& l) { return &l.m.joint(l.knee).X_PF.R(2, 1); }},
      {"joint 'knee'", [](Leg& l) { return &l.m.joint(l.knee).X_CM.p.z(); }},
      {"joint 'knee'", [](Leg& l) { return &l.m.joint(l.knee).X_CM.R(0, 0); }},
      {"joint 'knee'", [](Leg& l) { return &l.m.joint(l.knee).axis.x(); }},
      {"joint 'knee'", [](Leg& l) { return &l.m.joint(l.knee).dofs[0].damping; }},
      {"joint 'knee'", [](Leg& l) { return &l.m.joint(l.knee).dofs[0].stiffness; }},
      {"joint 'knee'", [](Leg& l) { return &l.m.joint(l.knee).dofs[0].rest; }},
      {"joint 'knee'", [](Leg& l) { return &l.m.joint(l.knee).dofs[0].dry_friction; }},
      {"joint 'knee'", [](Leg& l) { return &l.m.joint(l.knee).dofs[0].armature; }},
  };
  for (const auto& [where, number] : numbers) {
    for (const double bad : {kNan, kInf, -kInf}) {
      Leg leg;
      *number(leg) = bad;
      expect_refused(leg.m, where, "");
    }
  }
  Leg screw(JointKind::kScrew);
  screw.m.joint(screw.hip).pitch = kNan;
  expect_refused(screw.m, "joint 'hip'", "pitch");
  Leg universal(JointKind::kUniversal);
  universal.m.joint(universal.hip).second_axis.z() = kNan;
  expect_refused(universal.m, "joint 'hip'", "axis");
}

TEST(Refusal, NumbersThatAreNotFiniteInGravityShapesAndMaterials) {
  const auto falling = compile(Leg().m, {0, kNan, -9.81});
  ASSERT_FALSE(falling.ok());
  EXPECT_THAT(to_string(falling.errors()), HasSubstr("gravity"));

  Leg shaped;
  shaped.m.link(shaped.foot).shapes.push_back({.shape = {}, .X_LS = Transform::translation({0, kNan, 0})});
  expect_refused(shaped.m, "link 'foot'", "shape");

  for (double Surface::* value :
       {&Surface::static_friction, &Surface::kinetic_friction, &Surface::restitution,
        &Surface::torsional_friction, &Surface::rolling_friction, &Surface::damping}) {
    for (const double bad : {kNan, kInf, -0.1}) {
      Leg rubber;
      Material material{.name = "rubber"};
      material.surface.*value = bad;
      rubber.m.add_material(material);
      expect_refused(rubber.m, "material 'rubber'", "");
    }
  }
}

TEST(Refusal, Limits) {
  const struct {
    double lower, upper;
  } limits[] = {{1, -1}, {kNan, 1}, {-1, kNan}, {kInf, kInf}, {-kInf, -kInf}};
  for (const auto& [lower, upper] : limits) {
    Leg leg;
    leg.m.joint(leg.knee).dofs[0].lower = lower;
    leg.m.joint(leg.knee).dofs[0].upper = upper;
    expect_refused(leg.m, "joint 'knee'", "limit");
  }
  for (double DofProperties::* value : {&DofProperties::effort_limit, &DofProperties::velocity_limit}) {
    for (const double bad : {-1.0, kNan}) {
      Leg leg;
      leg.m.joint(leg.knee).dofs[0].*value = bad;
      expect_refused(leg.m, "joint 'knee'", "limit");
    }
  }
  Leg ball(JointKind::kSpherical);
  ball.m.joint(ball.hip).dofs[0].upper = -0.1;
  expect_refused(ball.m, "joint 'hip'", "limit of its angle of rotation is below zero");
  Leg planar(JointKind::kPlanar);
  planar.m.joint(planar.hip).dofs[1] = {.lower = 2, .upper = 1};
  expect_refused(planar.m, "joint 'hip', dof 1", "lower limit 2 is above its upper limit 1");
}

TEST(Refusal, NegativeProperties) {
  for (double DofProperties::* value : {&DofProperties::damping, &DofProperties::stiffness,
                                        &DofProperties::dry_friction, &DofProperties::armature}) {
    Leg leg;
    leg.m.joint(leg.knee).dofs[0].*value = -0.5;
    expect_refused(leg.m, "joint 'knee'", "-0.5");
  }
}

TEST(Refusal, Axes) {
  for (const Vec3& axis : {Vec3(0, 0, 0), Vec3(1e-200, 0, 0), Vec3(0, 1e200, 1e200)}) {
    Leg leg;
    leg.m.joint(leg.knee).axis = axis;
    expect_refused(leg.m, "joint 'knee'", "axis");
  }
  Leg universal(JointKind::kUniversal);
  universal.m.joint(universal.hip).second_axis = {0, 0, -3};
  expect_refused(universal.m, "joint 'hip'", "parallel");
}

TEST(Refusal, FramesThatAreNoRotation) {
  Leg mirrored;
  mirrored.m.joint(mirrored.knee).X_PF.R(0, 0) = -1;
  expect_refused(mirrored.m, "joint 'knee'", "not a rotation");
  Leg scaled;
  scaled.m.joint(scaled.knee).X_CM.R *= 1.01;
  expect_refused(scaled.m, "joint 'knee'", "not a rotation");
}

TEST(Refusal, Names) {
  Leg twins;
  twins.m.link(twins.foot).name = "base";
  expect_refused(twins.m, "link 'base'", "2 links have this name");
  Leg joints;
  joints.m.joint(joints.knee).name = "hip";
  expect_refused(joints.m, "joint 'hip'", "2 joints have this name");
  Leg worlds;
  worlds.m.link(worlds.foot).name = "world";
  expect_refused(worlds.m, "link 'world'", "2 links have this name");
  Leg nameless;
  nameless.m.joint(nameless.knee).name = "";
  expect_refused(nameless.m, "joint ''", "no name");
}

TEST(Refusal, LinksThatHangOnNothing) {
  Leg leg;
  leg.m.add_link("lost", Inertia::solid_sphere(1, 0.1));
  expect_refused(leg.m, "link 'lost'", "hangs on nothing");
}

TEST(Refusal, CyclesOfParents) {
  Mechanism m;
  LinkId links[3];
  for (int i = 0; i < 3; ++i) links[i] = m.add_link("abc" + std::to_string(i), Inertia::solid_sphere(1, 1));
  const auto joint = [&](const char* name, int parent, int child) {
    return m.add_joint({.name = name, .parent = links[parent], .child = links[child]});
  };
  ASSERT_TRUE(joint("one", 0, 1).ok());
  ASSERT_TRUE(joint("two", 1, 2).ok());
  expect_refused(joint("closing", 2, 0), "joint 'closing'", "cycle of parents: 'abc2' hangs on 'abc0'");
  expect_refused(joint("self", 0, 0), "joint 'self'", "cycle");
  expect_refused(joint("again", 0, 2), "joint 'again'", "'abc2' already hangs on 'abc1' by joint 'two'");
  EXPECT_EQ(m.joint_ids().size(), 2u) << "what is refused leaves no trace";
}

TEST(Refusal, IdsThatNameNothing) {
  Leg leg;
  const LinkId dead{.index = 77, .generation = 1};
  expect_refused(leg.m.add_joint({.name = "j", .parent = dead, .child = leg.foot}), "joint 'j'", "parent");
  expect_refused(leg.m.add_joint({.name = "j", .parent = leg.foot, .child = dead}), "joint 'j'", "child");
  expect_refused(leg.m.add_joint({.name = "j", .parent = leg.foot, .child = leg.m.world()}), "joint 'j'",
                 "world");
  expect_refused(leg.m.add_loop({.name = "j", .parent = leg.foot, .child = dead}), "joint 'j'", "child");
  const std::size_t links = leg.m.link_ids().size();
  expect_refused(leg.m.add_loop({.name = "j", .parent = dead, .child = leg.foot}), "joint 'j'", "parent");
  EXPECT_EQ(leg.m.link_ids().size(), links) << "a refused loop leaves no virtual link behind";
}

TEST(Refusal, NothingHangsOnVirtualLinks) {
  Leg leg;
  const JointId loop = *leg.m.add_loop({.name = "loop", .parent = leg.foot, .child = leg.m.world()});
  const LinkId ghost = leg.m.joint(loop).child;
  const LinkId hand = leg.m.add_link("hand", Inertia::solid_sphere(1, 0.1));
  expect_refused(leg.m.add_joint({.name = "j", .parent = ghost, .child = hand}), "joint 'j'", "virtual");
  expect_refused(leg.m.add_loop({.name = "j", .parent = ghost, .child = leg.base}), "joint 'j'", "virtual");
  expect_refused(leg.m.add_loop({.name = "j", .parent = leg.base, .child = ghost}), "joint 'j'", "virtual");
}

TEST(Refusal, SaysAllThatIsWrongAtOnce) {
  Leg leg;
  leg.m.link(leg.base).inertia.mass = -1;
  leg.m.link(leg.foot).inertia.mass = kNan;
  leg.m.joint(leg.hip).axis.setZero();
  leg.m.joint(leg.knee).dofs[0].damping = -1;
  const auto model = compile(leg.m);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.errors().size(), 4u) << to_string(model.errors());
}

TEST(Refusal, TextIsOneLineForEachFinding) {
  Leg leg;
  leg.m.joint(leg.knee).axis.setZero();
  const std::string text = to_string(compile(leg.m).errors());
  EXPECT_THAT(text, HasSubstr("joint 'knee': error: its axis is zero"));
  EXPECT_THAT(text, HasSubstr("(give a direction such as 0 0 1)"));
}

}  // namespace
}  // namespace karakuri::test
