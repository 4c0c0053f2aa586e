#include "page.h"

#include <fcntl.h>
#include <spawn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "common.h"

extern char** environ;

namespace karakuri::cli {

namespace fs = std::filesystem;

namespace {

/// KARAKURI_TOKEN keeps the address from run to run, so that an open page finds the next one.
Result<std::string> given_token() {
  const char* given = std::getenv("KARAKURI_TOKEN");
  const std::string token = given ? given : "";
  const bool plain =
      token.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
      std::string::npos;
  if (token.empty() || (plain && token.size() >= 16)) return token;
  return Diagnostic{Severity::kError, "KARAKURI_TOKEN",
                    "it is too short or has other characters than letters and digits",
                    "give at least 16 letters and digits"};
}

bool has_screen() {
  const char* x = std::getenv("DISPLAY");
  const char* wayland = std::getenv("WAYLAND_DISPLAY");
  return (x && *x) || (wayland && *wayland);
}

/// Through xdg-open, whose own words are of no use here. Fails silently: the address is said anyway.
void open_browser(const std::string& url) {
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  for (const int stream : {0, 1, 2}) posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null", O_RDWR, 0);
  std::string program = "xdg-open", address = url;
  char* arguments[] = {program.data(), address.data(), nullptr};
  pid_t child = 0;
  posix_spawnp(&child, "xdg-open", &quiet, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&quiet);
}

}  // namespace

fs::path page_folder() {
  std::error_code error;
  std::vector<fs::path> candidates;
  if (const char* given = std::getenv("KARAKURI_PAGE")) {
    candidates.emplace_back(given);
  } else {
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    if (!error) candidates.push_back(self.parent_path() / KARAKURI_INSTALLED_PAGE);
    candidates.emplace_back(KARAKURI_BUILT_PAGE);
  }
  for (const fs::path& folder : candidates) {
    if (fs::is_regular_file(folder / "index.html", error)) return folder;
  }
  return {};
}

std::optional<LivePage> open_page(const PageOptions& options, bool& failed) {
  failed = false;
  if (options.no_page) return std::nullopt;
  const fs::path folder = page_folder();
  if (folder.empty()) {
    say("the live page is not built (install npm with apt-get install npm, then run ./karakuri again); "
        "running without it");
    return std::nullopt;
  }
  Result<std::string> token = given_token();
  if (!token.ok()) {
    say(token.errors());
    failed = true;
    return std::nullopt;
  }
  Result<Server> server = Server::start({.address = options.listen,
                                         .port = static_cast<std::uint16_t>(options.port),
                                         .bundle = folder,
                                         .token = *token});
  if (!server.ok()) {
    say(server.errors());
    failed = true;
    return std::nullopt;
  }
  if (options.port != 0 && server->port() != options.port)
    say(fmt::format("port {} is taken, using {}", options.port, server->port()));
  if (options.listen != "127.0.0.1" && options.listen != "::1")
    say("warning: other machines can reach this page, and whoever has its address can change the simulation");
  const bool browser = !options.no_browser && has_screen();
  say(fmt::format("{} {}   (Ctrl-C ends)", browser ? "opening" : "open in a browser:", server->url()));
  LivePage page{std::move(*server), browser ? PrivateFolder::make() : PrivateFolder()};
  if (const std::string door = make_door(page.door, page.server.url()); !door.empty()) open_browser(door);
  return page;
}

}  // namespace karakuri::cli
