// Volume, centre of mass and inertia of a mesh, by the four laws of MuJoCo:
//   exact   the solid that the faces bound
//   convex  the solid that the convex hull bounds
//   shell   the faces as thin plates
//   legacy  pyramids from the faces to the centroid of the surface, all counted as positive: also good for
//   meshes
//           with holes or with faces turned round. MuJoCo's default.
// Of a pyramid with apex o over a face with corners a, b, c (vectors from o), V = |a . (b x c)| / 6:
//   centre of mass   o + (a + b + c) / 4                                                        (1)
//   int x x^T dV     V/20 (a a^T + b b^T + c c^T + (a + b + c)(a + b + c)^T)                    (2)
//   about o          tr(P) E - P, with P from (2)                                               (3)
// and of a triangle of area A the same with V -> A, 4 -> 3, 20 -> 12.
#include <Eigen/Eigenvalues>

#include <fmt/format.h>

#include "io/mjcf/context.h"

namespace karakuri::io {

namespace {

/// Sums over simplices with apex `o`; `surface` takes triangles instead of pyramids.
Inertia sum_simplices(const MeshData& mesh, const Vec3& o, bool surface, bool signed_volumes) {
  double total = 0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();
  for (const Triangle& f : mesh.faces) {
    const Vec3 a = mesh.vertices[f[0]] - o, b = mesh.vertices[f[1]] - o, c = mesh.vertices[f[2]] - o;
    const double area = 0.5 * (b - a).cross(c - a).norm(), volume = a.dot(b.cross(c)) / 6;
    const double w = surface ? area : signed_volumes ? volume : std::abs(volume);
    const Vec3 s = a + b + c;
    total += w;
    first += w * s / (surface ? 3 : 4);  // (1)
    second += w / (surface ? 12 : 20) *
              (a * a.transpose() + b * b.transpose() + c * c.transpose() + s * s.transpose());  // (2)
  }
  if (!(total > 0)) return {};
  const Vec3 com = first / total;
  const Mat3 P = second - total * com * com.transpose();
  return {total, o + com, P.trace() * Mat3::Identity() - P};  // (3)
}

// Products and sums of floats are rounded one by one in MuJoCo's build.
#pragma STDC FP_CONTRACT OFF

using Vec3f = Eigen::Vector3f;

struct Plate {
  Vec3 normal = Vec3::Zero(), center = Vec3::Zero();
  double area = 0;
};

/// Sides and centre in single precision, the rest in double, as MuJoCo has it.
Plate plate_of(const std::vector<Vec3f>& v, const Triangle& t) {
  const Vec3f &a = v[t[0]], &b = v[t[1]], &c = v[t[2]];
  const Vec3f ab = b - a, ac = c - a, sum = (a + b) + c, center = sum / 3.0F;
  const Vec3 cross = ab.cast<double>().cross(ac.cast<double>());
  const double length = cross.norm();
  Plate plate{.center = center.cast<double>()};
  if (length < 1e-15) return plate;
  plate.normal = cross / length;
  plate.area = length / 2;
  return plate;
}

/// 20 times the entry (i, k) of (2) over the volume.
float product_of(const Vec3f& a, const Vec3f& b, const Vec3f& c, int i, int k) {
  return 2 * (a[i] * a[k] + b[i] * b[k] + c[i] * c[k]) + a[i] * b[k] + a[k] * b[i] + a[i] * c[k] +
         a[k] * c[i] + b[i] * c[k] + b[k] * c[i];
}

/// As in MuJoCo 2.2: the centre of mass from pyramids over the surface's centroid, the moments from pyramids
/// over the centre of mass, and for the volume that of the box with these moments. MuJoCo does the sums of
/// each face in single precision; in double, masses differ from its by up to 3e-8 and hands by 2e-8 in their
/// mass matrices.
Inertia legacy_inertia(const MeshData& mesh) {
  std::vector<Vec3f> v;
  for (const Vec3& x : mesh.vertices) v.push_back(x.cast<float>());
  double area = 0, volume = 0;
  Vec3 centroid = Vec3::Zero(), com = Vec3::Zero();
  for (const Triangle& t : mesh.faces) {
    const Plate plate = plate_of(v, t);
    area += plate.area;
    centroid += plate.area * plate.center;
  }
  if (!(area > 0)) return {};
  centroid /= area;
  for (const Triangle& t : mesh.faces) {
    const Plate plate = plate_of(v, t);
    const double w = std::abs((plate.center - centroid).dot(plate.normal) * plate.area / 3);
    volume += w;
    com += w * (0.75 * plate.center + 0.25 * centroid);  // (1)
  }
  if (!(volume > 0)) return {};
  com /= volume;
  for (Vec3f& x : v) x = (x.cast<double>() - com).cast<float>();

  volume = 0;
  Mat3 P = Mat3::Zero();
  for (const Triangle& t : mesh.faces) {
    const Plate plate = plate_of(v, t);
    const double w = std::abs(plate.center.dot(plate.normal) * plate.area / 3);
    volume += w;
    for (int i = 0; i < 3; ++i) {
      for (int k = 0; k < 3; ++k) P(i, k) += w / 20 * product_of(v[t[0]], v[t[1]], v[t[2]], i, k);  // (2)
    }
  }
  if (!(volume > 0)) return {};
  P = 0.5 * (P + P.transpose()).eval() / volume;
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(P, Eigen::EigenvaluesOnly);
  // of a box with half sides h, int x x^T / V = h^2 / 3
  const double of_box = 8 * (3 * eigen.eigenvalues().cwiseMax(0.0)).cwiseSqrt().prod();
  return {of_box, com, of_box * (P.trace() * Mat3::Identity() - P)};
}

Inertia convex_inertia(const MeshData& mesh) {
  const Result<ConvexHull> hull = make_convex_hull(mesh.vertices);
  return hull.ok() ? hull->solid : Inertia{};
}

}  // namespace

Inertia mesh_inertia(MjcfContext& c, MjcfMesh& mesh, bool shell) {
  if (shell) return sum_simplices(*mesh.data, Vec3::Zero(), true, false);
  if (mesh.solid) return *mesh.solid;
  const XmlElement& e = mesh.element;
  const std::size_t exact = c.compiler.exact_mesh_inertia ? 1 : 2;
  switch (c.xml.choice(e, "inertia", {"convex", "exact", "legacy", "shell"}, exact)) {
    case 0: mesh.solid = convex_inertia(*mesh.data); break;
    case 1: mesh.solid = sum_simplices(*mesh.data, Vec3::Zero(), false, true); break;
    case 2: mesh.solid = legacy_inertia(*mesh.data); break;
    default: mesh.solid = sum_simplices(*mesh.data, Vec3::Zero(), true, false); break;
  }
  // An open or flat mesh may bound no volume.
  if (!(mesh.solid->mass > 0)) {
    mesh.solid = convex_inertia(*mesh.data);
    c.xml.report.unsupported("volume " + mesh.data->source, c.where(e),
                             fmt::format("mesh {} bounds no volume; that of its convex hull is used",
                                         in_quotes(mesh.data->source)),
                             "mend the mesh, or give the body an <inertial>");
  }
  return *mesh.solid;
}

}  // namespace karakuri::io
