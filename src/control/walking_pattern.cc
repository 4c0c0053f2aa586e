// The first pass gives the centre of mass of a cart on a table, c1(t), for the wanted ZMP p_ref. Inverse
// kinematics makes it a motion of the whole body, whose momentum P and angular momentum L about c1 give the
// ZMP
//   p_x = c_x - ((c_z - z) dP_x/dt + dL_y/dt) / (dP_z/dt + m g) (1) p_y = c_y - ((c_z - z) dP_y/dt - dL_x/dt)
//   / (dP_z/dt + m g)
// with differences of samples for the derivatives. The second pass is preview control of its error,
//   e = p_ref - p,   c = c1 + dc,  where the ZMP of dc follows e (2)
// Kajita et al. (2003), section 4. The first pass runs ahead by the horizon of the second.
#include "karakuri/control/walking_pattern.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri {

namespace {

// Moving legs and the root is cheap against bending the trunk or swinging the arms.
constexpr double kLegCost = 1e-4;

Diagnostic refused(std::string what, std::string remedy) {
  return {Severity::kError, "walking", std::move(what), std::move(remedy)};
}

std::vector<Diagnostic> flaws_of(const Model& model, const Biped& b, const Gait& g) {
  std::vector<Diagnostic> flaws;
  const LinkEntry* root = model.find(b.root);
  if (!root || root->body == 0 || model.bodies[static_cast<std::size_t>(root->body)].kind != JointKind::kFree)
    flaws.push_back(
        refused("the root does not hang on the world by a free joint", "name the pelvis as `root`"));
  for (const LinkId foot : b.feet)
    if (!model.find(foot))
      flaws.push_back(refused("a foot is not of the tree of the root", "name its links as `feet`"));
  for (const double x : {g.height, g.step_time, g.start_time, g.swing_height, g.spacing, g.period, g.horizon})
    if (!(x > 0 && std::isfinite(x)))
      flaws.push_back(
          refused(fmt::format("one of its times and lengths is {:g}", x), "give positive numbers"));
  if (!(g.double_support >= 0 && g.double_support < g.step_time))
    flaws.push_back(
        refused(fmt::format("double support takes {:g} s of a step of {:g} s", g.double_support, g.step_time),
                "let it be shorter than the step"));
  if (!(g.correction >= 0 && g.correction <= 10))
    flaws.push_back(
        refused(fmt::format("the correction looks {:g} s ahead", g.correction), "give 0 to 10 s"));
  return flaws;
}

/// The joints between a link and its root.
std::vector<bool> dofs_between(const Model& model, const Biped& biped) {
  std::vector<bool> between(static_cast<std::size_t>(model.nv), false);
  for (const LinkId foot : biped.feet)
    for (int i = model.find(foot)->body; i != 0; i = model.bodies[static_cast<std::size_t>(i)].parent) {
      const Body& body = model.bodies[static_cast<std::size_t>(i)];
      for (int v = body.first_v; v < body.first_v + body.dofs; ++v)
        between[static_cast<std::size_t>(v)] = true;
    }
  return between;
}

}  // namespace

// ---- the whole body

WholeBody::WholeBody(Model model, const Biped& biped)
    : model_(std::move(model)), biped_(biped), ik_(model_) {}

Transform WholeBody::sole_in_foot(Side side) const {
  Vec3 p = biped_.sole;
  if (side == Side::kRight) p.y() = -p.y();
  return Transform::translation(p);
}

