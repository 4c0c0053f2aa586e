// A ball falls on the ground and comes to rest there.
#include <karakuri/world/world.h>

#include <cmath>
#include <cstdio>

using namespace karakuri;

int main() {
  Scene scene;
  scene.add_ground();
  const LinkId ball = scene.add_body("ball", Shape::sphere(0.1), 1, Transform::translation({0, 0, 1}));
  Result<World> world = World::make(std::move(scene), {.dt = 1e-3});
  if (!world.ok()) return std::puts("no world could be made"), 1;
  world->step(2000);
  const double height = world->pose(ball).p.z();
  // it lies on the ground, to a thousandth of its radius
  return std::abs(height - 0.1) < 1e-4 ? 0 : (std::printf("the ball is at %g m\n", height), 1);
}
