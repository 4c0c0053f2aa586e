// karakuri check: all that is wrong with files, or strange.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "common.h"
#include "karakuri/session/doubts.h"
#include "trust.h"

namespace karakuri::cli {

namespace {

struct CheckOptions {
  std::vector<std::string> files;
  bool json = false;
  LoadOptions load;
};

struct Finding {
  std::string file;
  bool ok = false;
  std::vector<Diagnostic> diagnostics;
  std::string summary;
  std::vector<SceneCode> code;
};

std::string summary_of(const Session& session) {
  const Model& model = session.world().model();
  return fmt::format("{}, {}, {}", count(static_cast<long long>(model.links.size()) - 1, "link"),
                     count(model.nv, "dof"),
                     count(static_cast<long long>(session.world().colliders().size()), "shape"));
}

Finding check_file(const std::string& file, const CheckOptions& options) {
  Finding out{.file = file};
  Result<LoadedScene> scene = load(file, options.load);
  if (!scene.ok()) {
    out.diagnostics = scene.errors();
    return out;
  }
  out.diagnostics = scene->notes;
  out.code = code_in(*scene, file);
  Result<Session> session = Session::make(std::move(*scene));
  if (session.ok()) {
    out.ok = true;
    for (Diagnostic& doubt : find_doubts(*session)) out.diagnostics.push_back(std::move(doubt));
    out.summary = summary_of(*session);
  } else {
    out.diagnostics.insert(out.diagnostics.end(), session.errors().begin(), session.errors().end());
  }
  return out;
}

std::string counts_of(const std::vector<Diagnostic>& diagnostics) {
  int by_severity[3] = {};
  for (const Diagnostic& d : diagnostics) ++by_severity[static_cast<int>(d.severity)];
  std::string text;
  static constexpr const char* kNames[] = {"note", "warning", "error"};
  for (int i = 2; i >= 0; --i) {
    if (by_severity[i] > 0) text += (text.empty() ? "" : ", ") + count(by_severity[i], kNames[i]);
  }
  return text;
}

const char* verdict_of(const Finding& finding) {
  if (!finding.ok) return "not usable";
  const bool doubtful = std::any_of(finding.diagnostics.begin(), finding.diagnostics.end(),
                                    [](const Diagnostic& d) { return d.severity != Severity::kNote; });
  return doubtful ? "usable" : "good";
}

void print(const Finding& finding) {
  say(finding.diagnostics);
  std::string rest = finding.ok ? " (" + finding.summary : "";
  const std::string counts = counts_of(finding.diagnostics);
  if (!counts.empty()) rest += finding.ok ? "; " + counts : ": " + counts;
  fmt::print("{}: {}{}{}\n{}", finding.file, verdict_of(finding), rest, finding.ok ? ")" : "",
             code_lines(finding.code));
}

int check(const CheckOptions& options) {
  bool all_good = true;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const std::string& file : options.files) {
    const Finding finding = check_file(file, options);
    all_good = all_good && finding.ok;
    if (!options.json) {
      print(finding);
      continue;
    }
    json.push_back({{"file", finding.file},
                    {"ok", finding.ok},
                    {"code", code_json(finding.code)},
                    {"diagnostics", to_json(finding.diagnostics)}});
  }
  if (options.json) print_json(json);
  return all_good ? kSuccess : kBadUsage;
}

}  // namespace

void add_check(CLI::App& app, int& code) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* sub = app.add_subcommand("check", "Report everything that is wrong or suspicious in scene files");
  add_scene(*sub, options->files, "FILE");
  add_load_options(*sub, options->load);
  sub->add_flag("--json", options->json, "Print JSON");
  sub->footer("Exit code: 0 all files are usable, 2 at least one has an error.");
  sub->callback([options, &code] { code = check(*options); });
}

}  // namespace karakuri::cli
