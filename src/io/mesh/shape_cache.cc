// A cached file is: magic, key (hash of vertices, faces, kind), then for each convex part the number of its
// vertices and these, then a hash of all before. Hulls are kept as their extreme points: building a hull of
// its own vertices is fast and keeps one place that knows what a ConvexHull is.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "io/files.h"
#include "karakuri/collision/decomposition.h"
#include "karakuri/core/hash.h"
#include "karakuri/io/mesh_file.h"

namespace karakuri {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMagic = 0x3168'7372'6b72'616bu;  // changes with the format or the algorithms
constexpr std::size_t kWorthKeeping = 200;                // vertices; smaller hulls are made faster than read

using Parts = std::vector<std::vector<Vec3>>;

std::uint64_t key_of(const MeshData& mesh, MeshCollision collision) {
  Hash hash;
  hash.add(kMagic);
  hash.add(static_cast<std::uint64_t>(collision));
  hash.add(std::uint64_t{mesh.vertices.size()});
  for (const Vec3& v : mesh.vertices) hash.add(std::span<const double>(v.data(), 3));
  for (const Triangle& f : mesh.faces) {
    hash.add((static_cast<std::uint64_t>(f[0]) << 40) ^ (static_cast<std::uint64_t>(f[1]) << 20) ^
             static_cast<std::uint64_t>(f[2]));
  }
  return hash.value();
}

std::uint64_t checksum(std::string_view bytes) {
  Hash hash;
  hash.add(std::as_bytes(std::span(bytes.data(), bytes.size())));
  return hash.value();
}

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Cuts a value from the front; false where there is not enough.
template <class T>
bool take(std::string_view& in, T& value) {
  if (in.size() < sizeof value) return false;
  std::memcpy(&value, in.data(), sizeof value);
  in.remove_prefix(sizeof value);
  return true;
}

std::string packed(std::uint64_t key, const Parts& parts) {
  std::string out;
  put(out, kMagic);
  put(out, key);
  put(out, std::uint64_t{parts.size()});
  for (const auto& part : parts) {
    put(out, std::uint64_t{part.size()});
    for (const Vec3& v : part) out.append(reinterpret_cast<const char*>(v.data()), 3 * sizeof(double));
  }
  put(out, checksum(out));
  return out;
}

/// Empty where the file is not what it should be.
Parts unpacked(std::string_view in, std::uint64_t key) {
  std::uint64_t sum = 0, magic = 0, its_key = 0, count = 0;
  if (in.size() < sizeof sum) return {};
  std::memcpy(&sum, in.data() + in.size() - sizeof sum, sizeof sum);
  in.remove_suffix(sizeof sum);
  if (checksum(in) != sum) return {};
  if (!take(in, magic) || !take(in, its_key) || !take(in, count) || magic != kMagic || its_key != key)
    return {};
  Parts parts;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t size = 0;
    if (!take(in, size) || size > in.size() / (3 * sizeof(double))) return {};
    std::vector<Vec3>& part = parts.emplace_back(size);
    for (Vec3& v : part) {
      for (int k = 0; k < 3; ++k) take(in, v[k]);
    }
  }
  return parts;
}

/// To a file of another name first, so that nobody ever sees half of it.
void write(const fs::path& file, const std::string& content) {
  std::error_code problem;
  fs::create_directories(file.parent_path(), problem);
  if (problem) return;
  static std::atomic<int> drafts{0};
  const fs::path draft = file.string() + fmt::format(".{}.{}", ::getpid(), drafts++);
  {
    std::ofstream out(draft, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!out) problem = std::make_error_code(std::errc::io_error);
  }
  if (!problem) fs::rename(draft, file, problem);
  if (problem) fs::remove(draft, problem);
}

std::vector<Vec3> vertices_of(const ConvexHull& hull) {
  std::vector<Vec3> all;
  for (int i = 0; i < hull.vertex_count; ++i) all.push_back(hull.vertex(i));
  return all;
}

