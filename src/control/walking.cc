#include "karakuri/control/walking.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/rnea.h"
#include "karakuri/model/configuration.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri {

namespace {

constexpr double kCarriesForce = 0.02;   // share of the weight from which a sole counts as carrying
constexpr double kFallenTilt = 1.0;      // [rad]
constexpr std::size_t kMostCorners = 8;  // of two soles
constexpr double kFallenHeight = 0.6;    // of the root, against where it began

Diagnostic refused(const Walker& walker, std::string what, std::string remedy) {
  return {Severity::kError, fmt::format("walker '{}'", walker.name), std::move(what), std::move(remedy)};
}

template <class IdType>
IdType in_part(const std::vector<std::pair<IdType, IdType>>& pairs, IdType whole) {
  for (const auto& [a, b] : pairs)
    if (a == whole) return b;
  return {};
}

Biped translated(const Biped& whole, const ExtractedTree& part) {
  Biped out = whole;
  out.root = in_part(part.links, whole.root);
  for (LinkId& foot : out.feet) foot = in_part(part.links, foot);
  for (JointId& joint : out.passive) joint = in_part(part.joints, joint);
  for (auto& [joint, q] : out.posture) joint = in_part(part.joints, joint);
  return out;
}

/// Convex hull in the plane, by A. Andrew's monotone chain (1979), counter-clockwise.
void make_hull(std::vector<Vec3>& points) {
  std::ranges::sort(
      points, [](const Vec3& a, const Vec3& b) { return a.x() != b.x() ? a.x() < b.x() : a.y() < b.y(); });
  const auto turn = [](const Vec3& o, const Vec3& a, const Vec3& b) {
    return (a.x() - o.x()) * (b.y() - o.y()) - (a.y() - o.y()) * (b.x() - o.x());
  };
  std::array<Vec3, 2 * kMostCorners> hull;
  assert(points.size() <= kMostCorners);
  std::size_t size = 0;
  for (int side = 0; side < 2; ++side) {
    const std::size_t first = size;
    for (const Vec3& p : points) {
      while (size >= first + 2 && turn(hull[size - 2], hull[size - 1], p) <= 0) --size;
      hull[size++] = p;
    }
    --size;
    std::ranges::reverse(points);
  }
  points.assign(hull.begin(), hull.begin() + static_cast<std::ptrdiff_t>(size));
}

/// How far a point is inside a counter-clockwise polygon; negative: outside.
double inside(const std::vector<Vec3>& hull, const Vec3& p) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < hull.size(); ++i) {
    const Vec3 &a = hull[i], &b = hull[(i + 1) % hull.size()];
    const double length = (b - a).head<2>().norm();
    if (!(length > 0)) continue;
    least = std::min(least, ((b.x() - a.x()) * (p.y() - a.y()) - (b.y() - a.y()) * (p.x() - a.x())) / length);
  }
  return hull.size() < 3 ? -std::numeric_limits<double>::infinity() : least;
}

}  // namespace

Walking::Walking(const Walker& walker, WalkingPattern pattern, ExtractedTree part)
    : walker_(walker),
      pattern_(std::move(pattern)),
      joints_(std::move(part.joints)),
      measured_(pattern_.body().model()),
      ws_(pattern_.body().model()),
      planned_(pattern_.body().model()),
      planned_ws_(pattern_.body().model()) {
  const Model& model = pattern_.body().model();
  stabilizer_ =
      Stabilizer(walker.stabilizing, walker.biped, walker.gait, total_mass(model), model.gravity.norm());
  q_ = q_before_ = pattern_.first_posture();
  for (std::vector<double>* v : {&rates_, &rates_before_, &accelerations_, &efforts_})
    v->assign(static_cast<std::size_t>(model.nv), 0.0);
  on_bodies_.resize(static_cast<std::size_t>(model.body_count()));
  root_q_ = model.bodies[static_cast<std::size_t>(model.find(pattern_.body().biped().root)->body)].first_q;
  const Soles& soles = pattern_.schedule().last_soles();
  height_ = q_[static_cast<std::size_t>(root_q_ + 2)] - (soles[0].p.z() + soles[1].p.z()) / 2;
  for (const auto& [whole, own] : joints_) {
    const JointEntry* entry = model.find(own);
    const bool passive = std::ranges::find(walker.biped.passive, whole) != walker.biped.passive.end();
    if (entry && entry->first_q >= 0 && v_size(entry->kind) == 1 && !passive)
      targets_.push_back({whole, q_[static_cast<std::size_t>(entry->first_q)], 0});
  }
}

