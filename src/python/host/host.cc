// Behaviours for a program that is not Python: an interpreter inside it, which runs karakuri._behaviours.
//
// The program loads this as a shared object when a scene has behaviours, so that it needs no Python
// otherwise. Only Python's C interface is used here: World itself comes from the module karakuri, by a
// capsule with the session's address.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "karakuri/session/session.h"

namespace {

using karakuri::Behaviour;
using karakuri::BehaviourHost;
using karakuri::Diagnostic;
using karakuri::Session;
using karakuri::Severity;

struct Decrement {
  void operator()(PyObject* object) const { Py_XDECREF(object); }
};
using Object = std::unique_ptr<PyObject, Decrement>;

/// Python's lock.
class Locked {
 public:
  Locked() : state_(PyGILState_Ensure()) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

std::string text_of(PyObject* object) {
  const Object text(object ? PyObject_Str(object) : nullptr);
  const char* bytes = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (!bytes) PyErr_Clear();
  return bytes ? bytes : "(no text)";
}

/// The error that Python has just raised, which is cleared.
std::string take_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Object a(type), b(value), c(trace);
  const Object name(type ? PyObject_GetAttrString(type, "__name__") : nullptr);
  return text_of(name.get()) + ": " + text_of(value);
}

Object object_of(const karakuri::Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return Object(PyFloat_FromDouble(*number));
  if (const auto* word = std::get_if<std::string>(&value))
    return Object(PyUnicode_DecodeUTF8(word->data(), static_cast<Py_ssize_t>(word->size()), "replace"));
  const auto& numbers = std::get<std::vector<double>>(value);
  Object list(PyList_New(static_cast<Py_ssize_t>(numbers.size())));
  for (std::size_t i = 0; list && i < numbers.size(); ++i)
    PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), PyFloat_FromDouble(numbers[i]));
  return list;
}

/// [(name, file, {parameter: value})]
Object describe(const Session& session) {
  Object all(PyList_New(0));
  for (const Behaviour& b : session.scene().script.behaviours) {
    const Object parameters(PyDict_New());
    for (const auto& [name, value] : b.parameters)
      PyDict_SetItemString(parameters.get(), name.c_str(), object_of(value).get());
    const Object one(Py_BuildValue("(ssO)", b.name.c_str(), b.file.c_str(), parameters.get()));
    if (!one || PyList_Append(all.get(), one.get()) != 0) return nullptr;
  }
  return all;
}

class PythonHost : public BehaviourHost {
 public:
  ~PythonHost() override {
    const Locked locked;
    call("close");
    runner_.reset();
  }

  bool before_step(Session& session, std::vector<Diagnostic>& problems) override {
    const Locked locked;
    if (!runner_) start(session);
    const Object told = runner_ ? Object(PyObject_CallMethod(runner_.get(), "step", nullptr)) : nullptr;
    if (!told) {  // not a behaviour's fault: those are caught in Python
      if (!broken_)
        problems.push_back(
            {Severity::kError, "behaviours", take_error(), "is the Python package of this version?"});
      PyErr_Clear();
      broken_ = true;
      return false;
    }
    if (told.get() == Py_None) return true;
    if (PyUnicode_GetLength(told.get()) > 0)
      problems.push_back({Severity::kError, "behaviours", text_of(told.get()), ""});
    return false;
  }

  void after_reset(Session&) override {
    const Locked locked;
    call("reset");
  }

 private:
  void start(Session& session) {
    const Object module(PyImport_ImportModule("karakuri._behaviours"));
    const Object address(PyCapsule_New(&session, "karakuri.Session", nullptr)), all = describe(session);
    if (!module || !address || !all) return;
    runner_.reset(PyObject_CallMethod(module.get(), "start", "OO", address.get(), all.get()));
  }

  void call(const char* method) {
    if (!runner_) return;
    const Object done(PyObject_CallMethod(runner_.get(), method, nullptr));
    if (!done) PyErr_Clear();
  }

  Object runner_;
  bool broken_ = false;
};

void end_python() {
  PyGILState_Ensure();
  Py_FinalizeEx();
}

namespace fs = std::filesystem;

/// lib/python3.11 in a prefix: what the interpreter's own library is written in.
fs::path standard_library(const fs::path& prefix) {
  return prefix / "lib" /
         ("python" + std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION));
}

/// The prefix of the interpreter that this program is linked to, found from where its shared object lies. By
/// itself Python would take that of the first python3 on PATH, or PYTHONHOME, whose files need not fit.
fs::path own_prefix(std::string& problem) {
  Dl_info found{};
  if (!dladdr(reinterpret_cast<void*>(&Py_InitializeFromConfig), &found) || !found.dli_fname) {
    problem = "where its shared object lies is not known";
    return {};
  }
  std::error_code error;
  const fs::path library = fs::canonical(found.dli_fname, error);
  for (fs::path up = library.parent_path(); up != up.parent_path(); up = up.parent_path()) {
    if (fs::exists(standard_library(up) / "os.py", error)) return up;
  }
  problem = "the files of Python " PY_VERSION " (" + standard_library("").string() +
            "/os.py) are in no folder above '" + library.string() +
            "'; install them again (Debian's package libpython3-stdlib)";
  return {};
}

bool check(const PyStatus& status, std::string& problem) {
  if (!PyStatus_Exception(status)) return true;
  problem = status.err_msg ? status.err_msg : "it says not why";
  return false;
}

/// The interpreter of this library, whatever PATH and PYTHONHOME say; PYTHONPATH and what else the user sets
/// counts.
bool initialize(std::string& problem) {
  const fs::path prefix = own_prefix(problem);
  if (prefix.empty()) return false;
  PyPreConfig locale;
  PyPreConfig_InitPythonConfig(&locale);
  locale.coerce_c_locale = 0, locale.parse_argv = 0;
  if (!check(Py_PreInitialize(&locale), problem)) return false;
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.parse_argv = 0;
  config.install_signal_handlers = 0;  // Ctrl-C is the program's
  const fs::path program = prefix / "bin" / standard_library("").filename();
  const bool good = check(PyConfig_SetBytesString(&config, &config.home, prefix.c_str()), problem) &&
                    check(PyConfig_SetBytesString(&config, &config.program_name, program.c_str()), problem) &&
                    check(PyConfig_SetBytesString(&config, &config.executable, program.c_str()), problem) &&
                    check(Py_InitializeFromConfig(&config), problem);
  PyConfig_Clear(&config);
  return good;
}

/// The interpreter, once.
bool start_python(const std::string& package, std::string& problem) {
  if (Py_IsInitialized()) return true;
  if (!initialize(problem)) return false;
  const Object folder(PyUnicode_DecodeFSDefault(package.c_str()));
  PyObject* path = PySys_GetObject("path");  // borrowed
  bool good = folder && path && PyList_Insert(path, 0, folder.get()) == 0;
  // standard output is the program's own, and may be read by another one
  if (PyObject* errors = PySys_GetObject("stderr"); errors) PySys_SetObject("stdout", errors);
  const Object module(good ? PyImport_ImportModule("karakuri._behaviours") : nullptr);
  good = module != nullptr;
  if (!good) problem = take_error();
  PyEval_SaveThread();
  std::atexit(end_python);
  return good;
}

}  // namespace

/// @param package  The folder that holds the package karakuri.
/// @return The host, or nullptr and why.
extern "C" __attribute__((visibility("default"))) BehaviourHost* karakuri_python_behaviours(
    const std::string& package, std::string& problem) {
  return start_python(package, problem) ? new PythonHost : nullptr;
}
