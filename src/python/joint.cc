// Joints: coordinates, drives, loads.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "karakuri/core/near_names.h"
#include "python/errors.h"
#include "python/handles.h"

namespace karakuri::python {

const Joint& JointHandle::joint(const Access& access) const {
  if (access.mechanism().contains(id)) return access.mechanism().joint(id);
  for (const Attachment& a : access.world().attachments())
    if (a.id == id) return a.joint;
  raise_gone(
      fmt::format("joint '{}' is no longer part of its world: it was detached or broke; "
                  "world.joint(name) finds what carries its link now",
                  name));
}

const JointEntry& JointHandle::moving(const Access& access) const {
  joint(access);
  const JointEntry* found = entry(access);
  if (!found || found->first_v < 0)
    raise_value(fmt::format("joint '{}' has no coordinates: it is fixed, or closes a loop", name));
  return *found;
}

JointHandle find_joint(PyWorld& world, const std::string& name) {
  const Access access(world);
  for (const Attachment& a : access.world().attachments())
    if (a.joint.name == name) return {world, a.id, name};
  if (const JointId id = access.mechanism().find_joint(name)) return {world, id, name};
  std::vector<std::string> names;
  for (const JointEntry& joint : access.model().joints) names.push_back(joint.name);
  for (const Attachment& a : access.world().attachments()) names.push_back(a.joint.name);
  raise_unknown("joint", name, names);
}

JointHandle joint_of(PyWorld& world, const py::handle& joint, std::string_view argument) {
  if (py::isinstance<py::str>(joint)) return find_joint(world, py::cast<std::string>(joint));
  if (!py::isinstance<JointHandle>(joint))
    raise_type(fmt::format("{} must be a Joint or the name of one, not {}", argument,
                           std::string(py::str(py::type::handle_of(joint).attr("__name__")))));
  const auto& handle = py::cast<const JointHandle&>(joint);
  if (handle.world != &world)
    raise_value(
        fmt::format("joint '{}' belongs to another world; find it here by world.joint(name)", handle.name));
  return handle;
}

namespace {

enum class Which { kQ, kV, kTau };

py::object all_of(JointHandle& self, Which which) {
  PyWorld& w = *self.world;
  return which == Which::kQ ? w.q() : which == Which::kV ? w.v() : w.tau();
}

/// Shares the world's array.
py::object view(JointHandle& self, Which which) {
  int first = 0, size = 0;
  {
    const Access access(*self.world);
    const JointEntry& joint = self.moving(access);
    first = which == Which::kQ ? joint.first_q : joint.first_v;
    size = which == Which::kQ ? q_size(joint.kind) : v_size(joint.kind);
  }
  return all_of(self, which)[py::slice(first, first + size, 1)];
}

/// One number for all dofs, or one for each.
void assign(JointHandle& self, Which which, const py::object& value, const char* name) {
  const py::object to = view(self, which);
  const std::size_t size = py::len(to);
  const Array given = numbers(value, name);
  if (given.ndim() == 0 && size == 1)
    to[py::ellipsis()] = given;
  else
    to[py::ellipsis()] =
        numbers(value, size, fmt::format("{} of joint '{}'", name, self.name), "one number for each");
  const Access access(*self.world);  // takes them over
}

Drive drive_of(JointHandle& self, int dof) {
  const Access access(*self.world);
  if (dof < 0 || dof >= v_size(self.moving(access).kind))
    throw py::index_error(fmt::format("joint '{}' has {} degrees of freedom, not one of number {}", self.name,
                                      v_size(self.moving(access).kind), dof));
  return access.session().drive(self.id, dof);
}

void set_drive(JointHandle& self, Drive drive, int dof) {
  drive_of(self, dof);
  Access access(*self.world);
  if (!access.session().set_drive(self.id, drive, dof))
    raise_value(
        fmt::format("drive of joint '{}': stiffness, damping and limit must be 0 or more, stiffness and "
                    "targets finite",
                    self.name));
}

void drive(JointHandle& self, std::optional<double> stiffness, std::optional<double> damping,
           std::optional<double> target, std::optional<double> target_velocity, std::optional<double> limit,
           int dof) {
  Drive d = drive_of(self, dof);
  d.stiffness = stiffness.value_or(d.stiffness);
  d.damping = damping.value_or(d.damping);
  d.q_target = target.value_or(d.q_target);
  d.v_target = target_velocity.value_or(d.v_target);
  d.limit = limit.value_or(d.limit);
  set_drive(self, d, dof);
}

void bind_drive(py::class_<JointHandle>& joint) {
  const py::none none;
  joint.def("drive", &drive, py::kw_only(), py::arg("stiffness") = none, py::arg("damping") = none,
            py::arg("target") = none, py::arg("target_velocity") = none, py::arg("limit") = none,
            py::arg("dof") = 0,
            "Implicit PD control of one degree of freedom: effort = stiffness (target - q') + damping "
            "(target_velocity - v'),\n"
            "at the end of the step, cut at +-limit. What is not given stays. Units: N m/rad, N m s/rad, "
            "rad, rad/s, N m,\n"
            "or N/m, N s/m, m, m/s, N.");
  const auto value = [&](const char* name, double Drive::* field, const char* text) {
    joint.def_property(
        name, [field](JointHandle& self) { return drive_of(self, 0).*field; },
        [field](JointHandle& self, double number) {
          Drive d = drive_of(self, 0);
          d.*field = number;
          set_drive(self, d, 0);
        },
        text);
  };
  value("target", &Drive::q_target, "Where the drive of its first degree of freedom wants to be [rad or m].");
  value("target_velocity", &Drive::v_target, "How fast that drive wants to be [rad/s or m/s].");
  value("stiffness", &Drive::stiffness, "Of that drive [N m/rad or N/m].");
  value("damping", &Drive::damping, "Of that drive [N m s/rad or N s/m]; inf holds target_velocity exactly.");
  value("limit", &Drive::limit, "Largest effort of that drive [N m or N].");
}

py::dict load_of(JointHandle& self) {
  const Access access(*self.world);
  self.joint(access);
  const JointEntry* entry = self.entry(access);
  const JointLoad load = access.world().load(self.id);
  const std::size_t dofs = entry && entry->first_v >= 0 ? static_cast<std::size_t>(v_size(entry->kind)) : 0;
  py::dict out;
  out["force"] = to_array(load.wrench.force);
  out["moment"] = to_array(load.wrench.moment);
  out["drive"] = to_array(std::span(load.drive).first(dofs));
  out["friction"] = to_array(std::span(load.friction).first(dofs));
  out["limit"] = to_array(std::span(load.limit).first(dofs));
  return out;
}

py::object limits_of(JointHandle& self) {
  const Access access(*self.world);
  const JointEntry& entry = self.moving(access);
  const int dofs = v_size(entry.kind);
  Array out({dofs, 2});
  for (int i = 0; i < dofs; ++i) {
    const DofProperties& dof = access.model().dof_properties[static_cast<std::size_t>(entry.first_v + i)];
    out.mutable_at(i, 0) = dof.lower;
    out.mutable_at(i, 1) = dof.upper;
  }
  return out;
}

bool closed(JointHandle& self) {
  const Access access(*self.world);
  self.joint(access);
  const std::vector<Loop>& loops = access.model().loops;
  for (std::size_t i = 0; i < loops.size(); ++i)
    if (loops[i].joint == self.id) return access.world().state().loop_closed[i];
  return true;
}

void set_closed(JointHandle& self, bool on) {
  Access access(*self.world);
  self.joint(access);
  if (!access.world().set_loop_closed(self.id, on))
    raise_value(fmt::format("joint '{}' closes no loop; detach() parts the joints of a tree", self.name));
  access.changed();
}

void set_breaking(JointHandle& self, double force, double moment) {
  const Access access(*self.world);
  self.joint(access);
  if (!access.world().set_breaking(self.id, force, moment))
    raise_value(fmt::format(
        "joint '{}' cannot break so: force [N] and moment [N m] must be above 0, and it must not be free",
        self.name));
}

std::string kind_of(JointHandle& self) {
  const Access access(*self.world);
  return std::string(name(self.joint(access).kind));
}

}  // namespace

void bind_joint(py::module_& m) {
  py::class_<JointHandle> joint(
      m, "Joint", collected<JointHandle>(),
      "A joint of a world, found by World.joint(name). Translations before rotations; SI units.");
  joint.def_readonly("name", &JointHandle::name, "Its name.");
  joint.def_property_readonly("kind", &kind_of, "'revolute', 'prismatic', 'free', ...");
  joint.def_property(
      "q", [](JointHandle& j) { return view(j, Which::kQ); },
      [](JointHandle& j, const py::object& x) { assign(j, Which::kQ, x, "q"); },
      "Its coordinates [rad or m], a live part of World.q; quaternions are w, x, y, z.");
  joint.def_property(
      "v", [](JointHandle& j) { return view(j, Which::kV); },
      [](JointHandle& j, const py::object& x) { assign(j, Which::kV, x, "v"); },
      "Its velocities [rad/s or m/s], a live part of World.v.");
  joint.def_property(
      "tau", [](JointHandle& j) { return view(j, Which::kTau); },
      [](JointHandle& j, const py::object& x) { assign(j, Which::kTau, x, "tau"); },
      "Efforts on it until they are changed [N m or N], a live part of World.tau.");
  joint.def_property_readonly(
      "q_index", [](JointHandle& j) { return j.moving(Access(*j.world)).first_q; },
      "Where its coordinates begin in World.q.");
  joint.def_property_readonly(
      "v_index", [](JointHandle& j) { return j.moving(Access(*j.world)).first_v; },
      "Where its velocities begin in World.v.");
  joint.def_property_readonly("limits", &limits_of,
                              "(dofs, 2): lower and upper limit [rad or m]; infinite: none.");
  joint.def_property_readonly(
      "load", &load_of,
      "What it carried in the last step, a dict: force [N] and moment [N m] from parent to child, world\n"
      "axes, and the efforts of drive, friction and limit on each dof [N m or N].");
  joint.def_property("closed", &closed, &set_closed,
                     "Of a joint that closes a loop: whether it does. Closing is a plastic impact.");
  joint.def("set_breaking", &set_breaking, py::arg("force"), py::arg("moment") = DofProperties::kNone,
            "It parts at the end of a step in which it carries more than this [N, N m].");
  bind_drive(joint);
  joint.def("__repr__", [](JointHandle& j) { return fmt::format("<karakuri.Joint '{}'>", j.name); });
  joint.def("__eq__", [](const JointHandle& a, const py::object& b) {
    if (!py::isinstance<JointHandle>(b)) return false;
    const auto& o = py::cast<const JointHandle&>(b);
    return a.world == o.world && a.id == o.id;
  });
  joint.def("__hash__", [](const JointHandle& j) { return std::hash<JointId>()(j.id); });
}

}  // namespace karakuri::python
