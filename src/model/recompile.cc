// The arrays of a model are the segments of the world's children, one after the other. Those of the touched
// children are exchanged for new ones; what stands behind them gets its numbers shifted.
#include "karakuri/model/recompile.h"

#include <iterator>
#include <tuple>

#include "model/compile_parts.h"

namespace karakuri {

namespace {

/// One exchange: segments [first, first + count) of the model for one of the piece; -1: for none.
struct Exchange {
  int first = 0, count = 0, piece = -1;
};

Segment difference(const Segment& a, const Segment& b) {
  Segment d;
  for (int k = 0; k < kAxisCount; ++k) d.at[k] = a.at[k] - b.at[k];
  return d;
}

int segment_at(const Model& model, Axis axis, std::int64_t index) {
  const auto after = std::upper_bound(model.segments.begin(), model.segments.end(), index,
                                      [&](std::int64_t i, const Segment& s) { return i < s[axis]; });
  return static_cast<int>(after - model.segments.begin()) - 1;
}

/// Where a child of the world goes that was not there: before the next one that was.
int place_of(const Mechanism& m, const Model& model, LinkId root) {
  for (LinkId next = m.link(root).sibling; next; next = m.link(next).sibling)
    if (const JointEntry* joint = model.find(m.link(next).joint))
      return segment_at(model, Axis::kJoint, joint - model.joints.data());
  return static_cast<int>(model.segments.size()) - 1;
}

std::vector<Exchange> find_exchanges(const Mechanism& m, const Model& model,
                                     std::span<const TouchedRoot> touched) {
  std::vector<Exchange> out;
  int piece = 0;
  for (const TouchedRoot& t : touched) {
    Exchange e;
    if (t.before)
      e = {segment_at(model, Axis::kLink, model.link_at[t.before.index]), 1, -1};
    else
      e.first = place_of(m, model, t.after);
    if (t.after) e.piece = piece++;
    out.push_back(e);
  }
  std::sort(out.begin(), out.end(), [](const Exchange& a, const Exchange& b) {
    return std::tuple(a.first, a.count, a.piece) < std::tuple(b.first, b.count, b.piece);
  });
  return out;
}

/// Adds to the numbers of one segment, which stands at `at` now and goes to `end`.
void shift(Model& m, const Segment& at, const Segment& end, const Segment& by) {
  const auto number = [&](Axis axis) { return static_cast<std::int32_t>(by[axis]); };
  const std::int32_t body = number(Axis::kBody), q = number(Axis::kQ), v = number(Axis::kV);
  const auto each = [&](Axis axis, auto& all, auto&& change) {
    for (std::int64_t i = at[axis]; i < end[axis]; ++i) change(all[i]);
  };
  each(Axis::kBody, m.bodies, [&](Body& b) {
    if (b.parent > 0) b.parent += body;
    b.first_q += q, b.first_v += v, b.tree += number(Axis::kTree);
    if (b.kind == JointKind::kUniversal) b.extra += number(Axis::kBetween);
    if (b.alone) b.extra += number(Axis::kFreeBody);
  });
  each(Axis::kTree, m.trees, [&](Tree& t) { t.first += body, t.last += body; });
  each(Axis::kV, m.dofs, [&](Dof& d) {
    d.body += body, d.path += number(Axis::kPath), d.row += by[Axis::kMassMatrix];
    if (d.parent >= 0) d.parent += v;
  });
  each(Axis::kPath, m.paths, [&](std::int32_t& dof) { dof += v; });
  each(Axis::kAngle, m.angle_q, [&](std::int32_t& i) { i += q; });
  each(Axis::kAngle, m.angle_v, [&](std::int32_t& i) { i += v; });
  each(Axis::kLink, m.links, [&](LinkEntry& l) {
    if (l.body > 0) l.body += body;
  });
  each(Axis::kJoint, m.joints, [&](JointEntry& j) {
    if (j.body > 0) j.body += body, j.first_q += q, j.first_v += v;
  });
}

class Splicer {
 public:
  Splicer(const Mechanism& m, Model& model, Model piece, std::vector<Exchange> exchanges)
      : m_(m), model_(model), piece_(std::move(piece)), exchanges_(std::move(exchanges)) {
    splice_.compiled_bodies = piece_.body_count() - 1;
  }

