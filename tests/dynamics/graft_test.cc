// A tree that was turned round and hung on another is the same mechanism: it moves as the two trees do that a
// loop joins.
#include <gtest/gtest.h>

#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/closed_loop.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "karakuri/model/reverse.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

constexpr JointKind kTurned[] = {JointKind::kFixed,       JointKind::kRevolute,  JointKind::kPrismatic,
                                 JointKind::kCylindrical, JointKind::kScrew,     JointKind::kUniversal,
                                 JointKind::kPlanar,      JointKind::kSpherical, JointKind::kFree};

struct TwoTrees {
  Mechanism m;
  LinkId stem, tip;           // where the trees are joined
  std::vector<JointId> path;  // joints between the tip and the old root
  JointId base;               // the free joint
};

/// A stem of two links on the world, and a floating tree: root - x - y - tip with branches, whose path has
/// joints of `kind`.
TwoTrees two_trees(JointKind kind, std::uint64_t seed) {
  Random random(seed);
  TwoTrees t;
  const auto hang = [&](const char* name, JointKind k, LinkId parent) {
    const LinkId link = t.m.add_link(name, random_inertia(random));
    Joint joint = random_joint(random, k, name, parent, link);
    if (k == JointKind::kPlanar || has_quaternion(k))
      for (DofProperties& dof : joint.dofs) dof = {};
    if (k == JointKind::kSpherical)
      for (DofProperties& dof : joint.dofs) dof.armature = 0.02;
    EXPECT_TRUE(t.m.add_joint(joint).ok());
    return link;
  };
  const LinkId foot = hang("foot", JointKind::kRevolute, t.m.world());
  t.stem = hang("stem", JointKind::kSpherical, foot);
  const LinkId root = hang("root", JointKind::kFree, t.m.world());
  t.base = t.m.link(root).joint;
  hang("branch", JointKind::kRevolute, root);
  const LinkId x = hang("x", kind, root);
  const LinkId y = hang("y", kind, x);
  hang("twig", JointKind::kUniversal, x);
  t.tip = hang("tip", JointKind::kRevolute, y);
  hang("leaf", JointKind::kPrismatic, t.tip);
  for (LinkId at = t.tip; at != root; at = t.m.link(at).parent) t.path.push_back(t.m.link(at).joint);
  return t;
}

struct Still {
  explicit Still(const Mechanism& m) : model(compile_or_die(m)), state(model), ws(model) {}
  void look() {
    update_poses(model, state, ws);
    update_velocities(model, state, ws);
  }
  std::span<double> q(JointId id) {
    const JointEntry& j = *model.find(id);
    return {state.q.data() + j.first_q, static_cast<std::size_t>(q_size(j.kind))};
  }
  std::span<double> v(JointId id) {
    const JointEntry& j = *model.find(id);
    return {state.v.data() + j.first_v, static_cast<std::size_t>(v_size(j.kind))};
  }
  Model model;
  State state;
  Workspace ws;
};

/// The state of two trees in which all links are and move as in the one tree.
void take_over(const TwoTrees& t, const Mechanism& grafted, Still& one, Still& two) {
  for (const JointEntry& j : two.model.joints) {
    if (j.body == 0 || j.id == t.base) continue;
    std::ranges::copy(one.q(j.id), two.q(j.id).begin());
    std::ranges::copy(one.v(j.id), two.v(j.id).begin());
  }
  for (const JointId id : t.path)
    if (two.model.find(id)->body > 0) reverse_coordinates(grafted.joint(id), two.q(id), two.v(id));
  const Joint& base = t.m.joint(t.base);
  const Transform X_WM = link_pose(one.model, one.ws, base.child) * base.X_CM;
  const Motion V = point_velocity(one.model, one.ws, base.child, base.X_CM.p);
  const Mat3 to_F = base.X_PF.R.transpose();
  fit_coordinates(base, base.X_PF.inverse() * X_WM, to_F * V.angular, to_F * V.linear, two.q(t.base),
                  two.v(t.base));
  two.look();
}

double difference(const Motion& a, const Motion& b) {
  return (a.linear - b.linear).norm() + (a.angular - b.angular).norm();
}

