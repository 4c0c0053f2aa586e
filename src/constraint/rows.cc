#include "karakuri/constraint/rows.h"

namespace karakuri {

void Rows::clear() {
  blocks.clear();
  impulses.clear();
  for (std::vector<double>* values : {&error, &bias, &compliance, &lower, &upper, &friction, &lambda})
    values->clear();
}

int Rows::add(solver::RowKind kind, RowSource source, int index, int count) {
  const int row = size();
  blocks.push_back({kind, source, index, row, count});
  const std::size_t end = static_cast<std::size_t>(row) + count;
  impulses.resize(end);
  for (std::vector<double>* values : {&error, &bias, &compliance, &lower, &upper, &friction, &lambda})
    values->resize(end, 0.0);
  return row;
}

}  // namespace karakuri
