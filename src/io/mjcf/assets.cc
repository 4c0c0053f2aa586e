// Meshes, heightfields and materials.
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "io/files.h"
#include "io/mjcf/context.h"
#include "io/png.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri::io {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLargestField = 64u << 20;
constexpr std::size_t kMostHeights = 16u << 20;  // 128 MB of them

fs::path asset_path(const MjcfContext& c, const std::string& name) {
  const fs::path file = c.compiler.strip_path ? fs::path(name).filename() : fs::path(name);
  return c.path.parent_path() / c.compiler.mesh_folder / file;  // absolute ones stay as they are
}

/// Vertices and faces that stand in the file itself; without faces, the points are those of a convex body.
std::shared_ptr<const MeshData> inline_mesh(MjcfContext& c, const XmlElement& e) {
  MeshData mesh{.source = e.get("name")};
  constexpr std::size_t kMost = 30'000'000;
  const std::vector<double> numbers = c.xml.numbers(e, "vertex", 12, kMost);
  for (std::size_t i = 0; i + 2 < numbers.size(); i += 3) {
    mesh.vertices.emplace_back(numbers[i], numbers[i + 1], numbers[i + 2]);
  }
  const std::vector<double> faces = c.xml.numbers(e, "face", 3, kMost);
  for (std::size_t i = 0; i + 2 < faces.size(); i += 3) {
    Triangle face;
    for (std::size_t k = 0; k < 3; ++k) {
      const double index = faces[i + k];
      if (!(index >= 0) || index >= static_cast<double>(mesh.vertices.size())) {
        c.xml.error(e, "a face names a vertex that is not there", "count vertices from 0");
        return nullptr;
      }
      face[k] = static_cast<int>(index);
    }
    mesh.faces.push_back(face);
  }
  if (mesh.vertices.size() < 4) return nullptr;  // reported with the numbers
  if (!e.has("face")) {
    const Result<ConvexHull> hull = make_convex_hull(mesh.vertices);
    if (!hull.ok()) {
      c.xml.error(e, "its points have no convex hull: " + hull.errors()[0].what,
                  "give at least four, not in a plane");
      return nullptr;
    }
    mesh.vertices.clear();
    for (int i = 0; i < hull->vertex_count; ++i) mesh.vertices.push_back(hull->vertex(i));
    for (const HullFace& f : hull->faces) {
      for (int k = 2; k < f.count; ++k) {
        mesh.faces.push_back(
            {hull->origin[f.first], hull->origin[f.first + k - 1], hull->origin[f.first + k]});
      }
    }
  }
  return std::make_shared<const MeshData>(std::move(mesh));
}

std::shared_ptr<const MeshData> load_mesh(MjcfContext& c, const XmlElement& e) {
  const Vec3 scale = c.xml.vec3(e, "scale", Vec3::Ones());
  if (!e.has("file") && !c.xml.require(e, "vertex")) return nullptr;
  if (e.has("file") && !is_mesh_file(e.get("file"))) {
    c.xml.error(e, fmt::format("{} is no file of a mesh by its name", in_quotes(e.get("file"))),
                "valid endings are stl, obj, dae, gltf and glb");
    return nullptr;
  }
  const bool referred = e.has("refpos") || e.has("refquat");
  if (e.has("file") && !referred) return c.build.mesh(asset_path(c, e.get("file")), scale, c.where(e));
  const std::shared_ptr<const MeshData> raw =
      e.has("file") ? c.build.mesh(asset_path(c, e.get("file")), Vec3::Ones(), c.where(e))
                    : inline_mesh(c, e);
  if (!raw) return nullptr;
  if (scale.cwiseAbs().minCoeff() == 0) {
    c.xml.error(e, "its scale is zero", "give another scale");
    return nullptr;
  }
  MeshData mesh = *raw;
  const std::vector<double> q = c.xml.numbers(e, "refquat", 4, 4);
  const Quat turn = q.empty() ? Quat(1, 0, 0, 0) : normalized_or_identity(Quat(q[0], q[1], q[2], q[3]));
  const Transform X_ref{turn.toRotationMatrix(), c.xml.vec3(e, "refpos", Vec3::Zero())};
  for (Vec3& v : mesh.vertices) v = X_ref.inverse_apply(v).cwiseProduct(scale);
  if (scale.prod() < 0) {
    for (Triangle& f : mesh.faces) std::swap(f[1], f[2]);
  }
  return std::make_shared<const MeshData>(std::move(mesh));
}

struct Elevation {
  int columns = 0, rows = 0;
  std::vector<double> heights;  // rows from -y to +y
};

/// MuJoCo's own format: two 32-bit sizes, rows first, then floats.
std::optional<Elevation> read_binary_field(const std::string& content) {
  std::int32_t sizes[2];
  if (content.size() < sizeof sizes) return std::nullopt;
  std::memcpy(sizes, content.data(), sizeof sizes);
  if (sizes[0] < 2 || sizes[1] < 2 || sizes[0] > 20000 || sizes[1] > 20000) return std::nullopt;
  const std::size_t count = static_cast<std::size_t>(sizes[0]) * static_cast<std::size_t>(sizes[1]);
  if (content.size() != sizeof sizes + count * sizeof(float)) return std::nullopt;
  Elevation field{sizes[1], sizes[0], {}};
  for (std::size_t i = 0; i < count; ++i) {
    float height;
    std::memcpy(&height, content.data() + sizeof sizes + i * sizeof height, sizeof height);
    if (!std::isfinite(height)) return std::nullopt;
    field.heights.push_back(height);
  }
  return field;
}

