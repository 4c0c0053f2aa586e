// Contacts of this step, matched with those of the last.
//
// A collider looks as far as it can move in the step, and half the contact margin further; two colliders are
// asked for contacts up to the sum of both. So every contact that can close within the step is known,
// whatever the fat boxes of the broad phase have been before: what is found depends on the state alone, and a
// restored world finds the same.
#include <algorithm>

#include "spatial/simd.h"
#include "world/impl.h"
#include "world/reach.h"

namespace karakuri {

using world_detail::BodyShape;
using world_detail::FoundContacts;
using world_detail::Slot;

namespace {

constexpr int kBatch = 64;  // pairs that one task looks at

/// What has fallen asleep is placed once more, where it came to rest and as a restored world places it.
/// @param fall  how far a body falls in the step at most, from rest [m]
void place(World::Impl& w, int i, double h, double fall) {
  const BodyShape& c = w.colliders[i];
  const int tree = w.tree_of[c.body];
  const bool awake = tree >= 0 && w.trees[tree].awake, is_placed = w.collider_placed[i] != 0;
  w.collider_awake[i] = awake;
  w.collider_placed[i] = !awake;
  if (!awake && is_placed) return;
  const Workspace::Velocity& v = w.ws.velocity[c.body];
  w.collider_pose[i] = world_detail::pose_of(w.ws, c);
  // an explicit step moves by the old velocity: contacts are solved for the step after it
  const double ahead = w.settings.integrator == Integrator::kExplicit ? 2 * h : h;
  w.reach[i] =
      0.5 * w.settings.contact_margin + (awake ? ahead * world_detail::speed_of(c, v.v, v.w) + fall : 0);
  w.broadphase.move(i, bounding_box(*c.shape, w.collider_pose[i]).grown(w.reach[i]));
}

/// The hints of pairs that were there in the last step too; both lists ascend.
void remember_hints(World::Impl& w) {
  const std::size_t count = w.broadphase.pairs().size();
  for (std::vector<World::Impl::PairMemory>* list : {&w.pairs, &w.pairs_before})  // both grow at once
    if (list->capacity() < count) list->reserve(2 * count);
  std::swap(w.pairs, w.pairs_before);
  w.pairs.clear();
  auto old = w.pairs_before.begin();
  for (const ProxyPair& pair : w.broadphase.pairs()) {
    while (old != w.pairs_before.end() && old->pair < pair) ++old;
    const bool known = old != w.pairs_before.end() && old->pair == pair;
    w.pairs.push_back({pair, known ? old->hint : PairHint{}});
  }
}

/// Two shapes may see each other from far when they are fast; a manifold taken from further than a part of
/// their size says little, and stop_fast_bodies.cc minds the rest.
double margin_of(const World::Impl& w, int a, int b) {
  const double size = std::min(w.colliders[a].inner_radius, w.colliders[b].inner_radius);
  return std::min(w.reach[a] + w.reach[b], w.settings.contact_margin + size);
}

/// Without branches: whether boxes overlap is not to be guessed.
bool overlap(const Aabb& a, const Aabb& b) {
  int apart = 0;
  for (int k = 0; k < 3; ++k) apart |= int{a.lo[k] > b.hi[k]} | int{b.lo[k] > a.hi[k]};
  return apart == 0;
}

bool has_many_parts(const World::Impl& w, const ProxyPair& pair) {
  return w.colliders[pair.a].has_many_parts || w.colliders[pair.b].has_many_parts;
}

/// @param granted  to each pair that may have more contacts than there is time for [multiplications]
void collide_batch(World::Impl& w, int batch, double granted, Slot& slot) {
  FoundContacts& found = w.found[batch];
  found.pairs.clear();
  found.manifolds.clear();
  found.cut = 0;
  const int last = std::min<int>((batch + 1) * kBatch, static_cast<int>(w.pairs.size()));
  for (int i = batch * kBatch; i < last; ++i) {
    const auto [a, b] = w.pairs[i].pair;
    // Grown by reach: nothing is missed. Of what sleeps, too: which other pairs there are depends on the
    // past.
    if (!overlap(w.broadphase.box(a), w.broadphase.box(b))) continue;
    if (!w.collider_awake[a] && !w.collider_awake[b]) {
      found.pairs.push_back({i, FoundContacts::kUnchanged});
      continue;
    }
    const std::size_t before = found.manifolds.size();
    collide(*w.colliders[a].shape, w.collider_pose[a], *w.colliders[b].shape, w.collider_pose[b],
            {.margin = margin_of(w, a, b), .max_work = granted}, slot.collision, found.manifolds,
            &w.pairs[i].hint);
    if (has_many_parts(w, w.pairs[i].pair)) {
      found.work += slot.collision.work();
      found.cut += slot.collision.cut();
    }
    if (const auto count = static_cast<std::int32_t>(found.manifolds.size() - before); count > 0)
      found.pairs.push_back({i, count});
  }
}

/// Contacts of all pairs, within the settings' work. What meshes and terrain may cost is first shared out
/// evenly among all pairs that have such; what some of them need less, those that are cut get in a second
/// round. So no clock is asked, and the order in which threads come by does not matter.
void collide_all(World::Impl& w, int batches, double h) {
  constexpr double kShare = 1.0 / 8;  // of a step's work, in each of two rounds of two attempts
  constexpr double kLeast = 2e5;      // granted to each pair: some sixty triangles
  const double all = kShare * w.settings.max_work * (h / w.settings.dt);
  const auto granted = [&](std::ptrdiff_t pairs) {
    return std::max(kLeast, all / static_cast<double>(std::max<std::ptrdiff_t>(1, pairs)));
  };
  const auto is_many = [&](const auto& p) { return has_many_parts(w, p.pair); };
  const auto many = w.has_many_parts ? std::count_if(w.pairs.begin(), w.pairs.end(), is_many) : 0;
  for (int batch = 0; batch < batches; ++batch) w.found[batch].work = 0;
  w.parallel.for_each(batches,
                      [&](int batch, int slot) { collide_batch(w, batch, granted(many), w.slots[slot]); });
  const auto cut = [&] {
    int sum = 0;
    for (int batch = 0; batch < batches; ++batch) sum += w.found[batch].cut;
    return sum;
  };
  if (const int first = cut(); first > 0 && first < many)
    w.parallel.for_each(batches, [&](int batch, int slot) {
      if (w.found[batch].cut > 0) collide_batch(w, batch, granted(first), w.slots[slot]);
    });
  for (int batch = 0; batch < batches; ++batch) w.report.budget.work += w.found[batch].work;
  w.report.budget.cut += cut();
}

void make_contact(const World::Impl& w, ProxyPair pair, const Manifold& m, int k, Contact& c) {
  c.link_a = w.colliders[pair.a].link;
  c.link_b = w.colliders[pair.b].link;
  c.collider_a = pair.a;
  c.collider_b = pair.b;
  c.part_a = m.part_a;
  c.part_b = m.part_b;
  c.feature = m.points[k].id();
  c.point = m.points[k].position;
  c.normal = m.normal;
  c.separation = m.points[k].separation;
}

ProxyPair pair_of(const Contact& c) { return {c.collider_a, c.collider_b}; }

/// What the next step starts from, handed over from the same contact of the last step.
void inherit(const Contact& old, Contact& c) {
  c.state = old.state;
  c.impulse = old.impulse;
  c.turning_impulse = old.turning_impulse;
  c.mobility = old.mobility;
  c.stretch = old.stretch - old.stretch.dot(c.normal) * c.normal;
}

/// Contacts of a pair, from `at` on, which goes to their end. All ascend by pair.
std::span<Contact> take_contacts(std::vector<Contact>& all, ProxyPair pair, std::size_t& at) {
  while (at < all.size() && pair_of(all[at]) < pair) ++at;
  const std::size_t first = at;
  while (at < all.size() && pair_of(all[at]) == pair) ++at;
  return {all.data() + first, at - first};
}

/// Matches contacts [first, end) with [old_first, old_last), all of one pair: by feature, else by place.
/// @param size  of the smaller shape [m]
void match(std::span<Contact> now, std::span<Contact> before, double size) {
  constexpr double kSamePlace = 6e-3;  // of the size
  for (Contact& c : now) {
    Contact* best = nullptr;
    double distance = kSamePlace * kSamePlace * size * size;
    for (Contact& old : before) {
      if (old.collider_a < 0 || old.part_a != c.part_a || old.part_b != c.part_b) continue;
      if (old.feature == c.feature) {
        best = &old;
        break;
      }
      const double d = (old.point - c.point).squaredNorm();
      if (d < distance) {
        distance = d;
        best = &old;
      }
    }
    if (!best) continue;
    inherit(*best, c);
    best->collider_a = -1;  // taken
  }
}

}  // namespace

Transform world_detail::pose_of(const Workspace& ws, const BodyShape& c) {
  const Workspace::Pose& pose = ws.pose[c.body];
  const simd::M3 R = simd::load(pose.R);
  const auto turned = [&](const Vec3& v) { return simd::combine(R, v.x(), v.y(), v.z()); };
  Transform X;
  for (int k = 0; k < 3; ++k) simd::store3(X.R.data() + 3 * k, turned(c.X_BS.R.col(k)));
  simd::store3(X.p.data(), simd::load(pose.p) + turned(c.X_BS.p));
  return X;
}

void World::Impl::detect(double h) {
  if (settings.contact == ContactModel::kNone) {
    contacts.clear();
    pairs.clear();
    return;
  }
  const double fall = h * h * model.gravity.norm();
  for (std::size_t i = 0; i < colliders.size(); ++i) place(*this, static_cast<int>(i), h, fall);
  if (broadphase.update() || pairs.size() != broadphase.pairs().size()) remember_hints(*this);
  const int batches = (static_cast<int>(pairs.size()) + kBatch - 1) / kBatch;
  if (static_cast<int>(found.size()) < batches) found.resize(batches);
  collide_all(*this, batches, h);

  std::swap(contacts, contacts_before);
  contacts.clear();
  std::size_t old = 0;
  for (int batch = 0; batch < batches; ++batch) {
    const Manifold* next = found[batch].manifolds.data();
    for (const auto& [i, count] : found[batch].pairs) {
      const ProxyPair pair = pairs[i].pair;
      const std::span<Contact> before = take_contacts(contacts_before, pair, old);
      if (count == FoundContacts::kUnchanged) {
        contacts.insert(contacts.end(), before.begin(), before.end());
        continue;
      }
      const std::size_t first = contacts.size();
      for (const Manifold* end = next + count; next != end; ++next)
        for (int k = 0; k < next->count; ++k) make_contact(*this, pair, *next, k, contacts.emplace_back());
      match({contacts.data() + first, contacts.size() - first}, before,
            std::min(colliders[pair.a].radius, colliders[pair.b].radius));
    }
  }
}

}  // namespace karakuri