/// A flat mesh (a plate, a label) has no hull; it is given the thickness of a sheet of paper.
Result<ConvexHull> hull_of(const std::vector<Vec3>& points) {
  Result<ConvexHull> hull = make_convex_hull(points);
  if (hull.ok() || points.size() < 3) return hull;
  Aabb box;
  for (const Vec3& p : points) box.add(p);
  const double size = box.half().maxCoeff();
  Vec3 normal = Vec3::Zero();
  for (std::size_t i = 2; i < points.size() && normal.norm() < 1e-9 * size * size; ++i) {
    normal = (points[i - 1] - points[0]).cross(points[i] - points[0]);
  }
  if (!(normal.norm() > 0)) return hull;
  const Vec3 half = std::max(1e-4, 1e-3 * size) * normal.normalized() / 2;
  std::vector<Vec3> thick;
  for (const Vec3& p : points) thick.push_back(p + half), thick.push_back(p - half);
  return make_convex_hull(thick);
}

Result<Parts> make_parts(const MeshData& mesh, MeshCollision collision) {
  if (collision == MeshCollision::kDecomposed) {
    const Result<Mesh> solid = make_mesh(mesh.vertices, mesh.faces);
    if (!solid.ok()) return solid.errors();
    const Result<Decomposition> split = decompose(*solid);
    if (!split.ok()) return split.errors();
    Parts parts;
    for (const ConvexHull& part : split->parts) parts.push_back(vertices_of(part));
    return parts;
  }
  const Result<ConvexHull> hull = hull_of(mesh.vertices);
  if (!hull.ok()) return hull.errors();
  return Parts{vertices_of(*hull)};
}

Result<Shape> shape_of(const Parts& parts) {
  std::vector<ShapeAt> shapes;
  for (const auto& points : parts) {
    Result<ConvexHull> hull = make_convex_hull(points);
    if (!hull.ok()) return hull.errors();
    shapes.push_back({Shape::hull(std::move(*hull)), {}});
  }
  if (shapes.size() == 1) return shapes[0].shape;
  return make_compound(shapes);
}

/// The same mesh under another name, in the words of the file it came from.
std::vector<Diagnostic> in_file(std::vector<Diagnostic> errors, const MeshData& mesh) {
  for (Diagnostic& e : errors) e.where = mesh.source + ":1";
  return errors;
}

}  // namespace

ShapeCache ShapeCache::of_user() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache) return ShapeCache(fs::path(cache) / "karakuri");
  const char* home = std::getenv("HOME");
  return home && *home ? ShapeCache(fs::path(home) / ".cache" / "karakuri") : ShapeCache();
}

Result<Shape> ShapeCache::shape(const MeshData& mesh, MeshCollision collision) {
  if (collision == MeshCollision::kSolid) {
    Result<Mesh> solid = make_mesh(mesh.vertices, mesh.faces);
    if (!solid.ok()) return in_file(solid.errors(), mesh);
    return Shape::mesh(std::move(*solid));
  }
  const bool kept = !folder_.empty() && mesh.vertices.size() >= kWorthKeeping;
  const std::uint64_t key = kept ? key_of(mesh, collision) : 0;
  const fs::path file = folder_ / fmt::format("{:016x}.hull", key);
  if (kept) {
    if (const Result<std::string> content = io::read_file(file, 64u << 20); content.ok()) {
      const Parts parts = unpacked(*content, key);
      if (!parts.empty()) {
        if (Result<Shape> shape = shape_of(parts); shape.ok()) return ++hits_, shape;
      }
    }
  }
  const Result<Parts> parts = make_parts(mesh, collision);
  if (!parts.ok()) return in_file(parts.errors(), mesh);
  if (kept) write(file, packed(key, *parts));
  Result<Shape> shape = shape_of(*parts);
  return shape.ok() ? shape : in_file(shape.errors(), mesh);
}

}  // namespace karakuri
