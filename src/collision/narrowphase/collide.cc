// Which pair goes where: one table, ordered so that the first kind is not after the second.
#include <algorithm>
#include <cmath>
#include <utility>

#include "collision/narrowphase/capsules.h"
#include "collision/narrowphase/convex_patch.h"
#include "collision/narrowphase/surface_pairs.h"
#include "collision/narrowphase/workspace.h"

namespace karakuri {

CollisionWorkspace::CollisionWorkspace() : impl_(std::make_unique<Impl>()) {}
CollisionWorkspace::~CollisionWorkspace() = default;
CollisionWorkspace::CollisionWorkspace(CollisionWorkspace&&) noexcept = default;
CollisionWorkspace& CollisionWorkspace::operator=(CollisionWorkspace&&) noexcept = default;
double CollisionWorkspace::work() const { return impl_->allowance.used; }
bool CollisionWorkspace::cut() const { return impl_->allowance.cut; }

namespace {

using namespace collision_detail;

void flip_from(std::size_t first, std::vector<Manifold>& out) {
  for (std::size_t i = first; i < out.size(); ++i) {
    Manifold& m = out[i];
    m.normal = -m.normal;
    std::swap(m.part_a, m.part_b);
    for (int k = 0; k < m.count; ++k) std::swap(m.points[k].feature_a, m.points[k].feature_b);
  }
}

void collide_convex(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
                    double margin, CollisionWorkspace::Impl& ws, std::vector<Manifold>& out, PairHint* hint) {
  const ConvexView va = convex_view(a), vb = convex_view(b);
  const ConvexPair pair{&va, &vb, X_WA.inverse() * X_WB};
  Patch patch;
  convex_patch(pair, margin, ws.epa, patch, hint);
  if (patch.count > 0) emit(patch, X_WA, out.emplace_back());
}

// The corners of the face that looks at the plane; for round shapes its lowest point.
void collide_convex_plane(const Shape& a, const Transform& X_WA, const Transform& X_WP, double margin,
                          std::vector<Manifold>& out) {
  const ConvexView c = convex_view(a);
  const Transform X = X_WP.inverse() * X_WA;
  const Vec3 down = X.R.transpose() * -Vec3::UnitZ();
  const SupportPoint lowest = support(c, down);
  const double least = (X * lowest.p).z() - c.radius;
  if (least > margin) return;
  FacePolygon face;
  support_face(c, X, -Vec3::UnitZ(), face);
  Patch patch;
  patch.normal = -Vec3::UnitZ();
  double reached = 1e300;
  for (int i = 0; i < face.count; ++i) {
    const double s = face.v[i].z() - c.radius;
    reached = std::min(reached, s);
    if (s <= margin)
      patch.add({Vec3(face.v[i].x(), face.v[i].y(), 0.5 * s), s, face.vertex[i], feature::kFace});
  }
  // a large face that leans may hide a deeper corner of its neighbour
  if (reached > least + 1e-6 * c.extent) {
    const Vec3 p = X * lowest.p;
    patch.add({Vec3(p.x(), p.y(), 0.5 * least), least,
               feature::kVertex | static_cast<std::uint32_t>(std::max(lowest.index, 0)), feature::kFace});
  }
  reduce(patch, c.extent);
  emit(patch, X_WP, out.emplace_back());
}

void collide_any(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
                 const CollideOptions& options, CollisionWorkspace& ws, std::vector<Manifold>& out,
                 PairHint* hint);

// Of too many parts those that stand far apart in the list come first, and none may cost more than a part of
// the whole.
void collide_parts(const Shape& a, const Transform& X_WA, const Shape& compound, const Transform& X_WB,
                   const CollideOptions& options, CollisionWorkspace& ws, std::vector<Manifold>& out) {
  constexpr double kOfBox = 20, kOfPart = 3000, kShare = 1.0 / 8;
  const Compound& parts = compound.as_compound();
  const Aabb near = bounding_box(a, X_WB.inverse() * X_WA).grown(options.margin);
  Allowance& allowance = ws.impl().allowance;
  const double most = allowance.most;
  visit_within(allowance, parts.parts.size(), 1, [&](std::size_t i) {
    const Compound::Part& part = parts.parts[i];
    allowance.used += kOfBox;
    if (!near.overlaps(part.bounds)) return;
    allowance.used += kOfPart;
    const std::size_t first = out.size();
    if (allowance.spread) allowance.most = kShare * most;
    collide_any(a, X_WA, part.shape, X_WB * part.pose, options, ws, out, nullptr);
    allowance.most = most;
    for (std::size_t k = first; k < out.size(); ++k) out[k].part_b = static_cast<std::uint32_t>(i);
  });
}

// The order in which the table below expects its pairs; a convex mesh counts as a hull.
int rank(const Shape& s) {
  return static_cast<int>(has_convex_view(s) ? std::min(s.kind(), ShapeKind::kHull) : s.kind());
}

// @pre rank(a) <= rank(b)
void collide_ordered(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
                     const CollideOptions& options, CollisionWorkspace& ws, std::vector<Manifold>& out,
                     PairHint* hint) {
  const double margin = options.margin;
  CollisionWorkspace::Impl& w = ws.impl();
  const bool convex = has_convex_view(a);
  switch (static_cast<ShapeKind>(rank(b))) {
    default: return collide_convex(a, X_WA, b, X_WB, margin, w, out, hint);
    case ShapeKind::kPlane:
      if (is_capsule(a)) return collide_capsule_plane(a, X_WA, X_WB, margin, out);
      if (convex) collide_convex_plane(a, X_WA, X_WB, margin, out);
      return;
    case ShapeKind::kHeightfield:
      if (convex) {
        collide_convex_heightfield(convex_view(a), X_WA, b.as_heightfield(), X_WB, margin, w, out);
      }
      return;
    case ShapeKind::kMesh:
      if (convex) return collide_convex_mesh(convex_view(a), X_WA, b.as_mesh(), X_WB, margin, w, out);
      if (a.kind() == ShapeKind::kPlane) return collide_plane_mesh(X_WA, b.as_mesh(), X_WB, margin, w, out);
      if (a.kind() == ShapeKind::kHeightfield) {
        return collide_heightfield_mesh(a.as_heightfield(), X_WA, b.as_mesh(), X_WB, margin, w, out);
      }
      return collide_mesh_mesh(a.as_mesh(), X_WA, b.as_mesh(), X_WB, margin, w, out);
    case ShapeKind::kCompound: return collide_parts(a, X_WA, b, X_WB, options, ws, out);
  }
}

void collide_any(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
                 const CollideOptions& options, CollisionWorkspace& ws, std::vector<Manifold>& out,
                 PairHint* hint) {
  if (is_capsule(a) && is_capsule(b) && collide_capsules(a, X_WA, b, X_WB, options.margin, out)) return;
  if (rank(a) <= rank(b)) return collide_ordered(a, X_WA, b, X_WB, options, ws, out, hint);
  const std::size_t first = out.size();
  if (!has_convex_view(a)) hint = nullptr;  // of use between two convex shapes alone
  PairHint turned;
  if (hint) turned.axis = -(X_WB.R.transpose() * (X_WA.R * hint->axis));
  collide_ordered(b, X_WB, a, X_WA, options, ws, out, hint ? &turned : nullptr);
  if (hint) hint->axis = -(X_WA.R.transpose() * (X_WB.R * turned.axis));
  flip_from(first, out);
}

}  // namespace

void collide(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
             const CollideOptions& options, CollisionWorkspace& ws, std::vector<Manifold>& out,
             PairHint* hint) {
  Allowance& allowance = ws.impl().allowance;
  const std::size_t first = out.size();
  allowance = {.most = options.max_work};
  collide_any(a, X_WA, b, X_WB, options, ws, out, hint);
  if (!allowance.spent()) return;
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
  const double spent = allowance.used;
  allowance = {.most = options.max_work, .spread = true, .cut = true};
  collide_any(a, X_WA, b, X_WB, options, ws, out, hint);
  allowance.used += spent;
}

bool has_many_parts(const Shape& shape) {
  return !has_convex_view(shape) && shape.kind() != ShapeKind::kPlane;
}

}  // namespace karakuri
