// What a scene asks for that can be simulated, but is hardly meant.
#pragma once

#include <vector>

#include "karakuri/session/session.h"

namespace karakuri {

/// All of them are warnings, with the name of the thing, where it stands in the file as far as that is known,
/// the figure and a remedy. Of one kind at most the worst five are told, and how many more there are. Told of
/// the present state: ask before the first step.
///
/// - The world is empty.
/// - Links that may touch overlap, by more than a hundredth of the thinner one.
/// - An angle is limited beyond a turn by whole numbers, which look like degrees.
/// - A joint is outside its limits.
/// - A moving link is larger than a kilometre or smaller than a tenth of a millimetre, is lighter than a
///   microgram, or is many times lighter than air or heavier than any metal.
/// - A step in which something falls through a good part of its own thickness, or of which a fall takes more
///   than a million.
std::vector<Diagnostic> find_doubts(const Session& session);

}  // namespace karakuri
