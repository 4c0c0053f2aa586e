// Records: their columns, their values, their files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "karakuri/session/recorder.h"
#include "session/scenes.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A hinge, a ball joint below it and a free box.
LoadedScene three_kinds() {
  return read_mjcf(
      "<mujoco><worldbody><body name=\"arm\"><joint name=\"hinge\" axis=\"0 1 0\"/>"
      "<geom type=\"sphere\" pos=\".3 0 0\" size=\".1\"/>"
      "<body name=\"hand\" pos=\".5 0 0\"><joint name=\"ball\" type=\"ball\"/>"
      "<geom type=\"box\" size=\".1 .2 .1\"/></body></body>"
      "<body name=\"box\" pos=\"3 0 1\"><freejoint name=\"box\"/><geom type=\"box\" size=\".1 .1 "
      ".1\"/></body>"
      "</worldbody><actuator><motor joint=\"hinge\" gear=\"3\"/></actuator></mujoco>");
}

class Records : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              fmt::format("karakuri_{}_{}", testing::UnitTest::GetInstance()->current_test_info()->name(),
                          getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

TEST_F(Records, HaveTheColumnsThatArePromised) {
  Session session = make_session(three_kinds());
  Result<Recorder> recorder = Recorder::open(folder_ / "a.csv", session);
  ASSERT_TRUE(recorder.ok());
  std::vector<std::string> expected{"time"};
  for (const char* link : {"arm", "hand", "box"})
    for (const char* column : {"px", "py", "pz", "qw", "qx", "qy", "qz", "vx", "vy", "vz", "wx", "wy", "wz"})
      expected.push_back(fmt::format("{}.{}", link, column));
  for (const char* name : {"hinge.q", "hinge.v", "hinge.tau", "ball.q0", "ball.q1", "ball.q2", "ball.q3",
                           "ball.v0", "ball.v1", "ball.v2", "ball.tau0", "ball.tau1", "ball.tau2"})
    expected.push_back(name);
  for (int i = 0; i < 7; ++i) expected.push_back(fmt::format("box.q{}", i));
  for (int i = 0; i < 6; ++i) expected.push_back(fmt::format("box.v{}", i));
  for (int i = 0; i < 6; ++i) expected.push_back(fmt::format("box.tau{}", i));
  EXPECT_EQ(recorder->columns(), expected);
}

TEST_F(Records, HoldTheWorldsValuesToTheLastBit) {
  Session session = make_session(three_kinds());
  session.set_control(0, 0.5);
  const auto& m = session.scene().scene.mechanism;
  const LinkId hand = m.find_link("hand");
  std::vector<std::vector<double>> expected;
  {
    Result<Recorder> recorder = Recorder::open(folder_ / "a.csv", session);
    ASSERT_TRUE(recorder.ok());
    for (int i = 0; i < 5; ++i) {
      session.step(20);
      EXPECT_TRUE(recorder->record(session).empty());
      const World& w = session.world();
      expected.push_back({w.time(), w.pose(hand).p.y(), w.velocity(hand).linear.z(),
                          w.velocity(hand).angular.x(), w.q(m.find_joint("hinge"))[0],
                          w.load(m.find_joint("hinge")).drive[0], w.q(m.find_joint("ball"))[3]});
    }
    EXPECT_EQ(recorder->rows(), 5);
    EXPECT_TRUE(recorder->close().empty());
    EXPECT_TRUE(recorder->close().empty()) << "a second time is no harm";
  }
  std::ifstream in(folder_ / "a.csv");
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  const std::vector<std::string> names = split(line);
  const auto at = [&](const std::vector<std::string>& words, const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    return std::strtod(words.at(static_cast<std::size_t>(found - names.begin())).c_str(), nullptr);
  };
  for (const auto& row : expected) {
    ASSERT_TRUE(std::getline(in, line));
    const std::vector<std::string> words = split(line);
    ASSERT_EQ(words.size(), names.size());
    const char* of[] = {"time", "hand.py", "hand.vz", "hand.wx", "hinge.q", "hinge.tau", "ball.q3"};
    for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(at(words, of[i]), row[i]) << of[i];
  }
  EXPECT_EQ(expected.back()[5], 1.5) << "the motor's effort";
  EXPECT_FALSE(std::getline(in, line));
}

TEST_F(Records, AreReadByNumpy) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0) GTEST_SKIP() << "no NumPy here";
  Session session = make_session(three_kinds());
  for (const char* name : {"a.csv", "a.npz"}) {
    ASSERT_TRUE(session.reset().empty());
    Result<Recorder> recorder = Recorder::open(folder_ / name, session);
    ASSERT_TRUE(recorder.ok());
    for (int i = 0; i < 400; ++i) {
      session.step();
      EXPECT_TRUE(recorder->record(session).empty());
    }
    EXPECT_TRUE(recorder->close().empty());
  }
  std::ofstream(folder_ / "compare.py") << R"(
import numpy, sys, zipfile
assert zipfile.ZipFile("a.npz").testzip() is None, "checksums"
run = numpy.load("a.npz")
assert sorted(run.files) == ["columns", "data"], run.files
names = open("a.csv").readline().strip().split(",")
assert list(run["columns"]) == names, run["columns"]
table = numpy.loadtxt("a.csv", delimiter=",", skiprows=1)
assert run["data"].shape == (400, len(names)), run["data"].shape
assert (run["data"] == table).all()
)";
  const std::string command = fmt::format("cd '{}' && /usr/bin/python3 compare.py 2>&1", folder_.string());
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST_F(Records, ThatCannotBeWrittenSaySo) {
  Session session = make_session(three_kinds());
  const auto expect_refused = [&](const fs::path& path, const std::string& what) {
    const Result<Recorder> recorder = Recorder::open(path, session);
    ASSERT_FALSE(recorder.ok()) << path;
    EXPECT_THAT(to_string(recorder.errors()), HasSubstr(what));
  };
  expect_refused(folder_ / "no" / "such" / "folder.csv", "it cannot be written: No such file");
  expect_refused(folder_ / "a.txt", "records do not end in '.txt'");
  expect_refused(folder_ / "a", "end the name in .csv");
  fs::create_directory(folder_ / "folder.csv");
  expect_refused(folder_ / "folder.csv", "it cannot be written");
}

TEST_F(Records, OnAFullDiskAreToldOnce) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  Session session = make_session(three_kinds());
  for (const char* name : {"full.csv", "full.npz"}) {
    fs::create_symlink("/dev/full", folder_ / name);
    Result<Recorder> recorder = Recorder::open(folder_ / name, session);
    ASSERT_TRUE(recorder.ok());
    std::vector<Diagnostic> all;
    for (int i = 0; i < 2000; ++i) {
      for (Diagnostic& d : recorder->record(session)) all.push_back(std::move(d));
    }
    for (Diagnostic& d : recorder->close()) all.push_back(std::move(d));
    ASSERT_EQ(all.size(), 1u) << name;
    EXPECT_THAT(all[0].what, HasSubstr("No space left on device"));
  }
}

}  // namespace
}  // namespace karakuri::test
