# The compiler of every preset, and so of ./karakuri; chosen here and nowhere else (its package stands in
# packages.txt). CXX in the environment wins.
if(NOT DEFINED ENV{CXX})
  set(CMAKE_CXX_COMPILER clang++-19)
endif()
