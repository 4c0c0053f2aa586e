// Dantzig's and Lemke's methods on problems with redundant, opposing and badly scaled rows: what they return
// satisfies their own laws, or the status says that it does not; and it never adds energy.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>
#include <ctime>
#include <numbers>

#include "karakuri/core/random.h"
#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"

namespace karakuri::solver {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Answer {
  Report report;
  VectorXd lambda, u;
};

Answer answer(const Problem& p, const Settings& settings) {
  Answer out{.report = {}, .lambda = VectorXd::Zero(p.rows()), .u = VectorXd::Zero(p.rows())};
  Workspace ws;
  const auto report = solve(p, settings, ws, {out.lambda.data(), static_cast<std::size_t>(p.rows())});
  EXPECT_TRUE(report.ok()) << to_string(report.errors());
  if (report.ok()) out.report = *report;
  std::vector<double> velocity(p.velocities());
  row_velocities(p, {out.lambda.data(), static_cast<std::size_t>(p.rows())}, velocity,
                 {out.u.data(), static_cast<std::size_t>(p.rows())});
  return out;
}

/// What the impulses add to the energy of motion: λ·(u + q) / 2 [J].
double energy_added(const Problem& p, const Answer& a) {
  return 0.5 * a.lambda.dot(a.u + Eigen::Map<const VectorXd>(p.q.data(), p.rows()));
}

double diagonal(const Problem& p, int row) {
  return p.dense[static_cast<std::size_t>(row) * (p.rows() + 1)] + p.compliance[row];
}

// ---- boxes

/// Largest |x − P(x − u / a_ii)| sqrt(a_ii) of rows with bounds: a defect in sqrt(J).
double box_defect(const Problem& p, const Answer& a, const VectorXd& low, const VectorXd& high) {
  double most = 0;
  for (int i = 0; i < p.rows(); ++i) {
    const double d = diagonal(p, i);
    if (d <= 0) continue;
    const double to = std::clamp(a.lambda[i] - a.u[i] / d, low[i], high[i]);
    most = std::max(most, std::abs(a.lambda[i] - to) * std::sqrt(d));
  }
  return most;
}

/// |q| in the same unit.
double size_of(const Problem& p) {
  double most = 0;
  for (int i = 0; i < p.rows(); ++i)
    if (diagonal(p, i) > 0) most = std::max(most, std::abs(p.q[i]) / std::sqrt(diagonal(p, i)));
  return most;
}

/// Rows of all kinds but cones over fewer motions than rows, some of them repeated or opposed, and masses
/// that differ; b comes from a motion, so that there is a solution.
Problem redundant_boxes(Random& random, int rows, int motions, double decades) {
  Problem p;
  p.clear(OperatorKind::kDense);
  MatrixXd g(rows, motions);
  for (int i = 0; i < rows; ++i) {
    switch (random.below(4)) {
      case 0: p.add_equality(1); break;
      case 1: p.add_box(-random.uniform(), random.uniform()); break;
      default: p.add_complementarity();
    }
    for (int j = 0; j < motions; ++j) g(i, j) = random.below(3) == 0 ? random.normal() : 0.0;
    if (i > 0 && random.below(4) == 0) g.row(i) = (random.below(2) == 0 ? 1 : -1) * g.row(random.below(i));
  }
  VectorXd mobility(motions), v(motions);
  for (int j = 0; j < motions; ++j) {
    mobility[j] = std::pow(10.0, random.uniform(-decades, decades));
    v[j] = random.normal() * std::sqrt(mobility[j]);
  }
  const MatrixXd w = g * mobility.asDiagonal() * g.transpose();
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < rows; ++c) p.dense.push_back(w(r, c));
  const VectorXd q = g * v;
  for (int i = 0; i < rows; ++i) p.q[i] = q[i];
  return p;
}

void bounds_of(const Problem& p, VectorXd& low, VectorXd& high) {
  low = VectorXd::Constant(p.rows(), -kInfinity);
  high = -low;
  for (const Block& b : p.blocks) {
    if (b.kind == RowKind::kComplementarity) low[b.row] = 0;
    if (b.kind == RowKind::kBox) low[b.row] = p.lower[b.row], high[b.row] = p.upper[b.row];
  }
}

