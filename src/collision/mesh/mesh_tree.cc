#include "collision/mesh/mesh_tree.h"

#include <algorithm>

namespace karakuri::collision_detail {

namespace {

struct Builder {
  const std::vector<Vec3>& vertices;
  const std::vector<Triangle>& faces;
  std::vector<Vec3> centers;
  std::vector<int> order;
  MeshTree tree;

  Aabb box(int f) const {
    Aabb b;
    for (int v : faces[f]) b.add(vertices[v]);
    return b;
  }

  int split(int first, int last) const {
    Aabb spread;
    Vec3 mean = Vec3::Zero();
    for (int i = first; i < last; ++i) {
      spread.add(centers[order[i]]);
      mean += centers[order[i]] / (last - first);
    }
    int axis;
    spread.half().maxCoeff(&axis);
    auto* self = const_cast<Builder*>(this);
    const auto middle = std::partition(self->order.begin() + first, self->order.begin() + last,
                                       [&](int f) { return centers[f][axis] < mean[axis]; });
    const int at = static_cast<int>(middle - self->order.begin());
    // all centres in one place, or a split so lopsided that the tree would grow too deep: halve the list
    const int least = (last - first) / 16;
    return at - first <= least || last - at <= least ? (first + last) / 2 : at;
  }

  void build(int first, int last) {
    const int at = static_cast<int>(tree.nodes.size());
    tree.nodes.emplace_back();
    Aabb b;
    for (int i = first; i < last; ++i) b.add(box(order[i]));
    tree.nodes[at].lo = b.lo, tree.nodes[at].hi = b.hi;
    if (last - first == 1) {
      tree.nodes[at].right = ~order[first];
      return;
    }
    const int middle = split(first, last);
    build(first, middle);
    tree.nodes[at].right = static_cast<int>(tree.nodes.size());
    build(middle, last);
  }
};

}  // namespace

MeshTree build_tree(const std::vector<Vec3>& vertices, const std::vector<Triangle>& faces) {
  Builder b{vertices, faces, {}, {}, {}};
  for (int f = 0; f < static_cast<int>(faces.size()); ++f) {
    b.centers.push_back((vertices[faces[f][0]] + vertices[faces[f][1]] + vertices[faces[f][2]]) / 3);
    b.order.push_back(f);
  }
  if (!faces.empty()) b.build(0, static_cast<int>(faces.size()));
  return std::move(b.tree);
}

}  // namespace karakuri::collision_detail
