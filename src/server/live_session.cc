// Real time, frames and status. Commands are in commands.cc.
#include "karakuri/server/live_session.h"

#include <cmath>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "karakuri/control/walking.h"
#include "server/live_impl.h"

namespace karakuri {

using namespace server_detail;

namespace {

double seconds(std::chrono::steady_clock::duration d) { return std::chrono::duration<double>(d).count(); }

constexpr double kMostLate = 0.1;       // [s] of wall time that is made up for
constexpr double kSliceSeconds = 0.01;  // steps before commands and frames are looked at again
constexpr double kStatusSeconds = 0.1;
constexpr std::size_t kMostTroubles = 20;
// [s] A system sleeps some 0.06 ms longer than asked; commands wait for the longest.
constexpr double kShortestPause = 5e-5, kLongestPause = 5e-3;

Json place_json(const Vec3& p) { return p.allFinite() ? Json{p.x(), p.y(), p.z()} : Json{0, 0, 0}; }

Json walkers_json(const Session& session) {
  Json all = Json::array();
  for (const Walking& walking : session.walkers()) {
    const WalkingReport& r = walking.report();
    Json support = Json::array();
    for (const Vec3& corner : walking.support(session.world())) support.push_back(place_json(corner));
    all.push_back({{"name", walking.walker().name},
                   {"support", support},
                   {"zmp", place_json(r.zmp)},
                   {"planned", place_json(r.zmp_planned)},
                   {"center", place_json(r.center)}});
  }
  return all;
}

Json times_json(const StepTimes& t) {
  return {{"control", t.hooks}, {"dynamics", t.dynamics},   {"collision", t.collision}, {"rows", t.rows},
          {"solve", t.solve},   {"integrate", t.integrate}, {"finish", t.finish}};
}

}  // namespace

void server_detail::smooth(double& mean, double value) { mean += 0.05 * (value - mean); }

LiveSession::Impl::Impl(Session& s, Server& to, const LiveOptions& given)
    : session(s),
      server(to),
      options(given),
      timeline(given.memory_seconds, given.memory_rate, given.memory_bytes),
      waiting(given.wait_for_client) {
  describe_scene();
  describe_properties();
  timeline.keep(session);
  restart_clock();
  seen_time = session.time();
  seen_ui = session.ui_version();
}

void LiveSession::Impl::describe_scene() {
  description_fits = true;
  take_description(describe(session));
}

void LiveSession::Impl::take_description(Description made) {
  description = std::move(made);
  scene_text = std::make_shared<const std::string>(std::move(description.json));
}

LiveSession::LiveSession(Session& session, Server& server, const LiveOptions& options)
    : impl_(std::make_unique<Impl>(session, server, options)) {}
LiveSession::~LiveSession() {
  for (const auto& [id, client] : impl_->clients) impl_->end_drag(id);  // the session goes on without them
}
void LiveSession::run(const std::function<bool()>& stop, const std::function<void()>& step) {
  impl_->run(stop, step);
}

void LiveSession::Impl::restart_clock() {
  clock_start = Clock::now();
  clock_time = session.time();
}

void LiveSession::Impl::run(const std::function<bool()>& stop, const std::function<void()>& step) {
  restart_clock();
  while (!stop()) {
    handle_events();
    advance(step);
    send_due();
    if (const double pause = seconds_to_next(); pause > kShortestPause)
      std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
}

void LiveSession::Impl::send_due() {
  const auto now = Clock::now();
  if (changed_scene != Changed::kNothing && now >= next_scene) send_changed_scene();
  if (session.ui_version() != seen_ui && seconds(now - last_ui) >= 1 / options.frame_rate) send_ui();
  if (seconds(now - last_frame) >= 1 / options.frame_rate) send_frames();
  if (seconds(now - last_status) >= kStatusSeconds) send_status();
}

double LiveSession::Impl::due() const { return clock_time + speed * seconds(Clock::now() - clock_start); }

/// [s] until a step is due, or commands are looked at again.
double LiveSession::Impl::seconds_to_next() const {
  if (single_steps > 0) return 0;
  if (paused || waiting) return kLongestPause;
  return std::min(kLongestPause, (session.time() + 0.5 * session.world().settings().dt - due()) / speed);
}

/// The steps that are due, for a slice of wall time at most.
void LiveSession::Impl::advance(const std::function<void()>& step) {
  const auto start = Clock::now();
  while (single_steps > 0 && seconds(Clock::now() - start) < kSliceSeconds) --single_steps, one_step(step);
  if (paused || waiting) return;
  const double dt = session.world().settings().dt;
  while (session.time() + 0.5 * dt <= due() && seconds(Clock::now() - start) <= kSliceSeconds) {
    one_step(step);
    if (session.halted()) break;
  }
  forgive_lateness();
}

void LiveSession::Impl::forgive_lateness() {
  const double late = (due() - session.time()) / speed;
  if (late > kMostLate)
    clock_start +=
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(late - kMostLate));
}

void LiveSession::Impl::one_step(const std::function<void()>& step) {
  const Doing doing(server, "a step");
  step();
  after_step();
}

void LiveSession::Impl::after_step() {
  tell_problems();
  if (session.halted()) {  // nothing moves, and waiting is not being late
    single_steps = 0;
    return restart_clock();
  }
  ++steps;
  changed = true;
  timeline.keep(session);
  step_other();
  const StepTimes& t = session.world().times();
  for (const auto part : {&StepTimes::hooks, &StepTimes::dynamics, &StepTimes::collision, &StepTimes::rows,
                          &StepTimes::solve, &StepTimes::integrate, &StepTimes::finish})
    smooth(times.*part, t.*part);
}

// ---- stepped by somebody else

void LiveSession::Impl::serve() {
  server.doing(nullptr);
  notice_time();
  handle_events();
  if (clients.empty()) paused = false, single_steps = 0;  // nobody is there to go on
  seen_time = session.time();
  send_due();
}

/// It may have been set meanwhile.
void LiveSession::Impl::notice_time() {
  const double now = session.time();
  if (now == seen_time) return;
  if (now < seen_time) broadcast({{"type", "restarted"}, {"time", now}});
  timeline.keep(session);
  rate_time = now;
  changed = true;
  restart_clock();
}

void LiveSession::serve() { impl_->serve(); }
void LiveSession::touched() { impl_->changed = true; }

bool LiveSession::may_step(bool real_time) const {
  Impl& s = *impl_;
  const double half = 0.5 * s.session.world().settings().dt;
  const bool may = s.clients.empty() || s.single_steps > 0 ||
                   (!s.paused && (!real_time || s.session.time() + half <= s.due()));
  if (may) s.server.doing("a step");
  return may;
}

void LiveSession::stepped() {
  Impl& s = *impl_;
  s.server.doing(nullptr);
  s.after_step();
  s.single_steps = std::max(0, s.single_steps - 1);
  s.seen_time = s.session.time();
  s.forgive_lateness();
}

// ---- problems

Json server_detail::problem_json(const Diagnostic& d, Json id) {
  return {
      {"type", "problem"}, {"id", std::move(id)}, {"where", d.where}, {"what", d.what}, {"remedy", d.remedy}};
}

void LiveSession::Impl::tell_problems() {
  const bool halted = session.halted();
  if (halted_by.empty() == halted) last_status = {};  // all see it at once
  if (!halted || !session.problems().empty()) halted_by.clear();
  for (const Diagnostic& d : session.problems()) {
    if (halted)
      halted_by += (halted_by.empty() ? "" : "\n") + d.what;
    else
      broadcast(problem_json(d, nullptr));
  }
  if (halted && halted_by.empty()) halted_by = "a behaviour has failed";
  session.clear_problems();
}

LiveSession::Impl::Json LiveSession::Impl::troubles_json() const {
  Json troubles = Json::array();
  const World& world = session.world();
  for (const LinkId link : description.links) {
    if (!world.quarantined(link)) continue;
    troubles.push_back(
        fmt::format("'{}' is frozen: its state became non-finite", world.scene().mechanism.link(link).name));
    if (troubles.size() >= kMostTroubles) return troubles;
  }
  for (const Diagnostic& d : options.doubts)
    if (troubles.size() < kMostTroubles) troubles.push_back(to_string(d));
  return troubles;
}

// ---- clients

void LiveSession::Impl::handle_events() {
  background.finish();
  const auto start = Clock::now();
  do {
    const std::optional<ClientEvent> event = server.take_event();
    if (!event) return;
    const Doing doing(server, "a request of a page");
    handle(*event);
  } while (seconds(Clock::now() - start) < kSliceSeconds);
}

void LiveSession::Impl::handle(const ClientEvent& event) {
  switch (event.kind) {
    case ClientEventKind::kOpened: return greet(event.client);
    case ClientEventKind::kMessage:
      if (!event.binary) perform(event.client, event.text);
      return;
    case ClientEventKind::kClosed:
      if (const auto found = clients.find(event.client); found != clients.end()) {
        end_drag(event.client);
        clients.erase(found);
      }
  }
}

void LiveSession::Impl::send_scene(ClientId id) {
  server.send_latest(id, Latest::kScene, scene_text);
  server.send_latest(id, Latest::kGeometry, description.geometry, true);
  server.send_latest(id, Latest::kProperties, properties_text);
}

Bytes server_detail::describe_properties_of(const World& world) {
  return std::make_shared<const std::string>(
      dump({{"type", "properties"}, {"properties", properties_json(world)}}));
}

void LiveSession::Impl::describe_properties() { properties_text = describe_properties_of(session.world()); }

void LiveSession::Impl::send_changed_scene() {
  const Doing doing(server, "showing what has changed");
  const auto start = Clock::now();
  describe_properties();
  if (changed_scene == Changed::kAll) describe_scene();
  for (const auto& [id, client] : clients) {
    if (changed_scene == Changed::kAll)
      send_scene(id);
    else
      server.send_latest(id, Latest::kProperties, properties_text);
  }
  changed_scene = Changed::kNothing;
  next_scene = Clock::now() + (Clock::now() - start);
}

void LiveSession::Impl::greet(ClientId id) {
  if (std::exchange(waiting, false) || clients.empty()) restart_clock();  // nobody waits for what nobody saw
  if (changed_scene != Changed::kNothing) send_changed_scene();           // all see the same
  if (!description_fits) describe_scene();
  clients[id] = {};
  send_scene(id);
  const Json settings = {{"type", "settings"}, {"settings", settings_json(session)}};
  server.send_latest(id, Latest::kSettings, std::make_shared<const std::string>(dump(settings)));
  for (const Diagnostic& d : session.told_of_solver()) server.send_text(id, dump(problem_json(d, nullptr)));
  changed = true;
  last_status = {};
}

void LiveSession::Impl::broadcast(const Json& message) {
  const std::string text = dump(message);
  for (const auto& [id, client] : clients) server.send_text(id, text);
}

void LiveSession::Impl::publish(Latest kind, const Json& message) {
  const auto text = std::make_shared<const std::string>(dump(message));
  for (const auto& [id, client] : clients) server.send_latest(id, kind, text);
}

/// Sliders, buttons, texts and plots have changed. Who comes later has them with the scene.
void LiveSession::Impl::send_ui() {
  seen_ui = session.ui_version();
  last_ui = Clock::now();
  description_fits = false;
  publish(Latest::kUi, ui_json(session));
  changed = true;
}

/// One body for all who look at the same things; a client that has not taken its last one gets none.
void LiveSession::Impl::send_frames() {
  if (!std::exchange(changed, false)) return;
  last_frame = Clock::now();
  std::map<FrameParts, Bytes> bodies;
  const std::string others = other_poses();
  for (const auto& [id, client] : clients) {
    if (!server.wants_frame(id)) {
      changed = true;
      continue;
    }
    Bytes& body = bodies[client.parts];
    if (!body)
      body =
          std::make_shared<const std::string>(encode_frame(session, description.links, paused, client.parts));
    server.send_frame(id, body, encode_signals(session, client.subscription, client.signals) + others);
  }
}

void LiveSession::Impl::send_status() {
  const auto now = Clock::now();
  const double wall = seconds(now - last_status);
  if (wall < 10 && wall > 0.05)
    real_time_factor += 0.3 * ((session.time() - rate_time) / wall - real_time_factor);
  rate_time = session.time();
  last_status = now;
  if (clients.empty()) return;
  const World& world = session.world();
  const StepReport& report = world.report();
  const Energies energies = world.energies();
  const auto finite = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  const Json status = {{"type", "status"},
                       {"time", session.time()},
                       {"steps", steps},
                       {"paused", paused},
                       {"halted", halted_by.empty() ? Json(nullptr) : Json(halted_by)},
                       {"troubles", troubles_json()},
                       {"speed", speed},
                       {"realTimeFactor", finite(real_time_factor)},
                       {"memory", {timeline.first(), timeline.last()}},
                       {"hash", paused ? Json(fmt::format("{:016x}", session.hash())) : Json(nullptr)},
                       {"contacts", report.contacts},
                       {"islands", report.islands},
                       {"rows", report.rows},
                       {"residual", finite(report.residual)},
                       {"penetration", finite(report.penetration)},
                       {"kinetic", finite(energies.kinetic)},
                       {"potential", finite(energies.potential)},
                       {"times", times_json(times)},
                       {"clients", clients.size()},
                       {"compare", compare_json()},
                       {"walkers", walkers_json(session)}};
  const auto text = std::make_shared<const std::string>(dump(status));
  for (const auto& [id, client] : clients) server.send_status(id, text);
}

}  // namespace karakuri
