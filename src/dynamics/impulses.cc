// Impulses on bodies, and velocities where they act. Rows that follow each other at one point of the same two
// bodies, as those of a contact do, are taken together: they push as one wrench and see one velocity.
#include <cassert>

#include "dynamics/articulated.h"
#include "dynamics/relative_velocity.h"
#include "karakuri/dynamics/response.h"

namespace karakuri {

namespace {

using namespace kernel;

V3 simd3(const Vec3& v) { return v3(v.x(), v.y(), v.z()); }

/// The end of the run of rows that starts at `first` and shares its point.
std::size_t end_of_run(std::span<const ImpulseRow> rows, std::size_t first) {
  const ImpulseRow& row = rows[first];
  std::size_t end = first + 1;
  if (row.more) return end;
  while (end < rows.size() && rows[end].body == row.body && rows[end].other == row.other && !rows[end].more &&
         rows[end].point == row.point)
    ++end;
  return end;
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
  return dot(simd3(row.force), u.v) + dot(simd3(row.moment), u.w);
}

}  // namespace

void apply_impulses(const Model& model, std::span<const ImpulseRow> rows, VecIn impulses, Workspace& ws,
                    VecOut v) {
  assert(impulses.size() == static_cast<Eigen::Index>(rows.size()) && v.size() == model.nv);
  ws.pushed.clear();
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    end = end_of_run(rows, first);
    for (const ImpulseRow* row = &rows[first]; row; row = row->more) {
      V3 moment = zero3(), force = zero3();
      bool any = false;
      for (std::size_t i = first; i < end; ++i) {
        const double impulse = impulses[static_cast<Eigen::Index>(i)];
        const ImpulseRow& part = i == first ? *row : rows[i];
        force = plus_scaled(force, simd3(part.force), impulse);
        moment = plus_scaled(moment, simd3(part.moment), impulse);
        any = any || impulse != 0;
      }
      if (!any) continue;
      const V3 point = simd3(row->point);
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
    end = end_of_run(rows, first);
    const auto at = [&](const ImpulseRow& row) {
      return relative_velocity(row.body, row.other, simd3(row.point), ws, velocity);
    };
    const RelativeVelocity u = at(rows[first]);
    for (std::size_t i = first; i < end; ++i) Jv[static_cast<Eigen::Index>(i)] = along(rows[i], u);
    for (const ImpulseRow* part = rows[first].more; part; part = part->more)
      Jv[static_cast<Eigen::Index>(first)] += along(*part, at(*part));
  }
}

}  // namespace karakuri
