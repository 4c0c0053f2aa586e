// Snapshots, copies, pickles.
//
// A snapshot as bytes: what the session's snapshot holds, field by field. A world as a pickle: its scene as a
// native one, with the files it names, and a snapshot.
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "karakuri/io/load.h"
#include "karakuri/io/save.h"
#include "python/errors.h"
#include "python/handles.h"

namespace karakuri::python {

namespace fs = std::filesystem;

namespace {

// ---- bytes; one list of fields serves writing and reading

class Writer {
 public:
  template <class T>
  void plain(T& x) {
    out.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  template <class T>
  void vector(std::vector<T>& v) {
    std::uint64_t size = v.size();
    plain(size);
    out.append(reinterpret_cast<const char*>(v.data()), size * sizeof(T));
  }
  std::string out;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  template <class T>
  void plain(T& x) {
    if (in_.size() < sizeof x) raise_value("this is no snapshot: it ends too early");
    std::memcpy(&x, in_.data(), sizeof x);
    in_.remove_prefix(sizeof x);
  }
  template <class T>
  void vector(std::vector<T>& v) {
    std::uint64_t size = 0;
    plain(size);
    if (size > in_.size() / sizeof(T)) raise_value("this is no snapshot: it ends too early");
    v.resize(size);
    if (size > 0) std::memcpy(v.data(), in_.data(), size * sizeof(T));
    in_.remove_prefix(size * sizeof(T));
  }
  bool done() const { return in_.empty(); }

 private:
  std::string_view in_;
};

template <class Enum>
void visit_enum(auto& ar, Enum& e, Enum last) {
  auto number = static_cast<std::uint8_t>(e);
  ar.plain(number);
  if (number > static_cast<std::uint8_t>(last)) raise_value("this is no snapshot: a setting is unknown");
  e = static_cast<Enum>(number);
}

void visit_flag(auto& ar, bool& flag) {
  std::uint8_t number = flag ? 1 : 0;
  ar.plain(number);
  flag = number != 0;
}

void visit(auto& ar, WorldSettings& s) {
  visit_enum(ar, s.integrator, Integrator::kExplicit);
  visit_enum(ar, s.contact, ContactModel::kNone);
  visit_enum(ar, s.solver, solver::Method::kQuickstep);
  visit_enum(ar, s.stabilization.kind, Stabilization::kNone);
  for (int* x : {&s.substeps, &s.max_sweeps, &s.max_newton, &s.max_newton_rows, &s.pyramid_faces,
                 &s.quickstep_iterations, &s.threads})
    ar.plain(*x);
  for (bool* x : {&s.continuous, &s.warm_start, &s.sleep.enabled, &s.penalty.is_explicit}) visit_flag(ar, *x);
  StabilizationSettings& t = s.stabilization;
  for (double* x : {&s.dt, &s.tolerance, &s.acceptable, &s.quickstep_relaxation, &s.contact_margin,
                    &s.restitution_threshold, &s.sleep.speed, &s.sleep.time, &s.penalty.stiffness,
                    &s.penalty.damping, &s.penalty.tangential_share, &t.erp, &t.cfm, &t.beta, &t.gamma,
                    &t.stiffness, &t.damping, &t.slop, &t.max_speed})
    ar.plain(*x);
}

void visit(auto& ar, SessionSnapshot& s) {
  ar.plain(s.world.scene);
  ar.vector(s.world.bytes);
  visit(ar, s.settings);
  ar.vector(s.own);
}

constexpr char kMagic[] = "karakuri-3";

py::bytes to_bytes(SessionSnapshot snapshot) {
  Writer writer;
  visit(writer, snapshot);
  return py::bytes(kMagic + writer.out);
}

SessionSnapshot from_bytes(const py::bytes& given) {
  std::string_view text = given;
  const std::string_view magic = kMagic;
  if (!text.starts_with(magic)) raise_value("this is no snapshot of this version of karakuri");
  Reader reader(text.substr(magic.size()));
  SessionSnapshot out;
  visit(reader, out);
  if (!reader.done()) raise_value("this is no snapshot: it is too long");
  return out;
}

void restore(PyWorld& w, const SessionSnapshot& snapshot) {
  Access access(w);
  raise_if_any(access.session().restore(snapshot));
  access.changed();
}

// ---- worlds

std::unique_ptr<PyWorld> made_from(LoadedScene scene, const SessionSnapshot& snapshot) {
  auto copy = std::make_unique<PyWorld>(take(Session::make(std::move(scene))));
  raise_if_any(copy->session().restore(snapshot));
  copy->pull();
  return copy;
}

std::unique_ptr<PyWorld> copied(PyWorld& w) {
  const Access access(w);
  return made_from(access.session().scene(), access.session().snapshot());
}

constexpr const char* kAssets = "scene.assets";

py::tuple world_state(PyWorld& w) {
  const Access access(w);
  const SavedScene saved = to_native(access.session().scene(), kAssets);
  py::list files;
  for (const SavedScene::Asset& asset : saved.assets)
    files.append(py::make_tuple(asset.file.generic_string(), py::bytes(asset.content)));
  return py::make_tuple(py::bytes(saved.text), files, to_bytes(access.session().snapshot()));
}

/// Gone with its content.
struct ScratchFolder {
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "karakuri-XXXXXX").string();
    if (!mkdtemp(name.data())) raise_runtime("no temporary folder could be made");
    path = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  fs::path path;
};

std::unique_ptr<PyWorld> world_from(const py::tuple& state) {
  if (state.size() != 3) raise_value("this is no pickled world");
  const ScratchFolder folder;
  for (const py::handle& file : state[1]) {
    const auto pair = py::cast<py::tuple>(file);
    const fs::path name = fs::path(py::cast<std::string>(pair[0])).lexically_normal();
    if (name.is_absolute() || *name.begin() == "..")
      raise_value("this is no pickled world: it names files outside");
    fs::create_directories((folder.path / name).parent_path());
    const std::string_view content = py::cast<py::bytes>(pair[1]);
    std::ofstream(folder.path / name, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  const std::string text = py::cast<py::bytes>(state[0]);
  return made_from(take(load_native(text, folder.path / "scene.scene.yaml")),
                   from_bytes(py::cast<py::bytes>(state[2])));
}

}  // namespace

void bind_snapshot(py::module_& m, py::class_<PyWorld>& world) {
  py::class_<SessionSnapshot> snapshot(
      m, "Snapshot", "All that a world's future depends on, beside its scene. A value: keep it, pickle it.");
  m.def("_snapshot", &from_bytes);
  snapshot.def("__reduce__", [](const SessionSnapshot& s) {
    return py::make_tuple(py::module_::import("karakuri._pickle").attr("snapshot"),
                          py::make_tuple(to_bytes(s)));
  });
  snapshot.def("__eq__", [](const SessionSnapshot& a, const py::object& b) {
    return py::isinstance<SessionSnapshot>(b) && to_bytes(a).equal(to_bytes(py::cast<SessionSnapshot>(b)));
  });
  snapshot.attr("__hash__") = py::none();
  snapshot.def("__repr__", [](const SessionSnapshot& s) {
    return fmt::format("<karakuri.Snapshot: {} bytes>", s.world.bytes.size());
  });

  world.def(
      "save", [](PyWorld& w) { return Access(w).session().snapshot(); },
      "A snapshot: state, warm starts, contact anchors, controls, random numbers, joints made and cut.");
  world.def("restore", &restore, py::arg("snapshot"),
            "Back to a snapshot of this scene: what follows is the same to the last bit. Callbacks and "
            "recordings stay.");
  world.def(
      "hash", [](PyWorld& w) { return Access(w).session().hash(); },
      "Of all that a snapshot holds of the world; equal for equal bits.");
  world.def("copy", &copied, "Another world like this one, without its callbacks and recordings.");
  world.def("__copy__", &copied);
  world.def("__deepcopy__", [](PyWorld& w, const py::dict&) { return copied(w); }, py::arg("memo"));
  m.def("_world", &world_from);
  world.def("__reduce__", [](PyWorld& w) {
    return py::make_tuple(py::module_::import("karakuri._pickle").attr("world"),
                          py::make_tuple(world_state(w)));
  });
}

}  // namespace karakuri::python
