// The command line program. The launcher at the project's root adds `test` and `bench`, which need the
// sources.
#include <algorithm>
#include <cstdio>
#include <exception>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "common.h"
#include "karakuri/core/near_names.h"
#include "version.h"

namespace {

using namespace karakuri::cli;

/// A word in the place of the command that is none: said better than by the parser.
bool is_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return false;
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  for (const std::string& name : names) {
    if (name == argv[1]) return false;
  }
  say(fmt::format("there is no command '{}'; {} (see karakuri --help)", argv[1],
                  karakuri::suggestion(argv[1], names)));
  return true;
}

/// What the command might have meant by an option that it does not have: " Did you mean '--time'?", or
/// nothing.
std::string near_option(const CLI::App& command, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (int i = 2; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (!word.starts_with("--") || std::find(names.begin(), names.end(), word) != names.end()) continue;
    const std::vector<std::string> near = karakuri::near_names(word, names, 1);
    if (!near.empty()) return fmt::format(" '{}': did you mean '{}'?", word, near[0]);
  }
  return "";
}

int run(int argc, char** argv) {
  int code = kSuccess;
  CLI::App app("karakuri - physics of articulated bodies", "karakuri");
  app.set_version_flag("--version", version_text(),
                       "Print the version, the compiler, its flags and the build type");
  app.get_formatter()->column_width(28);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Positionals", "Arguments");
  app.get_formatter()->label("REQUIRED", "");
  app.footer(
      "karakuri COMMAND --help describes one command. Exit code: 0 success, 1 a failed result, 2 bad usage\n"
      "or bad input.");
  add_run(app, code);
  add_render(app, code);
  add_list(app, code);
  add_check(app, code);
  add_info(app, code);
  add_convert(app, code);
  add_trust(app, code);
  add_schema(app, code);
  for (CLI::App* command : app.get_subcommands({})) command->group("Commands");
  if (argc < 2) {
    fmt::print(stderr, "{}", app.help());
    return kBadUsage;
  }
  if (is_unknown_command(app, argc, argv)) return kBadUsage;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // help, version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    say(fmt::format("{}.{} See karakuri {}--help", error.what(),
                    chosen.empty() ? "" : near_option(*chosen[0], argc, argv),
                    chosen.empty() ? "" : chosen[0]->get_name() + " "));
    return kBadUsage;
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) == 0) return code;
    karakuri::cli::say("the output could not be written");
    return code == 0 ? karakuri::cli::kFailed : code;
  } catch (const std::exception& error) {
    karakuri::cli::say(error.what());
    return karakuri::cli::kFailed;
  }
}
