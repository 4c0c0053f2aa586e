// How far MuJoCo and we are apart on one file, at random states.
#pragma once

#ifdef KARAKURI_HAVE_MUJOCO

#include "io/mujoco_scene.h"
#include "karakuri/core/random.h"

namespace karakuri::test {

double relative_error(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);

/// Angles within ±1 rad of the reference, so that chains of three hinges are away from their singularity.
State random_state(const Model& model, Random& random);

/// Worst errors over random states: mass matrix, bias, springs and dampers of joints (relative); places of
/// bodies and of geoms, by their names [m, and of the axes].
struct Errors {
  double mass = 0, bias = 0, passive = 0, pose = 0, geom = 0;
};
Errors compare(const LoadedScene& loaded, const Model& model, MujocoScene& peer);

}  // namespace karakuri::test

#endif
