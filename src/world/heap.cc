#include "world/heap.h"

#include <algorithm>
#include <cmath>

#include "world/correct_positions.h"
#include "world/impl.h"

namespace karakuri::world_detail {

namespace {

const RowBlock& block_of(const World::Impl& w, const Island& island, int b) {
  return w.rows.blocks[w.island_blocks[island.first_block + b]];
}

HeapBody heap_body(const World::Impl& w, int body) {
  const FreeBody& free = w.model.free_bodies[w.model.bodies[body].extra];
  const Mat3 R = w.ws.pose[body].R;
  const Mat3 axes = R * Mat3(free.axes);
  const Mat3 I = axes * Vec3(free.inverse_moments).asDiagonal() * axes.transpose();
  const Vec3 com = Vec3(w.ws.pose[body].p) + R * Vec3(free.com);
  return {body,
          {com.x(), com.y(), com.z()},
          1 / w.model.bodies[body].mass,
          {I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)}};
}

/// Place of a body in the heap.
int place_of(const World::Impl& w, int body, Slot& slot, Heap& h) {
  const int tree = w.tree_of[body];
  if (tree < 0) return 0;
  std::int32_t& place = slot.tree_subsystem[tree];
  if (place < 0) {
    place = static_cast<std::int32_t>(h.bodies.size());
    h.bodies.push_back(heap_body(w, body));
    slot.touched_trees.push_back(tree);
  }
  return place;
}

void list_patches(const World::Impl& w, const Island& island, Slot& slot, Heap& h) {
  constexpr int kMostPoints = 4;
  h.patches.clear();
  h.bodies.assign(1, {});
  slot.touched_trees.clear();
  for (int b = 0; b < island.block_count; ++b) {
    const ImpulseRow& row = w.rows.impulses[block_of(w, island, b).row];
    const int body = place_of(w, row.body, slot, h), other = place_of(w, row.other, slot, h);
    const bool same = !h.patches.empty() && h.patches.back().body == body &&
                      h.patches.back().other == other && h.patches.back().count < kMostPoints;
    if (same)
      ++h.patches.back().count;
    else
      h.patches.push_back({body, other, b, 1, 0, 0});
  }
  for (const std::int32_t tree : slot.touched_trees) slot.tree_subsystem[tree] = -1;
}

bool shares_body(const HeapGroup& g, const HeapPatch& p, int lanes) {
  for (int k = 0; k < lanes; ++k) {
    if (p.body && (g.body[k] == p.body || g.other[k] == p.body)) return true;
    if (p.other && (g.body[k] == p.other || g.other[k] == p.other)) return true;
  }
  return false;
}

/// A lane for every patch, in the first of a few groups that takes it. Until points are numbered `first`
/// counts lanes.
void form_groups(Heap& h) {
  constexpr std::size_t kMostOpen = 8;
  h.groups.clear();
  h.open.clear();
  for (HeapPatch& p : h.patches) {
    const auto takes = [&](std::int32_t g) { return !shares_body(h.groups[g], p, h.groups[g].first); };
    auto at = std::find_if(h.open.begin(), h.open.end(), takes);
    if (at == h.open.end()) {
      if (h.open.size() == kMostOpen) h.open.erase(h.open.begin());
      h.open.push_back(static_cast<std::int32_t>(h.groups.size()));
      h.groups.push_back(HeapGroup{});
      at = h.open.end() - 1;
    }
    HeapGroup& g = h.groups[*at];
    p.group = *at;
    p.lane = g.first++;
    g.body[p.lane] = p.body;
    g.other[p.lane] = p.other;
    g.count = std::max(g.count, p.count);
    if (g.first == kLanes) h.open.erase(at);
  }
}

void set(Lanes& to, int lane, const Vec3& v) { to.x[lane] = v.x(), to.y[lane] = v.y(), to.z[lane] = v.z(); }

void set_bodies(const Heap& h, HeapGroup& g) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const HeapBody &body = h.bodies[g.body[lane]], &other = h.bodies[g.other[lane]];
    g.inverse_mass[lane] = body.inverse_mass;
    g.other_inverse_mass[lane] = other.inverse_mass;
    for (int k = 0; k < 6; ++k) {
      g.inertia[k][lane] = body.inertia[k];
      g.other_inertia[k][lane] = other.inertia[k];
    }
  }
}

/// The last step's impulse, inside its cone.
void set_impulse(const double* lambda, int lane, HeapPoint& x) {
  const double n = std::max(0.0, lambda[0]), t = std::sqrt(lambda[1] * lambda[1] + lambda[2] * lambda[2]);
  const double most = x.friction[lane] * n, scale = t > most ? most / t : 1;
  x.impulse[0][lane] = n;
  x.impulse[1][lane] = scale * lambda[1];
  x.impulse[2][lane] = scale * lambda[2];
}

