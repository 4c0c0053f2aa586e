// A mechanism compiled for simulation: flat arrays, parents before children, constant and shareable.
//
// Links that are rigidly joined become one *body*. Body 0 is the world. The bodies of one tree are contiguous
// and depth-first. A body's frame B is chosen for speed: its origin lies in the joint and its z axis along
// the joint's axis; link frames are found through LinkEntry::X_BL.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "karakuri/core/diagnostic.h"
#include "karakuri/model/joint.h"
#include "karakuri/model/mechanism.h"
#include "karakuri/spatial/packed.h"

namespace karakuri {

inline const Vec3 kEarthGravity{0, 0, -9.81};  // [m/s^2]

/// One moving body and the joint that carries it.
struct Body {
  Packed33 R_PF;         // the joint's frame F in the parent body's frame
  Packed3 p_PF;          // [m]
  Packed3 mass_com;      // mass times centre of mass, in B [kg m]
  double inertia[6];     // about B's origin, in B: xx, yy, zz, xy, xz, yz [kg m^2]
  double mass;           // [kg]
  double pitch;          // screw [m/rad]
  std::int32_t parent;   // body
  std::int32_t tree;     // of Model::trees; -1: the world
  std::int32_t first_q;  // in State::q
  std::int32_t first_v;  // in State::v
  std::int32_t
      extra;  // universal: index of Model::between; free body alone in its tree: of Model::free_bodies
  std::int16_t dofs;  // number of degrees of freedom
  JointKind kind;     // never kFixed, but for the world
  bool alone;         // a free joint on the world and no children: the fast path
};

/// What only a body that is a whole tree needs.
struct FreeBody {
  Packed33 axes;    // principal axes of inertia, in B
  Packed3 com;      // in B [m]
  Packed3 moments;  // principal moments about the centre of mass [kg m^2]
  Packed3 inverse_moments;
};

/// One degree of freedom. Its ancestors, from the root, are its *path*; the path of an ancestor is its
/// prefix.
struct Dof {
  std::int32_t body;
  std::int32_t parent;  // the dof before it on its path, -1: none
  std::int32_t depth;   // how many are before it on its path
  std::int32_t path;    // where its path of depth + 1 dofs (itself last) starts in Model::paths
  DofKind kind;
  std::int64_t row;  // where its row of the mass matrix starts: depth + 1 numbers in the order of the path
};

/// The bodies [first, last) of one tree.
struct Tree {
  std::int32_t first;
  std::int32_t last;
};

/// The arrays of a model that are laid out by the walk over the tree.
enum class Axis : std::uint8_t {
  kBody,
  kTree,
  kQ,
  kV,
  kLink,
  kJoint,
  kBetween,
  kFreeBody,
  kPath,
  kAngle,
  kMassMatrix
};
inline constexpr int kAxisCount = 11;

/// How long each array is when the walk comes to a child of the world: what hangs on it goes from there to
/// the next child's.
struct Segment {
  std::array<std::int64_t, kAxisCount> at{};
  std::int64_t operator[](Axis axis) const { return at[static_cast<int>(axis)]; }
  bool operator==(const Segment&) const = default;
};

struct LinkEntry {
  LinkId id;
  std::string name;
  std::int32_t body = 0;
  Transform X_BL;  // link frame in the body's frame
};

struct JointEntry {
  JointId id;
  std::string name;
  JointKind kind = JointKind::kFixed;
  std::int32_t body = 0;      // that it carries; 0 for a fixed joint and for one that closes a loop
  std::int32_t first_q = -1;  // -1 where it has no coordinates of its own
  std::int32_t first_v = -1;
};

/// A joint that closes a loop: frame F on one body, frame M on another.
struct Loop {
  JointId joint;
  std::int32_t body_f = 0;
  std::int32_t body_m = 0;
  Transform X_BF;
  Transform X_BM;
  JointKind kind = JointKind::kFixed;
  Vec3 axis = Vec3::UnitZ();         // unit, in F
  Vec3 second_axis = Vec3::UnitX();  // universal only: unit, in M
  double pitch = 0;                  // screw only [m/rad]
  double distance = 0;               // distance only [m]
  Interval range;                    // distance only: bounds it [m]
  // infinite: rigid
  double stiffness = DofProperties::kNone, turn_stiffness = DofProperties::kNone;
  double damping = 0, turn_damping = 0;

