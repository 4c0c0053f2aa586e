// A step takes the middle M between the feet by (forward, side, turn); the foot that swings comes to M, moved
// sideways by the spacing.                                                                              (1)
// The ZMP goes from the one foot to the other during double support and stays there while the other foot
// swings.
//   smooth(s) = 10 s^3 - 15 s^4 + 6 s^5           from 0 to 1, its first two derivatives 0 at both ends (2)
//   bump(s) = 64 s^3 (1 - s)^3                    from 0 to 1 and back, likewise (3)
#include "karakuri/control/footsteps.h"

#include <algorithm>
#include <cmath>

#include "karakuri/spatial/rotation.h"

namespace karakuri {

namespace {

// The foot leaves the floor before it goes ahead, and is over its place before it comes down.
constexpr double kLiftShare = 0.05, kSinkShare = 0.10;  // of the swing

double heading(const Mat3& R) { return std::atan2(R(1, 0), R(0, 0)); }
Mat3 turn_z(double angle) { return rotation_exp({0, 0, angle}); }

double share(double t, double begin, double end) {
  return end > begin ? std::clamp((t - begin) / (end - begin), 0.0, 1.0) : 1.0;
}

Transform swing(const Phase& p, double lift_height, double t) {
  const double s = share(t, p.lift, p.land);
  const double along = smooth(std::clamp((s - kLiftShare) / (1 - kLiftShare - kSinkShare), 0.0, 1.0));
  Transform X;
  X.R = p.from.R * rotation_exp(along * rotation_log(p.from.R.transpose() * p.to.R));
  X.p = p.from.p + along * (p.to.p - p.from.p);
  X.p.z() = p.from.p.z() + smooth(s) * (p.to.p.z() - p.from.p.z()) + lift_height * bump(s);
  return X;
}

}  // namespace

double smooth(double s) { return s * s * s * (10 + s * (6 * s - 15)); }  // (2)
double bump(double s) {
  const double x = 4 * s * (1 - s);
  return x * x * x;  // (3)
}

Soles soles_about(const Transform& X_WM, double spacing) {
  return {X_WM * Transform::translation({0, spacing, 0}), X_WM * Transform::translation({0, -spacing, 0})};
}

Transform middle_of(const Soles& soles) {
  const double a = heading(soles[0].R), b = heading(soles[1].R);
  return {turn_z(a + std::remainder(b - a, 2 * std::numbers::pi) / 2), (soles[0].p + soles[1].p) / 2};
}

Footstep next_footstep(Side stance, const Transform& X_WS, const StepCommand& step, double spacing) {
  const Transform X_WM = X_WS * Transform::translation({0, -sign_of(stance) * spacing, 0});
  const Transform moved{turn_z(step.turn), {step.forward, step.side, 0}};
  const Side swings = other(stance);
  return {swings, X_WM * moved * Transform::translation({0, sign_of(swings) * spacing, 0})};  // (1)
}

std::vector<Footstep> plan_footsteps(const std::vector<PlannedSteps>& plan, Side first, const Soles& start,
                                     const Gait& gait) {
  std::vector<Footstep> out;
  Soles soles = start;
  Side swings = first;
  const auto add = [&](const StepCommand& step) {
    const Side stance = other(swings);
    out.push_back(next_footstep(stance, soles[static_cast<std::size_t>(stance)], step, gait.spacing));
    soles[static_cast<std::size_t>(swings)] = out.back().X_WS;
    swings = stance;
  };
  for (const PlannedSteps& steps : plan)
    for (int i = 0; i < steps.count; ++i) add(steps.step);
  if (!out.empty()) add({});
  return out;
}

Schedule::Schedule(const Gait& gait, const Soles& soles, double time)
    : gait_(gait), first_(soles), last_(soles), start_(time), first_zmp_(middle_point()) {
  phases_.reserve(16);  // more than fit into the horizons, so that planning on does not allocate
}

Vec3 Schedule::zmp_point(Side side, const Transform& X_WS) const {
  return X_WS * Vec3(gait_.zmp_forward, -sign_of(side) * gait_.zmp_inward, 0);
}

Vec3 Schedule::middle_point() const {
  return (zmp_point(Side::kLeft, last_[0]) + zmp_point(Side::kRight, last_[1])) / 2;
}

void Schedule::add(const Footstep& step, double time) {
  Phase p;
  p.begin = std::max(end(), time);
  p.lift = p.begin + (settled() ? gait_.start_time : gait_.double_support);
  p.land = p.lift + gait_.step_time - gait_.double_support;
  p.swing = step.side;
  p.from = last_[static_cast<std::size_t>(step.side)];
  p.to = step.X_WS;
  const Side stance = other(step.side);
  p.zmp_before = phases_.empty() ? first_zmp_ : phases_.back().zmp_after;
  p.zmp_after = zmp_point(stance, last_[static_cast<std::size_t>(stance)]);
  p.left_before = phases_.empty() ? first_left_ : phases_.back().left_after;
  p.left_after = stance == Side::kLeft ? 1 : 0;
  last_[static_cast<std::size_t>(step.side)] = step.X_WS;
  last_side_ = step.side;
  phases_.push_back(p);
}

void Schedule::settle() {
  Phase p;
  p.begin = end();
  p.lift = p.land = p.begin + gait_.start_time;
  p.swings = false;
  p.zmp_before = phases_.empty() ? first_zmp_ : phases_.back().zmp_after;
  p.zmp_after = middle_point();
  p.left_before = phases_.empty() ? first_left_ : phases_.back().left_after;
  p.left_after = 0.5;
  phases_.push_back(p);
}

const Phase* Schedule::phase_at(double time) const {
  const Phase* found = nullptr;
  for (const Phase& p : phases_)
    if (p.begin <= time) found = &p;
  return found;
}

Vec3 Schedule::zmp(double time) const {
  const Phase* p = phase_at(time);
  if (!p) return first_zmp_;
  return p->zmp_before + smooth(share(time, p->begin, p->lift)) * (p->zmp_after - p->zmp_before);
}

double Schedule::level(double time) const {
  const Phase* p = phase_at(time);
  if (!p) return first_zmp_.z();
  return p->zmp_before.z() + smooth(share(time, p->begin, p->land)) * (p->zmp_after.z() - p->zmp_before.z());
}

Soles Schedule::soles(double time) const {
  Soles out = first_;
  for (const Phase& p : phases_) {
    if (!p.swings || p.lift > time) continue;
    out[static_cast<std::size_t>(p.swing)] = p.land <= time ? p.to : swing(p, gait_.swing_height, time);
  }
  return out;
}

std::array<double, 2> Schedule::shares(double time) const {
  const Phase* p = phase_at(time);
  double left = first_left_;
  if (p) left = p->left_before + smooth(share(time, p->begin, p->lift)) * (p->left_after - p->left_before);
  return {left, 1 - left};
}

bool Schedule::in_air(Side side, double time) const {
  return std::ranges::any_of(
      phases_, [&](const Phase& p) { return p.swings && p.swing == side && p.lift < time && time < p.land; });
}

double Schedule::next_landing(double time) const {
  for (const Phase& p : phases_)
    if (p.swings && p.lift < time && time < p.land) return p.land;
  return time;
}

int Schedule::landed(double time) const {
  return forgotten_ + static_cast<int>(std::ranges::count_if(
                          phases_, [&](const Phase& p) { return p.swings && p.land <= time; }));
}

void Schedule::forget(double time) {
  while (phases_.size() > 1 && phases_.front().land < time) {
    const Phase& p = phases_.front();
    if (p.swings) first_[static_cast<std::size_t>(p.swing)] = p.to, ++forgotten_;
    first_zmp_ = p.zmp_after, first_left_ = p.left_after, start_ = p.land;
    phases_.erase(phases_.begin());
  }
}

}  // namespace karakuri
