#include "collision/narrowphase/clusters.h"

#include <algorithm>

namespace karakuri::collision_detail {

namespace {

constexpr int kMaxClusters = 16;
constexpr double kSameNormal = 1 - 1e-6;  // 1.4 mrad: one flat face, whatever its rounding

Patch& cluster_for(const Vec3& normal, CollisionWorkspace::Impl& ws) {
  int nearest = 0;
  double most = -2;
  for (int i = 0; i < ws.cluster_count; ++i) {
    const double dot = ws.clusters[i].normal.dot(normal);
    if (dot > most) most = dot, nearest = i;
  }
  if (most >= kSameNormal || ws.cluster_count == kMaxClusters) return ws.clusters[nearest];
  if (static_cast<int>(ws.clusters.size()) == ws.cluster_count) ws.clusters.emplace_back();
  Patch& fresh = ws.clusters[ws.cluster_count++];
  fresh.normal = normal;
  fresh.count = 0;
  return fresh;
}

// Points between two others on a line add nothing: seams leave them.
void drop_inner(Patch& patch) {
  for (int i = 0; i < patch.count; ++i) {
    const PatchPoint p = patch.points[i];
    bool inner = false;
    for (int j = 0; j < patch.count && !inner; ++j) {
      for (int k = j + 1; k < patch.count && !inner; ++k) {
        if (i == j || i == k) continue;
        const Vec3 e = patch.points[k].position - patch.points[j].position,
                   r = p.position - patch.points[j].position;
        const double u = e.squaredNorm() > 0 ? r.dot(e) / e.squaredNorm() : -1, length = e.norm();
        if (u <= 0 || u >= 1 || (r - u * e).norm() > 1e-6 * length) continue;
        const double between = (1 - u) * patch.points[j].separation + u * patch.points[k].separation;
        inner = p.separation > between - 1e-6 * length;
      }
    }
    if (!inner) continue;
    for (int k = i; k + 1 < patch.count; ++k) patch.points[k] = patch.points[k + 1];
    --patch.count, --i;
  }
}

}  // namespace

void clear_clusters(CollisionWorkspace::Impl& ws) {
  if (ws.clusters.capacity() < kMaxClusters) ws.clusters.reserve(kMaxClusters);
  ws.cluster_count = 0;
}

void add_to_clusters(const Vec3& normal, const PatchPoint& point, CollisionWorkspace::Impl& ws) {
  Patch& patch = cluster_for(normal, ws);
  for (int i = 0; i < patch.count; ++i) {
    PatchPoint& p = patch.points[i];
    if (p.feature_a != point.feature_a || p.feature_b != point.feature_b) continue;
    if (point.separation < p.separation) p = point;
    return;
  }
  if (patch.count == Patch::kMax) reduce(patch, 0);
  patch.add(point);
}

void add_to_clusters(const Patch& patch, CollisionWorkspace::Impl& ws) {
  for (int i = 0; i < patch.count; ++i) add_to_clusters(patch.normal, patch.points[i], ws);
}

void emit_clusters(CollisionWorkspace::Impl& ws, double scale, const Transform& X, bool flip,
                   std::vector<Manifold>& out) {
  for (int i = 0; i < ws.cluster_count; ++i) {
    Patch& patch = ws.clusters[i];
    reduce(patch, scale);
    drop_inner(patch);
    if (patch.count == 0) continue;
    if (flip) {
      patch.normal = -patch.normal;
      for (int k = 0; k < patch.count; ++k) std::swap(patch.points[k].feature_a, patch.points[k].feature_b);
    }
    emit(patch, X, out.emplace_back());
  }
}

}  // namespace karakuri::collision_detail
