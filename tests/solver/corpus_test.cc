// The exact methods on other people's friction problems: every file of the external corpus to 1e-8.
#include <gtest/gtest.h>

#include <algorithm>

#include "karakuri/solver/solve.h"
#include "support/siconos_reader.h"

namespace karakuri::solver {
namespace {

std::vector<std::filesystem::path> corpus() {
  const std::filesystem::path folder = std::filesystem::path(KARAKURI_CORPUS_DIR) / "friction-problems";
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// Natural map over |q|, from scratch: nothing of the solver's own bookkeeping is used.
double relative_residual(const Problem& p, const std::vector<double>& lambda) {
  std::vector<double> u(p.rows());
  row_velocities(p, lambda, {}, u);
  return natural_map(p, lambda, u) / norm_q(p);
}

TEST(Corpus, ExactMethodsReach1e8) {
  const auto files = corpus();
  if (files.empty()) GTEST_SKIP() << "the external corpus is not here";
  Workspace ws;
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename().string());
    const Result<Problem> p = test::read_siconos(file);
    ASSERT_TRUE(p.ok()) << to_string(p.errors());
    for (const Method method : {Method::kDefault, Method::kNewton}) {
      SCOPED_TRACE(name_of(method));
      Settings s;
      s.method = method;
      std::vector<double> lambda(p.value().rows(), 0.0);
      const Result<Report> report = solve(p.value(), s, ws, lambda);
      ASSERT_TRUE(report.ok());
      EXPECT_EQ(report.value().status, Status::kConverged);
      EXPECT_LE(relative_residual(p.value(), lambda), 1e-8);
    }
  }
}

TEST(Corpus, ReaderRefusesWhatIsCutShort) {
  const auto files = corpus();
  if (files.empty()) GTEST_SKIP() << "the external corpus is not here";
  const std::filesystem::path cut = std::filesystem::path(::testing::TempDir()) / "cut.dat";
  std::ifstream in(files.front());
  std::string text(2000, ' ');
  in.read(text.data(), 2000);
  std::ofstream(cut) << text;
  EXPECT_FALSE(test::read_siconos(cut).ok());
  EXPECT_FALSE(test::read_siconos("no such file").ok());
}

}  // namespace
}  // namespace karakuri::solver
