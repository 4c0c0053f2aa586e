// Impulses on bodies, and velocities where they act. Rows that follow each other at one point of the same two
// bodies, as those of a contact do, are taken together: they push as one wrench and see one velocity.
#include <cassert>

#include "dynamics/articulated.h"
#include "dynamics/relative_velocity.h"
#include "karakuri/dynamics/response.h"

namespace karakuri {

namespace {

using namespace kernel;

/// Whether b acts where a does, on the same bodies.
bool acts_beside(const ImpulseRow& a, const ImpulseRow& b) {
  return a.body == b.body && a.other == b.other && !a.more && !b.more && a.point == b.point;
}

/// Adds a wrench at a point to what acts on `body`; on the world it is lost.
void push(const Model& model, int body, V3 point, V3 moment, V3 force, Workspace& ws) {
  const std::int32_t t = model.bodies[body].tree;
  if (t < 0) return;
  if (!ws.is_pushed[t]) {
    ws.is_pushed[t] = 1;
    ws.pushed.push_back(t);
    for (int i = model.trees[t].first; i < model.trees[t].last; ++i) ws.wrench[i] = {};
  }
  Workspace::Wrench& sum = ws.wrench[body];
  store(sum.n, load(sum.n) + moment + cross(point - load(ws.pose[body].p), force));
  store(sum.f, load(sum.f) + force);
}

/// Velocity of the row, where `u` is that of its point.
double along(const ImpulseRow& row, const RelativeVelocity& u) {
  return dot(v3(row.force), u.v) + dot(v3(row.moment), u.w);
}

}  // namespace

void apply_impulses(const Model& model, std::span<const ImpulseRow> rows, VecIn impulses, Workspace& ws,
                    VecOut v) {
  assert(impulses.size() == static_cast<Eigen::Index>(rows.size()) && v.size() == model.nv);
  ws.pushed.clear();
  const auto impulse = [&](std::size_t i) { return impulses[static_cast<Eigen::Index>(i)]; };
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    end = first + 1;
    if (impulse(first) == 0) continue;  // without a look at the row
    while (end < rows.size() && impulse(end) != 0 && acts_beside(rows[first], rows[end])) ++end;
    for (const ImpulseRow* row = &rows[first]; row; row = row->more) {
      V3 moment = v3(row->moment) * impulse(first), force = v3(row->force) * impulse(first);
      for (std::size_t i = first + 1; i < end; ++i) {
        force = plus_scaled(force, v3(rows[i].force), impulse(i));
        moment = plus_scaled(moment, v3(rows[i].moment), impulse(i));
      }
      const V3 point = v3(row->point);
      push(model, row->body, point, moment, force, ws);
      push(model, row->other, point, -moment, -force, ws);
    }
  }
  for (const std::int32_t t : ws.pushed) {
    const Tree& tree = model.trees[t];
    const Body &root = model.bodies[tree.first], &last = model.bodies[tree.last - 1];
    ws.is_pushed[t] = 0;
    for (int i = root.first_v; i < last.first_v + last.dofs; ++i) ws.change[i] = 0;
    solve_tree(model, tree, ws, ws.change.data());
    for (int i = root.first_v; i < last.first_v + last.dofs; ++i) v[i] += ws.change[i];
  }
}

void row_velocities(std::span<const ImpulseRow> rows, const Workspace& ws, VecOut Jv) {
  row_velocities(rows, ws, ws.velocity, Jv);
}

void row_velocities(std::span<const ImpulseRow> rows, const Workspace& ws,
                    std::span<const Workspace::Velocity> velocity, VecOut Jv) {
  assert(Jv.size() == static_cast<Eigen::Index>(rows.size()));
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    end = first + 1;
    while (end < rows.size() && acts_beside(rows[first], rows[end])) ++end;
    const auto at = [&](const ImpulseRow& row) {
      return relative_velocity(row.body, row.other, v3(row.point), ws, velocity);
    };
    const RelativeVelocity u = at(rows[first]);
    for (std::size_t i = first; i < end; ++i) Jv[static_cast<Eigen::Index>(i)] = along(rows[i], u);
    for (const ImpulseRow* part = rows[first].more; part; part = part->more)
      Jv[static_cast<Eigen::Index>(first)] += along(*part, at(*part));
  }
}

}  // namespace karakuri
