#include "support/test_models.h"

#include <cstdio>
#include <cstdlib>
#include <numbers>

#include <fmt/format.h>

#include "karakuri/model/configuration.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri::test {

namespace {

Vec3 random_vec3(Random& random, double reach) {
  return {random.uniform(-reach, reach), random.uniform(-reach, reach), random.uniform(-reach, reach)};
}

JointKind any_moving_kind(Random& random) {
  return static_cast<JointKind>(1 + random.below(kJointKindCount - 1));
}

/// Adds a link that hangs on `parent` by a revolute joint.
LinkId add_limb(Mechanism& m, LinkId parent, const std::string& name, const Vec3& at, const Vec3& axis,
                const Inertia& inertia) {
  const LinkId link = m.add_link(name, inertia);
  const auto added = m.add_joint({.name = name + ".joint",
                                  .kind = JointKind::kRevolute,
                                  .parent = parent,
                                  .child = link,
                                  .X_PF = Transform::translation(at),
                                  .axis = axis});
  if (!added) std::abort();
  return link;
}

Inertia hanging(Inertia inertia, const Vec3& com) {
  inertia.com = com;
  return inertia;
}

}  // namespace

Inertia random_inertia(Random& random) {
  const Vec3 size{random.uniform(0.05, 0.4), random.uniform(0.05, 0.4), random.uniform(0.05, 0.4)};
  const Inertia box = Inertia::solid_box(random.uniform(0.2, 3.0), size);
  return box.in_frame(random_transform(random, 0.2));
}

Transform random_transform(Random& random, double reach) {
  return {rotation_exp(random_vec3(random, 2.0)), random_vec3(random, reach)};
}

Joint random_joint(Random& random, JointKind kind, std::string name, LinkId parent, LinkId child) {
  Joint joint{.name = std::move(name), .kind = kind, .parent = parent, .child = child};
  joint.X_PF = random_transform(random, 0.5);
  joint.X_CM = random_transform(random, 0.3);
  joint.axis = random_vec3(random, 1.0) + Vec3(0, 0, 0.1);
  joint.second_axis = joint.axis.cross(random_vec3(random, 1.0)) + 0.1 * joint.axis;
  joint.pitch = random.uniform(-0.2, 0.2);
  for (DofProperties& dof : joint.dofs) dof.armature = random.below(2) * random.uniform(0.0, 0.1);
  return joint;
}

Model compile_or_die(const Mechanism& mechanism, const Vec3& gravity) {
  Result<Model> model = compile(mechanism, gravity);
  if (!model) {
    std::fputs(to_string(model.errors()).c_str(), stderr);
    std::abort();
  }
  return std::move(model).value();
}

TestModel joint_kind_model(JointKind kind) {
  Random random(static_cast<int>(kind) + 100);
  Mechanism m;
  const LinkId a = m.add_link("a", random_inertia(random));
  const LinkId b = m.add_link("b", random_inertia(random));
  if (!m.add_joint(random_joint(random, kind, "j", m.world(), a)) ||
      !m.add_joint(random_joint(random, JointKind::kRevolute, "k", a, b))) {
    std::abort();
  }
  return {std::string(name(kind)), compile_or_die(m)};
}

TestModel random_tree(int dofs, std::uint64_t seed) {
  Random random(seed);
  Mechanism m;
  std::vector<LinkId> links{m.world()};
  for (int total = 0, i = 0; total < dofs; ++i) {
    const JointKind kind = random.below(8) == 0 ? JointKind::kFixed : any_moving_kind(random);
    const int back = seed % 3 == 0   ? 1
                     : seed % 3 == 1 ? random.below(static_cast<int>(links.size())) + 1
                                     : random.below(std::min(4, static_cast<int>(links.size()))) + 1;
    const LinkId parent = links[links.size() - back];
    const LinkId link = m.add_link(fmt::format("link{}", i), random_inertia(random));
    if (!m.add_joint(random_joint(random, kind, fmt::format("joint{}", i), parent, link))) std::abort();
    links.push_back(link);
    total += v_size(kind);
  }
  return {fmt::format("tree({} dofs, seed {})", dofs, seed), compile_or_die(m)};
}

Mechanism chain(int links) {
  Mechanism m;
  LinkId parent = m.world();
  const Inertia bar = hanging(Inertia::solid_box(1.0, {0.02, 0.02, 0.1}), {0, 0, -0.05});
  for (int i = 0; i < links; ++i) {
    parent = add_limb(m, parent, fmt::format("bar{}", i), {0, 0, i == 0 ? 0 : -0.1}, Vec3::Unit(i % 3), bar);
  }
  return m;
}

