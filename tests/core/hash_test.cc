// A checksum tells every flipped bit, every length, and words that changed places.
#include "karakuri/core/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace karakuri {
namespace {

TEST(Checksum, TellsEveryBitAndLength) {
  std::set<std::uint64_t> seen;
  std::size_t made = 0;
  for (const std::size_t size : {0u, 1u, 7u, 31u, 32u, 33u, 100u}) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(37 * i);
    seen.insert(checksum(bytes)), ++made;
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      const auto flip = static_cast<std::byte>(1u << bit % 8);
      bytes[bit / 8] ^= flip;
      seen.insert(checksum(bytes)), ++made;
      bytes[bit / 8] ^= flip;
    }
  }
  EXPECT_EQ(seen.size(), made);  // 1640 of 2^64: two alike by chance happen once in 1e13
}

TEST(Checksum, TellsTheOrderOfWords) {
  std::vector<std::byte> bytes(96);
  bytes[0] = std::byte{1};
  std::vector<std::byte> neighbour(96), later(96);
  neighbour[8] = std::byte{1};  // in another lane
  later[32] = std::byte{1};     // in the same lane
  EXPECT_NE(checksum(bytes), checksum(neighbour));
  EXPECT_NE(checksum(bytes), checksum(later));
}

}  // namespace
}  // namespace karakuri
