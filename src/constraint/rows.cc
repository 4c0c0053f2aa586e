#include "karakuri/constraint/rows.h"

#include "karakuri/dynamics/relation_rows.h"

namespace karakuri {

void Rows::clear() {
  blocks.clear();
  impulses.clear();
  parts.clear();
  for (std::vector<double>* values : {&error, &bias, &compliance, &lower, &upper, &friction, &lambda})
    values->clear();
}

void Rows::reserve(const Model& model) {
  constexpr std::size_t kMostRows = 3;  // of one tendon: two limits and a spring
  std::size_t count = 0;
  for (const Relation& r : model.relations) count += kMostRows * relation_parts(r);
  parts.reserve(count);
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
