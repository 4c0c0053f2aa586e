#include "collision/broadphase/clusters.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "core/simd.h"

namespace karakuri::collision_detail {

namespace {

/// Groups meet whatever their filters are: those of their members decide.
constexpr CollisionFilter kAny = {.category = ~0u};

bool is_finite(const Aabb& b) { return b.lo.allFinite() && b.hi.allFinite(); }

/// As Broadphase::Options has it; what is without end stays as it is.
Aabb fattened(const Aabb& b) {
  return is_finite(b) ? b.grown(Broadphase::Options{}.fat_share * b.half().maxCoeff()) : b;
}

}  // namespace

bool ClusteredBroadphase::is_excluded(ProxyId a, ProxyId b) const {
  return std::binary_search(excluded_.begin(), excluded_.end(), ProxyPair{a, b});
}

bool ClusteredBroadphase::accepts(const Member& a, const Member& b) const {
  return !(a.fixed && b.fixed) && a.filter.accepts(b.filter);
}

void ClusteredBroadphase::insert(const Aabb& box, const CollisionFilter& filter, bool fixed, int cluster) {
  const auto id = static_cast<ProxyId>(members_.size());
  const bool may_join = cluster >= 0 && is_finite(box) && !fixed;
  if (!may_join || cluster != last_cluster_ || groups_.back().count == kMost) {
    groups_.push_back({.first = id});
    broad_.insert(box, clusters_ > 0 ? kAny : filter, fixed);
  }
  last_cluster_ = may_join ? cluster : -1;
  const auto at = static_cast<std::int32_t>(groups_.size()) - 1;
  Group& group = groups_.back();
  members_.push_back({.box = box, .fat = box, .filter = filter, .group = at, .fixed = fixed});
  if (++group.count == 2) begin_cluster(group);
  if (group.count > 1) store(group, id);
  mark(at);
  rules_changed(id);
}

/// A group gets a second member.
void ClusteredBroadphase::begin_cluster(Group& group) {
  if (++clusters_ == 1)
    for (std::size_t g = 0; g < groups_.size(); ++g) broad_.set_filter(static_cast<ProxyId>(g), kAny);
  group.boxes = static_cast<std::int32_t>(boxes_.size());
  Boxes& none = boxes_.emplace_back();
  for (int c = 0; c < 3; ++c) {
    std::fill_n(none.lo[c], kMost, std::numeric_limits<double>::infinity());
    std::fill_n(none.hi[c], kMost, -std::numeric_limits<double>::infinity());
  }
  store(group, group.first);
}

void ClusteredBroadphase::mark(std::int32_t group) {
  if (groups_[group].moved) return;
  groups_[group].moved = true;
  moved_.push_back(group);
}

void ClusteredBroadphase::store(const Group& group, ProxyId id) {
  Boxes& boxes = boxes_[group.boxes];
  for (int c = 0; c < 3; ++c) {
    boxes.lo[c][id - group.first] = members_[id].fat.lo[c];
    boxes.hi[c][id - group.first] = members_[id].fat.hi[c];
  }
}

void ClusteredBroadphase::move(ProxyId id, const Aabb& box) {
  Member& member = members_[id];
  const Group& group = groups_[member.group];
  if (group.count == 1) broad_.move(member.group, box);
  if (group.count > 1 && !is_finite(box)) return;  // stays where it is
  member.box = box;
  if (clusters_ == 0 || member.fat.contains(box)) return;
  member.fat = fattened(box);
  if (group.count > 1) store(group, id);
  mark(member.group);
}

/// Which of its own a cluster has to compare.
void ClusteredBroadphase::find_partners(const Group& group) {
  for (int i = 0; i < group.count; ++i) {
    Member& a = members_[group.first + i];
    a.partners = 0;
    for (int k = i + 1; k < group.count; ++k)
      if (accepts(a, members_[group.first + k]) && !is_excluded(group.first + i, group.first + k))
        a.partners |= 1u << k;
  }
}

void ClusteredBroadphase::rules_changed(ProxyId id) {
  if (const Group& group = groups_[members_[id].group]; group.count > 1) find_partners(group);
  stale_ = true;
}

void ClusteredBroadphase::exclude(ProxyId a, ProxyId b) {
  for (const ProxyPair& pair : {ProxyPair{a, b}, ProxyPair{b, a}}) {
    const auto at = std::lower_bound(excluded_.begin(), excluded_.end(), pair);
    if (at == excluded_.end() || *at != pair) excluded_.insert(at, pair);
  }
  Member &x = members_[a], &y = members_[b];
  stale_ = true;
  if (x.group == y.group) {
    const ProxyId first = groups_[x.group].first;
    members_[std::min(a, b)].partners &= ~(1u << (std::max(a, b) - first));
  } else if (groups_[x.group].count == 1 && groups_[y.group].count == 1) {
    broad_.exclude(x.group, y.group);
  } else {
    x.excepts = y.excepts = true;
  }
}

void ClusteredBroadphase::include(ProxyId a, ProxyId b) {
  std::erase_if(excluded_, [&](const ProxyPair& p) { return p == ProxyPair{a, b} || p == ProxyPair{b, a}; });
  broad_.include(members_[a].group, members_[b].group);
  rules_changed(a);
}

void ClusteredBroadphase::include_all(std::span<const ProxyId> ids) {
  std::vector<bool> named(members_.size());
  std::vector<ProxyId> alone;
  for (const ProxyId id : ids) {
    named[id] = true;
    if (groups_[members_[id].group].count == 1) alone.push_back(members_[id].group);
  }
  std::erase_if(excluded_, [&](const ProxyPair& p) { return named[p.a] || named[p.b]; });
  broad_.include_all(alone);
  for (const ProxyId id : ids) rules_changed(id);
}

void ClusteredBroadphase::set_fixed(ProxyId id, bool fixed) {
  if (members_[id].fixed == fixed) return;
  members_[id].fixed = fixed;
  if (groups_[members_[id].group].count == 1) broad_.set_fixed(members_[id].group, fixed);
  rules_changed(id);
}

/// The box of a group.
void ClusteredBroadphase::fit(Group& group) {
  group.box = {};
  for (int k = 0; k < group.count; ++k) group.box.add(members_[group.first + k].fat);
  if (group.count > 1) broad_.move(static_cast<ProxyId>(&group - groups_.data()), group.box);
  group.moved = false;
  group.dirty = true;
}

/// Boxes of a cluster, from number `from` on, that a box overlaps, as bits; some before it may be among them.
std::uint32_t ClusteredBroadphase::met_by(const Aabb& box, const Group& group, int from) const {
  const Boxes& boxes = boxes_[group.boxes];
  simd::V4 lo[3], hi[3];
  for (int c = 0; c < 3; ++c) lo[c] = simd::broadcast(box.lo[c]), hi[c] = simd::broadcast(box.hi[c]);
  std::uint32_t bits = 0;
  for (int k = from / 4 * 4; k < group.count; k += 4) {
    const auto met = [&](int c) {
      return (simd::load4(boxes.lo[c] + k) <= hi[c]) & (simd::load4(boxes.hi[c] + k) >= lo[c]);
    };
    bits |= simd::bits_of(met(0) & met(1) & met(2)) << k;
  }
  return bits & (~0u >> (kMost - group.count));  // lanes without a box meet one that has no end
}

/// Pairs of member k of a group with those after it. @param partners  Of its group, ascending.
void ClusteredBroadphase::expand_member(const Group& group, int k, std::span<const ProxyPair> partners) {
  const ProxyId a = group.first + k;
  const Member& member = members_[a];
  const bool is_wanted = group.wanted >> k & 1;
  const auto wanted_of = [&](const Group& other) { return is_wanted ? ~0u : other.wanted; };
  if (std::uint32_t bits = member.partners & wanted_of(group); bits != 0) {
    for (bits &= met_by(member.fat, group, k); bits != 0; bits &= bits - 1)
      expanded_.push_back({a, group.first + static_cast<ProxyId>(std::countr_zero(bits))});
  }
  for (std::size_t p = 0; p < partners.size(); ++p) {
    const Group& other = groups_[partners[p].b];
    if (!(near_[p] >> k & 1) || wanted_of(other) == 0) continue;
    std::uint32_t bits = other.count > 1 ? met_by(member.fat, other, 0) : 1u;
    for (bits &= wanted_of(other); bits != 0; bits &= bits - 1) {
      const ProxyId b = other.first + static_cast<ProxyId>(std::countr_zero(bits));
      const bool excluded = member.excepts && members_[b].excepts && is_excluded(a, b);
      if (!excluded && accepts(member, members_[b])) expanded_.push_back({a, b});
    }
  }
}

/// Pairs of a group's members, with each other and with those of its partners, which come after it.
void ClusteredBroadphase::expand_group(const Group& group, std::span<const ProxyPair> partners) {
  near_.clear();
  for (const ProxyPair& pair : partners)
    near_.push_back(group.count > 1 ? met_by(groups_[pair.b].box, group, 0) : 1u);
  for (int k = 0; k < group.count; ++k) expand_member(group, k, partners);
}

/// Calls visit(group, its partners).
template <class Visit>
void ClusteredBroadphase::for_each_group(Visit&& visit) {
  std::span<const ProxyPair> left = broad_.pairs();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::size_t count = 0;
    while (count < left.size() && left[count].a == static_cast<ProxyId>(g)) ++count;
    visit(groups_[g], left.first(count));
    left = left.subspan(count);
  }
}

