// Closed loops: rows and their derivatives by finite differences, mobility, inverse and forward dynamics of
// mechanisms whose motion is known.
#include "karakuri/dynamics/closed_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/dynamics/rnea.h"
#include "karakuri/model/configuration.h"
#include "support/linkages.h"
#include "support/test_models.h"

namespace karakuri {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr JointKind kLoopKinds[] = {JointKind::kFixed,       JointKind::kRevolute,  JointKind::kPrismatic,
                                    JointKind::kCylindrical, JointKind::kScrew,     JointKind::kUniversal,
                                    JointKind::kPlanar,      JointKind::kSpherical, JointKind::kPointOnLine,
                                    JointKind::kDistance};

/// Two chains with bends of all sorts, their ends joined by `kind`, closed as it is built.
Model joined_chains(JointKind kind, std::uint64_t seed) {
  Random random(seed);
  Mechanism m;
  LinkId end[2];
  for (int side = 0; side < 2; ++side) {
    LinkId on = m.world();
    for (int k = 0; k < 3; ++k) {
      const LinkId link =
          m.add_link(std::string(side == 0 ? "a" : "b") + std::to_string(k), test::random_inertia(random));
      const JointKind kinds[] = {JointKind::kSpherical, JointKind::kUniversal, JointKind::kPlanar};
      EXPECT_TRUE(m.add_joint(test::random_joint(random, kinds[k], m.link(link).name, on, link)).ok());
      on = link;
    }
    end[side] = on;
  }
  Joint joint = test::random_joint(random, kind, "loop", end[0], end[1]);
  joint.distance = 0.7;
  EXPECT_TRUE(m.add_loop(joint).ok());
  return test::compile_or_die(m);
}

State closed_state(const Model& model, Workspace& ws, Random& random) {
  for (int trial = 0; trial < 50; ++trial) {
    State state = test::random_state(model, random);
    if (close_loops(model, state, ws) < 1e-12) return state;
  }
  ADD_FAILURE() << "no closed position was found";
  return State(model);
}

VectorXd errors_at(const Model& model, const State& state, Workspace& ws) {
  update_poses(model, state, ws);
  const LoopRows rows = loop_rows(model.loops[0], ws);
  return Eigen::Map<const VectorXd>(rows.error.data(), rows.count);
}

VectorXd row_rates(const Model& model, const State& state, Workspace& ws) {
  update_poses(model, state, ws);
  update_velocities(model, state, ws);
  const LoopRows rows = loop_rows(model.loops[0], ws);
  VectorXd u(rows.count);
  row_velocities({rows.row.data(), static_cast<std::size_t>(rows.count)}, ws, u);
  return u;
}

TEST(ClosedLoop, RowsAreDerivativesOfTheErrors) {
  for (const JointKind kind : kLoopKinds) {
    SCOPED_TRACE(std::string(name(kind)));
    const Model model = joined_chains(kind, 5);
    Workspace ws(model);
    Random random(3);
    State state = closed_state(model, ws, random);
    project_velocities(model, state, ws);
    ClosedLoop loop;
    update_closed_loop(model, state, ws, loop);
    EXPECT_EQ(loop.rows, loop_row_count(kind));
    EXPECT_EQ(loop.rank, loop.rows) << "two chains of eight dofs each can move all of them";
    EXPECT_LT((loop.J() * state.v_view()).norm(), 1e-12);

    const double h = 1e-5;  // differences: h^2 of the third derivative, and 1e-16 / h of rounding
    const VectorXd any = test::random_vector(model.nv, random);
    State before = state, after = state;
    integrate(model, after.q_view(), any, h);
    integrate(model, before.q_view(), any, -h);
    const VectorXd rate = (errors_at(model, after, ws) - errors_at(model, before, ws)) / (2 * h);
    EXPECT_LT((rate - loop.J() * any).norm(), 1e-8);

    // du/dt at constant v is (dJ/dt) v
    after = before = state;
    integrate(model, after.q_view(), state.v_view(), h);
    integrate(model, before.q_view(), state.v_view(), -h);
    const VectorXd turned = (row_rates(model, after, ws) - row_rates(model, before, ws)) / (2 * h);
    EXPECT_LT((turned - Eigen::Map<const VectorXd>(loop.bias.data(), loop.rows)).norm(), 1e-7);
  }
}

struct Named {
  const char* name;
  Scene scene;
  int mobility, redundant;
};

std::vector<Named> mechanisms() {
  std::vector<Named> all;
  all.push_back({"four-bar", test::four_bar(), 1, 3});
  all.push_back({"Chebyshev", test::chebyshev(), 1, 3});
  all.push_back({"ladder", test::ladder(2), 1, 6});
  all.push_back({"Bricard", test::bricard(), 1, 1});
  all.push_back({"Andrews", test::andrews().scene, 1, 9});
  all.push_back({"Stewart", test::stewart(), 6, 0});
  all.push_back({"delta", test::delta(), 3, 0});
  return all;
}

TEST(ClosedLoop, Mobility) {
  for (const Named& m : mechanisms()) {
    SCOPED_TRACE(m.name);
    const Model model = test::compile_or_die(m.scene.mechanism);
    const State state = test::initial_state(m.scene, model);
    Workspace ws(model);
    ClosedLoop loop;
    update_closed_loop(model, state, ws, loop);
    // The ladder starts upright, where nothing is singular.
    EXPECT_EQ(loop.mobility(), m.mobility);
    EXPECT_EQ(loop.redundant(), m.redundant);
    EXPECT_LT(loop.largest_error(), 1e-14);
    EXPECT_LT((loop.J() * loop.W()).cwiseAbs().maxCoeff(), 1e-12) << "all rows hold, chosen or not";
  }
}

/// Somewhere on its way, moving.
State on_the_way(const Model& model, State state, Workspace& ws, Random& random) {
  ClosedLoop loop;
  update_closed_loop(model, state, ws, loop);
  const VectorXd lead = test::random_vector(loop.mobility(), random);
  integrate(model, state.q_view(), loop.W() * lead, 0.2);
  EXPECT_LT(close_loops(model, state, ws), 1e-13);
  state.v_view() = test::random_vector(model.nv, random, 3.0);
  project_velocities(model, state, ws);
  return state;
}

TEST(ClosedLoop, WithoutLoopsEveryDofLeads) {
  for (const test::TestModel& m : test::all_tree_models()) {
    SCOPED_TRACE(m.name);
    if (!m.model.loops.empty()) continue;
    Workspace ws(m.model);
    ClosedLoop loop;
    update_closed_loop(m.model, State(m.model), ws, loop);
    EXPECT_EQ(loop.mobility(), m.model.nv);
    EXPECT_EQ(loop.redundant(), 0);
    EXPECT_EQ(MatrixXd(loop.W()), MatrixXd(MatrixXd::Identity(m.model.nv, m.model.nv)));
  }
}

TEST(ClosedLoop, BothWaysOfForwardDynamicsAgreeAndInvert) {
  for (const Named& m : mechanisms()) {
    SCOPED_TRACE(m.name);
    const Model model = test::compile_or_die(m.scene.mechanism);
    Workspace ws(model);
    Random random(11);
    const State state = on_the_way(model, test::initial_state(m.scene, model), ws, random);
    ClosedLoop loop;
    update_closed_loop(model, state, ws, loop);
    ASSERT_EQ(loop.mobility(), m.mobility);
    const VectorXd a_G = test::random_vector(loop.mobility(), random, 5.0);
    // twice as many motors as freedoms
    std::vector<Actuated> motors;
    for (int k = 0; k < std::min(model.nv, 2 * loop.mobility()); ++k) motors.push_back({k});
    if (loop.mobility() == 6) {  // of the Stewart platform all of its twelve pistons' dofs and the plate's
      motors.clear();
      for (int v = 0; v < model.nv; ++v) motors.push_back({v});
    }
    const ClosedLoopEfforts efforts = closed_loop_inverse_dynamics(model, state, loop, a_G, motors, {}, ws);
    VectorXd tau = VectorXd::Zero(model.nv);
    for (std::size_t i = 0; i < motors.size(); ++i) tau[motors[i].dof] = efforts.effort[i];
    VectorXd by_units(model.nv), by_forces(model.nv);
    closed_loop_forward_dynamics(model, state, loop, tau, {}, ws, by_units);
    constrained_forward_dynamics(model, state, loop, tau, {}, ws, by_forces);
    const VectorXd wanted = loop.W() * a_G + Eigen::Map<const VectorXd>(loop.map_bias.data(), model.nv);
    EXPECT_EQ(efforts.missing, 0);
    EXPECT_LT((by_units - wanted).norm(), 1e-9 * (1 + wanted.norm()));
    EXPECT_LT((by_forces - wanted).norm(), 1e-9 * (1 + wanted.norm()));
    EXPECT_LT((loop.J() * by_forces + Eigen::Map<const VectorXd>(loop.bias.data(), loop.rows)).norm(),
              1e-9 * (1 + wanted.norm()));
  }
}

struct Moment {
  State state;
  VectorXd a;
};

/// Moves under efforts that depend on the number of the step, and remembers how.
std::vector<Moment> move(const Model& model, State state, int steps,
                         const std::function<VectorXd(int, const State&)>& efforts, double& least_regular) {
  constexpr double h = 1e-3;
  Workspace ws(model);
  ClosedLoop loop;
  std::vector<Moment> course;
  for (int k = 0; k < steps; ++k) {
    update_closed_loop(model, state, ws, loop);
    least_regular = std::min(least_regular, loop.regularity);
    VectorXd a(model.nv);
    constrained_forward_dynamics(model, state, loop, efforts(k, state), {}, ws, a);
    course.push_back({state, a});
    state.v_view() += h * a;
    integrate(model, state.q_view(), state.v_view(), h);
    close_loops(model, state, ws);
    project_velocities(model, state, ws);
  }
  return course;
}

/// Efforts of motors at all dofs with which the mechanism moves as it did then.
VectorXd efforts_for(const Model& model, const Moment& m, Workspace& ws, ClosedLoop& loop, double& missing) {
  update_closed_loop(model, m.state, ws, loop);
  VectorXd a_G(loop.mobility());
  for (int k = 0; k < loop.mobility(); ++k) a_G[k] = m.a[loop.generalized[k]];
  std::vector<Actuated> motors;
  for (int v = 0; v < model.nv; ++v) motors.push_back({v});
  const ClosedLoopEfforts out = closed_loop_inverse_dynamics(model, m.state, loop, a_G, motors, {}, ws);
  missing = std::max(missing, out.missing);
  return Eigen::Map<const VectorXd>(out.effort.data(), model.nv);
}

// A motion under some efforts; the efforts that inverse dynamics finds for it, which are others; the motion
// under those. Both are stepped in the same way, so that only the dynamics may part them. The ladder passes a
// position where all its bars are in line. The lengths end where rounding has not grown yet: Stewart's
// motions part by 5e-9 after 0.32 s, where accelerations reach 4e4, and at 0.18 s this plain stepping loses
// the delta altogether.
TEST(ClosedLoop, InverseThenForwardDynamicsReturnTheMotion) {
  const std::map<std::string, int> lengths{{"four-bar", 400}, {"Chebyshev", 400}, {"ladder", 1000},
                                           {"Bricard", 1000}, {"Stewart", 250},   {"delta", 110}};
  for (const Named& m : mechanisms()) {
    SCOPED_TRACE(m.name);
    if (!lengths.contains(m.name)) continue;
    const int steps = lengths.at(m.name);
    const Model model = test::compile_or_die(m.scene.mechanism);
    Workspace ws(model);
    Random random(5);
    const VectorXd size = test::random_vector(model.nv, random, 0.5);
    double regular = 1, missing = 0, apart = 0;
    const State start = test::initial_state(m.scene, model);
    const std::vector<Moment> wanted = move(
        model, start, steps, [&](int k, const State&) { return VectorXd(std::sin(0.02 * k) * size); },
        regular);
    ClosedLoop loop;
    const std::vector<Moment> found = move(
        model, start, steps,
        [&](int k, const State&) { return efforts_for(model, wanted[k], ws, loop, missing); }, regular);
    for (int k = 0; k < steps; ++k) {
      ASSERT_TRUE(found[k].a.allFinite()) << k;
      apart = std::max({apart, (found[k].state.q_view() - wanted[k].state.q_view()).norm(),
                        (found[k].state.v_view() - wanted[k].state.v_view()).norm() /
                            (1 + wanted[k].state.v_view().norm())});
    }
    std::printf("%s: inverse, then forward: apart %.1e, least regular %.1e\n", m.name, apart, regular);
    EXPECT_LT(apart, 1e-9);
    EXPECT_EQ(missing, 0);
    if (m.name == std::string("ladder"))
      EXPECT_GT(wanted.back().state.q[0], 1.7) << "past the singular position";
  }
}

/// What inverse, then forward dynamics make of an acceleration: how far they end from it, relative to 1 +
/// |a|.
struct Return {
  double apart = 0, regularity = 1;
  int mobility = 0;
  bool finite = true;

