// Whole-body inverse kinematics against a leg's closed form, finite differences, what priorities promise, and
// limits; of random trees of all joint kinds.
#include "karakuri/dynamics/inverse_kinematics.h"

#include <gtest/gtest.h>

#include <cmath>

#include <Eigen/SVD>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/jacobian.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "karakuri/spatial/rotation.h"
#include "support/no_alloc.h"
#include "support/test_models.h"

namespace karakuri {
namespace {

using test::compile_or_die;
using test::random_state;

constexpr double kThigh = 0.30, kShank = 0.32;  // [m]

/// Pelvis on the world by `root`; yaw, roll and pitch of the hip, knee, pitch and roll of the ankle.
Mechanism leg(JointKind root) {
  Mechanism m;
  const Inertia inertia = Inertia::solid_box(2, {0.1, 0.1, 0.2});
  LinkId last = m.add_link("pelvis", inertia);
  EXPECT_TRUE(m.add_joint({.name = "root", .kind = root, .parent = m.world(), .child = last}).ok());
  const struct {
    const char* name;
    Vec3 axis;
    double down;
  } joints[] = {{"yaw", Vec3::UnitZ(), 0},        {"roll", Vec3::UnitX(), 0},
                {"pitch", Vec3::UnitY(), 0},      {"knee", Vec3::UnitY(), kThigh},
                {"ankle", Vec3::UnitY(), kShank}, {"foot", Vec3::UnitX(), 0}};
  for (const auto& j : joints) {
    const LinkId link = m.add_link(j.name, inertia);
    EXPECT_TRUE(m.add_joint({.name = j.name,
                             .kind = JointKind::kRevolute,
                             .parent = last,
                             .child = link,
                             .X_PF = Transform::translation({0, 0, -j.down}),
                             .axis = j.axis})
                    .ok());
    last = link;
  }
  return m;
}

/// S. Kajita, Humanoid Robots (2005), 2.5.2: the hip seen from the ankle gives the knee by the law of
/// cosines, then the ankle, and what is left of the rotation is the hip's, R_z(q1) R_x(q2) R_y(q3).
std::array<double, 6> closed_form(const Transform& X_HF) {
  const Vec3 r = X_HF.R.transpose() * (-X_HF.p);
  const double c = r.norm();
  std::array<double, 6> q{};
  q[3] = std::numbers::pi - std::acos((kThigh * kThigh + kShank * kShank - c * c) / (2 * kThigh * kShank));
  const double alpha = std::asin(kThigh * std::sin(std::numbers::pi - q[3]) / c);
  q[5] = std::atan2(r.y(), r.z());
  q[4] = -std::atan2(r.x(), std::hypot(r.y(), r.z())) - alpha;
  const Mat3 R = X_HF.R * rotation_exp({-q[5], 0, 0}) * rotation_exp({0, -q[3] - q[4], 0});
  q[0] = std::atan2(-R(0, 1), R(1, 1));
  q[1] = std::atan2(R(2, 1), -R(0, 1) * std::sin(q[0]) + R(1, 1) * std::cos(q[0]));
  q[2] = std::atan2(-R(2, 0), R(2, 2));
  return q;
}

TEST(InverseKinematics, AgreesWithTheClosedFormOfALeg) {
  const Mechanism m = leg(JointKind::kFixed);
  const Model model = compile_or_die(m);
  InverseKinematics ik(model);
  IkProblem problem;
  problem.frames.push_back({.link = m.find_link("foot")});
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    State state(model);
    const double lift = random.uniform(0.02, 0.25);
    const Transform X{
        rotation_exp({random.uniform(-0.3, 0.3), random.uniform(-0.4, 0.4), random.uniform(-0.6, 0.6)}),
        {random.uniform(-0.15, 0.15), random.uniform(-0.1, 0.1), -kThigh - kShank + lift}};
    if (X.p.norm() > 0.98 * (kThigh + kShank)) continue;
    problem.frames[0].X_WF = X;
    state.q = {0, 0, -0.3, 0.6, -0.3, 0};  // the knee is bent forward, as in the closed form
    const IkReport report = ik.solve(model, problem, {}, state.q_view());
    const std::array<double, 6> expected = closed_form(X);
    ASSERT_TRUE(report.converged) << i;
    // the tolerance of the last step, 1e-10, by a condition number of ten near the stretched knee
    for (std::size_t k = 0; k < 6; ++k) ASSERT_NEAR(state.q[k], expected[k], 1e-9) << i << " joint " << k;
  }
}

/// Errors of the goals as the test itself finds them.
double frame_error(const Model& model, const Workspace& ws, const FrameGoal& g) {
  const Transform X = link_pose(model, ws, g.link) * g.X_LF;
  return std::max((X.p - g.X_WF.p).norm(), rotation_log(X.R.transpose() * g.X_WF.R).norm());
}

TEST(InverseKinematics, ReachesWhatATreeOfAnyJointsHasReached) {
  Random random(5);
  int reached = 0, tried = 0;
  for (const test::TestModel& tested : test::all_tree_models()) {
    const Model& model = tested.model;
    if (model.links.size() < 3) continue;
    InverseKinematics ik(model);
    Workspace ws(model);
    for (int i = 0; i < 10; ++i) {
      State there = random_state(model, random, 0.15);
      update_poses(model, there, ws);
      IkProblem problem;
      const auto pick = [&] {
        return model
            .links[1 +
                   static_cast<std::size_t>(random.uniform() * static_cast<double>(model.links.size() - 1))]
            .id;
      };
      for (int k = 0; k < 2; ++k) {
        FrameGoal goal{.link = pick(), .X_LF = test::random_transform(random, 0.2), .priority = k};
        goal.X_WF = link_pose(model, ws, goal.link) * goal.X_LF;
        problem.frames.push_back(goal);
      }
      problem.centers.push_back({.position = center_of_mass(model, ws), .priority = 1});
      ASSERT_TRUE(find_flaws(model, problem).empty());
      // from a little beside: what is reachable, and near, must be found
      State state = there;
      integrate(model, state.q_view(), Eigen::Map<Eigen::VectorXd>(there.v.data(), model.nv), 1);
      const IkReport report =
          ik.solve(model, problem, {.max_iterations = 200, .limits = false}, state.q_view());
      ++tried;
      if (!report.converged) continue;
      ++reached;
      update_poses(model, state, ws);
      for (const FrameGoal& g : problem.frames) EXPECT_LT(frame_error(model, ws, g), 1e-8) << tested.name;
      EXPECT_LT((center_of_mass(model, ws) - problem.centers[0].position).norm(), 1e-8) << tested.name;
    }
  }
  EXPECT_GE(reached, tried * 95 / 100) << tried;
}

struct Standing {
  Mechanism mechanism = test::humanoid36();
  Model model = compile_or_die(mechanism);
  IkProblem problem;
  std::vector<double> q;

