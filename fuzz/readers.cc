// Every reader of files under libFuzzer: whatever the bytes, it answers with a scene or with errors that name
// a place.
//
// Which reader: the environment variable KARAKURI_FUZZ_READER. Its seeds, those of tests/io, are written into
// the folder of KARAKURI_FUZZ_SEEDS; ./karakuri fuzz sets both.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "io/hills.h"
#include "io/seeds.h"
#include "karakuri/io/load.h"
#include "karakuri/io/mesh_file.h"
#include "karakuri/io/save.h"

namespace {

using namespace karakuri;
using namespace karakuri::test;

constexpr std::size_t kMostFaces = 1000;  // of a mesh whose hull is made as well

std::filesystem::path folder;  // of what the seeds refer to

LoadOptions uncached() {
  LoadOptions options;
  options.cache = false;
  return options;
}

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
  if (result.errors().empty() || !std::all_of(result.errors().begin(), result.errors().end(), placed)) {
    std::fprintf(stderr, "an answer without a place:\n%s\n", to_string(result.errors()).c_str());
    std::abort();
  }
  return false;
}

void read_native(const std::string& text) {
  const Result<LoadedScene> scene = load_native(text, folder / "f.scene.yaml", uncached());
  if (!answered(scene)) return;
  const Result<LoadedScene> back = load_native(to_native(*scene).text, folder / "f.scene.yaml", uncached());
  if (back.ok()) return;
  std::fprintf(stderr, "what was read and saved cannot be read again:\n%s\n",
               to_string(back.errors()).c_str());
  std::abort();
}

template <int kind>
void read_mesh_as(const std::string& text) {
  static constexpr const char* kNames[] = {"f.obj", "f.stl", "f.gltf", "f.dae"};
  const Result<MeshData> mesh = read_mesh(std::span(text.data(), text.size()), kNames[kind]);
  if (answered(mesh) && mesh->vertices.size() < kMostFaces)
    answered(ShapeCache().shape(*mesh, MeshCollision::kHull));
}

struct Reader {
  const char* name;
  std::string seed;
  void (*read)(const std::string& text);
};

const Reader kReaders[] = {
    {"urdf", kUrdf,
     [](const std::string& text) { answered(load_urdf(text, folder / "f.urdf", uncached())); }},
    {"mjcf", kMjcf, [](const std::string& text) { answered(load_mjcf(text, folder / "f.xml", uncached())); }},
    {"sdf", kSdf, [](const std::string& text) { answered(load_sdf(text, folder / "f.sdf", uncached())); }},
    {"native", kNative, read_native},
    {"obj", kObj, read_mesh_as<0>},
    {"stl-text", kStlText, read_mesh_as<1>},
    {"stl-binary", stl_binary(), read_mesh_as<1>},
    {"gltf", kGltf, read_mesh_as<2>},
    {"collada", kCollada, read_mesh_as<3>},
};

const Reader* chosen = nullptr;

void write(const std::filesystem::path& file, const void* bytes, std::size_t size) {
  std::ofstream(file, std::ios::binary)
      .write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* name = std::getenv("KARAKURI_FUZZ_READER");
  for (const Reader& reader : kReaders)
    if (name && reader.name == std::string(name)) chosen = &reader;
  const char* seeds = std::getenv("KARAKURI_FUZZ_SEEDS");
  if (!chosen || !seeds) {
    std::fprintf(stderr, "set KARAKURI_FUZZ_SEEDS to a folder, and KARAKURI_FUZZ_READER to one of:");
    for (const Reader& reader : kReaders) std::fprintf(stderr, " %s", reader.name);
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  folder = seeds;
  std::filesystem::create_directories(folder / "files");
  write(folder / chosen->name, chosen->seed.data(), chosen->seed.size());
  folder /= "files";
  write(folder / "hills.png", kHills, sizeof kHills);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  chosen->read(std::string(reinterpret_cast<const char*>(bytes), size));
  return 0;
}
