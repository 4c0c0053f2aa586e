#include "support/island_corpus.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "karakuri/core/archive.h"

namespace karakuri {

namespace archive {

template <class Ar>
static void visit(Ar& ar, solver::Block& b) {
  visit_enum(ar, b.kind, solver::RowKind::kCone);
  visit(ar, b.row);
  visit(ar, b.size);
}
template <class Ar>
static void visit(Ar& ar, solver::Subsystem& s) {
  visit(ar, s.velocity);
  visit(ar, s.dof);
}
template <class Ar>
static void visit(Ar& ar, solver::Term& t) {
  visit(ar, t.subsystem);
  visit(ar, t.offset);
}
template <class Ar>
static void visit(Ar& ar, solver::Problem& p) {
  visit_enum(ar, p.storage, solver::OperatorKind::kMatrixFree);
  for (auto* numbers :
       {&p.q, &p.compliance, &p.lower, &p.upper, &p.friction, &p.jacobian, &p.response, &p.inverse_mass})
    visit(ar, *numbers);
  visit(ar, p.blocks);
  visit(ar, p.subsystems);
  visit(ar, p.term_start);
  visit(ar, p.terms);
}
template <class Ar>
static void visit(Ar& ar, solver::RigidBody& b) {
  visit(ar, b.mass);
  for (double* x : {b.com, b.v, b.w})
    for (int k = 0; k < 3; ++k) visit(ar, x[k]);
  for (double* x : {b.inertia, b.inverse_inertia})
    for (int k = 0; k < 6; ++k) visit(ar, x[k]);
}
template <class Ar>
static void visit(Ar& ar, solver::RigidPoint& p) {
  visit(ar, p.body);
  visit(ar, p.other);
  for (double* x : {p.axes[0], p.axes[1], p.axes[2], p.at, p.given, p.impulse})
    for (int k = 0; k < 3; ++k) visit(ar, x[k]);
  for (double* x : {&p.friction, &p.bias, &p.error}) visit(ar, *x);
}
template <class Ar>
static void visit(Ar& ar, solver::RigidIsland& i) {
  for (std::int32_t* x : {&i.first_body, &i.bodies, &i.first_point, &i.points}) visit(ar, *x);
  for (double* x : {&i.known.exact, &i.known.acceptable, &i.known.motion, &i.known.change, &i.known.fall,
                    &i.known.usual, &i.max_work})
    visit(ar, *x);
}
template <class Ar>
static void visit(Ar& ar, test::RecordedIsland& r) {
  visit(ar, r.scene);
  visit(ar, r.step);
  for (double* x : {&r.h, &r.fall, &r.speed, &r.tolerance, &r.residual}) visit(ar, *x);
  visit(ar, r.loose);
  visit(ar, r.sweeps);
  visit(ar, r.solves);
  visit(ar, r.problem);
  visit(ar, r.rigid.islands);
  visit(ar, r.rigid.bodies);
  visit(ar, r.rigid.points);
  for (auto* numbers : {&r.old, &r.velocity, &r.impulses}) visit(ar, *numbers);
}

}  // namespace archive

namespace test {

void IslandRecorder::follow(const std::string& scene, World& world) {
  scene_ = scene;
  places_.clear();
  world.add_hook(world_detail::ObserveIslands{this});
}

// Sampling without replacement with weights (Efraimidis and Spirakis, Inf. Process. Lett. 97, 2006): what has
// the smallest -log(u) / weight stays. Sampling without replacement with weights (Efraimidis and Spirakis,
// Inf. Process. Lett. 97, 2006): what has the smallest -log(u) / weight stays.
bool IslandRecorder::wants(int island, int rows, std::size_t numbers) {
  if (island == 0) open_.clear();
  if (numbers > most_numbers_) return false;
  ++seen_;
  key_ = -std::log(1 - random_.uniform()) / rows;
  return static_cast<int>(places_.size()) < most_ || (most_ > 0 && key_ < places_.front().key);
}

void IslandRecorder::before(int island, world_detail::IslandState state) {
  const auto later = [](const Place& a, const Place& b) { return a.key < b.key; };
  if (static_cast<int>(places_.size()) < most_) {
    places_.push_back({key_, kept_.size()});
    kept_.emplace_back();
  } else {
    std::pop_heap(places_.begin(), places_.end(), later);
    places_.back().key = key_;
  }
  const std::size_t at = places_.back().index;
  std::push_heap(places_.begin(), places_.end(), later);
  std::erase_if(open_, [&](const auto& o) { return o.second == at; });
  open_[island] = at;
  kept_[at] = {};
  static_cast<world_detail::IslandState&>(kept_[at]) = std::move(state);
  kept_[at].scene = scene_;
}

void IslandRecorder::after(int island, std::span<const double> impulses, const solver::Report& report) {
  const auto at = open_.find(island);
  if (at == open_.end()) return;  // another took its place
  RecordedIsland& r = kept_[at->second];
  r.impulses.assign(impulses.begin(), impulses.end());
  r.residual = report.residual;
  r.sweeps = report.sweeps;
  r.solves = report.newton_iterations;
}

std::vector<Diagnostic> write_islands(const std::filesystem::path& path,
                                      const std::vector<RecordedIsland>& all) {
  auto islands = all;  // an archive's visitors read and write
  archive::Sizer size;
  archive::visit(size, islands);
  std::vector<std::byte> bytes(size.value());
  archive::Writer writer(bytes.data());
  archive::visit(writer, islands);
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (out.flush()) return {};
  return {{Severity::kError, path.string(), "cannot be written", "choose a folder that exists"}};
}

Result<std::vector<RecordedIsland>> read_islands(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::vector<std::byte> bytes(in ? static_cast<std::size_t>(in.tellg()) : 0);
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::vector<RecordedIsland> islands;
  archive::Reader reader(bytes);
  archive::visit(reader, islands);
  if (in && reader.finished()) return islands;
  return Diagnostic{Severity::kError, path.string(), "cannot be read as recorded islands",
                    "record them anew: its format may have changed"};
}

std::vector<double> solve_rigid(const RecordedIsland& island, solver::RigidBackend backend, double exact,
                                int max_sweeps, solver::Report* report) {
  if (island.rigid.islands.empty()) return {};
  solver::RigidBatch batch = island.rigid;
  solver::RigidIsland& one = batch.islands[0];
  one.known = {.exact = exact, .acceptable = exact, .fall = one.known.fall, .usual = one.known.usual};
  one.max_work = solver::kInfinity;
  solver::RigidWorkspace workspace;
  solver::solve(batch, {.backend = backend, .max_sweeps = max_sweeps}, workspace);
  if (report) *report = one.report;
  if (!one.solved || one.report.status != solver::Status::kConverged) return {};
  std::vector<double> impulses;
  for (const solver::RigidPoint& p : batch.points) impulses.insert(impulses.end(), p.impulse, p.impulse + 3);
  return impulses;
}

MotionDistance distance_of_motions(const solver::Problem& p, std::span<const double> a,
                                   std::span<const double> b) {
  std::vector<double> velocity(p.velocities()), moved(p.rows()), x(p.rows());
  const auto size = [&](const std::vector<double>& lambda) {
    solver::apply_operator(p, lambda, velocity, moved);
    double sum = 0;
    for (std::size_t i = 0; i < lambda.size(); ++i) sum += lambda[i] * moved[i];
    return std::sqrt(std::max(0.0, sum));
  };
  for (int i = 0; i < p.rows(); ++i) x[i] = a[i] - b[i];
  return {size(x), std::max(size({a.begin(), a.end()}), size({b.begin(), b.end()}))};
}

}  // namespace test
}  // namespace karakuri
