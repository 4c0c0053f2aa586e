// A running session behind the real server, asked for things by a client of plain bytes.
#include "karakuri/server/live_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <time.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "karakuri/collision/mesh.h"
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

TEST_F(LiveTest, WhatIsFrozenAndWhatIsDoubtfulIsToldToAll) {
  Session session = make();
  // it becomes frozen in the first step, which somebody is to see
  const LiveOptions options{.wait_for_client = true,
                            .doubts = {{Severity::kWarning, "link 'box'", "it is odd", "make it even"}}};
  const double v = 1e200;
  ASSERT_TRUE(session.world().set_v(session.world().scene().mechanism.find_joint("hinge"), {&v, 1}));
  run(
      session,
      [&] {
        auto client = join();
        EXPECT_THAT(client->wait_for("problem").dump(), HasSubstr("'arm' became non-finite; it is frozen"));
        const auto late = join();
        const std::string troubles = late->wait_for("status").at("troubles").dump();
        EXPECT_THAT(troubles, HasSubstr("'arm' is frozen: its state became non-finite"));
        EXPECT_THAT(troubles, HasSubstr("link 'box': warning: it is odd (make it even)"));
        return 0;
      },
      options);
}

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
      R"({"type":"show","contacts":3})",
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
      R"({"type":"reset","keyframe":{}})"};
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
    client->send_text("{\"type\":\"\xff\xfe\"}");  // no text at all: not UTF-8
    EXPECT_TRUE(client->wait_for("nothing").is_null());
    EXPECT_FALSE(join()->wait_for("status").is_null());  // the others do not mind
    return refused;
  });
  EXPECT_EQ(problems, static_cast<int>(hostile.size()));
  for (const double q : session.world().state().q) EXPECT_TRUE(std::isfinite(q));
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
    silent.send(test::text_frame(R"({"type":"show","contacts":true})"));
    const auto client = join();
    client->wait_for("status");
    std::this_thread::sleep_for(std::chrono::seconds(1));
    // what was sent in that second waits in the system; the last status is of now
    double time = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < end) time = client->wait_for("status").at("time");
    return time;
  });
  // in real time it would be 1.3 s; a busy machine may be late, a simulation that waits for clients stands
  // still
  EXPECT_GT(reached, 0.4);
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// 1000 boxes that fall on each other.
Session falling_boxes() {
  LoadedScene scene;
  scene.name = "falling";
  scene.settings.dt = 0.005;
  scene.scene.add_ground();
  for (int i = 0; i < 1000; ++i)
    scene.scene.add_body(fmt::format("box{}", i), Shape::box(Vec3::Constant(0.1)), 1,
                         Transform::translation({0.3 * (i % 10) + 0.01 * (i % 7), 0.3 * (i / 10 % 10),
                                                 0.2 + 0.3 * (i / 100) + 0.005 * (i % 3)}));
  Result<Session> session = Session::make(std::move(scene));
  EXPECT_TRUE(session.ok());
  return std::move(*session);
}

// Processor time of the thread that simulates: all of it, and what its steps take. The difference is what the
// page costs it, with frames at 60 Hz to a client that reads, status, and the states that are kept to go
// back.
TEST_F(LiveTest, AThousandMovingBoxesCostLittleToShow) {
  if (kSanitized) GTEST_SKIP() << "what sanitized code takes says nothing";
  Session session = falling_boxes();
  LiveSession live(session, *server_);
  std::atomic<bool> done = false;
  auto frames = std::async(std::launch::async, [&] {
    const auto client = join();
    int count = 0;
    while (!done) count += !client->wait_for_binary(2).empty();
    return count;
  });
  // until the client is there
  live.run([&, n = 0]() mutable { return ++n > 20; }, [] {});
  int steps = 0;
  double stepping = 0;
  const double begin = thread_seconds();
  live.run([&] { return steps >= 100; },
           [&] {
             const double before = thread_seconds();
             session.step();
             stepping += thread_seconds() - before;
             ++steps;
           });
  const double all = thread_seconds() - begin;
  done = true;
  live.run([&, n = 0]() mutable { return ++n > 20; }, [&] { session.step(); });
  const int seen = frames.get();
  const double share = (all - stepping) / (steps * session.world().settings().dt);
  fmt::print(
      "1000 moving boxes: {:.3f} ms a step, the page {:.3f} ms, {:.1f} % of real time, {} frames in {} "
      "steps\n",
      1e3 * stepping / steps, 1e3 * (all - stepping) / steps, 100 * share, seen, steps);
  EXPECT_GT(seen, 10);
  // 0.02 as measured: of processor time, which a busy machine changes little. Not of what steps take, which
  // says more of these than of the page
  EXPECT_LT(share, 0.05);
}

