// Inside a live session.
#pragma once

#include <chrono>
#include <map>

#include "karakuri/server/live_session.h"
#include "server/describe.h"
#include "server/frame.h"
#include "server/timeline.h"

namespace karakuri {

struct LiveSession::Impl {
  using Clock = std::chrono::steady_clock;
  using Json = server_detail::Json;
  using Errors = std::vector<Diagnostic>;

  struct Client {
    std::uint32_t subscription = 0;
    std::vector<Signal> signals;
    server_detail::FrameParts parts;
    SpringId drag;
  };

  Impl(Session& s, Server& to, const LiveOptions& given);

  // ---- live_session.cc
  void run(const std::function<bool()>& stop, const std::function<void()>& step);
  void advance(const std::function<void()>& step);
  void one_step(const std::function<void()>& step);
  void handle_events();
  void greet(ClientId id);
  void send_frames();
  void send_status();
  void broadcast(const Json& message);
  /// The clock goes on from here.
  void restart_clock();

  // ---- commands.cc
  /// What a client asks for; the answer says what is wrong.
  void perform(ClientId id, const std::string& text);
  Errors command(ClientId id, const Json& message);
  Errors subscribe(ClientId id, const Json& message);
  Errors drag(Client& client, const Json& message);
  Errors push(const Json& message);
  Errors edit(const Json& message);
  Errors press(const Json& message);
  Errors set(const Json& message);
  Errors scrub(double time);
  Errors reset(const std::string& keyframe);
  void end_drag(Client& client);
  void forget_drags();
  double tree_mass(LinkId link) const;

  Session& session;
  Server& server;
  LiveOptions options;
  server_detail::Description description;
  server_detail::Timeline timeline;
  std::map<ClientId, Client> clients;
  std::vector<SpringId> past_drags;  // a state that is gone back to may hold them

  bool waiting = false, paused = false, changed = true;
  int single_steps = 0;
  double speed = 1;
  Clock::time_point clock_start = Clock::now();  // when the scene's time was clock_time
  double clock_time = 0;
  Clock::time_point last_frame{}, last_status{};
  double rate_time = 0, real_time_factor = 0;  // at the last status: the scene's time
  StepTimes times;                             // smoothed
  long long steps = 0;
};

}  // namespace karakuri
