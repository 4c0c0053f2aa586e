// Queries against a broad phase: the tree finds candidates, the shape queries decide. Ties go to the lower
// id, so the answer does not depend on the tree.
#include <algorithm>

#include "karakuri/collision/query.h"

namespace karakuri {

std::optional<Impact> shape_cast(const Shape& moving, const Transform& X, const Vec3& d, const Shape& still,
                                 const Transform& X_still, CollisionWorkspace& ws,
                                 const ImpactOptions& options) {
  Sweep sweep = Sweep::still(X);
  sweep.displacement = d;
  const Impact impact = time_of_impact(moving, sweep, still, Sweep::still(X_still), options, ws);
  if (impact.state == ImpactState::kNone) return std::nullopt;
  return impact;
}

std::optional<SceneRayHit> ray_cast(const Broadphase& scene, std::span<const Collider> colliders,
                                    const Vec3& origin, const Vec3& direction, double limit) {
  std::optional<SceneRayHit> best;
  if (!origin.allFinite() || !direction.allFinite()) return best;
  scene.cast({origin, origin}, direction, limit, [&](ProxyId id, double within) {
    const Collider& c = colliders[id];
    const auto hit = ray_cast(*c.shape, c.pose, origin, direction, within);
    if (!hit) return within;
    if (!best || hit->t < best->hit.t || (hit->t == best->hit.t && id < best->proxy)) best = {id, *hit};
    return std::min(within, hit->t);
  });
  return best;
}

std::optional<SceneCastHit> shape_cast(const Broadphase& scene, std::span<const Collider> colliders,
                                       const Shape& moving, const Transform& X, const Vec3& d,
                                       CollisionWorkspace& ws, const ImpactOptions& options) {
  std::optional<SceneCastHit> best;
  // a target that follows from the sizes is at most that of a ball around the moving shape
  const double most = impact_target(Shape::sphere(bounding_radius(moving)), Shape::plane());
  const double target = options.target < 0 ? most : options.target;
  const Aabb box =
      bounding_box(moving, X).grown(target + (options.tolerance < 0 ? target : options.tolerance));
  scene.cast(box, d, 1, [&](ProxyId id, double within) {
    const auto hit = shape_cast(moving, X, d, *colliders[id].shape, colliders[id].pose, ws, options);
    if (!hit) return within;
    if (!best || hit->t < best->impact.t || (hit->t == best->impact.t && id < best->proxy)) best = {id, *hit};
    return std::min(within, hit->t);
  });
  return best;
}

std::optional<SceneNearest> closest(const Broadphase& scene, std::span<const Collider> colliders,
                                    const Shape& shape, const Transform& X, double reach,
                                    CollisionWorkspace& ws) {
  std::optional<SceneNearest> best;
  scene.query(bounding_box(shape, X).grown(reach), [&](ProxyId id) {
    ClosestPoints c;
    if (!closest_points(shape, X, *colliders[id].shape, colliders[id].pose, ws, c) || c.separation > reach)
      return true;
    const bool nearer = !best || c.separation < best->nearest.separation ||
                        (c.separation == best->nearest.separation && id < best->proxy);
    if (nearer) best = {id, c};
    return true;
  });
  return best;
}

void overlaps(const Broadphase& scene, std::span<const Collider> colliders, const Shape& shape,
              const Transform& X, CollisionWorkspace& ws, std::vector<ProxyId>& out) {
  out.clear();
  scene.query(bounding_box(shape, X), [&](ProxyId id) {
    if (overlap(shape, X, *colliders[id].shape, colliders[id].pose, ws)) out.push_back(id);
    return true;
  });
  std::sort(out.begin(), out.end());
}

}  // namespace karakuri
