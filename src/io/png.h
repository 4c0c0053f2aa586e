// Pictures as heights.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace karakuri::io {

struct GrayPicture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // rows from the top
  int at(int column, int row) const {
    return pixels[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(column)];
  }
};

/// Nothing where it is no PNG, or larger than any terrain.
std::optional<GrayPicture> decode_png(std::string_view content);

}  // namespace karakuri::io
