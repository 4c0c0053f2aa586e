// The public SimBenchmark scenes (Hwangbo et al.) at dt = 1 ms, against theory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "world/momentum.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::make_world;

const Vec3 kDown(0, 0, -9.81);

Surface rubbing(double mu) {
  Surface s;
  s.static_friction = s.kinetic_friction = mu;
  return s;
}

TEST(SimBenchmark, BallsRollOnABoxThatIsPushed) {
  Scene scene;
  const MaterialId ground = add_material(scene, 1, 0, "ground"), wood = add_material(scene, 1, 0, "wood"),
                   rubber = add_material(scene, 1, 0, "rubber");
  scene.pairs.push_back({ground, wood, rubbing(0.4)});
  scene.pairs.push_back({wood, rubber, rubbing(0.8)});
  scene.add_ground(ground);
  const LinkId box =
      scene.add_body("box", Shape::box({10, 10, 0.5}), 10, Transform::translation({0, 0, 0.5}), wood);
  std::vector<LinkId> balls;
  for (int i = 0; i < 25; ++i)
    balls.push_back(scene.add_body("ball" + std::to_string(i), Shape::sphere(0.5), 1,
                                   Transform::translation({2.0 * (i % 5) - 4, 2.0 * (i / 5) - 4, 1.5}),
                                   rubber));
  World world = make_world(std::move(scene), {.dt = 1e-3}, kDown);
  const Vec3 push = Vec3(0.5, 0.866, 0).normalized();
  // friction of the ground 0.4 * 35 kg * g; a ball that rolls follows with 2/7 of the box's acceleration
  const double box_a = (150 - 0.4 * 35 * 9.81) / (10 + 25 * 2.0 / 7), ball_a = 2.0 / 7 * box_a;
  EXPECT_NEAR(box_a, 0.7385, 1e-4);
  EXPECT_NEAR(ball_a, 0.2110, 1e-4);
  double sum = 0;
  int count = 0;
  for (int k = 0; k < 4000; ++k) {
    world.add_force(box, 150 * push);
    world.step();
    sum += (world.velocity(box).linear - box_a * world.time() * push).squaredNorm();
    for (const LinkId ball : balls)
      sum += (world.velocity(ball).linear - ball_a * world.time() * push).squaredNorm();
    count += 26;
  }
  RecordProperty("mean_squared_error", std::to_string(sum / count));
  EXPECT_LE(sum / count, 1e-12);
}

TEST(SimBenchmark, ElasticBallsKeepTheirEnergy) {
  Scene scene;
  const MaterialId steel = add_material(scene, 0, 1);
  scene.add_ground(steel);
  for (int i = 0; i < 49; ++i)
    scene.add_body("ball" + std::to_string(i), Shape::sphere(0.1), 10,
                   Transform::translation({0.5 * (i % 7), 0.5 * (i / 7), 5}), steel);
  World world = make_world(std::move(scene), {.dt = 1e-3}, kDown);
  const double start = world.energies().total();
  double sum = 0, lowest = 0;
  for (int k = 0; k < 20000; ++k) {
    world.step();
    const double error = world.energies().total() - start;
    sum += error * error;
    lowest = std::min(lowest, world.state().q.at(2));
  }
  RecordProperty("mean_squared_error", std::to_string(sum / 20000));
  EXPECT_LE(sum / 20000, 1e-6);
  EXPECT_LT(lowest, -4.85) << "it did come down: q is counted from where it started, 4.9 m above the ground";
}

TEST(SimBenchmark, InelasticBallsDoNotPenetrateSlow) {
  Scene scene;
  const MaterialId slippery = add_material(scene, 0, 0);
  scene.add_ground(slippery);
  Random random(7);
  for (int i = 0; i < 216; ++i) {
    const Vec3 at(0.21 * (i % 6), 0.21 * (i / 6 % 6), 0.1 + 0.21 * (i / 36));
    const Vec3 off(random.uniform(-1e-3, 1e-3), random.uniform(-1e-3, 1e-3), random.uniform(0, 1e-3));
    scene.add_body("ball" + std::to_string(i), Shape::sphere(0.1), 10, Transform::translation(at + off),
                   slippery);
  }
  World world = make_world(std::move(scene), {.dt = 1e-3}, kDown);
  double sum = 0;
  const int steps = 3000;
  for (int k = 0; k < steps; ++k) {
    world.step();
    for (const Contact& c : world.contacts())
      if (c.separation < 0) sum += c.separation * c.separation;
  }
  RecordProperty("mean_sum_of_squared_penetration", std::to_string(sum / steps));
  EXPECT_LE(sum / steps, 1e-5);
}

