// Compilation flattens a mechanism without changing what it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/spatial/rotation.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

Inertia ball() { return Inertia::solid_sphere(1, 0.1); }

JointId hang(Mechanism& m, LinkId parent, LinkId child, const std::string& name,
             JointKind kind = JointKind::kRevolute) {
  auto added = m.add_joint({.name = name, .kind = kind, .parent = parent, .child = child});
  EXPECT_TRUE(added.ok());
  return *added;
}

std::vector<std::string> link_names(const Model& model) {
  std::vector<std::string> names;
  for (const LinkEntry& link : model.links) names.push_back(link.name);
  return names;
}

/// A random tree of all kinds, with fixed links among them.
Mechanism random_mechanism(int links, std::uint64_t seed) {
  Random random(seed);
  Mechanism m;
  std::vector<LinkId> all{m.world()};
  for (int i = 0; i < links; ++i) {
    const auto kind = static_cast<JointKind>(random.below(kJointKindCount));
    const LinkId parent = all[random.below(static_cast<int>(all.size()))];
    all.push_back(m.add_link(fmt::format("link{}", i), random_inertia(random)));
    EXPECT_TRUE(m.add_joint(random_joint(random, kind, fmt::format("joint{}", i), parent, all.back())).ok());
  }
  return m;
}

TEST(Compile, DepthFirstInTheOrderOfSiblings) {
  // world - a - (b - (c, d), e);  world - f
  Mechanism m;
  LinkId id[6];
  for (int i = 0; i < 6; ++i) id[i] = m.add_link(std::string(1, static_cast<char>('a' + i)), ball());
  hang(m, m.world(), id[0], "ja");
  hang(m, id[0], id[1], "jb");
  hang(m, m.world(), id[5], "jf");
  hang(m, id[0], id[4], "je");
  hang(m, id[1], id[2], "jc");
  hang(m, id[1], id[3], "jd");
  const Model model = compile_or_die(m);
  EXPECT_EQ(link_names(model), (std::vector<std::string>{"world", "a", "b", "c", "d", "e", "f"}));
  std::vector<int> parents;
  for (const Body& body : model.bodies) parents.push_back(body.parent);
  EXPECT_EQ(parents, (std::vector<int>{0, 0, 1, 2, 2, 1, 0}));
  ASSERT_EQ(model.trees.size(), 2u);
  EXPECT_EQ(model.trees[0].first, 1);
  EXPECT_EQ(model.trees[0].last, 6);
  EXPECT_EQ(model.trees[1].first, 6);
  EXPECT_EQ(model.trees[1].last, 7);
}

TEST(Compile, OrderOfAttachingDoesNotMatter) {
  // the same chain hung from its base on, and from its tip on
  std::vector<Model> models;
  for (const bool from_base : {true, false}) {
    Random random(3);
    Mechanism m;
    std::vector<LinkId> links{m.world()};
    std::vector<Joint> joints;
    for (int i = 0; i < 6; ++i) {
      links.push_back(m.add_link(fmt::format("link{}", i), random_inertia(random)));
      joints.push_back(random_joint(random, static_cast<JointKind>(1 + i), fmt::format("joint{}", i),
                                    links[i], links[i + 1]));
    }
    if (!from_base) std::reverse(joints.begin(), joints.end());
    for (const Joint& joint : joints) ASSERT_TRUE(m.add_joint(joint).ok());
    models.push_back(compile_or_die(m));
  }
  EXPECT_EQ(link_names(models[0]), link_names(models[1]));
  Random random(4);
  const State state = random_state(models[0], random);
  const Eigen::VectorXd tau = random_vector(models[0].nv, random);
  Eigen::VectorXd a(models[0].nv), b(models[0].nv);
  Workspace ws0(models[0]), ws1(models[1]);
  aba(models[0], state, tau, {}, ws0, a);
  aba(models[1], state, tau, {}, ws1, b);
  EXPECT_EQ(a, b) << "same order of arithmetic, same bits";
}

