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
        "default block newton pgs pgs-isotropic springhead dantzig lemke quickstep"),
    Key{"tolerance", kNumber, "-1", "Of the velocities along constraints; -1: follows from the scene."}
        .in("m/s")
        .from(-1),
    Key{"acceptable", kNumber, "-1",
        "What contacts that contradict each other may leave of the same; -1: follows from the scene."}
        .in("m/s")
        .from(-1),
    Key{"max_sweeps", kInteger, "100", "Of Gauss-Seidel methods."}.from(1),
    Key{"max_newton", kInteger, "10", "Linear solves of the Newton method."}.from(0),
    Key{"max_newton_rows", kInteger, "1500", "Above so many rows the Newton method is not tried."}.from(0),
    Key{"max_work", kNumber, "4e8",
        "Multiplications for what acts on each other, in a step; where they run out, forces are safe but "
        "less "
        "exact."}
        .above(0)
        .to(1e18),
    Key{"pyramid_faces", kInteger, "8", "Of the friction pyramid of lemke; an even number."}.from(4).to(16),
    Key{"quickstep_iterations", kInteger, "20", "Of quickstep; always so many."}.from(1),
    Key{"quickstep_relaxation", kNumber, "1.3", "Of quickstep; less than 2."}.above(0).to(2),
    Key{"contact_margin", kNumber, "-1",
        "Contacts are known from this distance on; -1: follows from the scene."}
        .in("m")
        .from(-1),
    Key{"restitution_threshold", kNumber, "-1", "Slower impacts do not bounce; -1: follows from the scene."}
        .in("m/s")
        .from(-1),
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
    Key{"beta", kNumber, "-1", "Of baumgarte; -1: follows from the scene."}.in("1/s").from(-1),
    Key{"gamma", kNumber, "-1", "Of baumgarte; -1: follows from the scene."}.in("1/s").from(-1),
    Key{"stiffness", kNumber, "-1", "Of penalty; -1: follows from the scene."}.in("N/m").from(-1),
    Key{"damping", kNumber, "-1", "Of penalty; -1: follows from the scene."}.in("N s/m").from(-1),
    Key{"slop", kNumber, "-1", "Depth of contacts that is left alone; -1: follows from the scene."}
        .in("m")
        .from(-1),
    Key{"max_speed", kNumber, "-1",
        "With which contacts are pushed apart, at most; -1: follows from the scene."}
        .in("m/s")
        .from(-1),
};
inline constexpr Key kPenaltyKeys[] = {
    Key{"stiffness", kNumber, "-1",
        "Normal force per depth; negative: from the masses that meet and the step."}
        .in("N/m"),
    Key{"damping", kNumber, "-1", "Normal force per rate of depth; negative: critical."}.in("N s/m"),
    Key{"tangential_share", kNumber, "1", "The same along the surface, relative to the normal's."}.from(0),
    {"explicit", kFlag, "false", "Forces as they are at the start of the step, for comparison."},
};
inline constexpr Key kSleepKeys[] = {
    {"enabled", kFlag, "true", "Whether anything sleeps."},
    Key{"speed", kNumber, "-1",
        "Slower than this, and ten times this where it turns; -1: follows from the scene."}
        .in("m/s")
        .from(-1),
    Key{"time", kNumber, "-1", "For so long; -1: follows from the scene."}.in("s").from(-1),
};

}  // namespace karakuri::io
