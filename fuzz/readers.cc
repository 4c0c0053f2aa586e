// Every reader of files: whatever the bytes, it answers with a scene or with errors that name a place.
#include <algorithm>
#include <fstream>

#include "fuzz/target.h"
#include "io/hills.h"
#include "io/seeds.h"
#include "karakuri/io/load.h"
#include "karakuri/io/mesh_file.h"
#include "karakuri/io/save.h"

namespace karakuri::fuzz {
namespace {

using namespace karakuri::test;

constexpr std::size_t kMostFaces = 1000;  // of a mesh whose hull is made as well

std::filesystem::path folder;  // of what the seeds refer to

LoadOptions uncached() {
  LoadOptions options;
  options.cache = false;
  return options;
}

std::string text_of(Input input) { return {reinterpret_cast<const char*>(input.data()), input.size()}; }

/// An error that names no file and line, or none at all where a file is refused, is a fault as much as a
/// crash.
template <class T>
bool answered(const Result<T>& result) {
  if (result.ok()) return true;
  const auto placed = [](const Diagnostic& d) {
    const auto colon = d.where.rfind(':');
    return !d.what.empty() && colon != d.where.npos && colon + 1 < d.where.size() &&
           d.where.find_first_not_of("0123456789", colon + 1) == d.where.npos;
  };
  if (result.errors().empty() || !std::all_of(result.errors().begin(), result.errors().end(), placed))
    found("an answer without a place:\n" + to_string(result.errors()));
  return false;
}

using Load = Result<LoadedScene> (*)(std::string_view, const std::filesystem::path&, const LoadOptions&);

template <Load load>
void read_scene(Input input, const char* name) {
  answered(load(text_of(input), folder / name, uncached()));
}

void read_native(Input input) {
  const Result<LoadedScene> scene = load_native(text_of(input), folder / "f.scene.yaml", uncached());
  if (!answered(scene)) return;
  const Result<LoadedScene> back = load_native(to_native(*scene).text, folder / "f.scene.yaml", uncached());
  if (!back.ok()) found("what was read and saved cannot be read again:\n" + to_string(back.errors()));
}

void read_mesh_as(Input input, const char* name) {
  const Result<MeshData> mesh = read_mesh({reinterpret_cast<const char*>(input.data()), input.size()}, name);
  if (answered(mesh) && mesh->vertices.size() < kMostFaces)
    answered(ShapeCache().shape(*mesh, MeshCollision::kHull));
}

void prepare(const std::filesystem::path& given) {
  folder = given;
  std::ofstream(folder / "hills.png", std::ios::binary)
      .write(reinterpret_cast<const char*>(kHills), sizeof kHills);
}

}  // namespace

std::vector<Target> readers() {
  using Seeds = std::vector<std::string>;
  return {
      {"urdf", prepare, [] { return Seeds{kUrdf}; },
       [](Input input) { read_scene<load_urdf>(input, "f.urdf"); }},
      {"mjcf", prepare, [] { return Seeds{kMjcf}; },
       [](Input input) { read_scene<load_mjcf>(input, "f.xml"); }},
      {"sdf", prepare, [] { return Seeds{kSdf}; }, [](Input input) { read_scene<load_sdf>(input, "f.sdf"); }},
      {"native", prepare, [] { return Seeds{kNative}; }, read_native},
      {"obj", prepare, [] { return Seeds{kObj}; }, [](Input input) { read_mesh_as(input, "f.obj"); }},
      {"stl-text", prepare, [] { return Seeds{kStlText}; },
       [](Input input) { read_mesh_as(input, "f.stl"); }},
      {"stl-binary", prepare, [] { return Seeds{stl_binary()}; },
       [](Input input) { read_mesh_as(input, "f.stl"); }},
      {"gltf", prepare, [] { return Seeds{kGltf}; }, [](Input input) { read_mesh_as(input, "f.gltf"); }},
      {"collada", prepare, [] { return Seeds{kCollada}; }, [](Input input) { read_mesh_as(input, "f.dae"); }},
  };
}

}  // namespace karakuri::fuzz
