// Timed events and what they do.
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "session/impl.h"

namespace karakuri {

using namespace session_detail;

namespace {

constexpr std::size_t kMostProblems = 100;

/// Times are sums of steps: a thousandth of a step decides what is due.
bool is_due(double due, double now, double dt) { return due <= now + 1e-3 * dt; }

/// That another method than the chosen one has solved something.
Diagnostic fallback_of(const WorldSettings& settings, const StepReport& report) {
  const solver::Method method = chosen_method(settings);
  return {Severity::kWarning, "settings: solver",
          fmt::format("'{}' cannot solve {} of {} islands, which 'default' solves instead: {}",
                      solver::name_of(method), report.refused, report.islands, solver::limits_of(method)),
          "choose solver default or block, or a smaller scene"};
}

/// That a method had to be left before its end.
Diagnostic exhausted_of(const WorldSettings& settings, const StepReport& report) {
  return {Severity::kWarning, "settings: max_work",
          fmt::format("'{}' ran out of its work ({:g} multiplications) in {} of {} islands: "
                      "what it had not solved was mended by sweeps",
                      solver::name_of(report.budget.method), settings.max_work, report.budget.exhausted,
                      report.islands),
          report.budget.method == solver::Method::kDefault
              ? "allow more max_work, or make a scene in which less touches"
              : "choose solver default or block, or allow more max_work"};
}

/// That not all contacts were looked for.
Diagnostic cut_of(const WorldSettings& settings, const StepReport& report) {
  return {Severity::kWarning, "settings: max_work",
          fmt::format("{} of shapes lie so deep in each other that looking at all of their triangles would "
                      "take more than "
                      "max_work ({:g} multiplications) grants: contacts are those of an even spread of them",
                      report.budget.cut == 1 ? "one pair" : fmt::format("{} pairs", report.budget.cut),
                      settings.max_work),
          "begin without overlaps, make meshes and terrain coarser, or allow more max_work"};
}

/// By name: one that was attached while running, else one of the scene.
JointId find_joint(const World& world, std::string_view name) {
  for (const Attachment& attached : world.attachments())
    if (attached.joint.name == name) return attached.id;
  return world.scene().mechanism.find_joint(name);
}

}  // namespace

void Session::Impl::tell(std::vector<Diagnostic> found) {
  for (Diagnostic& d : found) {
    if (problems.size() >= kMostProblems) return;
    if (d.where.empty()) d.where = fmt::format("{} at {:.6g} s", scene.name, world.time());
    problems.push_back(std::move(d));
  }
}

/// The friction that the solver really has, and that it does not solve all: once for each choice of it.
void Session::Impl::tell_of_method() {
  const WorldSettings& s = world.settings();
  if (s.solver != told.solver || s.contact != told.contact) told = {.solver = s.solver, .contact = s.contact};
  if (!std::exchange(told.friction, true)) tell(told.notes = find_notes(s));
  const StepReport& report = world.report();
  if (report.budget.cut > 0 && !std::exchange(told.cut, true)) {
    const Diagnostic cut = cut_of(s, report);
    told.notes.push_back(cut);
    tell({cut});
  }
  if (report.budget.exhausted > 0 && !std::exchange(told.work, true)) {
    const Diagnostic exhausted = exhausted_of(s, report);
    told.notes.push_back(exhausted);
    tell({exhausted});
  }
  if (told.fallback || s.solver == solver::Method::kDefault) return;
  if (report.refused == 0 || std::exchange(told.fallback, true)) return;
  const Diagnostic fallback = fallback_of(s, report);
  told.notes.push_back(fallback);
  tell({fallback});
}

std::vector<Diagnostic> Session::told_of_solver() const { return impl_->told.notes; }

void Session::Impl::tell_frozen() {
  for (const Event& event : world.events()) {
    if (event.kind != EventKind::kQuarantine) continue;
    tell({{Severity::kError, "",
           fmt::format("the state of '{}' became non-finite; it is frozen, the rest goes on",
                       world.scene().mechanism.link(event.link_a).name),
           "take a shorter dt, and see what 'karakuri check' tells of the scene"}});
  }
}

void Session::Impl::fire_events(Session& self) {
  const double now = world.time(), dt = world.settings().dt;
  for (std::size_t i = 0; i < state.next_event.size(); ++i) {
    if (!is_due(state.next_event[i], now, dt)) continue;
    const TimedEvent& event = scene.script.events[i];
    tell(self.perform(event.action));
    state.next_event[i] =
        event.period > 0 ? state.next_event[i] + event.period : std::numeric_limits<double>::infinity();
  }
}

void Session::Impl::push() {
  const double now = world.time(), dt = world.settings().dt;
  for (const ActiveForce& f : state.forces)
    world.add_force(f.action.link, f.action.force, f.action.point, f.action.moment);
  std::erase_if(state.forces, [&](const ActiveForce& f) { return is_due(f.until, now + dt, dt); });
}

std::vector<Diagnostic> Session::perform(const Action& action) {
  Impl& s = *impl_;
  struct Performer {
    Session& self;
    Impl& s;
    std::vector<Diagnostic> operator()(const ForceAction& force) {
      if (!s.world.model().find(force.link))
        return {
            {Severity::kError, "force", "the link that it is to act on is not there", "name one that is"}};
      if (!force.point.allFinite() || !force.force.allFinite() || !force.moment.allFinite() ||
          std::isnan(force.duration))
        return {{Severity::kError, "force", "one of its numbers is not finite", ""}};
      s.state.forces.push_back({force, s.world.time() + force.duration});
      return {};
    }
    std::vector<Diagnostic> operator()(const AttachAction& attach) {
      const Joint& joint = attach.joint;
      const Joining how = attach.tree ? Joining::kTree : Joining::kLoop;
      const Result<JointId> made =
          attach.here ? s.world.attach_here(joint.parent, joint.child,
                                            s.world.pose(joint.parent) * joint.X_PF, joint, how)
                      : s.world.attach(joint, how);
      return made.ok() ? std::vector<Diagnostic>{} : made.errors();
    }
    std::vector<Diagnostic> operator()(const DetachAction& detach) {
      const JointId joint = find_joint(s.world, detach.joint);
      if (joint) return s.world.detach(joint);
      return {{Severity::kError, "", fmt::format("there is no joint '{}' to part", detach.joint),
               "it may have been parted already, or not be joined yet"}};
    }
    std::vector<Diagnostic> operator()(const SetAction& set) { return self.set(set.key, set.value); }
  };
  return std::visit(Performer{*this, s}, action);
}

}  // namespace karakuri
