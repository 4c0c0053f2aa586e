// Text for messages, so that the engine needs nothing but Eigen: the few forms of std::format that it uses,
// which the standard library of Debian 12 does not have yet.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

namespace karakuri {

/// A value to be written into a message.
class Piece {
 public:
  Piece(std::string_view text) : kind_(Kind::kText), text_(text) {}
  Piece(const std::string& text) : Piece(std::string_view(text)) {}
  Piece(const char* text) : Piece(std::string_view(text)) {}
  Piece(std::floating_point auto number) : kind_(Kind::kReal), real_(number) {}
  Piece(std::signed_integral auto number) : kind_(Kind::kInteger), integer_(number) {}
  Piece(std::unsigned_integral auto number) : kind_(Kind::kCount), count_(number) {}

  /// @param form  what stands behind the colon: empty, "g" or ".3g"
  void append_to(std::string& out, std::string_view form) const;

 private:
  enum class Kind { kText, kReal, kInteger, kCount };
  Kind kind_;
  std::string_view text_;
  double real_ = 0;
  long long integer_ = 0;
  unsigned long long count_ = 0;
};

/// `pattern` with its "{}" replaced by the pieces in turn; "{:g}" and "{:.3g}" write a number with six digits
/// at most, or as many as are asked for, and "{}" with as many as tell it from all others.
std::string compose_of(std::string_view pattern, std::initializer_list<Piece> pieces);

template <class... Values>
std::string compose(std::string_view pattern, const Values&... values) {
  return compose_of(pattern, {Piece(values)...});
}

}  // namespace karakuri
