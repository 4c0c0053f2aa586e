// Archives, read back by the system's own tar.
#include "server/tar.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace karakuri::server_detail {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Tar, IsReadBackByTheSystemsOwn) {
  if (std::system("tar --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "tar is not installed";
  const fs::path folder = fs::path(testing::TempDir()) / ("karakuri_tar_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::string bytes(100'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 3);
  const std::vector<TarEntry> files = {{"a.scene.yaml", "name: a\n"},
                                       {"a.assets/mesh.bin", bytes},
                                       {"a.assets/empty", ""},
                                       {"a.assets/block", std::string(512, 'x')}};
  std::ofstream(folder / "all.tar", std::ios::binary) << tar(files);
  ASSERT_EQ(std::system(("cd '" + folder.string() + "' && tar xf all.tar 2>said && test ! -s said").c_str()),
            0);
  for (const TarEntry& file : files) EXPECT_EQ(read(folder / file.name), file.content) << file.name;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace karakuri::server_detail
