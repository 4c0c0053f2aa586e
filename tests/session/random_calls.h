// Calls of a session drawn at random: every setting, force, drive, hook and change of structure that there
// is. Two sessions in the same state that get calls of the same random numbers must stay the same to the bit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "karakuri/core/random.h"
#include "karakuri/session/session.h"

namespace karakuri::test {

class RandomCalls {
 public:
  /// What is called depends on the numbers and on the session's state alone.
  explicit RandomCalls(std::uint64_t seed) : random_(seed) {}

  /// One call. @return Its name.
  std::string call(Session& session);
  /// Another step in settings, hooks that act by themselves, and the like, undone by undo_hooks().
  std::string call_with_hooks(Session& session);
  void undo_hooks(Session& session);

 private:
  Random random_;
  std::vector<int> hooks_, world_hooks_;
};

/// A change of values of the scene, the same for equal numbers.
void edit_at_random(Session& session, std::uint64_t seed);

/// All settings at once; find_flaws() may refuse them.
WorldSettings random_settings(const WorldSettings& now, Random& random, bool small);

}  // namespace karakuri::test
