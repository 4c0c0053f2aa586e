#pragma once

#include "karakuri/session/session.h"

namespace karakuri::cli {

/// Lets Python run the behaviours of the session's scene; nothing where it has none. Or why that cannot be.
std::vector<Diagnostic> start_behaviours(Session& session);

}  // namespace karakuri::cli
