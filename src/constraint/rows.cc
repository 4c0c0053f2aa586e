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
  // one by one: a few inlined appends are cheaper than a call that appends many
  for (int k = 0; k < count; ++k) {
    impulses.emplace_back();
    for (std::vector<double>* values : {&error, &bias, &compliance, &lower, &upper, &friction, &lambda})
      values->push_back(0.0);
  }
  return row;
}

}  // namespace karakuri
