// The server as strangers see it: over plain sockets, with what no browser would send.
#include "karakuri/server/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "server_test_client.h"

namespace karakuri {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace fs = std::filesystem;

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / fmt::format("karakuri_server_{}", getpid());
    fs::create_directories(folder_ / "page" / "assets");
    std::ofstream(folder_ / "page" / "index.html") << "<p>the page</p>";
    std::ofstream(folder_ / "page" / "assets" / "a.js") << "let a = 1;";
    std::ofstream(folder_ / "secret.txt") << "SECRET";
    fs::create_symlink(folder_ / "secret.txt", folder_ / "page" / "link.txt");
  }
  void TearDown() override { fs::remove_all(folder_); }

  Server start(ServerOptions options = {}) {
    options.bundle = folder_ / "page";
    if (options.port == ServerOptions{}.port) options.port = 0;
    Result<Server> server = Server::start(options);
    EXPECT_TRUE(server.ok()) << to_string(server.errors());
    return std::move(*server);
  }
  static std::string get(const Server& server, const std::string& target, const std::string& more = "",
                         std::string host = "") {
    if (host.empty()) host = fmt::format("127.0.0.1:{}", server.port());
    test::Client client(server.port());
    client.send(
        fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{}\r\n", target, host, more));
    return client.read_all();
  }

  fs::path folder_;
};

