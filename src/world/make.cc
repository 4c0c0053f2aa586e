// From a scene to a world.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "core/compose.h"
#include "karakuri/dynamics/kinematics.h"
#include "world/impl.h"
#include "world/scales.h"

namespace karakuri {

using world_detail::BodyShape;

namespace {

/// Whether a link is part of the world: nothing but fixed joints between them.
bool stands_still(const Mechanism& m, LinkId id) {
  while (id != m.world() && m.contains(m.link(id).joint) &&
         m.joint(m.link(id).joint).kind == JointKind::kFixed)
    id = m.link(id).parent;
  return id == m.world();
}

}  // namespace

void world_detail::check_shapes(const Scene& scene, std::vector<Diagnostic>& flaws) {
  for (const LinkId id : scene.mechanism.link_ids()) {
    const Link& link = scene.mechanism.link(id);
    for (const ShapePlacement& placement : link.shapes) {
      const Shape* shape = scene.shapes.find(placement.shape);
      if (!shape) {
        flaws.push_back({Severity::kError, compose("link '{}'", link.name),
                         "one of its shapes does not exist", "add it to Scene::shapes"});
        continue;
      }
      const bool endless = shape->kind() == ShapeKind::kPlane || shape->kind() == ShapeKind::kHeightfield;
      if (endless && placement.mask != 0 && !stands_still(scene.mechanism, id))
        flaws.push_back({Severity::kError, compose("link '{}'", link.name),
                         compose("it moves, and a {} is part of it", to_string(shape->kind())),
                         "planes and heightfields belong to what stands still; use a box or mesh"});
      for (Diagnostic& d : check(*shape, compose("shape of link '{}'", link.name)))
        flaws.push_back(std::move(d));
    }
  }
}

namespace {

void check_pairs(const Scene& scene, std::vector<Diagnostic>& flaws) {
  for (std::size_t i = 0; i < scene.pairs.size(); ++i) {
    const SurfacePair& pair = scene.pairs[i];
    const Material *a = scene.mechanism.material(pair.a), *b = scene.mechanism.material(pair.b);
    if (!a || !b) {
      const std::string known = a || b ? compose(" (the other is '{}')", (a ? a : b)->name) : "";
      flaws.push_back({Severity::kError, compose("Scene::pairs[{}]", i),
                       compose("its {} material does not exist{}", a ? "second" : "first", known),
                       "add the material before the pair, or leave the pair out"});
    } else if (const auto flaw = find_flaw(pair.surface)) {
      flaws.push_back({Severity::kError, compose("surface of '{}' on '{}'", a->name, b->name), "it " + *flaw,
                       compose("correct Scene::pairs[{}].surface", i)});
    }
  }
}

}  // namespace

void world_detail::check_no_contact(const Scene& scene, const Model& model, std::vector<Diagnostic>& flaws) {
  const auto name = [&](LinkId id) {
    const LinkEntry* link = model.find(id);
    return link ? compose("'{}'", link->name) : std::string("a link that does not exist");
  };
  for (std::size_t i = 0; i < scene.no_contact.size(); ++i) {
    const auto& [a, b] = scene.no_contact[i];
    if (!model.find(a) || !model.find(b))
      flaws.push_back({Severity::kError, compose("Scene::no_contact[{}]", i),
                       compose("it names {} and {}", name(a), name(b)),
                       "add the links first, or leave the pair out"});
  }
}

namespace {

void check_initial(const Scene& scene, const Model& model, std::vector<Diagnostic>& flaws) {
  const auto finite = [](const std::vector<double>& v) {
    return std::all_of(v.begin(), v.end(), [](double x) { return std::isfinite(x); });
  };
  for (const InitialJoint& initial : scene.initial) {
    const JointEntry* joint = model.find(initial.joint);
    if (!joint || joint->first_q < 0) {
      const auto at = static_cast<std::size_t>(&initial - scene.initial.data());
      flaws.push_back({Severity::kError, compose("Scene::initial[{}]", at),
                       joint ? compose("joint '{}' has no coordinates of its own", joint->name)
                             : std::string("it names a joint that does not exist"),
                       "leave it out, or name a joint of a tree that is not fixed"});
      continue;
    }
    const int nq = q_size(joint->kind), nv = v_size(joint->kind);
    if ((!initial.q.empty() && static_cast<int>(initial.q.size()) != nq) ||
        (!initial.v.empty() && static_cast<int>(initial.v.size()) != nv))
      flaws.push_back({Severity::kError, compose("initial state of joint '{}'", joint->name),
                       compose("has {} positions and {} velocities", initial.q.size(), initial.v.size()),
                       compose("a {} joint has {} and {}", name(joint->kind), nq, nv)});
    else if (!finite(initial.q) || !finite(initial.v))
      flaws.push_back({Severity::kError, compose("initial state of joint '{}'", joint->name),
                       "has numbers that are not finite", "give finite positions and velocities"});
  }
}

/// What has friction against turning or rolling on it; empty: nothing.
std::string find_turning(const Scene& scene) {
  const auto turns = [](const Surface& s) { return s.torsional_friction > 0 || s.rolling_friction > 0; };
  for (const MaterialId id : scene.mechanism.material_ids())
    if (const Material& m = *scene.mechanism.material(id); turns(m.surface))
      return compose("material '{}'", m.name);
  for (std::size_t i = 0; i < scene.pairs.size(); ++i)
    if (turns(scene.pairs[i].surface)) return compose("Scene::pairs[{}]", i);
  return {};
}

/// Explicit contact springs are stable where h (h k + 2 nu) W < 4, penalty.cc (5), with the mobility W of
/// what presses on a body: up to four corners of it, each as far from its centre of mass as its shapes reach.
void check_explicit_springs(const WorldSettings& settings, const Scene& scene,
                            std::vector<Diagnostic>& flaws) {
  constexpr double kCorners = 4, kBound = 4;
  const PenaltySettings& p = settings.penalty;
  if (settings.contact != ContactModel::kPenalty || !p.is_explicit) return;
  const auto refuse = [&](std::string what, std::string remedy) {
    flaws.push_back({Severity::kError, "settings: penalty.explicit", std::move(what), std::move(remedy)});
  };
  if (p.stiffness < 0 || p.damping < 0)
    return refuse("stiffness and damping do not follow from the scene where forces are explicit",
                  "give penalty.stiffness and penalty.damping, or leave penalty.explicit out");
  const double h = settings.dt / settings.substeps, load = h * (h * p.stiffness + 2 * p.damping);
  for (const LinkId id : scene.mechanism.link_ids()) {
    const Link& link = scene.mechanism.link(id);
    const Inertia& inertia = link.inertia;
    if (!(inertia.mass > 0) || link.shapes.empty() || stands_still(scene.mechanism, id)) continue;
    double arm = 0;
    for (const ShapePlacement& placement : link.shapes)
      if (const Shape* shape = scene.shapes.find(placement.shape))
        arm = std::max(arm, (placement.X_LS.p - inertia.com).norm() + bounding_radius(*shape));
    const double turning = inertia.about_com.diagonal().maxCoeff();
    const double mobility = kCorners * (1 / inertia.mass + (turning > 0 ? arm * arm / turning : 0));
    if (load * mobility < kBound) continue;
    return refuse(
        compose("dt (dt stiffness + 2 damping) is {:.3g} kg, more than the {:.3g} kg up to which link "
                "'{}' is stable",
                load, kBound / mobility, link.name),
        "take a smaller dt or softer springs, or leave penalty.explicit out");
  }
}

/// Radius of a sphere that fits inside: what tells a fast body from a slow one.
double inner_radius(const Shape& shape) {
  switch (shape.kind()) {
    case ShapeKind::kSphere:
    case ShapeKind::kCapsule: return shape.size().x();
    case ShapeKind::kBox:
    case ShapeKind::kCylinder:
    case ShapeKind::kEllipsoid: return shape.size().minCoeff();
    case ShapeKind::kCone: return 0.5 * shape.size().minCoeff();
    case ShapeKind::kPlane:
    case ShapeKind::kHeightfield: return std::numeric_limits<double>::infinity();
    case ShapeKind::kHull:
    case ShapeKind::kMesh:
    case ShapeKind::kCompound: return 0.5 * bounding_box(shape, {}).half().minCoeff();
  }
  return 0;
}

/// In the order of the links' slots, so that they keep their numbers whatever hangs on what. @return With
/// whom each may touch.
std::vector<CollisionFilter> add_colliders(World::Impl& w) {
  std::vector<CollisionFilter> filters;
  const std::vector<MaterialId> materials = w.scene.mechanism.material_ids();
  w.collider_start.assign(w.model.link_at.size() + 1, 0);
  for (std::size_t slot = 0; slot < w.model.link_at.size(); ++slot) {
    w.collider_start[slot] = static_cast<std::int32_t>(w.colliders.size());
    if (w.model.link_at[slot] < 0) continue;
    const LinkEntry& entry = w.model.links[w.model.link_at[slot]];
    for (const ShapePlacement& p : w.scene.mechanism.link(entry.id).shapes) {
      const Shape& shape = *w.scene.shapes.find(p.shape);
      const auto material = std::find(materials.begin(), materials.end(), p.material);
      BodyShape c{.shape = &shape,
                  .body = entry.body,
                  .material = static_cast<std::int32_t>(material - materials.begin()) + 1,
                  .link = entry.id,
                  .X_BS = entry.X_BL * p.X_LS,
                  .radius = bounding_radius(shape),
                  .inner_radius = inner_radius(shape),
                  .has_many_parts = has_many_parts(shape)};
      w.has_many_parts = w.has_many_parts || c.has_many_parts;
      if (material == materials.end()) c.material = 0;
      c.arm = c.X_BS.p.norm();
      const Material* known = w.scene.mechanism.material(p.material);
      w.collider_infos.push_back({entry.id, p.shape, p.X_LS, known ? known->surface : Surface{}});
      w.colliders.push_back(c);
      filters.push_back({p.category, p.mask, p.group});
    }
  }
  w.collider_start.back() = static_cast<std::int32_t>(w.colliders.size());
  return filters;
}

/// Where they are is told by the first step.
void fill_broadphase(World::Impl& w, const std::vector<CollisionFilter>& filters) {
  const double margin = 0.5 * w.settings.contact_margin;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    const BodyShape& c = w.colliders[i];
    const bool fixed = c.body == 0;
    const Aabb box =
        fixed ? bounding_box(*c.shape, c.X_BS).grown(margin) : Aabb::of(Vec3::Zero(), Vec3::Zero());
    w.broadphase.insert(box, filters[i], fixed, w.tree_of[c.body]);
  }
}

void tabulate_surfaces(World::Impl& w) {
  const std::vector<MaterialId> ids = w.scene.mechanism.material_ids();
  const auto surface = [&](int i) {
    return i == 0 ? Surface{} : w.scene.mechanism.material(ids[i - 1])->surface;
  };
  w.material_count = static_cast<int>(ids.size()) + 1;
  w.surfaces.resize(static_cast<std::size_t>(w.material_count) * w.material_count);
  for (int a = 0; a < w.material_count; ++a) {
    for (int b = 0; b < w.material_count; ++b) {
      Surface& out = w.surfaces[a * w.material_count + b] = combine(surface(a), surface(b));
      for (const SurfacePair& pair : w.scene.pairs) {
        if (a == 0 || b == 0) continue;
        const MaterialId ia = ids[a - 1], ib = ids[b - 1];
        if ((pair.a == ia && pair.b == ib) || (pair.a == ib && pair.b == ia)) out = pair.surface;
      }
    }
  }
}

void set_initial(World::Impl& w) {
  for (const InitialJoint& initial : w.scene.initial) {
    const JointEntry* joint = w.model.find(initial.joint);
    if (!joint) continue;  // it was cut since
    std::copy(initial.q.begin(), initial.q.end(), w.state.q.begin() + joint->first_q);
    std::copy(initial.v.begin(), initial.v.end(), w.state.v.begin() + joint->first_v);
  }
}

}  // namespace