  Splice run() {
    find_blocks();
    forget_touched();
    exchange_all();
    number_anew();
    set_sizes();
    follow_loops();
    model_.relations = compile_relations(m_, model_);  // few, and one may be gone or back
    model_.version_ = next_model_version();
    return std::move(splice_);
  }

 private:
  void find_blocks() {
    for (const Exchange& e : exchanges_) {
      const Segment &first = model_.segments[e.first], &last = model_.segments[e.first + e.count];
      for (int k = 0; k < kAxisCount; ++k) {
        const std::int64_t now =
            e.piece < 0 ? 0 : piece_.segments[e.piece + 1].at[k] - piece_.segments[e.piece].at[k];
        splice_.blocks[k].push_back({first.at[k], last.at[k] - first.at[k], now});
      }
    }
  }

  void forget_touched() {
    for (const Splice::Block& b : splice_.of(Axis::kLink))
      for (std::int64_t i = b.first; i < b.first + b.before; ++i) {
        model_.link_at[model_.links[i].id.index] = -1;
        splice_.old_links.push_back(std::move(model_.links[i]));
      }
    for (const Splice::Block& b : splice_.of(Axis::kJoint))
      for (std::int64_t i = b.first; i < b.first + b.before; ++i) {
        model_.joint_at[model_.joints[i].id.index] = -1;
        splice_.old_joints.push_back(std::move(model_.joints[i]));
      }
    deepest_gone_ = false;
    for (const Splice::Block& b : splice_.of(Axis::kV))
      for (std::int64_t i = b.first; i < b.first + b.before; ++i)
        deepest_gone_ = deepest_gone_ || model_.dofs[i].depth + 1 == model_.max_depth;
  }

  template <class T>
  void exchange(Axis axis, std::vector<T>& all, std::vector<T>& piece) {
    for (std::size_t k = exchanges_.size(); k-- > 0;) {
      const Splice::Block& b = splice_.of(axis)[k];
      const std::int64_t from = exchanges_[k].piece < 0 ? 0 : piece_.segments[exchanges_[k].piece][axis];
      const std::int64_t both = std::min(b.before, b.after);
      const auto at = all.begin() + b.first;
      const auto source = std::make_move_iterator(piece.begin() + from);
      std::copy_n(source, both, at);
      if (b.after < b.before)
        all.erase(at + both, at + b.before);
      else
        all.insert(at + both, source + both, source + b.after);
    }
  }

  void exchange_all() {
    exchange(Axis::kBody, model_.bodies, piece_.bodies);
    exchange(Axis::kFreeBody, model_.free_bodies, piece_.free_bodies);
    exchange(Axis::kBetween, model_.between, piece_.between);
    exchange(Axis::kTree, model_.trees, piece_.trees);
    exchange(Axis::kV, model_.dofs, piece_.dofs);
    exchange(Axis::kV, model_.dof_properties, piece_.dof_properties);
    exchange(Axis::kV, model_.armature, piece_.armature);
    exchange(Axis::kPath, model_.paths, piece_.paths);
    exchange(Axis::kAngle, model_.angle_q, piece_.angle_q);
    exchange(Axis::kAngle, model_.angle_v, piece_.angle_v);
    exchange(Axis::kLink, model_.links, piece_.links);
    exchange(Axis::kJoint, model_.joints, piece_.joints);
  }

  /// All segments in their new order: where they stand now, and by how much that is further than before.
  void number_anew() {
    std::vector<Segment> old;
    old.swap(model_.segments);
    model_.segments.reserve(old.size() + 1);
    Segment here = old[0];
    const auto add = [&](const Segment& first, const Segment& last, bool compiled) {
      Segment end = here;
      for (int k = 0; k < kAxisCount; ++k) end.at[k] += last.at[k] - first.at[k];
      if (!(here == first)) {
        shift(model_, here, end, difference(here, first));
        index(here, end);
      } else if (compiled) {
        index(here, end);
      }
      if (compiled) tell(here, end);
      model_.segments.push_back(here);
      here = end;
    };
    int next = 0;
    for (const Exchange& e : exchanges_) {
      for (; next < e.first; ++next) add(old[next], old[next + 1], false);
      if (e.piece >= 0) add(piece_.segments[e.piece], piece_.segments[e.piece + 1], true);
      next += e.count;
    }
    for (; next + 1 < std::ssize(old); ++next) add(old[next], old[next + 1], false);
    model_.segments.push_back(here);
  }

