// Snapshots, copies, pickles.
//
// A snapshot as bytes: those of the session's. A world as a pickle: its scene as a
// native one, with the files it names, and a snapshot.
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

py::bytes to_bytes(const SessionSnapshot& snapshot) {
  return py::bytes(reinterpret_cast<const char*>(snapshot.bytes.data()), snapshot.bytes.size());
}

SessionSnapshot from_bytes(const py::bytes& given) {
  const std::string_view text = given;
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  SessionSnapshot out{{begin, begin + text.size()}};
  raise_if_any(find_flaws(out));
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
    return py::isinstance<SessionSnapshot>(b) && a.bytes == py::cast<SessionSnapshot>(b).bytes;
  });
  snapshot.attr("__hash__") = py::none();
  snapshot.def("__repr__", [](const SessionSnapshot& s) {
    return fmt::format("<karakuri.Snapshot: {} bytes>", s.bytes.size());
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
