// A world that steps: trees and free bodies, contacts with exact friction, islands, sleep, snapshots.
//
// Same program, same calls: the same bits, for any number of threads. No step allocates once the buffers have
// grown to what the scene needs. Ids of what is not there are told, never followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "karakuri/collision/query.h"
#include "karakuri/core/diagnostic.h"
#include "karakuri/core/random.h"
#include "karakuri/model/state.h"
#include "karakuri/world/contact.h"
#include "karakuri/world/scales.h"
#include "karakuri/world/scene.h"
#include "karakuri/world/settings.h"

namespace karakuri {

namespace world_detail {
struct Persistent;
}

/// An implicit PD drive of one dof: effort = stiffness (q_target - q') + damping (v_target - v'), at the end
/// of the step, cut at +-limit. A damping of infinity holds v_target exactly, as far as the limit allows.
struct Drive {
  double stiffness = 0;  // [N m/rad or N/m]
  double damping = 0;    // [N m s/rad or N s/m]
  double q_target = 0;   // of the three dofs of a quaternion: components of a rotation vector
  double v_target = 0;
  double limit = DofProperties::kNone;  // [N m or N]; the joint's effort_limit counts too

  bool is_set() const { return stiffness > 0 || damping > 0; }
};

/// A spring from a point of a link to a point of the world: the mouse.
struct PointSpring {
  LinkId link;
  Vec3 p_L = Vec3::Zero();     // in the link's frame [m]
  Vec3 target = Vec3::Zero();  // in the world [m]
  double stiffness = 0;        // [N/m]
  double damping = 0;          // [N s/m]
};
using SpringId = Id<struct SpringTag>;

/// How two links are joined while the world runs.
enum class Joining : std::uint8_t {
  kLoop,  // the joint closes a loop: always possible, and costs nothing to make or undo
  kTree,  // the joint becomes one of the tree: exact by its coordinates, and as cheap as any other
};

/// A joint that was made while the world ran.
struct Attachment {
  JointId id;
  Joint joint;  // frame F on `parent`, frame M on `child`
};

/// A shape of the scene, as the world keeps it.
struct ColliderInfo {
  LinkId link;
  ShapeId shape;
  Transform X_LS;
  Surface surface;
};

/// Two links that may touch and whose shapes overlap.
struct Overlap {
  LinkId a, b;
  double depth = 0;      // of the deepest pair of their shapes: the least shift that parts them [m]
  double thickness = 0;  // of the thinner one of that pair, roughly [m]
};

/// All that a world's future depends on, beside its scene, settings and hooks. A value: copy it, keep it,
/// write it.
struct Snapshot {
  std::uint64_t scene = 0;       // of what scene, see World::scene_hash()
  std::vector<std::byte> bytes;  // with version and checksum; may be written to a file as it is
};

class SceneEdit;

class World {
 public:
  /// Or all that is wrong with the scene or settings.
  static Result<World> make(Scene scene, const WorldSettings& settings = {},
                            const Vec3& gravity = kEarthGravity);
  World(World&&) noexcept;
  World& operator=(World&&) noexcept;
  ~World();
  /// A second world at the same point: both have the same future, bit for bit. Hooks are not copied.
  World clone() const;

  /// `count` steps of settings().dt. What happened is told of the last one only: to see all events(), step
  /// one by one.
  void step(int count = 1);

  // ---- what it is
  const Scene& scene() const;
  const Model& model() const;
  const WorldSettings& settings() const;  // as given
  /// The same with numbers in place of kFromScene: what a step goes by. They change with the scene and
  /// gravity.
  const WorldSettings& effective_settings() const;
  const Scales& scales() const;
  /// Empty when taken, else what is wrong, and the old ones stay.
  std::vector<Diagnostic> set_settings(const WorldSettings& settings);
  const Vec3& gravity() const;  // acceleration of free fall, world axes [m/s^2]
  /// Wakes everything. False, with nothing done, where a number is not finite. Part of a snapshot.
  bool set_gravity(const Vec3& gravity);
  std::span<const ColliderInfo> colliders() const;
  /// Changes the scene while it runs: masses, limits, springs, materials, sizes; new links with their joints
  /// and shapes. What is there stays joined as it is, and keeps its state to the bit. Empty when taken, else
  /// what is wrong, and nothing changes. model() is another one afterwards; scene_hash() may be.
  std::vector<Diagnostic> edit(const std::function<void(Scene&)>& change);
  /// The same with a change that was prepared; refused as well where it does not fit.
  std::vector<Diagnostic> edit(SceneEdit&& prepared);
  /// Whether the scene, and what is joined, are still the same as when the change was begun.
  bool fits(const SceneEdit& prepared) const;

