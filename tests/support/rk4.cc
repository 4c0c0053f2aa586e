#include "support/rk4.h"

#include <utility>

#include "karakuri/dynamics/aba.h"
#include "karakuri/model/configuration.h"

namespace karakuri::test {

Rk4::Rk4(const Model& model, Effort effort)
    : model_(model), effort_(std::move(effort)), ws_(model), tau_(Eigen::VectorXd::Zero(model.nv)) {}

Rk4::Rate Rk4::rate(const State& state, const Eigen::VectorXd& theta) {
  if (effort_) effort_(state, tau_);
  Rate rate{state.v_view(), Eigen::VectorXd(model_.nv)};
  aba(model_, state, tau_, {}, ws_, rate.v);
  for (const Body& body : model_.bodies) {
    if (!has_quaternion(body.kind)) continue;
    const int first = body.first_v + body.dofs - 3;
    const Vec3 t = theta.segment<3>(first), w = rate.theta.segment<3>(first);
    rate.theta.segment<3>(first) = w - 0.5 * t.cross(w) + t.cross(t.cross(w)) / 12.0;
  }
  return rate;
}

State Rk4::at(const State& from, const Rate& offset) const {
  State state = from;
  integrate(model_, state.q_view(), offset.theta, 1.0);
  state.v_view() += offset.v;
  return state;
}

void Rk4::step(State& state, double h) {
  const auto scaled = [](const Rate& r, double s) { return Rate{s * r.theta, s * r.v}; };
  const Rate k1 = rate(state, Eigen::VectorXd::Zero(model_.nv));
  const Rate d2 = scaled(k1, 0.5 * h);
  const Rate k2 = rate(at(state, d2), d2.theta);
  const Rate d3 = scaled(k2, 0.5 * h);
  const Rate k3 = rate(at(state, d3), d3.theta);
  const Rate d4 = scaled(k3, h);
  const Rate k4 = rate(at(state, d4), d4.theta);
  const Rate mean{k1.theta + 2 * k2.theta + 2 * k3.theta + k4.theta, k1.v + 2 * k2.v + 2 * k3.v + k4.v};
  state = at(state, scaled(mean, h / 6));
  state.time += h;
}

void Rk4::run(State& state, double h, int steps) {
  for (int i = 0; i < steps; ++i) step(state, h);
}

}  // namespace karakuri::test
