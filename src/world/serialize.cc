// A snapshot: magic, version, hash of the scene, length, the fields of Persistent in order, checksum. One
// list of fields serves writing, reading and hashing. Little-endian, as all machines that we run on.
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

#include "core/compose.h"
#include "karakuri/core/hash.h"
#include "world/impl.h"

namespace karakuri {

using world_detail::Persistent;

namespace {

constexpr std::uint64_t kMagic = 0x31304b524b415241u;
constexpr std::uint32_t kVersion = 8;

/// Into room that is large enough, see Sizer.
class Writer {
 public:
  explicit Writer(std::byte* out) : out_(out) {}
  static constexpr bool kReads = false, kInOne = true;
  void raw(const void* data, std::size_t size) {
    std::memcpy(out_, data, size);
    out_ += size;
  }

 private:
  std::byte* out_;
};

/// How many bytes a Writer would write: copying a vector that grows costs more than counting first.
class Sizer {
 public:
  static constexpr bool kReads = false, kInOne = true;
  void raw(const void*, std::size_t size) { size_ += size; }
  std::size_t value() const { return size_; }

 private:
  std::size_t size_ = 3 * sizeof(std::uint64_t) + sizeof(std::uint32_t);  // what stands around the state
};

class Hasher {
 public:
  static constexpr bool kReads = false, kInOne = false;  // by numbers: hashes are written down elsewhere
  void raw(void* data, std::size_t size) { hash_.add(std::span(static_cast<const std::byte*>(data), size)); }
  std::uint64_t value() const { return hash_.value(); }

 private:
  Hash hash_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}
  static constexpr bool kReads = true, kInOne = true;
  void raw(void* data, std::size_t size) {
    if (size > in_.size()) {
      failed_ = true;
      return;
    }
    std::memcpy(data, in_.data(), size);
    in_ = in_.subspan(size);
  }
  bool failed() const { return failed_; }
  bool finished() const { return !failed_ && in_.empty(); }
  std::size_t left() const { return in_.size(); }
  void fail() { failed_ = true; }

