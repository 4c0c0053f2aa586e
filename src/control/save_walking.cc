// What walking keeps between two steps, for snapshots.
#include "control/numbers.h"
#include "karakuri/control/walking.h"

namespace karakuri {

using control::visit;
using control::visit_fixed;

namespace {

constexpr double kMany = 1e9;

template <class Ar>
void visit_phase(Ar& ar, Phase& p) {
  for (double* x : {&p.begin, &p.lift, &p.land, &p.left_before, &p.left_after}) ar(*x);
  visit(ar, p.swings), visit(ar, p.swing);
  visit(ar, p.from), visit(ar, p.to), visit(ar, p.zmp_before), visit(ar, p.zmp_after);
}

}  // namespace

template <class Ar>
void Schedule::visit_state(Ar& ar) {
  visit(ar, first_), visit(ar, last_), visit(ar, first_zmp_), visit(ar, last_side_);
  ar(start_), ar(first_left_);
  visit(ar, forgotten_, 0, kMany);
  visit(ar, phases_, [&](Phase& p) { visit_phase(ar, p); });
}

template <class Ar>
void Stabilizer::visit_state(Ar& ar) {
  visit(ar, settings_.enabled);
  visit(ar, integral_), visit(ar, turn_), visit(ar, filtered_), visit(ar, shift_);
  ar(difference_);
  visit(ar, wanted_zmp_), visit(ar, capture_error_);
}

template <class Ar>
void WalkingPattern::visit_state(Ar& ar) {
  schedule_.visit_state(ar);
  visit(ar, plan_, [&](PlannedSteps& s) {
    visit(ar, s.count, 0, kMany);
    ar(s.step.forward), ar(s.step.side), ar(s.step.turn);
  });
  visit(ar, footsteps_, [&](Footstep& s) { visit(ar, s.side), visit(ar, s.X_WS); });
  ar(start_);
  visit(ar, tick_, 0, 1e15);
  for (Axes& axes : carts_) visit(ar, axes.x), visit(ar, axes.y);
  for (Axes* axes : {&correction_, &correction_before_}) visit(ar, axes->x), visit(ar, axes->y);
  for (std::vector<double>* v : {&error_x_, &error_y_, &q_, &q_before_}) visit_fixed(ar, *v);
  visit(ar, momentum_), visit(ar, has_momentum_);
}

template <class Ar>
void Walking::visit_state(Ar& ar) {
  pattern_.visit_state(ar);
  stabilizer_.visit_state(ar);
  visit_fixed(ar, q_), visit_fixed(ar, q_before_), visit_fixed(ar, rates_before_);
  visit(ar, started_);
  WalkingReport& r = report_;
  for (Vec3* v : {&r.center, &r.center_planned, &r.zmp, &r.zmp_planned, &r.zmp_wanted}) visit(ar, *v);
  visit(ar, r.force);
  for (double* x : {&r.tilt, &r.reach_error}) ar(*x);
  visit(ar, r.steps, 0, kMany), visit(ar, r.left, 0, kMany);
  visit(ar, r.standing), visit(ar, r.fallen);
  for (JointTarget& target : targets_) ar(target.q), ar(target.v), ar(target.effort);
}

std::vector<double> Walking::save() const {
  control::NumberWriter writer;
  const_cast<Walking*>(this)->visit_state(writer);  // a writer changes nothing
  return std::move(writer.out);
}

bool Walking::restore(std::span<const double> numbers) {
  Walking read = *this;
  control::NumberReader reader(numbers);
  read.visit_state(reader);
  if (!reader.finished()) return false;
  *this = std::move(read);
  return true;
}

}  // namespace karakuri
