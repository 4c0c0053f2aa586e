// Feed-forward by snapshot.
#include <algorithm>

#include <fmt/format.h>

#include "karakuri/control/feedforward.h"
#include "python/errors.h"
#include "python/handles.h"

namespace karakuri::python {

namespace {

std::vector<JointId> ids_of(PyWorld& w, const py::object& joints) {
  if (py::isinstance<py::str>(joints)) return {find_joint(w, py::cast<std::string>(joints)).id};
  if (!py::isinstance<py::iterable>(joints)) raise_type("joints must be a list of joints or their names");
  std::vector<JointId> ids;
  for (const py::handle& joint : joints) ids.push_back(joint_of(w, joint, "joints").id);
  if (ids.empty()) raise_value("joints is empty: name those whose efforts are wanted");
  return ids;
}

/// The one for these joints: made once, since it holds a second world.
Feedforward& feedforward_of(PyWorld& w, const World& world, const std::vector<JointId>& ids, bool contact) {
  constexpr std::size_t kMost = 4;
  std::vector<Feedforward>& all = w.feedforwards;
  const auto found = std::ranges::find_if(all, [&](const Feedforward& f) {
    return f.options().contact == contact && std::ranges::equal(f.joints(), ids);
  });
  if (found != all.end()) return *found;
  Feedforward made = take(Feedforward::make(world, ids, {.contact = contact}));
  if (all.size() >= kMost) all.erase(all.begin());
  all.push_back(std::move(made));
  return all.back();
}

void give(Session& session, const Feedforward& found) {
  std::size_t first = 0;
  for (const JointId joint : found.joints()) {
    const std::size_t dofs = session.world().v(joint).size();
    session.set_effort(joint, found.effort().subspan(first, dofs));
    first += dofs;
  }
}

Array feedforward(PyWorld& w, const py::object& joints, const py::object& target_velocity, bool contact,
                  bool apply) {
  const std::vector<JointId> ids = ids_of(w, joints);
  const Array wanted = numbers(target_velocity, "target_velocity");
  if (wanted.ndim() > 1)
    raise_value("target_velocity must be one number for each degree of freedom of the joints");
  Access access(w);
  access.session().apply_drives();  // of all other joints
  Feedforward& f = feedforward_of(w, access.world(), ids, contact);
  raise_if_any(f.find(access.world(), span_of(wanted)));
  const Array effort = to_array(f.effort());
  if (apply) give(access.session(), f), access.changed();
  return effort;
}

}  // namespace

void bind_control(py::module_& m) {
  m.def("feedforward", &feedforward, py::arg("world"), py::arg("joints"), py::arg("target_velocity"),
        py::kw_only(), py::arg("contact") = false, py::arg("apply") = false,
        "Efforts [N m or N] with which these joints have these velocities [rad/s or m/s] at the end of the "
        "coming step, whatever\n"
        "the mechanism is: found by a trial step of a copy, with loops, limits and friction, and with "
        "contact for robots that\n"
        "stand. With apply they are given to the joints, as Joint.tau would.");
}

}  // namespace karakuri::python
