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
//
// Where solids have many triangles and lie deep in each other, all of this is done within an allowance
// (allowance.h).
#include "collision/narrowphase/mesh_mesh.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "collision/narrowphase/clusters.h"
#include "collision/narrowphase/few_triangles.h"
#include "collision/narrowphase/mesh_point.h"
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

using NodePair = std::pair<int, int>;

/// Of the trees of two meshes.
struct NodePairs {
  const Mesh &a, &b;
  Transform X_AB, X_BA;
  double reach;

  const MeshTree::Node& of_a(int i) const { return a.tree.nodes[i]; }
  const MeshTree::Node& of_b(int j) const { return b.tree.nodes[j]; }
  bool are_leaves(int i, int j) const { return of_a(i).leaf() && of_b(j).leaf(); }

  bool keeps(int i, int j) const {
    const MeshTree::Node &na = of_a(i), &nb = of_b(j);
    if (!box_of(na).grown(reach).overlaps(box_of(nb).transformed(X_AB))) return false;
    if (are_leaves(i, j)) return true;
    if (na.leaf() && !leaf_meets(a, na.triangle(), X_BA, reach, box_of(nb))) return false;
    return !(nb.leaf() && !leaf_meets(b, nb.triangle(), X_AB, reach, box_of(na)));
  }
  /// @pre not both are leaves
  std::pair<NodePair, NodePair> children(int i, int j) const {
    const MeshTree::Node &na = of_a(i), &nb = of_b(j);
    const bool split_a = nb.leaf() || (!na.leaf() && (na.hi - na.lo).sum() >= (nb.hi - nb.lo).sum());
    if (split_a) return {{i + 1, j}, {na.right, j}};
    return {{i, j + 1}, {i, nb.right}};
  }
  double distance2(int i, int j) const {
    return distance2_from(of_a(i), X_AB * Vec3(0.5 * (of_b(j).lo + of_b(j).hi)));
  }
};

/// As in few_triangles.h, of both trees at once. @return Whether they are all.
bool few_near(const NodePairs& pairs, std::size_t most, std::vector<NodePair>& next,
              std::vector<NodePair>& found) {
  if (pairs.keeps(0, 0)) found.push_back({0, 0});
  bool all = true;
  for (bool deeper = true; deeper && all;) {
    deeper = false;
    next.clear();
    for (const auto& [i, j] : found) {
      if (pairs.are_leaves(i, j)) {
        next.push_back({i, j});
        continue;
      }
      const auto [first, second] = pairs.children(i, j);
      for (const NodePair& child : {first, second})
        if (pairs.keeps(child.first, child.second)) next.push_back(child), deeper = true;
    }
    all = next.size() <= most;
    if (all) found.swap(next);
  }
  std::size_t count = 0;
  for (auto [i, j] : found) {
    bool kept = true;
    while (kept && !pairs.are_leaves(i, j)) {
      const auto [first, second] = pairs.children(i, j);
      const bool one = pairs.keeps(first.first, first.second), two = pairs.keeps(second.first, second.second);
      const bool nearer =
          pairs.distance2(first.first, first.second) <= pairs.distance2(second.first, second.second);
      kept = one || two;
      std::tie(i, j) = one && (nearer || !two) ? first : second;
    }
    if (kept) found[count++] = {pairs.of_a(i).triangle(), pairs.of_b(j).triangle()};
  }
  found.resize(count);
  return all;
}

}  // namespace

bool near_triangles(const Mesh& a, const Mesh& b, const Transform& X_AB, double reach, std::size_t most,
                    std::vector<std::pair<int, int>>& stack, std::vector<std::pair<int, int>>& found,
                    bool spread) {
  found.clear(), stack.clear();
  if (a.tree.nodes.empty() || b.tree.nodes.empty()) return true;
  const NodePairs pairs{a, b, X_AB, X_AB.inverse(), reach};
  if (spread) return few_near(pairs, most, stack, found);
  stack.push_back({0, 0});
  while (!stack.empty()) {
    const auto [i, j] = stack.back();
    stack.pop_back();
    if (!pairs.keeps(i, j)) continue;
    if (pairs.are_leaves(i, j)) {
      if (found.size() == most) return false;
      found.push_back({a.tree.nodes[i].triangle(), b.tree.nodes[j].triangle()});
      continue;
    }
    const auto [first, second] = pairs.children(i, j);
    stack.push_back(second), stack.push_back(first);
  }
  return true;
}

