// Islands whose many rows act on few bodies: a robot on its feet.
//
// A foot moves in six ways however many points it stands on: such rows are written in the bodies' ways to
// move, solver/mobility_root.h, all trees being free to answer.
#include <algorithm>

#include "constraint/state_island.h"
#include "core/simd.h"
#include "solver/choose.h"

namespace karakuri {

using namespace simd;  // NOLINT: private to this file

namespace {

int carrier_of(const Carried& c, int body) {
  return static_cast<int>(std::find(c.bodies.begin(), c.bodies.end(), body) - c.bodies.begin());
}

/// Bodies that the island's rows act on. @return Whether they are few.
bool find_carriers(const RowsOnTrees& w, Statement& st) {
  Carried& c = st.carried;
  const std::size_t rows = st.impulses.size();
  c.bodies.clear();
  if (!solver::is_stated_by_bodies(rows, 0)) return false;
  for (const ImpulseRow& row : st.impulses) {
    if (row.more) return false;
    for (const std::int32_t body : {row.body, row.other}) {
      if (w.tree_of[body] < 0 || carrier_of(c, body) < static_cast<int>(c.bodies.size())) continue;
      c.bodies.push_back(body);
      if (!solver::is_stated_by_bodies(rows, c.bodies.size())) return false;
    }
  }
  return true;
}

/// K.
void find_mobility(const RowsOnTrees& w, Statement& st) {
  Carried& c = st.carried;
  c.wrenches.clear();
  for (const std::int32_t body : c.bodies) {
    ImpulseRow row{.body = body, .other = 0, .point = Vec3(w.ws.pose[body].p)};
    for (int k = 0; k < 3; ++k) c.wrenches.push_back(row), c.wrenches.back().moment[k] = 1;
    for (int k = 0; k < 3; ++k) c.wrenches.push_back(row), c.wrenches.back().force[k] = 1;
  }
  const auto n = static_cast<Eigen::Index>(c.wrenches.size());
  c.mobility.resize(static_cast<std::size_t>(n * n));
  response(
      w.model, c.wrenches, w.ws, *st.response,
      Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>(c.mobility.data(), n, n, Eigen::OuterStride<>(n)));
}

/// What one side of a row adds to its Jacobian.
void add_side(const RowsOnTrees& w, const Carried& c, const ImpulseRow& row, int body, double sign,
              double* jacobian) {
  if (w.tree_of[body] < 0) return;
  const Eigen::Matrix<double, 6, 1> B = wrench_at(row, w.ws, body, sign);
  const double* root =
      c.factor.root.data() + static_cast<std::size_t>(6 * carrier_of(c, body)) * c.factor.stride;
  for (int k = 0; k < c.factor.motions; k += 4) {
    V4 sum = load4(jacobian + k);
    for (int i = 0; i < 6; ++i) sum += broadcast(B[i]) * load4(root + i * c.factor.stride + k);
    store4(jacobian + k, sum);
  }
}

}  // namespace

bool state_carried(const RowsOnTrees& w, BlockList blocks, Statement& st) {
  if (!find_carriers(w, st)) return false;
  Carried& c = st.carried;
  find_mobility(w, st);
  solver::find_mobility_root(c.mobility, static_cast<int>(c.wrenches.size()), c.factor);
  if (c.factor.motions == 0) return false;
  solver::Problem& p = *st.problem;
  state_laws(w.rows, blocks, p);
  p.add_unit_mass(c.factor.motions);
  double* jacobian = p.jacobian.data();
  for (const ImpulseRow& row : st.impulses) {
    add_side(w, c, row, row.body, 1, jacobian);
    add_side(w, c, row, row.other, -1, jacobian);
    jacobian += c.factor.motions;
  }
  p.responses_are_jacobians();
  return true;
}

}  // namespace karakuri
