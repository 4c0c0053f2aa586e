// Every command and option of the program, good and bad usage.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "karakuri/io/load.h"
#include "karakuri/session/session.h"

namespace karakuri::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A pendulum that a noisy sensor looks at, a servo, keyframes, and a box on the ground.
constexpr const char* kRobot = R"(<mujoco model="two things"><option timestep="0.002"/>
<worldbody><geom type="plane" size="5 5 1"/>
<body name="rod" pos="0 0 2"><joint name="hinge" axis="0 1 0" range="-90 90"/>
<geom type="capsule" size=".03" fromto="0 0 0 .5 0 0" mass="1"/><site name="tip" pos=".5 0 0"/></body>
<body name="box" pos="2 0 .3"><freejoint name="box"/><geom type="box" size=".1 .1 .1" mass="2"/></body>
</worldbody>
<actuator><position name="servo" joint="hinge" kp="20"/></actuator>
<sensor><gyro name="gyro" site="tip" noise="0.01"/></sensor>
<keyframe><key name="up" qpos="-1 2 0 .3 1 0 0 0"/></keyframe></mujoco>)";

class Cli : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    write("robot.xml", kRobot);
  }
  json stats(const std::string& arguments) const {
    const Outcome done = run("run robot.xml --headless --stats " + arguments);
    EXPECT_EQ(done.code, 0) << done.err;
    return json::parse(done.out, nullptr, false);
  }
};

// ---- usage

TEST_F(Cli, HelpTellsEveryCommandAndOption) {
  const Outcome help = run("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"run", "check", "info", "convert", "list", "schema"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
    const Outcome more = run(std::string(command) + " --help");
    EXPECT_EQ(more.code, 0);
    EXPECT_THAT(more.out, HasSubstr(std::string("karakuri ") + command));
  }
  const Outcome of_run = run("run --help");
  for (const char* option :
       {"--time", "--dt", "--solver", "--contact", "--integrator", "--threads", "--headless", "--record",
        "--record-every", "--stats", "--seed", "--keyframe", "--set", "--strict", "--package-path"})
    EXPECT_THAT(of_run.out, HasSubstr(option));
}

TEST_F(Cli, BadUsageEndsWith2AndSaysWhatToDo) {
  struct Case {
    const char* arguments;
    const char* says;
  };
  const Case cases[] = {
      {"", "Usage"},
      {"rnu wall", "did you mean 'run'?"},
      {"run", "SCENE is required"},
      {"run robot.xml --frobnicate", "--frobnicate"},
      {"run robot.xml --tiem 1", "did you mean '--time'?"},
      {"info robot.xml --jsn", "did you mean '--json'?"},
      {"run robot.xml --time", "--time"},
      {"run robot.xml --time soon", "--time"},
      {"run robot.xml --time -1", "--time"},
      {"run robot.xml --headless --dt 0", "dt"},
      {"run robot.xml --headless --dt nan", "dt"},
      {"run robot.xml --headless --threads 0", "threads"},
      {"run robot.xml --headless --dt inf", "--dt: 'inf' is not a number from 1e-09 to 10"},
      {"run robot.xml --headless --dt 1e-300", "--dt"},
      {"run robot.xml --headless --time nan", "--time: 'nan' is not a number"},
      {"run robot.xml --headless --threads 99999999999",
       "--threads: '99999999999' is not a whole number from 1"},
      {"run robot.xml --headless --seed -3", "--seed: '-3' is not a whole number from 0"},
      {"run robot.xml --headless --seed 1e3", "--seed"},
      {"run robot.xml --headless --seed 99999999999999999999999", "--seed"},
      {"run robot.xml --port 65536", "--port: '65536' is not a whole number from 0 to 65535"},
      {"run robot.xml --headless --record-every -1", "--record-every: '-1' is not a whole number from 1"},
      {"render robot.xml --out x --fps inf", "--fps"},
      {"run robot.xml --headless --solver magic", "known: default, block, newton"},
      {"run robot.xml --headless --contact magic", "known: cone, pyramid, penalty"},
      {"run robot.xml --headless --integrator magic", "known: semi-implicit"},
      {"run robot.xml --headless --keyframe upp", "did you mean 'up'?"},
      {"run robot.xml --headless --record-every 0 --record a.csv", "--record-every"},
      {"run robot.xml --headless --record a.txt", "end the name in .csv"},
      {"run robot.xml --headless --record no/such/folder/a.csv", "it cannot be written"},
      {"run robot.xml --headless --set nonsense", "write --set KEY=VALUE"},
      {"run nothing.xml", "there is no such file"},
      {"run ./robt.xml", "did you mean './robot.xml'?"},
      {"run .", "it is a folder"},
      {"check", "FILE is required"},
      {"info", "FILE is required"},
      {"info nothing.xml", "there is no such file"},
      {"convert robot.xml", "OUT is required"},
      {"convert robot.xml out.urdf", "only native scenes are written"},
      {"convert nothing.xml out.scene.yaml", "there is no such file"},
  };
  for (const Case& c : cases) {
    const Outcome done = run(c.arguments);
    EXPECT_EQ(done.code, 2) << c.arguments;
    EXPECT_THAT(done.err, HasSubstr(c.says)) << c.arguments;
    EXPECT_THAT(done.out, IsEmpty()) << c.arguments;
  }
}

