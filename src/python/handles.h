// What Python holds of the things in a world. Each keeps its world alive; what it names may be gone, and says
// so then with a ReferenceError.
#pragma once

#include <string>
#include <utility>

#include <pybind11/pybind11.h>

#include "python/py_world.h"

namespace karakuri::python {

/// A reference from one of our objects to a world, which the collector of cycles can see.
struct Owned {
  explicit Owned(PyWorld& w) : owner(w.self()), world(&w) {}
  py::object owner;
  PyWorld* world;
};

struct LinkHandle : Owned {
  LinkHandle(PyWorld& w, LinkId i, std::string n) : Owned(w), id(i), name(std::move(n)) {}
  LinkId id;
  std::string name;
  const LinkEntry& entry(const Access& access) const;
};

struct JointHandle : Owned {
  JointHandle(PyWorld& w, JointId i, std::string n) : Owned(w), id(i), name(std::move(n)) {}
  JointId id;
  std::string name;
  /// Of the tree or the scene's loops, or one that was attached.
  const Joint& joint(const Access& access) const;
  const JointEntry* entry(const Access& access) const { return access.model().find(id); }
  /// ValueError where it has no coordinates.
  const JointEntry& moving(const Access& access) const;
};

struct SensorHandle : Owned {
  SensorHandle(PyWorld& w, int i) : Owned(w), index(i) {}
  int index;
};

struct ActuatorHandle : Owned {
  ActuatorHandle(PyWorld& w, int i) : Owned(w), index(i) {}
  int index;
};

LinkHandle find_link(PyWorld& world, const std::string& name);
JointHandle find_joint(PyWorld& world, const std::string& name);
/// A handle of this world, or a name in it.
LinkHandle link_of(PyWorld& world, const py::handle& link, std::string_view argument);
JointHandle joint_of(PyWorld& world, const py::handle& joint, std::string_view argument);

// ---- types whose objects take part in the collection of cycles

template <class T>
T* content(PyObject* self) {
  auto* instance = reinterpret_cast<py::detail::instance*>(self);
  const py::detail::value_and_holder value = instance->get_value_and_holder();
  return value.holder_constructed() ? static_cast<T*>(value.value_ptr()) : nullptr;
}

/// visit_owned(T&, visit) calls visit(py::object&) for each object that T holds.
template <class T>
py::custom_type_setup collected() {
  return py::custom_type_setup([](PyHeapTypeObject* heap) {
    PyTypeObject& type = heap->ht_type;
    type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
      Py_VISIT(Py_TYPE(self));
      int result = 0;
      if (T* held = content<T>(self))
        visit_owned(*held, [&](py::object& o) {
          if (o && result == 0) result = visit(o.ptr(), arg);
        });
      return result;
    };
    type.tp_clear = [](PyObject* self) {
      if (T* held = content<T>(self)) clear_owned(*held);
      return 0;
    };
  });
}

template <class Visit>
void visit_owned(Owned& handle, const Visit& visit) {
  visit(handle.owner);
}
/// The world's own callbacks are cleared, which opens every cycle: a handle without its world would be dead.
inline void clear_owned(Owned&) {}

template <class Visit>
void visit_owned(PyWorld& world, const Visit& visit) {
  for (StepCallback& c : world.before_step) visit(c.function);
  for (EventCallback& c : world.on_event) visit(c.function);
  for (ButtonCallback& c : world.buttons) visit(c.function);
  visit(world.behaviours);
}
inline void clear_owned(PyWorld& world) {
  // moved out first: what is destroyed may look at the world
  const auto step = std::move(world.before_step);
  const auto event = std::move(world.on_event);
  const auto buttons = std::move(world.buttons);
  const py::object behaviours = std::move(world.behaviours);
  world.before_step.clear();
  world.on_event.clear();
  world.buttons.clear();
}

// ---- the parts of the module
void bind_handles(py::module_& m);
void bind_joint(py::module_& m);
void bind_world(py::module_& m);
void bind_dynamics(py::module_& m, py::class_<PyWorld>& world);
void bind_snapshot(py::module_& m, py::class_<PyWorld>& world);
void bind_recording(py::module_& m, py::class_<PyWorld>& world);
void bind_control(py::module_& m);
void bind_walking(py::module_& m);
void bind_batch(py::module_& m);
void bind_events(py::module_& m, py::class_<PyWorld>& world);
void bind_page(py::module_& m, py::class_<PyWorld>& world);

}  // namespace karakuri::python
