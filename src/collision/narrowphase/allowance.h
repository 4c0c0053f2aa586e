// What the contacts of two shapes may cost. Of meshes, terrain and compounds as many parts may be near each
// other as there are; what is looked at is counted, and where that is too much, only an even spread of it is.
//
// A first attempt looks at everything in its order. If it spends what there is, it is thrown away, and a
// second one looks first at what lies far apart (the van der Corput sequence: numbers with their bits
// reversed) and ends where its share is spent; of trees and terrain it takes one part of each of many equal
// pieces, the one that is likely to be deepest. Nothing is timed, so that contacts are the same everywhere.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace karakuri::collision_detail {

/// In multiplications, about.
struct Allowance {
  double most = std::numeric_limits<double>::infinity();
  double used = 0;
  bool spread = false;  // the second attempt
  bool cut = false;     // something was left out

  /// Whether the first attempt has come to nothing. The second one ends by itself.
  bool spent() const { return !spread && used > most; }
  /// How many of what costs `each` the second attempt may look at for a share of what there is.
  std::size_t affords(double each, double share) const {
    constexpr double kLeast = 8;  // else it would say nothing at all
    return static_cast<std::size_t>(std::clamp(share * most / each, kLeast, 1e9));
  }
};

/// visit(k) for 0 <= k < count: in this order until the allowance is spent; or, in a second attempt, those
/// that are far apart first, until it has cost a share of what there is.
template <class Visit>
void visit_within(Allowance& allowance, std::size_t count, double share, Visit&& visit) {
  if (!allowance.spread) {
    for (std::size_t k = 0; k < count && !allowance.spent(); ++k) visit(k);
    return;
  }
  constexpr std::size_t kLeast = 8;
  const double end = allowance.used + share * allowance.most;
  const int bits = static_cast<int>(std::bit_width(count));
  std::size_t visited = 0;
  for (std::size_t i = 0; i < std::size_t{1} << bits; ++i) {
    std::size_t k = 0;
    for (int b = 0; b < bits; ++b) k |= (i >> b & 1) << (bits - 1 - b);
    if (k >= count) continue;
    if (visited >= kLeast && allowance.used > end) {
      allowance.cut = true;
      return;
    }
    visit(k);
    ++visited;
  }
}

}  // namespace karakuri::collision_detail
