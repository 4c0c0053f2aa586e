// Two meshes: every vertex against the other's surface, every bulging edge against the other's.
//
// The trees are walked together: both inner -> the children of the larger, leaf against inner -> the
// children, after a filter (Kuroda 2002, section 7.3): the leaf's triangle lies within slabs d_min <= n.x <=
// d_max along k directions n, and a box with corners P' (least along n) and Q' (most along n) is kept iff
//   n . P' <= d_max  and  n . Q' >= d_min   for all k                                                  (1)
// Here k = 4: the triangle's normal and the in-plane normals of its sides.
// A vertex inside the other solid leaves it through its nearest face, if it is the tip of its own solid that
// way:
//   -n . (u - v) <= slack |u - v|  for every neighbour u of vertex v, n out of the other solid (5)
// otherwise it is a point of a face, or of a straight edge, that has come near a side of the other solid, and
// would push it sideways off the seam that the vertex stands on. Two bulging edges follow the rules of
// edge_contact.h (Kuroda 2002, section 5.4.2):
//   both cones allow the perpendicular n between the edges: their nearest points push along n             (2)
//   one or none does: a face pushes on the other's edge instead                                          (3)
// The thesis takes the face next to the failing edge and the other edge's nearest point, and so may push with
// a face that the point has long left, or from outside. Here the point is the middle of the part of the edge
// that is inside the solid, between two crossings of its surface, and the face is the nearest one: the same
// face when the edges have just met, and a true depth always. An edge that already pushes by (2) or has an
// end inside needs none. A contact of (2) that overlaps counts only if no surface is much nearer than it says
// (4) which rejects pairs of edges that overlap sideways while the solids overlap a little from above. Much:
// five times, since the faces beside an edge are nearer than the edge itself.
#include "collision/narrowphase/mesh_mesh.h"

#include <algorithm>
#include <cmath>

#include "collision/narrowphase/clusters.h"
#include "collision/narrowphase/surface_pairs.h"
#include "karakuri/collision/edge_contact.h"

namespace karakuri::collision_detail {

namespace {

struct Slabs {
  Vec3 n[4];
  double lo[4], hi[4];