// ---- check

TEST_F(Cli, CheckTellsWhatIsWrongAndWhere) {
  const Outcome good = run("check robot.xml");
  EXPECT_EQ(good.code, 0);
  EXPECT_THAT(good.out, HasSubstr("robot.xml: good (2 links, 7 dofs, 3 shapes"));

  write("cut.urdf", "<robot name=\"r\">\n  <link name=\"a\">\n");
  write("wrong.urdf", "<robot name=\"r\"><link name=\"a\"/>\n<joint name=\"j\" type=\"revolut\"/></robot>");
  write("list.txt", "shopping");
  const Outcome bad = run("check robot.xml cut.urdf wrong.urdf list.txt none.urdf .");
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, AllOf(ContainsRegex("cut.urdf:[0-9]+: error: "), HasSubstr("wrong.urdf:2: error: "),
                             HasSubstr("list.txt"), HasSubstr("none.urdf"), HasSubstr("it is a folder")));
  EXPECT_THAT(bad.out, AllOf(HasSubstr("robot.xml: good"), HasSubstr("cut.urdf: not usable: 1 error")));
}

TEST_F(Cli, CheckGivesJson) {
  write("cut.urdf", "<robot name=\"r\">\n  <link name=\"a\">\n");
  const Outcome done = run("check --json robot.xml cut.urdf");
  EXPECT_EQ(done.code, 2);
  const json all = json::parse(done.out);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["ok"], true);
  EXPECT_EQ(all[1]["ok"], false);
  EXPECT_EQ(all[1]["diagnostics"][0]["severity"], "error");
  EXPECT_THAT(std::string(all[1]["diagnostics"][0]["where"]), testing::StartsWith("cut.urdf:"));
}

TEST_F(Cli, StrictMakesErrorsOfWarnings) {
  write("odd.xml",
        "<mujoco><worldbody><body><freejoint/><geom size=\".1\" gap=\".1\" "
        "margin=\".1\"/></body></worldbody></mujoco>");
  const Outcome lax = run("check odd.xml");
  EXPECT_EQ(lax.code, 0);
  EXPECT_THAT(lax.err, HasSubstr("odd.xml:1: warning"));
  for (const char* command :
       {"check --strict odd.xml", "info --strict odd.xml", "run --headless --time 0.1 --strict odd.xml",
        "convert --strict odd.xml o.scene.yaml"}) {
    const Outcome strict = run(command);
    EXPECT_EQ(strict.code, 2) << command;
    EXPECT_THAT(strict.err, HasSubstr("odd.xml:1: error")) << command;
  }
}

TEST_F(Cli, PackagePathsAreUsed) {
  std::filesystem::create_directories(folder_ / "elsewhere/parts/meshes");
  write("elsewhere/parts/meshes/t.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n");
  write("r.urdf",
        "<robot name=\"r\"><link name=\"a\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" "
        "izz=\"1\" ixy=\"0\" "
        "ixz=\"0\" iyz=\"0\"/></inertial><collision><geometry><mesh "
        "filename=\"package://parts/meshes/t.obj\"/></geometry>"
        "</collision></link></robot>");
  EXPECT_EQ(run("check r.urdf").code, 2);
  EXPECT_EQ(run("check r.urdf --package-path elsewhere").code, 0);
  EXPECT_EQ(run("run r.urdf --headless --time 0.01 --package-path nowhere --package-path elsewhere").code, 0);
  EXPECT_EQ(run("info r.urdf --package-path elsewhere").code, 0);
}

// ---- info

TEST_F(Cli, InfoDrawsTheTree) {
  const Outcome done = run("info robot.xml");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out,
              AllOf(HasSubstr("two things"), HasSubstr("2 links, 2 joints, 7 dofs, 3 kg, 3 shapes, 0 loops"),
                    HasSubstr("├─ rod"), HasSubstr("└─ box"), HasSubstr("revolute 'hinge' -90..90 deg"),
                    HasSubstr("actuators: servo"), HasSubstr("sensors: gyro"), HasSubstr("keyframes: up")));
}

