// Writing YAML so that every number is read back as the same bits, and leaving out what is as the table says.
#pragma once

#include <bit>
#include <span>
#include <string>
#include <string_view>

#include <yaml-cpp/emitter.h>

#include "io/native/fields.h"

namespace karakuri::io {

/// The shortest text that is read as this number.
std::string exact(double x);
std::string exact(float x);

inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
bool same_bits(const Vec3& a, const Vec3& b);
bool same_bits(const Mat3& a, const Mat3& b);
inline bool same_bits(const Transform& a, const Transform& b) {
  return same_bits(a.R, b.R) && same_bits(a.p, b.p);
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return a == b;
}
/// Whether any of them is not the default of the struct.
template <class Struct, class Member, std::size_t n>
bool differs(const std::array<Field<Struct, Member>, n>& fields, const Struct& x) {
  const Struct fallback{};
  for (const auto& field : fields) {
    if (!same_bits(x.*field.member, fallback.*field.member)) return true;
  }
  return false;
}

class Emit {
 public:
  Emit() { out_.SetIndent(2); }
  std::string text() const { return std::string(out_.c_str(), out_.size()) + "\n"; }

  void begin_map(bool flow = false) { out_ << (flow ? YAML::Flow : YAML::Block) << YAML::BeginMap; }
  void end_map() { out_ << YAML::EndMap; }
  void begin_list(bool flow = false) { out_ << (flow ? YAML::Flow : YAML::Block) << YAML::BeginSeq; }
  void end_list() { out_ << YAML::EndSeq; }
  void key(std::string_view name) { out_ << YAML::Key << std::string(name) << YAML::Value; }
  void value(double x) { out_ << exact(x); }
  void value(const std::string& text) { out_ << text; }
  void value(std::span<const double> numbers);
  void value(const Value& value);

  // ---- key and value
  template <class T>
  void put(std::string_view name, const T& x) {
    key(name);
    value(x);
  }
  void put(std::string_view name, std::string_view text) { put(name, std::string(text)); }
  void put(std::string_view name, const char* text) { put(name, std::string(text)); }
  void put(std::string_view name, bool flag) { put(name, std::string(flag ? "true" : "false")); }
  void put(std::string_view name, int x) { put(name, std::to_string(x)); }
  void put(std::string_view name, const Vec3& v) { put(name, std::span<const double>(v.data(), 3)); }
  void put(std::string_view name, const Color& color);
  void put(std::string_view name, const Interval& interval);
  void put_name(const std::string& name) {
    if (!name.empty()) put("name", name);
  }
  template <class T>
  void put_unless(std::string_view name, const T& x, const std::type_identity_t<T>& fallback) {
    if (!same_bits(x, fallback)) put(name, x);
  }
  /// Those that differ from the default of the struct.
  template <class Struct, class Member, std::size_t n>
  void put_fields(const std::array<Field<Struct, Member>, n>& fields, const Struct& x) {
    const Struct fallback{};
    for (const auto& field : fields) put_unless(field.key, x.*field.member, fallback.*field.member);
  }
  /// The keys of a pose, as many as are needed.
  void put_pose(const Transform& X);

 private:
  YAML::Emitter out_;
};

}  // namespace karakuri::io
