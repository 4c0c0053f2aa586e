// A_ij = y_i^T D^-1 y_j, with the vectors of response_rows.cc and the product of response_product.cc.
#include "karakuri/dynamics/response.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "dynamics/articulated.h"
#include "dynamics/response_by_dofs.h"
#include "dynamics/response_product.h"
#include "dynamics/response_rows.h"
#include "karakuri/dynamics/aba.h"

namespace karakuri {

namespace {

using namespace kernel;
using Group = ResponseBuffers::Group;
using Side = ResponseBuffers::Side;

// Measured costs in nanoseconds, of which only the ratios matter; see docs/response.md.
constexpr double kArticulatedPerBody = 45;
constexpr double kPropagationPerBlockDof = 11;
constexpr double kCompositePerBody = 25;
constexpr double kMassPerEntry = 0.9;
constexpr double kFactorPerEntry = 2.0;
constexpr double kFactorPerProduct = 0.2;
constexpr double kJacobianPerBlockDof = 9;
constexpr double kSolvePerBlockProduct = 0.35;
// Deeper than this, propagation wins for any number of rows and the factor's memory would grow as depth^2.
constexpr int kFactorDepthLimit = 128;

/// The impulse of one row on one of its bodies, at the body's origin.
SpatialForce impulse_at(const ImpulseRow& row, const Workspace& ws, int body, double sign) {
  const V3 f = v3(row.force) * sign, arm = v3(row.point) - load(ws.pose[body].p);
  return {v3(row.moment) * sign + cross(arm, f), f};
}

/// Index of the group of `body`, added where it is new.
int group_of(const Model& model, int body, ResponseBuffers& b) {
  std::int32_t& at = b.group_at[body];
  if (at >= 0) return at;
  b.groups.push_back({.body = body, .length = model.dofs[last_dof(model.bodies[body])].depth + 1});
  return at = static_cast<std::int32_t>(b.groups.size()) - 1;
}

/// Finds the sides of all rows, sorts them by group and gives each group its room in y.
void lay_out(const Model& model, std::span<const ImpulseRow> rows, ResponseBuffers& b) {
  b.found.clear();
  b.groups.clear();
  for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
    std::int16_t part = 0;
    for (const ImpulseRow* at = &rows[i]; at; at = at->more, ++part) {
      if (at->body == at->other) continue;  // does nothing
      for (const auto& [body, sign] :
           {std::pair{at->body, std::int16_t{1}}, std::pair{at->other, std::int16_t{-1}}}) {
        if (body == 0) continue;
        b.found.push_back({i, group_of(model, body, b), sign, part});
        ++b.groups[b.found.back().group].count;
      }
    }
  }
  std::int64_t y = 0, weight = 0;
  int first = 0;
  for (Group& group : b.groups) {
    group.y = y;
    group.weight = weight;
    group.first_side = first;
    y += static_cast<std::int64_t>(group.length) * block_count(group);
    weight += group.length;
    first += std::exchange(group.count, 0);
  }
  for (const Group& group : b.groups) b.group_at[group.body] = -1;
  b.sides.resize(b.found.size());
  for (const Side& side : b.found) {
    Group& group = b.groups[side.group];
    b.sides[group.first_side + group.count++] = side;
  }
  if (static_cast<std::int64_t>(b.y.size()) < y) b.y.resize(static_cast<std::size_t>(y));
  if (static_cast<std::int64_t>(b.weights.size()) < weight)
    b.weights.resize(static_cast<std::size_t>(weight));
}

ResponseMethod cheapest(const Model& model, bool has_factor, const ResponseBuffers& b) {
  if (!b.mass_matrix) return ResponseMethod::kPropagation;
  const double bodies = model.body_count() - 1;
  double propagation = has_factor ? 0 : kArticulatedPerBody * bodies;
  double factor = kCompositePerBody * bodies +
                  (kMassPerEntry + kFactorPerEntry) * static_cast<double>(model.mass_matrix_size);
  for (const Dof& dof : model.dofs) factor += kFactorPerProduct * 0.5 * dof.depth * dof.depth;
  for (const Group& group : b.groups) {
    const double n = group.length, blocks = block_count(group);
    propagation += blocks * kPropagationPerBlockDof * n;
    factor += blocks * (kJacobianPerBlockDof * n + kSolvePerBlockProduct * 0.5 * n * n);
  }
  return factor < propagation ? ResponseMethod::kFactor : ResponseMethod::kPropagation;
}

/// The impulses of up to four sides, from `first` on; zero where there are fewer.
Impulses gather(std::span<const ImpulseRow> rows, const Workspace& ws, const ResponseBuffers& b,
                const Group& group, int first) {
  Impulses all{};
  for (int lane = 0; lane < std::min(4, group.count - first); ++lane) {
    const Side& side = b.sides[group.first_side + first + lane];
    const ImpulseRow* row = &rows[side.row];
    for (int step = side.part; step > 0; --step) row = row->more;
    const SpatialForce F = impulse_at(*row, ws, group.body, side.sign);
    all.n.x[lane] = F.n[0], all.n.y[lane] = F.n[1], all.n.z[lane] = F.n[2];
    all.f.x[lane] = F.f[0], all.f.y[lane] = F.f[1], all.f.z[lane] = F.f[2];
  }
  return all;
}

void fill_by_propagation(const Model& model, std::span<const ImpulseRow> rows, const Workspace& ws,
                         ResponseBuffers& b) {
  for (const Group& group : b.groups) {
    weights_of_propagation(model, ws, group.body, b.weights.data() + group.weight);
    for (int block = 0; block < block_count(group); ++block) {
      rows_by_propagation(model, ws, group.body, gather(rows, ws, b, group, 4 * block),
                          b.y.data() + group.y + static_cast<std::int64_t>(block) * group.length);
    }
  }
}

void fill_by_factor(const Model& model, std::span<const ImpulseRow> rows, const Workspace& ws,
                    ResponseBuffers& b) {
  for (const Group& group : b.groups) {
    weights_of_factor(model, *b.mass_matrix, group.body, b.weights.data() + group.weight);
    for (int block = 0; block < block_count(group); ++block) {
      rows_by_factor(model, *b.mass_matrix, ws, group.body, gather(rows, ws, b, group, 4 * block),
                     b.y.data() + group.y + static_cast<std::int64_t>(block) * group.length);
    }
  }
}

}  // namespace