Result<Walking> Walking::make(const World& world, const Walker& walker, double floor) {
  const Mechanism& whole = world.scene().mechanism;
  if (!whole.contains(walker.biped.root) || walker.biped.root == whole.world())
    return refused(walker, "its root is not there", "name a link that hangs on the world by a free joint");
  ExtractedTree part = extract_tree(whole, walker.biped.root);
  Result<Model> model = compile(part.mechanism, world.gravity());
  if (!model.ok()) return model.errors();
  Result<WholeBody> body = WholeBody::make(std::move(*model), translated(walker.biped, part), walker.gait);
  if (!body.ok()) return body.errors();
  const Transform X = world.pose(walker.biped.root);
  const double heading = std::atan2(X.R(1, 0), X.R(0, 0));
  const Transform middle{rotation_exp({0, 0, heading}), {X.p.x(), X.p.y(), floor}};
  Result<WalkingPattern> pattern = WalkingPattern::make(
      std::move(*body), walker.gait, soles_about(middle, walker.gait.spacing), world.time());
  if (!pattern.ok()) return pattern.errors();
  std::vector<Footstep> steps = walker.footsteps;
  for (Footstep& step : steps) step.X_WS = middle * step.X_WS;
  pattern->set_plan(walker.plan, std::move(steps), walker.first);
  return Walking(walker, std::move(*pattern), std::move(part));
}

void Walking::place(World& world) const {
  const Model& model = pattern_.body().model();
  for (const auto& [whole, own] : joints_) {
    const JointEntry* entry = model.find(own);
    if (!entry || entry->first_q < 0) continue;
    const auto first = static_cast<std::size_t>(entry->first_q);
    world.set_q(
        whole,
        std::span(pattern_.first_posture()).subspan(first, static_cast<std::size_t>(q_size(entry->kind))));
    const std::vector<double> still(static_cast<std::size_t>(v_size(entry->kind)), 0.0);
    world.set_v(whole, still);
  }
}

BipedMeasure Walking::measure(const World& world) {
  const Model& model = pattern_.body().model();
  for (const auto& [whole, own] : joints_) {
    const JointEntry* entry = model.find(own);
    if (!entry || entry->first_q < 0) continue;
    std::ranges::copy(world.q(whole), measured_.q.begin() + entry->first_q);
    std::ranges::copy(world.v(whole), measured_.v.begin() + entry->first_v);
  }
  update_poses(model, measured_, ws_);
  update_velocities(model, measured_, ws_);
  BipedMeasure m;
  m.center = center_of_mass(model, ws_);
  m.center_velocity = momentum(model, ws_, m.center).force / total_mass(model);
  m.root = world.pose(walker_.biped.root).R;
  m.root_rate = world.velocity(walker_.biped.root).angular;
  for (const Side side : {Side::kLeft, Side::kRight}) {
    const auto i = static_cast<std::size_t>(side);
    const LinkId foot = walker_.biped.feet[i];
    const Transform X_WL = world.pose(foot);
    m.soles[i] = X_WL * pattern_.body().sole_in_foot(side);
    m.on_soles[i] = world.contact_force(foot).shifted(m.soles[i].p - X_WL.p);
  }
  return m;
}

void Walking::find_support(const Soles& soles, const std::array<bool, 2>& carries,
                           std::vector<Vec3>& corners) const {
  corners.clear();
  const std::array<double, 4>& box = walker_.biped.sole_box;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!carries[i]) continue;
    const double side = i == 0 ? 1 : -1;
    for (const auto& [x, y] :
         {std::pair{box[0], box[1]}, {box[2], box[1]}, {box[2], box[3]}, {box[0], box[3]}})
      corners.push_back(soles[i] * Vec3(x, side * y, 0));
  }
  if (!corners.empty()) make_hull(corners);
}

std::vector<Vec3> Walking::support(const World& world) const {
  Soles soles;
  std::array<bool, 2> carries{};
  for (const Side side : {Side::kLeft, Side::kRight}) {
    const auto i = static_cast<std::size_t>(side);
    soles[i] = world.pose(walker_.biped.feet[i]) * pattern_.body().sole_in_foot(side);
    carries[i] = report_.force[i] > 0;
  }
  std::vector<Vec3> corners;
  find_support(soles, carries, corners);
  return corners;
}

void Walking::set_stabilized(bool on) {
  if (stabilizer_.settings().enabled == on) return;
  stabilizer_.settings().enabled = on;
  stabilizer_.reset();
}

