// Shapes: small values that share their large data.
//
// Frames: capsule, cylinder and cone stand along z, centred; the cone's tip is at +half_length. A plane is
// the half-space z <= 0 and its normal is +z.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "karakuri/collision/aabb.h"
#include "karakuri/collision/convex_hull.h"
#include "karakuri/collision/heightfield.h"
#include "karakuri/collision/mesh.h"
#include "karakuri/core/diagnostic.h"
#include "karakuri/spatial/inertia.h"

namespace karakuri {

enum class ShapeKind : std::uint8_t {
  kSphere,       // size.x: radius
  kCapsule,      // size.x: radius, size.z: half the length of the cylinder's part
  kBox,          // size: half extents
  kCylinder,     // size.x: radius, size.z: half length
  kCone,         // size.x: radius of the base, size.z: half height
  kEllipsoid,    // size: half axes
  kHull,         // data: ConvexHull
  kPlane,        //
  kHeightfield,  // data: Heightfield
  kMesh,         // data: Mesh
  kCompound,     // data: Compound
};
inline constexpr int kShapeKinds = 11;
const char* to_string(ShapeKind kind);

struct Compound;

class Shape {
 public:
  Shape() = default;  // a point

  // Sizes must be positive and finite; these are for values known to be good (asserted). The checked
  // versions below report what is wrong with a user's numbers.
  static Shape sphere(double radius) { return {ShapeKind::kSphere, {radius, radius, radius}}; }
  static Shape capsule(double radius, double half_length) {
    return {ShapeKind::kCapsule, {radius, radius, half_length}};
  }
  static Shape box(const Vec3& half) { return {ShapeKind::kBox, half}; }
  static Shape cylinder(double radius, double half_length) {
    return {ShapeKind::kCylinder, {radius, radius, half_length}};
  }
  static Shape cone(double radius, double half_height) {
    return {ShapeKind::kCone, {radius, radius, half_height}};
  }
  static Shape ellipsoid(const Vec3& half_axes) { return {ShapeKind::kEllipsoid, half_axes}; }
  static Shape plane() { return {ShapeKind::kPlane, Vec3::Zero()}; }
  static Shape hull(std::shared_ptr<const ConvexHull> hull);
  static Shape heightfield(std::shared_ptr<const Heightfield> field);
  static Shape mesh(std::shared_ptr<const Mesh> mesh);
  static Shape compound(std::shared_ptr<const Compound> parts);

  static Shape hull(ConvexHull h) { return hull(std::make_shared<const ConvexHull>(std::move(h))); }
  static Shape mesh(Mesh m) { return mesh(std::make_shared<const Mesh>(std::move(m))); }
  static Shape heightfield(Heightfield f) {
    return heightfield(std::make_shared<const Heightfield>(std::move(f)));
  }

  ShapeKind kind() const { return kind_; }
  const Vec3& size() const { return size_; }
  bool convex() const { return kind_ <= ShapeKind::kHull; }
  /// @pre the kind matches
  const ConvexHull& as_hull() const { return *static_cast<const ConvexHull*>(data_.get()); }
  const Heightfield& as_heightfield() const { return *static_cast<const Heightfield*>(data_.get()); }
  const Mesh& as_mesh() const { return *static_cast<const Mesh*>(data_.get()); }
  const Compound& as_compound() const { return *static_cast<const Compound*>(data_.get()); }

 private:
  Shape(ShapeKind kind, const Vec3& size) : kind_(kind), size_(size) {}

  ShapeKind kind_ = ShapeKind::kSphere;
  Vec3 size_ = Vec3::Zero();
  std::shared_ptr<const void> data_;
};

/// Shapes rigidly joined. Parts are never compounds themselves (make_compound flattens).
struct Compound {
  struct Part {
    Shape shape;
    Transform pose;  // of the part in the compound
    Aabb bounds;     // of the part in the compound
  };
  std::vector<Part> parts;
  Aabb bounds;
};
struct ShapeAt {
  Shape shape;
  Transform pose;
};
Result<Shape> make_compound(const std::vector<ShapeAt>& parts);

/// Why this shape cannot be used (a size that is negative, zero or not finite), with the name of the thing it
/// belongs to as `where`; nothing when it is fine.
std::vector<Diagnostic> check(const Shape& shape, const std::string& where);

/// Bounding box in the frame in which X is the shape's pose. Of a plane it ends, if at all, on the plane.
Aabb bounding_box(const Shape& shape, const Transform& X);
/// Radius of the sphere about the shape's origin that holds it; infinite for a plane.
double bounding_radius(const Shape& shape);

/// Mass, centre of mass and inertia of the solid at the given density [kg/m^3]. Overlapping parts of a
/// compound count twice. Planes, heightfields and surfaces have none (mass 0).
Inertia solid_inertia(const Shape& shape, double density = 1);
inline double volume(const Shape& shape) { return solid_inertia(shape, 1).mass; }

}  // namespace karakuri
