// Steps the worlds of all engines through a scene, and keeps what there is to tell.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine.h"
#include "scenes/entries.h"

namespace karakuri::bench {

struct Stepper {
  std::string name;
  std::function<Made(const Setup&)> make;
};

struct PhaseResult {
  std::string phase;
  double mean = 0, worst = 0;  // processor time of a step [us]
  double contacts = 0;         // mean
  double penetration = 0;      // deepest [m]
  double residual = 0;         // largest of the steps, ours only [m/s]
  double sweeps = 0;           // mean, ours only
  double newton = 0;           // mean, ours only
  double unconverged = 0;      // share of steps, ours only
  double made = 0;             // energy made, of what was exchanged, ours only
  StepTimes times;             // mean, ours only [s]
};

struct EngineResult {
  std::string engine;
  std::vector<PhaseResult> phases;  // empty: it did not come to the end
  double moved = 0;                 // farthest that a body got from its place in the last phase [m]
  bool stands = false;
  std::string trouble;  // why it is left out, or was stopped
};

struct RunPlan {
  int rounds = 5;       // each step's time is the best of so many runs through the scene,
  double seconds = 20;  //   or of fewer where a scene has taken this long
  double shorten = 1;   // phases last this much of their time
};

/// In each round all engines take turns of a few steps each: a disturbance meets all of them alike. An engine
/// that takes more than a second for several steps is stopped.
std::vector<EngineResult> run(const Entry& entry, const Setup& setup, const std::vector<Stepper>& steppers,
                              const RunPlan& plan);

}  // namespace karakuri::bench
