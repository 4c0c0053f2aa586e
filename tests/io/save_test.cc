// A scene that is saved and read again is the same scene: hashes agree bit for bit, also after steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include <fmt/format.h>

#include "io/corpus.h"
#include "karakuri/io/save.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;

/// A folder that is gone afterwards.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(fs::path(testing::TempDir()) / ("save_" + name)) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

World world_of(const LoadedScene& scene) {
  Result<World> world = World::make(scene.scene, scene.settings, scene.gravity);
  EXPECT_TRUE(world.ok()) << to_string(world.errors());
  return std::move(*world);
}

/// What hashes do not see.
void expect_same_surroundings(const LoadedScene& a, const LoadedScene& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.visuals.size(), b.visuals.size());
  EXPECT_EQ(a.frames.size(), b.frames.size());
  EXPECT_EQ(a.cameras.size(), b.cameras.size());
  EXPECT_EQ(a.actuators.size(), b.actuators.size());
  EXPECT_EQ(a.sensors.size(), b.sensors.size());
  EXPECT_EQ(a.keyframes.size(), b.keyframes.size());
  EXPECT_EQ(a.scene.mechanism.couplings().size(), b.scene.mechanism.couplings().size());
  EXPECT_EQ(a.scene.mechanism.tendons().size(), b.scene.mechanism.tendons().size());
  EXPECT_EQ(a.open_loops.size(), b.open_loops.size());
  EXPECT_EQ(a.script.controllers.size(), b.script.controllers.size());
  EXPECT_EQ(a.script.events.size(), b.script.events.size());
  EXPECT_EQ(a.script.breakables.size(), b.script.breakables.size());
  EXPECT_EQ(a.script.ui.size(), b.script.ui.size());
  const Mechanism &ma = a.scene.mechanism, &mb = b.scene.mechanism;
  ASSERT_EQ(ma.joint_ids().size(), mb.joint_ids().size());
  for (std::size_t i = 0; i < ma.joint_ids().size(); ++i) {
    EXPECT_EQ(ma.joint(ma.joint_ids()[i]).name, mb.joint(mb.joint_ids()[i]).name);
  }
  EXPECT_EQ(ma.link_ids().size(), mb.link_ids().size());
  EXPECT_EQ(ma.material_ids().size(), mb.material_ids().size());
  EXPECT_EQ(a.scene.pairs.size(), b.scene.pairs.size());
  EXPECT_EQ(a.scene.no_contact, b.scene.no_contact);
}

/// Saved, read, saved again: the same text, the same hashes now and after steps.
void expect_round_trip(const LoadedScene& scene, const std::string& name, int steps) {
  const Folder folder(name);
  const fs::path file = folder.path() / "s.scene.yaml";
  ASSERT_EQ(to_string(save_native(scene, file)), "");
  const Result<LoadedScene> back = load_scene(file, uncached());
  ASSERT_TRUE(back.ok()) << to_string(back.errors());
  EXPECT_EQ(to_string(back->notes), "");
  expect_same_surroundings(scene, *back);
  EXPECT_EQ(to_native(scene).text, to_native(*back).text);
  World before = world_of(scene), after = world_of(*back);
  EXPECT_EQ(before.scene_hash(), after.scene_hash());
  EXPECT_EQ(before.hash(), after.hash());
  before.step(steps), after.step(steps);
  EXPECT_EQ(before.hash(), after.hash());
  // and from where it is now
  LoadedScene now = scene;
  keep_state(now, before);
  ASSERT_EQ(to_string(save_native(now, file)), "");
  const Result<LoadedScene> later = load_scene(file, uncached());
  ASSERT_TRUE(later.ok()) << to_string(later.errors());
  EXPECT_EQ(world_of(now).hash(), world_of(*later).hash());
  EXPECT_EQ(world_of(*later).state().q, before.state().q);
  EXPECT_EQ(world_of(*later).state().v, before.state().v);
}

class SavedModel : public testing::TestWithParam<std::string> {};

