// Which shapes may touch: a dynamic tree of fat boxes, and the pairs whose boxes overlap.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "karakuri/collision/aabb.h"

namespace karakuri {

/// Which proxies collide. Two proxies of one group: always if it is positive, never if it is negative.
/// Otherwise each must have a bit of its category in the other's mask.
struct CollisionFilter {
  std::uint32_t category = 1;
  std::uint32_t mask = ~0u;
  std::int32_t group = 0;

  bool accepts(const CollisionFilter& o) const {
    if (group != 0 && group == o.group) return group > 0;
    return (category & o.mask) != 0 && (o.category & mask) != 0;
  }
};

using ProxyId = std::int32_t;
struct ProxyPair {
  ProxyId a, b;  // a < b
  friend auto operator<=>(const ProxyPair&, const ProxyPair&) = default;
};

/// Boxes come in, move and go; update() keeps the list of overlapping pairs up to date. Everything depends
/// only on the sequence of calls; ids are slots, the lowest free one first.
class Broadphase {
 public:
  struct Options {
    double fat_share = 0.1;  // boxes are stored larger by this share of their largest half width ...
    double fat = std::numeric_limits<double>::infinity();  // ... or this much [m], whichever is less
    double ahead = 8;  // ... and stretched by this many times the last displacement
  };
  Broadphase() : Broadphase(Options{}) {}
  explicit Broadphase(const Options& options) : options_(options) {}

  /// Unbounded boxes (planes) are allowed.
  ProxyId insert(const Aabb& box, const CollisionFilter& filter = {}, bool fixed = false);
  void remove(ProxyId id);
  /// Cheap when the box stays within the stored fat one.
  void move(ProxyId id, const Aabb& box);
  void set_filter(ProxyId id, const CollisionFilter& filter);
  /// Pairs that never collide, whatever the filters say (neighbouring links).
  void exclude(ProxyId a, ProxyId b);
  void include(ProxyId a, ProxyId b);
  /// Ends all exclusions that one of these takes part in.
  void include_all(std::span<const ProxyId> ids);
  /// Whether it stands still; it moves from then on, or does not.
  void set_fixed(ProxyId id, bool fixed);

  /// Recomputes the pairs after inserts, moves and removals. Two fixed proxies never pair.
  /// @return Whether the pairs have changed.
  bool update();
  /// Pairs whose fat boxes overlap and whose filters agree, in ascending order (a, then b).
  std::span<const ProxyPair> pairs() const { return pairs_; }

  const Aabb& box(ProxyId id) const { return proxies_[id].box; }  // as last given
  bool contains(ProxyId id) const {
    return id >= 0 && id < static_cast<ProxyId>(proxies_.size()) && proxies_[id].used;
  }
  int size() const { return count_; }
  int height() const;

  /// Calls visit(id) for every proxy whose box overlaps; stops when it returns false.
  template <class Visit>
  void query(const Aabb& box, Visit&& visit) const;
  /// Calls visit(id, limit) for the proxies whose boxes a moving box meets, on the way from `box` along d;
  /// `visit` returns the new limit of the parameter (1: the whole way), so that a hit shortens the search.
  template <class Visit>
  void cast(const Aabb& box, const Vec3& d, double limit, Visit&& visit) const;

 private:
  // Boxes in single precision, rounded outward: half the memory, and the fat is thousands of times the
  // rounding.
  struct Box {
    float lo[4] = {}, hi[4] = {};  // the fourth is 0: boxes are compared as vectors
  };
  struct Node {
    Box box;
    std::int32_t left = -1, right = -1;  // children; a leaf has right == -1 and its proxy in left
    bool leaf() const { return right < 0; }
  };
  struct Proxy {
    Aabb box;
    CollisionFilter filter;
    std::int32_t node = -1;
    bool used = false, fixed = false;
    std::uint8_t stays = 0;  // moves that left the leaf where it is in the tree
  };

