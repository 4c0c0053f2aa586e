// One engine's way through the work of this benchmark.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "karakuri/model/mechanism.h"
#include "karakuri/model/state.h"

namespace karakuri::bench {

/// Every task starts from (q, v) alone and so contains the kinematics it needs.
enum class Task {
  kJacobians,   // poses of all bodies and the world axes of all joints: what every Jacobian is put together
                // from
  kRnea,        // inverse dynamics
  kCrba,        // mass matrix
  kCrbaFactor,  // mass matrix and its factor
  kForward,     // accelerations
};
inline constexpr Task kTasks[] = {Task::kJacobians, Task::kRnea, Task::kCrba, Task::kCrbaFactor,
                                  Task::kForward};

std::string name(Task task);

/// A mechanism with inputs to run through in turn, so that neither caches nor branch predictors see one state
/// again and again.
struct Subject {
  std::string name;
  Mechanism mechanism;
  Model model;
  struct Input {
    State state;
    Eigen::VectorXd a, tau;  // nv
  };
  std::vector<Input> inputs;

  const Input& input(int i) const { return inputs[static_cast<std::size_t>(i) % inputs.size()]; }
};

Subject make_subject(std::string name, Mechanism mechanism);

struct Engine {
  using Call = std::function<void(int)>;

  std::string name;
  /// Runs the task on input i. Empty where the engine has no such function.
  std::function<Call(Task)> task;
  /// Of input i, in our coordinates: to check that all engines simulate the same thing.
  std::function<Eigen::VectorXd(int)> acceleration;
};

// The subject must outlive the engine.
Engine make_ours(const Subject& subject);
Result<Engine> make_mujoco(const Subject& subject);
Result<Engine> make_dart(const Subject& subject);

}  // namespace karakuri::bench
