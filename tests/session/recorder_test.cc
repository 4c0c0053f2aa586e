// Records: their columns, their values, their files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <hdf5.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
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

/// A dataset of words, or of numbers, as the library itself reads it.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(const fs::path& path) : file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {}
  ~Hdf5Reader() {
    if (file_ >= 0) H5Fclose(file_);
  }
  bool ok() const { return file_ >= 0; }

  std::vector<std::string> words(const char* name) const {
    const hid_t set = H5Dopen2(file_, name, H5P_DEFAULT), type = H5Dget_type(set), space = H5Dget_space(set);
    const std::size_t longest = H5Tget_size(type),
                      count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space));
    std::string bytes(longest * count, '\0');
    H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data());
    std::vector<std::string> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(bytes.substr(i * longest, longest).c_str());
    H5Sclose(space), H5Tclose(type), H5Dclose(set);
    return out;
  }
  std::vector<double> numbers(const char* name, std::array<hsize_t, 2>& size) const {
    const hid_t set = H5Dopen2(file_, name, H5P_DEFAULT), space = H5Dget_space(set);
    H5Sget_simple_extent_dims(space, size.data(), nullptr);
    std::vector<double> out(size[0] * size[1]);
    H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data());
    H5Sclose(space), H5Dclose(set);
    return out;
  }
  double attribute(const char* name) const {
    double out = 0;
    const hid_t attribute = H5Aopen(file_, name, H5P_DEFAULT);
    H5Aread(attribute, H5T_NATIVE_DOUBLE, &out);
    H5Aclose(attribute);
    return out;
  }

 private:
  hid_t file_;
};

TEST_F(Records, InHdf5AreThoseOfTheWorld) {
  Session session = make_session(three_kinds());
  Result<Recorder> recorder = Recorder::open(folder_ / "a.h5", session);
  ASSERT_TRUE(recorder.ok()) << to_string(recorder.errors());
  const RecordColumns columns(session);
  const std::size_t width = columns.names().size();
  std::vector<double> expected;
  for (int i = 0; i < 3000; ++i) {  // several chunks of a megabyte and a part of one
    session.step();
    EXPECT_TRUE(recorder->record(session).empty());
    expected.resize(expected.size() + width);
    columns.read(session, std::span(expected).last(width));
  }
  EXPECT_TRUE(recorder->close().empty());
  ASSERT_GT(expected.size() * 8, 1u << 20);
  const Hdf5Reader file(folder_ / "a.h5");
  ASSERT_TRUE(file.ok());
  std::array<hsize_t, 2> size{};
  EXPECT_EQ(file.numbers("data", size), expected);
  EXPECT_EQ(size, (std::array<hsize_t, 2>{3000, width}));
  EXPECT_EQ(file.words("columns"), columns.names());
  EXPECT_EQ(file.attribute("step"), session.world().settings().dt);
  const std::vector<std::string> units = file.words("units");
  ASSERT_EQ(units.size(), width);
  const auto unit = [&](const char* name) {
    return units[static_cast<std::size_t>(std::ranges::find(columns.names(), name) -
                                          columns.names().begin())];
  };
  EXPECT_EQ(unit("time"), "s");
  EXPECT_EQ(unit("hand.vz"), "m/s");
  EXPECT_EQ(unit("hinge.q"), "rad");
  EXPECT_EQ(unit("hinge.tau"), "N m");
  EXPECT_EQ(unit("ball.q0"), "1");
  EXPECT_EQ(unit("ball.v2"), "rad/s");
  EXPECT_EQ(unit("box.q2"), "m");
  EXPECT_EQ(unit("box.q3"), "1");
  EXPECT_EQ(unit("box.tau2"), "N");
  EXPECT_EQ(unit("box.tau3"), "N m");
}

TEST_F(Records, InHdf5OfAKilledRunCanBeRead) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Session session = make_session(three_kinds());
    Result<Recorder> recorder = Recorder::open(folder_ / "a.h5", session);
    for (int i = 0; i < 3000; ++i) recorder->record(session);
    _exit(0);  // as a kill would: nothing is closed
  }
  int status = 0;
  waitpid(child, &status, 0);
  const Hdf5Reader file(folder_ / "a.h5");
  ASSERT_TRUE(file.ok());
  std::array<hsize_t, 2> size{};
  const std::vector<double> data = file.numbers("data", size);
  EXPECT_GT(size[0], 1000u) << "whole chunks, each of a megabyte";
  EXPECT_LT(size[0], 3000u) << "or the test shows nothing";
  EXPECT_EQ(data[(size[0] - 1) * size[1] + 1], data[1]);
  EXPECT_EQ(file.words("columns")[0], "time");
}

TEST_F(Records, InHdf5AreReadByOthers) {
  if (std::system("/usr/bin/python3 -c 'import h5py' 2>/dev/null") != 0) GTEST_SKIP() << "no h5py here";
  Session session = make_session(three_kinds());
  for (const char* name : {"a.csv", "a.hdf5"}) {
    ASSERT_TRUE(session.reset().empty());
    Result<Recorder> recorder = Recorder::open(folder_ / name, session);
    ASSERT_TRUE(recorder.ok());
    for (int i = 0; i < 100; ++i) {
      session.step();
      EXPECT_TRUE(recorder->record(session).empty());
    }
    EXPECT_TRUE(recorder->close().empty());
  }
  std::ofstream(folder_ / "compare.py") << R"(
import h5py, numpy
run = h5py.File("a.hdf5")
names = open("a.csv").readline().strip().split(",")
assert list(run["columns"].asstr()) == names
assert (run["data"][:] == numpy.loadtxt("a.csv", delimiter=",", skiprows=1)).all()
assert isinstance(run.attrs["step"], float), run.attrs["step"]
assert isinstance(run.attrs["scene"], str) or run.attrs["scene"].decode() == "", run.attrs["scene"]
)";
  const std::string command = fmt::format("cd '{}' && /usr/bin/python3 compare.py 2>&1", folder_.string());
  EXPECT_EQ(std::system(command.c_str()), 0);
  if (std::system("command -v h5dump >/dev/null") != 0) return;
  EXPECT_EQ(
      std::system(
          fmt::format("h5dump -H '{}' | grep -q H5T_IEEE_F64LE", (folder_ / "a.hdf5").string()).c_str()),
      0);
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
  expect_refused(folder_ / "a", "end the name in .csv, or for large runs in .npz, .h5 or .hdf5");
  expect_refused(folder_ / "no" / "such" / "folder.h5", "it cannot be written: No such file");
  fs::create_directory(folder_ / "folder.csv");
  expect_refused(folder_ / "folder.csv", "it cannot be written");
}

TEST_F(Records, OnAFullDiskAreToldOnce) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  Session session = make_session(three_kinds());
  fs::create_symlink("/dev/full", folder_ / "full.h5");  // writes what is known at once
  const Result<Recorder> refused = Recorder::open(folder_ / "full.h5", session);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(to_string(refused.errors()), HasSubstr("No space left on device"));
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
