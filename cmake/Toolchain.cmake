# The flags of our own code, as interface targets; nothing of them reaches users.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
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
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(karakuri_options INTERFACE -fcolor-diagnostics -Wno-missing-designated-field-initializers)
else()
  target_compile_options(karakuri_options INTERFACE -fdiagnostics-color=always)
endif()

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