Result<WholeBody> WholeBody::make(Model model, const Biped& biped, const Gait& gait) {
  if (std::vector<Diagnostic> flaws = flaws_of(model, biped, gait); !flaws.empty()) return flaws;
  WholeBody out(std::move(model), biped);
  const Model& m = out.model_;
  IkProblem& p = out.problem_;
  p.posture.resize(static_cast<std::size_t>(m.nq));
  neutral(m, Eigen::Map<Eigen::VectorXd>(p.posture.data(), m.nq));
  for (const auto& [joint, q] : biped.posture)
    if (const JointEntry* entry = m.find(joint); entry && entry->first_q >= 0)
      p.posture[static_cast<std::size_t>(entry->first_q)] = q;
  const std::vector<bool> leg = dofs_between(m, biped);
  p.cost.resize(static_cast<std::size_t>(m.nv));
  for (std::size_t v = 0; v < p.cost.size(); ++v) p.cost[v] = leg[v] ? kLegCost : gait.trunk_cost;
  for (const JointId joint : biped.passive)
    if (const JointEntry* entry = m.find(joint); entry && entry->first_v >= 0)
      std::fill_n(p.cost.begin() + entry->first_v, v_size(entry->kind),
                  std::numeric_limits<double>::infinity());
  for (const Side side : {Side::kLeft, Side::kRight})
    p.frames.push_back({.link = biped.feet[static_cast<std::size_t>(side)], .X_LF = out.sole_in_foot(side)});
  p.frames.push_back({.link = biped.root, .move = Vec3::Zero(), .priority = 1});
  p.centers.push_back({.priority = 1});
  return out;
}

IkReport WholeBody::solve(const Soles& soles, const Vec3& center, const Mat3& root, int iterations,
                          VecOut q) {
  problem_.frames[0].X_WF = soles[0];
  problem_.frames[1].X_WF = soles[1];
  problem_.frames[2].X_WF.R = root;
  problem_.centers[0].position = center;
  return ik_.solve(model_, problem_, {.max_iterations = iterations}, q);
}

std::vector<double> WholeBody::first_guess(const Transform& X_WM, double height) const {
  std::vector<double> q = problem_.posture;
  const Body& root = model_.bodies[static_cast<std::size_t>(model_.find(biped_.root)->body)];
  const Quat turn(X_WM.R);
  const auto at = static_cast<std::size_t>(root.first_q);
  q[at] = X_WM.p.x(), q[at + 1] = X_WM.p.y(), q[at + 2] = X_WM.p.z() + height;
  q[at + 3] = turn.w(), q[at + 4] = turn.x(), q[at + 5] = turn.y(), q[at + 6] = turn.z();
  return q;
}

// ---- the pattern

WalkingPattern::WalkingPattern(WholeBody body, const Gait& gait, PreviewControl first, PreviewControl second)
    : body_(std::move(body)),
      gait_(gait),
      first_pass_(std::move(first)),
      second_pass_(std::move(second)),
      moving_(body_.model()),
      ws_(body_.model()) {}

Result<WalkingPattern> WalkingPattern::make(WholeBody body, const Gait& gait, const Soles& soles,
                                            double time) {
  PreviewSettings settings{.height = gait.height,
                           .gravity = body.model().gravity.norm(),
                           .period = gait.period,
                           .horizon = gait.horizon,
                           .zmp_weight = gait.zmp_weight,
                           .jerk_weight = gait.jerk_weight};
  Result<PreviewControl> first = PreviewControl::make(settings);
  if (!first.ok()) return first.errors();
  if (gait.correction > 0) settings.horizon = gait.correction;
  Result<PreviewControl> second = PreviewControl::make(settings);
  if (!second.ok()) return second.errors();
  WalkingPattern out(std::move(body), gait, std::move(*first), std::move(*second));
  out.schedule_ = Schedule(gait, soles, time);
  out.start_ = time;
  out.ahead_ = gait.correction > 0 ? out.second_pass_.samples() : 0;
  const auto ring = static_cast<std::size_t>(out.ahead_ + 4);
  const Vec3 zmp = out.schedule_.zmp(time);
  out.carts_.assign(ring, {{zmp.x(), 0, 0}, {zmp.y(), 0, 0}});
  out.error_x_.assign(ring, 0.0), out.error_y_.assign(ring, 0.0);
  const auto most = static_cast<std::size_t>(std::max(out.first_pass_.samples(), out.second_pass_.samples()));
  out.zmp_x_.resize(most), out.zmp_y_.resize(most);
  const Transform middle = middle_of(soles);
  out.q_ = out.body_.first_guess(middle, gait.height);
  const Vec3 center(zmp.x(), zmp.y(), out.schedule_.level(time) + gait.height);
  const IkReport report = out.body_.solve(soles, center, middle.R, 200,
                                          Eigen::Map<Eigen::VectorXd>(out.q_.data(), out.body_.model().nq));
  if (!(report.error < 1e-6))
    return refused(
        fmt::format("the legs do not reach: standing with the centre of mass {:g} m high misses by {:.3g}",
                    gait.height, report.error),
        "lower `height`, bend the knees in `posture`, or mend `sole`");
  out.q_before_ = out.first_q_ = out.q_;
  return out;
}

