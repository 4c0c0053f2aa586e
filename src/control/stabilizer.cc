// The centre of mass as a linear inverted pendulum, w^2 = g / z: its capture point (divergent component of
// motion) xi = c + dc/dt / w obeys d xi/dt = w (xi - p), so that the ZMP
//   p = p_ref + (1 + k) (xi - xi_ref) + k_i integral (xi - xi_ref) (1)
// brings it back to the plan with d(xi - xi_ref)/dt = -k w (xi - xi_ref) ...  T. Takenaka et al. (2009);
// J. Englsberger et al. (2011). p is cut to where the soles carry, less a margin. Both are taken relative to
// the soles that carry, measured to measured and planned to planned: where the feet really stand is where the
// plan goes on.
// Its place shares the weight between the feet, as far as the plan lets both carry, and gives their moments,
//   f_i = s_i m g,   tau_i = (p_i - sole_i) x f_i,   p = sum s_i p_i (2)
// S. Kajita et al. (2010), "Biped walking stabilization based on linear inverted pendulum tracking". A foot
// that gives way below the ankle by C tau is turned back by as much, and by the measured attitude error delta
// of the body, so that its moment is what is wanted and not what the tilt makes of it; what remains is
// integrated,
//   phi_i = -C tau_i - a delta + psi_i,   d psi_i/dt = A (tau_measured - tau_i) - psi_i / T (3)
// The difference of the feet's heights follows the difference of their forces,
//   d z/dt = A_z ((f_l - f_r) - (f_l,measured - f_r,measured)) - z / T_z (4)
// Where the soles cannot give the p of (1), the capture point runs away from p' that they give, and will be
// off by
//   (xi - xi_ref - (p' - p_ref)) exp(w t) (5)
// after a time t; the foot that swings is brought there by the time it lands, and the plan goes on from where
// it is.
#include "karakuri/control/stabilizer.h"

#include <algorithm>
#include <cmath>

#include "karakuri/spatial/rotation.h"

namespace karakuri {

namespace {

constexpr double kCarries = 0.05;  // share of the weight from which a sole counts as carrying

/// The middle of what carries, with its heading: from the soles and their shares.
Transform anchor_of(const Soles& soles, const std::array<double, 2>& shares) {
  const Transform both = middle_of(soles);
  return {both.R, shares[0] * soles[0].p + shares[1] * soles[1].p};
}

double cut(double x, double most) { return std::clamp(x, -most, most); }

}  // namespace

bool find_zmp(const BipedMeasure& m, Vec3& zmp) {
  const double force = m.on_soles[0].force.z() + m.on_soles[1].force.z();
  if (!(force > 1e-9)) return false;
  Vec3 sum = Vec3::Zero();
  for (std::size_t i = 0; i < 2; ++i) {
    const Force& f = m.on_soles[i];
    // on the plane through the sole's origin
    sum += f.force.z() * m.soles[i].p + Vec3(-f.moment.y(), f.moment.x(), 0);
  }
  zmp = sum / force;
  return true;
}

void Stabilizer::reset() {
  integral_ = {};
  turn_ = {};
  filtered_ = {};
  difference_ = 0;
  shift_ = {Vec3::Zero(), Vec3::Zero()};
}

/// (1), in the plan's frame.
Vec3 Stabilizer::choose_zmp(const WalkingReference& now, const BipedMeasure& m, double dt) {
  const double w = std::sqrt(gravity_ / gait_.height);
  const Transform planned = anchor_of(now.soles, now.shares), real = anchor_of(m.soles, now.shares);
  const Vec3 xi_planned = now.center + now.center_velocity / w - planned.p;
  const Vec3 xi_real = planned.R * (real.R.transpose() * (m.center + m.center_velocity / w - real.p));
  capture_error_ = xi_real - xi_planned;
  capture_error_.z() = 0;
  Vec3 zmp = now.zmp_planned;
  for (int k = 0; k < 2; ++k) {
    double& sum = integral_[static_cast<std::size_t>(k)];
    sum = cut(sum + dt * capture_error_[k], 0.05);
    zmp[k] += (1 + settings_.capture_gain) * capture_error_[k] + settings_.capture_integral * sum;
  }
  return zmp;
}

/// (2): moments in the soles' frames.
void Stabilizer::share_out(const WalkingReference& now, const Vec3& zmp, std::array<Vec3, 2>& moment,
                           std::array<double, 2>& force) const {
  std::array<double, 2> shares = now.shares;
  const Vec3 &left = now.soles[0].p, &right = now.soles[1].p;
  if (!now.in_air[0] && !now.in_air[1] && shares[0] > 0 && shares[1] > 0) {  // both may carry
    const Vec3 apart = left - right;
    shares[0] =
        std::clamp((zmp - right).head<2>().dot(apart.head<2>()) / apart.head<2>().squaredNorm(), 0.0, 1.0);
    shares[1] = 1 - shares[0];
  }
  const Vec3 middle = shares[0] * left + shares[1] * right;
  for (std::size_t i = 0; i < 2; ++i) {
    const Mat3& R = now.soles[i].R;
    Vec3 arm = R.transpose() * (zmp - middle);
    const double inner = i == 0 ? box_[1] : -box_[3], outer = i == 0 ? box_[3] : -box_[1];
    arm.x() = std::clamp(arm.x(), box_[0] + settings_.margin, box_[2] - settings_.margin);
    arm.y() = std::clamp(arm.y(), inner + settings_.margin, outer - settings_.margin);
    force[i] = shares[i] * mass_ * gravity_;
    moment[i] = Vec3(arm.y(), -arm.x(), 0) * force[i];
  }
}

/// (5). A sole keeps its shift while it stands.
void Stabilizer::move_landing(const WalkingReference& now, const Vec3& missing, double dt) {
  const double w = std::sqrt(gravity_ / gait_.height);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!now.in_air[i]) continue;
    const Vec3 ahead =
        settings_.step_gain / (1 + settings_.capture_gain) * std::exp(w * now.to_landing) * missing;
    const double length = ahead.norm();
    const Vec3 wanted =
        shift_[1 - i] + (length > settings_.max_shift ? Vec3(ahead * (settings_.max_shift / length)) : ahead);
    // as fast as lets it come there, and slower than the swing itself
    const double speed = 3 / std::max(now.to_landing, 0.1);
    shift_[i] += std::min(1.0, dt * speed) * (wanted - shift_[i]);
  }
}

