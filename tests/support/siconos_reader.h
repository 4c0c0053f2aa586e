// Reads the text files in which the Siconos project publishes friction problems. For tests and benchmarks.
//
// dimension (2 or 3), contacts, storage (0 dense, 1 block-sparse), rows, columns; then W, q and μ, all
// separated by white space. Dense W: rows, columns, values column by column. Block-sparse W: blocks, block
// rows, block columns, cumulative row sizes, cumulative column sizes, filled1, filled2, index1 (filled1
// values: where each block row starts), index2 (filled2 values: block columns), then each block's number and
// its values column by column. Normal row first.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "karakuri/core/diagnostic.h"
#include "karakuri/solver/problem.h"

namespace karakuri::test {

namespace detail {

inline Diagnostic cut_short(const std::string& file, const char* what) {
  return {Severity::kError, file, std::string("cannot read ") + what, "is the file whole?"};
}

inline bool read_all(std::istream& in, std::vector<double>& values) {
  for (double& v : values) in >> v;
  return static_cast<bool>(in);
}

inline bool read_dense(std::istream& in, solver::Problem& p) {
  int rows = 0;
  int columns = 0;
  in >> rows >> columns;
  if (!in || rows != p.rows() || columns != p.rows()) return false;
  p.dense.resize(static_cast<std::size_t>(rows) * rows);
  for (int c = 0; c < rows; ++c)
    for (int r = 0; r < rows; ++r) in >> p.dense[static_cast<std::size_t>(r) * rows + c];
  return static_cast<bool>(in);
}

inline bool read_blocks(std::istream& in, solver::Problem& p) {
  std::size_t blocks = 0;
  std::size_t block_rows = 0;
  std::size_t block_columns = 0;
  in >> blocks >> block_rows >> block_columns;
  if (!in || static_cast<int>(block_rows) != p.block_count() || block_columns != block_rows) return false;
  std::vector<double> sizes(block_rows + block_columns);
  if (!read_all(in, sizes)) return false;
  std::size_t filled1 = 0;
  std::size_t filled2 = 0;
  in >> filled1 >> filled2;
  if (!in || filled1 > block_rows + 1 || filled2 != blocks) return false;
  std::vector<double> start(filled1);
  std::vector<double> column(filled2);
  if (!read_all(in, start) || !read_all(in, column)) return false;
  start.resize(block_rows + 1, static_cast<double>(blocks));
  for (std::size_t i = 0; i < block_rows; ++i) {
    p.begin_entries(static_cast<int>(i));
    for (auto e = static_cast<std::size_t>(start[i]); e < static_cast<std::size_t>(start[i + 1]); ++e) {
      std::size_t number = 0;
      in >> number;
      if (!in || number != e || column[e] < 0 || column[e] >= p.block_count()) return false;
      for (double& w : p.add_entry(static_cast<int>(column[e]))) in >> w;
    }
  }
  return static_cast<bool>(in);
}

}  // namespace detail

inline Result<solver::Problem> read_siconos(const std::filesystem::path& path) {
  std::ifstream in(path);
  int dimension = 0;
  int contacts = 0;
  int storage = 0;
  int rows = 0;
  int columns = 0;
  in >> dimension >> contacts >> storage >> rows >> columns;
  if (!in || (dimension != 2 && dimension != 3) || rows != dimension * contacts || columns != rows)
    return detail::cut_short(path.string(), "the sizes");
  if (storage != 0 && storage != 1)
    return Diagnostic{Severity::kError, path.string(), "storage " + std::to_string(storage) + " of W",
                      "0 (dense) and 1 (block-sparse) are read"};
  solver::Problem p;
  p.clear(storage == 0 ? solver::OperatorKind::kDense : solver::OperatorKind::kBlockSparse);
  for (int i = 0; i < contacts; ++i) dimension == 3 ? p.add_cone(0.0) : p.add_planar_cone(0.0);
  if (storage == 0 ? !detail::read_dense(in, p) : !detail::read_blocks(in, p))
    return detail::cut_short(path.string(), "W");
  if (!detail::read_all(in, p.q)) return detail::cut_short(path.string(), "q");
  for (const solver::Block& block : p.blocks) {
    double mu = 0.0;
    in >> mu;
    for (int i = 1; i < block.size; ++i) p.friction[block.row + i] = mu;
  }
  if (!in) return detail::cut_short(path.string(), "mu");
  return p;
}

}  // namespace karakuri::test
