#include "support/passivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/rnea.h"
#include "karakuri/model/configuration.h"

namespace karakuri::test {
namespace {

constexpr double kStepShare = 1e-6;  // of what a step exchanges
constexpr double kRunShare = 0.01;   // of what a run exchanges
constexpr double kRounding = 1e-12;  // of the largest numbers that were added up

int tree_of(const Model& model, int body) { return body == 0 ? -1 : model.bodies[body].tree; }
int tree_of(const Model& model, LinkId link) {
  const LinkEntry* entry = model.find(link);
  return entry ? tree_of(model, entry->body) : -1;
}
int tree_of_dof(const Model& model, int dof) { return model.bodies[model.dofs[dof].body].tree; }

bool turns(const Model& model, int dof) {
  const Body& body = model.bodies[model.dofs[dof].body];
  return has_quaternion(body.kind) && dof - body.first_v >= body.dofs - 3;
}
/// Of a dof from the rest of its spring.
double stretch(const Model& model, const State& state, int dof) {
  return dof_position(model, state.q_view(), dof) - (turns(model, dof) ? 0 : model.dof_properties[dof].rest);
}
double tree_mass(const Model& model, int t) {
  double mass = 0;
  if (t >= 0)
    for (int i = model.trees[t].first; i < model.trees[t].last; ++i) mass += model.bodies[i].mass;
  return mass;
}

/// The deepest contact of each pair of colliders at the start of the last step.
std::map<std::pair<int, int>, double> depths(const World& world) {
  std::map<std::pair<int, int>, double> deepest;
  for (const Contact& c : world.contacts()) {
    double& depth = deepest[{c.collider_a, c.collider_b}];
    depth = std::max(depth, -c.separation);
  }
  return deepest;
}

/// How far the rotation that a dof belongs to is beyond its largest angle.
double beyond_cone(const Model& model, const State& state, int dof) {
  const Body& body = model.bodies[model.dofs[dof].body];
  const int first = body.first_v + body.dofs - 3;
  Vec3 turn;
  for (int k = 0; k < 3; ++k) turn[k] = dof_position(model, state.q_view(), first + k);
  return turn.norm() - model.dof_properties[first].upper;
}

/// How far the worst dof is beyond its limits.
double beyond_limits(const Model& model, const State& state) {
  double worst = 0;
  for (int i = 0; i < model.nv; ++i) {
    const DofProperties& p = model.dof_properties[i];
    const double at = dof_position(model, state.q_view(), i);
    if (!turns(model, i)) worst = std::max({worst, p.lower - at, at - p.upper});
    if (turns(model, i)) worst = std::max(worst, beyond_cone(model, state, i));
  }
  return worst;
}

std::vector<std::uint8_t> trees_awake(const World& world) {
  std::vector<std::uint8_t> awake(world.model().trees.size(), 0);
  for (const LinkEntry& link : world.model().links)
    if (const int t = tree_of(world.model(), link.body); t >= 0) awake[t] = world.awake(link.id);
  return awake;
}

/// From the origin of the root to the end of the tree's shapes, at most.
std::vector<double> tree_sizes(const World& world) {
  const Model& model = world.model();
  std::vector<double> size(model.trees.size(), 0);
  for (const ColliderInfo& c : world.colliders()) {
    const int t = tree_of(model, c.link);
    if (t < 0) continue;
    const LinkEntry& root = *std::find_if(model.links.begin(), model.links.end(),
                                          [&](const LinkEntry& l) { return l.body == model.trees[t].first; });
    const Vec3 apart = world.pose(c.link) * c.X_LS.p - world.pose(root.id).p;
    size[t] = std::max(size[t], apart.norm() + bounding_radius(world.scene().shapes[c.shape]));
  }
  return size;
}

/// What overlaps at the start hold: they may be lifted apart, both trees by their depth; springs in place of
/// contacts hold their own energy.
double stored_by_overlaps(const World& world) {
  const double k = world.settings().contact == ContactModel::kPenalty
                       ? std::max(0.0, world.effective_settings().penalty.stiffness)
                       : 0;
  double sum = 0;
  for (const auto& [pair, depth] : depths(world)) {
    if (depth <= 0) continue;
    for (const int c : {pair.first, pair.second}) {
      const int t = tree_of(world.model(), world.colliders()[c].link);
      sum += depth * tree_mass(world.model(), t) * world.gravity().norm();
    }
  }
  for (const Contact& c : world.contacts()) sum += 0.5 * k * std::pow(std::min(0.0, c.separation), 2);
  return sum;
}

double clamp_between(double x, double a, double b) { return std::clamp(x, std::min(a, b), std::max(a, b)); }

}  // namespace

PassivityJudge::PassivityJudge(const World& world, std::vector<LinkId> kinematic)
    : still_(world.model()),
      held_(world.model().trees.size(), 0),
      ws_(world.model()),
      start_(world.model()),
      before_{world.state(), MassMatrix(world.model())},
      now_(before_),
      h_(world.settings().dt / world.settings().substeps),
      tree_size_(tree_sizes(world)) {
  still_.gravity = Vec3::Zero();
  for (const LinkId link : kinematic)
    if (const int t = tree_of(world.model(), link); t >= 0) held_[t] = 1;
  take(world, now_);
  start_energy_ = energy();
  lowest_ = now_.potential;
  double mass = 0, size = 0;
  for (std::size_t t = 0; t < tree_size_.size(); ++t)
    mass += tree_mass(world.model(), static_cast<int>(t)), size = std::max(size, tree_size_[t]);
  floor_ = 1e-3 * mass * world.gravity().norm() * size;
}

double PassivityJudge::of_responding(const Eigen::VectorXd& a, const Eigen::VectorXd& b) const {
  double sum = 0;
  for (int i = 0; i < still_.nv; ++i)
    if (!held_[tree_of_dof(still_, i)]) sum += a[i] * b[i];
  return sum;
}

void PassivityJudge::take(const World& world, Moment& out) {
  const Model& model = world.model();
  out.state = world.state();
  const Eigen::VectorXd v = out.state.v_view();
  crba(model, out.state, ws_, out.mass);
  Eigen::VectorXd momentum(model.nv);
  multiply(model, out.mass, v, momentum);
  out.kinetic = 0.5 * of_responding(v, momentum);
  out.coriolis.resize(model.nv), out.smooth.resize(model.nv);
  bias_effort(still_, out.state, {}, ws_, out.coriolis);
  bias_effort(model, out.state, {}, ws_, out.smooth);
  out.coriolis = -out.coriolis, out.smooth = -out.smooth;
  add_energies(world, out);
  MassMatrix factored = out.mass;
  factor(model, factored);
  Eigen::VectorXd answer = out.coriolis;
  solve(model, factored, answer);
  out.turning = of_responding(out.coriolis, answer);
}

void PassivityJudge::add_energies(const World& world, Moment& out) const {
  const Model& model = world.model();
  out.potential = out.magnitude = 0;
  for (int i = 1; i < model.body_count(); ++i) {
    if (held_[model.bodies[i].tree]) continue;
    const Vec3 moment =
        model.bodies[i].mass * Vec3(ws_.pose[i].p) + Mat3(ws_.pose[i].R) * Vec3(model.bodies[i].mass_com);
    out.potential -= world.gravity().dot(moment);
    out.magnitude += std::abs(world.gravity().dot(moment));
  }
  for (int i = 0; i < model.nv; ++i) {
    const double k = model.dof_properties[i].stiffness, x = k > 0 ? stretch(model, out.state, i) : 0;
    out.smooth[i] -= k * x;
    if (!held_[tree_of_dof(model, i)]) out.potential += 0.5 * k * x * x, out.magnitude += 0.5 * k * x * x;
  }
  out.magnitude += out.kinetic;
}

/// Of efforts that lie between what the drives ask for at the start and at the end of the step.
double PassivityJudge::drive_work(const World& world) const {
  double work = 0;
  for (const JointEntry& joint : world.model().joints) {
    if (joint.first_v < 0) continue;
    const JointLoad load = world.load(joint.id);
    for (int k = 0; k < v_size(joint.kind); ++k) {
      const Drive& drive = world.drive(joint.id, k);
      const int i = joint.first_v + k;
      if (!drive.is_set() || held_[tree_of_dof(world.model(), i)]) continue;
      const auto asked = [&](const State& s) {
        const double x = dof_position(world.model(), s.q_view(), i);
        return std::clamp(drive.stiffness * (drive.q_target - x) + drive.damping * (drive.v_target - s.v[i]),
                          -drive.limit, drive.limit);
      };
      const double effort = clamp_between(load.drive[k], asked(before_.state), asked(now_.state));
      work += h_ * std::max(effort * now_.state.v[i], effort * before_.state.v[i]);
    }
  }
  return work;
}

/// Of contacts, and of joints that close loops, on trees that move as they like. Forces act where the links
/// were at the start of the step.
double PassivityJudge::kinematic_work(const World& world) const {
  if (std::all_of(held_.begin(), held_.end(), [](std::uint8_t held) { return held == 0; })) return 0;
  const Model& model = world.model();
  double work = 0;
  const auto add = [&](LinkId a, LinkId b, const Vec3& at, const Force& on_b) {
    for (const auto& [link, sign] : {std::pair{a, 1.0}, std::pair{b, -1.0}}) {
      const int t = tree_of(model, link);
      if (t < 0 || !held_[t]) continue;
      const Vec3 p_L = link_pose(model, start_, link).inverse_apply(at);
      work += sign * h_ * dot(on_b, point_velocity(model, start_, link, p_L));
    }
  };
  for (const Contact& c : world.contacts()) add(c.link_a, c.link_b, c.point, {c.moment, c.force});
  const auto add_loop = [&](JointId id, LinkId parent, LinkId child, const Transform& X_CM) {
    add(parent, child, link_pose(model, start_, child) * X_CM.p, world.load(id).wrench);
  };
  const Mechanism& mechanism = world.scene().mechanism;
  for (const Loop& loop : model.loops) {
    if (!mechanism.contains(loop.joint)) continue;
    const Joint& joint = mechanism.joint(loop.joint);
    add_loop(loop.joint, joint.parent, mechanism.link(joint.child).real, joint.X_CM);
  }
  for (const Attachment& a : world.attachments()) add_loop(a.id, a.joint.parent, a.joint.child, a.joint.X_CM);
  return work;
}

void PassivityJudge::fail(const char* fault, std::string detail) {
  if (!verdict_.holds()) return;
  verdict_.fault = fault, verdict_.detail = std::move(detail), verdict_.step = verdict_.steps;
}

void PassivityJudge::judge_soundness(const World& world) {
  for (const double x : world.state().q)
    if (!std::isfinite(x)) fail("not finite", "q");
  for (const double x : world.state().v)
    if (!std::isfinite(x)) fail("not finite", "v");
  for (const LinkEntry& link : world.model().links)
    if (world.quarantined(link.id)) fail("quarantine", link.name);
}

void PassivityJudge::judge_energy(const World& world) {
  const Eigen::VectorXd v = now_.state.v_view(), change = v - before_.state.v_view();
  Eigen::VectorXd Mv(still_.nv), Mchange(still_.nv), Mv_after(still_.nv);
  multiply(still_, before_.mass, v, Mv);
  multiply(still_, before_.mass, change, Mchange);
  multiply(still_, now_.mass, v, Mv_after);
  const double raised = now_.potential - before_.potential, gained = now_.kinetic - before_.kinetic;
  const double jump = 0.5 * of_responding(change, Mchange);
  const double remainder = h_ * of_responding(before_.smooth, v) +
                           0.5 * (of_responding(v, Mv_after) - of_responding(v, Mv)) + raised;  // (2)
  const double order = 2 * h_ * h_ * (before_.turning + now_.turning);
  const double work = drive_work(world) + kinematic_work(world);
  double pushes = 0;
  for (const Contact& c : world.contacts()) pushes += h_ * c.force.norm();
  const double exchanged = std::abs(gained) + std::abs(raised) + jump;  // (4)
  const double made = gained + raised - work - std::abs(remainder) - order -
                      pushes * world.effective_settings().acceptable -
                      kRounding * (before_.magnitude + now_.magnitude);  // (3)
  if (exchanged > 0) verdict_.worst_made = std::max(verdict_.worst_made, made / exchanged);
  // springs in place of contacts give back what they took: only the run tells
  if (made > kStepShare * exchanged && world.settings().contact != ContactModel::kPenalty)
    fail("made energy in a step", fmt::format("{:.3g} J of {:.3g} J exchanged", made, exchanged));
  work_ += work;
  drift_ += remainder + order;
}

void PassivityJudge::judge_run() {
  lowest_ = std::min(lowest_, now_.potential);
  const double there = start_energy_ - lowest_ + std::abs(work_) + stored_ + floor_;
  const double rise = energy() - start_energy_ - work_ - stored_;
  verdict_.worst_rise = std::max(verdict_.worst_rise, rise / there);
  if (rise - std::max(0.0, drift_) > kRunShare * there)
    fail("made energy over the run", fmt::format("{:.3g} J of {:.3g} J", rise, there));
  if (rise > there) fail("exploded", fmt::format("{:.3g} J where {:.3g} J were", rise, there));
}

/// What a coordinate may move beside its velocities.
double PassivityJudge::parting_bound(const World& world, int dof, double depth) const {
  const Model& model = world.model();
  const int t = tree_of_dof(model, dof);
  const Body &first = model.bodies[model.trees[t].first], &last = model.bodies[model.trees[t].last - 1];
  const bool joined = !model.loops.empty() || !world.attachments().empty();  // by loops: all trees turn
  double turn = 0;  // of the whole tree in the step [rad]
  for (int i = joined ? 0 : first.first_v; i < (joined ? model.nv : last.first_v + last.dofs); ++i) {
    const double speed = std::max(std::abs(before_.state.v[i]), std::abs(now_.state.v[i]));
    if (model.dofs[i].kind == DofKind::kTranslation) continue;
    turn += h_ * speed;
  }
  const bool slides = model.dofs[dof].kind == DofKind::kTranslation;
  const double reach = slides ? tree_size_[t] : 1;
  const double correction = slides ? depth : std::min(1.0, 10 * depth / tree_size_[t]);
  return reach * turn * std::min(1.0, turn) + correction + 1e-9 * reach;
}

void PassivityJudge::judge_positions(const World& world) {
  const Model& model = world.model();
  double depth = beyond_limits(model, before_.state);
  for (const auto& [pair, deep] : depths(world)) depth += std::max(0.0, deep);
  const std::vector<std::uint8_t> awake = trees_awake(world);
  Eigen::VectorXd moved(model.nv);
  difference(model, before_.state.q_view(), now_.state.q_view(), moved);
  for (int i = 0; i < model.nv; ++i) {
    const double a = h_ * before_.state.v[i], b = h_ * now_.state.v[i];
    double parting = std::abs(moved[i] - clamp_between(moved[i], a, b));
    if (turns(model, i) && std::abs(a) + std::abs(b) > 1) continue;  // more than half a turn is not told
    double bound = parting_bound(world, i, depth);
    if (!awake[tree_of_dof(model, i)])
      bound += 10 * h_ * world.effective_settings().sleep.speed;  // fell asleep
    verdict_.worst_parting = std::max(verdict_.worst_parting, parting / bound);
    if (parting > bound)
      fail("position and velocity part",
           fmt::format("dof {} of tree {} moved {:.3g}, h v {:.3g} to {:.3g}, depth {:.3g}, bound {:.3g}", i,
                       tree_of_dof(model, i), moved[i], a, b, depth, bound));
  }
}

bool PassivityJudge::look(const World& world) {
  ++verdict_.steps;
  judge_soundness(world);
  if (!verdict_.holds()) return false;
  std::swap(before_, now_);
  update_poses(still_, before_.state, start_);
  update_velocities(still_, before_.state, start_);
  take(world, now_);
  if (verdict_.steps == 1) stored_ = stored_by_overlaps(world);
  judge_positions(world);
  judge_energy(world);
  judge_run();
  return verdict_.holds();
}

Verdict judge(const RandomWorld& random, const JudgeOptions& options) {
  Verdict verdict;
  Result<World> world = start(random);
  if (!world.ok()) {
    verdict.fault = "refused", verdict.detail = to_string(world.errors());
    return verdict;
  }
  const auto began = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  PassivityJudge judge(*world, random.kinematic);
  const int steps = std::clamp(static_cast<int>(options.seconds / random.settings.dt), 1, options.max_steps);
  for (int k = 0; k < steps && elapsed() < options.patience; ++k) {
    world->step();
    if (!judge.look(*world)) break;
  }
  verdict = judge.verdict();
  verdict.seconds = elapsed();
  return verdict;
}

std::string to_line(const RandomWorld& world, const Verdict& v) {
  return fmt::format("{}: {}; made {:.2g} of a step, {:.2g} of the run, parting {:.2g} of its bound",
                     world.title(),
                     v.holds() ? fmt::format("holds for {} steps", v.steps)
                               : fmt::format("{} in step {} ({})", v.fault, v.step, v.detail),
                     v.worst_made, v.worst_rise, v.worst_parting);
}

}  // namespace karakuri::test
