// Every reader of meshes: whatever the bytes, it answers with triangles or with errors that name a place. Of
// one in eight, hulls are made as well, which takes several times as long as reading.
#include "fuzz/answered.h"
#include "fuzz/words.h"
#include "io/seeds.h"
#include "karakuri/io/mesh_file.h"

namespace karakuri::fuzz {
namespace {

using namespace karakuri::test;
using Seeds = std::vector<std::string>;

constexpr std::size_t kMostVertices = 1000;  // of a mesh whose hull is made as well
constexpr int kOneIn = 8;

Result<MeshData> read(Input input, const char* name) {
  const std::string_view text = text_of(input);
  return read_mesh({text.data(), text.size()}, name);
}

void read_as(Input input, const char* name) {
  const Result<MeshData> mesh = read(input, name);
  if (answered(mesh) && mesh->vertices.size() < kMostVertices && is_chosen(input, kOneIn))
    answered(ShapeCache().shape(*mesh, MeshCollision::kHull));
}

void expect_all_read(const Seeds& seeds, const char* name) {
  for (const std::string& seed : seeds)
    expect_read(read({reinterpret_cast<const std::uint8_t*>(seed.data()), seed.size()}, name), seed);
}

template <const char* const& kName, Seeds (*seeds)()>
Target target(const char* name) {
  return {name, [](const std::filesystem::path&) { expect_all_read(seeds(), kName); }, seeds,
          [](Input input) { read_as(input, kName); }};
}

constexpr const char* kObjName = "f.obj";
constexpr const char* kStlName = "f.stl";
constexpr const char* kGltfName = "f.gltf";
constexpr const char* kColladaName = "f.dae";

Seeds obj_seeds() {
  return {kObj, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
          "o a\ng b\ns off\nv 0 0 0 1\nv 1 0 0 1 0 0\nv 0 1e0 .5\nvt 0 0\nf 1/1 2/1 3/1\n"};
}
Seeds stl_text_seeds() { return {kStlText}; }
Seeds stl_binary_seeds() { return {stl_binary()}; }
Seeds gltf_seeds() { return {kGltf}; }
Seeds collada_seeds() { return {kCollada}; }

}  // namespace

std::vector<Target> targets() {
  return {target<kObjName, obj_seeds>("obj"), target<kStlName, stl_text_seeds>("stl-text"),
          target<kStlName, stl_binary_seeds>("stl-binary"), target<kGltfName, gltf_seeds>("gltf"),
          target<kColladaName, collada_seeds>("collada")};
}

}  // namespace karakuri::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return karakuri::fuzz::mutate_text(data, size, max_size, seed);
}
