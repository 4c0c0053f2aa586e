#include "io/native/assets.h"

#include <fmt/format.h>

#include "io/files.h"
#include "io/native/emit.h"

namespace karakuri::io {

namespace {

std::string vertex_line(const Vec3& v) { return fmt::format("v {} {} {}\n", v.x(), v.y(), v.z()); }

std::string triangles(std::span<const Triangle> faces) {
  std::string out;
  for (const Triangle& f : faces) out += fmt::format("f {} {} {}\n", f[0] + 1, f[1] + 1, f[2] + 1);
  return out;
}

/// Letters that are the same in every file system.
std::string plain(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    out += fine ? c : '_';
  }
  return out.empty() ? "part" : out.substr(0, 60);
}

}  // namespace

std::filesystem::path Assets::fresh(const std::string& stem, const std::string& ending) {
  std::string name = plain(stem) + ending;
  for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}{}", plain(stem), i, ending);
  return folder_ / name;
}

std::string Assets::keep(const void* what, const std::string& stem, const std::string& ending,
                         std::string content) {
  for (const SavedScene::Asset& file : files_) {  // the same shape, as a thing of its own
    if (file.file.extension() == ending && file.content == content) {
      return known_[what] = file.file.generic_string();
    }
  }
  const std::filesystem::path file = fresh(stem, ending);
  files_.push_back({file, std::move(content)});
  return known_[what] = file.generic_string();
}

std::string Assets::add(const MeshData& mesh) {
  if (const auto known = known_.find(&mesh); known != known_.end()) return known->second;
  const std::string stem = std::filesystem::path(mesh.source).stem().string();
  std::string colors, body;
  for (const Vec3& v : mesh.vertices) body += vertex_line(v);
  for (std::size_t i = 0; i < mesh.parts.size(); ++i) {
    const MeshPart& part = mesh.parts[i];
    body += fmt::format("usemtl {}\n", part.color_given ? fmt::format("part{}", i) : "none");
    body +=
        triangles(std::span(mesh.faces)
                      .subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count)));
    if (!part.color_given) continue;
    const Color& c = part.color;
    colors += fmt::format("newmtl part{}\nKd {} {} {}\nd {}\n", i, exact(c[0]), exact(c[1]), exact(c[2]),
                          exact(c[3]));
  }
  if (mesh.parts.empty()) body += triangles(mesh.faces);
  if (colors.empty()) return keep(&mesh, stem, ".obj", std::move(body));
  const std::filesystem::path library = fresh(stem, ".mtl");
  files_.push_back({library, std::move(colors)});
  return keep(&mesh, stem, ".obj", fmt::format("mtllib {}\n{}", library.filename().string(), body));
}

std::string Assets::add(const ConvexHull& hull, const std::string& name) {
  if (const auto known = known_.find(&hull); known != known_.end()) return known->second;
  std::string body;
  for (int i = 0; i < hull.vertex_count; ++i) body += vertex_line(hull.vertex(i));
  for (const HullFace& face : hull.faces) {
    body += "f";
    for (int k = 0; k < face.count; ++k)
      body += fmt::format(" {}", hull.origin[static_cast<std::size_t>(face.first + k)] + 1);
    body += "\n";
  }
  return keep(&hull, name + "_hull", ".obj", std::move(body));
}

std::string Assets::add(const Mesh& mesh, const std::string& name) {
  if (const auto known = known_.find(&mesh); known != known_.end()) return known->second;
  std::string body;
  for (const Vec3& v : mesh.vertices) body += vertex_line(v);
  return keep(&mesh, name + "_solid", ".obj", body + triangles(mesh.faces));
}

std::string Assets::add(const Heightfield& field, const std::string& name) {
  if (const auto known = known_.find(&field); known != known_.end()) return known->second;
  std::string body;
  for (std::size_t i = 0; i < field.heights.size(); ++i) {
    const bool last = (i + 1) % static_cast<std::size_t>(field.columns) == 0;
    body += fmt::format("{}{}", field.heights[i], last ? "\n" : " ");
  }
  return keep(&field, name + "_heights", ".txt", std::move(body));
}

std::string Assets::add(const Trajectory& t) {
  std::string body = "time";
  for (const std::string& column : t.columns) body += "," + column;
  for (std::size_t row = 0; row < t.times.size(); ++row) {
    body += fmt::format("\n{}", t.times[row]);
    for (std::size_t k = 0; k < t.columns.size(); ++k)
      body += fmt::format(",{}", t.values[row * t.columns.size() + k]);
  }
  return keep(&t, t.name, ".csv", body + "\n");
}

std::string Assets::add_copy(const std::filesystem::path& file) {
  Result<std::string> content = read_file(file, 16u << 20);
  if (!content.ok()) return file.string();
  const std::filesystem::path copy = fresh(file.stem().string(), file.extension().string());
  files_.push_back({copy, std::move(*content)});
  return copy.generic_string();
}

}  // namespace karakuri::io