TEST_F(Cli, InfoGivesJson) {
  const Outcome done = run("info --json robot.xml");
  EXPECT_EQ(done.code, 0);
  const json all = json::parse(done.out);
  EXPECT_EQ(all["dofs"], 7);
  EXPECT_EQ(all["links"].size(), 2u);
  EXPECT_EQ(all["links"][1]["mass"], 2.0);
  EXPECT_EQ(all["joints"][0]["kind"], "revolute");
  EXPECT_NEAR(double(all["joints"][0]["dofs"][0]["upper"]), 1.5707963, 1e-6);
  EXPECT_TRUE(all["joints"][0]["dofs"][0]["effort_limit"].is_null());
}

TEST_F(Cli, InfoNamesLoops) {
  write("loop.xml",
        "<mujoco><worldbody><body name=\"a\"><joint axis=\"0 1 0\"/><geom size=\".1\"/><body name=\"b\" "
        "pos=\"1 0 0\">"
        "<joint axis=\"0 1 0\"/><geom size=\".1\"/></body></body></worldbody>"
        "<equality><connect name=\"pin\" body1=\"b\" anchor=\"0 0 0\"/></equality></mujoco>");
  const Outcome done = run("info loop.xml");
  EXPECT_THAT(done.out, AllOf(HasSubstr("1 loop"), HasSubstr("loop 'pin': spherical between")));
}

// ---- run

TEST_F(Cli, RunTellsHowItWent) {
  const Outcome done = run("run robot.xml --headless --time 1");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("robot.xml: 1 s in"), HasSubstr("500 steps"), HasSubstr("contacts: "),
                              HasSubstr("energy: "), HasSubstr("state hash ")));
  EXPECT_THAT(done.err, Not(HasSubstr("\r"))) << "no progress bar but on a terminal";
}

TEST_F(Cli, StatsAreTheWorldsOwn) {
  const json s = stats("--time 1");
  Result<LoadedScene> scene = load_scene(folder_ / "robot.xml");
  ASSERT_TRUE(scene.ok());
  Result<Session> session = Session::make(std::move(*scene));
  ASSERT_TRUE(session.ok());
  const double first = session->world().energies().total();
  double contacts = 0, penetration = 0, residual = 0;
  int most = 0;
  for (int i = 0; i < 500; ++i) {
    session->step();
    const StepReport& r = session->world().report();
    contacts += r.contacts, most = std::max(most, r.contacts);
    penetration = std::max(penetration, r.penetration), residual = std::max(residual, r.residual);
  }
  EXPECT_EQ(s["steps"], 500);
  EXPECT_EQ(s["contacts_max"], most);
  EXPECT_EQ(double(s["contacts_mean"]), contacts / 500);
  EXPECT_GT(most, 0);
  EXPECT_EQ(double(s["penetration_max"]), penetration);
  EXPECT_EQ(double(s["residual_max"]), residual);
  EXPECT_EQ(double(s["energy_first"]), first);
  EXPECT_EQ(double(s["energy_last"]), session->world().energies().total());
  EXPECT_NEAR(double(s["steps_per_second"]) * double(s["wall_seconds"]), 500, 1e-6);
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(session->hash()));
  EXPECT_EQ(s["state_hash"], hash);
}

TEST_F(Cli, TheSameRunGivesTheSameHashForAnyNumberOfThreads) {
  const json one = stats("--time 0.5");
  for (const char* more : {"", "--threads 1", "--threads 2", "--threads 4", "--seed 0"})
    EXPECT_EQ(stats(std::string("--time 0.5 ") + more)["state_hash"], one["state_hash"]) << more;
  const json other = stats("--time 0.5 --seed 7");
  EXPECT_NE(other["state_hash"], one["state_hash"]) << "the noise is part of the state";
  EXPECT_EQ(stats("--time 0.5 --seed 7")["state_hash"], other["state_hash"]);
}

TEST_F(Cli, OptionsReplaceWhatTheFileSays) {
  EXPECT_EQ(stats("--time 0.5 --dt 0.01")["steps"], 50);
  const json cone = stats("--time 0.5");
  for (const char* other : {"--solver newton", "--solver pgs", "--contact pyramid", "--contact penalty",
                            "--integrator rk4", "--integrator explicit", "--keyframe up"})
    EXPECT_NE(stats(std::string("--time 0.5 ") + other)["state_hash"], cone["state_hash"]) << other;
  EXPECT_EQ(stats("--time 0")["steps"], 0);
}

TEST_F(Cli, RunsInRealTimeUnlessHeadless) {
  const Outcome done = run("run robot.xml --time 1 --stats");
  EXPECT_EQ(done.code, 0);
  const json s = json::parse(done.out);
  EXPECT_GT(double(s["wall_seconds"]), 0.98);
  EXPECT_EQ(s["steps"], 500);
}

TEST_F(Cli, InfoTellsTheMobilityOfLoops) {
  // a plane four-bar in space: five rows, of which three say what the hinges say already
  EXPECT_THAT(run("info four-bar").out,
              HasSubstr("mobility 1: the loops take 2 of 3 dofs away (5 rows, of which 3 redundant)"));
}