void ClusteredBroadphase::update_groups() {
  for (const std::int32_t g : moved_) fit(groups_[g]);
  dirty_ = dirty_ || !moved_.empty();
  moved_.clear();
  if (broad_.update()) stale_ = true;
}

bool ClusteredBroadphase::update() {
  update_groups();
  const bool all = std::exchange(stale_, false), any = std::exchange(dirty_, false);
  if (clusters_ == 0) return all;
  if (!all && !any) return false;
  expanded_.clear();
  const auto is_dirty = [&](const ProxyPair& pair) { return groups_[pair.b].dirty; };
  for_each_group([&](Group& group, std::span<const ProxyPair> partners) {
    const std::size_t begin = expanded_.size();
    group.wanted = ~0u;
    if (all || group.dirty || std::any_of(partners.begin(), partners.end(), is_dirty)) {
      expand_group(group, partners);
    } else {
      const bool last = &group == &groups_.back();
      const std::size_t end = last ? pairs_.size() : (&group + 1)->pairs;
      expanded_.insert(expanded_.end(), pairs_.begin() + group.pairs, pairs_.begin() + end);
    }
    group.pairs = begin;
  });
  for (Group& group : groups_) group.dirty = false;
  const bool changed = expanded_ != pairs_;
  pairs_.swap(expanded_);
  return changed;
}

std::span<const ProxyPair> ClusteredBroadphase::pairs_of(std::span<const std::uint8_t> wanted) {
  update_groups();
  for (Group& group : groups_) {
    group.wanted = 0;
    for (int k = 0; k < group.count; ++k) group.wanted |= std::uint32_t{wanted[group.first + k] != 0} << k;
  }
  expanded_.clear();
  const auto is_wanted = [&](const ProxyPair& pair) { return groups_[pair.b].wanted != 0; };
  for_each_group([&](const Group& group, std::span<const ProxyPair> partners) {
    if (group.wanted != 0 || std::any_of(partners.begin(), partners.end(), is_wanted))
      expand_group(group, partners);
  });
  return expanded_;
}

}  // namespace karakuri::collision_detail
