#include "server/describe.h"

#include <cmath>
#include <cstring>
#include <unordered_map>

#include <Eigen/Eigenvalues>

#include "server/geometry.h"

namespace karakuri::server_detail {

namespace {

/// JSON has no infinity.
Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }
Json vector_json(const Vec3& v) { return {v.x(), v.y(), v.z()}; }

Json pose_json(const Transform& X) {
  const Quat r(X.R);
  return {X.p.x(), X.p.y(), X.p.z(), r.w(), r.x(), r.y(), r.z()};
}

/// The solid box of even density with this inertia: pose in the link and half its edges. Of the moments
/// I_x = m (b^2 + c^2) / 3 and so on, with half edges a, b, c:  a^2 = 3 (I_y + I_z - I_x) / (2 m).
Json inertia_box(const Inertia& inertia) {
  if (!(inertia.mass > 0)) return nullptr;
  const Eigen::SelfAdjointEigenSolver<Mat3> principal(inertia.about_com);
  Mat3 axes = principal.eigenvectors();
  if (axes.determinant() < 0) axes.col(2) *= -1;
  const Vec3 moments = principal.eigenvalues();
  const Vec3 half =
      (1.5 / inertia.mass * (Vec3::Constant(moments.sum()) - 2 * moments)).cwiseMax(0.0).cwiseSqrt();
  return {{"pose", pose_json({axes, inertia.com})}, {"half", vector_json(half)}};
}

Json elements_json(const Session& session) {
  Json all = Json::array();
  for (const UiElement& element : session.scene().script.ui) {
    if (const auto* slider = std::get_if<Slider>(&element)) {
      const Result<double> value = session.get("ui." + slider->name);
      all.push_back({{"kind", "slider"},
                     {"name", slider->name},
                     {"min", slider->min},
                     {"max", slider->max},
                     {"value", number(value.ok() ? *value : slider->value)}});
    } else if (const auto* button = std::get_if<Button>(&element)) {
      all.push_back({{"kind", "button"}, {"name", button->name}});
    } else if (const auto* text = std::get_if<Text>(&element)) {
      all.push_back({{"kind", "text"}, {"name", text->name}, {"text", text->text}});
    }
  }
  return all;
}

Json plots_json(const LoadedScene& scene) {
  Json all = Json::array();
  for (const Plot& plot : scene.script.plots)
    all.push_back({{"title", plot.title}, {"signals", plot.signals}});
  return all;
}

/// The files that run at each step.
Json code_json(const Session& session) {
  Json all = Json::array();
  if (!session.has_behaviours()) return all;
  for (const Behaviour& b : session.scene().script.behaviours) all.push_back(b.file.string());
  return all;
}

class Describer {
 public:
  Describer(const World& world, const LoadedScene& scene, const Present& present)
      : world_(world), scene_(scene), present_(present), mechanism_(world.scene().mechanism) {}

  Description make() {
    index_links();
    Json all = {{"type", "scene"},
                {"name", scene_.name},
                {"description", scene_.script.description},
                {"code", present_.code},
                {"links", links()},
                {"joints", joints()},
                {"visuals", visuals()},
                {"colliders", colliders()},
                {"meshes", Json::array()},
                {"ui", present_.ui},
                {"plots", plots_json(scene_)},
                {"actuators", actuators()},
                {"sensors", sensors()},
                {"keyframes", names(scene_.keyframes)}};
    all["meshes"] = geometry_.table();
    look(all);
    return {dump(all), geometry_.bytes(), std::move(moving_)};
  }

 private:
  void index_links() {
    indices_[mechanism_.world()] = 0;
    for (const LinkId id : mechanism_.link_ids()) {
      if (id == mechanism_.world() || mechanism_.link(id).is_virtual()) continue;
      moving_.push_back(id);
      indices_[id] = static_cast<int>(moving_.size());
    }
  }
  int index(LinkId id) const {
    if (!mechanism_.contains(id)) return 0;
    const LinkId real = mechanism_.link(id).is_virtual() ? mechanism_.link(id).real : id;
    const auto found = indices_.find(real);
    return found == indices_.end() ? 0 : found->second;
  }

