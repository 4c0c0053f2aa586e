// Small scenes that have much of what a scene can have, as sessions that have run for a while.
#pragma once

#include "karakuri/session/session.h"

namespace karakuri::fuzz {

/// Made once.
const std::vector<Session>& sessions();

/// A step of a session whose settings may be anything: what a step may take is cut to what a target has time
/// for. What moves is finite afterwards, or said to be frozen.
void step_bounded(Session& session);

}  // namespace karakuri::fuzz
