#include "collision/narrowphase/surface_pairs.h"

#include <algorithm>
#include <cmath>

#include "collision/mesh/field_search.h"
#include "collision/narrowphase/clusters.h"
#include "collision/narrowphase/few_triangles.h"
#include "collision/narrowphase/mesh_point.h"
#include "collision/narrowphase/triangle_contact.h"

namespace karakuri::collision_detail {

Aabb convex_box(const ConvexView& c, const Transform& X) {
  Aabb box;
  for (int k = 0; k < 3; ++k) {
    const Vec3 d = X.R.row(k).transpose();
    box.lo[k] = X.R.row(k).dot(support(c, -d).p) + X.p[k] - c.radius;
    box.hi[k] = X.R.row(k).dot(support(c, d).p) + X.p[k] + c.radius;
  }
  return box;
}

bool cells_under(const Heightfield& f, const Aabb& box, int* i0, int* i1, int* j0, int* j1) {
  if (!box.overlaps(f.bounds) && !(box.hi.z() < f.bounds.lo.z())) return false;
  const auto clamp = [](double x, int n) {
    return static_cast<int>(std::clamp(std::floor(x), 0.0, n - 1.0));
  };
  if (box.hi.x() < f.bounds.lo.x() || box.lo.x() > f.bounds.hi.x() || box.hi.y() < f.bounds.lo.y() ||
      box.lo.y() > f.bounds.hi.y()) {
    return false;
  }
  *i0 = clamp((box.lo.x() - f.x0) / f.dx, f.cell_columns()),
  *i1 = clamp((box.hi.x() - f.x0) / f.dx, f.cell_columns());
  *j0 = clamp((box.lo.y() - f.y0) / f.dy, f.cell_rows()),
  *j1 = clamp((box.hi.y() - f.y0) / f.dy, f.cell_rows());
  return true;
}

namespace {

// Multiplications, about, of a triangle deep in a convex shape, of the planes of both alone, and of a box of
// either.
constexpr double kOfTriangle = 3000, kOfPlane = 100, kOfBox = 20;

SurfaceTriangle mesh_triangle(const Mesh& m, int f) {
  SurfaceTriangle t;
  t.normal = m.face_normals[f];
  t.face = static_cast<std::uint32_t>(f);
  t.two_sided = m.use == MeshUse::kSurface;
  for (int k = 0; k < 3; ++k) {
    const MeshEdge& e = m.edges[m.face_edges[f][k]];
    const int other = e.f[0] == f ? e.f[1] : e.f[0];
    t.v[k] = m.vertices[m.faces[f][k]];
    t.open[k] = other < 0;
    t.across[k] = other < 0 ? t.normal : m.face_normals[other];
    t.bend[k] = e.bend;
    t.edge[k] = static_cast<std::uint32_t>(m.face_edges[f][k]);
    t.vertex[k] = static_cast<std::uint32_t>(m.faces[f][k]);
  }
  return t;
}

int mesh_neighbors(const void* surface, const SurfaceTriangle& t, int k, Vec3* out, int limit) {
  const Mesh& m = *static_cast<const Mesh*>(surface);
  const int v = static_cast<int>(t.vertex[k]);
  int n = 0;
  for (int i = m.vertex_edge_first[v]; i < m.vertex_edge_first[v + 1] && n < limit; ++i) {
    const MeshEdge& e = m.edges[m.vertex_edges[i]];
    out[n++] = m.vertices[e.v[0] == v ? e.v[1] : e.v[0]] - m.vertices[v];
  }
  return n;
}

// Nothing of the surface is near, but the shape may be inside the solid: push it out through the nearest
// face.
void add_if_swallowed(const ConvexView& convex, const Transform& X, const Mesh& mesh,
                      CollisionWorkspace::Impl& ws) {
  const Vec3 center = X * convex.center;
  if (!Aabb(mesh.bounds).overlaps({center, center})) return;
  const MeshPoint at = nearest(mesh, center, ws);
  if (!at.inside) return;
  const Vec3 n = mesh.face_normals[at.face];
  const Vec3 lowest = X * support(convex, X.R.transpose() * -n).p - convex.radius * n;
  const double separation = n.dot(lowest - at.point);
  add_to_clusters(n,
                  {lowest - 0.5 * separation * n, separation,
                   feature::kFace | static_cast<std::uint32_t>(at.face), feature::kRound},
                  ws);
}

double deepest(const Patch& patch) {
  double least = 0;
  for (int k = 0; k < patch.count; ++k) least = std::min(least, patch.points[k].separation);
  return least;
}

// Several normals: a patch that is far deeper than another counts only if one of its points is really that
// deep in the solid. A box that has sunk a little into a solid from above overlaps its side faces too, and
// those must not push. `rounding`: a depth that is none [m].
void drop_indirect(const Mesh& mesh, double rounding, CollisionWorkspace::Impl& ws) {
  if (ws.cluster_count < 2 || mesh.use != MeshUse::kSolid) return;
  double shallowest = -1e300;
  for (int i = 0; i < ws.cluster_count; ++i) shallowest = std::max(shallowest, deepest(ws.clusters[i]));
  for (int i = 0; i < ws.cluster_count; ++i) {
    Patch& patch = ws.clusters[i];
    if (deepest(patch) >= 5 * shallowest - rounding) continue;
    const bool real = std::any_of(patch.points, patch.points + patch.count, [&](const PatchPoint& p) {
      const MeshPoint at = nearest(mesh, p.position + 0.5 * p.separation * patch.normal, ws);
      return at.distance >= -0.2 * p.separation;
    });
    if (!real) patch.count = 0;
  }
}

/// A convex shape near a mesh, in the mesh's frame.
struct NearMesh {
  const ConvexView& convex;
  const Transform& X;
  Slabs slabs;
  Aabb box;
  double margin;
  const Mesh& mesh;

