// The same scene in a second world, under other settings and in step: what is done to the one is done to
// both.
#include <cmath>

#include <fmt/format.h>

#include "server/frame.h"
#include "server/live_impl.h"

namespace karakuri {

using namespace server_detail;

namespace {

constexpr int kMostTries = 3;  // to make a second world while others edit the first

double total(const StepTimes& t) {
  return t.hooks + t.dynamics + t.collision + t.rows + t.solve + t.integrate + t.finish;
}

Json finite(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

}  // namespace

/// {"settings": {"solver": "pgs", ...}} begins or changes it, {"settings": null} ends it.
LiveSession::Impl::Errors LiveSession::Impl::compare(ClientId id, const Json& message, int tries) {
  const Json& wanted = message.at("settings");
  if (wanted.is_null()) return other.reset(), Errors{};
  std::map<std::string, Value> settings;
  for (const auto& [key, value] : wanted.items()) settings[key] = value_of(value);
  for (const char* common : {"dt", "substeps"}) {
    if (settings.contains(common)) return {refused("both worlds step alike", "change it for both")};
  }
  if (tries >= kMostTries)
    return {refused("the scene changes faster than a second world of it is made", "compare again later")};
  background.start(id, [this, id, message, tries, settings = std::move(settings), edits_then = edits,
                        scene = std::make_shared<LoadedScene>(session.scene())] {
    auto made = std::make_shared<Result<Session>>(Session::make(std::move(*scene)));
    return [this, id, message, tries, settings, edits_then, made] {
      Errors errors = !made->ok()           ? made->errors()
                      : edits != edits_then ? compare(id, message, tries + 1)
                                            : begin_comparison(std::move(**made), settings);
      answer(id, number_of(message), errors);
      changed = true;
      last_status = {};
    };
  });
  return {};
}

LiveSession::Impl::Errors LiveSession::Impl::begin_comparison(Session&& second,
                                                              std::map<std::string, Value> settings) {
  if (Errors errors = second.restore(session.snapshot()); !errors.empty()) return errors;
  for (const auto& [key, value] : settings) {
    if (Errors errors = second.set("settings." + key, value); !errors.empty()) return errors;
  }
  other = std::make_unique<Other>(
      Other{std::move(second),
            std::move(settings),
            Timeline(options.memory_seconds, options.memory_rate, options.memory_bytes),
            {}});
  if (options.prepare_second) {
    if (Errors errors = options.prepare_second(other->session); !errors.empty()) return other.reset(), errors;
  }
  for (const auto& [id, client] : clients)
    if (client.drag) other->drags[id] = client.drag;  // the snapshot has them
  other->timeline.keep(other->session);
  return {};
}

void LiveSession::Impl::apply_settings(Other& to) const {
  for (const auto& [key, value] : to.settings) to.session.set("settings." + key, value);
}

/// A behaviour has failed in the second world alone, which cannot keep in step.
void LiveSession::Impl::end_comparison() {
  for (Diagnostic d : other->session.problems()) {
    d.where = "second world: " + d.where;
    broadcast(problem_json(d, nullptr));
  }
  other.reset();
}

void LiveSession::Impl::step_other() {
  if (!other) return;
  other->session.step();
  if (other->session.halted()) return end_comparison();
  for (Diagnostic d : other->session.problems()) {  // the first one tells all but what its own settings mean
    if (!d.where.starts_with("settings:")) continue;
    d.where = "second world: " + d.where;
    broadcast(problem_json(d, nullptr));
  }
  other->session.clear_problems();
  other->timeline.keep(other->session);
  smooth(other->step_seconds, total(other->session.world().times()));
}

/// Before the comparison began the two were one.
void LiveSession::Impl::scrub_other(double time) {
  if (!other) return;
  const bool begun = !other->timeline.empty() && other->timeline.first() <= session.time();
  other->session.restore(begun ? other->timeline.at(time) : session.snapshot());
  apply_settings(*other);
}

Json LiveSession::Impl::compare_json() const {
  if (!other) return nullptr;
  const World &a = session.world(), &b = other->session.world();
  double most = 0;
  LinkId where;
  for (const LinkId link : description.links) {
    const double d = (a.pose(link).p - b.pose(link).p).norm();
    if (d > most) most = d, where = link;
  }
  const StepReport& report = b.report();
  return {{"settings", settings_json(other->session)},
          {"time", other->session.time()},
          {"hash", paused ? Json(fmt::format("{:016x}", other->session.hash())) : Json(nullptr)},
          {"distance", finite(most)},
          {"link", where ? a.scene().mechanism.link(where).name : ""},
          {"residual", finite(report.residual)},
          {"penetration", finite(report.penetration)},
          {"contacts", report.contacts},
          {"energy", finite(b.energies().total())},
          {"step", other->step_seconds}};
}

std::string LiveSession::Impl::other_poses() const {
  return other ? encode_poses(other->session, description.links) : std::string();
}

}  // namespace karakuri
