// RNEA inverts ABA for every joint kind and tree shape.
#include "karakuri/dynamics/rnea.h"

#include <gtest/gtest.h>

#include "karakuri/dynamics/aba.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

TEST(Rnea, InvertsAba) {
  Random random(1);
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    std::vector<Force> f_ext(m.model.bodies.size());
    for (int repeat = 0; repeat < 10; ++repeat) {
      const State state = random_state(m.model, random);
      for (Force& f : f_ext) {
        for (int k = 0; k < 3; ++k) f.moment[k] = random.uniform(-1, 1), f.force[k] = random.uniform(-1, 1);
      }
      const Eigen::VectorXd tau = random_vector(m.model.nv, random, 10);
      Eigen::VectorXd a(m.model.nv), tau_back(m.model.nv);
      aba(m.model, state, tau, f_ext, ws, a);
      rnea(m.model, state, a, f_ext, ws, tau_back);
      // cond(M) < 1e5 in these models, so 1e-10 leaves an order of margin
      EXPECT_LT((tau_back - tau).norm(), 1e-10 * (1 + tau.norm()));
    }
  }
}

}  // namespace
}  // namespace karakuri::test
