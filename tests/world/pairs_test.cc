// Which pairs of links touch: those that a joint joins do not, also where one of them stands still.
#include <gtest/gtest.h>

#include <set>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::make_world;

LinkId add_link(Scene& scene, const std::string& name, Shape shape, const Transform& X_LS, Joint joint) {
  const LinkId link = scene.mechanism.add_link(name, solid_inertia(shape, 1000).in_frame(X_LS));
  scene.add_shape(link, std::move(shape), X_LS);
  joint.name = name;
  joint.child = link;
  EXPECT_TRUE(scene.mechanism.add_joint(joint).ok());
  return link;
}

Joint fixed_to(LinkId parent, const Transform& X = {}) {
  return {.kind = JointKind::kFixed, .parent = parent, .X_PF = X};
}

Joint hinge_on(LinkId parent, const Transform& X = {}) {
  return {.kind = JointKind::kRevolute, .parent = parent, .X_PF = X, .axis = Vec3::UnitY()};
}

/// A capsule on a hinge in the top of a fixed cylinder, its end 3 cm inside.
TEST(Pairs, AHingeOnAFixedBaseDoesNotPush) {
  Scene scene;
  const LinkId base =
      add_link(scene, "base", Shape::cylinder(0.1, 0.05), {}, fixed_to(scene.mechanism.world()));
  const LinkId upper =
      add_link(scene, "upper", Shape::capsule(0.03, 0.2), Transform::translation({0, 0, 0.2}),
               hinge_on(base, Transform::translation({0, 0, 0.05})));
  World world = make_world(std::move(scene));
  EXPECT_TRUE(world.find_overlaps().empty());
  const double energy = world.energies().total();
  const JointId hinge = world.scene().mechanism.link(upper).joint;
  for (int i = 0; i < 100; ++i) {
    world.step();
    ASSERT_LT(std::abs(world.q(hinge)[0]), 1e-9);  // it stands upright, in unstable balance
    ASSERT_EQ(world.report().contacts, 0);
  }
  EXPECT_NEAR(world.energies().total(), energy, 1e-9);
}

/// Along a chain of fixed joints; not with the ground, nor with what stands beside it.
TEST(Pairs, WhatCarriesTheParentIsJoinedAndNothingElse) {
  Scene scene;
  const LinkId world_link = scene.mechanism.world();
  const Shape ball = Shape::sphere(0.5);
  const LinkId foot = add_link(scene, "foot", ball, {}, fixed_to(world_link));
  const LinkId post = add_link(scene, "post", ball, {}, fixed_to(foot));
  const LinkId beside = add_link(scene, "beside", ball, {}, fixed_to(world_link));
  const LinkId arm = add_link(scene, "arm", ball, {}, hinge_on(post));
  scene.add_ground();
  const World world = make_world(std::move(scene));
  std::set<std::pair<LinkId, LinkId>> found;
  for (const Overlap& o : world.find_overlaps()) found.insert({o.a, o.b});
  const std::set<std::pair<LinkId, LinkId>> expected = {
      {std::min(world_link, arm), std::max(world_link, arm)}, {std::min(beside, arm), std::max(beside, arm)}};
  EXPECT_EQ(found, expected);
}

TEST(Pairs, ASliderOnTheWorldRestsOnTheGround) {
  Scene scene;
  Joint slider{.kind = JointKind::kPrismatic, .parent = scene.mechanism.world()};
  slider.X_PF = Transform::translation({0, 0, 0.3});
  const LinkId ball = add_link(scene, "ball", Shape::sphere(0.1), {}, slider);
  scene.add_ground();
  World world = make_world(std::move(scene));
  world.step(1000);
  EXPECT_NEAR(world.pose(ball).p.z(), 0.1, 1e-3);
}

// ---- changes of structure

template <class T>
const T& pick(const std::vector<T>& all, Random& random) {
  return all[static_cast<std::size_t>(random.below(static_cast<int>(all.size())))];
}

/// Every two of these overlap wherever they are, so that find_overlaps() tells all that may touch.
struct Heap {
  Scene scene;
  std::vector<LinkId> links;
};

