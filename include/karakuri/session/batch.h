// Many copies of one session, stepped side by side on all cores: for learning, for search, for what-if.
//
// Each copy has the bits that the session would have had alone, for any number of threads: with its events,
// timed forces, trajectories, actuators, cables, fluid and sensors. What cannot be copied is refused: hooks,
// and behaviours that somebody runs. States and inputs lie in arrays with a row for each copy, by rows: that
// of copy i starts at i * nq() or i * nv(). No step allocates after the first few.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "karakuri/core/parallel.h"
#include "karakuri/session/session.h"

namespace karakuri {

class Batch {
 public:
  /// `count` clones of `session`, which it does not need afterwards.
  /// @param threads  At most so many; 0: as many as the machine has.
  static Result<Batch> make(const Session& session, int count, int threads = 0);

  int size() const { return static_cast<int>(copies_.size()); }
  int nq() const { return nq_; }
  int nv() const { return nv_; }
  int nu() const { return nu_; }
  int threads() const { return parallel_.threads(); }

  /// One copy: to read what the arrays do not hold, and to act on it between steps. What is done to its state
  /// shows in the arrays after the next step, or after refresh().
  /// @pre 0 <= copy < size()
  Session& session(int copy) { return copies_[copy]; }
  const Session& session(int copy) const { return copies_[copy]; }
  World& world(int copy) { return copies_[copy].world(); }
  const World& world(int copy) const { return copies_[copy].world(); }

  // ---- states, size() x nq() and size() x nv(); where they lie does not change
  /// Not-a-number in the row of a copy whose structure has changed (a joint broke), until it is reset.
  std::span<const double> q() const { return q_; }
  std::span<const double> v() const { return v_; }
  void refresh();

  // ---- inputs, size() x nv() and size() x nu(): what the sessions have. Numbers that are changed are given
  // to the copy before its next step.
  std::span<double> effort() { return inputs_[kEffort]; }     // Session::set_effort() [N m or N]
  std::span<double> q_target() { return inputs_[kQTarget]; }  // of Session::drive()
  std::span<double> v_target() { return inputs_[kVTarget]; }
  std::span<double> control() { return inputs_[kControl]; }  // of actuators

  /// Each copy makes `count` steps. Inputs that are not finite are told, with nothing done.
  std::vector<Diagnostic> step(int count = 1);

  // ---- one copy. Errors: no such copy, sizes, what Session::restore() says; nothing changes then
  /// Back to where the session was when the batch was made, inputs too.
  std::vector<Diagnostic> reset(int copy);
  void reset();  // all
  std::vector<Diagnostic> restore(int copy, const SessionSnapshot& snapshot);
  std::vector<Diagnostic> set_state(int copy, std::span<const double> q, std::span<const double> v);

 private:
  enum Input { kEffort, kQTarget, kVTarget, kControl, kInputs };
  Batch(const Session& session, int count, int threads);
  std::vector<Diagnostic> find_copy(int copy) const;
  bool is_whole(int copy) const;
  int columns(int input) const { return input == kControl ? nu_ : nv_; }
  std::span<double> row(std::vector<double>& all, int input, int copy);
  void take_inputs(int copy);
  void give_inputs(int copy);
  void give_joint(int copy, JointId joint, int first, int dofs);
  void read_state(int copy);
  void read(int copy);

  Session start_;
  std::vector<Session> copies_;
  std::vector<std::pair<JointId, int>> joints_;  // with their first dofs
  Parallel parallel_;
  int nq_ = 0, nv_ = 0, nu_ = 0;
  std::vector<double> q_, v_;
  std::vector<double> inputs_[kInputs], taken_[kInputs];  // as they are, and as the sessions have them
};

}  // namespace karakuri
