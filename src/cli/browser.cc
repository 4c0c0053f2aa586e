#include "browser.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>

extern char** environ;

namespace karakuri::cli {

namespace fs = std::filesystem;

namespace {

/// KARAKURI_CHROMIUM, or the first of the usual names on PATH; empty: none.
std::string find_chromium() {
  if (const char* given = std::getenv("KARAKURI_CHROMIUM")) return access(given, X_OK) == 0 ? given : "";
  const char* path = std::getenv("PATH");
  for (const char* name : {"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}) {
    std::istringstream folders(path ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::string file = folder + "/" + name;
      if (access(file.c_str(), X_OK) == 0) return file;
    }
  }
  return "";
}

Diagnostic problem(std::string what, std::string remedy) {
  return {Severity::kError, "render", std::move(what), std::move(remedy)};
}

}  // namespace

std::vector<Diagnostic> Browser::open(const std::string& url, int width, int height) {
  const std::string program = find_chromium();
  if (program.empty())
    return {problem("Chromium, which draws the pictures, was not found",
                    "run apt-get install chromium, or set KARAKURI_CHROMIUM")};
  folder_ = PrivateFolder::make();
  const std::string door = make_door(folder_, url);
  if (door.empty()) return {problem("no temporary folder can be created", "set TMPDIR to a writable folder")};
  std::vector<std::string> words = {program,
                                    "--headless=new",
                                    "--no-sandbox",
                                    "--disable-gpu-sandbox",
                                    "--use-angle=swiftshader",
                                    "--enable-unsafe-swiftshader",
                                    "--ignore-gpu-blocklist",
                                    "--hide-scrollbars",
                                    "--mute-audio",
                                    "--no-first-run",
                                    "--disable-extensions",
                                    "--disable-background-networking",
                                    "--user-data-dir=" + (folder_.path() / "profile").string(),
                                    fmt::format("--window-size={},{}", width, height),
                                    door};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = (folder_.path() / "log").string();
  posix_spawn_file_actions_t streams;
  posix_spawn_file_actions_init(&streams);
  posix_spawn_file_actions_addopen(&streams, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&streams, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&streams, 1, 2);
  posix_spawnattr_t own_group;  // so that all it starts can be ended, and Ctrl-C does not reach it first
  posix_spawnattr_init(&own_group);
  posix_spawnattr_setflags(&own_group, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&own_group, 0);
  const int failed = posix_spawn(&child_, program.c_str(), &streams, &own_group, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&streams);
  posix_spawnattr_destroy(&own_group);
  if (failed == 0) return {};
  child_ = 0;
  return {problem(fmt::format("{} cannot be started", program), "check KARAKURI_CHROMIUM")};
}

bool Browser::runs() {
  if (child_ > 0 && waitpid(child_, nullptr, WNOHANG) != 0) child_ = 0;
  return child_ > 0;
}

std::vector<Diagnostic> Browser::last_words() const {
  std::ifstream in(folder_.path() / "log");
  std::string last = "nothing";
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) last = line;
  }
  return {
      problem(fmt::format("Chromium has ended; its last output was: {}", last), "run it by hand to see why")};
}

Browser::~Browser() {
  if (runs()) {
    kill(-child_, SIGTERM);
    for (int i = 0; i < 200 && runs(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (runs()) {
      kill(-child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
  }
}

void Browser::abandon() const {
  if (child_ > 0) kill(-child_, SIGKILL);
  folder_.remove();
}

}  // namespace karakuri::cli
