// A floating tree that touches nothing fixed keeps its momentum, but for what acts on it from outside:
//   P+ = P + h (m g + F) + impulses of other trees,   L+ likewise, about the centre of mass c             (1)
// Its coordinates are bent, so a step along a straight line in them misses (1) by a little; that is given
// back to the tree as a whole,
//   w += I^-1 (L+ - L(q+, v+)),   v_c += (P+ - P(q+, v+)) / m                                             (2)
// with I its inertia as if its joints were locked. Joint rates stay as they are. Its centre of mass misses
//   c+ = c + h (P+ - dP / 2) / m,   dP = h (m g + F)                                                      (3)
// as well, by h^2, and with it the angular momentum about any other point. So the tree is moved there: forces
// are constant over the step, and its flight is their parabola itself.
//
// Trees that loops hold together exchange momentum, and closing the loops moves their centres of mass; but
// the sums over all of them obey (1) and (3), with L about their common centre of mass. What is missing is
// given to the whole group, turned and moved as one rigid body, which opens no loop.                      (4)
#include <algorithm>

#include "dynamics/rigid_motion.h"
#include "karakuri/dynamics/kinematics.h"
#include "world/impl.h"

namespace karakuri {

namespace {

using Floating = World::Impl::Floating;

/// Free bodies see to themselves (move_bodies.cc), unless loops hold them. @return Whether any tree floats.
bool find_free(World::Impl& w) {
  bool any = false;
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    const Body& root = w.model.bodies[w.model.trees[t].first];
    const bool floats = root.kind == JointKind::kFree && w.trees[t].responds();
    w.floats[t] = {.keeps = floats && !root.alone && !w.slowed[t], .free = floats && !w.slowed[t]};
    any = any || w.floats[t].keeps || (floats && w.holds_anything());
  }
  return any;
}

bool all_zero(const std::vector<double>& x, const RowBlock& block) {
  return std::all_of(x.begin() + block.row, x.begin() + block.row + block.size,
                     [](double value) { return value == 0; });
}

/// Takes down between which trees a row acts.
/// @param pushes  with an impulse of the step; otherwise it only corrects positions
void touch(World::Impl& w, const ImpulseRow& row, bool pushes) {
  const int a = w.tree_of[row.body], b = w.tree_of[row.other];
  if (a == b) return;
  for (const int t : {a, b})
    if (t >= 0) w.floats[t].touched = true;
  if (a >= 0 && b >= 0 && !(w.trees[a].responds() && w.trees[b].responds()))
    w.floats[a].free = w.floats[b].free = false;
  if (a < 0 || b < 0) {
    Floating& tree = w.floats[a < 0 ? b : a];
    tree.free = false;
    tree.keeps = tree.keeps && !pushes;
  }
}

/// What touches trees from outside, by the blocks of rows, each of which acts on the same bodies.
void find_touched(World::Impl& w) {
  for (const RowBlock& block : w.rows.blocks) {
    const bool pushes = !all_zero(w.total, block);
    if (!pushes && all_zero(w.correction, block)) continue;
    for (const ImpulseRow* row = &w.rows.impulses[block.row]; row; row = row->more) touch(w, *row, pushes);
  }
  for (const ImpulseRow& row : w.penalty_rows) touch(w, row, true);
}

/// (4): all trees of a set that loops or couplings hold together, where each floats.
void find_groups(World::Impl& w) {
  if (!w.holds_anything() || w.settings.integrator != Integrator::kSemiImplicit) return;
  const auto join = [&](int a, int b) {
    if (a >= 0 && b >= 0 && a != b) w.floats[w.root_of(a)].leads = true;
  };
  for (std::size_t i = 0; i < w.model.loops.size(); ++i) {
    const Loop& loop = w.model.loops[i];
    const int a = w.tree_of[loop.body_f], b = w.tree_of[loop.body_m];
    if (!w.state.loop_closed[i]) continue;
    if (a < 0 && b >= 0) w.floats[b].free = false;  // also where it carries nothing just now
    if (b < 0 && a >= 0) w.floats[a].free = false;
    if (loop.held()) join(a, b);
  }
  for (const Relation& r : w.model.relations) {
    const int first = w.tree_of[w.model.dofs[r.terms[0].dof].body];
    if (r.held)
      r.for_each_dof([&](const Relation::Term& t) { join(first, w.tree_of[w.model.dofs[t.dof].body]); });
  }
  for (std::size_t t = 0; t < w.trees.size(); ++t)
    if (!w.floats[t].free) w.floats[w.root_of(static_cast<int>(t))].leads = false;
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    w.floats[t].grouped = w.floats[w.root_of(static_cast<int>(t))].leads;
    w.any_groups = w.any_groups || w.floats[t].grouped;
  }
}

/// Adds the impulse of a row on one of its bodies to what its tree gets from outside.
void add_impulse(World::Impl& w, int body, double impulse, const ImpulseRow& row) {
  const int t = w.tree_of[body];
  if (t < 0 || !w.floats[t].counts()) return;
  const Vec3 arm = row.point - Vec3(w.ws.pose[w.model.trees[t].first].p);
  w.from_outside[t] =
      w.from_outside[t] + Force{impulse * (row.moment + arm.cross(row.force)), impulse * row.force};
}

void sum_impulses(World::Impl& w) {
  for (std::size_t t = 0; t < w.trees.size(); ++t) w.from_outside[t] = {};
  const auto add = [&](const ImpulseRow& row, double impulse) {
    if (impulse == 0 || w.tree_of[row.body] == w.tree_of[row.other]) return;
    add_impulse(w, row.body, impulse, row);
    add_impulse(w, row.other, -impulse, row);
  };
  for (int i = 0; i < w.rows.size(); ++i)  // further parts are joints', inside one tree
    add(w.rows.impulses[i], w.total[i]);
  for (std::size_t i = 0; i < w.penalty_rows.size(); ++i) add(w.penalty_rows[i], w.penalty_impulses[i]);
}

