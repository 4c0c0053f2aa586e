#include "karakuri/io/trust.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "io/files.h"

namespace karakuri {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLargestList = 1u << 20;

/// As far as the path exists without links; what does not exist as it is written.
fs::path real_path(const fs::path& path) {
  std::error_code problem;
  const fs::path absolute = fs::absolute(path, problem);
  fs::path real = fs::weakly_canonical(absolute, problem);
  return problem ? absolute.lexically_normal() : real;
}

bool is_in(const fs::path& folder, const fs::path& file) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

/// The trusted folder that holds a file, or nothing. All of them are without links.
fs::path folder_of(const fs::path& file, const std::vector<fs::path>& trusted) {
  const auto found = std::find_if(trusted.begin(), trusted.end(),
                                  [&](const fs::path& folder) { return is_in(folder, file); });
  return found == trusted.end() ? fs::path() : *found;
}

Diagnostic refused(const fs::path& where, std::string what, std::string remedy) {
  return {Severity::kError, where.string(), std::move(what), std::move(remedy)};
}

}  // namespace

std::vector<SceneCode> code_of(const LoadedScene& scene, const fs::path& file,
                               const std::vector<fs::path>& trusted) {
  std::vector<fs::path> folders;
  for (const fs::path& folder : trusted) folders.push_back(real_path(folder));
  const fs::path scene_file = real_path(file);
  std::vector<SceneCode> all;
  for (const Behaviour& b : scene.script.behaviours) {
    SceneCode code{
        b.name, real_path(b.file), b.named_by.empty() ? scene_file : real_path(b.named_by), {}, {}};
    const fs::path vouches = folder_of(code.file, folders);
    if (folder_of(scene_file, folders).empty()) {
      code.why_not = "the scene is in no trusted folder";
    } else if (folder_of(code.named_by, folders).empty()) {
      code.why_not = fmt::format("'{}', which names it, is in no trusted folder", code.named_by.string());
    } else if (vouches.empty()) {
      code.why_not = "it is outside of all trusted folders, though the scene is in one";
    } else {
      code.trusted_by = vouches;
    }
    all.push_back(std::move(code));
  }
  return all;
}

std::vector<Diagnostic> refuse_untrusted(const std::vector<SceneCode>& code, const fs::path& file,
                                         std::string remedy) {
  const fs::path folder = real_path(file).parent_path();
  std::string files, outside;
  for (const SceneCode& c : code) {
    if (!c.trusted_by.empty()) continue;
    files += fmt::format("{}'{}' ({})", files.empty() ? "" : ", ", c.file.string(), c.why_not);
    if (!is_in(folder, c.file) || !is_in(folder, c.named_by))
      outside += fmt::format("{}'{}'", outside.empty() ? "" : ", ", c.file.string());
  }
  if (files.empty()) return {};
  if (const auto at = remedy.find("FOLDER"); at != remedy.npos)
    remedy.replace(at, 6, fmt::format("'{}'", folder.string()));
  if (!outside.empty()) remedy += fmt::format("; that folder does not cover {}", outside);
  return {refused(
      file, "it runs Python code, which can do all that you can, and which you have not trusted: " + files,
      std::move(remedy))};
}

// ---- the list

fs::path trusted_folders_file() {
  const auto from = [](const char* variable) {
    const char* value = std::getenv(variable);
    const fs::path path = value ? value : "";
    return path.is_absolute() ? path : fs::path();  // as the specification of XDG wants it
  };
  fs::path base = from("XDG_CONFIG_HOME");
  if (base.empty() && !from("HOME").empty()) base = from("HOME") / ".config";
  return base.empty() ? fs::path() : base / "karakuri" / "trusted-folders";
}

namespace {

/// Whoever can write the list could run code as the user.
std::vector<Diagnostic> find_other_writers(const fs::path& file) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0) return {};
  const bool own = status.st_uid == geteuid() || status.st_uid == 0;
  if (own && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return {refused(file, "others can write this list of trusted folders, so that it is not believed",
                  fmt::format("see that it is right, then: chmod go-w '{}'", file.string()))};
}

