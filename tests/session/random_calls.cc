#include "session/random_calls.h"

#include <array>
#include <cmath>
#include <utility>

#include "karakuri/spatial/rotation.h"

namespace karakuri::test {

namespace {

constexpr int kFewBodies = 16;  // where any method ends soon

Vec3 random_vector(Random& r, double size) {
  return size * Vec3(r.uniform(-1, 1), r.uniform(-1, 1), r.uniform(-1, 1));
}

Transform random_pose(Random& r, double size) {
  return {rotation_exp(random_vector(r, 2)), random_vector(r, size)};
}

/// kFromScene, or a number of that order.
double around(Random& r, double usual, double factor = 5) {
  return r.below(3) == 0 ? kFromScene : usual * std::exp(r.uniform(-1, 1) * std::log(factor));
}

LinkId any_link(const World& w, Random& r) {
  return w.model().links[static_cast<std::size_t>(r.below(static_cast<int>(w.model().links.size())))].id;
}

/// nullptr: there is none.
const JointEntry* any_joint(const World& w, Random& r) {
  if (w.model().joints.empty()) return nullptr;
  return &w.model().joints[static_cast<std::size_t>(r.below(static_cast<int>(w.model().joints.size())))];
}

/// One that has dofs, if it is met.
const JointEntry* any_moving(const World& w, Random& r) {
  const JointEntry* joint = any_joint(w, r);
  for (int k = 0; k < 5 && joint && joint->first_v < 0; ++k) joint = any_joint(w, r);
  return joint && joint->first_v >= 0 ? joint : nullptr;
}

std::vector<double> jittered(std::span<const double> from, Random& r, double by) {
  std::vector<double> out(from.begin(), from.end());
  for (double& x : out) x += r.uniform(-by, by);
  return out;
}

Joint random_joint(Random& r, const World& w) {
  constexpr JointKind kKinds[] = {JointKind::kFixed,     JointKind::kRevolute,    JointKind::kPrismatic,
                                  JointKind::kUniversal, JointKind::kSpherical,   JointKind::kPlanar,
                                  JointKind::kFixed,     JointKind::kCylindrical, JointKind::kDistance};
  Joint joint{.name = "made" + std::to_string(r.below(1000)),
              .kind = kKinds[r.below(static_cast<int>(std::size(kKinds)))],
              .axis = Vec3(0, 0.6, 0.8),
              .second_axis = Vec3(1, 0, 0)};
  joint.distance = w.scales().length;
  return joint;
}

using Call = std::string (*)(Session&, Random&);

std::string set_settings(Session& s, Random& r) {
  const bool small = s.world().model().body_count() < kFewBodies;
  const WorldSettings wanted = random_settings(s.world().settings(), r, small);
  return s.world().set_settings(wanted).empty() ? "all settings" : "settings that are refused";
}

/// One at a time: what depends on it has not been made anew for another reason.
std::string set_one_setting(Session& s, Random& r) {
  const WorldSettings old = s.world().settings();
  const WorldSettings other = random_settings(old, r, s.world().model().body_count() < kFewBodies);
  WorldSettings n = old;
  std::string name;
  const auto take = [&](const char* what, auto member) {
    n.*member = other.*member;
    name = what;
  };
  switch (r.below(13)) {
    case 0:
    case 1: take("integrator", &WorldSettings::integrator); break;
    case 2: take("contact", &WorldSettings::contact); break;
    case 3: take("solver", &WorldSettings::solver); break;
    case 4: take("dt", &WorldSettings::dt); break;
    case 5: take("substeps", &WorldSettings::substeps); break;
    case 6: take("stabilization", &WorldSettings::stabilization); break;
    case 7: take("penalty", &WorldSettings::penalty); break;
    case 8: take("contact_margin", &WorldSettings::contact_margin); break;
    case 9: take("sleep", &WorldSettings::sleep); break;
    case 10: take("continuous", &WorldSettings::continuous); break;
    case 11: take("warm_start", &WorldSettings::warm_start); break;
    default: take("tolerance", &WorldSettings::tolerance); break;
  }
  return s.world().set_settings(n).empty() ? name : name + ", refused";
}

std::string set_gravity(Session& s, Random& r) {
  const double g = s.world().gravity().norm();
  s.world().set_gravity(random_vector(r, g > 0 ? g : 1));
  return "gravity";
}

std::string set_control(Session& s, Random& r) {
  if (s.controls().empty()) return "no control";
  s.set_control(r.below(static_cast<int>(s.controls().size())), r.uniform(-2, 2));
  return "control";
}

std::string set_slider(Session& s, Random& r) {
  for (const UiElement& element : s.scene().script.ui)
    if (const auto* slider = std::get_if<Slider>(&element); slider && r.below(2) == 0) {
      (void)s.set("ui." + slider->name, r.uniform(slider->min, slider->max));
      return "slider " + slider->name;
    }
  return "no slider";
}

std::string press(Session& s, Random& r) {
  for (const UiElement& element : s.scene().script.ui)
    if (const auto* button = std::get_if<Button>(&element); button && r.below(2) == 0) {
      (void)s.press(std::string(button->name));
      return "button " + button->name;
    }
  return "no button";
}

std::string drive(Session& s, Random& r) {
  const JointEntry* joint = any_moving(s.world(), r);
  if (!joint) return "no joint to drive";
  const double m = s.world().scales().mass, l = s.world().scales().length, k = 30 * m * l * l;
  const Drive d{.stiffness = r.below(3) == 0 ? 0 : r.uniform(0, k),
                .damping = r.below(8) == 0 ? std::numeric_limits<double>::infinity() : r.uniform(0, 0.1 * k),
                .q_target = r.uniform(-1, 1),
                .v_target = r.uniform(-0.2, 0.2),
                .limit = r.below(2) == 0 ? DofProperties::kNone : r.uniform(0.1, k)};
  const int dof = r.below(v_size(joint->kind));
  if (r.below(2) == 0)
    s.set_drive(joint->id, d, dof);
  else
    s.world().set_drive(joint->id, r.below(4) == 0 ? Drive{} : d, dof);
  return "drive of " + joint->name;
}

std::string effort(Session& s, Random& r) {
  const JointEntry* joint = any_moving(s.world(), r);
  if (!joint) return "no joint for an effort";
  const std::vector<double> e =
      jittered(std::vector<double>(v_size(joint->kind)), r, s.world().scales().mass);
  r.below(2) == 0 ? s.set_effort(joint->id, e) : s.world().set_effort(joint->id, e);
  return "effort of " + joint->name;
}

std::string set_coordinates(Session& s, Random& r) {
  World& w = s.world();
  const JointEntry* joint = any_moving(w, r);
  if (!joint) return "no joint to set";
  const double by = 0.1 * w.scales().length;
  if (r.below(2) == 0)
    w.set_q(joint->id, jittered(w.q(joint->id), r, by));
  else
    w.set_v(joint->id, jittered(w.v(joint->id), r, by));
  return "coordinates of " + joint->name;
}

std::string set_state(Session& s, Random& r) {
  World& w = s.world();
  const std::vector<double> v = jittered(w.state().v, r, 0.05);
  w.set_state(jittered(w.state().q, r, 1e-3 * w.scales().length), v);
  return "state";
}

std::string teleport(Session& s, Random& r) {
  World& w = s.world();
  const LinkId link = any_link(w, r);
  const Transform X = w.pose(link);
  const bool moved = w.teleport(
      link, {X.R * rotation_exp(random_vector(r, 0.2)), X.p + random_vector(r, w.scales().length)});
  if (r.below(2) == 0) w.set_velocity(link, {random_vector(r, 1), random_vector(r, 1)});
  return moved ? "teleport" : "teleport of what does not float";
}

std::string force(Session& s, Random& r) {
  const double size = 20 * s.world().scales().mass;
  const LinkId link = any_link(s.world(), r);
  const Vec3 f = random_vector(r, size), p = random_vector(r, s.world().scales().length);
  if (r.below(2) == 0) {
    s.world().add_force(link, f, p, random_vector(r, size));
    return "force";
  }
  (void)s.perform(ForceAction{.link = link, .point = p, .force = f, .duration = r.uniform(0, 0.05)});
  return "force for a time";
}

std::string spring(Session& s, Random& r) {
  World& w = s.world();
  const double l = w.scales().length, k = 100 * w.scales().mass;
  const LinkId link = any_link(w, r);
  const PointSpring made{link, random_vector(r, l), w.pose(link).p + random_vector(r, 2 * l), k, 0.1 * k};
  // ids of springs are numbers of slots and of their tenants
  const SpringId id{static_cast<std::uint32_t>(r.below(3)), static_cast<std::uint32_t>(1 + r.below(3))};
  switch (r.below(4)) {
    case 0: w.set_spring(id, made); return "set a spring";
    case 1: w.remove_spring(id); return "remove a spring";
    default: w.add_spring(made); return "spring";
  }
}

std::string kinematic(Session& s, Random& r) {
  s.world().set_kinematic(any_link(s.world(), r), r.below(2) == 0);
  return "kinematic";
}

std::string wake(Session& s, Random& r) {
  s.world().wake(any_link(s.world(), r));
  return "wake";
}

std::string attach(Session& s, Random& r) {
  World& w = s.world();
  const LinkId a = r.below(4) == 0 ? w.scene().mechanism.world() : any_link(w, r), b = any_link(w, r);
  const Joint joint = random_joint(r, w);
  const Joining how = r.below(2) == 0 ? Joining::kTree : Joining::kLoop;
  const Result<JointId> made = r.below(6) == 0
                                   ? w.attach(a, random_pose(r, 0.1), b, random_pose(r, 0.1), joint, how)
                                   : w.attach_here(a, b, w.pose(b), joint, how);
  return std::string(how == Joining::kTree ? "tree " : "loop ") + std::string(name(joint.kind)) +
         (made.ok() ? "" : ", refused");
}

std::string detach(Session& s, Random& r) {
  World& w = s.world();
  if (r.below(2) == 0 && !w.attachments().empty()) {
    const auto count = static_cast<int>(w.attachments().size());
    (void)w.detach(w.attachments()[static_cast<std::size_t>(r.below(count))].id);
    return "detach a loop";
  }
  const JointEntry* joint = any_joint(w, r);
  if (!joint) return "nothing to detach";
  return w.detach(joint->id).empty() ? "cut" : "cut, refused";
}

std::string loop_closed(Session& s, Random& r) {
  World& w = s.world();
  if (w.model().loops.empty()) return "no loop";
  const auto count = static_cast<int>(w.model().loops.size());
  w.set_loop_closed(w.model().loops[static_cast<std::size_t>(r.below(count))].joint, r.below(2) == 0);
  return "loop opened or closed";
}

std::string breaking(Session& s, Random& r) {
  World& w = s.world();
  const double most = 30 * w.scales().mass;
  if (!w.model().loops.empty() && r.below(2) == 0) {
    const auto count = static_cast<int>(w.model().loops.size());
    w.set_breaking(w.model().loops[static_cast<std::size_t>(r.below(count))].joint, r.uniform(1, most));
  } else if (const JointEntry* joint = any_joint(w, r)) {
    w.set_breaking(joint->id, r.uniform(1, most));
  }
  return "breaking";
}

/// What it does to a tree is too much: it is frozen.
std::string blow_up(Session& s, Random& r) {
  World& w = s.world();
  const LinkId link = any_link(w, r);
  if (r.below(2) == 0) {
    w.add_force(link, Vec3(1e300, 0, 0));
    return "force without measure";
  }
  if (const JointEntry* joint = any_moving(w, r))
    w.set_v(joint->id, std::vector<double>(static_cast<std::size_t>(v_size(joint->kind)), 1e200));
  return "velocity without measure";
}

std::string clock(Session& s, Random& r) {
  s.world().set_time(s.time() + r.uniform(-0.1, 0.1));
  return "clock";
}

std::string chance(Session& s, Random&) {
  (void)s.world().random().bits();
  return "random number";
}

/// What is only read must change nothing.
std::string look(Session& s, Random& r) {
  World& w = s.world();
  const LinkId link = any_link(w, r);
  (void)w.acceleration(link);
  (void)w.contact_force(link);
  (void)w.energies();
  (void)w.inertial(link);
  (void)w.ray_cast(Vec3::Zero(), Vec3(0, 0, -1), 100);
  for (std::size_t i = 0; i < s.scene().sensors.size(); ++i) (void)s.reading(static_cast<int>(i));
  if (const JointEntry* joint = any_joint(w, r)) (void)w.load(joint->id);
  if (r.below(8) == 0) (void)w.find_overlaps();
  (void)s.hash();
  return "look";
}

std::string steps(Session& s, Random& r) {
  s.step(1 + r.below(12));
  return "steps";
}

struct Weighed {
  Call call;
  int weight;
};
constexpr Weighed kCalls[] = {{set_settings, 2}, {set_one_setting, 8}, {set_gravity, 1}, {set_control, 2},
                              {set_slider, 1},   {press, 1},           {drive, 4},       {effort, 2},
                              {force, 3},        {set_coordinates, 3}, {set_state, 1},   {teleport, 3},
                              {spring, 3},       {kinematic, 2},       {wake, 1},        {attach, 6},
                              {detach, 4},       {loop_closed, 2},     {breaking, 1},    {blow_up, 1},
                              {clock, 1},        {chance, 1},          {look, 2},        {steps, 6}};

}  // namespace

WorldSettings random_settings(const WorldSettings& now, Random& r, bool small) {
  WorldSettings s = now;
  s.dt = std::exp(r.uniform(std::log(5e-4), std::log(1e-2)));
  s.substeps = 1 + r.below(3);
  s.integrator = static_cast<Integrator>(r.below(4));
  s.contact = static_cast<ContactModel>(r.below(4));
  s.solver = static_cast<solver::Method>(r.below(9));
  const bool may_take_long = s.solver == solver::Method::kNewton || s.solver == solver::Method::kDantzig ||
                             s.solver == solver::Method::kLemke;
  if ((!small && may_take_long) || r.below(2) == 0) s.solver = solver::Method::kDefault;
  s.tolerance = around(r, 1e-8);
  s.acceptable = around(r, 1e-6);
  s.max_sweeps = 1 + r.below(100);
  s.max_newton = r.below(12);
  s.max_newton_rows = r.below(300);
  s.pyramid_faces = 4 + 2 * r.below(4);
  s.quickstep_iterations = 1 + r.below(30);
  s.quickstep_relaxation = r.uniform(0.5, 1.8);
  // of a thousand bodies a step may be made in 64 parts of several rounds, each with this much
  s.max_work = std::exp(r.uniform(std::log(1e5), std::log(small ? 1e9 : 1e7)));
  StabilizationSettings& t = s.stabilization;
  t.kind = static_cast<Stabilization>(r.below(5));
  t.erp = r.uniform(0, 0.8);
  t.cfm = r.below(2) * 1e-4;
  t.beta = around(r, 10), t.gamma = around(r, 10);
  t.stiffness = around(r, 1e4), t.damping = around(r, 1e2);
  t.slop = around(r, 1e-4), t.max_speed = around(r, 1);
  s.penalty.stiffness = around(r, 1e4), s.penalty.damping = around(r, 30);
  s.penalty.tangential_share = r.uniform(0.3, 1);
  s.penalty.is_explicit = r.below(6) == 0;
  s.contact_margin = around(r, 3e-3);
  s.restitution_threshold = around(r, 1e-2);
  s.continuous = r.below(4) != 0;
  s.warm_start = r.below(4) != 0;
  s.sleep = {.enabled = r.below(4) != 0, .speed = around(r, 1e-2), .time = around(r, 0.05)};
  return s;
}

std::string RandomCalls::call(Session& session) {
  int all = 0;
  for (const Weighed& w : kCalls) all += w.weight;
  int at = random_.below(all);
  for (const Weighed& w : kCalls)
    if ((at -= w.weight) < 0) return w.call(session, random_);
  return {};
}

std::string RandomCalls::call_with_hooks(Session& session) {
  const int kind = random_.below(8);
  if (kind == 0) {
    world_hooks_.push_back(session.world().add_hook([](World& w) {
      const LinkId link = w.model().links.back().id;
      w.add_force(link, Vec3(w.random().uniform(-1, 1), 0, 0) * w.scales().mass);
    }));
    return "hook of the world";
  }
  if (kind == 1) {
    hooks_.push_back(session.add_hook([](Session& s) { s.world().wake(s.world().model().links.back().id); }));
    return "hook";
  }
  return call(session);
}

void RandomCalls::undo_hooks(Session& session) {
  for (const int hook : std::exchange(hooks_, {})) session.remove_hook(hook);
  for (const int hook : std::exchange(world_hooks_, {})) session.world().remove_hook(hook);
}

void edit_at_random(Session& session, std::uint64_t seed) {
  const auto change = [seed](Scene& scene) {
    Random r(seed);
    const std::vector<LinkId> links = scene.mechanism.link_ids();
    Link& link =
        scene.mechanism.link(links[static_cast<std::size_t>(r.below(static_cast<int>(links.size())))]);
    const double by = r.uniform(1, 2);  // lighter ones may be refused under explicit springs
    link.inertia.mass *= by;
    link.inertia.about_com *= by;
  };
  (void)session.edit(change);
}

}  // namespace karakuri::test