TEST(Pivoting, RedundantBoxesAreSolvedWhateverTheMasses) {
  Random random(1);
  int solved[2] = {};
  constexpr int kTrials = 300;
  for (int trial = 0; trial < kTrials; ++trial) {
    const int motions = 1 + random.below(12);
    const Problem p = redundant_boxes(random, 1 + random.below(40), motions, trial % 2 == 0 ? 0.5 : 3.0);
    VectorXd low, high;
    bounds_of(p, low, high);
    for (const Method method : {Method::kDantzig, Method::kLemke}) {
      SCOPED_TRACE(std::string(name_of(method)) + ", trial " + std::to_string(trial));
      const Answer a = answer(p, {.method = method, .explain_failure = false});
      EXPECT_LE(energy_added(p, a), 1e-12 * size_of(p) * size_of(p));
      if (a.report.status == Status::kIterationLimit) continue;
      ++solved[method == Method::kLemke];
      // repetitions leave 1e-6 of what they began with, and no repetition makes it worse
      EXPECT_LE(box_defect(p, a, low, high), 1e-6 * size_of(p));
    }
  }
  EXPECT_EQ(solved[0], kTrials);
  EXPECT_GE(solved[1], kTrials * 99 / 100);
}

// ---- friction as Dantzig's method has it

/// The same contacts as rows that only push.
Problem without_friction(const Problem& p) {
  Problem out = p;
  for (const Block& b : p.blocks)
    if (b.kind == RowKind::kCone)
      for (int r = 1; r < b.size; ++r) out.friction[b.row + r] = 0;
  return out;
}

TEST(Pivoting, DantzigsFrictionIsBoundedByTheFrictionlessNormalImpulses) {
  for (int seed = 0; seed < 6; ++seed) {
    const test::ContactScene scene =
        seed % 2 == 0 ? test::sphere_pile(3, 0.4, 5 + seed) : test::box_tower(3 + seed, 0.3);
    const Problem p = test::as_dense(scene.problem);
    const Problem smooth = without_friction(p);
    const Answer normal = answer(smooth, {.method = Method::kDantzig, .explain_failure = false});
    const Answer newton = answer(smooth, {.method = Method::kNewton, .tolerance = 1e-12});
    // impulses of redundant contacts are not unique, their motion is
    EXPECT_LT((normal.u - newton.u).norm(), 1e-8 * (1 + newton.u.norm())) << seed;
    VectorXd low = VectorXd::Zero(p.rows()), high = VectorXd::Constant(p.rows(), kInfinity);
    for (const Block& b : p.blocks)
      for (int r = 1; r < b.size; ++r) {
        high[b.row + r] = p.friction[b.row + r] * normal.lambda[b.row];
        low[b.row + r] = -high[b.row + r];
      }
    const Answer a = answer(p, {.method = Method::kDantzig, .explain_failure = false});
    EXPECT_NE(a.report.status, Status::kIterationLimit) << seed;
    EXPECT_LT(box_defect(p, a, low, high), 1e-7 * size_of(p)) << seed;
    EXPECT_LE(energy_added(p, a), 0) << seed;
  }
}

