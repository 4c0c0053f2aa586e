// Part of a problem as a problem of its own.
#include <algorithm>

#include "solver/island.h"

namespace karakuri::solver {

namespace {

void extract_laws(const Problem& p, const Pick& pick, Problem& part) {
  const double* friction = p.friction.data() + p.blocks[pick.block].row;
  switch (pick.kind) {
    case RowKind::kEquality: part.add_equality(pick.rows); break;
    case RowKind::kLinear: part.add_linear(0, 0); break;
    case RowKind::kComplementarity: part.add_complementarity(); break;
    case RowKind::kBox: part.add_box(0, 0); break;
    case RowKind::kCone: part.add_cone(std::span(friction + 1, static_cast<std::size_t>(pick.rows - 1)));
  }
}

void extract_dense(const Problem& p, std::span<const Pick> picks, Problem& part) {
  const int n = part.rows(), all = p.rows();
  part.dense.resize(static_cast<std::size_t>(n) * n);
  int row = 0;
  for (const Pick& left : picks) {
    for (int a = 0; a < left.rows; ++a, ++row) {
      const double* from = p.dense.data() + static_cast<std::size_t>(p.blocks[left.block].row + a) * all;
      double* to = part.dense.data() + static_cast<std::size_t>(row) * n;
      for (const Pick& right : picks) to = std::copy_n(from + p.blocks[right.block].row, right.rows, to);
    }
  }
}

void extract_terms(const Problem& p, const Pick& pick, Problem& part) {
  for (int t = p.term_start[pick.block]; t < p.term_start[pick.block + 1]; ++t) {
    const Term& from = p.terms[t];
    const Term to = part.add_term(from.subsystem);
    const int numbers = pick.rows * p.subsystems[from.subsystem].dof;
    std::copy_n(p.jacobian.data() + from.offset, numbers, part.jacobian.data() + to.offset);
    std::copy_n(p.response.data() + from.offset, numbers, part.response.data() + to.offset);
  }
}

}  // namespace

void extract(const Problem& p, std::span<const Pick> picks, Problem& part) {
  part.clear(p.storage);
  part.subsystems = p.subsystems;
  part.links = p.links;
  part.unit_mass = p.unit_mass;
  part.inverse_mass = p.inverse_mass;
  for (const Pick& pick : picks) {
    extract_laws(p, pick, part);
    if (p.storage == OperatorKind::kMatrixFree) extract_terms(p, pick, part);
  }
  if (p.storage == OperatorKind::kDense) extract_dense(p, picks, part);
}

}  // namespace karakuri::solver
