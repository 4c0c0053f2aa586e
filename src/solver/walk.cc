#include "solver/walk.h"

#include <algorithm>

#include "core/simd.h"

namespace karakuri::solver {

using namespace simd;  // NOLINT: private to the module

namespace {

constexpr int kSix = 6;
constexpr double kLinkWork = 2 * kSix * kSix;  // of a link that is walked over

/// y += A x.
void add_product(const double* A, const double* x, double* y) {
  for (int r = 0; r < kSix; ++r, A += kSix) y[r] += sum4(load4(A) * load4(x)) + (A[4] * x[4] + A[5] * x[5]);
}

/// y += Aᵀ x: row by row, and so for symmetric A too.
void add_transposed(const double* A, const double* x, double* y) {
  V4 sum = load4(y);
  double last[2] = {y[4], y[5]};
  for (int r = 0; r < kSix; ++r, A += kSix) {
    sum += broadcast(x[r]) * load4(A);
    last[0] += x[r] * A[4];
    last[1] += x[r] * A[5];
  }
  store4(y, sum);
  y[4] = last[0];
  y[5] = last[1];
}

double* velocity_of(const Problem& p, const Link& link, double* velocity) {
  return velocity + p.subsystems[link.subsystem].velocity;
}

/// (2)
void enter(const Problem& p, const Link& link, const double* z, double* velocity) {
  double v[kSix] = {};
  add_transposed(link.own, z, v);
  if (link.parent >= 0) add_transposed(link.up, velocity_of(p, p.links[link.parent], velocity), v);
  std::copy_n(v, kSix, velocity_of(p, link, velocity));
}

/// (1)
void leave(const Problem& p, int at, Workspace::Memory& m) {
  const Link& link = p.links[at];
  double* z = m.walk.z.data() + kSix * at;
  double* known = m.walk.known.data() + kSix * at;
  double change[kSix];
  bool any = false;
  for (int k = 0; k < kSix; ++k) {
    change[k] = z[k] - known[k];
    any = any || change[k] != 0;
  }
  if (!any) return;
  m.budget.spend(kLinkWork);
  std::copy_n(z, kSix, known);
  double d[kSix] = {};
  add_product(link.up, change, d);
  double* parent = m.walk.z.data() + kSix * link.parent;
  for (int k = 0; k < kSix; ++k) parent[k] += d[k];
  add_transposed(p.links[link.parent].whole, d, velocity_of(p, p.links[link.parent], m.velocity.data()));
}

void walk_to(const Problem& p, int goal, Workspace::Memory& m) {
  int& at = m.walk.at[p.links[goal].root];
  std::vector<int>& way = m.walk.way;
  way.clear();
  for (int x = goal; x != at;) {
    if (p.links[x].depth > p.links[at].depth) {
      way.push_back(x);
      x = p.links[x].parent;
    } else {
      leave(p, at, m);
      at = p.links[at].parent;
    }
  }
  m.budget.spend(kLinkWork * static_cast<double>(way.size()));
  for (; !way.empty(); way.pop_back())
    enter(p, p.links[way.back()], m.walk.z.data() + kSix * way.back(), m.velocity.data());
  at = goal;
}

}  // namespace

void walk_whole_trees(const Problem& p, double* velocity) {
  for (int i = static_cast<int>(p.links.size()) - 1; i >= 0; --i) {
    const Link& link = p.links[i];
    if (link.parent < 0) continue;
    add_product(link.up, velocity_of(p, link, velocity), velocity_of(p, p.links[link.parent], velocity));
  }
  for (const Link& link : p.links) enter(p, link, velocity_of(p, link, velocity), velocity);
}

void add_linked_product(const Problem& p, const Term& a, const Term& b, int size, double* out) {
  int x = p.subsystems[a.subsystem].link, y = p.subsystems[b.subsystem].link;
  if (x < 0 || y < 0 || p.links[x].root != p.links[y].root) return;
  double left[kMaxBlockSize * kSix], right[kMaxBlockSize * kSix];
  std::copy_n(p.jacobian.data() + a.offset, size * kSix, left);
  std::copy_n(p.jacobian.data() + b.offset, size * kSix, right);
  const auto climb = [&](int& link, double* rows) {
    for (int r = 0; r < size; ++r) {
      double up[kSix] = {};
      add_product(p.links[link].up, rows + kSix * r, up);
      std::copy_n(up, kSix, rows + kSix * r);
    }
    link = p.links[link].parent;
  };
  while (x != y) p.links[x].depth >= p.links[y].depth ? climb(x, left) : climb(y, right);
  for (int c = 0; c < size; ++c) {
    double v[kSix] = {};
    add_transposed(p.links[x].whole, right + kSix * c, v);
    for (int r = 0; r < size; ++r)
      for (int k = 0; k < kSix; ++k) out[c * size + r] += left[kSix * r + k] * v[k];
  }
}

void begin_walk(const Problem& p, const double* lambda, Workspace::Memory& m) {
  WalkMemory& walk = m.walk;
  walk.z.assign(kSix * p.links.size(), 0.0);
  walk.at.resize(p.links.size());
  for (std::size_t i = 0; i < p.links.size(); ++i) walk.at[i] = static_cast<int>(i);
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    for (int t = p.term_start[i]; t < p.term_start[i + 1]; ++t) {
      const int link = p.subsystems[p.terms[t].subsystem].link;
      if (link < 0) continue;
      const double* j = p.jacobian.data() + p.terms[t].offset;
      for (int r = 0; r < block.size; ++r)
        for (int k = 0; k < kSix; ++k) walk.z[kSix * link + k] += j[kSix * r + k] * lambda[block.row + r];
    }
  }
  for (int i = static_cast<int>(p.links.size()) - 1; i >= 0; --i)
    if (const int parent = p.links[i].parent; parent >= 0)
      add_product(p.links[i].up, walk.z.data() + kSix * i, walk.z.data() + kSix * parent);
  walk.known = walk.z;
  for (std::size_t i = 0; i < p.links.size(); ++i)
    enter(p, p.links[i], walk.z.data() + kSix * i, m.velocity.data());
}

void reach(const Problem& p, int i, Workspace::Memory& m) {
  for (int t = p.term_start[i]; t < p.term_start[i + 1]; ++t)
    if (const int link = p.subsystems[p.terms[t].subsystem].link; link >= 0) walk_to(p, link, m);
}

void push_along(const Problem& p, int i, const double* change, Workspace::Memory& m) {
  for (int t = p.term_start[i + 1] - 1; t >= p.term_start[i]; --t) {  // the last one reached comes first
    const Subsystem& s = p.subsystems[p.terms[t].subsystem];
    if (s.link >= 0) walk_to(p, s.link, m);
    const double* j = p.jacobian.data() + p.terms[t].offset;
    const double* y = p.response.data() + p.terms[t].offset;
    for (int r = 0; r < p.blocks[i].size; ++r, j += s.dof, y += s.dof) {
      for (int k = 0; k < s.dof; ++k) m.velocity[s.velocity + k] += y[k] * change[r];
      for (int k = 0; k < s.dof && s.link >= 0; ++k) m.walk.z[kSix * s.link + k] += j[k] * change[r];
    }
  }
}

}  // namespace karakuri::solver
