// Scratch for the algorithms of this module: made once for a model, overwritten by every call, never grown.
//
// All quantities are in world axes at the origin of the body they belong to ("at B, in W"). Against link axes
// this spares the rotation of every velocity, force and articulated inertia on its way through the tree;
// against one common origin it keeps full precision however far a body is from it.
#pragma once

#include <cstdint>
#include <vector>

#include "karakuri/model/model.h"
#include "karakuri/spatial/packed.h"
#include "karakuri/spatial/spatial_vector.h"

namespace karakuri {

struct Workspace {
  explicit Workspace(const Model& model) { fit(model); }
  /// For another model, or one that has changed: what was computed is gone.
  void fit(const Model& model);
  std::uint64_t version() const { return version_; }

  struct Pose {
    Packed33 R;  // R_WB
    Packed3 p;   // p_WB_W [m]
    Packed3 r;   // from the parent's origin, p_PB_W [m]
  };
  struct Velocity {
    Packed3 w;  // angular [rad/s]
    Packed3 v;  // of the origin [m/s]
  };
  /// What velocities add to accelerations.
  struct Bias {
    Packed3 w;  // angular acceleration of B relative to its parent's, at zero joint accelerations
    Packed3 v;  // the same of the origin, beyond what the parent's angular acceleration gives
  };
  struct Acceleration {
    Packed3 w;  // angular [rad/s^2]
    Packed3 v;  // of the origin, d^2p/dt^2 [m/s^2]
  };
  struct Wrench {
    Packed3 n;  // moment about the origin [N m]
    Packed3 f;  // force [N]
  };
  /// Spatial inertia of a rigid body.
  struct RigidInertia {
    Packed33 I;   // about the origin [kg m^2]
    Packed3 h;    // mass times centre of mass from the origin [kg m]
    double mass;  // [kg]
  };
  /// Any symmetric spatial inertia: n = I w + G^T v, f = G w + M v.
  struct ArticulatedInertia {
    Packed33 I, G, M;
  };
  /// How a dof moves its body, seen at the origin of the tree's root.
  struct DofMotion {
    Packed3 w, v;
  };
  /// One degree of freedom eliminated from the articulated inertia.
  struct Pivot {
    Packed3 Un, Uf;    // articulated inertia times the dof's motion
    double inverse_d;  // 1 / (S^T U + diagonal)
    double u;          // effort that is left for the dof
  };

  // by body                                        computed by
  std::vector<Pose> pose;                  // update_poses, and all that take a State
  std::vector<Velocity> velocity;          // update_velocities, rnea, aba
  std::vector<Bias> bias;                  // as velocity
  std::vector<Acceleration> acceleration;  // update_accelerations, rnea (with gravity), aba (with gravity)
  std::vector<Wrench> wrench;              // rnea: carried by the joint; aba: bias
  std::vector<RigidInertia> composite;     // crba: of the subtree; centroidal functions
  std::vector<ArticulatedInertia> articulated;  // aba, articulated_factor
  // by dof
  std::vector<Packed3> axis;         // in W; update_poses
  std::vector<double> cosine, sine;  // of coordinates that are angles; update_poses
  std::vector<Pivot> pivot;          // aba, articulated_factor
  std::vector<DofMotion> motion;     // crba
  std::vector<double> change;        // apply_impulses: what is added to the velocities
  // of apply_impulses: the trees that are pushed, and by tree whether it is; all 0 between calls
  std::vector<std::int32_t> pushed;
  std::vector<std::uint8_t> is_pushed;

  // Set by the caller, read by crba, aba and articulated_factor. A step that is implicit in springs and
  // dampers adds them here: (M + h D + h^2 K) is as cheap to factor as M.
  std::vector<double> diagonal;  // nv; what is added to the mass matrix; at first Model::armature
  // Whether aba() turns the spin of bodies alone in their trees by w x I w, and the velocity of their origin
  // about their centre of mass. A caller who keeps their momentum himself leaves both out.
  bool free_gyroscopic = true;

 private:
  std::uint64_t version_ = 0;
};

}  // namespace karakuri
