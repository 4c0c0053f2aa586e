// Jacobi's elliptic functions, for the closed forms of pendulums and tops.
#pragma once

#include <cmath>
#include <vector>

namespace karakuri::test {

struct Jacobi {
  double sn, cn, dn;
};

/// Of argument u and modulus k, 0 <= k < 1, by the arithmetic-geometric mean (Abramowitz & Stegun, 16.4).
inline Jacobi jacobi(double u, double k) {
  std::vector<double> a{1.0}, c{k};
  for (double b = std::sqrt(1 - k * k); std::abs(c.back()) > 1e-17;) {
    const double mean = 0.5 * (a.back() + b);
    c.push_back(0.5 * (a.back() - b));
    b = std::sqrt(a.back() * b);
    a.push_back(mean);
    if (a.size() > 30) break;  // converges quadratically: six are enough
  }
  const auto n = a.size() - 1;
  double phi = std::ldexp(a[n] * u, static_cast<int>(n));
  double last = phi;
  for (auto i = n; i > 0; --i) {
    last = phi;
    phi = 0.5 * (phi + std::asin(c[i] / a[i] * std::sin(phi)));
  }
  const double sn = std::sin(phi), cn = std::cos(phi);
  return {sn, cn, n > 0 ? cn / std::cos(last - phi) : 1.0};
}

}  // namespace karakuri::test