/// X_FM by the definitions in joint.h.
Transform joint_pose(const Joint& joint, const double* q) {
  const Vec3 a = joint.axis.normalized(), b = joint.second_axis.normalized();
  const auto turn = [](const Vec3& axis, double angle) {
    return Eigen::AngleAxisd(angle, axis).toRotationMatrix();
  };
  const auto quat = [](const double* w) { return Quat(w[0], w[1], w[2], w[3]).toRotationMatrix(); };
  switch (joint.kind) {
    case JointKind::kPointOnLine:  // carry no link
    case JointKind::kDistance:
    case JointKind::kFixed: return {};
    case JointKind::kRevolute: return Transform::rotation(turn(a, q[0]));
    case JointKind::kPrismatic: return Transform::translation(q[0] * a);
    case JointKind::kCylindrical: return {turn(a, q[1]), q[0] * a};
    case JointKind::kScrew: return {turn(a, q[0]), joint.pitch * q[0] * a};
    case JointKind::kUniversal: return Transform::rotation(turn(a, q[0]) * turn(b, q[1]));
    case JointKind::kPlanar: {
      const Mat3 across = frame_with_z(a);
      return {turn(a, q[2]), q[0] * across.col(0) + q[1] * across.col(1)};
    }
    case JointKind::kSpherical: return Transform::rotation(quat(q));
    case JointKind::kFree: return {quat(q + 3), Vec3(q[0], q[1], q[2])};
  }
  return {};
}

TEST(Compile, LinksStandWhereTheirJointsPutThem) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Mechanism m = random_mechanism(20, seed);
    const Model model = compile_or_die(m);
    Random random(seed);
    const State state = random_state(model, random);
    Workspace ws(model);
    update_poses(model, state, ws);
    for (const LinkEntry& entry : model.links) {
      Transform X_WL;
      for (LinkId at = entry.id; at != m.world(); at = m.link(at).parent) {
        const Joint& joint = m.joint(m.link(at).joint);
        const int first_q = model.find(m.link(at).joint)->first_q;
        X_WL = joint.X_PF * joint_pose(joint, first_q < 0 ? nullptr : &state.q[first_q]) *
               joint.X_CM.inverse() * X_WL;
      }
      const Transform found = link_pose(model, ws, entry.id);
      // up to 20 products of transforms of order one
      EXPECT_LT((found.p - X_WL.p).norm(), 1e-13) << entry.name;
      EXPECT_LT((found.R - X_WL.R).norm(), 1e-13) << entry.name;
    }
  }
}

TEST(Compile, FixedLinksBecomePartOfTheirParent) {
  Random random(5);
  const Inertia big = random_inertia(random), small = random_inertia(random), tiny = random_inertia(random);
  const Joint weld1 = random_joint(random, JointKind::kFixed, "weld1", {}, {});
  const Joint weld2 = random_joint(random, JointKind::kFixed, "weld2", {}, {});
  const Transform X_12 = weld1.X_PF * weld1.X_CM.inverse();         // the second link in the first
  const Transform X_13 = X_12 * weld2.X_PF * weld2.X_CM.inverse();  // the third in the first

  Mechanism apart;
  const LinkId l1 = apart.add_free_link("one", big, {});
  const LinkId l2 = apart.add_link("two", small), l3 = apart.add_link("three", tiny);
  Joint j = weld1;
  j.parent = l1, j.child = l2;
  ASSERT_TRUE(apart.add_joint(j).ok());
  j = weld2;
  j.parent = l2, j.child = l3;
  ASSERT_TRUE(apart.add_joint(j).ok());
  const Model model = compile_or_die(apart);
  ASSERT_EQ(model.body_count(), 2);

  // the composite by sums over mass elements: m, m c and the inertia about the origin add up
  double mass = 0;
  Vec3 moment = Vec3::Zero();
  Mat3 about_origin = Mat3::Zero();
  for (const auto& [inertia, X] : {std::pair{big, Transform{}}, {small, X_12}, {tiny, X_13}}) {
    const Vec3 c = X * inertia.com;
    mass += inertia.mass;
    moment += inertia.mass * c;
    about_origin += X.R * inertia.about_com * X.R.transpose() +
                    inertia.mass * (c.squaredNorm() * Mat3::Identity() - c * c.transpose());
  }
  const Vec3 com = moment / mass;
  const Mat3 about_com = about_origin - mass * (com.squaredNorm() * Mat3::Identity() - com * com.transpose());
  Mechanism together;
  const LinkId lump = together.add_link("lump", {mass, com, about_com});
  Joint base = apart.joint(apart.link(l1).joint);
  base.parent = together.world(), base.child = lump;
  ASSERT_TRUE(together.add_joint(base).ok());
  const Model lumped = compile_or_die(together);

  const State state = random_state(model, random);
  const Eigen::VectorXd tau = random_vector(6, random);
  Eigen::VectorXd a(6), b(6);
  Workspace ws(model), ws_lumped(lumped);
  aba(model, state, tau, {}, ws, a);
  aba(lumped, state, tau, {}, ws_lumped, b);
  EXPECT_LT((a - b).norm(), 1e-12 * b.norm());  // moments of inertia differ by a factor of up to 1e2
}

