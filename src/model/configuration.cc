//   q (+) v = q + v                       for distances and angles        (1)
//   R (+) w = exp([w]x) R                 w in F's axes                    (2)
//   w = log(R1 R0^T)                      the inverse of (2)               (3)
#include "karakuri/model/configuration.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "karakuri/model/state.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri {

namespace {

Quat read_quat(const double* q) { return Quat(q[0], q[1], q[2], q[3]); }

void write_quat(const Quat& quat, double* q) {
  q[0] = quat.w();
  q[1] = quat.x();
  q[2] = quat.y();
  q[3] = quat.z();
}

/// How many leading coordinates of a joint are plain numbers.
int plain_size(const Body& body) { return has_quaternion(body.kind) ? body.dofs - 3 : body.dofs; }

/// Shoemake's uniform random rotation (Graphics Gems III, 1992).
Quat random_quat(Random& random) {
  const double u = random.uniform(), a = 2 * std::numbers::pi * random.uniform(),
               b = 2 * std::numbers::pi * random.uniform();
  const double s = std::sqrt(1 - u), t = std::sqrt(u);
  return Quat(t * std::cos(b), s * std::sin(a), s * std::cos(a), t * std::sin(b));
}

}  // namespace

void neutral(const Model& model, VecOut q) {
  q.setZero();
  for (const Body& body : model.bodies) {
    if (has_quaternion(body.kind)) q[body.first_q + plain_size(body)] = 1;
  }
}

void random_configuration(const Model& model, Random& random, VecOut q) {
  for (const Body& body : model.bodies) {
    const int plain = plain_size(body);
    for (int k = 0; k < plain; ++k) {
      const int v = body.first_v + k;
      const double reach = model.dofs[v].kind == DofKind::kTranslation ? 1.0 : std::numbers::pi;
      const DofProperties& p = model.dof_properties[v];
      // a limit beyond the reach on one side still leaves a valid interval
      const double low = std::min(std::max(p.lower, -reach), p.upper);
      const double high = std::max(std::min(p.upper, reach), p.lower);
      q[body.first_q + k] =
          std::clamp(random.uniform(std::min(low, high), std::max(low, high)), p.lower, p.upper);
    }
    if (has_quaternion(body.kind)) {
      const double most = model.dof_properties[body.first_v + plain].upper;  // angle of rotation
      const Quat turn = random_quat(random);
      const bool narrow = most < std::numbers::pi;
      write_quat(narrow ? quat_exp(most / std::numbers::pi * quat_log(turn)) : turn,
                 &q[body.first_q + plain]);
    }
  }
}

double dof_position(const Model& model, VecIn q, int dof) {
  const Body& body = model.bodies[model.dofs[dof].body];
  const int k = dof - body.first_v, plain = plain_size(body);
  if (k < plain) return q[body.first_q + k];
  return quat_log(normalized_or_identity(read_quat(q.data() + body.first_q + plain)))[k - plain];
}

void integrate(const Model& model, VecOut q, VecIn v, double step) {
  integrate(model, 0, model.body_count(), q, v, step);
}

void integrate(const Model& model, int first, int last, VecOut q, VecIn v, double step) {
  for (int i = first; i < last; ++i) {
    const Body& body = model.bodies[i];
    const int plain = plain_size(body);
    for (int k = 0; k < plain; ++k) q[body.first_q + k] += step * v[body.first_v + k];  // (1)
    if (has_quaternion(body.kind)) {
      double* at = &q[body.first_q + plain];
      const Vec3 w = v.segment<3>(body.first_v + plain);
      write_quat(normalized_or_identity(quat_exp(step * w) * read_quat(at)), at);  // (2)
    }
  }
}

void difference(const Model& model, VecIn q0, VecIn q1, VecOut v) {
  for (const Body& body : model.bodies) {
    const int plain = plain_size(body);
    for (int k = 0; k < plain; ++k) v[body.first_v + k] = q1[body.first_q + k] - q0[body.first_q + k];
    if (has_quaternion(body.kind)) {
      const Quat a = normalized_or_identity(read_quat(q0.data() + body.first_q + plain));
      const Quat b = normalized_or_identity(read_quat(q1.data() + body.first_q + plain));
      v.segment<3>(body.first_v + plain) = quat_log(b * a.conjugate());  // (3)
    }
  }
}

State::State(const Model& model)
    : q(static_cast<std::size_t>(model.nq)),
      v(static_cast<std::size_t>(model.nv)),
      loop_closed(model.loops.size(), true) {
  neutral(model, q_view());
}

}  // namespace karakuri
