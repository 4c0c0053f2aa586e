// The rule, as docs/architecture.md states it:
//   1. a module includes itself and modules of lower levels, and `world` not `control`;
//   2. public headers include no private ones, and from session upwards no private ones of other modules;
//   3. `world` solves nothing: of the private solver it sees the statements of islands alone, of Eigen no
//   decomposition, and it calls none;
//   4. below level 6, nothing that calls the operating system, prints, or serves, and threads only in
//   src/core; and no library but Eigen, besides qhull in collision.
#include "architecture/include_rule.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <string_view>

#include <fmt/format.h>

namespace karakuri::test {

namespace fs = std::filesystem;

namespace {

constexpr int kFirstSystemLevel = 6;    // may use files and sockets
constexpr int kFirstFrontEndLevel = 7;  // from here on the library below is seen as a user sees it

const std::map<std::string, int, std::less<>>& levels() {
  static const std::map<std::string, int, std::less<>> table = {
      {"core", 0},     {"spatial", 1},    {"model", 2}, {"collision", 2}, {"solver", 2},
      {"dynamics", 3}, {"constraint", 4}, {"world", 5}, {"control", 6},   {"io", 6},
      {"session", 7},  {"server", 8},     {"cli", 9},   {"python", 9},    {"bench", 9}};
  return table;
}

constexpr std::array kThreadHeaders = {"thread", "future", "pthread.h", "tbb/", "oneapi/"};
constexpr std::array kSystemHeaders = {
    "unistd.h", "fcntl.h",   "poll.h",  "signal.h", "csignal",  "dlfcn.h",    "termios.h",
    "syslog.h", "windows.h", "sys/",    "linux/",   "netinet/", "arpa/",      "netdb.h",
    "boost/",   "iostream",  "fstream", "print",    "spdlog/",  "filesystem", "ifaddrs.h"};

/// What the engine may include of other libraries, and which module of it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kEngineLibraries = {
    {{"Eigen/", ""}, {"tbb/", "core"}, {"libqhull_r/", "collision"}}};

/// What `world` may include of src/solver: how islands are stated, and what is asked of them.
constexpr std::array kSolverInterface = {"solver/island.h",        "solver/rigid_islands.h",
                                         "solver/accuracy.h",      "solver/choose.h",
                                         "solver/mobility_root.h", "solver/position_correction.h"};
/// All that `world` may include of Eigen.
constexpr std::array kPlainEigen = {"Eigen/Core", "Eigen/Geometry"};

/// An entry that ends in '/' stands for a folder.
bool names(std::string_view entry, std::string_view header) {
  return entry.ends_with('/') ? header.starts_with(entry) : header == entry;
}

bool any_names(const auto& entries, std::string_view header) {
  return std::ranges::any_of(entries, [&](std::string_view entry) { return names(entry, header); });
}

struct Place {
  std::string module;
  bool is_public = false;
};

/// Where a file belongs, from its path below the root.
Place place_of_file(const fs::path& file) {
  std::vector<std::string> parts;
  for (const fs::path& part : file) parts.push_back(part.string());
  if (parts[0] == "bench") return {"bench", false};
  if (parts[0] == "include") return {parts.size() > 3 ? parts[2] : "", true};
  return {parts.size() > 2 ? parts[1] : "", false};
}

/// What an included name means: a module's header, or nothing of ours.
std::optional<Place> place_of_include(const std::string& header) {
  const std::string prefix = "karakuri/";
  const bool is_public = header.starts_with(prefix);
  const std::string rest = is_public ? header.substr(prefix.size()) : header;
  const auto slash = rest.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const std::string module = rest.substr(0, slash);
  if (!is_public && !levels().contains(module)) return std::nullopt;
  return Place{module, is_public};
}

std::optional<std::string> flaw_of_edge(const Place& from, const Place& to) {
  const int from_level = levels().at(from.module);
  const auto to_entry = levels().find(to.module);
  if (to_entry == levels().end()) return fmt::format("'{}' has no place in the table of levels", to.module);
  if (from.is_public && !to.is_public) return "a public header must not include a private one";
  if (from.module == to.module) return std::nullopt;
  if (from_level >= kFirstFrontEndLevel && !to.is_public) return "from session upwards, public headers only";
  if (from.module == "world" && to.module == "control") return "world takes control through a hook";
  if (to_entry->second < from_level) return std::nullopt;
  return fmt::format("{} (level {}) must not include {} (level {})", from.module, from_level, to.module,
                     to_entry->second);
}

std::optional<std::string> flaw_of_system_header(const Place& from, const std::string& header) {
  if (levels().at(from.module) >= kFirstSystemLevel) return std::nullopt;
  if (any_names(kSystemHeaders, header))
    return "levels 0 to 5 make no system calls, do not print, do not serve";
  if (any_names(kThreadHeaders, header) && (from.module != "core" || from.is_public)) {
    return "threads are reached through src/core alone";
  }
  const auto allowed = [&](const auto& library) {
    return names(library.first, header) && (library.second.empty() || library.second == from.module);
  };
  if (header.find('/') != std::string::npos && !std::ranges::any_of(kEngineLibraries, allowed))
    return "levels 0 to 5 need no library but Eigen";
  return std::nullopt;
}

/// What keeps `world` from solving anything.
std::optional<std::string> flaw_of_solving(const Place& from, const std::string& header) {
  if (from.module != "world") return std::nullopt;
  if (header.starts_with("solver/") && !any_names(kSolverInterface, header))
    return "world states islands and solves none; the solver's inside is its own";
  if (header.starts_with("Eigen/") && !any_names(kPlainEigen, header))
    return "world factors nothing; decompositions belong into solver or dynamics";
  return std::nullopt;
}

/// Precompiled headers bring decompositions along: calls are looked for, too.
std::optional<std::string> flaw_of_line(const Place& from, const std::string& line) {
  static const std::regex decomposition(
      R"((\.|->)(ldlt|llt|lu|partialPivLu|fullPivLu|householderQr|colPivHouseholderQr|fullPivHouseholderQr)"
      R"(|completeOrthogonalDecomposition|jacobiSvd|bdcSvd|eigenvalues)\(|\b(LLT|LDLT|PartialPivLU|FullPivLU)"
      R"(|HouseholderQR|JacobiSVD|BDCSVD|SelfAdjointEigenSolver|EigenSolver)<)");
  if (from.module != "world" || line.find_first_not_of(' ') == std::string::npos) return std::nullopt;
  if (line.substr(line.find_first_not_of(' ')).starts_with("//")) return std::nullopt;
  std::smatch match;
  if (!std::regex_search(line, match, decomposition)) return std::nullopt;
  return fmt::format("{}: world factors nothing; decompositions belong into solver or dynamics", match.str());
}

std::optional<std::string> flaw_of_include(const Place& from, const std::string& header) {
  if (header.find("..") != std::string::npos) return "write the path from the include folder, without '..'";
  if (const auto to = place_of_include(header)) return flaw_of_edge(from, *to);
  return flaw_of_system_header(from, header);
}

void check_file(const fs::path& root, const fs::path& file, std::vector<std::string>& findings) {
  static const std::regex include_line(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"].*)");
  const std::string name = fs::relative(file, root).generic_string();
  const Place from = place_of_file(name);
  if (!levels().contains(from.module)) {
    findings.push_back(fmt::format("{}:1: '{}' has no place in the table of levels", name, from.module));
    return;
  }
  std::ifstream in(file);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::smatch match;
    if (const auto flaw = flaw_of_line(from, line))
      findings.push_back(fmt::format("{}:{}: {}", name, number, *flaw));
    if (!std::regex_match(line, match, include_line)) continue;
    auto flaw = flaw_of_include(from, match[1]);
    if (!flaw) flaw = flaw_of_solving(from, match[1]);
    if (flaw) {
      findings.push_back(fmt::format("{}:{}: includes {}: {}", name, number, match[1].str(), *flaw));
    }
  }
}

std::vector<fs::path> source_files(const fs::path& root) {
  static constexpr std::array kExtensions = {".h", ".hpp", ".cc", ".cpp", ".inl"};
  std::vector<fs::path> files;
  for (const char* folder : {"include", "src", "bench"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (std::ranges::count(kExtensions, entry.path().extension()) > 0) files.push_back(entry.path());
    }
  }
  return files;
}

}  // namespace

std::vector<std::string> find_forbidden_includes(const fs::path& root) {
  std::vector<std::string> findings;
  for (const fs::path& file : source_files(root)) check_file(root, file, findings);
  std::ranges::sort(findings);
  return findings;
}

int count_source_files(const fs::path& root) { return static_cast<int>(source_files(root).size()); }

}  // namespace karakuri::test
