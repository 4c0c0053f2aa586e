// A snapshot that is written to a file and continued by another process.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "world/scenes.h"

namespace karakuri {
namespace {

namespace fs = std::filesystem;
using test::add_material;
using test::make_world;

constexpr const char* kFolder = "KARAKURI_TEST_CONTINUES_IN";  // set: this is the other process
constexpr int kSteps = 100;

/// Boxes that fall into a heap, pulled at by a spring, in a wind of random numbers.
World falling_boxes(int threads) {
  Scene scene;
  const MaterialId wood = add_material(scene, 0.5, 0.2);
  scene.add_ground(wood);
  std::vector<LinkId> boxes;
  for (int i = 0; i < 8; ++i)
    boxes.push_back(scene.add_body("box" + std::to_string(i), Shape::box({0.2, 0.15, 0.1}), 1,
                                   Transform::translation({0.11 * (i % 3), 0.07 * (i % 2), 0.3 + 0.4 * i}),
                                   wood));
  World world = make_world(std::move(scene), {.dt = 1.0 / 240, .threads = threads});
  world.add_spring({boxes[5], Vec3(0.1, 0, 0), Vec3(0, 0, 2), 50, 5});
  world.add_hook([box = boxes[2]](World& w) { w.add_force(box, Vec3(w.random().uniform(-5, 5), 0, 0)); });
  return world;
}

void write(const fs::path& file, std::span<const std::byte> bytes) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::byte> read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
  const auto* from = reinterpret_cast<const std::byte*>(text.data());
  return {from, from + text.size()};
}

/// What the other process does: restores, goes on, and writes what it has come to.
void go_on(const fs::path& folder) {
  World world = falling_boxes(2);
  ASSERT_TRUE(world.restore(Snapshot{0, read(folder / "start")}).empty());
  world.step(kSteps);
  write(folder / "end", world.snapshot().bytes);
}

/// Runs this test alone in another process. @return Its exit status.
int run_other(const fs::path& folder) {
  setenv(kFolder, folder.c_str(), 1);
  // or the one test that it runs may be another shard's
  for (const char* sharding : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) unsetenv(sharding);
  std::string program = fs::read_symlink("/proc/self/exe").string(),
              filter = "--gtest_filter=Snapshot.ContinuesInAnotherProcess";
  char* arguments[] = {program.data(), filter.data(), nullptr};
  pid_t other = 0;
  const int failed = posix_spawn(&other, program.c_str(), nullptr, nullptr, arguments, environ);
  unsetenv(kFolder);
  int status = -1;
  if (failed == 0) waitpid(other, &status, 0);
  return status;
}

TEST(Snapshot, ContinuesInAnotherProcess) {
  if (const char* folder = std::getenv(kFolder)) return go_on(folder);
  std::string folder = (fs::temp_directory_path() / "karakuri-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  World world = falling_boxes(1);
  world.set_gravity({0.3, 0, -9});
  world.step(100);
  write(fs::path(folder) / "start", world.snapshot().bytes);
  world.step(kSteps);
  EXPECT_EQ(run_other(folder), 0);
  EXPECT_EQ(read(fs::path(folder) / "end"), world.snapshot().bytes);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace karakuri
