// The program with its page, as the one who starts it sees it.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <chrono>
#include <regex>
#include <sstream>
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

// One step of this scene is some ten seconds of work.
TEST_F(Page, CtrlCEndsItWithinASecondInTheMidstOfALongStep) {
  std::string bodies;
  for (int i = 0; i < 3000; ++i)
    bodies += "  - {name: b" + std::to_string(i) + ", shapes: {sphere: 0.1}, at: [" +
              std::to_string(0.3 * i) + ", 0, 0.1]}\n";
  write("long.scene.yaml",
        "name: long\nground: true\nsettings: {dt: 1, substeps: 1000, sleep: {enabled: false}}\nbodies:\n" +
            bodies);
  write("go.sh",
        "'" KARAKURI_PROGRAM
        "' run long.scene.yaml --headless --time 1000 --record rows.csv >out.txt 2>err.txt & pid=$!\n"
        "for i in $(seq 200); do [ -e rows.csv ] && break; sleep 0.05; done\n"
        "sleep 0.5; start=$(date +%s%N); kill -INT $pid; wait $pid; code=$?\n"
        "echo $code $(( ($(date +%s%N) - start) / 1000000 )) >end.txt\n");
  run("--version >/dev/null; bash -m go.sh");
  int code = -1, milliseconds = -1;
  std::istringstream(read_all(folder_ / "end.txt")) >> code >> milliseconds;
  EXPECT_EQ(code, 1);
  EXPECT_LT(milliseconds, 1000);
  EXPECT_THAT(read_all(folder_ / "err.txt"), HasSubstr("in the midst of a step"));
  EXPECT_THAT(read_all(folder_ / "rows.csv"), HasSubstr("b2999.wz"));
}

// What stands there is seen by all users of the machine.
TEST_F(Page, TheTokenStandsInNoCommandLine) {
  // notes what it is given, and what is in the file that is named there
  const std::string browser = "#!/bin/bash\necho \"$@\" >>'" + (folder_ / "words.txt").string() +
                              "'\nfile=${@: -1}; file=${file#file://}\nstat -c %a \"$file\" >>'" +
                              (folder_ / "mode.txt").string() + "'\ncat \"$file\" >>'" +
                              (folder_ / "door.txt").string() + "'\n";
  std::filesystem::create_directories(folder_ / "bin");
  for (const char* name : {"bin/xdg-open", "bin/chromium"}) {
    write(name, browser);
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
  }
  const std::string token = "abcdefghijklmnop0123456789";
  const std::string here =
      "export DISPLAY=:7 KARAKURI_TOKEN=" + token + " PATH='" + (folder_ / "bin").string() + "':$PATH; ";
  EXPECT_EQ(run("run ball.scene.yaml --time 0.5 --port 0", here).code, 0);
  EXPECT_THAT(read_all(folder_ / "door.txt"), HasSubstr("/?token=" + token));
  run("render ball.scene.yaml --out frames", here);
  const std::string words = read_all(folder_ / "words.txt"), doors = read_all(folder_ / "door.txt");
  EXPECT_THAT(words, HasSubstr("--headless=new"));
  EXPECT_THAT(words, Not(HasSubstr("token")));
  EXPECT_THAT(doors, HasSubstr("&amp;render=1280x720"));
  EXPECT_EQ(read_all(folder_ / "mode.txt"), "600\n600\n");
  for (std::size_t at = words.find("file://"); at != std::string::npos; at = words.find("file://", at + 1)) {
    const std::string file = words.substr(at + 7, words.find('\n', at) - at - 7);
    EXPECT_FALSE(std::filesystem::exists(file)) << file;
  }
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