StabilizerOutput Stabilizer::update(const WalkingReference& now, const WalkingReference& next,
                                    const BipedMeasure& m, double dt) {
  StabilizerOutput out{next.soles, next.root, next.center};
  std::array<Vec3, 2> moment;
  std::array<double, 2> force;
  const Vec3 zmp = choose_zmp(now, m, dt);
  share_out(now, zmp, moment, force);
  wanted_zmp_ = Vec3::Zero();
  for (std::size_t i = 0; i < 2; ++i)
    wanted_zmp_ += (force[i] * now.soles[i].p + now.soles[i].R * Vec3(-moment[i].y(), moment[i].x(), 0)) /
                   (mass_ * gravity_);
  Vec3 missing = zmp - wanted_zmp_;
  missing.z() = 0;
  move_landing(now, missing, dt);
  for (std::size_t i = 0; i < 2; ++i) {
    out.soles[i].p += shift_[i];
    out.center += next.shares[i] * shift_[i];
  }
  const double blend = settings_.filter > 0 ? 1 - std::exp(-dt / settings_.filter) : 1;
  for (std::size_t i = 0; i < 2; ++i) {
    const Vec3 turning = m.soles[i].R.transpose() * m.on_soles[i].moment;
    const double measured[3] = {turning.x(), turning.y(), m.on_soles[i].force.z()};
    for (std::size_t k = 0; k < 3; ++k) filtered_[i][k] += blend * (measured[k] - filtered_[i][k]);
  }
  // tilt of the body against the plan, without what is heading
  const Vec3 tilt_W = rotation_log(m.root * now.root.transpose());
  for (std::size_t i = 0; i < 2; ++i) {
    const bool carries = now.shares[i] > kCarries;
    const Vec3 tilt = now.soles[i].R.transpose() * tilt_W;
    Vec3 turn = Vec3::Zero();
    for (std::size_t k = 0; k < 2; ++k) {
      const double error = carries ? filtered_[i][k] - moment[i][static_cast<int>(k)] : 0;
      double& psi = turn_[i][k];
      psi += dt * (settings_.ankle_admittance * error - psi / settings_.ankle_leak);
      psi = cut(psi, settings_.max_turn);
      turn[static_cast<int>(k)] = -settings_.compliance * moment[i][static_cast<int>(k)] + psi;  // (3)
    }
    turn -= settings_.attitude * Vec3(tilt.x(), tilt.y(), 0);
    for (int k = 0; k < 2; ++k) turn[k] = cut(turn[k], settings_.max_turn);
    out.soles[i].R = next.soles[i].R * rotation_exp(turn);
  }
  out.root = rotation_exp(-settings_.root_attitude * Vec3(tilt_W.x(), tilt_W.y(), 0)) * next.root;
  const double wanted = force[0] - force[1], measured = filtered_[0][2] - filtered_[1][2];
  difference_ +=
      dt * (settings_.force_admittance * (wanted - measured) - difference_ / settings_.force_leak);  // (4)
  difference_ = cut(difference_, settings_.max_lift);
  out.soles[0].p.z() -= difference_ / 2;
  out.soles[1].p.z() += difference_ / 2;
  return out;
}

}  // namespace karakuri
