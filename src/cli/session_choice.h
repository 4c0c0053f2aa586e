// What scene is run, and how: shared by the commands that step one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "karakuri/io/load.h"
#include "karakuri/session/session.h"

namespace karakuri::cli {

struct SessionChoice {
  std::string scene;
  std::optional<double> dt;
  std::string solver, contact, integrator, keyframe;
  std::optional<int> threads;
  std::uint64_t seed = 0;
  std::vector<std::string> sets;
  LoadOptions load;
};

void add_session_options(CLI::App& sub, SessionChoice& choice);
/// Says the scene's notes, and what is doubtful in it.
Result<Session> make_session(const SessionChoice& choice);

}  // namespace karakuri::cli
