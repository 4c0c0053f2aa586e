#include "karakuri/constraint/rows.h"

#include "karakuri/dynamics/relation_rows.h"

namespace karakuri {

namespace {

void resize(Rows& rows, int count) {
  rows.impulses.resize(count);
  for (std::vector<double>* values :
       {&rows.error, &rows.bias, &rows.compliance, &rows.lower, &rows.upper, &rows.friction, &rows.lambda})
    values->resize(count);
}

}  // namespace

void Rows::clear() {
  blocks.clear();
  parts.clear();
  count = 0;
}

void Rows::close() { resize(*this, count); }

void Rows::reserve(const Model& model) {
  constexpr std::size_t kMostRows = 3;  // of one tendon: two limits and a spring
  std::size_t room = 0;
  for (const Relation& r : model.relations) room += kMostRows * relation_parts(r);
  parts.reserve(room);
}

int Rows::add(solver::RowKind kind, RowSource source, int index, int size) {
  const int row = count;
  blocks.push_back({kind, source, index, row, size});
  count += size;
  if (static_cast<int>(impulses.size()) < count) resize(*this, count);
  for (int i = row; i < count; ++i) {
    impulses[i] = {};
    error[i] = bias[i] = compliance[i] = lower[i] = upper[i] = friction[i] = lambda[i] = 0;
  }
  return row;
}

}  // namespace karakuri
