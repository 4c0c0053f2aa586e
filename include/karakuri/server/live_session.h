// A session in real time, seen and handled by the clients of a server. docs/page.md lists the messages.
#pragma once

#include <functional>
#include <memory>

#include "karakuri/server/server.h"
#include "karakuri/session/session.h"

namespace karakuri {

struct LiveOptions {
  double frame_rate = 60;                 // most frames a second to each client
  double memory_seconds = 30;             // of the scene's time, to go back through
  double memory_rate = 30;                // states kept for each second of it
  std::size_t memory_bytes = 256u << 20;  // of all of them; fewer a second where they would not fit
  bool wait_for_client = false;           // the clock starts when somebody looks
  std::vector<Diagnostic> doubts;         // of the scene, see find_doubts(): shown to all who look
  /// Gives the second world of a comparison what the first has beside its scene, as behaviours.
  std::function<std::vector<Diagnostic>(Session&)> prepare_second;
};

class LiveSession {
 public:
  /// Both must outlive it.
  LiveSession(Session& session, Server& server, const LiveOptions& options = {});
  ~LiveSession();

  /// Runs until `stop` says so, calling `step` for each step that is due; it must step the session. Between
  /// steps commands of clients are carried out and frames go out. What the session could not do in a step is
  /// told to the clients and then cleared.
  void run(const std::function<bool()>& stop, const std::function<void()>& step);

  // ---- instead of run(), for a session that somebody else steps; by one thread at a time
  /// Carries out what clients have asked for, and sends what is due.
  void serve();
  /// The session may be another than at the last frame.
  void touched();
  /// Whether the next step may be made: clients have not paused it, or want a single one; with `real_time`
  /// also whether it is due. Where nobody looks it may.
  bool may_step(bool real_time) const;
  /// A step was made.
  void stepped();

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace karakuri
