#include "support/random_worlds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "karakuri/spatial/rotation.h"
#include "support/random_solids.h"

namespace karakuri::test {
namespace {

constexpr std::array<std::string_view, kWorldKinds> kNames = {
    "trees", "loops", "drives", "meshes", "bouncing", "kinematic", "models", "mixed", "long-steps", "bin"};

constexpr double kSmallest = 0.03, kLargest = 10;  // extent of a shape [m]
constexpr double kStiffest = 12000;                // of drives and joint springs [N m/rad or N/m]
constexpr double kWater = 1000;                    // [kg/m^3]

double log_uniform(Random& r, double low, double high) { return low * std::pow(high / low, r.uniform()); }
bool one_in(Random& r, int n) { return r.below(n) == 0; }

/// What is made at random besides the trees.
struct Features {
  bool loops = false, drives = false, meshes = false, bouncing = false, kinematic = false, any_model = false;
};

Features features_of(WorldKind kind) {
  const bool all = kind == WorldKind::kMixed;
  return {.loops = all || kind == WorldKind::kLoops,
          .drives = all || kind == WorldKind::kDrives,
          .meshes = all || kind == WorldKind::kMeshes,
          .bouncing = all || kind == WorldKind::kBouncing,
          .kinematic = all || kind == WorldKind::kKinematic,
          .any_model = all || kind == WorldKind::kModels};
}

class Maker {
 public:
  Maker(std::uint64_t seed, const RandomWorldOptions& options)
      : r_(Random(seed).bits() + static_cast<std::uint64_t>(options.kind)),
        options_(options),
        has_(features_of(options.kind)) {
    out_.seed = seed;
    out_.kind = options.kind;
  }

  RandomWorld make() {
    choose_settings();
    add_materials();
    if (options_.kind == WorldKind::kBin)
      fill_bin();
    else
      plant_trees();
    if (has_.loops) close_loops();
    if (has_.drives) drive_joints();
    if (has_.kinematic) hold_trees();
    return std::move(out_);
  }

 private:
  // ---- settings
  void choose_settings() {
    WorldSettings& s = out_.settings;
    s.dt = options_.kind == WorldKind::kLongSteps ? log_uniform(r_, 0.02, 1)
           : options_.kind == WorldKind::kBin     ? 1.0 / 60
                                                  : log_uniform(r_, 1e-3, 0.02);
    if (has_.any_model) {
      constexpr ContactModel models[] = {ContactModel::kCone, ContactModel::kPyramid, ContactModel::kPenalty};
      constexpr Integrator integrators[] = {Integrator::kSemiImplicit, Integrator::kSymplectic,
                                            Integrator::kRk4, Integrator::kExplicit};
      s.contact = models[r_.below(3)];
      s.integrator = integrators[r_.below(4)];
    }
    s.contact = options_.contact.value_or(s.contact);
    s.integrator = options_.integrator.value_or(s.integrator);
    out_.size = log_uniform(r_, 2 * kSmallest, kLargest / 3);
    if (one_in(r_, 10)) out_.gravity = Vec3(r_.uniform(-3, 3), r_.uniform(-3, 3), r_.uniform(-12, 2));
  }
  void add_materials() {
    for (int i = 0; i < 3; ++i) {
      Surface surface;
      surface.static_friction = surface.kinetic_friction = one_in(r_, 5) ? 0 : r_.uniform(0.1, 1.2);
      if (one_in(r_, 3)) surface.kinetic_friction *= r_.uniform();
      if (has_.bouncing) surface.restitution = one_in(r_, 4) ? 1 : r_.uniform();
      materials_.push_back(out_.scene.mechanism.add_material({fmt::format("stuff{}", i), surface}));
    }
  }
  MaterialId any_material() { return materials_[r_.below(static_cast<int>(materials_.size()))]; }

