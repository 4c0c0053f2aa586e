// One of the targets of a program under libFuzzer.
//
// Which: the environment variable KARAKURI_FUZZ_TARGET. Its seeds are written into the folder of
// KARAKURI_FUZZ_SEEDS, what it needs beside them into that of KARAKURI_FUZZ_FILES; ./karakuri fuzz sets all.
#include <fstream>

#include "fuzz/target.h"

namespace karakuri::fuzz {
namespace {

const Target& chosen() {
  static const Target target = [] {
    const char* name = std::getenv("KARAKURI_FUZZ_TARGET");
    const std::vector<Target> all = targets();
    for (const Target& one : all)
      if (name && one.name == std::string(name)) return one;
    std::fprintf(stderr, "set KARAKURI_FUZZ_TARGET to one of:");
    for (const Target& one : all) std::fprintf(stderr, " %s", one.name);
    std::fprintf(stderr, "\n");
    std::exit(2);
  }();
  return target;
}

std::filesystem::path folder_of(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value) {
    std::fprintf(stderr, "set %s to a folder\n", variable);
    std::exit(2);
  }
  std::filesystem::create_directories(value);
  return value;
}

}  // namespace
}  // namespace karakuri::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  using namespace karakuri::fuzz;
  const Target& target = chosen();
  target.prepare(folder_of("KARAKURI_FUZZ_FILES"));
  const std::filesystem::path folder = folder_of("KARAKURI_FUZZ_SEEDS");
  int number = 0;
  for (const std::string& seed : target.seeds())
    std::ofstream(folder / (target.name + std::to_string(number++)), std::ios::binary)
        .write(seed.data(), static_cast<std::streamsize>(seed.size()));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  karakuri::fuzz::chosen().run({bytes, size});
  return 0;
}
