// A scene from elsewhere does not run code unasked: its Python files run where it is trusted, and only there.
#include <gmock/gmock.h>
#include <pty.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

std::string scene(const std::string& code, const std::string& rest = "") {
  return "bodies:\n - {name: cart, joint: {name: slide, kind: prismatic}, inertia: {mass: 1, moments: [1, 1, "
         "1]}}\n"
         "behaviours:\n - {file: '" +
         code + "'}\n" + rest;
}

/// Each file of code leaves a file behind when it is run.
class Trust : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    if (!fs::exists(fs::path(KARAKURI_PROGRAM).parent_path() / "python" / "karakuri" / "_host.so"))
      GTEST_SKIP() << "the Python package is not built";
    fs::create_directories(folder_ / "mine/inner");
    fs::create_directories(folder_ / "elsewhere");
    code("mine/push.py"), code("elsewhere/push.py");
    write("mine/own.scene.yaml", scene("push.py"));
    write("elsewhere/bad.scene.yaml", scene("push.py"));
  }
  void code(const std::string& file) const {
    write(file, "open('" + (folder_ / "ran").string() +
                    "', 'a').write(__file__ + '\\n')\ndef step(world, dt): pass\n");
  }
  /// What ran; forgotten then.
  std::string ran() const {
    const std::string files = read_all(folder_ / "ran");
    fs::remove(folder_ / "ran");
    return files;
  }
  Outcome run_scene(const std::string& file, const std::string& options = "") const {
    return run("run " + file + " --headless --time 0.02 " + options);
  }
  std::string path(const std::string& file) const { return fs::canonical(folder_ / file).string(); }

  /// On a terminal, with these keys typed; all that it shows.
  Outcome run_on_terminal(const std::string& arguments, const std::string& typed) const {
    int terminal = 0;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
      if (chdir(folder_.c_str()) == 0)
        execl("/bin/sh", "sh", "-c", ("'" KARAKURI_PROGRAM "' " + arguments).c_str(), nullptr);
      _exit(99);
    }
    Outcome outcome;
    EXPECT_EQ(::write(terminal, typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
    char text[4096];
    for (ssize_t n = 0; (n = read(terminal, text, sizeof text)) > 0;)
      outcome.out.append(text, static_cast<std::size_t>(n));
    int status = 0;
    waitpid(child, &status, 0);
    close(terminal);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
  }
};

TEST_F(Trust, ASceneFromElsewhereIsRefusedWithWhatItWouldRun) {
  const Outcome outcome = run_scene("elsewhere/bad.scene.yaml");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(ran(), "");
  EXPECT_THAT(outcome.err, HasSubstr("elsewhere/bad.scene.yaml: error: it runs Python code"));
  EXPECT_THAT(outcome.err, HasSubstr(path("elsewhere/push.py")));
  EXPECT_THAT(outcome.err, HasSubstr("--trust"));
  EXPECT_THAT(outcome.err, HasSubstr("karakuri trust '" + path("elsewhere") + "'"));
}

TEST_F(Trust, ForThisOnceOrNotAtAll) {
  EXPECT_EQ(run_scene("elsewhere/bad.scene.yaml", "--no-behaviours").code, 0);
  EXPECT_EQ(ran(), "");
  EXPECT_EQ(run_scene("elsewhere/bad.scene.yaml", "--trust").code, 0);
  EXPECT_EQ(ran(), path("elsewhere/push.py") + "\n");
  EXPECT_EQ(run_scene("elsewhere/bad.scene.yaml").code, 2) << "it is not remembered";
  EXPECT_EQ(run_scene("cart-pole").code, 0) << "bundled";
}

TEST_F(Trust, OfFoldersIsKeptInAList) {
  EXPECT_THAT(run("trust mine").err, HasSubstr(path("mine") + " is trusted"));
  EXPECT_EQ(run_scene("mine/own.scene.yaml").code, 0);
  EXPECT_EQ(ran(), path("mine/push.py") + "\n");
  EXPECT_EQ(run_scene("mine/../mine/inner/../own.scene.yaml").code, 0);
  EXPECT_EQ(ran(), path("mine/push.py") + "\n");
  EXPECT_EQ(run_scene("elsewhere/bad.scene.yaml").code, 2);
  EXPECT_EQ(run("trust --list").out, path("mine") + "\n");
  EXPECT_EQ(Json::parse(run("trust --json").out), Json::array({path("mine")}));
  EXPECT_EQ(run("trust --remove mine/").code, 0);
  EXPECT_EQ(run("trust").out, "");
  EXPECT_EQ(run_scene("mine/own.scene.yaml").code, 2);
  EXPECT_EQ(run("trust --remove mine").code, 2);
  EXPECT_EQ(ran(), "");
}

TEST_F(Trust, IsRefusedToFoldersThatOthersFill) {
  fs::create_directories(folder_ / "open");
  fs::permissions(folder_ / "open", fs::perms::all);
  for (const char* folder : {"/", "open", "no_such_folder", "mine/push.py"}) {
    EXPECT_EQ(run(std::string("trust ") + folder).code, 2) << folder;
  }
  EXPECT_EQ(run("trust").out, "");
}

