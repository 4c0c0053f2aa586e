// The world's settings by name, as numbers.
#pragma once

#include <span>
#include <string_view>

#include "karakuri/core/diagnostic.h"
#include "karakuri/world/settings.h"

namespace karakuri::session_detail {

enum class SettingKind : unsigned char { kNumber, kCount, kSwitch, kWord };

struct Setting {
  const char* name;
  SettingKind kind;
  double (*get)(const WorldSettings&);
  void (*put)(WorldSettings&, double);
  /// kWord: the number that stands for a word, or the words there are.
  Result<double> (*number_of)(std::string_view word);
};

std::span<const Setting> all_settings();
/// -1 where there is none.
int find_setting(std::string_view name);

}  // namespace karakuri::session_detail
