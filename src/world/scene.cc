#include "karakuri/world/scene.h"

namespace karakuri {

ShapeId Scene::add_shape(LinkId link, Shape shape, const Transform& X_LS, MaterialId material) {
  const ShapeId id = shapes.insert(std::move(shape));
  mechanism.link(link).shapes.push_back({.shape = id, .X_LS = X_LS, .material = material});
  return id;
}

LinkId Scene::add_body(std::string name, Shape shape, double mass, const Transform& X_WL,
                       MaterialId material) {
  Inertia inertia = solid_inertia(shape);
  const double scale = inertia.mass > 0 ? mass / inertia.mass : 0;
  inertia.mass = mass;
  inertia.about_com *= scale;
  const LinkId link = mechanism.add_free_link(std::move(name), inertia, X_WL);
  add_shape(link, std::move(shape), {}, material);
  return link;
}

ShapeId Scene::add_ground(MaterialId material, double height) {
  return add_shape(mechanism.world(), Shape::plane(), Transform::translation({0, 0, height}), material);
}

}  // namespace karakuri
