// Meshes: what files give, what is wrong with them, and the cache of hulls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "io/corpus.h"
#include "io/seeds.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Result<MeshData> read(const std::string& content, const std::string& name,
                      const MeshFileOptions& options = {}) {
  return read_mesh(std::span(content.data(), content.size()), name, options);
}

const char* const kBoxObj =
    "v 0 0 0\nv 1 0 0\nv 1 2 0\nv 0 2 0\nv 0 0 3\nv 1 0 3\nv 1 2 3\nv 0 2 3\n"
    "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2/1 3/1 7/1 6/1\nf 3//1 4//1 8//1 7//1\nf -8 -4 -1 -5\n";

std::string as_binary_stl(const MeshData& mesh) {
  std::string out(80, ' ');
  const auto put = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(static_cast<std::uint32_t>(mesh.faces.size()));
  for (const Triangle& f : mesh.faces) {
    for (int k = 0; k < 3; ++k) put(0.0F);
    for (const int v : f) {
      for (int k = 0; k < 3; ++k) put(static_cast<float>(mesh.vertices[static_cast<std::size_t>(v)][k]));
    }
    put(std::uint16_t{0});
  }
  return out;
}

double volume(const MeshData& mesh) { return integrate_solid(mesh.vertices, mesh.faces).mass; }

TEST(MeshFile, ObjStlColladaAndGltfGiveTheSameSolid) {
  const Result<MeshData> obj = read(kBoxObj, "box.obj");
  ASSERT_TRUE(obj.ok()) << to_string(obj.errors());
  EXPECT_EQ(obj->faces.size(), 12u);
  EXPECT_NEAR(volume(*obj), 6, 1e-12);
  const Result<MeshData> binary = read(as_binary_stl(*obj), "box.STL");
  ASSERT_TRUE(binary.ok()) << to_string(binary.errors());
  EXPECT_NEAR(volume(*binary), 6, 1e-12);
  std::string text = "solid box\n";
  for (const Triangle& f : obj->faces) {
    text += "facet normal 0 0 0\nouter loop\n";
    for (const int v : f) {
      const Vec3& p = obj->vertices[static_cast<std::size_t>(v)];
      text += "vertex " + std::to_string(p.x()) + " " + std::to_string(p.y()) + " " + std::to_string(p.z()) +
              "\n";
    }
    text += "endloop\nendfacet\n";
  }
  const Result<MeshData> ascii = read(text + "endsolid box\n", "box.stl");
  ASSERT_TRUE(ascii.ok()) << to_string(ascii.errors());
  EXPECT_NEAR(volume(*ascii), 6, 1e-12);
}

std::string collada(const std::string& up, const std::string& meter) {
  return "<?xml version='1.0'?><COLLADA xmlns='http://www.collada.org/2005/11/COLLADASchema' "
         "version='1.4.1'><asset><unit name='u' meter='" +
         meter + "'/><up_axis>" + up +
         "</up_axis></asset><library_geometries><geometry id='g'><mesh><source id='p'><float_array id='pa' "
         "count='12'>0 0 0 1 0 0 0 2 0 0 0 3"
         "</float_array><technique_common><accessor source='#pa' count='4' stride='3'><param name='X' "
         "type='float'/><param name='Y' type='float'/>"
         "<param name='Z' type='float'/></accessor></technique_common></source><vertices id='v'><input "
         "semantic='POSITION' source='#p'/></vertices>"
         "<triangles count='4'><input semantic='VERTEX' source='#v' offset='0'/><p>0 2 1 0 1 3 0 3 2 1 2 "
         "3</p></triangles></mesh></geometry>"
         "</library_geometries><library_visual_scenes><visual_scene id='s'><node id='n'><instance_geometry "
         "url='#g'/></node></visual_scene>"
         "</library_visual_scenes><scene><instance_visual_scene url='#s'/></scene></COLLADA>";
}

TEST(MeshFile, UnitsAndUpAxisOfColladaCount) {
  const auto top = [](const MeshData& mesh) {
    Aabb box;
    for (const Vec3& v : mesh.vertices) box.add(v);
    return box;
  };
  const Result<MeshData> z = read(collada("Z_UP", "1"), "t.dae");
  ASSERT_TRUE(z.ok()) << to_string(z.errors());
  EXPECT_LT((top(*z).hi - Vec3(1, 2, 3)).norm(), 1e-6);
  const Result<MeshData> mm = read(collada("Z_UP", "0.001"), "t.dae");
  ASSERT_TRUE(mm.ok()) << to_string(mm.errors());
  EXPECT_LT((top(*mm).hi - Vec3(0.001, 0.002, 0.003)).norm(), 1e-8);
  const Result<MeshData> y = read(collada("Y_UP", "1"), "t.dae");
  ASSERT_TRUE(y.ok()) << to_string(y.errors());
  // y becomes z, z becomes -y
  EXPECT_LT((top(*y).hi - Vec3(1, 0, 2)).norm(), 1e-6);
  EXPECT_LT((top(*y).lo - Vec3(0, -3, 0)).norm(), 1e-6);
  EXPECT_NEAR(volume(*z), 1, 1e-6);
  EXPECT_NEAR(volume(*y), 1, 1e-6);
}

