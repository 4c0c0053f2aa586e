// What clients ask for. Every message is an object with a "type"; what is wrong with one is told to its
// sender.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "server/live_impl.h"

namespace karakuri {

using namespace server_detail;

namespace server_detail {

Diagnostic refused(std::string what, std::string remedy) {
  return {Severity::kError, "", std::move(what), std::move(remedy)};
}

Json number_of(const Json& message) {
  if (!message.is_object() || !message.contains("id") || !message["id"].is_number()) return nullptr;
  return message["id"];
}

double number(const Json& message, const char* key) {
  const double x = message.at(key).get<double>();
  if (!std::isfinite(x)) throw std::invalid_argument(fmt::format("'{}' is not finite", key));
  return x;
}

/// A whole number; what is far beyond one is cut to the range.
int whole(const Json& message, const char* key, int otherwise, int least, int most) {
  if (!message.contains(key)) return otherwise;
  return static_cast<int>(std::clamp<double>(std::round(number(message, key)), least, most));
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

Value value_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json.is_boolean()) return json.get<bool>() ? 1.0 : 0.0;
  if (json.is_string()) return json.get<std::string>();
  return json.get<std::vector<double>>();
}

}  // namespace server_detail

namespace {

constexpr std::size_t kMostUnknown = 16;  // signals: to see what may have been meant takes long
constexpr double kDragFrequency = 2.5;    // of the dragged tree on the mouse's spring [Hz]
constexpr double kDragDamping = 0.7;      // of critical
constexpr int kMostSteps = 100'000;       // asked for and not yet made
constexpr double kPushSeconds = 0.1;
constexpr double kPushSpeed = 1.5;  // what a push gives to a free body [m/s]

LinkId link_of(const Description& description, const Json& message) {
  const int i = whole(message, "link", 0, 0, std::numeric_limits<int>::max());
  if (i < 1 || static_cast<std::size_t>(i) > description.links.size())
    throw std::invalid_argument("there is no such link, or it is the world");
  return description.links[static_cast<std::size_t>(i - 1)];
}

}  // namespace

void LiveSession::Impl::perform(ClientId id, const std::string& text) {
  if (!clients.contains(id)) return;
  Errors errors;
  Json number;
  try {
    const Json message = Json::parse(text);
    number = number_of(message);
    errors = command(id, message);
  } catch (const std::exception& e) {  // not JSON, or not what was expected there
    errors = {refused(fmt::format("message not understood: {}", e.what()))};
  }
  answer(id, number, errors);
}

void LiveSession::Impl::answer(ClientId id, const Json& number, const Errors& errors) {
  for (const Diagnostic& d : errors) server.send_text(id, dump(problem_json(d, number)));
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
    const int count = whole(message, "count", 1, 1, 1000);  // a message that is refused changes nothing
    paused = true;
    single_steps = std::min(kMostSteps, single_steps + count);
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
  if (type == "drag") return drag(id, message);
  if (type == "release") return end_drag(id), Errors{};
  if (type == "push") return push(message);
  if (type == "set") return set(message);
  if (type == "edit") return edit(id, message);
  if (type == "press") return press(message);
  if (type == "compare") return compare(id, message);
  if (type == "drop") return drop(id, message);
  if (type == "save") return save(id, message);
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
  if (other) {
    other->session.reset(keyframe);
    other->drags.clear();
    other->timeline.clear();
    other->timeline.keep(other->session);
  }
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
  scrub_other(time);
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
    if (errors.size() >= kMostUnknown) {
      errors.push_back(refused("the others were not looked for", "subscribe to signals that are there"));
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

namespace {

/// Moves the spring, or makes it where there is none.
void pull(World& world, SpringId& id, const PointSpring& spring) {
  world.wake(spring.link);
  if (!id || !world.set_spring(id, spring)) id = world.add_spring(spring);
}

}  // namespace

LiveSession::Impl::Errors LiveSession::Impl::drag(ClientId id, const Json& message) {
  PointSpring spring{.link = link_of(description, message),
                     .p_L = vector(message, "point"),
                     .target = vector(message, "target")};
  const double omega = 2 * M_PI * kDragFrequency, mass = tree_mass(spring.link);
  spring.stiffness = mass * omega * omega;
  spring.damping = 2 * kDragDamping * mass * omega;
  Client& client = clients[id];
  const SpringId before = client.drag;
  pull(session.world(), client.drag, spring);
  if (!client.drag) return {refused("this link cannot be dragged")};
  if (client.drag != before) past_drags.push_back(client.drag);
  if (other) pull(other->session.world(), other->drags[id], spring);
  return {};
}

void LiveSession::Impl::end_drag(ClientId id) {
  Client& client = clients[id];
  if (client.drag) session.world().remove_spring(client.drag);
  client.drag = {};
  if (!other) return;
  if (const auto found = other->drags.find(id); found != other->drags.end()) {
    other->session.world().remove_spring(found->second);
    other->drags.erase(found);
  }
}

/// A state that is gone back to may hold springs of that time.
void LiveSession::Impl::forget_drags() {
  for (const auto& [id, client] : clients) end_drag(id);
  for (const SpringId old : past_drags) {
    session.world().remove_spring(old);
    also([&](Session& s) { s.world().remove_spring(old); });
  }
}

LiveSession::Impl::Errors LiveSession::Impl::push(const Json& message) {
  const LinkId link = link_of(description, message);
  const Vec3 direction = vector(message, "direction");
  if (direction.norm() < 1e-9) return {refused("a push needs a direction")};
  const Vec3 force = direction.normalized() * tree_mass(link) * kPushSpeed / kPushSeconds;
  const ForceAction action{link, vector(message, "point"), force, Vec3::Zero(), kPushSeconds};
  session.world().wake(link);
  also([&](Session& s) { s.world().wake(link), s.perform(action); });
  return session.perform(action);
}

LiveSession::Impl::Errors LiveSession::Impl::press(const Json& message) {
  const auto name = message.at("name").get<std::string>();
  also([&](Session& s) { s.press(name); });
  return session.press(name);
}

LiveSession::Impl::Errors LiveSession::Impl::set(const Json& message) {
  const auto key = message.at("key").get<std::string>();
  const Value value = value_of(message.at("value"));
  Errors errors = session.set(key, value);
  if (!errors.empty()) return errors;
  static constexpr std::string_view kSettings = "settings.";
  const bool differs =
      other && key.starts_with(kSettings) && other->settings.contains(key.substr(kSettings.size()));
  if (!differs) also([&](Session& s) { s.set(key, value); });
  wake_all();
  restart_clock();
  publish(Latest::kSettings, {{"type", "settings"}, {"settings", settings_json(session)}});
  return {};
}

}  // namespace karakuri
