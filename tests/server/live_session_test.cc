// A running session behind the real server, asked for things by a client of plain bytes.
#include "karakuri/server/live_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "karakuri/io/load.h"
#include "server_test_client.h"

namespace karakuri {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kBoxes = R"(
name: boxes
settings: {dt: 0.005}
ground: true
bodies:
  - {name: box, shapes: {box: [0.4, 0.4, 0.4]}, mass: 2, at: [0, 0, 0.3]}
  - {name: arm, at: [1.2, 0, 1], joint: {name: hinge, kind: revolute, axis: [0, 1, 0]}, shapes: {capsule: {radius: 0.05, length: 0.4}, at: [0, 0, -0.25]}, mass: 1}
controllers:
  - {joints: hinge, stiffness: 200, damping: 20}
)";

Session make(const std::string& text = kBoxes) {
  Result<LoadedScene> scene = load_native(text, "test.scene.yaml");
  EXPECT_TRUE(scene.ok()) << to_string(scene.errors());
  Result<Session> session = Session::make(std::move(*scene));
  EXPECT_TRUE(session.ok()) << to_string(session.errors());
  return std::move(*session);
}

class LiveTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / fmt::format("karakuri_live_{}", getpid());
    fs::create_directories(folder_);
    std::ofstream(folder_ / "index.html") << "<p>the page</p>";
    Result<Server> server = Server::start({.port = 0, .bundle = folder_});
    ASSERT_TRUE(server.ok());
    server_ = std::make_unique<Server>(std::move(*server));
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Runs the session while `visit` does what clients do, on another thread; gives what it gives.
  template <class Visit>
  auto run(Session& session, const Visit& visit, const LiveOptions& options = {}) {
    LiveSession live(session, *server_, options);
    auto result = std::async(std::launch::async, visit);
    live.run([&] { return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready; },
             [&] { session.step(); });
    return result.get();
  }
  std::unique_ptr<test::Socket> join() const {
    return std::make_unique<test::Socket>(server_->port(), server_->token());
  }

  fs::path folder_;
  std::unique_ptr<Server> server_;
};

// ---- what no page would send

TEST_F(LiveTest, HostileMessagesAreRefusedAndTheSessionGoesOn) {
  Session session = make();
  const std::vector<std::string> hostile = {
      "",
      "{",
      "null",
      "[]",
      "42",
      "\"play\"",
      "{}",
      R"({"type":7})",
      R"({"type":"nonsense"})",
      std::string(60'000, '['),
      "{\"type\":\"set\",\"value\":" + std::string(30'000, '[') + "}",
      R"({"type":"step","count":"many"})",
      R"({"type":"speed","value":null})",
      R"({"type":"speed"})",
      R"({"type":"speed","value":1e999})",
      R"({"type":"scrub","time":"x"})",
      R"({"type":"subscribe","signals":7})",
      R"({"type":"subscribe","signals":[7]})",
      R"({"type":"subscribe","signals":["no.such.thing"]})",
      R"({"type":"contacts","on":3})",
      R"({"type":"drag","link":0,"point":[0,0,0],"target":[0,0,0]})",
      R"({"type":"drag","link":-1,"point":[0,0,0],"target":[0,0,0]})",
      R"({"type":"drag","link":1e300,"point":[0,0,0],"target":[0,0,0]})",
      R"({"type":"drag","link":1,"point":[0,0],"target":[0,0,0]})",
      R"({"type":"drag","link":1,"point":[0,0,1e300],"target":[0,0,0]})",
      R"({"type":"push","link":1,"point":[0,0,0],"direction":[0,0,0]})",
      R"({"type":"set","key":"settings.dt","value":-1})",
      R"({"type":"set","key":"settings.dt","value":0})",
      R"({"type":"set","key":"settings.threads","value":1e300})",
      R"({"type":"set","key":"settings.max_sweeps","value":-1e300})",
      R"({"type":"set","key":"settings.solver","value":"magic"})",
      R"({"type":"set","key":"joint.hinge.target","value":{"a":1}})",
      R"({"type":"set","key":"gravity","value":[0,0]})",
      R"({"type":"set","key":"gravity","value":["a",0,0]})",
      R"({"type":"edit","what":"mass","name":"box","value":-3})",
      R"({"type":"edit","what":"mass","name":"nobody","value":3})",
      R"({"type":"edit","what":"lower","name":"hinge","dof":1e300,"value":3})",
      R"({"type":"edit","what":"lower","name":"hinge","dof":-1,"value":1e999})",
      R"({"type":"press","name":"nothing"})",
      R"({"type":"reset","keyframe":"nothing"})",
      R"({"type":"reset","keyframe":{}})",
      "{\"type\":\"\xff\xfe\"}"};
  const int problems = run(session, [&] {
    const auto client = join();
    int refused = 0;
    for (const std::string& text : hostile) {
      client->send_text(text);
      const Json answer = client->wait_for("problem");
      refused += !answer.is_null();
      EXPECT_FALSE(answer.is_null()) << text.substr(0, 80);
    }
    const double before = client->wait_for("status").at("time");
    while (client->wait_for("status").at("time") <= before + 0.1) {
    }
    return refused;
  });
  EXPECT_EQ(problems, static_cast<int>(hostile.size()));
  EXPECT_TRUE(session.world().state().q.allFinite());
}

TEST_F(LiveTest, TooManyStepsAtOnceDoNotHoldItUp) {
  Session session = make();
  const auto begin = std::chrono::steady_clock::now();
  run(session, [&] {
    const auto client = join();
    for (int i = 0; i < 2000; ++i) client->send_text(R"({"type":"step","count":1e300})");
    return client->wait_for("status").is_null();
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

// ---- who is slow

TEST_F(LiveTest, AClientThatNeverReadsDoesNotSlowTheRest) {
  Session session = make();
  const double reached = run(session, [&] {
    const test::Client silent(server_->port());
    silent.send(test::upgrade_request("/socket?token=" + server_->token(), server_->port()));
    silent.send(test::text_frame(R"({"type":"contacts","on":true})"));
    const auto client = join();
    client->wait_for("status");
    std::this_thread::sleep_for(std::chrono::seconds(1));
    // what was sent in that second waits in the system; the last status is of now
    double time = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < end) time = client->wait_for("status").at("time");
    return time;
  });
  EXPECT_GT(reached, 0.9);  // 1.3 s of wall time, real time
}

}  // namespace
}  // namespace karakuri
