// Questions about shapes: rays, moving shapes, nearest and overlapping ones; against one shape or a whole
// broad phase.
#pragma once

#include <optional>
#include <span>

#include "karakuri/collision/broadphase.h"
#include "karakuri/collision/ccd.h"
#include "karakuri/collision/narrowphase.h"

namespace karakuri {

struct RayHit {
  double t = 0;  // point = origin + t direction
  Vec3 point = Vec3::Zero();
  Vec3 normal = Vec3::UnitZ();  // outward; for a surface, against the ray
  int part = -1;                // of a compound
  int face = -1;                // of a mesh or heightfield
};

/// The first point of the ray on the shape, at t in [0, limit]. A ray that starts inside a solid hits at t =
/// 0 with its normal against the ray. `direction` need not be unit.
std::optional<RayHit> ray_cast(const Shape& shape, const Transform& X, const Vec3& origin,
                               const Vec3& direction, double limit);

/// The first touch of a shape that moves by d without turning, against a still one; t of the way.
std::optional<Impact> shape_cast(const Shape& moving, const Transform& X, const Vec3& d, const Shape& still,
                                 const Transform& X_still, CollisionWorkspace& ws,
                                 const ImpactOptions& options = {});

/// What stands behind the proxies of a broad phase: element i belongs to proxy i.
struct Collider {
  const Shape* shape = nullptr;
  Transform pose;
};

struct SceneRayHit {
  ProxyId proxy = -1;
  RayHit hit;
};
struct SceneCastHit {
  ProxyId proxy = -1;
  Impact impact;
};
struct SceneNearest {
  ProxyId proxy = -1;
  ClosestPoints nearest;
};

std::optional<SceneRayHit> ray_cast(const Broadphase& scene, std::span<const Collider> colliders,
                                    const Vec3& origin, const Vec3& direction, double limit);
std::optional<SceneCastHit> shape_cast(const Broadphase& scene, std::span<const Collider> colliders,
                                       const Shape& moving, const Transform& X, const Vec3& d,
                                       CollisionWorkspace& ws, const ImpactOptions& options = {});
/// Nearest collider within `reach`.
std::optional<SceneNearest> closest(const Broadphase& scene, std::span<const Collider> colliders,
                                    const Shape& shape, const Transform& X, double reach,
                                    CollisionWorkspace& ws);
/// Fills `out` with the proxies that share a point with the shape, ascending.
void overlaps(const Broadphase& scene, std::span<const Collider> colliders, const Shape& shape,
              const Transform& X, CollisionWorkspace& ws, std::vector<ProxyId>& out);

}  // namespace karakuri