  Json links() const {
    Json all = Json::array({{{"name", "world"}, {"parent", -1}, {"com", {0, 0, 0}}, {"box", nullptr}}});
    for (const LinkId id : moving_) {
      const Link& link = mechanism_.link(id);
      all.push_back({{"name", link.name},
                     {"parent", link.parent ? index(link.parent) : 0},
                     {"com", vector_json(link.inertia.com)},
                     {"box", inertia_box(link.inertia)}});
    }
    return all;
  }

  Json joints() const {
    Json all = Json::array();
    for (const JointId id : mechanism_.joint_ids()) {
      const Joint& joint = mechanism_.joint(id);
      all.push_back({{"name", joint.name},
                     {"kind", name(joint.kind)},
                     {"parent", index(joint.parent)},
                     {"child", index(joint.child)},
                     {"loop", mechanism_.link(joint.child).is_virtual()},
                     {"frame", pose_json(joint.X_PF)},
                     {"frameInChild", pose_json(joint.X_CM)},
                     {"axis", vector_json(joint.axis)},
                     {"secondAxis", vector_json(joint.second_axis)},
                     {"q", q_size(joint.kind)},
                     {"dofs", v_size(joint.kind)}});
    }
    return all;
  }

  void add(Json& all, LinkId link, const Transform& X_LS, const Shape& shape, const Json& color) {
    if (shape.kind() == ShapeKind::kCompound) {
      for (const Compound::Part& part : shape.as_compound().parts)
        add(all, link, X_LS * part.pose, part.shape, color);
      return;
    }
    Json one = {{"link", index(link)}, {"pose", pose_json(X_LS)}, {"color", color}};
    if (const int mesh = geometry_.add(shape); mesh >= 0) {
      one["kind"] = "mesh";
      one["mesh"] = mesh;
    } else {
      one["kind"] = to_string(shape.kind());
      one["size"] = vector_json(shape.size());
    }
    all.push_back(std::move(one));
  }

  void add(Json& all, const Visual& visual) {
    const Json color = visual.color_given ? Json(visual.color) : Json(nullptr);
    if (!visual.mesh) return add(all, visual.link, visual.X_LV, visual.shape, color);
    for (const auto& [mesh, own] : geometry_.add(*visual.mesh)) {
      const Json part_color = visual.color_given ? color : own ? Json(*own) : Json(nullptr);
      all.push_back({{"link", index(visual.link)},
                     {"pose", pose_json(visual.X_LV)},
                     {"color", part_color},
                     {"kind", "mesh"},
                     {"mesh", mesh}});
    }
  }

  /// Links of which nothing is said are seen as what they collide with.
  Json visuals() {
    Json all = Json::array();
    std::unordered_map<LinkId, bool> seen;
    for (const Visual& visual : scene_.visuals) {
      if (!visual.shown) continue;
      seen[visual.link] = true;
      add(all, visual);
    }
    for (const ColliderInfo& collider : world_.colliders()) {
      if (seen.contains(collider.link)) continue;
      if (const Shape* shape = world_.scene().shapes.find(collider.shape))
        add(all, collider.link, collider.X_LS, *shape, nullptr);
    }
    return all;
  }

  Json colliders() {
    Json all = Json::array();
    for (const ColliderInfo& collider : world_.colliders()) {
      if (const Shape* shape = world_.scene().shapes.find(collider.shape))
        add(all, collider.link, collider.X_LS, *shape, nullptr);
    }
    return all;
  }

  Json actuators() const {
    Json all = Json::array();
    for (std::size_t i = 0; i < scene_.actuators.size(); ++i) {
      const Actuator& actuator = scene_.actuators[i];
      all.push_back({{"name", actuator.name},
                     {"low", number(actuator.control.low)},
                     {"high", number(actuator.control.high)},
                     {"control", number(present_.controls[i])}});
    }
    return all;
  }

