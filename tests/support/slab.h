// A closed slab of n x n cells, for tests and benchmarks of meshes with many seams.
#pragma once

#include <vector>

#include "karakuri/collision/mesh.h"

namespace karakuri::test {

struct TriangleSoup {
  std::vector<Vec3> vertices;
  std::vector<Triangle> faces;
};

/// A square of side `size` about the origin: the top at height(x, y), the bottom at -thickness, four walls.
/// 4 n (n + 2) triangles.
template <class Height>
TriangleSoup slab(int n, double size, double thickness, Height&& height) {
  TriangleSoup soup;
  const auto id = [&](int i, int j, int layer) { return layer * (n + 1) * (n + 1) + j * (n + 1) + i; };
  for (int layer = 0; layer < 2; ++layer) {
    for (int j = 0; j <= n; ++j) {
      for (int i = 0; i <= n; ++i) {
        const double x = size * (double(i) / n - 0.5), y = size * (double(j) / n - 0.5);
        soup.vertices.push_back({x, y, layer ? -thickness : height(x, y)});
      }
    }
  }
  const auto quad = [&](int a, int b, int c, int d) {
    soup.faces.push_back({a, b, c}), soup.faces.push_back({a, c, d});
  };
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      quad(id(i, j, 0), id(i + 1, j, 0), id(i + 1, j + 1, 0), id(i, j + 1, 0));
      quad(id(i, j, 1), id(i, j + 1, 1), id(i + 1, j + 1, 1), id(i + 1, j, 1));
    }
  }
  for (int i = 0; i < n; ++i) {
    quad(id(i, 0, 1), id(i + 1, 0, 1), id(i + 1, 0, 0), id(i, 0, 0));
    quad(id(i + 1, n, 1), id(i, n, 1), id(i, n, 0), id(i + 1, n, 0));
    quad(id(0, i + 1, 1), id(0, i, 1), id(0, i, 0), id(0, i + 1, 0));
    quad(id(n, i, 1), id(n, i + 1, 1), id(n, i + 1, 0), id(n, i, 0));
  }
  return soup;
}

}  // namespace karakuri::test
