// karakuri list: the bundled scenes. karakuri schema: what may stand in a native scene.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "common.h"

namespace karakuri::cli {

namespace {

int list(bool as_json) {
  const std::vector<BundledScene> scenes = bundled_scenes();
  if (scenes.empty()) {
    say("the bundled scenes were not found; set KARAKURI_SCENES to their folder");
    return kFailed;
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::size_t width = 0;
  for (const BundledScene& scene : scenes) width = std::max(width, scene.name.size());
  for (const BundledScene& scene : scenes) {
    if (as_json) {
      json.push_back(
          {{"name", scene.name}, {"description", scene.description}, {"file", scene.file.string()}});
    } else {
      fmt::print("{:<{}}  {}\n", scene.name, width, scene.description);
    }
  }
  if (as_json) print_json(json);
  return kSuccess;
}

}  // namespace

void add_list(CLI::App& app, int& code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* sub = app.add_subcommand("list", "List the bundled scenes");
  sub->add_flag("--json", *json, "Print JSON");
  sub->footer("Each scene can be run by its name, for example: karakuri run wall");
  sub->callback([json, &code] { code = list(*json); });
}

void add_schema(CLI::App& app, int& code) {
  CLI::App* sub = app.add_subcommand("schema", "Print the JSON schema of native scenes");
  sub->footer("Editors that support JSON schemas use it to check and complete *.scene.yaml files.");
  sub->callback([&code] {
    fmt::print("{}\n", scene_schema_json());
    code = kSuccess;
  });
}

}  // namespace karakuri::cli
