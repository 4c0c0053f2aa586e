// Writing NumPy's .npz: a zip file, not compressed, of arrays in the format .npy.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "session/record_file.h"

namespace karakuri::session_detail {

/// The array `columns` of names, then the array `data` of rows, which grows until finish(). Memory is
/// bounded; lengths and checksums, known at the end, are filled in then. Sizes are those of zip64: there is
/// no limit.
class NpzFile : public RecordFile {
 public:
  NpzFile(File file, const std::vector<std::string>& columns);
  bool add(std::span<const double> values) override;
  bool finish() override;

 private:
  struct Member {
    std::string name;
    std::uint64_t offset = 0, size = 0;
    std::uint32_t crc = 0;
  };
  void write(const std::string& bytes);
  void begin(const std::string& name);
  void write_columns(const std::vector<std::string>& columns);
  void end_member(std::uint32_t crc);

  File file_;
  std::uint64_t at_ = 0, values_ = 0, width_ = 0;
  std::uint32_t data_crc_ = 0;
  std::vector<Member> members_;
};

}  // namespace karakuri::session_detail
