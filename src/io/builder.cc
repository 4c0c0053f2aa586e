#include "io/builder.h"

#include <Eigen/Eigenvalues>

#include <fmt/format.h>

#include "karakuri/model/model.h"

namespace karakuri::io {

SceneBuilder::SceneBuilder(const LoadOptions& options, Report& report)
    : options(options), report(report), link_names_{{"world", 2}} {
  if (!options.cache) return;
  cache_ = options.cache_folder.empty() ? ShapeCache::of_user() : ShapeCache(options.cache_folder);
}

std::string SceneBuilder::unique(const std::string& name, Names& taken) const {
  const std::string wanted = options.prefix + name;
  std::string given = wanted;
  while (!taken.try_emplace(given, 2).second) given = fmt::format("{}_{}", wanted, taken[wanted]++);
  return given;
}

void SceneBuilder::adopt_names() {
  for (const LinkId id : mechanism().link_ids()) link_names_.try_emplace(mechanism().link(id).name, 2);
  for (const JointId id : mechanism().joint_ids()) joint_names_.try_emplace(mechanism().joint(id).name, 2);
}

LinkId SceneBuilder::add_link(const std::string& name, const Inertia& inertia, std::string where) {
  const std::string given = unique(name, link_names_);
  where_.emplace(fmt::format("link '{}'", given), std::move(where));
  return mechanism().add_link(given, inertia);
}

JointId SceneBuilder::add_joint(Joint joint, std::string where) {
  joint.name = unique(joint.name, joint_names_);
  where_.emplace(fmt::format("joint '{}'", joint.name), std::move(where));
  Result<JointId> added = mechanism().add_joint(std::move(joint));
  if (added.ok()) return *added;
  for (Diagnostic error : added.errors()) place(error), report.add({error});
  return {};
}

JointId SceneBuilder::add_loop(Joint joint, std::string where) {
  joint.name = unique(joint.name, joint_names_);
  where_.emplace(fmt::format("joint '{}'", joint.name), std::move(where));
  Result<JointId> added = mechanism().add_loop(std::move(joint));
  if (added.ok()) return *added;
  for (Diagnostic error : added.errors()) place(error), report.add({error});
  return {};
}

MaterialId SceneBuilder::material(const Surface& s, std::string_view name) {
  const std::array<double, 7> key{s.static_friction,  s.kinetic_friction, s.restitution, s.torsional_friction,
                                  s.rolling_friction, s.stiffness,        s.damping};
  const auto [at, is_new] = materials_.try_emplace(key);
  if (is_new) at->second = mechanism().add_material({options.prefix + std::string(name), s});
  return at->second;
}

std::shared_ptr<const MeshData> SceneBuilder::mesh(const std::filesystem::path& file, const Vec3& scale,
                                                   const std::string& where) {
  const auto key = std::pair(file.lexically_normal().string(), std::array{scale.x(), scale.y(), scale.z()});
  const auto [at, is_new] = meshes_.try_emplace(key);
  if (!is_new) return at->second;
  Result<MeshData> read = read_mesh_file(file, {.scale = scale, .colors = options.visuals});
  if (read.ok()) return at->second = std::make_shared<const MeshData>(std::move(*read));
  for (const Diagnostic& error : read.errors()) {
    report.error(where, fmt::format("its mesh cannot be used: {}: {}", error.where, error.what),
                 error.remedy);
  }
  return nullptr;
}

std::optional<Shape> SceneBuilder::mesh_shape(const std::shared_ptr<const MeshData>& mesh,
                                              const std::string& where, MeshCollision collision) {
  if (!mesh) return std::nullopt;
  const auto [at, is_new] = mesh_shapes_.try_emplace({mesh.get(), collision});
  if (!is_new) return at->second;
  Result<Shape> shape = cache_.shape(*mesh, collision);
  if (!shape.ok() && collision != MeshCollision::kHull) {
    report.unsupported("solid " + mesh->source, where,
                       fmt::format("mesh '{}' is no closed solid ({}); its convex hull is used", mesh->source,
                                   shape.errors()[0].what),
                       "mend the mesh");
    shape = cache_.shape(*mesh, MeshCollision::kHull);
  }
  if (shape.ok()) return at->second = std::move(*shape);
  report.unsupported("hull " + mesh->source, where,
                     fmt::format("mesh '{}' touches nothing: {}", mesh->source, shape.errors()[0].what),
                     "give it some thickness");
  return std::nullopt;
}

namespace {

/// Couplings and tendons without the joints that are held fixed since they were read.
void release_held(Mechanism& m) {
  const auto is_held = [&](JointId id) { return m.contains(id) && m.joint(id).kind == JointKind::kFixed; };
  std::erase_if(m.couplings(), [&](const Coupling& c) { return is_held(c.follower); });
  for (Coupling& c : m.couplings()) {
    if (!is_held(c.leader)) continue;
    double value = 0;  // of the polynomial where the leader stands
    for (std::size_t k = c.coefficients.size(); k-- > 0;) value = value * -c.leader_start + c.coefficients[k];
    c.leader = {};
    c.coefficients = {value, 0, 0, 0, 0};
  }
  for (FixedTendon& t : m.tendons())
    std::erase_if(t.joints, [&](const Transmission& j) { return is_held(j.joint); });
}

}  // namespace

void SceneBuilder::hold_massless_joints() {
  Mechanism& m = mechanism();
  std::unordered_map<LinkId, bool> heavy;
  std::vector<LinkId> order{m.world()};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (LinkId c = m.link(order[i]).child; c; c = m.link(c).sibling) order.push_back(c);
  }
  for (std::size_t i = order.size(); i-- > 1;) {
    const Link& link = m.link(order[i]);
    if (link.is_virtual()) continue;
    const bool has_mass = link.inertia.mass > 0 || heavy[order[i]];
    if (has_mass) heavy[link.parent] = true;
    Joint& joint = m.joint(link.joint);
    if (has_mass || joint.kind == JointKind::kFixed || link.inertia.mass < 0) continue;
    joint.kind = JointKind::kFixed;
    report.unsupported("massless " + joint.name, where_[fmt::format("joint '{}'", joint.name)],
                       fmt::format("joint '{}' moves nothing that has mass: it is held fixed", joint.name),
                       "give the links that it moves a mass");
  }
  release_held(m);
}

