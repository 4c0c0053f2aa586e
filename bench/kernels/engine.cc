#include "kernels/engine.h"

#include <memory>

#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/dynamics/rnea.h"
#include "support/test_models.h"
#include "support/timing.h"

namespace karakuri::bench {

namespace {

/// Rows of the mass matrix of a chain of 10000 would take 400 MB; nobody should build it.
constexpr std::int64_t kLargestMassMatrix = 10'000'000;

class Ours {
 public:
  explicit Ours(const Subject& subject)
      : s_(subject), ws_(s_.model), M_(dense_enough() ? s_.model : Model{}) {
    out_.resize(s_.model.nv);
  }

  Engine::Call task(Task task) {
    const Model& m = s_.model;
    const bool needs_matrix = task == Task::kCrba || task == Task::kCrbaFactor;
    if (needs_matrix && !dense_enough()) return {};
    switch (task) {
      case Task::kJacobians: return [&](int i) { update_poses(m, s_.input(i).state, ws_); };
      case Task::kRnea: return [&](int i) { rnea(m, s_.input(i).state, s_.input(i).a, {}, ws_, out_); };
      case Task::kCrba: return [&](int i) { crba(m, s_.input(i).state, ws_, M_); };
      case Task::kCrbaFactor:
        return [&](int i) {
          crba(m, s_.input(i).state, ws_, M_);
          factor(m, M_);
        };
      case Task::kForward: return [&](int i) { aba(m, s_.input(i).state, s_.input(i).tau, {}, ws_, out_); };
    }
    return {};
  }

  Eigen::VectorXd acceleration(int i) {
    task(Task::kForward)(i);
    return out_;
  }

 private:
  bool dense_enough() const { return s_.model.mass_matrix_size <= kLargestMassMatrix; }

  const Subject& s_;
  Workspace ws_;
  MassMatrix M_;
  Eigen::VectorXd out_;
};

}  // namespace

std::string name(Task task) {
  switch (task) {
    case Task::kJacobians: return "poses and Jacobians";
    case Task::kRnea: return "RNEA";
    case Task::kCrba: return "CRBA";
    case Task::kCrbaFactor: return "CRBA + factor";
    case Task::kForward: return "forward dynamics";
  }
  return "";
}

Subject make_subject(std::string name, Mechanism mechanism) {
  constexpr int kInputs = 16;
  Subject subject{std::move(name), std::move(mechanism), {}, {}};
  subject.model = test::compile_or_die(subject.mechanism);
  Random random(1);
  for (int i = 0; i < kInputs; ++i) {
    subject.inputs.push_back({test::random_state(subject.model, random),
                              test::random_vector(subject.model.nv, random),
                              test::random_vector(subject.model.nv, random)});
  }
  return subject;
}

Engine make_ours(const Subject& subject) {
  const auto ours = std::make_shared<Ours>(subject);
  return {"karakuri", [ours](Task task) { return ours->task(task); },
          [ours](int i) { return ours->acceleration(i); }};
}

}  // namespace karakuri::bench
