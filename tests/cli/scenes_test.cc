// Bundled scenes by name, keys by --set, conversion and schema, through the real program.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace karakuri::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class Scenes : public Program {
 protected:
  std::string hash_of(const std::string& arguments) const {
    const Outcome done = run("run --headless --stats " + arguments);
    EXPECT_EQ(done.code, 0) << done.err;
    return json::parse(done.out)["state_hash"];
  }
};

TEST_F(Scenes, AreListedWithALineEach) {
  const Outcome text = run("list");
  EXPECT_EQ(text.code, 0);
  for (const char* name :
       {"slope", "sliding", "static-friction", "double-pendulum", "rolling-carpet", "wall", "pyramid",
        "domino", "newtons-cradle", "pinched-capsule", "humanoid", "arm", "hand", "crane-game", "four-bar"})
    EXPECT_THAT(text.out, testing::ContainsRegex("(^|\n)" + std::string(name) + "  +[A-Z0-9]"));
  const json all = json::parse(run("list --json").out);
  EXPECT_EQ(all.size(), static_cast<std::size_t>(std::count(text.out.begin(), text.out.end(), '\n')));
  for (const json& scene : all) EXPECT_TRUE(std::filesystem::exists(std::string(scene["file"])));
}

TEST_F(Scenes, AreFoundByTheirBareName) {
  EXPECT_EQ(hash_of("arm --time 0.1"), hash_of("'" KARAKURI_SOURCE_DIR "/scenes/arm.scene.yaml' --time 0.1"));
  const Outcome near = run("run pyramyd");
  EXPECT_EQ(near.code, 2);
  EXPECT_THAT(near.err, AllOf(HasSubstr("did you mean 'pyramid'"), HasSubstr("karakuri list")));
  // a file of one's own comes first
  write("arm", "shopping");
  EXPECT_EQ(run("run arm").code, 2);
}

TEST_F(Scenes, TheirFolderCanBeNamed) {
  write("mine.scene.yaml", "description: My own.\nground: true\n");
  EXPECT_EQ(setenv("KARAKURI_SCENES", folder_.c_str(), 1), 0);
  const Outcome done = run("list");
  unsetenv("KARAKURI_SCENES");
  EXPECT_EQ(done.out, "mine  My own.\n");
}

TEST_F(Scenes, AreToldOnceWhichFrictionASolverHas) {
  const Outcome cone = run("run sliding --headless --time 0.2");
  EXPECT_EQ(cone.err.find("friction"), std::string::npos) << cone.err;
  const Outcome axes = run("run sliding --headless --time 0.2 --solver dantzig");
  EXPECT_EQ(axes.code, 0);
  const std::size_t at = axes.err.find("axis by axis");
  ASSERT_NE(at, std::string::npos) << axes.err;
  EXPECT_EQ(axes.err.find("axis by axis", at + 1), std::string::npos) << axes.err;
  EXPECT_EQ(
      run("run sliding --headless --time 0.2 --solver dantzig --contact pyramid").err.find("axis by axis"),
      std::string::npos);
}

TEST_F(Scenes, AMethodThatCouldDoNothingIsRefused) {
  const Outcome none = run("run sliding --headless --time 0.1 --solver newton --set settings.max_newton=0");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("max_newton"));
}

TEST_F(Scenes, KeysAreSetOrTellWhatIsNear) {
  const std::string plain = hash_of("arm --time 0.2");
  EXPECT_NE(hash_of("arm --time 0.2 --set joint.elbow.target=1"), plain);
  EXPECT_NE(hash_of("arm --time 0.2 --set 'gravity=0 0 -1.6' --set settings.substeps=2"), plain);
  EXPECT_EQ(hash_of("arm --time 0.2 --set gravity.z=-1.6"),
            hash_of("arm --time 0.2 --set 'gravity=0 0 -1.6'"));
  EXPECT_EQ(hash_of("arm --time 0.2 --set settings.threads=2"), plain);
  struct Case {
    const char* set;
    const char* says;
  };
  for (const Case& c : {Case{"joint.elbw.target=1", "'elbow'"}, Case{"joint.elbow.targt=1", "'target'"},
                        Case{"settings.dtt=1", "'dt'"}, Case{"settings.dt=-1", "dt"},
                        Case{"settings.solver=magic", "newton"}, Case{"gravity=1", "three"},
                        Case{"gravity.w=1", "'x', 'y' and 'z'"}, Case{"gravity.z=1 2", "a finite number"}}) {
    const Outcome done = run(std::string("run arm --headless --time 0.1 --set '") + c.set + "'");
    EXPECT_EQ(done.code, 2) << c.set;
    EXPECT_THAT(done.err, AllOf(HasSubstr(std::string("--set ") + c.set), HasSubstr(c.says)));
  }
}

TEST_F(Scenes, ConvertedRunTheSame) {
  write("robot.xml",
        "<mujoco><worldbody><geom type=\"plane\" size=\"5 5 1\"/><body name=\"a\" pos=\"0 0 1\"><freejoint/>"
        "<geom type=\"capsule\" size=\".1 .3\"/><body name=\"b\" pos=\"0 0 .3\"><joint axis=\"1 2 3\" "
        "damping=\".1\"/>"
        "<geom type=\"box\" size=\".1 .2 .3\" euler=\"10 20 30\"/></body></body></worldbody></mujoco>");
  for (const char* scene : {"robot.xml", "arm", "domino"}) {
    const Outcome done = run(std::string("convert ") + scene + " out.scene.yaml");
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(hash_of("out.scene.yaml --time 0.3"), hash_of(std::string(scene) + " --time 0.3")) << scene;
  }
  const Outcome unwritable = run("convert robot.xml robot.xml/out.scene.yaml");
  EXPECT_EQ(unwritable.code, 2);
  EXPECT_THAT(unwritable.err, HasSubstr("robot.xml/out"));
}

TEST_F(Scenes, ErrorsNameTheirLine) {
  write("bad.scene.yaml", "ground: true\nbodies:\n  - {name: a, masss: 3, shapes: {sphere: 1}}\n");
  const Outcome done = run("check bad.scene.yaml");
  EXPECT_EQ(done.code, 2);
  EXPECT_THAT(done.err, AllOf(HasSubstr("bad.scene.yaml:3"), HasSubstr("did you mean 'mass'?")));
}

TEST_F(Scenes, TheSchemaIsJson) {
  const Outcome done = run("schema");
  EXPECT_EQ(done.code, 0);
  const json schema = json::parse(done.out);
  EXPECT_TRUE(schema.contains("$schema"));
  EXPECT_TRUE(schema["properties"].contains("bodies"));
}

}  // namespace
}  // namespace karakuri::test
