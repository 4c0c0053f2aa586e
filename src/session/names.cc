// Signals and keys: io takes names apart (find_signal, find_key), here they get their meaning.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "session/impl.h"

namespace karakuri {

using namespace session_detail;

namespace {

constexpr double kNothingThere = std::numeric_limits<double>::quiet_NaN();

enum LinkProperty : std::uint8_t {
  kPx,
  kPz = 2,
  kQw,
  kQz = 6,
  kVx,
  kVz = 9,
  kWx,
  kWz = 12,
  kFx,
  kFz = 15,
  kKinematic
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
  kClosed
};
enum EnergyProperty : std::uint8_t { kKinetic, kPotential, kTotal };
enum StepProperty : std::uint8_t { kContacts, kIslands, kRows, kSweeps, kResidual, kPenetration };

/// In the order of the enumerations above.
constexpr std::array<std::string_view, 17> kLinkProperties = {"px", "py", "pz", "qw", "qx",       "qy",
                                                              "qz", "vx", "vy", "vz", "wx",       "wy",
                                                              "wz", "fx", "fy", "fz", "kinematic"};
constexpr std::array<std::string_view, 10> kJointProperties = {
    "q", "v", "tau", "target", "target_velocity", "stiffness", "damping", "limit", "effort", "closed"};
constexpr std::array<std::string_view, 3> kEnergyProperties = {"kinetic", "potential", "total"};
constexpr std::array<std::string_view, 6> kStepProperties = {"contacts", "islands",  "rows",
                                                             "sweeps",   "residual", "penetration"};

std::span<const std::string_view> properties_of(Subject subject) {
  switch (subject) {
    case Subject::kLink: return kLinkProperties;
    case Subject::kJoint: return kJointProperties;
    case Subject::kEnergy: return kEnergyProperties;
    case Subject::kStep: return kStepProperties;
    case Subject::kWalker: return walker_properties();
    default: return {};
  }
}

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
    case Subject::kWalker: index = index_by_name(scene.script.walkers, r.name); break;
    case Subject::kBehaviour:
      index = index_by_name(scene.script.behaviours, r.name);
      if (index >= 0) {
        const auto& all = scene.script.behaviours[static_cast<std::size_t>(index)].parameters;
        const auto named = [&](const auto& parameter) { return parameter.first == r.property; };
        out.component = static_cast<std::int32_t>(std::find_if(all.begin(), all.end(), named) - all.begin());
      }
      break;
    case Subject::kTime:
    case Subject::kGravity:
    case Subject::kSetting:
    case Subject::kEnergy:
    case Subject::kStep: break;
  }
  if (index < 0) return std::nullopt;
  if (index > 0) out.index = static_cast<std::uint32_t>(index);
  const std::span<const std::string_view> known = properties_of(r.subject);
  if (known.empty()) return out;
  const auto found = std::find(known.begin(), known.end(), r.property);
  if (found == known.end()) return std::nullopt;
  out.property = static_cast<std::uint8_t>(found - known.begin());
  return out;
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
  if (!world.model().find(id)) return kNothingThere;
  if (property <= kPz) return world.pose(id).p[property];
  if (property <= kQz) return unit_quaternion(world.pose(id).R)[static_cast<std::size_t>(property - kQw)];
  if (property <= kVz) return world.velocity(id).linear[property - kVx];
  if (property <= kWz) return world.velocity(id).angular[property - kWx];
  if (property <= kFz) return world.contact_force(id).force[property - kFx];
  return kNothingThere;
}

double at(std::span<const double> values, int index) {
  return index >= 0 && index < static_cast<int>(values.size()) ? values[static_cast<std::size_t>(index)]
                                                               : kNothingThere;
}

double read_closed(const World& world, JointId id) {
  for (std::size_t i = 0; i < world.model().loops.size(); ++i) {
    if (world.model().loops[i].joint == id) return world.state().loop_closed[i] ? 1 : 0;
  }
  return 1;
}

double read_joint(const World& world, JointId id, std::uint8_t property, int dof) {
  if (!world.model().find(id)) return kNothingThere;
  if (property == kQ) return at(world.q(id), dof);
  if (property == kV) return at(world.v(id), dof);
  if (property == kClosed) return read_closed(world, id);
  if (dof < 0 || dof >= static_cast<int>(world.v(id).size())) return kNothingThere;
  if (property == kTau) return world.load(id).drive[static_cast<std::size_t>(dof)];
  return kNothingThere;
}

