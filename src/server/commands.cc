// What clients ask for. Every message is an object with a "type"; what is wrong with one is told to its
// sender.
#include <cmath>

#include <fmt/format.h>

#include "server/live_impl.h"

namespace karakuri {

using namespace server_detail;

namespace {

constexpr std::size_t kMostSignals = 256;
constexpr double kDragFrequency = 2.5;  // of the dragged tree on the mouse's spring [Hz]
constexpr double kDragDamping = 0.7;    // of critical
constexpr double kPushSeconds = 0.1;
constexpr double kPushSpeed = 1.5;  // what a push gives to a free body [m/s]

Diagnostic refused(std::string what, std::string remedy = "") {
  return {Severity::kError, "", std::move(what), std::move(remedy)};
}

double number(const Json& message, const char* key) {
  const double x = message.at(key).get<double>();
  if (!std::isfinite(x)) throw std::invalid_argument(fmt::format("'{}' is not finite", key));
  return x;
}

Vec3 vector(const Json& message, const char* key) {
  const Json& v = message.at(key);
  if (!v.is_array() || v.size() != 3)
    throw std::invalid_argument(fmt::format("'{}' is not three numbers", key));
  const Vec3 out(v[0].get<double>(), v[1].get<double>(), v[2].get<double>());
  if (!out.allFinite() || out.norm() > 1e6)
    throw std::invalid_argument(fmt::format("'{}' is not finite, or beyond 1e6", key));
  return out;
}

LinkId link_of(const Description& description, const Json& message) {
  const auto i = message.at("link").get<std::int64_t>();
  if (i < 1 || i > static_cast<std::int64_t>(description.links.size()))
    throw std::invalid_argument("there is no such link, or it is the world");
  return description.links[static_cast<std::size_t>(i - 1)];
}

Value value_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json.is_boolean()) return json.get<bool>() ? 1.0 : 0.0;
  if (json.is_string()) return json.get<std::string>();
  return json.get<std::vector<double>>();
}

}  // namespace

void LiveSession::Impl::perform(ClientId id, const std::string& text) {
  if (!clients.contains(id)) return;
  Errors errors;
  Json number;  // by which the sender knows which message is meant
  try {
    const Json message = Json::parse(text);
    if (message.is_object() && message.contains("id") && message["id"].is_number()) number = message["id"];
    errors = command(id, message);
  } catch (const std::exception& e) {  // not JSON, or not what was expected there
    errors = {refused(fmt::format("message not understood: {}", e.what()))};
  }
  for (const Diagnostic& d : errors)
    server.send_text(id, dump({{"type", "problem"},
                               {"id", number},
                               {"where", d.where},
                               {"what", d.what},
                               {"remedy", d.remedy}}));
}

LiveSession::Impl::Errors LiveSession::Impl::command(ClientId id, const Json& message) {
  const auto type = message.at("type").get<std::string>();
  Client& client = clients[id];
  changed = true;
  last_status = {};  // all see at once what it did
  if (type == "play" || type == "pause") {
    paused = type == "pause";
    restart_clock();
    return {};
  }
  if (type == "step") {
    paused = true;
    single_steps += std::clamp(message.value("count", 1), 1, 1000);
    return {};
  }
  if (type == "speed") {
    speed = std::clamp(number(message, "value"), 0.01, 10.0);
    restart_clock();
    return {};
  }
  if (type == "reset") return reset(message.value("keyframe", std::string()));
  if (type == "scrub") return scrub(number(message, "time"));
  if (type == "subscribe") return subscribe(id, message);
  if (type == "show") {
    client.parts = {message.value("contacts", false), message.value("boxes", false),
                    message.value("islands", false)};
    return {};
  }
  if (type == "drag") return drag(client, message);
  if (type == "release") return end_drag(client), Errors{};
  if (type == "push") return push(message);
  if (type == "set") return set(message);
  if (type == "edit") return edit(message);
  if (type == "press") return press(message);
  return {refused(fmt::format("there is no message of type '{}'", type.substr(0, 40)))};
}

// ---- time

LiveSession::Impl::Errors LiveSession::Impl::reset(const std::string& keyframe) {
  Errors errors = session.reset(keyframe);
  if (!errors.empty()) return errors;
  for (auto& [id, client] : clients) client.drag = {};
  past_drags.clear();
  timeline.clear();
  timeline.keep(session);
  rate_time = session.time();
  restart_clock();
  broadcast({{"type", "restarted"}, {"time", session.time()}});
  return {};
}

LiveSession::Impl::Errors LiveSession::Impl::scrub(double time) {
  paused = true;
  if (timeline.empty()) return {};
  Errors errors = session.restore(timeline.at(time));
  if (!errors.empty()) return errors;
  forget_drags();
  rate_time = session.time();
  restart_clock();
  return {};
}

