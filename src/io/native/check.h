// Checks a scene against the table of keys, before anything is read from it.
#pragma once

#include "io/native/table.h"
#include "io/native/yaml.h"

namespace karakuri::io {

/// Reports unknown, missing and doubled keys and values of the wrong type or out of range, all of them. False
/// where there are any.
bool check_section(const YamlFile& file, const YamlNode& node, const Section& section);

/// The candidate that differs least from the word, if it is near enough to be meant; else empty.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
/// "did you mean 'a'? LIST are 'a', 'b' and 'c'"
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates,
                       std::string_view list);

/// "#rrggbb" or "#rrggbbaa".
bool parse_hex_color(std::string_view text, float (&color)[4]);

}  // namespace karakuri::io
