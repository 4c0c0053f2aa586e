// The benchmark's findings as a table and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "run.h"
#include "support/report.h"

namespace karakuri::bench {

struct SceneResult {
  Entry entry;
  int bodies = 0, dofs = 0;
  double dt = 0;
  std::vector<EngineResult> engines;

  /// nullptr where it was not measured.
  const PhaseResult* find(const std::string& engine, const std::string& phase) const;
};

void print_head();
void print_scene(const SceneResult& scene);
/// Where the time of our steps goes.
void print_profile(const std::vector<SceneResult>& scenes);
nlohmann::json as_json(const std::vector<SceneResult>& scenes, const Report& report);

}  // namespace karakuri::bench
