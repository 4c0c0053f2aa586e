// Straight trajectories of the corners over one step, t in [0, 1].
//   vertex-face:  d(t) = n(t) . (p(t) - a(t));    t = d0 / (d0 - d1) (1) edge-edge:    d(t) = det(b0 - a0, b1
//   - a1, a0 - a1) / |(b0 - a0) x (b1 - a1)|                          (2)
//                 its sign turns when the cross product does, so the cross product at the start gives the
//                 sign throughout
// Kuroda 2002, section 5.2. There d is taken as linear in t; bodies that turn bend it, so (1) is the first
// guess of the false-position method (Illinois variant), which brackets the root. At t_c the point must lie
// in the prism over the face; the edges' nearest points must lie within them.
#include <cmath>

#include "collision/narrowphase/round_pairs.h"
#include "karakuri/collision/ccd.h"

namespace karakuri {

namespace {

// Root of d in [0, 1]. @pre d0 and d1 have opposite signs
template <class Distance>
double bracketed_root(Distance&& d, double d0, double d1, double scale) {
  double t0 = 0, t1 = 1, t = d0 / (d0 - d1);  // (1)
  for (int k = 0; k < 40; ++k) {
    const double at = d(t);
    if (std::abs(at) <= 1e-13 * scale) break;
    if ((at > 0) == (d0 > 0)) {
      t0 = t, d0 = at, d1 *= 0.5;
    } else {
      t1 = t, d1 = at, d0 *= 0.5;
    }
    const double next = t0 + (t1 - t0) * d0 / (d0 - d1);
    if (!(next > t0) || !(next < t1)) break;
    t = next;
  }
  return t;
}

Vec3 mix(const Vec3& a, const Vec3& b, double t) { return a + t * (b - a); }

struct MovingFace {
  const std::array<Vec3, 3>&from, &to;
  Vec3 corner(int k, double t) const { return mix(from[k], to[k], t); }
  Vec3 normal(double t) const {
    const Vec3 a = corner(0, t);
    const Vec3 n = (corner(1, t) - a).cross(corner(2, t) - a);
    const double length = n.norm();
    return length > 0 ? Vec3(n / length) : Vec3(Vec3::Zero());
  }
};

}  // namespace

std::optional<Crossing> vertex_face_crossing(const Vec3& p0, const Vec3& p1, const std::array<Vec3, 3>& face0,
                                             const std::array<Vec3, 3>& face1) {
  const MovingFace face{face0, face1};
  const auto distance = [&](double t) { return face.normal(t).dot(mix(p0, p1, t) - face.corner(0, t)); };
  const double d0 = distance(0), d1 = distance(1);
  if (!(d0 >= 0) || !(d1 < 0)) return std::nullopt;
  const double size =
      (face0[1] - face0[0]).norm() + (face0[2] - face0[0]).norm() + std::abs(d0) + std::abs(d1);
  const double t = bracketed_root(distance, d0, d1, size);
  const Vec3 p = mix(p0, p1, t), n = face.normal(t);
  for (int k = 0; k < 3; ++k) {  // the prism; a hair wider than the face, so that nothing slips between two
    const Vec3 a = face.corner(k, t), side = face.corner((k + 1) % 3, t) - a;
    if (side.cross(p - a).dot(n) < -1e-9 * size * side.norm()) return std::nullopt;
  }
  return Crossing{t, p, n};
}

std::optional<Crossing> edge_edge_crossing(const std::array<Vec3, 2>& first0,
                                           const std::array<Vec3, 2>& first1,
                                           const std::array<Vec3, 2>& second0,
                                           const std::array<Vec3, 2>& second1) {
  const auto cross = [&](double t) -> Vec3 {
    return (mix(first0[1], first1[1], t) - mix(first0[0], first1[0], t))
        .cross(mix(second0[1], second1[1], t) - mix(second0[0], second1[0], t));
  };
  const Vec3 c0 = cross(0);
  const double size2 = (first0[1] - first0[0]).norm() * (second0[1] - second0[0]).norm();
  if (c0.norm() <= 1e-9 * size2) return std::nullopt;  // parallel: their ends meet faces
  const auto distance = [&](double t) {                // (2)
    Vec3 c = cross(t);
    if (c.dot(c0) < 0) c = -c;
    const double length = c.norm();
    if (length <= 1e-12 * size2) return 0.0;
    return c.dot(mix(second0[0], second1[0], t) - mix(first0[0], first1[0], t)) / length;
  };
  const double d0 = distance(0), d1 = distance(1);
  if (d0 == 0 || (d0 > 0) == (d1 > 0)) return std::nullopt;
  const double scale = std::sqrt(size2) + std::abs(d0) + std::abs(d1);
  const double t = bracketed_root(distance, d0, d1, scale);
  const Vec3 a0 = mix(first0[0], first1[0], t), ea = mix(first0[1], first1[1], t) - a0;
  const Vec3 b0 = mix(second0[0], second1[0], t), eb = mix(second0[1], second1[1], t) - b0;
  double s, u;
  collision_detail::nearest_on_segments(a0, ea, b0, eb, &s, &u);
  const Vec3 pa = a0 + s * ea, pb = b0 + u * eb;
  if ((pa - pb).norm() > 1e-9 * scale) return std::nullopt;
  Vec3 n = cross(t);
  if (n.dot(c0) < 0) n = -n;
  return Crossing{t, 0.5 * (pa + pb), n.normalized() * (d0 > 0 ? 1.0 : -1.0)};
}

}  // namespace karakuri
