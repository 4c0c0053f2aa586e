// Islands that worlds met on their way, as problems that any method can be asked to solve.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "karakuri/core/diagnostic.h"
#include "karakuri/core/random.h"
#include "karakuri/solver/problem.h"
#include "karakuri/world/world.h"
#include "world/observe.h"

namespace karakuri::test {

/// An island, and what its world made of it.
struct RecordedIsland : world_detail::IslandState {
  std::string scene;
  std::vector<double> impulses;
  double residual = 0;
  int sweeps = 0, solves = 0;

  int rows() const { return problem.rows(); }
};

/// Watches worlds and keeps a sample of their islands, large ones rather than small ones: each is drawn with
/// a probability that grows with its rows. The same run gives the same sample.
class IslandRecorder : public world_detail::IslandObserver {
 public:
  /// @param most  That are kept of a scene.
  explicit IslandRecorder(int most, std::size_t most_numbers = 4'000'000)
      : most_(most), most_numbers_(most_numbers) {}
  /// Begins another scene. The world must not step after this is gone.
  void follow(const std::string& scene, World& world);
  /// How many islands have gone by.
  std::int64_t seen() const { return seen_; }
  std::vector<RecordedIsland> take() { return std::move(kept_); }

  bool wants(int island, int rows, std::size_t numbers) override;
  void before(int island, world_detail::IslandState state) override;
  void after(int island, std::span<const double> impulses, const solver::Report& report) override;

 private:
  struct Place {
    double key = 0;         // the larger, the sooner it goes
    std::size_t index = 0;  // of `kept_`
  };

  std::string scene_;
  int most_;
  std::size_t most_numbers_;
  Random random_{1};
  double key_ = 0;  // of the island that is wanted
  std::int64_t seen_ = 0;
  std::vector<RecordedIsland> kept_;
  std::vector<Place> places_;        // of this scene, a heap
  std::map<int, std::size_t> open_;  // where in `kept_` the islands of this round are
};

/// Errors where it cannot be written.
std::vector<Diagnostic> write_islands(const std::filesystem::path& path,
                                      const std::vector<RecordedIsland>& all);
Result<std::vector<RecordedIsland>> read_islands(const std::filesystem::path& path);

/// Impulses of an island of rigid bodies by one of the backends that take nothing else, solved to `exact`;
/// none where it is not of these, or not solved.
std::vector<double> solve_rigid(const RecordedIsland& island, solver::RigidBackend backend, double exact,
                                int max_sweeps, solver::Report* report = nullptr);

/// Changes of velocity by `a` and by `b`: their distance, and the longer of the two, as roots of twice the
/// energy of motion [sqrt(J)].
struct MotionDistance {
  double distance = 0, size = 0;
  double relative() const { return size > 0 ? distance / size : 0; }
};
MotionDistance distance_of_motions(const solver::Problem& problem, std::span<const double> a,
                                   std::span<const double> b);

}  // namespace karakuri::test
