# One interface target with the flags that our own code is compiled with; nothing of it reaches users.
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
if(KARAKURI_NATIVE)
  target_compile_options(karakuri_options INTERFACE -march=native)
endif()
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
