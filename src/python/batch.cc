// Many copies of a world on all cores.
#include "karakuri/session/batch.h"

#include <mutex>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "python/errors.h"
#include "python/handles.h"

namespace karakuri::python {

namespace {

/// Arrays are views of the batch's own memory, which never moves, and keep it alive.
struct PyBatch {
  std::shared_ptr<Batch> batch;
  std::mutex busy;
  py::object q, v, tau, q_target, v_target, u;
};

/// An error and not a wait: two threads that step one batch have lost each other.
std::unique_lock<std::mutex> hold(PyBatch& b) {
  std::unique_lock lock(b.busy, std::try_to_lock);
  if (!lock.owns_lock()) raise_runtime("this batch is being stepped by another thread");
  return lock;
}

py::object view(const std::shared_ptr<Batch>& batch, const double* at, int columns, bool writeable) {
  using Owner = std::shared_ptr<Batch>;
  const py::capsule owner(new Owner(batch), [](void* p) { delete static_cast<Owner*>(p); });
  static const double none = 0;  // an array needs an address, also of nothing
  py::array_t<double> array({batch->size(), columns}, at ? at : &none, owner);
  if (!writeable) array.attr("flags").attr("writeable") = false;
  return std::move(array);
}

std::unique_ptr<PyBatch> make(PyWorld& w, int n, int threads) {
  if (n < 1 || threads < 0)
    raise_value("Batch(world, n, threads): n must be 1 or more, threads 0 (all cores) or more");
  Access access(w);
  if (!w.before_step.empty() || !w.on_event.empty())
    raise_runtime(
        "Batch(world): this world has callbacks of on_step or on_event, which a batch cannot call; "
        "take a world without them (world.copy()), and act on the copies between steps");
  auto out = std::make_unique<PyBatch>();
  out->batch = std::make_shared<Batch>(take(Batch::make(access.session(), n, threads)));
  Batch& b = *out->batch;
  out->q = view(out->batch, b.q().data(), b.nq(), false);
  out->v = view(out->batch, b.v().data(), b.nv(), false);
  out->tau = view(out->batch, b.effort().data(), b.nv(), true);
  out->q_target = view(out->batch, b.q_target().data(), b.nv(), true);
  out->v_target = view(out->batch, b.v_target().data(), b.nv(), true);
  out->u = view(out->batch, b.control().data(), b.nu(), true);
  return out;
}

void step(PyBatch& b, int count) {
  if (count < 0) raise_value(fmt::format("step({}): the number of steps must be 0 or more", count));
  const auto lock = hold(b);
  std::vector<Diagnostic> problems;
  {
    const Unlocked unlocked;
    problems = b.batch->step(count);
  }
  raise_if_any(problems);
}

void require_copy(const PyBatch& b, int copy) {
  if (copy < 0 || copy >= b.batch->size())
    throw py::index_error(fmt::format("there is no copy {}: they are 0 to {}", copy, b.batch->size() - 1));
}

void reset(PyBatch& b, std::optional<int> copy) {
  const auto lock = hold(b);
  if (!copy) {
    b.batch->reset();
    return;
  }
  require_copy(b, *copy);
  raise_if_any(b.batch->reset(*copy));
}

void set_state(PyBatch& b, int copy, const py::object& q, const py::object& v) {
  require_copy(b, copy);
  const Array to_q =
      numbers(q, static_cast<std::size_t>(b.batch->nq()), "q", "one for each coordinate of the world");
  const Array to_v =
      numbers(v, static_cast<std::size_t>(b.batch->nv()), "v", "one for each degree of freedom of the world");
  const auto lock = hold(b);
  raise_if_any(b.batch->set_state(copy, span_of(to_q), span_of(to_v)));
}

void restore(PyBatch& b, int copy, const SessionSnapshot& snapshot) {
  require_copy(b, copy);
  const auto lock = hold(b);
  raise_if_any(b.batch->restore(copy, snapshot));
}

Array poses(PyBatch& b, const std::string& name) {
  const auto lock = hold(b);
  const Mechanism& mechanism = b.batch->world(0).scene().mechanism;
  const LinkId link = mechanism.find_link(name);
  if (!link) {
    std::vector<std::string> names;
    for (const LinkEntry& entry : b.batch->world(0).model().links) names.push_back(entry.name);
    raise_unknown("link", name, names);
  }
  Array out({b.batch->size(), 4, 4});
  for (int i = 0; i < b.batch->size(); ++i)
    write_pose(b.batch->world(i).pose(link), out.mutable_data() + 16 * static_cast<std::ptrdiff_t>(i));
  return out;
}

/// Assigning to an input copies into it; other shapes than its own are as NumPy allows.
void bind_input(py::class_<PyBatch>& batch, const char* name, py::object PyBatch::* array, const char* text) {
  batch.def_property(
      name, [array](PyBatch& b) { return b.*array; },
      [array](PyBatch& b, const py::object& value) { (b.*array)[py::ellipsis()] = value; }, text);
}

}  // namespace

void bind_batch(py::module_& m) {
  py::class_<PyBatch> batch(
      m, "Batch",
      "Batch(world, n, threads=0): n independent copies of a world as it is now, stepped on all cores. Each "
      "has the\n"
      "bits that the world would have had alone, with its events, actuators, cables and sensors. Refused: a "
      "world with\n"
      "behaviours or callbacks. Arrays have a row for each copy and are live.");
  m.def("_batch", &make, py::arg("world"), py::arg("n"), py::arg("threads") = 0);  // see module.cc
  batch.def("__len__", [](const PyBatch& b) { return b.batch->size(); });
  batch.def_property_readonly(
      "threads", [](const PyBatch& b) { return b.batch->threads(); }, "Threads that it uses.");
  batch.def_property_readonly(
      "q", [](PyBatch& b) { return b.q; }, "Coordinates, (n, nq) [rad or m], to read.");
  batch.def_property_readonly(
      "v", [](PyBatch& b) { return b.v; }, "Velocities, (n, nv) [rad/s or m/s], to read.");
  bind_input(batch, "tau", &PyBatch::tau, "Efforts, (n, nv) [N m or N], until they are changed.");
  bind_input(batch, "q_target", &PyBatch::q_target,
             "Targets of the drives that the world has, (n, nv) [rad or m].");
  bind_input(batch, "v_target", &PyBatch::v_target,
             "Target velocities of these drives, (n, nv) [rad/s or m/s].");
  bind_input(batch, "u", &PyBatch::u, "Controls of actuators, (n, number of them).");
  batch.def("step", &step, py::arg("n") = 1, "Each copy makes n steps.");
  batch.def("reset", &reset, py::arg("copy") = py::none(),
            "One copy, or all, back to where the world was when the batch was made.");
  batch.def("set_state", &set_state, py::arg("copy"), py::arg("q"), py::arg("v"), "Puts one copy elsewhere.");
  batch.def("restore", &restore, py::arg("copy"), py::arg("snapshot"),
            "One copy to a snapshot of the world, from World.save().");
  batch.def("poses", &poses, py::arg("link"), "Poses of the link of this name in all copies, (n, 4, 4) [m].");
  batch.def("__repr__", [](const PyBatch& b) {
    return fmt::format("<karakuri.Batch: {} copies on {} threads>", b.batch->size(), b.batch->threads());
  });
}

}  // namespace karakuri::python
