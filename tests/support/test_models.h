// Mechanisms that many tests run on: every joint kind, random trees, chains, and the benchmarks' robots.
#pragma once

#include <string>
#include <vector>

#include "karakuri/core/random.h"
#include "karakuri/model/model.h"
#include "karakuri/model/state.h"

namespace karakuri::test {

struct TestModel {
  std::string name;
  Model model;
};

/// A random inertia that a real body could have: that of a box, turned, with its centre off the origin.
Inertia random_inertia(Random& random);
Transform random_transform(Random& random, double reach);
/// A joint of `kind` with random frames, axes, pitch and armature.
Joint random_joint(Random& random, JointKind kind, std::string name, LinkId parent, LinkId child);

/// Compiles, or fails the test with what is wrong.
Model compile_or_die(const Mechanism& mechanism, const Vec3& gravity = kEarthGravity);

/// One body on the world by `kind`, with another by a revolute joint on it.
TestModel joint_kind_model(JointKind kind);
/// Random parents (long chains, bushes and forests in turn), all joint kinds, up to about `dofs` dofs.
TestModel random_tree(int dofs, std::uint64_t seed);
/// `links` bars in a row, revolute axes in turn x, y, z; each 0.1 m long.
Mechanism chain(int links);
/// Seven revolute joints, as in common arms.
Mechanism arm7();
/// A floating trunk, two legs and two arms of six and seven, head and waist: 36 dofs, 31 bodies.
Mechanism humanoid36();

/// A model of every joint kind, free bodies, random trees of up to 60 dofs, an arm, a humanoid.
std::vector<TestModel> all_tree_models();

/// Random configuration; velocities uniform in [-speed, speed].
State random_state(const Model& model, Random& random, double speed = 1.0);
Eigen::VectorXd random_vector(int size, Random& random, double reach = 1.0);

}  // namespace karakuri::test
