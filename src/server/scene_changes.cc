// What changes the scene itself while it runs, and saving it.
#include <cmath>

#include <fmt/format.h>

#include "karakuri/io/save.h"
#include "server/live_impl.h"
#include "server/tar.h"

namespace karakuri {

using namespace server_detail;

void LiveSession::Impl::wake_all() {
  for (const LinkId link : description.links) {
    session.world().wake(link);
    also([&](Session& s) { s.world().wake(link); });
  }
}

void LiveSession::Impl::scene_changed(bool timeline_fits) {
  ++edits;
  if (!timeline_fits) timeline.clear();
  timeline.keep(session);
  if (other) {
    if (!timeline_fits) other->timeline.clear();
    other->timeline.keep(other->session);
  }
  restart_clock();
}

// ---- editing

namespace {

/// The change of the scene that a message asks for.
std::function<void(Scene&)> change_of(const Session& session, const Json& message) {
  const Mechanism& m = session.world().scene().mechanism;
  const auto what = message.at("what").get<std::string>(), name = message.at("name").get<std::string>();
  const bool no_limit = message.at("value").is_null() && (what == "lower" || what == "upper");
  const double value = !no_limit         ? number(message, "value")
                       : what == "lower" ? -DofProperties::kNone
                                         : DofProperties::kNone;
  if (what == "mass" || what == "friction") {
    const LinkId link = m.find_link(name);
    if (!link) throw std::invalid_argument(fmt::format("there is no link '{}'", name));
    if (!(value >= 0) || (what == "mass" && value == 0))
      throw std::invalid_argument(what + " must be positive");
    if (what == "mass")
      return [link, value](Scene& scene) {
        Inertia& inertia = scene.mechanism.link(link).inertia;
        inertia.about_com *= inertia.mass > 0 ? value / inertia.mass : 1;
        inertia.mass = value;
      };
    return [link, value](Scene& scene) {
      for (ShapePlacement& placed : scene.mechanism.link(link).shapes) {
        const Material* old = scene.mechanism.material(placed.material);
        Material material = old ? *old : Material{};
        material.surface.static_friction = material.surface.kinetic_friction = value;
        material.name += "'";
        placed.material = scene.mechanism.add_material(material);
      }
    };
  }
  const JointId joint = m.find_joint(name);
  if (!joint) throw std::invalid_argument(fmt::format("there is no joint '{}'", name));
  const auto dof = static_cast<std::size_t>(whole(message, "dof", 0, 0, kMaxJointDofs));
  if (dof >= static_cast<std::size_t>(v_size(m.joint(joint).kind)))
    throw std::invalid_argument("the joint has no such degree of freedom");
  static const std::map<std::string, double DofProperties::*> kProperties = {
      {"lower", &DofProperties::lower},
      {"upper", &DofProperties::upper},
      {"damping", &DofProperties::damping},
      {"dry_friction", &DofProperties::dry_friction}};
  const auto found = kProperties.find(what);
  if (found == kProperties.end()) throw std::invalid_argument(fmt::format("'{}' cannot be edited", what));
  return [joint, dof, member = found->second, value](Scene& scene) {
    scene.mechanism.joint(joint).dofs[dof].*member = value;
  };
}

}  // namespace

LiveSession::Impl::Errors LiveSession::Impl::edit(ClientId id, const Json& message) {
  begin_edit({id, number_of(message), change_of(session, message), false});
  return {};
}

void ReadyEdit::make(bool adds) {
  flaws = edit.prepare();
  if (second) second_flaws = second->prepare();
  if (!flaws.empty()) return;
  properties = describe_properties_of(edit.world());
  if (!adds) return;
  edit.change()(scene.scene);
  description = describe(edit.world(), scene, present);
}

void LiveSession::Impl::begin_edit(EditOrder order) {
  auto ready = std::make_shared<ReadyEdit>(ReadyEdit{.edit = SceneEdit(session.world(), order.change),
                                                     .second = {},
                                                     .scene = order.adds ? session.scene() : LoadedScene(),
                                                     .present = present_of(session),
                                                     .ui_version = session.ui_version()});
  if (other) ready->second.emplace(other->session.world(), order.change);
  const ClientId client = order.client;
  background.start(client, [this, order = std::move(order), ready] {
    ready->make(order.adds);
    return [this, order, ready] {
      constexpr int kMostTries = 3;  // while others change the scene, too
      if (ready->flaws.empty() && !session.world().fits(ready->edit) && order.tries < kMostTries) {
        EditOrder again = order;
        ++again.tries;
        return begin_edit(std::move(again));
      }
      answer(order.client, order.number, end_edit(order, *ready));
    };
  });
}

/// The change was made in a copy, which takes the place of what there is, with its state.
LiveSession::Impl::Errors LiveSession::Impl::end_edit(const EditOrder& order, ReadyEdit& ready) {
  if (!ready.flaws.empty()) return ready.flaws;
  if (!session.world().fits(ready.edit)) return edit_at_once(order);
  const std::uint64_t before = session.world().scene_hash();
  if (Errors errors = session.edit(std::move(ready.edit)); !errors.empty()) return errors;
  also([&](Session& s) {
    if (ready.second && ready.second_flaws.empty() && s.world().fits(*ready.second))
      s.edit(std::move(*ready.second));
    else
      s.edit(order.change);
  });
  scene_changed(!order.adds && session.world().scene_hash() == before);
  properties_text = std::move(ready.properties);
  if (order.adds) take_description(std::move(ready.description));
  if (order.adds) description_fits = ready.ui_version == session.ui_version();
  changed = true;
  changed_scene = Changed::kNothing;
  for (const auto& [id, client] : clients) {
    if (order.adds)
      send_scene(id);
    else
      server.send_latest(id, Latest::kProperties, properties_text);
  }
  return {};
}

LiveSession::Impl::Errors LiveSession::Impl::edit_at_once(const EditOrder& order) {
  const std::uint64_t before = session.world().scene_hash();
  if (Errors errors = session.edit(order.change); !errors.empty()) return errors;
  also([&](Session& s) { s.edit(order.change); });
  scene_changed(!order.adds && session.world().scene_hash() == before);
  changed_scene = std::max(changed_scene, order.adds ? Changed::kAll : Changed::kProperties);
  return {};
}

// ---- dropping

namespace {

constexpr double kDensity = 500;  // of what is dropped [kg/m^3]: light wood
constexpr long long kMostDropped = 10'000;

/// About `size` large in every direction, the capsule half as thick [m].
Shape shape_to_drop(const std::string& kind, double size) {
  if (kind == "box") return Shape::box(Vec3::Constant(size / 2));
  if (kind == "ball") return Shape::sphere(size / 2);
  if (kind == "capsule") return Shape::capsule(size / 4, size / 4);
  throw std::invalid_argument(fmt::format("'{}' cannot be dropped: box, ball and capsule can", kind));
}

}  // namespace

LiveSession::Impl::Errors LiveSession::Impl::drop(ClientId id, const Json& message) {
  const auto kind = message.at("shape").get<std::string>();
  const Vec3 at = vector(message, "at");
  const double size = message.contains("size") ? number(message, "size") : 0.2;
  if (!(size >= 1e-3 && size <= 100))
    return {refused("the size of what is dropped is not from 1 mm to 100 m")};
  if (dropped >= kMostDropped) return {refused("too many bodies were dropped", "start again")};
  const Shape shape = shape_to_drop(kind, size);
  const Mechanism& m = session.world().scene().mechanism;
  std::string name = fmt::format("{} {}", kind, ++dropped);
  while (m.find_link(name) || m.find_joint(name)) name += "'";
  const auto change = [name, shape, at](Scene& scene) {
    scene.add_body(name, shape, kDensity * volume(shape), Transform::translation(at));
  };
  begin_edit({id, number_of(message), change, true});
  return {};
}

// ---- saving

namespace {

constexpr std::size_t kRoomForFile = 4u << 20;  // half of it is for all else that this client is sent

/// What a browser may call a file.
std::string file_name(const std::string& name) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) || c == '-' ? c : '_';
  return out.empty() ? "scene" : out.substr(0, 60);
}

