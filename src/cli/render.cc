// karakuri render: pictures of a scene, drawn by the live page in a Chromium without a window.
#include "karakuri/server/render.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "browser.h"
#include "commands.h"
#include "common.h"
#include "interrupt.h"
#include "page.h"
#include "session_choice.h"
#include "status_line.h"

namespace karakuri::cli {

namespace fs = std::filesystem;

namespace {

using Errors = std::vector<Diagnostic>;

struct RenderChoice {
  SessionChoice session;
  std::string out;
  double time = 0, fps = 30;
  std::string size = "1280x720";
};

struct Size {
  int width = 0, height = 0;
};

Result<Size> parse_size(const std::string& text) {
  Size size;
  char rest = 0;
  const int read = std::sscanf(text.c_str(), "%dx%d%c", &size.width, &size.height, &rest);
  const bool good =
      read == 2 && size.width >= 16 && size.height >= 16 && size.width <= 8192 && size.height <= 8192;
  if (good) return size;
  return Diagnostic{Severity::kError, "--size " + text, "it is not WIDTHxHEIGHT from 16 to 8192",
                    "write it as 1280x720"};
}

Errors write(const fs::path& file, std::string_view bytes) {
  std::ofstream out(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.flush();
  if (out) return {};
  return {{Severity::kError, file.string(), "it cannot be written",
           "check the folder and the space on the disk"}};
}

Errors prepare(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && fs::is_directory(folder, error)) return {};
  return {{Severity::kError, folder.string(), "the folder cannot be made", "give another one with --out"}};
}

int told(const Errors& errors, int code) { return say(errors), code; }

int render_with(const RenderChoice& choice, Size size, Session& session, Server& server) {
  Browser browser;
  Interrupts interrupts([&] {
    say("interrupted in the midst of a step that takes long; rendering ended without that step");
    browser.abandon();
  });
  if (Errors errors = browser.open(render_url(server, size.width, size.height), size.width, size.height);
      !errors.empty())
    return told(errors, kBadUsage);
  RenderOptions options;
  options.fps = choice.fps;
  options.frames = std::max(1, static_cast<int>(std::lround(choice.time * choice.fps)));
  StatusLine status;
  int written = 0;
  const auto begin = std::chrono::steady_clock::now();
  const Errors errors = render(
      session, server, options,
      [&](int frame, std::string_view png) {
        Errors found = write(fs::path(choice.out) / fmt::format("frame{:05}.png", frame), png);
        written += found.empty();
        const double share = (frame + 1.0) / options.frames;
        const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (status.due())
          status.show(fmt::format("{}  frame {} of {}  {} left", bar(share), frame + 1, options.frames,
                                  clock_time(wall * (1 - share) / share)));
        return found;
      },
      [&] { return was_interrupted() || !browser.runs(); });
  interrupts.seen();
  status.clear();
  if (!errors.empty()) return told(errors, kFailed);
  if (!browser.runs() && written < options.frames) return told(browser.last_words(), kFailed);
  fmt::print("{}: {} in {}{}\n", choice.session.scene, count(written, "frame"), choice.out,
             was_interrupted() ? ", interrupted" : "");
  return kSuccess;
}

int render_command(const RenderChoice& choice) {
  const Result<Size> size = parse_size(choice.size);
  if (!size.ok()) return told(size.errors(), kBadUsage);
  const fs::path folder = page_folder();
  if (folder.empty())
    return told({{Severity::kError, "render", "the live page, which draws the pictures, is not built",
                  "install npm (apt-get install npm) and run ./karakuri again"}},
                kBadUsage);
  Result<Session> session = make_session(choice.session);
  if (!session.ok()) return told(session.errors(), kBadUsage);
  if (Errors errors = prepare(choice.out); !errors.empty()) return told(errors, kBadUsage);
  Result<Server> server = Server::start({.port = 0, .bundle = folder, .max_message = 256u << 20});
  if (!server.ok()) return told(server.errors(), kFailed);
  return render_with(choice, *size, *session, *server);
}

}  // namespace

void add_render(CLI::App& app, int& code) {
  auto o = std::make_shared<RenderChoice>();
  CLI::App* sub = app.add_subcommand("render", "Draw a scene into PNG files, without a screen");
  add_session_options(*sub, o->session);
  sub->add_option("--out", o->out, "Folder for the pictures frame00000.png, frame00001.png and so on")
      ->required()
      ->type_name("FOLDER");
  sub->add_option("--time", o->time, "Length of the simulation (default: 0, one picture of the start)")
      ->type_name("SECONDS")
      ->check(number(0, 1e5));
  sub->add_option("--fps", o->fps, "Pictures per simulated second (default: 30)")
      ->type_name("N")
      ->check(number(1e-3, 1e4));
  sub->add_option("--size", o->size, "Size of the pictures in pixels (default: 1280x720)")->type_name("WxH");
  sub->footer(
      "Rendering needs Chromium: the one named by KARAKURI_CHROMIUM, or else the installed one.\n"
      "Exit code: 0 success, 1 a picture could not be drawn or written, 2 bad input or no Chromium.");
  sub->callback([o, &code] { code = render_command(*o); });
}

}  // namespace karakuri::cli
