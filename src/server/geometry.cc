#include "server/geometry.h"

#include "server/describe.h"

namespace karakuri::server_detail {

namespace {

struct Triangles {
  std::vector<float> vertices;
  std::vector<std::uint32_t> indices;

  void point(const Vec3& p) {
    for (int k = 0; k < 3; ++k) vertices.push_back(static_cast<float>(p[k]));
  }
  void triangle(int a, int b, int c) {
    for (const int i : {a, b, c}) indices.push_back(static_cast<std::uint32_t>(i));
  }
};

Triangles triangles_of(const ConvexHull& hull) {
  Triangles out;
  for (int i = 0; i < hull.vertex_count; ++i) out.point(hull.vertex(i));
  for (const HullFace& face : hull.faces) {
    const auto first = static_cast<std::size_t>(face.first);
    for (int k = 1; k + 1 < face.count; ++k) {
      const auto h = first + static_cast<std::size_t>(k);
      out.triangle(hull.origin[first], hull.origin[h], hull.origin[h + 1]);
    }
  }
  return out;
}

Triangles triangles_of(const Mesh& mesh) {
  Triangles out;
  for (const Vec3& p : mesh.vertices) out.point(p);
  for (const Triangle& f : mesh.faces) out.triangle(f[0], f[1], f[2]);
  return out;
}

Triangles triangles_of(const Heightfield& field) {
  Triangles out;
  for (int j = 0; j < field.rows; ++j) {
    for (int i = 0; i < field.columns; ++i) out.point(field.vertex(i, j));
  }
  for (int j = 0; j < field.cell_rows(); ++j) {
    for (int i = 0; i < field.cell_columns(); ++i) {
      const int a = j * field.columns + i, b = a + 1, c = b + field.columns, d = a + field.columns;
      out.triangle(a, b, c);
      out.triangle(a, c, d);
    }
  }
  return out;
}

void append(std::string& block, const void* data, std::size_t bytes) {
  block.append(static_cast<const char*>(data), bytes);
}

}  // namespace

int Geometry::put(const std::vector<float>& vertices, const std::vector<std::uint32_t>& indices) {
  entries_.push_back({vertices.size() / 3, indices.size(), block_.size()});
  append(block_, vertices.data(), vertices.size() * sizeof(float));
  append(block_, indices.data(), indices.size() * sizeof(std::uint32_t));
  return static_cast<int>(entries_.size()) - 1;
}

int Geometry::add(const Shape& shape) {
  const auto once = [&](const auto& data) {
    const auto found = shapes_.find(&data);
    if (found != shapes_.end()) return found->second;
    const Triangles triangles = triangles_of(data);
    return shapes_[&data] = put(triangles.vertices, triangles.indices);
  };
  switch (shape.kind()) {
    case ShapeKind::kHull: return once(shape.as_hull());
    case ShapeKind::kMesh: return once(shape.as_mesh());
    case ShapeKind::kHeightfield: return once(shape.as_heightfield());
    default: return -1;
  }
}

std::vector<Geometry::Part> Geometry::add(const MeshData& mesh) {
  const auto found = meshes_.find(&mesh);
  if (found != meshes_.end()) return found->second;
  std::vector<MeshPart> parts = mesh.parts;
  if (parts.empty()) parts.push_back({0, static_cast<int>(mesh.faces.size())});
  std::vector<Part> out;
  for (const MeshPart& part : parts) {
    Triangles triangles;
    std::map<int, int> renumbered;
    for (int f = part.first; f < part.first + part.count; ++f) {
      Triangle face = mesh.faces[static_cast<std::size_t>(f)];
      for (int& v : face) {
        const auto [place, is_new] = renumbered.try_emplace(v, static_cast<int>(renumbered.size()));
        if (is_new) triangles.point(mesh.vertices[static_cast<std::size_t>(v)]);
        v = place->second;
      }
      triangles.triangle(face[0], face[1], face[2]);
    }
    out.push_back({put(triangles.vertices, triangles.indices),
                   part.color_given ? std::optional(part.color) : std::nullopt});
  }
  return meshes_[&mesh] = out;
}

nlohmann::ordered_json Geometry::table() const {
  auto all = nlohmann::ordered_json::array();
  for (const Entry& e : entries_)
    all.push_back({{"vertices", e.vertices}, {"indices", e.indices}, {"offset", e.offset}});
  return all;
}

Bytes Geometry::bytes() const {
  std::string out;
  const auto kind = static_cast<std::uint32_t>(BinaryKind::kGeometry);
  append(out, &kind, sizeof kind);
  return std::make_shared<const std::string>(out + block_);
}

}  // namespace karakuri::server_detail
