// Events as Python sees them: with names, which last longer than ids.
#pragma once

#include <string>
#include <vector>

#include "python/py_world.h"

namespace karakuri::python {

struct EventNow {
  std::string kind;
  double time = 0;
  std::vector<std::string> links;
  std::string joint;
};
EventNow event_now(const Access& access, const Event& event);

}  // namespace karakuri::python