 private:
  std::span<const std::byte> in_;
  bool failed_ = false;
};

template <class Ar, class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
void visit(Ar& ar, T& value) {
  ar.raw(&value, sizeof value);
}
template <class Ar>
void visit(Ar& ar, Vec3& v) {
  ar.raw(v.data(), 3 * sizeof(double));
}
template <class Ar>
void visit(Ar& ar, Transform& X) {
  ar.raw(X.R.data(), 9 * sizeof(double));
  visit(ar, X.p);
}
template <class Ar>
void visit(Ar& ar, std::string& text) {
  std::uint64_t size = text.size();
  visit(ar, size);
  if constexpr (Ar::kReads) {
    if (size > ar.left()) return ar.fail();
    text.resize(size);
  }
  ar.raw(text.data(), size);
}
template <class Ar, class Tag>
void visit(Ar& ar, Id<Tag>& id) {
  visit(ar, id.index);
  visit(ar, id.generation);
}
template <class Ar, std::size_t n>
void visit(Ar& ar, std::array<double, n>& a) {
  ar.raw(a.data(), sizeof a);
}
template <class Ar>
void visit(Ar& ar, Drive& d) {
  for (double* x : {&d.stiffness, &d.damping, &d.q_target, &d.v_target, &d.limit}) visit(ar, *x);
}
template <class Ar>
void visit(Ar& ar, world_detail::TreeStatus& t) {
  visit(ar, t.awake);
  visit(ar, t.kinematic);
  visit(ar, t.quarantined);
  visit(ar, t.still);
  visit(ar, t.credit);
}
template <class Ar>
void visit(Ar& ar, world_detail::SpringSlot& s) {
  visit(ar, s.spring.link);
  visit(ar, s.spring.p_L);
  visit(ar, s.spring.target);
  visit(ar, s.spring.stiffness);
  visit(ar, s.spring.damping);
  visit(ar, s.impulse);
  visit(ar, s.generation);
  visit(ar, s.used);
}
template <class Ar>
void visit(Ar& ar, Joint& j) {
  visit(ar, j.name);
  visit(ar, j.kind);
  visit(ar, j.parent);
  visit(ar, j.child);
  for (Transform* X : {&j.X_PF, &j.X_CM}) visit(ar, *X);
  for (Vec3* v : {&j.axis, &j.second_axis}) visit(ar, *v);
  visit(ar, j.pitch);
  for (double* x : {&j.distance, &j.range.low, &j.range.high, &j.closing_stiffness, &j.closing_damping,
                    &j.closing_turn_stiffness, &j.closing_turn_damping})
    visit(ar, *x);
}
template <class Ar>
void visit(Ar& ar, DofProperties& p) {
  for (double* x : {&p.lower, &p.upper, &p.damping, &p.stiffness, &p.rest, &p.dry_friction, &p.armature,
                    &p.effort_limit, &p.velocity_limit, &p.limit_stiffness, &p.limit_damping})
    visit(ar, *x);
}
template <class Ar>
void visit(Ar& ar, Attachment& a) {
  visit(ar, a.id);
  visit(ar, a.joint);
}
template <class Ar>
void visit(Ar& ar, world_detail::TreeEdit& e) {
  std::uint8_t joins = e.joins;
  visit(ar, joins);
  e.joins = joins != 0;
  if (e.joins) {
    visit(ar, e.made);
    for (DofProperties& p : e.made.dofs) visit(ar, p);
  } else {
    visit(ar, e.cut);
    visit(ar, e.X_WL);
  }
}
template <class Ar>
void visit(Ar& ar, world_detail::Breaking& b) {
  visit(ar, b.joint);
  visit(ar, b.force);
  visit(ar, b.moment);
}
template <class Ar>
void visit(Ar& ar, world_detail::PendingForce& f) {
  visit(ar, f.link);
  for (Vec3* v : {&f.p_L, &f.force, &f.moment}) visit(ar, *v);
}
template <class Ar>
void visit(Ar& ar, Contact& c) {
  visit(ar, c.link_a);
  visit(ar, c.link_b);
  visit(ar, c.collider_a);
  visit(ar, c.collider_b);
  visit(ar, c.part_a);
  visit(ar, c.part_b);
  visit(ar, c.feature);
  for (Vec3* v :
       {&c.point, &c.normal, &c.force, &c.moment, &c.slip, &c.impulse, &c.turning_impulse, &c.stretch})
    visit(ar, *v);
  visit(ar, c.separation);
  visit(ar, c.mobility);
  visit(ar, c.state);
}
template <class Ar, class T>
void raw_of(Ar& ar, std::vector<T>& values) {
  if (!values.empty()) ar.raw(values.data(), values.size() * sizeof(T));
}
template <class Ar, class T>
void visit(Ar& ar, std::vector<T>& values) {
  std::uint64_t count = values.size();
  visit(ar, count);
  if constexpr (Ar::kReads) {
    if (count > ar.left()) return ar.fail();  // every element takes a byte at least
    values.resize(count);
  }
  if constexpr (Ar::kInOne && std::is_arithmetic_v<T>) return raw_of(ar, values);
  for (T& value : values) visit(ar, value);
}
template <class Ar>
void visit(Ar& ar, std::vector<bool>& values) {
  std::uint64_t count = values.size();
  visit(ar, count);
  if constexpr (Ar::kReads) {
    if (count > ar.left()) return ar.fail();
    values.resize(count);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint8_t bit = values[i];
    visit(ar, bit);
    values[i] = bit != 0;
  }
}

template <class Ar>
void visit(Ar& ar, Persistent& p) {
  visit(ar, p.edits);
  visit(ar, p.attached);
  visit(ar, p.attach_count);
  visit(ar, p.breaking);
  visit(ar, p.state.time);
  visit(ar, p.state.q);
  visit(ar, p.state.v);
  visit(ar, p.state.loop_closed);
  visit(ar, p.q_before);
  visit(ar, p.v_before);
  visit(ar, p.h_before);
  visit(ar, p.effort);
  visit(ar, p.drives);
  visit(ar, p.drive_effort);
  visit(ar, p.limit_impulse);
  visit(ar, p.friction_impulse);
  visit(ar, p.drive_impulse);
  visit(ar, p.loop_impulse);
  visit(ar, p.loop_bounce);
  visit(ar, p.loop_chord);
  visit(ar, p.relation_impulse);
  visit(ar, p.relation_chord);
  visit(ar, p.contacts);
  visit(ar, p.trees);
  visit(ar, p.springs);
  visit(ar, p.forces);
  visit(ar, p.applied);
  std::uint64_t random = p.random.state();
  visit(ar, random);
  p.random = Random(random);
  visit(ar, p.steps);
  visit(ar, p.gravity);
}

/// How many of something a snapshot holds, and how many the world has.
struct Count {
  const char* what;
  std::size_t held, needed;
};

/// Sizes and indices that the world relies on: what does not fit, or nothing. The checksum guards against
/// damage, this against a snapshot that was made by other means.
std::string find_misfit(const Persistent& p, const World::Impl& w) {
  const std::size_t nq = w.state.q.size(), nv = w.state.v.size(), relations = w.model.relations.size(),
                    loops = w.scene_loops + p.attached.size(), colliders = w.colliders.size();
  const Count counts[] = {{"coordinates", p.state.q.size(), nq},
                          {"coordinates before the last step", p.q_before.size(), nq},
                          {"velocities", p.state.v.size(), nv},
                          {"velocities before the last step", p.v_before.size(), nv},
                          {"efforts", p.effort.size(), nv},
                          {"drives", p.drives.size(), nv},
                          {"efforts of drives", p.drive_effort.size(), nv},
                          {"impulses of limits", p.limit_impulse.size(), nv},
                          {"impulses of joint friction", p.friction_impulse.size(), nv},
                          {"impulses of drives", p.drive_impulse.size(), nv},
                          {"trees", p.trees.size(), w.trees.size()},
                          {"impulses of loops", p.loop_impulse.size(), loops},
                          {"bounces of loops", p.loop_bounce.size(), loops},
                          {"states of loops", p.state.loop_closed.size(), loops},
                          {"chords of loops", p.loop_chord.size(), loops},
                          {"impulses of couplings", p.relation_impulse.size(), relations},
                          {"chords of couplings", p.relation_chord.size(), relations}};
  for (const Count& c : counts)
    if (c.held != c.needed) return compose("it has {} {}, the scene {}", c.held, c.what, c.needed);
  if (!p.gravity.allFinite()) return "its gravity is not finite";
  for (const Attachment& a : p.attached) {
    const bool known = static_cast<int>(a.joint.kind) <= static_cast<int>(JointKind::kDistance);
    if (!known || !w.model.find(a.joint.parent) || !w.model.find(a.joint.child) ||
        !find_flaws(a.joint).empty())
      return compose("its joint '{}' cannot be attached in the scene", a.joint.name);
  }
  for (const Contact& c : p.contacts)
    for (const std::int32_t side : {c.collider_a, c.collider_b})
      if (side < 0 || static_cast<std::size_t>(side) >= colliders)
        return compose("it has a contact of shape {}, the scene {} shapes", side, colliders);
  return {};
}

Diagnostic refuse(std::string what, std::string remedy) {
  return {Severity::kError, "snapshot", std::move(what), std::move(remedy)};
}

}  // namespace

