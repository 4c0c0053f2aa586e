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

Vec3 in_single_precision(const Vec3& v) { return v.cast<float>().cast<double>(); }

/// As in MuJoCo 2.2: the centre of mass from pyramids over the surface's centroid, the moments from pyramids
/// over the centre of mass, and for the volume that of the box with these moments. MuJoCo keeps vertices in
/// single precision, also after they are moved to the centre of mass; so do we, to agree with it to more than
/// seven digits.
Inertia legacy_inertia(const MeshData& given) {
  MeshData mesh{.vertices = given.vertices, .faces = given.faces};
  for (Vec3& v : mesh.vertices) v = in_single_precision(v);
  const Vec3 centroid = sum_simplices(mesh, Vec3::Zero(), true, false).com;
  const Vec3 com = sum_simplices(mesh, centroid, false, false).com;
  for (Vec3& v : mesh.vertices) v = in_single_precision(v - com);
  double total = 0;
  Mat3 P = Mat3::Zero();
  for (const Triangle& f : mesh.faces) {
    const Vec3 &a = mesh.vertices[f[0]], &b = mesh.vertices[f[1]], &c = mesh.vertices[f[2]];
    const double w = std::abs(a.dot(b.cross(c))) / 6;
    const Vec3 s = a + b + c;
    total += w;
    P += w / 20 * (a * a.transpose() + b * b.transpose() + c * c.transpose() + s * s.transpose());  // (2)
  }
  if (!(total > 0)) return {};
  P /= total;
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(P, Eigen::EigenvaluesOnly);
  // of a box with half sides h, int x x^T / V = h^2 / 3
  const double volume = 8 * (3 * eigen.eigenvalues().cwiseMax(0.0)).cwiseSqrt().prod();
  return {volume, com, volume * (P.trace() * Mat3::Identity() - P)};
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
