// Making, stepping, resetting, saving.
#include "karakuri/session/session.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "karakuri/core/near_names.h"
#include "session/impl.h"

namespace karakuri {

using namespace session_detail;

namespace {

/// Things without a name get one, so that all can be named.
template <class Things>
void name_all(Things& things, const char* stem) {
  for (std::size_t i = 0; i < things.size(); ++i) {
    if (things[i].name.empty()) things[i].name = fmt::format("{}{}", stem, i);
  }
}

Diagnostic unknown_keyframe(const LoadedScene& scene, std::string_view name) {
  std::vector<std::string> names;
  for (const Keyframe& key : scene.keyframes) names.push_back(key.name);
  return {Severity::kError, scene.name, fmt::format("there is no keyframe '{}'", name),
          suggestion(name, names)};
}

}  // namespace

// ---- making

Result<Session> Session::make(LoadedScene scene, const SessionOptions& options) {
  name_all(scene.actuators, "actuator");
  name_all(scene.sensors, "sensor");
  name_all(scene.keyframes, "keyframe");
  Result<World> world = World::make(scene.scene, scene.settings, scene.gravity);
  if (!world.ok()) return world.errors();
  auto impl = std::make_unique<Impl>(std::move(scene), std::move(*world), options);
  const Keyframe* keyframe = nullptr;
  if (!options.keyframe.empty()) {
    keyframe = impl->find_keyframe(options.keyframe);
    if (!keyframe) return unknown_keyframe(impl->scene, options.keyframe);
  }
  impl->start(keyframe);
  if (std::vector<Diagnostic> flaws = impl->make_walkers(); !flaws.empty()) return flaws;
  return Session(std::move(impl));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Session::Impl::Impl(LoadedScene loaded, World made, const SessionOptions& given)
    : scene(std::move(loaded)), world(std::move(made)), options(given) {
  int numbers = 0;
  for (const Sensor& sensor : scene.sensors) {
    const int size = sensor_size(scene, sensor);
    sensors.push_back({numbers, size, size > 0 && (sensor.noise > 0 || sensor.rate > 0)});
    numbers += size;
  }
  state.readings.resize(static_cast<std::size_t>(numbers));
  state.sliders.resize(scene.script.ui.size());
  presses.resize(scene.script.ui.size());
  for (std::size_t i = 0; i < scene.script.ui.size(); ++i) {
    if (const auto* slider = std::get_if<Slider>(&scene.script.ui[i])) state.sliders[i] = slider->value;
  }
  take_controllers();
  find_boxes();
}

const Keyframe* Session::Impl::find_keyframe(std::string_view name) const {
  if (const Keyframe* key = scene.find_keyframe(name)) return key;
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = problem == std::errc() && end == name.data() + name.size();
  return is_number && number < scene.keyframes.size() ? &scene.keyframes[number] : nullptr;
}

/// What a freshly made world lacks.
void Session::Impl::start(const Keyframe* keyframe) {
  world.random() = Random(options.seed);
  for (const JointId loop : scene.open_loops) world.set_loop_closed(loop, false);
  for (const Breakable& b : scene.script.breakables) world.set_breaking(b.joint, b.force, b.torque);
  state.controls.assign(scene.actuators.size(), 0.0);
  state.activations.assign(scene.actuators.size(), 0.0);
  for (const LinkId link : scene.kinematic) world.set_kinematic(link, true);
  if (keyframe) {
    for (const InitialJoint& set : keyframe->joints) {
      if (!set.q.empty()) world.set_q(set.joint, set.q);
      if (!set.v.empty()) world.set_v(set.joint, set.v);
    }
    if (keyframe->control.size() == state.controls.size()) state.controls = keyframe->control;
    if (keyframe->activation.size() == state.activations.size()) state.activations = keyframe->activation;
    world.set_time(keyframe->time);
  }
  state.next_event.clear();
  for (const TimedEvent& event : scene.script.events) state.next_event.push_back(event.time);
  state.next_sample.assign(scene.sensors.size(), world.time());
  state.forces.clear();
  problems.clear();
  state.drives_changed = true;
  sample_sensors();
}

std::vector<Diagnostic> Session::reset(std::string_view name) {
  const Keyframe* keyframe = name.empty() ? nullptr : impl_->find_keyframe(name);
  if (!name.empty() && !keyframe) return {unknown_keyframe(impl_->scene, name)};
  Result<World> world = World::make(impl_->scene.scene, impl_->world.settings(), impl_->world.gravity());
  if (!world.ok()) return world.errors();
  impl_->world = std::move(*world);
  impl_->take_controllers();
  impl_->start(keyframe);
  if (std::vector<Diagnostic> flaws = impl_->make_walkers(); !flaws.empty()) return flaws;
  std::vector<Diagnostic> found = impl_->apply_sliders(*this);
  if (impl_->behaviours) impl_->behaviours->after_reset(*this);
  return found;
}

/// What the user has chosen outlives a reset, as far as there is a slider for it.
std::vector<Diagnostic> Session::Impl::apply_sliders(Session& self) {
  std::vector<Diagnostic> found;
  for (std::size_t i = 0; i < scene.script.ui.size(); ++i) {
    const auto* slider = std::get_if<Slider>(&scene.script.ui[i]);
    if (!slider || slider->key.empty() || state.sliders[i] == slider->value) continue;
    for (Diagnostic& d : self.set(slider->key, state.sliders[i])) found.push_back(std::move(d));
  }
  return found;
}

// ---- stepping

void Session::step(int count) {
  Impl& s = *impl_;
  for (int i = 0; i < count; ++i) {
    if (!s.run_behaviours(*this)) return;
    s.fire_events(*this);
    s.follow_trajectories();
    s.update_walkers();
    for (std::size_t k = 0; k < s.hooks.size(); ++k) {  // a hook may add another
      if (s.hooks[k]) s.hooks[k](*this);
    }
    s.push();
    s.push_surroundings();
    s.push_actuators();
    if (s.state.drives_changed) s.apply_drives();
    s.world.step();
    s.tell_of_method();
    s.tell_frozen();
    s.advance_activations();
    s.sample_sensors();
  }
}

bool Session::Impl::run_behaviours(Session& self) {
  if (!behaviours) return true;
  std::vector<Diagnostic> found;
  halted = !behaviours->before_step(self, found);
  tell(std::move(found));
  return !halted;
}

void Session::set_behaviours(std::unique_ptr<BehaviourHost> host) {
  impl_->behaviours = std::move(host);
  impl_->halted = false;
}
bool Session::has_behaviours() const { return impl_->behaviours != nullptr; }
bool Session::halted() const { return impl_->halted; }

int Session::add_hook(std::function<void(Session&)> hook) {
  impl_->hooks.push_back(std::move(hook));
  return static_cast<int>(impl_->hooks.size()) - 1;
}
void Session::remove_hook(int hook) {
  if (hook >= 0 && hook < static_cast<int>(impl_->hooks.size()))
    impl_->hooks[static_cast<std::size_t>(hook)] = nullptr;
}

bool Session::has_hooks() const {
  return impl_->world.has_hooks() ||
         std::ranges::any_of(impl_->hooks, [](const auto& hook) { return hook != nullptr; });
}

std::vector<Diagnostic> Session::edit(const std::function<void(Scene&)>& change) {
  std::vector<Diagnostic> flaws = impl_->world.edit(change);
  if (flaws.empty()) change(impl_->scene.scene);
  return flaws;
}

std::vector<Diagnostic> Session::edit(SceneEdit&& prepared) {
  const std::function<void(Scene&)> change = prepared.change();
  std::vector<Diagnostic> flaws = impl_->world.edit(std::move(prepared));
  if (flaws.empty()) change(impl_->scene.scene);
  return flaws;
}

// ---- reading

const LoadedScene& Session::scene() const { return impl_->scene; }
World& Session::world() { return impl_->world; }
const World& Session::world() const { return impl_->world; }
std::span<const double> Session::controls() const { return impl_->state.controls; }
std::span<const double> Session::activations() const { return impl_->state.activations; }
std::span<const Diagnostic> Session::problems() const { return impl_->problems; }
void Session::clear_problems() { impl_->problems.clear(); }

bool Session::set_control(int actuator, double control) {
  if (actuator < 0 || actuator >= static_cast<int>(impl_->state.controls.size()) || !std::isfinite(control))
    return false;
  impl_->state.controls[static_cast<std::size_t>(actuator)] = control;
  impl_->state.drives_changed = true;
  return true;
}

std::span<const double> Session::reading(int sensor) const {
  if (sensor < 0 || sensor >= static_cast<int>(impl_->sensors.size())) return {};
  const SensorSlot& slot = impl_->sensors[static_cast<std::size_t>(sensor)];
  const std::span<double> numbers(impl_->state.readings.data() + slot.first,
                                  static_cast<std::size_t>(slot.size));
  if (!slot.sampled) impl_->measure(sensor, numbers);
  return numbers;
}

}  // namespace karakuri
