// Values as bytes: one list of fields, a function visit(archive, value), serves writing, counting and
// reading. Little-endian, as all machines that we run on. A module adds visit() of its own types to this
// namespace, static, so that those of vectors find it.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "karakuri/core/id.h"

namespace karakuri::archive {

/// Into room that is large enough, see Sizer.
class Writer {
 public:
  explicit Writer(std::byte* out) : out_(out) {}
  static constexpr bool kReads = false, kInOne = true;
  void raw(const void* data, std::size_t size) {
    std::memcpy(out_, data, size);
    out_ += size;
  }

 private:
  std::byte* out_;
};

/// How many bytes a Writer would write: copying a vector that grows costs more than counting first.
class Sizer {
 public:
  static constexpr bool kReads = false, kInOne = true;
  void raw(const void*, std::size_t size) { size_ += size; }
  std::size_t value() const { return size_; }

 private:
  std::size_t size_ = 0;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}
  static constexpr bool kReads = true, kInOne = true;
  void raw(void* data, std::size_t size) {
    if (size > in_.size()) return fail();
    std::memcpy(data, in_.data(), size);
    in_ = in_.subspan(size);
  }
  bool failed() const { return failed_; }
  bool finished() const { return !failed_ && in_.empty(); }
  std::size_t left() const { return in_.size(); }
  void fail() { failed_ = true; }

 private:
  std::span<const std::byte> in_;
  bool failed_ = false;
};

template <class T>
concept Number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
/// A vector or matrix whose size is known.
template <class T>
concept FixedNumbers = requires(T& t) {
  requires T::SizeAtCompileTime > 0;
  { *t.data() } -> std::convertible_to<double>;
};

template <class Ar, Number T>
void visit(Ar& ar, T& value) {
  ar.raw(&value, sizeof value);
}
template <class Ar>
void visit(Ar& ar, bool& flag) {
  std::uint8_t bit = flag;
  visit(ar, bit);
  if constexpr (Ar::kReads)
    if (bit > 1) return ar.fail();
  flag = bit != 0;
}
/// @param last  Of those that there are, which are numbered from 0.
template <class Ar, class T>
  requires std::is_enum_v<T>
void visit_enum(Ar& ar, T& value, T last) {
  auto number = static_cast<std::uint8_t>(value);
  visit(ar, number);
  if constexpr (Ar::kReads)
    if (number > static_cast<std::uint8_t>(last)) return ar.fail();
  value = static_cast<T>(number);
}
template <class Ar, FixedNumbers V>
void visit(Ar& ar, V& v) {
  ar.raw(v.data(), V::SizeAtCompileTime * sizeof *v.data());
}
template <class Ar, std::size_t n>
void visit(Ar& ar, std::array<double, n>& a) {
  ar.raw(a.data(), sizeof a);
}
template <class Ar, class Tag>
void visit(Ar& ar, Id<Tag>& id) {
  visit(ar, id.index);
  visit(ar, id.generation);
}

/// Its length. False: it cannot be read.
template <class Ar, class Row>
bool visit_size(Ar& ar, Row& row) {
  std::uint64_t count = row.size();
  visit(ar, count);
  if constexpr (Ar::kReads) {
    if (ar.failed() || count > ar.left()) {  // every element takes a byte at least
      ar.fail();
      return false;
    }
    row.resize(count);
  }
  return true;
}
template <class Ar>
void visit(Ar& ar, std::string& text) {
  if (visit_size(ar, text)) ar.raw(text.data(), text.size());
}
template <class Ar, class T>
void visit(Ar& ar, std::vector<T>& values) {
  if (!visit_size(ar, values) || values.empty()) return;
  if constexpr (std::is_same_v<T, std::byte> || (Ar::kInOne && Number<T>))
    ar.raw(values.data(), values.size() * sizeof(T));
  else
    for (T& value : values) visit(ar, value);
}
template <class Ar>
void visit(Ar& ar, std::vector<bool>& values) {
  if (!visit_size(ar, values)) return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint8_t bit = values[i];
    visit(ar, bit);
    values[i] = bit != 0;
  }
}

}  // namespace karakuri::archive
