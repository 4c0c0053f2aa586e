// Which module may include which, as a function from a source tree to the lines that break the rule.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace karakuri::test {

/// Reads every #include line below root/include, root/src and root/bench. One line per finding,
/// "file:line: what is wrong", sorted; empty when the rule holds.
std::vector<std::string> find_forbidden_includes(const std::filesystem::path& root);

/// How many files find_forbidden_includes() reads there, so that a test can tell "all is well" from "nothing
/// read".
int count_source_files(const std::filesystem::path& root);

}  // namespace karakuri::test
