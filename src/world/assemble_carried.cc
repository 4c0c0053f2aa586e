// Islands whose many rows act on few bodies: a robot on its feet.
//
// A foot moves in six ways however many points it stands on. With B the rows as wrenches on the bodies that
// carry them, and K what wrenches on these bodies do to them, all trees being free to answer,
//
//   W = B K Bᵀ,   K = R Rᵀ by Cholesky's method with the largest pivot first, of K with a diagonal of ones
//   (1) J = B R,      W = J Jᵀ (2)
//
// so that the rows' responses to each other need neither be written out nor multiplied.
#include <algorithm>
#include <cmath>

#include "core/simd.h"
#include "world/assemble.h"

namespace karakuri::world_detail {

using namespace simd;  // NOLINT: private to this file

namespace {

constexpr int kFewRows = 40;      // below, a dense W is cheaper
constexpr int kMostCarriers = 8;  // bodies
constexpr int kRowsPerCarrier = 18;
constexpr double kDead = 1e-15;       // of the largest mobility: rounding where a body cannot move
constexpr double kRankFloor = 1e-13;  // of a diagonal of ones: rounding

int carrier_of(const Carried& c, int body) {
  return static_cast<int>(std::find(c.bodies.begin(), c.bodies.end(), body) - c.bodies.begin());
}

/// Bodies that the island's rows act on. @return Whether they are few.
bool find_carriers(const World::Impl& w, Slot& slot) {
  Carried& c = slot.carried;
  const std::size_t rows = slot.impulses.size();
  c.bodies.clear();
  if (rows <= kFewRows) return false;
  for (const ImpulseRow& row : slot.impulses) {
    if (row.more) return false;
    for (const std::int32_t body : {row.body, row.other}) {
      if (w.tree_of[body] < 0 || carrier_of(c, body) < static_cast<int>(c.bodies.size())) continue;
      c.bodies.push_back(body);
      if (c.bodies.size() > kMostCarriers || kRowsPerCarrier * c.bodies.size() > rows) return false;
    }
  }
  return true;
}

/// K.
void find_mobility(const World::Impl& w, Slot& slot) {
  Carried& c = slot.carried;
  c.wrenches.clear();
  for (const std::int32_t body : c.bodies) {
    ImpulseRow row{.body = body, .other = 0, .point = Vec3(w.ws.pose[body].p)};
    for (int k = 0; k < 3; ++k) c.wrenches.push_back(row), c.wrenches.back().moment[k] = 1;
    for (int k = 0; k < 3; ++k) c.wrenches.push_back(row), c.wrenches.back().force[k] = 1;
  }
  const auto n = static_cast<Eigen::Index>(c.wrenches.size());
  c.mobility.resize(static_cast<std::size_t>(n * n));
  response(
      w.model, c.wrenches, w.ws, slot.response,
      Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>(c.mobility.data(), n, n, Eigen::OuterStride<>(n)));
}

/// (1): R, row by row. Columns are a multiple of four, the last ones zero.
void factor_mobility(Carried& c) {
  const int n = static_cast<int>(c.wrenches.size()), stride = (n + 3) / 4 * 4;
  c.root.assign(static_cast<std::size_t>(n) * stride, 0.0);
  c.scale.resize(n);
  c.left.resize(n);
  const auto root = [&](int i) { return c.root.data() + static_cast<std::size_t>(i) * stride; };
  const auto diagonal = [&](int i) { return c.mobility[static_cast<std::size_t>(i) * (n + 1)]; };
  double largest[2] = {};  // of turning, of moving: they have other units
  const auto of_kind = [&](int i) -> double& { return largest[i % 6 / 3]; };
  for (int i = 0; i < n; ++i) of_kind(i) = std::max(of_kind(i), diagonal(i));
  for (int i = 0; i < n; ++i) {
    c.left[i] = diagonal(i) > kDead * of_kind(i) ? 1 : 0;
    c.scale[i] = c.left[i] > 0 ? 1 / std::sqrt(diagonal(i)) : 0;
  }
  int rank = 0;
  for (; rank < n; ++rank) {
    const int pivot = static_cast<int>(std::max_element(c.left.begin(), c.left.end()) - c.left.begin());
    if (!(c.left[pivot] > kRankFloor)) break;
    const double inverse = 1 / std::sqrt(c.left[pivot]);
    const double* column = c.mobility.data() + static_cast<std::size_t>(pivot) * n;
    for (int i = 0; i < n; ++i) {
      const double left = c.scale[i] * c.scale[pivot] * column[i] - dot(root(i), root(pivot), rank);
      root(i)[rank] = inverse * left;
    }
    for (int i = 0; i < n; ++i) c.left[i] -= root(i)[rank] * root(i)[rank];
    c.left[pivot] = 0;
  }
  c.motions = (rank + 3) / 4 * 4;
  c.stride = stride;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < rank; ++k) root(i)[k] /= c.scale[i] > 0 ? c.scale[i] : 1;
}

/// What one side of a row adds to its Jacobian (2).
void add_side(const World::Impl& w, const Carried& c, const ImpulseRow& row, int body, double sign,
              double* jacobian) {
  if (w.tree_of[body] < 0) return;
  const Eigen::Matrix<double, 6, 1> B = wrench_at(row, w.ws, body, sign);
  const double* root = c.root.data() + static_cast<std::size_t>(6 * carrier_of(c, body)) * c.stride;
  for (int k = 0; k < c.motions; k += 4) {
    V4 sum = load4(jacobian + k);
    for (int i = 0; i < 6; ++i) sum += broadcast(B[i]) * load4(root + i * c.stride + k);
    store4(jacobian + k, sum);
  }
}

}  // namespace

bool assemble_carried(const World::Impl& w, BlockList blocks, Slot& slot) {
  if (!find_carriers(w, slot)) return false;
  Carried& c = slot.carried;
  find_mobility(w, slot);
  factor_mobility(c);
  if (c.motions == 0) return false;
  solver::Problem& p = slot.problem;
  state_laws(w, blocks, slot);
  p.add_unit_mass(c.motions);
  double* jacobian = p.jacobian.data();
  for (const ImpulseRow& row : slot.impulses) {
    add_side(w, c, row, row.body, 1, jacobian);
    add_side(w, c, row, row.other, -1, jacobian);
    jacobian += c.motions;
  }
  p.responses_are_jacobians();
  return true;
}

}  // namespace karakuri::world_detail
