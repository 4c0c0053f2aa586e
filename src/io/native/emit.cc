#include "io/native/emit.h"

#include <cmath>

#include <fmt/format.h>

#include "io/orientation.h"

namespace karakuri::io {

std::string exact(double x) {
  if (std::isinf(x)) return x < 0 ? "-.inf" : ".inf";
  std::string text = fmt::format("{}", x);
  // 1e-05 is no number to readers of YAML 1.1, 1.0e-05 is
  const auto exponent = text.find('e');
  if (exponent != text.npos && text.find('.') == text.npos) text.insert(exponent, ".0");
  return text;
}
std::string exact(float x) { return fmt::format("{}", x); }

bool same_bits(const Vec3& a, const Vec3& b) {
  return same_bits(a.x(), b.x()) && same_bits(a.y(), b.y()) && same_bits(a.z(), b.z());
}
bool same_bits(const Mat3& a, const Mat3& b) {
  return same_bits(Vec3(a.col(0)), Vec3(b.col(0))) && same_bits(Vec3(a.col(1)), Vec3(b.col(1))) &&
         same_bits(Vec3(a.col(2)), Vec3(b.col(2)));
}

void Emit::value(std::span<const double> numbers) {
  begin_list(true);
  for (const double x : numbers) value(x);
  end_list();
}

void Emit::value(const Value& v) {
  if (const auto* number = std::get_if<double>(&v)) value(*number);
  if (const auto* text = std::get_if<std::string>(&v)) value(*text);
  if (const auto* list = std::get_if<std::vector<double>>(&v)) value(std::span<const double>(*list));
}

void Emit::put(std::string_view name, const Color& color) {
  key(name);
  begin_list(true);
  for (const float x : color) out_ << exact(x);
  end_list();
}

void Emit::put(std::string_view name, const Interval& interval) {
  const double ends[] = {interval.low, interval.high};
  put(name, std::span<const double>(ends));
}

void Emit::put_pose(const Transform& X) {
  put_unless("at", X.p, Vec3::Zero());
  if (same_bits(X.R, Mat3::Identity())) return;
  const Eigen::Quaterniond q(X.R);
  const double quat[] = {q.w(), q.x(), q.y(), q.z()};
  const std::optional<Mat3> back = from_quaternion(quat);
  if (back && same_bits(*back, X.R)) return put("quat", std::span<const double>(quat));
  const Eigen::Matrix<double, 3, 3, Eigen::RowMajor> rows = X.R;
  put("matrix", std::span<const double>(rows.data(), 9));
}

}  // namespace karakuri::io
