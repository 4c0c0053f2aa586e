// Robots that walk, read and written.
#pragma once

#include <functional>

#include "io/native/context.h"
#include "io/native/emit.h"

namespace karakuri::io {

/// @param matching  The joints that a pattern names, or none with the error told.
void read_walker(NativeContext& c, const YamlNode& node,
                 const std::function<std::vector<JointId>(const std::string&)>& matching);
void write_walker(const Walker& walker, const Mechanism& mechanism, Emit& out);

}  // namespace karakuri::io
