#include "karakuri/io/json.h"

#include <cmath>

#include <fmt/format.h>

#include "io/native/yaml.h"

namespace karakuri {

namespace {

using io::YamlNode;

void write_text(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void write_scalar(const std::string& text, std::string& out) {
  double number = 0;
  if (text == "true" || text == "false") {
    out += text;
  } else if (io::parse_number(text, number) && std::isfinite(number)) {
    out += fmt::format("{}", number);
  } else {
    write_text(text, out);
  }
}

void write(const YamlNode& node, std::string& out) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: out += "null"; return;
    case YamlNode::Kind::kScalar: return write_scalar(node.text, out);
    case YamlNode::Kind::kList:
    case YamlNode::Kind::kMap: break;
  }
  out += node.is_map() ? '{' : '[';
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) out += ',';
    if (node.is_map()) {
      write_text(node.keys[i].text, out);
      out += ':';
    }
    write(node.items[i], out);
  }
  out += node.is_map() ? '}' : ']';
}

}  // namespace

Result<std::string> json_from_yaml(std::string_view text, const std::string& name) {
  io::Report report;
  io::YamlFile file{name, report};
  YamlNode root;
  if (!file.parse(text, root)) return report.take_errors();
  std::string out;
  write(root, out);
  return out;
}

}  // namespace karakuri
