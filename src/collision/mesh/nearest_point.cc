// Nearest point of a triangle, by the regions of its corners and sides (Ericson, Real-Time Collision
// Detection, 2005, section 5.1.5), and of a mesh, by a search of its tree with the best distance so far as
// the bound. Inside or outside: the sign of (p - q) . n at the nearest point q, n being the normal of the
// face, the sum of two normals on an edge, and the sum weighted by angles at a vertex (Baerentzen and Aanaes,
// IEEE TVCG 11(3), 2005); the plain face normal is wrong at edges and corners.
#include "collision/mesh/nearest_point.h"

#include <array>
#include <limits>

#include "collision/mesh/triangle.h"
#include "karakuri/collision/mesh.h"

namespace karakuri {

namespace collision_detail {

TrianglePoint nearest_on_triangle(const Vec3& p, const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 ab = b - a, ac = c - a, ap = p - a;
  const double d1 = ab.dot(ap), d2 = ac.dot(ap);
  if (d1 <= 0 && d2 <= 0) return {a, 3};
  const Vec3 bp = p - b;
  const double d3 = ab.dot(bp), d4 = ac.dot(bp);
  if (d3 >= 0 && d4 <= d3) return {b, 4};
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) return {a + d1 / (d1 - d3) * ab, 0};
  const Vec3 cp = p - c;
  const double d5 = ab.dot(cp), d6 = ac.dot(cp);
  if (d6 >= 0 && d5 <= d6) return {c, 5};
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) return {a + d2 / (d2 - d6) * ac, 2};
  const double va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) return {b + (d4 - d3) / ((d4 - d3) + (d5 - d6)) * (c - b), 1};
  const double sum = va + vb + vc;
  if (!(sum > 0)) return {a, 3};  // no area
  return {a + ab * (vb / sum) + ac * (vc / sum), -1};
}

}  // namespace collision_detail

namespace {

Vec3 pseudo_normal(const Mesh& mesh, const MeshPoint& at) {
  if (at.vertex >= 0) return mesh.vertex_normals[at.vertex];
  if (at.edge < 0) return mesh.face_normals[at.face];
  const MeshEdge& e = mesh.edges[at.edge];
  Vec3 n = mesh.face_normals[e.f[0]];
  if (e.f[1] >= 0) n += mesh.face_normals[e.f[1]];
  return n;
}

double box_distance2(const MeshTree::Node& n, const Vec3& p) {
  return (n.lo - p).cwiseMax(p - n.hi).cwiseMax(0.0).squaredNorm();
}

}  // namespace

MeshPoint nearest_point(const Mesh& mesh, const Vec3& p, double limit) {
  double work = 0;
  return collision_detail::nearest_point_within(mesh, p, limit, std::numeric_limits<double>::infinity(),
                                                work);
}

MeshPoint collision_detail::nearest_point_within(const Mesh& mesh, const Vec3& p, double limit,
                                                 double max_work, double& work) {
  constexpr double kOfNode = 10, kOfTriangle = 40;  // multiplications
  MeshPoint best;
  best.distance = limit;
  if (mesh.tree.nodes.empty()) return best;
  double best2 = limit * limit;
  std::array<int, 128> stack;  // depth first: at most one waiting sibling per level
  int size = 0;
  stack[size++] = 0;
  while (size > 0 && work <= max_work) {
    const int i = stack[--size];
    const MeshTree::Node& node = mesh.tree.nodes[i];
    work += node.leaf() ? kOfTriangle : kOfNode;
    if (box_distance2(node, p) > best2) continue;
    if (!node.leaf()) {
      const double left = box_distance2(mesh.tree.nodes[i + 1], p);
      const double right = box_distance2(mesh.tree.nodes[node.right], p);
      stack[size++] = left <= right ? node.right : i + 1;
      stack[size++] = left <= right ? i + 1 : node.right;
      continue;
    }
    const int f = node.triangle();
    const Triangle& t = mesh.faces[f];
    const auto q = collision_detail::nearest_on_triangle(p, mesh.vertices[t[0]], mesh.vertices[t[1]],
                                                         mesh.vertices[t[2]]);
    const double d2 = (p - q.point).squaredNorm();
    if (d2 > best2 || (d2 == best2 && best.face >= 0 && best.face < f)) continue;
    best2 = d2;
    best.point = q.point;
    best.face = f;
    best.edge = q.region >= 0 && q.region < 3 ? mesh.face_edges[f][q.region] : -1;
    best.vertex = q.region >= 3 ? t[q.region - 3] : -1;
  }
  if (best.face < 0) return best;
  best.distance = std::sqrt(best2);
  best.inside = mesh.use == MeshUse::kSolid && (p - best.point).dot(pseudo_normal(mesh, best)) < 0;
  return best;
}

bool contains(const Mesh& mesh, const Vec3& point) { return nearest_point(mesh, point).inside; }

}  // namespace karakuri
