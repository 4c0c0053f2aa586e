// The inside of a World: what is kept between steps, and what a step works with. Each file of this module is
// one part of the step; step.cc lists them in order.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collision/broadphase/clusters.h"
#include "constraint/state_island.h"
#include "karakuri/collision/ccd.h"
#include "karakuri/collision/narrowphase.h"
#include "karakuri/constraint/rows.h"
#include "karakuri/core/parallel.h"
#include "karakuri/core/random.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/response.h"
#include "karakuri/model/recompile.h"
#include "karakuri/world/scales.h"
#include "karakuri/world/world.h"
#include "solver/rigid_islands.h"
#include "world/loop_stage.h"
#include "world/persistent.h"

namespace karakuri {

namespace world_detail {

/// A shape on a body. The index of a collider is the id of its proxy in the broad phase.
struct BodyShape {
  const Shape* shape = nullptr;
  std::int32_t body = 0;
  std::int32_t material = 0;  // index of `surfaces`
  LinkId link;                // as in `collider_infos`, which a step does not read
  Transform X_BS;
  double radius = 0;            // of the sphere about the shape's origin that holds it [m]
  double inner_radius = 0;      // of a sphere that fits in it, roughly: what it cannot pass unnoticed [m]
  double arm = 0;               // of the shape's origin from the body's [m]
  bool has_many_parts = false;  // see narrowphase.h
};

/// Of the shape, in the world.
Transform pose_of(const Workspace& ws, const BodyShape& shape);

/// Work of what is kinematic through loops that are held [J].
struct HeldWork {
  double given = 0, received = 0;  // by rows: what it gives, and what they give to what responds
  double most = 0;                 // what they could give at its velocity, whichever way that is
  double undone = 0, pressed = 0;  // what rows leave undone, and what that is compared with
  double by_stages = 0;            // where loops.cc holds them
  double told = 0;                 // what their load gives at most, which rows and loops.cc share

  HeldWork& operator+=(const HeldWork& o) {
    given += o.given, received += o.received, most += o.most, undone += o.undone, pressed += o.pressed,
        by_stages += o.by_stages, told += o.told;
    return *this;
  }
};

/// Of springs in place of contacts, of a tree or a set of trees in a step; energy_springs.cc [J].
struct ContactSprings {
  double stored = 0;   // by their depths and stretches, at most
  double most = 0;     // that they may give
  double mean = 0;     // that they give to the motion: at the mean of the velocities at both ends
  double carried = 0;  // what is kinematic gives to them
  double held = 0;     // what they have taken, and may give back
  double allowed = 0;  // of `most`
  double deeper = 0;   // than the step before has led to, at most [m]
  double mass = 0;     // of the trees [kg]

