// Our own alternatives against each other, and against the least that the work can cost.
#pragma once

#include "support/report.h"

namespace karakuri::bench {

/// Responses to impulses by both ways, and which one is chosen; loose bodies against a plain loop.
Report race_own_ways(const TimingPlan& plan);

}  // namespace karakuri::bench
