// What may stand where in a URDF.
#pragma once

#include "io/xml.h"

namespace karakuri::io {

/// Unknown elements and attributes are told, once each: URDFs carry the extensions of many programs.
void check_urdf_schema(XmlFile& xml, const XmlElement& robot);

}  // namespace karakuri::io
