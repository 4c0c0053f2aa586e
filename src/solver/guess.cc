// For the subsystem s and its blocks i towards lower ones, with v_s the change that the impulses from above
// give it:
//   u_i = J_is v_s + q_i(above),   sweep i: lambda_i solves block i alone for W_ii = J_is Y_is^T          (1)
//   until nothing changes; then the reactions go to the lower subsystems (2)
// Sweeps put the load on the first contacts that can bear it, which is lawful but tips over what lies below.
// So they start from the least change that balances a free body, pressed evenly over its contacts:
//   change of lambda = J x,   G x = -N^-1 J^T u,   G = Y^T J,   N = J^T J + small (3)
// over the contacts that need not pull, found by leaving out those that would. A body moves in metres and
// turns in radians: columns of J are first divided by their length, rounded to a power of two,
//   x = D x',   N' = D N D,   G' = D^-1 G D (4)
// so that N' has a diagonal near one and nothing depends on the unit of length.
// After Guendelman, Bridson and Fedkiw (SIGGRAPH 2003, shock propagation), who freeze what lies below; here
// only the guess does so.
#include "karakuri/solver/guess.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "solver/access.h"
#include "solver/memory.h"

namespace karakuri::solver {

namespace {

constexpr int kMostSweeps = 30;   // over the contacts of one subsystem
constexpr double kStill = 1e-10;  // relative change at which they stop
constexpr int kBodyDofs = 6;

/// The term of the higher subsystem, or -1 where neither is.
int higher_term(const Problem& p, std::span<const int> level, int block) {
  const int first = p.term_start[block], count = p.term_start[block + 1] - first;
  if (count == 1) return first;
  if (count != 2) return -1;
  const int a = level[p.terms[first].subsystem], b = level[p.terms[first + 1].subsystem];
  if (a == b) return -1;
  return a > b ? first : first + 1;
}

bool is_contact(const Block& block) {
  return block.kind == RowKind::kComplementarity || (block.kind == RowKind::kCone && block.size == 3);
}

void product(const Problem& p, const Term& term, int size, double* w) {
  const int dof = p.subsystems[term.subsystem].dof;
  for (int r = 0; r < size; ++r)
    for (int c = 0; c < size; ++c)
      w[c * size + r] =
          dot(p.jacobian.data() + term.offset + r * dof, p.response.data() + term.offset + c * dof, dof);
}

/// v += Y^T x for one term.
void push(const Problem& p, const Term& term, int size, const double* x, double* velocity) {
  const Subsystem& s = p.subsystems[term.subsystem];
  for (int r = 0; r < size; ++r)
    axpy(x[r], p.response.data() + term.offset + r * s.dof, velocity + s.velocity, s.dof);
}

/// (1) once. @return Largest change, and the size of what it is compared with.
std::pair<double, double> sweep(const Problem& p, std::span<const double> q_above,
                                std::vector<Support>& supports, std::vector<double>& velocity,
                                std::span<double> lambda) {
  double change = 0, size = 0;
  for (Support& s : supports) {
    const Block& block = p.blocks[s.block];
    const Term& term = p.terms[s.term];
    const Subsystem& body = p.subsystems[term.subsystem];
    double u[3], before[3];
    double* x = lambda.data() + block.row;
    for (int r = 0; r < block.size; ++r) {
      u[r] = dot(p.jacobian.data() + term.offset + r * body.dof, velocity.data() + body.velocity, body.dof) +
             q_above[block.row + r] + p.compliance[block.row + r] * x[r];
      before[r] = x[r];
    }
    if (block.size == 3) {
      if (!s.cone.dead) update_local(s.cone, u, x);
    } else if (s.w_nn > 0) {
      x[0] = std::max(0.0, x[0] - u[0] / s.w_nn);
    }
    for (int r = 0; r < block.size; ++r) {
      before[r] = x[r] - before[r];
      change = std::max(change, std::abs(before[r]));
      size = std::max(size, std::abs(x[r]));
    }
    push(p, term, block.size, before, velocity.data());
  }
  return {change, size};
}

using Mat6 = Eigen::Matrix<double, kBodyDofs, kBodyDofs>;
using Vec6 = Eigen::Matrix<double, kBodyDofs, 1>;

/// D of (4), rounded so that it changes no digit; one where N has nothing.
Vec6 unit_columns(const Mat6& N) {
  Vec6 D;
  for (int k = 0; k < kBodyDofs; ++k) D[k] = N(k, k) > 0 ? std::ldexp(1.0, -(std::ilogb(N(k, k)) >> 1)) : 1.0;
  return D;
}

/// (3) as a change of `start`, over the contacts that are not left out, which have no impulse.
void least_norm(const Problem& p, std::span<const double> q_above, const std::vector<Support>& supports,
                const Vec6& loaded, std::span<double> lambda) {
  Mat6 N = Mat6::Zero(), G = Mat6::Zero();
  Vec6 v = loaded, b = Vec6::Zero();
  const auto each_row = [&](const auto& visit) {
    for (const Support& s : supports) {
      const Block& block = p.blocks[s.block];
      for (int r = 0; r < block.size && !s.left_out; ++r) {
        const int at = p.terms[s.term].offset + r * kBodyDofs;
        visit(Eigen::Map<const Vec6>(p.jacobian.data() + at), Eigen::Map<const Vec6>(p.response.data() + at),
              block.row + r, s.start[r]);
      }
    }
  };
  each_row([&](const auto&, const auto& Y, int, double start) { v += Y * start; });
  each_row([&](const auto& J, const auto& Y, int row, double start) {
    N += J * J.transpose();
    G += Y * J.transpose();
    b -= J * (q_above[row] + p.compliance[row] * start + J.dot(v));
  });
  // few or lined-up contacts cannot turn the body every way: those ways are left alone
  constexpr double kSmall = 1e-9;
  const Vec6 D = unit_columns(N);
  N = D.asDiagonal() * N * D.asDiagonal();  // (4)
  G = D.cwiseInverse().asDiagonal() * G * D.asDiagonal();
  b = D.cwiseProduct(b);
  const Eigen::LDLT<Mat6> n(N + kSmall * N.trace() * Mat6::Identity());
  const Eigen::PartialPivLU<Mat6> g(G + kSmall * G.trace() * Mat6::Identity());
  Vec6 x = g.solve(n.solve(b));
  x += g.solve(n.solve(b - N * (G * x)));  // without what kSmall has changed
  x = D.cwiseProduct(x);
  for (const Support& s : supports)
    std::fill_n(lambda.begin() + p.blocks[s.block].row, p.blocks[s.block].size, 0.0);
  each_row([&](const auto& J, const auto&, int row, double start) { lambda[row] = start + J.dot(x); });
}

/// Leaves out what would pull. @return Whether anything new was.
bool leave_out(const Problem& p, std::vector<Support>& supports, std::span<const double> lambda) {
  bool any = false;
  for (Support& s : supports) {
    if (s.left_out || lambda[p.blocks[s.block].row] >= 0) continue;
    s.left_out = any = true;
  }
  return any;
}

/// Into the cones: what friction cannot hold, sweeps will have to.
void project(const Problem& p, const std::vector<Support>& supports, std::span<double> lambda) {
  for (const Support& s : supports) {
    const Block& block = p.blocks[s.block];
    double* x = lambda.data() + block.row;
    x[0] = std::isfinite(x[0]) ? std::max(0.0, x[0]) : 0.0;
    if (block.size < 3) continue;
    const double most = p.friction[block.row + 1] * x[0], size = std::sqrt(x[1] * x[1] + x[2] * x[2]);
    const double scale = size > most ? most / size : 1;
    for (int k = 1; k < 3; ++k) x[k] = std::isfinite(x[k]) ? scale * x[k] : 0.0;
  }
}

/// Impulses of one body's supports to start the sweeps from, and the velocity they give it.
void press_evenly(const Problem& p, std::span<const double> q_above, std::vector<Support>& supports,
                  std::vector<double>& velocity, std::span<double> lambda) {
  const Subsystem& body = p.subsystems[p.terms[supports[0].term].subsystem];
  if (body.dof != kBodyDofs) return;
  constexpr int kMostRounds = 6;
  const auto push_all = [&](double sign) {
    for (const Support& s : supports) {
      double x[3];
      const Block& block = p.blocks[s.block];
      for (int r = 0; r < block.size; ++r) x[r] = sign * lambda[block.row + r];
      push(p, p.terms[s.term], block.size, x, velocity.data());
    }
  };
  for (Support& s : supports)
    std::copy_n(lambda.begin() + p.blocks[s.block].row, p.blocks[s.block].size, s.start);
  push_all(-1);
  const Vec6 loaded = Eigen::Map<const Vec6>(velocity.data() + body.velocity);
  for (int round = 0; round < kMostRounds; ++round) {
    least_norm(p, q_above, supports, loaded, lambda);
    if (!leave_out(p, supports, lambda)) break;
  }
  project(p, supports, lambda);
  push_all(1);
}

}  // namespace

void guess_from_above(const Problem& p, std::span<const int> level, std::span<const double> q_above,
                      Workspace& ws, std::span<double> lambda) {
  GuessMemory& g = ws.memory().guess;
  g.velocity.resize(p.velocities());
  velocity_change(p, lambda, g.velocity);
  g.order.clear();  // (subsystem, block, term), highest subsystem first
  for (int i = 0; i < p.block_count(); ++i) {
    if (!is_contact(p.blocks[i])) continue;
    if (const int term = higher_term(p, level, i); term >= 0)
      g.order.push_back({p.terms[term].subsystem, i, term});
  }
  std::sort(g.order.begin(), g.order.end(), [&](const auto& a, const auto& b) {
    const int la = level[a.subsystem], lb = level[b.subsystem];
    if (la != lb) return la > lb;
    return a.subsystem != b.subsystem ? a.subsystem < b.subsystem : a.block < b.block;
  });
  std::vector<Support>& supports = g.supports;
  for (std::size_t first = 0; first < g.order.size();) {
    std::size_t last = first;
    supports.clear();
    for (; last < g.order.size() && g.order[last].subsystem == g.order[first].subsystem; ++last) {
      const Block& block = p.blocks[g.order[last].block];
      Support& s = supports.emplace_back(Support{g.order[last].block, g.order[last].term});
      std::copy_n(lambda.begin() + block.row, block.size, s.start);
      double w[9];
      product(p, p.terms[s.term], block.size, w);
      if (block.size == 3)
        prepare_local(p, block, w, p.compliance.data() + block.row, s.cone);
      else
        s.w_nn = w[0] + p.compliance[block.row];
    }
    press_evenly(p, q_above, supports, g.velocity, lambda);
    for (int k = 0; k < kMostSweeps; ++k) {
      const auto [change, size] = sweep(p, q_above, supports, g.velocity, lambda);
      if (change <= kStill * size) break;
    }
    for (const Support& s : supports) {  // (2)
      const Block& block = p.blocks[s.block];
      double change[3];
      for (int r = 0; r < block.size; ++r) change[r] = lambda[block.row + r] - s.start[r];
      for (int t = p.term_start[s.block]; t < p.term_start[s.block + 1]; ++t)
        if (t != s.term) push(p, p.terms[t], block.size, change, g.velocity.data());
    }
    first = last;
  }
}

}  // namespace karakuri::solver
