// What drives the joints. Several drives of one dof are springs and dampers side by side:
//   K = sum K_i,  D = sum D_i,  K q_target = sum K_i q_i,  D v_target = sum D_i v_i                     (1)
#include <algorithm>
#include <cmath>
#include <tuple>

#include "session/impl.h"

namespace karakuri {

using namespace session_detail;

namespace {

double mean(double weight_a, double a, double weight_b, double b) {
  if (weight_b == 0) return a;
  if (weight_a == 0 || std::isinf(weight_b)) return b;
  if (std::isinf(weight_a)) return a;
  return (weight_a * a + weight_b * b) / (weight_a + weight_b);
}

bool is_drive(const Drive& d) { return d.stiffness != 0 || d.damping != 0; }

/// (1). Their limits add up, as forces do.
void add(Drive& to, const Drive& other) {
  if (!is_drive(other)) return;
  if (!is_drive(to)) {
    to = other;
    return;
  }
  to.q_target = mean(to.stiffness, to.q_target, other.stiffness, other.q_target);
  to.v_target = mean(to.damping, to.v_target, other.damping, other.v_target);
  to.stiffness += other.stiffness;
  to.damping += other.damping;
  to.limit += other.limit;
}

}  // namespace

bool session_detail::is_possible(const Drive& d) {
  return d.stiffness >= 0 && std::isfinite(d.stiffness) && d.damping >= 0 && d.limit >= 0 &&
         std::isfinite(d.q_target) && std::isfinite(d.v_target);
}

int Session::Impl::driven_index(JointId joint) {
  const std::size_t n = state.driven.size();
  for (std::size_t k = 0; k < n; ++k) {  // from the one after the last on: joints are set in order, or alone
    const std::size_t i = (last_driven + k) % n;
    if (state.driven[i].joint != joint) continue;
    last_driven = i + 1;
    return static_cast<int>(i);
  }
  state.driven.push_back({.joint = joint});
  return static_cast<int>(n);
}

bool Session::set_effort(JointId joint, std::span<const double> effort) {
  const auto finite = [](double x) { return std::isfinite(x); };
  if (effort.empty() || effort.size() != impl_->world.v(joint).size() || !std::ranges::all_of(effort, finite))
    return false;
  DrivenJoint& driven = impl_->state.driven[static_cast<std::size_t>(impl_->driven_index(joint))];
  std::ranges::copy(effort, driven.efforts.begin());
  impl_->state.drives_changed = true;
  return true;
}

bool Session::set_drive(JointId joint, const Drive& drive, int dof) {
  if (dof < 0 || dof >= static_cast<int>(impl_->world.v(joint).size())) return false;
  if (!session_detail::is_possible(drive)) return false;
  DrivenJoint& driven = impl_->state.driven[static_cast<std::size_t>(impl_->driven_index(joint))];
  driven.drives[static_cast<std::size_t>(dof)] = drive;
  impl_->state.drives_changed = true;
  return true;
}

Drive Session::drive(JointId joint, int dof) const {
  if (dof < 0 || dof >= kMaxJointDofs) return {};
  for (const DrivenJoint& d : impl_->state.driven)
    if (d.joint == joint) return d.drives[static_cast<std::size_t>(dof)];
  return {};
}

void Session::apply_drives() { impl_->apply_drives(); }

void Session::read_efforts(std::span<double> effort) const {
  std::ranges::fill(effort, 0.0);
  for (const DrivenJoint& d : impl_->state.driven) {
    const JointEntry* joint = impl_->world.model().find(d.joint);
    if (!joint || joint->first_v < 0) continue;
    std::copy_n(d.efforts.begin(), v_size(joint->kind), effort.begin() + joint->first_v);
  }
}

void Session::Impl::take_controllers() {
  state.driven.clear();
  followers.clear();
  drivetrains.clear();
  for (const Controller& c : scene.script.controllers) {
    const int driven = driven_index(c.joint);
    state.driven[static_cast<std::size_t>(driven)].drives[static_cast<std::size_t>(c.dof)] = {
        c.stiffness, c.damping, c.target, c.target_velocity, c.limit};
    if (c.trajectory >= 0) followers.push_back({c.trajectory, c.column, driven, c.dof});
  }
  for (std::size_t a = 0; a < scene.actuators.size(); ++a) {
    const std::vector<Transmission>& transmissions = scene.actuators[a].transmissions;
    for (std::size_t t = 0; t < transmissions.size(); ++t) {
      drivetrains.push_back({static_cast<std::int32_t>(a), static_cast<std::int32_t>(t),
                             driven_index(transmissions[t].joint), transmissions[t].dof});
    }
  }
  scene_driven = state.driven.size();
  std::sort(drivetrains.begin(), drivetrains.end(), [](const Drivetrain& a, const Drivetrain& b) {
    return std::tie(a.driven, a.actuator, a.transmission) < std::tie(b.driven, b.actuator, b.transmission);
  });
}

void Session::Impl::follow_trajectories() {
  // Drives are implicit: what they aim at is where the joint shall be at the end of the step.
  const double at = world.time() + world.settings().dt;
  for (const Follower& f : followers) {
    const TrajectoryPoint point = sample(scene.script.trajectories[static_cast<std::size_t>(f.trajectory)],
                                         static_cast<std::size_t>(f.column), at);
    Drive& drive = state.driven[static_cast<std::size_t>(f.driven)].drives[static_cast<std::size_t>(f.dof)];
    drive.q_target = point.position;
    drive.v_target = point.velocity;
    state.drives_changed = true;
  }
}

/// What an actuator's force is made from.
double Session::Impl::signal(std::size_t actuator) const {
  const bool direct = scene.actuators[actuator].dynamics == ActuatorDynamics::kNone;
  return direct ? state.controls[actuator] : state.activations[actuator];
}

void Session::Impl::advance_activations() {
  for (std::size_t i = 0; i < scene.actuators.size(); ++i) {
    const Actuator& a = scene.actuators[i];
    if (a.dynamics == ActuatorDynamics::kNone) continue;
    const double next = next_activation(a, state.activations[i], state.controls[i], world.settings().dt);
    state.drives_changed = state.drives_changed || next != state.activations[i];
    state.activations[i] = next;
  }
}

void Session::Impl::apply_drives() {
  auto next = drivetrains.begin();  // in the order of `driven`
  for (std::size_t i = 0; i < state.driven.size(); ++i) {
    const DrivenJoint& joint = state.driven[i];
    std::array<Drive, kMaxJointDofs> drives = joint.drives;
    std::array<double, kMaxJointDofs> efforts = joint.efforts;
    for (; next != drivetrains.end() && next->driven == static_cast<std::int32_t>(i); ++next) {
      const Drivetrain& d = *next;
      const auto a = static_cast<std::size_t>(d.actuator), dof = static_cast<std::size_t>(d.dof);
      const ActuatorOutput out =
          actuator_output(scene.actuators[a], signal(a), static_cast<std::size_t>(d.transmission));
      add(drives[dof], out.drive);
      efforts[dof] += out.effort;
    }
    const std::size_t dofs = world.v(joint.joint).size();
    for (std::size_t dof = 0; dof < dofs; ++dof)
      world.set_drive(joint.joint, drives[dof], static_cast<int>(dof));
    world.set_effort(joint.joint, std::span<const double>(efforts.data(), dofs));
  }
  state.drives_changed = false;
}

}  // namespace karakuri