/// Those that the client has open are the scene's from now on.
std::vector<Diagnostic> take_plots(LoadedScene& scene, const Json& plots) {
  std::vector<Plot> taken;
  std::size_t signals = 0;
  for (const Json& one : plots) {
    Plot plot{one.at("title").get<std::string>(), one.at("signals").get<std::vector<std::string>>()};
    if ((signals += plot.signals.size() + 1) > kMostSignals)
      return {refused(fmt::format("more than {} plots and signals in them", kMostSignals))};
    for (const std::string& signal : plot.signals) {
      const Result<Reference> found = find_signal(scene, signal);
      if (!found.ok()) return found.errors();
    }
    taken.push_back(std::move(plot));
  }
  scene.script.plots = std::move(taken);
  return {};
}

/// The scene as it is now: what was edited and set, and the present state as its initial one. Joints that
/// were made or cut while it ran are not in it, because a scene cannot say them.
LoadedScene present_scene(const Session& session) {
  LoadedScene out = session.scene();
  keep_state(out, session.world());
  const auto take = [&](const std::string& signal, double& into) {
    if (const Result<double> now = session.get(signal); now.ok()) into = *now;
  };
  for (UiElement& element : out.script.ui) {
    if (auto* slider = std::get_if<Slider>(&element)) take("ui." + slider->name, slider->value);
  }
  for (Controller& c : out.script.controllers) {
    const std::string& joint = out.scene.mechanism.joint(c.joint).name;
    const std::pair<const char*, double*> properties[] = {{"target", &c.target},
                                                          {"target_velocity", &c.target_velocity},
                                                          {"stiffness", &c.stiffness},
                                                          {"damping", &c.damping},
                                                          {"limit", &c.limit}};
    for (const auto& [name, value] : properties)
      take(fmt::format("joint.{}.{}.{}", joint, name, c.dof), *value);
  }
  return out;
}

