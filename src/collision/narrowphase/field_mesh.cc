// Terrain and a mesh: the mesh's vertices below the terrain, and the terrain's vertices in the mesh.
#include <algorithm>
#include <cmath>

#include "collision/mesh/field_search.h"
#include "collision/narrowphase/clusters.h"
#include "collision/narrowphase/mesh_point.h"
#include "collision/narrowphase/surface_pairs.h"

namespace karakuri::collision_detail {

namespace {

struct Terrain {
  const Heightfield& field;
  const Mesh& mesh;
  Transform X;  // of the mesh in the field's frame
  double margin;
  PatchPoint lowest{Vec3::Zero(), 0, 0, 0};
  Vec3 lowest_normal = Vec3::UnitZ();
};

void vertex_over_terrain(Terrain& t, int v, CollisionWorkspace::Impl& ws) {
  const Heightfield& field = t.field;
  constexpr double kOfVertex = 60;
  ws.allowance.used += kOfVertex;
  const Vec3 p = t.X * t.mesh.vertices[v];
  int i0, i1, j0, j1;
  if (!cells_under(field, {p, p}, &i0, &i1, &j0, &j1)) {
    if (p.z() > field.bounds.hi.z() + t.margin ||
        !cells_under(field, {Vec3(p.x(), p.y(), field.bounds.lo.z()), p}, &i0, &i1, &j0, &j1))
      return;
  }
  const double u = (p.x() - field.x0) / field.dx - i0, w = (p.y() - field.y0) / field.dy - j0;
  const bool upper = w > u;
  const Vec3 a = field.vertex(i0, j0), c = field.vertex(i0 + 1, j0 + 1);
  const Vec3 o = upper ? field.vertex(i0, j0 + 1) : field.vertex(i0 + 1, j0);
  const Vec3 n = (upper ? (c - a).cross(o - a) : (o - a).cross(c - a)).normalized();
  const double separation = n.dot(p - a);
  if (separation > t.margin) return;
  const auto face = static_cast<std::uint32_t>(2 * (j0 * field.cell_columns() + i0) + upper);
  const PatchPoint point{p - 0.5 * separation * n, separation, feature::kFace | face,
                         feature::kVertex | static_cast<std::uint32_t>(v)};
  if (separation < t.lowest.separation) t.lowest = point, t.lowest_normal = n;
  if ((t.X.R * t.mesh.vertex_normals[v]).dot(n) <= 0) add_to_clusters(n, point, ws);
}

void terrain_in_mesh(const Terrain& t, int i, int j, CollisionWorkspace::Impl& ws) {
  const Vec3 p = t.field.vertex(i, j), q = t.X.inverse_apply(p);
  ws.allowance.used += 20;
  if (t.mesh.bounds.squared_distance(q) > 0) return;
  const MeshPoint at = nearest(t.mesh, q, ws);
  if (!at.inside) return;
  const Vec3 n = -(t.X.R * t.mesh.face_normals[at.face]);
  add_to_clusters(
      n,
      {p - 0.5 * at.distance * n, -at.distance,
       feature::kVertex | static_cast<std::uint32_t>(j * t.field.columns + i), feature_of(t.mesh, at)},
      ws);
}

/// The terrain's vertices below the mesh: all, or the highest of each of many equal pieces.
void terrain_vertices(const Terrain& t, const CellRange& range, CollisionWorkspace::Impl& ws) {
  constexpr double kOfSearch = 3000;
  if (ws.allowance.spread) {
    highest_cells(t.field, range, ws.allowance.affords(kOfSearch, 0.5), [&](int i, int j) {
      const auto higher = [&](int a, int b) { return t.field.vertex(a, b).z() > t.field.vertex(i, j).z(); };
      const bool right = higher(i + 1, j), up = higher(i, j + 1);
      terrain_in_mesh(t, i + right, j + (!right && up), ws);
    });
    return;
  }
  for (int j = range.j0; j <= range.j1 + 1; ++j)
    for (int i = range.i0; i <= range.i1 + 1 && !ws.allowance.spent(); ++i) terrain_in_mesh(t, i, j, ws);
}

}  // namespace

void collide_heightfield_mesh(const Heightfield& field, const Transform& X_WF, const Mesh& mesh,
                              const Transform& X_WM, double margin, CollisionWorkspace::Impl& ws,
                              std::vector<Manifold>& out) {
  const Transform X = X_WF.inverse() * X_WM;
  if (!field.bounds.grown(margin).overlaps(mesh.bounds.transformed(X)) &&
      !(mesh.bounds.transformed(X).hi.z() < field.bounds.lo.z())) {
    return;
  }
  clear_clusters(ws);
  Terrain terrain{field, mesh, X, margin};
  visit_within(ws.allowance, mesh.vertices.size(), 0.4,
               [&](std::size_t v) { vertex_over_terrain(terrain, static_cast<int>(v), ws); });
  const Aabb box = mesh.bounds.transformed(X).grown(margin);
  CellRange range;
  if (cells_under(field, box, &range.i0, &range.i1, &range.j0, &range.j1))
    terrain_vertices(terrain, range, ws);
  // sunk in by its back alone
  if (ws.cluster_count == 0 && terrain.lowest.separation < 0)
    add_to_clusters(terrain.lowest_normal, terrain.lowest, ws);
  emit_clusters(ws, mesh.bounds.half().minCoeff(), X_WF, false, out);
}

}  // namespace karakuri::collision_detail