  /// 1e-9, or where coordinates hardly follow from each other, what that makes of rounding: errors of J_S⁻¹
  /// are those of J over its least pivot. 20: J, its rates and the efforts are sums of some ten products
  /// each.
  double bound() const { return std::max(1e-9, 20 * std::numeric_limits<double>::epsilon() / regularity); }
};

Return return_of(const Model& model, const Moment& m, Workspace& ws, ClosedLoop& loop) {
  double missing = 0;
  VectorXd again(model.nv);
  const VectorXd efforts = efforts_for(model, m, ws, loop, missing);
  constrained_forward_dynamics(model, m.state, loop, efforts, {}, ws, again);
  EXPECT_EQ(missing, 0);
  return {(again - m.a).norm() / (1 + m.a.norm()), loop.regularity, loop.mobility(),
          efforts.allFinite() && again.allFinite()};
}

// At every moment of motions that last: what is compared is the acceleration, so that it does not matter how
// motions that are nearly the same run apart later. Most fall freely, the ladders past their singular
// positions; of the two platforms gravity is carried, and dampers keep them within bounds.
TEST(ClosedLoop, InverseThenForwardDynamicsAtEveryMomentOfLongMotions) {
  std::vector<Named> all = mechanisms();
  all.push_back({"parallelogram", test::ladder(1), 1, 3});
  for (const Named& m : all) {
    SCOPED_TRACE(m.name);
    const Model model = test::compile_or_die(m.scene.mechanism);
    const std::string name = m.name;
    if (name == "Andrews") continue;  // a spring and a motor of its own, see below
    const bool falls = name != "Stewart" && name != "delta";
    Workspace ws(model);
    Random random(5);
    const VectorXd size = test::random_vector(model.nv, random, 0.5), none = VectorXd::Zero(model.nv);
    const auto efforts = [&](int k, const State& at) {
      VectorXd tau = std::sin(0.01 * k) * size;
      if (falls) return tau;
      State still = at;
      still.v_view().setZero();
      VectorXd carried(model.nv);
      rnea(model, still, none, {}, ws, carried);
      tau += carried - 0.5 * at.v_view();
      return tau;
    };
    double regular = 1, worst = 0, moved = 0;
    const std::vector<Moment> course =
        move(model, test::initial_state(m.scene, model), 1500, efforts, regular);
    ClosedLoop loop;
    for (std::size_t k = 0; k < course.size(); k += 5) {
      const Return r = return_of(model, course[k], ws, loop);
      ASSERT_TRUE(r.finite) << k;
      ASSERT_LT(r.apart, r.bound()) << k << " regular " << r.regularity;
      worst = std::max(worst, r.apart);
      moved = std::max(moved, (course[k].state.q_view() - course[0].state.q_view()).norm());
    }
    std::printf("%s: 1.5 s, inverse, then forward: apart %.1e, least regular %.1e, moved %.2f\n", m.name,
                worst, regular, moved);
    EXPECT_GT(moved, 0.05);
    if (name == "ladder" || name == "parallelogram")
      EXPECT_GT(course.back().state.q[0], 1.7) << "past the singular position";
  }
}

// At the singular position itself, moving through it, and at all distances from it. What is lost is told by
// `regularity`, and by the mobility where rows have fallen together: 1e-9 holds from 1e-6 rad on, and at the
// position itself, where the rows that are left are regular again.
TEST(ClosedLoop, SingularPositionsAreToldAndFinite) {
  for (const int bars : {1, 2}) {
    const Scene scene = test::ladder(bars);
    const Model model = test::compile_or_die(scene.mechanism);
    Workspace ws(model);
    for (const double off : {0.0, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7, 1e-6, 1e-5, 1e-3}) {
      SCOPED_TRACE(off);
      Moment m{test::initial_state(scene, model), VectorXd(model.nv)};
      for (int v = 0; v < model.nv; ++v) {
        m.state.q[v] = m.state.v[v] * (std::numbers::pi / 2 + off);
        m.state.v[v] *= 4;  // [rad/s]: in motion
      }
      ClosedLoop loop;
      update_closed_loop(model, m.state, ws, loop);
      EXPECT_GE(loop.mobility(), 1);
      if (off == 0) EXPECT_GT(loop.mobility(), 1) << "rows fall together: told as freedoms";
      constrained_forward_dynamics(model, m.state, loop, VectorXd::Constant(model.nv, 0.5), {}, ws, m.a);
      ASSERT_TRUE(m.a.allFinite());
      const Return r = return_of(model, m, ws, loop);
      std::printf(
          "ladder of %d, %.0e from its singular position: mobility %d, regular %.1e, apart %.1e of %.1e\n",
          bars, off, r.mobility, r.regularity, r.apart, m.a.norm());
      EXPECT_TRUE(r.finite);
      EXPECT_LT(r.apart, r.bound());
      if (off == 0 || off >= 1e-6) EXPECT_LT(r.apart, 1e-9);
    }
  }
}

TEST(ClosedLoop, RedundantMotorsShareTheLoadWithinTheirBounds) {
  const Scene scene = test::four_bar();
  const Model model = test::compile_or_die(scene.mechanism);
  const State state = test::initial_state(scene, model);
  Workspace ws(model);
  ClosedLoop loop;
  update_closed_loop(model, state, ws, loop);
  const VectorXd a_G = VectorXd::Constant(1, 2.0);
  const std::vector<Actuated> one{{0}}, three{{0}, {1}, {2}};
  const double alone = closed_loop_inverse_dynamics(model, state, loop, a_G, one, {}, ws).effort[0];
  const ClosedLoopEfforts shared = closed_loop_inverse_dynamics(model, state, loop, a_G, three, {}, ws);
  EXPECT_EQ(shared.missing, 0);
  const VectorXd x = Eigen::Map<const VectorXd>(shared.effort.data(), 3);
  // S^T x = alone * S_0 is one equation: the least norm is along S
  const VectorXd S = loop.W().col(0);
  EXPECT_LT((x - S * (S[0] * alone / S.squaredNorm())).norm(), 1e-12 * std::abs(alone));
  // the strongest of the three may give half of what it gave: the others take over, still along S
  int strongest = 0;
  x.cwiseAbs().maxCoeff(&strongest);
  std::vector<Actuated> bounded = three;
  bounded[strongest] = {strongest, -0.5 * std::abs(x[strongest]), 0.5 * std::abs(x[strongest])};
  const ClosedLoopEfforts cut = closed_loop_inverse_dynamics(model, state, loop, a_G, bounded, {}, ws);
  EXPECT_EQ(cut.missing, 0);
  EXPECT_NEAR(std::abs(cut.effort[strongest]), 0.5 * std::abs(x[strongest]), 1e-12 * x.norm());
  const int i = (strongest + 1) % 3, j = (strongest + 2) % 3;
  EXPECT_NEAR(cut.effort[i] * S[j], cut.effort[j] * S[i], 1e-10 * x.norm());
  // too weak altogether: told
  for (Actuated& a : bounded) a = {a.dof, -1e-3 * x.norm(), 1e-3 * x.norm()};
  EXPECT_GT(closed_loop_inverse_dynamics(model, state, loop, a_G, bounded, {}, ws).missing, 0);
}

/// RK4 on the tree's coordinates with constrained accelerations, put back on the loops after each step.
void follow(const Model& model, State& state, double h, int steps, Workspace& ws,
            const std::function<void(const State&, VectorXd& tau, std::vector<Force>& f_ext)>& act = {}) {
  ClosedLoop loop;
  VectorXd tau = VectorXd::Zero(model.nv), a(model.nv);
  std::vector<Force> f_ext;
  const auto accelerate = [&](const State& at) {
    update_closed_loop(model, at, ws, loop);
    if (act) act(at, tau, f_ext);
    constrained_forward_dynamics(model, at, loop, tau, f_ext, ws, a);
    return a;
  };
  for (int k = 0; k < steps; ++k) {
    State s = state;
    const VectorXd v1 = s.v_view(), a1 = accelerate(s);
    s.q_view() = state.q_view() + h / 2 * v1;
    s.v_view() = state.v_view() + h / 2 * a1;
    const VectorXd v2 = s.v_view(), a2 = accelerate(s);
    s.q_view() = state.q_view() + h / 2 * v2;
    s.v_view() = state.v_view() + h / 2 * a2;
    const VectorXd v3 = s.v_view(), a3 = accelerate(s);
    s.q_view() = state.q_view() + h * v3;
    s.v_view() = state.v_view() + h * a3;
    const VectorXd v4 = s.v_view(), a4 = accelerate(s);
    state.q_view() += h / 6 * (v1 + 2 * v2 + 2 * v3 + v4);
    state.v_view() += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
    close_loops(model, state, ws);
    project_velocities(model, state, ws);
  }
}

// Hairer & Wanner, Solving ODEs II (1996), VII.7, and the Test Set for IVP Solvers (2008): the angles at 0.03
// s.
TEST(ClosedLoop, AndrewsSqueezerMovesAsPublished) {
  test::Andrews m = test::andrews();
  const Model model = test::compile_or_die(m.scene.mechanism, Vec3::Zero());
  Workspace ws(model);
  State state(model);
  ASSERT_LT(close_loops(model, state, ws), 1e-14);
  const int crank = model.find(m.crank)->first_v;
  const auto act = [&](const State&, VectorXd& tau, std::vector<Force>& f_ext) {
    tau[crank] = m.drive;
    f_ext.assign(model.bodies.size(), Force{});
    const Vec3 way = link_pose(model, ws, m.sprung) * m.spring_on_3 - m.spring_fixed;
    const Vec3 force = -m.stiffness * (way.norm() - m.length) * way.normalized();
    add_external_wrench(model, ws, m.sprung, m.spring_on_3, {Vec3::Zero(), force}, f_ext);
  };
  follow(model, state, 1e-5, 3000, ws, act);
  const auto q = [&](const char* name) {
    return state.q[model.find(m.scene.mechanism.find_joint(name))->first_q];
  };
  const double steps = 1e-6;  // RK4 at 1e-5 s, against 1e-8 at 5e-6 s
  EXPECT_NEAR(q("K1") - 0.0617138900142764496, 15.81077119629904, steps);
  EXPECT_NEAR(q("K2"), -15.75637105984298, steps);
  EXPECT_NEAR(q("K3") + 0.455279819163070380, 0.04082224013073101, steps);
  EXPECT_NEAR(q("K4") + 0.222668390165885885, -0.5347301163226948, steps);
  EXPECT_NEAR(q("K5") + 0.487364979543842550, 0.5244099658805304, steps);
  EXPECT_NEAR(q("K6") - 0.222668390165885885, 0.5347301163226948, steps);
  EXPECT_NEAR(q("K7") + 1.23054744454982119, 1.048080741042263, steps);
}

// The ladder passes positions where all bars are in line and rows become dependent; its motion is known.
TEST(ClosedLoop, LadderPassesItsSingularPositions) {
  const Scene scene = test::ladder(2);
  const Model model = test::compile_or_die(scene.mechanism);
  Workspace ws(model);
  State state = test::initial_state(scene, model);
  const int theta = model.find(scene.mechanism.find_joint("upright0"))->first_q;
  follow(model, state, 1e-3, 2000, ws);
  const double angle = state.q[theta], rate = state.v[theta];
  EXPECT_GT(angle, 3.2) << "it is past the first singular position at pi / 2";
  EXPECT_NEAR(rate * rate, 1 + 3 * 9.81 * 7 / 9.0 * (1 - std::cos(angle)), 1e-7);
}

TEST(ClosedLoop, CoordinatesAreChosenAnewWhereTheyFailAndKeptElse) {
  // Driven by its crank the four-bar is regular everywhere; driven by the rocker it is not at its ends.
  const Scene scene = test::four_bar();
  const Model model = test::compile_or_die(scene.mechanism);
  Workspace ws(model);
  State state = test::initial_state(scene, model);
  ClosedLoop loop;
  int changes = -1;  // the first is a choice, not a change
  double worst = 1;
  VectorXd before = VectorXd::Zero(model.nv);
  for (int k = 0; k < 700; ++k) {
    update_closed_loop(model, state, ws, loop);
    changes += loop.rechosen ? 1 : 0;
    worst = std::min(worst, loop.regularity);
    VectorXd along = loop.W().col(0).normalized();
    if (along.dot(before) < 0) along = -along;  // onwards, whichever dof leads
    integrate(model, state.q_view(), along, 0.02);
    before = along;
    ASSERT_LT(close_loops(model, state, ws), 1e-12);
  }
  EXPECT_LT(changes, 12);
  EXPECT_GT(worst, 0.01);
}

}  // namespace
}  // namespace karakuri
