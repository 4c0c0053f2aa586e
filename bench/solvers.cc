// Contact solvers: residual, sweeps and time per contact of every method, against published times
#include <Eigen/LU>
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "karakuri/core/random.h"
#include "karakuri/dynamics/jacobian.h"
#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"
#include "support/options.h"
#include "support/report.h"
#include "support/siconos_reader.h"
#include "support/test_models.h"
#include "support/timing.h"

namespace karakuri::bench {
namespace {

using solver::Method;
using solver::Problem;

constexpr Method kMethods[] = {Method::kDefault,      Method::kBlock,      Method::kNewton,  Method::kPgs,
                               Method::kPgsIsotropic, Method::kSpringhead, Method::kDantzig, Method::kLemke};

struct Options {
  std::string json;
  std::string corpus;
  int rounds = 5;
  bool robots_only = false;
};

struct Subject {
  std::string name;
  Problem problem;
};

struct Row {
  std::string subject;
  std::string method;
  double tolerance = 0;
  int contacts = 0;
  std::string status;
  double residual = 0;  // natural map over |q|
  int sweeps = 0;       // or pivots
  int newton = 0;
  double microseconds = 0;  // per contact, best round
};

/// Mean time per contact of the best of all solvers that Acary, Brémond and Huber tried on a family of
/// problems [µs].
struct Published {
  std::string_view family;
  double tolerance;
  double microseconds;
};
constexpr Published kPublished[] = {{"Capsules", 1e-8, 57},
                                    {"Kapla", 1e-4, 34},
                                    {"Kapla", 1e-8, 184},
                                    {"BoxesStack", 1e-8, 324},
                                    {"Chain", 1e-8, 31}};

/// Dense pivoting takes minutes on the largest problems and says nothing new there.
bool worth_trying(Method method, const Problem& p) {
  if (method == Method::kLemke) return p.block_count() <= 60 || p.blocks.front().size == 2;
  return method != Method::kDantzig || p.rows() <= 800;
}

/// Processor time of one call in the best round [µs]: there is no peer to race with here, and calls last
/// longer than the system leaves us alone.
template <class Call>
double cpu_microseconds(const Call& call, int rounds) {
  double best = 1e300;
  for (int k = 0; k < rounds; ++k) {
    int calls = 0;
    const std::clock_t start = std::clock();
    std::clock_t now = start;
    do {
      call();
      ++calls;
      now = std::clock();
    } while (now - start < CLOCKS_PER_SEC / 1000);
    best = std::min(best, 1e6 * static_cast<double>(now - start) / CLOCKS_PER_SEC / calls);
  }
  return best;
}

Row measure(const Subject& subject, Method method, double tolerance, int rounds) {
  const Problem& p = subject.problem;
  solver::Workspace workspace;
  solver::Settings settings;
  settings.method = method;
  settings.tolerance = tolerance;
  settings.max_sweeps = method == Method::kDefault ? settings.max_sweeps : 5000;
  std::vector<double> lambda(p.rows());
  solver::Report report;
  const auto call = [&] {
    std::fill(lambda.begin(), lambda.end(), 0.0);
    const Result<solver::Report> result = solve(p, settings, workspace, lambda);
    if (result) report = result.value();
  };
  const double best = cpu_microseconds(call, rounds);
  const double q = norm_q(p);
  return {subject.name,
          std::string(name_of(method)),
          tolerance,
          p.block_count(),
          std::string(name_of(report.status)),
          q > 0 ? report.residual / q : report.residual,
          report.sweeps + report.pivots,
          report.newton_iterations,
          best / p.block_count()};
}

std::vector<Subject> subjects(const Options& options, Report& report) {
  std::vector<Subject> all;
  const std::filesystem::path folder = std::filesystem::path(options.corpus) / "friction-problems";
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  if (files.empty()) report.notes.push_back("no external problems in " + folder.string() + " (--corpus)");
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    Result<Problem> problem = test::read_siconos(file);
    if (problem) {
      const std::string name = file.filename().string();
      all.push_back({name.substr(0, name.find(".dat")), std::move(problem).value()});
    } else {
      report.notes.push_back(to_string(problem.errors()));
    }
  }
  all.push_back({"tower of 20 boxes", test::box_tower(20, 0.5).problem});
  all.push_back({"pile of 64 spheres", test::sphere_pile(4, 0.5, 1).problem});
  return all;
}

void print_table(const std::vector<Row>& rows) {
  fmt::print("{:<36} {:<14} {:>6} {:>9} {:>9} {:>7} {:>7} {:>10}  {}\n", "problem", "method", "tol",
             "contacts", "residual", "sweeps", "newton", "µs/contact", "status");
  std::string last;
  for (const Row& r : rows) {
    if (r.subject != last && !last.empty()) fmt::print("\n");
    last = r.subject;
    fmt::print("{:<36} {:<14} {:>6.0e} {:>9} {:>9.1e} {:>7} {:>7} {:>10.2f}  {}\n", r.subject, r.method,
               r.tolerance, r.contacts, r.residual, r.sweeps, r.newton, r.microseconds, r.status);
  }
  fmt::print("\n");
}

/// A humanoid of 36 degrees of freedom that touches with the corners of its feet, and beyond eight contacts
/// with its hands, shins, forearms, and so on: four points each. Falls freely; its velocity wanders from step
/// to step.
class Robot {
 public:
  Robot(int contacts, double mu) : random_(7) {
    const Mechanism mechanism = test::humanoid36();
    const Model model = test::compile_or_die(mechanism);
    dofs_ = model.nv;
    State state(model);
    for (int k = 7; k < model.nq; ++k) state.q[k] += random_.uniform(-0.3, 0.3);  // bent, as robots stand
    karakuri::Workspace ws(model);
    MassMatrix mass(model);
    crba(model, state, ws, mass);
    Eigen::MatrixXd dense(dofs_, dofs_);
    to_dense(model, mass, dense);
    const Eigen::MatrixXd inverse = dense.inverse();
    problem.clear(solver::OperatorKind::kMatrixFree);
    problem.add_subsystem(dofs_);
    constexpr const char* kParts[] = {"foot", "hand", "shin", "forearm", "thigh"};
    for (int i = 0; i < contacts; ++i) {
      const std::string name = std::string(i / 4 % 2 == 0 ? "left." : "right.") + kParts[i / 8];
      const Vec3 point(i < 8 ? 0.05 + ((i & 1) != 0 ? 0.125 : -0.125) : ((i & 1) != 0 ? 0.04 : -0.04),
                       (i & 2) != 0 ? 0.06 : -0.06, -0.075);
      touch(model, ws, mechanism.find_link(name), point, mu, inverse);
    }
    // the neutral state's first three velocities turn the pelvis, the next three move it, or the other way
    // round: whatever the order, falling is what gives every point the same velocity
    Eigen::MatrixXd jacobian(6, dofs_);
    frame_jacobian(model, ws, mechanism.find_link("pelvis"), Vec3::Zero(), jacobian);
    Eigen::VectorXd fall(6);
    fall << 0, 0, 0, 0, 0, -9.81 * kStep;
    steady_ = Eigen::VectorXd::Zero(dofs_);
    steady_.head<6>() = jacobian.leftCols<6>().inverse() * fall;
    wander_ = Eigen::VectorXd::Zero(dofs_);
  }

