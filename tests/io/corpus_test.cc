// Every robot of the external corpus loads, compiles and has finite dynamics.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>

#include "io/corpus.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/rnea.h"
#include "karakuri/dynamics/workspace.h"
#include "karakuri/model/configuration.h"
#include "karakuri/model/state.h"

namespace karakuri::test {
namespace {

class CorpusModel : public testing::TestWithParam<std::string> {};

TEST_P(CorpusModel, LoadsAndHasFiniteDynamics) {
  KARAKURI_NEEDS_CORPUS(GetParam());
  const auto begin = std::chrono::steady_clock::now();
  Result<LoadedScene> loaded = load_scene(corpus() / GetParam(), uncached());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  RecordProperty("seconds", std::to_string(took.count()));
  if (is_fragment(GetParam())) {
    EXPECT_FALSE(loaded.ok());
    return;
  }
  if (!loaded.ok() && is_sample(GetParam())) {
    for (const Diagnostic& error : loaded.errors())
      EXPECT_THAT(error.where, testing::ContainsRegex("[^:]+:[0-9]+")) << to_string(error);
    GTEST_SKIP() << "refused, with the place: " << to_string(loaded.errors()[0]);
  }
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  if (std::getenv("KARAKURI_VERBOSE")) {
    printf("%s: %.3f s\n%s\n", GetParam().c_str(), took.count(), to_string(loaded->notes).c_str());
  }
  const Result<Model> model = compile(loaded->scene.mechanism, loaded->gravity);
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  if (is_sample(GetParam()) && model->body_count() <= 1) GTEST_SKIP() << "nothing of it is supported";
  EXPECT_GT(total_mass(*model), 0);
  for (const Diagnostic& note : loaded->notes) {
    EXPECT_THAT(note.where, testing::ContainsRegex("[^:]+:[0-9]+$")) << to_string(note);
  }
  State state(*model);
  Workspace ws(*model);
  Random random(1);
  VecOut q = state.q_view();
  random_configuration(*model, random, q);
  Eigen::VectorXd a = Eigen::VectorXd::Zero(model->nv), tau(model->nv);
  rnea(*model, state, a, {}, ws, tau);
  EXPECT_TRUE(tau.allFinite());
}

INSTANTIATE_TEST_SUITE_P(All, CorpusModel, testing::ValuesIn(all_models()), name_of_model);

}  // namespace
}  // namespace karakuri::test
