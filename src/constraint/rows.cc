#include "karakuri/constraint/rows.h"

#include "karakuri/dynamics/relation_rows.h"

namespace karakuri {

namespace {

void resize(Rows& rows, int count) {
  rows.impulses.resize(count);
  for (std::vector<double>* values : {&rows.unit, &rows.error, &rows.bias, &rows.compliance, &rows.lower,
                                      &rows.upper, &rows.friction, &rows.lambda})
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

int Rows::append(solver::RowKind kind, RowSource source, int index, int size) {
  const int row = count;
  blocks.push_back({kind, source, index, row, size});
  count += size;
  if (static_cast<int>(impulses.size()) < count) resize(*this, count);
  return row;
}

int Rows::add(solver::RowKind kind, RowSource source, int index, int size) {
  const int row = append(kind, source, index, size);
  for (int i = row; i < count; ++i) write(i, {});
  return row;
}

void Rows::change_unit(int i, double metres) {
  unit[i] = metres;
  impulses[i].force *= metres;
  impulses[i].moment *= metres;
  for (const ImpulseRow* more = impulses[i].more; more; more = more->more) {
    ImpulseRow& part = parts[more - parts.data()];
    part.force *= metres;
    part.moment *= metres;
  }
  error[i] *= metres;
  bias[i] *= metres;
  compliance[i] *= metres * metres;
  lower[i] /= metres;
  upper[i] /= metres;
}

}  // namespace karakuri
