// The live page, as the program opens it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "door.h"
#include "karakuri/server/server.h"

namespace karakuri::cli {

struct PageOptions {
  std::string listen = "127.0.0.1";
  int port = 8137;
  bool no_browser = false;
  bool no_page = false;
};

/// The page while it is served, and the file that its browser was given.
struct LivePage {
  Server server;
  PrivateFolder door;
};

/// Where the page's files are: given by KARAKURI_PAGE, installed beside the program, or built from the
/// sources. An empty path where they are not.
std::filesystem::path page_folder();

/// Says the address and opens a browser where there is one. Nothing, with the reason said, where the page
/// cannot be served; `failed` tells whether that is an error (a bad address) or goes without (not built).
std::optional<LivePage> open_page(const PageOptions& options, bool& failed);

}  // namespace karakuri::cli