TEST_F(Trust, OfAListThatOthersCanWriteIsNone) {
  ASSERT_EQ(run("trust mine").code, 0);
  fs::permissions(folder_ / "config/karakuri/trusted-folders", fs::perms::others_write,
                  fs::perm_options::add);
  const Outcome outcome = run_scene("mine/own.scene.yaml");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("others can write this list"));
  EXPECT_EQ(ran(), "");
}

/// Each names code that is not in the trusted folder, or is named from outside.
TEST_F(Trust, IsNotGotByLinksPathsOrNesting) {
  ASSERT_EQ(run("trust mine").code, 0);
  write("mine/absolute.scene.yaml", scene((folder_ / "elsewhere/push.py").string()));
  write("mine/up.scene.yaml", scene("inner/../../elsewhere/push.py"));
  fs::create_symlink(folder_ / "elsewhere/push.py", folder_ / "mine/link.py");
  write("mine/link.scene.yaml", scene("link.py"));
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "mine/there");
  write("mine/folder.scene.yaml", scene("there/push.py"));
  write("mine/nested.scene.yaml", "robots: [{file: ../elsewhere/bad.scene.yaml}]\n");
  write("elsewhere/mine.scene.yaml", scene("../mine/push.py"));
  write("mine/nested_named.scene.yaml", "robots: [{file: ../elsewhere/mine.scene.yaml}]\n");
  write("elsewhere/wraps.scene.yaml", "robots: [{file: ../mine/own.scene.yaml}]\n");
  fs::create_symlink(folder_ / "elsewhere/bad.scene.yaml", folder_ / "mine/linked.scene.yaml");
  for (const char* file :
       {"absolute", "up", "link", "folder", "there/bad", "nested", "nested_named", "linked"}) {
    const Outcome outcome = run_scene(std::string("mine/") + file + ".scene.yaml");
    EXPECT_EQ(outcome.code, 2) << file << outcome.err;
    EXPECT_EQ(ran(), "") << file;
  }
  for (const char* file : {"mine", "wraps"}) {
    EXPECT_EQ(run_scene(std::string("elsewhere/") + file + ".scene.yaml").code, 2) << file;
    EXPECT_EQ(ran(), "") << file;
  }
  // a folder whose name begins with that of a trusted one is another
  fs::rename(folder_ / "elsewhere", folder_ / "mine_too");
  EXPECT_EQ(run_scene("mine_too/bad.scene.yaml").code, 2);
  EXPECT_EQ(ran(), "");
}

TEST_F(Trust, CodeOutsideIsToldAndNotCovered) {
  ASSERT_EQ(run("trust mine").code, 0);
  write("mine/absolute.scene.yaml",
        scene((folder_ / "elsewhere/push.py").string(), " - {file: push.py, name: own}\n"));
  const Outcome outcome = run_scene("mine/absolute.scene.yaml");
  EXPECT_THAT(outcome.err,
              HasSubstr("'" + path("elsewhere/push.py") + "' (it is outside of all trusted folders"));
  EXPECT_THAT(outcome.err, HasSubstr("that folder does not cover '" + path("elsewhere/push.py") + "'"));
  EXPECT_THAT(outcome.err, Not(HasSubstr(path("mine/push.py"))));
}

TEST_F(Trust, CheckAndInfoListTheCode) {
  for (const std::string command : {"check ", "info "}) {
    const Outcome outcome = run(command + "elsewhere/bad.scene.yaml");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out,
                HasSubstr("runs Python at each step: " + path("elsewhere/push.py") + " (not trusted: "));
    EXPECT_THAT(run(command + "cart-pole").out, HasSubstr("cart-pole.py (trusted: "));
    EXPECT_THAT(run(command + "wall").out, Not(HasSubstr("Python")));
    const Json all = Json::parse(run(command + "--json elsewhere/bad.scene.yaml").out, nullptr, false);
    const Json& code = all.is_array() ? all[0]["code"] : all["code"];
    ASSERT_EQ(code.size(), 1u) << all;
    EXPECT_EQ(code[0]["file"], path("elsewhere/push.py"));
    EXPECT_EQ(code[0]["named_by"], path("elsewhere/bad.scene.yaml"));
    EXPECT_EQ(code[0]["trusted"], false);
  }
  EXPECT_EQ(ran(), "");
}

TEST_F(Trust, IsAskedForOnATerminal) {
  const std::string command = "run elsewhere/bad.scene.yaml --headless --time 0.02";
  Outcome outcome = run_on_terminal(command, "n\n");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, HasSubstr(path("elsewhere/push.py")));
  EXPECT_EQ(ran(), "");
  EXPECT_EQ(run_on_terminal(command, "\n").code, 2) << "no is what is not said otherwise";
  EXPECT_EQ(ran(), "");
  EXPECT_EQ(run_on_terminal(command, "y\n").code, 0);
  EXPECT_EQ(ran(), path("elsewhere/push.py") + "\n");
  EXPECT_EQ(run("trust").out, "");
  EXPECT_EQ(run_on_terminal(command, "t\n").code, 0);
  EXPECT_EQ(run("trust").out, path("elsewhere") + "\n");
  EXPECT_EQ(ran(), path("elsewhere/push.py") + "\n");
  EXPECT_EQ(run_scene("elsewhere/bad.scene.yaml").code, 0);
}

}  // namespace
}  // namespace karakuri::test
