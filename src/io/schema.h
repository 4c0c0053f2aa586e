// A format as a table: which elements stand in which, and their attributes.
//
// Before a name: '!' for what changes the motion and is not done here, '~' for what changes only the picture
// or the memory, '%' for how soft a constraint is. None: it is read. "*" allows anything.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "io/xml.h"

namespace karakuri::io {

struct SchemaRow {
  std::string_view element;     // "parent/child" where the name means other things elsewhere
  std::string_view attributes;  // separated by spaces
  std::string_view children;
};

enum class Unknown { kError, kWarning };

/// Walks the tree and reports unknown, unsupported and merely visible things with their places.
void check_schema(XmlFile& xml, const XmlElement& root, std::span<const SchemaRow> table, Unknown unknown);

}  // namespace karakuri::io
