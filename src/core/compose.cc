#include "core/compose.h"

#include <cassert>
#include <charconv>

namespace karakuri {

namespace {

constexpr int kDigits = 6;  // of "{:g}"

template <class... Form>
void append_number(std::string& out, auto number, Form... form) {
  char digits[64];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number, form...).ptr);
}

/// The digits that ".3g" asks for.
int digits_of(std::string_view form) {
  int digits = kDigits;
  if (form.starts_with('.')) std::from_chars(form.data() + 1, form.data() + form.size(), digits);
  return digits;
}

}  // namespace

void Piece::append_to(std::string& out, std::string_view form) const {
  switch (kind_) {
    case Kind::kText: out += text_; break;
    case Kind::kInteger: append_number(out, integer_); break;
    case Kind::kCount: append_number(out, count_); break;
    case Kind::kReal:
      if (form.empty())
        append_number(out, real_);
      else
        append_number(out, real_, std::chars_format::general, digits_of(form));
      break;
  }
}

std::string compose_of(std::string_view pattern, std::initializer_list<Piece> pieces) {
  std::string out;
  auto piece = pieces.begin();
  while (true) {
    const std::size_t open = pattern.find('{');
    out += pattern.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = pattern.find('}', open);
    assert(close != std::string_view::npos && piece != pieces.end());
    std::string_view form = pattern.substr(open + 1, close - open - 1);
    if (form.starts_with(':')) form.remove_prefix(1);
    piece++->append_to(out, form);
    pattern.remove_prefix(close + 1);
  }
}

}  // namespace karakuri
