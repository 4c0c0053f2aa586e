// Signals and keys: io takes names apart (find_signal, find_key), here they get their meaning.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "session/impl.h"
#include "session/settings_table.h"

namespace karakuri {

using namespace session_detail;

namespace {

constexpr double kGone = std::numeric_limits<double>::quiet_NaN();

enum LinkProperty : std::uint8_t {
  kPx,
  kPy,
  kPz,
  kQw,
  kQx,
  kQy,
  kQz,
  kVx,
  kVy,
  kVz,
  kWx,
  kWy,
  kWz,
  kFx,
  kFy,
  kFz,
  kMass,
  kAwake
};
enum JointProperty : std::uint8_t {
  kQ,
  kV,
  kTau,
  kTarget,
  kTargetVelocity,
  kStiffness,
  kDamping,
  kLimit,
  kEffort,
  kLower,
  kUpper,
  kSpring,
  kRest,
  kViscous,
  kDryFriction,
  kArmature,
  kClosed
};
enum EnergyProperty : std::uint8_t { kKinetic, kPotential, kTotal };
enum StepProperty : std::uint8_t {
  kContacts,
  kResidual,
  kPenetration,
  kIslands,
  kRows,
  kSweeps,
  kNewton,
  kWall
};

struct Named {
  Subject subject;
  const char* name;
  std::uint8_t property;
};
constexpr Named kProperties[] = {
    {Subject::kLink, "px", kPx},
    {Subject::kLink, "py", kPy},
    {Subject::kLink, "pz", kPz},
    {Subject::kLink, "qw", kQw},
    {Subject::kLink, "qx", kQx},
    {Subject::kLink, "qy", kQy},
    {Subject::kLink, "qz", kQz},
    {Subject::kLink, "vx", kVx},
    {Subject::kLink, "vy", kVy},
    {Subject::kLink, "vz", kVz},
    {Subject::kLink, "wx", kWx},
    {Subject::kLink, "wy", kWy},
    {Subject::kLink, "wz", kWz},
    {Subject::kLink, "fx", kFx},
    {Subject::kLink, "fy", kFy},
    {Subject::kLink, "fz", kFz},
    {Subject::kLink, "mass", kMass},
    {Subject::kLink, "awake", kAwake},
    {Subject::kJoint, "q", kQ},
    {Subject::kJoint, "v", kV},
    {Subject::kJoint, "tau", kTau},
    {Subject::kJoint, "target", kTarget},
    {Subject::kJoint, "target_velocity", kTargetVelocity},
    {Subject::kJoint, "stiffness", kStiffness},
    {Subject::kJoint, "damping", kDamping},
    {Subject::kJoint, "limit", kLimit},
    {Subject::kJoint, "effort", kEffort},
    {Subject::kJoint, "closed", kClosed},
    {Subject::kEnergy, "kinetic", kKinetic},
    {Subject::kEnergy, "potential", kPotential},
    {Subject::kEnergy, "total", kTotal},
    {Subject::kStep, "contacts", kContacts},
    {Subject::kStep, "residual", kResidual},
    {Subject::kStep, "penetration", kPenetration},
    {Subject::kStep, "islands", kIslands},
    {Subject::kStep, "rows", kRows},
    {Subject::kStep, "sweeps", kSweeps},
    {Subject::kStep, "newton", kNewton},
    {Subject::kStep, "wall", kWall},
};

Diagnostic refused(std::string_view key, std::string what, std::string remedy = "") {
  return {Severity::kError, std::string(key), std::move(what), std::move(remedy)};
}

template <class Things>
int index_by_name(const Things& things, std::string_view name) {
  for (std::size_t i = 0; i < things.size(); ++i) {
    if (things[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int slider_by_name(const std::vector<UiElement>& ui, std::string_view name) {
  for (std::size_t i = 0; i < ui.size(); ++i) {
    const auto* slider = std::get_if<Slider>(&ui[i]);
    if (slider && slider->name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

// ---- finding

/// The handle of a name that io found to be good; nothing where this module does not know the property.
std::optional<Signal> Session::Impl::resolve(const Reference& r) const {
  Signal out{.subject = r.subject, .component = r.index};
  const Mechanism& m = world.scene().mechanism;
  int index = 0;
  switch (r.subject) {
    case Subject::kLink:
      if (const LinkId id = m.find_link(r.name)) out.index = id.index, out.generation = id.generation;
      break;
    case Subject::kJoint:
      if (const JointId id = m.find_joint(r.name)) out.index = id.index, out.generation = id.generation;
      break;
    case Subject::kSensor: index = index_by_name(scene.sensors, r.name); break;
    case Subject::kActuator: index = index_by_name(scene.actuators, r.name); break;
    case Subject::kUi: index = slider_by_name(scene.script.ui, r.name); break;
    case Subject::kSetting: index = find_setting(r.property); break;
    case Subject::kTime:
    case Subject::kGravity: return out;
    case Subject::kBehaviour: return std::nullopt;  // belongs to whoever runs the behaviours
    case Subject::kEnergy:
    case Subject::kStep: break;
  }
  if (index < 0) return std::nullopt;
  if (index > 0) out.index = static_cast<std::uint32_t>(index);
  const bool has_properties = r.subject == Subject::kLink || r.subject == Subject::kJoint ||
                              r.subject == Subject::kEnergy || r.subject == Subject::kStep;
  if (!has_properties) return out;
  for (const Named& known : kProperties) {
    if (known.subject != r.subject || r.property != known.name) continue;
    out.property = known.property;
    return out;
  }
  return std::nullopt;
}

Result<Signal> Session::find(std::string_view signal) const {
  Result<Reference> reference = find_signal(impl_->scene, signal);
  if (!reference.ok()) return reference.errors();
  if (const auto found = impl_->resolve(*reference)) return *found;
  return refused(signal, "this cannot be read here");
}

// ---- reading

namespace {

double read_link(const World& world, LinkId id, std::uint8_t property) {
  if (!world.model().find(id)) return kGone;
  if (property <= kPz) return world.pose(id).p[property];
  if (property <= kQz) {
    const Quat r(world.pose(id).R);
    const double q[] = {r.w(), r.x(), r.y(), r.z()};
    return q[property - kQw];
  }
  if (property <= kVz) return world.velocity(id).linear[property - kVx];
  if (property <= kWz) return world.velocity(id).angular[property - kWx];
  if (property <= kFz) return world.contact_force(id).force[property - kFx];
  if (property == kMass) return world.scene().mechanism.link(id).inertia.mass;
  return world.awake(id) ? 1 : 0;
}

double at(std::span<const double> values, int index) {
  return index >= 0 && index < static_cast<int>(values.size()) ? values[static_cast<std::size_t>(index)]
                                                               : kGone;
}

double read_closed(const World& world, JointId id) {
  for (std::size_t i = 0; i < world.model().loops.size(); ++i) {
    if (world.model().loops[i].joint == id) return world.state().loop_closed[i] ? 1 : 0;
  }
  return 1;
}

double read_joint(const World& world, JointId id, std::uint8_t property, int dof) {
  if (!world.model().find(id)) return kGone;
  if (property == kQ) return at(world.q(id), dof);
  if (property == kV) return at(world.v(id), dof);
  if (property == kClosed) return read_closed(world, id);
  if (dof < 0 || dof >= static_cast<int>(world.v(id).size())) return kGone;
  if (property == kTau) return world.load(id).drive[static_cast<std::size_t>(dof)];
  return kGone;
}

double read_step(const World& world, std::uint8_t property) {
  const StepReport& report = world.report();
  switch (property) {
    case kContacts: return report.contacts;
    case kResidual: return report.residual;
    case kPenetration: return report.penetration;
    case kIslands: return report.islands;
    case kRows: return report.rows;
    case kSweeps: return report.sweeps;
    case kNewton: return report.newton;
    default: return world.times().total();
  }
}

double read_energy(const World& world, std::uint8_t property) {
  const Energies e = world.energies();
  return property == kKinetic ? e.kinetic : property == kPotential ? e.potential : e.total();
}

double* drive_value(Drive& drive, double& effort, std::uint8_t property) {
  switch (property) {
    case kTarget: return &drive.q_target;
    case kTargetVelocity: return &drive.v_target;
    case kStiffness: return &drive.stiffness;
    case kDamping: return &drive.damping;
    case kLimit: return &drive.limit;
    case kEffort: return &effort;
    default: return nullptr;
  }
}

}  // namespace

/// Of what the session itself drives the joint with; actuators are beside it.
double Session::Impl::read_drive(JointId joint, std::uint8_t property, int dof) const {
  Drive drive;
  double effort = 0;
  for (const DrivenJoint& d : state.driven) {
    if (d.joint != joint || dof < 0 || dof >= kMaxJointDofs) continue;
    drive = d.drives[static_cast<std::size_t>(dof)];
    effort = d.efforts[static_cast<std::size_t>(dof)];
  }
  const double* value = drive_value(drive, effort, property);
  return value ? *value : kGone;
}

double Session::read(const Signal& s) const {
  const World& world = impl_->world;
  switch (s.subject) {
    case Subject::kTime: return world.time();
    case Subject::kLink: return read_link(world, {s.index, s.generation}, s.property);
    case Subject::kJoint: {
      const JointId joint{s.index, s.generation};
      const bool of_drive = s.property >= kTarget && s.property <= kEffort;
      return of_drive ? impl_->read_drive(joint, s.property, s.component)
                      : read_joint(world, joint, s.property, s.component);
    }
    case Subject::kSensor: return at(reading(static_cast<int>(s.index)), s.component);
    case Subject::kActuator: return at(controls(), static_cast<int>(s.index));
    case Subject::kEnergy: return read_energy(world, s.property);
    case Subject::kStep: return read_step(world, s.property);
    case Subject::kUi: return at(impl_->state.sliders, static_cast<int>(s.index));
    case Subject::kSetting: return all_settings()[s.index].get(world.settings());
    case Subject::kGravity: return s.component >= 0 && s.component < 3 ? world.gravity()[s.component] : kGone;
    case Subject::kBehaviour: break;
  }
  return kGone;
}

Result<double> Session::get(std::string_view signal) const {
  const Result<Signal> found = find(signal);
  if (!found.ok()) return found.errors();
  return read(*found);
}

// ---- setting

namespace {

std::string text_of(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* numbers = std::get_if<std::vector<double>>(&value))
    return fmt::format("{} numbers", numbers->size());
  return fmt::format("'{}'", std::get<std::string>(value));
}

/// The numbers of a value; empty for a word.
std::span<const double> numbers_of(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return {number, 1};
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) return *numbers;
  return {};
}

std::optional<bool> switch_of(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    if (*number == 0 || *number == 1) return *number == 1;
    return std::nullopt;
  }
  const auto* word = std::get_if<std::string>(&value);
  if (!word) return std::nullopt;
  if (*word == "on" || *word == "true" || *word == "yes") return true;
  if (*word == "off" || *word == "false" || *word == "no") return false;
  return std::nullopt;
}

Result<double> number_for(const Setting& setting, std::string_view key, const Value& value) {
  const auto* number = std::get_if<double>(&value);
  const auto* word = std::get_if<std::string>(&value);
  switch (setting.kind) {
    case SettingKind::kWord:
      if (word) return setting.number_of(*word);
      return refused(key, fmt::format("it is set by a word, not by {}", text_of(value)));
    case SettingKind::kSwitch:
      if (const auto on = switch_of(value)) return *on ? 1.0 : 0.0;
      return refused(key, fmt::format("it is on or off, not {}", text_of(value)));
    case SettingKind::kCount:
      if (number && *number == std::round(*number) && std::abs(*number) < 2e9) return *number;
      return refused(key, fmt::format("it is a whole number, not {}", text_of(value)));
    case SettingKind::kNumber:
      if (number) return *number;
      return refused(key, fmt::format("it is one number, not {}", text_of(value)));
  }
  return 0.0;
}

}  // namespace

std::vector<Diagnostic> Session::Impl::set_setting(int index, std::string_view key, const Value& value) {
  const Setting& setting = all_settings()[static_cast<std::size_t>(index)];
  const Result<double> number = number_for(setting, key, value);
  if (!number.ok()) return number.errors();
  WorldSettings settings = world.settings();
  setting.put(settings, *number);
  return world.set_settings(settings);
}

/// One coordinate, or all of them.
std::vector<Diagnostic> Session::Impl::set_coordinates(const Signal& s, std::string_view key,
                                                       std::span<const double> numbers) {
  const JointId joint{s.index, s.generation};
  const std::span<const double> now = s.property == kQ ? world.q(joint) : world.v(joint);
  std::array<double, 7> values{};
  if (now.empty()) return {refused(key, "the joint has no coordinates of its own")};
  std::copy(now.begin(), now.end(), values.begin());
  if (numbers.size() == now.size()) {
    std::copy(numbers.begin(), numbers.end(), values.begin());
  } else if (numbers.size() == 1 && s.component < static_cast<int>(now.size())) {
    values[static_cast<std::size_t>(s.component)] = numbers[0];
  } else {
    return {refused(key, fmt::format("it has {} numbers, not {}", now.size(), numbers.size()))};
  }
  const std::span<const double> all(values.data(), now.size());
  const bool done = s.property == kQ ? world.set_q(joint, all) : world.set_v(joint, all);
  if (!done) return {refused(key, "the numbers are not finite")};
  return {};
}

std::vector<Diagnostic> Session::Impl::set_drive(const Signal& s, std::string_view key, double number) {
  const JointId joint{s.index, s.generation};
  if (s.component < 0 || s.component >= static_cast<int>(world.v(joint).size()))
    return {refused(key, "the joint has no such degree of freedom")};
  const bool may_be_infinite = s.property == kLimit || s.property == kDamping;
  const bool is_gain = s.property == kStiffness || s.property == kDamping || s.property == kLimit;
  if (std::isnan(number) || (std::isinf(number) && !may_be_infinite) || (is_gain && number < 0))
    return {refused(key, fmt::format("{} is not possible", number),
                    is_gain ? "give 0 or more" : "give a finite number")};
  DrivenJoint& driven = state.driven[static_cast<std::size_t>(driven_index(joint))];
  const auto dof = static_cast<std::size_t>(s.component);
  *drive_value(driven.drives[dof], driven.efforts[dof], s.property) = number;
  drives_changed = true;
  return {};
}

std::vector<Diagnostic> Session::Impl::set_mass(LinkId id, std::string_view key, double mass) {
  const double before = world.scene().mechanism.link(id).inertia.mass;
  if (!(mass > 0) || !std::isfinite(mass) || !(before > 0))
    return {refused(key, fmt::format("a mass of {} is not possible here", mass),
                    "give a positive number, to a link that has mass")};
  const auto change = [&](Scene& s) {
    Inertia& inertia = s.mechanism.link(id).inertia;
    inertia.about_com *= mass / inertia.mass;
    inertia.mass = mass;
  };
  std::vector<Diagnostic> flaws = world.edit(change);
  if (flaws.empty() && scene.scene.mechanism.contains(id)) change(scene.scene);
  return flaws;
}

std::vector<Diagnostic> Session::set(std::string_view key, const Value& value) {
  Impl& s = *impl_;
  Result<Reference> reference = find_key(s.scene, key);
  if (!reference.ok()) return reference.errors();
  const auto found = s.resolve(*reference);
  if (!found) return {refused(key, "this cannot be set here")};
  const std::span<const double> numbers = numbers_of(value);
  const bool one = numbers.size() == 1;
  switch (found->subject) {
    case Subject::kSetting: return s.set_setting(static_cast<int>(found->index), key, value);
    case Subject::kGravity:
      if (numbers.size() != 3 ||
          !std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }))
        return {refused(key, fmt::format("it is three finite numbers, not {}", text_of(value)))};
      s.world.set_gravity({numbers[0], numbers[1], numbers[2]});
      return {};
    case Subject::kJoint:
      if (found->property == kClosed) {
        const auto closed = switch_of(value);
        if (closed && s.world.set_loop_closed({found->index, found->generation}, *closed)) return {};
        return {refused(key, "only a joint that closes a loop can be closed (on) and opened (off)")};
      }
      if ((found->property == kQ || found->property == kV) && !numbers.empty())
        return s.set_coordinates(*found, key, numbers);
      if (one && found->property >= kTarget && found->property <= kEffort)
        return s.set_drive(*found, key, numbers[0]);
      break;
    case Subject::kActuator:
      if (one && set_control(static_cast<int>(found->index), numbers[0])) return {};
      break;
    case Subject::kUi:
      return one ? s.set_slider(*this, found->index, numbers[0])
                 : std::vector{refused(key, "it is one number")};
    case Subject::kLink:
      if (one && found->property == kMass)
        return s.set_mass({found->index, found->generation}, key, numbers[0]);
      break;
    default: break;
  }
  return {refused(key, fmt::format("it cannot be set to {}", text_of(value)))};
}

std::vector<Diagnostic> Session::Impl::set_slider(Session& self, std::size_t index, double number) {
  if (!std::isfinite(number)) return {refused("ui", "a slider needs a finite number")};
  const auto& slider = std::get<Slider>(scene.script.ui[index]);
  state.sliders[index] = std::clamp(number, slider.min, slider.max);
  return slider.key.empty() ? std::vector<Diagnostic>{} : self.set(slider.key, state.sliders[index]);
}

Value value_from_text(std::string_view text) {
  std::vector<double> numbers;
  std::size_t i = 0;
  const auto is_gap = [](char c) { return c == ' ' || c == ',' || c == '\t'; };
  while (i < text.size()) {
    if (is_gap(text[i])) {
      ++i;
      continue;
    }
    double x = 0;
    const std::size_t sign = text[i] == '+' ? 1 : 0;
    const auto [end, problem] = std::from_chars(text.data() + i + sign, text.data() + text.size(), x);
    const auto next = static_cast<std::size_t>(end - text.data());
    if (problem != std::errc() || (next < text.size() && !is_gap(text[next]))) return std::string(text);
    numbers.push_back(x);
    i = next;
  }
  if (numbers.empty()) return std::string(text);
  if (numbers.size() == 1) return numbers[0];
  return numbers;
}

std::vector<Diagnostic> Session::set_text(std::string_view key, std::string_view text) {
  return set(key, value_from_text(text));
}

}  // namespace karakuri
