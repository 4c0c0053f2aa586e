// Separating axes of two hulls by exhaustion, with edge pairs pruned on the Gauss map: an independent answer
// to what GJK and EPA compute. Gregorius, "The separating axis test between convex polyhedra", GDC 2013.
//   edges e (faces with normals a, b) and k (c, d) make a face of A - B iff the arcs ab and -c -d cross (1)
#pragma once

#include "collision/random_shapes.h"

namespace karakuri::testing {

struct HullEdge {
  Vec3 from, along;
  Vec3 n0, n1;  // of the faces beside it
};
inline std::vector<HullEdge> hull_edges(const ConvexHull& h, const Transform& X) {
  std::vector<HullEdge> all;
  for (int i = 0; i < static_cast<int>(h.origin.size()); ++i) {
    const int j = h.twin[i];
    if (i > j) continue;
    const Vec3 p = X * h.vertex(h.origin[i]);
    all.push_back({p, X * h.vertex(h.origin[j]) - p, X.R * h.faces[h.face_of[i]].normal,
                   X.R * h.faces[h.face_of[j]].normal});
  }
  return all;
}

/// The largest separation along any axis: minus the depth where the hulls overlap.
inline double hull_sat(const RandomPair& p) {
  const ConvexHull &a = p.a.as_hull(), &b = p.b.as_hull();
  double best = -1e300;
  const auto faces = [&](const ConvexHull& h, const Transform& X, const Shape& other, const Transform& Y) {
    for (const HullFace& f : h.faces) {
      const Vec3 n = X.R * f.normal;
      const double lowest = n.dot(Y.p) - support_value(other, Y.R.transpose() * -n);
      best = std::max(best, lowest - n.dot(X.p) - f.offset);
    }
  };
  faces(a, p.X_WA, p.b, p.X_WB), faces(b, p.X_WB, p.a, p.X_WA);
  const Vec3 center = p.X_WA * a.solid.com;
  const auto of_b = hull_edges(b, p.X_WB);
  for (const HullEdge& e : hull_edges(a, p.X_WA)) {
    const Vec3 ba = e.n1.cross(e.n0);
    for (const HullEdge& k : of_b) {  // (1)
      const double c = -k.n0.dot(ba), d = -k.n1.dot(ba);
      if (c * d >= 0) continue;
      const Vec3 dc = k.n1.cross(k.n0);
      const double s = e.n0.dot(dc), t = e.n1.dot(dc);
      if (s * t >= 0 || c * t <= 0) continue;
      Vec3 n = e.along.cross(k.along);
      if (n.norm() < 1e-9 * e.along.norm() * k.along.norm()) continue;
      n.normalize();
      if (n.dot(e.from - center) < 0) n = -n;
      best = std::max(best, n.dot(k.from - e.from));
    }
  }
  return best;
}

}  // namespace karakuri::testing