  /// Whether springs are in place of what the joint holds.
  bool soft() const { return stiffness < DofProperties::kNone || turn_stiffness < DofProperties::kNone; }
  /// Whether it bounds a distance and holds nothing.
  bool bounds() const { return kind == JointKind::kDistance && range.bounded(); }
  /// Whether it takes freedoms away.
  bool held() const { return !soft() && !bounds(); }
  /// Whether its bodies are neighbours that never touch: springs and ropes leave them apart.
  bool joins() const { return held() || kind != JointKind::kDistance; }
};

/// `joint` as a loop between two links.
Loop make_loop(JointId id, const Joint& joint, const LinkEntry& on_f, const LinkEntry& on_m);

/// What a Coupling or a FixedTendon says of the coordinates: x = sum of scale q over its terms, less the
/// polynomial of the leader's position,
///   x(q) = sum scale_k q_k - P(q_leader - leader_start)
/// A coupling holds x at zero, exactly or by a spring; a tendon keeps it within limits and has a spring on
/// it.
struct Relation {
  struct Term {
    std::int32_t dof = 0;
    std::int32_t q = 0;  // index of its coordinate
    double scale = 1;
  };
  std::string name;
  std::vector<Term> terms;
  Term leader;  // where `has_leader`; its scale is not used
  bool has_leader = false;
  bool held = false;  // at zero
  double leader_start = 0;
  std::array<double, 5> polynomial{};  // constant first
  Interval range;                      // where not held
  double stiffness = 0, damping = 0, rest = 0;
  double limit_stiffness = DofProperties::kNone, limit_damping = 0;

  /// Calls f(term) for all terms and the leader.
  template <class F>
  void for_each_dof(F&& f) const {
    for (const Term& t : terms) f(t);
    if (has_leader) f(leader);
  }
};

struct Model {
  // sizes
  int nq = 0;
  int nv = 0;
  int max_depth = 0;                  // dofs on the longest path
  std::int64_t mass_matrix_size = 0;  // numbers in the branch-sparse mass matrix

  Vec3 gravity = kEarthGravity;

  std::vector<Body> bodies;           // [0] is the world
  std::vector<FreeBody> free_bodies;  // see Body::extra
  std::vector<Packed33> between;      // universal joints: the frame of the second axis in that of the first
  std::vector<Tree> trees;
  std::vector<Dof> dofs;                      // nv
  std::vector<std::int32_t> paths;            // see Dof::path
  std::vector<DofProperties> dof_properties;  // nv
  std::vector<double> armature;               // nv, of dof_properties
  std::vector<std::int32_t> angle_q;          // the coordinates that are angles, for all joints
  std::vector<std::int32_t> angle_v;          // and the dofs they belong to, ascending

  std::vector<Segment> segments;  // by child of the world, in their order, and one more for the end

  std::vector<LinkEntry> links;    // all links but virtual ones; [0] is the world
  std::vector<JointEntry> joints;  // all joints
  std::vector<Loop> loops;
  std::vector<Relation> relations;  // active couplings, then tendons that hold or pull

  int body_count() const { return static_cast<int>(bodies.size()); }
  /// Tells models apart: workspaces carry it to prove that they were made for this one.
  std::uint64_t version() const { return version_; }

  /// nullptr when the id names nothing that was compiled.
  const LinkEntry* find(LinkId id) const;
  const JointEntry* find(JointId id) const;

  std::uint64_t version_ = 0;
  std::vector<std::int32_t> link_at;   // by slot of LinkId: index of `links`, -1: none
  std::vector<std::int32_t> joint_at;  // by slot of JointId
};

/// Flattens `mechanism`, or says all that is wrong with it.
Result<Model> compile(const Mechanism& mechanism, const Vec3& gravity = kEarthGravity);

}  // namespace karakuri
