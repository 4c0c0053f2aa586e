#include "karakuri/collision/heightfield.h"

#include <algorithm>
#include <cmath>

#include "core/compose.h"

namespace karakuri {

namespace {

using Range = std::array<double, 2>;

/// Blocks of kBlock x kBlock of what `range_of` tells the range of.
template <class RangeOf>
Heightfield::Level level_above(int columns, int rows, RangeOf&& range_of) {
  constexpr int n = Heightfield::kBlock;
  Heightfield::Level level{(columns + n - 1) / n, (rows + n - 1) / n, {}};
  level.range.reserve(static_cast<std::size_t>(level.columns) * level.rows);
  for (int j = 0; j < rows; j += n) {
    for (int i = 0; i < columns; i += n) {
      Range all = range_of(i, j);
      for (int jj = j; jj < std::min(j + n, rows); ++jj) {
        for (int ii = i; ii < std::min(i + n, columns); ++ii) {
          const Range one = range_of(ii, jj);
          all = {std::min(all[0], one[0]), std::max(all[1], one[1])};
        }
      }
      level.range.push_back(all);
    }
  }
  return level;
}

void add_levels(Heightfield& f) {
  f.levels.push_back(level_above(f.cell_columns(), f.cell_rows(), [&](int i, int j) {
    const auto [lo, hi] = std::minmax(
        {f.vertex(i, j).z(), f.vertex(i + 1, j).z(), f.vertex(i, j + 1).z(), f.vertex(i + 1, j + 1).z()});
    return Range{lo, hi};
  }));
  while (f.levels.back().range.size() > 1) {
    const Heightfield::Level& below = f.levels.back();
    Heightfield::Level above = level_above(below.columns, below.rows, [&](int i, int j) {
      return below.range[static_cast<std::size_t>(j) * below.columns + i];
    });
    f.levels.push_back(std::move(above));
  }
}

}  // namespace

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
  add_levels(f);
  return f;
}

}  // namespace karakuri
