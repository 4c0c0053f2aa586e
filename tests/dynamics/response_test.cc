// J M^-1 J^T by both ways, against each other and against dense algebra, and impulses applied.
#include "karakuri/dynamics/response.h"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/jacobian.h"
#include "karakuri/dynamics/kinematics.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

Vec3 random_vec3(Random& random) { return random_vector(3, random); }

std::vector<ImpulseRow> random_rows(const Model& model, int count, Random& random) {
  std::vector<ImpulseRow> rows(count);
  for (ImpulseRow& row : rows) {
    row.body = random.below(model.body_count());
    row.other = random.below(3) == 0 ? random.below(model.body_count()) : 0;
    row.point = random_vec3(random);
    row.force = random_vec3(random);
    row.moment = random.below(2) * random_vec3(random);
  }
  return rows;
}

/// Some of the rows get more parts, kept in `parts`.
void add_parts(std::vector<ImpulseRow>& rows, std::vector<ImpulseRow>& parts) {
  for (std::size_t i = 0; i + 1 < rows.size(); i += 3) {
    rows[i].more = &parts[2 * i];
    parts[2 * i].more = &parts[2 * i + 1];
  }
}

/// A link whose frame is fixed to `body`.
LinkId link_on(const Model& model, int body) {
  for (const LinkEntry& link : model.links) {
    if (link.body == body) return link.id;
  }
  return {};
}

/// The rows' Jacobian, built from frame Jacobians, which other tests check against finite differences.
Eigen::MatrixXd dense_jacobian(const Model& model, const Workspace& ws, const std::vector<ImpulseRow>& rows) {
  Eigen::MatrixXd J = Eigen::MatrixXd::Zero(static_cast<int>(rows.size()), model.nv), F(6, model.nv);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const ImpulseRow* row = &rows[i]; row; row = row->more) {
      for (const auto& [body, sign] : {std::pair{row->body, 1.0}, std::pair{row->other, -1.0}}) {
        const LinkId link = link_on(model, body);
        const Vec3 p_L = link_pose(model, ws, link).inverse_apply(row->point);
        frame_jacobian(model, ws, link, p_L, F);
        J.row(i) +=
            sign * (row->moment.transpose() * F.topRows(3) + row->force.transpose() * F.bottomRows(3));
      }
    }
  }
  return J;
}

TEST(Response, BothWaysAgreeWithDense) {
  Random random(21);
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    ResponseBuffers buffers(m.model);
    const State state = random_state(m.model, random);
    MassMatrix M(m.model);
    crba(m.model, state, ws, M);
    Eigen::MatrixXd dense(m.model.nv, m.model.nv);
    to_dense(m.model, M, dense);
    std::vector<ImpulseRow> rows = random_rows(m.model, 20, random), parts = random_rows(m.model, 40, random);
    add_parts(rows, parts);
    const Eigen::MatrixXd J = dense_jacobian(m.model, ws, rows);
    const Eigen::MatrixXd expected = J * dense.ldlt().solve(J.transpose());
    for (const ResponseMethod method :
         {ResponseMethod::kFactor, ResponseMethod::kPropagation, ResponseMethod::kCheapest}) {
      Eigen::MatrixXd A(20, 20);
      response(m.model, rows, method, false, ws, buffers, A);
      EXPECT_EQ(A, A.transpose());
      // cond(M) < 1e5 in these models
      EXPECT_LT((A - expected).norm(), 1e-10 * expected.norm());
    }
  }
}

TEST(Response, ImpulsesChangeVelocitiesByTheResponse) {
  Random random(22);
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    ResponseBuffers buffers(m.model);
    State state = random_state(m.model, random);
    update_poses(m.model, state, ws);
    update_velocities(m.model, state, ws);
    std::vector<ImpulseRow> rows = random_rows(m.model, 12, random), parts = random_rows(m.model, 24, random);
    add_parts(rows, parts);
    Eigen::MatrixXd A(12, 12);
    response(m.model, rows, ResponseMethod::kPropagation, false, ws, buffers, A);
    const Eigen::VectorXd impulses = random_vector(12, random);
    Eigen::VectorXd before(12), after(12);
    row_velocities(rows, ws, before);
    apply_impulses(m.model, rows, impulses, ws, state.v_view());
    update_velocities(m.model, state, ws);
    row_velocities(rows, ws, after);
    // cond(M) < 1e5 in these models
    EXPECT_LT((after - before - A * impulses).norm(), 1e-10 * (1 + (A * impulses).norm()));
  }
}

