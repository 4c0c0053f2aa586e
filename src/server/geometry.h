// Meshes as one block of numbers: for each float32 positions, then uint32 indices.
#pragma once

#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "karakuri/collision/shape.h"
#include "karakuri/io/mesh_file.h"
#include "karakuri/server/server.h"

namespace karakuri::server_detail {

class Geometry {
 public:
  /// The number of the shape's mesh; -1 for shapes that a client makes from their sizes.
  int add(const Shape& shape);
  /// Number and colour of each part of one colour.
  struct Part {
    int mesh = 0;
    std::optional<Color> color;
  };
  std::vector<Part> add(const MeshData& mesh);

  /// Where each mesh stands: {"vertices": count, "indices": count, "offset": bytes}.
  nlohmann::ordered_json table() const;
  Bytes bytes() const;

 private:
  int put(const std::vector<float>& vertices, const std::vector<std::uint32_t>& indices);

  struct Entry {
    std::size_t vertices = 0, indices = 0, offset = 0;
  };
  std::vector<Entry> entries_;
  std::string block_;
  std::map<const void*, int> shapes_;
  std::map<const void*, std::vector<Part>> meshes_;
};

}  // namespace karakuri::server_detail
