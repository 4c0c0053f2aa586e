#include "karakuri/collision/shape.h"

#include <cmath>

#include "core/compose.h"

namespace karakuri {

const char* to_string(ShapeKind kind) {
  static constexpr const char* kNames[kShapeKinds] = {"sphere",      "capsule",   "box",     "cylinder",
                                                      "cone",        "ellipsoid", "hull",    "plane",
                                                      "heightfield", "mesh",      "compound"};
  return kNames[static_cast<int>(kind)];
}

Shape Shape::hull(std::shared_ptr<const ConvexHull> hull) {
  Shape s(ShapeKind::kHull, hull->bounds.half());
  s.data_ = std::move(hull);
  return s;
}
Shape Shape::heightfield(std::shared_ptr<const Heightfield> field) {
  Shape s(ShapeKind::kHeightfield, field->bounds.half());
  s.data_ = std::move(field);
  return s;
}
Shape Shape::mesh(std::shared_ptr<const Mesh> mesh) {
  Shape s(ShapeKind::kMesh, mesh->bounds.half());
  s.data_ = std::move(mesh);
  return s;
}
Shape Shape::compound(std::shared_ptr<const Compound> parts) {
  Shape s(ShapeKind::kCompound, parts->bounds.half());
  s.data_ = std::move(parts);
  return s;
}

std::vector<Diagnostic> check(const Shape& shape, const std::string& where) {
  std::vector<Diagnostic> found;
  if (shape.kind() == ShapeKind::kPlane) return found;
  if (shape.kind() == ShapeKind::kCompound) {
    for (const Compound::Part& part : shape.as_compound().parts) {
      for (Diagnostic& d : check(part.shape, where)) found.push_back(std::move(d));
    }
    return found;
  }
  if (shape.kind() >= ShapeKind::kHull) return found;  // checked when they were made
  const Vec3& s = shape.size();
  // Not what is plausible, but what can be computed: the broad phase has boxes and their surfaces as single
  // floats, inertias are fifth powers.
  constexpr double kLeast = 1e-15, kMost = 1e15;  // [m]
  const bool thin_capsule = shape.kind() == ShapeKind::kCapsule && s.z() >= 0 && s.z() < kLeast;
  const double least = thin_capsule ? std::min(s.x(), s.y()) : s.minCoeff();
  if (!s.allFinite() || !(least >= kLeast) || s.maxCoeff() > kMost) {
    found.push_back({Severity::kError, where,
                     compose("{} has size ({:g}, {:g}, {:g}) m; every size must be between {:g} and {:g} m",
                             to_string(shape.kind()), s.x(), s.y(), s.z(), kLeast, kMost),
                     "check the sizes and the units"});
  }
  return found;
}

Result<Shape> make_compound(const std::vector<ShapeAt>& parts) {
  auto compound = std::make_shared<Compound>();
  for (const ShapeAt& p : parts) {
    if (p.shape.kind() == ShapeKind::kCompound) {
      for (const Compound::Part& q : p.shape.as_compound().parts) {
        compound->parts.push_back({q.shape, p.pose * q.pose, {}});
      }
    } else {
      compound->parts.push_back({p.shape, p.pose, {}});
    }
  }
  if (compound->parts.empty()) {
    return Diagnostic{Severity::kError, "compound", "has no parts", "give it at least one shape"};
  }
  for (Compound::Part& part : compound->parts) {
    if (part.shape.kind() == ShapeKind::kPlane) {
      return Diagnostic{Severity::kError, "compound", "has a plane among its parts, which has no end",
                        "make the plane a shape of its own"};
    }
    part.bounds = bounding_box(part.shape, part.pose);
    compound->bounds.add(part.bounds);
  }
  return Shape::compound(std::move(compound));
}

namespace {

Aabb round_box(const Vec3& center, const Vec3& half) { return {center - half, center + half}; }

// Half width of a disc of unit radius whose axis has the direction cosines `axis`.
Vec3 disc_half(const Vec3& axis) {
  return (Vec3::Ones() - axis.cwiseProduct(axis)).cwiseMax(0.0).cwiseSqrt();
}

Aabb hull_box(const ConvexHull& h, const Transform& X) {
  if (h.vertex_count > 64) return h.bounds.transformed(X);
  Aabb box;
  for (int i = 0; i < h.vertex_count; ++i) box.add(X * h.vertex(i));
  return box;
}

}  // namespace

Aabb bounding_box(const Shape& shape, const Transform& X) {
  const Vec3& s = shape.size();
  const Vec3 z = X.R.col(2);
  switch (shape.kind()) {
    case ShapeKind::kSphere: return round_box(X.p, s);
    case ShapeKind::kCapsule: return round_box(X.p, z.cwiseAbs() * s.z() + Vec3::Constant(s.x()));
    case ShapeKind::kBox: return round_box(X.p, X.R.cwiseAbs() * s);
    case ShapeKind::kCylinder: return round_box(X.p, z.cwiseAbs() * s.z() + s.x() * disc_half(z));
    case ShapeKind::kCone: {
      Aabb box = round_box(X.p - s.z() * z, s.x() * disc_half(z));
      box.add(X.p + s.z() * z);
      return box;
    }
    case ShapeKind::kEllipsoid: {
      const Mat3 M = X.R * s.asDiagonal();
      return round_box(X.p, M.rowwise().norm());
    }
    case ShapeKind::kHull: return hull_box(shape.as_hull(), X);
    case ShapeKind::kPlane: {
      Aabb box = Aabb::everything();
      for (int k = 0; k < 3; ++k) {
        if (z[k] == 1) box.hi[k] = X.p[k];
        if (z[k] == -1) box.lo[k] = X.p[k];
      }
      return box;
    }
    case ShapeKind::kHeightfield: return shape.as_heightfield().bounds.transformed(X);
    case ShapeKind::kMesh: return shape.as_mesh().bounds.transformed(X);
    case ShapeKind::kCompound: return shape.as_compound().bounds.transformed(X);
  }
  return Aabb::everything();
}

double bounding_radius(const Shape& shape) {
  const Vec3& s = shape.size();
  const auto corner = [](const Aabb& b) { return b.lo.cwiseAbs().cwiseMax(b.hi.cwiseAbs()).norm(); };
  switch (shape.kind()) {
    case ShapeKind::kSphere: return s.x();
    case ShapeKind::kCapsule: return s.x() + s.z();
    case ShapeKind::kBox: return s.norm();
    case ShapeKind::kCylinder:
    case ShapeKind::kCone: return std::hypot(s.x(), s.z());
    case ShapeKind::kEllipsoid: return s.maxCoeff();
    case ShapeKind::kHull: {
      const ConvexHull& h = shape.as_hull();
      double r2 = 0;
      for (int i = 0; i < h.vertex_count; ++i) r2 = std::max(r2, h.vertex(i).squaredNorm());
      return std::sqrt(r2);
    }
    case ShapeKind::kPlane: return std::numeric_limits<double>::infinity();
    case ShapeKind::kHeightfield: return corner(shape.as_heightfield().bounds);
    case ShapeKind::kMesh: return corner(shape.as_mesh().bounds);
    case ShapeKind::kCompound: return corner(shape.as_compound().bounds);
  }
  return 0;
}

}  // namespace karakuri