void WalkingPattern::set_plan(std::vector<PlannedSteps> plan, std::vector<Footstep> footsteps, Side first) {
  plan_ = std::move(plan);
  footsteps_ = std::move(footsteps);
  schedule_.set_last_side(other(first));
}

void WalkingPattern::walk(const StepCommand& step, int count) {
  footsteps_.clear();
  plan_.clear();
  const auto within = [](double x, double most) { return std::clamp(x, -most, most); };
  if (count > 0)
    plan_.push_back({count,
                     {within(step.forward, gait_.max_forward), within(step.side, gait_.max_side),
                      within(step.turn, gait_.max_turn)}});
}

int WalkingPattern::steps_left() const {
  std::size_t left = footsteps_.size();
  for (const PlannedSteps& steps : plan_) left += static_cast<std::size_t>(std::max(steps.count, 0));
  return static_cast<int>(std::min<std::size_t>(left, 1000000000));
}

bool WalkingPattern::standing(double time) const {
  return steps_left() == 0 && schedule_.settled() && schedule_.end() <= time;
}

double WalkingPattern::lead() const {
  return static_cast<double>(ahead_ + first_pass_.samples() + 1) * gait_.period;
}

void WalkingPattern::extend(double until) {
  while (schedule_.end() < until) {
    const Side next = other(schedule_.last_side()), stance = schedule_.last_side();
    const Transform& X_stance = schedule_.last_soles()[static_cast<std::size_t>(stance)];
    while (!plan_.empty() && plan_.front().count <= 0) plan_.erase(plan_.begin());
    if (!footsteps_.empty()) {
      schedule_.add(footsteps_.front(), until);
      footsteps_.erase(footsteps_.begin());
    } else if (!plan_.empty()) {
      schedule_.add(next_footstep(stance, X_stance, plan_.front().step, gait_.spacing), until);
      --plan_.front().count;
    } else if (!schedule_.settled()) {
      const Footstep close = next_footstep(stance, X_stance, {}, gait_.spacing);
      const Transform& now = schedule_.last_soles()[static_cast<std::size_t>(next)];
      const bool apart = (close.X_WS.p - now.p).norm() > 1e-6 ||
                         rotation_log(close.X_WS.R.transpose() * now.R).norm() > 1e-6;
      apart ? schedule_.add(close, until) : schedule_.settle();
    } else {
      break;
    }
  }
}

/// (1) and (2) for the sample before the newest.
void WalkingPattern::find_error() {
  const Model& model = body_.model();
  const long long newest = tick_ + ahead_;
  const double T = gait_.period;
  moving_.q = q_;
  difference(model, Eigen::Map<Eigen::VectorXd>(q_before_.data(), model.nq),
             Eigen::Map<Eigen::VectorXd>(q_.data(), model.nq), moving_.v_view());
  moving_.v_view() /= T;
  update_poses(model, moving_, ws_);
  update_velocities(model, moving_, ws_);
  const Vec3 center = center_of_mass(model, ws_);
  const Force now = momentum(model, ws_, center);
  const double mass = total_mass(model), g = model.gravity.norm();
  const double time = time_of(newest - 1);
  double ex = 0, ey = 0;
  if (has_momentum_) {
    const Vec3 P = (now.force - momentum_.force) / T, L = (now.moment - momentum_.moment) / T;
    const Axes& cart = carts_[slot(newest - 1)];
    const double height = center.z() - schedule_.level(time), up = P.z() + mass * g;
    const Vec3 wanted = schedule_.zmp(time);
    ex = wanted.x() - (cart.x.x - (height * P.x() + L.y()) / up);
    ey = wanted.y() - (cart.y.x - (height * P.y() - L.x()) / up);
  }
  error_x_[slot(newest - 1)] = ex, error_y_[slot(newest - 1)] = ey;
  error_x_[slot(newest)] = ex, error_y_[slot(newest)] = ey;  // until it is known
  momentum_ = now;
  has_momentum_ = true;
}

