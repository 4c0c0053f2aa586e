// A set that has more energy than energy_ledger.cc (4) allows is slowed down. If nothing fixed acts on it,
// its motion is that of a rigid body with its linear and angular momentum P, L, and one within it that is
// orthogonal to it in the metric of M,
//   T = P^2 / 2m + L^T I^-1 L / 2 + T_within                                                              (1)
// T_within is scaled first, then L; P only of what continuous contact has slowed down, which has lost it
// already. Otherwise all of T is: velocities that respect contacts, limits and loops still do. Where that is
// more than a little, or the set stands too high, its way is shortened with it, so that positions and
// velocities do not part. Before that, what closing open loops would lift is left to later steps, but for
// what a little of the motion pays for.
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "world/dofs.h"
#include "world/energy_ledger.h"
#include "world/rigid_motion.h"

namespace karakuri::world_detail {

namespace {

Eigen::Map<const Eigen::VectorXd> as_vector(const std::vector<double>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}

void look_at_all(World::Impl& w, int set) {
  for_each_of(w, set, [&](int t, const Tree&) { look(w, t); });
}

/// Of a set as one rigid body.
TreeMotion motion_of(World::Impl& w, int set) {
  w.group_now.clear();
  for_each_of(w, set,
              [&](int, const Tree& tree) { w.group_now.push_back(tree_motion(w.model, w.ws, tree)); });
  return sum_of(w.group_now);
}

/// (1). @param motion  its energy
struct Parts {
  RigidMotion rigid;
  double linear, turning, within;

