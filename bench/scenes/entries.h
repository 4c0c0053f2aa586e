// Scenes by name, with the stretches of time that are told about and what our time is to be.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenes/setup.h"

namespace karakuri::bench {

/// A stretch of simulated time that is told about by itself [s].
struct Phase {
  std::string name;
  double from = 0, to = 0;
};

struct Entry {
  std::string name;
  std::function<Setup(std::uint64_t)> make;  // of a seed
  std::string reference;                     // the engine whose time is 1
  std::vector<Phase> phases;
  // it stands if no body ends farther than this from where it began [m]; 0: no stack
  double stands_within = 0;
  double at_most = 0;              // what our time is to be of the reference's; 0: it is no aim
  std::vector<std::string> peers;  // engines beside ours; none: all
};

std::vector<Entry> all_scenes();

}  // namespace karakuri::bench
