// What the ledger (energy_ledger.cc) and what it takes away (energy_excess.cc) share.
#pragma once

#include "world/impl.h"

namespace karakuri::world_detail {

/// Of the energy of motion that may be taken away while the way stays as it is: the two part by half of that.
inline constexpr double kLittle = 0.1;

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

}  // namespace karakuri::world_detail
