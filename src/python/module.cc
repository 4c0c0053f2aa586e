// The module karakuri._karakuri: the engine's half of the Python package (the other is src/python/karakuri).
#include "python/gil.h"
#include "python/handles.h"

PYBIND11_MODULE(_karakuri, m) {
  namespace python = karakuri::python;
  pybind11::options options;
  options.disable_function_signatures();  // they stand in _karakuri.pyi
  m.doc() = "Physics of articulated bodies: the compiled part of karakuri.";
  python::bind_handles(m);
  python::bind_world(m);
  python::bind_control(m);
  python::bind_batch(m);
  pybind11::module_::import("atexit").attr("register")(pybind11::cpp_function(&python::begin_exit));
}
