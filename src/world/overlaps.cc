// Which links overlap as they are now, among those that may touch.
#include <algorithm>
#include <tuple>

#include "world/impl.h"

namespace karakuri {

using world_detail::BodyShape;

namespace {

constexpr std::size_t kMost = 10000;  // pairs of shapes: where there are more, nobody reads on

/// One for each two links: the deepest.
void merge_same_links(std::vector<Overlap>& all) {
  std::sort(all.begin(), all.end(), [](const Overlap& x, const Overlap& y) {
    return std::tuple(x.a, x.b, -x.depth) < std::tuple(y.a, y.b, -y.depth);
  });
  const auto same = [](const Overlap& x, const Overlap& y) { return x.a == y.a && x.b == y.b; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
}

}  // namespace

std::vector<Overlap> World::find_overlaps() const {
  const Impl& w = *impl_;
  std::vector<Overlap> found;
  if (w.settings.contact == ContactModel::kNone) return found;
  w.refresh_view();
  collision_detail::ClusteredBroadphase near =
      w.broadphase;  // the step's own finds the pairs of the next step
  std::vector<Transform> poses;
  for (std::size_t i = 0; i < w.colliders.size(); ++i) {
    poses.push_back(world_detail::pose_of(w.view, w.colliders[i]));
    near.move(static_cast<ProxyId>(i), bounding_box(*w.colliders[i].shape, poses[i]));
  }
  near.update();
  CollisionWorkspace ws;
  for (const auto& [i, j] : near.pairs()) {
    const BodyShape &a = w.colliders[i], &b = w.colliders[j];
    if (found.size() >= kMost) break;
    ClosestPoints points;
    if (!closest_points(*a.shape, poses[i], *b.shape, poses[j], ws, points) || !(points.separation < 0))
      continue;
    found.push_back({std::min(a.link, b.link), std::max(a.link, b.link), -points.separation,
                     2 * std::min(a.inner_radius, b.inner_radius)});
  }
  merge_same_links(found);
  std::stable_sort(found.begin(), found.end(),
                   [](const Overlap& x, const Overlap& y) { return x.depth > y.depth; });
  return found;
}

}  // namespace karakuri