TEST_P(SavedModel, ComesBackBitForBit) {
  KARAKURI_NEEDS_CORPUS(GetParam());
  if (is_fragment(GetParam())) GTEST_SKIP() << "a part of another file";
  const Result<LoadedScene> loaded = load_scene(corpus() / GetParam(), uncached());
  if (!loaded.ok() && is_sample(GetParam())) GTEST_SKIP() << to_string(loaded.errors()[0]);
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  LoadedScene scene = *loaded;
  if (scene.name.empty()) scene.name = "s";  // what has no name is named after its file
  expect_round_trip(scene, name_of_model({GetParam(), 0}), 3);
}
INSTANTIATE_TEST_SUITE_P(All, SavedModel, testing::ValuesIn(all_models()), name_of_model);

std::vector<std::string> bundled() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(KARAKURI_SOURCE_DIR) / "scenes")) {
    if (entry.path().string().ends_with(".scene.yaml")) files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files.empty() ? std::vector<std::string>{"none"} : files;
}

class BundledScene : public testing::TestWithParam<std::string> {};

TEST_P(BundledScene, LoadsWithoutAWordAndComesBack) {
  const fs::path file = fs::path(KARAKURI_SOURCE_DIR) / "scenes" / GetParam();
  LoadOptions strict = uncached();
  strict.strict = true;
  const Result<LoadedScene> loaded = load_scene(file, strict);
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  EXPECT_EQ(to_string(loaded->notes), "");
  EXPECT_FALSE(loaded->script.description.empty()) << "lists of scenes need one line";
  expect_round_trip(*loaded, name_of_model({GetParam(), 0}), 20);
}
INSTANTIATE_TEST_SUITE_P(All, BundledScene, testing::ValuesIn(bundled()), name_of_model);

// ---- random scenes: every kind of joint and shape, with numbers that no short text has

Vec3 random_vec(Random& r, double size) {
  return size * Vec3(r.uniform(-1, 1), r.uniform(-1, 1), r.uniform(-1, 1));
}

Transform random_pose(Random& r) {
  if (r.below(4) == 0) return Transform::translation(random_vec(r, 1));
  Transform X{Mat3::Identity(), random_vec(r, 1)};
  X.R = Eigen::AngleAxisd(r.uniform(-3, 3), random_vec(r, 1).normalized()).toRotationMatrix();
  if (r.below(8) == 0) X.p.x() = -0.0;
  return X;
}