  // ---- shapes
  double extent(double about) { return std::clamp(about * log_uniform(r_, 1.0 / 3, 3), kSmallest, kLargest); }
  Shape any_shape(double about) {
    const double a = extent(about) / 2, b = extent(about) / 2, c = extent(about) / 2;
    switch (r_.below(has_.meshes || bin_mixed_ ? 8 : 4)) {
      case 0: return Shape::box({a, b, c});
      case 1: return Shape::sphere(a);
      case 2: return Shape::capsule(std::min(a, b), std::max(a, b));
      case 3: return Shape::cylinder(a, b);
      case 4: return Shape::cone(a, b);
      case 5: return Shape::ellipsoid({a, b, c});
      case 6: return random_hull(r_, a);
      default: return bin_mixed_ ? random_hull(r_, b) : random_mesh(r_, a);
    }
  }
  Mat3 any_turn() { return one_in(r_, 3) ? Mat3(Mat3::Identity()) : random_turn(r_); }
  Vec3 any_point(double reach) {
    return {r_.uniform(-reach, reach), r_.uniform(-reach, reach), r_.uniform(-reach, reach)};
  }
  /// A link of one or two solid shapes about its origin.
  LinkId add_link(double density) {
    Inertia inertia;
    std::vector<std::pair<Shape, Transform>> shapes;
    for (int i = one_in(r_, 4) ? 2 : 1; i > 0; --i) {
      const Shape shape = any_shape(out_.size);
      const Transform X{any_turn(), one_in(r_, 2) ? Vec3(Vec3::Zero()) : any_point(out_.size / 2)};
      inertia = inertia + solid_inertia(shape, density).in_frame(X);
      shapes.emplace_back(shape, X);
    }
    const LinkId link =
        out_.scene.mechanism.add_link(fmt::format("link{}", out_.scene.mechanism.link_ids().size()), inertia);
    for (auto& [shape, X] : shapes) out_.scene.add_shape(link, shape, X, any_material());
    return link;
  }

  // ---- trees
  void plant_trees() {
    if (!one_in(r_, 6)) lay_ground();
    moving_ = has_.kinematic || one_in(r_, 2);
    spread_ = out_.size * (one_in(r_, 4) ? 0.1 : r_.uniform(0.5, 5));  // small: all in one place
    const double lightest = kWater * log_uniform(r_, 0.1, 1);
    const double ratio = one_in(r_, 4) ? 1000 : 5;
    const int trees = 1 + r_.below(6);
    for (int t = 0; t < trees; ++t) plant_tree(lightest, ratio);
  }
  void lay_ground() {
    if (has_.meshes && one_in(r_, 3))
      out_.scene.add_shape(out_.scene.mechanism.world(), random_terrain(r_, 20 * out_.size, out_.size / 2),
                           Transform::translation({0, 0, -out_.size / 2}), any_material());
    else
      out_.scene.add_ground(any_material());
  }
  void plant_tree(double lightest, double ratio) {
    const int links = 1 + r_.below(6);
    std::vector<LinkId> tree;
    for (int i = 0; i < links; ++i) {
      const LinkId link = add_link(lightest * log_uniform(r_, 1, ratio));
      const LinkId parent = i == 0          ? out_.scene.mechanism.world()
                            : one_in(r_, 3) ? tree[r_.below(i)]
                                            : tree.back();
      hang(link, parent);
      tree.push_back(link);
    }
    trees_.push_back(std::move(tree));
  }
  JointKind any_kind(bool root) {
    constexpr JointKind kinds[] = {JointKind::kRevolute, JointKind::kRevolute, JointKind::kSpherical,
                                   JointKind::kPrismatic, JointKind::kUniversal};
    if (root && !one_in(r_, 3)) return JointKind::kFree;
    if (one_in(r_, root ? 3 : 12)) return JointKind::kFixed;
    return kinds[r_.below(5)];
  }
  void hang(LinkId link, LinkId parent) {
    const bool root = parent == out_.scene.mechanism.world();
    Joint joint;
    joint.name = fmt::format("joint{}", out_.scene.mechanism.joint_ids().size());
    joint.kind = any_kind(root);
    joint.parent = parent, joint.child = link;
    joint.axis = one_in(r_, 2) ? Vec3(Vec3::Unit(r_.below(3))) : random_unit(r_);
    joint.second_axis = joint.axis.unitOrthogonal();
    const double height = one_in(r_, 4) ? 0 : out_.size * r_.uniform(1, 6);  // 0: in the ground
    joint.X_PF = root ? Transform{any_turn(), any_point(spread_) + Vec3(0, 0, height + spread_)}
                      : Transform{any_turn(), any_point(out_.size / 2)};
    if (joint.kind == JointKind::kFree)
      joint.X_CM.p = out_.scene.mechanism.link(link).inertia.com;
    else
      joint.X_CM = {any_turn(), any_point(out_.size / 2)};
    limit(joint);
    finish_joint(std::move(joint));
  }
  void limit(Joint& joint) {
    if (joint.kind == JointKind::kFree) return;
    for (int k = 0; k < v_size(joint.kind); ++k) {
      const double range = joint.kind == JointKind::kPrismatic ? out_.size : r_.uniform(0.2, 2.5);
      if (!one_in(r_, 3) && joint.kind != JointKind::kPrismatic) continue;
      joint.dofs[k].lower = -range, joint.dofs[k].upper = range * r_.uniform(0.1, 1);
    }
  }
  void finish_joint(Joint joint) {
    const JointKind kind = joint.kind;
    const JointId id = out_.scene.mechanism.add_joint(std::move(joint)).value();
    joints_.push_back(id);
    if (!moving_ || v_size(kind) == 0) return;
    const double speed = 2 * std::sqrt(9.8 * out_.size);  // that of a fall over its size
    InitialJoint start{id, {}, {}};
    for (int k = 0; k < v_size(kind); ++k)
      start.v.push_back(r_.uniform(-1, 1) * speed /
                        (dof_kind(kind, k) == DofKind::kTranslation ? 1 : out_.size));
    out_.scene.initial.push_back(std::move(start));
  }
  /// Where a link is at the start: all joints are neutral.
  Transform start_pose(LinkId id) const {
    const Mechanism& m = out_.scene.mechanism;
    if (id == m.world()) return {};
    const Joint& joint = m.joint(m.link(id).joint);
    return start_pose(joint.parent) * joint.X_PF * joint.X_CM.inverse();
  }

