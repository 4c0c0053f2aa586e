// The part of the table that says how the world steps.
#pragma once

#include "io/native/table.h"

namespace karakuri::io {

using enum KeyType;

inline constexpr Key kSettingsKeys[] = {
    Key{"dt", kNumber, "0.001", "Time step."}.in("s").above(0),
    Key{"substeps", kInteger, "1", "Steps within a time step, each with its own contacts."}.from(1).to(1000),
    Key{"integrator", kWord, "semi-implicit", "How positions follow velocities."}.one_of(
        "semi-implicit symplectic rk4 explicit"),
    Key{"contact", kWord, "cone", "Contact model."}.one_of("cone pyramid penalty none"),
    Key{"solver", kWord, "default", "Method for contact forces."}.one_of(
        "default block newton pgs pgs-isotropic springhead dantzig lemke"),
    Key{"tolerance", kNumber, "5e-10", "Of the velocities along constraints."}.in("m/s").above(0),
    Key{"acceptable", kNumber, "1e-6", "What contacts that contradict each other may leave of the same."}
        .in("m/s")
        .from(0),
    Key{"max_sweeps", kInteger, "100", "Of Gauss-Seidel methods."}.from(0),
    Key{"max_newton", kInteger, "10", "Linear solves of the Newton method."}.from(0),
    Key{"max_newton_rows", kInteger, "1500", "Above so many rows the Newton method is not tried."}.from(0),
    Key{"contact_margin", kNumber, "0.001", "Contacts are known from this distance on."}.in("m").from(0),
    Key{"restitution_threshold", kNumber, "0.01", "Slower impacts do not bounce."}.in("m/s").from(0),
    {"continuous", kFlag, "true", "Fast bodies stop at what they would have passed."},
    {"warm_start", kFlag, "true", "Start from the forces of the last step."},
    Key{"threads", kInteger, "1", "Threads that share the work."}.from(1).to(1024),
    Key{"stabilization", kSection, "", "How position errors are undone."}.a("stabilization"),
    Key{"penalty", kSection, "", "Contact springs of the penalty model."}.a("penalty"),
    Key{"sleep", kSection, "", "When what lies still is left alone."}.a("sleep"),
};

inline constexpr Key kStabilizationKeys[] = {
    Key{"kind", kWord, "position", "Way of undoing position errors."}.one_of(
        "position erp baumgarte penalty none"),
    Key{"erp", kNumber, "0.2", "Share of the error that one step undoes."}.from(0).to(1),
    Key{"cfm", kNumber, "0", "Softness of erp."}.in("m/(N s)").from(0),
    Key{"beta", kNumber, "5", "Of baumgarte."}.in("1/s").from(0),
    Key{"gamma", kNumber, "5", "Of baumgarte."}.in("1/s").from(0),
    Key{"stiffness", kNumber, "1e6", "Of penalty."}.in("N/m").from(0),
    Key{"damping", kNumber, "1000", "Of penalty."}.in("N s/m").from(0),
    Key{"slop", kNumber, "5e-5", "Depth of contacts that is left alone."}.in("m").from(0),
    Key{"max_speed", kNumber, "1", "With which contacts are pushed apart, at most."}.in("m/s").from(0),
};
inline constexpr Key kPenaltyKeys[] = {
    Key{"stiffness", kNumber, "1e5", "Normal force per depth."}.in("N/m").above(0),
    Key{"damping", kNumber, "100", "Normal force per rate of depth."}.in("N s/m").from(0),
    Key{"tangential_share", kNumber, "1", "The same along the surface, relative to the normal's."}.from(0),
};
inline constexpr Key kSleepKeys[] = {
    {"enabled", kFlag, "true", "Whether anything sleeps."},
    Key{"speed", kNumber, "0.001", "Slower than this, and ten times this for turning in rad/s."}
        .in("m/s")
        .from(0),
    Key{"time", kNumber, "0.5", "For so long."}.in("s").from(0),
};

}  // namespace karakuri::io
