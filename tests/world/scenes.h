// Small scenes that several tests use.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "karakuri/world/world.h"
#include "support/test_models.h"

namespace karakuri::test {

/// A world, or a failed test that says why.
inline World make_world(Scene scene, const WorldSettings& settings = {}, const Vec3& gravity = {0, 0, -9.8}) {
  auto world = World::make(std::move(scene), settings, gravity);
  if (!world.ok()) {
    ADD_FAILURE() << to_string(world.errors());
    std::abort();
  }
  return std::move(*world);
}

/// Settings of a world that never sleeps.
inline WorldSettings with(Integrator integrator, double dt = 1e-3) {
  WorldSettings settings;
  settings.dt = dt;
  settings.integrator = integrator;
  settings.sleep.enabled = false;
  return settings;
}

inline MaterialId add_material(Scene& scene, double friction, double restitution = 0,
                               const char* name = "stuff") {
  Surface surface;
  surface.static_friction = surface.kinetic_friction = friction;
  surface.restitution = restitution;
  return scene.mechanism.add_material({name, surface});
}

/// Ground with friction, and a box lying on it, its frame in its centre.
struct BoxOnGround {
  Scene scene;
  LinkId box;
  MaterialId material;

  explicit BoxOnGround(double friction, const Vec3& half = {0.5, 0.5, 0.1}, double mass = 1) {
    material = add_material(scene, friction);
    scene.add_ground(material);
    box = scene.add_body("box", Shape::box(half), mass, Transform::translation({0, 0, half.z()}), material);
  }
};

/// A hopper of boxes and an arm that stirs in it.
inline Scene stirred_boxes() {
  Scene scene;
  scene.mechanism = chain(3);
  const MaterialId wood = add_material(scene, 0.5);
  scene.add_ground(wood, -0.4);
  for (const LinkId link : scene.mechanism.link_ids())
    if (link != scene.mechanism.world()) scene.add_shape(link, Shape::capsule(0.02, 0.03), {}, wood);
  for (int i = 0; i < 4; ++i)
    scene.add_body("box" + std::to_string(i), Shape::box({0.05, 0.05, 0.05}), 0.3,
                   Transform::translation({0.12 * i - 0.2, 0.01 * i, -0.3 + 0.11 * (i % 2)}), wood);
  return scene;
}

/// Ground of one surface, and a ball of 1 kg lying on it.
struct BallOnGround {
  Scene scene;
  LinkId ball;

  explicit BallOnGround(const Surface& surface, double radius = 0.1) {
    const MaterialId m = scene.mechanism.add_material({"m", surface});
    scene.add_ground(m);
    ball = scene.add_body("ball", Shape::sphere(radius), 1, Transform::translation({0, 0, radius}), m);
  }
};

}  // namespace karakuri::test