std::optional<Elevation> read_field_file(MjcfContext& c, const XmlElement& e) {
  const std::string& name = e.get("file");
  const bool picture = ending(name) == ".png";
  if (!picture && ending(name) != ".bin" && ending(name) != ".hf" && ending(name) != ".hfield") {
    c.xml.error(e, fmt::format("{} is no file of heights by its name", in_quotes(name)),
                "valid endings are png, bin, hf and hfield");
    return std::nullopt;
  }
  const Result<std::string> content = read_file(asset_path(c, name), kLargestField);
  if (!content.ok()) {
    c.xml.error(e, content.errors()[0].where + ": " + content.errors()[0].what, "check the name");
    return std::nullopt;
  }
  std::optional<Elevation> field;
  if (picture) {
    if (std::optional<GrayPicture> gray = decode_png(*content)) {
      field = Elevation{gray->width, gray->height, {}};
      for (int row = gray->height; row-- > 0;) {  // pictures are written from the top
        for (int i = 0; i < gray->width; ++i) field->heights.push_back(gray->at(i, row));
      }
    }
  } else {
    field = read_binary_field(*content);
  }
  if (!field)
    c.xml.error(e, fmt::format("{} is damaged, or not what its name says", in_quotes(name)), "save it again");
  return field;
}

std::optional<Elevation> read_field(MjcfContext& c, const XmlElement& e) {
  if (e.has("file")) return read_field_file(c, e);
  Elevation field{c.xml.integer(e, "ncol", 0), c.xml.integer(e, "nrow", 0), {}};
  if (field.columns < 2 || field.rows < 2 || field.columns > 20000 || field.rows > 20000) {
    c.xml.error(e, "a heightfield needs a file, or nrow and ncol of at least 2", "add them");
    return std::nullopt;
  }
  const std::size_t count = static_cast<std::size_t>(field.columns) * static_cast<std::size_t>(field.rows);
  if (count > kMostHeights) {
    c.xml.error(e, fmt::format("a heightfield of {} x {} has too many heights", field.rows, field.columns),
                fmt::format("at most {} are read", kMostHeights));
    return std::nullopt;
  }
  const std::vector<double> given = c.xml.numbers(e, "elevation", count, count);
  field.heights.assign(count, 0.0);
  // written from the top, like a picture
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::size_t columns = static_cast<std::size_t>(field.columns), row = i / columns;
    field.heights[(static_cast<std::size_t>(field.rows) - 1 - row) * columns + i % columns] = given[i];
  }
  return field;
}

}  // namespace

void read_assets(MjcfContext& c, const XmlElement& section) {
  for (const XmlElement& e : section.children) {
    if (e.name == "mesh") {
      XmlElement mesh = c.defaults.resolved(c.xml, e, "mesh", "");
      const std::string name =
          mesh.has("name") ? mesh.get("name") : fs::path(mesh.get("file")).stem().string();
      if (name.empty()) {
        c.xml.error(e, "<mesh> has neither name nor file", "add file=\"...\"");
      } else if (!c.meshes.try_emplace(name, MjcfMesh{std::move(mesh), nullptr, {}, false}).second) {
        c.xml.error(e, fmt::format("a second mesh is called {}", in_quotes(name)), "give it another name");
      }
    } else if (e.name == "hfield") {
      c.heightfields[e.has("name") ? e.get("name") : fs::path(e.get("file")).stem().string()] = &e;
    } else if (e.name == "material") {
      const XmlElement material = c.defaults.resolved(c.xml, e, "material", "");
      const std::vector<double> n = c.xml.numbers(material, "rgba", 4, 4);
      std::array<float, 4> color{1, 1, 1, 1};
      for (std::size_t k = 0; k < n.size(); ++k) color[k] = static_cast<float>(n[k]);
      c.materials[e.get("name")] = color;
    }
  }
}

MjcfMesh* find_mesh(MjcfContext& c, const XmlElement& e, const std::string& name) {
  const auto found = c.meshes.find(name);
  if (found == c.meshes.end()) {
    std::vector<std::string> names;
    for (const auto& [known, mesh] : c.meshes) names.push_back(known);
    c.xml.error(e, fmt::format("there is no mesh {}", in_quotes(name)), "there are " + listed(names));
    return nullptr;
  }
  MjcfMesh& mesh = found->second;
  if (!mesh.tried) {
    mesh.tried = true;
    mesh.data = load_mesh(c, mesh.element);
  }
  return mesh.data ? &mesh : nullptr;
}

std::optional<Shape> heightfield_shape(MjcfContext& c, const XmlElement& geom) {
  const auto found = c.heightfields.find(geom.get("hfield"));
  if (found == c.heightfields.end()) {
    c.xml.error(geom, fmt::format("there is no heightfield {}", in_quotes(geom.get("hfield"))),
                "add it to <asset>");
    return std::nullopt;
  }
  const XmlElement& e = *found->second;
  const std::vector<double> size = c.xml.numbers(e, "size", 4, 4);
  std::optional<Elevation> field = read_field(c, e);
  if (!field || size.empty()) {
    if (size.empty() && !e.has("size")) c.xml.require(e, "size");
    return std::nullopt;
  }
  // MuJoCo stretches what it reads to 0..1
  const auto [low, high] = std::minmax_element(field->heights.begin(), field->heights.end());
  const double lowest = *low, span = *high - *low;
  for (double& h : field->heights) h = span > 0 ? (h - lowest) / span * size[2] : 0.0;
  Result<Heightfield> made =
      make_heightfield(field->columns, field->rows, 2 * size[0], 2 * size[1], std::move(field->heights));
  if (made.ok()) return Shape::heightfield(std::move(*made));
  c.xml.error(e, made.errors()[0].what, made.errors()[0].remedy);
  return std::nullopt;
}

}  // namespace karakuri::io
