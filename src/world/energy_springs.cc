// What springs in place of contacts hold. They give back to the motion what they have taken, and no more:
// with the work of their impulses at the mean of the velocities at both ends of a step, which is what they
// change the energy of motion by,
//   B+ = min(B - given + taken, S)                                                                        (1)
// where S is the energy of their depths d and stretches s, at either end of the step,
//   S = sum k d^2 / 2 + k_t s^2 / 2                                                                       (2)
// So E + B falls, as E does where contacts are rigid. Depths that no motion has pressed into a spring, as
// overlaps at the start, store what it takes to lift the trees that push each other, as with rigid contacts,
//   B += m g max(0, d - d')                                                                               (3)
// beyond the depth d' that the step before has led to, whatever the stiffness: at m / h^2 it would throw them
// by ten times the depth and more. What springs would give beyond B is taken away (energy_excess.cc).
#include <algorithm>
#include <cmath>

#include "dynamics/relative_velocity.h"
#include "world/energy_ledger.h"
#include "world/penalty.h"

namespace karakuri::world_detail {

namespace {

/// Of a contact, where it has springs.
ContactSpring springs_of(const World::Impl& w, const Contact& c, double h) {
  const Surface& surface = w.surface_of(c.collider_a, c.collider_b);
  const int a = w.colliders[c.collider_a].body, b = w.colliders[c.collider_b].body;
  if (w.settings.contact == ContactModel::kPenalty) return contact_spring(w, a, b, surface, h);
  return {.stiffness = std::isfinite(surface.stiffness) ? surface.stiffness : 0};
}

/// How deep it is at either end of the step, at most.
double depth_of(const World::Impl& w, const Contact& c, double h) {
  const int a = w.colliders[c.collider_a].body, b = w.colliders[c.collider_b].body;
  const simd::V3 point = simd::v3(c.point), normal = simd::v3(c.normal);
  const double before = simd::dot(normal, kernel::relative_velocity(b, a, point, w.ws, w.ws.velocity).v),
               after = simd::dot(normal, kernel::relative_velocity(b, a, point, w.ws, w.trial_velocity).v);
  return -c.separation + h * std::max({0.0, -before, -after});
}

void add_stored(World::Impl& w, double h) {
  for (const Contact& c : w.contacts) {
    const ContactSpring s = springs_of(w, c, h);
    const double depth = s.stiffness > 0 ? depth_of(w, c, h) : 0;
    if (!(depth > 0)) continue;
    const double stored = 0.5 * (s.stiffness * depth * depth + s.along_stiffness * c.stretch.squaredNorm());
    bool entered = false;
    for (const int collider : {c.collider_b, c.collider_a}) {
      const int t = w.tree_of[w.colliders[collider].body];
      if (t < 0 || !w.accounts[t].counts) continue;
      if (!entered) w.accounts[t].contact.stored += stored;
      entered = true;
      EnergyAccount& a = w.accounts[t];
      a.contact.deeper = std::max(a.contact.deeper, -c.separation - w.trees[t].deep);
      w.deepest[t] = std::max(w.deepest[t], depth);
    }
  }
}

}  // namespace

bool is_by_springs(const World::Impl& w, const Contact& c) {
  return w.settings.contact == ContactModel::kPenalty ||
         std::isfinite(w.surface_of(c.collider_a, c.collider_b).stiffness);
}

void add_work_of_springs(World::Impl& w, double h) {
  const double g = w.scales.speed * w.scales.speed / w.scales.length;
  w.deepest.assign(w.trees.size(), 0.0);
  add_stored(w, h);
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    if (!w.accounts[t].counts) continue;
    ContactSprings& own = w.accounts[t].contact;
    own.mass = w.tree_mass[t];
    w.trees[t].deep = w.deepest[t];
    w.accounts[find_set(w.accounts, static_cast<int>(t))].set_contact += own;
  }
  for (EnergyAccount& a : w.accounts) {
    ContactSprings& set = a.set_contact;
    set.held = std::min(set.stored, set.held + set.mass * g * set.deeper);  // (1), (3)
    set.allowed = std::min(set.most, set.held + std::max(0.0, set.carried));
    a.work += set.allowed;
  }
}

double settle_springs(World::Impl& w, int set, double risen) {
  const ContactSprings& all = w.accounts[set].set_contact;
  const double given = std::clamp(risen, 0.0, all.allowed);
  const double held = std::max(0.0, all.held - given) + all.taken();  // (1)
  double parts = 0;
  const auto part_of = [&](int t) { return w.accounts[t].contact.stored + w.accounts[t].contact.taken(); };
  for_each_of(w, set, [&](int t, const Tree&) { parts += part_of(t); });
  for_each_of(w, set,
              [&](int t, const Tree&) { w.trees[t].sprung = parts > 0 ? held * (part_of(t) / parts) : 0; });
  return given;
}

}  // namespace karakuri::world_detail
