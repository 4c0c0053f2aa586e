// Velocities, accelerations and Jacobians against finite differences of positions.
#include "karakuri/dynamics/kinematics.h"

#include <gtest/gtest.h>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/jacobian.h"
#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/model/configuration.h"
#include "karakuri/spatial/rotation.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

const Vec3 kPoint{0.3, -0.2, 0.5};  // some point of the link
// Fourth-order differences with this step err by h^4 f'''''/30 ~ 1e-13 and eps/h ~ 1e-12.
constexpr double kStep = 1e-3;
constexpr double kTolerance = 1e-9;

/// Moves q along v for a time t.
State moved(const Model& model, const State& state, double t) {
  State next = state;
  integrate(model, next.q_view(), state.v_view(), t);
  return next;
}

/// Fourth-order central difference.
template <class F>
auto derivative(F f) -> decltype(f(0.0)) {
  return (8.0 * (f(kStep) - f(-kStep)) - (f(2 * kStep) - f(-2 * kStep))) / (12.0 * kStep);
}

TEST(Kinematics, VelocityIsTheDerivativeOfPose) {
  Random random(11);
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    const State state = random_state(m.model, random);
    for (const LinkEntry& link : m.model.links) {
      const auto pose_at = [&](double t) {
        update_poses(m.model, moved(m.model, state, t), ws);
        return link_pose(m.model, ws, link.id);
      };
      const Transform X = pose_at(0);
      const Vec3 linear = derivative([&](double t) -> Vec3 { return pose_at(t) * kPoint; });
      const Vec3 angular =
          derivative([&](double t) -> Vec3 { return rotation_log(pose_at(t).R * X.R.transpose()); });
      update_poses(m.model, state, ws);
      update_velocities(m.model, state, ws);
      const Motion V = point_velocity(m.model, ws, link.id, kPoint);
      EXPECT_LT((V.linear - linear).norm(), kTolerance * (1 + linear.norm())) << link.name;
      EXPECT_LT((V.angular - angular).norm(), kTolerance * (1 + angular.norm())) << link.name;
    }
  }
}

TEST(Kinematics, TreesByThemselvesHaveTheSameBits) {
  Random random(16);
  const auto same = [](const Packed3& a, const Packed3& b) { return Vec3(a) == Vec3(b); };
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace whole(m.model), parts(m.model);
    const State state = random_state(m.model, random);
    update_poses(m.model, state, whole);
    update_velocities(m.model, state, whole);
    for (const Tree& tree : m.model.trees) {
      update_poses(m.model, state, tree, parts);
      update_velocities(m.model, state, tree, parts);
    }
    std::vector<Workspace::Velocity> all(m.model.bodies.size()), by_tree(m.model.bodies.size());
    body_velocities(m.model, whole, state.v_view(), all);
    for (const Tree& tree : m.model.trees) body_velocities(m.model, whole, state.v_view(), tree, by_tree);
    for (int i = 0; i < m.model.body_count(); ++i) {
      EXPECT_EQ(Mat3(whole.pose[i].R), Mat3(parts.pose[i].R)) << i;
      EXPECT_TRUE(same(whole.pose[i].p, parts.pose[i].p)) << i;
      EXPECT_TRUE(same(whole.velocity[i].w, parts.velocity[i].w)) << i;
      EXPECT_TRUE(same(whole.velocity[i].v, parts.velocity[i].v)) << i;
      EXPECT_TRUE(same(all[i].w, by_tree[i].w) && same(all[i].v, by_tree[i].v)) << i;
      // without the bias the sum may be taken in another order
      EXPECT_LT((Vec3(whole.velocity[i].v) - Vec3(all[i].v)).norm(), 1e-13 * (1 + Vec3(all[i].v).norm()))
          << i;
    }
  }
}

TEST(Kinematics, AccelerationIsTheDerivativeOfVelocity) {
  Random random(12);
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    const State state = random_state(m.model, random);
    const Eigen::VectorXd a = random_vector(m.model.nv, random);
    // The path with joint velocity v + a t: q to second order is the flow of the mean velocity v + a t / 2;
    // its error is of third order in t, odd, and drops out of the derivative at 0 but for O(h^2): refine the
    // step.
    const auto velocity_at = [&](const LinkEntry& link, double t) {
      State at = state;
      const int parts = 64;  // the error of the midpoint rule falls with 1/parts^2
      for (int k = 0; k < parts; ++k) {
        const Eigen::VectorXd v = state.v_view() + a * (t * (k + 0.5) / parts);
        integrate(m.model, at.q_view(), v, t / parts);
      }
      at.v_view() = state.v_view() + a * t;
      update_poses(m.model, at, ws);
      update_velocities(m.model, at, ws);
      return point_velocity(m.model, ws, link.id, kPoint);
    };
    for (const LinkEntry& link : m.model.links) {
      const Vec3 linear = derivative([&](double t) -> Vec3 { return velocity_at(link, t).linear; });
      const Vec3 angular = derivative([&](double t) -> Vec3 { return velocity_at(link, t).angular; });
      update_poses(m.model, state, ws);
      update_velocities(m.model, state, ws);
      update_accelerations(m.model, a, ws);
      const Motion A = point_acceleration(m.model, ws, link.id, kPoint);
      EXPECT_LT((A.linear - linear).norm(), kTolerance * (1 + linear.norm())) << link.name;
      EXPECT_LT((A.angular - angular).norm(), kTolerance * (1 + angular.norm())) << link.name;
    }
  }
}