  Parts(World::Impl& w, int set, double motion) {
    const TreeMotion sum = motion_of(w, set);
    rigid = rigid_motion(sum);
    turning = 0.5 * rigid.angular.dot(sum.momentum.moment);
    linear = 0.5 * rigid.linear.dot(sum.momentum.force);
    within = std::max(0.0, motion - turning - linear);
  }
};

/// (1). @param excess  of energy
void slow_within(World::Impl& w, int set, double motion, double excess) {
  const auto [rigid, linear, turning, within] = Parts(w, set, motion);
  const auto take = [&](double energy) {  // scales what has this energy
    if (!(excess > 0)) return 1.0;
    const double taken = std::min(excess, energy);
    excess -= taken;
    return energy > taken ? std::sqrt(1 - taken / energy) : 0.0;
  };
  const double share = take(within), spin = take(turning);
  const double along = w.accounts[set].slowed ? take(linear) : 1;
  const RigidMotion slow{rigid.center, along * rigid.linear, spin * rigid.angular};
  for_each_of(w, set, [&](int, const Tree& tree) {
    const Body& root = w.model.bodies[tree.first];
    const Eigen::Matrix<double, 6, 1> as_one = root_rates(w, tree, rigid), kept = root_rates(w, tree, slow);
    for (int k = 0, i = root.first_v; k < 6; ++k, ++i)  // what is not to change does not, to the last digit
      w.state.v[i] += (share - 1) * (w.state.v[i] - as_one[k]) + (kept[k] - as_one[k]);
    for (int i = root.first_v + 6; i < end_dof(w.model, tree); ++i) w.state.v[i] *= share;
  });
}

/// Velocity of the centre of mass of a set on which nothing fixed acts: as keep_momentum.cc wants it, which
/// knew it before anything was too fast to be added up, or as it is. Stages of RK4 may miss it, and more so
/// the more there is to be taken away: there, as what acts from outside makes it.
Vec3 linear_velocity(World::Impl& w, int set) {
  Vec3 momentum = Vec3::Zero(), given = Vec3::Zero();
  double mass = 0;
  bool wanted = true;
  for_each_of(w, set, [&](int t, const Tree&) {
    wanted = wanted && w.floats[t].keeps;
    momentum += w.motions[t].momentum.force;
    given += w.accounts[t].start_momentum + w.tree_mass[t] * w.smooth_change(t, w.h_now);
    mass += w.tree_mass[t];
  });
  if (w.settings.integrator == Integrator::kRk4 && !w.accounts[set].slowed) return given / mass;
  if (wanted && w.settings.integrator != Integrator::kRk4) return momentum / mass;
  const TreeMotion now = motion_of(w, set);
  return now.momentum.force / now.mass;
}

/// Gives a set the velocity of its centre of mass back that rounding has taken.
void keep_linear_momentum(World::Impl& w, int set, const Vec3& velocity) {
  const TreeMotion now = motion_of(w, set);
  const Vec3 missing = velocity - now.momentum.force / now.mass;
  for_each_of(w, set, [&](int t, const Tree& tree) {
    const Body& root = w.model.bodies[tree.first];
    Eigen::Map<Vec3>(w.state.v.data() + root.first_v) += Mat3(root.R_PF).transpose() * missing;
    look(w, t);
  });
}

/// That of a floating set, with its centre of mass where the mean of its velocities has led it.
TreeMotion wanted_motion(World::Impl& w, int set) {
  TreeMotion motion = motion_of(w, set);
  Vec3 moment = Vec3::Zero(), momentum = Vec3::Zero();
  for_each_of(w, set, [&](int t, const Tree&) {
    moment += w.accounts[t].start_moment;
    momentum += w.accounts[t].start_momentum;
  });
  motion.momentum.force = motion.mass * linear_velocity(w, set);
  motion.center = (moment + 0.5 * w.h_now * (momentum + motion.momentum.force)) / motion.mass;
  return motion;
}

/// Of the mass of a tree, at the start of the step.
Vec3 start_center(const World::Impl& w, int t) { return w.accounts[t].start_moment / w.tree_mass[t]; }

/// Whether a set turns too far in a step to be led as one rigid body: the way of its parts is a chord that
/// has little to do with their velocities.
bool spins_far(const World::Impl& w, const RigidMotion& rigid) {
  return w.h_now * rigid.angular.norm() > kFarTurn;
}

/// Moves a floating set as a whole, so that it is where it was and has the momentum that it had, but for the
/// angular one of what turns too far.
void restore_motion(World::Impl& w, int set, const TreeMotion& wanted, bool turning) {
  const TreeMotion now = motion_of(w, set);
  TreeMotion missing = now;
  missing.momentum = wanted.momentum - now.momentum;
  if (!turning) missing.momentum.moment.setZero();
  const RigidMotion rigid = rigid_motion(missing);
  for_each_of(w, set, [&](int t, const Tree& tree) {
    const Body& root = w.model.bodies[tree.first];
    Eigen::Map<Eigen::Matrix<double, 6, 1>>(w.state.v.data() + root.first_v) += root_rates(w, tree, rigid);
    Eigen::Map<Vec3>(w.state.q.data() + root.first_q) +=
        Mat3(root.R_PF).transpose() * (wanted.center - now.center);
    look(w, t);
  });
}

/// Where its trees were at the start of the step, and the centre of mass of a set there.
Vec3 go_back(World::Impl& w, int set, double mass) {
  Vec3 moment = Vec3::Zero();
  for_each_of(w, set, [&](int t, const Tree& tree) {
    moment += w.accounts[t].start_moment;
    copy_coordinates(w.model, tree, w.q_before, w.state.q);
    update_poses(w.model, w.state, tree, w.ws);
  });
  return moment / mass;
}

/// The way of a point on a rigid body that moves so for a while: its arm is turned, and not drawn out.
Vec3 rigid_way(const RigidMotion& m, const Vec3& point, double lasts) {
  const Vec3 arm = point - m.center, turn = lasts * m.angular;
  const double angle = turn.norm();
  const Vec3 turned = angle > 0 ? Vec3(Eigen::AngleAxisd(angle, turn / angle) * arm) : arm;
  return lasts * m.linear + turned - arm;
}

/// Of a tree's root.  @pre w.ws: poses at its start
Eigen::Matrix<double, 6, 1> rigid_way(const World::Impl& w, const Tree& tree, const RigidMotion& m,
                                      double lasts) {
  const Mat3 to_F = Mat3(w.model.bodies[tree.first].R_PF).transpose();
  Eigen::Matrix<double, 6, 1> way;
  way << to_F * rigid_way(m, w.ws.pose[tree.first].p, lasts), to_F * (lasts * m.angular);
  return way;
}

/// Moves a floating tree so that its centre of mass goes this way: where a root turns far, the way of what is
/// far from it has little to do with that.
void place_center(World::Impl& w, int t, const Tree& tree, const Vec3& way) {
  const Vec3 missing = start_center(w, t) + way - tree_motion(w.model, w.ws, tree).center;
  const Body& root = w.model.bodies[tree.first];
  Eigen::Map<Vec3>(w.state.q.data() + root.first_q) += Mat3(root.R_PF).transpose() * missing;
}

/// A share of the way and of the velocities of a set; if it floats, of those within it, while it goes all of
/// its way as a rigid body; or, where that turns too far, of all that is not the way of its centre of mass.
/// @pre w.way: all of the way, w.v_whole: all of the velocities
/// @param motion  that the set is to have, if it floats
void take_share(World::Impl& w, int set, bool anchored, double share, const TreeMotion& motion) {
  RigidMotion rigid = anchored ? RigidMotion{} : rigid_motion(motion);
  const bool turning = anchored || !spins_far(w, rigid);
  if (!turning) rigid.angular.setZero();
  if (!anchored) rigid.center = go_back(w, set, motion.mass);
  for_each_of(w, set, [&](int t, const Tree& tree) {
    const int first = w.model.bodies[tree.first].first_v;
    for (int i = first; i < end_dof(w.model, tree); ++i) {
      w.share_of_way[i] = share * w.way[i];
      w.state.v[i] = share * w.v_whole[i];
    }
    if (!anchored)
      Eigen::Map<Eigen::Matrix<double, 6, 1>>(w.share_of_way.data() + first) +=
          rigid_way(w, tree, rigid, (1 - share) * w.h_now);
    copy_coordinates(w.model, tree, w.q_before, w.state.q);
    integrate(w.model, tree.first, tree.last, w.state.q_view(), as_vector(w.share_of_way), 1);
    look(w, t);
    if (anchored) return;
    place_center(
        w, t, tree,
        share * w.accounts[t].center_way + rigid_way(rigid, start_center(w, t), (1 - share) * w.h_now));
    look(w, t);
  });
  if (!anchored) restore_motion(w, set, motion, turning);
}

/// Whether loops of a set are open that nothing kinematic draws along.
bool is_left_open(World::Impl& w, int set) {
  bool drawn = false;
  for_each_of(w, set, [&](int t, const Tree&) { drawn = drawn || w.accounts[t].held.most > 0; });
  return !drawn && loops_contradict(w, set);
}

/// A part of the way opens loops. Those that stay open anyway are left as the part of the way and of the
/// velocities has them; those of other sets are left as they are.
void close_again(World::Impl& w, int set) {
  if (!w.accounts[set].holds || is_left_open(w, set)) return;
  w.ahead.q = w.state.q;
  w.ahead.v = w.state.v;
  w.close_loops(w.ahead, w.h_now);
  w.project_on_loops(w.ahead);
  for_each_of(w, set, [&](int, const Tree& tree) {
    copy_coordinates(w.model, tree, w.ahead.q, w.state.q);
    copy_rates(w.model, tree, w.ahead.v, w.state.v);
  });
  update_poses(w.model, w.state, w.ws);  // of all sets, as the next step starts from them: `known`
  update_velocities(w.model, w.state, w.ws);
  look_at_all(w, set);
}

/// Goes the way that the velocities of a set lead, and a share of what the step has gone beside it.
/// @pre w.way: all of the way
void go_beside(World::Impl& w, int set, double share) {
  for_each_of(w, set, [&](int t, const Tree& tree) {
    const double late = part_of_end(w, t);
    for (int i = w.model.bodies[tree.first].first_v; i < end_dof(w.model, tree); ++i) {
      const double led = w.h_now * (late * w.state.v[i] + (1 - late) * w.v_before[i]);
      w.share_of_way[i] = led + share * (w.way[i] - led);
    }
    copy_coordinates(w.model, tree, w.q_before, w.state.q);
    integrate(w.model, tree.first, tree.last, w.state.q_view(), as_vector(w.share_of_way), 1);
    look(w, t);
  });
}

/// Of the motion, what may be taken: a set on which nothing fixed acts keeps its momentum.
double payable(World::Impl& w, int set, double motion) {
  if (w.accounts[set].anchored || w.accounts[set].slowed) return motion;
  const Parts parts(w, set, motion);
  return parts.turning + parts.within;
}

/// Loops that are open are closed as far as the motion can pay for what that lifts: by the largest share that
/// leaves a little to be taken away, by bisection.
void loosen(World::Impl& w, int set, double most) {
  constexpr int kRounds = 8;
  difference(w.model, as_vector(w.q_before), w.state.q_view(),
             Eigen::Map<Eigen::VectorXd>(w.way.data(), w.model.nv));
  const auto can_pay = [&](double share) {
    go_beside(w, set, share);
    const EnergySum sum = energies_of(w, set);
    return sum.energy() - most < 0.5 * kLittle * payable(w, set, sum.motion);
  };
  const double closed = energies_of(w, set).energy();
  double fits = 0, exceeds = 1;
  for (int k = 0; k < kRounds; ++k) {
    const double share = 0.5 * (fits + exceeds);
    (can_pay(share) ? fits : exceeds) = share;
  }
  if (!can_pay(fits) && energies_of(w, set).energy() > closed) go_beside(w, set, 1);  // closing falls
  w.accounts[set].left_open += std::max(0.0, closed - energies_of(w, set).energy());
}

/// That of a floating set, which turns no faster as a rigid body than there is energy for.
/// @pre as of take_share()
TreeMotion slowed_motion(World::Impl& w, int set, double most) {
  TreeMotion motion = wanted_motion(w, set);
  take_share(w, set, false, 0, motion);
  const double excess = energies_of(w, set).energy() - most;
  const double turning = 0.5 * rigid_motion(motion).angular.dot(motion.momentum.moment);
  if (excess > 0) motion.momentum.moment *= excess < turning ? std::sqrt(1 - excess / turning) : 0;
  return motion;
}

/// Slows a set down by so much that its way is shorter, too: the longest part of it that leaves no more
/// energy than there may be, by bisection, or none, which takes no more than the energy of height at the
/// start.
void shorten(World::Impl& w, int set, bool anchored, double most) {
  constexpr int kRounds = 8;
  difference(w.model, as_vector(w.q_before), w.state.q_view(),
             Eigen::Map<Eigen::VectorXd>(w.way.data(), w.model.nv));
  w.v_whole = w.state.v;
  for_each_of(w, set, [&](int t, const Tree& tree) {
    if (anchored) return;
    const Vec3 velocity = tree_motion(w.model, w.ws, tree).momentum.force / w.tree_mass[t];
    w.accounts[t].center_way = w.h_now * (velocity - 0.5 * w.h_now * w.model.gravity);
  });
  const TreeMotion motion = anchored ? TreeMotion{} : slowed_motion(w, set, most);
  double fits = 0, exceeds = 1, share = 1;
  for (int k = 0; k < kRounds; ++k) {
    share = 0.5 * (fits + exceeds);
    take_share(w, set, anchored, share, motion);
    close_again(w, set);
    (energies_of(w, set).energy() > most ? exceeds : fits) = share;
  }
  if (share == fits) return;
  take_share(w, set, anchored, fits, motion);
  // Where loops contradict each other, what is kinematic would impose velocities on what stays where it is.
  if (fits > 0 || !loops_contradict(w, set)) close_again(w, set);
}

/// What has to go; what is slower then has been lifted by more of its way.
double excess_of(World::Impl& w, int set, const EnergySum& sum, double most) {
  const EnergyAccount& a = w.accounts[set];
  const double excess = std::min(sum.energy() - most, sum.motion);
  if (!(excess > 0) || !(a.risen > 0)) return excess;
  double fall = 0;
  for_each_of(w, set, [&](int t, const Tree&) { fall += w.accounts[t].fall; });
  const double slower = 1 - std::sqrt(1 - excess / sum.motion);
  return std::min(excess + slower * w.h_now * fall, sum.motion);
}

/// Whether so much has to go that the way is to be shortened with the velocities. Of what nothing fixed acts
/// on, that is the motion within, which goes first, however little of all it is.
bool is_much(World::Impl& w, int set, const EnergySum& sum, double most) {
  constexpr double kRounding = 1e-14;  // of the energies that the motion within is left of
  const double excess = sum.energy() - most;
  if (w.accounts[set].anchored || !(excess > 0)) return excess > kLittle * sum.motion;
  const double within = Parts(w, set, sum.motion).within;
  return excess > kLittle * (within > kRounding * sum.motion ? within : sum.motion);
}

/// What nothing else slows down enough stops where it was.
EnergySum remain(World::Impl& w, int set) {
  stay(w, set);
  for_each_of(w, set, [&](int, const Tree& tree) { scale_rates(w.model, tree, 0, w.state.v); });
  look_at_all(w, set);
  return energies_of(w, set);
}

}  // namespace

EnergySum take_away(World::Impl& w, int set, double most) {
  const EnergyAccount& a = w.accounts[set];
  const Vec3 along = a.anchored ? Vec3(Vec3::Zero()) : linear_velocity(w, set);
  EnergySum sum = energies_of(w, set);
  if (is_left_open(w, set) && sum.energy() - most > kLittle * sum.motion) loosen(w, set, most);
  sum = energies_of(w, set);
  if (is_much(w, set, sum, most)) shorten(w, set, a.anchored, most);
  sum = energies_of(w, set);
  if (const double excess = excess_of(w, set, sum, most); excess > 0) {
    const double share = std::sqrt(1 - excess / sum.motion);
    if (a.anchored)
      for_each_of(w, set, [&](int, const Tree& tree) { scale_rates(w.model, tree, share, w.state.v); });
    else
      slow_within(w, set, sum.motion, excess);
    look_at_all(w, set);
  }
  if (!a.anchored && !a.slowed) keep_linear_momentum(w, set, along);
  sum = energies_of(w, set);
  const double beyond = sum.energy() - most;
  const bool little = !a.anchored && beyond < kLittle * sum.motion;  // it keeps its momentum
  // what stayed would never close a loop that is open
  return beyond > a.tolerated && !little && !a.opened ? remain(w, set) : sum;
}

EnergySum stay(World::Impl& w, int set) {
  for_each_of(w, set, [&](int t, const Tree& tree) {
    copy_coordinates(w.model, tree, w.q_before, w.state.q);
    copy_rates(w.model, tree, w.v_before, w.state.v);
    look(w, t);
  });
  return energies_of(w, set);
}

}  // namespace karakuri::world_detail
