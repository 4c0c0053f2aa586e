// A user's program, compiled with flags of its own. Values go through the library's compiled code and come
// back; if the two sides disagreed about a type's size or alignment, or about who frees what, a check would
// fail or the program crash.
#include <cstdio>
#include <vector>

#include <karakuri/core/diagnostic.h>
#include <karakuri/core/random.h>
#include <karakuri/dynamics/aba.h>
#include <karakuri/dynamics/mass_matrix.h>
#include <karakuri/dynamics/rnea.h>
#include <karakuri/spatial/inertia.h>
#include <karakuri/spatial/rotation.h>
#include <karakuri/spatial/spatial_vector.h>
#include <Eigen/Core>

using namespace karakuri;

namespace {

int failures = 0;

void check(bool holds, const char* what) {
  if (!holds) std::printf("failed: %s\n", what), ++failures;
}

// None of these may depend on the instruction set: an odd count of doubles shows padding.
static_assert(alignof(Transform) == alignof(double) && sizeof(Transform) == 12 * sizeof(double));
static_assert(alignof(Inertia) == alignof(double) && sizeof(Inertia) == 13 * sizeof(double));
static_assert(alignof(Quat) == alignof(double) && sizeof(Quat) == 4 * sizeof(double));
static_assert(alignof(Motion) == alignof(double) && sizeof(Motion) == 6 * sizeof(double));
static_assert(alignof(Force) == alignof(double) && sizeof(Force) == 6 * sizeof(double));

void check_rotations() {
  // at odd addresses of a vector, where an aligned load would fault
  const Vec3 phi(0.3, -0.2, 0.9);
  std::vector<Quat> quats;
  std::vector<Transform> poses;
  for (int i = 0; i < 5; ++i) {
    quats.push_back(quat_exp(0.5 * i * phi));
    poses.push_back(Transform::rotation(rotation_exp(0.5 * i * phi)));
  }
  for (int i = 0; i < 5; ++i) {
    check((quat_log(quats[i]) - 0.5 * i * phi).norm() < 1e-14, "log(exp(phi)) = phi, quaternion");
    check((rotation_log(poses[i].R) - 0.5 * i * phi).norm() < 1e-14, "log(exp(phi)) = phi, matrix");
  }
}

void check_inertias() {
  std::vector<Inertia> parts(3, Inertia::solid_box(2.0, Vec3(0.1, 0.2, 0.3)));
  parts[1] = parts[1].in_frame(Transform::translation(Vec3(1, 0, 0)));
  const Inertia whole = parts[0] + parts[1];
  check(whole.mass == 4.0 && (whole.com - Vec3(0.5, 0, 0)).norm() < 1e-15, "two boxes' centre of mass");
  check(!find_flaw(whole), "two boxes make a body");
  parts[2].mass = -1;
  const auto flaw = find_flaw(parts[2]);  // a string that the library allocated and we free
  check(flaw && flaw->find("-1") != std::string::npos, "a negative mass is found and told");
  check(to_string(Diagnostic{Severity::kError, "base", *flaw, ""}).starts_with("base: error: has mass"),
        "the diagnostic is readable");
}

// Eigen's own heap arrays on our side, with the library's copies of Eigen's functions linked in.
void check_heap_arrays() {
  Random random(1);
  for (int n = 1; n < 40; ++n) {
    Eigen::MatrixXd a = Eigen::MatrixXd::NullaryExpr(n, n, [&] { return random.normal(); });
    a.diagonal().array() += 10.0 * n;
    const Eigen::VectorXd x = Eigen::VectorXd::Ones(n);
    Eigen::VectorXd y = a * x;
    y.conservativeResize(2 * n);
    check((y.head(n) - a.rowwise().sum()).norm() < 1e-12 * y.head(n).norm(), "matrix times ones = row sums");
  }
}

// A mechanism built here, compiled and simulated there, with vectors of ours written by the library and
// workspaces of the library's freed by us.
void check_dynamics() {
  Mechanism mechanism;
  LinkId parent = mechanism.add_free_link("base", Inertia::solid_box(3, Vec3(0.3, 0.2, 0.1)), {});
  const JointKind kinds[] = {JointKind::kRevolute, JointKind::kSpherical, JointKind::kPrismatic};
  for (const JointKind kind : kinds) {
    const LinkId link = mechanism.add_link(std::string(name(kind)), Inertia::solid_sphere(1, 0.1));
    const auto joint = mechanism.add_joint({.name = std::string(name(kind)),
                                            .kind = kind,
                                            .parent = parent,
                                            .child = link,
                                            .X_PF = Transform::translation(Vec3(0.3, 0, 0.1)),
                                            .X_CM = {},
                                            .axis = Vec3(0, 1, 0),
                                            .second_axis = Vec3(1, 0, 0),
                                            .dofs = {}});
    check(joint.ok(), "a joint is added");
    parent = link;
  }
  const Result<Model> model = compile(mechanism);
  check(model.ok() && model->nv == 11, "the mechanism compiles to 11 dofs");
  if (!model) return;
  Workspace ws(*model);
  State state(*model);
  for (int k = 0; k < model->nv; ++k) state.v[k] = 0.1 * k;
  Eigen::VectorXd tau = Eigen::VectorXd::LinSpaced(model->nv, -1, 1), a(model->nv), back(model->nv);
  aba(*model, state, tau, {}, ws, a);
  rnea(*model, state, a, {}, ws, back);
  check((back - tau).norm() < 1e-12 * tau.norm(), "inverse dynamics undoes forward dynamics");
  MassMatrix M(*model);
  crba(*model, state, ws, M);
  Eigen::MatrixXd dense(model->nv, model->nv);
  to_dense(*model, M, dense);
  check(dense.topLeftCorner(3, 3).isApprox(6 * Eigen::Matrix3d::Identity(), 1e-14), "total mass");

  mechanism.link(parent).inertia.mass = -1;
  const Result<Model> refused = compile(mechanism);
  check(!refused && to_string(refused.errors()).find("prismatic") != std::string::npos,
        "a bad link is named");
}

}  // namespace

int main() {
  check_dynamics();
  check_rotations();
  check_inertias();
  check_heap_arrays();
  return failures == 0 ? 0 : 1;
}
