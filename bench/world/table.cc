#include "table.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace karakuri::bench {

namespace {

constexpr const char* kLine =
    "{:<22} {:<9} {:<16} {:>9} {:>9} {:>6} {:>8} {:>9} {:>9} {:>6} {:>6} {:>7} {:>9} {:>6}\n";

/// Three digits, and the point where it is easy to read.
std::string digits(double x) { return fmt::format("{:.{}f}", x, x < 10 ? 2 : x < 100 ? 1 : 0); }

std::string moved_text(const Entry& entry, const EngineResult& engine, bool last) {
  if (!last || entry.stands_within == 0) return "";
  return engine.moved < 1 ? fmt::format("{:.3g}", 1e3 * engine.moved) : "> 1 m";
}

std::string stands_text(const Entry& entry, const EngineResult& engine, bool last) {
  if (!last || entry.stands_within == 0) return "";
  return engine.stands ? "yes" : "NO";
}

nlohmann::json times_json(const StepTimes& t) {
  return {{"hooks", 1e6 * t.hooks},  {"dynamics", 1e6 * t.dynamics}, {"collision", 1e6 * t.collision},
          {"rows", 1e6 * t.rows},    {"solve", 1e6 * t.solve},       {"integrate", 1e6 * t.integrate},
          {"finish", 1e6 * t.finish}};
}

nlohmann::json engine_json(const SceneResult& scene, const EngineResult& engine) {
  nlohmann::json json{{"engine", engine.engine}};
  if (!engine.trouble.empty()) json["left_out"] = engine.trouble;
  for (const PhaseResult& p : engine.phases) {
    nlohmann::json row{{"phase", p.phase},
                       {"mean_us", p.mean},
                       {"worst_us", p.worst},
                       {"contacts", p.contacts},
                       {"depth_m", p.penetration}};
    if (const PhaseResult* reference = scene.find(scene.entry.reference, p.phase)) {
      row["ratio"] = p.mean / reference->mean;
    }
    if (engine.engine == kOurs) {
      row["residual"] = p.residual;
      row["sweeps"] = p.sweeps;
      row["linear_solves"] = p.newton;
      row["energy_made"] = p.made;
      row["unconverged"] = p.unconverged;
      row["times_us"] = times_json(p.times);
    }
    json["phases"].push_back(row);
  }
  if (scene.entry.stands_within > 0 && !engine.phases.empty()) {
    json["moved_m"] = engine.moved < kInfinity ? engine.moved : -1;
    json["stands"] = engine.stands;
  }
  return json;
}

}  // namespace

const PhaseResult* SceneResult::find(const std::string& engine, const std::string& phase) const {
  for (const EngineResult& e : engines) {
    if (e.engine != engine) continue;
    for (const PhaseResult& p : e.phases) {
      if (p.phase == phase) return &p;
    }
  }
  return nullptr;
}

void print_head() {
  fmt::print(fmt::runtime(kLine), "scene", "phase", "engine", "mean[us]", "worst", "ratio", "contacts",
             "depth[mm]", "residual", "sweeps", "solves", "made", "moved[mm]", "stands");
}

void print_scene(const SceneResult& scene) {
  for (std::size_t k = 0; k < scene.entry.phases.size(); ++k) {
    const Phase& phase = scene.entry.phases[k];
    const bool last = k + 1 == scene.entry.phases.size();
    const PhaseResult* reference = scene.find(scene.entry.reference, phase.name);
    std::string name = k == 0 ? scene.entry.name : "", phase_name = phase.name;
    for (const EngineResult& engine : scene.engines) {
      const PhaseResult* p = scene.find(engine.engine, phase.name);
      const bool ours = engine.engine == kOurs;
      if (p) {
        fmt::print(fmt::runtime(kLine), name, phase_name, engine.engine, digits(p->mean), digits(p->worst),
                   reference ? fmt::format("{:.2f}", p->mean / reference->mean) : "-",
                   fmt::format("{:.0f}", p->contacts), fmt::format("{:.3f}", 1e3 * p->penetration),
                   ours ? fmt::format("{:.0e}", p->residual) : "",
                   ours ? fmt::format("{:.1f}", p->sweeps) : "", ours ? fmt::format("{:.1f}", p->newton) : "",
                   ours ? fmt::format("{:.0e}", p->made) : "", moved_text(scene.entry, engine, last),
                   stands_text(scene.entry, engine, last));
      } else if (last) {
        fmt::print("{:<22} {:<9} {:<16} {:>9}  {}\n", name, phase_name, engine.engine, "-", engine.trouble);
      }
      if (p || last) name = phase_name = "";
    }
  }
  fmt::print("\n");
}

void print_profile(const std::vector<SceneResult>& scenes) {
  fmt::print("Where the time of our steps goes [us]\n\n{:<22} {:<9}", "scene", "phase");
  for (const char* part : {"hooks", "dynamics", "collision", "rows", "solve", "integrate", "finish"}) {
    fmt::print(" {:>9}", part);
  }
  fmt::print("\n");
  for (const SceneResult& scene : scenes) {
    for (const Phase& phase : scene.entry.phases) {
      const PhaseResult* p = scene.find(kOurs, phase.name);
      if (!p) continue;
      const StepTimes& t = p->times;
      // they are of the clock on the wall: where others use the machine too, only their shares tell
      const double scale = p->mean / t.total();
      fmt::print("{:<22} {:<9}", scene.entry.name, phase.name);
      for (const double seconds :
           {t.hooks, t.dynamics, t.collision, t.rows, t.solve, t.integrate, t.finish}) {
        fmt::print(" {:>9.2f}", scale * seconds);
      }
      fmt::print("\n");
    }
  }
  fmt::print("\n");
}

nlohmann::json as_json(const std::vector<SceneResult>& scenes, const Report& report) {
  nlohmann::json json{{"title", report.title},
                      {"scenes", nlohmann::json::array()},
                      {"aims", nlohmann::json::array()},
                      {"notes", report.notes}};
  for (const SceneResult& scene : scenes) {
    nlohmann::json row{{"scene", scene.entry.name},
                       {"bodies", scene.bodies},
                       {"dofs", scene.dofs},
                       {"dt", scene.dt},
                       {"reference", scene.entry.reference}};
    for (const EngineResult& engine : scene.engines) row["engines"].push_back(engine_json(scene, engine));
    json["scenes"].push_back(row);
  }
  for (const Aim& a : report.aims) {
    json["aims"].push_back({{"what", a.what}, {"value", a.value}, {"at_most", a.at_most}, {"met", a.met()}});
  }
  return json;
}

}  // namespace karakuri::bench
