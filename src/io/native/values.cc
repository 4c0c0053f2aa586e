#include "io/native/values.h"

#include <numbers>

#include "io/native/check.h"

namespace karakuri::io {

namespace {

double number(const YamlNode& node) {
  double x = 0;
  parse_number(node.text, x);
  return x;
}

}  // namespace

bool get(const YamlNode& node, std::string_view key, double& out) {
  const YamlNode* at = node.find(key);
  if (at) out = number(*at);
  return at;
}

bool get(const YamlNode& node, std::string_view key, int& out) {
  const YamlNode* at = node.find(key);
  // the table's ranges keep it within int
  if (at) out = static_cast<int>(number(*at));
  return at;
}

bool get(const YamlNode& node, std::string_view key, bool& out) {
  const YamlNode* at = node.find(key);
  if (at) out = at->text == "true";
  return at;
}

bool get(const YamlNode& node, std::string_view key, std::string& out) {
  const YamlNode* at = node.find(key);
  if (at) out = at->text;
  return at;
}

bool get(const YamlNode& node, std::string_view key, Vec3& out) {
  const YamlNode* at = node.find(key);
  for (int k = 0; at && k < 3; ++k) out[k] = number(at->items[static_cast<std::size_t>(k)]);
  return at;
}

bool get(const YamlNode& node, std::string_view key, Color& out) {
  const YamlNode* at = node.find(key);
  if (!at) return false;
  float hex[4];
  if (parse_hex_color(at->text, hex)) {
    std::copy(hex, hex + 4, out.begin());
    return true;
  }
  out[3] = 1;
  for (std::size_t k = 0; k < at->items.size(); ++k) out[k] = static_cast<float>(number(at->items[k]));
  return true;
}

bool get(const YamlNode& node, std::string_view key, std::vector<double>& out) {
  const YamlNode* at = node.find(key);
  if (at) out = numbers(*at);
  return at;
}

bool get(const YamlNode& node, std::string_view key, std::vector<std::string>& out) {
  const YamlNode* at = node.find(key);
  if (!at) return false;
  out.clear();
  if (at->is_scalar()) out.push_back(at->text);
  for (const YamlNode& item : at->items) out.push_back(item.text);
  return true;
}

bool get_angle(const YamlNode& node, const std::string& key, double& out) {
  if (get(node, key, out)) return true;
  const bool found = get(node, key + "_deg", out);
  if (found) out *= std::numbers::pi / 180;
  return found;
}

std::vector<double> numbers(const YamlNode& node) {
  std::vector<double> all;
  if (node.is_scalar()) all.push_back(number(node));
  for (const YamlNode& item : node.items) all.push_back(number(item));
  return all;
}

Value value_of(const YamlNode& node) {
  if (node.is_list()) return numbers(node);
  double x = 0;
  if (parse_number(node.text, x)) return x;
  return node.text;
}

std::vector<const YamlNode*> items(const YamlNode& node, std::string_view key) {
  const YamlNode* at = node.find(key);
  std::vector<const YamlNode*> all;
  if (at && at->is_map()) all.push_back(at);
  if (at && at->is_list()) {
    for (const YamlNode& item : at->items) all.push_back(&item);
  }
  return all;
}

Interval read_interval(const YamlNode& node, std::string_view key) {
  Interval interval;
  std::vector<double> ends;
  if (get(node, key, ends)) interval = {ends[0], ends[1]};
  return interval;
}

}  // namespace karakuri::io