// 60 states of two seconds do not fit into the memory: fewer are kept, of all the two seconds.
TEST_F(LiveTest, TheMemoryLastsForAllTheSeconds) {
  Session session = make();
  session.step(100);  // as many contacts as ever
  const std::size_t one = session.snapshot().bytes.size();
  const LiveOptions options{.memory_seconds = 2, .memory_bytes = 20 * one};
  run(
      session,
      [&] {
        const auto client = join();
        client->send_text(R"({"type":"speed","value":10})");
        Json status = client->wait_for("status");
        while (!status.is_null() && status.at("time") < 6) status = client->wait_for("status");
        const double first = status.at("memory").at(0), now = status.at("time");
        // the oldest is at most one pause, a twentieth and what the session keeps beside its world, younger
        EXPECT_GT(now - first, 1.7);
        EXPECT_LT(now - first, 2.3);
        return 0;
      },
      options);
}

// ---- who asks for much

/// A body of 20 000 triangles: saving it takes a while, and gives a large file.
Session with_mesh() {
  std::vector<Vec3> vertices;
  std::vector<Triangle> triangles;
  constexpr int kSide = 100;
  for (int i = 0; i <= kSide; ++i)
    for (int j = 0; j <= kSide; ++j) vertices.push_back({0.01 * i, 0.01 * j, 0.001 * ((i * j) % 7)});
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j) {
      const int a = i * (kSide + 1) + j, b = a + kSide + 1;
      triangles.push_back({a, b, a + 1});
      triangles.push_back({b, b + 1, a + 1});
    }
  LoadedScene scene;
  scene.name = "mesh";
  const Result<Mesh> mesh = make_mesh(vertices, triangles, {.use = MeshUse::kSurface});
  EXPECT_TRUE(mesh.ok());
  scene.scene.add_shape(scene.scene.mechanism.world(), Shape::mesh(*mesh));
  Result<Session> session = Session::make(std::move(scene));
  EXPECT_TRUE(session.ok());
  return std::move(*session);
}

