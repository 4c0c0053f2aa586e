// What changes in a controller as a row of numbers: one list of fields serves writing and reading.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "karakuri/control/walking_pattern.h"

namespace karakuri::control {

class NumberWriter {
 public:
  static constexpr bool kReads = false;
  void operator()(double& x) { out.push_back(x); }
  std::vector<double> out;
};

/// Reads no more than is there, and nothing that is not finite.
class NumberReader {
 public:
  explicit NumberReader(std::span<const double> in) : in_(in) {}
  static constexpr bool kReads = true;
  void operator()(double& x) {
    if (in_.empty() || !std::isfinite(in_[0])) return fail();
    x = in_[0];
    in_ = in_.subspan(1);
  }
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }
  bool finished() const { return !failed_ && in_.empty(); }
  std::size_t left() const { return in_.size(); }

 private:
  std::span<const double> in_;
  bool failed_ = false;
};

template <class Ar, class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
void visit(Ar& ar, T& value, double least, double most) {
  auto number = static_cast<double>(value);
  ar(number);
  if constexpr (Ar::kReads)
    if (!(number >= least && number <= most && number == std::floor(number))) return ar.fail();
  value = static_cast<T>(number);
}
template <class Ar>
void visit(Ar& ar, bool& flag) {
  visit(ar, flag, 0, 1);
}
template <class Ar>
void visit(Ar& ar, Side& side) {
  visit(ar, side, 0, 1);
}
template <class Ar>
void visit(Ar& ar, double& x) {
  ar(x);
}
template <class Ar>
void visit(Ar& ar, Vec3& v) {
  for (int k = 0; k < 3; ++k) ar(v[k]);
}
template <class Ar>
void visit(Ar& ar, Transform& X) {
  for (int k = 0; k < 9; ++k) ar(X.R.data()[k]);
  visit(ar, X.p);
}
template <class Ar>
void visit(Ar& ar, CartState& s) {
  ar(s.x), ar(s.v), ar(s.a);
}
template <class Ar>
void visit(Ar& ar, Force& f) {
  visit(ar, f.moment), visit(ar, f.force);
}
template <class Ar, class T, std::size_t n>
void visit(Ar& ar, std::array<T, n>& all) {
  for (T& one : all) visit(ar, one);
}
/// A row whose length may change.
template <class Ar, class T>
void visit(Ar& ar, std::vector<T>& all, auto&& each) {
  double size = static_cast<double>(all.size());
  ar(size);
  if constexpr (Ar::kReads) {
    if (ar.failed() || !(size >= 0 && size <= static_cast<double>(ar.left()))) return ar.fail();
    all.resize(static_cast<std::size_t>(size));
  }
  for (T& one : all) each(one);
}
/// A row whose length is always the same.
template <class Ar>
void visit_fixed(Ar& ar, std::vector<double>& all) {
  for (double& x : all) ar(x);
}

}  // namespace karakuri::control
