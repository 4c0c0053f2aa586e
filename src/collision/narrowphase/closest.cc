// Distances of any two shapes: closed forms and GJK for convex pairs, branch and bound over trees for the
// rest.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "collision/mesh/field_search.h"
#include "collision/narrowphase/convex_patch.h"
#include "collision/narrowphase/surface_pairs.h"
#include "collision/narrowphase/witness.h"
#include "collision/narrowphase/workspace.h"

namespace karakuri {

namespace {

using namespace collision_detail;
constexpr double kInf = std::numeric_limits<double>::infinity();

void to_world(const ConvexDistance& d, const Transform& X, ClosestPoints& out) {
  out = {d.separation, X.R * d.normal, X * d.on_a, X * d.on_b};
}

void flip(ClosestPoints& c) {
  std::swap(c.on_a, c.on_b);
  c.normal = -c.normal;
}

// The answer of one pair with normal and points as exact as they can be.
ConvexDistance polished(const ConvexPair& pair, ConvexDistance d) {
  sharpen_normal(pair, d);
  align_witness(pair, d);
  return d;
}

void convex_convex(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
                   CollisionWorkspace::Impl& ws, ClosestPoints& out) {
  const ConvexView va = convex_view(a), vb = convex_view(b);
  const ConvexPair pair{&va, &vb, X_WA.inverse() * X_WB};
  to_world(polished(pair, distance_of(pair, ws.epa)), X_WA, out);
}

void convex_plane(const Shape& a, const Transform& X_WA, const Transform& X_WP, ClosestPoints& out) {
  const ConvexView c = convex_view(a);
  const Vec3 n = X_WP.R.col(2);
  const Vec3 lowest = X_WA * support(c, X_WA.R.transpose() * -n).p - c.radius * n;
  const double s = n.dot(lowest - X_WP.p);
  out = {s, -n, lowest, lowest - s * n};
}

void plane_mesh(const Transform& X_WP, const Mesh& m, const Transform& X_WM, ClosestPoints& out) {
  const Vec3 n = X_WP.R.col(2);
  out.separation = kInf;
  for (const Vec3& v : m.vertices) {
    const Vec3 p = X_WM * v;
    const double s = n.dot(p - X_WP.p);
    if (s < out.separation) out = {s, n, p - s * n, p};
  }
}

// The deepest contact, for shapes that overlap and are not both convex.
bool deepest_contact(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
                     CollisionWorkspace& ws, ClosestPoints& out) {
  auto& found = ws.impl().manifolds;
  found.clear();
  collide(a, X_WA, b, X_WB, {.margin = 0}, ws, found);
  out.separation = kInf;
  for (const Manifold& m : found) {
    for (int i = 0; i < m.count; ++i) {
      if (m.points[i].separation >= out.separation) continue;
      out = {m.points[i].separation, m.normal, m.point_on_a(i), m.point_on_b(i)};
    }
  }
  return out.separation < kInf;
}

struct Search {
  const ConvexView* convex;
  Transform X;  // of the convex shape in the surface's frame
  Aabb box;     // of the convex shape
  ConvexDistance best;
  CollisionWorkspace::Impl* ws;
  std::array<Vec3, 3> nearest;  // the triangle of the best

