// JVRC-1 walks by a file of names and numbers alone.
#include <gtest/gtest.h>

#include <filesystem>

#include "karakuri/control/walking.h"
#include "karakuri/io/load.h"
#include "karakuri/session/session.h"

namespace karakuri {
namespace {

namespace fs = std::filesystem;

TEST(WalkingSlow, Jvrc1WalksTenSteps) {
  const fs::path robot = fs::path(KARAKURI_CORPUS_DIR) / "humanoids" / "jvrc1-urdf";
  if (!fs::exists(robot)) GTEST_SKIP() << robot << " is not there";
  const fs::path packages = fs::path(testing::TempDir()) / "karakuri-packages";
  fs::create_directories(packages);
  std::error_code ignored;
  fs::create_directory_symlink(fs::absolute(robot), packages / "jvrc_description", ignored);
  Result<LoadedScene> scene = load_scene(fs::path(KARAKURI_SOURCE_DIR) / "examples" / "jvrc1.scene.yaml",
                                         {.package_paths = {packages.string()}, .cache = false});
  ASSERT_TRUE(scene.ok()) << to_string(scene.errors());
  Result<Session> session = Session::make(std::move(*scene));
  ASSERT_TRUE(session.ok()) << to_string(session.errors());
  session->step(14000);
  const WalkingReport& report = session->walkers()[0].report();
  EXPECT_FALSE(report.fallen);
  EXPECT_TRUE(report.standing);
  EXPECT_EQ(report.steps, 10);
  // nine steps of 0.12 m, and one that closes
  const Vec3 moved = report.center - Vec3(report.center_planned.x() - 9 * 0.12, report.center_planned.y(), 0);
  EXPECT_NEAR(moved.x(), 9 * 0.12, 0.05);
  EXPECT_NEAR(report.center.y(), report.center_planned.y(), 0.05);
}

}  // namespace
}  // namespace karakuri