/// The impulse that a free joint itself gives, at its body's origin. What its dampers and springs give at the
/// end of the step is known by now.
Force joint_impulse(const World::Impl& w, const Body& root, double h) {
  Eigen::Matrix<double, 6, 1> given;
  for (int k = 0, i = root.first_v; k < 6; ++k, ++i)
    given[k] = h * w.tau[i] - w.implicit[i] * (w.state.v[i] - w.v_before[i]);
  const Mat3 F = root.R_PF;
  return {F * given.tail<3>(), F * given.head<3>()};
}

/// (1), of forces on bodies and on the free joint itself.
void add_forces(World::Impl& w, int t, double h) {
  const Tree& tree = w.model.trees[t];
  TreeMotion& m = w.motions[t];
  const auto add = [&](int body, const Force& at_origin) {
    m.momentum = m.momentum + at_origin.shifted(m.center - Vec3(w.ws.pose[body].p));
  };
  m.momentum.force += h * m.mass * w.model.gravity;
  for (int i = tree.first; i < tree.last && !w.applied.empty(); ++i) add(i, w.f_ext[i] * h);
  const Force joint = joint_impulse(w, w.model.bodies[tree.first], h);
  if (!joint.moment.isZero(0) || !joint.force.isZero(0)) add(tree.first, joint);
}

/// The rigid motion that is missing.
struct Missing {
  Vec3 shift, velocity, turn, center;
};

/// @param gained  dP of (3)
Missing missing(const TreeMotion& wanted, const TreeMotion& now, const Vec3& gained, double h) {
  const Vec3 way = h * (wanted.momentum.force - 0.5 * gained) / wanted.mass;  // (3)
  return {wanted.center + way - now.center, (wanted.momentum.force - now.momentum.force) / now.mass,
          spin_with(now, wanted.momentum.moment - now.momentum.moment), now.center};
}

void give(World::Impl& w, int t, const Missing& m, bool shifts) {
  const Body& root = w.model.bodies[w.model.trees[t].first];
  const Vec3 arm = Vec3(w.ws.pose[w.model.trees[t].first].p) - m.center;
  const Mat3 to_F = Mat3(root.R_PF).transpose();
  const Vec3 linear = to_F * (m.velocity + m.turn.cross(arm)), angular = to_F * m.turn;  // (2)
  const Vec3 shift = shifts ? Vec3(to_F * m.shift) : Vec3::Zero();
  for (int k = 0; k < 3; ++k) {
    w.state.v[root.first_v + k] += linear[k];
    w.state.v[root.first_v + 3 + k] += angular[k];
    w.state.q[root.first_q + k] += shift[k];
  }
}

}  // namespace

Vec3 World::Impl::smooth_change(int t, double h) const {
  const Tree& tree = model.trees[t];
  double mass = 0;
  Vec3 impulse = joint_impulse(*this, model.bodies[tree.first], h).force;
  for (int i = tree.first; i < tree.last; ++i) {
    mass += model.bodies[i].mass;
    if (!applied.empty()) impulse += h * f_ext[i].force;
  }
  return h * model.gravity + impulse / mass;
}

void World::Impl::find_floating() {
  any_groups = false;
  if (!find_free(*this)) return;
  find_touched(*this);
  find_groups(*this);
  if (std::any_of(floats.begin(), floats.end(), [](const Floating& f) { return f.counts(); }))
    sum_impulses(*this);
}

void World::Impl::remember_momentum(int t, double h) {
  if (!floats[t].counts()) return;
  TreeMotion& m = motions[t] = tree_motion(model, ws, model.trees[t]);
  const Vec3 before = m.momentum.force;
  add_forces(*this, t, h);
  gained[t] = m.momentum.force - before;
  m.momentum = m.momentum + from_outside[t].shifted(m.center - Vec3(ws.pose[model.trees[t].first].p));
}

void World::Impl::give_momentum_back(int t, double h) {
  if (!floats[t].keeps) return;
  const Tree& tree = model.trees[t];
  update_poses(model, state, tree, ws);
  update_velocities(model, state, tree, ws);
  const bool alone = floats[t].free && !floats[t].touched;
  give(*this, t, missing(motions[t], tree_motion(model, ws, tree), gained[t], h), alone);
}

void World::Impl::keep_group_momentum(double h) {
  if (!any_groups) return;
  update_poses(model, state, ws);
  update_velocities(model, state, ws);
  members.clear();  // (leader, tree)
  for (std::size_t t = 0; t < trees.size(); ++t)
    if (floats[t].grouped) members.emplace_back(root_of(static_cast<int>(t)), static_cast<std::int32_t>(t));
  std::sort(members.begin(), members.end());
  for (auto first = members.begin(), last = first; first != members.end(); first = last) {
    bool moved_whole = true;
    Vec3 all_gained = Vec3::Zero();
    group_wanted.clear();
    group_now.clear();
    for (; last != members.end() && last->first == first->first; ++last) {
      group_wanted.push_back(motions[last->second]);
      group_now.push_back(tree_motion(model, ws, model.trees[last->second]));
      all_gained += gained[last->second];
      moved_whole = moved_whole && !slowed[last->second];
    }
    const Missing lost = missing(sum_of(group_wanted), sum_of(group_now), all_gained, h);
    for (auto m = first; m != last; ++m) give(*this, m->second, lost, moved_whole);  // (4)
  }
}

}  // namespace karakuri
