// Which key is which member, for structs that are read and written key by key.
#pragma once

#include <array>
#include <string_view>

#include "karakuri/io/loaded_scene.h"

namespace karakuri::io {

template <class Struct, class Member = double>
struct Field {
  std::string_view key;
  Member Struct::* member;
};

inline constexpr std::array kSurfaceFields = {
    Field<Surface>{"static_friction", &Surface::static_friction},
    Field<Surface>{"kinetic_friction", &Surface::kinetic_friction},
    Field<Surface>{"restitution", &Surface::restitution},
    Field<Surface>{"torsional_friction", &Surface::torsional_friction},
    Field<Surface>{"rolling_friction", &Surface::rolling_friction},
    Field<Surface>{"stiffness", &Surface::stiffness},
    Field<Surface>{"damping", &Surface::damping},
};
inline constexpr std::array kDofFields = {
    Field<DofProperties>{"damping", &DofProperties::damping},
    Field<DofProperties>{"stiffness", &DofProperties::stiffness},
    Field<DofProperties>{"rest", &DofProperties::rest},
    Field<DofProperties>{"dry_friction", &DofProperties::dry_friction},
    Field<DofProperties>{"armature", &DofProperties::armature},
    Field<DofProperties>{"effort_limit", &DofProperties::effort_limit},
    Field<DofProperties>{"velocity_limit", &DofProperties::velocity_limit},
    Field<DofProperties>{"limit_stiffness", &DofProperties::limit_stiffness},
    Field<DofProperties>{"limit_damping", &DofProperties::limit_damping},
};
inline constexpr std::array kClosingFields = {
    Field<Joint>{"closing_stiffness", &Joint::closing_stiffness},
    Field<Joint>{"closing_damping", &Joint::closing_damping},
    Field<Joint>{"closing_turn_stiffness", &Joint::closing_turn_stiffness},
    Field<Joint>{"closing_turn_damping", &Joint::closing_turn_damping},
};
inline constexpr std::array kSettingNumbers = {
    Field<WorldSettings>{"dt", &WorldSettings::dt},
    Field<WorldSettings>{"tolerance", &WorldSettings::tolerance},
    Field<WorldSettings>{"acceptable", &WorldSettings::acceptable},
    Field<WorldSettings>{"quickstep_relaxation", &WorldSettings::quickstep_relaxation},
    Field<WorldSettings>{"max_work", &WorldSettings::max_work},
    Field<WorldSettings>{"contact_margin", &WorldSettings::contact_margin},
    Field<WorldSettings>{"restitution_threshold", &WorldSettings::restitution_threshold},
};
inline constexpr std::array kSettingIntegers = {
    Field<WorldSettings, int>{"substeps", &WorldSettings::substeps},
    Field<WorldSettings, int>{"max_sweeps", &WorldSettings::max_sweeps},
    Field<WorldSettings, int>{"max_newton", &WorldSettings::max_newton},
    Field<WorldSettings, int>{"max_newton_rows", &WorldSettings::max_newton_rows},
    Field<WorldSettings, int>{"pyramid_faces", &WorldSettings::pyramid_faces},
    Field<WorldSettings, int>{"quickstep_iterations", &WorldSettings::quickstep_iterations},
    Field<WorldSettings, int>{"threads", &WorldSettings::threads},
};
inline constexpr std::array kSettingFlags = {
    Field<WorldSettings, bool>{"continuous", &WorldSettings::continuous},
    Field<WorldSettings, bool>{"warm_start", &WorldSettings::warm_start},
};
inline constexpr std::array kStabilizationFields = {
    Field<StabilizationSettings>{"erp", &StabilizationSettings::erp},
    Field<StabilizationSettings>{"cfm", &StabilizationSettings::cfm},
    Field<StabilizationSettings>{"beta", &StabilizationSettings::beta},
    Field<StabilizationSettings>{"gamma", &StabilizationSettings::gamma},
    Field<StabilizationSettings>{"stiffness", &StabilizationSettings::stiffness},
    Field<StabilizationSettings>{"damping", &StabilizationSettings::damping},
    Field<StabilizationSettings>{"slop", &StabilizationSettings::slop},
    Field<StabilizationSettings>{"max_speed", &StabilizationSettings::max_speed},
};
inline constexpr std::array kPenaltyFields = {
    Field<PenaltySettings>{"stiffness", &PenaltySettings::stiffness},
    Field<PenaltySettings>{"damping", &PenaltySettings::damping},
    Field<PenaltySettings>{"tangential_share", &PenaltySettings::tangential_share},
};
inline constexpr std::array kSleepFields = {
    Field<SleepSettings>{"speed", &SleepSettings::speed},
    Field<SleepSettings>{"time", &SleepSettings::time},
};
inline constexpr std::array kActuatorFields = {
    Field<Actuator>{"gain", &Actuator::gain},
    Field<Actuator>{"bias", &Actuator::bias},
    Field<Actuator>{"stiffness", &Actuator::stiffness},
    Field<Actuator>{"damping", &Actuator::damping},
    Field<Actuator>{"control_damping", &Actuator::control_damping},
    Field<Actuator>{"time_constant", &Actuator::time_constant},
};
/// In the order of ActuatorDynamics.
inline constexpr std::array<std::string_view, 4> kDynamicsWords = {"none", "integrator", "filter",
                                                                   "exact-filter"};
inline constexpr std::array kCableFields = {
    Field<Cable>{"stiffness", &Cable::stiffness},
    Field<Cable>{"damping", &Cable::damping},
};
inline constexpr std::array kFluidFields = {
    Field<Fluid>{"density", &Fluid::density},
    Field<Fluid>{"viscosity", &Fluid::viscosity},
};
inline constexpr std::array kTendonFields = {
    Field<FixedTendon>{"stiffness", &FixedTendon::stiffness},
    Field<FixedTendon>{"damping", &FixedTendon::damping},
    Field<FixedTendon>{"rest", &FixedTendon::rest},
    Field<FixedTendon>{"limit_stiffness", &FixedTendon::limit_stiffness},
    Field<FixedTendon>{"limit_damping", &FixedTendon::limit_damping},
};
inline constexpr std::array kCouplingFields = {
    Field<Coupling>{"follower_start", &Coupling::follower_start},
    Field<Coupling>{"leader_start", &Coupling::leader_start},
    Field<Coupling>{"stiffness", &Coupling::stiffness},
    Field<Coupling>{"damping", &Coupling::damping},
};
inline constexpr std::array kSensorFields = {
    Field<Sensor>{"noise", &Sensor::noise},
    Field<Sensor>{"cutoff", &Sensor::cutoff},
    Field<Sensor>{"rate", &Sensor::rate},
};
inline constexpr std::array kControllerFields = {
    Field<Controller>{"target", &Controller::target},
    Field<Controller>{"target_velocity", &Controller::target_velocity},
    Field<Controller>{"stiffness", &Controller::stiffness},
    Field<Controller>{"damping", &Controller::damping},
    Field<Controller>{"limit", &Controller::limit},
};
inline constexpr std::array kSliderFields = {
    Field<Slider>{"min", &Slider::min},
    Field<Slider>{"max", &Slider::max},
    Field<Slider>{"value", &Slider::value},
};
inline constexpr std::array kForceVectors = {
    Field<ForceAction, Vec3>{"point", &ForceAction::point},
    Field<ForceAction, Vec3>{"force", &ForceAction::force},
    Field<ForceAction, Vec3>{"moment", &ForceAction::moment},
};

// A member that is added to one of these structs needs a row here and in the table of keys.
static_assert(sizeof(Surface) == kSurfaceFields.size() * sizeof(double));
static_assert(sizeof(DofProperties) == (kDofFields.size() + 2) * sizeof(double));  // lower, upper
static_assert(sizeof(StabilizationSettings) == (kStabilizationFields.size() + 1) * sizeof(double));  // kind
static_assert(sizeof(PenaltySettings) == (kPenaltyFields.size() + 1) * sizeof(double));  // is_explicit
static_assert(sizeof(SleepSettings) == (kSleepFields.size() + 1) * sizeof(double));      // enabled
static_assert(sizeof(WorldSettings) - sizeof(StabilizationSettings) - sizeof(PenaltySettings) -
                  sizeof(SleepSettings) ==
              (kSettingNumbers.size() + 6) * sizeof(double));  // integers, flags and words, packed

/// In the order of SensorKind, as words of the table.
inline constexpr std::array<std::string_view, 24> kSensorWords = {"joint-position",
                                                                  "joint-velocity",
                                                                  "joint-effort",
                                                                  "actuator-position",
                                                                  "actuator-velocity",
                                                                  "actuator-force",
                                                                  "gyro",
                                                                  "accelerometer",
                                                                  "velocimeter",
                                                                  "inertial-unit",
                                                                  "force",
                                                                  "torque",
                                                                  "force-torque",
                                                                  "touch",
                                                                  "frame-position",
                                                                  "frame-orientation",
                                                                  "frame-axis",
                                                                  "frame-linear-velocity",
                                                                  "frame-angular-velocity",
                                                                  "frame-linear-acceleration",
                                                                  "frame-angular-acceleration",
                                                                  "rangefinder",
                                                                  "camera",
                                                                  "other"};

}  // namespace karakuri::io
