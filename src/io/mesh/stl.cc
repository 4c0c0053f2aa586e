// STL, binary and text. Our own reader: the format is forty lines, a robot has a hundred such files, and each
// is untrusted.
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "io/mesh/read.h"

namespace karakuri::io {

namespace {

Diagnostic refused(const std::string& file, std::size_t line, std::string what) {
  return {Severity::kError, fmt::format("{}:{}", file, line), std::move(what),
          "export the mesh again as binary STL"};
}

template <class T>
T at(std::string_view content, std::size_t offset) {
  T value;
  std::memcpy(&value, content.data() + offset, sizeof value);
  return value;
}

constexpr std::size_t kHeader = 84, kTriangle = 50;

/// A text that starts with "solid" may still be binary: its size tells.
bool is_binary(std::string_view content) {
  if (content.size() < kHeader) return false;
  const std::size_t said = kHeader + std::size_t{at<std::uint32_t>(content, 80)} * kTriangle;
  return said == content.size() || !content.starts_with("solid");
}

Result<MeshData> read_binary(std::string_view content, const std::string& file) {
  const std::size_t count = at<std::uint32_t>(content, 80);
  if (count > (content.size() - kHeader) / kTriangle) {
    return refused(file, 1,
                   fmt::format("it says {} triangles but has room for {}", count,
                               (content.size() - kHeader) / kTriangle));
  }
  if (3 * count > kMostVertices) return refused(file, 1, fmt::format("it has {} triangles", count));
  MeshData mesh;
  mesh.vertices.reserve(3 * count);
  mesh.faces.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 1; k < 4; ++k) {  // 0 is the normal, which the vertices tell as well
      const std::size_t offset = kHeader + i * kTriangle + 12 * k;
      mesh.vertices.emplace_back(at<float>(content, offset), at<float>(content, offset + 4),
                                 at<float>(content, offset + 8));
    }
    const int first = static_cast<int>(3 * i);
    mesh.faces.push_back({first, first + 1, first + 2});
  }
  return mesh;
}

/// The words of a text, with the line of each.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}
  std::string_view next() {
    while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) <= ' ') {
      if (text_[at_++] == '\n') ++line;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) > ' ') ++at_;
    return text_.substr(begin, at_ - begin);
  }
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }
  std::size_t line = 1;

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

bool read_vertex(Words& words, Vec3& vertex) {
  for (int k = 0; k < 3; ++k) {
    std::string_view word = words.next();
    if (!word.empty() && word[0] == '+') word.remove_prefix(1);
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), vertex[k]);
    if (problem != std::errc() || end != word.data() + word.size()) return false;
  }
  return true;
}

Result<MeshData> read_text(std::string_view content, const std::string& file) {
  MeshData mesh;
  Words words(content);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == "solid" || word == "endsolid") {
      words.skip_line();  // a name
    } else if (word == "vertex") {
      if (!read_vertex(words, mesh.vertices.emplace_back())) {
        return refused(file, words.line, "a vertex is not three numbers");
      }
      if (mesh.vertices.size() > kMostVertices) return refused(file, words.line, "it has too many triangles");
    } else if (word == "endfacet") {
      const int n = static_cast<int>(mesh.vertices.size());
      if (n != 3 * static_cast<int>(mesh.faces.size()) + 3) {
        return refused(file, words.line, "a facet has not three vertices");
      }
      mesh.faces.push_back({n - 3, n - 2, n - 1});
    } else if (word == "facet") {
      words.skip_line();  // its normal
    } else if (word != "outer" && word != "loop" && word != "endloop") {
      return refused(file, words.line, fmt::format("'{}' is no word of STL", word.substr(0, 20)));
    }
  }
  if (mesh.vertices.size() != 3 * mesh.faces.size())
    return refused(file, words.line, "it ends within a facet");
  return mesh;
}

}  // namespace

Result<MeshData> read_stl(std::string_view content, const std::string& file) {
  if (is_binary(content)) return read_binary(content, file);
  if (content.starts_with("solid")) return read_text(content, file);
  return refused(file, 1, "it is neither a binary nor a text STL");
}

}  // namespace karakuri::io
