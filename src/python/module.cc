// The module karakuri._karakuri: the engine's half of the Python package (the other is src/python/karakuri).
#include "python/gil.h"
#include "python/handles.h"

namespace {

namespace py = pybind11;

/// An object that no constructor has seen has nothing inside, and pybind11 does not look: so there is no way
/// to one.
PyObject* refuse_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError,
               "%s is not made by calling it: worlds come from World.load(path), World.from_text(text) and "
               "Scene().world(), "
               "everything else from a world",
               type->tp_name);
  return nullptr;
}

PyObject* new_batch(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  PyObject* module = PyImport_ImportModule("karakuri._karakuri");
  PyObject* make = module ? PyObject_GetAttrString(module, "_batch") : nullptr;
  PyObject* made = make ? PyObject_Call(make, arguments, keywords) : nullptr;
  Py_XDECREF(make);
  Py_XDECREF(module);
  static_cast<void>(type);
  return made;
}

/// pybind11's own base can be reached as World.__base__, and aborts when it is called.
newfunc new_of_base = nullptr;
PyTypeObject* base_of_all = nullptr;
PyObject* guarded_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return type == base_of_all ? refuse_new(type, arguments, keywords) : new_of_base(type, arguments, keywords);
}

void guard_types(const py::module_& m) {
  for (const auto& [name, value] : py::cast<py::dict>(m.attr("__dict__"))) {
    if (!PyType_Check(value.ptr())) continue;
    auto* type = reinterpret_cast<PyTypeObject*>(value.ptr());
    const bool is_batch = py::cast<std::string>(name) == "Batch";
    type->tp_new = is_batch ? new_batch : refuse_new;
    if (is_batch) type->tp_init = [](PyObject*, PyObject*, PyObject*) { return 0; };
    PyType_Modified(type);
    base_of_all = type->tp_base;
  }
  new_of_base = base_of_all->tp_new;
  base_of_all->tp_new = guarded_new;
}

}  // namespace

PYBIND11_MODULE(_karakuri, m) {
  namespace python = karakuri::python;
  pybind11::options options;
  options.disable_function_signatures();  // they stand in _karakuri.pyi
  m.doc() = "Physics of articulated bodies: the compiled part of karakuri.";
  python::bind_handles(m);
  python::bind_world(m);
  python::bind_control(m);
  python::bind_walking(m);
  python::bind_batch(m);
  guard_types(m);
  pybind11::module_::import("atexit").attr("register")(pybind11::cpp_function(&python::begin_exit));
}
