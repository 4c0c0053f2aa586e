// A hash of what a snapshot must fit: all values of a scene that a step depends on, and nothing else. Names,
// materials of nothing and how a scene starts may differ. Gravity and what is joined or cut while it runs are
// parts of the snapshot.
#include <algorithm>
#include <bit>

#include "karakuri/core/hash.h"
#include "world/impl.h"

namespace karakuri {

namespace {

using world_detail::BodyShape;

void add(Hash& hash, std::initializer_list<double> values) {
  for (const double value : values) hash.add(value);
}
void add(Hash& hash, const Vec3& v) { add(hash, {v.x(), v.y(), v.z()}); }
void add(Hash& hash, const Packed3& v) { add(hash, Vec3(v)); }
void add(Hash& hash, const Mat3& m) {
  for (int i = 0; i < 3; ++i) add(hash, Vec3(m.col(i)));
}
void add(Hash& hash, const Transform& X) {
  add(hash, X.R);
  add(hash, X.p);
}

/// Large data, fast.
template <class T>
void add_all(Hash& hash, std::span<const T> values) {
  hash.add(checksum(std::as_bytes(values)));
}

void add(Hash& hash, const Shape& shape) {
  hash.add(std::uint64_t(shape.kind()));
  add(hash, shape.size());
  switch (shape.kind()) {
    case ShapeKind::kHull: {
      const ConvexHull& h = shape.as_hull();
      for (const std::vector<double>* axis : {&h.x, &h.y, &h.z}) add_all<double>(hash, *axis);
      break;
    }
    case ShapeKind::kHeightfield: {
      const Heightfield& f = shape.as_heightfield();
      add(hash, {double(f.columns), double(f.rows), f.x0, f.y0, f.dx, f.dy});
      add_all<double>(hash, f.heights);
      break;
    }
    case ShapeKind::kMesh: {
      const Mesh& m = shape.as_mesh();
      hash.add(std::uint64_t(m.use));
      add_all<Vec3>(hash, m.vertices);
      add_all<Triangle>(hash, m.faces);
      break;
    }
    case ShapeKind::kCompound:
      for (const Compound::Part& part : shape.as_compound().parts) {
        add(hash, part.shape);
        add(hash, part.pose);
      }
      break;
    default: break;
  }
}

void add(Hash& hash, const Surface& s) {
  add(hash, {s.static_friction, s.kinetic_friction, s.restitution, s.torsional_friction, s.rolling_friction,
             s.stiffness, s.damping});
}

void add(Hash& hash, const Body& b) {
  hash.add(std::uint64_t(b.parent) << 8 | std::uint64_t(b.kind));
  add(hash, {b.mass, b.pitch});
  hash.add(std::span<const double>(b.inertia, 6));
  for (const Packed3& v : {b.p_PF, b.mass_com}) add(hash, v);
  add(hash, Mat3(b.R_PF));
}

void add(Hash& hash, const DofProperties& p) {
  add(hash, {p.lower, p.upper, p.damping, p.stiffness, p.rest, p.dry_friction, p.armature, p.effort_limit,
             p.velocity_limit, p.limit_stiffness, p.limit_damping});
}

void add(Hash& hash, const Loop& l) {
  hash.add(std::uint64_t(l.body_f) << 32 | std::uint64_t(l.body_m));
  hash.add(std::uint64_t(l.kind));
  for (const Transform& X : {l.X_BF, l.X_BM}) add(hash, X);
  for (const Vec3& v : {l.axis, l.second_axis}) add(hash, v);
  add(hash, {l.pitch, l.distance, l.range.low, l.range.high, l.stiffness, l.turn_stiffness, l.damping,
             l.turn_damping});
}

void add(Hash& hash, const Relation& r) {
  hash.add(std::uint64_t(r.held) << 1 | std::uint64_t(r.has_leader));
  r.for_each_dof([&](const Relation::Term& t) { add(hash, {double(t.dof), t.scale}); });
  hash.add(r.polynomial);
  add(hash, {r.leader_start, r.range.low, r.range.high, r.stiffness, r.damping, r.rest, r.limit_stiffness,
             r.limit_damping});
}

/// Materials in the order in which colliders name them: those that nothing is made of do not count.
std::vector<std::int32_t> used_materials(const World::Impl& w) {
  std::vector<std::int32_t> out;
  for (const BodyShape& c : w.colliders)
    if (std::find(out.begin(), out.end(), c.material) == out.end()) out.push_back(c.material);
  return out;
}

void add_colliders(Hash& hash, const World::Impl& w) {
  const std::vector<std::int32_t> materials = used_materials(w);
  for (std::size_t i = 0; i < w.colliders.size(); ++i) {
    const BodyShape& c = w.colliders[i];
    hash.add(std::uint64_t(c.body));
    add(hash, *c.shape);
    add(hash, c.X_BS);
    const std::size_t place = i - static_cast<std::size_t>(w.collider_start[c.link.index]);
    const ShapePlacement& p = w.scene.mechanism.link(c.link).shapes[place];
    hash.add(std::uint64_t{p.category} << 32 | p.mask);
    hash.add(std::uint64_t{std::bit_cast<std::uint32_t>(p.group)});
    hash.add(std::uint64_t(std::find(materials.begin(), materials.end(), c.material) - materials.begin()));
  }
  for (const std::int32_t a : materials)
    for (const std::int32_t b : materials) add(hash, w.surfaces[a * w.material_count + b]);
  for (const auto& [a, b] : w.scene.no_contact)
    hash.add(std::uint64_t(w.collider_start[a.index]) << 32 | std::uint64_t(w.collider_start[b.index]));
}

}  // namespace

std::uint64_t World::Impl::hash_scene() const {
  Hash hash;
  for (const Body& body : model.bodies) add(hash, body);
  for (const Packed33& turn : model.between) add(hash, Mat3(turn));
  for (const LinkEntry& link : model.links) {
    hash.add(std::uint64_t(link.body));
    add(hash, link.X_BL);
  }
  for (const DofProperties& dof : model.dof_properties) add(hash, dof);
  for (const Loop& loop : model.loops) add(hash, loop);
  for (const Relation& relation : model.relations) add(hash, relation);
  add_colliders(hash, *this);
  return hash.value();
}

}  // namespace karakuri