  Slabs(const Vec3 v[3], double reach) {
    const Vec3 normal = (v[1] - v[0]).cross(v[2] - v[0]);
    n[0] = normal;
    for (int k = 0; k < 3; ++k) n[k + 1] = (v[(k + 1) % 3] - v[k]).cross(normal);
    for (int k = 0; k < 4; ++k) {
      const double x[3] = {n[k].dot(v[0]), n[k].dot(v[1]), n[k].dot(v[2])}, grow = reach * n[k].norm();
      lo[k] = std::min({x[0], x[1], x[2]}) - grow;
      hi[k] = std::max({x[0], x[1], x[2]}) + grow;
    }
  }
  bool keeps(const Aabb& box) const {
    const Vec3 c = box.center(), h = box.half();
    for (int k = 0; k < 4; ++k) {
      const double at = n[k].dot(c), r = n[k].cwiseAbs().dot(h);
      if (at - r > hi[k] || at + r < lo[k]) return false;  // (1)
    }
    return true;
  }
};

Aabb box_of(const MeshTree::Node& n) { return {n.lo, n.hi}; }

bool leaf_meets(const Mesh& m, int triangle, const Transform& X, double reach, const Aabb& inner) {
  Vec3 v[3];
  for (int k = 0; k < 3; ++k) v[k] = X * m.vertices[m.faces[triangle][k]];
  return Slabs(v, reach).keeps(inner);
}

}  // namespace

void near_triangles(const Mesh& a, const Mesh& b, const Transform& X_AB, double reach,
                    std::vector<std::pair<int, int>>& stack, std::vector<std::pair<int, int>>& found) {
  found.clear(), stack.clear();
  if (a.tree.nodes.empty() || b.tree.nodes.empty()) return;
  const Transform X_BA = X_AB.inverse();
  stack.push_back({0, 0});
  while (!stack.empty()) {
    const auto [i, j] = stack.back();
    stack.pop_back();
    const MeshTree::Node &na = a.tree.nodes[i], &nb = b.tree.nodes[j];
    if (!box_of(na).grown(reach).overlaps(box_of(nb).transformed(X_AB))) continue;
    if (na.leaf() && nb.leaf()) {
      found.push_back({na.triangle(), nb.triangle()});
      continue;
    }
    if (na.leaf() && !leaf_meets(a, na.triangle(), X_BA, reach, box_of(nb))) continue;
    if (nb.leaf() && !leaf_meets(b, nb.triangle(), X_AB, reach, box_of(na))) continue;
    const bool split_a = nb.leaf() || (!na.leaf() && (na.hi - na.lo).sum() >= (nb.hi - nb.lo).sum());
    if (split_a) {
      stack.push_back({na.right, j}), stack.push_back({i + 1, j});
    } else {
      stack.push_back({i, nb.right}), stack.push_back({i, j + 1});
    }
  }
}

namespace {

std::uint32_t feature_of(const Mesh& m, const MeshPoint& at) {
  if (at.vertex >= 0) return feature::kVertex | static_cast<std::uint32_t>(at.vertex);
  // a seam is part of its face
  if (at.edge >= 0 && std::abs(m.edges[at.edge].bend) > 1e-3) {
    return feature::kEdge | static_cast<std::uint32_t>(at.edge);
  }
  return feature::kFace | static_cast<std::uint32_t>(at.face);
}

// One solid `s` and a mesh `m` that reaches into it; X: pose of m in the frame of s. Normals point out of s,
// or into it when flipped.
struct Side {
  const Mesh &s, &m;
  const Transform &X, &X_AS;
  bool flip;
};

// (5) [rad]. A corner may lean: the corners of a face that is not quite flush are all wanted. A vertex within
// a face or a straight edge may not: its only normals are those of the surface around it.
constexpr double kLean = 0.2, kFlush = 1e-3;
// Of a mesh's size: nearer to its surface, the direction to it has lost all but seven of its digits.
constexpr double kOnSurface = 1e-9;

// d lies within the cone of vertex v.
bool is_tip(const Mesh& m, int v, const Vec3& d) {
  bool corner = true;
  double most = -1;  // of the cosines between d and the edges
  for (int i = m.vertex_edge_first[v]; i < m.vertex_edge_first[v + 1]; ++i) {
    const MeshEdge& e = m.edges[m.vertex_edges[i]];
    const Vec3 along = (m.vertices[e.v[0] == v ? e.v[1] : e.v[0]] - m.vertices[v]).normalized();
    corner = corner && m.vertex_normals[v].dot(along) < -0.05;
    most = std::max(most, d.dot(along));
  }
  return most <= (corner ? kLean : kFlush);
}

// The same for an edge.
bool is_ridge(const SolidEdge& e, const Vec3& d) {
  return std::abs(d.dot((e.b - e.a).normalized())) <= kLean && within_edge_cone(e, d, kLean);
}

// A point of m (frame of s) against the surface of s, if m allows to be pushed there: may_push(-n in the
// frame of m).
template <class MayPush>
void point_contact(const Side& k, const Vec3& p, std::uint32_t on_m, double margin, MayPush&& may_push,
                   CollisionWorkspace::Impl& ws) {
  const MeshPoint at = nearest_point(k.s, p);
  const double separation = at.inside ? -at.distance : at.distance;
  if (at.face < 0 || separation > margin) return;
  const Vec3 away = at.inside ? Vec3(at.point - p) : Vec3(p - at.point);
  // on the surface itself, as far as rounding can tell, the direction is the face's
  const double rounding = kOnSurface * k.s.bounds.half().maxCoeff();
  const Vec3 n = at.distance > rounding ? Vec3(away / at.distance) : k.s.face_normals[at.face];
  if (!may_push(Vec3(-(k.X.R.transpose() * n)))) return;
  const Vec3 middle = k.X_AS * Vec3(0.5 * (p + at.point)), n_A = k.X_AS.R * n;
  const std::uint32_t on_s = feature_of(k.s, at);
  add_to_clusters(k.flip ? Vec3(-n_A) : n_A, {middle, separation, k.flip ? on_m : on_s, k.flip ? on_s : on_m},
                  ws);
}

void vertex_contacts(const Side& k, double margin, std::vector<char>& seen, CollisionWorkspace::Impl& ws) {
  seen.assign(k.m.vertices.size(), 0);
  const Aabb near = k.s.bounds.grown(margin);
  visit_triangles(k.m.tree, near.transformed(k.X.inverse()), ws.stack, [&](int f) {
    for (int v : k.m.faces[f]) {
      if (seen[v]) continue;
      seen[v] = 1;
      const Vec3 p = k.X * k.m.vertices[v];
      if (near.squared_distance(p) > 0) continue;
      const auto may_push = [&](const Vec3& d) {
        return k.m.vertex_normals[v].dot(d) >= 0 && is_tip(k.m, v, d);  // not the back of m; (5)
      };
      point_contact(k, p, feature::kVertex | static_cast<std::uint32_t>(v), margin, may_push, ws);
    }
  });
}

SolidEdge solid_edge(const Mesh& m, int e, const Transform& X) {
  const MeshEdge& edge = m.edges[e];
  return {X * m.vertices[edge.v[0]],         X * m.vertices[edge.v[1]],
          X.R * m.face_normals[edge.f[0]],   X.R * m.face_normals[edge.f[1]],
          X.R * m.vertex_normals[edge.v[0]], X.R * m.vertex_normals[edge.v[1]]};
}

bool bulges(const Mesh& m, int e) { return m.edges[e].f[1] >= 0 && m.edges[e].bend > 1e-3; }

// (4), in A's frame
bool is_least(const Mesh& a, const Mesh& b, const Transform& X_AB, const EdgeContact& c, double tolerance) {
  const double depth = -c.separation();
  if (depth <= tolerance) return true;
  const MeshPoint in_a = nearest_point(a, c.on_second);
  if (in_a.inside && in_a.distance < 0.2 * depth) return false;
  const MeshPoint in_b = nearest_point(b, X_AB.inverse_apply(c.on_first));
  return !(in_b.inside && in_b.distance < 0.2 * depth);
}

void edge_contacts(const Mesh& a, const Mesh& b, const Transform& X_AB, double margin, double reach,
                   double tolerance, CollisionWorkspace::Impl& ws) {
  near_triangles(a, b, X_AB, reach, ws.pair_stack, ws.found);
  ws.pushes_a.assign(a.edges.size(), 0), ws.pushes_b.assign(b.edges.size(), 0);
  for (const auto& [fa, fb] : ws.found) {
    for (int ea : a.face_edges[fa]) {
      if (a.edges[ea].f[0] != fa || !bulges(a, ea)) continue;  // each edge once, with its first face
      const SolidEdge first = solid_edge(a, ea, Transform::identity());
      for (int eb : b.face_edges[fb]) {
        if (b.edges[eb].f[0] != fb || !bulges(b, eb)) continue;
        EdgeContact c[2];
        const int n = edge_edge_contacts(first, solid_edge(b, eb, X_AB), tolerance, c);
        for (int k = 0; k < n; ++k) {
          const double s = c[k].separation();
          if (!c[k].by_edges || s > margin || s < -reach || !is_least(a, b, X_AB, c[k], tolerance)) continue;
          if ((c[k].on_first - c[k].on_second).norm() > reach) continue;
          ws.pushes_a[ea] = ws.pushes_b[eb] = 1;
          add_to_clusters(
              c[k].normal,
              {0.5 * (c[k].on_first + c[k].on_second), s, feature::kEdge | static_cast<std::uint32_t>(ea),
               feature::kEdge | static_cast<std::uint32_t>(eb)},
              ws);
        }
      }
    }
  }
}

// Where the segment p, q goes through a triangle: its parameter, or -1.
double crossing(const Vec3& p, const Vec3& q, const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 n = (b - a).cross(c - a);
  const double h0 = n.dot(p - a), h1 = n.dot(q - a);
  if ((h0 > 0) == (h1 > 0) || h0 == h1) return -1;
  const double t = h0 / (h0 - h1);
  const Vec3 x = p + t * (q - p);
  const bool inside = (b - a).cross(x - a).dot(n) >= 0 && (c - b).cross(x - b).dot(n) >= 0 &&
                      (a - c).cross(x - c).dot(n) >= 0;
  return inside ? t : -1;
}

// (3): edges of m that dip into s. `all`: also those that do not bulge.
void dipping_edges(const Side& k, bool all, const std::vector<char>& pushes, CollisionWorkspace::Impl& ws) {
  ws.crossings.clear();
  for (const auto& [fa, fb] : ws.found) {
    const Triangle& t = k.s.faces[k.flip ? fb : fa];
    const int f = k.flip ? fa : fb;
    for (int e : k.m.face_edges[f]) {
      if (k.m.edges[e].f[0] != f || pushes[e] || !(all || bulges(k.m, e))) continue;
      const double u = crossing(k.X * k.m.vertices[k.m.edges[e].v[0]], k.X * k.m.vertices[k.m.edges[e].v[1]],
                                k.s.vertices[t[0]], k.s.vertices[t[1]], k.s.vertices[t[2]]);
      if (u >= 0) ws.crossings.push_back({e, u});
    }
  }
  std::sort(ws.crossings.begin(), ws.crossings.end());
  for (std::size_t i = 0; i + 1 < ws.crossings.size(); ++i) {
    const auto [e, t0] = ws.crossings[i];
    const auto [next, t1] = ws.crossings[i + 1];
    if (e != next || t1 - t0 < 1e-9) continue;
    const MeshEdge& edge = k.m.edges[e];
    const Vec3 p = k.m.vertices[edge.v[0]], q = k.m.vertices[edge.v[1]];
    const auto at = [&](double u) { return Vec3(k.X * Vec3(p + (t0 + u * (t1 - t0)) * (q - p))); };
    if (!contains(k.s, at(0.5))) continue;
    const Vec3 normal = (k.m.face_normals[edge.f[0]] + k.m.face_normals[edge.f[edge.f[1] >= 0]]).normalized();
    // Half way between two parallel faces both are nearest. Beside it they are not; the one that faces the
    // edge more is meant.
    const Vec3 before = at(0.49), after = at(0.51);
    const auto facing = [&](const Vec3& x) {
      return (k.X.R * normal).dot(k.s.face_normals[nearest_point(k.s, x).face]);
    };
    const auto may_push = [&](const Vec3& d) {
      return all || (normal.dot(d) >= 0 && is_ridge(solid_edge(k.m, e, Transform::identity()), d));
    };
    point_contact(k, facing(before) <= facing(after) ? before : after,
                  feature::kEdge | static_cast<std::uint32_t>(e), 0, may_push, ws);
  }
}

// No surface is near the other, but one solid may be inside the other: push it out through the face next to
// its centre. X: pose of m in the frame of s.
void add_if_swallowed(const Side& k, CollisionWorkspace::Impl& ws) {
  const auto& [s, m, X, X_AS, flip] = k;
  if (s.use != MeshUse::kSolid || !contains(s, X * m.vertices[0])) return;
  const MeshPoint at = nearest_point(s, X * m.bounds.center());
  const Vec3 n = s.face_normals[at.face];
  int deepest = 0;
  double least = 1e300;
  for (int v = 0; v < static_cast<int>(m.vertices.size()); ++v) {
    const double h = n.dot(X * m.vertices[v] - at.point);
    if (h < least) least = h, deepest = v;
  }
  if (least >= 0) return;
  const Vec3 middle = X_AS * Vec3(X * m.vertices[deepest] - 0.5 * least * n), n_A = X_AS.R * n;
  const std::uint32_t on_s = feature::kFace | static_cast<std::uint32_t>(at.face),
                      on_m = feature::kVertex | static_cast<std::uint32_t>(deepest);
  add_to_clusters(flip ? Vec3(-n_A) : n_A, {middle, least, flip ? on_m : on_s, flip ? on_s : on_m}, ws);
}

}  // namespace

void collide_mesh_mesh(const Mesh& a, const Transform& X_WA, const Mesh& b, const Transform& X_WB,
                       double margin, CollisionWorkspace::Impl& ws, std::vector<Manifold>& out) {
  const Transform X_AB = X_WA.inverse() * X_WB, X_BA = X_AB.inverse();
  if (!a.bounds.grown(margin).overlaps(b.bounds.transformed(X_AB))) return;
  clear_clusters(ws);
  const double size = std::min(a.bounds.half().minCoeff(), b.bounds.half().minCoeff());
  const Transform identity;
  const Side b_in_a{a, b, X_AB, identity, false}, a_in_b{b, a, X_BA, X_AB, true};
  vertex_contacts(b_in_a, margin, ws.seen_b, ws);
  vertex_contacts(a_in_b, margin, ws.seen_a, ws);
  edge_contacts(a, b, X_AB, margin, std::max(margin, 0.05 * size), 1e-3 * size, ws);
  const bool solid_a = a.use == MeshUse::kSolid, solid_b = b.use == MeshUse::kSolid;
  if (solid_a) dipping_edges(b_in_a, false, ws.pushes_b, ws);
  if (solid_b) dipping_edges(a_in_b, false, ws.pushes_a, ws);
  // solids that have gone through each other: whatever edge is inside
  const bool none = ws.cluster_count == 0;
  if (none && solid_a) dipping_edges(b_in_a, true, ws.pushes_b, ws);
  if (none && solid_b) dipping_edges(a_in_b, true, ws.pushes_a, ws);
  if (ws.cluster_count == 0) add_if_swallowed(b_in_a, ws);
  if (ws.cluster_count == 0) add_if_swallowed(a_in_b, ws);
  emit_clusters(ws, size, X_WA, false, out);
}

void collide_heightfield_mesh(const Heightfield& field, const Transform& X_WF, const Mesh& mesh,
                              const Transform& X_WM, double margin, CollisionWorkspace::Impl& ws,
                              std::vector<Manifold>& out) {
  const Transform X = X_WF.inverse() * X_WM;
  if (!field.bounds.grown(margin).overlaps(mesh.bounds.transformed(X)) &&
      !(mesh.bounds.transformed(X).hi.z() < field.bounds.lo.z())) {
    return;
  }
  clear_clusters(ws);
  PatchPoint lowest{Vec3::Zero(), 0, 0, 0};
  Vec3 lowest_normal = Vec3::UnitZ();
  for (int v = 0; v < static_cast<int>(mesh.vertices.size()); ++v) {  // the mesh's vertices over the terrain
    const Vec3 p = X * mesh.vertices[v];
    int i0, i1, j0, j1;
    if (!cells_under(field, {p, p}, &i0, &i1, &j0, &j1)) {
      if (p.z() > field.bounds.hi.z() + margin ||
          !cells_under(field, {Vec3(p.x(), p.y(), field.bounds.lo.z()), p}, &i0, &i1, &j0, &j1))
        continue;
    }
    const double u = (p.x() - field.x0) / field.dx - i0, w = (p.y() - field.y0) / field.dy - j0;
    const bool upper = w > u;
    const Vec3 a = field.vertex(i0, j0), c = field.vertex(i0 + 1, j0 + 1);
    const Vec3 o = upper ? field.vertex(i0, j0 + 1) : field.vertex(i0 + 1, j0);
    const Vec3 n = (upper ? (c - a).cross(o - a) : (o - a).cross(c - a)).normalized();
    const double separation = n.dot(p - a);
    if (separation > margin) continue;
    const auto face = static_cast<std::uint32_t>(2 * (j0 * field.cell_columns() + i0) + upper);
    const PatchPoint point{p - 0.5 * separation * n, separation, feature::kFace | face,
                           feature::kVertex | static_cast<std::uint32_t>(v)};
    if (separation < lowest.separation) lowest = point, lowest_normal = n;
    if ((X.R * mesh.vertex_normals[v]).dot(n) <= 0) add_to_clusters(n, point, ws);
  }
  const Aabb box = mesh.bounds.transformed(X).grown(margin);
  int i0, i1, j0, j1;
  if (cells_under(field, box, &i0, &i1, &j0, &j1)) {
    for (int j = j0; j <= j1 + 1; ++j) {
      for (int i = i0; i <= i1 + 1; ++i) {  // the terrain's vertices in the mesh
        const Vec3 p = field.vertex(i, j), q = X.inverse_apply(p);
        if (mesh.bounds.squared_distance(q) > 0) continue;
        const MeshPoint at = nearest_point(mesh, q);
        if (!at.inside) continue;
        const Vec3 n = -(X.R * mesh.face_normals[at.face]);
        add_to_clusters(
            n,
            {p - 0.5 * at.distance * n, -at.distance,
             feature::kVertex | static_cast<std::uint32_t>(j * field.columns + i), feature_of(mesh, at)},
            ws);
      }
    }
  }
  // sunk in by its back alone
  if (ws.cluster_count == 0 && lowest.separation < 0) add_to_clusters(lowest_normal, lowest, ws);
  emit_clusters(ws, mesh.bounds.half().minCoeff(), X_WF, false, out);
}

}  // namespace karakuri::collision_detail
