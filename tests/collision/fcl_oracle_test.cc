#ifdef KARAKURI_HAVE_FCL

#include "collision/fcl_oracle.h"

#include <fcl/fcl.h>

#include <map>
#include <memory>

#include "collision/random_surfaces.h"

namespace karakuri::testing {

namespace {

// Of meshes and terrains; made once, since the tests draw from a fixed set.
std::shared_ptr<fcl::CollisionGeometryd> soup(const Shape& shape) {
  static std::map<const void*, std::shared_ptr<fcl::CollisionGeometryd>> made;
  const bool mesh = shape.kind() == ShapeKind::kMesh;
  const void* key = mesh ? static_cast<const void*>(&shape.as_mesh()) : &shape.as_heightfield();
  if (const auto at = made.find(key); at != made.end()) return at->second;
  std::vector<Corners> triangles;
  triangles_of(shape, Transform::identity(), triangles);
  auto model = std::make_shared<fcl::BVHModel<fcl::OBBRSSd>>();
  model->beginModel();
  for (const Corners& t : triangles) model->addTriangle(t[0], t[1], t[2]);
  model->endModel();
  return made[key] = model;
}

std::shared_ptr<fcl::CollisionGeometryd> geometry(const Shape& shape) {
  const Vec3& s = shape.size();
  switch (shape.kind()) {
    case ShapeKind::kSphere: return std::make_shared<fcl::Sphered>(s.x());
    case ShapeKind::kCapsule: return std::make_shared<fcl::Capsuled>(s.x(), 2 * s.z());
    case ShapeKind::kBox: return std::make_shared<fcl::Boxd>(2 * s.x(), 2 * s.y(), 2 * s.z());
    case ShapeKind::kCylinder: return std::make_shared<fcl::Cylinderd>(s.x(), 2 * s.z());
    case ShapeKind::kCone: return std::make_shared<fcl::Coned>(s.x(), 2 * s.z());
    case ShapeKind::kPlane: return std::make_shared<fcl::Halfspaced>(0, 0, 1, 0);
    case ShapeKind::kMesh:
    case ShapeKind::kHeightfield: return soup(shape);
    case ShapeKind::kEllipsoid: return std::make_shared<fcl::Ellipsoidd>(s.x(), s.y(), s.z());
    default: {
      const ConvexHull& h = shape.as_hull();
      auto vertices = std::make_shared<std::vector<fcl::Vector3d>>();
      for (int i = 0; i < h.vertex_count; ++i) vertices->push_back(h.vertex(i));
      auto faces = std::make_shared<std::vector<int>>();
      for (const HullFace& f : h.faces) {
        faces->push_back(f.count);
        for (int k = 0; k < f.count; ++k) faces->push_back(h.origin[f.first + k]);
      }
      return std::make_shared<fcl::Convexd>(vertices, static_cast<int>(h.faces.size()), faces, false);
    }
  }
}

fcl::Transform3d pose(const Transform& X) {
  fcl::Transform3d T = fcl::Transform3d::Identity();
  T.linear() = X.R;
  T.translation() = X.p;
  return T;
}

}  // namespace

FclAnswer fcl_distance(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB) {
  FclAnswer answer;
  try {
    fcl::CollisionObjectd oa(geometry(a), pose(X_WA)), ob(geometry(b), pose(X_WB));
    // Overlaps by libccd, which finds more of them; distances by FCL's own GJK: libccd's aborts in FCL's
    // asserts on degenerate poses.
    fcl::CollisionRequestd request(1, true);
    request.gjk_solver_type = fcl::GST_LIBCCD;
    fcl::CollisionResultd hit;
    fcl::collide(&oa, &ob, request, hit);
    if (hit.numContacts() > 0) {
      answer.separation = -hit.getContact(0).penetration_depth;
      answer.normal = hit.getContact(0).normal;
    } else {
      fcl::DistanceRequestd distance(true, false);
      distance.gjk_solver_type = fcl::GST_INDEP;
      fcl::DistanceResultd apart;
      answer.separation = fcl::distance(&oa, &ob, distance, apart);
      if (!(answer.separation > 0)) return answer;
      answer.normal = (apart.nearest_points[1] - apart.nearest_points[0]).normalized();
    }
    answer.known =
        std::isfinite(answer.separation) && answer.normal.allFinite() && answer.normal.norm() > 0.5;
  } catch (const std::exception&) {
    answer.known = false;  // FCL throws where its own checks fail
  }
  return answer;
}

}  // namespace karakuri::testing

#endif