Mechanism arm7() {
  Mechanism m;
  LinkId parent = m.world();
  const Vec3 axes[7] = {Vec3::UnitZ(), Vec3::UnitY(), Vec3::UnitZ(), Vec3::UnitY(),
                        Vec3::UnitZ(), Vec3::UnitY(), Vec3::UnitZ()};
  for (int i = 0; i < 7; ++i) {
    const double mass = 4.0 - 0.5 * i;
    const Inertia limb = hanging(Inertia::solid_cylinder(mass, 0.06, 0.2), {0.01, 0.02, 0.1});
    parent = add_limb(m, parent, fmt::format("arm{}", i), {0, 0, i == 0 ? 0.15 : 0.2}, axes[i], limb);
  }
  return m;
}

Mechanism humanoid36() {
  Mechanism m;
  const Inertia trunk = Inertia::solid_box(10, {0.2, 0.3, 0.2});
  const LinkId pelvis = m.add_free_link("pelvis", trunk, Transform::translation({0, 0, 0.9}));
  const auto limb = [](double mass, double length) {
    return hanging(Inertia::solid_cylinder(mass, 0.05, length), {0.005, 0.01, -0.5 * length});
  };
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY(), z = Vec3::UnitZ();
  const LinkId waist = add_limb(m, pelvis, "waist", {0, 0, 0.1}, z, limb(2, 0.05));
  const LinkId chest = add_limb(m, waist, "chest", {0, 0, 0.05}, y, hanging(trunk, {0, 0, 0.15}));
  const LinkId neck = add_limb(m, chest, "neck", {0, 0, 0.35}, z, limb(0.5, 0.05));
  add_limb(m, neck, "head", {0, 0, 0.05}, y, hanging(Inertia::solid_sphere(4, 0.1), {0, 0, 0.1}));
  for (const double side : {1.0, -1.0}) {
    const std::string s = side > 0 ? "left." : "right.";
    LinkId at = add_limb(m, pelvis, s + "hip.z", {0, 0.1 * side, -0.1}, z, limb(1, 0.05));
    at = add_limb(m, at, s + "hip.x", {0, 0, 0}, x, limb(1, 0.05));
    at = add_limb(m, at, s + "thigh", {0, 0, 0}, y, limb(6, 0.4));
    at = add_limb(m, at, s + "shin", {0, 0, -0.4}, y, limb(4, 0.4));
    at = add_limb(m, at, s + "ankle", {0, 0, -0.4}, y, limb(0.5, 0.05));
    add_limb(m, at, s + "foot", {0, 0, 0}, x,
             hanging(Inertia::solid_box(1.5, {0.25, 0.12, 0.05}), {0.05, 0, -0.05}));
    at = add_limb(m, chest, s + "shoulder.y", {0, 0.2 * side, 0.3}, y, limb(1, 0.05));
    at = add_limb(m, at, s + "shoulder.x", {0, 0, 0}, x, limb(1, 0.05));
    at = add_limb(m, at, s + "upper arm", {0, 0, 0}, z, limb(2, 0.3));
    at = add_limb(m, at, s + "elbow", {0, 0, -0.3}, y, limb(1.5, 0.15));
    at = add_limb(m, at, s + "forearm", {0, 0, -0.1}, z, limb(1, 0.15));
    at = add_limb(m, at, s + "wrist", {0, 0, -0.15}, y, limb(0.3, 0.05));
    add_limb(m, at, s + "hand", {0, 0, 0}, x, limb(0.5, 0.1));
  }
  return m;
}

std::vector<TestModel> all_tree_models() {
  std::vector<TestModel> models;
  for (int kind = 1; kind < kJointKindCount; ++kind)
    models.push_back(joint_kind_model(static_cast<JointKind>(kind)));
  Mechanism floating;
  Random random(7);
  for (int i = 0; i < 3; ++i) {
    floating.add_free_link(fmt::format("body{}", i), random_inertia(random), random_transform(random, 1));
  }
  models.push_back({"free bodies", compile_or_die(floating)});
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    models.push_back(random_tree(5 + 5 * static_cast<int>(seed), seed));
  models.push_back({"arm", compile_or_die(arm7())});
  models.push_back({"humanoid", compile_or_die(humanoid36())});
  return models;
}

State random_state(const Model& model, Random& random, double speed) {
  State state(model);
  random_configuration(model, random, state.q_view());
  for (double& v : state.v) v = random.uniform(-speed, speed);
  return state;
}

Eigen::VectorXd random_vector(int size, Random& random, double reach) {
  Eigen::VectorXd x(size);
  for (double& value : x) value = random.uniform(-reach, reach);
  return x;
}

}  // namespace karakuri::test
