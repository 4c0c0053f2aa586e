// The real program, started as a user would.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace karakuri::test {

struct Outcome {
  int code = -1;
  std::string out, err;
};

inline std::string read_all(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Runs `karakuri ARGUMENTS` in a folder of its own, which is gone with the test.
class Program : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("karakuri_cli_" + std::string(info->name()) + "_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    setenv("XDG_CONFIG_HOME", (folder_ / "config").c_str(), 1);  // no folder of the user's own is trusted
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// `arguments` as typed in a shell, after what `before` says to it.
  Outcome run(const std::string& arguments, const std::string& before = "") const {
    const std::string command = before + "cd '" + folder_.string() + "' && '" KARAKURI_PROGRAM "' " +
                                arguments + " >stdout.txt 2>stderr.txt </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_all(folder_ / "stdout.txt"),
            read_all(folder_ / "stderr.txt")};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }

  std::filesystem::path folder_;
};

}  // namespace karakuri::test