  bool keeps(const MeshTree::Node& node) const {
    return box.overlaps({node.lo, node.hi}) && slabs.keeps_box(node.lo, node.hi);
  }
  void contacts_of(int triangle, CollisionWorkspace::Impl& ws) const {
    triangle_contacts(mesh_triangle(mesh, triangle), convex, X, slabs, margin, &mesh, mesh_neighbors, ws);
  }
};

void all_contacts(const NearMesh& near, CollisionWorkspace::Impl& ws) {
  ws.stack.clear();
  ws.stack.push_back(0);
  while (!ws.stack.empty() && !ws.allowance.spent()) {
    const int i = ws.stack.back();
    ws.stack.pop_back();
    const MeshTree::Node& node = near.mesh.tree.nodes[i];
    ws.allowance.used += kOfBox;
    if (!near.keeps(node)) continue;
    if (node.leaf()) {
      near.contacts_of(node.triangle(), ws);
    } else {
      ws.stack.push_back(node.right);
      ws.stack.push_back(i + 1);
    }
  }
}

void few_contacts(const NearMesh& near, CollisionWorkspace::Impl& ws) {
  const Vec3 center = near.X * near.convex.center;
  few_triangles(
      near.mesh.tree, ws.allowance.affords(kOfTriangle, 0.8),
      [&](const auto& node) { return near.keeps(node); },
      [&](const auto& node) { return distance2_from(node, center); }, ws.stack, ws.few);
  for (const int triangle : ws.few) near.contacts_of(triangle, ws);
}

}  // namespace

void collide_convex_mesh(const ConvexView& convex, const Transform& X_WC, const Mesh& mesh,
                         const Transform& X_WM, double margin, CollisionWorkspace::Impl& ws,
                         std::vector<Manifold>& out) {
  const Transform X = X_WM.inverse() * X_WC;
  const Aabb box = convex_box(convex, X).grown(margin);
  if (!box.overlaps(mesh.bounds)) return;
  clear_clusters(ws);
  const NearMesh near{convex, X, Slabs(convex, X, margin), box, margin, mesh};
  if (ws.allowance.spread)
    few_contacts(near, ws);
  else
    all_contacts(near, ws);
  drop_indirect(mesh, 1e-9 * convex.extent, ws);
  if (ws.cluster_count == 0 && mesh.use == MeshUse::kSolid) add_if_swallowed(convex, X, mesh, ws);
  emit_clusters(ws, convex.extent, X_WM, true, out);
}

namespace {

struct FieldVertex {
  int i, j;
};

Vec3 field_normal(const Heightfield& f, int i, int j, bool upper) {
  const double z00 = f.vertex(i, j).z(), z11 = f.vertex(i + 1, j + 1).z();
  const double other = upper ? f.vertex(i, j + 1).z() : f.vertex(i + 1, j).z();
  const double gx = upper ? (z11 - other) / f.dx : (other - z00) / f.dx;
  const double gy = upper ? (other - z00) / f.dy : (z11 - other) / f.dy;
  return Vec3(-gx, -gy, 1).normalized();
}

void set_side(const Heightfield& f, int i, int j, bool upper, int side, SurfaceTriangle& t) {
  const bool there = i >= 0 && j >= 0 && i < f.cell_columns() && j < f.cell_rows();
  t.open[side] = !there;
  t.across[side] = there ? field_normal(f, i, j, upper) : t.normal;
  const Vec3 d = (t.v[(side + 1) % 3] - t.v[side]).normalized();
  // 2 tan(bend / 2): next to the angle itself where it is small, which is where it decides, and much cheaper
  t.bend[side] = 2 * t.normal.cross(t.across[side]).dot(d) / (1 + t.normal.dot(t.across[side]));
}

// Without its sides. Names: vertex and cell by number.
SurfaceTriangle field_triangle(const Heightfield& f, int i, int j, bool upper) {
  SurfaceTriangle t;
  const FieldVertex at[3] = {{i, j},
                             upper ? FieldVertex{i + 1, j + 1} : FieldVertex{i + 1, j},
                             upper ? FieldVertex{i, j + 1} : FieldVertex{i + 1, j + 1}};
  const auto number = [&](int ii, int jj) { return static_cast<std::uint32_t>(jj * f.columns + ii); };
  for (int k = 0; k < 3; ++k) {
    t.v[k] = f.vertex(at[k].i, at[k].j);
    t.vertex[k] = number(at[k].i, at[k].j);
  }
  t.normal = field_normal(f, i, j, upper);
  t.face = static_cast<std::uint32_t>(2 * (j * f.cell_columns() + i) + upper);
  return t;
}

// What lies across the sides. Names of edges: three per vertex (towards +x, +y, and across the cell).
void add_sides(const Heightfield& f, int i, int j, bool upper, SurfaceTriangle& t) {
  const auto number = [&](int ii, int jj) { return static_cast<std::uint32_t>(jj * f.columns + ii); };
  if (upper) {  // (i,j) -> (i+1,j+1) -> (i,j+1)
    set_side(f, i, j, false, 0, t), set_side(f, i, j + 1, false, 1, t), set_side(f, i - 1, j, false, 2, t);
    t.edge[0] = 3 * number(i, j) + 2, t.edge[1] = 3 * number(i, j + 1), t.edge[2] = 3 * number(i, j) + 1;
  } else {  // (i,j) -> (i+1,j) -> (i+1,j+1)
    set_side(f, i, j - 1, true, 0, t), set_side(f, i + 1, j, true, 1, t), set_side(f, i, j, true, 2, t);
    t.edge[0] = 3 * number(i, j), t.edge[1] = 3 * number(i + 1, j) + 1, t.edge[2] = 3 * number(i, j) + 2;
  }
}

int field_neighbors(const void* surface, const SurfaceTriangle& t, int k, Vec3* out, int limit) {
  const Heightfield& f = *static_cast<const Heightfield*>(surface);
  const int i = static_cast<int>(t.vertex[k]) % f.columns, j = static_cast<int>(t.vertex[k]) / f.columns;
  static constexpr int kSteps[6][2] = {{1, 0}, {1, 1}, {0, 1}, {-1, 0}, {-1, -1}, {0, -1}};
  int n = 0;
  for (const auto& s : kSteps) {
    const int a = i + s[0], b = j + s[1];
    if (a >= 0 && b >= 0 && a < f.columns && b < f.rows && n < limit)
      out[n++] = f.vertex(a, b) - f.vertex(i, j);
  }
  return n;
}

// The shape has sunk below the whole surface: lift its lowest point to the height above it.
void add_if_sunk(const ConvexView& convex, const Transform& X, const Heightfield& f,
                 CollisionWorkspace::Impl& ws) {
  const Vec3 c = X * convex.center;
  int i0, i1, j0, j1;
  if (!cells_under(f, {c, c}, &i0, &i1, &j0, &j1)) return;
  const double u = (c.x() - f.x0) / f.dx - i0, v = (c.y() - f.y0) / f.dy - j0;
  const bool upper = v > u;
  const Vec3 n = field_normal(f, i0, j0, upper), on = f.vertex(i0, j0);
  if (n.dot(c - on) >= 0) return;
  const Vec3 lowest = X * support(convex, X.R.transpose() * -n).p - convex.radius * n;
  const double separation = n.dot(lowest - on);
  const auto face = static_cast<std::uint32_t>(2 * (j0 * f.cell_columns() + i0) + upper);
  add_to_clusters(n, {lowest - 0.5 * separation * n, separation, feature::kFace | face, feature::kRound}, ws);
}

/// A convex shape near terrain, in the terrain's frame.
struct NearField {
  const ConvexView& convex;
  const Transform& X;
  Slabs slabs;
  Aabb box;
  double margin;
  const Heightfield& field;

