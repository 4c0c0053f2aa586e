// A snapshot: magic, version, hash of the scene, length, the fields of Persistent in order, checksum. One
// list of fields serves writing, reading and hashing. Little-endian, as all machines that we run on.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>

#include "core/compose.h"
#include "karakuri/core/archive.h"
#include "karakuri/core/hash.h"
#include "karakuri/dynamics/loop_rows.h"
#include "world/impl.h"

namespace karakuri {

using archive::Reader;
using archive::Sizer;
using archive::Writer;
using world_detail::Persistent;

namespace {

constexpr std::uint64_t kMagic = 0x31304b524b415241u;
constexpr std::uint32_t kVersion = 10;
constexpr std::size_t kAround = 3 * sizeof(std::uint64_t) + sizeof(std::uint32_t);  // bytes beside the state

}  // namespace

namespace archive {

class Hasher {
 public:
  static constexpr bool kReads = false, kInOne = false;  // by numbers: hashes are written down elsewhere
  void raw(void* data, std::size_t size) { hash_.add(std::span(static_cast<const std::byte*>(data), size)); }
  std::uint64_t value() const { return hash_.value(); }

 private:
  Hash hash_;
};

template <class Ar>
static void visit(Ar& ar, Transform& X) {
  ar.raw(X.R.data(), 9 * sizeof(double));
  visit(ar, X.p);
}
template <class Ar>
static void visit(Ar& ar, Drive& d) {
  for (double* x : {&d.stiffness, &d.damping, &d.q_target, &d.v_target, &d.limit}) visit(ar, *x);
}
template <class Ar>
static void visit(Ar& ar, world_detail::TreeStatus& t) {
  visit(ar, t.awake);
  visit(ar, t.kinematic);
  visit(ar, t.quarantined);
  visit(ar, t.still);
  visit(ar, t.credit);
  visit(ar, t.sprung);
  visit(ar, t.deep);
}
template <class Ar>
static void visit(Ar& ar, world_detail::SpringSlot& s) {
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
static void visit(Ar& ar, Joint& j) {
  visit(ar, j.name);
  visit_enum(ar, j.kind, JointKind::kDistance);
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
static void visit(Ar& ar, DofProperties& p) {
  for (double* x : {&p.lower, &p.upper, &p.damping, &p.stiffness, &p.rest, &p.dry_friction, &p.armature,
                    &p.effort_limit, &p.velocity_limit, &p.limit_stiffness, &p.limit_damping})
    visit(ar, *x);
}
template <class Ar>
static void visit(Ar& ar, Attachment& a) {
  visit(ar, a.id);
  visit(ar, a.joint);
}
template <class Ar>
static void visit(Ar& ar, HungLink& h) {
  visit(ar, h.id);
  visit(ar, h.joint);
  for (DofProperties& p : h.joint.dofs) visit(ar, p);
}
template <class Ar>
static void visit(Ar& ar, world_detail::LinkPair& pair) {
  visit(ar, pair.first);
  visit(ar, pair.second);
}
template <class Ar>
static void visit(Ar& ar, world_detail::Breaking& b) {
  visit(ar, b.joint);
  visit(ar, b.force);
  visit(ar, b.moment);
}
template <class Ar>
static void visit(Ar& ar, world_detail::PendingForce& f) {
  visit(ar, f.link);
  for (Vec3* v : {&f.p_L, &f.force, &f.moment}) visit(ar, *v);
}
template <class Ar>
static void visit(Ar& ar, Contact& c) {
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
  visit_enum(ar, c.state, ContactState::kSlide);
}
template <class Ar>
static void visit(Ar& ar, Persistent& p) {
  visit(ar, p.structure.hung);
  if (Ar::kInOne || !p.structure.parted.empty()) visit(ar, p.structure.parted);
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

}  // namespace archive

namespace {

/// How many of something a snapshot holds, and how many the world has.
struct Count {
  const char* what;
  std::size_t held, needed;
};

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

/// What of its arrays has another size than the world needs.
std::string find_missized(const Persistent& p, const World::Impl& w) {
  const std::size_t nq = w.state.q.size(), nv = w.state.v.size(), relations = w.model.relations.size(),
                    loops = w.scene_loops + p.attached.size();
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
  return {};
}

/// Whether all rotations are of unit quaternions, to far more than the rounding of any step.
bool has_unit_quaternions(const Model& model, std::span<const double> q) {
  constexpr double kSlack = 1e-9;
  return std::ranges::all_of(model.bodies, [&](const Body& body) {
    if (!has_quaternion(body.kind)) return true;
    const double* at = q.data() + body.first_q + q_size(body.kind) - 4;
    return std::abs(at[0] * at[0] + at[1] * at[1] + at[2] * at[2] + at[3] * at[3] - 1) < kSlack;
  });
}

/// Numbers that no world comes to by itself, or lets anybody set.
std::string find_impossible(const Persistent& p, const Model& model) {
  for (const std::vector<double>* v : {&p.state.q, &p.state.v, &p.q_before, &p.v_before, &p.effort})
    if (!all_finite(*v)) return "one of its coordinates, velocities or efforts is not finite";
  const bool has_stepped = p.h_before > 0;  // else there is nothing in q_before
  if (!has_unit_quaternions(model, p.state.q) || (has_stepped && !has_unit_quaternions(model, p.q_before)))
    return "one of its rotations is none: its quaternion has not the length 1";
  if (!p.gravity.allFinite()) return "its gravity is not finite";
  if (!std::isfinite(p.state.time) || !(p.h_before >= 0 && std::isfinite(p.h_before)))
    return "its time is not finite";
  for (const Drive& d : p.drives)
    if (!world_detail::is_possible(d)) return "it has a drive that cannot be set";
  for (const world_detail::TreeStatus& t : p.trees)
    if (t.awake > 1 || t.kinematic > 1 || t.quarantined > 1 || !(t.still >= 0))
      return "it has a tree in no known state";
  return {};
}

/// What names a link, joint or shape that it cannot name.
std::string find_dangling(const Persistent& p, const World::Impl& w) {
  for (const auto* forces : {&p.forces, &p.applied})
    for (const world_detail::PendingForce& f : *forces)
      if (!w.model.find(f.link) || !f.p_L.allFinite() || !f.force.allFinite() || !f.moment.allFinite())
        return "it has a force on a link that is not there, or that is not finite";
  for (const world_detail::SpringSlot& s : p.springs)
    if (s.used > 1 || s.generation == 0 || (s.used && !world_detail::is_possible(w.model, s.spring)))
      return "it has a spring on a link that is not there, or that cannot be set";
  const auto is_attached = [&](const auto& a) {
    return w.model.find(a.joint.parent) && w.model.find(a.joint.child);
  };
  for (std::size_t i = 0; i < p.attached.size(); ++i) {
    const Attachment& a = p.attached[i];
    const auto same = [&](const Attachment& b) { return b.id == a.id; };
    if (!is_attached(a) || !a.id || !find_flaws(a.joint).empty() || loop_row_count(a.joint.kind) == 0 ||
        std::any_of(p.attached.begin(), p.attached.begin() + static_cast<std::ptrdiff_t>(i), same))
      return compose("its joint '{}' cannot be attached in the scene", a.joint.name);
  }
  const std::size_t colliders = w.colliders.size();
  for (const Contact& c : p.contacts) {
    for (const std::int32_t side : {c.collider_a, c.collider_b})
      if (side < 0 || static_cast<std::size_t>(side) >= colliders)
        return compose("it has a contact of shape {}, the scene {} shapes", side, colliders);
    if (c.link_a != w.colliders[c.collider_a].link || c.link_b != w.colliders[c.collider_b].link ||
        c.collider_a >= c.collider_b)
      return "it has a contact of shapes that are not those of its links";
  }
  return {};
}

/// All that the world relies on: what does not fit, or nothing. The checksum guards against damage, this
/// against a snapshot that was made by other means.
std::string find_misfit(const Persistent& p, const World::Impl& w) {
  if (std::string flaw = find_missized(p, w); !flaw.empty()) return flaw;
  if (std::string flaw = find_impossible(p, w.model); !flaw.empty()) return flaw;
  return find_dangling(p, w);
}

Diagnostic refuse(std::string what, std::string remedy) {
  return {Severity::kError, "snapshot", std::move(what), std::move(remedy)};
}

}  // namespace

Snapshot World::snapshot() const {
  Snapshot out{impl_->scene_hash, {}};
  Sizer sizer;
  visit(sizer, static_cast<Persistent&>(*impl_));
  out.bytes.resize(sizer.value() + kAround);
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
  if (bytes.size() < kAround) return {refuse("it is too short to be one", "write it whole")};
  std::uint64_t magic = 0, scene = 0, sum = 0;
  std::uint32_t version = 0;
  std::memcpy(&sum, bytes.data() + bytes.size() - sizeof sum, sizeof sum);
  Reader reader(bytes.first(bytes.size() - sizeof sum));
  visit(reader, magic);
  visit(reader, version);
  if (magic != kMagic) return {refuse("it does not begin as one", "give what World::snapshot() gave")};
  if (version != kVersion)
    return {refuse(compose("it has version {}", version), compose("this library reads {}", kVersion))};
  if (checksum(bytes.first(bytes.size() - sizeof sum)) != sum)
    return {refuse("its checksum is wrong: it is damaged or cut off", "copy it whole, or take it again")};
  visit(reader, scene);
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
  const auto refused = [](const std::string& what) -> std::vector<Diagnostic> {
    return {refuse(what, "restore it in the scene that it was taken of, or take it again")};
  };
  if (from.structure == impl_->structure) {
    if (const std::string misfit = find_misfit(from, *impl_); !misfit.empty()) return refused(misfit);
    impl_->replace(from);
    return {};
  }
  Result<std::unique_ptr<Impl>> other = impl_->with_structure(from.structure);
  if (!other.ok())
    return refused("joints that it has cut or made cannot be here: " + to_string(other.errors()));
  if (const std::string misfit = find_misfit(from, **other); !misfit.empty()) return refused(misfit);
  (*other)->replace(from);
  (*other)->hooks = std::move(impl_->hooks);
  (*other)->part_observer = std::move(impl_->part_observer);
  impl_ = std::move(*other);
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
  out->made = w.made;
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

namespace {

/// Which does not allocate.
bool same(const Transform& a, const Transform& b) { return a.R == b.R && a.p == b.p; }
bool same(const DofProperties& a, const DofProperties& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;  // nothing but numbers
}
bool same(const Joint& a, const Joint& b) {
  const auto numbers = [](const Joint& j) {
    return std::tuple(j.pitch, j.distance, j.range.low, j.range.high, j.closing_stiffness, j.closing_damping,
                      j.closing_turn_stiffness, j.closing_turn_damping);
  };
  return a.name == b.name && a.kind == b.kind && a.parent == b.parent && a.child == b.child &&
         same(a.X_PF, b.X_PF) && same(a.X_CM, b.X_CM) && a.axis == b.axis && a.second_axis == b.second_axis &&
         numbers(a) == numbers(b) &&
         std::equal(a.dofs.begin(), a.dofs.end(), b.dofs.begin(),
                    [](const auto& x, const auto& y) { return same(x, y); });
}

}  // namespace

bool world_detail::Structure::operator==(const Structure& o) const {
  return parted == o.parted && std::equal(hung.begin(), hung.end(), o.hung.begin(), o.hung.end(),
                                          [](const HungLink& a, const HungLink& b) {
                                            return a.id == b.id && same(a.joint, b.joint);
                                          });
}

std::uint64_t World::hash() const {
  archive::Hasher hasher;
  visit(hasher, static_cast<Persistent&>(*impl_));
  return hasher.value();
}

}  // namespace karakuri