/// What a page is sent of a scene: a native one, or where it has meshes a tar archive of it with them.
std::string file_message(const LoadedScene& now) {
  const std::string stem = file_name(now.name);
  const SavedScene saved = to_native(now, stem + ".assets");
  std::string name = stem + ".scene.yaml", content = saved.text;
  if (!saved.assets.empty()) {
    std::vector<TarEntry> files = {{name, saved.text}};
    for (const SavedScene::Asset& asset : saved.assets)
      files.push_back({asset.file.generic_string(), asset.content});
    content = tar(files);
    name = stem + ".tar";
  }
  const auto kind = static_cast<std::uint32_t>(BinaryKind::kFile),
             length = static_cast<std::uint32_t>(name.size());
  std::string bytes;
  for (const std::uint32_t x : {kind, length}) bytes.append(reinterpret_cast<const char*>(&x), sizeof x);
  return bytes + name + content;
}

Diagnostic save_later() {
  return refused("files that were saved before are still on their way", "save again later");
}

}  // namespace

/// Who does not read what was saved before gets no more.
LiveSession::Impl::Errors LiveSession::Impl::save(ClientId id, const Json& message) {
  if (server.room(id) < kRoomForFile) return {save_later()};
  auto now = std::make_shared<LoadedScene>(present_scene(session));
  if (message.contains("plots")) {
    Errors errors = take_plots(*now, message["plots"]);
    if (!errors.empty()) return errors;
  }
  background.start(id, [this, id, number = number_of(message), now] {
    auto bytes = std::make_shared<const std::string>(file_message(*now));
    return [this, id, number, bytes] { answer(id, number, send_file(id, bytes)); };
  });
  return {};
}

LiveSession::Impl::Errors LiveSession::Impl::send_file(ClientId id, const Bytes& file) {
  if (server.room(id) < file->size() + kRoomForFile / 2) return {save_later()};
  server.send_shared(id, file, true);
  if (session.world().attachments().size() > 0)
    return {refused("joints that were made while it ran are not in the saved scene")};
  return {};
}

}  // namespace karakuri