void set_point(const World::Impl& w, const Heap& h, const HeapPatch& p, int index, HeapPoint& x) {
  const int row = w.rows.blocks[index].row;
  const ImpulseRow* rows = w.rows.impulses.data() + row;
  const Vec3 at = rows[0].point;
  x.block[p.lane] = index;
  set(x.normal, p.lane, rows[0].force);
  for (int k = 0; k < 2; ++k) set(x.tangent[k], p.lane, rows[1 + k].force);
  if (p.body) set(x.arm, p.lane, at - Eigen::Map<const Vec3>(h.bodies[p.body].com));
  if (p.other) set(x.other_arm, p.lane, at - Eigen::Map<const Vec3>(h.bodies[p.other].com));
  for (int k = 0; k < 3; ++k) x.velocity[k][p.lane] = w.row_free[row + k] + w.rows.bias[row + k];
  x.friction[p.lane] = w.rows.friction[row + 1];
  set_impulse(w.rows.lambda.data() + row, p.lane, x);
}

/// Patches, points and bodies of an island, with the impulses of the last step.
void gather(const World::Impl& w, const Island& island, Slot& slot, Heap& h) {
  list_patches(w, island, slot, h);
  form_groups(h);
  int points = 0;
  for (HeapGroup& g : h.groups) {
    set_bodies(h, g);
    g.first = points;
    points += g.count;
  }
  h.points.assign(points, HeapPoint{});
  for (HeapPoint& x : h.points) std::fill_n(x.block, kLanes, -1);
  for (const HeapPatch& p : h.patches) {
    for (int k = 0; k < p.count; ++k)
      set_point(w, h, p, w.island_blocks[island.first_block + p.block + k],
                h.points[h.groups[p.group].first + k]);
  }
}

/// Hands impulses and velocities back.
void scatter(World::Impl& w, const Heap& h) {
  for (const HeapPoint& x : h.points) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (x.block[lane] < 0) continue;
      const RowBlock& block = w.rows.blocks[x.block[lane]];
      for (int k = 0; k < 3; ++k) {
        w.rows.lambda[block.row + k] = x.impulse[k][lane];
        w.row_velocity[block.row + k] = x.velocity[k][lane] - w.rows.bias[block.row + k];
      }
      w.contacts[block.index].mobility = x.mobility[lane];
    }
  }
}

void answer(World::Impl& w, const Heap& h) {
  for (std::size_t i = 1; i < h.bodies.size(); ++i)
    answer_free_body(w, h.bodies[i].index, Eigen::Map<const Vec3>(h.motion[i].v),
                     Eigen::Map<const Vec3>(h.motion[i].w));
}

/// Corrects positions as solve_islands.cc (3).
void push_apart(World::Impl& w, Heap& heap, Slot& slot, double h) {
  constexpr int kSweeps = 10;
  const StabilizationSettings& st = w.settings.stabilization;
  if (st.kind != Stabilization::kPosition) return;
  bool needed = false;
  for (HeapPoint& x : heap.points) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (x.block[lane] < 0) continue;
      const int row = w.rows.blocks[x.block[lane]].row;
      const double gap = w.rows.error[row] + h * w.row_velocity[row] + st.slop;
      needed = needed || gap < -0.5 * st.slop;
      x.gap[lane] = undone(st, gap, h);
    }
  }
  if (!needed) return;
  sweep_positions(heap, kSweeps);
  for (const HeapPoint& x : heap.points) {
    for (int lane = 0; lane < kLanes; ++lane)
      if (x.block[lane] >= 0) w.correction[w.rows.blocks[x.block[lane]].row] = x.push[lane];
  }
  slot.corrected = true;
}

/// Multiplications, about, of a sweep: lanes that are empty take as long.
double sweep_cost(const Heap& heap) {
  constexpr double kPoint = 300;
  return kPoint * kLanes * static_cast<double>(heap.points.size());
}

/// Sweeps until the residual is below `target`, which is measured after 10, 20, 40, ... sweeps, or the work
/// of the island is spent.
solver::Report sweep_to(double target, Slot& slot) {
  Heap& heap = slot.heap;
  const double cost = sweep_cost(heap);
  const auto has_work = [&] {
    slot.out_of_work = slot.out_of_work || slot.work + cost > slot.most_work;
    return !slot.out_of_work;
  };
  constexpr int kFirst = 10, kMost = 40;
  solver::Report report{
      .method = solver::Method::kBlock, .residual = residual_of_heap(heap), .target = target};
  for (int next = kFirst; report.residual > target && report.sweeps < kMost && has_work(); next *= 2) {
    for (double change = solver::kInfinity; report.sweeps < next && change > target && has_work();
         ++report.sweeps, slot.work += cost)
      change = sweep_heap(heap);
    report.residual = residual_of_heap(heap);
  }
  if (!(report.residual <= target)) report.status = solver::Status::kIterationLimit;
  return report;
}

}  // namespace