/// As those of a contact; some of them carry nothing.
TEST(Response, RowsOfOnePointActAsEachAlone) {
  Random random(25);
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    State state = random_state(m.model, random);
    update_poses(m.model, state, ws);
    update_velocities(m.model, state, ws);
    articulated_factor(m.model, ws);
    std::vector<ImpulseRow> rows = random_rows(m.model, 12, random);
    for (int k = 0; k < 12; ++k) {
      const ImpulseRow& first = rows[k - k % 3];
      rows[k].body = first.body, rows[k].other = first.other, rows[k].point = first.point;
    }
    Eigen::VectorXd impulses = random_vector(12, random), velocity(12);
    impulses[0] = impulses[4] = impulses[6] = impulses[7] = impulses[8] = 0;
    row_velocities(rows, ws, velocity);
    Eigen::VectorXd together = state.v_view(), apart = state.v_view();
    apply_impulses(m.model, rows, impulses, ws, together);
    for (int k = 0; k < 12; ++k) {
      Eigen::VectorXd one(1);
      row_velocities({&rows[k], 1}, ws, one);
      EXPECT_NEAR(velocity[k], one[0], 1e-13 * (1 + std::abs(one[0])));
      apply_impulses(m.model, {&rows[k], 1}, impulses.segment<1>(k), ws, apart);
    }
    // cond(M) < 1e5 in these models
    EXPECT_LT((together - apart).norm(), 1e-10 * (1 + apart.norm()));
  }
}

TEST(Response, AnswersImpulsesAsTheyAreApplied) {
  Random random(24);
  int answered = 0;
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    ResponseBuffers buffers(m.model);
    State state = random_state(m.model, random);
    update_poses(m.model, state, ws);
    articulated_factor(m.model, ws);
    std::vector<ImpulseRow> rows = random_rows(m.model, 13, random), parts = random_rows(m.model, 26, random);
    add_parts(rows, parts);
    Eigen::MatrixXd A(13, 13);
    if (!response(m.model, rows, ws, buffers, A)) continue;
    ++answered;
    const Eigen::VectorXd impulses = random_vector(13, random);
    Eigen::VectorXd applied = state.v_view(), answer = state.v_view();
    apply_impulses(m.model, rows, impulses, ws, applied);
    answer_impulses(m.model, ws, impulses, buffers, answer);
    EXPECT_LT((answer - applied).norm(), 1e-11 * (1 + (applied - state.v_view()).norm()));  // cond(M) < 1e5

    std::vector<ImpulseRow> others = random_rows(m.model, 9, random);
    add_parts(others, parts);
    Eigen::VectorXd before(9), after(9);
    update_velocities(m.model, state, ws);
    row_velocities(others, ws, before);
    std::copy(applied.begin(), applied.end(), state.v.begin());
    update_velocities(m.model, state, ws);
    row_velocities(others, ws, after);
    for (int k = 0; k < 9; ++k) {
      const double change = after[k] - before[k];
      EXPECT_NEAR(answered_velocity(ws, others[k], buffers), change, 1e-10 * (1 + std::abs(after[k]))) << k;
    }
  }
  EXPECT_GT(answered, 5);
}

TEST(Response, OneSidedIsTheSumOverSides) {
  Random random(25);
  std::vector<TestModel> models = all_tree_models();
  models.push_back({"chain of 100", compile_or_die(chain(100))});  // not by dofs
  for (const TestModel& m : models) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    ResponseBuffers buffers(m.model);
    update_poses(m.model, random_state(m.model, random), ws);
    articulated_factor(m.model, ws);
    const std::vector<ImpulseRow> rows = random_rows(m.model, 11, random);
    std::vector<ImpulseRow> sides;  // as rows of their own
    for (const ImpulseRow& row : rows) {
      sides.push_back(row), sides.back().other = 0;
      sides.push_back(row), sides.back().body = 0;
    }
    Eigen::MatrixXd A(11, 11), by_side(22, 22);
    response(m.model, sides, ws, buffers, by_side);
    response(m.model, rows, ws, buffers, A);
    Eigen::VectorXd sums = Eigen::VectorXd::Zero(11);
    add_one_sided(buffers, sums);
    for (int i = 0; i < 11; ++i) {
      const bool nothing = rows[i].body == rows[i].other;
      const double expected = nothing ? 0 : by_side(2 * i, 2 * i) + by_side(2 * i + 1, 2 * i + 1);
      EXPECT_NEAR(sums[i], expected, 1e-11 * by_side.norm());  // cond(M) < 1e5
    }
  }
}

TEST(Response, LongChainsByPropagation) {
  for (const int links : {100, 1000}) {
    SCOPED_TRACE(links);
    const Model model = compile_or_die(chain(links));
    Workspace ws(model);
    Random random(23);
    const State state = random_state(model, random);
    ResponseBuffers buffers(model);
    std::vector<ImpulseRow> rows = random_rows(model, 6, random);
    update_poses(model, state, ws);
    Eigen::MatrixXd A(6, 6), B(6, 6);
    response(model, rows, ResponseMethod::kPropagation, false, ws, buffers, A);
    response(model, rows, ResponseMethod::kFactor, false, ws, buffers, B);
    // The factor goes through M, whose condition grows as links^4 (1e12 for 1000): it is the one that loses
    // digits. What is left of 16 digits is an honest bound on the difference.
    EXPECT_LT((A - B).norm(), 1e-9 * A.norm());
    EXPECT_EQ(response(model, rows, ResponseMethod::kCheapest, false, ws, buffers, A),
              ResponseMethod::kPropagation);
  }
}

}  // namespace
}  // namespace karakuri::test
