#include "collision/narrowphase/support_face.h"

#include <cmath>
#include <numbers>

namespace karakuri::collision_detail {

namespace {

constexpr int kRimPoints = 16;  // the inscribed polygon misses 2 % of the radius between two corners
// A disc tilted by less than this keeps its corners where they are in the body [rad]: the deepest corner then
// is at most 2e-5 radii short of the deepest rim point, and the corners do not run round with every
// trembling.
constexpr double kFlat = 1e-3;

void set_box(const ConvexView& c, const Transform& X, const Vec3& d, FacePolygon& out) {
  int axis;
  d.cwiseAbs().maxCoeff(&axis);
  const int positive = d[axis] >= 0, u = (axis + 1) % 3, v = (axis + 2) % 3;
  const Vec3 e0 = X.R.col(axis) * c.size[axis], e1 = X.R.col(u) * c.size[u], e2 = X.R.col(v) * c.size[v];
  const double sense = positive ? 1 : -1;
  out.normal = sense * X.R.col(axis);
  // u x v = axis, so (+,+), (-,+), (-,-), (+,-) runs counter-clockwise about +axis, and backwards about -axis
  const Vec3 center = X.p + sense * e0, plus = e1 + e2, minus = e1 - e2;
  const int first = positive ? 0 : 3, step = positive ? 1 : -1;
  const Vec3* offset[4] = {&plus, &minus, &plus, &minus};
  const double sign[4] = {1, -1, -1, 1};
  const int s1[4] = {1, 0, 0, 1}, s2[4] = {1, 1, 0, 0};
  int corner[4];
  for (int k = 0; k < 4; ++k) {
    const int i = first + k * step;
    out.v[k] = center + sign[i] * *offset[i];
    corner[k] = positive << axis | s1[i] << u | s2[i] << v;
    out.vertex[k] = feature::kVertex | static_cast<std::uint32_t>(corner[k]);
  }
  for (int k = 0; k < 4; ++k) out.edge[k] = box_edge(corner[k], corner[(k + 1) & 3]);
  out.count = 4;
  out.rectangle = true;  // (+,+) -> (-,+) runs along u; turned round, (+,-) -> (-,-) does
  out.side[0] = 2 * c.size[u], out.side[1] = 2 * c.size[v];
  out.face = feature::kFace | static_cast<std::uint32_t>(axis * 2 + positive);
}

void set_disc(double radius, double z, const Transform& X, const Vec3& d, FacePolygon& out) {
  const double tilt = std::hypot(d.x(), d.y());
  const Vec3 toward = tilt > kFlat ? Vec3(d.x() / tilt, d.y() / tilt, 0) : Vec3::UnitX();
  const double sense = z >= 0 ? 1 : -1;
  const double step = 2 * std::numbers::pi / kRimPoints;
  for (int k = 0; k < kRimPoints; ++k) {
    const double cs = radius * std::cos(step * k), sn = radius * sense * std::sin(step * k);
    out.v[k] = X * Vec3(cs * toward.x() - sn * toward.y(), cs * toward.y() + sn * toward.x(), z);
    out.vertex[k] = feature::kVertex | static_cast<std::uint32_t>(64 + (z >= 0 ? 32 : 0) + k);
    out.edge[k] = feature::kEdge | static_cast<std::uint32_t>(64 + (z >= 0 ? 32 : 0) + k);
  }
  out.count = kRimPoints;
  out.round = true;
  out.normal = X.R.col(2) * sense;
  out.face = feature::kFace | (z >= 0 ? 1u : 0u);
}

void set_segment(const Vec3& a, const Vec3& b, const Transform& X, FacePolygon& out) {
  out.v[0] = X * a, out.v[1] = X * b;
  out.vertex[0] = feature::kVertex | 0, out.vertex[1] = feature::kVertex | 1;
  out.edge[0] = out.edge[1] = out.face = feature::kEdge | 0;
  out.count = 2;
}

void set_round_solid(const ConvexView& c, const Transform& X, const Vec3& d, FacePolygon& out) {
  const double r = c.size.x(), h = c.size.z(), across = std::hypot(d.x(), d.y());
  const Vec3 rim = across > 0 ? Vec3(r * d.x() / across, r * d.y() / across, 0) : Vec3(r, 0, 0);
  if (c.core == CoreKind::kCylinder) {
    if (std::abs(d.z()) > across) return set_disc(r, d.z() >= 0 ? h : -h, X, d, out);
    return set_segment(rim - Vec3(0, 0, h), rim + Vec3(0, 0, h), X, out);
  }
  if (-d.z() > across) return set_disc(r, -h, X, d, out);
  set_segment(rim - Vec3(0, 0, h), Vec3(0, 0, h), X, out);
}

void set_hull(const ConvexView& c, const Transform& X, const Vec3& d, FacePolygon& out) {
  const ConvexHull& h = *c.hull;
  // the best face lies at the support vertex
  const int start = h.vertex_half_edge[support_points(c, d).index];
  int e = start, best = h.face_of[start];
  double best_dot = -2;
  do {
    const int f = h.face_of[e];
    const double dot = h.faces[f].normal.dot(d);
    if (dot > best_dot) best_dot = dot, best = f;
    e = h.next(h.twin[e]);
  } while (e != start);
  const HullFace& face = h.faces[best];
  // very round faces are thinned out: 32 corners of them are plenty
  const int stride = (face.count + FacePolygon::kMax - 1) / FacePolygon::kMax;
  out.count = 0;
  for (int k = 0; k < face.count; k += stride) {
    const int half = face.first + k;
    out.v[out.count] = X * h.vertex(h.origin[half]);
    out.vertex[out.count] = feature::kVertex | static_cast<std::uint32_t>(h.origin[half]);
    out.edge[out.count] = feature::kEdge | static_cast<std::uint32_t>(std::min(half, h.twin[half]));
    ++out.count;
  }
  out.normal = X.R * face.normal;
  out.face = feature::kFace | static_cast<std::uint32_t>(best);
}

void set_triangle(const ConvexView& c, const Transform& X, const Vec3& d, FacePolygon& out) {
  const Vec3 p[3] = {{c.x[0], c.y[0], c.z[0]}, {c.x[1], c.y[1], c.z[1]}, {c.x[2], c.y[2], c.z[2]}};
  Vec3 n = (p[1] - p[0]).cross(p[2] - p[0]).normalized();
  const bool back = n.dot(d) < 0;
  for (std::uint32_t k = 0; k < 3; ++k) {
    const std::uint32_t i = back ? 2 - k : k;
    out.v[k] = X * p[i];
    out.vertex[k] = feature::kVertex | i;
    out.edge[k] = feature::kEdge | (back ? (i + 2) % 3 : i);
  }
  out.count = 3;
  out.normal = X.R * (back ? Vec3(-n) : n);
  out.face = feature::kFace | (back ? 1u : 0u);
}

}  // namespace

void support_face(const ConvexView& c, const Transform& X, const Vec3& d_F, FacePolygon& out) {
  const Vec3 d = X.R.transpose() * d_F;
  out.round = out.rectangle = false;
  out.normal.setZero();
  switch (c.core) {
    case CoreKind::kBox: return set_box(c, X, d, out);
    case CoreKind::kPoints: return c.hull ? set_hull(c, X, d, out) : set_triangle(c, X, d, out);
    case CoreKind::kSegment: return set_segment(Vec3(0, 0, -c.size.z()), Vec3(0, 0, c.size.z()), X, out);
    case CoreKind::kCylinder:
    case CoreKind::kCone: return set_round_solid(c, X, d, out);
    default:
      out.v[0] = X * support(c, d).p;
      out.vertex[0] = out.edge[0] = out.face = feature::kRound;
      out.count = 1;
  }
}

}  // namespace karakuri::collision_detail