TEST_F(Cli, RecordsHaveARowForEveryStepAndOneBefore) {
  EXPECT_EQ(run("run robot.xml --headless --time 0.1 --record a.csv").code, 0);
  const std::string all = read_all(folder_ / "a.csv");
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 1 + 1 + 50);
  EXPECT_THAT(all, testing::StartsWith(
                       "time,rod.px,rod.py,rod.pz,rod.qw,rod.qx,rod.qy,rod.qz,rod.vx,rod.vy,rod.vz,rod.wx,"
                       "rod.wy,rod.wz,box.px,"));
  EXPECT_EQ(run("run robot.xml --headless --time 0.1 --record a.csv --record-every 10").code, 0);
  const std::string few = read_all(folder_ / "a.csv");
  EXPECT_EQ(std::count(few.begin(), few.end(), '\n'), 1 + 1 + 5);
  const Outcome npz = run("run robot.xml --headless --time 0.1 --record a.npz");
  EXPECT_EQ(npz.code, 0);
  EXPECT_THAT(npz.out, HasSubstr("recorded: 51 rows, 49 columns in a.npz"));
  EXPECT_GT(std::filesystem::file_size(folder_ / "a.npz"), 51 * 49 * 8u);
  const Outcome hdf5 = run("run robot.xml --headless --time 0.1 --record a.h5");
  EXPECT_THAT(hdf5.out, HasSubstr("recorded: 51 rows, 49 columns in a.h5"));
  EXPECT_GT(std::filesystem::file_size(folder_ / "a.h5"), 51 * 49 * 8u);
}

TEST_F(Cli, AFullDiskEndsTheRunWith1) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  std::filesystem::create_symlink("/dev/full", folder_ / "full.csv");
  const Outcome done = run("run robot.xml --headless --time 1 --record full.csv");
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.err, HasSubstr("No space left on device"));
}

TEST_F(Cli, CtrlCEndsItWithTheSummary) {
  // timeout(1) sends the signal, once with --foreground (the second one ends the program at once), and tells
  // the program's own exit code with --preserve-status
  const std::string command =
      "cd '" + folder_.string() +
      "' && timeout --foreground --preserve-status -s INT 3 '" KARAKURI_PROGRAM
      "' run robot.xml --time 1000 --record a.csv >stdout.txt 2>stderr.txt </dev/null";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(read_all(folder_ / "stdout.txt"), AllOf(HasSubstr("interrupted"), HasSubstr("recorded: ")));
  const std::string all = read_all(folder_ / "a.csv");
  EXPECT_EQ(all.back(), '\n') << "the record is whole";
}

TEST_F(Cli, OnATerminalThereIsAProgressBar) {
  if (std::system("script -qec true /dev/null >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "script(1) cannot give a terminal";
  const auto shown = [&](const std::string& options) {
    const std::string command = "cd '" + folder_.string() +
                                "' && script -qec \"'" KARAKURI_PROGRAM "' run robot.xml " + options +
                                "\" /dev/null >typescript.txt 2>&1 </dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return read_all(folder_ / "typescript.txt");
  };
  EXPECT_THAT(shown("--headless --time 60"),
              AllOf(HasSubstr("steps/s"), HasSubstr("left"), HasSubstr(" of 60 s")));
  EXPECT_THAT(shown("--time 1"), AllOf(HasSubstr("real time"), HasSubstr("contacts"), HasSubstr("residual"),
                                       HasSubstr("energy")));
}

TEST_F(Cli, ABodyThatBecomesNonFiniteIsNamedAndEndsItWith1) {
  write("wild.xml",
        "<mujoco><option timestep=\"0.01\"/><worldbody><body name=\"wild\"><joint name=\"j\" axis=\"0 1 0\"/>"
        "<geom size=\".1\" pos=\".2 0 0\"/></body><body name=\"calm\" pos=\"5 0 0\"><freejoint/><geom "
        "size=\".1\"/></body>"
        "</worldbody><keyframe><key name=\"far\" qpos=\"0 5 0 0 1 0 0 0\" qvel=\"1e200 0 0 0 0 0 "
        "0\"/></keyframe></mujoco>");
  const Outcome done = run("run wild.xml --headless --time 1 --keyframe far");
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.err, HasSubstr("'wild' became non-finite"));
  EXPECT_THAT(done.err, Not(HasSubstr("calm")));
}

TEST_F(Cli, VersionTellsHowItWasBuilt) {
  const Outcome done = run("--version");
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.out,
              AllOf(testing::StartsWith("karakuri "), HasSubstr("compiler: "), HasSubstr("build: ")));
}

}  // namespace
}  // namespace karakuri::test
