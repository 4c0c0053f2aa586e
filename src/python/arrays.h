// Numbers to and from NumPy. What does not fit is told with its name, what was found and what was expected.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "karakuri/spatial/spatial_vector.h"

namespace karakuri::python {

namespace py = pybind11;

using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// TypeError where it is not numbers. Any shape.
Array numbers(const py::handle& value, std::string_view name);
/// One-dimensional, of this size; ValueError else, and where a number is not finite. `of` says what each is.
Array numbers(const py::handle& value, std::size_t size, std::string_view name, std::string_view of);
inline std::span<const double> span_of(const Array& a) {
  return {a.data(), static_cast<std::size_t>(a.size())};
}
Vec3 vector3(const py::handle& value, std::string_view name);
/// Three numbers (a position), seven (and a quaternion w, x, y, z) or a 4 x 4 matrix.
Transform pose(const py::handle& value, std::string_view name);

Array to_array(const Vec3& v);
Array to_array(const Mat3& m);
Array to_array(const Transform& X);  // 4 x 4
Array to_array(std::span<const double> values);
/// Copied.
Array matrix_to_array(const Eigen::Ref<const Eigen::MatrixXd>& m);
void write_pose(const Transform& X, double* to);  // 16 numbers, by rows

/// An array that shares `values` and keeps them alive.
py::array view_of(const std::shared_ptr<std::vector<double>>& values, std::vector<py::ssize_t> shape,
                  bool writeable);

}  // namespace karakuri::python