  Standing() {
    State state(model);
    Random random(8);
    for (const Body& body : model.bodies)  // bent legs and arms, so that nothing is singular
      for (int k = 0; k < body.dofs && body.kind == JointKind::kRevolute; ++k)
        state.q[static_cast<std::size_t>(body.first_q + k)] = random.uniform(0.2, 0.6);
    Workspace ws(model);
    update_poses(model, state, ws);
    int ends = 0;
    for (const LinkEntry& link : model.links) {
      const bool is_leaf = link.body != 0 && std::ranges::none_of(model.bodies, [&](const Body& b) {
                             return b.parent == link.body;
                           });
      if (!is_leaf || ends >= 2) continue;
      ++ends;
      FrameGoal goal{.link = link.id};
      goal.X_WF = link_pose(model, ws, link.id);
      problem.frames.push_back(goal);
    }
    problem.frames.push_back({.link = model.links[1].id, .move = Vec3::Zero(), .priority = 1});
    problem.frames.back().X_WF = link_pose(model, ws, model.links[1].id);
    problem.centers.push_back({.position = center_of_mass(model, ws), .priority = 1});
    problem.posture = state.q;
    q = state.q;
  }
  auto view() { return Eigen::Map<Eigen::VectorXd>(q.data(), model.nq); }
};

TEST(InverseKinematics, RatesAreDerivativesOfTheSolution) {
  Standing s;
  InverseKinematics ik(s.model);
  ASSERT_TRUE(ik.solve(s.model, s.problem, {}, s.view()).converged);
  // The posture pulls only where goals leave freedom; rates() moves these least. At the posture both agree,
  // but for the root, which has no posture: it must cost nothing.
  s.problem.cost.assign(static_cast<std::size_t>(s.model.nv), 1.0);
  std::fill_n(s.problem.cost.begin(), 6, 1e-9);
  s.problem.posture = s.q;
  s.problem.frames[0].velocity = {{0.1, -0.2, 0.15}, {0.3, 0.1, -0.1}};
  s.problem.centers[0].velocity = {0.02, -0.05, 0.03};
  Eigen::VectorXd v(s.model.nv), found(s.model.nv);
  ik.rates(s.model, s.problem, s.view(), v);
  constexpr double h = 2e-5;
  std::vector<double> ends[2];
  for (int side = 0; side < 2; ++side) {
    const double t = side == 0 ? -h : h;
    IkProblem moved = s.problem;
    FrameGoal& f = moved.frames[0];
    f.X_WF.R = rotation_exp(t * f.velocity.angular) * f.X_WF.R;
    f.X_WF.p += t * f.velocity.linear;
    moved.centers[0].position += t * moved.centers[0].velocity;
    ends[side] = s.q;
    Eigen::Map<Eigen::VectorXd> q(ends[side].data(), s.model.nq);
    ASSERT_TRUE(ik.solve(s.model, moved, {.tolerance = 1e-13}, q).converged);
  }
  difference(s.model, Eigen::Map<Eigen::VectorXd>(ends[0].data(), s.model.nq),
             Eigen::Map<Eigen::VectorXd>(ends[1].data(), s.model.nq), found);
  found /= 2 * h;
  // central differences: h^2 times third derivatives of order 10
  EXPECT_LT((v - found).lpNorm<Eigen::Infinity>(), 1e-6);
  // and the goals' own Jacobians, which other code made
  Workspace ws(s.model);
  State state(s.model);
  state.q = s.q;
  update_poses(s.model, state, ws);
  Eigen::MatrixXd J(6, s.model.nv);
  frame_jacobian(s.model, ws, s.problem.frames[0].link, Vec3::Zero(), J);
  Eigen::VectorXd twist(6);
  twist << s.problem.frames[0].velocity.angular, s.problem.frames[0].velocity.linear;
  EXPECT_LT((J * v - twist).norm(), 1e-11);
  Eigen::MatrixXd A(6, s.model.nv);
  centroidal_momentum_matrix(s.model, ws, A);
  EXPECT_LT((A.bottomRows(3) * v / total_mass(s.model) - s.problem.centers[0].velocity).norm(), 1e-11);
}

TEST(InverseKinematics, RatesAreTheLeastOfThoseThatDo) {
  // one level of full rank: the pseudo-inverse, weighted by the costs
  Standing s;
  s.problem.frames.resize(2);
  s.problem.centers.clear();
  Random random(12);
  s.problem.cost.resize(static_cast<std::size_t>(s.model.nv));
  for (double& c : s.problem.cost) c = std::exp(random.uniform(-1.5, 1.5));
  for (FrameGoal& f : s.problem.frames)
    f.velocity = {test::random_vector(3, random), test::random_vector(3, random)};
  InverseKinematics ik(s.model);
  Eigen::VectorXd v(s.model.nv);
  ik.rates(s.model, s.problem, s.view(), v);
  Workspace ws(s.model);
  State state(s.model);
  state.q = s.q;
  update_poses(s.model, state, ws);
  Eigen::MatrixXd J(12, s.model.nv);
  Eigen::VectorXd wanted(12);
  for (int i = 0; i < 2; ++i) {
    const FrameGoal& f = s.problem.frames[static_cast<std::size_t>(i)];
    frame_jacobian(s.model, ws, f.link, Vec3::Zero(), J.middleRows(6 * i, 6));
    wanted.segment<6>(6 * i) << f.velocity.angular, f.velocity.linear;
  }
  const Eigen::VectorXd scale =
      Eigen::Map<Eigen::VectorXd>(s.problem.cost.data(), s.model.nv).cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd scaled = J * scale.asDiagonal();
  const Eigen::VectorXd expected =
      scale.asDiagonal() * scaled.jacobiSvd(Eigen::ComputeThinU | Eigen::ComputeThinV).solve(wanted);
  EXPECT_LT((v - expected).norm(), 1e-10 * expected.norm());  // condition below 1e3
}

TEST(InverseKinematics, LaterPrioritiesNeverDisturbEarlierOnes) {
  Standing s;
  InverseKinematics ik(s.model);
  s.problem.centers[0].position += Vec3(0.5, 0, 0.8);  // far out of reach
  ik.solve(s.model, s.problem, {.max_iterations = 300}, s.view());
  Workspace ws(s.model);
  State state(s.model);
  state.q = s.q;
  update_poses(s.model, state, ws);
  for (int i = 0; i < 2; ++i)
    EXPECT_LT(frame_error(s.model, ws, s.problem.frames[static_cast<std::size_t>(i)]), 1e-6) << i;
  EXPECT_GT((center_of_mass(s.model, ws) - s.problem.centers[0].position).norm(), 0.1);
}

TEST(InverseKinematics, KeepsLimitsAndHoldsWhatDoesNotMove) {
  Mechanism m = leg(JointKind::kFixed);
  Random random(9);
  for (const JointId id : m.joint_ids()) {
    if (m.joint(id).kind != JointKind::kRevolute) continue;
    m.joint(id).dofs[0].lower = -0.5;
    m.joint(id).dofs[0].upper = 0.7;
  }
  const Model model = compile_or_die(m);
  InverseKinematics ik(model);
  IkProblem problem;
  problem.frames.push_back({.link = m.find_link("foot")});
  problem.cost.assign(6, 1.0);
  problem.cost[0] = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 100; ++i) {
    problem.frames[0].X_WF = {rotation_exp(test::random_vector(3, random, 0.8)),
                              Vec3(0, 0, -0.5) + Vec3(test::random_vector(3, random, 0.3))};
    State state(model);
    state.q = {0.1, 0, -0.2, 0.4, -0.2, 0};
    const IkReport report = ik.solve(model, problem, {}, state.q_view());
    EXPECT_TRUE(std::isfinite(report.error));
    EXPECT_DOUBLE_EQ(state.q[0], 0.1);
    for (const double q : state.q) EXPECT_TRUE(q >= -0.5 - 1e-15 && q <= 0.7 + 1e-15) << q;
  }
}