  double taken() const { return std::max(0.0, carried - mean); }
  ContactSprings& operator+=(const ContactSprings& o) {
    stored += o.stored, most += o.most, mean += o.mean, carried += o.carried, held += o.held, mass += o.mass;
    deeper = std::max(deeper, o.deeper);
    return *this;
  }
};

/// What energy_ledger.cc knows of a tree, and in the first one of a set, of all of it [J].
struct EnergyAccount {
  std::int32_t parent = 0;  // union-find
  std::int32_t next = -1;   // of the set
  bool counts = false;      // it responds
  bool anchored = false;    // something fixed acts on it
  bool touched = false;     // anything does
  bool slowed = false;      // by continuous contact
  bool holds = false;       // loops or couplings
  bool drawn_back = false;  // by loops, beside the way of its velocities
  bool opened = false;      // and a loop of them is not closed at the start of the step
  double start_motion = 0, start_height = 0, motion = 0,
         height = 0;                // at the start of the step, and at its end
  double turned = 0;                // |dv|^2_M
  double angle = 0;                 // by which its joints turn, added up [rad]
  double start_fall = 0, fall = 0;  // |v . grad U| [W]
  Vec3 start_moment = Vec3::Zero(),
       start_momentum = Vec3::Zero();  // mass times centre, or times its velocity
  Vec3 center_way = Vec3::Zero();      // of its centre of mass, as its momentum leads it
  double set_energy = 0, set_motion = 0, set_due = 0, set_mass = 0, tolerated = 0;
  double left_open = 0;           // what closing loops would have lifted, and did not
  double springs = 0, there = 0;  // energy of springs that swing, and other that is there at the start
  double before = 0, exchanged = 0, order = 0, own_order = 0, work = 0, credit = 0;
  HeldWork held, set_held;  // of the tree, and of the set
  ContactSprings contact, set_contact;
  double stored = 0, risen = 0;  // by overlaps that come apart: what they have stored, and what they lift
};

/// Trees that act on each other in this step, with their blocks of rows.
struct Island {
  std::int32_t first_block = 0, block_count = 0;  // in `island_blocks`
  std::int32_t rows = 0;
  std::int32_t trees = 0;  // that respond
  bool loose = true;       // they are free bodies
  bool rigid = false;      // and to be solved as rigid_islands.h has them
  solver::Report report;
  double work = 0;            // of all that was solved of it
  bool out_of_work = false;   // WorldSettings::max_work was not enough
  bool refused = false;       // by the method that was asked for
  bool hardly_moves = false;  // verify.cc
  bool solved = false;        // by the impulses of the last step, as loops alone, or as rigid bodies
  bool answered = false;      // its trees' velocities are in v_answered
};

/// Scratch of one thread.
struct Slot {
  explicit Slot(const Model& model) : response(model), state(model.trees.size()) {
    constexpr int kUsual = 64;  // blocks of an island
    near.reserve(kUsual);
    remote.reserve(kUsual);
  }

  CollisionWorkspace collision;
  ResponseBuffers response;
  Statement state;
  std::vector<std::int32_t> near, remote;  // blocks of the island, see solve_islands.cc
  solver::Island island;
  solver::IslandWorkspace solver;
  std::vector<double> given;               // rows: all impulses of the island
  solver::RigidBatch rigid;                // islands that are stated together
  std::vector<std::int32_t> rigid_bodies;  // of the model: those of `rigid`
  solver::RigidWorkspace rigid_solver;
  bool corrected = false;  // any island of this thread has a position correction in this step
};

/// Contacts found by one batch of pairs.
struct FoundContacts {
  static constexpr std::int32_t kUnchanged = -1;  // both sleep: the contacts of the last step stay
  struct Pair {
    std::int32_t pair;   // of World::Impl::pairs; ascending
    std::int32_t count;  // of manifolds
  };
  std::vector<Pair> pairs;
  std::vector<Manifold> manifolds;
  double work = 0;
  int cut = 0;  // pairs that were too much for what each was granted
};

/// What does not change between edits of the scene.
struct SceneTables {
  SceneTables(Scene s, Model m, const WorldSettings& wanted)
      : scene(std::move(s)), model(std::move(m)), given(wanted) {}

