#include "kernels/own_ways.h"

#include <memory>

#include <fmt/format.h>

#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/response.h"
#include "kernels/plain_bodies.h"
#include "support/test_models.h"

namespace karakuri::bench {

namespace {

const char* kFactor = "factor";
const char* kPropagation = "propagation";
const char* kPlain = "plain loop";

/// Three rows (a contact) for each point, spread over the given bodies.
std::vector<ImpulseRow> contacts(const Model& model, const std::vector<int>& bodies, int points) {
  Random random(5);
  std::vector<ImpulseRow> rows;
  for (int i = 0; i < points; ++i) {
    const Vec3 point = test::random_vector(3, random);
    for (int k = 0; k < 3; ++k) {
      rows.push_back({.body = bodies[static_cast<std::size_t>(i) % bodies.size()] % model.body_count(),
                      .point = point,
                      .force = Vec3::Unit(k)});
    }
  }
  return rows;
}

struct ResponseBench {
  ResponseBench(const Mechanism& mechanism, const std::vector<std::string>& links, int points)
      : model(test::compile_or_die(mechanism)), ws(model), buffers(model) {
    std::vector<int> bodies;
    for (const std::string& link : links) bodies.push_back(model.find(mechanism.find_link(link))->body);
    rows = contacts(model, bodies, points);
    A.resize(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(rows.size()));
    Random random(6);
    update_poses(model, test::random_state(model, random), ws);
  }
  void run(ResponseMethod method) { response(model, rows, method, false, ws, buffers, A); }

  Model model;
  Workspace ws;
  ResponseBuffers buffers;
  std::vector<ImpulseRow> rows;
  Eigen::MatrixXd A;
};

void race_responses(const std::string& subject, const Mechanism& mechanism,
                    const std::vector<std::string>& links, int points, const TimingPlan& plan,
                    Report& report) {
  ResponseBench bench(mechanism, links, points);
  const std::string task = fmt::format("response, {} rows", bench.rows.size());
  report.comparisons.push_back({subject, task,
                                race({{kOurs, [&](int) { bench.run(ResponseMethod::kCheapest); }},
                                      {kFactor, [&](int) { bench.run(ResponseMethod::kFactor); }},
                                      {kPropagation, [&](int) { bench.run(ResponseMethod::kPropagation); }}},
                                     plan)});
}

PlainBody plain_copy(const Model& model, const State& state, const Eigen::VectorXd& tau, int i) {
  const Body& body = model.bodies[i];
  PlainBody plain{};
  std::copy_n(state.q.data() + body.first_q, 7, plain.q);
  std::copy_n(state.v.data() + body.first_v, 6, plain.v);
  std::copy_n(tau.data() + body.first_v, 6, plain.effort);
  plain.mass = body.mass;
  std::copy_n(body.inertia, 3, plain.moments);
  return plain;
}

void race_free_bodies(const TimingPlan& plan, Report& report) {
  Mechanism mechanism;
  Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const Vec3 size{random.uniform(0.1, 0.3), random.uniform(0.1, 0.3), random.uniform(0.1, 0.3)};
    mechanism.add_free_link(fmt::format("box{}", i), Inertia::solid_box(random.uniform(1, 2), size), {});
  }
  const Model model = test::compile_or_die(mechanism);
  const State state = test::random_state(model, random);
  const Eigen::VectorXd tau = test::random_vector(model.nv, random);
  Workspace ws(model);
  Eigen::VectorXd a(model.nv);
  std::vector<PlainBody> plain;
  for (int i = 1; i < model.body_count(); ++i) plain.push_back(plain_copy(model, state, tau, i));
  std::vector<double> plain_a(static_cast<std::size_t>(model.nv));
  report.comparisons.push_back(
      {"free1000", "forward dynamics",
       race({{kOurs, [&](int) { aba(model, state, tau, {}, ws, a); }},
             {kPlain, [&](int) { plain_forward_dynamics(plain, model.gravity.z(), plain_a); }}},
            plan)});
  const double error = (a - Eigen::Map<Eigen::VectorXd>(plain_a.data(), model.nv)).norm() / a.norm();
  if (!(error < 1e-12))
    report.notes.push_back(fmt::format("free1000: the plain loop differs by {:.1e}", error));
}

}  // namespace

Report race_own_ways(const TimingPlan& plan) {
  Report report{
      .title = "Our ways against each other, microseconds per call from poses on; best of all rounds",
      .peers = {kFactor, kPropagation, kPlain}};
  for (int points : {1, 8, 32}) {
    race_responses("humanoid36", test::humanoid36(), {"left.foot", "right.foot"}, points, plan, report);
  }
  for (int links : {8, 30, 100}) {
    race_responses(fmt::format("chain{}", links), test::chain(links), {fmt::format("bar{}", links - 1)}, 4,
                   plan, report);
  }
  race_free_bodies(plan, report);
  report.notes.push_back(
      "plain loop: Newton and Euler for bodies whose frame is central and principal, nothing kept but the "
      "accelerations; ours keeps poses, velocities and accelerations, and takes any frame.");
  return report;
}

}  // namespace karakuri::bench