  // ---- loops
  /// The link that carries it, by fixed joints.
  LinkId carrier(LinkId id) const {
    const Mechanism& m = out_.scene.mechanism;
    while (id != m.world() && m.joint(m.link(id).joint).kind == JointKind::kFixed) id = m.link(id).parent;
    return id;
  }
  LinkId any_link() {
    const std::vector<LinkId>& tree = trees_[r_.below(static_cast<int>(trees_.size()))];
    return tree[r_.below(static_cast<int>(tree.size()))];
  }
  void close_loops() {
    for (int n = 1 + r_.below(3), i = 0; i < n; ++i) {
      const LinkId a = any_link(), b = one_in(r_, 4) ? out_.scene.mechanism.world() : any_link();
      if (carrier(a) == carrier(b)) continue;  // one rigid body
      const Transform X_WA = start_pose(a), X_WB = start_pose(b);
      const Transform X_WJ{any_turn(), (X_WA.p + X_WB.p) / 2 + any_point(out_.size / 4)};
      Joint joint = loop_joint(fmt::format("loop{}", i));
      joint.parent = a, joint.child = b;
      joint.X_PF = X_WA.inverse() * X_WJ, joint.X_CM = X_WB.inverse() * X_WJ;
      if (joint.kind == JointKind::kDistance) joint.distance = hold_apart(joint);
      if (one_in(r_, 2))
        out_.attached.push_back(joint);
      else
        (void)out_.scene.mechanism.add_loop(joint);
    }
  }
  Joint loop_joint(std::string name) {
    constexpr JointKind kinds[] = {JointKind::kSpherical,  JointKind::kSpherical, JointKind::kRevolute,
                                   JointKind::kFixed,      JointKind::kUniversal, JointKind::kDistance,
                                   JointKind::kPointOnLine};
    Joint joint;
    joint.name = std::move(name);
    joint.kind = kinds[r_.below(7)];
    joint.axis = random_unit(r_);
    joint.second_axis = joint.axis.unitOrthogonal();
    return joint;
  }
  /// Moves the frame M away from F, and says how far.
  double hold_apart(Joint& joint) {
    const Vec3 away = random_unit(r_) * extent(out_.size) / 2;
    joint.X_CM.p += away;
    return away.norm();
  }

  // ---- drives
  void drive_joints() {
    for (const JointId id : joints_) {
      Joint& joint = out_.scene.mechanism.joint(id);
      if (joint.kind == JointKind::kFree || joint.kind == JointKind::kFixed) continue;
      for (int k = 0; k < v_size(joint.kind); ++k) drive_dof(id, joint, k);
    }
  }
  void drive_dof(JointId id, Joint& joint, int k) {
    DofProperties& dof = joint.dofs[k];
    if (one_in(r_, 3)) dof.stiffness = log_uniform(r_, 1e-3, 1) * kStiffest;
    if (one_in(r_, 3)) dof.damping = log_uniform(r_, 1e-4, 1) * kStiffest / 16;
    if (one_in(r_, 5)) dof.dry_friction = log_uniform(r_, 1e-4, 1e-1) * kStiffest;
    if (one_in(r_, 5)) dof.armature = log_uniform(r_, 1e-3, 1);
    if (one_in(r_, 2)) return;
    Drive drive;
    drive.stiffness = log_uniform(r_, 1e-3, 1) * kStiffest;
    drive.damping = drive.stiffness * log_uniform(r_, 1e-3, 0.1);
    drive.q_target = r_.uniform(-1, 1) * (joint.kind == JointKind::kPrismatic ? out_.size : 1);
    if (one_in(r_, 3)) drive.limit = drive.stiffness * r_.uniform(0.01, 0.3);
    out_.drives.push_back({id, k, drive});
  }