World::Impl::Impl(Scene s, Model m, const WorldSettings& wanted)
    : SceneTables(std::move(s), std::move(m), wanted), Means(model), MotionData(model), ReadOut(model) {
  const std::size_t nq = model.nq, nv = model.nv, bodies = model.bodies.size(), count = model.trees.size();
  state = State(model);
  gravity = model.gravity;
  for (std::vector<double>* v :
       {&v_before,     &effort,   &drive_effort, &limit_impulse, &friction_impulse, &drive_impulse, &tau,
        &acceleration, &implicit, &held_effort,  &stage_effort,  &stage_diagonal,   &v_free,        &v_end,
        &v_trial,      &shift,    &move,         &sum_v,         &limit_before,     &past_a,        &past_tau,
        &v_whole,      &way,      &share_of_way})
    v->resize(nv, 0.0);
  for (std::vector<double>* v : {&q_before, &rate_q, &sum_q, &stage_q}) v->resize(nq, 0.0);
  free_velocity.resize(bodies);
  trial_velocity.resize(bodies);
  drives.resize(nv);
  drive_is_row.resize(nv);
  scene_loops = model.loops.size();
  loop_impulse.resize(scene_loops);
  loop_bounce.resize(scene_loops);
  loop_chord.resize(scene_loops, 1.0);
  relation_impulse.resize(model.relations.size());
  relation_chord.resize(model.relations.size(), 1.0);
  trees.resize(count);
  parent.resize(count);
  for (std::size_t t = 0; t < count; ++t) parent[t] = static_cast<std::int32_t>(t);
  pushed.resize(count);
  free_until.resize(count);
  free_within.resize(count);
  slowed.resize(count);
  plain.resize(count);
  shifted.resize(count);
  shift_warranted.resize(count);
  floats.resize(count);
  motions.resize(count);
  from_outside.resize(count);
  gained.resize(count);
  accounts.resize(count);
  is_viewed.resize(count);
  still_of_set.resize(count);
  given_by_loops.resize(count);
  f_ext.resize(bodies);
  held_force.resize(bodies);
  tree_of.assign(bodies, -1);
  root_links.resize(count);
  for (std::size_t t = 0; t < count; ++t)
    for (int b = model.trees[t].first; b < model.trees[t].last; ++b)
      tree_of[b] = static_cast<std::int32_t>(t);
  for (const LinkEntry& link : model.links) {
    if (link.body == 0) continue;
    const int t = tree_of[link.body];
    if (model.trees[t].first == link.body && !root_links[t]) root_links[t] = link.id;
  }
  joint_of_body.resize(bodies);
  for (const JointEntry& joint : model.joints)
    if (joint.body > 0) joint_of_body[joint.body] = joint.id;
  const std::vector<CollisionFilter> filters = add_colliders(*this);
  scales = world_detail::measure_bodies(*this);
  resolve_settings();
  fill_broadphase(*this, filters);
  tabulate_surfaces(*this);
  std::vector<std::int32_t> all_links(model.links.size());
  std::iota(all_links.begin(), all_links.end(), 0);
  exclude_around(all_links);
  for (int i = 1; i < model.body_count(); ++i) find_special_dofs(i);
  reach.resize(colliders.size());
  fast.resize(colliders.size());
  paths.resize(colliders.size());
  path_known.resize(colliders.size());
  collider_pose.resize(colliders.size());
  collider_awake.resize(colliders.size());
  collider_placed.resize(colliders.size());
  set_initial(*this);
  use_threads(settings.threads);
  after_restore();
}

