// Writing NumPy's .npz: a zip file, not compressed, of arrays in the format .npy.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace karakuri::session_detail {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// The array `columns` of names, then the array `data` of rows, which grows until finish(). Memory is
/// bounded; lengths and checksums, known at the end, are filled in then. Sizes are those of zip64: there is
/// no limit.
class NpzWriter {
 public:
  NpzWriter(std::FILE* file, const std::vector<std::string>& columns);
  void add(std::span<const double> values);
  void finish();

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

  std::FILE* file_;
  std::uint64_t at_ = 0, values_ = 0, width_ = 0;
  std::uint32_t data_crc_ = 0;
  std::vector<Member> members_;
};

}  // namespace karakuri::session_detail
