#include "server/tar.h"

#include <numeric>

#include <fmt/format.h>

namespace karakuri::server_detail {

namespace {

constexpr std::size_t kBlock = 512;

void put(std::string& block, std::size_t at, std::string_view text) { block.replace(at, text.size(), text); }

/// IEEE Std 1003.1, pax, "ustar Interchange Format": fields at fixed places, numbers in octal.
std::string header(const TarEntry& file) {
  std::string block(kBlock, '\0');
  put(block, 0, std::string_view(file.name).substr(0, 100));
  put(block, 100, "0000644");
  put(block, 108, "0000000");
  put(block, 116, "0000000");
  put(block, 124, fmt::format("{:011o}", file.content.size()));
  put(block, 136, "00000000000");
  put(block, 148, "        ");  // the sum counts its own place as spaces
  put(block, 156, "0");
  put(block, 257, std::string_view("ustar\00000", 8));
  const unsigned sum = std::accumulate(block.begin(), block.end(), 0u,
                                       [](unsigned s, char c) { return s + static_cast<unsigned char>(c); });
  put(block, 148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  return block;
}

}  // namespace

std::string tar(const std::vector<TarEntry>& files) {
  std::string out;
  for (const TarEntry& file : files) {
    out += header(file) + file.content;
    out.resize((out.size() + kBlock - 1) / kBlock * kBlock);
  }
  return out + std::string(2 * kBlock, '\0');
}

}  // namespace karakuri::server_detail
