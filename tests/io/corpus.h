// The external corpus of robots, where it is present.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "karakuri/io/load.h"

namespace karakuri::test {

inline std::filesystem::path corpus() { return KARAKURI_CORPUS_DIR; }

/// Hulls are not kept between runs of tests.
inline LoadOptions uncached() {
  LoadOptions options;
  options.cache = false;
  return options;
}

/// Every robot of the corpus, relative to it; "none" where it is not here.
inline std::vector<std::string> all_models() {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  if (!fs::exists(corpus())) return {"none"};
  for (const auto& entry : fs::recursive_directory_iterator(corpus())) {
    const std::string ending = entry.path().extension().string();
    if (ending == ".xml" || ending == ".urdf" || ending == ".sdf") {
      files.push_back(fs::relative(entry.path(), corpus()).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files.empty() ? std::vector<std::string>{"none"} : files;
}

/// As a part of a test's name.
inline std::string name_of_model(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

/// One of the samples of others' collections, of which some refer to files that are not here, or to what is
/// not supported.
inline bool is_sample(const std::string& model) { return model.rfind("others/", 0) == 0; }

/// A file of keyframes alone, to be included by others, says nothing on its own.
inline bool is_fragment(const std::string& model) { return model.find("keyframes.xml") != std::string::npos; }

}  // namespace karakuri::test

#define KARAKURI_NEEDS_CORPUS(file)                                \
  if (!std::filesystem::exists(karakuri::test::corpus() / (file))) \
  GTEST_SKIP() << "the external corpus is not here: " << (karakuri::test::corpus() / (file))