  Scene scene;
  Model model;
  WorldSettings given;     // by the user: numbers may be kFromScene
  Scales scales;           // of the scene as it was made
  WorldSettings settings;  // what the step reads: resolve_settings()
  std::vector<ColliderInfo> collider_infos;
  std::vector<BodyShape> colliders;
  bool has_many_parts = false;    // any of them
  std::vector<Surface> surfaces;  // material x material
  int material_count = 0;
  std::vector<double> tree_mass;      // by tree [kg]
  std::vector<double> tree_reach;     // by tree: of its shapes from the origins of their bodies, at most [m]
  std::vector<double> tree_size;      // by tree: of its masses and shapes from its root, roughly [m]
  std::vector<double> away;           // by body: of its origin from that of its tree's root, roughly [m]
  std::vector<std::int32_t> tree_of;  // by body; -1: the world
  std::vector<std::int32_t> rubbing_dofs;    // with dry friction
  std::vector<std::int32_t> limited_bodies;  // with limits on any dof
  std::vector<std::int32_t> driven_dofs;     // with a drive
  std::vector<std::int32_t> jointed_trees;   // with any of these, ascending
  // What a step asks of many dofs, and few need, in little room.
  struct Passive {
    std::int32_t dof;
    double stiffness, damping, rest;
  };
  std::vector<Passive> passive_dofs;        // with a spring or a damper of their own, ascending
  std::vector<std::int32_t> passive_start;  // by tree: its first of these; one more for the end
  std::span<const Passive> passive_of(int tree) const {
    return std::span(passive_dofs)
        .subspan(passive_start[tree], passive_start[tree + 1] - passive_start[tree]);
  }
  struct RotationSpring {
    std::int32_t first_dof;
    Vec3 stiffness;
  };
  std::vector<RotationSpring> rotation_springs;  // of rotations whose three springs differ
  struct Limits {
    std::int32_t body, dof, q;
    double lower, upper;  // of its one dof; of several, or of a quaternion, q is -1
  };
  std::vector<Limits> limits;                // of limited_bodies
  std::vector<JointId> joint_of_body;        // that carries it
  std::vector<LinkId> root_links;            // by tree: a link of its first body
  std::uint64_t scene_hash = 0;              // hash_scene() of the scene as it was made
  std::size_t scene_loops = 0;               // loops of the scene; those of `attached` follow
  std::shared_ptr<const Mechanism> made;     // the scene's as it was made; none: it still is
  std::vector<std::int32_t> collider_start;  // by slot of a link: its first collider; one more for the end
  std::uint64_t scene_stamp = 0;             // World::scene_stamp()
};

/// Kept, but not needed to go on, since a restore builds it anew; and what a step works with throughout.
struct Means {
  explicit Means(const Model& model) : ws(model) {}

  collision_detail::ClusteredBroadphase broadphase;  // links of a tree move together
  struct PairMemory {
    ProxyPair pair;
    PairHint hint;
  };
  std::vector<PairMemory> pairs, pairs_before;
  std::vector<std::function<void(World&)>> hooks;
  std::function<void(const World&)> part_observer;
  Parallel parallel{1};
  std::vector<Slot> slots;  // by thread
  Workspace ws;
  State known;  // whose poses and velocities are in ws, as the last step left them; without coordinates: none
  bool has_unresponsive = false;  // trees that are awake but kinematic, or quarantined
  double h_now = 0;               // length of the step that is under way; 0 between steps [s]
  std::vector<JointId> broken;    // in this step
};

/// Before anything touches.
struct FreeMotionData {
  std::vector<double> tau, acceleration, v_free;  // nv
  std::vector<double> implicit;  // nv: h (d + h k) of springs, dampers and drives, in ws.diagonal besides
                                 // armature, of dofs on which they act at the end of the step; 0: others
  std::vector<Force> f_ext;      // by body
  std::vector<Workspace::Velocity> free_velocity;  // of bodies, at v_free; ws.velocity is that at the start
  std::vector<std::uint8_t> drive_is_row;          // by dof
  std::vector<std::uint8_t> drive_overruns;  // by dof: it would exceed its limit in this step, were it no row
};

/// What touches, and what the motion of a solution meets (continuous.cc).
struct ContactData {
  std::vector<Contact> contacts_before;
  std::vector<double> reach;  // by collider: how far it looks and moves in this step [m]
  std::vector<Transform> collider_pose;
  std::vector<std::uint8_t> collider_awake;
  std::vector<std::uint8_t> collider_placed;  // it sleeps or stands still, and its pose and box are known
  std::vector<FoundContacts> found;           // by batch
  std::vector<std::uint8_t> fast;             // by collider
  struct Path {
    Sweep sweep;
    Aabb box;  // about all of its way
  };
  std::vector<Path> paths;               // by collider, of those that are asked for
  std::vector<std::uint8_t> path_known;  // by collider
  std::vector<Contact> swept;            // that the motion of a solution meets
  std::vector<Manifold> swept_manifolds;
  std::vector<ImpulseRow> penalty_rows;
  std::vector<double> penalty_impulses;
  std::vector<std::int32_t> penalty_contact;      // whose they are
  std::vector<ProxyPair> pressing, pressing_now;  // pairs that press on each other
};

/// Rows, islands and their impulses.
struct IslandData {
  Rows rows;
  std::vector<double> row_velocity;     // J v at the start, then at the end of the step
  std::vector<double> row_trial;        // J v with the impulses of the last step
  std::vector<double> row_free;         // J v_free
  std::vector<double> row_carried;      // the part of J v of bodies that do not respond, where there are any
  std::vector<double> bounce;           // impulses of bouncing, by row
  std::vector<double> total;            // bounce + rows.lambda, by row
  std::vector<double> unanswered;       // those of `total` that v_answered does not know yet
  std::vector<double> v_answered;       // nv; v_free and what impulses do to trees that have answered them
  std::vector<double> correction;       // pseudo-impulses of the position correction, by row
  std::vector<double> restitution;      // by block
  std::vector<std::uint8_t> pushed;     // by tree: impulses other than of bouncing act on it
  std::vector<std::int32_t> parent;     // by tree: union-find
  std::vector<std::int32_t> island_at;  // by tree
  std::vector<std::int32_t> block_island;  // by block
  std::vector<Island> islands;
  std::vector<std::int32_t> island_blocks;
  std::vector<std::int32_t> solve_order, solve_batches;  // islands that are to be solved, and where in
                                                         // `order` each batch begins; one more for the end
  std::vector<double> v_trial;  // nv: with the impulses of the last step, of trees whose islands are tried
  std::vector<Workspace::Velocity> trial_velocity;  // at the impulses of the last step
};

/// From the velocities at the end of a step to its positions.
struct MotionData {
  explicit MotionData(const Model& model) : stage(model), state_free(model), ahead(model) {}

