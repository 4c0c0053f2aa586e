// Where a few scenes end, as numbers written down: what changes the results of a step unasked is seen here,
// while runs that are compared with each other would change together.
//
// Not hashes: the library is tuned for the machine that builds it, and another instruction set rounds
// otherwise. So nothing here is chaotic, and places are compared to 1e-8 m: impulses are solved to 5e-10 m/s,
// for a second (to a tenth of that, places move by 1e-10 m). That the bits do not depend on threads is tested
// beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::make_world;

/// A box that slides and stops, a ball that bounces, a tower of three, an arm of two links with a drive that
/// reaches a limit, and a box on a spring; all apart.
struct Course {
  Scene scene;
  std::vector<LinkId> links;
  JointId shoulder, elbow;
  LinkId slider, hung;

  Course() {
    const MaterialId wood = add_material(scene, 0.5), rubber = add_material(scene, 0.3, 0.6, "rubber");
    scene.add_ground(wood);
    slider = add("slider", Shape::box({0.3, 0.2, 0.1}), {0, 0, 0.1}, wood);
    add("ball", Shape::sphere(0.1), {0, 5, 0.5}, rubber);
    for (int i = 0; i < 3; ++i)
      add("brick" + std::to_string(i), Shape::box({0.3, 0.2, 0.1}), {5 + 0.05 * i, 0, 0.1 + 0.2 * i}, wood);
    hung = add("hung", Shape::box({0.1, 0.1, 0.1}), {-5, 0, 2}, wood);
    LinkId parent = scene.mechanism.world();
    for (int i = 0; i < 2; ++i) {
      const std::string name = "arm" + std::to_string(i);
      const LinkId link = scene.mechanism.add_link(name, Inertia::solid_box(1, {0.1, 0.1, 0.5}));
      Joint joint{
          .name = name, .kind = JointKind::kRevolute, .parent = parent, .child = link, .axis = Vec3::UnitY()};
      joint.X_PF = Transform::translation(i == 0 ? Vec3(0, -5, 3) : Vec3(0, 0, -0.5));
      joint.X_CM = Transform::translation({0, 0, 0.5});
      joint.dofs[0].dry_friction = 0.1;
      joint.dofs[0].upper = 0.7;
      (i == 0 ? shoulder : elbow) = *scene.mechanism.add_joint(joint);
      links.push_back(parent = link);
    }
  }
  LinkId add(const std::string& name, const Shape& shape, const Vec3& at, MaterialId material) {
    return links.emplace_back(scene.add_body(name, shape, 1, Transform::translation(at), material));
  }
};

World after_a_second(int threads, std::vector<LinkId>* links = nullptr) {
  Course c;
  if (links) *links = c.links;
  World world = make_world(std::move(c.scene), {.dt = 1.0 / 240, .threads = threads});
  world.set_velocity(c.slider, {Vec3::Zero(), Vec3(2, 1, 0)});
  world.set_drive(c.elbow, {.stiffness = 30, .damping = 3, .q_target = 1});
  world.set_q(c.shoulder, std::array{0.6});
  world.add_spring({c.hung, Vec3(0.1, 0, 0), Vec3(-5, 0, 2.5), 40, 4});
  world.step(240);
  return world;
}

TEST(Golden, PlacesAfterASecondAreThoseWrittenDown) {
  const std::vector<Vec3> places = {
      // clang-format off
      {0.4521832301, 0.2260916150, 0.1},    // slid
      {0, 5, 0.1089582222},                 // bounced
      {5, 0, 0.1}, {5.05, 0, 0.3}, {5.1, 0, 0.5},
      {-5.0384757051, 0, 2.1371212952},     // hangs
      {0.3196479402, -5, 2.6155195788}, {0.6360873966, -5, 1.7310494521},
      // clang-format on
  };
  std::vector<LinkId> links;
  const World world = after_a_second(1, &links);
  ASSERT_EQ(links.size(), places.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Vec3 p = world.pose(links[i]).p;
    EXPECT_LT((p - places[i]).norm(), 1e-8)
        << i << fmt::format(": {:.10f}, {:.10f}, {:.10f}", p.x(), p.y(), p.z());
  }
}

TEST(Golden, TheBitsAreTheSameForAnyNumberOfThreads) {
  const std::uint64_t hash = after_a_second(1).hash();
  for (const int threads : {2, 4}) EXPECT_EQ(after_a_second(threads).hash(), hash) << threads;
}

}  // namespace
}  // namespace karakuri