// ---- reading

LiveSession::Impl::Errors LiveSession::Impl::subscribe(ClientId id, const Json& message) {
  Errors errors;
  Client& client = clients[id];
  Json names = Json::array();
  std::vector<Signal> signals;
  for (const Json& name : message.at("signals")) {
    if (signals.size() >= kMostSignals) {
      errors.push_back(refused(fmt::format("more than {} signals at once", kMostSignals)));
      break;
    }
    const Result<Signal> found = session.find(name.get<std::string>());
    if (!found.ok()) {
      errors.insert(errors.end(), found.errors().begin(), found.errors().end());
      continue;
    }
    signals.push_back(*found);
    names.push_back(name);
  }
  client.signals = std::move(signals);
  server.send_text(id,
                   dump({{"type", "signals"}, {"subscription", ++client.subscription}, {"names", names}}));
  return errors;
}

// ---- acting

double LiveSession::Impl::tree_mass(LinkId link) const {
  const Mechanism& m = session.world().scene().mechanism;
  LinkId root = link;
  while (m.link(root).parent && m.link(root).parent != m.world()) root = m.link(root).parent;
  double mass = 0;
  std::vector<LinkId> todo = {root};
  while (!todo.empty()) {
    const Link& one = m.link(todo.back());
    todo.pop_back();
    mass += one.inertia.mass;
    for (LinkId child = one.child; child; child = m.link(child).sibling) todo.push_back(child);
  }
  return mass;
}

LiveSession::Impl::Errors LiveSession::Impl::drag(Client& client, const Json& message) {
  PointSpring spring{.link = link_of(description, message),
                     .p_L = vector(message, "point"),
                     .target = vector(message, "target")};
  const double omega = 2 * M_PI * kDragFrequency, mass = tree_mass(spring.link);
  spring.stiffness = mass * omega * omega;
  spring.damping = 2 * kDragDamping * mass * omega;
  World& world = session.world();
  world.wake(spring.link);
  if (client.drag && world.set_spring(client.drag, spring)) return {};
  client.drag = world.add_spring(spring);
  if (!client.drag) return {refused("this link cannot be dragged")};
  past_drags.push_back(client.drag);
  return {};
}

void LiveSession::Impl::end_drag(Client& client) {
  if (client.drag) session.world().remove_spring(client.drag);
  client.drag = {};
}

/// A state that is gone back to may hold springs of that time.
void LiveSession::Impl::forget_drags() {
  for (auto& [id, client] : clients) end_drag(client);
  for (const SpringId old : past_drags) session.world().remove_spring(old);
}

LiveSession::Impl::Errors LiveSession::Impl::push(const Json& message) {
  const LinkId link = link_of(description, message);
  const Vec3 direction = vector(message, "direction");
  if (direction.norm() < 1e-9) return {refused("a push needs a direction")};
  const Vec3 force = direction.normalized() * tree_mass(link) * kPushSpeed / kPushSeconds;
  session.world().wake(link);
  return session.perform(ForceAction{link, vector(message, "point"), force, Vec3::Zero(), kPushSeconds});
}

LiveSession::Impl::Errors LiveSession::Impl::press(const Json& message) {
  const auto name = message.at("name").get<std::string>();
  Errors errors;
  for (const UiElement& element : session.scene().script.ui) {
    const auto* button = std::get_if<Button>(&element);
    if (!button || button->name != name) continue;
    for (const Action& action : button->actions) {
      const Errors found = session.perform(action);
      errors.insert(errors.end(), found.begin(), found.end());
    }
    return errors;
  }
  return {refused(fmt::format("there is no button '{}'", name))};
}

LiveSession::Impl::Errors LiveSession::Impl::set(const Json& message) {
  const auto key = message.at("key").get<std::string>();
  Errors errors = session.set(key, value_of(message.at("value")));
  if (!errors.empty()) return errors;
  for (const LinkId link : description.links) session.world().wake(link);
  restart_clock();
  broadcast({{"type", "settings"}, {"settings", settings_json(session)}});
  return {};
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
  const auto dof = message.value("dof", std::size_t{0});
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

LiveSession::Impl::Errors LiveSession::Impl::edit(const Json& message) {
  const std::uint64_t before = session.world().scene_hash();
  Errors errors = session.edit(change_of(session, message));
  if (!errors.empty()) return errors;
  if (session.world().scene_hash() != before) timeline.clear();
  timeline.keep(session);
  for (const LinkId link : description.links) session.world().wake(link);
  restart_clock();
  broadcast({{"type", "properties"}, {"properties", properties_json(session)}});
  return {};
}

}  // namespace karakuri
