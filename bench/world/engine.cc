#include "engine.h"

#include <fmt/format.h>

namespace karakuri::bench {

Diagnostic not_installed(const std::string& engine, const std::string& package) {
  return {Severity::kNote, engine, "it is not installed", "install " + package};
}

Diagnostic too_slow(const std::string& engine, const Setup& setup, const std::string& why) {
  return {Severity::kNote, engine,
          fmt::format("left out where there are {} bodies and more: {}", setup.bodies.size(), why), ""};
}

}  // namespace karakuri::bench