TEST(Jacobian, TimesVelocityIsVelocity) {
  Random random(13);
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    const State state = random_state(m.model, random);
    const Eigen::VectorXd a = random_vector(m.model.nv, random);
    update_poses(m.model, state, ws);
    update_velocities(m.model, state, ws);
    Eigen::MatrixXd J(6, m.model.nv), Jp(3, m.model.nv);
    for (const LinkEntry& link : m.model.links) {
      frame_jacobian(m.model, ws, link.id, kPoint, J);
      point_jacobian(m.model, ws, link.id, kPoint, Jp);
      EXPECT_EQ(J.bottomRows(3), Jp);
      const Eigen::Matrix<double, 6, 1> V = J * state.v_view();
      const Motion expected = point_velocity(m.model, ws, link.id, kPoint);
      // both are sums of at most 60 terms of order one
      EXPECT_LT((V.head<3>() - expected.angular).norm() + (V.tail<3>() - expected.linear).norm(), 1e-12);

      update_bias_accelerations(m.model, ws);
      const Motion Jdot_v = point_acceleration(m.model, ws, link.id, kPoint);
      update_accelerations(m.model, a, ws);
      const Motion A = point_acceleration(m.model, ws, link.id, kPoint);
      const Eigen::Matrix<double, 6, 1> Ja = J * a;
      EXPECT_LT((Ja.head<3>() + Jdot_v.angular - A.angular).norm(), 1e-11);  // terms of order ten
      EXPECT_LT((Ja.tail<3>() + Jdot_v.linear - A.linear).norm(), 1e-11);
    }
  }
}

TEST(Centroidal, MomentumEnergyAndTheirMatricesAgree) {
  Random random(14);
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    const State state = random_state(m.model, random);
    MassMatrix M(m.model);
    crba(m.model, state, ws, M);
    update_velocities(m.model, state, ws);
    Eigen::VectorXd Mv(m.model.nv);
    multiply(m.model, M, state.v_view(), Mv);
    const double T = kinetic_energy(m.model, state, ws);
    EXPECT_NEAR(T, 0.5 * state.v_view().dot(Mv), 1e-12 * (1 + T));  // two sums of the same terms

    const Vec3 center = center_of_mass(m.model, ws);
    const Force h = momentum(m.model, ws, center);
    Eigen::MatrixXd A(6, m.model.nv);
    centroidal_momentum_matrix(m.model, ws, A);
    const Eigen::Matrix<double, 6, 1> Av = A * state.v_view();
    EXPECT_LT((Av.head<3>() - h.moment).norm(), 1e-11 * (1 + h.moment.norm()));  // arms of some metres cancel
    EXPECT_LT((Av.tail<3>() - h.force).norm(), 1e-11 * (1 + h.force.norm()));

    // linear momentum is mass times the velocity of the centre
    const Vec3 rate = derivative([&](double t) -> Vec3 {
      update_poses(m.model, moved(m.model, state, t), ws);
      return center_of_mass(m.model, ws);
    });
    EXPECT_LT((total_mass(m.model) * rate - h.force).norm(), kTolerance * (1 + h.force.norm()));
  }
}

TEST(Centroidal, PassiveEffortsAreTheGradientOfTheirPotential) {
  // gravity off: only the springs are left in the potential
  Random random(15);
  for (int kind = 1; kind < kJointKindCount; ++kind) {
    Mechanism m;
    const LinkId link = m.add_link("a", random_inertia(random));
    Joint joint = random_joint(random, static_cast<JointKind>(kind), "j", m.world(), link);
    const double k =
        random.uniform(1, 10);  // a quaternion's three springs are alike: the energy is k angle^2 / 2
    for (DofProperties& dof : joint.dofs) {
      dof.stiffness = k;
      dof.rest = has_quaternion(joint.kind) ? 0 : 0.2;
    }
    ASSERT_TRUE(m.add_joint(joint));
    const Model model = compile_or_die(m, Vec3::Zero());
    Workspace ws(model);
    State state = random_state(model, random);
    const double power = derivative([&](double t) {
      const State at = moved(model, state, t);
      update_poses(model, at, ws);
      return potential_energy(model, at, ws);
    });
    Eigen::VectorXd tau = Eigen::VectorXd::Zero(model.nv);
    add_passive_efforts(model, state, tau);
    EXPECT_NEAR(tau.dot(state.v_view()), -power, 1e-8 * (1 + std::abs(power))) << name(joint.kind);
  }
}

// Springs of a rotation that differ: what they give is the gradient of their energy, else they would make
// some on closed ways.
TEST(PassiveEfforts, OfARotationAreTheGradientOfItsEnergy) {
  Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const Vec3 k(random.uniform(), random.uniform(0, 10), trial % 3 == 0 ? 0 : random.uniform(0, 100));
    const Vec3 phi =
        3 * random.uniform() * Vec3(random.normal(), random.normal(), random.normal()).normalized();
    const auto energy = [&](const Vec3& turn) {
      return 0.5 * k.dot(quat_log(quat_exp(turn) * quat_exp(phi)).cwiseAbs2());
    };
    constexpr double kTurn = 1e-5;
    for (int axis = 0; axis < 3; ++axis) {
      const Vec3 turn = kTurn * Vec3::Unit(axis);
      const double slope = (energy(turn) - energy(-turn)) / (2 * kTurn);
      EXPECT_NEAR(rotation_spring_effort(k, phi)[axis], -slope, 1e-6) << trial;  // of efforts up to 300 N m
    }
  }
}

}  // namespace
}  // namespace karakuri::test