std::vector<Diagnostic> world_detail::check_settings(const WorldSettings& settings, const Scene& scene) {
  std::vector<Diagnostic> flaws = find_flaws(settings);
  check_explicit_springs(settings, scene, flaws);
  if (settings.contact != ContactModel::kPyramid || settings.solver != solver::Method::kLemke) return flaws;
  if (const std::string turning = find_turning(scene); !turning.empty())
    flaws.push_back(
        {Severity::kError, "settings: solver",
         compose("'lemke' knows sliding friction alone, but {} has torsional or rolling friction", turning),
         "choose solver default or springhead for the contact model 'pyramid'"});
  return flaws;
}

void World::Impl::find_special_dofs(int i) {
  const Body& body = model.bodies[i];
  bool limited = false;
  for (int dof = body.first_v; dof < body.first_v + body.dofs; ++dof) {
    const DofProperties& p = model.dof_properties[dof];
    limited = limited || p.lower > -DofProperties::kNone || p.upper < DofProperties::kNone;
    if (p.dry_friction > 0) rubbing_dofs.push_back(dof);
  }
  if (limited) limited_bodies.push_back(i);
}

void World::Impl::use_threads(int count) {
  parallel = Parallel(count);
  slots.clear();
  for (int i = 0; i < parallel.threads(); ++i) slots.emplace_back(model);
}