bool is_heap(const World::Impl& w, const Island& island) {
  constexpr int kLeastBodies = 4;
  // RK4 has impacts at the start of the step, as if all were bouncing
  if (!island.loose || island.trees < kLeastBodies || w.settings.integrator == Integrator::kRk4) return false;
  for (int b = 0; b < island.block_count; ++b) {
    const int index = w.island_blocks[island.first_block + b];
    const RowBlock& block = w.rows.blocks[index];
    if (block.source != RowSource::kContact || block.size != 3 || w.rows.compliance[block.row] > 0 ||
        w.restitution[index] > 0)
      return false;
  }
  return true;
}

double size_of_motion(const World::Impl& w, const Island& island, double h) {
  constexpr double kShare = 0.1;
  const StabilizationSettings& st = w.settings.stabilization;
  double sum = 0;
  for (int b = 0; b < island.block_count; ++b) {
    const int row = block_of(w, island, b).row;
    const double too_deep = std::max(0.0, -w.rows.error[row] - 1.5 * st.slop);
    const double correction = kShare * st.erp * too_deep / h;
    sum += correction * correction;
    for (int k = 0; k < 3; ++k) sum += w.row_velocity[row + k] * w.row_velocity[row + k];
  }
  return std::sqrt(sum);
}

solver::KnownMotion known_motion(const World::Impl& w, const Island& island, double motion, double h) {
  const double unit = std::sqrt(static_cast<double>(island.rows));
  return {.exact = w.settings.tolerance * unit,
          .acceptable = w.settings.acceptable * unit,
          .motion = motion,
          .fall = h * w.model.gravity.norm() * unit,
          .usual = w.scales.speed * unit};
}

void answer_free_body(World::Impl& w, int body, const Vec3& v, const Vec3& spin) {
  const Body& b = w.model.bodies[body];
  const Vec3 com = Mat3(w.ws.pose[body].R) * Vec3(w.model.free_bodies[b.extra].com);
  const Vec3 at_origin = v - spin.cross(com);
  for (int k = 0; k < 3; ++k) {
    const Vec3 axis = w.ws.axis[b.first_v + k];
    w.v_answered[b.first_v + k] += axis.dot(at_origin);
    w.v_answered[b.first_v + 3 + k] += axis.dot(spin);
  }
}

namespace {

/// Energy that the impulses give, relative to those of free motion; never positive where they are solved.
double energy_given(const World::Impl& w, const Heap& heap) {
  double sum = 0;
  for (const HeapPoint& x : heap.points) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (x.block[lane] < 0) continue;
      const int row = w.rows.blocks[x.block[lane]].row;
      for (int k = 0; k < 3; ++k)
        sum += 0.5 * x.impulse[k][lane] * (x.velocity[k][lane] + w.row_free[row + k] + w.rows.bias[row + k]);
    }
  }
  return sum;
}

}  // namespace

bool solve_heap(World::Impl& w, Island& island, Slot& slot, double h) {
  constexpr int kTall =
      21;  // bodies: more may stand higher than sweeps reach down, and are mended from above
           //   where they are calm; nor are fewer left as sweeps leave them if that is deep
  const WorldSettings& s = w.settings;
  if (s.contact != ContactModel::kCone || s.solver != solver::Method::kDefault || !is_heap(w, island))
    return false;
  solver::KnownMotion known = known_motion(w, island, size_of_motion(w, island, h), h);
  if (!solver::moves(known) || (island.trees > kTall && solver::is_calm(known))) return false;
  Heap& heap = slot.heap;
  gather(w, island, slot, heap);
  begin_heap(heap);
  known.change = residual_of_heap(heap);
  if (!solver::tumbles(known)) return false;
  island.report = sweep_to(solver::tumbling_target(known), slot);
  const bool good_enough = !solver::is_calm(known) || island.report.residual <= solver::most_left(known);
  if (!good_enough || !std::isfinite(island.report.residual)) return false;
  end_heap(heap);
  if (energy_given(w, heap) > 0) return false;
  scatter(w, heap);
  answer(w, heap);
  island.answered = true;
  push_apart(w, heap, slot, h);
  island.refused = false;
  return true;
}

}  // namespace karakuri::world_detail
