// Volume integrals of a closed polyhedron, exact: the solid is the signed sum of the tetrahedra (o, a, b, c).
//   det = a . (b x c),   V = sum det / 6                                                            (1)
//   int x dV   = sum det/24 (a + b + c)                                                            (2)
//   int x x^T dV = sum det/120 (a a^T + b b^T + c c^T + s s^T),  s = a + b + c                       (3)
//   I = tr(C) E - C                                                                                (4)
// Tonon, J. Mathematics and Statistics 1(1), 2004. The apex o is the middle of the vertices, which keeps the
// terms small when the mesh is far from its origin.
#include "karakuri/collision/mesh.h"

namespace karakuri {

Inertia integrate_solid(std::span<const Vec3> vertices, std::span<const Triangle> faces) {
  Aabb box;
  for (const Vec3& v : vertices) box.add(v);
  if (box.empty()) return {};
  const Vec3 o = box.center();
  double volume6 = 0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();
  for (const Triangle& f : faces) {
    const Vec3 a = vertices[f[0]] - o, b = vertices[f[1]] - o, c = vertices[f[2]] - o, s = a + b + c;
    const double det = a.dot(b.cross(c));
    volume6 += det;                                                                                   // (1)
    first += det * s;                                                                                 // (2)
    second += det * (a * a.transpose() + b * b.transpose() + c * c.transpose() + s * s.transpose());  // (3)
  }
  const double volume = volume6 / 6;
  if (volume == 0) return {};
  const Vec3 com = first / 24 / volume;
  const Mat3 C = second / 120 - volume * com * com.transpose();
  return {volume, o + com, C.trace() * Mat3::Identity() - C};  // (4)
}

}  // namespace karakuri
