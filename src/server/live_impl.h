// Inside a live session.
#pragma once

#include <chrono>
#include <map>
#include <optional>

#include "karakuri/server/live_session.h"
#include "server/background.h"
#include "server/describe.h"
#include "server/frame.h"
#include "server/timeline.h"

namespace karakuri {

namespace server_detail {

/// A change of the scene that a client has asked for.
struct EditOrder {
  ClientId client = 0;
  Json number;  // of its message
  std::function<void(Scene&)> change;
  bool adds = false;  // links, so that everything is to be described anew
  int tries = 0;      // so far
};

/// What an edit takes long for: made beside the thread that serves, from copies.
struct ReadyEdit {
  SceneEdit edit;
  std::optional<SceneEdit> second;  // of the second world, if there is one
  LoadedScene scene;
  Present present;
  int ui_version = 0;
  std::vector<Diagnostic> flaws, second_flaws;
  Description description;  // where links are added
  Bytes properties;

  void make(bool adds);
};

Bytes describe_properties_of(const World& world);

}  // namespace server_detail

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

  /// The same scene under other settings, stepped with it.
  struct Other {
    Session session;
    std::map<std::string, Value> settings;  // that differ: name, value
    server_detail::Timeline timeline;
    std::map<ClientId, SpringId> drags;
    double step_seconds = 0;  // smoothed
  };

  Impl(Session& s, Server& to, const LiveOptions& given);

  // ---- live_session.cc
  void run(const std::function<bool()>& stop, const std::function<void()>& step);
  void advance(const std::function<void()>& step);
  double seconds_to_next() const;
  void one_step(const std::function<void()>& step);
  void after_step();
  /// When the next step is due, by the scene's time [s].
  double due() const;
  void forgive_lateness();
  void serve();
  void notice_time();
  void send_due();
  /// To all clients; making it may take longer than all else, and then is no more than half of what is done.
  void send_changed_scene();
  void send_ui();
  /// For a slice of wall time, or one message that takes longer.
  void handle_events();
  void handle(const ClientEvent& event);
  void greet(ClientId id);
  void describe_scene();
  void take_description(server_detail::Description made);
  void describe_properties();
  void send_frames();
  void send_status();
  /// What the step could not do: to all clients. A behaviour that has failed is in each status until it is
  /// mended.
  void tell_problems();
  /// What is doubtful in the scene, and what is frozen.
  Json troubles_json() const;
  void broadcast(const Json& message);
  /// The same, where the last one of its kind alone is worth sending.
  void publish(Latest kind, const Json& message);
  void send_scene(ClientId id);
  /// The clock goes on from here.
  void restart_clock();

  /// What is wrong with a message, to its sender.
  void answer(ClientId id, const Json& number, const Errors& errors);

  // ---- compare.cc
  /// The second world is made beside this thread.
  Errors compare(ClientId id, const Json& message, int tries = 0);
  Errors begin_comparison(Session&& second, std::map<std::string, Value> settings);
  /// Does the same to the other world, if there is one; what goes wrong there does not count.
  void also(const std::function<void(Session&)>& act) const {
    if (other) act(other->session);
  }
  void apply_settings(Other& to) const;
  void step_other();
  void end_comparison();
  void scrub_other(double time);
  Json compare_json() const;
  std::string other_poses() const;

  // ---- scene_changes.cc
  Errors edit(ClientId id, const Json& message);
  Errors drop(ClientId id, const Json& message);
  /// What changes is made, and described, beside this thread.
  void begin_edit(server_detail::EditOrder order);
  Errors end_edit(const server_detail::EditOrder& order, server_detail::ReadyEdit& ready);
  Errors edit_at_once(const server_detail::EditOrder& order);
  /// The file is written beside this thread.
  Errors save(ClientId id, const Json& message);
  Errors send_file(ClientId id, const Bytes& file);
  void wake_all();
  /// What is kept of before does not fit any more.
  void scene_changed(bool timeline_fits);

  // ---- commands.cc
  /// What a client asks for; the answer says what is wrong.
  void perform(ClientId id, const std::string& text);
  Errors command(ClientId id, const Json& message);
  Errors subscribe(ClientId id, const Json& message);
  Errors drag(ClientId id, const Json& message);
  Errors push(const Json& message);
  Errors press(const Json& message);
  Errors set(const Json& message);
  Errors scrub(double time);
  Errors reset(const std::string& keyframe);
  void end_drag(ClientId id);
  void forget_drags();
  double tree_mass(LinkId link) const;

  Session& session;
  Server& server;
  LiveOptions options;
  server_detail::Description description;  // its text is moved to:
  Bytes scene_text, properties_text;
  server_detail::Timeline timeline;
  std::map<ClientId, Client> clients;
  std::vector<SpringId> past_drags;  // a state that is gone back to may hold them
  std::unique_ptr<Other> other;

  bool waiting = false, paused = false, changed = true;
  int single_steps = 0;
  double speed = 1;
  Clock::time_point clock_start = Clock::now();  // when the scene's time was clock_time
  double clock_time = 0;
  double seen_time = 0;  // the scene's, when it was last looked at
  int seen_ui = 0;
  bool description_fits = true;                                                          // else it is old
  enum class Changed { kNothing, kProperties, kAll } changed_scene = Changed::kNothing;  // what clients lack
  Clock::time_point last_frame{}, last_status{}, last_ui{};
  Clock::time_point next_scene{};              // not before
  int edits = 0;                               // of the scene
  double rate_time = 0, real_time_factor = 0;  // at the last status: the scene's time
  StepTimes times;                             // smoothed
  std::string halted_by;                       // what a behaviour failed with; empty: none has
  long long steps = 0, dropped = 0;
  server_detail::Background background{server};
};

namespace server_detail {

/// Clients are told what takes long, as long as this lives.
class Doing {
 public:
  Doing(Server& server, const char* what) : server_(server) { server_.doing(what); }
  ~Doing() { server_.doing(nullptr); }
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

 private:
  Server& server_;
};

constexpr std::size_t kMostSignals = 256;  // in one message

// ---- reading messages; what does not fit is thrown as std::exception with what was expected

double number(const Json& message, const char* key);
/// A whole number; what is far beyond one is cut to the range.
int whole(const Json& message, const char* key, int otherwise, int least, int most);
Vec3 vector(const Json& message, const char* key);
Value value_of(const Json& json);
/// By which the sender knows which message is meant; null where it has none.
Json number_of(const Json& message);
Diagnostic refused(std::string what, std::string remedy = "");
Json problem_json(const Diagnostic& d, Json id);
void smooth(double& mean, double value);

}  // namespace server_detail

}  // namespace karakuri