TEST(Compile, PosesWithSixDigitsBecomeRotations) {
  Mechanism m = random_mechanism(10, 10);
  for (JointId id : m.joint_ids()) {
    for (Transform* X : {&m.joint(id).X_PF, &m.joint(id).X_CM}) {
      X->R = (X->R * 1e6).array().round().matrix() / 1e6;
    }
  }
  const Model model = compile_or_die(m);
  for (const LinkEntry& link : model.links) {
    const Mat3 R_PF = model.bodies[link.body].R_PF;
    EXPECT_LT((R_PF.transpose() * R_PF - Mat3::Identity()).norm(), 1e-14) << link.name;
    EXPECT_LT((link.X_BL.R.transpose() * link.X_BL.R - Mat3::Identity()).norm(), 1e-14) << link.name;
  }
}

TEST(Compile, LinksFixedToTheWorldAreTheWorld) {
  Mechanism m;
  const LinkId table = m.add_link("table", ball()), arm = m.add_link("arm", ball());
  hang(m, m.world(), table, "weld", JointKind::kFixed);
  hang(m, table, arm, "shoulder");
  const Model model = compile_or_die(m);
  EXPECT_EQ(model.body_count(), 2);
  EXPECT_EQ(model.find(table)->body, 0);
  EXPECT_EQ(model.find(arm)->body, 1);
  EXPECT_EQ(model.trees.size(), 1u);
}

TEST(Compile, LoopsAreCarriedAndAddNoFreedom) {
  Mechanism m;
  const LinkId a = m.add_link("a", ball()), b = m.add_link("b", ball()), tip = m.add_link("tip", ball());
  hang(m, m.world(), a, "ja");
  hang(m, m.world(), b, "jb");
  hang(m, b, tip, "weld", JointKind::kFixed);
  Random random(6);
  const Joint closing = random_joint(random, JointKind::kSpherical, "closing", a, tip);
  const JointId loop = *m.add_loop(closing);
  const JointId ground =
      *m.add_loop({.name = "ground", .kind = JointKind::kRevolute, .parent = tip, .child = m.world()});

  const Link& ghost = m.link(m.joint(loop).child);
  EXPECT_TRUE(ghost.is_virtual());
  EXPECT_EQ(ghost.real, tip);
  EXPECT_EQ(ghost.parent, a);
  EXPECT_FALSE(m.find_link(ghost.name)) << "virtual links are not found by name";

  const Model model = compile_or_die(m);
  EXPECT_EQ(model.nv, 2);
  EXPECT_EQ(model.links.size(), 4u) << "world, a, b, tip";
  EXPECT_EQ(model.find(m.joint(loop).child), nullptr);
  ASSERT_EQ(model.loops.size(), 2u);
  EXPECT_EQ(model.loops[0].joint, loop);
  EXPECT_EQ(model.loops[0].body_f, model.find(a)->body);
  EXPECT_EQ(model.loops[0].body_m, model.find(b)->body);
  EXPECT_EQ(model.loops[1].joint, ground);
  EXPECT_EQ(model.loops[1].body_m, 0);
  EXPECT_EQ(model.find(loop)->first_q, -1);
  EXPECT_EQ(model.find(loop)->body, 0);
  EXPECT_EQ(State(model).loop_closed, std::vector<bool>(2, true));

  // both frames, seen through the links they were given on
  const Transform F = model.find(a)->X_BL * closing.X_PF, M = model.find(tip)->X_BL * closing.X_CM;
  EXPECT_LT((model.loops[0].X_BF.p - F.p).norm() + (model.loops[0].X_BF.R - F.R).norm(), 1e-14);
  EXPECT_LT((model.loops[0].X_BM.p - M.p).norm() + (model.loops[0].X_BM.R - M.R).norm(), 1e-14);
}

