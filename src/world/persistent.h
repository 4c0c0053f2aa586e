// What a world keeps from step to step: all that its snapshots save.
#pragma once

#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "karakuri/core/random.h"
#include "karakuri/model/recompile.h"
#include "karakuri/world/world.h"

namespace karakuri::world_detail {

using LinkPair = std::pair<LinkId, LinkId>;

struct TreeStatus {
  std::uint8_t awake = 1;
  std::uint8_t kinematic = 0;
  std::uint8_t quarantined = 0;
  double still = 0;  // for how long it has been slow [s]
  // Energy that the integrator has lost and may give back, see energy_ledger.cc [J]; at first as much as it
  // may be wrong by.
  double credit = std::numeric_limits<double>::infinity();
  // Of springs in place of its contacts, see energy_springs.cc: what they hold [J], and how deep the last
  // step has led them [m].
  double sprung = 0, deep = 0;

  bool responds() const { return awake && !kinematic && !quarantined; }
};

struct SpringSlot {
  PointSpring spring;
  Vec3 impulse = Vec3::Zero();  // warm start
  std::uint32_t generation = 1;
  std::uint8_t used = 0;
};

struct PendingForce {
  LinkId link;
  Vec3 p_L, force, moment;
};

/// How the trees hang together otherwise than in the scene as it was made: what is there now, however it came
/// to be.
struct Structure {
  std::vector<HungLink> hung;    // see Mechanism::rehang(); a link once at most
  std::vector<LinkPair> parted;  // by cuts: they never touch again; a pair once at most
  bool operator==(const Structure& o) const;
};

/// A change of the trees: a joint is cut, or one is made that makes two trees one.
struct TreeEdit {
  bool joins = false;
  JointId cut;     // the joint
  Transform X_WL;  // where its child was then
  Joint made;      // as for Mechanism::graft()
};

struct Breaking {
  JointId joint;
  double force = 0, moment = 0;  // [N, N m]
};

/// Everything that a snapshot saves. serialize.cc lists it once, for writing, reading and hashing.
struct Persistent {
  State state;
  std::vector<double> q_before, v_before;           // nq, nv; at the start of the last step
  double h_before = 0;                              // length of the last step [s]
  std::vector<double> effort;                       // nv; set_effort()
  std::vector<Drive> drives;                        // nv
  std::vector<double> drive_effort;                 // nv; what the drives gave in the last step
  std::vector<double> limit_impulse;                // nv; signed, towards greater q
  std::vector<double> friction_impulse;             // nv
  std::vector<double> drive_impulse;                // nv
  std::vector<std::array<double, 6>> loop_impulse;  // by loop
  std::vector<std::array<double, 6>> loop_bounce;   // by loop: of bouncing and of loops.cc, besides
  std::vector<double> loop_chord;                   // by loop: share of the chord that the next step takes
  std::vector<std::array<double, 3>> relation_impulse;  // by Model::relations, see relation_slot()
  std::vector<double> relation_chord;                   // as loop_chord
  std::vector<Contact> contacts;                        // by pair of colliders, ascending
  std::vector<TreeStatus> trees;                        // by tree
  std::vector<SpringSlot> springs;
  std::vector<PendingForce> forces;   // of the next step
  std::vector<PendingForce> applied;  // of the last step
  Structure structure;
  std::vector<Attachment> attached;  // their loops follow those of the scene in Model::loops, in this order
  std::uint64_t attach_count = 0;    // ever
  std::vector<Breaking> breaking;
  Vec3 gravity = kEarthGravity;  // Model::gravity is a copy that the dynamics read
  Random random;
  std::uint64_t steps = 0;
};

}  // namespace karakuri::world_detail