  std::vector<double> v_end;            // nv: velocities that the impulses give, at the end of the step
  std::vector<double> shift, move;      // nv
  bool is_shifted = false;              // any position is corrected in this step
  std::vector<double> shifted;          // by tree: how far a correction moves any of its shapes [m]
  std::vector<double> shift_warranted;  // by tree: how far its depths warrant [m]
  std::vector<std::uint8_t> plain;      // by tree: moves by its velocity at the end, see move_bodies.cc
  // By tree, of an explicit step: its rows know where the velocity of the start leads, as it was not plain
  // when they were made.
  std::vector<std::uint8_t> led_by_start;
  std::vector<std::uint8_t> slowed;  // by tree: whether it was slowed down before what it would have passed
  double motion_lost = 0;            // by that [m]
  LinkId motion_lost_by;
  std::vector<double> free_until,
      free_within;                   // by tree: share of the step that it, and what is in it, moves
  std::vector<double> limit_before;  // nv
  State stage, state_free, ahead;
  std::vector<double> stage_q, sum_v, rate_q, sum_q;              // RK4
  std::vector<double> held_effort, stage_effort, stage_diagonal;  // nv; RK4
  std::vector<Force> held_force;                                  // by body; RK4
};

/// Loops that are held by position, and trees that keep their momentum (keep_momentum.cc).
struct MomentumData {
  LoopStage loop_stage;
  std::vector<double>
      given_by_loops;  // by tree: by what is kinematic, through the loops that loops.cc holds [J]
  std::vector<std::array<double, 6>>
      loop_turning;                               // by loop: impulses by which loops.cc holds it in the step
  std::vector<std::array<double, 2>> loop_speed;  // by loop: of what is kinematic at the start [m/s, rad/s]
  struct Floating {
    bool keeps = false;    // a tree of several bodies: its momentum is kept
    bool free = false;     // on a free joint, and nothing fixed touches it
    bool touched = false;  // by another tree, or by something fixed
    bool leads = false;    // the root of a set that loops hold together, all of it free
    bool grouped = false;  // of such a set
    bool counts() const { return keeps || grouped; }
  };
  std::vector<Floating> floats;     // by tree
  std::vector<TreeMotion> motions;  // by tree that counts: before it moves, with the momentum it will have
  std::vector<Force> from_outside;  // by tree that counts: impulses of other trees, about its root's origin
  std::vector<Vec3> gained;         // by tree that counts: linear momentum from gravity, forces, efforts
  std::vector<TreeMotion> group_wanted, group_now;             // of one set
  std::vector<std::pair<std::int32_t, std::int32_t>> members;  // of all sets: its leader, the tree
  bool any_groups = false;
};

/// energy_ledger.cc
struct LedgerData {
  std::vector<double> v_whole, way, share_of_way;  // nv
  std::vector<EnergyAccount> accounts;             // by tree
  std::vector<double> deepest;                     // by tree: of its contacts that are springs [m]
  double energy_made = 0, energy_taken = 0, energy_exchanged = 0, most_made = 0;  // in the step [J]
  LinkId energy_made_by;
};

/// What is told of the step, and of the present and the last state where it is asked for.
struct ReadOut {
  explicit ReadOut(const Model& model)
      : view(model), past(model), past_forces(model.bodies.size()), past_state(model) {}

