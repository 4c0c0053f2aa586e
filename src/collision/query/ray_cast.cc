// Rays o + t d against shapes, in the shape's frame.
//   box, hull: intersect the intervals of t inside each half-space                                     (1)
//   sphere, ellipsoid, cylinder, cone: quadratic A t^2 + 2 B t + C = 0                                  (2)
//   capsule: its cylinder and two spheres; cylinder, cone: side and discs                              (3)
//   triangle: Moeller and Trumbore, J. Graphics Tools 2(1), 1997                                        (4)
//   heightfield: the cells along the ray (Amanatides and Woo, Eurographics 1987), two triangles each      (5)
#include <cmath>

#include "karakuri/collision/query.h"

namespace karakuri {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Ray {
  Vec3 o, d;
  double limit;
};
struct Hit {
  double t = kInf;
  Vec3 n = Vec3::Zero();
  int face = -1;
  void take(double at, const Vec3& normal, const Ray& r, int f = -1) {
    if (at >= 0 && at <= r.limit && at < t) t = at, n = normal, face = f;
  }
};

// (2): smaller root, or nothing
bool first_root(double A, double B, double C, double* t) {
  const double disc = B * B - A * C;
  if (disc < 0 || A == 0) return false;
  const double root = std::sqrt(disc);
  // the form without cancellation
  *t = B <= 0 ? C / (-B + root) : (-B - root) / A;
  if (B <= 0 && -B + root == 0) return false;
  return true;
}

void hit_sphere(const Ray& r, const Vec3& c, double radius, Hit& h) {
  const Vec3 m = r.o - c;
  double t;
  if (!first_root(r.d.squaredNorm(), m.dot(r.d), m.squaredNorm() - radius * radius, &t)) return;
  h.take(t, (m + t * r.d).normalized(), r);
}

void hit_ellipsoid(const Ray& r, const Vec3& s, Hit& h) {
  const Vec3 o = r.o.cwiseQuotient(s), d = r.d.cwiseQuotient(s);
  double t;
  if (!first_root(d.squaredNorm(), o.dot(d), o.squaredNorm() - 1, &t)) return;
  h.take(t, (o + t * d).cwiseQuotient(s).normalized(), r);
}

void hit_disc(const Ray& r, double z, double radius, double sense, Hit& h) {
  if (r.d.z() == 0) return;
  const double t = (z - r.o.z()) / r.d.z();
  const Vec3 p = r.o + t * r.d;
  if (p.x() * p.x() + p.y() * p.y() <= radius * radius) h.take(t, Vec3(0, 0, sense), r);
}

// x^2 + y^2 = (radius + slope z)^2 for |z| <= half, the smaller root only: rays from inside are answered
// before
void hit_side(const Ray& r, double radius, double slope, double half, Hit& h) {
  const double e = radius + slope * r.o.z(), f = slope * r.d.z();
  const double A = r.d.x() * r.d.x() + r.d.y() * r.d.y() - f * f;
  const double B = r.o.x() * r.d.x() + r.o.y() * r.d.y() - e * f;
  const double C = r.o.x() * r.o.x() + r.o.y() * r.o.y() - e * e;
  const double disc = B * B - A * C;
  if (disc < 0) return;
  const double root = std::sqrt(disc);
  for (const double t : {A != 0 ? (-B - root) / A : -C / (2 * B), A != 0 ? (-B + root) / A : kInf}) {
    if (!std::isfinite(t)) continue;
    const Vec3 p = r.o + t * r.d;
    if (std::abs(p.z()) > half || radius + slope * p.z() < 0) continue;
    const Vec3 n = Vec3(p.x(), p.y(), -slope * (radius + slope * p.z()));
    if (n.squaredNorm() > 0 && n.dot(r.d) < 0) h.take(t, n.normalized(), r);
  }
}

void hit_box(const Ray& r, const Vec3& s, Hit& h) {
  double enter = -kInf, leave = kInf;
  Vec3 n = Vec3::Zero();
  for (int k = 0; k < 3; ++k) {
    if (r.d[k] == 0) {
      if (std::abs(r.o[k]) > s[k]) return;
      continue;
    }
    const double sense = r.d[k] > 0 ? -1 : 1;
    const double t0 = (sense * s[k] - r.o[k]) / r.d[k], t1 = (-sense * s[k] - r.o[k]) / r.d[k];
    if (t0 > enter) enter = t0, n = sense * Vec3::Unit(k);
    leave = std::min(leave, t1);
  }
  if (enter <= leave) h.take(enter, n, r);
}

void hit_hull(const Ray& r, const ConvexHull& hull, Hit& h) {
  double enter = -kInf, leave = kInf;
  Vec3 n = Vec3::Zero();
  for (const HullFace& f : hull.faces) {  // (1)
    const double gap = f.offset - f.normal.dot(r.o), speed = f.normal.dot(r.d);
    if (speed == 0) {
      if (gap < 0) return;
    } else if (speed < 0) {
      if (gap / speed > enter) enter = gap / speed, n = f.normal;
    } else {
      leave = std::min(leave, gap / speed);
    }
  }
  if (enter <= leave) h.take(enter, n, r);
}

void hit_triangle(const Ray& r, const Vec3& a, const Vec3& b, const Vec3& c, bool both, int face, Hit& h) {
  const Vec3 e1 = b - a, e2 = c - a, p = r.d.cross(e2);
  const double det = e1.dot(p);
  if (det == 0 || (!both && det < 0)) return;  // along the face, or from behind
  const Vec3 s = r.o - a, q = s.cross(e1);
  const double u = s.dot(p) / det, v = r.d.dot(q) / det;
  constexpr double kEdge = 1e-12;  // shared edges belong to both, so that no ray slips between
  if (u < -kEdge || v < -kEdge || u + v > 1 + kEdge) return;
  const Vec3 n = e1.cross(e2).normalized();
  h.take(e2.dot(q) / det, n.dot(r.d) < 0 ? n : Vec3(-n), r, face);
}

void hit_mesh(const Ray& r, const Mesh& m, Hit& h) {
  if (m.tree.nodes.empty()) return;
  int stack[128], size = 0;
  stack[size++] = 0;
  const Aabb point{r.o, r.o};
  while (size > 0) {
    const int i = stack[--size];
    const MeshTree::Node& node = m.tree.nodes[i];
    const double limit = std::min(h.t, r.limit);
    if (box_cast(point, r.d, {node.lo, node.hi}, limit) > limit) continue;
    if (!node.leaf()) {
      stack[size++] = node.right, stack[size++] = i + 1;
      continue;
    }
    const Triangle& t = m.faces[node.triangle()];
    hit_triangle(r, m.vertices[t[0]], m.vertices[t[1]], m.vertices[t[2]], m.use == MeshUse::kSurface,
                 node.triangle(), h);
  }
}

void hit_cell(const Ray& r, const Heightfield& f, int i, int j, Hit& h) {
  const Vec3 a = f.vertex(i, j), b = f.vertex(i + 1, j), c = f.vertex(i + 1, j + 1), d = f.vertex(i, j + 1);
  const int k = 2 * (j * f.cell_columns() + i);
  hit_triangle(r, a, b, c, false, k, h);
  hit_triangle(r, a, c, d, false, k + 1, h);
}

void hit_field(const Ray& r, const Heightfield& f, Hit& h) {
  const double enter = box_cast({r.o, r.o}, r.d, f.bounds.grown(1e-9 * (f.dx + f.dy)), r.limit);
  if (!(enter <= r.limit)) return;
  const Vec3 p = r.o + enter * r.d;
  int i = std::clamp(static_cast<int>(std::floor((p.x() - f.x0) / f.dx)), 0, f.cell_columns() - 1);
  int j = std::clamp(static_cast<int>(std::floor((p.y() - f.y0) / f.dy)), 0, f.cell_rows() - 1);
  const int si = r.d.x() > 0 ? 1 : -1, sj = r.d.y() > 0 ? 1 : -1;
  while (i >= 0 && j >= 0 && i < f.cell_columns() && j < f.cell_rows()) {  // (5)
    hit_cell(r, f, i, j, h);
    const double tx = r.d.x() != 0 ? (f.x0 + (i + (si > 0)) * f.dx - r.o.x()) / r.d.x() : kInf;
    const double ty = r.d.y() != 0 ? (f.y0 + (j + (sj > 0)) * f.dy - r.o.y()) / r.d.y() : kInf;
    const double next = std::min(tx, ty);
    if (h.t <= next || next > r.limit) return;
    if (tx <= ty)
      i += si;
    else
      j += sj;
  }
}

bool starts_inside(const Shape& shape, const Vec3& p) {
  const Vec3& s = shape.size();
  const double across2 = p.x() * p.x() + p.y() * p.y();
  switch (shape.kind()) {
    case ShapeKind::kSphere: return p.squaredNorm() <= s.x() * s.x();
    case ShapeKind::kCapsule: {
      const double z = p.z() - std::clamp(p.z(), -s.z(), s.z());
      return across2 + z * z <= s.x() * s.x();
    }
    case ShapeKind::kBox: return (p.cwiseAbs() - s).maxCoeff() <= 0;
    case ShapeKind::kCylinder: return across2 <= s.x() * s.x() && std::abs(p.z()) <= s.z();
    case ShapeKind::kCone: {
      const double radius = s.x() * (s.z() - p.z()) / (2 * s.z());
      return std::abs(p.z()) <= s.z() && across2 <= radius * radius;
    }
    case ShapeKind::kEllipsoid: return p.cwiseQuotient(s).squaredNorm() <= 1;
    case ShapeKind::kHull:
      for (const HullFace& f : shape.as_hull().faces) {
        if (f.normal.dot(p) > f.offset) return false;
      }
      return true;
    case ShapeKind::kPlane: return p.z() <= 0;
    case ShapeKind::kMesh: {
      const Mesh& m = shape.as_mesh();
      return m.use == MeshUse::kSolid && Aabb(m.bounds).squared_distance(p) == 0 && contains(m, p);
    }
    default: return false;
  }
}

void hit_shape(const Shape& shape, const Ray& r, Hit& h) {
  const Vec3& s = shape.size();
  const double hz = s.z();
  switch (shape.kind()) {
    case ShapeKind::kSphere: return hit_sphere(r, Vec3::Zero(), s.x(), h);
    case ShapeKind::kCapsule:  // (3)
      hit_side(r, s.x(), 0, hz, h);
      hit_sphere(r, Vec3(0, 0, hz), s.x(), h);
      return hit_sphere(r, Vec3(0, 0, -hz), s.x(), h);
    case ShapeKind::kBox: return hit_box(r, s, h);
    case ShapeKind::kCylinder:
      hit_side(r, s.x(), 0, hz, h);
      hit_disc(r, hz, s.x(), 1, h);
      return hit_disc(r, -hz, s.x(), -1, h);
    case ShapeKind::kCone:
      hit_side(r, 0.5 * s.x(), -s.x() / (2 * hz), hz, h);
      return hit_disc(r, -hz, s.x(), -1, h);
    case ShapeKind::kEllipsoid: return hit_ellipsoid(r, s, h);
    case ShapeKind::kHull: return hit_hull(r, shape.as_hull(), h);
    case ShapeKind::kPlane:
      if (r.d.z() < 0) h.take(-r.o.z() / r.d.z(), Vec3::UnitZ(), r);
      return;
    case ShapeKind::kHeightfield: return hit_field(r, shape.as_heightfield(), h);
    case ShapeKind::kMesh: return hit_mesh(r, shape.as_mesh(), h);
    case ShapeKind::kCompound: return;
  }
}

}  // namespace

std::optional<RayHit> ray_cast(const Shape& shape, const Transform& X, const Vec3& origin,
                               const Vec3& direction, double limit) {
  if (!origin.allFinite() || !direction.allFinite() || !(direction.squaredNorm() > 0)) return std::nullopt;
  if (shape.kind() == ShapeKind::kCompound) {
    std::optional<RayHit> best;
    const Compound& c = shape.as_compound();
    for (std::size_t i = 0; i < c.parts.size(); ++i) {
      auto hit = ray_cast(c.parts[i].shape, X * c.parts[i].pose, origin, direction, best ? best->t : limit);
      if (!hit || (best && hit->t >= best->t)) continue;
      hit->part = static_cast<int>(i);
      best = hit;
    }
    return best;
  }
  const Ray r{X.inverse_apply(origin), X.R.transpose() * direction, limit};
  if (starts_inside(shape, r.o)) return RayHit{0, origin, -direction.normalized(), -1, -1};
  Hit h;
  hit_shape(shape, r, h);
  if (!(h.t <= limit)) return std::nullopt;
  return RayHit{h.t, origin + h.t * direction, X.R * h.n, -1, h.face};
}

}  // namespace karakuri
