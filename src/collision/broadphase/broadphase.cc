// A binary tree of boxes that is changed, not rebuilt. A leaf goes where it adds least surface:
//   cost of making N the sibling = area(N + L) + sum over ancestors A of (area(A + L) - area(A)) (1)
// found by going down to the cheaper child while its lower bound can still win (Catto, "Dynamic bounding
// volume hierarchies", GDC 2019). On the way up grandchildren are exchanged with uncles where that shrinks a
// box (2). A leaf that moves a little only changes the boxes above it; every few times it is inserted anew,
// which keeps the tree good. Pairs are kept from step to step: a pair can begin only if one of its boxes was
// re-inserted, and end only likewise, so update() asks the tree for the moved leaves alone, drops the pairs
// that parted, and merges two sorted lists.
#include "karakuri/collision/broadphase.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace karakuri {

namespace {

float down(double x) {
  const float f = static_cast<float>(x);
  return static_cast<double>(f) <= x ? f : std::nextafter(f, -std::numeric_limits<float>::infinity());
}
float up(double x) { return -down(-x); }

using Four = float __attribute__((vector_size(16)));
using Mask = std::int32_t __attribute__((vector_size(16)));

inline Four load(const float* p) {
  Four v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class Box>
inline bool overlap_boxes(const Box& a, const Box& b) {
  const Mask near = (load(a.lo) <= load(b.hi)) & (load(b.lo) <= load(a.hi));
  std::int64_t half[2];
  std::memcpy(half, &near, sizeof half);
  return (half[0] & half[1]) == -1;
}
template <class Box>
inline Box join(const Box& a, const Box& b) {
  Box r;
  for (int k = 0; k < 4; ++k) r.lo[k] = std::min(a.lo[k], b.lo[k]), r.hi[k] = std::max(a.hi[k], b.hi[k]);
  return r;
}
template <class Box>
inline float area(const Box& b) {
  const float x = b.hi[0] - b.lo[0], y = b.hi[1] - b.lo[1], z = b.hi[2] - b.lo[2];
  return x * y + y * z + z * x;
}

bool bounded(const Aabb& b) { return b.lo.allFinite() && b.hi.allFinite(); }

ProxyPair ordered(ProxyId a, ProxyId b) { return a < b ? ProxyPair{a, b} : ProxyPair{b, a}; }

}  // namespace

Broadphase::Box Broadphase::outward(const Aabb& b) {
  Box r;
  for (int k = 0; k < 3; ++k) r.lo[k] = down(b.lo[k]), r.hi[k] = up(b.hi[k]);
  return r;
}

Aabb Broadphase::exact(const Box& b) {
  return {Vec3(b.lo[0], b.lo[1], b.lo[2]), Vec3(b.hi[0], b.hi[1], b.hi[2])};
}

std::int32_t Broadphase::take_node() {
  if (free_nodes_.empty()) {
    nodes_.emplace_back();
    parent_.push_back(-1);
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }
  const std::int32_t n = free_nodes_.back();
  free_nodes_.pop_back();
  return n;
}

void Broadphase::insert_leaf(std::int32_t leaf) {
  if (root_ < 0) {
    root_ = leaf;
    parent_[leaf] = -1;
    return;
  }
  const Box box = nodes_[leaf].box;
  const float own = area(box);
  std::int32_t at = root_, best = root_;
  float inherited = 0, best_cost = area(join(nodes_[root_].box, box));
  while (!nodes_[at].leaf()) {  // (1)
    const float grown = area(join(nodes_[at].box, box));
    inherited += grown - area(nodes_[at].box);
    const std::int32_t child[2] = {nodes_[at].left, nodes_[at].right};
    float bound[2];
    for (int k = 0; k < 2; ++k) {
      const Node& c = nodes_[child[k]];
      const float direct = area(join(c.box, box)) + inherited;
      if (direct < best_cost) best_cost = direct, best = child[k];
      bound[k] = c.leaf() ? std::numeric_limits<float>::infinity() : direct - area(c.box) + own;
    }
    if (std::min(bound[0], bound[1]) >= best_cost) break;
    at = child[bound[0] <= bound[1] ? 0 : 1];
  }
  const std::int32_t above = parent_[best], joint = take_node();
  nodes_[joint].left = best, nodes_[joint].right = leaf;
  nodes_[joint].box = join(nodes_[best].box, box);
  parent_[joint] = above, parent_[best] = joint, parent_[leaf] = joint;
  if (above < 0) {
    root_ = joint;
  } else {
    (nodes_[above].left == best ? nodes_[above].left : nodes_[above].right) = joint;
  }
  refit(above);
}

void Broadphase::remove_leaf(std::int32_t leaf) {
  const std::int32_t above = parent_[leaf];
  if (above < 0) {
    root_ = -1;
    return;
  }
  const std::int32_t sibling = nodes_[above].left == leaf ? nodes_[above].right : nodes_[above].left;
  const std::int32_t top = parent_[above];
  parent_[sibling] = top;
  if (top < 0) {
    root_ = sibling;
  } else {
    (nodes_[top].left == above ? nodes_[top].left : nodes_[top].right) = sibling;
  }
  nodes_[above] = {};
  free_nodes_.push_back(above);
  fit_boxes(top);
}

void Broadphase::refit(std::int32_t node) {
  for (; node >= 0; node = parent_[node]) {
    nodes_[node].box = join(nodes_[nodes_[node].left].box, nodes_[nodes_[node].right].box);
    rotate(node);
  }
}

/// Fits the boxes from `node` upwards to what is below them, as far as they change.
void Broadphase::fit_boxes(std::int32_t node) {
  for (; node >= 0; node = parent_[node]) {
    const Box joined = join(nodes_[nodes_[node].left].box, nodes_[nodes_[node].right].box);
    if (std::memcmp(&joined, &nodes_[node].box, sizeof joined) == 0) return;
    nodes_[node].box = joined;
  }
}

/// Gives a leaf another box where it is.
void Broadphase::change_leaf(std::int32_t leaf, const Box& box) {
  nodes_[leaf].box = box;
  fit_boxes(parent_[leaf]);
}

// (2): the exchange of a child with a grandchild on the other side that shrinks a box most.
void Broadphase::rotate(std::int32_t node) {
  Node& a = nodes_[node];
  float best = 0;
  std::int32_t swap_child = -1, swap_grand = -1;
  for (const auto& [child, other] : {std::pair{a.left, a.right}, std::pair{a.right, a.left}}) {
    const Node& o = nodes_[other];
    if (o.leaf()) continue;
    const float now = area(o.box);
    const float gain_left =
        now - area(join(nodes_[child].box, nodes_[o.right].box));  // child takes left's place
    const float gain_right = now - area(join(nodes_[child].box, nodes_[o.left].box));
    if (gain_left > best) best = gain_left, swap_child = child, swap_grand = o.left;
    if (gain_right > best) best = gain_right, swap_child = child, swap_grand = o.right;
  }
  if (swap_child < 0) return;
  const std::int32_t other = parent_[swap_grand];
  (a.left == swap_child ? a.left : a.right) = swap_grand;
  (nodes_[other].left == swap_grand ? nodes_[other].left : nodes_[other].right) = swap_child;
  parent_[swap_grand] = node, parent_[swap_child] = other;
  nodes_[other].box = join(nodes_[nodes_[other].left].box, nodes_[nodes_[other].right].box);
}

void Broadphase::mark(ProxyId id) {
  if (is_moved_[id]) return;
  is_moved_[id] = 1;
  moved_.push_back(id);
}

Broadphase::Box Broadphase::fattened(const Proxy& p, const Aabb& box) const {
  if (p.fixed) return outward(box);
  const double half = box.half().maxCoeff();
  // what has no end has a surface that may still be left, and no size
  Aabb grown = box.grown(std::isfinite(half) ? std::min(options_.fat, options_.fat_share * half) : 0);
  const Vec3 step = box.center() - p.box.center();
  if (p.node >= 0 && step.allFinite()) {
    // a jump is no velocity: stretch by no more than the box's own size
    const Vec3 ahead = (options_.ahead * step).cwiseMax(-half).cwiseMin(half);
    grown.lo += ahead.cwiseMin(0.0), grown.hi += ahead.cwiseMax(0.0);
  }
  return outward(grown);
}

ProxyId Broadphase::insert(const Aabb& box, const CollisionFilter& filter, bool fixed) {
  ProxyId id;
  if (free_proxies_.empty()) {
    id = static_cast<ProxyId>(proxies_.size());
    proxies_.emplace_back();
    is_moved_.push_back(0);
  } else {
    const auto lowest = std::min_element(free_proxies_.begin(), free_proxies_.end());
    id = *lowest;
    *lowest = free_proxies_.back();
    free_proxies_.pop_back();
  }
  Proxy& p = proxies_[id];
  p = {box, filter, -1, true, fixed};
  ++count_;
  mark(id);
  if (!bounded(box)) {
    unbounded_.insert(std::lower_bound(unbounded_.begin(), unbounded_.end(), id), id);
    return id;
  }
  const std::int32_t leaf = take_node();
  nodes_[leaf].box = fattened(p, box);
  nodes_[leaf].left = id, nodes_[leaf].right = -1;
  p.node = leaf;
  insert_leaf(leaf);
  return id;
}

void Broadphase::remove(ProxyId id) {
  Proxy& p = proxies_[id];
  if (p.node >= 0) {
    remove_leaf(p.node);
    nodes_[p.node] = {};
    free_nodes_.push_back(p.node);
  } else {
    std::erase(unbounded_, id);
  }
  std::erase_if(pairs_, [&](const ProxyPair& q) { return q.a == id || q.b == id; });
  std::erase_if(excluded_, [&](const ProxyPair& q) { return q.a == id || q.b == id; });
  std::erase(moved_, id);
  is_moved_[id] = 0;
  p = {};
  free_proxies_.push_back(id);
  --count_;
}

void Broadphase::move(ProxyId id, const Aabb& box) {
  Proxy& p = proxies_[id];
  if (p.node < 0 || !bounded(box)) {  // unbounded, or no longer finite: leave it where it is
    if (p.node < 0) p.box = box, mark(id);
    return;
  }
  if (exact(nodes_[p.node].box).contains(box)) {
    p.box = box;
    return;
  }
  constexpr int kStays = 8;
  const Box fat = fattened(p, box);
  p.box = box;
  mark(id);
  if (overlap_boxes(fat, nodes_[p.node].box) && ++p.stays % kStays != 0) return change_leaf(p.node, fat);
  remove_leaf(p.node);
  nodes_[p.node].box = fat;
  insert_leaf(p.node);
}

void Broadphase::set_filter(ProxyId id, const CollisionFilter& filter) {
  proxies_[id].filter = filter;
  mark(id);
}

void Broadphase::exclude(ProxyId a, ProxyId b) {
  for (const ProxyPair& pair : {ProxyPair{a, b}, ProxyPair{b, a}}) {
    const auto at = std::lower_bound(excluded_.begin(), excluded_.end(), pair);
    if (at == excluded_.end() || *at != pair) excluded_.insert(at, pair);
  }
  mark(a), mark(b);
}

void Broadphase::include(ProxyId a, ProxyId b) {
  std::erase(excluded_, ProxyPair{a, b});
  std::erase(excluded_, ProxyPair{b, a});
  mark(a), mark(b);
}

void Broadphase::include_all(std::span<const ProxyId> ids) {
  std::vector<bool> named(proxies_.size());
  for (const ProxyId id : ids) named[id] = true, mark(id);
  std::erase_if(excluded_, [&](const ProxyPair& p) { return named[p.a] || named[p.b]; });
}

void Broadphase::set_fixed(ProxyId id, bool fixed) {
  proxies_[id].fixed = fixed;
  mark(id);
}

void Broadphase::find_new_pairs(ProxyId id) {
  const Proxy& p = proxies_[id];
  const auto first = std::lower_bound(excluded_.begin(), excluded_.end(), ProxyPair{id, -1});
  const auto is_excluded = [&](ProxyId other) {
    for (auto at = first; at != excluded_.end() && at->a == id; ++at)
      if (at->b == other) return true;
    return false;
  };
  const auto consider = [&](ProxyId other) {
    const Proxy& q = proxies_[other];
    // two moved ones find each other twice; the lower id reports
    if (other == id || (is_moved_[other] && other < id)) return;
    if ((p.fixed && q.fixed) || !p.filter.accepts(q.filter) || is_excluded(other)) return;
    fresh_.push_back(ordered(id, other));
  };
  if (p.node < 0) {
    for (ProxyId other = 0; other < static_cast<ProxyId>(proxies_.size()); ++other) {
      if (proxies_[other].used && proxies_[other].node >= 0) consider(other);
    }
    return;
  }
  for (ProxyId other : unbounded_) consider(other);
  const Box box = nodes_[p.node].box;
  if (to_meet_.size() < nodes_.size()) to_meet_.resize(nodes_.size());
  std::int32_t* top = to_meet_.data();
  const auto meet = [&](std::int32_t n) {
    if (!overlap_boxes(nodes_[n].box, box)) return;
    if (nodes_[n].leaf())
      consider(nodes_[n].left);
    else
      *top++ = n;
  };
  meet(root_);
  while (top != to_meet_.data()) {
    const Node& node = nodes_[*--top];
    meet(node.right);
    meet(node.left);
  }
}

bool Broadphase::update() {
  if (moved_.empty()) return false;
  fresh_.clear();
  for (ProxyId id : moved_) find_new_pairs(id);
  std::sort(fresh_.begin(), fresh_.end());
  // All pairs of moved proxies were found again just now; the others stand.
  merged_.clear();
  auto f = fresh_.begin();
  for (const ProxyPair& pair : pairs_) {
    if (is_moved_[pair.a] | is_moved_[pair.b]) continue;
    while (f != fresh_.end() && *f < pair) merged_.push_back(*f++);
    merged_.push_back(pair);
  }
  merged_.insert(merged_.end(), f, fresh_.end());
  for (ProxyId id : moved_) is_moved_[id] = 0;
  moved_.clear();
  if (merged_ == pairs_) return false;
  pairs_.swap(merged_);
  return true;
}

int Broadphase::height() const {
  int most = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    int depth = 0;
    for (std::int32_t n = static_cast<std::int32_t>(i); n >= 0; n = parent_[n]) ++depth;
    if (nodes_[i].leaf() && nodes_[i].left >= 0) most = std::max(most, depth);
  }
  return most;
}

}  // namespace karakuri
