// What happens in a step: contacts, events, callbacks, how it went.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "karakuri/core/near_names.h"
#include "python/errors.h"
#include "python/events.h"
#include "python/handles.h"

namespace karakuri::python {

namespace {

// ---- contacts

/// A row of World.contacts.
struct ContactRow {
  std::int32_t link_a, link_b;  // indices of World.links
  std::array<double, 3> point, normal, force, moment, slip;
  double separation;
  std::uint8_t state;
};

std::array<double, 3> plain(const Vec3& v) { return {v.x(), v.y(), v.z()}; }

py::array_t<ContactRow> contacts(PyWorld& w) {
  const Access access(w);
  const Model& model = access.model();
  const auto index = [&](LinkId id) {
    return static_cast<std::int32_t>(model.find(id) - model.links.data());
  };
  const std::span<const Contact> all = access.world().contacts();
  py::array_t<ContactRow> out(static_cast<py::ssize_t>(all.size()));
  ContactRow* row = out.mutable_data();
  for (const Contact& c : all)
    *row++ = {index(c.link_a), index(c.link_b), plain(c.point),
              plain(c.normal), plain(c.force),  plain(c.moment),
              plain(c.slip),   c.separation,    static_cast<std::uint8_t>(c.state)};
  return out;
}

// ---- events

constexpr std::array kKinds = {"contact_begin", "contact_end", "limit_hit", "sleep",
                               "wake",          "quarantine",  "break"};

EventKind kind_from(const std::string& name) {
  const auto found = std::find(kKinds.begin(), kKinds.end(), name);
  if (found == kKinds.end()) raise_unknown("kind of event", name, {kKinds.begin(), kKinds.end()});
  return static_cast<EventKind>(found - kKinds.begin());
}

std::string link_name(const Access& access, LinkId id) {
  const LinkEntry* link = access.model().find(id);
  return link ? link->name : "";
}

/// A joint that broke is gone; a free joint in its slot has taken over the name.
std::string joint_name(const Access& access, JointId id) {
  for (const JointEntry& joint : access.model().joints)
    if (joint.id.index == id.index) return joint.name;
  for (const Attachment& a : access.world().attachments())
    if (a.id == id) return a.joint.name;
  const PyWorld& owner = access.owner();
  const auto known = owner.attached_names.find(id);
  return known == owner.attached_names.end() ? "" : known->second;
}

}  // namespace

EventNow event_now(const Access& access, const Event& event) {
  EventNow out{kKinds[static_cast<std::size_t>(event.kind)], event.time, {}, {}};
  for (const LinkId id : {event.link_a, event.link_b})
    if (id) out.links.push_back(link_name(access, id));
  if (event.joint) out.joint = joint_name(access, event.joint);
  return out;
}

namespace {

void bind_event(py::module_& m) {
  py::class_<EventNow> event(m, "Event", "Something that happened in a step.");
  event.def_readonly(
      "kind", &EventNow::kind,
      "'contact_begin', 'contact_end', 'limit_hit', 'sleep', 'wake', 'quarantine' or 'break'.");
  event.def_readonly("time", &EventNow::time, "When [s].");
  event.def_property_readonly(
      "links", [](const EventNow& e) { return py::tuple(py::cast(e.links)); },
      "Names: the two that touch, or that the broken joint held; of sleep, wake and quarantine the root of "
      "the tree.");
  event.def_readonly("joint", &EventNow::joint, "The joint's name, of 'limit_hit' and 'break'; else empty.");
  event.def("__repr__", [](const EventNow& e) {
    return fmt::format("<karakuri.Event '{}' at {:.6g} s: {}{}>", e.kind, e.time, fmt::join(e.links, ", "),
                       e.joint);
  });
}

py::object add_step_callback(PyWorld& w, const py::object& function) {
  if (!PyCallable_Check(function.ptr())) raise_type("on_step wants a function of the world");
  const Access access(w);
  w.before_step.push_back({function});
  return function;
}

py::object add_event_callback(PyWorld& w, const py::object& function, const std::string& kind) {
  if (!PyCallable_Check(function.ptr())) raise_type("on_event wants a function of the world and the event");
  const std::optional<EventKind> only = kind.empty() ? std::nullopt : std::optional(kind_from(kind));
  const Access access(w);
  w.on_event.push_back({function, only});
  return function;
}

void remove_callback(PyWorld& w, const py::object& function) {
  const Access access(w);
  const auto is_it = [&](const auto& callback) { return callback.function.equal(function); };
  const std::size_t removed = std::erase_if(w.before_step, is_it) + std::erase_if(w.on_event, is_it);
  if (removed == 0)
    raise_value("this function is no callback of this world; give the one that on_step or on_event took");
}

py::dict report(PyWorld& w) {
  const Access access(w);
  const StepReport& r = access.world().report();
  const StepTimes& t = access.world().times();
  const auto name_of = [&](LinkId link) -> std::string {
    const LinkEntry* entry = access.world().model().find(link);
    return entry ? entry->name : "";
  };
  py::dict out;
  out["status"] = std::string(solver::name_of(r.status));
  out["ending"] = std::string(solver::name_of(r.ending));
  out["backend"] = std::string(solver::name_of(r.backend));
  out["residual"] = r.residual;
  out["promised"] = r.promised;
  out["islands"] = r.islands;
  out["rows"] = r.rows;
  out["contacts"] = r.contacts;
  out["sweeps"] = r.sweeps;
  out["newton"] = r.newton;
  out["refused"] = r.refused;
  out["work"] = r.budget.work;
  out["exhausted"] = r.budget.exhausted;
  out["cut"] = r.budget.cut;
  out["penetration"] = r.penetration;
  out["energy_made"] = r.energy_made;
  out["energy_taken"] = r.energy_taken;
  out["energy_exchanged"] = r.energy_exchanged;
  out["energy_link"] = name_of(r.energy_link);
  out["motion_lost"] = r.motion_lost;
  out["parts"] = r.parts;
  out["motion_link"] = name_of(r.motion_link);
  out["seconds"] = t.total();
  return out;
}

}  // namespace

void bind_events(py::module_& m, py::class_<PyWorld>& world) {
  PYBIND11_NUMPY_DTYPE(ContactRow, link_a, link_b, point, normal, force, moment, slip, separation, state);
  bind_event(m);
  world.def_property_readonly("contacts", &contacts,
                              "Contact points of the last step, a structured array: link_a and link_b "
                              "(indices of links), point [m],\n"
                              "normal (from a to b), force and moment on b [N, N m], slip of b along the "
                              "surface [m/s], separation [m],\n"
                              "state (0 open, 1 stick, 2 slide: ContactState). World axes.");
  world.def_property_readonly(
      "events",
      [](PyWorld& w) {
        const Access access(w);
        std::vector<EventNow> all;
        for (const Event& e : w.events) all.push_back(event_now(access, e));
        return all;
      },
      "What happened during the last call of step().");
  world.def_property_readonly(
      "problems",
      [](PyWorld& w) {
        const Access access(w);
        std::vector<std::string> all;
        for (const Diagnostic& d : access.session().problems()) all.push_back(to_string(d));
        return all;
      },
      "What timed events of the scene could not do, what was frozen because its state became non-finite, and "
      "once what the solver does otherwise than its settings sound, one line each.");
  world.def_property_readonly(
      "report", &report,
      "How the last step went, a dict: status, ending, backend, residual and promised [m/s], sizes, "
      "penetration [m], seconds; and what "
      "should be zero:\n"
      "energy_made [J] with energy_exchanged [J] to compare it with, motion_lost [m], and the links' names "
      "energy_link and motion_link. parts is in how many parts it was made: more than one where something "
      "moved "
      "further than a step can follow. energy_taken [J] is the energy that the step would have "
      "added by its own errors; the motion was slowed down by that much instead.");
  world.def("on_step", &add_step_callback, py::arg("function"),
            "Calls function(world) before each step from now on. An exception in it ends step() before that "
            "step. Also a decorator.");
  world.def("on_event", &add_event_callback, py::arg("function"), py::arg("kind") = "",
            "Calls function(world, event) after a step in which an event, or one of this kind, happened.");
  world.def("remove_callback", &remove_callback, py::arg("function"), "Calls this function no longer.");
}

}  // namespace karakuri::python
