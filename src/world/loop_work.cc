// See loop_work.h.
#include "world/loop_work.h"

#include <algorithm>
#include <cmath>

#include "karakuri/dynamics/response.h"

namespace karakuri::world_detail {

void find_contradictions(const World::Impl& w, LoopStage& s, double most) {
  s.contradicts.assign(w.trees.size(), 0);
  for (const HeldLoops::Member& m : s.members) {
    std::uint8_t& contradicts = s.contradicts[root_of(w.model, s, m)];
    for (int k = m.first_row; k < m.first_row + m.count; ++k)
      if (std::abs(s.error[k]) > kWideOpen * w.scales.length || !(std::abs(s.right[k]) <= most))
        contradicts = 1;
  }
}

void add_given(World::Impl& w, LoopStage& s, double share) {
  row_velocities(s.rows, w.ws,
                 Eigen::Map<Eigen::VectorXd>(s.right.data(), static_cast<Eigen::Index>(s.right.size())));
  for (const HeldLoops::Member& m : s.members) {
    double given = 0;
    for (int k = m.first_row; k < m.first_row + m.count; ++k) given += share * s.sum[k] * s.right[k];
    const bool contradicts = s.contradicts[root_of(w.model, s, m)];
    w.given_by_loops[tree_of(w.model, s, m)] += given;
    if (m.is_loop && !contradicts)
      for_each_row(m,
                   [&](int k, int row) { w.loop_turning[m.index][k] += share * s.unit[row] * s.sum[row]; });
  }
}

}  // namespace karakuri::world_detail
