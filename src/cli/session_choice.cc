#include "session_choice.h"

#include <limits>

#include "common.h"
#include "karakuri/session/doubts.h"

namespace karakuri::cli {

namespace {

using Errors = std::vector<Diagnostic>;

template <class T>
void take(Errors& errors, const Result<T>& found, T& into) {
  if (found.ok()) {
    into = *found;
  } else {
    errors.insert(errors.end(), found.errors().begin(), found.errors().end());
  }
}

/// Options that replace what the file says.
Errors override_settings(const SessionChoice& options, WorldSettings& settings) {
  Errors errors;
  if (options.dt) settings.dt = *options.dt;
  if (options.threads) settings.threads = *options.threads;
  if (!options.solver.empty()) take(errors, solver::method_from_name(options.solver), settings.solver);
  if (!options.contact.empty()) take(errors, contact_model_from_name(options.contact), settings.contact);
  if (!options.integrator.empty())
    take(errors, integrator_from_name(options.integrator), settings.integrator);
  if (errors.empty()) errors = find_flaws(settings);
  return errors;
}

Errors apply_sets(const SessionChoice& options, Session& session) {
  Errors errors;
  for (const std::string& text : options.sets) {
    const auto equals = text.find('=');
    if (equals == text.npos || equals == 0) {
      errors.push_back(
          {Severity::kError, "--set " + text, "it is not a key and a value", "write --set KEY=VALUE"});
      continue;
    }
    for (Diagnostic& d : session.set_text(text.substr(0, equals), text.substr(equals + 1))) {
      d.where = "--set " + text;
      errors.push_back(std::move(d));
    }
  }
  return errors;
}

}  // namespace

Result<Session> make_session(const SessionChoice& options) {
  Result<LoadedScene> scene = load(options.scene, options.load);
  if (!scene.ok()) return scene.errors();
  say(scene->notes);
  if (Errors errors = override_settings(options, scene->settings); !errors.empty()) return errors;
  Result<Session> session =
      Session::make(std::move(*scene), {.seed = options.seed, .keyframe = options.keyframe});
  if (!session.ok()) return session.errors();
  if (Errors errors = apply_sets(options, *session); !errors.empty()) return errors;
  say(find_doubts(*session));
  return session;
}

void add_session_options(CLI::App& sub, SessionChoice& choice) {
  add_scene(sub, choice.scene, "SCENE");
  sub.add_option("--keyframe", choice.keyframe,
                 "Start at this keyframe of the scene, given by name or number")
      ->type_name("NAME");
  sub.add_option("--set", choice.sets,
                 "Set a named value, such as settings.dt=0.002 or joint.elbow.target=1; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  sub.add_option("--seed", choice.seed,
                 "Seed of the random numbers, such as the noise of sensors (default: 0)")
      ->type_name("N")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  sub.add_option("--dt", choice.dt, "Time step (default: as in the scene)")
      ->type_name("SECONDS")
      ->check(number(1e-9, 10));
  sub.add_option(
         "--solver", choice.solver,
         "Contact solver: default, block, newton, pgs, pgs-isotropic, springhead, dantzig, lemke, quickstep")
      ->type_name("NAME");
  sub.add_option("--contact", choice.contact, "Contact model: cone, pyramid, penalty, none")
      ->type_name("NAME");
  sub.add_option("--integrator", choice.integrator, "Integrator: semi-implicit, symplectic, rk4, explicit")
      ->type_name("NAME");
  sub.add_option("--threads", choice.threads,
                 "Number of threads (default: 1); results are bit-identical for any number")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  add_load_options(sub, choice.load);
}

}  // namespace karakuri::cli