Shape random_shape(Random& r, int depth = 0) {
  const auto size = [&] { return r.uniform(0.05, 0.4); };
  switch (r.below(depth == 0 ? 9 : 7)) {
    case 0: return Shape::sphere(size());
    case 1: return Shape::capsule(size(), size());
    case 2: return Shape::box({size(), size(), size()});
    case 3: return Shape::cylinder(size(), size());
    case 4: return Shape::cone(size(), size());
    case 5: return Shape::ellipsoid({size(), size(), size()});
    case 6: {
      std::vector<Vec3> points;
      const int count = 6 + r.below(60);
      for (int i = 0; i < count; ++i) points.push_back(random_vec(r, 0.3));
      return Shape::hull(*make_convex_hull(points));
    }
    case 7: {
      // a tetrahedron as a solid mesh
      const std::vector<Vec3> v{random_vec(r, 0.01), Vec3(size(), 0, 0), Vec3(0, size(), 0),
                                Vec3(0, 0, size())};
      const std::vector<Triangle> f{{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
      Result<Mesh> mesh = make_mesh(v, f);
      return mesh.ok() ? Shape::mesh(std::move(*mesh)) : Shape::sphere(size());
    }
    default: {
      std::vector<ShapeAt> parts;
      for (int i = 0; i < 3; ++i) parts.push_back({random_shape(r, 1), random_pose(r)});
      return *make_compound(parts);
    }
  }
}

LoadedScene random_scene(std::uint64_t seed) {
  Random r(seed);
  LoadedScene out;
  out.name = "random";
  out.gravity = random_vec(r, 10);
  out.settings.dt = r.uniform(1e-4, 1e-3);
  Mechanism& m = out.scene.mechanism;
  std::vector<MaterialId> materials{{}};
  for (int i = 0; i < 3; ++i) {
    const double friction = r.uniform(0, 1);
    materials.push_back(
        m.add_material({"m", {.static_friction = friction, .kinetic_friction = friction * r.uniform(0, 1)}}));
  }
  out.scene.pairs.push_back({materials[1], materials[2], {.restitution = r.uniform(0, 1)}});
  std::vector<double> heights;
  for (int i = 0; i < 12; ++i) heights.push_back(r.uniform(-0.1, 0.1));
  out.scene.add_shape(m.world(),
                      Shape::heightfield(*make_heightfield(4, 3, r.uniform(1, 9), r.uniform(1, 9), heights)),
                      random_pose(r), materials[1]);
  out.scene.add_ground(materials[2], -3);
  std::vector<LinkId> links{m.world()};
  const int count = 3 + r.below(12);
  for (int i = 0; i < count; ++i) {
    const Shape shape = random_shape(r);
    Inertia inertia = solid_inertia(shape, r.uniform(100, 3000)).in_frame(random_pose(r));
    const LinkId link = m.add_link(fmt::format("link {}: #{}", i, r.below(100)), inertia);
    Joint joint{.name = fmt::format("j{}", i)};
    joint.kind = static_cast<JointKind>(r.below(kJointKindCount));
    joint.parent = joint.kind == JointKind::kFree
                       ? m.world()
                       : links[static_cast<std::size_t>(r.below(static_cast<int>(links.size())))];
    joint.child = link;
    joint.X_PF = random_pose(r), joint.X_CM = random_pose(r);
    joint.axis = random_vec(r, 2), joint.second_axis = random_vec(r, 1), joint.pitch = r.uniform(-0.1, 0.1);
    for (int k = 0; k < v_size(joint.kind); ++k) {
      DofProperties& d = joint.dofs[static_cast<std::size_t>(k)];
      d.damping = r.uniform(0, 1), d.armature = r.uniform(0, 1);
      if (r.below(2)) d.lower = -r.uniform(0, 1), d.upper = r.uniform(0, 1);
      if (r.below(3) == 0) d.limit_stiffness = r.uniform(1, 1e4), d.limit_damping = r.uniform(0, 100);
    }
    EXPECT_TRUE(m.add_joint(joint).ok());
    m.link(link).shapes.push_back({.shape = out.scene.shapes.insert(shape),
                                   .X_LS = random_pose(r),
                                   .material = materials[static_cast<std::size_t>(r.below(4))],
                                   .mask = r.below(2) ? ~0u : static_cast<std::uint32_t>(r.below(1 << 30)),
                                   .group = r.below(3) - 1});
    links.push_back(link);
  }
  const Mechanism& done = m;
  for (const JointId id : done.joint_ids()) {
    const JointKind kind = done.joint(id).kind;
    if (kind == JointKind::kFixed || has_quaternion(kind)) continue;
    InitialJoint initial{.joint = id, .q = {}, .v = {}};
    for (int k = 0; k < q_size(kind); ++k) initial.q.push_back(r.uniform(-0.5, 0.5));
    for (int k = 0; k < v_size(kind); ++k) initial.v.push_back(r.uniform(-0.5, 0.5));
    out.scene.initial.push_back(initial);
  }
  Joint loop{.name = "loop", .kind = JointKind::kSpherical, .parent = links.front(), .child = links.back()};
  if (r.below(2)) loop.closing_stiffness = r.uniform(1, 1e4), loop.closing_damping = r.uniform(0, 100);
  EXPECT_TRUE(m.add_loop(loop).ok());
  Joint rope{.name = "rope", .kind = JointKind::kDistance, .parent = links.front(), .child = links.back()};
  rope.range = {-DofProperties::kNone, r.uniform(0.5, 1)};
  if (r.below(2)) rope.range.low = r.uniform(0, 0.5), rope.closing_stiffness = r.uniform(1, 1e4);
  rope.X_CM = random_pose(r);
  EXPECT_TRUE(m.add_loop(rope).ok());
  return out;
}

TEST(Saving, RandomScenesComeBackBitForBit) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    expect_round_trip(random_scene(seed), "random", 3);
    if (HasFailure()) return;
  }
}

