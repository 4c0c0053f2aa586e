// Behaviours in the real program: Python files that run at each step, are loaded again when saved, and pause
// the run when they fail.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace karakuri::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Behaviours : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    const std::filesystem::path host =
        std::filesystem::path(KARAKURI_PROGRAM).parent_path() / "python" / "karakuri" / "_host.so";
    if (!std::filesystem::exists(host)) GTEST_SKIP() << "the Python package is not built";
    // a slider of 1 kg without gravity, so that its speed is what was pushed
    write("push.scene.yaml",
          "gravity: [0, 0, 0]\nsettings: {dt: 0.01}\nbodies:\n"
          " - {name: cart, joint: {name: slide, kind: prismatic, axis: [1, 0, 0]}, inertia: {mass: 1, "
          "moments: [1, 1, 1]}}\n"
          "behaviours:\n - {file: push.py, parameters: {force: 2}}\n");
  }
  nlohmann::json stats(const std::string& options, const std::string& trust = "--trust ") const {
    const Outcome outcome = run("run push.scene.yaml --headless --stats " + trust + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, false);
  }

  /// The program in the background, in real time; its messages are in stderr.txt.
  void start(const std::string& options) const {
    const std::string command = "cd '" + folder_.string() +
                                "' && '" KARAKURI_PROGRAM "' run push.scene.yaml --trust --stats " + options +
                                " >stdout.txt 2>stderr.txt </dev/null; echo $? >code.txt";
    ASSERT_EQ(std::system(("(" + command + ") &").c_str()), 0);
  }
  /// Whether a text comes in a file within a minute: machines may be busy.
  bool comes(const std::string& file, const std::string& text) const {
    for (int i = 0; i < 1200; ++i) {
      if (read_all(folder_ / file).find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
};

/// 1 s of 2 N on 1 kg: 2 J, in steps of velocity exactly so.
TEST_F(Behaviours, RunEachStepWithTheParametersOfTheScene) {
  write("push.py", "force = 0.0\ndef step(world, dt):\n  world['joint.slide.effort'] = force\n");
  EXPECT_NEAR(stats("--time 1")["energy_last"].get<double>(), 2, 1e-12);
  EXPECT_NEAR(stats("--time 1 --set behaviour.push.force=4")["energy_last"].get<double>(), 8, 1e-12);
  EXPECT_NEAR(stats("--time 1 --no-behaviours", "")["energy_last"].get<double>(), 0, 1e-12);
}

TEST_F(Behaviours, SetUpOnceAndSpeakOnStandardError) {
  write("push.py",
        "count = [0]\ndef setup(world):\n  print('set up at', world.time)\n"
        "def step(world, dt):\n  count[0] += 1\n  if count[0] == 10: print('tenth step of', dt)\n");
  const Outcome outcome = run("run push.scene.yaml --trust --headless --stats --time 0.2");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("set up at 0.0\ntenth step of 0.01\n"));
  EXPECT_FALSE(nlohmann::json::parse(outcome.out, nullptr, false).is_discarded()) << outcome.out;
}

TEST_F(Behaviours, FailureEndsAHeadlessRunWithTheTraceback) {
  write("push.py", "def step(world, dt):\n  if world.time > 0.1:\n    return help_me / 2\n");
  const Outcome outcome = run("run push.scene.yaml --trust --headless --time 1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("behaviour 'push' failed"));
  EXPECT_THAT(outcome.err, HasSubstr("push.py\", line 3, in step"));
  EXPECT_THAT(outcome.err, HasSubstr("NameError: name 'help_me' is not defined"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("_behaviours.py"))) << "only the user's own frames";
}

TEST_F(Behaviours, FilesThatAreNoBehavioursAreTold) {
  for (const auto& [text, told] :
       {std::pair{"def step(world, dt)\n", "SyntaxError"},
        std::pair{"x = 1\n", "has no function step(world, dt)"},
        std::pair{"import sys\nsys.exit(3)\n", "SystemExit: 3"},
        std::pair{"def step(world, dt):\n  world['joint.slied.effort'] = 1\n", "slide"},
        std::pair{"def step(world, dt):\n  world.step()\n", "RuntimeError"},
        std::pair{"def step(world, dt):\n  world.v[0] = float('nan')\n", "not finite"}}) {
    write("push.py", text);
    const Outcome outcome = run("run push.scene.yaml --trust --headless --time 0.1");
    EXPECT_EQ(outcome.code, 1) << text;
    EXPECT_THAT(outcome.err, HasSubstr(told)) << text;
  }
}

/// In real time: the force is turned round when the file is saved, and what the file remembers stays.
TEST_F(Behaviours, AreLoadedAgainWhenSaved) {
  const std::string before =
      "state = {'calls': 0}\ndef step(world, dt):\n  state['calls'] += 1\n  world['joint.slide.effort'] = "
      "1.0\n"
      "  if state['calls'] == 20: print('pushed')\n";
  write("push.py", before);
  start("--time 4");
  ASSERT_TRUE(comes("stderr.txt", "pushed"));
  write("push.py",
        "state = {'calls': 0}\ntold = [False]\ndef step(world, dt):\n"
        "  if not told[0]: print('again', state['calls'] >= 20); told[0] = True\n"
        "  world['joint.slide.effort'] = -5.0\n  if world['joint.slide.v'] < -1: print('turned'); "
        "world['joint.slide.effort'] = 0\n");
  EXPECT_TRUE(comes("stderr.txt", "again True")) << read_all(folder_ / "stderr.txt");
  EXPECT_TRUE(comes("stderr.txt", "turned")) << read_all(folder_ / "stderr.txt");
  EXPECT_TRUE(comes("code.txt", "0"));
}

TEST_F(Behaviours, PauseWhenTheyFailAndGoOnWhenMended) {
  write("push.py", "def step(world, dt):\n  if world.time > 0.1: raise ValueError('oh dear')\n");
  start("--time 0.5");
  ASSERT_TRUE(comes("stderr.txt", "ValueError: oh dear"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  EXPECT_EQ(read_all(folder_ / "code.txt"), "") << "it waits";
  write("push.py", "def step(world, dt):\n  if world.time > 0.3: print('mended')\n");
  EXPECT_TRUE(comes("stderr.txt", "mended"));
  EXPECT_TRUE(comes("code.txt", "0"));
  EXPECT_EQ(nlohmann::json::parse(read_all(folder_ / "stdout.txt"), nullptr, false)["steps"], 50)
      << "no step was lost";
  const std::string all = read_all(folder_ / "stderr.txt");
  EXPECT_EQ(all.find("ValueError: oh dear"), all.rfind("ValueError: oh dear")) << "told once";
}

/// The interpreter is that of the library which the program is linked to, whatever lies first on PATH.
TEST_F(Behaviours, RunInTheirOwnPythonWhateverIsOnThePath) {
  write("push.py",
        "import json, sys\ndef step(world, dt):\n  if world.time == 0: print('prefix', sys.prefix)\n");
  const std::filesystem::path other = folder_ / "other";
  std::filesystem::create_directories(other / "bin");
  std::filesystem::create_directories(other / "lib/python3.11/lib-dynload");
  for (const char* file : {"os.py", "encodings.py", "io.py", "site.py"})
    write(std::string("other/lib/python3.11/") + file, "raise RuntimeError('the other Python')\n");
  for (const char* name : {"bin/python3", "bin/python3.11", "bin/python"}) {
    std::filesystem::copy_file("/bin/true", other / name);
  }
  const std::string path = "export PATH='" + (other / "bin").string() + "':\"$PATH\"; ";
  const std::string home = "export PYTHONHOME='" + other.string() + "'; ";
  for (const std::string& before : {path, home, path + home}) {
    const Outcome outcome = run("run push.scene.yaml --trust --headless --time 0.05", before);
    EXPECT_EQ(outcome.code, 0) << before << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("prefix /"));
    EXPECT_THAT(outcome.err, Not(HasSubstr("prefix " + other.string()))) << before;
  }
}

/// The bundled scene: the pole is up and stands still after 8 s.
TEST_F(Behaviours, BalanceThePole) {
  const Outcome outcome = run("run cart-pole --headless --time 8 --record run.csv --record-every 4000");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("caught at"));
  std::istringstream rows(read_all(folder_ / "run.csv"));
  std::string header, row, last;
  std::getline(rows, header);
  while (std::getline(rows, row)) last = row;
  const auto cells = [](const std::string& line) {
    std::vector<std::string> out;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, ',');) out.push_back(cell);
    return out;
  };
  const std::vector<std::string> names = cells(header), values = cells(last);
  const auto value = [&](const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? NAN : std::stod(values[static_cast<std::size_t>(at - names.begin())]);
  };
  EXPECT_NEAR(std::cos(value("hinge.q")), 1, 1e-3);
  EXPECT_NEAR(value("hinge.v"), 0, 0.05);
}

}  // namespace
}  // namespace karakuri::test
