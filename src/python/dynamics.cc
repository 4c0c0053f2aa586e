// Kinematics and dynamics of the world as a mechanism: matrices, inverse and forward dynamics, closed loops.
#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/closed_loop.h"
#include "karakuri/dynamics/jacobian.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/dynamics/rnea.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "karakuri/model/configuration.h"
#include "python/errors.h"
#include "python/handles.h"

namespace karakuri::python {

namespace {

using VectorMap = Eigen::Map<const Eigen::VectorXd>;

VectorMap map_of(const Array& a) { return {a.data(), a.size()}; }

/// The state of the world, or another one of the same mechanism.
State state_of(const Access& access, const py::object& q, const py::object& v) {
  State state = access.world().state();
  if (!q.is_none()) {
    const Array given = numbers(q, state.q.size(), "q", "one for each coordinate of the world");
    state.q.assign(given.data(), given.data() + given.size());
  }
  if (!v.is_none()) {
    const Array given = numbers(v, state.v.size(), "v", "one for each degree of freedom of the world");
    state.v.assign(given.data(), given.data() + given.size());
  }
  return state;
}

Array by_dof(const Access& access, const py::handle& value, const char* name) {
  return numbers(value, static_cast<std::size_t>(access.model().nv), name,
                 "one for each degree of freedom of the world");
}

Array mass_matrix(PyWorld& w, const py::object& q) {
  const Access access(w);
  const Model& model = access.model();
  Workspace ws(model);
  MassMatrix M(model);
  crba(model, state_of(access, q, py::none()), ws, M);
  Eigen::MatrixXd dense(model.nv, model.nv);
  to_dense(model, M, dense);
  return matrix_to_array(dense);
}

/// What `algorithm` makes of one number for each degree of freedom, in the state (q, v).
Array by_algorithm(PyWorld& w, const py::object& given, const char* name, const py::object& q,
                   const py::object& v, auto&& algorithm) {
  const Access access(w);
  const Model& model = access.model();
  const Array in = by_dof(access, given, name);
  Workspace ws(model);
  Eigen::VectorXd out(model.nv);
  algorithm(model, state_of(access, q, v), map_of(in), std::span<const Force>{}, ws, out);
  return to_array(std::span<const double>(out.data(), static_cast<std::size_t>(out.size())));
}

Array inverse_dynamics(PyWorld& w, const py::object& a, const py::object& q, const py::object& v) {
  return by_algorithm(w, a, "a", q, v, rnea);
}

Array forward_dynamics(PyWorld& w, const py::object& tau, const py::object& q, const py::object& v) {
  return by_algorithm(w, tau, "tau", q, v, aba);
}

Array jacobian(PyWorld& w, const py::object& link, const py::object& point, const py::object& q) {
  const LinkHandle handle = link_of(w, link, "link");
  const Vec3 p = vector3(point, "point");
  const Access access(w);
  handle.entry(access);
  const Model& model = access.model();
  Workspace ws(model);
  update_poses(model, state_of(access, q, py::none()), ws);
  Eigen::MatrixXd J(6, model.nv);
  frame_jacobian(model, ws, handle.id, p, J);
  return matrix_to_array(J);
}

Array integrate_q(PyWorld& w, const py::object& q, const py::object& v, double step) {
  const Access access(w);
  State state = state_of(access, q, v);
  karakuri::integrate(access.model(), state.q_view(), state.v_view(), step);
  return to_array(state.q);
}

Array difference_q(PyWorld& w, const py::object& q0, const py::object& q1) {
  const Access access(w);
  const State from = state_of(access, q0, py::none()), to = state_of(access, q1, py::none());
  Eigen::VectorXd v(access.model().nv);
  difference(access.model(), from.q_view(), to.q_view(), v);
  return to_array(std::span<const double>(v.data(), static_cast<std::size_t>(v.size())));
}

Workspace moved(const Access& access) {
  Workspace ws(access.model());
  update_poses(access.model(), access.world().state(), ws);
  update_velocities(access.model(), access.world().state(), ws);
  return ws;
}

// ---- closed loops

/// The loops of a world at one moment, with the state and model they were computed for.
struct LoopsNow {
  Model model;
  State state;
  ClosedLoop loop;
};

std::unique_ptr<LoopsNow> closed_loop(PyWorld& w, const py::object& q, const py::object& v) {
  const Access access(w);
  auto out = std::make_unique<LoopsNow>(LoopsNow{access.model(), state_of(access, q, v), {}});
  Workspace ws(out->model);
  update_closed_loop(out->model, out->state, ws, out->loop);
  return out;
}

py::tuple loop_inverse_dynamics(const LoopsNow& self, const py::object& a, const std::vector<int>& actuated) {
  const Array wanted =
      numbers(a, static_cast<std::size_t>(self.loop.mobility()), "a", "one for each generalized coordinate");
  std::vector<Actuated> motors;
  for (const int dof : actuated) {
    if (dof < 0 || dof >= self.model.nv)
      throw py::index_error(fmt::format("actuated: there is no degree of freedom {}, they are 0 to {}", dof,
                                        self.model.nv - 1));
    motors.push_back({dof});
  }
  Workspace ws(self.model);
  const ClosedLoopEfforts found =
      closed_loop_inverse_dynamics(self.model, self.state, self.loop, map_of(wanted), motors, {}, ws);
  return py::make_tuple(to_array(found.effort), found.missing);
}

Array loop_forward_dynamics(const LoopsNow& self, const py::object& tau) {
  const Array given = numbers(tau, static_cast<std::size_t>(self.model.nv), "tau",
                              "one for each degree of freedom of the world");
  Workspace ws(self.model);
  Eigen::VectorXd a(self.model.nv);
  closed_loop_forward_dynamics(self.model, self.state, self.loop, map_of(given), {}, ws, a);
  return to_array(std::span<const double>(a.data(), static_cast<std::size_t>(a.size())));
}

void bind_closed_loop(py::module_& m) {
  py::class_<LoopsNow> loop(m, "ClosedLoop",
                            "The closed loops of a world at one moment, from World.closed_loop(): v = W "
                            "v[generalized] opens no loop.");
  loop.def_property_readonly(
      "mobility", [](const LoopsNow& s) { return s.loop.mobility(); }, "Degrees of freedom that are left.");
  loop.def_property_readonly(
      "rows", [](const LoopsNow& s) { return s.loop.rows; }, "Conditions of all closed loops.");
  loop.def_property_readonly(
      "rank", [](const LoopsNow& s) { return s.loop.rank; }, "Independent ones among them.");
  loop.def_property_readonly(
      "redundant", [](const LoopsNow& s) { return s.loop.redundant(); }, "rows - rank.");
  loop.def_property_readonly(
      "generalized", [](const LoopsNow& s) { return s.loop.generalized; },
      "Degrees of freedom that lead, ascending.");
  loop.def_property_readonly(
      "dependent", [](const LoopsNow& s) { return s.loop.dependent; },
      "Degrees of freedom that follow, ascending.");
  loop.def_property_readonly(
      "J", [](const LoopsNow& s) { return matrix_to_array(s.loop.J()); },
      "(rows, nv): J v = 0 where no loop opens.");
  loop.def_property_readonly(
      "W", [](const LoopsNow& s) { return matrix_to_array(s.loop.W()); },
      "(nv, mobility): v = W v[generalized].");
  loop.def_property_readonly(
      "error", [](const LoopsNow& s) { return to_array(s.loop.error); },
      "(rows,): how far the loops are from closed [m or rad].");
  loop.def("inverse_dynamics", &loop_inverse_dynamics, py::arg("a"), py::arg("actuated"),
           "Efforts of the motors at the degrees of freedom `actuated` with which v[generalized] accelerates "
           "by a [rad/s^2 or\n"
           "m/s^2]: those of least norm [N m or N], and the norm of what they cannot give (0: nothing).");
  loop.def("forward_dynamics", &loop_forward_dynamics, py::arg("tau"),
           "(nv,): accelerations under efforts tau (nv) [N m or N].");
  loop.def("__repr__", [](const LoopsNow& s) {
    return fmt::format("<karakuri.ClosedLoop: mobility {}, {} rows of rank {}>", s.loop.mobility(),
                       s.loop.rows, s.loop.rank);
  });
}

}  // namespace

void bind_dynamics(py::module_& m, py::class_<PyWorld>& world) {
  const py::none none;
  bind_closed_loop(m);
  world.def("mass_matrix", &mass_matrix, py::arg("q") = none,
            "(nv, nv): M(q) [kg m^2, kg m or kg], of the trees.");
  world.def("inverse_dynamics", &inverse_dynamics, py::arg("a"), py::arg("q") = none, py::arg("v") = none,
            "(nv,): efforts M a + c(q, v) with which the trees accelerate by a, gravity included, without "
            "contacts and loops [N m or N].");
  world.def(
      "forward_dynamics", &forward_dynamics, py::arg("tau"), py::arg("q") = none, py::arg("v") = none,
      "(nv,): accelerations of the trees under efforts tau, without contacts and loops [rad/s^2 or m/s^2].");
  world.def("jacobian", &jacobian, py::arg("link"), py::arg("point") = py::make_tuple(0, 0, 0),
            py::arg("q") = none,
            "(6, nv): J with (angular; linear) velocity of a point of a link = J v, world axes; point in the "
            "link's frame [m].");
  world.def("closed_loop", &closed_loop, py::arg("q") = none, py::arg("v") = none,
            "Mobility and matrices of the closed loops as they are now.");
  world.def("integrate", &integrate_q, py::arg("q"), py::arg("v"), py::arg("dt") = 1.0,
            "(nq,): where q comes to with velocity v after dt [s].");
  world.def("difference", &difference_q, py::arg("q0"), py::arg("q1"),
            "(nv,): the velocity that takes q0 to q1 in one second, the short way.");
  world.def_property_readonly(
      "mass", [](PyWorld& w) { return total_mass(Access(w).model()); }, "Mass of all that moves [kg].");
  world.def_property_readonly(
      "center_of_mass",
      [](PyWorld& w) {
        const Access access(w);
        return to_array(center_of_mass(access.model(), moved(access)));
      },
      "Centre of mass of all that moves [m].");
  world.def_property_readonly(
      "momentum",
      [](PyWorld& w) {
        const Access access(w);
        const Force p = momentum(access.model(), moved(access), Vec3::Zero());
        return py::make_tuple(to_array(p.force), to_array(p.moment));
      },
      "Linear momentum [kg m/s] and angular momentum about the origin [kg m^2/s].");
  world.def_property_readonly(
      "energy",
      [](PyWorld& w) {
        const Energies e = Access(w).world().energies();
        return py::make_tuple(e.kinetic, e.potential);
      },
      "Kinetic and potential energy [J].");
}

}  // namespace karakuri::python
