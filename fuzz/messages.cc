// What clients of the page send: each line of the input is a message of one client, or of a second one where
// it begins with '2'; one that begins with '.' lets a step be made. The server listens, and nobody comes:
// what it would send goes nowhere, after it was made.
#include <fstream>

#include "fuzz/scenes.h"
#include "fuzz/target.h"
#include "fuzz/words.h"
#include "server/live_impl.h"

namespace karakuri::fuzz {
namespace {

using namespace server_detail;

constexpr int kMostLines = 16, kMostSteps = 3;

std::filesystem::path page;

Server& server() {
  static Server one = [] {
    Result<Server> made = Server::start({.port = 0, .bundle = page});
    if (!made.ok()) found(to_string(made.errors()));
    return std::move(*made);
  }();
  return one;
}

void prepare(const std::filesystem::path& folder) {
  page = folder;
  std::ofstream(page / "index.html") << "<p>the page</p>";
  server();
  sessions();
}

/// A step, and all that clients would be sent of it.
void go_on(LiveSession::Impl& live) {
  live.one_step([&] { step_bounded(live.session); });
  for (const auto& [id, client] : live.clients) {
    (void)encode_frame(live.session, live.description.links, live.paused, client.parts);
    (void)encode_signals(live.session, client.subscription, client.signals);
  }
  if (live.other) live.apply_settings(*live.other);
  live.send_due();
  live.send_status();
  live.send_ui();
}

void run(Input input) {
  if (input.empty()) return;
  Session session = sessions()[input[0] % sessions().size()].clone();
  LiveSession::Impl live(session, server(), {.memory_bytes = 1u << 20});
  for (const ClientId id : {1, 2}) live.greet(id);
  std::string_view text(reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1);
  int steps = 0;
  for (int line = 0; line < kMostLines && !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view message = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    const bool second = message.starts_with('2'), step = message.starts_with('.');
    if (step && ++steps <= kMostSteps) go_on(live);
    if (second) message.remove_prefix(1);
    if (!step) live.perform(second ? 2 : 1, std::string(message));
    live.background.finish_all();
  }
  for (const ClientId id : {1, 2}) live.handle({ClientEventKind::kClosed, id, {}});
}

/// Few messages each: what a client is told at first takes most of the time as it is.
std::vector<std::string> seeds() {
  return {
      "0{\"type\":\"subscribe\",\"signals\":[\"time\",\"link.box.px\",\"energy\"]}\n.\n",
      "1{\"type\":\"show\",\"contacts\":true,\"boxes\":true,\"islands\":true}\n.\n",
      "02{\"type\":\"pause\"}\n{\"type\":\"play\"}\n2{\"type\":\"step\",\"count\":2}\n{\"type\":\"speed\","
      "\"value\":2}\n.\n",
      "0{\"type\":\"drag\",\"link\":1,\"point\":[0,0,0],\"target\":[0,0,2]}\n.\n{\"type\":\"release\"}\n",
      "1{\"type\":\"push\",\"link\":2,\"point\":[0,0,0],\"direction\":[1,0,0]}\n.\n",
      "0{\"type\":\"set\",\"key\":\"settings.solver\",\"value\":\"newton\"}\n.\n",
      "1{\"type\":\"set\",\"key\":\"gravity.z\",\"value\":-3}\n{\"type\":\"set\",\"key\":\"settings.dt\","
      "\"value\":0.002}\n",
      "2{\"type\":\"set\",\"key\":\"joint.elbow.target\",\"value\":0.2}\n.\n",
      "0{\"type\":\"edit\",\"what\":\"mass\",\"name\":\"box\",\"value\":3}\n.\n",
      "2{\"type\":\"edit\",\"what\":\"friction\",\"name\":\"arm\",\"value\":0.3}\n",
      "2{\"type\":\"edit\",\"what\":\"upper\",\"name\":\"elbow\",\"dof\":0,\"value\":null}\n",
      "1{\"type\":\"edit\",\"what\":\"damping\",\"name\":\"knee\",\"dof\":1,\"value\":2}\n.\n",
      "2{\"type\":\"press\",\"name\":\"part\"}\n.\n.\n",
      "0{\"type\":\"compare\",\"settings\":{\"solver\":\"pgs\",\"contact\":\"cone\"}}\n.\n2{\"type\":"
      "\"compare\",\"settings\":null}\n",
      "0{\"type\":\"drop\",\"shape\":\"ball\",\"at\":[0.1,0,2],\"size\":0.3}\n.\n",
      "0.\n.\n{\"type\":\"scrub\",\"time\":0.1}\n.\n",
      "2{\"type\":\"reset\",\"keyframe\":\"bent\"}\n{\"type\":\"reset\"}\n",
      "0{\"type\":\"save\",\"plots\":[{\"title\":\"a\",\"signals\":[\"time\"]}],\"id\":3}\n",
      "0.\n2{}\n[1]\n",
  };
}

}  // namespace

std::vector<Target> targets() { return {{"messages", prepare, seeds, run}}; }

}  // namespace karakuri::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return karakuri::fuzz::mutate_text(data, size, max_size, seed);
}
