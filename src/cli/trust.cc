// karakuri trust: the folders whose scenes may run code; and asking about a scene that is in none.
#include "trust.h"

#include <unistd.h>

#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "common.h"

namespace karakuri::cli {

namespace fs = std::filesystem;

namespace {

using Errors = std::vector<Diagnostic>;

constexpr const char* kRemedy =
    "--trust runs it this once, --no-behaviours runs the scene without it; to trust all scenes and code in "
    "its folder: "
    "karakuri trust FOLDER";

/// The user's and that of the bundled scenes.
Result<std::vector<fs::path>> all_trusted_folders() {
  Result<std::vector<fs::path>> folders = trusted_folders();
  if (folders.ok() && !bundled_folder().empty()) folders->push_back(bundled_folder());
  return folders;
}

bool can_ask() { return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1; }

/// Control characters could make the terminal show another path.
std::string shown(const fs::path& path) {
  std::string text = path.string();
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  return text;
}

/// Whether it would be trusted with the folder as well.
bool covers(const LoadedScene& scene, const fs::path& file, std::vector<fs::path> trusted,
            const fs::path& folder) {
  trusted.push_back(folder);
  return refuse_untrusted(code_of(scene, file, trusted), file, "").empty();
}

Errors ask(const LoadedScene& scene, const fs::path& file, const std::vector<fs::path>& trusted,
           Errors refusal) {
  std::error_code problem;
  const fs::path folder = fs::canonical(file, problem).parent_path();
  const bool can_trust = covers(scene, file, trusted, folder);
  fmt::print(stderr, "karakuri: {} runs Python code, which can do all that you can:\n", shown(file));
  for (const SceneCode& c : code_of(scene, file, trusted)) {
    if (c.trusted_by.empty()) fmt::print(stderr, "  {}   ({})\n", shown(c.file), shown(c.why_not));
  }
  if (can_trust)
    fmt::print(stderr, "Run it? y: this once, t: always trust {}, anything else: no. ", shown(folder));
  if (!can_trust) fmt::print(stderr, "Run it? y: this once, anything else: no. ");
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "yes") return {};
  if (can_trust && answer == "t") {
    const Result<fs::path> added = trust_folder(folder);
    return added.ok() ? Errors{} : added.errors();
  }
  return refusal;
}

}  // namespace

Errors permit_code(const LoadedScene& scene, const fs::path& file, bool trusted) {
  if (trusted || scene.script.behaviours.empty()) return {};
  const Result<std::vector<fs::path>> folders = all_trusted_folders();
  if (!folders.ok()) return folders.errors();
  Errors refusal = refuse_untrusted(code_of(scene, file, *folders), file, kRemedy);
  if (refusal.empty() || !can_ask()) return refusal;
  return ask(scene, file, *folders, std::move(refusal));
}

std::vector<SceneCode> code_in(const LoadedScene& scene, const std::string& name) {
  if (scene.script.behaviours.empty()) return {};
  const Result<fs::path> file = find_scene(name);
  const Result<std::vector<fs::path>> folders = all_trusted_folders();
  if (!folders.ok()) say(folders.errors());
  return code_of(scene, file.ok() ? *file : fs::path(name),
                 folders.ok() ? *folders : std::vector<fs::path>());
}

std::string code_lines(const std::vector<SceneCode>& code) {
  std::string lines;
  for (const SceneCode& c : code) {
    const std::string who =
        c.trusted_by.empty() ? "not trusted: " + c.why_not : "trusted: " + c.trusted_by.string();
    lines += fmt::format("runs Python at each step: {} ({})\n", shown(c.file), shown(who));
  }
  return lines;
}

nlohmann::ordered_json code_json(const std::vector<SceneCode>& code) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const SceneCode& c : code) {
    all.push_back({{"behaviour", c.behaviour},
                   {"file", c.file.string()},
                   {"named_by", c.named_by.string()},
                   {"trusted", !c.trusted_by.empty()},
                   {"trusted_by", c.trusted_by.string()},
                   {"why_not", c.why_not}});
  }
  return all;
}

// ---- the command

namespace {

struct TrustOptions {
  std::vector<std::string> folders;
  bool list = false, remove = false, json = false;
};

int told(const Errors& errors) { return say(errors), kBadUsage; }

int list_folders(const TrustOptions& options) {
  const Result<std::vector<fs::path>> folders = trusted_folders();
  if (!folders.ok()) return told(folders.errors());
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const fs::path& folder : *folders) {
    json.push_back(folder.string());
    if (!options.json) fmt::print("{}\n", shown(folder));
  }
  if (options.json) print_json(json);
  if (!options.json && folders->empty()) say("no folder is trusted except that of the bundled scenes");
  return kSuccess;
}

int trust(const TrustOptions& options) {
  if (options.remove && options.folders.empty())
    return told(
        {{Severity::kError, "--remove", "no folder is given", "name the folders to remove from the list"}});
  for (const std::string& folder : options.folders) {
    const Result<fs::path> done = options.remove ? distrust_folder(folder) : trust_folder(folder);
    if (!done.ok()) return told(done.errors());
    say(fmt::format(
        "{} {}", shown(*done),
        options.remove ? "is no longer trusted" : "is trusted: its scenes may run the code in it"));
  }
  return options.folders.empty() || options.list ? list_folders(options) : kSuccess;
}

}  // namespace

void add_trust(CLI::App& app, int& code) {
  auto options = std::make_shared<TrustOptions>();
  CLI::App* sub = app.add_subcommand("trust", "Trust folders whose scenes may run Python code");
  sub->add_option("FOLDER", options->folders, "Folders to trust, including everything in them")
      ->type_name("");
  sub->add_flag("--list", options->list, "Print the trusted folders (the default if no folder is given)");
  sub->add_flag("--remove", options->remove, "Remove the folders from the list");
  sub->add_flag("--json", options->json, "Print the list as JSON");
  sub->footer(
      "A scene may name Python files, which can do all that you can. They run if the scene and its code are "
      "in\n"
      "trusted folders. Otherwise karakuri run asks on a terminal, and without a terminal it needs --trust. "
      "The\n"
      "bundled scenes are trusted. The list is kept in karakuri/trusted-folders in $XDG_CONFIG_HOME or "
      "~/.config.\n"
      "Exit code: 0 success, 2 bad input.");
  sub->callback([options, &code] { code = trust(*options); });
}

}  // namespace karakuri::cli