std::vector<ClientEvent> wait_for_events(Server& server, std::size_t count) {
  std::vector<ClientEvent> all;
  for (int i = 0; i < 500 && all.size() < count; ++i) {
    for (ClientEvent& event : server.take_events()) all.push_back(std::move(event));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return all;
}

TEST_F(ServerTest, ServesThePageForItsTokenAlone) {
  const Server server = start();
  EXPECT_THAT(get(server, "/?token=" + server.token()), HasSubstr("the page"));
  EXPECT_THAT(get(server, "/"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(get(server, "/?token="), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(get(server, "/index.html?x=1&token=" + std::string(32, '0')), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(get(server, "/?x=1&token=" + server.token()), HasSubstr("the page"));
  EXPECT_EQ(server.token().size(), 32u);
  EXPECT_NE(start().token(), server.token());
}

TEST_F(ServerTest, NoFileOutsideTheBundle) {
  const Server server = start();
  EXPECT_THAT(get(server, "/assets/a.js"), HasSubstr("let a"));
  for (const char* path : {"/../secret.txt", "/assets/../../secret.txt", "/%2e%2e/secret.txt", "/link.txt",
                           "/..%2fsecret.txt", "//etc/passwd", "/assets", "/assets/", "/./index.html"}) {
    const std::string answer = get(server, path);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404")) << path;
    EXPECT_THAT(answer, Not(HasSubstr("SECRET"))) << path;
  }
}

TEST_F(ServerTest, OtherNamesAndSitesAreRefused) {
  const Server server = start();
  const std::string page = "/?token=" + server.token();
  const auto at = [&](const char* name) { return fmt::format("{}:{}", name, server.port()); };
  EXPECT_THAT(get(server, page, "", at("localhost")), HasSubstr("the page"));
  EXPECT_THAT(get(server, page, "", at("[::1]")), HasSubstr("the page"));
  for (const std::string& host : {at("evil.example"), at("127.0.0.1.evil.example"), at("192.168.0.1"), at(""),
                                  std::string("127.0.0.1"), std::string("127.0.0.1:1"), std::string(":::")})
    EXPECT_THAT(get(server, page, "", host), StartsWith("HTTP/1.1 403")) << host;
  EXPECT_THAT(get(server, page, "Origin: http://evil.example\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(get(server, page, "Origin: null\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(get(server, page, fmt::format("Origin: http://{}\r\n", at("127.0.0.1"))),
              HasSubstr("the page"));
}

TEST(ServerAddress, NumbersOfOtherMachinesOnlyWhenListeningThere) {
  EXPECT_FALSE(host_allowed("192.168.0.7:80", 80, true));
  EXPECT_TRUE(host_allowed("192.168.0.7:80", 80, false));
  EXPECT_TRUE(host_allowed("192.168.0.7", 80, false));
  EXPECT_FALSE(host_allowed("evil.example:80", 80, false));
  EXPECT_FALSE(host_allowed("[::1", 80, false));
  EXPECT_FALSE(host_allowed("", 80, false));
  EXPECT_FALSE(host_allowed("localhost:80x", 80, false));
}

TEST_F(ServerTest, SocketNeedsTokenAndOrigin) {
  const Server server = start();
  const std::string path = "/socket?token=" + server.token();
  const auto upgrade = [&](const std::string& target, const std::string& more) {
    test::Client client(server.port());
    client.send(test::upgrade_request(target, server.port(), more));
    return client.read_some();
  };
  EXPECT_THAT(upgrade(path, ""), StartsWith("HTTP/1.1 101"));
  EXPECT_THAT(upgrade("/socket", ""), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(upgrade(path, "Origin: http://evil.example\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(get(server, path), StartsWith("HTTP/1.1 426"));
}

TEST_F(ServerTest, MalformedRequestsEndTheirConnectionOnly) {
  const Server server = start();
  for (const std::string& text :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("\0\1\2\3\r\n\r\n", 8),
        "GET / HTTP/1.1\r\nHost: " + std::string(100'000, 'a') + "\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n" + std::string(100'000, 'x'),
        std::string("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n")}) {
    test::Client client(server.port());
    client.send(text);
    EXPECT_THAT(client.read_all(), Not(HasSubstr("200 OK")));
  }
  EXPECT_THAT(get(server, "/?token=" + server.token()), HasSubstr("the page"));
}

/// Makes a WebSocket of `client`; 0: the server did not tell of it alone.
ClientId join(Server& server, test::Client& client) {
  client.open_socket(server.token());
  const std::vector<ClientEvent> events = wait_for_events(server, 1);
  return events.size() == 1 && events[0].kind == ClientEventKind::kOpened ? events[0].client : 0;
}

TEST_F(ServerTest, MessagesArriveInOrderAndOversizedOnesEndTheConnection) {
  Server server = start({.max_message = 1000});
  test::Client client(server.port());
  client.open_socket(server.token());
  client.send(test::text_frame("one"));
  client.send(test::text_frame("two"));
  client.send(test::text_frame(std::string(1001, 'x')));
  const std::vector<ClientEvent> events = wait_for_events(server, 4);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].kind, ClientEventKind::kOpened);
  EXPECT_EQ(events[1].text, "one");
  EXPECT_EQ(events[2].text, "two");
  EXPECT_EQ(events[3].kind, ClientEventKind::kClosed);
}

TEST_F(ServerTest, BrokenFramesEndTheConnection) {
  // as many as there is room for, times three: a place that was kept would be missed
  Server server = start({.max_connections = 1});
  for (const std::string& bytes : {std::string(16, '\xff'),
                                   std::string("\x81\x03"
                                               "abc",
                                               5),  // not masked
                                   std::string("\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff"
                                               "abcd",
                                               14)}) {
    test::Client client(server.port());
    client.open_socket(server.token());
    client.send(bytes);
    const std::vector<ClientEvent> events = wait_for_events(server, 2);
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[1].kind, ClientEventKind::kClosed);
    std::this_thread::sleep_for(
        std::chrono::milliseconds(50));  // its place is free a moment after it is told
  }
}

TEST_F(ServerTest, TwoHundredConnectionsAreSurvived) {
  Server server = start({.max_connections = 64});
  {
    std::vector<std::unique_ptr<test::Client>> many;
    for (int i = 0; i < 200; ++i) {
      many.push_back(std::make_unique<test::Client>(server.port()));
      many.back()->send("GET / HTT");  // and no more
    }
    EXPECT_EQ(many.front()->read_all(), "");  // one too many: closed without a word
  }
  // the others are gone as well, and the page is served again
  std::string answer;
  for (int i = 0; i < 200 && answer.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    answer = get(server, "/?token=" + server.token());
  }
  EXPECT_THAT(answer, HasSubstr("the page"));
}

// Who has shown the token keeps the place; of the others the oldest gives it up.
TEST_F(ServerTest, IdleStrangersGiveWay) {
  Server server = start({.max_connections = 8, .request_seconds = 60});
  test::Client client(server.port());
  client.open_socket(server.token());
  std::vector<std::unique_ptr<test::Client>> idle;
  for (int i = 0; i < 64; ++i) idle.push_back(std::make_unique<test::Client>(server.port()));
  EXPECT_THAT(get(server, "/?token=" + server.token()), HasSubstr("the page"));
  EXPECT_EQ(idle.front()->read_all(), "");
  test::Client second(server.port());
  second.open_socket(server.token());
  client.send(test::text_frame("still here"));
  std::string said;
  for (const ClientEvent& event : wait_for_events(server, 3)) said += event.text;
  EXPECT_EQ(said, "still here");
}

TEST_F(ServerTest, TwoHundredSocketsOpenAndCloseWithoutAWord) {
  Server server = start({.max_connections = 8});
  for (int i = 0; i < 200; ++i) {
    test::Client client(server.port());
    client.send(test::upgrade_request("/socket?token=" + server.token(), server.port()));
    if (i % 2 == 0) client.read_some();
  }
  std::string answer;
  for (int i = 0; i < 200 && answer.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    answer = get(server, "/?token=" + server.token());
  }
  EXPECT_THAT(answer, HasSubstr("the page"));
  // every one that was opened is closed again
  int open = 0;
  for (int i = 0; i < 100; ++i) {
    for (const ClientEvent& event : server.take_events())
      open += event.kind == ClientEventKind::kOpened ? 1 : -1;
    if (i > 5 && open == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(open, 0);
}

TEST_F(ServerTest, SilentConnectionsAreClosed) {
  const Server server = start({.request_seconds = 0.2});
  test::Client client(server.port());
  client.send("GET / HTT");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(client.read_all(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(ServerTest, AClientThatDoesNotReadLosesFramesNotThePublishersTime) {
  Server server = start();
  test::Client client(server.port());
  const ClientId id = join(server, client);
  ASSERT_NE(id, 0u);
  const auto frame = std::make_shared<const std::string>(1 << 20, 'x');
  const auto begin = std::chrono::steady_clock::now();
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    refused += !server.wants_frame(id);
    server.send_frame(id, frame, fmt::format("{}", i));
  }
  // 2 GB were offered: nothing near that was kept or written
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_GT(refused, 1000);
}

TEST_F(ServerTest, StatusThatIsNotReadIsReplaced) {
  Server server = start();
  test::Client client(server.port());
  const ClientId id = join(server, client);
  ASSERT_NE(id, 0u);
  std::weak_ptr<const std::string> first_half[500];
  for (int i = 0; i < 1000; ++i) {
    const auto text = std::make_shared<const std::string>(1 << 16, 'x');
    if (i < 500) first_half[i] = text;
    server.send_status(id, text);
  }
  // of 64 MB those are held that the one write in progress and the last one need
  int held = 0;
  for (const auto& text : first_half) held += !text.expired();
  EXPECT_LE(held, 1);
}

TEST_F(ServerTest, AClientThatNeverReadsIsGivenUp) {
  Server server = start({.idle_seconds = 0.5});
  test::Client client(server.port());
  const ClientId id = join(server, client);
  ASSERT_NE(id, 0u);
  server.send_frame(id, std::make_shared<const std::string>(64 << 20, 'x'), "");
  const std::vector<ClientEvent> events = wait_for_events(server, 1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, ClientEventKind::kClosed);
}

// 60 MB are not held: the connection waits until they are taken. Nothing of it is lost, and a second one is
// heard at once.
TEST_F(ServerTest, AFloodOfMessagesWaitsAtItsSender) {
  Server server = start();
  test::Client flood(server.port()), other(server.port());
  flood.open_socket(server.token());
  std::thread sender([&] {
    for (int i = 0; i < 1000; ++i) flood.send(test::text_frame(fmt::format("{:060000}", i)));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  other.open_socket(server.token());
  other.send(test::text_frame("I am here"));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::vector<ClientEvent> held = server.take_events();
  std::size_t bytes = 0;
  int next = 0;
  bool heard = false;
  const auto take = [&](const std::vector<ClientEvent>& events) {
    for (const ClientEvent& event : events) {
      heard |= event.text == "I am here";
      if (event.text.size() == 60'000) next += std::stoi(event.text) == next ? 1 : 0;
    }
  };
  for (const ClientEvent& event : held) bytes += event.text.size();
  EXPECT_LE(bytes, 2u << 20);
  take(held);
  EXPECT_TRUE(heard);
  for (int i = 0; i < 1000 && next < 1000; ++i) {
    take(server.take_events());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(next, 1000);
  sender.join();
}

TEST_F(ServerTest, ClientsAreHeardInTurn) {
  Server server = start();
  test::Client loud(server.port()), quiet(server.port());
  ASSERT_NE(join(server, loud), 0u);
  for (int i = 0; i < 1000; ++i) loud.send(test::text_frame("again"));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  quiet.open_socket(server.token());
  quiet.send(test::text_frame("once"));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::vector<ClientEvent> events = server.take_events();
  ASSERT_EQ(events.size(), 1002u);
  const auto once =
      std::find_if(events.begin(), events.end(), [](const ClientEvent& e) { return e.text == "once"; });
  EXPECT_LE(once - events.begin(), 4);
}

// Whose request is worked on is not heard meanwhile; what it says waits, in order, and the others go on.
TEST_F(ServerTest, WhoIsNotHeardWaitsAndTheOthersDoNot) {
  Server server = start();
  test::Client first(server.port()), second(server.port());
  const ClientId held = join(server, first);
  ASSERT_NE(held, 0u);
  ASSERT_NE(join(server, second), 0u);
  server.hear(held, false);
  for (const char* text : {"a", "b"}) first.send(test::text_frame(text));
  second.send(test::text_frame("c"));
  const auto texts = [&] {
    std::string all;
    for (const ClientEvent& event : wait_for_events(server, 1)) all += event.text;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (const ClientEvent& event : server.take_events()) all += event.text;
    return all;
  };
  EXPECT_EQ(texts(), "c");
  EXPECT_FALSE(server.take_event().has_value());
  server.hear(held, true);
  EXPECT_EQ(texts(), "ab");
}

TEST_F(ServerTest, WhatPilesUpEndsTheConnection) {
  Server server = start({.max_backlog = 8 << 20});
  test::Client client(server.port());
  const ClientId id = join(server, client);
  ASSERT_NE(id, 0u);
  const auto block = std::make_shared<const std::string>(1 << 20, 'x');
  for (int i = 0; i < 64; ++i) server.send_text(id, *block);
  const std::vector<ClientEvent> events = wait_for_events(server, 1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, ClientEventKind::kClosed);
}

// Blocks that several clients could share are held because of the one that does not read them.
TEST_F(ServerTest, WhatIsSharedCountsToo) {
  Server server = start();
  test::Client client(server.port());
  const ClientId id = join(server, client);
  ASSERT_NE(id, 0u);
  std::vector<std::weak_ptr<const std::string>> blocks;
  std::size_t most = 0;
  for (int i = 0; i < 100; ++i) {
    const auto block = std::make_shared<const std::string>(1 << 20, 'x');
    blocks.push_back(block);
    server.send_shared(id, block, true);
    std::size_t held = 0;
    for (const auto& one : blocks) held += !one.expired();
    most = std::max(most, held);
  }
  EXPECT_LE(most, 16u);
  const std::vector<ClientEvent> events = wait_for_events(server, 1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, ClientEventKind::kClosed);
}

TEST_F(ServerTest, TheNextFreePortIsTaken) {
  const Server first = start();
  const Server second = start({.port = first.port()});
  EXPECT_GT(second.port(), first.port());
  EXPECT_THAT(second.url(), HasSubstr(fmt::format("http://127.0.0.1:{}/?token=", second.port())));
}

TEST_F(ServerTest, WhatCannotBeServedIsTold) {
  EXPECT_FALSE(Server::start({.bundle = folder_ / "nothing"}).ok());
  const Result<Server> nowhere = Server::start({.address = "not an address", .bundle = folder_ / "page"});
  ASSERT_FALSE(nowhere.ok());
  EXPECT_THAT(to_string(nowhere.errors()), HasSubstr("not an IP address"));
}

}  // namespace
}  // namespace karakuri
