// A run as a table: a row for each step, written as it goes.
//
// Columns: time; for every link but the world the pose of its frame and the velocity of that origin in world
// axes, NAME.px .py .pz .qw .qx .qy .qz .vx .vy .vz .wx .wy .wz; for every joint with coordinates NAME.q, .v,
// .tau, or where it has several NAME.q0, .q1, ..., .v0, ..., .tau0, .... tau is the effort of drives,
// controllers and actuators, mean over the step. SI units, angles in radians.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "karakuri/core/diagnostic.h"
#include "karakuri/session/session.h"

namespace karakuri {

/// What is recorded of a session, found once.
class RecordColumns {
 public:
  explicit RecordColumns(const Session& session);
  const std::vector<std::string>& names() const { return names_; }
  /// SI, of each: "s", "m", "rad/s", "N m", or "1" for parts of quaternions.
  const std::vector<std::string>& units() const { return units_; }
  /// The present values, in the order of names(). Not-a-number for what is gone.  @pre row.size() ==
  /// names().size()
  void read(const Session& session, std::span<double> row) const;

 private:
  struct JointColumns {
    JointId joint;
    std::size_t coordinates = 0, dofs = 0;
  };
  std::vector<std::string> names_, units_;
  std::vector<LinkId> links_;
  std::vector<JointColumns> joints_;
};

class Recorder {
 public:
  /// The ending tells the format: .csv, with a line of names; or for large runs .npz or .h5, with the arrays
  /// `columns` (names) and `data` (a row for each record). Errors: another ending, or a file that cannot be
  /// written.
  static Result<Recorder> open(const std::filesystem::path& file, const Session& session);
  Recorder(Recorder&&) noexcept;
  Recorder& operator=(Recorder&&) noexcept;
  /// Closes; what goes wrong then is not told.
  ~Recorder();

  const std::vector<std::string>& columns() const;
  /// Adds a row of the present values. Errors once, when the file cannot be written any more; later rows are
  /// dropped.
  std::vector<Diagnostic> record(const Session& session);
  /// Writes what is left. Nothing is recorded afterwards.
  std::vector<Diagnostic> close();
  long long rows() const;

  struct Impl;

 private:
  explicit Recorder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace karakuri