  void advance() {
    for (double& w : wander_) w = 0.9 * w + 0.02 * 9.81 * kStep * random_.normal();
    const Eigen::VectorXd v = steady_ + wander_;
    const Eigen::Map<const RowMatrix> j(problem.jacobian.data(), problem.rows(), dofs_);
    Eigen::Map<Eigen::VectorXd>(problem.q.data(), problem.rows()) = j * v;
  }

  Problem problem;

 private:
  using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  static constexpr double kStep = 0.005;  // [s]

  void touch(const Model& model, const karakuri::Workspace& ws, LinkId link, const Vec3& point, double mu,
             const Eigen::MatrixXd& inverse) {
    Eigen::MatrixXd velocity(3, dofs_);
    point_jacobian(model, ws, link, point, velocity);
    RowMatrix j(3, dofs_);
    j << velocity.row(2), velocity.row(0), velocity.row(1);  // normal first
    const RowMatrix y = j * inverse;
    problem.add_cone(mu);
    const solver::Term term = problem.add_term(0);
    std::copy_n(j.data(), j.size(), problem.jacobian_of(term, 3).data());
    std::copy_n(y.data(), y.size(), problem.response_of(term, 3).data());
  }

  Random random_;
  int dofs_ = 0;
  Eigen::VectorXd steady_;
  Eigen::VectorXd wander_;
};

struct RobotRow {
  int contacts = 0;
  std::string storage;
  double tolerance = 0;
  double microseconds = 0;  // per contact and step
  double sweeps = 0;        // mean
  double worst = 0;         // residual over |q|
};

RobotRow measure_robot(int contacts, bool dense, double tolerance, int rounds) {
  constexpr int kSteps = 200;
  Robot robot(contacts, 0.8);
  std::vector<std::vector<double>> steps;  // q of each
  for (int k = 0; k < kSteps; ++k) {
    robot.advance();
    steps.push_back(robot.problem.q);
  }
  // One operator for all steps: in a simulation it has just been written when the solver starts, and is near.
  Problem problem = dense ? test::as_dense(robot.problem) : robot.problem;
  solver::Workspace workspace;
  solver::Settings settings;
  settings.tolerance = tolerance;
  std::vector<double> lambda(robot.problem.rows());
  RobotRow row{contacts, dense ? "dense" : "matrix-free", tolerance, 0, 0, 0};
  const auto call = [&] {
    row.sweeps = row.worst = 0;
    std::fill(lambda.begin(), lambda.end(), 0.0);
    for (const std::vector<double>& q : steps) {
      problem.q = q;
      const Result<solver::Report> r = solve(problem, settings, workspace, lambda);
      row.sweeps += static_cast<double>(r.value().sweeps) / kSteps;
      row.worst = std::max(row.worst, r.value().residual / norm_q(problem));
    }
  };
  row.microseconds = cpu_microseconds(call, rounds) / kSteps / contacts;
  return row;
}

nlohmann::json as_json(const std::vector<Row>& rows, const std::vector<RobotRow>& robots,
                       const Report& report) {
  nlohmann::json json{{"title", report.title},
                      {"rows", nlohmann::json::array()},
                      {"robots", nlohmann::json::array()},
                      {"aims", nlohmann::json::array()},
                      {"notes", report.notes}};
  for (const Row& r : rows)
    json["rows"].push_back({{"problem", r.subject},
                            {"method", r.method},
                            {"tolerance", r.tolerance},
                            {"contacts", r.contacts},
                            {"residual", r.residual},
                            {"sweeps", r.sweeps},
                            {"newton", r.newton},
                            {"us_per_contact", r.microseconds},
                            {"status", r.status}});
  for (const RobotRow& r : robots)
    json["robots"].push_back({{"contacts", r.contacts},
                              {"storage", r.storage},
                              {"tolerance", r.tolerance},
                              {"us_per_contact_step", r.microseconds},
                              {"sweeps", r.sweeps},
                              {"worst", r.worst}});
  for (const Aim& a : report.aims)
    json["aims"].push_back({{"what", a.what}, {"value", a.value}, {"at_most", a.at_most}, {"met", a.met()}});
  return json;
}

void aim_for_published(const Row& row, Report& report) {
  if (row.method != "default") return;
  report.aims.push_back({fmt::format("{}: residual over {:.0e}", row.subject, row.tolerance),
                         row.residual / row.tolerance, 1.0});
  for (const Published& best : kPublished)
    if (row.subject.starts_with(best.family) && row.tolerance == best.tolerance)
      report.aims.push_back(
          {fmt::format("{}: time at {:.0e} over the published best", row.subject, row.tolerance),
           row.microseconds / best.microseconds, 1.0});
}

int run(const Options& options) {
  pin_to_core();
  Report report;
  report.title = "contact solvers";
  std::vector<Row> rows;
  for (const Subject& subject : options.robots_only ? std::vector<Subject>{} : subjects(options, report)) {
    for (const double tolerance : {1e-4, 1e-8}) {
      for (const Method method : kMethods) {
        if (!worth_trying(method, subject.problem)) continue;
        show_progress(subject.name + " " + std::string(name_of(method)));
        rows.push_back(measure(subject, method, tolerance, options.rounds));
        aim_for_published(rows.back(), report);
      }
    }
  }
  std::vector<RobotRow> robots;
  for (const double tolerance : {1e-4, 1e-8})
    for (const bool dense : {true, false})
      for (const int contacts : {5, 8, 13, 20, 40}) {
        show_progress(fmt::format("robot with {} contacts", contacts));
        robots.push_back(measure_robot(contacts, dense, tolerance, options.rounds));
        if (tolerance == 1e-4)
          report.aims.push_back({fmt::format("robot, {} contacts, {}: µs per contact and step", contacts,
                                             robots.back().storage),
                                 robots.back().microseconds, 2.0});
      }
  show_progress("");
  print_table(rows);
  fmt::print("{:<9} {:<12} {:>6} {:>8} {:>9} {:>20}\n", "contacts", "storage", "tol", "sweeps", "worst",
             "µs/contact and step");
  for (const RobotRow& r : robots)
    fmt::print("{:<9} {:<12} {:>6.0e} {:>8.1f} {:>9.1e} {:>20.2f}\n", r.contacts, r.storage, r.tolerance,
               r.sweeps, r.worst, r.microseconds);
  fmt::print("\n");
  print(report);
  if (!options.json.empty() &&
      !(std::ofstream(options.json) << as_json(rows, robots, report).dump(1) << '\n')) {
    fmt::print(stderr, "cannot write {}\n", options.json);
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace karakuri::bench

int main(int argc, char** argv) {
  CLI::App app{"Contact solvers: every method on published and on made problems"};
  karakuri::bench::Options options;
#ifdef KARAKURI_CORPUS_DIR
  options.corpus = KARAKURI_CORPUS_DIR;
#endif
  app.add_option("--json", options.json, "also write the figures to this file");
  app.add_option("--corpus", options.corpus, "folder with friction-problems/*.dat");
  app.add_option("--rounds", options.rounds, "number of timings, of which the best counts")
      ->check(CLI::PositiveNumber);
  app.add_flag("--robots", options.robots_only, "only the warm-started robots");
  if (const auto code = karakuri::bench::parse_options(app, argc, argv)) return *code;
  return karakuri::bench::run(options);
}
