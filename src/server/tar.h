// Files as one, in the oldest form that every tar reads (POSIX ustar).
#pragma once

#include <string>
#include <vector>

namespace karakuri::server_detail {

struct TarEntry {
  std::string name;  // up to 100 bytes count
  std::string content;
};
std::string tar(const std::vector<TarEntry>& files);

}  // namespace karakuri::server_detail
