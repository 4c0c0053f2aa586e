// Propagation. An impulse (n, f) at body B is handed towards the root, dof by dof, with the pivots of aba.cc:
//   u_k = S_k^T (n, f),   (n, f) <- (n, f) - U_k u_k / d_k,   to the parent: n <- n + r x f               (1)
//   y_k = u_k / sqrt(d_k)                                                                                 (2)
// Then J M^-1 J^T = y . y because the articulated-body recursion is M^-1 = Y^T Y with Y = D^-1/2 (1 - K)
// (Rodriguez, Jain & Kreutz-Delgado 1991, "innovations factorization").
// Factor. y = D^-1/2 L^-T J^T; J^T has entries only on the path, and so has y.                            (3)
// Paths of two bodies agree from the root to their last common dof, so y_i . y_j runs over a common prefix.
#include "karakuri/dynamics/response.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "dynamics/articulated.h"
#include "karakuri/dynamics/aba.h"

namespace karakuri {

namespace {

using namespace kernel;

// Measured costs in nanoseconds, only their ratios matter; see docs/response.md.
constexpr double kArticulatedPerBody = 30;
constexpr double kPropagationPerDof = 4.5;
constexpr double kCompositePerBody = 12;
constexpr double kMassPerEntry = 1.6;
constexpr double kFactorPerProduct = 0.15;
constexpr double kSolvePerProduct = 0.25;
constexpr double kJacobianPerDof = 2.0;
// Deeper than this, propagation wins for any number of rows and the factor's memory would grow as depth^2.
constexpr int kFactorDepthLimit = 128;

V3 simd3(const Vec3& v) { return v3(v.x(), v.y(), v.z()); }

int last_dof(const Body& body) { return body.first_v + body.dofs - 1; }

/// The impulse of one row on one of its bodies, at the body's origin.
SpatialForce impulse_at(const ImpulseRow& row, const Workspace& ws, int body, double sign) {
  const V3 f = simd3(row.force) * sign, arm = simd3(row.point) - load(ws.pose[body].p);
  return {simd3(row.moment) * sign + cross(arm, f), f};
}

/// (2) for a body that is its own tree: M is diagonal in principal axes at the centre of mass.
void propagate_free(const Model& model, const Workspace& ws, int i, SpatialForce F, double* y) {
  const Body& body = model.bodies[i];
  const FreeBody& free = model.free_bodies[body.extra];
  const M3 R = load(ws.pose[i].R);
  const V3 n = F.n - cross(R * load(free.com), F.f);
  const V3 np = transpose_times(R * load(free.axes), n);
  const double s = 1.0 / std::sqrt(body.mass);
  const Vec3 k = free.inverse_moments;
  for (int j = 0; j < 3; ++j) {
    y[j] = F.f[j] * s;
    y[3 + j] = np[j] * std::sqrt(k[j]);
  }
}

/// (1), (2)
void propagate(const Model& model, const Workspace& ws, int i, SpatialForce F, double* y) {
  if (model.bodies[i].alone) return propagate_free(model, ws, i, F, y);
  for (;;) {
    const Body& body = model.bodies[i];
    for (int v = last_dof(body); v >= body.first_v; --v) {
      const Workspace::Pivot& pivot = ws.pivot[v];
      const double u = project(model.dofs[v].kind, load(ws.axis[v]), body.pitch, F.n, F.f);
      const double s = u * pivot.inverse_d;
      F.n -= load(pivot.Un) * s;
      F.f -= load(pivot.Uf) * s;
      y[model.dofs[v].depth] = u * std::sqrt(pivot.inverse_d);
    }
    if (body.parent == 0) return;
    F.n += cross(load(ws.pose[i].r), F.f);
    i = body.parent;
  }
}

/// (3)
void by_factor(const Model& model, const MassMatrix& M, const Workspace& ws, int i, SpatialForce F,
               double* y) {
  const Dof& last = model.dofs[last_dof(model.bodies[i])];
  for (int b = i;;) {
    const Body& body = model.bodies[b];
    for (int v = last_dof(body); v >= body.first_v; --v) {
      y[model.dofs[v].depth] = project(model.dofs[v].kind, load(ws.axis[v]), body.pitch, F.n, F.f);
    }
    if (body.parent == 0) break;
    F.n += cross(load(ws.pose[b].r), F.f);
    b = body.parent;
  }
  const std::int32_t* path = model.paths.data() + last.path;
  for (int d = last.depth; d >= 0; --d) {
    const double* row = M.entries.data() + model.dofs[path[d]].row;
    const double yd = y[d];
    for (int j = 0; j < d; ++j) y[j] -= row[j] * yd;
    y[d] = yd * std::sqrt(M.inverse_diagonal[path[d]]);
  }
}

/// How many dofs the paths that end in a and b share.
int common_length(const Model& model, int a, int b) {
  while (a != b) {
    if (a < 0 || b < 0) return 0;
    const int da = model.dofs[a].depth, db = model.dofs[b].depth;
    if (da >= db) a = model.dofs[a].parent;
    if (db >= da) b = model.dofs[b].parent;
  }
  return a < 0 ? 0 : model.dofs[a].depth + 1;
}

double dot(const double* a, const double* b, int n) {
  double sum[4] = {0, 0, 0, 0};  // four chains: additions need not wait for each other
  int k = 0;
  for (; k + 4 <= n; k += 4) {
    for (int j = 0; j < 4; ++j) sum[j] += a[k + j] * b[k + j];
  }
  for (; k < n; ++k) sum[0] += a[k] * b[k];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// Index of `last_dof` in b.groups, added where it is new. Few bodies are touched at a time, and rows of one
/// body follow each other, so the search from the end is short.
int group_of(int last_dof, ResponseBuffers& b) {
  for (int g = static_cast<int>(b.groups.size()) - 1; g >= 0; --g) {
    if (b.groups[g] == last_dof) return g;
  }
  b.groups.push_back(last_dof);
  return static_cast<int>(b.groups.size()) - 1;
}

void find_common_lengths(const Model& model, ResponseBuffers& b) {
  const int n = static_cast<int>(b.groups.size());
  b.common.resize(static_cast<std::size_t>(n) * n);
  for (int g = 0; g < n; ++g) {
    for (int h = 0; h <= g; ++h) {
      b.common[g * n + h] = b.common[h * n + g] = common_length(model, b.groups[g], b.groups[h]);
    }
  }
}

void lay_out_sides(const Model& model, std::span<const ImpulseRow> rows, ResponseBuffers& b) {
  b.sides.clear();
  b.first_side.clear();
  b.groups.clear();
  std::int64_t size = 0;
  for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
    b.first_side.push_back(static_cast<int>(b.sides.size()));
    if (rows[i].body == rows[i].other) continue;  // does nothing
    for (const std::int32_t body : {rows[i].body, rows[i].other}) {
      if (body == 0) continue;
      const int v = last_dof(model.bodies[body]);
      b.sides.push_back({i, body, group_of(v, b), size});
      size += model.dofs[v].depth + 1;
    }
  }
  b.first_side.push_back(static_cast<int>(b.sides.size()));
  if (static_cast<std::int64_t>(b.y.size()) < size) b.y.resize(static_cast<std::size_t>(size));
}

ResponseMethod cheapest(const Model& model, bool has_factor, const ResponseBuffers& b) {
  if (!b.mass_matrix) return ResponseMethod::kPropagation;
  const double bodies = model.body_count() - 1;
  double propagation = has_factor ? 0 : kArticulatedPerBody * bodies;
  double factor = kCompositePerBody * bodies + kMassPerEntry * static_cast<double>(model.mass_matrix_size);
  for (const Dof& dof : model.dofs) factor += kFactorPerProduct * 0.5 * dof.depth * dof.depth;
  for (const ResponseBuffers::Side& side : b.sides) {
    const double depth = model.dofs[b.groups[side.group]].depth + 1;
    propagation += kPropagationPerDof * depth;
    factor += kJacobianPerDof * depth + kSolvePerProduct * 0.5 * depth * depth;
  }
  return factor < propagation ? ResponseMethod::kFactor : ResponseMethod::kPropagation;
}

/// A_ij = sum over the sides of i and j of y . y
void multiply_sides(const ResponseBuffers& b, int rows, MatOut& A) {
  const int groups = static_cast<int>(b.groups.size());
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = 0;
      for (int s = b.first_side[i]; s < b.first_side[i + 1]; ++s) {
        for (int t = b.first_side[j]; t < b.first_side[j + 1]; ++t) {
          const int n = b.common[b.sides[s].group * groups + b.sides[t].group];
          const double d = dot(b.y.data() + b.sides[s].y, b.y.data() + b.sides[t].y, n);
          sum += d;
        }
      }
      A(i, j) = A(j, i) = sum;
    }
  }
}

