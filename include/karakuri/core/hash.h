// Hashes that are the same on every platform with the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace karakuri {

/// A running 64-bit hash: each word is mixed in by the finaliser of splitmix64. For telling states apart and
/// for finding damaged files, not against adversaries.
class Hash {
 public:
  void add(std::uint64_t word) {
    std::uint64_t z = state_ ^ (word + 0x9e3779b97f4a7c15u + (state_ << 6));
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    state_ = z ^ (z >> 31);
  }
  void add(double value) {
    std::uint64_t word;
    std::memcpy(&word, &value, sizeof word);
    add(word);
  }
  void add(std::span<const double> values) {
    for (const double value : values) add(value);
  }
  void add(std::span<const std::byte> bytes) {
    add(std::uint64_t{bytes.size()});
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes.size(); i += sizeof word) {
      word = 0;
      std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
      add(word);
    }
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3u;  // digits of pi
};

/// Of a long row of bytes: four hashes side by side, as each word of one waits for the word before.
inline std::uint64_t checksum(std::span<const std::byte> bytes) {
  Hash lanes[4], all;
  std::uint64_t words[4];
  while (bytes.size() >= sizeof words) {
    std::memcpy(words, bytes.data(), sizeof words);
    for (int i = 0; i < 4; ++i) lanes[i].add(words[i]);
    bytes = bytes.subspan(sizeof words);
  }
  for (const Hash& lane : lanes) all.add(lane.value());
  all.add(bytes);
  return all.value();
}

}  // namespace karakuri