/// Processor time of one solve beside that of one dense factorisation of as many rows, on this machine, now.
double in_factorisations(const Problem& p, Answer* out) {
  const auto seconds = [](auto work) {
    const std::clock_t start = std::clock();
    work();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  const int n = p.rows();
  const MatrixXd a = MatrixXd::Random(n, n);
  const MatrixXd spd = a * a.transpose() + n * MatrixXd::Identity(n, n);
  double sum = 0;
  const double once = seconds([&] { sum = spd.ldlt().vectorD().sum(); });
  EXPECT_GT(sum, 0);
  const double ours =
      seconds([&] { *out = answer(p, {.method = Method::kDantzig, .explain_failure = false}); });
  testing::Test::RecordProperty("seconds", std::to_string(ours));
  std::printf("%d rows: %.4f s, one factorisation %.4f s, %d pivots\n", n, ours, once, out->report.pivots);
  return ours / once;
}

// Stacks, piles, and rows that all act on each other. Row by row with the inverse bordered it took some 1000
// factorisations.
TEST(Pivoting, SlowDantzigTakes800Rows) {
  Random random(3);
  Problem tree = redundant_boxes(random, 800, 120, 0.5);
  for (const Problem& p : {test::box_tower(67, 0.5).problem, test::sphere_pile(5, 0.5, 1).problem, tree}) {
    Answer a;
    EXPECT_LT(in_factorisations(p, &a), 60);
    EXPECT_NE(a.report.status, Status::kIterationLimit);
    EXPECT_LE(energy_added(p, a), 0);
  }
}

// ---- Lemke's pyramid

/// Largest defect of the pyramid's laws, each in m/s or N s times the square root of its mobility.
double pyramid_defect(const Problem& p, const Answer& a, int faces) {
  double most = 0;
  for (const Block& b : p.blocks) {
    const double dn = std::sqrt(diagonal(p, b.row)), dt = std::sqrt(diagonal(p, b.row + 1));
    const double n = a.lambda[b.row], mu = p.friction[b.row + 1];
    const Eigen::Vector2d t = a.lambda.segment<2>(b.row + 1), ut = a.u.segment<2>(b.row + 1);
    most = std::max(most, std::abs(std::min(n * dn, a.u[b.row] / dn)));
    double slip = 0;
    for (int j = 0; j < faces; ++j) {
      const double angle = 2 * std::numbers::pi * j / faces, between = angle + std::numbers::pi / faces;
      const Eigen::Vector2d d(std::cos(angle), std::sin(angle)), out(std::cos(between), std::sin(between));
      slip = std::max(slip, -d.dot(ut));
      // outside of a face of the polygon
      most = std::max(most, (out.dot(t) - mu * n * std::cos(std::numbers::pi / faces)) * dt);
    }
    // dissipates as much as any friction in the pyramid could; in J, to be compared with a load times a speed
    const double load = (mu * n + t.norm()) * dt;
    if (load > 0) most = std::max(most, std::abs(t.dot(ut) + mu * n * slip) / load);
  }
  return most;
}

/// Bodies of masses that differ by up to 1e6 on and between contacts, of which many are repeated, and some
/// opposed: a body in a gap that closes on it is pinched, and has no solution.
Problem random_contacts(Random& random, bool pinched) {
  std::vector<test::Body> bodies;
  const int count = 1 + random.below(3);
  for (int i = 0; i < count; ++i) {
    const double mass = std::pow(10.0, random.uniform(-3, 3));
    bodies.push_back(test::box_body(mass, {1, 1, 1}, {0, 0, i + 0.5}));
    for (int k = 0; k < 6; ++k) bodies.back().velocity[k] = random.normal();
  }
  test::ContactScene scene(bodies);
  const int contacts = 1 + random.below(7);
  for (int k = 0; k < contacts; ++k) {
    const int above = random.below(count);
    const Eigen::Vector3d at(random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), above);
    const double mu = random.below(5) == 0 ? 0.0 : random.uniform(0, 1.5);
    for (int copies = 1 + random.below(3); copies > 0; --copies)
      scene.contact(above, above - 1, at, {0, 0, 1}, mu);
    if (random.below(3) == 0) scene.contact(above, -1, at + Eigen::Vector3d(0, 0, 1), {0, 0, -1}, mu);
  }
  scene.set_free_velocity({0, 0, -9.81}, 0.01);
  Problem p = test::as_dense(scene.problem);
  if (pinched)
    for (const Block& b : p.blocks) p.q[b.row] -= random.uniform();
  return p;
}

TEST(Pivoting, LemkeSatisfiesThePyramidOrSaysSo) {
  Random random(7);
  int feasible = 0, solved = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const int faces = 4 + 2 * random.below(7);
    const bool pinched = trial % 3 == 0;
    const Problem p = random_contacts(random, pinched);
    SCOPED_TRACE("trial " + std::to_string(trial) + ", " + std::to_string(faces) + " faces");
    const Answer a = answer(p, {.method = Method::kLemke, .pyramid_faces = faces, .explain_failure = false});
    ASSERT_TRUE(a.lambda.allFinite());
    EXPECT_LE(energy_added(p, a), 1e-12 * size_of(p) * size_of(p));
    feasible += pinched ? 0 : 1;
    if (a.report.status == Status::kIterationLimit) continue;
    solved += pinched ? 0 : 1;
    EXPECT_LT(pyramid_defect(p, a, faces), 1e-7 * size_of(p));
  }
  std::printf("%d of %d\n", solved, feasible);
  EXPECT_EQ(solved, feasible);
}