int deepest(const Model& model) {
  int depth = 0;
  for (const Dof& dof : model.dofs) depth = std::max(depth, dof.depth + 1);
  return depth;
}

}  // namespace

ResponseBuffers::ResponseBuffers(const Model& model) {
  if (deepest(model) <= kFactorDepthLimit) mass_matrix.emplace(model);
}

ResponseMethod response(const Model& model, std::span<const ImpulseRow> rows, ResponseMethod method,
                        bool has_factor, Workspace& ws, ResponseBuffers& b, MatOut A) {
  const int n = static_cast<int>(rows.size());
  assert(A.rows() == n && A.cols() == n);
  lay_out_sides(model, rows, b);
  find_common_lengths(model, b);
  if (method == ResponseMethod::kCheapest) method = cheapest(model, has_factor, b);
  if (method == ResponseMethod::kFactor) {
    if (!b.mass_matrix) b.mass_matrix.emplace(model);  // asked for by name: the caller knows its size
    crba(model, ws, *b.mass_matrix);
    factor(model, *b.mass_matrix);
  } else if (!has_factor) {
    articulated_factor(model, ws);
  }
  for (const ResponseBuffers::Side& side : b.sides) {
    const ImpulseRow& row = rows[side.row];
    const SpatialForce F = impulse_at(row, ws, side.body, side.body == row.body ? 1.0 : -1.0);
    double* y = b.y.data() + side.y;
    if (method == ResponseMethod::kFactor)
      by_factor(model, *b.mass_matrix, ws, side.body, F, y);
    else
      propagate(model, ws, side.body, F, y);
  }
  multiply_sides(b, n, A);
  return method;
}

