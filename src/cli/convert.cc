// karakuri convert: any scene as a native one.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "common.h"
#include "karakuri/io/save.h"

namespace karakuri::cli {

namespace {

struct ConvertOptions {
  std::string in, out;
  LoadOptions load;
};

bool is_native(const std::string& name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

int convert(const ConvertOptions& options) {
  if (!is_native(options.out)) {
    say({{Severity::kError, options.out, "only native scenes are written, not URDF, MJCF or SDF",
          "let the name end in .scene.yaml"}});
    return kBadUsage;
  }
  const Result<LoadedScene> scene = load(options.in, options.load);
  if (!scene.ok()) {
    say(scene.errors());
    return kBadUsage;
  }
  say(scene->notes);
  const std::vector<Diagnostic> problems = save_native(*scene, options.out);
  say(problems);
  return problems.empty() ? kSuccess : kBadUsage;
}

}  // namespace

void add_convert(CLI::App& app, int& code) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* sub = app.add_subcommand("convert", "Convert any scene to a native one");
  add_scene(*sub, options->in, "IN");
  sub->add_option("OUT", options->out, "The native scene to write, NAME.scene.yaml")
      ->required()
      ->type_name("");
  add_load_options(*sub, options->load);
  sub->footer(
      "Meshes, terrain and trajectories are written to a folder beside OUT. The world made from OUT has the\n"
      "same state hash as the one made from IN.");
  sub->callback([options, &code] { code = convert(*options); });
}

}  // namespace karakuri::cli