  Json sensors() const {
    Json all = Json::array();
    for (std::size_t i = 0; i < scene_.sensors.size(); ++i)
      all.push_back({{"name", scene_.sensors[i].name}, {"size", present_.readings[i]}});
    return all;
  }

  template <class Things>
  static Json names(const Things& things) {
    Json all = Json::array();
    for (const auto& thing : things) all.push_back(thing.name);
    return all;
  }

  void look(Json& all) const {
    if (const auto& view = scene_.script.view)
      all["view"] = {
          {"from", vector_json(view->from)}, {"to", vector_json(view->to)}, {"fov", view->field_of_view}};
    const Look look = scene_.script.look.value_or(Look{});
    all["look"] = {
        {"sky", look.sky}, {"ground", look.ground}, {"grid", look.grid}, {"shadows", look.shadows}};
  }

  const World& world_;
  const LoadedScene& scene_;
  const Present& present_;
  const Mechanism& mechanism_;
  std::vector<LinkId> moving_;
  std::unordered_map<LinkId, int> indices_;
  Geometry geometry_;
};

}  // namespace

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Present present_of(const Session& session) {
  Present out{elements_json(session), code_json(session), {}, {}};
  out.controls.assign(session.controls().begin(), session.controls().end());
  for (std::size_t i = 0; i < session.scene().sensors.size(); ++i)
    out.readings.push_back(session.reading(static_cast<int>(i)).size());
  return out;
}

Description describe(const World& world, const LoadedScene& scene, const Present& present) {
  return Describer(world, scene, present).make();
}
Description describe(const Session& session) {
  return describe(session.world(), session.scene(), present_of(session));
}

Json ui_json(const Session& session) {
  return {{"type", "ui"}, {"ui", elements_json(session)}, {"plots", plots_json(session.scene())}};
}

Json settings_json(const Session& session) {
  const WorldSettings& s = session.world().settings();
  return {{"dt", s.dt},
          {"substeps", s.substeps},
          {"integrator", name_of(s.integrator)},
          {"contact", name_of(s.contact)},
          {"solver", solver::name_of(s.solver)},
          {"tolerance", session.world().effective_settings().tolerance},
          {"max_sweeps", s.max_sweeps},
          {"max_work", s.max_work},
          {"max_newton", s.max_newton},
          {"pyramid_faces", s.pyramid_faces},
          {"quickstep_iterations", s.quickstep_iterations},
          {"threads", s.threads},
          {"gravity", vector_json(session.world().gravity())}};
}

Json properties_json(const World& world) {
  const Mechanism& m = world.scene().mechanism;
  // by appending: an ordered object looks through all of its keys at each [], and names differ anyway
  Json::object_t links, joints;
  for (const LinkId id : m.link_ids()) {
    const Link& link = m.link(id);
    if (link.is_virtual()) continue;
    Json one = {{"mass", link.inertia.mass}};
    if (!link.shapes.empty()) {
      const Material* material = m.material(link.shapes[0].material);
      one["friction"] = (material ? material->surface : Surface{}).static_friction;
    }
    links.emplace_back(link.name, std::move(one));
  }
  for (const JointId id : m.joint_ids()) {
    const Joint& joint = m.joint(id);
    Json dofs = Json::array();
    for (std::size_t i = 0; i < static_cast<std::size_t>(v_size(joint.kind)); ++i) {
      const DofProperties& dof = joint.dofs[i];
      dofs.push_back({{"lower", number(dof.lower)},
                      {"upper", number(dof.upper)},
                      {"damping", dof.damping},
                      {"dry_friction", dof.dry_friction}});
    }
    joints.emplace_back(joint.name, std::move(dofs));
  }
  return {{"links", std::move(links)}, {"joints", std::move(joints)}};
}

}  // namespace karakuri::server_detail