void WalkingPattern::tick() {
  const long long from = tick_ + ahead_;
  const auto n = static_cast<std::size_t>(first_pass_.samples());
  extend(time_of(from + 1 + first_pass_.samples()));
  for (std::size_t j = 0; j < n; ++j) {
    const Vec3 p = schedule_.zmp(time_of(from + 1 + static_cast<long long>(j)));
    zmp_x_[j] = p.x(), zmp_y_[j] = p.y();
  }
  const Axes before = carts_[slot(from)];
  Axes& after = carts_[slot(from + 1)];
  after.x = first_pass_.next(before.x, std::span(zmp_x_).first(n));
  after.y = first_pass_.next(before.y, std::span(zmp_y_).first(n));
  ++tick_;
  correction_before_ = correction_;
  if (ahead_ > 0) {
    const double time = time_of(from + 1);
    const Soles soles = schedule_.soles(time);
    q_before_ = q_;
    body_.solve(soles, {after.x.x, after.y.x, schedule_.level(time) + gait_.height}, middle_of(soles).R, 2,
                Eigen::Map<Eigen::VectorXd>(q_.data(), body_.model().nq));
    find_error();
    const auto m = static_cast<std::size_t>(second_pass_.samples());
    for (std::size_t j = 0; j < m; ++j) {
      const std::size_t at = slot(tick_ + static_cast<long long>(j));
      zmp_x_[j] = error_x_[at], zmp_y_[j] = error_y_[at];
    }
    correction_.x = second_pass_.next(correction_.x, std::span(zmp_x_).first(m));
    correction_.y = second_pass_.next(correction_.y, std::span(zmp_y_).first(m));
  }
  schedule_.forget(time_of(tick_ - 1));
}

void WalkingPattern::advance(double time) {
  while (time_of(tick_) < time - 1e-9 * gait_.period) tick();
}

WalkingReference WalkingPattern::at(double time) const {
  WalkingReference r;
  r.time = time;
  const double T = gait_.period;
  const long long last = std::max(tick_, 1LL);
  const double into = std::clamp(time - time_of(last - 1), 0.0, T);
  const auto between = [&](const CartState& a, const CartState& b) { return a.after(into, (b.a - a.a) / T); };
  const Axes &a = carts_[slot(last - 1)], &b = carts_[slot(last)];
  const CartState x = between(a.x, b.x), y = between(a.y, b.y);
  const CartState dx = between(correction_before_.x, correction_.x),
                  dy = between(correction_before_.y, correction_.y);
  r.level = schedule_.level(time);
  r.center = {x.x + dx.x, y.x + dy.x, r.level + gait_.height};
  r.center_velocity = {x.v + dx.v, y.v + dy.v, 0};
  r.center_acceleration = {x.a + dx.a, y.a + dy.a, 0};
  r.zmp = schedule_.zmp(time);
  const std::size_t now = slot(last);
  r.zmp_planned = r.zmp - Vec3(error_x_[now] - second_pass_.zmp(correction_.x),
                               error_y_[now] - second_pass_.zmp(correction_.y), 0);
  r.soles = schedule_.soles(time);
  r.root = middle_of(r.soles).R;
  r.shares = schedule_.shares(time);
  r.to_landing = std::max(schedule_.next_landing(time) - time, 0.0);
  r.in_air = {schedule_.in_air(Side::kLeft, time), schedule_.in_air(Side::kRight, time)};
  return r;
}

}  // namespace karakuri
