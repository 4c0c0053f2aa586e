// The program with its page, as the one who starts it sees it.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <chrono>
#include <regex>
#include <thread>

#include "program.h"

namespace karakuri::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Page : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    std::filesystem::create_directories(folder_ / "page");
    write("page/index.html", "<p>the page</p>");
    setenv("KARAKURI_PAGE", (folder_ / "page").c_str(), 1);
    write("ball.scene.yaml",
          "name: ball\nground: true\nbodies:\n  - {name: ball, shapes: {sphere: 0.1}, at: [0, 0, 1]}\n");
  }
  void TearDown() override {
    unsetenv("KARAKURI_PAGE");
    Program::TearDown();
  }
};

// -m: jobs of a shell that is not at a terminal ignore Ctrl-C without it.
TEST_F(Page, CtrlCEndsItCleanlyWithTheSummary) {
  write("go.sh",
        "'" KARAKURI_PROGRAM
        "' run ball.scene.yaml --no-browser --time 1000 --port 0 \"$@\" >out.txt 2>err.txt & pid=$!\n"
        "for i in $(seq 200); do grep -q http err.txt && break; sleep 0.05; done\n"
        "kill -INT $pid; wait $pid\n");
  const Outcome done = run("--version >/dev/null; bash -m go.sh");
  EXPECT_EQ(done.code, 0);
  const std::string said = read_all(folder_ / "err.txt");
  EXPECT_TRUE(std::regex_search(said, std::regex("http://127\\.0\\.0\\.1:[0-9]+/\\?token=[0-9a-f]{32} ")))
      << said;
  EXPECT_THAT(said, HasSubstr("open in a browser:"));
  EXPECT_THAT(read_all(folder_ / "out.txt"), HasSubstr("interrupted"));
}

TEST_F(Page, TheNextFreePortIsTakenAndSaid) {
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(taken, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const Outcome done = run("run ball.scene.yaml --no-browser --time 0.01 --port " + port);
  close(taken);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("port " + port + " is taken, using "));
  EXPECT_THAT(done.err, Not(HasSubstr(":" + port + "/")));
}

TEST_F(Page, OtherMachinesAreWarnedAboutAndAskedForTheToken) {
  const Outcome done = run("run ball.scene.yaml --no-browser --time 0.01 --port 0 --listen 0.0.0.0");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("warning: other machines can reach this page"));
  EXPECT_THAT(done.err, HasSubstr("/?token="));
  EXPECT_EQ(run("run ball.scene.yaml --no-browser --time 0.01 --listen nowhere").code, 2);
  setenv("KARAKURI_TOKEN", "short", 1);
  const Outcome weak = run("run ball.scene.yaml --no-browser --time 0.01 --port 0");
  unsetenv("KARAKURI_TOKEN");
  EXPECT_EQ(weak.code, 2);
  EXPECT_THAT(weak.err, HasSubstr("16 letters and digits"));
}

TEST_F(Page, HeadlessKnowsNothingOfIt) {
  const Outcome done = run("run ball.scene.yaml --headless --time 0.1");
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "");
}

TEST_F(Page, WithoutItsFilesTheRunGoesOnAndSaysWhatIsMissing) {
  setenv("KARAKURI_PAGE", (folder_ / "nothing").c_str(), 1);
  const Outcome done = run("run ball.scene.yaml --time 0.05");
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.err, HasSubstr("npm"));
  const Outcome drawn = run("render ball.scene.yaml --out frames");
  EXPECT_EQ(drawn.code, 2);
  EXPECT_THAT(drawn.err, HasSubstr("npm"));
}

TEST_F(Page, RenderTellsWhatIsWrong) {
  EXPECT_THAT(run("render ball.scene.yaml").err, HasSubstr("--out"));
  const Outcome size = run("render ball.scene.yaml --out frames --size big");
  EXPECT_EQ(size.code, 2);
  EXPECT_THAT(size.err, HasSubstr("write it as 1280x720"));
  write("file", "");
  const Outcome folder = run("render ball.scene.yaml --out file/frames");
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.err, HasSubstr("the folder cannot be made"));
  setenv("KARAKURI_CHROMIUM", "/no/such/browser", 1);
  const Outcome browser = run("render ball.scene.yaml --out frames");
  EXPECT_EQ(browser.code, 2);
  EXPECT_THAT(browser.err, HasSubstr("apt-get install chromium"));
  setenv("KARAKURI_CHROMIUM", "/bin/false", 1);
  const Outcome ended = run("render ball.scene.yaml --out frames");
  unsetenv("KARAKURI_CHROMIUM");
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("Chromium has ended"));
}

}  // namespace
}  // namespace karakuri::test
