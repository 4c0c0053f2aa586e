// The command line program. The launcher at the project's root adds `test` and `bench`, which need the
// sources.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "version.h"

namespace {

constexpr int kBadUsage = 2;

int run(int argc, char** argv) {
  CLI::App app("karakuri - physics of articulated bodies", "karakuri");
  app.set_version_flag("--version", karakuri::cli::version_text(), "Version, compiler, flags, kind of build");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "karakuri: %s\n", error.what());
    return 1;
  }
}
