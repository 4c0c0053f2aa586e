#include "karakuri/server/render.h"

#include <chrono>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "server/frame.h"

namespace karakuri {

using namespace server_detail;

namespace {

using Errors = std::vector<Diagnostic>;

Errors failed(std::string what) {
  return {{Severity::kError, "render", std::move(what), "look at the page in a browser: karakuri run SCENE"}};
}

/// The first event that `wanted` accepts; none when time is up, or `stop` says so.
template <class Wanted>
std::optional<ClientEvent> wait(Server& server, double seconds, const std::function<bool()>& stop,
                                const Wanted& wanted) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end && !stop()) {
    for (ClientEvent& event : server.take_events()) {
      if (wanted(event)) return std::move(event);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return std::nullopt;
}

void step_to(Session& session, double time, const std::function<bool()>& stop) {
  while (session.time() + 0.5 * session.world().settings().dt < time && !stop()) session.step();
}

}  // namespace

std::string render_url(const Server& server, int width, int height) {
  return fmt::format("{}&quality=3&render={}x{}", server.url(), width, height);
}

std::vector<Diagnostic> render(Session& session, Server& server, const RenderOptions& options,
                               const std::function<Errors(int, std::string_view)>& take,
                               const std::function<bool()>& stop) {
  const auto opened = wait(server, options.open_seconds, stop,
                           [](const ClientEvent& e) { return e.kind == ClientEventKind::kOpened; });
  if (!opened) return stop() ? Errors{} : failed("no page came to draw");
  const ClientId page = opened->client;
  Description scene = describe(session);
  server.send_shared(page, std::make_shared<const std::string>(std::move(scene.json)), false);
  server.send_shared(page, scene.geometry, true);
  const double start = session.time();
  for (int i = 0; i < options.frames; ++i) {
    step_to(session, start + i / options.fps, stop);
    server.send_frame(page, std::make_shared<const std::string>(encode_frame(session, scene.links, true, {})),
                      encode_signals(session, 0, {}));
    const auto answer = wait(server, options.frame_seconds, stop, [&](const ClientEvent& e) {
      return e.client == page && (e.binary || e.kind == ClientEventKind::kClosed);
    });
    if (!answer) return stop() ? Errors{} : failed(fmt::format("frame {} was not drawn in time", i));
    if (answer->kind == ClientEventKind::kClosed) return failed("the page went away");
    if (Errors errors = take(i, answer->text); !errors.empty()) return errors;
  }
  return {};
}

}  // namespace karakuri
