// The project keeps its include rule, and the check that says so can fail.
#include "architecture/include_rule.h"

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;

TEST(IncludeRule, HoldsInThisProject) {
  const fs::path root = KARAKURI_SOURCE_DIR;
  EXPECT_GT(count_source_files(root), 10) << "too few files found to conclude anything";
  EXPECT_THAT(find_forbidden_includes(root), testing::IsEmpty());
}

/// A source tree of one file per call, gone with the test.
class SyntheticTree : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            fmt::format("karakuri_{}", testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::vector<std::string> findings_in(const std::string& file, const std::string& text) {
    fs::remove_all(root_);
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
    return find_forbidden_includes(root_);
  }

  void expect_fine(const std::string& file, const std::string& header) {
    EXPECT_THAT(findings_in(file, fmt::format("#include \"{}\"\n", header)), testing::IsEmpty());
  }
  void expect_refused(const std::string& file, const std::string& header, const std::string& reason) {
    EXPECT_THAT(findings_in(file, fmt::format("// first line\n#include \"{}\"\n", header)),
                testing::ElementsAre(
                    testing::AllOf(testing::StartsWith(fmt::format("{}:2: includes {}", file, header)),
                                   testing::HasSubstr(reason))));
  }

 private:
  fs::path root_;
};

TEST_F(SyntheticTree, LowerLevelsAreFine) {
  expect_fine("src/dynamics/rnea.cc", "karakuri/model/model.h");
  expect_fine("src/dynamics/rnea.cc", "karakuri/dynamics/rnea.h");
  expect_fine("src/dynamics/rnea.cc", "model/private.h");
  expect_fine("src/dynamics/rnea.cc", "dynamics/private.h");
  expect_fine("src/collision/mesh/hull.cc", "karakuri/spatial/types.h");
  expect_fine("include/karakuri/world/world.h", "karakuri/constraint/row.h");
  expect_fine("src/session/session.cc", "karakuri/io/load.h");
  expect_fine("bench/kernels.cc", "karakuri/io/urdf.h");
  expect_fine("bench/kernels.cc", "support/table.h");
}

TEST_F(SyntheticTree, SameAndHigherLevelsAreRefused) {
  expect_refused("src/core/id.cc", "karakuri/spatial/types.h",
                 "core (level 0) must not include spatial (level 1)");
  expect_refused("src/solver/pgs.cc", "karakuri/model/model.h",
                 "solver (level 2) must not include model (level 2)");
  expect_refused("src/collision/mesh/hull.cc", "model/private.h", "collision (level 2)");
  expect_refused("include/karakuri/model/model.h", "karakuri/dynamics/rnea.h", "dynamics (level 3)");
  expect_refused("src/io/urdf.cc", "karakuri/server/page.h", "server (level 8)");
  expect_refused("src/session/session.cc", "karakuri/server/page.h", "server (level 8)");
  expect_refused("src/world/step.cc", "karakuri/control/pd.h", "through a hook");
}

TEST_F(SyntheticTree, PrivateHeadersStayPrivate) {
  expect_refused("include/karakuri/dynamics/aba.h", "dynamics/private.h", "a public header");
  expect_refused("include/karakuri/dynamics/aba.h", "model/private.h", "a public header");
  expect_refused("src/session/session.cc", "io/private.h", "public headers only");
  expect_refused("src/cli/main.cc", "world/private.h", "public headers only");
  expect_refused("bench/kernels/main.cc", "dynamics/private.h", "public headers only");
  expect_refused("src/cli/main.cc", "../world/private.h", "'..'");
}

TEST_F(SyntheticTree, SystemStaysOutOfTheEngine) {
  for (const char* header : {"unistd.h", "sys/socket.h", "boost/asio.hpp", "iostream", "filesystem"}) {
    expect_refused("src/world/step.cc", header, "no system calls");
    expect_fine("src/server/session.cc", header);
  }
  expect_refused("src/world/step.cc", "tbb/parallel_for.h", "threads");
  expect_refused("include/karakuri/core/parallel.h", "thread", "threads");
  expect_fine("src/core/parallel.cc", "tbb/parallel_for.h");
}

TEST_F(SyntheticTree, TheEngineNeedsNoLibraryButEigen) {
  expect_fine("src/world/a.cc", "Eigen/Core");
  expect_fine("src/core/a.cc", "tbb/parallel_for.h");
  expect_fine("src/collision/a.cc", "libqhull_r/qhull_ra.h");
  expect_fine("src/io/a.cc", "fmt/format.h");
  expect_refused("src/world/a.cc", "fmt/format.h", "no library but Eigen");
  expect_refused("src/solver/a.cc", "libqhull_r/qhull_ra.h", "no library but Eigen");
}

TEST_F(SyntheticTree, WorldSolvesNothing) {
  expect_fine("src/world/a.cc", "solver/island.h");
  expect_fine("src/world/a.cc", "karakuri/solver/solve.h");
  expect_fine("src/dynamics/a.cc", "Eigen/Cholesky");
  expect_refused("src/world/a.cc", "solver/memory.h", "states islands and solves none");
  expect_refused("src/world/a.cc", "solver/envelope_ldl.h", "states islands and solves none");
  expect_refused("src/world/a.cc", "Eigen/Cholesky", "factors nothing");
  expect_refused("src/world/a.cc", "Eigen/Dense", "factors nothing");
  EXPECT_EQ(findings_in("src/world/a.cc", "  const Vec3 x = inertia.ldlt().solve(b);\n").size(), 1u);
  EXPECT_EQ(findings_in("src/world/a.cc", "Eigen::LLT<Mat3> factor(inertia);\n").size(), 1u);
  EXPECT_TRUE(findings_in("src/world/a.cc", "// inertia.ldlt() belongs into dynamics\n").empty());
  EXPECT_TRUE(findings_in("src/dynamics/a.cc", "return inertia.ldlt().solve(b);\n").empty());
}

TEST_F(SyntheticTree, EveryModuleHasALevel) {
  EXPECT_THAT(findings_in("src/magic/wand.cc", ""),
              testing::ElementsAre("src/magic/wand.cc:1: 'magic' has no place in the table of levels"));
  expect_refused("src/world/step.cc", "karakuri/magic/wand.h", "'magic' has no place");
}

TEST_F(SyntheticTree, AllSpellingsAreRead) {
  EXPECT_EQ(findings_in("src/core/a.cc", "  #  include <karakuri/world/world.h> // why\n").size(), 1u);
  EXPECT_EQ(findings_in("src/core/a.h", "#include<unistd.h>\n#include <fcntl.h>\n").size(), 2u);
  EXPECT_TRUE(findings_in("src/core/a.cc", "// #include <unistd.h>\n").empty());
}

}  // namespace
}  // namespace karakuri::test
