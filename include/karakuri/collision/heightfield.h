// Terrain: heights on a regular grid, solid below.
#pragma once

#include <array>
#include <vector>

#include "karakuri/collision/aabb.h"
#include "karakuri/core/diagnostic.h"

namespace karakuri {

/// Vertex (i, j) stands at (x0 + i dx, y0 + j dy, heights[j * columns + i]). Each cell is two triangles, cut
/// from (i, j) to (i+1, j+1): triangle 2k lies below the cut (towards +x), 2k+1 above; k = j (columns-1) + i.
struct Heightfield {
  int columns = 0, rows = 0;
  double x0 = 0, y0 = 0, dx = 1, dy = 1;  // [m]
  std::vector<double> heights;            // columns * rows [m]
  Aabb bounds;
  /// Lowest and highest height of square blocks, row by row, for searches: of level 0 they are 4 x 4 cells,
  /// of level k 4 x 4 blocks of level k - 1, and so on until one block is all.
  struct Level {
    int columns = 0, rows = 0;
    std::vector<std::array<double, 2>> range;  // [m]
  };
  static constexpr int kBlock = 4;
  std::vector<Level> levels;

  Vec3 vertex(int i, int j) const { return {x0 + i * dx, y0 + j * dy, heights[j * columns + i]}; }
  int cell_columns() const { return columns - 1; }
  int cell_rows() const { return rows - 1; }
};

/// Centred on the origin: spans size_x by size_y [m].
Result<Heightfield> make_heightfield(int columns, int rows, double size_x, double size_y,
                                     std::vector<double> heights);

}  // namespace karakuri
