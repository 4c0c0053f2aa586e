// Which shapes may touch, where many of them hang together: the links of a robot.
//
// Consecutive boxes that move together are one box to the broad phase. What is within it, and what others
// meet of it, is found box by box, four at a time. So a robot that falls costs one leaf of the tree. Boxes
// are stored a little larger than they are, and while they stay within that, nothing is done at all.
#pragma once

#include <vector>

#include "karakuri/collision/broadphase.h"

namespace karakuri::collision_detail {

/// As Broadphase, of boxes that are never removed: their numbers are 0, 1, ... in the order of insertion.
class ClusteredBroadphase {
 public:
  /// @param cluster  Consecutive boxes with the same number move together; -1: moves alone.
  void insert(const Aabb& box, const CollisionFilter& filter, bool fixed, int cluster);
  void move(ProxyId id, const Aabb& box);
  void exclude(ProxyId a, ProxyId b);
  void include(ProxyId a, ProxyId b);
  void include_all(std::span<const ProxyId> ids);
  void set_fixed(ProxyId id, bool fixed);

  /// @return Whether the pairs have changed.
  bool update();
  /// Pairs that may touch, in ascending order: all whose boxes overlap, and some that nearly do.
  std::span<const ProxyPair> pairs() const { return clusters_ > 0 ? std::span(pairs_) : broad_.pairs(); }
  /// The same of pairs of which one at least is wanted, with boxes as they are now. Leaves pairs() as it was.
  /// @param wanted  By box. @return Until the next call.
  std::span<const ProxyPair> pairs_of(std::span<const std::uint8_t> wanted);
  const Aabb& box(ProxyId id) const { return members_[id].box; }  // as last given

 private:
  static constexpr int kMost = 32;  // boxes of a cluster
  struct Member {
    Aabb box, fat;
    CollisionFilter filter;
    std::int32_t group = 0;
    std::uint32_t partners = 0;  // those after it in its cluster that it collides with, as bits
    bool fixed = false;
    bool excepts = false;  // is excluded from boxes of other groups, which clusters have to look up
  };
  /// One proxy of the broad phase: a box alone, or a cluster.
  struct Group {
    ProxyId first = 0;
    std::int32_t count = 0;
    std::int32_t boxes = -1;   // of a cluster: in `boxes_`
    std::uint32_t wanted = 0;  // members whose pairs are wanted, as bits
    bool moved = false;        // a fat box of it, since the last update_groups()
    bool dirty = false;        // the same, since the last update()
    std::size_t pairs = 0;     // where those of its members begin, in `pairs_`
    Aabb box;                  // around the fat boxes of its members
  };
  struct Boxes {
    double lo[3][kMost], hi[3][kMost];
  };

  bool accepts(const Member& a, const Member& b) const;
  bool is_excluded(ProxyId a, ProxyId b) const;
  void find_partners(const Group& group);
  void rules_changed(ProxyId id);
  void begin_cluster(Group& group);
  void mark(std::int32_t group);
  void update_groups();
  void fit(Group& group);
  void store(const Group& group, ProxyId id);
  std::uint32_t met_by(const Aabb& box, const Group& group, int from) const;
  void expand_member(const Group& group, int k, std::span<const ProxyPair> partners);
  void expand_group(const Group& group, std::span<const ProxyPair> partners);
  template <class Visit>
  void for_each_group(Visit&& visit);

  Broadphase broad_;  // of groups
  std::vector<Member> members_;
  std::vector<Group> groups_;
  std::vector<Boxes> boxes_;
  std::vector<std::int32_t> moved_;  // groups
  std::vector<ProxyPair> pairs_, expanded_;
  std::vector<std::uint32_t> near_;  // of one group, by partner: its members that may meet it
  std::vector<ProxyPair> excluded_;  // ascending; each pair both ways round
  int clusters_ = 0;                 // groups of several boxes
  int last_cluster_ = -1;
  bool stale_ = false;  // rules or pairs of groups have changed since the last update()
  bool dirty_ = false;  // some group is
};

}  // namespace karakuri::collision_detail
