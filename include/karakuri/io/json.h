// A native scene as JSON, for programs that read JSON and not YAML.
#pragma once

#include <string>
#include <string_view>

#include "karakuri/core/diagnostic.h"

namespace karakuri {

/// The same tree of values, every number with the same bits; infinities are the strings ".inf" and "-.inf",
/// which scenes may hold, too. Errors name the line of what is no YAML.
/// @param name  What the text is called in messages.
Result<std::string> json_from_yaml(std::string_view text, const std::string& name = "scene");

}  // namespace karakuri