  void contacts_of(int i, int j, CollisionWorkspace::Impl& ws) const {
    ws.allowance.used += kOfBox;
    const double z[4] = {field.vertex(i, j).z(), field.vertex(i + 1, j).z(), field.vertex(i, j + 1).z(),
                         field.vertex(i + 1, j + 1).z()};
    if (*std::max_element(z, z + 4) < box.lo.z() || *std::min_element(z, z + 4) > box.hi.z()) return;
    for (const bool upper : {false, true}) {
      SurfaceTriangle t = field_triangle(field, i, j, upper);
      ws.allowance.used += kOfPlane;
      if (!meets_plane_of(t, convex, X, margin)) continue;
      add_sides(field, i, j, upper, t);
      triangle_contacts(t, convex, X, slabs, margin, &field, field_neighbors, ws);
    }
  }
};

void all_contacts(const NearField& near, const CellRange& range, CollisionWorkspace::Impl& ws) {
  const Aabb& box = near.box;
  for (int j = range.j0; j <= range.j1; ++j)
    for (int i = range.i0; !ws.allowance.spent(); ++i) {
      i = next_cell_between(near.field, i, j, range.i1, box.lo.z(), box.hi.z());
      if (i > range.i1) break;
      near.contacts_of(i, j, ws);
    }
}

/// The highest cells of equal pieces, and the one below the lowest point of the shape.
void few_contacts(const NearField& near, const CellRange& range, CollisionWorkspace::Impl& ws) {
  highest_cells(near.field, range, ws.allowance.affords(2 * kOfTriangle, 0.8),
                [&](int i, int j) { near.contacts_of(i, j, ws); });
  const Vec3 lowest = near.X * support(near.convex, near.X.R.transpose() * -Vec3::UnitZ()).p;
  CellRange below;
  if (cells_under(near.field, {lowest, lowest}, &below.i0, &below.i1, &below.j0, &below.j1))
    near.contacts_of(below.i0, below.j0, ws);
}

}  // namespace

void collide_convex_heightfield(const ConvexView& convex, const Transform& X_WC, const Heightfield& field,
                                const Transform& X_WF, double margin, CollisionWorkspace::Impl& ws,
                                std::vector<Manifold>& out) {
  const Transform X = X_WF.inverse() * X_WC;
  const Aabb box = convex_box(convex, X).grown(margin);
  int i0, i1, j0, j1;
  if (!cells_under(field, box, &i0, &i1, &j0, &j1)) return;
  clear_clusters(ws);
  const NearField near{convex, X, Slabs(convex, X, margin), box, margin, field};
  if (ws.allowance.spread)
    few_contacts(near, {i0, i1, j0, j1}, ws);
  else
    all_contacts(near, {i0, i1, j0, j1}, ws);
  if (ws.cluster_count == 0) add_if_sunk(convex, X, field, ws);
  emit_clusters(ws, convex.extent, X_WF, true, out);
}

void collide_plane_mesh(const Transform& X_WP, const Mesh& mesh, const Transform& X_WM, double margin,
                        CollisionWorkspace::Impl& ws, std::vector<Manifold>& out) {
  const Transform X = X_WP.inverse() * X_WM;  // the plane is z = 0
  Patch patch;
  patch.normal = Vec3::UnitZ();
  const Vec3 up = X.R.row(2).transpose();
  ws.stack.clear();
  ws.stack.push_back(0);
  ws.seen_a.assign(mesh.vertices.size(), 0);
  while (!ws.stack.empty()) {  // of each triangle little is asked: all are looked at
    const int i = ws.stack.back();
    ws.stack.pop_back();
    const MeshTree::Node& node = mesh.tree.nodes[i];
    const Vec3 c = 0.5 * (node.lo + node.hi), h = 0.5 * (node.hi - node.lo);
    if (up.dot(c) + X.p.z() - up.cwiseAbs().dot(h) > margin) continue;
    if (!node.leaf()) {
      ws.stack.push_back(node.right);
      ws.stack.push_back(i + 1);
      continue;
    }
    for (int v : mesh.faces[node.triangle()]) {
      if (ws.seen_a[v]) continue;
      ws.seen_a[v] = 1;
      const Vec3 p = X * mesh.vertices[v];
      if (p.z() > margin) continue;
      if (patch.count == Patch::kMax) reduce(patch, 0);
      patch.add({Vec3(p.x(), p.y(), 0.5 * p.z()), p.z(), feature::kFace,
                 feature::kVertex | static_cast<std::uint32_t>(v)});
    }
  }
  if (patch.count == 0) return;
  reduce(patch, mesh.bounds.half().minCoeff());
  emit(patch, X_WP, out.emplace_back());
}

}  // namespace karakuri::collision_detail
