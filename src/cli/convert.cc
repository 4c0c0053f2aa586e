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
  bool strict = false;
  std::vector<std::string> package_paths;
};

bool is_native(const std::string& name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

int convert(const ConvertOptions& options) {
  if (!is_native(options.out)) {
    say({{Severity::kError, options.out, "only native scenes are written, not URDF, MJCF or SDF",
          "let the name end in .scene.yaml"}});
    return kBadUsage;
  }
  LoadOptions load_options{.strict = options.strict, .package_paths = options.package_paths};
  const Result<LoadedScene> scene = load(options.in, load_options);
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
  CLI::App* sub = app.add_subcommand("convert", "Write any scene as a native one");
  sub->add_option("IN", options->in, "Native scene, URDF, MJCF or SDF, or a bundled scene's name")
      ->required();
  sub->add_option("OUT", options->out, "The native scene to write, NAME.scene.yaml")->required();
  sub->add_flag("--strict", options->strict, "What is not supported is an error");
  sub->add_option("--package-path", options->package_paths,
                  "Folder in which package://NAME is looked for; repeatable")
      ->expected(1)
      ->take_all();
  sub->footer(
      "Meshes, terrain and trajectories go into a folder beside OUT. The world that OUT makes has the same\n"
      "state hash as that of IN.");
  sub->callback([options, &code] { code = convert(*options); });
}

}  // namespace karakuri::cli
