// What the random tests share: how many pairs, and what every manifold must satisfy.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "collision/random_shapes.h"
#include "karakuri/collision/narrowphase.h"

namespace karakuri::testing {

/// KARAKURI_FUZZ_PAIRS: random pairs per pair of kinds. The full check is 200000; the default takes seconds.
inline int fuzz_pairs(int usual) {
  const char* text = std::getenv("KARAKURI_FUZZ_PAIRS");
  return text ? std::max(1, std::atoi(text)) : usual;
}

/// Under a sanitizer the library is asked as often, but the searches for something better and the other
/// engines, which take ten times as long as the library, are left to the plain build.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Empty when all is finite, unit and within the margin.
inline std::string manifold_fault(const RandomPair& p, CollisionWorkspace& ws, std::vector<Manifold>& out) {
  const double margin = 0.01 * p.small;
  out.clear();
  collide(p.a, p.X_WA, p.b, p.X_WB, {.margin = margin}, ws, out);
  for (const Manifold& m : out) {
    if (m.count < 1 || m.count > Manifold::kMaxPoints) return "empty manifold";
    if (!(std::abs(m.normal.norm() - 1) < 1e-9)) return "manifold's normal not unit";
    for (int i = 0; i < m.count; ++i) {
      const ContactPoint& c = m.points[i];
      if (!c.position.allFinite() || !std::isfinite(c.separation)) return "contact not finite";
      if (c.separation > margin + 1e-12 * p.scale) return "contact beyond the margin";
      for (int j = 0; j < i; ++j) {
        if (m.points[j].id() == c.id()) return "two contacts of one name";
      }
    }
  }
  return "";
}

}  // namespace karakuri::testing
