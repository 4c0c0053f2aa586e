// What the demanding bundled scenes promise: the humanoid stands, the hand holds, the crane lifts, the loop
// closes.
#include <gtest/gtest.h>

#include <algorithm>

#include "io/corpus.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;

/// A scene with its controllers and the events that these scenes have.
class Running {
 public:
  explicit Running(const std::string& name)
      : scene_(*load_scene(fs::path(KARAKURI_SOURCE_DIR) / "scenes" / name, uncached())),
        world_(World::make(scene_.scene, scene_.settings, scene_.gravity).value()) {
    drive();
  }

  /// Seconds; `each` is called after every step.
  template <class Each>
  void run(double time, const Each& each) {
    for (const double end = world_.time() + time - 1e-9; world_.time() < end;) {
      drive();
      for (const TimedEvent& e : scene_.script.events) act(e);
      world_.step();
      each();
    }
  }
  void run(double time) {
    run(time, [] {});
  }

  World& world() { return world_; }
  const Mechanism& mechanism() const { return scene_.scene.mechanism; }
  LinkId link(const char* name) const { return mechanism().find_link(name); }
  JointId joint(const char* name) const { return mechanism().find_joint(name); }

 private:
  void drive() {
    for (const Controller& c : scene_.script.controllers) {
      Drive drive{.stiffness = c.stiffness,
                  .damping = c.damping,
                  .q_target = c.target,
                  .v_target = c.target_velocity,
                  .limit = c.limit};
      if (c.trajectory >= 0) {
        const TrajectoryPoint p = sample(scene_.script.trajectories[static_cast<std::size_t>(c.trajectory)],
                                         static_cast<std::size_t>(c.column), world_.time());
        drive.q_target = p.position, drive.v_target = p.velocity;
      }
      world_.set_drive(c.joint, drive, c.dof);
    }
  }

  void act(const TimedEvent& e) {
    const double t = world_.time();
    if (const auto* f = std::get_if<ForceAction>(&e.action)) {
      if (t >= e.time && t < e.time + f->duration) world_.add_force(f->link, f->force, f->point, f->moment);
    }
    const auto* set = std::get_if<SetAction>(&e.action);
    if (!set || t < e.time) return;
    const Reference key = *find_key(scene_, set->key);
    for (Controller& c : scene_.script.controllers) {
      const bool its = mechanism().joint(c.joint).name == key.name;
      if (its && key.property == "target") c.target = std::get<double>(set->value);
    }
  }

  LoadedScene scene_;
  World world_;
};

TEST(BundledScenes, TheHumanoidHas36DofsAndStandsForTenSeconds) {
  Running humanoid("humanoid.scene.yaml");
  EXPECT_EQ(humanoid.world().model().nv, 36);
  const LinkId pelvis = humanoid.link("pelvis"), left = humanoid.link("left_bush_roll");
  const Vec3 start = humanoid.world().pose(pelvis).p;
  double lowest = 1;
  humanoid.run(10, [&] { lowest = std::min(lowest, humanoid.world().pose(pelvis).p.z()); });
  // It is pushed twice by some 14 N s and sways by centimetres; a fall would bring the pelvis below 0.5 m.
  EXPECT_GT(lowest, 0.87);
  EXPECT_LT((humanoid.world().pose(pelvis).p - start).norm(), 0.05);
  EXPECT_GT(humanoid.world().pose(pelvis).R(2, 2), 0.995);
  // at rest the feet carry what it weighs: half each
  double mass = 0;
  for (const LinkId id : humanoid.mechanism().link_ids()) mass += humanoid.mechanism().link(id).inertia.mass;
  const double carried = humanoid.world().contact_force(left).force.z() +
                         humanoid.world().contact_force(humanoid.link("right_bush_roll")).force.z();
  EXPECT_NEAR(carried, mass * 9.81, 0.01 * mass * 9.81);
  EXPECT_NEAR(humanoid.world().contact_force(left).force.z(), carried / 2, 0.1 * carried);
}

TEST(BundledScenes, TheHandLiftsTheCubeAndHoldsItWithoutCreep) {
  Running hand("hand.scene.yaml");
  World& world = hand.world();
  const LinkId cube = hand.link("cube"), palm = hand.link("lift");
  hand.run(4);
  const Transform before = world.pose(palm).inverse() * world.pose(cube);
  EXPECT_NEAR(world.pose(cube).p.z(), 0.18, 0.01);  // 0.15 m above where it stood
  hand.run(6);
  const Transform after = world.pose(palm).inverse() * world.pose(cube);
  // Six seconds of 3 N on friction: a creep of a micrometre per second would be seen. What is left is the
  // settling of the fingers' springs and the solver's tolerance, 5e-10 m/s.
  EXPECT_LT((after.p - before.p).norm(), 1e-6);
  EXPECT_LT((after.R - before.R).norm(), 1e-5);
}

TEST(BundledScenes, TheCraneLiftsTheBox) {
  Running crane("crane-game.scene.yaml");
  crane.run(2.4);
  EXPECT_NEAR(crane.world().pose(crane.link("box")).p.z(), 0.08, 0.01);
  crane.run(4);
  EXPECT_GT(crane.world().pose(crane.link("box")).p.z(), 0.4);
  EXPECT_LT(crane.world().pose(crane.link("heart")).p.z(), 0.2);
}

TEST(BundledScenes, TheFourBarTurnsAndStaysClosed) {
  Running bars("four-bar.scene.yaml");
  World& world = bars.world();
  const LinkId coupler = bars.link("coupler"), rocker = bars.link("rocker");
  const Vec3 on_coupler(0.85, 0, 0.3), on_rocker = Vec3(0.05, 0, 0.6);
  double apart = 0, low = 0, high = 0;
  bars.run(5, [&] {
    apart = std::max(apart, (world.pose(coupler) * on_coupler - world.pose(rocker) * on_rocker).norm());
    low = std::min(low, world.q(bars.joint("rocker"))[0]),
    high = std::max(high, world.q(bars.joint("rocker"))[0]);
  });
  EXPECT_GT(world.q(bars.joint("crank"))[0], 12);  // two whole turns: 3 rad/s for 5 s, less the start
  EXPECT_LT(apart, 1e-4);                          // of a metre of bars
  EXPECT_LT(high, 1.5);                            // a Grashof linkage: the lever rocks
  EXPECT_GT(low, -1.5);
  EXPECT_GT(high - low, 0.5);
}

}  // namespace
}  // namespace karakuri::test
