// What the ledger (energy_ledger.cc) and what it takes away (energy_excess.cc) share.
#pragma once

#include "world/impl.h"

namespace karakuri::world_detail {

/// Of the energy of motion that may be taken away while the way stays as it is: the two part by half of that.
inline constexpr double kLittle = 0.1;

// ---- sets

/// The first tree of the set.
inline int find_set(std::vector<EnergyAccount>& accounts, int t) {
  while (accounts[t].parent != t) t = accounts[t].parent = accounts[accounts[t].parent].parent;
  return t;
}

/// Calls f(t, tree) for the trees of a set.
template <class F>
void for_each_of(World::Impl& w, int set, F&& f) {
  for (int t = set; t >= 0; t = w.accounts[t].next) f(t, w.model.trees[t]);
}

/// Kinematics and energies of a tree, as its state is now.
void look(World::Impl& w, int t);

/// Whether the loops of a set stay open, or contradict each other, at the end of the step.
inline bool loops_contradict(const World::Impl& w, int t) {
  const std::vector<std::uint8_t>& by_root = w.loop_stage.contradicts;
  return w.accounts[t].holds && by_root.size() == w.trees.size() && by_root[w.root_of(t)];
}

/// What part the velocity at the end of the step has in the way of a tree.
inline double part_of_end(const World::Impl& w, int t) {
  switch (w.integrator_of(t)) {
    case Integrator::kExplicit: return 0;
    case Integrator::kRk4: return 0.5;
    default: return 1;
  }
}

/// Of a set, as its trees were looked at last [J].
struct EnergySum {
  double motion = 0, height = 0;
  double energy() const { return motion + height; }
};
inline EnergySum energies_of(World::Impl& w, int set) {
  EnergySum sum;
  for_each_of(w, set, [&](int t, const Tree&) {
    sum.motion += w.accounts[t].motion;
    sum.height += w.accounts[t].height;
  });
  return sum;
}

/// Slows a set down until it has no more than this, as far as that goes. @return What it has then.
EnergySum take_away(World::Impl& w, int set, double most);

/// Puts a set back to where it was at the start of the step. @return What it has then.
EnergySum stay(World::Impl& w, int set);

// ---- energy_work.cc

/// The tree in whose account the work of a row is entered.
inline int tree_of_row(const World::Impl& w, const ImpulseRow& first) {
  for (const ImpulseRow* row = &first; row; row = row->more)
    for (const int body : {row->body, row->other})
      if (w.tree_of[body] >= 0) return w.tree_of[body];
  return -1;
}

/// Whether a dof has a drive that is no row.
inline bool is_driven_freely(const World::Impl& w, int dof) {
  return !w.driven_dofs.empty() && w.drives[dof].is_set() && !w.drive_is_row[dof];
}

/// Of a drive that is no row, at a dof's velocity [N or N m].
double drive_effort_at(const World::Impl& w, int dof, double rate);

/// Whether any row may do work, or take some.
bool rows_do_work(const World::Impl& w);

/// Enters what rows have given to their trees.  @pre trial_velocity at the end of the step
void add_work_of_rows(World::Impl& w);

/// Of efforts, and of drives that are no rows, while a tree's velocities go to these.
double work_on_dofs(const World::Impl& w, const Tree& tree, const std::vector<double>& after);

/// Of forces, at the velocities at both ends of the step, whatever way the body turns meanwhile.
double work_of_forces(const World::Impl& w, const Tree& tree);

/// Of efforts and of all drives on a set, while its velocities go to these.
double driven_work(World::Impl& w, int set, const std::vector<double>& after);

// ---- energy_springs.cc

/// Whether a contact gives way by the model or the surface.
bool is_by_springs(const World::Impl& w, const Contact& c);

/// Enters what springs in place of contacts may give, by what they hold.  @pre add_work_of_rows()
void add_work_of_springs(World::Impl& w, double h);

/// Takes down what a set's springs hold after the step.
/// @param risen  beyond all else that it may
/// @return What they have given of what they might
double settle_springs(World::Impl& w, int set, double risen);

// ---- energy_work.cc

/// Enters what overlaps that come apart may lift.
void add_work_of_overlaps(World::Impl& w, double h);

/// Sums of what is kinematic gives through loops that are held, over sets.
void sum_held_work(World::Impl& w);

/// What that may be.
double work_of(const HeldWork& set);

}  // namespace karakuri::world_detail