void Walking::update(const World& world, double dt) {
  const Model& model = pattern_.body().model();
  const double time = world.time();
  const BipedMeasure m = measure(world);
  pattern_.advance(time);
  const WalkingReference now = pattern_.at(time);
  pattern_.advance(time + dt);
  const WalkingReference next = pattern_.at(time + dt);
  StabilizerOutput wanted{next.soles, next.root, next.center};
  if (stabilizer_.settings().enabled) wanted = stabilizer_.update(now, next, m, dt);
  q_before_ = q_;
  const IkReport ik = pattern_.body().solve(wanted.soles, wanted.center, wanted.root, 3,
                                            Eigen::Map<Eigen::VectorXd>(q_.data(), model.nq));
  difference(model, Eigen::Map<Eigen::VectorXd>(q_before_.data(), model.nq),
             Eigen::Map<Eigen::VectorXd>(q_.data(), model.nq),
             Eigen::Map<Eigen::VectorXd>(rates_.data(), model.nv));
  for (double& rate : rates_) rate = started_ ? rate / dt : 0;
  if (walker_.gait.feedforward > 0) find_efforts(next, wanted.soles, dt);
  for (JointTarget& target : targets_) {
    const JointEntry& entry = *model.find(in_part(joints_, target.joint));
    target.q = q_[static_cast<std::size_t>(entry.first_q)];
    target.v = rates_[static_cast<std::size_t>(entry.first_v)];
    target.effort = walker_.gait.feedforward * efforts_[static_cast<std::size_t>(entry.first_v)];
  }
  started_ = true;
  write_report(now, m, ik);
}

/// Inverse dynamics of the motion that is commanded. What the root needs from outside, W, comes from the
/// soles by the plan's shares, s_i W each, so that no moment is left at the root.
void Walking::find_efforts(const WalkingReference& next, const Soles& soles, double dt) {
  const Model& model = pattern_.body().model();
  // What the stabilizer adds must not come back through its own accelerations: with it, the posture alone
  // counts.
  const bool moves = started_ && !stabilizer_.settings().enabled;
  for (std::size_t v = 0; v < rates_.size(); ++v) {
    accelerations_[v] = moves ? (rates_[v] - rates_before_[v]) / dt : 0;
    planned_.v[v] = moves ? rates_[v] : 0;
  }
  rates_before_ = rates_;
  planned_.q = q_;
  const Eigen::Map<const Eigen::VectorXd> a(accelerations_.data(), model.nv);
  Eigen::Map<Eigen::VectorXd> tau(efforts_.data(), model.nv);
  rnea(model, planned_, a, {}, planned_ws_, tau);
  const JointEntry& root =
      *std::ranges::find_if(model.joints, [](const JointEntry& j) { return j.kind == JointKind::kFree; });
  const auto body = static_cast<std::size_t>(root.body);
  const Workspace::Wrench& carried = planned_ws_.wrench[body];
  const Force whole{carried.n, carried.f};
  const Vec3 at = planned_ws_.pose[body].p;
  const Vec3 middle = next.shares[0] * soles[0].p + next.shares[1] * soles[1].p;
  const Force on_middle = whole.shifted(middle - at);
  std::ranges::fill(on_bodies_, Force{});
  for (std::size_t i = 0; i < 2; ++i) {
    const double share = next.shares[i];
    const Force own{share * on_middle.moment, share * on_middle.force};
    add_external_wrench(model, planned_ws_, pattern_.body().biped().feet[i],
                        pattern_.body().sole_in_foot(i == 0 ? Side::kLeft : Side::kRight).p, own, on_bodies_);
  }
  rnea(model, planned_, a, on_bodies_, planned_ws_, tau);
}

void Walking::write_report(const WalkingReference& now, const BipedMeasure& m, const IkReport& ik) {
  WalkingReport& r = report_;
  r.center = m.center, r.center_planned = now.center;
  r.zmp_planned = now.zmp_planned;
  r.zmp_wanted = stabilizer_.settings().enabled ? stabilizer_.wanted_zmp() : now.zmp_planned;
  const double weight = total_mass(pattern_.body().model()) * pattern_.body().model().gravity.norm();
  std::array<bool, 2> carries{};
  for (std::size_t i = 0; i < 2; ++i) {
    r.force[i] = m.on_soles[i].force.z();
    carries[i] = r.force[i] > kCarriesForce * weight;
  }
  r.margin = 0;
  if (find_zmp(m, r.zmp) && (carries[0] || carries[1])) {
    find_support(m.soles, carries, corners_);
    r.margin = inside(corners_, r.zmp);
  }
  r.tilt = std::acos(std::clamp(m.root(2, 2), -1.0, 1.0));
  const double height = (m.soles[0].p.z() + m.soles[1].p.z()) / 2;
  const double root = measured_.q[static_cast<std::size_t>(root_q_ + 2)];
  r.fallen = r.fallen || r.tilt > kFallenTilt || root - std::min(height, root) < kFallenHeight * height_;
  r.steps = pattern_.steps_done(now.time);
  r.left = pattern_.steps_left();
  r.standing = pattern_.standing(now.time);
  r.reach_error = ik.error;
}

}  // namespace karakuri
