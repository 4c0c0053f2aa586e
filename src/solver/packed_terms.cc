#include "solver/packed_terms.h"

#include <algorithm>
#include <cmath>

namespace karakuri::solver {

namespace {

constexpr int kFour = 4;

int fours(int dof) { return (dof + kFour - 1) / kFour; }

/// Whether any of `size` rows, `dof` long, acts on the velocities [first, end).
bool acts_on(const double* jacobian, int size, int dof, int first, int end) {
  for (int r = 0; r < size; ++r)
    for (int d = first; d < end; ++d)
      if (jacobian[r * dof + d] != 0.0) return true;
  return false;
}

/// Appends the fours of one term; `place`: of its subsystem in y.
void pack_term(const Problem& p, const Term& term, int size, int place, PackedTerms& t) {
  const Subsystem& s = p.subsystems[term.subsystem];
  const double* jacobian = p.jacobian.data() + term.offset;
  const double* root = t.root.data() + s.velocity;
  for (int first = 0; first < s.dof; first += kFour) {
    const int end = std::min(first + kFour, s.dof);
    if (!acts_on(jacobian, size, s.dof, first, end)) continue;
    t.at.push_back(place + first);
    const std::size_t from = t.values.size();
    t.values.resize(from + static_cast<std::size_t>(kFour * size), 0.0);
    for (int r = 0; r < size; ++r)
      for (int d = first; d < end; ++d)
        t.values[from + kFour * r + (d - first)] = jacobian[r * s.dof + d] * root[d];
  }
}

}  // namespace

bool suits_packing(const Problem& p) {
  return p.storage == OperatorKind::kMatrixFree && p.links.empty() &&
         (p.unit_mass || (p.velocities() > 0 && static_cast<int>(p.inverse_mass.size()) == p.velocities()));
}

void pack_terms(const Problem& p, PackedTerms& t) {
  t.root.resize(p.velocities());
  for (int i = 0; i < p.velocities(); ++i) t.root[i] = p.unit_mass ? 1.0 : std::sqrt(p.inverse_mass[i]);
  t.start.assign(1, 0);
  t.value.clear();
  t.at.clear();
  t.values.clear();
  // of each subsystem, where it is in y: subsystems follow each other there as among the velocities
  t.places.clear();
  int place = 0;
  for (const Subsystem& s : p.subsystems) {
    t.places.push_back(place);
    place += kFour * fours(s.dof);
  }
  t.y.assign(place, 0.0);
  for (int b = 0; b < p.block_count(); ++b) {
    t.value.push_back(t.values.size());
    for (int k = p.term_start[b]; k < p.term_start[b + 1]; ++k)
      pack_term(p, p.terms[k], p.blocks[b].size, t.places[p.terms[k].subsystem], t);
    t.start.push_back(static_cast<std::int32_t>(t.at.size()));
  }
}

void packed_apply(const Problem& p, std::span<const double> lambda, PackedTerms& t, double* u) {
  std::fill(t.y.begin(), t.y.end(), 0.0);
  for (int b = 0; b < p.block_count(); ++b)
    packed_push(t, b, p.blocks[b].size, lambda.data() + p.blocks[b].row);
  for (int b = 0; b < p.block_count(); ++b) packed_velocity(t, b, p.blocks[b].size, u + p.blocks[b].row);
}

}  // namespace karakuri::solver
