// What a file names is opened only where it is a regular file of the kind that its name says, and what cannot
// be used is not told of in words of its content.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "io/corpus.h"
#include "io/stopwatch.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSecret = "root:x:0:0:hunter2";
constexpr const char* kTriangles = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

class Paths : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("karakuri_paths_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(inside());
    write("secret", kSecret);
    write("secret.txt", kSecret);
    write("real.obj", kTriangles);
    for (const char* name : {"link.stl", "link.obj", "link.dae", "link.gltf", "link.xml", "link.sdf",
                             "link.png", "link.csv", "link.scene.yaml"})
      fs::create_symlink(folder_ / "secret", inside() / name);
    fs::create_symlink("/dev/zero", inside() / "zero.stl");
    fs::create_symlink(folder_ / "real.obj", inside() / "good.obj");
    ASSERT_EQ(mkfifo((inside() / "pipe.stl").c_str(), 0600), 0);
    ASSERT_EQ(mkfifo((inside() / "pipe.xml").c_str(), 0600), 0);
    ASSERT_EQ(mkfifo((inside() / "pipe.sdf").c_str(), 0600), 0);
    fs::create_directories(inside() / "pipes");
    ASSERT_EQ(mkfifo((inside() / "pipes" / "model.config").c_str(), 0600), 0);
    fs::create_directories(inside() / "folder.stl");
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path inside() const { return folder_ / "robot"; }
  void write(const char* name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  Result<LoadedScene> load(const std::string& name, const std::string& text) const {
    const fs::path file = inside() / name;
    std::ofstream(file) << text;
    const Stopwatch watch;
    Result<LoadedScene> loaded = load_scene(file, uncached());
    EXPECT_LT(watch.seconds(), kSecond);
    return loaded;
  }

  void expect_refused(const std::string& name, const std::string& text) const {
    SCOPED_TRACE(text);
    const Result<LoadedScene> loaded = load(name, text);
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.errors()[0].where, testing::ContainsRegex(":[0-9]+$"));
    EXPECT_THAT(to_string(loaded.errors()), testing::Not(testing::HasSubstr("hunter2")));
  }

  static std::string urdf(const std::string& mesh) {
    return R"(<robot name="r"><link name="l"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial><collision><geometry><mesh filename=")" +
           mesh + R"("/></geometry></collision></link></robot>)";
  }

  fs::path folder_;
};

TEST_F(Paths, MeshesOfUrdf) {
  EXPECT_TRUE(load("r.urdf", urdf("good.obj")).ok());  // a link to its like
  EXPECT_TRUE(load("r.urdf", urdf("../real.obj")).ok());
  for (const std::string& mesh :
       {std::string("link.stl"), std::string("link.obj"), std::string("link.dae"), std::string("link.gltf"),
        std::string("zero.stl"), std::string("pipe.stl"), std::string("folder.stl"), std::string("../secret"),
        std::string("../secret.txt"), (folder_ / "secret").string(),
        "file://" + (folder_ / "secret").string(), std::string("package://../secret"),
        std::string("package://robot/../secret"), std::string("package://robot/link.stl"),
        std::string("model://robot/../../secret"), std::string("/dev/zero"),
        std::string("/proc/self/environ"), std::string("."), std::string("")})
    expect_refused("r.urdf", urdf(mesh));
}

TEST_F(Paths, AssetsAndIncludesOfMjcf) {
  for (const char* mesh : {"link.stl", "zero.stl", "pipe.stl", "../secret", "/dev/zero"})
    expect_refused("m.xml", std::string(R"(<mujoco><asset><mesh name="m" file=")") + mesh +
                                R"("/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>)");
  for (const char* field : {"link.png", "../secret", "../secret.txt", "/dev/zero"})
    expect_refused("m.xml",
                   std::string(R"(<mujoco><asset><hfield name="m" size="1 1 1 1" file=")") + field +
                       R"("/></asset><worldbody><geom type="hfield" hfield="m"/></worldbody></mujoco>)");
  for (const char* file : {"link.xml", "pipe.xml", "../secret", "../secret.txt", "/dev/zero"})
    expect_refused("m.xml", std::string(R"(<mujoco><include file=")") + file + R"("/></mujoco>)");
}

TEST_F(Paths, MeshesAndIncludesOfSdf) {
  for (const char* mesh : {"link.stl", "pipe.stl", "../secret", "model://../secret"})
    expect_refused(
        "s.sdf",
        std::string(
            R"(<sdf version="1.9"><model name="m"><link name="l"><collision name="c"><geometry><mesh><uri>)") +
            mesh + "</uri></mesh></geometry></collision></link></model></sdf>");
  testing::internal::CaptureStderr();  // libsdformat prints of what it opens and is none of its own
  for (const char* file : {"link.sdf", "pipe.sdf", "model://pipes", "file://pipes", "../secret", "/dev/zero"})
    expect_refused("s.sdf", std::string(R"(<sdf version="1.9"><world name="w"><include><uri>)") + file +
                                "</uri></include></world></sdf>");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Paths, OfNativeScenes) {
  for (const char* file : {"link.scene.yaml", "link.xml", "pipe.xml", "../secret", "/dev/zero"})
    expect_refused("n.scene.yaml", std::string("robots: [{file: ") + file + "}]\n");
  for (const char* file : {"link.stl", "pipe.stl", "../secret"})
    expect_refused("n.scene.yaml",
                   std::string("bodies: [{name: a, mass: 1, shapes: {mesh: {file: ") + file + "}}}]\n");
  for (const char* file : {"link.csv", "../secret", "../secret.txt"})
    expect_refused("n.scene.yaml", std::string("trajectories: [{name: t, file: ") + file + "}]\n");
  expect_refused(
      "n.scene.yaml",
      "world: {shapes: {heightfield: {size: [1, 1], columns: 2, rows: 2, file: ../secret.txt}}}\n");
}

// A ring of includes, and a tree that doubles with each of thirty levels.
TEST_F(Paths, IncludesOfSdfEnd) {
  const auto model = [&](const std::string& name, const std::string& inner) {
    fs::create_directories(inside() / name);
    std::ofstream(inside() / name / "model.config")
        << R"(<model><name>m</name><version>1</version><sdf version="1.9">model.sdf</sdf></model>)";
    std::ofstream(inside() / name / "model.sdf")
        << R"(<sdf version="1.9"><model name="m"><link name="l"/>)" << inner << "</model></sdf>";
  };
  const auto include = [](const std::string& name, const char* as) {
    return "<include><uri>model://" + name + "</uri><name>" + as + "</name></include>";
  };
  model("leaf", "");
  model("ring", include("ring", "a"));
  for (int i = 0; i < 30; ++i)
    model("double" + std::to_string(i),
          include("double" + std::to_string(i + 1), "a") + include("double" + std::to_string(i + 1), "b"));
  model("two", include("leaf", "a") + include("leaf", "b"));
  const auto world = [&](const std::string& name) {
    return R"(<sdf version="1.9"><world name="w">)" + include(name, "x") + "</world></sdf>";
  };
  expect_refused("w.sdf", world("ring"));
  expect_refused("w.sdf", world("double0"));
  const Result<LoadedScene> fine = load("w.sdf", world("two"));
  ASSERT_TRUE(fine.ok()) << to_string(fine.errors());
  EXPECT_TRUE(fine->scene.mechanism.find_link("x::a::l"));
}

}  // namespace
}  // namespace karakuri::test