  void visit(const Vec3& a, const Vec3& b, const Vec3& c) {
    if (best.separation <= 0) return;
    const TriangleCore core(a, b, c);
    const ConvexView view = core.view();
    const ConvexDistance d = distance_of({&view, convex, X}, ws->epa, best.separation);
    if (d.separation < best.separation) best = d, nearest = {a, b, c};
  }
  ConvexDistance answer() const {
    const TriangleCore core(nearest[0], nearest[1], nearest[2]);
    const ConvexView view = core.view();
    return polished({&view, convex, X}, best);
  }
  double bound(const Vec3& lo, const Vec3& hi) const {
    return (lo - box.hi).cwiseMax(box.lo - hi).cwiseMax(0.0).norm();
  }
};

void search_mesh(const Mesh& m, Search& s) {
  auto& stack = s.ws->stack;
  stack.clear();
  stack.push_back(0);
  while (!stack.empty() && s.best.separation > 0) {
    const int i = stack.back();
    stack.pop_back();
    const MeshTree::Node& node = m.tree.nodes[i];
    if (s.bound(node.lo, node.hi) >= s.best.separation) continue;
    if (node.leaf()) {
      const Triangle& t = m.faces[node.triangle()];
      s.visit(m.vertices[t[0]], m.vertices[t[1]], m.vertices[t[2]]);
      continue;
    }
    const MeshTree::Node &left = m.tree.nodes[i + 1], &right = m.tree.nodes[node.right];
    const bool left_first = s.bound(left.lo, left.hi) <= s.bound(right.lo, right.hi);
    stack.push_back(left_first ? node.right : i + 1);
    stack.push_back(left_first ? i + 1 : node.right);
  }
}

void search_field(const Heightfield& f, Search& s) {
  search_cells(
      f, [&](const Aabb& box) { return s.bound(box.lo, box.hi); }, [&] { return s.best.separation; },
      [&](int i, int j) {
        const Vec3 v[4] = {f.vertex(i, j), f.vertex(i + 1, j), f.vertex(i + 1, j + 1), f.vertex(i, j + 1)};
        s.visit(v[0], v[1], v[2]);
        s.visit(v[0], v[2], v[3]);
      });
}

// Overlap of a convex shape with a solid that shows in no triangle: it is inside.
bool inside(const Shape& b, const Vec3& p) {
  if (b.kind() == ShapeKind::kMesh) return contains(b.as_mesh(), p);
  const Heightfield& f = b.as_heightfield();
  int i0, i1, j0, j1;
  if (!cells_under(f, {Vec3(p.x(), p.y(), f.bounds.lo.z()), Vec3(p.x(), p.y(), f.bounds.hi.z())}, &i0, &i1,
                   &j0, &j1))
    return false;
  const double u = (p.x() - f.x0) / f.dx - i0, v = (p.y() - f.y0) / f.dy - j0;
  const Vec3 a = f.vertex(i0, j0), c = f.vertex(i0 + 1, j0 + 1),
             o = v > u ? f.vertex(i0, j0 + 1) : f.vertex(i0 + 1, j0);
  const Vec3 n = v > u ? (c - a).cross(o - a) : (o - a).cross(c - a);
  return n.dot(p - a) < 0;
}

bool convex_surface(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
                    CollisionWorkspace& ws, ClosestPoints& out) {
  const ConvexView convex = convex_view(a);
  Search s{&convex, X_WB.inverse() * X_WA, {}, {}, &ws.impl(), {}};
  s.box = convex_box(convex, s.X);
  s.best.separation = kInf;
  if (b.kind() == ShapeKind::kMesh)
    search_mesh(b.as_mesh(), s);
  else
    search_field(b.as_heightfield(), s);
  if (s.best.separation <= 0 || inside(b, s.X * convex.center)) {
    if (deepest_contact(a, X_WA, b, X_WB, ws, out)) return true;
  }
  to_world(s.best.separation < kInf ? s.answer() : s.best, X_WB, out);
  flip(out);
  return true;
}

struct MeshSearch {
  const Mesh *a, *b;
  Transform X_AB;
  ConvexDistance best;
  int face_a = 0, face_b = 0;  // of the best