void ResponseBuffers::fit(const Model& model) {
  group_at.resize(model.bodies.size(), -1);
  place_bodies(model, lanes);
  if (model.max_depth > kFactorDepthLimit)
    mass_matrix.reset();
  else if (!mass_matrix)
    mass_matrix.emplace(model);
  else
    mass_matrix->fit(model);
}

ResponseMethod response(const Model& model, std::span<const ImpulseRow> rows, ResponseMethod method,
                        bool has_factor, Workspace& ws, ResponseBuffers& b, MatOut A) {
  assert(A.rows() == static_cast<Eigen::Index>(rows.size()) && A.cols() == A.rows());
  lay_out(model, rows, b);
  if (method == ResponseMethod::kCheapest) method = cheapest(model, has_factor, b);
  const bool by_factor = method == ResponseMethod::kFactor;
  if (by_factor) {
    if (!b.mass_matrix) b.mass_matrix.emplace(model);  // asked for by name: the caller knows its size
    crba(model, ws, *b.mass_matrix);
    factor(model, *b.mass_matrix);
  } else if (!has_factor) {
    articulated_factor(model, ws);
  }
  if (!by_factor) {
    response(model, rows, ws, b, A);
    return method;
  }
  b.by_dofs = false;
  fill_by_factor(model, rows, ws, b);
  multiply_vectors(model, b, A);
  return method;
}

void response_vectors(const Model& model, std::span<const ImpulseRow> rows, const Workspace& ws,
                      ResponseBuffers& b) {
  lay_out(model, rows, b);
  fill_by_propagation(model, rows, ws, b);
}

bool response(const Model& model, std::span<const ImpulseRow> rows, const Workspace& ws, ResponseBuffers& b,
              MatOut A) {
  assert(A.rows() == static_cast<Eigen::Index>(rows.size()) && A.cols() == A.rows());
  b.by_dofs = response_by_dofs(model, rows, ws, b, A);
  if (b.by_dofs) return true;
  response_vectors(model, rows, ws, b);
  multiply_vectors(model, b, A);
  return false;
}

void add_one_sided(const ResponseBuffers& b, VecOut sums) {
  if (b.by_dofs) return add_one_sided_by_dofs(b.lanes, sums);
  for (const Group& group : b.groups) {
    for (int s = 0; s < group.count; ++s) {
      const Packed4* y = b.y.data() + group.y + static_cast<std::int64_t>(s / 4) * group.length;
      double& sum = sums[b.sides[group.first_side + s].row];
      for (int d = 0; d < group.length; ++d)
        sum += b.weights[group.weight + d] * y[d].lane[s % 4] * y[d].lane[s % 4];
    }
  }
}

Eigen::Matrix<double, 6, 1> wrench_at(const ImpulseRow& row, const Workspace& ws, int body, double sign) {
  const Vec3 arm = row.point - Vec3(ws.pose[body].p);
  Eigen::Matrix<double, 6, 1> out;
  out << sign * (row.moment + arm.cross(row.force)), sign * row.force;
  return out;
}

LinkResponse link_response(const Model& model, const Workspace& ws, int i, const LinkResponse* parent) {
  using Mat6 = Eigen::Matrix<double, 6, 6>;
  using Vec6 = Eigen::Matrix<double, 6, 1>;
  const Body& body = model.bodies[i];
  LinkResponse out;
  Mat6 F = Mat6::Identity();  // six unit wrenches on their way to the parent, as in response_rows.cc
  out.own.setZero();
  for (int v = last_dof(body); v >= body.first_v; --v) {
    const Workspace::Pivot& pivot = ws.pivot[v];
    const Vec3 axis(ws.axis[v]);
    Vec6 S = Vec6::Zero(), U;
    if (model.dofs[v].kind != DofKind::kTranslation) S.head<3>() = axis;
    if (model.dofs[v].kind == DofKind::kTranslation) S.tail<3>() = axis;
    if (model.dofs[v].kind == DofKind::kScrew) S.tail<3>() = body.pitch * axis;
    U << Vec3(pivot.Un), Vec3(pivot.Uf);
    const Vec6 y = F.transpose() * S;
    out.own += pivot.inverse_d * y * y.transpose();
    F -= pivot.inverse_d * U * y.transpose();
  }
  const Vec3 r(ws.pose[i].r);
  for (int c = 0; c < 6; ++c) F.col(c).head<3>() += r.cross(F.col(c).tail<3>());
  out.up = F;
  out.whole = out.own;
  if (parent) out.whole += F.transpose() * parent->whole * F;
  return out;
}

}  // namespace karakuri