  // ---- where it is; spans are good until the next step
  double time() const;
  const State& state() const;
  std::span<const double> q(JointId joint) const;  // empty: no such joint, or it has no coordinates
  std::span<const double> v(JointId joint) const;
  Transform pose(LinkId link) const;   // identity where there is no such link
  Motion velocity(LinkId link) const;  // of the link's origin, world axes
  Motion acceleration(
      LinkId link) const;  // of the link's origin over the last step: change of velocity per time

  // ---- setting it; false, with nothing done, where names or sizes do not fit or numbers are not finite
  bool set_q(JointId joint, std::span<const double> q);
  bool set_v(JointId joint, std::span<const double> v);
  bool set_state(std::span<const double> q, std::span<const double> v);
  /// Moves the tree of a link that hangs on a free joint, so that the link comes to X_WL; contacts start
  /// anew.
  bool teleport(LinkId link, const Transform& X_WL);
  /// The clock alone. It must be finite.
  bool set_time(double time);
  /// Of a link that is alone in its tree.
  bool set_velocity(LinkId link, const Motion& velocity);

  // ---- acting on it
  /// Efforts on the dofs of a joint, from now on [N m or N].
  bool set_effort(JointId joint, std::span<const double> effort);
  std::span<const double> effort(JointId joint) const;  // as set; empty: no such joint, or it has no dofs
  /// Of one dof. A drive that is all zeros does nothing.
  bool set_drive(JointId joint, const Drive& drive, int dof = 0);
  const Drive& drive(JointId joint, int dof = 0) const;  // as set; one that does nothing: no such dof
  /// During the next step only; adds up. Point in the link's frame, force and moment in world axes.
  bool add_force(LinkId link, const Vec3& force, const Vec3& p_L = Vec3::Zero(),
                 const Vec3& moment = Vec3::Zero());
  SpringId add_spring(const PointSpring& spring);  // none where there is no such link
  bool set_spring(SpringId id, const PointSpring& spring);
  /// Its id is dead afterwards. An id that is dead already does nothing.
  void remove_spring(SpringId id);
  /// The whole tree of the link moves as its velocities say, whatever pushes it.
  bool set_kinematic(LinkId link, bool kinematic);
  /// Loops can be opened and closed again. Closing is a plastic impact, as attach() is.
  bool set_loop_closed(JointId joint, bool closed);

  // ---- changing its structure, also from hooks (docs/loops.md)
  /// Joins two links from now on, by a joint of any kind: frame F is fixed to joint.parent, frame M to
  /// joint.child. Any two links can be joined. Their velocities change as in a plastic impact, with all
  /// closed loops and contacts respected: energy of motion is lost or kept, never gained. Frames that are
  /// apart are brought together at stabilization.max_speed. Joined links no longer touch. What the joint's
  /// dofs say is not used.
  ///
  /// With Joining::kTree the links must be of two trees, one of which floats, with frames that fit: that one
  /// is turned round to hang on the other by this joint, whose dofs count then. It is not one of
  /// attachments(), its name must be its own, and detach() cuts it. Else what is wrong, and nothing changes.
  Result<JointId> attach(Joint joint, Joining how = Joining::kLoop);
  Result<JointId> attach(LinkId a, const Transform& X_a, LinkId b, const Transform& X_b, Joint joint,
                         Joining how = Joining::kLoop);
  /// With both frames at X_WJ in the world now.
  Result<JointId> attach_here(LinkId a, LinkId b, const Transform& X_WJ, Joint joint,
                              Joining how = Joining::kLoop);
  /// Parts two links. Velocities stay as they are. Of a joint that closes a loop, only the loop is opened; a
  /// joint of a tree is cut, and what hung on it gets a free joint of the same name: positions in state() and
  /// colliders() are numbered anew then. Empty when done, else what is wrong, and nothing has changed.
  std::vector<Diagnostic> detach(JointId joint);
  std::span<const Attachment> attachments() const;
  /// The joint breaks when it carries more than this, at the end of a step: an event, then detach().
  bool set_breaking(JointId joint, double force, double moment = DofProperties::kNone);
  /// The whole tree of the link, if it sleeps.
  void wake(LinkId link);
  /// Whether the link's tree is stepped; false for the world and where there is no such link.
  bool awake(LinkId link) const;
  /// Whether the link's tree was frozen because its numbers were no longer finite. Setting its coordinates,
  /// or teleport(), frees it.
  bool quarantined(LinkId link) const;