  TriangleCore core(const Mesh& m, int f) const {
    return {m.vertices[m.faces[f][0]], m.vertices[m.faces[f][1]], m.vertices[m.faces[f][2]]};
  }
  ConvexDistance answer() const {
    const TriangleCore ca = core(*a, face_a), cb = core(*b, face_b);
    const ConvexView va = ca.view(), vb = cb.view();
    return polished({&va, &vb, X_AB}, best);
  }
};

double node_bound(const MeshTree::Node& a, const MeshTree::Node& b, const Transform& X) {
  const Aabb box = Aabb{b.lo, b.hi}.transformed(X);
  return (a.lo - box.hi).cwiseMax(box.lo - a.hi).cwiseMax(0.0).norm();
}

void search_pair(MeshSearch& s, CollisionWorkspace::Impl& ws) {
  auto& stack = ws.pair_stack;
  stack.clear();
  stack.push_back({0, 0});
  const auto &na = s.a->tree.nodes, &nb = s.b->tree.nodes;
  while (!stack.empty() && s.best.separation > 0) {
    const auto [i, j] = stack.back();
    stack.pop_back();
    if (node_bound(na[i], nb[j], s.X_AB) >= s.best.separation) continue;
    if (na[i].leaf() && nb[j].leaf()) {
      const TriangleCore ca = s.core(*s.a, na[i].triangle()), cb = s.core(*s.b, nb[j].triangle());
      const ConvexView va = ca.view(), vb = cb.view();
      const ConvexDistance d = distance_of({&va, &vb, s.X_AB}, ws.epa, s.best.separation);
      if (d.separation < s.best.separation)
        s.best = d, s.face_a = na[i].triangle(), s.face_b = nb[j].triangle();
      continue;
    }
    const bool split_a =
        nb[j].leaf() || (!na[i].leaf() && (na[i].hi - na[i].lo).sum() >= (nb[j].hi - nb[j].lo).sum());
    std::pair<int, int> near{split_a ? i + 1 : i, split_a ? j : j + 1};
    std::pair<int, int> far{split_a ? na[i].right : i, split_a ? j : nb[j].right};
    if (node_bound(na[near.first], nb[near.second], s.X_AB) >
        node_bound(na[far.first], nb[far.second], s.X_AB)) {
      std::swap(near, far);
    }
    stack.push_back(far), stack.push_back(near);
  }
}

bool mesh_mesh(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
               CollisionWorkspace& ws, ClosestPoints& out) {
  MeshSearch s{&a.as_mesh(), &b.as_mesh(), X_WA.inverse() * X_WB, {}, 0, 0};
  s.best.separation = kInf;
  search_pair(s, ws.impl());
  const bool swallowed =
      contains(*s.a, s.X_AB * s.b->vertices[0]) || contains(*s.b, s.X_AB.inverse_apply(s.a->vertices[0]));
  if ((s.best.separation <= 0 || swallowed) && deepest_contact(a, X_WA, b, X_WB, ws, out)) return true;
  to_world(s.answer(), X_WA, out);
  return true;
}

// The cells' triangles against the mesh, those near its box first, the best so far limiting the rest.
bool heightfield_mesh(const Shape& a, const Transform& X_WF, const Shape& b, const Transform& X_WM,
                      CollisionWorkspace& ws, ClosestPoints& out) {
  const Heightfield& f = a.as_heightfield();
  const Mesh& m = b.as_mesh();
  Search s{nullptr, X_WM.inverse() * X_WF, {}, {}, &ws.impl(), {}};
  s.best.separation = kInf;
  const Aabb around = m.bounds.transformed(s.X.inverse());
  const auto bound = [&](const Aabb& box) {
    return (box.lo - around.hi).cwiseMax(around.lo - box.hi).cwiseMax(0.0).norm();
  };
  search_cells(
      f, bound, [&] { return s.best.separation; },
      [&](int i, int j) {
        const Vec3 v[4] = {f.vertex(i, j), f.vertex(i + 1, j), f.vertex(i + 1, j + 1), f.vertex(i, j + 1)};
        for (int k = 1; k < 3; ++k) {
          const TriangleCore core(v[0], v[k], v[k + 1]);
          const ConvexView view = core.view();
          s.convex = &view, s.box = convex_box(view, s.X);
          search_mesh(m, s);
        }
      });
  const bool swallowed = inside(a, s.X.inverse_apply(m.vertices[0])) || contains(m, s.X * f.vertex(0, 0));
  if ((s.best.separation <= 0 || swallowed) && deepest_contact(a, X_WF, b, X_WM, ws, out)) return true;
  to_world(s.best, X_WM, out);
  flip(out);
  return true;
}

bool compound(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
              CollisionWorkspace& ws, ClosestPoints& out) {
  bool any = false;
  for (const Compound::Part& part : b.as_compound().parts) {
    ClosestPoints c;
    if (!closest_points(a, X_WA, part.shape, X_WB * part.pose, ws, c)) continue;
    if (!any || c.separation < out.separation) out = c;
    any = true;
  }
  return any;
}

}  // namespace

bool closest_points(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
                    CollisionWorkspace& ws, ClosestPoints& out) {
  if (has_convex_view(a) && has_convex_view(b)) return convex_convex(a, X_WA, b, X_WB, ws.impl(), out), true;
  if (a.kind() > b.kind()) {
    const bool known = closest_points(b, X_WB, a, X_WA, ws, out);
    flip(out);
    return known;
  }
  switch (b.kind()) {
    default: return convex_convex(a, X_WA, b, X_WB, ws.impl(), out), true;
    case ShapeKind::kPlane: return a.convex() && (convex_plane(a, X_WA, X_WB, out), true);
    case ShapeKind::kHeightfield: return a.convex() && convex_surface(a, X_WA, b, X_WB, ws, out);
    case ShapeKind::kMesh:
      if (a.convex()) return convex_surface(a, X_WA, b, X_WB, ws, out);
      if (a.kind() == ShapeKind::kPlane) return plane_mesh(X_WA, b.as_mesh(), X_WB, out), true;
      if (a.kind() == ShapeKind::kHeightfield) return heightfield_mesh(a, X_WA, b, X_WB, ws, out);
      return mesh_mesh(a, X_WA, b, X_WB, ws, out);
    case ShapeKind::kCompound: return compound(a, X_WA, b, X_WB, ws, out);
  }
}

bool overlap(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
             CollisionWorkspace& ws) {
  if (has_convex_view(a) && has_convex_view(b)) {
    const ConvexView va = convex_view(a), vb = convex_view(b);
    const double radii = va.radius + vb.radius;
    const GjkResult g = gjk({&va, &vb, X_WA.inverse() * X_WB}, Vec3::Zero(), radii);
    return g.state == GjkState::kOverlap || (g.state == GjkState::kApart && g.distance <= radii);
  }
  ClosestPoints c;
  return closest_points(a, X_WA, b, X_WB, ws, c) && c.separation <= 0;
}

}  // namespace karakuri
