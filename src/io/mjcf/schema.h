// What may stand where in an MJCF, up to MuJoCo 3.
#pragma once

#include "io/xml.h"

namespace karakuri::io {

/// Unknown elements and attributes are errors, as they are in MuJoCo.
void check_mjcf_schema(XmlFile& xml, const XmlElement& root);

}  // namespace karakuri::io
