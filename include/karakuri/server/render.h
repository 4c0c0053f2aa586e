// Pictures of a session: a page that is opened with ?render=WIDTHxHEIGHT draws each frame and sends it back.
#pragma once

#include <functional>
#include <string_view>

#include "karakuri/server/server.h"
#include "karakuri/session/session.h"

namespace karakuri {

struct RenderOptions {
  int frames = 1;
  double fps = 30;            // of the scene's time
  double open_seconds = 60;   // for the page to come
  double frame_seconds = 60;  // for one picture
};

/// The address of such a page.
std::string render_url(const Server& server, int width, int height);
/// Waits for the page, then for each frame steps the session to its time and has it drawn. `take` gets the
/// PNG file's bytes; what it returns ends the work, as `stop` does. The server must take messages as large as
/// a picture.
std::vector<Diagnostic> render(
    Session& session, Server& server, const RenderOptions& options,
    const std::function<std::vector<Diagnostic>(int frame, std::string_view png)>& take,
    const std::function<bool()>& stop);

}  // namespace karakuri
