// The matrix of Newton's method over motions about the island's origin, a band of 6 x 6 blocks. A point at r
// moves with v + w x r, with X = [r]x and A = d(impulse)/d(velocity) at it:
//   K = | A    .       |   summed over a patch goes to both bodies' blocks on the diagonal, and −K between
//   them.  (1)
//       | X A  X A Xᵀ  |
// It is factored as L D Lᵀ. On the diagonal lie lower triangles, after factoring L and the inverse of D.
#include <algorithm>

#include "solver/banded_newton.h"

namespace karakuri::solver {

namespace {

using namespace lanes;

using V = Four;

constexpr int at(int i, int j) { return i * (i + 1) / 2 + j; }
constexpr int sym(int i, int j) { return i >= j ? at(i, j) : at(j, i); }

/// Adds (1) of one point to the lower triangle of K.
inline void add_point(const BandPoint& x, V* K) {
  Four3 q = scaled(x.tangent[1], x.e[0]);
  add_scaled(q, x.tangent[0], -x.e[1]);
  const Four3 n = scaled(x.normal, x.normal_only), c = scaled(q, x.across);
  const V xx = x.even + n.x * x.normal.x + c.x * q.x, yy = x.even + n.y * x.normal.y + c.y * q.y;
  const V zz = x.even + n.z * x.normal.z + c.z * q.z, xy = n.x * x.normal.y + c.x * q.y;
  const V xz = n.x * x.normal.z + c.x * q.z, yz = n.y * x.normal.z + c.y * q.z;
  const Four3 a = cross(x.at, Four3{xx, xy, xz}), b = cross(x.at, Four3{xy, yy, yz}),
              d = cross(x.at, Four3{xz, yz, zz});  // columns of X A
  const Four3 f = cross(x.at, Four3{a.x, b.x, d.x}), g = cross(x.at, Four3{a.y, b.y, d.y}),
              h = cross(x.at, Four3{a.z, b.z, d.z});  // rows of X A Xᵀ
  K[0] += xx, K[1] += xy, K[2] += yy, K[3] += xz, K[4] += yz, K[5] += zz;
  K[6] += a.x, K[7] += b.x, K[8] += d.x, K[9] += f.x;
  K[10] += a.y, K[11] += b.y, K[12] += d.y, K[13] += g.x, K[14] += g.y;
  K[15] += a.z, K[16] += b.z, K[17] += d.z, K[18] += h.x, K[19] += h.y, K[20] += h.z;
}

void set_inertia(const BandBody& b, V* K) {
  const V zero = {};
  const Four3 c = scaled(b.com, b.mass);
  const V rows[21] = {b.mass, zero, b.mass, zero,         zero,         b.mass,  //
                      zero,   -c.z, c.y,    b.inertia[0],                        //
                      c.z,    zero, -c.x,   b.inertia[3], b.inertia[1],          //
                      -c.y,   c.x,  zero,   b.inertia[4], b.inertia[5], b.inertia[2]};
  std::copy_n(rows, 21, K);
}

inline void factor_block(V* a) {
  for (int j = 0; j < 6; ++j) {
    const V inverse = all<V>(1) / a[at(j, j)];
    V column[6];
    for (int i = j + 1; i < 6; ++i) column[i] = a[at(i, j)];
    for (int i = j + 1; i < 6; ++i) {
      const V l = column[i] * inverse;
      for (int k = j + 1; k <= i; ++k) a[at(i, k)] -= l * column[k];
      a[at(i, j)] = l;
    }
    a[at(j, j)] = inverse;
  }
}

/// Y ← B L⁻ᵀ, B ← Y D⁻¹.
inline void eliminate(const V* diagonal, V* B, V* Y) {
  for (int r = 0; r < 6; ++r) {
    for (int c = 0; c < 6; ++c) {
      V y = B[6 * r + c];
      for (int p = 0; p < c; ++p) y -= Y[6 * r + p] * diagonal[at(c, p)];
      Y[6 * r + c] = y;
    }
    for (int c = 0; c < 6; ++c) B[6 * r + c] = Y[6 * r + c] * diagonal[at(c, c)];
  }
}

/// Row i, column j of Y Bᵀ.
inline V product(const V* Y, const V* B, int i, int j) {
  V sum = Y[6 * i] * B[6 * j];
  for (int k = 1; k < 6; ++k) sum += Y[6 * i + k] * B[6 * j + k];
  return sum;
}

inline void update_diagonal(const V* Y, const V* B, V* a) {
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j <= i; ++j) a[at(i, j)] -= product(Y, B, i, j);
}

inline void update_block(const V* Y, const V* B, V* a) {
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) a[6 * i + j] -= product(Y, B, i, j);
}

V* block(Band& t, int row, int column) { return t.below[column * t.band + row - column - 1].data(); }
const V* block(const Band& t, int row, int column) {
  return t.below[column * t.band + row - column - 1].data();
}

static_assert(sizeof(BandMotion) == 6 * sizeof(V));
V* numbers(BandMotion& m) { return &m.v.x; }

}  // namespace

void assemble_band(Band& t) {
  for (int b = 1; b <= t.bodies; ++b) set_inertia(t.body[b], t.diagonal[b].data());
  std::fill(t.below.begin(), t.below.end(), std::array<V, 36>{});
  for (const BandPatch& p : t.patches) {
    V K[21] = {};
    for (int k = p.first; k < p.first + p.count; ++k) add_point(t.points[k], K);
    for (int k = 0; k < 21; ++k) t.diagonal[p.body][k] += K[k];
    if (p.other == 0) continue;
    for (int k = 0; k < 21; ++k) t.diagonal[p.other][k] += K[k];
    V* between = block(t, p.body, p.other);
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) between[6 * i + j] -= K[sym(i, j)];
  }
}

void factor_band(Band& t) {
  V Y[kWidestBand][36];
  for (int k = 1; k <= t.bodies; ++k) {
    factor_block(t.diagonal[k].data());
    const int last = std::min(k + t.band, t.bodies);
    for (int i = k + 1; i <= last; ++i) {
      V* B = block(t, i, k);
      eliminate(t.diagonal[k].data(), B, Y[i - k - 1]);
      update_diagonal(Y[i - k - 1], B, t.diagonal[i].data());
      for (int j = k + 1; j < i; ++j) update_block(Y[i - k - 1], block(t, j, k), block(t, i, j));
    }
  }
}

void solve_band(const Band& t, std::vector<BandMotion>& x) {
  for (int k = 1; k <= t.bodies; ++k) {
    const V* L = t.diagonal[k].data();
    V* a = numbers(x[k]);
    for (int i = 1; i < 6; ++i)
      for (int j = 0; j < i; ++j) a[i] -= L[at(i, j)] * a[j];
    for (int r = k + 1; r <= std::min(k + t.band, t.bodies); ++r) {
      const V* B = block(t, r, k);
      V* b = numbers(x[r]);
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) b[i] -= B[6 * i + j] * a[j];
    }
    for (int i = 0; i < 6; ++i) a[i] *= L[at(i, i)];
  }
  for (int k = t.bodies; k >= 1; --k) {
    const V* L = t.diagonal[k].data();
    V* a = numbers(x[k]);
    for (int r = k + 1; r <= std::min(k + t.band, t.bodies); ++r) {
      const V* B = block(t, r, k);
      const V* b = numbers(x[r]);
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) a[j] -= B[6 * i + j] * b[i];
    }
    for (int i = 5; i >= 1; --i)
      for (int j = 0; j < i; ++j) a[j] -= L[at(i, j)] * a[i];
  }
}

}  // namespace karakuri::solver