TEST(Compile, PathsListTheAncestorsOfEachDof) {
  const Model model = compile_or_die(random_mechanism(30, 7));
  std::int64_t rows = 0;
  for (int v = 0; v < model.nv; ++v) {
    const Dof& dof = model.dofs[v];
    std::vector<int> path;  // from the dof up
    const Body* body = &model.bodies[dof.body];
    for (int k = v; k >= body->first_v; --k) path.push_back(k);
    for (int up = body->parent; up != 0; up = model.bodies[up].parent) {
      body = &model.bodies[up];
      for (int k = body->first_v + body->dofs - 1; k >= body->first_v; --k) path.push_back(k);
    }
    std::reverse(path.begin(), path.end());
    ASSERT_EQ(dof.depth + 1, static_cast<int>(path.size()));
    EXPECT_EQ(dof.parent, path.size() > 1 ? path[path.size() - 2] : -1);
    EXPECT_TRUE(std::equal(path.begin(), path.end(), model.paths.begin() + dof.path)) << "dof " << v;
    EXPECT_EQ(dof.row, rows);
    rows += dof.depth + 1;
  }
  EXPECT_EQ(model.mass_matrix_size, rows);
}

TEST(Compile, OnlySingleFreeBodiesTakeTheFastPath) {
  Mechanism m;
  m.add_free_link("alone", ball(), {});
  const LinkId parent = m.add_free_link("parent", ball(), {});
  hang(m, parent, m.add_link("child", ball()), "j");
  const LinkId geared = m.add_free_link("geared", ball(), {});
  m.joint(m.link(geared).joint).dofs[3].armature = 0.1;
  const LinkId laden = m.add_free_link("laden", ball(), {});
  hang(m, laden, m.add_link("load", ball()), "weld", JointKind::kFixed);
  const Model model = compile_or_die(m);
  const auto alone = [&](const char* name) {
    return model.bodies[model.find(m.find_link(name))->body].alone;
  };
  EXPECT_TRUE(alone("alone"));
  EXPECT_FALSE(alone("parent"));
  EXPECT_FALSE(alone("geared"));
  EXPECT_TRUE(alone("laden")) << "what is fixed to it is the same body";
  EXPECT_EQ(model.free_bodies.size(), 2u);
}

TEST(Compile, IdsThatNameNothingAreNotFound) {
  const Mechanism m = random_mechanism(3, 8);
  const Model model = compile_or_die(m);
  EXPECT_EQ(model.find(LinkId{}), nullptr);
  EXPECT_EQ(model.find(LinkId{.index = 1000, .generation = 1}), nullptr);
  EXPECT_EQ(model.find(LinkId{.index = 1, .generation = 2}), nullptr) << "another tenant of the slot";
  EXPECT_EQ(model.find(JointId{}), nullptr);
  EXPECT_EQ(model.find(JointId{.index = 0, .generation = 9}), nullptr);
  for (LinkId id : m.link_ids()) EXPECT_EQ(model.find(id)->id, id);
}

TEST(Compile, VersionsTellModelsApart) {
  const Mechanism m = random_mechanism(3, 9);
  std::set<std::uint64_t> versions;
  for (int i = 0; i < 5; ++i) versions.insert(compile_or_die(m).version());
  EXPECT_EQ(versions.size(), 5u);
}

TEST(Compile, TheEmptyMechanism) {
  const Model model = compile_or_die(Mechanism());
  EXPECT_EQ(model.nv, 0);
  EXPECT_EQ(model.body_count(), 1);
  State state(model);
  Workspace ws(model);
  Eigen::VectorXd nothing(0);
  aba(model, state, nothing, {}, ws, nothing);
  EXPECT_TRUE(state.q.empty());
}

TEST(Compile, ChainsOfAHundredThousandLinks) {
  const Model model = compile_or_die(chain(100'000));  // would overflow the stack if it recursed
  EXPECT_EQ(model.nv, 100'000);
  EXPECT_EQ(model.paths.size(), 100'000u) << "the paths of a chain share their storage";
  EXPECT_EQ(model.dofs.back().depth, 99'999);
}

}  // namespace
}  // namespace karakuri::test
