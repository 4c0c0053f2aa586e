#include "io/png.h"

#include <png.h>

namespace karakuri::io {

std::optional<GrayPicture> decode_png(std::string_view content) {
  constexpr std::uint64_t kMostPixels = 16u << 20;  // heights, of 8 bytes each later
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&image, content.data(), content.size())) return std::nullopt;
  image.format = PNG_FORMAT_GRAY;
  GrayPicture picture{static_cast<int>(image.width), static_cast<int>(image.height), {}};
  const bool fits =
      image.width >= 2 && image.height >= 2 && std::uint64_t{image.width} * image.height <= kMostPixels;
  if (fits) picture.pixels.resize(PNG_IMAGE_SIZE(image));
  const png_color background{0, 0, 0};
  const bool read =
      fits && png_image_finish_read(&image, &background, picture.pixels.data(), 0, nullptr) != 0;
  png_image_free(&image);
  if (!read) return std::nullopt;
  return picture;
}

}  // namespace karakuri::io