void apply_impulses(const Model& model, std::span<const ImpulseRow> rows, VecIn impulses, Workspace& ws,
                    VecOut v) {
  assert(impulses.size() == static_cast<Eigen::Index>(rows.size()) && v.size() == model.nv);
  for (Workspace::Wrench& wrench : ws.wrench) wrench = {};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double impulse = impulses[static_cast<Eigen::Index>(i)];
    for (const auto& [body, sign] : {std::pair{rows[i].body, 1.0}, std::pair{rows[i].other, -1.0}}) {
      const SpatialForce F = impulse_at(rows[i], ws, body, sign * impulse);
      Workspace::Wrench& sum = ws.wrench[body];
      store(sum.n, load(sum.n) + F.n);
      store(sum.f, load(sum.f) + F.f);
    }
  }
  Eigen::Map<Eigen::VectorXd> change(ws.change.data(), model.nv);
  change.setZero();
  solve_articulated_with_wrenches(model, ws, change.data());
  v += change;
}

void row_velocities(const Model& model, std::span<const ImpulseRow> rows, const Workspace& ws, VecOut Jv) {
  assert(Jv.size() == static_cast<Eigen::Index>(rows.size()));
  (void)model;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double sum = 0;
    for (const auto& [body, sign] : {std::pair{rows[i].body, 1.0}, std::pair{rows[i].other, -1.0}}) {
      const SpatialForce F = impulse_at(rows[i], ws, body, sign);
      sum += kernel::dot(F.n, load(ws.velocity[body].w)) + kernel::dot(F.f, load(ws.velocity[body].v));
    }
    Jv[static_cast<Eigen::Index>(i)] = sum;
  }
}

}  // namespace karakuri
