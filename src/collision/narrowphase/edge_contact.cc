// Two edges e0, e1 whose nearest points are p0, p1.
//   n0 = e0 x e1, turned outward of e0's solid;  n1 = -n0                                             (1)
//   q_i: n_i lies between the normals of the faces next to e_i                                       (2)
//   both:       p0 and p1 push each other along n0                                                   (3)
//   q_i false:  n_i would push through e_i's own solid. Of the faces next to e_i the one with the larger dot
//               with n_i pushes instead (between equals, the shallower), on the other edge's nearest point:
//               p_f = p_j - (m . p_j - d) m,  m . x = d being that face                                 (4)
//   both false: s_i: p_i is within sigma of an end of the other edge. Both: the end's normal decides for one
//   of
//               the two contacts (4); one: that one; none: both contacts.                              (5)
// Kuroda, "Real-time interactive simulation of changing contact states with friction and articulated
// structures", Chuo University 2002 (in Japanese), equations 5.4-5.8. There (4) projects the failing edge's
// own point on its own face, which has length zero; the other edge's point is meant.
#include "karakuri/collision/edge_contact.h"

#include <cmath>

#include "collision/narrowphase/round_pairs.h"

namespace karakuri {

namespace {

EdgeContact face_contact(const SolidEdge& failing, const Vec3& n, const Vec3& other) {
  const double dot0 = failing.n0.dot(n), dot1 = failing.n1.dot(n);
  const double h0 = failing.n0.dot(other - failing.a), h1 = failing.n1.dot(other - failing.a);
  const bool first = std::abs(dot0 - dot1) > 1e-9 ? dot0 > dot1 : h0 > h1;  // shallower: less far behind
  const Vec3& m = first ? failing.n0 : failing.n1;
  return {other - (first ? h0 : h1) * m, other, m, false};
}

EdgeContact reversed(const EdgeContact& c) { return {c.on_second, c.on_first, -c.normal, false}; }

}  // namespace

bool within_edge_cone(const SolidEdge& e, const Vec3& n, double slack) {
  const Vec3 d = (e.b - e.a).normalized();
  return n.dot(d.cross(e.n0)) >= -slack && n.dot(-d.cross(e.n1)) >= -slack;
}

int edge_edge_contacts(const SolidEdge& e0, const SolidEdge& e1, double sigma, EdgeContact out[2]) {
  const Vec3 d0 = e0.b - e0.a, d1 = e1.b - e1.a;
  Vec3 n = d0.cross(d1);
  const double length = n.norm();
  if (length <= 1e-3 * d0.norm() * d1.norm()) return 0;  // parallel: ends and faces do the work
  n /= length;
  if (n.dot(e0.n0 + e0.n1) < 0) n = -n;  // (1)
  double s, t;
  collision_detail::nearest_on_segments(e0.a, d0, e1.a, d1, &s, &t);
  if (s <= 0 || s >= 1 || t <= 0 || t >= 1) return 0;  // an end: vertex against face
  const Vec3 p0 = e0.a + s * d0, p1 = e1.a + t * d1;
  const bool q0 = within_edge_cone(e0, n), q1 = within_edge_cone(e1, -n);  // (2)
  if (q0 && q1) {
    out[0] = {p0, p1, n, true};  // (3)
    return 1;
  }
  const EdgeContact by_first = face_contact(e0, n, p1),
                    by_second = reversed(face_contact(e1, -n, p0));  // (4)
  if (q1) return out[0] = by_first, 1;
  if (q0) return out[0] = by_second, 1;
  const bool a1 = (p0 - e1.a).norm() <= sigma, b1 = (p0 - e1.b).norm() <= sigma;  // (5)
  const bool a0 = (p1 - e0.a).norm() <= sigma, b0 = (p1 - e0.b).norm() <= sigma;
  const bool near0 = a1 || b1, near1 = a0 || b0;
  if (near0 && near1) {
    const Vec3 &v1 = a1 ? e1.normal_a : e1.normal_b, &v0 = a0 ? e0.normal_a : e0.normal_b;
    out[0] = n.dot(v1) < (-n).dot(v0) ? by_first : by_second;
    return 1;
  }
  if (near0 || near1) return out[0] = near0 ? by_first : by_second, 1;
  out[0] = by_first, out[1] = by_second;
  return 2;
}

}  // namespace karakuri