  // ---- kinematic trees
  void hold_trees() {
    for (int n = 1 + r_.below(2), i = 0; i < n; ++i) {
      const LinkId root = trees_[r_.below(static_cast<int>(trees_.size()))].front();
      out_.kinematic.push_back(root);
    }
  }

  // ---- bin
  void fill_bin() {
    const int kind = r_.below(3);
    bin_mixed_ = kind == 2;
    out_.size = log_uniform(r_, 0.1, 0.5);
    const int count = std::max(1, options_.shapes_in_bin / (1 + r_.below(3)));
    const int side = 3 + r_.below(2);
    const double half = 1.5 * out_.size * side / 2;
    build_bin(half, 6 * out_.size);
    moving_ = one_in(r_, 2);
    for (int i = 0; i < count; ++i) drop_into_bin(i, side, kind == 0);
  }
  void build_bin(double half, double height) {
    const double t = out_.size / 4;  // half of the walls' thickness
    const LinkId world = out_.scene.mechanism.world();
    const MaterialId material = any_material();
    out_.scene.add_shape(world, Shape::box({half + 2 * t, half + 2 * t, t}),
                         Transform::translation({0, 0, -t}), material);
    for (const int axis : {0, 1})
      for (const double side : {-1.0, 1.0}) {
        Vec3 at(0, 0, height / 2), size(half + 2 * t, half + 2 * t, height / 2);
        at[axis] = side * (half + t), size[axis] = t;
        out_.scene.add_shape(world, Shape::box(size), Transform::translation(at), material);
      }
  }
  void drop_into_bin(int i, int side, bool cornered) {
    const double about = out_.size / 2, pitch = 1.5 * out_.size;
    const double a = extent(about) / 2, b = extent(about) / 2, c = extent(about) / 2;
    const Shape shape = !cornered       ? any_shape(about)
                        : one_in(r_, 2) ? Shape::box({a, b, c})
                                        : random_hull(r_, a);
    const int layer = i / (side * side), x = i % side, y = i / side % side;
    const Vec3 at(pitch * (x - 0.5 * (side - 1)), pitch * (y - 0.5 * (side - 1)), pitch * (layer + 1));
    const double density = kWater * log_uniform(r_, 0.3, 3);
    Joint joint;
    joint.name = fmt::format("body{}", i);
    joint.kind = JointKind::kFree;
    joint.parent = out_.scene.mechanism.world();
    joint.child = out_.scene.mechanism.add_link(joint.name, solid_inertia(shape, density));
    joint.X_PF = {random_turn(r_), at + any_point(0.2 * out_.size)};
    joint.X_CM.p = out_.scene.mechanism.link(joint.child).inertia.com;
    out_.scene.add_shape(joint.child, shape, {}, any_material());
    finish_joint(std::move(joint));
  }

  Random r_;
  RandomWorldOptions options_;
  Features has_;
  RandomWorld out_;
  std::vector<MaterialId> materials_;
  std::vector<std::vector<LinkId>> trees_;
  std::vector<JointId> joints_;
  bool moving_ = false, bin_mixed_ = false;
  double spread_ = 1;
};

}  // namespace

std::string_view name_of(WorldKind kind) { return kNames[static_cast<int>(kind)]; }

std::optional<WorldKind> world_kind_from_name(std::string_view name) {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  if (at == kNames.end()) return std::nullopt;
  return static_cast<WorldKind>(at - kNames.begin());
}

std::string RandomWorld::title() const {
  return fmt::format("seed {} kind {} dt {:.3g} size {:.3g} {} {}", seed, name_of(kind), settings.dt, size,
                     karakuri::name_of(settings.contact), karakuri::name_of(settings.integrator));
}

RandomWorld make_random_world(std::uint64_t seed, const RandomWorldOptions& options) {
  return Maker(seed, options).make();
}

Result<World> start(const RandomWorld& random) {
  Result<World> world = World::make(random.scene, random.settings, random.gravity);
  if (!world.ok()) return world;
  for (const DriveAt& d : random.drives) world->set_drive(d.joint, d.drive, d.dof);
  for (const Joint& joint : random.attached) {
    const Result<JointId> made = world->attach(joint);
    if (!made.ok()) return made.errors();
  }
  for (const LinkId link : random.kinematic) world->set_kinematic(link, true);
  return world;
}

}  // namespace karakuri::test