Heap make_heap(Random& random, int count) {
  Heap heap;
  heap.links.push_back(heap.scene.mechanism.world());
  heap.scene.add_shape(heap.links[0], Shape::sphere(1));
  for (int i = 0; i < count; ++i) {
    Joint joint{.parent = pick(heap.links, random)};
    const int kind = random.below(4);
    joint.kind = kind == 0 ? JointKind::kRevolute : kind == 1 ? JointKind::kSpherical : JointKind::kFixed;
    if (kind == 3) joint = {.kind = JointKind::kFree, .parent = heap.links[0]};
    heap.links.push_back(add_link(heap.scene, "link" + std::to_string(i), Shape::sphere(1), {}, joint));
  }
  for (int i = 0; i < 2; ++i) {
    Joint loop{.name = "loop" + std::to_string(i), .kind = JointKind::kSpherical};
    loop.parent = pick(heap.links, random), loop.child = pick(heap.links, random);
    if (loop.parent != loop.child) (void)heap.scene.mechanism.add_loop(loop);
  }
  return heap;
}

/// Whether a joint keeps two links apart, found by walking the mechanism; told independently of the engine.
class Oracle {
 public:
  explicit Oracle(const World& world) : w_(world), m_(world.scene().mechanism) {}

  bool may_touch(LinkId a, LinkId b) const {
    if (body(a) == body(b)) return false;
    for (const auto& [x, y] : w_.scene().no_contact)
      if ((x == a && y == b) || (x == b && y == a)) return false;
    for (const JointId id : m_.joint_ids()) {
      const Joint& joint = m_.joint(id);
      const Link& child = m_.link(joint.child);
      if (joint.kind == JointKind::kFree) continue;
      if (joins(joint.parent, child.is_virtual() ? child.real : joint.child, a, b)) return false;
    }
    for (const Attachment& at : w_.attachments())
      if (joins(at.joint.parent, at.joint.child, a, b)) return false;
    return true;
  }

 private:
  int body(LinkId link) const { return w_.model().find(link)->body; }
  /// Whether `link` is carried along with `end`, an end of a joint.
  bool belongs(LinkId link, LinkId end) const {
    if (body(end) != 0) return body(link) == body(end);
    for (; end != m_.world(); end = m_.link(end).parent)
      if (end == link) return true;
    return false;
  }
  bool joins(LinkId p, LinkId c, LinkId a, LinkId b) const {
    return body(p) != body(c) && ((belongs(a, p) && belongs(b, c)) || (belongs(a, c) && belongs(b, p)));
  }
  const World& w_;
  const Mechanism& m_;
};

void expect_right_pairs(const World& world, const std::vector<LinkId>& links) {
  std::set<std::pair<LinkId, LinkId>> found, expected;
  for (const Overlap& o : world.find_overlaps()) found.insert({o.a, o.b});
  const Oracle oracle(world);
  for (const LinkId a : links)
    for (const LinkId b : links)
      if (a < b && oracle.may_touch(a, b)) expected.insert({a, b});
  EXPECT_EQ(found, expected);
}

TEST(Pairs, FollowAttachingPartingCuttingAndGoingBack) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Heap heap = make_heap(random, 8);
    const std::vector<LinkId> links = heap.links;
    World world = make_world(std::move(heap.scene));
    expect_right_pairs(world, links);
    std::vector<Snapshot> kept{world.snapshot()};
    std::vector<JointId> attached;
    for (int i = 0; i < 12; ++i) {
      SCOPED_TRACE(i);
      const int act = random.below(4);
      if (act <= 1) {
        Joint joint{.name = "j" + std::to_string(i), .kind = JointKind::kRevolute};
        joint.parent = pick(links, random), joint.child = pick(links, random);
        if (const Result<JointId> made = world.attach(joint); made.ok()) attached.push_back(*made);
      } else if (act == 2 && !attached.empty()) {
        (void)world.detach(pick(attached, random));
      } else if (act == 3) {
        const std::vector<JointId> all = world.scene().mechanism.joint_ids();
        (void)world.detach(pick(all, random));
      }
      expect_right_pairs(world, links);
      kept.push_back(world.snapshot());
      if (random.below(4) != 0) continue;
      EXPECT_TRUE(world.restore(pick(kept, random)).empty());
      expect_right_pairs(world, links);
      expect_right_pairs(world.clone(), links);
    }
  }
}

}  // namespace
}  // namespace karakuri
