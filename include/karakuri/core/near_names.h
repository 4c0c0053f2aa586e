// What a user may have meant by a name that is not there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace karakuri {

/// Those of `names` that are most like `wanted`, best first, `most` at the most; empty where none is like it.
/// Like is: few letters added, left out, changed or swapped with their neighbour, or one part of the other.
std::vector<std::string> near_names(std::string_view wanted, std::span<const std::string> names,
                                    std::size_t most = 3);

/// "did you mean 'a' or 'b'?", or "there are: 'a', 'b', ... (12 in all)", or "there are none".
std::string suggestion(std::string_view wanted, std::span<const std::string> names);

}  // namespace karakuri