/// A capsule of 45 g on four points between two fingers that slide towards each other, pressed by 12 N, for a
/// step of 1 ms; its points lie as far from their places, and are as far open, as rounding brings them.
Problem pinched_capsule(Random& random, double open) {
  MatrixXd j = MatrixXd::Zero(12, 8);  // left, right, capsule
  Problem p;
  p.clear(OperatorKind::kDense);
  VectorXd bias(12);
  for (int k = 0; k < 4; ++k) {
    p.add_cone(0.7);
    const double side = k < 2 ? -1 : 1, jitter = 1e-9 * random.normal();
    const Eigen::Vector3d arm(0.004 * side, k % 2 == 0 ? -0.01 : 0.01 + jitter, jitter);
    const Eigen::Vector3d normal(-side, 0, 0);  // on the capsule
    const Eigen::Vector3d axes[3] = {normal, Eigen::Vector3d::UnitY(),
                                     normal.cross(Eigen::Vector3d::UnitY())};
    for (int r = 0; r < 3; ++r) {
      j.block<1, 3>(3 * k + r, 2) = axes[r].transpose();
      j.block<1, 3>(3 * k + r, 5) = arm.cross(axes[r]).transpose();
      if (r == 0) j(3 * k, k < 2 ? 0 : 1) = -1;  // fingers' own way, towards the capsule
    }
    bias.segment<3>(3 * k) << open * std::abs(random.normal()), 0, 0;
  }
  VectorXd mobility(8), v(8);
  mobility << 10, 10, 1 / 0.045, 1 / 0.045, 1 / 0.045, 1 / 2.4e-6, 1 / 3.6e-7, 1 / 2.4e-6;
  v << 0.12, 0.12, 0, 0, -0.0098, 0, 0, 0;
  const MatrixXd w = j * mobility.asDiagonal() * j.transpose();
  for (int r = 0; r < 12; ++r)
    for (int c = 0; c < 12; ++c) p.dense.push_back(w(r, c));
  const VectorXd q = j * v + bias;
  for (int i = 0; i < 12; ++i) p.q[i] = q[i];
  return p;
}

TEST(Pivoting, LemkeHoldsAPinchedCapsule) {
  Random random(11);
  constexpr int kTrials = 200;
  int solved = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const int faces = 4 + 2 * random.below(7);
    const double open = trial % 2 == 0 ? 0.0 : std::pow(10.0, random.uniform(-18, -6));
    const Problem p = pinched_capsule(random, open);
    SCOPED_TRACE("trial " + std::to_string(trial) + ", " + std::to_string(faces) + " faces, open " +
                 std::to_string(open));
    const Answer a = answer(p, {.method = Method::kLemke, .pyramid_faces = faces, .explain_failure = false});
    EXPECT_LT(pyramid_defect(p, a, faces), 1e-6 * size_of(p));
    EXPECT_LE(energy_added(p, a), 0);
    solved += a.report.status == Status::kIterationLimit ? 0 : 1;
  }
  EXPECT_GE(solved, kTrials * 99 / 100);  // of the rest it says that it is not sure
}

TEST(Pivoting, FacesAreEvenAndAtLeastFour) {
  const Problem p = test::box_tower(1, 0.5).problem;
  Workspace ws;
  std::vector<double> lambda(p.rows(), 0.0);
  for (const int faces : {-2, 0, 2, 3, 5, 18})
    EXPECT_FALSE(solve(p, {.method = Method::kLemke, .pyramid_faces = faces}, ws, lambda).ok()) << faces;
  for (const int faces : {4, 6, 16})
    EXPECT_TRUE(solve(p, {.method = Method::kLemke, .pyramid_faces = faces}, ws, lambda).ok()) << faces;
}

}  // namespace
}  // namespace karakuri::solver