TEST(InverseKinematics, LeavesFreedomToThePosture) {
  // an arm of seven whose hand stays: the posture is met as far as the hand lets it, so that no motion of the
  // one freedom that is left brings it nearer
  const Mechanism m = test::arm7();
  const Model model = compile_or_die(m);
  InverseKinematics ik(model);
  Random random(2);
  State state(model);
  for (double& q : state.q) q = random.uniform(0.2, 0.8);
  Workspace ws(model);
  update_poses(model, state, ws);
  IkProblem problem;
  problem.frames.push_back({.link = model.links.back().id});
  problem.frames[0].X_WF = link_pose(model, ws, model.links.back().id);
  problem.posture.assign(7, 0.3);
  ASSERT_TRUE(ik.solve(model, problem, {.max_iterations = 500, .limits = false}, state.q_view()).converged);
  update_poses(model, state, ws);
  EXPECT_LT(frame_error(model, ws, problem.frames[0]), 1e-9);
  Eigen::MatrixXd J(6, 7);
  frame_jacobian(model, ws, model.links.back().id, Vec3::Zero(), J);
  const Eigen::VectorXd free = J.jacobiSvd(Eigen::ComputeFullV).matrixV().col(6);
  const Eigen::VectorXd away = Eigen::VectorXd::Constant(7, 0.3) - Eigen::VectorXd(state.q_view());
  EXPECT_NEAR(free.dot(away), 0, 1e-8);
}