TEST(Saving, TheHullOfAHullsVerticesIsThatHull) {
  Random r(5);
  for (int i = 0; i < 200; ++i) {
    std::vector<Vec3> points;
    // on a coarse grid many points are in one plane, and the facets of a first pass are often others
    for (int k = 0; k < 200; ++k) points.push_back(random_vec(r, 10).array().round() * 0.1);
    const Result<ConvexHull> hull = make_convex_hull(points);
    ASSERT_TRUE(hull.ok());
    std::vector<Vec3> vertices;
    for (int k = 0; k < hull->vertex_count; ++k) vertices.push_back(hull->vertex(k));
    const Result<ConvexHull> again = make_convex_hull(vertices);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(hull->x, again->x);
    EXPECT_EQ(hull->origin, again->origin);
    EXPECT_EQ(hull->solid.mass, again->solid.mass);
  }
}

TEST(Saving, WhatCannotBeWrittenIsTold) {
  LoadedScene scene;
  const std::vector<Diagnostic> errors = save_native(scene, "/proc/nowhere/s.scene.yaml");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].where, "/proc/nowhere/s.scene.yaml");
}

TEST(Saving, TheScriptComesBack) {
  const char* text = R"(
description: "words: with, marks"
bodies:
  - {name: base, shapes: {box: [1, 1, 1]}}
  - {name: arm, parent: base, joint: {kind: revolute, break_force: 30}, shapes: {box: [1, 1, 1]}}
controllers: [{joints: arm, target: 0.1, stiffness: 10, damping: 1, limit: 5}]
actuators:
  - {joints: [{joint: arm, gear: 3}], gain: 2, control: [-1, 1]}
  - {joints: [{joint: arm}], force: [-.inf, 2]}
sensors:
  - {name: g, kind: gyro, link: arm, at: [0, 0, 1], noise: 0.1}
  - {kind: actuator-force, actuator: 1}
keyframes: [{name: up, time: 2, joints: [{joint: arm, q: 1}], control: [1, 2]}]
couplings: [{follower: arm, coefficients: [1, 2, 3, 4, 5]}]
tendons: [{name: t, joints: [{joint: arm, gear: 2}], range: [0, 1], stiffness: 3}]
frames: [{name: tip, link: arm, at: [0, 0, 1]}]
cameras: [{name: eye, link: arm, field_of_view_deg: 30}]
events:
  - {time: 1, force: {link: base, force: [1, 0, 0], duration: 0.5}}
  - {time: 2, attach: {name: grip, parent: arm, child: world, kind: spherical, in_child: {at: [1, 2, 3]}}}
  - {time: 2, attach: {name: grip2, parent: arm, child: world, tree: true}}
  - {time: 3, detach: grip}
  - {time: 4, every: 2, set: {joint.arm.target: 0.5, gravity: [0, 0, 0], settings.solver: block}}
plots: [{title: arms, signals: [joint.arm.q, "link.base.pz"]}]
ui:
  - slider: {name: gain, key: joint.arm.stiffness, min: 0, max: 50, value: 10}
  - button: {name: push, do: [{force: {link: base, force: [0, 0, 9]}}, {set: {joint.arm.target: 0}}]}
  - text: {text: "height {link.base.pz}"}
view: {from: [1, 2, 3], field_of_view_deg: 60}
look: {sky: "#ff0000", grid: false}
)";
  const Result<LoadedScene> scene = load_native(text, "s.scene.yaml", uncached());
  ASSERT_TRUE(scene.ok()) << to_string(scene.errors());
  expect_round_trip(*scene, "script", 2);
  const std::string saved = to_native(*scene).text;
  for (const char* part : {"grip2", "settings.solver: block", "height {link.base.pz}", "-.inf", "gear: 3"}) {
    EXPECT_THAT(saved, testing::HasSubstr(part));
  }
}

}  // namespace
}  // namespace karakuri::test
