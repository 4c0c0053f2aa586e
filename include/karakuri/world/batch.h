// Many copies of one world, stepped side by side on all cores: for learning, for search, for what-if.
//
// Each copy has the bits that the world would have had alone, for any number of threads. States and inputs
// lie in arrays with a row for each copy, by rows: that of copy i starts at i * nq() or i * nv(). No step
// allocates after the first few.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "karakuri/core/parallel.h"
#include "karakuri/world/world.h"

namespace karakuri {

class Batch {
 public:
  /// `count` clones of `world`, which it does not need afterwards.
  /// @param threads  At most so many; 0: as many as the machine has.
  static Result<Batch> make(const World& world, int count, int threads = 0);

  int size() const { return static_cast<int>(worlds_.size()); }
  int nq() const { return nq_; }
  int nv() const { return nv_; }
  int threads() const { return parallel_.threads(); }

  /// One copy: to read what the arrays do not hold, and to act on it between steps. What is done to its state
  /// shows in q() and v() after the next step, or after refresh().
  /// @pre 0 <= copy < size()
  World& world(int copy) { return worlds_[copy]; }
  const World& world(int copy) const { return worlds_[copy]; }

  // ---- states, size() x nq() and size() x nv(); where they lie does not change
  /// Not-a-number in the row of a copy whose structure has changed (a joint broke), until it is reset.
  std::span<const double> q() const { return q_; }
  std::span<const double> v() const { return v_; }
  void refresh();

  // ---- inputs, size() x nv(): given to all copies before each step, in place of what their worlds have. At
  // first those of the world.
  std::span<double> effort() { return effort_; }      // [N m or N]
  std::span<double> q_target() { return q_target_; }  // of the dofs that have drives, see Drive
  std::span<double> v_target() { return v_target_; }

  /// Each copy makes `count` steps. Inputs that are not finite are told, with nothing done.
  std::vector<Diagnostic> step(int count = 1);

  // ---- one copy. Errors: no such copy, sizes, what World::restore() says; nothing changes then
  /// Back to where the world was when the batch was made, inputs too.
  std::vector<Diagnostic> reset(int copy);
  void reset();  // all
  std::vector<Diagnostic> restore(int copy, const Snapshot& snapshot);
  std::vector<Diagnostic> set_state(int copy, std::span<const double> q, std::span<const double> v);

 private:
  Batch(const World& world, int count, int threads);
  std::vector<Diagnostic> find_copy(int copy) const;
  bool is_whole(int copy) const;
  void take_inputs(int copy);
  void give_inputs(int copy);
  void read_state(int copy);

  World start_;
  std::vector<World> worlds_;
  std::vector<std::pair<JointId, int>> joints_;  // with their first dofs
  Parallel parallel_;
  int nq_ = 0, nv_ = 0;
  std::vector<double> q_, v_, effort_, q_target_, v_target_;
};

}  // namespace karakuri
