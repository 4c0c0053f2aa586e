#include "python/errors.h"

#include <fmt/format.h>

#include "karakuri/core/near_names.h"

namespace karakuri::python {

namespace py = pybind11;

namespace {

/// Our own exceptions are written in Python: src/python/karakuri/_errors.py.
[[noreturn]] void raise_own(const char* type, const std::string& text) {
  const py::object error = py::module_::import("karakuri._errors").attr(type);
  PyErr_SetString(error.ptr(), text.c_str());
  throw py::error_already_set();
}

[[noreturn]] void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw py::error_already_set();
}

/// One line each, without the word "error": the exception says that.
std::string lines(const std::vector<Diagnostic>& findings) {
  std::string all;
  for (const Diagnostic& d : findings) {
    if (!all.empty()) all += '\n';
    if (!d.where.empty()) all += d.where + ": ";
    all += d.what;
    if (!d.remedy.empty()) all += fmt::format(" ({})", d.remedy);
  }
  return all;
}

}  // namespace

void raise_unknown(std::string_view kind, std::string_view name, const std::vector<std::string>& names) {
  raise_own("UnknownName", fmt::format("there is no {} '{}'; {}", kind, name, suggestion(name, names)));
}
void raise_unknown(const std::vector<Diagnostic>& findings) { raise_own("UnknownName", lines(findings)); }
void raise_scene(const std::vector<Diagnostic>& findings) { raise_own("SceneError", lines(findings)); }
void raise_untrusted(const std::vector<Diagnostic>& findings) { raise_own("UntrustedCode", lines(findings)); }
void raise_value(const std::string& text) { raise(PyExc_ValueError, text); }
void raise_if_any(const std::vector<Diagnostic>& findings) {
  if (!findings.empty()) raise_value(lines(findings));
}
void raise_type(const std::string& text) { raise(PyExc_TypeError, text); }
void raise_gone(const std::string& text) { raise(PyExc_ReferenceError, text); }
void raise_runtime(const std::string& text) { raise(PyExc_RuntimeError, text); }

}  // namespace karakuri::python