  static Box outward(const Aabb& box);
  static Aabb exact(const Box& box);
  std::int32_t take_node();
  void insert_leaf(std::int32_t leaf);
  void remove_leaf(std::int32_t leaf);
  void refit(std::int32_t node);
  void fit_boxes(std::int32_t node);
  void change_leaf(std::int32_t leaf, const Box& box);
  void rotate(std::int32_t node);
  void mark(ProxyId id);
  void find_new_pairs(ProxyId id);
  Box fattened(const Proxy& p, const Aabb& box) const;

  Options options_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> parent_, free_nodes_;
  std::int32_t root_ = -1;
  std::vector<Proxy> proxies_;
  std::vector<ProxyId> free_proxies_, moved_;
  std::vector<std::uint8_t> is_moved_;  // by proxy
  std::vector<ProxyPair> pairs_, fresh_, merged_;
  std::vector<ProxyPair> excluded_;  // ascending; each pair both ways round
  std::vector<ProxyId> unbounded_;   // planes: tested against all, kept out of the tree
  int count_ = 0;
  std::vector<std::int32_t> to_meet_;        // of find_new_pairs()
  mutable std::vector<std::int32_t> stack_;  // of queries
};

// ---- templates ----------------------------------------------------------------------------------

template <class Visit>
void Broadphase::query(const Aabb& box, Visit&& visit) const {
  for (ProxyId id : unbounded_) {
    if (proxies_[id].box.overlaps(box) && !visit(id)) return;
  }
  if (root_ < 0) return;
  std::vector<std::int32_t>& stack = stack_;
  const std::size_t base = stack.size();
  stack.push_back(root_);
  while (stack.size() > base) {
    const Node& node = nodes_[stack.back()];
    stack.pop_back();
    if (!exact(node.box).overlaps(box)) continue;
    if (!node.leaf()) {
      stack.push_back(node.right), stack.push_back(node.left);
    } else if (proxies_[node.left].box.overlaps(box) && !visit(static_cast<ProxyId>(node.left))) {
      stack.resize(base);
      return;
    }
  }
}

/// Parameter at which a box moving along d first meets a still one, or more than `limit`.
inline double box_cast(const Aabb& moving, const Vec3& d, const Aabb& still, double limit) {
  double enter = 0, leave = limit;
  for (int k = 0; k < 3; ++k) {
    const double gap_lo = still.lo[k] - moving.hi[k], gap_hi = still.hi[k] - moving.lo[k];
    if (d[k] == 0) {
      if (gap_lo > 0 || gap_hi < 0) return std::numeric_limits<double>::infinity();
      continue;
    }
    const double t0 = gap_lo / d[k], t1 = gap_hi / d[k];
    enter = enter > (t0 < t1 ? t0 : t1) ? enter : (t0 < t1 ? t0 : t1);
    leave = leave < (t0 < t1 ? t1 : t0) ? leave : (t0 < t1 ? t1 : t0);
  }
  return enter <= leave ? enter : std::numeric_limits<double>::infinity();
}

template <class Visit>
void Broadphase::cast(const Aabb& box, const Vec3& d, double limit, Visit&& visit) const {
  for (ProxyId id : unbounded_) limit = visit(id, limit);
  if (root_ < 0) return;
  std::vector<std::int32_t>& stack = stack_;
  const std::size_t base = stack.size();
  stack.push_back(root_);
  while (stack.size() > base) {
    const Node& node = nodes_[stack.back()];
    stack.pop_back();
    if (box_cast(box, d, exact(node.box), limit) > limit) continue;
    if (node.leaf()) {
      limit = visit(static_cast<ProxyId>(node.left), limit);
      continue;
    }
    const double l = box_cast(box, d, exact(nodes_[node.left].box), limit);
    const double r = box_cast(box, d, exact(nodes_[node.right].box), limit);
    stack.push_back(l <= r ? node.right : node.left);
    stack.push_back(l <= r ? node.left : node.right);
  }
}

}  // namespace karakuri
