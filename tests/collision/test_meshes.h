// Small meshes and hulls made by hand.
#pragma once

#include <vector>

#include "karakuri/collision/shape.h"
#include "support/slab.h"

namespace karakuri::testing {

inline std::vector<Vec3> box_corners(const Vec3& h) {
  std::vector<Vec3> v;
  for (int i = 0; i < 8; ++i)
    v.push_back({i & 1 ? h.x() : -h.x(), i & 2 ? h.y() : -h.y(), i & 4 ? h.z() : -h.z()});
  return v;
}
inline std::vector<Triangle> box_triangles() {
  return {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
          {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
}
inline Mesh box_mesh(const Vec3& h) { return make_mesh(box_corners(h), box_triangles()).value(); }
/// The same box with a speck far away: not convex, so that its triangles must do the work themselves.
inline Mesh split_box_mesh(const Vec3& h) {
  auto v = box_corners(h);
  auto f = box_triangles();
  for (const Vec3& p : box_corners(0.1 * h)) v.push_back(p - Vec3(0, 0, 100 * h.z()));
  for (Triangle t : box_triangles()) f.push_back({t[0] + 8, t[1] + 8, t[2] + 8});
  return make_mesh(v, f).value();
}
inline Shape box_hull(const Vec3& h) { return Shape::hull(make_convex_hull(box_corners(h)).value()); }

/// A box of n x n cells on top and bottom, so that a floor has many seams: a closed solid, its top at z = 0.
inline Mesh slab_mesh(int n, double size, double thickness) {
  const test::TriangleSoup soup = test::slab(n, size, thickness, [](double, double) { return 0.0; });
  return make_mesh(soup.vertices, soup.faces).value();
}

/// Its top alone, as an open surface.
inline Mesh sheet_mesh(int n, double size) {
  const Mesh slab = slab_mesh(n, size, 1);
  std::vector<Triangle> top;
  for (const Triangle& t : slab.faces) {
    if (slab.vertices[t[0]].z() == 0 && slab.vertices[t[1]].z() == 0 && slab.vertices[t[2]].z() == 0)
      top.push_back(t);
  }
  return make_mesh(slab.vertices, top, {.use = MeshUse::kSurface}).value();
}

}  // namespace karakuri::testing
