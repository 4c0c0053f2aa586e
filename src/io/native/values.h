// Values of a scene that check_section() has passed. Each leaves `out` as it is, and says false, where the
// key is not there.
#pragma once

#include "io/native/yaml.h"
#include "karakuri/io/script.h"

namespace karakuri::io {

bool get(const YamlNode& node, std::string_view key, double& out);
bool get(const YamlNode& node, std::string_view key, int& out);
bool get(const YamlNode& node, std::string_view key, bool& out);
bool get(const YamlNode& node, std::string_view key, std::string& out);
bool get(const YamlNode& node, std::string_view key, Vec3& out);
bool get(const YamlNode& node, std::string_view key, Color& out);
/// One number counts as a list of one.
bool get(const YamlNode& node, std::string_view key, std::vector<double>& out);
/// One text counts as a list of one.
bool get(const YamlNode& node, std::string_view key, std::vector<std::string>& out);

/// A number that is given as `key` or, in degrees, as `key`_deg.
bool get_angle(const YamlNode& node, const std::string& key, double& out);

std::vector<double> numbers(const YamlNode& node);
Value value_of(const YamlNode& node);
/// The items of a list, or the node itself where there is no list; nothing where the key is absent.
std::vector<const YamlNode*> items(const YamlNode& node, std::string_view key);

/// Two numbers; all of them where the key is absent.
Interval read_interval(const YamlNode& node, std::string_view key);

}  // namespace karakuri::io
