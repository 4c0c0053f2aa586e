#include "python/recording.h"

#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "karakuri/session/recorder.h"
#include "python/errors.h"
#include "python/handles.h"

namespace karakuri::python {

namespace {

struct RecordingHandle : Owned {
  RecordingHandle(PyWorld& w, std::shared_ptr<Recording> r) : Owned(w), recording(std::move(r)) {}
  std::shared_ptr<Recording> recording;
};

RecordingHandle record(PyWorld& w, const py::args& signals, int every) {
  if (every < 1) raise_value(fmt::format("every={}: it must be 1 or more", every));
  const Access access(w);
  std::vector<std::string> names;
  for (const py::handle& signal : signals) {
    if (!py::isinstance<py::str>(signal)) raise_type("signals are words, such as 'joint.elbow.q'");
    names.push_back(py::cast<std::string>(signal));
  }
  if (names.empty()) raise_value("nothing to record: give signals, such as 'time' or 'joint.elbow.q'");
  std::vector<Signal> found;
  for (const std::string& name : names) {
    const Result<Signal> signal = access.session().find(name);
    if (!signal.ok()) raise_unknown(signal.errors());
    found.push_back(*signal);
  }
  w.recordings.push_back(std::make_shared<Recording>(std::move(names), std::move(found), every));
  return {w, w.recordings.back()};
}

Array data(RecordingHandle& self) {
  const Access access(*self.world);
  const Recording& r = *self.recording;
  Array out({r.rows(), r.names().size()});
  std::copy(r.values().begin(), r.values().end(), out.mutable_data());
  return out;
}

Array column(RecordingHandle& self, const std::string& name) {
  const Access access(*self.world);
  const Recording& r = *self.recording;
  const auto found = std::find(r.names().begin(), r.names().end(), name);
  if (found == r.names().end()) raise_unknown("recorded signal", name, r.names());
  const std::size_t at = static_cast<std::size_t>(found - r.names().begin()), width = r.names().size();
  Array out(static_cast<py::ssize_t>(r.rows()));
  for (std::size_t i = 0; i < r.rows(); ++i) out.mutable_data()[i] = r.values()[i * width + at];
  return out;
}

void stop(RecordingHandle& self) {
  const Access access(*self.world);
  std::erase(self.world->recordings, self.recording);
}

}  // namespace

void bind_recording(py::module_& m, py::class_<PyWorld>& world) {
  py::class_<RecordingHandle> recording(m, "Recording", collected<RecordingHandle>(),
                                        "Signals written down after each step, from World.record(). "
                                        "recording['joint.elbow.q'] is one as an array.");
  recording.def_property_readonly(
      "signals", [](RecordingHandle& r) { return r.recording->names(); },
      "Their names, in the order of the columns.");
  recording.def_property_readonly("data", &data, "All rows, (rows, signals), a copy.");
  recording.def("__getitem__", &column, py::arg("signal"), "One signal over time, (rows,), a copy.");
  recording.def("__len__", [](RecordingHandle& r) {
    const Access access(*r.world);
    return r.recording->rows();
  });
  recording.def(
      "clear",
      [](RecordingHandle& r) {
        const Access access(*r.world);
        r.recording->clear();
      },
      "Forgets all rows.");
  recording.def("stop", &stop, "Writes down no more; what there is stays.");
  recording.def("__enter__", [](py::object self) { return self; });
  recording.def("__exit__", [](RecordingHandle& r, const py::args&) { stop(r); });
  recording.def("__repr__", [](RecordingHandle& r) {
    const Access access(*r.world);
    return fmt::format("<karakuri.Recording: {} rows of {} signals>", r.recording->rows(),
                       r.recording->names().size());
  });
  world.def("record", &record, py::kw_only(), py::arg("every") = 1,
            "record('time', 'joint.elbow.q', ...): writes these signals down after each step, or every so "
            "many steps.");
}

}  // namespace karakuri::python
