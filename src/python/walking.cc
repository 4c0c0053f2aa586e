// Whole-body inverse kinematics, and what walkers tell beside their signals.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "karakuri/control/walking.h"
#include "python/errors.h"
#include "python/handles.h"

namespace karakuri::python {

namespace {

py::object item_or(const py::dict& goal, const char* key, py::object fallback) {
  return goal.contains(key) ? py::reinterpret_borrow<py::object>(goal[key]) : std::move(fallback);
}

Mat3 rotation_of(const py::object& value) {
  const Array given = numbers(value, "rotation");
  if (given.ndim() != 2 || given.shape(0) != 3 || given.shape(1) != 3)
    raise_value("rotation must be a matrix of three by three");
  Mat3 R;
  for (int row = 0; row < 3; ++row)
    for (int k = 0; k < 3; ++k) R(row, k) = given.data()[3 * row + k];
  if (!((R * R.transpose() - Mat3::Identity()).norm() < 1e-6 && R.determinant() > 0))
    raise_value("rotation is not a rotation matrix: its rows must be unit vectors at right angles");
  return R;
}

FrameGoal goal_of(PyWorld& w, const py::handle& given) {
  if (!py::isinstance<py::dict>(given)) raise_type("frames must be a list of dicts with the key 'link'");
  const auto goal = py::reinterpret_borrow<py::dict>(given);
  for (const auto& [key, value] : goal) {
    const std::string name = py::cast<std::string>(key);
    if (name != "link" && name != "position" && name != "rotation" && name != "point" && name != "priority")
      raise_value(
          fmt::format("a frame has no '{}': it has link, position, rotation, point and priority", name));
  }
  if (!goal.contains("link")) raise_value("a frame has no 'link'");
  FrameGoal out{.link = link_of(w, goal["link"], "link").id};
  if (goal.contains("point")) out.X_LF.p = vector3(goal["point"], "point");
  out.priority = py::cast<int>(item_or(goal, "priority", py::int_(0)));
  if (goal.contains("position"))
    out.X_WF.p = vector3(goal["position"], "position");
  else
    out.move.setZero();
  if (goal.contains("rotation"))
    out.X_WF.R = rotation_of(goal["rotation"]);
  else
    out.turn.setZero();
  return out;
}

py::tuple inverse_kinematics(PyWorld& w, const py::iterable& frames, const py::object& center,
                             int center_priority, const py::object& posture, const py::object& cost,
                             const py::object& q, int iterations, bool limits) {
  IkProblem problem;
  for (const py::handle& frame : frames) problem.frames.push_back(goal_of(w, frame));
  if (!center.is_none())
    problem.centers.push_back({.position = vector3(center, "center"), .priority = center_priority});
  const Access access(w);
  const Model& model = access.model();
  const auto take_numbers = [&](const py::object& from, int size, const char* name,
                                std::vector<double>& out) {
    if (from.is_none()) return;
    const Array given = numbers(from, static_cast<std::size_t>(size), name, "as the world has");
    out.assign(given.data(), given.data() + given.size());
  };
  std::vector<double> at = access.world().state().q;
  take_numbers(q, model.nq, "q", at);
  take_numbers(posture, model.nq, "posture", problem.posture);
  take_numbers(cost, model.nv, "cost", problem.cost);
  raise_if_any(find_flaws(model, problem));
  InverseKinematics ik(model);
  const IkReport report = ik.solve(model, problem, {.max_iterations = iterations, .limits = limits},
                                   Eigen::Map<Eigen::VectorXd>(at.data(), model.nq));
  py::dict told;
  told["converged"] = report.converged;
  told["error"] = report.error;
  told["iterations"] = report.iterations;
  told["at_limits"] = report.at_limits;
  return py::make_tuple(to_array(at), told);
}

const Walking& walking_of(const Access& access, const std::string& name) {
  const std::vector<Walker>& all = access.session().scene().script.walkers;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return access.session().walkers()[i];
  std::string names;
  for (const Walker& walker : all) names += (names.empty() ? "" : ", ") + walker.name;
  raise_value(fmt::format("there is no walker '{}'; there are: {}", name, names.empty() ? "none" : names));
}

Array points(const std::vector<Vec3>& all) {
  Eigen::MatrixXd out(static_cast<Eigen::Index>(all.size()), 3);
  for (std::size_t i = 0; i < all.size(); ++i) out.row(static_cast<Eigen::Index>(i)) = all[i].transpose();
  return matrix_to_array(out);
}

Array support_polygon(PyWorld& w, const std::string& walker) {
  const Access access(w);
  return points(walking_of(access, walker).support(access.world()));
}

/// What is planned from now on.
py::list footsteps(PyWorld& w, const std::string& walker) {
  const Access access(w);
  py::list out;
  for (const Phase& phase : walking_of(access, walker).pattern().schedule().phases()) {
    if (!phase.swings) continue;
    py::dict step;
    step["side"] = phase.swing == Side::kLeft ? "left" : "right";
    step["lift"] = phase.lift;
    step["land"] = phase.land;
    step["position"] = to_array(std::span<const double>(phase.to.p.data(), 3));
    step["heading"] = std::atan2(phase.to.R(1, 0), phase.to.R(0, 0));
    out.append(step);
  }
  return out;
}

}  // namespace

void bind_walking(py::module_& m) {
  m.def("inverse_kinematics", &inverse_kinematics, py::arg("world"), py::arg("frames"), py::kw_only(),
        py::arg("center") = py::none(), py::arg("center_priority") = 1, py::arg("posture") = py::none(),
        py::arg("cost") = py::none(), py::arg("q") = py::none(), py::arg("iterations") = 50,
        py::arg("limits") = true,
        "Positions q at which frames are where they are wanted, and a report. Each frame is a dict: link, "
        "position "
        "and rotation\n"
        "(world; either may be left out), point (of the link), priority (0 comes first). center: of mass "
        "[m]. What "
        "is left free\n"
        "goes to the posture. The world itself does not move: give q to World.q.");
  m.def("support_polygon", &support_polygon, py::arg("world"), py::arg("walker"),
        "Corners (n x 3) of what carries a walker now [m].");
  m.def("footsteps", &footsteps, py::arg("world"), py::arg("walker"),
        "The steps of a walker that are decided: dicts of side, lift and land [s], position [m], heading "
        "[rad].");
}

}  // namespace karakuri::python
