#include "python/arrays.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "karakuri/spatial/rotation.h"
#include "python/errors.h"

namespace karakuri::python {

namespace {

std::string shape_of(const Array& a) { return py::str(a.attr("shape")); }

void require_finite(const Array& a, std::string_view name) {
  const auto finite = [](double x) { return std::isfinite(x); };
  if (!std::all_of(a.data(), a.data() + a.size(), finite))
    raise_value(fmt::format("{} is not finite: give numbers without nan and inf", name));
}

}  // namespace

Array numbers(const py::handle& value, std::string_view name) {
  Array a = py::isinstance<py::str>(value) || value.is_none() ? Array(py::reinterpret_steal<Array>(nullptr))
                                                              : Array::ensure(value);
  if (!a) {
    raise_type(fmt::format("{} must be numbers, not {}", name,
                           std::string(py::str(py::type::handle_of(value).attr("__name__")))));
  }
  return a;
}

Array numbers(const py::handle& value, std::size_t size, std::string_view name, std::string_view of) {
  Array a = numbers(value, name);
  if (a.ndim() != 1 || static_cast<std::size_t>(a.size()) != size)
    raise_value(fmt::format("{} has shape {}, expected ({},): {}", name, shape_of(a), size, of));
  require_finite(a, name);
  return a;
}

Vec3 vector3(const py::handle& value, std::string_view name) {
  const Array a = numbers(value, 3, name, "x, y, z");
  return {a.data()[0], a.data()[1], a.data()[2]};
}

namespace {

Transform from_matrix(const Array& a, std::string_view name) {
  using Rows = Eigen::Matrix<double, 4, 4, Eigen::RowMajor | Eigen::DontAlign>;
  const Eigen::Map<const Rows> m(a.data());
  const Mat3 R = m.block<3, 3>(0, 0);
  // 1e-6: what single precision leaves of a rotation
  if ((R * R.transpose() - Mat3::Identity()).norm() > 1e-6 || R.determinant() < 0 ||
      m.row(3) != Eigen::RowVector4d(0, 0, 0, 1))
    raise_value(
        fmt::format("{} is no pose: its upper left 3 x 3 must be a rotation, its last row 0 0 0 1", name));
  return {Mat3(Quat(R).normalized()), m.block<3, 1>(0, 3)};
}

Transform from_quaternion(const Array& a, std::string_view name) {
  const double* x = a.data();
  const Quat turn(x[3], x[4], x[5], x[6]);
  if (turn.norm() < 1e-6) raise_value(fmt::format("{}: its quaternion (w, x, y, z) is zero", name));
  return {Mat3(turn.normalized()), {x[0], x[1], x[2]}};
}

}  // namespace

Transform pose(const py::handle& value, std::string_view name) {
  const Array a = numbers(value, name);
  require_finite(a, name);
  if (a.ndim() == 1 && a.size() == 3) return Transform::translation({a.data()[0], a.data()[1], a.data()[2]});
  if (a.ndim() == 1 && a.size() == 7) return from_quaternion(a, name);
  if (a.ndim() == 2 && a.shape(0) == 4 && a.shape(1) == 4) return from_matrix(a, name);
  raise_value(
      fmt::format("{} has shape {}, expected (3,): a position, (7,): with a quaternion w, x, y, z, or (4, 4)",
                  name, shape_of(a)));
}

Array to_array(const Vec3& v) { return Array(3, v.data()); }

Array to_array(const Mat3& m) {
  Array out({3, 3});
  for (int i = 0; i < 9; ++i) out.mutable_data()[i] = m(i / 3, i % 3);
  return out;
}

void write_pose(const Transform& X, double* to) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) to[4 * i + j] = X.R(i, j);
    to[4 * i + 3] = X.p[i];
  }
  std::fill_n(to + 12, 3, 0.0);
  to[15] = 1;
}

Array to_array(const Transform& X) {
  Array out({4, 4});
  write_pose(X, out.mutable_data());
  return out;
}

Array to_array(std::span<const double> values) {
  return Array(static_cast<py::ssize_t>(values.size()), values.data());
}

Array matrix_to_array(const Eigen::Ref<const Eigen::MatrixXd>& m) {
  Array out({m.rows(), m.cols()});
  for (Eigen::Index i = 0; i < m.rows(); ++i)
    for (Eigen::Index j = 0; j < m.cols(); ++j) out.mutable_data()[i * m.cols() + j] = m(i, j);
  return out;
}

py::array view_of(const std::shared_ptr<std::vector<double>>& values, std::vector<py::ssize_t> shape,
                  bool writeable) {
  using Owner = std::shared_ptr<std::vector<double>>;
  const py::capsule owner(new Owner(values), [](void* p) { delete static_cast<Owner*>(p); });
  py::array_t<double> view(std::move(shape), values->data(), owner);
  if (!writeable) view.attr("flags").attr("writeable") = false;
  return view;
}

}  // namespace karakuri::python
