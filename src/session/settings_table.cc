#include "session/settings_table.h"

#include <array>

namespace karakuri::session_detail {

namespace {

template <auto from_name>
Result<double> number_of(std::string_view word) {
  const auto found = from_name(word);
  if (!found.ok()) return found.errors();
  return static_cast<double>(*found);
}

// One entry for each member: its name is its path.
#define KARAKURI_SETTING(path, label, kind, word)                                           \
  Setting {                                                                                 \
    label, kind, [](const WorldSettings& s) { return static_cast<double>(s.path); },        \
        [](WorldSettings& s, double x) { s.path = static_cast<decltype(s.path)>(x); }, word \
  }
#define KARAKURI_NUMBER(path) KARAKURI_SETTING(path, #path, SettingKind::kNumber, nullptr)
#define KARAKURI_COUNT(path) KARAKURI_SETTING(path, #path, SettingKind::kCount, nullptr)
#define KARAKURI_SWITCH(path) KARAKURI_SETTING(path, #path, SettingKind::kSwitch, nullptr)

const std::array kSettings = {
    KARAKURI_NUMBER(dt),
    KARAKURI_COUNT(substeps),
    KARAKURI_SETTING(integrator, "integrator", SettingKind::kWord, number_of<integrator_from_name>),
    KARAKURI_SETTING(contact, "contact", SettingKind::kWord, number_of<contact_model_from_name>),
    KARAKURI_SETTING(solver, "solver", SettingKind::kWord, number_of<solver::method_from_name>),
    KARAKURI_NUMBER(tolerance),
    KARAKURI_COUNT(max_sweeps),
    KARAKURI_COUNT(max_newton),
    KARAKURI_COUNT(max_newton_rows),
    KARAKURI_SETTING(stabilization.kind, "stabilization.kind", SettingKind::kWord,
                     number_of<stabilization_from_name>),
    KARAKURI_NUMBER(stabilization.erp),
    KARAKURI_NUMBER(stabilization.cfm),
    KARAKURI_NUMBER(stabilization.beta),
    KARAKURI_NUMBER(stabilization.gamma),
    KARAKURI_NUMBER(stabilization.stiffness),
    KARAKURI_NUMBER(stabilization.damping),
    KARAKURI_NUMBER(stabilization.slop),
    KARAKURI_NUMBER(stabilization.max_speed),
    KARAKURI_NUMBER(penalty.stiffness),
    KARAKURI_NUMBER(penalty.damping),
    KARAKURI_NUMBER(penalty.tangential_share),
    KARAKURI_NUMBER(contact_margin),
    KARAKURI_NUMBER(restitution_threshold),
    KARAKURI_SWITCH(continuous),
    KARAKURI_SWITCH(warm_start),
    KARAKURI_SWITCH(sleep.enabled),
    KARAKURI_NUMBER(sleep.speed),
    KARAKURI_NUMBER(sleep.time),
    KARAKURI_COUNT(threads),
};

}  // namespace

std::span<const Setting> all_settings() { return kSettings; }

int find_setting(std::string_view name) {
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    if (name == kSettings[i].name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace karakuri::session_detail
