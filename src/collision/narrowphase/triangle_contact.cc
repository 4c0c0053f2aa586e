// Which way may a triangle push? A surface pushes at a point along the directions of its normal cone there:
//   inside a face:   its normal n only                                                                  (1)
//   on an edge that bulges: between the normals n1, n2 of its two faces:
//       m . t1 >= 0 and m . t2 >= 0,  t_i = outward of face i across the edge, in its plane (2)
//   at a vertex:     m . (u - v) <= 0 for every neighbour u of v                                         (3)
//   on a flat edge or in a valley: the faces' normals only                                              (4)
// A direction of least separation m that a lone triangle would give but the cone does not allow is an
// artefact of the cut between triangles: it is what makes bodies stumble over seams. It is replaced by the
// face's normal, and the contact kept only where the shape is really above (or below) the face itself.
#include "collision/narrowphase/triangle_contact.h"

#include <algorithm>
#include <cmath>

#include "collision/mesh/triangle.h"
#include "collision/narrowphase/clusters.h"
#include "collision/narrowphase/convex_patch.h"

namespace karakuri::collision_detail {

namespace {

constexpr double kFlatBend = 1e-3;   // [rad] less than this is a seam, not an edge
constexpr double kConeSlack = 1e-3;  // [rad]

Vec3 outward(const SurfaceTriangle& t, int side) {
  return (t.v[(side + 1) % 3] - t.v[side]).normalized().cross(t.normal);
}

bool edge_allows(const SurfaceTriangle& t, int side, const Vec3& m) {
  const Vec3 t1 = outward(t, side);
  if (m.dot(t1) < -kConeSlack) return false;
  if (t.open[side]) return true;
  if (t.bend[side] <= kFlatBend) return false;  // (4)
  const Vec3 t2 = -(t.v[(side + 1) % 3] - t.v[side]).normalized().cross(t.across[side]);
  return m.dot(t2) >= -kConeSlack;  // (2)
}

bool vertex_allows(const SurfaceTriangle& t, int k, const Vec3& m, const void* surface,
                   NeighborsOf neighbors) {
  Vec3 to[32];
  const int n = neighbors(surface, t, k, to, 32);
  for (int i = 0; i < n; ++i) {
    if (m.dot(to[i]) > kConeSlack * to[i].norm()) return false;  // (3)
  }
  return true;
}

// What of the triangle lies furthest into m: numbered as in TrianglePoint. Where the shapes touch is no
// guide: along an edge rounding puts the point inside the face.
int leading_feature(const SurfaceTriangle& t, const Vec3& m) {
  const double x[3] = {m.dot(t.v[0]), m.dot(t.v[1]), m.dot(t.v[2])};
  const double most = std::max({x[0], x[1], x[2]});
  int lead[3], n = 0;
  for (int k = 0; k < 3; ++k) {
    const double size = std::max((t.v[k] - t.v[(k + 1) % 3]).norm(), (t.v[k] - t.v[(k + 2) % 3]).norm());
    if (x[k] >= most - 1e-6 * size) lead[n++] = k;
  }
  if (n == 3) return -1;
  if (n == 1) return 3 + lead[0];
  return lead[0] == 0 && lead[1] == 2 ? 2 : lead[0];
}

bool allows(const SurfaceTriangle& t, const Vec3& m, const void* surface, NeighborsOf neighbors) {
  if (m.dot(t.normal) > 1 - 0.5 * kConeSlack * kConeSlack) return true;  // (1)
  const int region = leading_feature(t, m);
  if (region < 0) return false;
  return region < 3 ? edge_allows(t, region, m) : vertex_allows(t, region - 3, m, surface, neighbors);
}

void name(const SurfaceTriangle& t, std::uint32_t* f) {
  const std::uint32_t index = *f & feature::kIndexMask;
  switch (*f & ~feature::kIndexMask) {
    case feature::kFace: *f = feature::kFace | t.face; break;
    case feature::kEdge: *f = feature::kEdge | t.edge[index]; break;
    case feature::kVertex: *f = feature::kVertex | t.vertex[index]; break;
    default: *f = feature::kFace | t.face;
  }
}

// The same triangle seen from its back: what bulged is a valley.
SurfaceTriangle turned(const SurfaceTriangle& t) {
  SurfaceTriangle r = t;
  static constexpr int kCorner[3] = {0, 2, 1}, kSide[3] = {2, 1, 0};
  r.normal = -t.normal;
  for (int k = 0; k < 3; ++k) {
    r.v[k] = t.v[kCorner[k]], r.vertex[k] = t.vertex[kCorner[k]];
    r.across[k] = -t.across[kSide[k]], r.bend[k] = -t.bend[kSide[k]];
    r.open[k] = t.open[kSide[k]], r.edge[k] = t.edge[kSide[k]];
  }
  return r;
}

std::uint32_t region_feature(int region) {
  if (region < 0) return feature::kFace;
  return region < 3 ? feature::kEdge | static_cast<std::uint32_t>(region)
                    : feature::kVertex | static_cast<std::uint32_t>(region - 3);
}

void set_polygon(const SurfaceTriangle& t, const Vec3& normal, FacePolygon& out) {
  const bool back = normal.dot(t.normal) < 0;
  for (std::uint32_t k = 0; k < 3; ++k) {
    const std::uint32_t i = back ? 2 - k : k;
    out.v[k] = t.v[i];
    out.vertex[k] = feature::kVertex | i;
    out.edge[k] = feature::kEdge | (back ? (i + 2) % 3 : i);
  }
  out.count = 3, out.round = false;
  out.face = feature::kFace;
  out.normal = normal;
}

// How far the shape reaches along d from the triangle's plane.
double reach(const SurfaceTriangle& t, const ConvexView& convex, const Transform& X, const Vec3& d) {
  return d.dot(X * support(convex, X.R.transpose() * d).p - t.v[0]) + convex.radius;
}

// Contacts along the face's normal, within the face.
void face_contacts(const SurfaceTriangle& t, const Vec3& normal, const ConvexView& convex, const Transform& X,
                   double margin, Patch& patch) {
  FacePolygon a, b;
  set_polygon(t, normal, a);
  support_face(convex, X, -normal, b);
  patch.count = 0;
  clip_faces(a, b, normal, 0, convex.radius, margin, patch);
}

}  // namespace

bool meets_plane_of(const SurfaceTriangle& t, const ConvexView& convex, const Transform& X, double margin) {
  return -reach(t, convex, X, -t.normal) <= margin && reach(t, convex, X, t.normal) >= 0;
}

bool SurfaceTriangle::flat() const {
  for (int k = 0; k < 3; ++k) {
    if (open[k] || bend[k] > kFlatBend) return false;
  }
  return true;
}

Slabs::Slabs(const ConvexView& c, const Transform& X, double margin) {
  for (int k = 0; k < 3; ++k) {
    n_[k] = X.R.col(k);
    const double at = n_[k].dot(X.p);
    hi_[k] = at + support(c, Vec3::Unit(k)).p[k] + c.radius + margin;
    lo_[k] = at + support(c, -Vec3::Unit(k)).p[k] - c.radius - margin;
  }
}

bool Slabs::keeps_box(const Vec3& low, const Vec3& high) const {
  const Vec3 c = 0.5 * (low + high), h = 0.5 * (high - low);
  for (int k = 0; k < 3; ++k) {
    const double at = n_[k].dot(c), reach = n_[k].cwiseAbs().dot(h);
    if (at - reach > hi_[k] || at + reach < lo_[k]) return false;
  }
  return true;
}

bool Slabs::keeps_triangle(const Vec3& a, const Vec3& b, const Vec3& c) const {
  for (int k = 0; k < 3; ++k) {
    const double x = n_[k].dot(a), y = n_[k].dot(b), z = n_[k].dot(c);
    if (std::min({x, y, z}) > hi_[k] || std::max({x, y, z}) < lo_[k]) return false;
  }
  return true;
}

void triangle_contacts(const SurfaceTriangle& given, const ConvexView& convex, const Transform& X,
                       const Slabs& slabs, double margin, const void* surface, NeighborsOf neighbors,
                       CollisionWorkspace::Impl& ws) {
  constexpr double kOfPlane = 100, kOfFace = 300, kOfIteration = 150;  // multiplications, about
  ws.allowance.used += kOfPlane;
  if (given.normal.squaredNorm() == 0) return;  // no area, no normal
  const bool behind = given.two_sided && given.normal.dot(X * convex.center - given.v[0]) < 0;
  const SurfaceTriangle t = behind ? turned(given) : given;
  const Vec3& n = t.normal;
  const double below = -reach(t, convex, X, -n);  // separation along the face's normal
  if (below > margin || reach(t, convex, X, n) < 0) return;
  Patch patch;
  const bool shallow = below > -0.2 * convex.extent;
  if (!(t.flat() && shallow)) {
    if (!slabs.keeps_triangle(t.v[0], t.v[1], t.v[2])) return;
    const TriangleCore core(t.v[0], t.v[1], t.v[2]);
    const ConvexView view = core.view();
    const ConvexPair pair{&view, &convex, X};
    const ConvexDistance d = distance_of(pair, ws.epa, margin);
    ws.allowance.used += kOfIteration * (1 + d.iterations);
    if (!(d.separation <= margin)) return;
    const bool own = allows(t, d.normal, surface, neighbors);
    if (own && d.normal.dot(n) <= 1 - 1e-6) {
      patch_at(pair, d, margin, patch);
      for (int i = 0; i < patch.count; ++i) {
        std::uint32_t& f = patch.points[i].feature_a;
        // a round shape touches an edge or a corner, which the neighbours report too, by the same name
        if (f == feature::kRound)
          f = region_feature(nearest_on_triangle(d.on_a, t.v[0], t.v[1], t.v[2]).region);
        name(t, &f);
      }
      return add_to_clusters(patch, ws);
    }
  }
  ws.allowance.used += kOfFace;
  face_contacts(t, n, convex, X, margin, patch);
  for (int i = 0; i < patch.count; ++i) name(t, &patch.points[i].feature_a);
  add_to_clusters(patch, ws);
}

}  // namespace karakuri::collision_detail
