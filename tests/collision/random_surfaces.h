// Random meshes, terrains and compounds, and a brute-force distance between triangles.
#pragma once

#include "collision/random_shapes.h"
#include "collision/test_meshes.h"

namespace karakuri::testing {

/// A prism over an L: concave, 20 triangles, centred about its corner; size: half its width.
inline Mesh angle_mesh(const Vec3& size, double thickness) {
  const double t = thickness;
  const double outline[6][2] = {{-1, -1}, {1, -1}, {1, -1 + t}, {-1 + t, -1 + t}, {-1 + t, 1}, {-1, 1}};
  std::vector<Vec3> v;
  for (const double z : {-1.0, 1.0}) {
    for (const auto& p : outline) v.push_back(size.cwiseProduct(Vec3(p[0], p[1], z)));
  }
  std::vector<Triangle> f;
  // the L falls into triangles about its inner corner, which sees all others
  for (const auto& [i, j] : {std::pair{4, 5}, {5, 0}, {0, 1}, {1, 2}}) {
    f.push_back({3, j, i});
    f.push_back({9, i + 6, j + 6});
  }
  for (int i = 0; i < 6; ++i) {
    const int j = (i + 1) % 6;
    f.push_back({i, j, j + 6}), f.push_back({i, j + 6, i + 6});
  }
  return make_mesh(v, f).value();
}

/// Shapes of a kind that is not convex, 64 sizes from 1e-3 to 1e3.
inline const Shape& pooled_surface(ShapeKind kind, double size) {
  constexpr int kCount = 64;
  static const auto make = [](ShapeKind k) {
    Random r(17);
    std::vector<Shape> all;
    for (int i = 0; i < kCount; ++i) {
      const double s = std::pow(10, 6.0 * i / (kCount - 1) - 3);
      const Vec3 half(s * r.uniform(0.5, 1), s * r.uniform(0.5, 1), s * r.uniform(0.3, 1));
      if (k == ShapeKind::kMesh) {
        all.push_back(
            Shape::mesh(i % 3 ? angle_mesh(half, r.uniform(0.3, 1)) : slab_mesh(3, 2 * half.x(), half.z())));
      } else if (k == ShapeKind::kHeightfield) {
        std::vector<double> z(36);
        for (double& h : z) h = s * r.uniform(-0.3, 0.3);
        all.push_back(Shape::heightfield(make_heightfield(6, 6, 2 * half.x(), 2 * half.y(), z).value()));
      } else {
        std::vector<ShapeAt> parts;
        for (int n = 0; n < 3; ++n) {
          parts.push_back({random_convex(r, kConvexKinds[r.below(7)], 0.5 * s),
                           {random_rotation(r), s * r.uniform(0, 1) * random_unit(r)}});
        }
        all.push_back(make_compound(parts).value());
      }
    }
    return all;
  };
  static const std::vector<Shape> meshes = make(ShapeKind::kMesh), fields = make(ShapeKind::kHeightfield),
                                  compounds = make(ShapeKind::kCompound);
  const auto& pool = kind == ShapeKind::kMesh ? meshes : kind == ShapeKind::kHeightfield ? fields : compounds;
  const double at = std::round((kCount - 1) / 6.0 * (std::log10(size) + 3));
  return pool[static_cast<std::size_t>(std::clamp(at, 0.0, kCount - 1.0))];
}

using Corners = std::array<Vec3, 3>;

/// The triangles of a mesh or a heightfield, in the world.
inline void triangles_of(const Shape& s, const Transform& X, std::vector<Corners>& out) {
  out.clear();
  if (s.kind() == ShapeKind::kMesh) {
    const Mesh& m = s.as_mesh();
    for (const Triangle& t : m.faces)
      out.push_back({X * m.vertices[t[0]], X * m.vertices[t[1]], X * m.vertices[t[2]]});
  } else {
    const Heightfield& f = s.as_heightfield();
    for (int j = 0; j < f.cell_rows(); ++j) {
      for (int i = 0; i < f.cell_columns(); ++i) {
        const Vec3 a = X * f.vertex(i, j), b = X * f.vertex(i + 1, j), c = X * f.vertex(i + 1, j + 1),
                   d = X * f.vertex(i, j + 1);
        out.push_back({a, b, c}), out.push_back({a, c, d});
      }
    }
  }
}

inline double point_segment(const Vec3& p, const Vec3& a, const Vec3& b) {
  const Vec3 e = b - a;
  const double l2 = e.squaredNorm();
  return (p - a - std::clamp(l2 > 0 ? (p - a).dot(e) / l2 : 0.0, 0.0, 1.0) * e).norm();
}
inline double segment_segment(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
  double best = std::min(
      {point_segment(a, c, d), point_segment(b, c, d), point_segment(c, a, b), point_segment(d, a, b)});
  const Vec3 u = b - a, v = d - c, n = u.cross(v), r = c - a;
  const double n2 = n.squaredNorm();
  if (n2 > 1e-24 * u.squaredNorm() * v.squaredNorm()) {
    const double s = r.cross(v).dot(n) / n2, t = r.cross(u).dot(n) / n2;
    if (s > 0 && s < 1 && t > 0 && t < 1) best = std::min(best, std::abs(r.dot(n)) / std::sqrt(n2));
  }
  return best;
}
inline bool over_triangle(const Vec3& p, const Corners& t, const Vec3& n) {
  for (int k = 0; k < 3; ++k) {
    if ((t[(k + 1) % 3] - t[k]).cross(p - t[k]).dot(n) < 0) return false;
  }
  return true;
}
/// Distance of two triangles: sides against sides, corners against faces; zero where a side goes through a
/// face.
inline double triangle_triangle(const Corners& a, const Corners& b) {
  double best = 1e300;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j)
      best = std::min(best, segment_segment(a[i], a[(i + 1) % 3], b[j], b[(j + 1) % 3]));
  }
  const auto against = [&](const Corners& s, const Corners& t) {
    const Vec3 n = (t[1] - t[0]).cross(t[2] - t[0]).normalized();
    for (int i = 0; i < 3; ++i) {
      const double h0 = n.dot(s[i] - t[0]), h1 = n.dot(s[(i + 1) % 3] - t[0]);
      if (over_triangle(s[i], t, n)) best = std::min(best, std::abs(h0));
      if (h0 * h1 >= 0 || h0 == h1) continue;
      const Vec3 through = s[i] + h0 / (h0 - h1) * (s[(i + 1) % 3] - s[i]);
      if (over_triangle(through, t, n)) best = 0;
    }
  };
  against(a, b), against(b, a);
  return best;
}

/// Times a closed surface winds about p: 1 inside, 0 outside. Van Oosterom, Strackee, IEEE Trans. Biomedical
/// Engineering 30(2), 1983.
inline double winding(const std::vector<Corners>& surface, const Vec3& p) {
  double sum = 0;
  for (const Corners& t : surface) {
    const Vec3 a = t[0] - p, b = t[1] - p, c = t[2] - p;
    const double la = a.norm(), lb = b.norm(), lc = c.norm();
    sum += std::atan2(a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
  }
  return sum / (2 * std::numbers::pi);
}

}  // namespace karakuri::testing
