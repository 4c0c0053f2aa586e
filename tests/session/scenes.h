// Scenes that several tests use: the bundled ones, and small ones as MJCF because it is short.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/corpus.h"
#include "karakuri/session/session.h"

namespace karakuri::test {

/// What there must be for the test to make sense.
template <class T>
T expect_made(Result<T> made) {
  if (!made.ok()) {
    ADD_FAILURE() << to_string(made.errors());
    std::abort();
  }
  return std::move(*made);
}

inline std::filesystem::path bundled_folder() {
  return std::filesystem::path(KARAKURI_SOURCE_DIR) / "scenes";
}
inline LoadedScene bundled(const std::string& name) {
  return expect_made(load_scene(bundled_folder() / (name + ".scene.yaml"), uncached()));
}
inline std::vector<std::string> bundled_names() {
  constexpr std::string_view kEnding = ".scene.yaml";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(bundled_folder())) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(kEnding)) names.push_back(file.substr(0, file.size() - kEnding.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline LoadedScene read_mjcf(std::string_view text) {
  return expect_made(load_mjcf(text, "test.xml", uncached()));
}

inline Session make_session(LoadedScene scene, const SessionOptions& options = {}) {
  return expect_made(Session::make(std::move(scene), options));
}

/// A point mass of 2 kg on a rod of 0.5 m, turning about y; q = 0 hangs down.
inline std::string pendulum(const std::string& more, const std::string& options = "timestep=\"0.001\"") {
  return "<mujoco><option gravity=\"0 0 -10\" " + options +
         "/><worldbody><body name=\"rod\"><joint name=\"hinge\" axis=\"0 1 0\"/>"
         "<inertial pos=\"0 0 -0.5\" mass=\"2\" diaginertia=\"1e-9 1e-9 1e-9\"/>"
         "<site name=\"bob\" pos=\"0 0 -0.5\"/></body></worldbody>" +
         more + "</mujoco>";
}

}  // namespace karakuri::test
