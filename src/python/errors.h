// Diagnostics as Python's exceptions. All of these throw.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <pybind11/pybind11.h>

#include "karakuri/core/diagnostic.h"

namespace karakuri::python {

/// karakuri.UnknownName, a KeyError: "there is no KIND 'NAME'; did you mean ...?"
[[noreturn]] void raise_unknown(std::string_view kind, std::string_view name,
                                const std::vector<std::string>& names);
[[noreturn]] void raise_unknown(const std::vector<Diagnostic>& findings);
/// karakuri.SceneError, a ValueError, with all findings, one line each.
[[noreturn]] void raise_scene(const std::vector<Diagnostic>& findings);
/// karakuri.UntrustedCode, a PermissionError.
[[noreturn]] void raise_untrusted(const std::vector<Diagnostic>& findings);
/// ValueError.
[[noreturn]] void raise_value(const std::string& text);
void raise_if_any(const std::vector<Diagnostic>& findings);
/// TypeError.
[[noreturn]] void raise_type(const std::string& text);
/// ReferenceError: what a handle named is gone.
[[noreturn]] void raise_gone(const std::string& text);
/// RuntimeError.
[[noreturn]] void raise_runtime(const std::string& text);

template <class T>
T take(Result<T> result) {
  if (!result.ok()) raise_scene(result.errors());
  return std::move(result).value();
}

}  // namespace karakuri::python