TEST(MeshFile, MirroringKeepsTheOutsideOutside) {
  const Result<MeshData> mesh = read(kBoxObj, "box.obj", {.scale = {-0.1, 0.1, 0.2}});
  ASSERT_TRUE(mesh.ok());
  EXPECT_NEAR(volume(*mesh), 6 * 0.002, 1e-12);
  EXPECT_FALSE(read(kBoxObj, "box.obj", {.scale = {0, 1, 1}}).ok());
}

TEST(MeshFile, ColoursOfMaterials) {
  const fs::path folder = fs::path(testing::TempDir()) / "obj_colors";
  fs::create_directories(folder);
  std::ofstream(folder / "m.mtl") << "newmtl red\nKd 1 0 0\nd 0.5\nnewmtl blue\nKd 0 0 1\n";
  std::ofstream(folder / "m.obj") << "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nusemtl red\nf 1 2 "
                                     "3\nf 1 2 4\nusemtl blue\nf 2 3 4\n";
  const Result<MeshData> mesh = read_mesh_file(folder / "m.obj");
  ASSERT_TRUE(mesh.ok()) << to_string(mesh.errors());
  ASSERT_EQ(mesh->parts.size(), 2u);
  EXPECT_EQ(mesh->parts[0].color, (std::array<float, 4>{1, 0, 0, 0.5F}));
  EXPECT_EQ(mesh->parts[0].count, 2);
  EXPECT_EQ(mesh->parts[1].color, (std::array<float, 4>{0, 0, 1, 1}));
  fs::remove_all(folder);
}

TEST(MeshFile, ErrorsNameFileAndLine) {
  const struct {
    std::string content, name, error;
  } cases[] = {
      {"v 0 0\n", "a.obj", "a.obj:1: error: a vertex is not three numbers"},
      {"v 0 0 0\nv 1 0 0\nf 1 2 3\n", "a.obj", "a.obj:3: error: a face names a vertex that is not there"},
      {"v 0 0 0\n# nothing\nf 1 1\n", "a.obj", "a.obj:3: error: a face has fewer than three vertices"},
      {"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "a.obj", "a.obj:1: error: vertex 0 is not finite"},
      {"", "a.obj", "a.obj:1: error: there are no triangles in it"},
      {"", "a.stl", "a.stl:1: error: it is neither a binary nor a text STL"},
      {"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 zero\n", "a.stl",
       "a.stl:4: error: a vertex is not three numbers"},
      {"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n", "a.stl",
       "a.stl:5: error: it ends within a facet"},
      {std::string(80, ' ') + std::string("\xff\xff\xff\xff", 4), "a.stl",
       "a.stl:1: error: it says 4294967295 triangles but has room for 0"},
      {"<COLLADA>", "a.dae", "a.dae:1: error"},
      {"{}", "a.gltf", "a.gltf:1: error"},
      {"root:x:0:0", "passwd", "passwd:1: error: this is no file of a mesh by its name"},
  };
  for (const auto& [content, name, error] : cases) {
    const Result<MeshData> mesh = read(content, name);
    ASSERT_FALSE(mesh.ok()) << error;
    EXPECT_THAT(to_string(mesh.errors()[0]), HasSubstr(error));
  }
  EXPECT_FALSE(read_mesh_file("/dev/zero").ok());
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  EXPECT_NE(at, text.npos) << what;
  return text.replace(at, what.size(), with);
}

// The library that reads glTF looks whether as many bytes are there as there are elements, not components,
// and of keys that stand twice takes another than our own look at the file.
TEST(MeshFile, AccessorsOfGltfReadNothingBeyondTheirViews) {
  const std::string good = kGltf;
  EXPECT_TRUE(read(good, "a.gltf").ok());
  const std::string position = R"("byteOffset":0,"componentType":5126)";
  for (
      const std::string& bad :
      {replaced(good, position, R"("byteOffset":5,"componentType":5126)"),
       replaced(good, position, R"("byteOffset":-40,"componentType":5126)"),
       replaced(good, position, R"("byteOffset":5,"byteOffset":0,"componentType":5126)"),
       replaced(good, position, R"("byteOffset":0,"componentType":7)"),
       replaced(good, R"("type":"VEC3")", R"("type":"MAT4")"),
       replaced(
           good, R"("type":"VEC3")",
           R"("type":"VEC3","sparse":{"count":2,"indices":{"bufferView":0,"componentType":5125},"values":{"bufferView":1}})")}) {
    const Result<MeshData> mesh = read(bad, "a.gltf");
    ASSERT_FALSE(mesh.ok()) << bad;
    EXPECT_THAT(to_string(mesh.errors()[0]),
                testing::AnyOf(HasSubstr("buffer view"), HasSubstr("stands twice")))
        << bad;
  }
}

/// A ball of many points.
MeshData ball(int n) {
  MeshData mesh{.source = "ball"};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const double a = 3.14159 * (i + 0.5) / n, b = 6.28318 * j / n;
      mesh.vertices.emplace_back(std::sin(a) * std::cos(b), std::sin(a) * std::sin(b), std::cos(a));
      const int k = i * n + j, right = i * n + (j + 1) % n;
      if (i + 1 < n)
        mesh.faces.push_back({k, k + n, right}), mesh.faces.push_back({right, k + n, right + n - 0});
    }
  }
  return mesh;
}