  std::vector<Event> events;
  StepTimes times;
  StepReport report;
  std::vector<double> still_of_set;     // by tree
  std::vector<std::uint8_t> is_viewed;  // by tree: `view` has its poses at the end of the step
  mutable Workspace view;               // poses and velocities of the present state, where `view_fresh`
  mutable bool view_fresh = false;
  mutable Broadphase view_boxes;  // of colliders, by their number, at the poses of `view`; for rays
  mutable bool view_boxes_fresh = false;
  mutable Workspace past;  // of the last step: poses and velocities at its start, what joints carried in it
  mutable std::vector<Force> past_forces;
  mutable std::vector<double> past_a, past_tau;  // nv
  mutable State past_state;
  mutable bool past_fresh = false;
};

/// What is wrong with shapes and pairs that never touch; make.cc.
void check_shapes(const Scene& scene, std::vector<Diagnostic>& flaws);
void check_no_contact(const Scene& scene, const Model& model, std::vector<Diagnostic>& flaws);
/// What is wrong with the settings, by themselves and for the scene; make.cc.
std::vector<Diagnostic> check_settings(const WorldSettings& settings, const Scene& scene);

/// Where the impulse of a coupling or tendon is kept in Persistent::relation_impulse.
inline int relation_slot(RowSource source) {
  return source == RowSource::kTendonHigh ? 1 : source == RowSource::kTendonSpring ? 2 : 0;
}

/// Of the limits of a distance, whose impulse is kept with this sign as the loop's first.
inline double loop_limit_sign(RowSource source) { return source == RowSource::kLoopLow ? 1 : -1; }

/// Whether it may be set; world.cc.
bool is_possible(const Drive& drive);
bool is_possible(const Model& model, const PointSpring& spring);

/// The smaller of the drive's and the joint's limit.
double drive_limit(const Model& model, const Drive& drive, int dof);

/// +1 for a row of the lower limit of its dof, -1 for one of the upper.
double limit_sign(const Model& model, const Workspace& ws, const Rows& rows, const RowBlock& block);

}  // namespace world_detail

/// Each base is one part of what there is, in the order in which a step fills them.
struct World::Impl : world_detail::Persistent,
                     world_detail::SceneTables,
                     world_detail::Means,
                     world_detail::FreeMotionData,
                     world_detail::ContactData,
                     world_detail::IslandData,
                     world_detail::MotionData,
                     world_detail::MomentumData,
                     world_detail::LedgerData,
                     world_detail::ReadOut {
  Impl(Scene scene, Model model, const WorldSettings& settings);

  Integrator integrator_of(int tree) const {
    return plain[tree] ? Integrator::kSemiImplicit : settings.integrator;
  }

  // ---- the parts of a step; equations and reasons stand in the files
  /// A step, or two of half its length where it moves something further than it can be followed, and so on.
  void substep(double h, int halvings, const World& of);
  /// How a step was made; if not at all, nothing has moved.
  enum class Attempt { kMade, kInHalvesInstead, kWithMoreRowsInstead };
  Attempt attempt(double h, bool is_last);
  /// free_motion.cc: whether drives that are no rows exceed their limits at v_end; they are rows from then on
  bool overruns_drives();
  void free_motion(double h);  // free_motion.cc: efforts, aba, v_free
  /// Adds to `efforts` what `rotation_springs` give beyond what each dof's own would. @param h  looks ahead
  /// so far, where they are taken at the end of the step; 0: without those
  void turn_spring_efforts(const State& at, double h, std::vector<double>& efforts) const;
  void quarantine_infinite_motion();  // quarantine.cc
  void detect(double h);              // detect.cc: contacts, matched with the last step's
  void connect_trees();               // islands.cc: what acts on what; wake
  void build_rows(double h);          // build_rows.cc
  void gather_islands();              // islands.cc
  void accept_what_holds(double h);   // verify.cc: islands that the old impulses solve
  void solve_loops_alone();           // loops.cc: islands of nothing but loops
  void solve_islands(double h);       // solve_islands.cc
  void find_end_velocities();         // move_bodies.cc: v_end
  void hold_end_velocities();         // loops.cc: v_end of sets whose loops the solution does not hold
  /// continuous.cc: adds contacts that the motion v meets within the step. Whether there are any.
  bool meets_more(const std::vector<double>& v, double h);
  // continuous.cc: what goes through something whatever its rows do
  bool passes(const std::vector<double>& v, double h);
  void slow_down_what_passes(std::vector<double>& v, double h, bool any);
  /// slow_down.cc: takes a share of a tree's velocities, and of those within it; tells the motion that is
  /// lost.
  void slow_down(int tree, double share, double within, std::vector<double>& v, double h);
  void slow_down_loops(std::vector<double>& v, double h);  // slow_down.cc: what turns too far to be followed
  bool turns_loops_far(const std::vector<double>& v, double h);
  void penalty_contacts(double h);        // penalty.cc: instead of rows
  void find_shift(double h);              // correct_positions.cc: `shift`
  void move_and_settle(double h);         // step.cc: all of the following
  void move_bodies(double h);             // move_bodies.cc: velocities, positions
  void move_by_velocities(double h);      // of all integrators but RK4
  void find_led_by_start(double h);       // move_bodies.cc: `led_by_start`
  void find_plain(double h);              // move_bodies.cc: `plain`
  bool find_more_plain();                 // energy_ledger.cc: the same, of what got too fast
  void start_again();                     // move_bodies.cc: at the start of the step
  void runge_kutta(double h);             // runge_kutta.cc: the same by RK4
  void settle_loops(double h);            // loops.cc: positions and velocities at the end of the step
  void close_loops(State& at, double h);  // loops.cc: positions
  void project_on_loops(State& at, int root = -1);  // loops.cc: velocities; of one set of trees, or all
  /// loops.cc: accelerations, at the poses and velocities of ws, which last so long.
  void hold_loops(std::vector<double>& a, double lasts);
  void find_floating();                         // keep_momentum.cc: which trees keep their momentum
  void remember_momentum(int tree, double h);   // keep_momentum.cc
  void give_momentum_back(int tree, double h);  // keep_momentum.cc
  // keep_momentum.cc: what gravity, forces and efforts add to the velocity of a floating tree's centre of
  // mass
  Vec3 smooth_change(int tree, double h) const;
  void keep_group_momentum(double h);  // keep_momentum.cc: of trees that loops hold together
  // energy_ledger.cc: before anything moves with the velocities that the step ends with, and afterwards
  void open_ledger(double h);
  void close_ledger();
  double drive_effort_of(int dof) const;  // that is no row
  void quarantine_infinite_states();      // quarantine.cc
  void finish(double h);                  // finish.cc: read-outs, events, sleep

  // ---- changes of structure; structure.cc
  int find_loop(JointId joint) const;  // in model.loops; -1: none
  void add_attached_loop(const Attachment& attachment);
  void set_pair_joined(const world_detail::LinkPair& links,
                       bool joined);                         // joined links do not touch; pairs.cc
  bool is_no_contact(int collider_a, int collider_b) const;  // said in the scene; pairs.cc
  void find_special_dofs(int body);                          // make.cc: limited, rubbing
  void tabulate_dofs();                                      // free_motion.cc: after any change of drives
  std::vector<int> colliders_on(int body) const;             // pairs.cc
  world_detail::LinkPair links_of(const Loop& loop) const;   // that it joins; pairs.cc
  std::vector<int> colliders_beside(LinkId link) const;      // that move as one with it; pairs.cc
  void exclude_joined(const world_detail::LinkPair& links);  // pairs.cc
  std::uint64_t hash_scene() const;  // hash_scene.cc  @pre as it was made: nothing attached, nothing cut
  void exclude_around(std::span<const std::int32_t> links);  // pairs.cc: pairs that never touch
  bool is_of_island(int body, int root) const;
  void impact(int loop);                                              // impact.cc: plastic
  std::vector<Diagnostic> apply(const world_detail::TreeEdit& edit);  // tree_edits.cc
  void remember_hung(std::span<const LinkId> links);                  // in `structure`: as they hang now
  void remember_parted(const world_detail::LinkPair& pair);           // and in the scene
  Scene scene_as_made() const;                                        // edit.cc
  /// edit.cc: another inside, of the same scene with other trees, and all else as made.
  Result<std::unique_ptr<Impl>> with_structure(const world_detail::Structure& wanted) const;
  void follow(const Splice& splice);                   // all that is kept, when some trees were compiled anew
  void replace(const world_detail::Persistent& read);  // serialize.cc: everything, with its attached loops
  void inherit(Impl& old);                             // all that is kept when the scene is edited
  bool holds_anything() const { return !model.loops.empty() || !model.relations.empty(); }
  void find_broken();
  Force loop_wrench(int loop) const;  // on frame M's body, at M

  // ---- helpers
  const Surface& surface_of(int first, int second) const {
    return surfaces[colliders[first].material * material_count + colliders[second].material];
  }
  int tree_of_link(LinkId link) const;
  BlockList blocks_of(const world_detail::Island& island) const {
    return {island_blocks.data() + island.first_block, static_cast<std::size_t>(island.block_count)};
  }
  int root_of(int tree) const {
    while (parent[tree] != tree) tree = parent[tree];
    return tree;
  }
  bool responds(int body) const { return tree_of[body] >= 0 && trees[tree_of[body]].responds(); }
  bool responds(const Relation& relation) const;               // any of its joints; build_rows.cc
  bool answers(const Loop& loop) const;                        // any of its bodies; build_rows.cc
  void release_unresponsive(std::span<ImpulseRow> all) const;  // they are not moved; build_rows.cc
  void wake_tree(int tree);
  void freeze_tree(int tree);
  void moved_by_hand(int tree);
  // scales.cc: after any change of what is given, and of gravity. All that is kept from step to step and was
  // made by the old settings is forgotten here, and nowhere else.
  void resolve_settings();
  void after_restore();       // make.cc: what is not saved
  void refresh_kinematics();  // ws: poses and velocities of the state
  void refresh_view() const;
  void refresh_view_boxes() const;
  void refresh_past() const;
  void forget_contacts_of(int tree);
  void collect_pressing(std::vector<ProxyPair>& out) const;
  void emit(EventKind kind, int tree);
  void use_threads(int count);
};

}  // namespace karakuri