TEST(Graft, MovesAsTheLoopDoes) {
  for (const JointKind kind : kTurned) {
    for (const JointKind seam : kTurned) {
      if (seam == JointKind::kFree) continue;
      SCOPED_TRACE(std::string(name(kind)) + " joined by " + std::string(name(seam)));
      TwoTrees t = two_trees(kind, 17 + static_cast<int>(kind));
      Random random(3);
      Joint joint = random_joint(random, seam, "seam", t.stem, t.tip);
      for (DofProperties& dof : joint.dofs) dof = {};
      Mechanism grafted = t.m, looped = t.m;
      ASSERT_TRUE(looped.add_loop(joint).ok());
      const Result<JointId> added = grafted.graft(joint);
      ASSERT_TRUE(added.ok()) << to_string(added.errors());
      Still one(grafted), two(looped);
      EXPECT_EQ(one.model.nv, two.model.nv - 6 + v_size(seam));
      random_configuration(one.model, random, one.state.q_view());
      one.state.v_view() = random_vector(one.model.nv, random, 1.0);
      one.look();
      take_over(t, grafted, one, two);
      for (const LinkEntry& link : one.model.links) {
        SCOPED_TRACE(link.name);
        const Transform X = link_pose(one.model, one.ws, link.id), Y = link_pose(two.model, two.ws, link.id);
        EXPECT_LT((X.p - Y.p).norm() + (X.R - Y.R).norm(), 1e-13 * (10 + X.p.norm()));
        EXPECT_LT(difference(point_velocity(one.model, one.ws, link.id, Vec3::Zero()),
                             point_velocity(two.model, two.ws, link.id, Vec3::Zero())),
                  1e-12);
      }
      const double energy = kinetic_energy(one.model, one.state, one.ws);
      EXPECT_NEAR(kinetic_energy(two.model, two.state, two.ws), energy, 1e-12 * energy);
      // accelerations, under gravity and no efforts
      Eigen::VectorXd a(one.model.nv), b(two.model.nv);
      aba(one.model, one.state, Eigen::VectorXd::Zero(one.model.nv), {}, one.ws, a);
      update_accelerations(one.model, a, one.ws);
      ClosedLoop loop;
      update_closed_loop(two.model, two.state, two.ws, loop);
      EXPECT_LT(loop.largest_error(), 1e-12);
      constrained_forward_dynamics(two.model, two.state, loop, Eigen::VectorXd::Zero(two.model.nv), {},
                                   two.ws, b);
      two.look();
      update_accelerations(two.model, b, two.ws);
      const double size = 1 + a.norm() + b.norm();
      for (const LinkEntry& link : one.model.links)
        EXPECT_LT(difference(point_acceleration(one.model, one.ws, link.id, Vec3::Zero()),
                             point_acceleration(two.model, two.ws, link.id, Vec3::Zero())),
                  1e-12 * size)
            << link.name;  // condition numbers of these mass matrices are about 1e3
    }
  }
}

TEST(Graft, TurningTwiceGivesTheSame) {
  Random random(5);
  for (const JointKind kind : kTurned) {
    SCOPED_TRACE(std::string(name(kind)));
    Joint joint = random_joint(random, kind, "j", {1, 1}, {2, 1});
    for (DofProperties& dof : joint.dofs) dof = {};
    joint.dofs[0].upper = kind == JointKind::kPlanar || kind == JointKind::kFree ? DofProperties::kNone : 1;
    const Result<Joint> once = reversed(joint);
    ASSERT_TRUE(once.ok());
    const Result<Joint> twice = reversed(*once);
    ASSERT_TRUE(twice.ok());
    EXPECT_EQ(twice->axis, joint.axis);
    EXPECT_EQ(twice->second_axis, joint.second_axis);
    EXPECT_EQ(twice->X_PF.p, joint.X_PF.p);
    EXPECT_EQ(twice->parent, joint.parent);
    EXPECT_EQ(twice->dofs[0].upper, joint.dofs[0].upper);
  }
}

TEST(Graft, WhatCannotBeTurnedIsToldAndUndoIsWhole) {
  TwoTrees t = two_trees(JointKind::kPlanar, 3);
  const Model before = compile_or_die(t.m);
  const Joint seam{.name = "seam", .kind = JointKind::kRevolute, .parent = t.stem, .child = t.tip};
  const auto expect_refused = [&](const Mechanism& m, Joint joint, const char* what) {
    Mechanism copy = m;
    const Result<JointId> made = copy.graft(std::move(joint));
    ASSERT_FALSE(made.ok());
    EXPECT_NE(to_string(made.errors()).find(what), std::string::npos) << to_string(made.errors());
  };
  Mechanism sprung = t.m;
  sprung.joint(t.path[1]).dofs[0].stiffness = 10;
  expect_refused(sprung, seam, "cannot be turned round");
  Mechanism held = t.m;
  held.joint(t.base).dofs[2].damping = 1;
  expect_refused(held, seam, "free joint 'root' has springs");
  Joint same = seam;
  same.name = "leaf";
  expect_refused(t.m, same, "another joint has this name");
  Joint back = seam;
  std::swap(back.parent, back.child);
  expect_refused(t.m, back, "does not float");
  Joint within = seam;
  within.parent = t.m.find_link("root");
  expect_refused(t.m, within, "of one tree");
  MechanismUndo undo;
  ASSERT_TRUE(t.m.graft(seam, &undo).ok());
  EXPECT_FALSE(t.m.contains(t.base));
  t.m.undo(undo);
  EXPECT_TRUE(t.m.contains(t.base));
  const Model after = compile_or_die(t.m);
  ASSERT_EQ(after.links.size(), before.links.size());
  for (std::size_t i = 0; i < after.links.size(); ++i) EXPECT_EQ(after.links[i].name, before.links[i].name);
  for (std::size_t i = 0; i < after.joints.size(); ++i) {
    EXPECT_EQ(after.joints[i].id, before.joints[i].id);
    EXPECT_EQ(after.joints[i].kind, before.joints[i].kind);
  }
}

}  // namespace
}  // namespace karakuri::test