double read_step(const World& world, std::uint8_t property) {
  const StepReport& report = world.report();
  switch (property) {
    case kContacts: return report.contacts;
    case kIslands: return report.islands;
    case kRows: return report.rows;
    case kSweeps: return report.sweeps;
    case kResidual: return report.residual;
    case kPenetration: return report.penetration;
    default: return kNothingThere;
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
  return value ? *value : kNothingThere;
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
    case Subject::kWalker: return impl_->read_walker(s.index, s.property);
    case Subject::kSetting:
    case Subject::kGravity:
      return s.component >= 0 && s.component < 3 ? world.gravity()[s.component] : kNothingThere;
    case Subject::kBehaviour: {
      const auto& parameters = impl_->scene.script.behaviours[s.index].parameters;
      const auto* number = std::get_if<double>(&parameters[static_cast<std::size_t>(s.component)].second);
      return number ? *number : kNothingThere;
    }
  }
  return kNothingThere;
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

}  // namespace

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
  state.drives_changed = true;
  return {};
}

std::vector<Diagnostic> Session::Impl::set_joint(const Signal& s, std::string_view key, const Value& value) {
  const std::span<const double> numbers = numbers_of(value);
  if (s.property == kClosed) {
    const auto closed = switch_of(value);
    if (closed && world.set_loop_closed({s.index, s.generation}, *closed)) return {};
    return {refused(key, "only a joint that closes a loop can be closed (true) and opened (false)")};
  }
  if ((s.property == kQ || s.property == kV) && !numbers.empty()) return set_coordinates(s, key, numbers);
  if (numbers.size() == 1 && s.property >= kTarget && s.property <= kEffort)
    return set_drive(s, key, numbers[0]);
  return {refused(key, fmt::format("it cannot be set to {}", text_of(value)))};
}

std::vector<Diagnostic> Session::Impl::set_link(const Signal& s, std::string_view key, const Value& value) {
  const auto kinematic = switch_of(value);
  if (s.property == kKinematic && kinematic && world.set_kinematic({s.index, s.generation}, *kinematic))
    return {};
  return {refused(key, fmt::format("it cannot be set to {}", text_of(value)), "give true or false")};
}

/// Of all three numbers, or of the one that the key names: gravity.x, gravity.y, gravity.z.
std::vector<Diagnostic> Session::Impl::set_gravity(std::string_view key, const Value& value) {
  const std::span<const double> g = numbers_of(value);
  const bool whole = key == "gravity", fits = g.size() == (whole ? 3u : 1u);
  Vec3 gravity = world.gravity();
  for (std::size_t k = 0; fits && k < g.size(); ++k)
    gravity[whole ? static_cast<int>(k) : key.back() - 'x'] = g[k];
  if (fits && world.set_gravity(gravity)) return {};
  const char* is = whole ? "three finite numbers" : "a finite number";
  return {refused(key, fmt::format("it is {}, not {}", is, text_of(value)),
                  whole ? "give all three, such as '0 0 -9.81', or set gravity.z alone" : "")};
}

std::vector<Diagnostic> Session::set(std::string_view key, const Value& value) {
  Impl& s = *impl_;
  const Result<Reference> reference = find_key(s.scene, key);
  if (!reference.ok()) return reference.errors();
  const auto found = s.resolve(*reference);
  if (!found) return {refused(key, "it is known, but is not here (any more)")};
  const std::span<const double> numbers = numbers_of(value);
  switch (found->subject) {
    case Subject::kSetting: {
      WorldSettings settings = s.world.settings();
      std::vector<Diagnostic> flaws = set_setting(settings, reference->property, value);
      return flaws.empty() ? s.world.set_settings(settings) : flaws;
    }
    case Subject::kGravity: return s.set_gravity(key, value);
    case Subject::kJoint: return s.set_joint(*found, key, value);
    case Subject::kLink: return s.set_link(*found, key, value);
    case Subject::kActuator:
      if (numbers.size() == 1 && set_control(static_cast<int>(found->index), numbers[0])) return {};
      break;
    case Subject::kBehaviour: return s.set_parameter(*found, key, value);
    case Subject::kWalker:
      if (const auto flag = switch_of(value); flag && reference->property == "stabilizer")
        return s.set_walker(*found, key, *flag ? 1 : 0);
      if (numbers.size() == 1) return s.set_walker(*found, key, numbers[0]);
      break;
    case Subject::kUi:
      if (numbers.size() == 1) return s.set_slider(*this, found->index, numbers[0]);
      break;
    default: break;
  }
  return {refused(key, fmt::format("it cannot be set to {}", text_of(value)), "give one finite number")};
}

/// A parameter stays what it is: a number, so many numbers, or a word.
std::vector<Diagnostic> Session::Impl::set_parameter(const Signal& s, std::string_view key,
                                                     const Value& value) {
  Value& now = scene.script.behaviours[s.index].parameters[static_cast<std::size_t>(s.component)].second;
  const std::span<const double> numbers = numbers_of(value);
  const bool finite = std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
  if (value.index() != now.index() || numbers.size() != numbers_of(now).size() || !finite)
    return {refused(key, fmt::format("it cannot be set to {}", text_of(value)),
                    fmt::format("it is {} now", text_of(now)))};
  now = value;
  return {};
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