TEST(ShapeCache, KeepsHullsByContentAndSurvivesDamage) {
  const fs::path folder = fs::path(testing::TempDir()) / "hulls";
  fs::remove_all(folder);
  const MeshData mesh = ball(20);
  const auto vertices = [](const Result<Shape>& shape) {
    return shape.ok() ? shape->as_hull().vertex_count : -1;
  };
  ShapeCache first(folder);
  const Result<Shape> made = first.shape(mesh, MeshCollision::kHull);
  ASSERT_GT(vertices(made), 200);
  EXPECT_EQ(first.hits(), 0);
  ASSERT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  const fs::path file = fs::directory_iterator(folder)->path();

  ShapeCache second(folder);
  const Result<Shape> kept = second.shape(mesh, MeshCollision::kHull);
  EXPECT_EQ(second.hits(), 1);
  ASSERT_EQ(vertices(kept), vertices(made));
  // the same bits, wherever it comes from
  EXPECT_EQ(kept->as_hull().x, made->as_hull().x);
  EXPECT_EQ(kept->as_hull().origin, made->as_hull().origin);

  // cut off, or with one bit turned: made anew and mended
  const auto size = fs::file_size(file);
  for (const int damage : {0, 1, 2}) {
    if (damage < 2) fs::resize_file(file, damage == 0 ? size / 2 : 0);
    if (damage == 2) {
      std::fstream io(file, std::ios::in | std::ios::out | std::ios::binary);
      io.seekp(static_cast<std::streamoff>(size / 2)).put('\x55');
    }
    ShapeCache third(folder);
    EXPECT_EQ(vertices(third.shape(mesh, MeshCollision::kHull)), vertices(made));
    EXPECT_EQ(third.hits(), 0);
    EXPECT_EQ(fs::file_size(file), size);
  }
  MeshData other = mesh;
  other.vertices[7] *= 1.5;
  ShapeCache fourth(folder);
  EXPECT_TRUE(fourth.shape(other, MeshCollision::kHull).ok());
  EXPECT_EQ(fourth.hits(), 0);
  // a folder that cannot be made costs time only
  EXPECT_TRUE(ShapeCache("/proc/nowhere").shape(mesh, MeshCollision::kHull).ok());
  fs::remove_all(folder);
}

TEST(ShapeCache, FlatMeshesGetAThicknessAndSolidsStaySolids) {
  MeshData plate{.source = "plate"};
  plate.vertices = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  plate.faces = {{0, 1, 2}, {0, 2, 3}};
  const Result<Shape> shape = ShapeCache().shape(plate, MeshCollision::kHull);
  ASSERT_TRUE(shape.ok()) << to_string(shape.errors());
  EXPECT_EQ(shape->kind(), ShapeKind::kHull);
  EXPECT_FALSE(ShapeCache().shape(plate, MeshCollision::kSolid).ok());
  const Result<MeshData> box = read(kBoxObj, "box.obj");
  const Result<Shape> solid = ShapeCache().shape(*box, MeshCollision::kSolid);
  ASSERT_TRUE(solid.ok());
  EXPECT_EQ(solid->kind(), ShapeKind::kMesh);
}

}  // namespace
}  // namespace karakuri::test
