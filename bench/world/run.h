// Steps the worlds of all engines through a scene, and keeps what there is to tell.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine.h"

namespace karakuri::bench {

/// A stretch of simulated time that is told about by itself [s].
struct Phase {
  std::string name;
  double from = 0, to = 0;
};

struct Entry {
  std::string name;
  std::function<Setup()> make;
  std::string reference;  // the engine whose time is 1
  std::vector<Phase> phases;
  double stands_within =
      0;                 // it stands if no body ends farther than this from where it began [m]; 0: no stack
  bool is_timed = true;  // whether the reference's time is an aim
};

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
  double unconverged = 0;      // share of steps, ours only
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
std::vector<EngineResult> run(const Entry& entry, const std::vector<Stepper>& steppers, const RunPlan& plan);

}  // namespace karakuri::bench