void World::Impl::after_restore() {
  model.gravity = gravity;
  resolve_settings();
  tabulate_dofs();
  refresh_kinematics();
  collect_pressing(pressing);
  events.clear();
  view_fresh = past_fresh = false;
}

void World::Impl::refresh_kinematics() {
  known.q.clear();
  update_poses(model, state, ws);
  update_velocities(model, state, ws);
}

Result<World> World::make(Scene scene, const WorldSettings& settings, const Vec3& gravity) {
  std::vector<Diagnostic> flaws;
  world_detail::check_shapes(scene, flaws);
  check_pairs(scene, flaws);
  auto model = compile(scene.mechanism, gravity);
  if (!model.ok()) flaws.insert(flaws.end(), model.errors().begin(), model.errors().end());
  if (model.ok()) check_initial(scene, *model, flaws), world_detail::check_no_contact(scene, *model, flaws);
  for (Diagnostic& d : world_detail::check_settings(settings, scene)) flaws.push_back(std::move(d));
  if (!flaws.empty()) return flaws;
  auto impl = std::make_unique<Impl>(std::move(scene), std::move(*model), settings);
  static std::atomic<std::uint64_t> stamps{0};
  impl->scene_stamp = ++stamps;
  impl->scene_hash = impl->hash_scene();
  return World(std::move(impl));
}

World::World(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;
World::~World() = default;

}  // namespace karakuri
