// The command line of a benchmark.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

namespace karakuri::bench {

/// The code to end with, 0 after --help and 2 after bad usage; nothing when the program may go on.
inline std::optional<int> parse_options(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace karakuri::bench