  void index(const Segment& from, const Segment& to) {
    for (std::int64_t i = from[Axis::kLink]; i < to[Axis::kLink]; ++i)
      model_.link_at[model_.links[i].id.index] = static_cast<std::int32_t>(i);
    for (std::int64_t i = from[Axis::kJoint]; i < to[Axis::kJoint]; ++i)
      model_.joint_at[model_.joints[i].id.index] = static_cast<std::int32_t>(i);
  }

  void tell(const Segment& from, const Segment& to) {
    for (std::int64_t i = from[Axis::kLink]; i < to[Axis::kLink]; ++i)
      splice_.links.push_back(static_cast<std::int32_t>(i));
    for (std::int64_t i = from[Axis::kJoint]; i < to[Axis::kJoint]; ++i)
      splice_.joints.push_back(static_cast<std::int32_t>(i));
  }

  void set_sizes() {
    const Segment& end = model_.segments.back();
    model_.nq = static_cast<int>(end[Axis::kQ]);
    model_.nv = static_cast<int>(end[Axis::kV]);
    model_.mass_matrix_size = end[Axis::kMassMatrix];
    for (const std::int32_t j : splice_.joints) look_at_depth(model_.joints[j]);
    if (!deepest_gone_) return;
    model_.max_depth = 0;
    for (const Dof& dof : model_.dofs) model_.max_depth = std::max(model_.max_depth, dof.depth + 1);
  }

  void look_at_depth(const JointEntry& joint) {
    if (joint.body == 0) return;
    model_.max_depth =
        std::max(model_.max_depth, model_.dofs[joint.first_v + v_size(joint.kind) - 1].depth + 1);
  }

  bool is_compiled(const LinkEntry& link) const {
    return std::binary_search(splice_.links.begin(), splice_.links.end(),
                              static_cast<std::int32_t>(&link - model_.links.data()));
  }

  void follow_loops() {
    for (Loop& loop : model_.loops) {
      const Joint& joint = m_.joint(loop.joint);
      const LinkEntry &on_f = *model_.find(joint.parent), &on_m = *model_.find(m_.link(joint.child).real);
      if (is_compiled(on_f) || is_compiled(on_m)) loop = make_loop(loop.joint, joint, on_f, on_m);
      loop.body_f = on_f.body, loop.body_m = on_m.body;
    }
  }

  const Mechanism& m_;
  Model& model_;
  Model piece_;
  std::vector<Exchange> exchanges_;
  Splice splice_;
  bool deepest_gone_ = false;
};

}  // namespace

std::int64_t Splice::moved(Axis axis, std::int64_t old) const {
  std::int64_t now = old;
  for (const Block& b : of(axis)) {
    if (old < b.first) break;
    if (old < b.first + b.before) return -1;
    now += b.after - b.before;
  }
  return now;
}

std::int64_t Splice::replaced(Axis axis, std::int64_t old) const {
  std::int64_t before = 0;
  for (const Block& b : of(axis)) {
    if (old < b.first + b.before) return before + (old - b.first);
    before += b.before;
  }
  return before;
}

Result<Splice> recompile(const Mechanism& mechanism, std::span<const TouchedRoot> touched, Model& model) {
  std::vector<LinkId> roots;
  for (const TouchedRoot& t : touched)
    if (t.after) roots.push_back(t.after);
  Result<Model> piece = compile_segments(mechanism, roots);
  if (!piece.ok()) return piece.errors();
  for (const JointEntry& joint : piece->joints)
    if (std::vector<Diagnostic> flaws = find_flaws(mechanism.joint(joint.id)); !flaws.empty()) return flaws;
  return Splicer(mechanism, model, std::move(*piece), find_exchanges(mechanism, model, touched)).run();
}

}  // namespace karakuri
