// Calls of a session and its world, with arguments that nobody means among them: ids of what is not there,
// numbers that are none, sizes that do not fit. What is refused changes nothing that can be seen, the rest
// can go on, and a session that takes its snapshot goes on alike.
#include <array>

#include "fuzz/bytes.h"
#include "fuzz/scenes.h"
#include "fuzz/target.h"

namespace karakuri::fuzz {
namespace {

constexpr int kMostCalls = 24, kMostSteps = 4;
constexpr int kOneIn = 4;  // is followed by a copy as well

/// One that is there, mostly; else one that never was, or that is gone.
template <class Id, class Entries>
Id any(const Entries& entries, Bytes& in) {
  const int kind = in.below(12);
  if (kind == 0 || entries.empty())
    return Id{static_cast<std::uint32_t>(in.below(40)), static_cast<std::uint32_t>(in.below(4))};
  return entries[static_cast<std::size_t>(in.below(256)) % entries.size()].id;
}
LinkId link(const Session& s, Bytes& in) { return any<LinkId>(s.world().model().links, in); }
JointId joint(const Session& s, Bytes& in) {
  if (in.below(4) == 0 && !s.world().model().loops.empty()) {
    const auto& loops = s.world().model().loops;
    return loops[static_cast<std::size_t>(in.below(256)) % loops.size()].joint;
  }
  return any<JointId>(s.world().model().joints, in);
}

/// As many as `fit`, mostly.
std::vector<double> numbers(std::size_t fit, Bytes& in) {
  std::vector<double> out(in.below(16) == 0 ? static_cast<std::size_t>(in.below(20)) : fit);
  for (double& x : out) x = in.number();
  return out;
}

Joint made(Bytes& in) {
  Joint out{.name = std::string("made") + static_cast<char>('a' + in.below(4)),
            .kind = static_cast<JointKind>(in.below(11)),
            .axis = in.below(8) == 0 ? in.vector() : Vec3::UnitZ()};
  if (in.yes()) out.second_axis = in.vector();
  out.pitch = in.number();
  out.distance = in.number();
  if (in.below(4) == 0) out.range = {in.number(), in.number()};
  if (in.below(4) == 0) out.closing_stiffness = in.number(), out.closing_damping = in.number();
  return out;
}

Drive drive(Bytes& in) {
  Drive out{in.number(), in.number(), in.number(), in.number()};
  if (in.yes()) out.limit = in.number();
  return out;
}

/// Any of the settings, as a number or a word.
void set_settings(Session& s, Bytes& in) {
  WorldSettings n = s.world().settings();
  const int words = in.below(6);
  if (words == 0) n.integrator = static_cast<Integrator>(in.below(4));
  if (words == 1) n.contact = static_cast<ContactModel>(in.below(4));
  if (words == 2) n.solver = static_cast<solver::Method>(in.below(9));
  if (words == 3) n.stabilization.kind = static_cast<Stabilization>(in.below(5));
  if (words == 4) n.continuous = in.yes(), n.warm_start = in.yes(), n.sleep.enabled = in.yes();
  double* const values[] = {&n.dt,
                            &n.tolerance,
                            &n.acceptable,
                            &n.quickstep_relaxation,
                            &n.max_work,
                            &n.contact_margin,
                            &n.restitution_threshold,
                            &n.sleep.speed,
                            &n.sleep.time,
                            &n.penalty.stiffness,
                            &n.penalty.damping,
                            &n.penalty.tangential_share,
                            &n.stabilization.erp,
                            &n.stabilization.cfm,
                            &n.stabilization.beta,
                            &n.stabilization.gamma,
                            &n.stabilization.stiffness,
                            &n.stabilization.damping,
                            &n.stabilization.slop,
                            &n.stabilization.max_speed};
  if (in.yes()) *values[in.below(std::size(values))] = in.yes() ? 1e-3 * in.positive() : in.number();
  int* const counts[] = {&n.substeps,        &n.max_sweeps,    &n.max_newton,
                         &n.max_newton_rows, &n.pyramid_faces, &n.quickstep_iterations};
  if (in.below(4) == 0) *counts[in.below(std::size(counts))] = in.below(40) - 2;
  (void)s.world().set_settings(n);
}

void edit(Session& s, Bytes& in) {
  const LinkId one = link(s, in);
  const int what = in.below(6);
  const double value = in.number();
  const Vec3 at = in.vector();
  (void)s.edit([&](Scene& scene) {
    Mechanism& m = scene.mechanism;
    if (what == 0) {
      scene.add_body("new" + std::to_string(m.link_ids().size()), Shape::box(Vec3::Constant(0.1)), value,
                     Transform::translation(at));
    } else if (what == 1 && m.contains(one)) {
      m.link(one).inertia.mass = value;
    } else if (what == 2 && m.contains(one)) {
      m.link(one).inertia.about_com = m.link(one).inertia.about_com * value;
    } else if (!m.joint_ids().empty()) {
      const auto ids = m.joint_ids();
      Joint& j = m.joint(ids[one.index % ids.size()]);
      DofProperties& dof = j.dofs[0];
      double* const of_dof[] = {&dof.lower, &dof.upper, &dof.damping, &dof.stiffness, &dof.dry_friction};
      if (what == 3) *of_dof[one.index % 5] = value;
      if (what == 4) j.axis = at;
      if (what == 5) j.X_PF.p = at;
    }
  });
}

void act(Session& s, Bytes& in) {
  World& w = s.world();
  switch (in.below(8)) {
    case 0: w.add_force(link(s, in), in.vector(), in.vector(), in.vector()); break;
    case 1:
      (void)s.perform(ForceAction{link(s, in), in.vector(), in.vector(), in.vector(), in.number()});
      break;
    case 2: w.add_spring({link(s, in), in.vector(), in.vector(), in.number(), in.number()}); break;
    case 3:
      w.set_spring({static_cast<std::uint32_t>(in.below(4)), static_cast<std::uint32_t>(in.below(4))},
                   {link(s, in), in.vector(), in.vector(), in.number(), in.number()});
      break;
    case 4:
      w.remove_spring({static_cast<std::uint32_t>(in.below(4)), static_cast<std::uint32_t>(in.below(4))});
      break;
    case 5: w.set_kinematic(link(s, in), in.yes()); break;
    case 6: w.set_loop_closed(joint(s, in), in.yes()); break;
    default: w.wake(link(s, in)); break;
  }
}

void set(Session& s, Bytes& in) {
  World& w = s.world();
  const JointId j = joint(s, in);
  switch (in.below(12)) {
    case 0: w.set_q(j, numbers(w.q(j).size(), in)); break;
    case 1: w.set_v(j, numbers(w.v(j).size(), in)); break;
    case 2: w.set_effort(j, numbers(w.v(j).size(), in)); break;
    case 3: s.set_effort(j, numbers(w.v(j).size(), in)); break;
    case 4: w.set_drive(j, drive(in), in.below(8) - 1); break;
    case 5: s.set_drive(j, drive(in), in.below(8) - 1); break;
    case 6: s.set_control(in.below(4) - 1, in.number()); break;
    case 7: w.set_state(numbers(w.state().q.size(), in), numbers(w.state().v.size(), in)); break;
    case 8: w.teleport(link(s, in), in.pose()); break;
    case 9: w.set_velocity(link(s, in), {in.vector(), in.vector()}); break;
    case 10: w.set_gravity(in.vector()); break;
    default: w.set_time(in.number()); break;
  }
}

void change_structure(Session& s, Bytes& in) {
  World& w = s.world();
  const Joining how = in.yes() ? Joining::kTree : Joining::kLoop;
  const LinkId a = link(s, in), b = link(s, in);
  switch (in.below(5)) {
    case 0: (void)w.attach(a, in.pose(), b, in.pose(), made(in), how); break;
    case 1: (void)w.attach_here(a, b, in.yes() ? w.pose(b) : in.pose(), made(in), how); break;
    case 2: (void)w.detach(joint(s, in)); break;
    case 3: w.set_breaking(joint(s, in), in.number(), in.number()); break;
    default: edit(s, in); break;
  }
}

void name_things(Session& s, Bytes& in) {
  constexpr const char* kNames[] = {"time",
                                    "gravity.z",
                                    "joint.elbow.target",
                                    "joint.knee.q.1",
                                    "link.box.px",
                                    "energy",
                                    "ui.pull",
                                    "settings.solver",
                                    "settings.dt",
                                    "actuator.motor",
                                    "sensor.gyro",
                                    "joint..q",
                                    "link.arm.mass",
                                    "",
                                    "settings.threads"};
  const char* name = kNames[in.below(std::size(kNames))];
  constexpr const char* kTexts[] = {"0.5", "newton", "1 2 3", "nan", "on", ""};
  switch (in.below(5)) {
    case 0: (void)s.get(name); break;
    case 1: (void)s.set(name, in.number()); break;
    case 2: (void)s.set_text(name, kTexts[in.below(std::size(kTexts))]); break;
    case 3: (void)s.press(in.yes() ? "part" : "nothing"); break;
    default: (void)s.reset(in.yes() ? "bent" : ""); break;
  }
}

void look(Session& s, Bytes& in) {
  World& w = s.world();
  const LinkId l = link(s, in);
  (void)w.pose(l), (void)w.velocity(l), (void)w.acceleration(l), (void)w.contact_force(l);
  (void)w.inertial(l, in.vector()), (void)w.awake(l), (void)w.quarantined(l), (void)w.energies();
  (void)w.load(joint(s, in)), (void)w.effort(joint(s, in)), (void)w.drive(joint(s, in), in.below(8) - 1);
  (void)w.ray_cast(in.vector(), in.vector(), in.number(), l);
  (void)s.reading(in.below(4) - 1), (void)s.told_of_solver(), (void)s.find("joint.elbow.q");
  if (in.below(8) == 0) (void)w.find_overlaps();
}

void call(Session& s, Bytes& in) {
  switch (in.below(7)) {
    case 0: return set_settings(s, in);
    case 1: return act(s, in);
    case 2: return set(s, in);
    case 3: return change_structure(s, in);
    case 4: return name_things(s, in);
    case 5: return look(s, in);
    default: return;  // a step alone
  }
}

/// A second one of the same scene that takes the snapshot makes the same step.
void expect_same_future(Session& session) {
  Session other = session.clone();
  if (const auto flaws = other.restore(session.snapshot()); !flaws.empty())
    found("its own snapshot is refused:\n" + to_string(flaws));
  step_bounded(session), step_bounded(other);
  if (session.snapshot().bytes != other.snapshot().bytes) found("its clone goes on otherwise");
}

void run(Input input) {
  if (input.empty()) return;
  Bytes in(input);
  Session session =
      sessions()[static_cast<std::size_t>(in.below(static_cast<int>(sessions().size())))].clone();
  int steps = 0;
  for (int i = 0; i < kMostCalls && !in.done(); ++i) {
    call(session, in);
    if (in.below(3) == 0 && ++steps <= kMostSteps) step_bounded(session);
  }
  if (is_chosen(input, kOneIn)) expect_same_future(session);
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (int i = 0; i < 24; ++i) {
    std::string seed(1, static_cast<char>(i % 3));
    for (int k = 0; k < 20 + 4 * i; ++k) seed += static_cast<char>((k * k * 7 + 13 * k * (i + 1) + i) % 251);
    all.push_back(seed);
  }
  return all;
}

}  // namespace

std::vector<Target> targets() {
  return {{"calls", [](const std::filesystem::path&) { sessions(); }, seeds, run}};
}

}  // namespace karakuri::fuzz