namespace {

// Multiplications, about: of a pair of edges without the search for whether it is least, and of finding a
// pair of triangles.
constexpr double kOfEdges = 300, kOfPair = 100;

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
  const MeshPoint at = nearest(k.s, p, ws);
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

/// The vertices of m near s, each once; of too many the deepest of each part of m.
void list_vertices(const Side& k, const Aabb& near, std::vector<char>& seen, CollisionWorkspace::Impl& ws) {
  constexpr double kOfVertex = 3000, kShare = 0.3;  // to be searched for in a tree
  seen.assign(k.m.vertices.size(), 0);
  ws.vertices.clear();
  const Aabb box = near.transformed(k.X.inverse());
  const auto add = [&](int f) {
    for (int v : k.m.faces[f])
      if (!std::exchange(seen[v], 1) && near.squared_distance(k.X * k.m.vertices[v]) <= 0)
        ws.vertices.push_back(v);
  };
  if (!ws.allowance.spread) {
    visit_triangles(k.m.tree, box, ws.stack, [&](int f) {
      if (!ws.allowance.spent()) add(f);
      ws.allowance.used += 20;
    });
    return;
  }
  const Vec3 middle = k.X.inverse_apply(k.s.bounds.center());
  few_triangles(
      k.m.tree, ws.allowance.affords(kOfVertex, kShare),
      [&](const MeshTree::Node& node) { return box.overlaps(box_of(node)); },
      [&](const MeshTree::Node& node) { return distance2_from(node, middle); }, ws.stack, ws.few);
  for (const int f : ws.few) add(f);
}

/// `tips`: (5), else whatever faces the other.
void vertex_contacts(const Side& k, double margin, bool tips, std::vector<char>& seen,
                     CollisionWorkspace::Impl& ws) {
  list_vertices(k, k.s.bounds.grown(margin), seen, ws);
  visit_within(ws.allowance, ws.vertices.size(), 0.2, [&](std::size_t i) {
    const int v = ws.vertices[i];
    const auto may_push = [&](const Vec3& d) {
      return k.m.vertex_normals[v].dot(d) >= 0 && (!tips || is_tip(k.m, v, d));  // not the back of m; (5)
    };
    point_contact(k, k.X * k.m.vertices[v], feature::kVertex | static_cast<std::uint32_t>(v), margin,
                  may_push, ws);
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
bool is_least(const Mesh& a, const Mesh& b, const Transform& X_AB, const EdgeContact& c, double tolerance,
              CollisionWorkspace::Impl& ws) {
  const double depth = -c.separation();
  if (depth <= tolerance) return true;
  const MeshPoint in_a = nearest(a, c.on_second, ws);
  if (in_a.inside && in_a.distance < 0.2 * depth) return false;
  const MeshPoint in_b = nearest(b, X_AB.inverse_apply(c.on_first), ws);
  return !(in_b.inside && in_b.distance < 0.2 * depth);
}

/// The edges of a pair of triangles, each with its first face.
struct TrianglePair {
  const Mesh &a, &b;
  const Transform& X_AB;
  double margin, reach, tolerance;
  int fa, fb;
};

void add_edges(const TrianglePair& t, int ea, const SolidEdge& first, int eb, CollisionWorkspace::Impl& ws) {
  EdgeContact c[2];
  const int n = edge_edge_contacts(first, solid_edge(t.b, eb, t.X_AB), t.tolerance, c);
  ws.allowance.used += kOfEdges;
  for (int k = 0; k < n; ++k) {
    const double s = c[k].separation();
    if (!c[k].by_edges || s > t.margin || s < -t.reach) continue;
    if (!is_least(t.a, t.b, t.X_AB, c[k], t.tolerance, ws)) continue;
    if ((c[k].on_first - c[k].on_second).norm() > t.reach) continue;
    ws.pushes_a[ea] = ws.pushes_b[eb] = 1;
    add_to_clusters(
        c[k].normal,
        {0.5 * (c[k].on_first + c[k].on_second), s, feature::kEdge | static_cast<std::uint32_t>(ea),
         feature::kEdge | static_cast<std::uint32_t>(eb)},
        ws);
  }
}

void edges_of(const TrianglePair& t, CollisionWorkspace::Impl& ws) {
  ws.allowance.used += kOfPair;
  for (int ea : t.a.face_edges[t.fa]) {
    if (t.a.edges[ea].f[0] != t.fa || !bulges(t.a, ea)) continue;
    const SolidEdge first = solid_edge(t.a, ea, Transform::identity());
    for (int eb : t.b.face_edges[t.fb])
      if (t.b.edges[eb].f[0] == t.fb && bulges(t.b, eb)) add_edges(t, ea, first, eb, ws);
  }
}

void edge_contacts(const Mesh& a, const Mesh& b, const Transform& X_AB, double margin, double reach,
                   double tolerance, CollisionWorkspace::Impl& ws) {
  Allowance& allowance = ws.allowance;
  const std::size_t most = allowance.affords(kOfPair, allowance.spread ? 0.1 : 1);
  if (!near_triangles(a, b, X_AB, reach, most, ws.pair_stack, ws.found, allowance.spread)) {
    allowance.cut = true;
    allowance.used += static_cast<double>(most) * kOfPair;
  }
  ws.pushes_a.assign(a.edges.size(), 0), ws.pushes_b.assign(b.edges.size(), 0);
  visit_within(allowance, ws.found.size(), 0.3, [&](std::size_t i) {
    edges_of({a, b, X_AB, margin, reach, tolerance, ws.found[i].first, ws.found[i].second}, ws);
  });
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

/// Where edges of m go through triangles of s that are near them.
void list_crossings(const Side& k, bool all, const std::vector<char>& pushes, CollisionWorkspace::Impl& ws) {
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
  ws.allowance.used += static_cast<double>(ws.found.size()) * kOfPair;
  std::sort(ws.crossings.begin(), ws.crossings.end());
}

/// The part of an edge from t0 to t1, if it lies in s.
void dipping_part(const Side& k, bool all, int e, double t0, double t1, CollisionWorkspace::Impl& ws) {
  const MeshEdge& edge = k.m.edges[e];
  const Vec3 p = k.m.vertices[edge.v[0]], q = k.m.vertices[edge.v[1]];
  const auto at = [&](double u) { return Vec3(k.X * Vec3(p + (t0 + u * (t1 - t0)) * (q - p))); };
  if (!nearest(k.s, at(0.5), ws).inside) return;
  const Vec3 normal = (k.m.face_normals[edge.f[0]] + k.m.face_normals[edge.f[edge.f[1] >= 0]]).normalized();
  // Half way between two parallel faces both are nearest. Beside it they are not; the one that faces the
  // edge more is meant.
  const Vec3 before = at(0.49), after = at(0.51);
  const auto facing = [&](const Vec3& x) {
    const MeshPoint near = nearest(k.s, x, ws);
    return near.face < 0 ? 0 : (k.X.R * normal).dot(k.s.face_normals[near.face]);
  };
  const auto may_push = [&](const Vec3& d) {
    return all || (normal.dot(d) >= 0 && is_ridge(solid_edge(k.m, e, Transform::identity()), d));
  };
  point_contact(k, facing(before) <= facing(after) ? before : after,
                feature::kEdge | static_cast<std::uint32_t>(e), 0, may_push, ws);
}

// (3): edges of m that dip into s. `all`: also those that do not bulge.
void dipping_edges(const Side& k, bool all, const std::vector<char>& pushes, CollisionWorkspace::Impl& ws) {
  if (ws.allowance.spent()) return;
  list_crossings(k, all, pushes, ws);
  const std::size_t parts = ws.crossings.empty() ? 0 : ws.crossings.size() - 1;
  visit_within(ws.allowance, parts, 0.1, [&](std::size_t i) {
    const auto [e, t0] = ws.crossings[i];
    const auto [next, t1] = ws.crossings[i + 1];
    if (e == next && t1 - t0 >= 1e-9) dipping_part(k, all, e, t0, t1, ws);
  });
}

// No surface is near the other, but one solid may be inside the other: push it out through the face next to
// its centre. X: pose of m in the frame of s.
void add_if_swallowed(const Side& k, CollisionWorkspace::Impl& ws) {
  const auto& [s, m, X, X_AS, flip] = k;
  if (s.use != MeshUse::kSolid || !nearest(s, X * m.vertices[0], ws).inside) return;
  const MeshPoint at = nearest(s, X * m.bounds.center(), ws);
  if (at.face < 0) return;
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
  vertex_contacts(b_in_a, margin, true, ws.seen_b, ws);
  vertex_contacts(a_in_b, margin, true, ws.seen_a, ws);
  edge_contacts(a, b, X_AB, margin, std::max(margin, 0.05 * size), 1e-3 * size, ws);
  const bool solid_a = a.use == MeshUse::kSolid, solid_b = b.use == MeshUse::kSolid;
  if (solid_a) dipping_edges(b_in_a, false, ws.pushes_b, ws);
  if (solid_b) dipping_edges(a_in_b, false, ws.pushes_a, ws);
  // solids that have gone through each other: whatever edge is inside
  const bool none = ws.cluster_count == 0;
  if (none && solid_a) dipping_edges(b_in_a, true, ws.pushes_b, ws);
  if (none && solid_b) dipping_edges(a_in_b, true, ws.pushes_a, ws);
  // the tips are not among what was looked at
  if (ws.cluster_count == 0 && ws.allowance.spread) {
    vertex_contacts(b_in_a, 0, false, ws.seen_b, ws);
    vertex_contacts(a_in_b, 0, false, ws.seen_a, ws);
  }
  if (ws.cluster_count == 0) add_if_swallowed(b_in_a, ws);
  if (ws.cluster_count == 0) add_if_swallowed(a_in_b, ws);
  emit_clusters(ws, size, X_WA, false, out);
}

}  // namespace karakuri::collision_detail
