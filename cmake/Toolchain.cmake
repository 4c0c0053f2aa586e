# The flags of our own code, as interface targets; nothing of them reaches users.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache takes a file that uses a precompiled header only when told that macros may come from it.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

add_library(karakuri_options INTERFACE)
target_compile_options(karakuri_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-psabi -Wno-missing-field-initializers
  # Rounding is part of the contract: the compiler may fuse a*b+c within one expression but not
  # reorder sums, so that the same binary gives the same bits whatever the thread count.
  -ffp-contract=on -fno-math-errno -fno-trapping-math)
if(KARAKURI_SANITIZE)
  target_compile_options(karakuri_options INTERFACE
    -fsanitize=${KARAKURI_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${KARAKURI_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(karakuri_options INTERFACE
      -fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/sanitizer-ignore.txt)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(karakuri_options INTERFACE -fcolor-diagnostics -Wno-missing-designated-field-initializers
    -Wno-deprecated-declarations  # std::stable_sort calls a deprecated function of its own library
    "SHELL:-Xclang -fno-pch-timestamp")  # else no two builds of a precompiled header are the same to ccache
  # Clang finds what was precompiled beside the header. CMake's own form names both by absolute paths, which ccache cannot
  # make relative, so that folders with equal sources would share nothing (ccache: base_dir, pch_external_checksum).
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include <PCH_HEADER>)
else()
  target_compile_options(karakuri_options INTERFACE -fdiagnostics-color=always)
endif()

# ---- precompiled headers -----------------------------------------------------------------------
# Reading Eigen, the standard library and their like takes longer than compiling most of our files. Only headers that
# hardly ever change belong here; every file still includes what it uses (KARAKURI_PCH=OFF shows what is missing).
option(KARAKURI_PCH "Precompile the headers that most files read" ON)
set(karakuri_engine_headers
  <algorithm> <array> <charconv> <cmath> <filesystem> <functional> <limits> <map> <memory> <numbers> <optional> <set>
  <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>
  <Eigen/Core> <Eigen/Geometry> <Eigen/Cholesky> <Eigen/Eigenvalues>
  "${PROJECT_SOURCE_DIR}/include/karakuri/spatial/inertia.h" "${PROJECT_SOURCE_DIR}/include/karakuri/spatial/rotation.h"
  "${PROJECT_SOURCE_DIR}/include/karakuri/spatial/transform.h")
function(karakuri_precompile target)
  if(KARAKURI_PCH)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# ---- tuning: the library alone -----------------------------------------------------------------
# Eigen's alignment, and with it how it allocates and frees, depends on the instruction set. A program compiled
# without AVX holds other versions of the same Eigen functions than our tuned code, the linker keeps one of each, and
# memory is then freed in another way than it was allocated. So the tuned library is shared and keeps its copies to
# itself: it exports the namespace karakuri and nothing else. Everything around it, our tests and benchmarks too,
# is compiled for the common instruction set, like Debian's libraries and most users' programs.
add_library(karakuri_tuning INTERFACE)
if(BUILD_SHARED_LIBS)
  set(exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)
  target_link_options(karakuri_tuning INTERFACE -Wl,--version-script=${exports} -Wl,-Bsymbolic-functions)
  set_property(TARGET karakuri_tuning PROPERTY INTERFACE_LINK_DEPENDS ${exports})
  target_compile_options(karakuri_tuning INTERFACE -fno-semantic-interposition)  # gcc: may inline our functions
  if(KARAKURI_NATIVE)
    target_compile_options(karakuri_tuning INTERFACE -march=native)
  endif()
endif()
