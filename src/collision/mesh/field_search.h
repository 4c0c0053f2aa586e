// Searching a heightfield by its blocks, so that only what may matter is looked at.
#pragma once

#include <algorithm>

#include "karakuri/collision/heightfield.h"

namespace karakuri::collision_detail {

/// A cell (level -1), or a block of a level.
struct FieldBlock {
  int level, i, j;
};

inline Aabb box_of(const Heightfield& f, const FieldBlock& b) {
  if (b.level < 0) {
    Aabb box;
    for (int k = 0; k < 4; ++k) box.add(f.vertex(b.i + (k & 1), b.j + (k >> 1)));
    return box;
  }
  const int size = 1 << (2 * (b.level + 1));  // in cells
  static_assert(Heightfield::kBlock == 4);
  const Heightfield::Level& level = f.levels[b.level];
  const auto& [lowest, highest] = level.range[static_cast<std::size_t>(b.j) * level.columns + b.i];
  const int i1 = std::min((b.i + 1) * size, f.cell_columns()), j1 = std::min((b.j + 1) * size, f.cell_rows());
  return {Vec3(f.x0 + b.i * size * f.dx, f.y0 + b.j * size * f.dy, lowest),
          Vec3(f.x0 + i1 * f.dx, f.y0 + j1 * f.dy, highest)};
}

/// Visits the cells (i, j) in `block` that may be nearer than the best so far, nearest blocks first.
/// `bound(box)`: no point of the box is nearer than this. `best()`: how near the best is by now.
template <class Bound, class Best, class Visit>
void search_cells(const Heightfield& f, const FieldBlock& block, const Bound& bound, const Best& best,
                  const Visit& visit) {
  if (block.level < 0) return visit(block.i, block.j);
  struct Child {
    double bound;
    FieldBlock block;
  } children[Heightfield::kBlock * Heightfield::kBlock];
  const int below = block.level - 1, n = Heightfield::kBlock;
  const int columns = below < 0 ? f.cell_columns() : f.levels[below].columns;
  const int rows = below < 0 ? f.cell_rows() : f.levels[below].rows;
  int count = 0;
  for (int j = block.j * n; j < std::min((block.j + 1) * n, rows); ++j) {
    for (int i = block.i * n; i < std::min((block.i + 1) * n, columns); ++i) {
      const FieldBlock child{below, i, j};
      const double nearest = bound(box_of(f, child));
      if (!(nearest < best())) continue;
      int at = count++;
      for (; at > 0 && children[at - 1].bound > nearest; --at) children[at] = children[at - 1];
      children[at] = {nearest, child};
    }
  }
  for (int k = 0; k < count && children[k].bound < best(); ++k)
    search_cells(f, children[k].block, bound, best, visit);
}

/// The same for all of the heightfield.
template <class Bound, class Best, class Visit>
void search_cells(const Heightfield& f, const Bound& bound, const Best& best, const Visit& visit) {
  search_cells(f, FieldBlock{static_cast<int>(f.levels.size()) - 1, 0, 0}, bound, best, visit);
}

/// Cells (i0..i1, j0..j1).
struct CellRange {
  int i0 = 0, i1 = -1, j0 = 0, j1 = -1;

  bool meets(const FieldBlock& b) const {
    const int size = b.level < 0 ? 1 : 1 << (2 * (b.level + 1));
    return b.i * size <= i1 && (b.i + 1) * size > i0 && b.j * size <= j1 && (b.j + 1) * size > j0;
  }
};

/// Of a block the cell in the range that is highest, as far as going down to the highest part of each block
/// finds it.
inline FieldBlock highest_cell(const Heightfield& f, const CellRange& range, FieldBlock block) {
  while (block.level >= 0) {
    const int below = block.level - 1, n = Heightfield::kBlock;
    FieldBlock best{below, -1, -1};
    double most = 0;
    for (int j = n * block.j; j < n * (block.j + 1); ++j) {
      for (int i = n * block.i; i < n * (block.i + 1); ++i) {
        const FieldBlock child{below, i, j};
        if (!range.meets(child)) continue;
        const double height = box_of(f, child).hi.z();
        if (best.i < 0 || height > most) best = child, most = height;
      }
    }
    block = best;
  }
  return block;
}

/// Visits one cell (i, j) of each of at most `most` equal blocks: its highest.  @pre cells of the range are
/// of the field
template <class Visit>
void highest_cells(const Heightfield& f, const CellRange& range, std::size_t most, const Visit& visit) {
  const auto blocks = [](int first, int last, int shift) { return (last >> shift) - (first >> shift) + 1; };
  int level = -1;
  const auto count = [&](int l) {
    const int shift = 2 * (l + 1);
    return static_cast<std::size_t>(blocks(range.i0, range.i1, shift)) *
           static_cast<std::size_t>(blocks(range.j0, range.j1, shift));
  };
  while (level + 1 < static_cast<int>(f.levels.size()) && count(level) > most) ++level;
  const int shift = 2 * (level + 1);
  for (int j = range.j0 >> shift; j <= range.j1 >> shift; ++j)
    for (int i = range.i0 >> shift; i <= range.i1 >> shift; ++i) {
      const FieldBlock cell = highest_cell(f, range, {level, i, j});
      visit(cell.i, cell.j);
    }
}

/// The first of the cells (i..last, j) some of which may lie between two heights; last + 1 where there is
/// none.
inline int next_cell_between(const Heightfield& f, int i, int j, int last, double low, double high) {
  while (i <= last) {
    int past = i;
    for (int k = std::min<int>(2, static_cast<int>(f.levels.size())) - 1; k >= 0 && past == i; --k) {
      const int size = 1 << (2 * (k + 1));
      const Heightfield::Level& level = f.levels[k];
      const auto& [lowest, highest] =
          level.range[static_cast<std::size_t>(j / size) * level.columns + i / size];
      if (highest < low || lowest > high) past = (i / size + 1) * size;
    }
    if (past == i) return i;
    i = past;
  }
  return last + 1;
}

}  // namespace karakuri::collision_detail
