// Problems of solvers, by all methods: what is not refused is answered within its work, with impulses that
// are finite and, of one sign or bounded where they must be, within their bounds.
#include <algorithm>
#include <cmath>

#include "fuzz/bytes.h"
#include "fuzz/target.h"
#include "karakuri/solver/solve.h"

namespace karakuri::fuzz {
namespace {

using namespace solver;

constexpr int kMostBlocks = 12, kMostSubsystems = 5;
constexpr double kMostWork = 1e6;

void add_block(Problem& p, Bytes& in) {
  switch (in.below(8)) {
    case 0: p.add_equality(1 + in.below(kMaxBlockSize)); break;
    case 1: p.add_linear(std::abs(in.number()), in.number()); break;
    case 2: p.add_complementarity(); break;
    case 3: {
      const double a = in.number(), b = in.number();
      p.add_box(std::min(a, b), std::max(a, b));
      break;
    }
    case 4: p.add_planar_cone(std::abs(in.number())); break;
    case 5: {
      double mu[kMaxBlockSize - 1];
      for (double& m : mu) m = std::abs(in.number());
      p.add_cone(std::span<const double>(mu).first(static_cast<std::size_t>(2 + in.below(4))));
      break;
    }
    default: p.add_cone(in.positive()); break;
  }
}

/// Rows on subsystems: W = J M^-1 J^T where responses are made from Jacobians, and anything where they are
/// not.
Problem matrix_free(Bytes& in) {
  Problem p;
  p.clear(OperatorKind::kMatrixFree);
  const bool sound = in.below(8) != 0;
  const int subsystems = 1 + in.below(kMostSubsystems);
  std::vector<double> mobility;
  for (int i = 0; i < subsystems; ++i) {
    p.add_subsystem(in.yes() ? 6 : 1 + in.below(8));
    mobility.push_back(sound ? std::exp(in.tame()) : in.number());
  }
  const int blocks = 1 + in.below(kMostBlocks);
  for (int i = 0; i < blocks; ++i) {
    add_block(p, in);
    const int size = p.blocks.back().size, first = in.below(subsystems), terms = 1 + in.below(2);
    for (int k = 0; k < terms; ++k) {
      const int subsystem = (first + k) % subsystems;
      if (k > 0 && subsystem == first) break;
      const Term term = p.add_term(subsystem);
      const std::span<double> jacobian = p.jacobian_of(term, size), response = p.response_of(term, size);
      for (std::size_t j = 0; j < jacobian.size(); ++j) {
        jacobian[j] = sound ? in.tame() : in.number();
        response[j] = sound ? mobility[static_cast<std::size_t>(subsystem)] * jacobian[j] : in.number();
      }
    }
  }
  return p;
}

/// W = J J^T of few columns, so that it is often singular, or anything.
Problem dense(Bytes& in) {
  Problem p;
  p.clear(OperatorKind::kDense);
  const int blocks = 1 + in.below(kMostBlocks), columns = 1 + in.below(12);
  for (int i = 0; i < blocks; ++i) add_block(p, in);
  const auto n = static_cast<std::size_t>(p.rows()), m = static_cast<std::size_t>(columns);
  p.dense.assign(n * n, 0);
  if (in.below(8) == 0) {
    for (double& x : p.dense) x = in.number();
    return p;
  }
  std::vector<double> jacobian(n * m);
  for (double& x : jacobian) x = in.tame();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < m; ++k) p.dense[i * n + j] += jacobian[i * m + k] * jacobian[j * m + k];
  return p;
}

Settings settings(Bytes& in) {
  Settings s;
  s.method = static_cast<Method>(in.below(9));
  s.measure = in.yes() ? Measure::kScaled : Measure::kUnit;
  s.tolerance = std::pow(10, -in.below(16));
  s.absolute = in.yes() ? 0 : 1e-10;
  s.acceptable = in.yes() ? 0 : 1e-6;
  s.max_sweeps = 1 + in.below(200);
  s.max_newton = in.below(20);
  s.max_pivots = in.below(200);
  s.pyramid_faces = 4 + 2 * in.below(7);
  s.quickstep_iterations = 1 + in.below(30);
  s.quickstep_relaxation = 0.1 + 1.8 * in.below(256) / 256;
  s.max_work = in.yes() ? kMostWork : 100 * in.below(256);
  s.explain_failure = in.yes();
  return s;
}

/// The signs and bounds that every method keeps; friction has those of the method.
void expect_within_bounds(const Problem& p, std::span<const double> lambda, std::string_view method) {
  const auto tell = [&](const char* what, std::size_t i) {
    char text[120];
    std::snprintf(text, sizeof text, ": the impulse %.17g of %.17g to %.17g ", lambda[i], p.lower[i],
                  p.upper[i]);
    found(std::string(method) + text + what);
  };
  for (const Block& b : p.blocks) {
    const auto row = static_cast<std::size_t>(b.row);
    const bool one_sided = b.kind == RowKind::kComplementarity || b.kind == RowKind::kCone;
    if (one_sided && lambda[row] < 0) tell("pulls where it may push alone", row);
    if (b.kind != RowKind::kBox) continue;
    for (std::size_t i = row; i < row + static_cast<std::size_t>(b.size); ++i)
      if (lambda[i] < p.lower[i] || lambda[i] > p.upper[i]) tell("is beyond its bounds", i);
  }
}

void run(Input input) {
  static Workspace workspace;
  Bytes in(input);
  const Settings how = settings(in);
  Problem p = in.yes() ? dense(in) : matrix_free(in);
  for (double& q : p.q) q = in.number();
  for (double& c : p.compliance)
    if (in.below(8) == 0) c = std::abs(in.number());
  std::vector<double> lambda(static_cast<std::size_t>(p.rows()));
  if (in.yes())
    for (double& x : lambda) x = in.tame();
  const bool sound = validate(p).empty();
  const Result<Report> report = solve(p, how, workspace, lambda);
  if (!sound && report.ok()) found("a problem that is not sound was solved");
  if (!report.ok()) {
    if (report.errors().empty()) found("it is refused without a reason");
    return;
  }
  for (const double x : lambda)
    if (!std::isfinite(x)) found(std::string(name_of(report->method)) + ": an impulse is not finite");
  expect_within_bounds(p, lambda, name_of(how.method));
}

/// Bytes that come out as problems of each storage and method.
std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (int method = 0; method < 9; ++method)
    for (int storage = 0; storage < 2; ++storage) {
      std::string seed(14, '\1');
      seed[0] = static_cast<char>(method);
      seed += static_cast<char>(storage);
      for (int i = 0; i < 400; ++i) seed += static_cast<char>((i * i * 37 + 11 * i + method) % 251);
      all.push_back(seed);
    }
  return all;
}

}  // namespace

std::vector<Target> targets() {
  return {{"problem", [](const std::filesystem::path&) {}, seeds, run}};
}

}  // namespace karakuri::fuzz