  /// Called before each step (and substep), to read and to act. Returns a number for remove_hook().
  int add_hook(std::function<void(World&)> hook);
  void remove_hook(int hook);
  bool has_hooks() const;
  /// Called after each part of a step, while contacts, loads and report tell of that part: a step has more
  /// than one where something moves further than can be followed (StepReport::parts). One at most; an empty
  /// function ends it. It must not change the world.
  void watch_parts(std::function<void(const World&)> observer);

  // ---- what happened in the last step; spans are good until the next
  /// Everything that touched or could have, ordered by pair of colliders.
  std::span<const Contact> contacts() const;
  /// Of the last step alone, in the order in which they happened: step(n) drops those of the others.
  std::span<const Event> events() const;
  /// What the joint carried, and what its drive, friction and limit gave; zero where there is no such joint,
  /// and before the first step.
  JointLoad load(JointId joint) const;
  /// Sum of the contact forces on a link, about its origin, world axes.
  Force contact_force(LinkId link) const;
  /// As they are now. Drives, and springs of add_spring(), are not counted.
  Energies energies() const;
  /// How long the parts of the last step took [s].
  const StepTimes& times() const;
  /// How well the last step was solved.
  const StepReport& report() const;

  // ---- sensing
  struct Hit {
    LinkId link;
    int collider = -1;
    RayHit hit;
  };
  /// The shapes of the link `ignored` let the ray pass.
  std::optional<Hit> ray_cast(const Vec3& origin, const Vec3& direction, double limit,
                              LinkId ignored = {}) const;
  /// As links are now, the deepest first. Takes about as long as a step, and allocates.
  std::vector<Overlap> find_overlaps() const;
  /// What an inertial unit at a point of a link feels, in the link's axes: angular velocity, and acceleration
  /// without gravity.
  struct InertialReading {
    Vec3 angular_velocity, acceleration;
  };
  InertialReading inertial(LinkId link, const Vec3& p_L = Vec3::Zero()) const;

  // ---- snapshots
  Snapshot snapshot() const;
  /// Errors when it is of another scene, another version, or damaged; nothing changes then.
  std::vector<Diagnostic> restore(const Snapshot& snapshot);
  /// Everything that a snapshot of `other` would hold, without making one; does not allocate where the
  /// structure is the same. Errors when it is of another scene.
  std::vector<Diagnostic> restore(const World& other);
  /// Of everything a snapshot holds.
  std::uint64_t hash() const;
  /// Of the compiled scene: snapshots fit worlds whose hashes agree.
  std::uint64_t scene_hash() const;
  /// Worlds with the same stamp have the same scene, value for value: a world and its clones, until one of
  /// them is edited. Another number in every run.
  std::uint64_t scene_stamp() const;
  /// Random numbers of the world's own, part of its state.
  Random& random();

  struct Impl;

 private:
  friend class SceneEdit;
  explicit World(std::unique_ptr<Impl> impl);
  void run_hooks();
  std::vector<Diagnostic> cut(JointId joint);
  Result<JointId> attach_as_tree(Joint joint);
  std::vector<Diagnostic> take_over(const world_detail::Persistent& from);
  void detach_broken();
  std::unique_ptr<Impl> impl_;
};

/// World::edit() in two parts, the first of which takes its time where there are many links: it may be done
/// by another thread while the world goes on.
class SceneEdit {
 public:
  /// Copies the scene. `change` is called by prepare().
  SceneEdit(const World& world, std::function<void(Scene&)> change);
  SceneEdit(SceneEdit&&) noexcept;
  SceneEdit& operator=(SceneEdit&&) noexcept;
  ~SceneEdit();

  /// Empty when it can be had, else what is wrong with it.
  std::vector<Diagnostic> prepare();
  /// With the change, where the scene begins.  @pre prepare() was called, and found nothing wrong
  const World& world() const;
  const std::function<void(Scene&)>& change() const;

 private:
  friend class World;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace karakuri