TEST(InverseKinematics, TellsWhatIsWrong) {
  const Model model = compile_or_die(leg(JointKind::kFree));
  IkProblem problem;
  problem.frames.push_back({.link = LinkId{}});
  problem.frames.push_back({.link = model.links[1].id, .turn = Vec3(-1, 0, 0)});
  problem.posture.assign(3, 0.0);
  problem.cost.assign(static_cast<std::size_t>(model.nv), 0.0);
  problem.centers.resize(2);
  EXPECT_EQ(find_flaws(model, problem).size(), 5u);
}

TEST(InverseKinematics, DoesNotAllocate) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  Standing s;
  InverseKinematics ik(s.model);
  ik.solve(s.model, s.problem, {}, s.view());
  s.problem.centers[0].position.x() += 0.01;
  test::NoAllocGuard guard;
  ik.solve(s.model, s.problem, {}, s.view());
  EXPECT_EQ(guard.allocations(), 0);
}

TEST(InverseKinematics, ExtractsATreeThatMovesAsTheWhole) {
  Mechanism whole = test::humanoid36();
  whole.add_free_link("box", Inertia::solid_box(1, Vec3::Ones()), Transform::translation({1, 2, 3}));
  const LinkId root = whole.link_ids()[1];
  const ExtractedTree part = extract_tree(whole, root);
  const Model all = compile_or_die(whole), one = compile_or_die(part.mechanism);
  EXPECT_EQ(one.nv, all.nv - 6);
  Random random(4);
  State a = random_state(all, random), b(one);
  for (const auto& [in_whole, in_part] : part.joints) {
    const JointEntry *from = all.find(in_whole), *to = one.find(in_part);
    if (from->first_q >= 0)
      std::copy_n(a.q.begin() + from->first_q, q_size(from->kind), b.q.begin() + to->first_q);
  }
  Workspace wa(all), wb(one);
  update_poses(all, a, wa), update_poses(one, b, wb);
  for (const auto& [in_whole, in_part] : part.links)
    EXPECT_LT((link_pose(all, wa, in_whole).p - link_pose(one, wb, in_part).p).norm(), 1e-14);
}

}  // namespace
}  // namespace karakuri