/// A body with four legs of three hinges, floating.
LinkId add_quadruped(Scene& scene, const Vec3& at) {
  const LinkId trunk = scene.add_body("trunk", Shape::box({0.3, 0.15, 0.1}), 12, Transform::translation(at));
  for (int leg = 0; leg < 4; ++leg) {
    const double x = leg < 2 ? 0.25 : -0.25, y = leg % 2 ? 0.18 : -0.18;
    LinkId parent = trunk;
    const Vec3 axes[] = {Vec3::UnitX(), Vec3::UnitY(), Vec3::UnitY()};
    for (int k = 0; k < 3; ++k) {
      const std::string name = "leg" + std::to_string(leg) + "_" + std::to_string(k);
      Inertia inertia = Inertia::solid_capsule(0.8, 0.03, 0.2);
      inertia.com = Vec3(0, 0, k == 0 ? 0 : -0.13);
      const LinkId link = scene.mechanism.add_link(name, inertia);
      Joint joint{
          .name = name, .kind = JointKind::kRevolute, .parent = parent, .child = link, .axis = axes[k]};
      joint.X_PF = Transform::translation(k == 0   ? Vec3(x, y, -0.05)
                                          : k == 1 ? Vec3(0, 0, 0)
                                                   : Vec3(0, 0, -0.26));
      joint.dofs[0].damping = 0.5;
      EXPECT_TRUE(scene.mechanism.add_joint(joint).ok());
      if (k > 0) scene.add_shape(link, Shape::capsule(0.03, 0.1), Transform::translation({0, 0, -0.13}));
      parent = link;
    }
  }
  return trunk;
}

struct MomentumError {
  double linear = 0, angular = 0;  // the largest within a second, about the origin, relative to the start's
};

/// A ball of 10 kg hits a quadruped, weightless.
MomentumError momentum_error(Integrator integrator, double dt) {
  Scene scene;
  add_quadruped(scene, {0, 0, 0});
  const LinkId ball =
      scene.add_body("ball", Shape::sphere(0.2), 10, Transform::translation({-1, 0.05, -0.1}));
  World world = make_world(std::move(scene), test::with(integrator, dt), Vec3::Zero());
  world.set_velocity(ball, {Vec3::Zero(), Vec3(5, 0, 0)});
  const Force start = test::momentum_of(world);
  EXPECT_NEAR(start.force.norm(), 50, 1e-9);
  EXPECT_NEAR(start.moment.norm(), 50 * std::hypot(0.05, 0.1), 1e-9);
  bool touched = false;
  MomentumError worst;
  while (world.time() < 1 - dt / 2) {
    world.step();
    touched = touched || !world.contacts().empty();
    const Force now = test::momentum_of(world);
    worst.linear = std::max(worst.linear, (now.force - start.force).norm() / start.force.norm());
    worst.angular = std::max(worst.angular, (now.moment - start.moment).norm() / start.moment.norm());
  }
  EXPECT_TRUE(touched);
  return worst;
}

// Linear momentum to rounding. Angular momentum about a fixed point is off by what the centre of mass of a
// tree that touches something misses in its bent coordinates: of the first order.
TEST(SimBenchmark, ABallAndAQuadrupedKeepTheirMomentum) {
  for (const Integrator integrator : {Integrator::kSemiImplicit, Integrator::kSymplectic}) {
    const MomentumError coarse = momentum_error(integrator, 1e-3), fine = momentum_error(integrator, 5e-4);
    EXPECT_LT(coarse.linear, 1e-12) << name_of(integrator);
    EXPECT_LT(fine.linear, 1e-12) << name_of(integrator);
    EXPECT_LT(coarse.angular, 1e-3) << name_of(integrator);
    EXPECT_NEAR(coarse.angular / fine.angular, 2, 0.1) << name_of(integrator);
    RecordProperty("momentum_error", fmt::format("{:.1e}", coarse.linear));
  }
}

// Forces of contacts are held over a step in which it evaluates the smooth part at other places: of the first
// order while it touches. Impacts act at the start of the step and miss nothing, so linear momentum may be
// far better.
TEST(SimBenchmark, Rk4MissesTheMomentumByTheFirstOrderWhileBodiesTouch) {
  const MomentumError coarse = momentum_error(Integrator::kRk4, 1e-3),
                      fine = momentum_error(Integrator::kRk4, 5e-4);
  EXPECT_LT(coarse.linear, 1e-3);
  EXPECT_LT(coarse.angular, 2e-3);
  EXPECT_LT(fine.linear, 0.6 * coarse.linear);
  EXPECT_NEAR(coarse.angular / fine.angular, 2, 0.3);
}

}  // namespace
}  // namespace karakuri
