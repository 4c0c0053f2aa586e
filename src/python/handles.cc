// Links, sensors, actuators.
#include "python/handles.h"

#include <fmt/format.h>
#include <pybind11/operators.h>

#include "karakuri/core/near_names.h"
#include "python/errors.h"

namespace karakuri::python {

const LinkEntry& LinkHandle::entry(const Access& access) const {
  const LinkEntry* found = access.model().find(id);
  if (!found) raise_gone(fmt::format("link '{}' is no longer part of its world", name));
  return *found;
}

LinkHandle find_link(PyWorld& world, const std::string& name) {
  const Access access(world);
  if (const LinkId id = access.mechanism().find_link(name)) return {world, id, name};
  std::vector<std::string> names;
  for (const LinkEntry& link : access.model().links) names.push_back(link.name);
  raise_unknown("link", name, names);
}

LinkHandle link_of(PyWorld& world, const py::handle& link, std::string_view argument) {
  if (py::isinstance<py::str>(link)) return find_link(world, py::cast<std::string>(link));
  if (!py::isinstance<LinkHandle>(link))
    raise_type(fmt::format("{} must be a Link or the name of one, not {}", argument,
                           std::string(py::str(py::type::handle_of(link).attr("__name__")))));
  const auto& handle = py::cast<const LinkHandle&>(link);
  if (handle.world != &world)
    raise_value(
        fmt::format("link '{}' belongs to another world; find it here by world.link(name)", handle.name));
  return handle;
}

namespace {

Array quaternion(const Mat3& R) {
  Quat turn(R);
  if (turn.w() < 0) turn.coeffs() = -turn.coeffs();
  const double x[4] = {turn.w(), turn.x(), turn.y(), turn.z()};
  return to_array(std::span<const double>(x));
}

template <class F>
auto of_link(F f) {
  return [f](LinkHandle& self) {
    const Access access(*self.world);
    self.entry(access);
    return f(access, self);
  };
}

void refuse_unless(bool done, const std::string& text) {
  if (!done) raise_value(text);
}

void add_force(LinkHandle& self, const py::object& force, const py::object& point, const py::object& moment) {
  const Vec3 f = vector3(force, "force"), p = vector3(point, "point"), n = vector3(moment, "moment");
  Access access(*self.world);
  self.entry(access);
  access.world().add_force(self.id, f, p, n);
}

void teleport(LinkHandle& self, const py::object& to) {
  const Transform X = pose(to, "pose");
  Access access(*self.world);
  self.entry(access);
  refuse_unless(
      access.world().teleport(self.id, X),
      fmt::format("link '{}' cannot be put elsewhere: only what hangs on a free joint can; set its joints",
                  self.name));
  access.changed();
}

void set_velocity(LinkHandle& self, const py::object& linear, const py::object& angular) {
  const Motion V{vector3(angular, "angular"), vector3(linear, "linear")};
  Access access(*self.world);
  self.entry(access);
  refuse_unless(
      access.world().set_velocity(self.id, V),
      fmt::format("link '{}' has no velocity of its own: only what hangs alone on a free joint has; "
                  "set its joints",
                  self.name));
  access.changed();
}

void bind_link(py::module_& m) {
  py::class_<LinkHandle> link(
      m, "Link", collected<LinkHandle>(),
      "A rigid body of a world, found by World.link(name). Vectors are in world axes, SI units.");
  link.def_readonly("name", &LinkHandle::name, "Its name.");
  link.def_property_readonly(
      "index",
      [](LinkHandle& self) {
        const Access access(*self.world);
        return static_cast<int>(&self.entry(access) - access.model().links.data());
      },
      "Its place in World.links, World.poses and World.contacts.");
  link.def_property_readonly(
      "pose", of_link([](const Access& a, LinkHandle& l) { return to_array(a.world().pose(l.id)); }),
      "Pose in the world, a 4 x 4 matrix [m].");
  link.def_property_readonly(
      "position", of_link([](const Access& a, LinkHandle& l) { return to_array(a.world().pose(l.id).p); }),
      "Position of its frame's origin [m].");
  link.def_property_readonly(
      "rotation", of_link([](const Access& a, LinkHandle& l) { return to_array(a.world().pose(l.id).R); }),
      "Orientation, a 3 x 3 rotation matrix.");
  link.def_property_readonly("quaternion", of_link([](const Access& a, LinkHandle& l) {
                               return quaternion(a.world().pose(l.id).R);
                             }),
                             "Orientation, (w, x, y, z) with w >= 0.");
  link.def_property_readonly("velocity", of_link([](const Access& a, LinkHandle& l) {
                               return to_array(a.world().velocity(l.id).linear);
                             }),
                             "Velocity of its frame's origin [m/s].");
  link.def_property_readonly("angular_velocity", of_link([](const Access& a, LinkHandle& l) {
                               return to_array(a.world().velocity(l.id).angular);
                             }),
                             "Angular velocity [rad/s].");
  link.def_property_readonly("acceleration", of_link([](const Access& a, LinkHandle& l) {
                               return to_array(a.world().acceleration(l.id).linear);
                             }),
                             "Change of velocity per time over the last step [m/s^2].");
  link.def_property_readonly(
      "mass", of_link([](const Access& a, LinkHandle& l) { return a.mechanism().link(l.id).inertia.mass; }),
      "Mass [kg].");
  link.def_property_readonly("contact_force", of_link([](const Access& a, LinkHandle& l) {
                               return to_array(a.world().contact_force(l.id).force);
                             }),
                             "Sum of the contact forces on it in the last step [N].");
  link.def(
      "set_kinematic",
      [](LinkHandle& self, bool on) {
        const Access access(*self.world);
        self.entry(access);
        refuse_unless(access.world().set_kinematic(self.id, on), "the world itself does not move");
      },
      py::arg("on") = true, "Whether its whole tree moves as its velocities say, whatever pushes it.");
  link.def_property_readonly("awake",
                             of_link([](const Access& a, LinkHandle& l) { return a.world().awake(l.id); }),
                             "False while it lies still and is left alone.");
  link.def_property_readonly(
      "quarantined", of_link([](const Access& a, LinkHandle& l) { return a.world().quarantined(l.id); }),
      "True where its state became non-finite and it was frozen.");
  link.def("wake", of_link([](const Access& a, LinkHandle& l) { a.world().wake(l.id); }),
           "Wakes it, with all that it touches.");
  link.def("add_force", &add_force, py::arg("force"), py::arg("point") = py::make_tuple(0, 0, 0),
           py::arg("moment") = py::make_tuple(0, 0, 0),
           "Pushes during the next step; adds up. force [N] and moment [N m] in world axes, point in the "
           "link's frame [m].");
  link.def("teleport", &teleport, py::arg("pose"),
           "Moves its tree so that the link comes to a pose: (3,) position [m], (7,) with a quaternion w, x, "
           "y, z, or (4, 4).");
  link.def("set_velocity", &set_velocity, py::arg("linear") = py::make_tuple(0, 0, 0),
           py::arg("angular") = py::make_tuple(0, 0, 0),
           "Of a link that is alone on its free joint [m/s, rad/s].");
  link.def("__repr__", [](const LinkHandle& l) { return fmt::format("<karakuri.Link '{}'>", l.name); });
  link.def("__eq__", [](const LinkHandle& a, const py::object& b) {
    if (!py::isinstance<LinkHandle>(b)) return false;
    const auto& o = py::cast<const LinkHandle&>(b);
    return a.world == o.world && a.id == o.id;
  });
  link.def("__hash__", [](const LinkHandle& l) { return std::hash<LinkId>()(l.id); });
}

const Sensor& sensor_of(const SensorHandle& s, const Access& a) {
  return a.session().scene().sensors[static_cast<std::size_t>(s.index)];
}

void bind_sensor(py::module_& m) {
  py::class_<SensorHandle> sensor(m, "Sensor", collected<SensorHandle>(),
                                  "A sensor of a world, found by World.sensor(name).");
  sensor.def_property_readonly(
      "name", [](SensorHandle& s) { return sensor_of(s, Access(*s.world)).name; }, "Its name.");
  sensor.def_property_readonly(
      "type", [](SensorHandle& s) { return sensor_of(s, Access(*s.world)).type; },
      "What it is, in the words of its file.");
  sensor.def(
      "read",
      [](SensorHandle& s) {
        const Access access(*s.world);
        return to_array(access.session().reading(s.index));
      },
      "Its present reading, with noise and rate where it has them; docs/scenes.md tells the numbers and "
      "units.");
  sensor.def("__repr__", [](SensorHandle& s) {
    const Access access(*s.world);
    return fmt::format("<karakuri.Sensor '{}' ({})>", sensor_of(s, access).name, sensor_of(s, access).type);
  });
}

const Actuator& actuator_of(const ActuatorHandle& h, const Access& a) {
  return a.session().scene().actuators[static_cast<std::size_t>(h.index)];
}

void bind_actuator(py::module_& m) {
  py::class_<ActuatorHandle> actuator(m, "Actuator", collected<ActuatorHandle>(),
                                      "A motor with a control signal, found by World.actuator(name).");
  actuator.def_property_readonly(
      "name", [](ActuatorHandle& h) { return actuator_of(h, Access(*h.world)).name; }, "Its name.");
  actuator.def_readonly("index", &ActuatorHandle::index, "Its place in World.actuators and World.u.");
  actuator.def_property(
      "control",
      [](ActuatorHandle& h) {
        const Access access(*h.world);
        return access.session().controls()[static_cast<std::size_t>(h.index)];
      },
      [](ActuatorHandle& h, double control) {
        Access access(*h.world);
        refuse_unless(access.session().set_control(h.index, control), "a control must be finite");
        access.changed();
      },
      "Its control signal; cut to `range` when used.");
  actuator.def_property_readonly(
      "range",
      [](ActuatorHandle& h) {
        const Interval r = actuator_of(h, Access(*h.world)).control;
        return py::make_tuple(r.low, r.high);
      },
      "Lowest and highest control.");
  actuator.def("__repr__", [](ActuatorHandle& h) {
    const Access access(*h.world);
    return fmt::format("<karakuri.Actuator '{}'>", actuator_of(h, access).name);
  });
}

}  // namespace

void bind_handles(py::module_& m) {
  bind_link(m);
  bind_joint(m);
  bind_sensor(m);
  bind_actuator(m);
}

}  // namespace karakuri::python
