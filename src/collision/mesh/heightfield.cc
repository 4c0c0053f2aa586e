#include "karakuri/collision/heightfield.h"

#include <algorithm>
#include <cmath>

#include "core/compose.h"

namespace karakuri {

Result<Heightfield> make_heightfield(int columns, int rows, double size_x, double size_y,
                                     std::vector<double> heights) {
  const auto error = [](std::string what) {
    return Diagnostic{Severity::kError, "heightfield", std::move(what), ""};
  };
  if (columns < 2 || rows < 2 || columns > 1 << 14 || rows > 1 << 14) {
    return error(compose("has {} x {} vertices; 2 to 16384 each way are possible", columns, rows));
  }
  if (!(size_x > 0) || !(size_y > 0) || !std::isfinite(size_x) || !std::isfinite(size_y)) {
    return error(compose("spans {:g} x {:g} m; both must be positive", size_x, size_y));
  }
  if (heights.size() != static_cast<std::size_t>(columns) * rows) {
    return error(compose("has {} heights for {} x {} vertices", heights.size(), columns, rows));
  }
  for (std::size_t i = 0; i < heights.size(); ++i) {
    if (!std::isfinite(heights[i])) return error(compose("height {} is not finite", i));
  }
  Heightfield f;
  f.columns = columns, f.rows = rows;
  f.dx = size_x / (columns - 1), f.dy = size_y / (rows - 1);
  f.x0 = -0.5 * size_x, f.y0 = -0.5 * size_y;
  const auto [lo, hi] = std::minmax_element(heights.begin(), heights.end());
  f.bounds = {Vec3(f.x0, f.y0, *lo), Vec3(-f.x0, -f.y0, *hi)};
  f.heights = std::move(heights);
  return f;
}

}  // namespace karakuri