Inertia SceneBuilder::possible(const Inertia& inertia, const std::string& where) {
  if (!(inertia.mass > 0) || !inertia.about_com.allFinite()) return inertia;
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(inertia.about_com);
  Vec3 moments = eigen.eigenvalues();  // ascending
  const double lack = moments[2] - moments[0] - moments[1];
  // Not where the numbers make no sense at all: find_flaws() tells of these.
  if (!(moments[0] >= 0) || lack <= 1e-6 * moments[2]) return inertia;
  moments[0] += 0.5 * lack, moments[1] += 0.5 * lack;
  report.unsupported(
      "triangle " + where, where,
      fmt::format("no body has the principal moments {:.4g}, {:.4g}, {:.4g}: the largest exceeds the "
                  "sum of the others, which are raised",
                  eigen.eigenvalues()[0], eigen.eigenvalues()[1], eigen.eigenvalues()[2]),
      "correct the inertia");
  Inertia raised = inertia;
  raised.about_com = eigen.eigenvectors() * moments.asDiagonal() * eigen.eigenvectors().transpose();
  raised.about_com = 0.5 * (raised.about_com + raised.about_com.transpose()).eval();
  return raised;
}

void SceneBuilder::place(Diagnostic& diagnostic) const {
  const std::string thing = diagnostic.where.substr(0, diagnostic.where.find(','));
  const auto found = where_.find(thing);
  if (found == where_.end() && where_.empty()) return;
  diagnostic.what = fmt::format("{}: {}", diagnostic.where, diagnostic.what);
  if (found != where_.end()) {
    diagnostic.where = found->second;
    return;
  }
  const std::string& other = where_.begin()->second;  // what has no place of its own is told of the file
  diagnostic.where = other.substr(0, other.find(':')) + ":1";
}

Result<LoadedScene> SceneBuilder::finish() {
  if (report.ok()) {
    const Result<Model> model = compile(mechanism(), out.gravity);
    if (!model.ok()) {
      for (Diagnostic error : model.errors()) place(error), report.add({error});
    }
  }
  if (!report.ok()) return report.take_errors();
  out.places.merge(where_);
  out.notes = report.take_notes();
  return std::move(out);
}

}  // namespace karakuri::io
