// Which pairs of shapes never touch: those of one body, those that a joint joins, and those that the scene
// names. Joined are the two bodies of a joint, unless it is free, a spring or a rope. What stands still is
// one body however much there is of it: of that, the link that the joint names is joined, and the links that
// hold it by fixed joints, down to the world. The world's own shapes, such as the ground, are never joined: a
// robot on a slider touches the ground.
#include <algorithm>

#include "world/impl.h"

namespace karakuri {

using world_detail::LinkPair;

/// @pre body > 0
std::vector<int> World::Impl::colliders_on(int body) const {
  const auto after = std::upper_bound(model.segments.begin(), model.segments.end(), body,
                                      [](int b, const Segment& s) { return b < s[Axis::kBody]; });
  std::vector<int> out;
  for (auto i = after[-1][Axis::kLink]; i < after[0][Axis::kLink]; ++i) {
    if (model.links[i].body != body) continue;
    const std::uint32_t slot = model.links[i].id.index;
    for (int c = collider_start[slot]; c < collider_start[slot + 1]; ++c) out.push_back(c);
  }
  return out;
}

std::vector<int> World::Impl::colliders_beside(LinkId link) const {
  if (const int body = model.find(link)->body; body > 0) return colliders_on(body);
  std::vector<int> out;
  for (; link != scene.mechanism.world(); link = scene.mechanism.link(link).parent)
    for (int c = collider_start[link.index]; c < collider_start[link.index + 1]; ++c) out.push_back(c);
  return out;
}

void World::Impl::exclude_joined(const LinkPair& links) {
  if (model.find(links.first)->body == model.find(links.second)->body) return;
  const std::vector<int> on_b = colliders_beside(links.second);
  for (const int i : colliders_beside(links.first))
    for (const int j : on_b) broadphase.exclude(i, j);
}

namespace {

/// Calls f(links) for the joint between two bodies, if there is one, and all loops that join them.
template <class F>
void for_each_joining(const World::Impl& w, int body_a, int body_b, F&& f) {
  for (const auto& [child, other] : {std::pair{body_a, body_b}, std::pair{body_b, body_a}}) {
    const Body& body = w.model.bodies[child];
    if (child == 0 || body.parent != other || body.kind == JointKind::kFree) continue;
    const Joint& joint = w.scene.mechanism.joint(w.joint_of_body[child]);
    f(LinkPair{joint.parent, joint.child});
  }
  for (const Loop& l : w.model.loops) {
    const bool same =
        (l.body_f == body_a && l.body_m == body_b) || (l.body_f == body_b && l.body_m == body_a);
    if (same && l.joins()) f(w.links_of(l));
  }
}

}  // namespace

LinkPair World::Impl::links_of(const Loop& loop) const {
  for (const Attachment& a : attached)
    if (a.id == loop.joint) return {a.joint.parent, a.joint.child};
  const Joint& joint = scene.mechanism.joint(loop.joint);
  return {joint.parent, scene.mechanism.link(joint.child).real};
}

/// @pre where they are joined no more, model.loops does not have the joint any more
void World::Impl::set_pair_joined(const LinkPair& links, bool joined) {
  if (joined) return exclude_joined(links);
  const int body_a = model.find(links.first)->body, body_b = model.find(links.second)->body;
  if (body_a == body_b) return;
  const std::vector<int> on_b = colliders_beside(links.second);
  for (const int i : colliders_beside(links.first))
    for (const int j : on_b)
      if (!is_no_contact(i, j)) broadphase.include(i, j);
  for_each_joining(*this, body_a, body_b, [&](const LinkPair& pair) { exclude_joined(pair); });
}

bool World::Impl::is_no_contact(int i, int j) const {
  const LinkId a = collider_infos[i].link, b = collider_infos[j].link;
  return std::any_of(scene.no_contact.begin(), scene.no_contact.end(), [&](const auto& pair) {
    return (pair.first == a && pair.second == b) || (pair.first == b && pair.second == a);
  });
}

/// Of pairs that one of some links takes part in. Of a tree that is touched all links are given.
void World::Impl::exclude_around(std::span<const std::int32_t> links) {
  std::vector<std::uint8_t> on_body(model.bodies.size()), on_link(model.links.size());
  std::vector<std::pair<int, int>> placed;  // (body, collider)
  for (const std::int32_t i : links) {
    const LinkEntry& link = model.links[i];
    on_link[i] = on_body[link.body] = 1;
    for (int c = collider_start[link.id.index]; c < collider_start[link.id.index + 1]; ++c)
      placed.emplace_back(link.body, c);
  }
  std::sort(placed.begin(), placed.end());
  const auto of = [&](int body) {
    return std::ranges::equal_range(placed, body, {}, &std::pair<int, int>::first);
  };
  const auto exclude = [&](int a, int b) {
    for (const auto& [body_a, i] : of(a))
      for (const auto& [body_b, j] : of(b))
        if (i < j || a != b) broadphase.exclude(i, j);
  };
  for (int i = 1; i < model.body_count(); ++i) {
    if (!on_body[i]) continue;
    exclude(i, i);
    // a free joint is no joint that two shapes could be in each other's way of
    if (model.bodies[i].kind == JointKind::kFree) continue;
    if (const int holder = model.bodies[i].parent; holder != 0) {
      exclude(i, holder);
    } else {
      const Joint& joint = scene.mechanism.joint(joint_of_body[i]);
      exclude_joined({joint.parent, joint.child});
    }
  }
  for (const Loop& loop : model.loops)
    if (loop.joins() && (on_body[loop.body_f] || on_body[loop.body_m])) exclude_joined(links_of(loop));
  // several links may be one body
  for (const auto& [a, b] : scene.no_contact) {
    const LinkEntry *first = model.find(a), *second = model.find(b);  // check_no_contact()
    if (!on_link[first - model.links.data()] && !on_link[second - model.links.data()]) continue;
    for (int i = collider_start[a.index]; i < collider_start[a.index + 1]; ++i)
      for (int j = collider_start[b.index]; j < collider_start[b.index + 1]; ++j)
        if (i != j) broadphase.exclude(i, j);
  }
}

}  // namespace karakuri
