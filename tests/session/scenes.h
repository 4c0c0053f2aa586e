// Small scenes that several tests use, as MJCF because it is short.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "karakuri/io/load.h"
#include "karakuri/session/session.h"

namespace karakuri::test {

inline LoadedScene read_mjcf(std::string_view text) {
  LoadOptions options;
  options.cache = false;
  Result<LoadedScene> scene = load_mjcf(text, "test.xml", options);
  if (!scene.ok()) {
    ADD_FAILURE() << to_string(scene.errors());
    std::abort();
  }
  return std::move(*scene);
}

inline Session make_session(LoadedScene scene, const SessionOptions& options = {}) {
  Result<Session> session = Session::make(std::move(scene), options);
  if (!session.ok()) {
    ADD_FAILURE() << to_string(session.errors());
    std::abort();
  }
  return std::move(*session);
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
