// A table on disk that grows by rows, in one of several formats.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace karakuri::session_detail {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;
/// False where something was lost.
bool close(File& file);

/// What the file says beside its numbers.
struct RecordHeader {
  std::vector<std::string> columns, units;
  std::string scene;
  double step = 0;  // [s]
};

class RecordFile {
 public:
  virtual ~RecordFile() = default;
  /// False where it cannot be written any more; errno may tell why.
  virtual bool add(std::span<const double> row) = 0;
  /// Writes what is left and closes. Called once.
  virtual bool finish() = 0;
};

/// None where it cannot be written; errno may tell why.
std::unique_ptr<RecordFile> make_csv(const std::filesystem::path& path, const RecordHeader& header);
std::unique_ptr<RecordFile> make_npz(const std::filesystem::path& path, const RecordHeader& header);
std::unique_ptr<RecordFile> make_hdf5(const std::filesystem::path& path, const RecordHeader& header);

}  // namespace karakuri::session_detail
