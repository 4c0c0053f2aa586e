// One robot twice: JVRC-1 as URDF and as MJCF.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/corpus.h"
#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/dynamics/rnea.h"
#include "karakuri/model/configuration.h"
#include "karakuri/model/state.h"

namespace karakuri::test {
namespace {

const char* const kUrdf = "humanoids/jvrc1-urdf/urdf/jvrc1.urdf";
const char* const kMjcf = "humanoids/jvrc1-mjcf/xml/jvrc1.xml";

class Jvrc : public testing::Test {
 protected:
  void SetUp() override {
    KARAKURI_NEEDS_CORPUS(kUrdf);
    Result<LoadedScene> u = load_scene(corpus() / kUrdf, uncached()),
                        m = load_scene(corpus() / kMjcf, uncached());
    ASSERT_TRUE(u.ok()) << to_string(u.errors());
    ASSERT_TRUE(m.ok()) << to_string(m.errors());
    urdf = std::move(*u), mjcf = std::move(*m);
  }
  LoadedScene urdf, mjcf;
};

TEST_F(Jvrc, LinksHaveTheSameMassAndInertia) {
  const Mechanism &u = urdf.scene.mechanism, &m = mjcf.scene.mechanism;
  int same = 0;
  double mass_u = 0, mass_m = 0;
  for (const LinkId id : m.link_ids()) mass_m += m.link(id).inertia.mass;
  for (const LinkId id : u.link_ids()) {
    const Link& link = u.link(id);
    mass_u += link.inertia.mass;
    const LinkId other = m.find_link(link.name);
    if (!other || link.inertia.mass == 0) continue;
    SCOPED_TRACE(link.name);
    const Inertia &a = link.inertia, &b = m.link(other).inertia;
    EXPECT_NEAR(a.mass, b.mass, 1e-9);
    EXPECT_LT((a.com - b.com).norm(), 1e-5);  // files of six digits
    EXPECT_LT((a.about_com - b.about_com).norm(), 1e-4 * b.about_com.norm());
    ++same;
  }
  EXPECT_EQ(same, 45);  // pelvis and 44 links, one for each joint
  EXPECT_NEAR(mass_u, mass_m, 1e-9);
}

TEST_F(Jvrc, TheTreeIsTheSame) {
  const Mechanism &u = urdf.scene.mechanism, &m = mjcf.scene.mechanism;
  int same = 0;
  for (const JointId id : m.joint_ids()) {
    const Joint& b = m.joint(id);
    if (b.kind == JointKind::kFixed || b.kind == JointKind::kFree) continue;
    SCOPED_TRACE(b.name);
    const JointId other = u.find_joint(b.name);
    ASSERT_TRUE(other);
    const Joint& a = u.joint(other);
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(u.link(a.parent).name, m.link(b.parent).name);
    EXPECT_EQ(u.link(a.child).name, m.link(b.child).name);
    EXPECT_LT((a.X_PF.p - b.X_PF.p).norm(), 1e-5);
    EXPECT_LT((a.X_PF.R * a.axis - b.X_PF.R * b.axis).norm(), 1e-5);
    ++same;
  }
  EXPECT_EQ(same, 44);
}

/// With the base held and without armatures, which only the MJCF has.
Model bare(Mechanism mechanism) {
  for (const JointId id : mechanism.joint_ids()) {
    Joint& joint = mechanism.joint(id);
    if (joint.kind == JointKind::kFree) joint.kind = JointKind::kFixed;
    for (DofProperties& dof : joint.dofs) dof.armature = 0;
  }
  Result<Model> model = compile(mechanism);
  EXPECT_TRUE(model.ok());
  return std::move(*model);
}

TEST_F(Jvrc, TheDynamicsAreTheSame) {
  const Model u = bare(urdf.scene.mechanism), m = bare(mjcf.scene.mechanism);
  ASSERT_EQ(u.nv, m.nv);
  // the URDF's dofs in the order of the MJCF's
  std::vector<int> at(static_cast<std::size_t>(m.nv));
  for (const JointEntry& joint : m.joints) {
    if (joint.first_v < 0) continue;
    for (const JointEntry& other : u.joints) {
      if (other.name == joint.name) at[static_cast<std::size_t>(joint.first_v)] = other.first_v;
    }
  }
  Random random(5);
  Workspace wu(u), wm(m);
  MassMatrix Mu(u), Mm(m);
  Eigen::MatrixXd A(u.nv, u.nv), B(m.nv, m.nv);
  Eigen::VectorXd cu(u.nv), cm(m.nv);
  for (int i = 0; i < 10; ++i) {
    State su(u), sm(m);
    VecOut q = sm.q_view();
    random_configuration(m, random, q);
    for (int k = 0; k < m.nv; ++k) {
      const auto j = static_cast<std::size_t>(k), l = static_cast<std::size_t>(at[j]);
      sm.v[j] = random.uniform(-2, 2);
      su.q[l] = sm.q[j], su.v[l] = sm.v[j];
    }
    crba(u, su, wu, Mu), crba(m, sm, wm, Mm);
    to_dense(u, Mu, A), to_dense(m, Mm, B);
    bias_effort(u, su, {}, wu, cu), bias_effort(m, sm, {}, wm, cm);
    Eigen::MatrixXd C(m.nv, m.nv);
    Eigen::VectorXd c(m.nv);
    for (int k = 0; k < m.nv; ++k) {
      c[k] = cu[at[static_cast<std::size_t>(k)]];
      for (int l = 0; l < m.nv; ++l)
        C(k, l) = A(at[static_cast<std::size_t>(k)], at[static_cast<std::size_t>(l)]);
    }
    // the MJCF's numbers have six digits
    EXPECT_LT((C - B).norm(), 1e-5 * B.norm());
    EXPECT_LT((c - cm).norm(), 1e-5 * cm.norm());
  }
}

TEST_F(Jvrc, MimicAndEqualitySayTheSame) {
  ASSERT_EQ(urdf.scene.mechanism.couplings().size(), 10u);
  ASSERT_EQ(mjcf.scene.mechanism.couplings().size(), 10u);
  for (const Coupling& a : urdf.scene.mechanism.couplings()) {
    const std::string& follower = urdf.scene.mechanism.joint(a.follower).name;
    for (const Coupling& b : mjcf.scene.mechanism.couplings()) {
      if (mjcf.scene.mechanism.joint(b.follower).name != follower) continue;
      EXPECT_EQ(urdf.scene.mechanism.joint(a.leader).name, mjcf.scene.mechanism.joint(b.leader).name);
      EXPECT_EQ(a.coefficients, b.coefficients);
    }
  }
}

TEST_F(Jvrc, MeshesOfBothFormatsHaveTheSameSize) {
  // COLLADA in one, STL and OBJ in the other: units and axes are understood
  const auto box = [](const LoadedScene& scene, const char* name) {
    Aabb all;
    const LinkId link = scene.scene.mechanism.find_link(name);
    for (const ShapePlacement& s : scene.scene.mechanism.link(link).shapes)
      all.add(bounding_box(scene.scene.shapes[s.shape], s.X_LS));
    return all;
  };
  for (const char* name : {"R_HIP_R_S", "R_KNEE_S", "WAIST_R_S", "L_ANKLE_P_S"}) {
    SCOPED_TRACE(name);
    const Aabb a = box(urdf, name), b = box(mjcf, name);
    EXPECT_LT((a.lo - b.lo).norm() + (a.hi - b.hi).norm(), 0.01)
        << a.lo.transpose() << " " << a.hi.transpose() << " / " << b.lo.transpose() << " "
        << b.hi.transpose();
  }
}

}  // namespace
}  // namespace karakuri::test