Snapshot World::snapshot() const {
  Snapshot out{impl_->scene_hash, {}};
  Sizer sizer;
  visit(sizer, static_cast<Persistent&>(*impl_));
  out.bytes.resize(sizer.value());
  Writer writer(out.bytes.data());
  std::uint64_t magic = kMagic, scene = impl_->scene_hash;
  std::uint32_t version = kVersion;
  visit(writer, magic);
  visit(writer, version);
  visit(writer, scene);
  visit(writer, static_cast<Persistent&>(*impl_));
  std::uint64_t sum = checksum(std::span<const std::byte>(out.bytes).first(out.bytes.size() - sizeof sum));
  visit(writer, sum);
  return out;
}

std::vector<Diagnostic> World::restore(const Snapshot& snapshot) {
  const std::span<const std::byte> bytes(snapshot.bytes);
  if (bytes.size() < 28) return {refuse("it is too short to be one", "write it whole")};
  Reader reader(bytes.first(bytes.size() - 8));
  std::uint64_t magic = 0, scene = 0, sum = 0;
  std::uint32_t version = 0;
  visit(reader, magic);
  visit(reader, version);
  visit(reader, scene);
  if (magic != kMagic) return {refuse("it does not begin as one", "give what World::snapshot() gave")};
  if (version != kVersion)
    return {refuse(compose("it has version {}", version), compose("this library reads {}", kVersion))};
  std::memcpy(&sum, bytes.data() + bytes.size() - 8, 8);
  if (checksum(bytes.first(bytes.size() - 8)) != sum)
    return {refuse("its checksum is wrong: it is damaged or cut off", "copy it whole, or take it again")};
  if (scene != impl_->scene_hash)
    return {refuse("it is of another scene", "load the scene that it was taken of")};
  Persistent read;
  visit(reader, read);
  if (!reader.finished())
    return {refuse(reader.failed() ? "it ends before all of its fields are read"
                                   : "bytes are left after all of its fields are read",
                   "take it again with World::snapshot() of the same library")};
  return take_over(read);
}