TEST_F(LiveTest, OneTabsFloodLeavesTheOthersAnswered) {
  Session session = with_mesh();
  run(session, [&] {
    const auto loud = join(), quiet = join();
    quiet->wait_for("status");
    std::atomic<int> saved = 0;
    constexpr int kSaves = 300;
    std::thread flood([&] {
      for (int i = 0; i < kSaves; ++i) loud->send_text(R"({"type":"save"})");
      while (saved < kSaves && !loud->wait_for_binary(3).empty()) ++saved;
    });
    while (saved < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const int before = saved;
    quiet->send_text(R"({"type":"pause"})");
    Json status = quiet->wait_for("status");
    while (!status.is_null() && !status.at("paused")) status = quiet->wait_for("status");
    EXPECT_FALSE(status.is_null());
    EXPECT_LT(saved - before, 50);
    flood.join();
    EXPECT_EQ(saved, kSaves);
    return 0;
  });
}

TEST_F(LiveTest, FilesThatAreNotReadAreNotHeld) {
  Session session = with_mesh();
  run(session, [&] {
    const auto client = join();
    client->wait_for("status");
    for (int i = 0; i < 200; ++i) client->send_text(fmt::format(R"({{"type":"save","id":{}}})", i));
    const auto other = join();
    other->wait_for("status");
    std::this_thread::sleep_for(std::chrono::seconds(3));
    std::size_t bytes = 0;
    int refused = 0;
    Json problem;
    for (test::Socket::Message m = client->next(); !m.data.empty(); m = client->next()) {
      if (m.binary && m.data[0] == 3) bytes += m.data.size();
      if (m.binary || m.data.find("\"problem\"") == std::string::npos) continue;
      problem = Json::parse(m.data);
      if (++refused > 0 && problem.at("id") == 199) break;
    }
    EXPECT_GT(refused, 20);
    EXPECT_THAT(problem.dump(), HasSubstr("still on their way"));
    EXPECT_GT(bytes, 1u << 20);
    EXPECT_LT(bytes, 40u << 20);  // with what the system holds
    client->send_text(R"({"type":"save"})");
    EXPECT_FALSE(client->wait_for_binary(3).empty());
    return 0;
  });
}

TEST_F(LiveTest, TheEndDoesNotWaitForWhatIsQueued) {
  Session session = with_mesh();
  auto live = std::make_unique<LiveSession>(session, *server_);
  const auto client = join();
  for (int i = 0; i < 9000; ++i) client->send_text(R"({"type":"save"})");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const auto begin = std::chrono::steady_clock::now();
  int turns = 0;
  live->run([&] { return ++turns > 2; }, [&] { session.step(); });
  live.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  EXPECT_GT(server_->take_events().size(), 1000u);
}

TEST_F(LiveTest, WhatTakesLongIsTold) {
  Session session = make();
  LiveSession live(session, *server_);
  std::atomic<bool> told = false;
  auto page = std::async(std::launch::async, [&] {
    const auto client = join();
    client->wait_for("status");
    const Json busy = client->wait_for("busy");
    const auto late = join();  // whoever comes now hears it too
    EXPECT_EQ(late->wait_for("busy").value("doing", ""), "a step");
    told = true;
    return busy;
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  live.run([&] { return told || std::chrono::steady_clock::now() > end; },
           [&] {
             while (!told && std::chrono::steady_clock::now() < end)
               std::this_thread::sleep_for(std::chrono::milliseconds(1));
             session.step();
           });
  EXPECT_TRUE(told);
  server_.reset();
  const Json busy = page.get();
  ASSERT_FALSE(busy.is_null());
  EXPECT_GT(busy.at("seconds"), 0.2);
}

// Each name that is not there is compared with all that are, which takes some milliseconds where these are
// many.
TEST_F(LiveTest, NotManyNamesThatAreNotThereAreLookedUp) {
  Session session = make();
  run(session, [&] {
    const auto client = join();
    Json names = Json::array();
    for (int i = 0; i < 2000; ++i) names.push_back(fmt::format("link.bx{}.px", i));
    client->send_text(Json({{"type", "subscribe"}, {"signals", names}, {"id", 1}}).dump());
    client->send_text(R"({"type":"nonsense","id":2})");
    int problems = 0;
    for (Json p = client->wait_for("problem"); !p.is_null() && p.at("id") == 1;
         p = client->wait_for("problem"))
      ++problems;
    EXPECT_EQ(problems, 17);
    return 0;
  });
}

// ---- two worlds

TEST_F(LiveTest, TheSecondWorldIsInStepAndTheSameUnderTheSameSettings) {
  Session session = make();
  run(session, [&] {
    const auto client = join();
    client->send_text(R"({"type":"compare","settings":{}})");
    client->send_text(R"({"type":"drag","link":1,"point":[0,0.1,0],"target":[0.3,0,1]})");
    client->send_text(R"({"type":"push","link":2,"point":[0,0,-0.3],"direction":[1,0,0]})");
    client->send_text(R"({"type":"set","key":"joint.hinge.target","value":0.4})");
    client->send_text(R"({"type":"edit","what":"mass","name":"arm","value":3})");
    client->send_text(R"({"type":"drop","shape":"ball","at":[0.1,0.1,1.5],"size":0.2})");
    int compared = 0;
    for (Json status = client->wait_for("status"); !status.is_null() && compared < 8;
         status = client->wait_for("status")) {
      if (status.at("compare").is_null() || status.at("time") < 0.2) continue;
      EXPECT_EQ(status.at("compare").at("time"), status.at("time"));
      EXPECT_EQ(status.at("compare").at("distance"), 0);
      ++compared;
    }
    EXPECT_EQ(compared, 8);
    client->send_text(R"({"type":"pause"})");
    Json last = client->wait_for("status");
    while (!last.is_null() && last.at("hash").is_null()) last = client->wait_for("status");
    EXPECT_EQ(last.at("compare").at("hash"), last.at("hash"));
    return 0;
  });
}

TEST_F(LiveTest, TheSecondWorldGoesItsOwnWayUnderOtherSettings) {
  std::string text = kBoxes;  // the penalty springs need steps of 1 ms
  text.replace(text.find("0.005"), 5, "0.001");
  Session session = make(text);
  run(session, [&] {
    const auto client = join();
    client->send_text(R"({"type":"compare","settings":{"dt":0.1}})");
    EXPECT_THAT(client->wait_for("problem").dump(), HasSubstr("step alike"));
    client->send_text(R"({"type":"compare","settings":{"contact":"penalty"}})");
    client->send_text(R"({"type":"set","key":"settings.contact","value":"pyramid"})");
    EXPECT_EQ(client->wait_for("settings").at("settings").at("contact"), "pyramid");
    // springs of m / dt^2 at four corners let it sink by g dt^2 / 4 = 2.5 um
    Json status = client->wait_for("status");
    while (!status.is_null() && (status.at("compare").is_null() || status.at("time") < 1))
      status = client->wait_for("status");
    EXPECT_EQ(status.at("compare").at("settings").at("contact"), "penalty");
    EXPECT_EQ(status.at("compare").at("time"), status.at("time"));
    EXPECT_NEAR(status.at("compare").at("distance").get<double>(), 2.45e-6, 1e-6);
    EXPECT_EQ(status.at("compare").at("link"), "box");
    // both are in each frame: head, poses, states of two links padded to 4, no signals, poses again
    EXPECT_EQ(client->wait_for_binary(2).size(), 32u + 2 * 28 + 4 + 8 + 2 * 28);
    // back to before it began, where the two are one
    client->send_text(R"({"type":"scrub","time":0})");
    while (!status.is_null() && status.at("time") != 0) status = client->wait_for("status");
    EXPECT_EQ(status.at("compare").at("time"), 0);
    EXPECT_EQ(status.at("compare").at("distance"), 0);
    EXPECT_EQ(status.at("compare").at("settings").at("contact"), "penalty");
    client->send_text(R"({"type":"compare","settings":null})");
    while (!status.is_null() && !status.at("compare").is_null()) status = client->wait_for("status");
    EXPECT_EQ(client->wait_for_binary(2).size(), 32u + 2 * 28 + 4 + 8);
    return 0;
  });
}

/// Turns the hinge as time goes on, and fails where it is told to.
class Turner : public BehaviourHost {
 public:
  explicit Turner(const std::atomic<bool>& fails) : fails_(fails) {}
  bool before_step(Session& session, std::vector<Diagnostic>& problems) override {
    if (fails_) problems.push_back({Severity::kError, "turner", "it is stuck", ""});
    session.set("joint.hinge.target", session.time());
    return !fails_;
  }

 private:
  const std::atomic<bool>& fails_;
};

TEST_F(LiveTest, BehavioursActInTheSecondWorldToo) {
  const std::atomic<bool> never = false;
  std::atomic<bool> fails = false;
  Session session = make();
  session.set_behaviours(std::make_unique<Turner>(never));
  const LiveOptions options{.prepare_second = [&](Session& second) {
    second.set_behaviours(std::make_unique<Turner>(fails));
    return std::vector<Diagnostic>{};
  }};
  const auto visit = [&] {
    const auto client = join();
    client->send_text(R"({"type":"compare","settings":{}})");
    Json status = client->wait_for("status");
    while (!status.is_null() && (status.at("compare").is_null() || status.at("time") < 0.8))
      status = client->wait_for("status");
    EXPECT_EQ(status.at("compare").at("distance"), 0);
    fails = true;
    EXPECT_THAT(client->wait_for("problem").dump(), HasSubstr("second world"));
    while (!status.is_null() && !status.at("compare").is_null()) status = client->wait_for("status");
    EXPECT_FALSE(status.is_null());
    return 0;
  };
  run(session, visit, options);
  EXPECT_GT(*session.get("joint.hinge.target"), 0.7);
}

// ---- changing and saving the scene

TEST_F(LiveTest, WhatIsDroppedFallsAndRests) {
  Session session = make();
  run(session, [&] {
    const auto client = join();
    EXPECT_EQ(client->wait_for("scene").at("links").size(), 3u);
    for (const char* bad :
         {R"({"type":"drop","shape":"cat","at":[0,0,1]})", R"({"type":"drop","shape":"box"})",
          R"({"type":"drop","shape":"box","at":[0,0,1],"size":-1})",
          R"({"type":"drop","shape":"box","at":[0,0,1],"size":1e300})"}) {
      client->send_text(bad);
      EXPECT_FALSE(client->wait_for("problem").is_null());
    }
    client->send_text(R"({"type":"drop","shape":"box","at":[2,0,0.4],"size":0.3})");
    EXPECT_EQ(client->wait_for("scene").at("links").size(), 4u);
    client->send_text(R"({"type":"drop","shape":"capsule","at":[3,0,0.4],"size":0.2})");
    EXPECT_EQ(client->wait_for("scene").at("links").size(), 5u);
    client->send_text(R"({"type":"subscribe","signals":["link.box 1.pz"]})");
    const double start = client->wait_for("status").at("time");
    while (client->wait_for("status").at("time") < start + 1) {
    }
    return 0;
  });
  const LinkId box = session.scene().scene.mechanism.find_link("box 1");
  ASSERT_TRUE(box);
  EXPECT_NEAR(session.world().pose(box).p.z(), 0.15, 1e-3);
  EXPECT_NEAR(session.scene().scene.mechanism.link(box).inertia.mass, 500 * 0.3 * 0.3 * 0.3, 1e-9);
  EXPECT_TRUE(session.reset().empty());
  EXPECT_EQ(session.world().pose(box).p.z(), 0.4);  // a reset keeps it, where it was dropped
}

TEST_F(LiveTest, ASavedSceneGoesOnFromTheSameState) {
  Session session = make();
  std::string file = run(session, [&] {
    const auto client = join();
    while (client->wait_for("status").at("time") < 0.3) {
    }
    client->send_text(R"({"type":"pause"})");
    client->send_text(R"({"type":"drop","shape":"ball","at":[0,0,2]})");
    client->send_text(R"({"type":"set","key":"joint.hinge.target","value":0.7})");
    client->send_text(R"({"type":"save"})");
    return client->wait_for_binary(3);
  });
  ASSERT_GT(file.size(), 8u);
  std::uint32_t length = 0;
  std::memcpy(&length, file.data() + 4, 4);
  EXPECT_EQ(file.substr(8, length), "boxes.scene.yaml");
  Session again = make(file.substr(8 + length));
  EXPECT_EQ(again.world().state().q, session.world().state().q);
  EXPECT_EQ(again.world().state().v, session.world().state().v);
  EXPECT_EQ(*again.get("joint.hinge.target"), 0.7);
}

}  // namespace
}  // namespace karakuri
