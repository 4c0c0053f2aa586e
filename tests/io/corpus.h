// The external corpus of robots, where it is present.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "karakuri/io/load.h"

namespace karakuri::test {

inline std::filesystem::path corpus() { return KARAKURI_CORPUS_DIR; }

/// Hulls are not kept between runs of tests.
inline LoadOptions uncached() {
  LoadOptions options;
  options.cache = false;
  return options;
}

}  // namespace karakuri::test

#define KARAKURI_NEEDS_CORPUS(file)                                \
  if (!std::filesystem::exists(karakuri::test::corpus() / (file))) \
  GTEST_SKIP() << "the external corpus is not here: " << (karakuri::test::corpus() / (file))
