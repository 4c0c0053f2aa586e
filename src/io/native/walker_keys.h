// The keys of walkers, and which is which member.
#pragma once

#include "io/native/fields.h"
#include "io/native/table.h"

namespace karakuri::io {

namespace walker_table {

using enum KeyType;

constexpr Key kWalkerKeys[] = {
    Key{"name", kText, "", "Its name."}.needed(),
    Key{"root", kText, "", "The pelvis, which hangs on the world by a free joint."}.needed(),
    Key{"feet", kTexts, "", "The bodies of the left and the right foot."}.many(2).needed(),
    Key{"sole", kNumbers, "[0, 0, 0]",
        "The point of the left sole below the ankle, in the foot's frame; y is mirrored."}
        .many(3)
        .in("m"),
    Key{"sole_box", kNumbers, "[-0.1, -0.06, 0.1, 0.06]",
        "What carries of the left sole: x and y of two corners, from that point."}
        .many(4)
        .in("m"),
    {"passive", kTextOrTexts, "none", "Joints without a motor, such as bushes; * stands for any letters."},
    Key{"posture", kNamed, "0", "Where other joints are wanted, as far as walking leaves them free."}.in(
        "rad or m"),
    Key{"floor", kNumber, "0", "Height of the floor where it begins."}.in("m"),
    {"place", kFlag, "true", "At the start root and joints are put where the walk begins."},
    Key{"first", kWord, "left", "The foot that steps first."}.one_of("left right"),
    Key{"gait", kSection, "", "How it walks."}.a("gait"),
    Key{"stabilizer", kFlagOrSection, "false",
        "Feedback from attitude, centre of mass and forces on the feet."}
        .a("stabilizer"),
    Key{"plan", kListOrSection, "", "What it does by itself: steps, then to a stand."}.a("steps"),
    Key{"footsteps", kList, "", "The same as places of the soles, from the first middle between the feet."}.a(
        "footstep"),
};
constexpr Key kGaitKeys[] = {
    Key{"height", kNumber, "0.8", "Of the centre of mass above the soles."}.in("m").above(0),
    Key{"step_time", kNumber, "0.8", "From one landing to the next."}.in("s").above(0),
    Key{"double_support", kNumber, "0.1", "Of that, on both feet."}.in("s").from(0),
    Key{"start_time", kNumber, "1", "On both feet before the first step and after the last."}.in("s").above(
        0),
    Key{"swing_height", kNumber, "0.05", "How high a foot swings."}.in("m").above(0),
    Key{"spacing", kNumber, "0.1", "From the middle to each foot."}.in("m").above(0),
    Key{"zmp_forward", kNumber, "0", "Where the ZMP is wanted, from the point of the sole."}.in("m"),
    Key{"zmp_inward", kNumber, "0", "Likewise, towards the other foot."}.in("m"),
    Key{"max_forward", kNumber, "0.25", "Longest step."}.in("m").from(0),
    Key{"max_side", kNumber, "0.06", "Longest step to the side."}.in("m").from(0),
    Key{"max_turn", kNumber, "0.35", "Most that a step turns."}.in("rad").from(0),
    Key{"period", kNumber, "0.005", "Of the plan's samples."}.in("s").above(0),
    Key{"horizon", kNumber, "1.6", "How far preview control looks ahead."}.in("s").above(0),
    Key{"zmp_weight", kNumber, "1", "Q of preview control."}.above(0),
    Key{"jerk_weight", kNumber, "1e-6", "R of preview control."}.above(0),
    Key{"correction", kNumber, "0.8", "Horizon of the second pass; 0: none."}.in("s").from(0).to(10),
    Key{"feedforward", kNumber, "1",
        "Share of the planned motion's efforts that drives are given beside their targets."}
        .from(0)
        .to(1),
    Key{"trunk_cost", kNumber, "1", "What it costs to move joints that are not the legs'."}.above(0),
};
constexpr Key kStabilizerKeys[] = {
    {"enabled", kFlag, "true", "Whether it acts."},
    Key{"capture_gain", kNumber, "1.5",
        "How fast the capture point comes back, in units of the pendulum's own rate."}
        .from(0),
    Key{"capture_integral", kNumber, "0", "The same of its integral."}.in("1/s").from(0),
    Key{"compliance", kNumber, "0", "Turn per moment of what gives way below the ankles, fed forward."}
        .in("rad/(N m)")
        .from(0),
    Key{"attitude", kNumber, "1", "Share of the attitude's error by which feet are turned back."}.from(0),
    Key{"root_attitude", kNumber, "0", "Share of the attitude's error by which the root is turned back."}
        .from(0),
    Key{"step_gain", kNumber, "0", "Share of the capture point's error by which the next landing is moved."}
        .from(0),
    Key{"max_shift", kNumber, "0.15", "Most that a landing is moved."}.in("m").from(0),
    Key{"ankle_admittance", kNumber, "0.01", "Turn rate of a foot per error of its moment."}
        .in("rad/(N m s)")
        .from(0),
    Key{"ankle_leak", kNumber, "0.3", "Time in which that comes back."}.in("s").above(0),
    Key{"force_admittance", kNumber, "1e-4", "Speed of the feet's difference in height per error of force."}
        .in("m/(N s)")
        .from(0),
    Key{"force_leak", kNumber, "0.3", "Time in which that comes back."}.in("s").above(0),
    Key{"max_turn", kNumber, "0.15", "Most that a foot is turned."}.in("rad").from(0),
    Key{"max_lift", kNumber, "0.03", "Most that the feet differ in height."}.in("m").from(0),
    Key{"margin", kNumber, "0.01", "The ZMP is kept so far inside the soles."}.in("m").from(0),
    Key{"filter", kNumber, "0.01", "Time constant of the measured forces."}.in("s").from(0),
};
constexpr Key kStepsKeys[] = {
    Key{"count", kInteger, "1", "How many."}.from(0).to(100000),
    Key{"forward", kNumber, "0", "Of a step; the middle between the feet goes so far."}.in("m"),
    Key{"side", kNumber, "0", "To the left."}.in("m"),
    Key{"turn_deg", kNumber, "0", "To the left."}.in("deg"),
    Key{"turn", kNumber, "0", "The same in radians."}.in("rad"),
};
constexpr Key kFootstepKeys[] = {
    Key{"side", kWord, "", "Which foot."}.one_of("left right").needed(),
};

}  // namespace walker_table

inline constexpr std::array kGaitFields = {
    Field<Gait>{"height", &Gait::height},
    Field<Gait>{"step_time", &Gait::step_time},
    Field<Gait>{"double_support", &Gait::double_support},
    Field<Gait>{"start_time", &Gait::start_time},
    Field<Gait>{"swing_height", &Gait::swing_height},
    Field<Gait>{"spacing", &Gait::spacing},
    Field<Gait>{"zmp_forward", &Gait::zmp_forward},
    Field<Gait>{"zmp_inward", &Gait::zmp_inward},
    Field<Gait>{"max_forward", &Gait::max_forward},
    Field<Gait>{"max_side", &Gait::max_side},
    Field<Gait>{"max_turn", &Gait::max_turn},
    Field<Gait>{"period", &Gait::period},
    Field<Gait>{"horizon", &Gait::horizon},
    Field<Gait>{"zmp_weight", &Gait::zmp_weight},
    Field<Gait>{"jerk_weight", &Gait::jerk_weight},
    Field<Gait>{"correction", &Gait::correction},
    Field<Gait>{"feedforward", &Gait::feedforward},
    Field<Gait>{"trunk_cost", &Gait::trunk_cost},
};
inline constexpr std::array kStabilizerFields = {
    Field<Stabilizing>{"capture_gain", &Stabilizing::capture_gain},
    Field<Stabilizing>{"capture_integral", &Stabilizing::capture_integral},
    Field<Stabilizing>{"compliance", &Stabilizing::compliance},
    Field<Stabilizing>{"attitude", &Stabilizing::attitude},
    Field<Stabilizing>{"root_attitude", &Stabilizing::root_attitude},
    Field<Stabilizing>{"step_gain", &Stabilizing::step_gain},
    Field<Stabilizing>{"max_shift", &Stabilizing::max_shift},
    Field<Stabilizing>{"ankle_admittance", &Stabilizing::ankle_admittance},
    Field<Stabilizing>{"ankle_leak", &Stabilizing::ankle_leak},
    Field<Stabilizing>{"force_admittance", &Stabilizing::force_admittance},
    Field<Stabilizing>{"force_leak", &Stabilizing::force_leak},
    Field<Stabilizing>{"max_turn", &Stabilizing::max_turn},
    Field<Stabilizing>{"max_lift", &Stabilizing::max_lift},
    Field<Stabilizing>{"margin", &Stabilizing::margin},
    Field<Stabilizing>{"filter", &Stabilizing::filter},
};
inline constexpr std::array kStepFields = {
    Field<StepCommand>{"forward", &StepCommand::forward},
    Field<StepCommand>{"side", &StepCommand::side},
};
static_assert(sizeof(Gait) == kGaitFields.size() * sizeof(double));
static_assert(sizeof(Stabilizing) == (kStabilizerFields.size() + 1) * sizeof(double));  // enabled

}  // namespace karakuri::io