/// In place of the old one at once, so that no reader sees a part of it.
std::vector<Diagnostic> write_list(const fs::path& file, const std::vector<fs::path>& folders) {
  std::error_code problem;
  fs::create_directories(file.parent_path(), problem);
  const fs::path fresh = file.string() + fmt::format(".{}", getpid());
  std::ofstream out(fresh);
  fs::permissions(fresh, fs::perms::owner_read | fs::perms::owner_write, problem);
  for (const fs::path& folder : folders) out << folder.string() << '\n';
  out.close();
  if (out) fs::rename(fresh, file, problem);
  if (out && !problem) return {};
  fs::remove(fresh, problem);
  return {refused(file, "the list of trusted folders cannot be written",
                  "check its folder and the space on the disk")};
}

Result<fs::path> list_to_change() {
  fs::path file = trusted_folders_file();
  if (!file.empty()) return file;
  return refused("trust", "there is no place for the list of trusted folders", "set HOME or XDG_CONFIG_HOME");
}

/// Why a folder cannot be trusted, if so.
std::optional<Diagnostic> find_flaw(const fs::path& folder) {
  std::error_code problem;
  if (!fs::is_directory(folder, problem))
    return refused(folder, "there is no such folder", "name the folder of the scene");
  if (folder == folder.root_path())
    return refused(folder, "this would trust every scene of this machine", "name the folder of the scene");
  if (folder.string().find('\n') != std::string::npos)
    return refused(folder, "its name has more than one line", "give it another name");
  if ((fs::status(folder, problem).permissions() & fs::perms::others_write) != fs::perms::none)
    return refused(
        folder, "everybody on this machine can put files there",
        fmt::format("move the scene to a folder of your own, or: chmod o-w '{}'", folder.string()));
  return std::nullopt;
}

}  // namespace

Result<std::vector<fs::path>> trusted_folders() {
  const fs::path file = trusted_folders_file();
  std::error_code problem;
  std::vector<fs::path> folders;
  if (file.empty() || !fs::exists(file, problem)) return folders;
  if (std::vector<Diagnostic> errors = find_other_writers(file); !errors.empty()) return errors;
  const Result<std::string> text = io::read_file(file, kLargestList);
  if (!text.ok()) return text.errors();
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (const fs::path folder = line; folder.is_absolute()) folders.push_back(folder);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return folders;
}

Result<fs::path> trust_folder(const fs::path& folder) {
  const Result<fs::path> file = list_to_change();
  if (!file.ok()) return file.errors();
  Result<std::vector<fs::path>> folders = trusted_folders();
  if (!folders.ok()) return folders.errors();
  fs::path added = real_path(folder);
  if (!added.has_filename()) added = added.parent_path();
  if (const auto flaw = find_flaw(added)) return *flaw;
  if (std::find(folders->begin(), folders->end(), added) != folders->end()) return added;
  folders->push_back(added);
  if (std::vector<Diagnostic> errors = write_list(*file, *folders); !errors.empty()) return errors;
  return added;
}

Result<fs::path> distrust_folder(const fs::path& folder) {
  const Result<fs::path> file = list_to_change();
  if (!file.ok()) return file.errors();
  Result<std::vector<fs::path>> folders = trusted_folders();
  if (!folders.ok()) return folders.errors();
  fs::path gone = real_path(folder);
  if (!gone.has_filename()) gone = gone.parent_path();
  const auto found = std::find(folders->begin(), folders->end(), gone);
  if (found == folders->end())
    return refused(gone, "it is not in the list of trusted folders", "karakuri trust --list shows them");
  folders->erase(found);
  if (std::vector<Diagnostic> errors = write_list(*file, *folders); !errors.empty()) return errors;
  return gone;
}

}  // namespace karakuri