std::vector<Diagnostic> World::restore(const World& other) {
  if (&other == this) return {};
  if (other.impl_->scene_hash != impl_->scene_hash)
    return {refuse("the other world is of another scene", "take one of the same scene, or its clone")};
  return take_over(*other.impl_);
}

std::vector<Diagnostic> World::take_over(const Persistent& from) {
  Impl& w = *impl_;
  const bool other_trees = from.edits != w.edits;
  Persistent kept;
  if (other_trees) kept = w;
  std::string misfit;
  if (other_trees)
    if (const std::vector<Diagnostic> flaws = w.change_edits(from.edits); !flaws.empty())
      misfit = "joints that it has cut or made cannot be here: " + flaws[0].where + ": " + flaws[0].what;
  if (misfit.empty()) misfit = find_misfit(from, w);
  if (!misfit.empty()) {
    if (other_trees) {  // back to what it was, which it can be
      (void)w.change_edits(kept.edits);
      w.replace(kept);
    }
    return {refuse(misfit, "restore it in the scene that it was taken of, or take it again")};
  }
  w.replace(from);
  return {};
}

World World::clone() const {
  const Impl& w = *impl_;
  Model model = w.model;
  model.loops.resize(w.scene_loops);  // replace() adds the others
  auto out = std::make_unique<Impl>(w.scene, std::move(model), w.given);
  out->scales = w.scales;  // of the scene before its trees were changed
  out->scene_hash = w.scene_hash;
  out->scene_stamp = w.scene_stamp;
  out->undos = w.undos;
  out->replace(w);
  return World(std::move(out));
}

void World::Impl::replace(const Persistent& read) {
  const std::vector<Loop> old(model.loops.begin() + static_cast<std::ptrdiff_t>(scene_loops),
                              model.loops.end());
  model.loops.resize(scene_loops);
  for (const Loop& loop : old) set_pair_joined(links_of(loop), false);
  static_cast<Persistent&>(*this) = read;
  for (const Attachment& a : attached) {
    add_attached_loop(a);
    const Loop& loop = model.loops.back();
    if (loop.joins()) set_pair_joined(links_of(loop), true);
  }
  after_restore();
}

bool world_detail::TreeEdit::operator==(const TreeEdit& o) const {
  const auto bytes = [](TreeEdit edit) {
    Sizer sizer;
    visit(sizer, edit);
    std::vector<std::byte> out(sizer.value());
    Writer writer(out.data());
    visit(writer, edit);
    return out;
  };
  return bytes(*this) == bytes(o);
}

std::uint64_t World::hash() const {
  Hasher hasher;
  visit(hasher, static_cast<Persistent&>(*impl_));
  return hasher.value();
}

}  // namespace karakuri
