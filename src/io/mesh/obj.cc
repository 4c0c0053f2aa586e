// Wavefront OBJ: vertices, polygons, colours of materials. Texture coordinates and normals are passed over.
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "io/mesh/read.h"

namespace karakuri::io {

namespace {

class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  bool next(std::string_view& line) {
    if (at_ >= text_.size()) return false;
    const auto end = text_.find('\n', at_);
    line = text_.substr(at_, end == text_.npos ? text_.npos : end - at_);
    at_ = end == text_.npos ? text_.size() : end + 1;
    ++number;
    return true;
  }
  std::size_t number = 0;

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

std::string_view take_word(std::string_view& line) {
  std::size_t begin = 0;
  while (begin < line.size() && static_cast<unsigned char>(line[begin]) <= ' ') ++begin;
  std::size_t end = begin;
  while (end < line.size() && static_cast<unsigned char>(line[end]) > ' ') ++end;
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return std::string(text);
}

template <class T>
bool to_number(std::string_view word, T& value) {
  if (!word.empty() && word[0] == '+') word.remove_prefix(1);
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  return problem == std::errc() && end == word.data() + word.size();
}

std::map<std::string, Color, std::less<>> read_materials(std::string_view text) {
  std::map<std::string, Color, std::less<>> materials;
  Color* at = nullptr;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    const std::string_view key = take_word(line);
    if (key == "newmtl") {
      at = &(materials[trimmed(line)] = {0.7F, 0.7F, 0.7F, 1.0F});
    } else if (key == "Kd" && at) {
      for (int k = 0; k < 3; ++k) to_number(take_word(line), (*at)[static_cast<std::size_t>(k)]);
    } else if (key == "d" && at) {
      to_number(take_word(line), (*at)[3]);
    }
  }
  return materials;
}

class ObjReader {
 public:
  ObjReader(std::string_view content, const std::string& file) : lines_(content), file_(file) {}

  Result<MeshData> run(MaterialText find, const void* context) {
    for (std::string_view line; lines_.next(line);) {
      std::string_view rest = line;
      const std::string_view key = take_word(rest);
      std::string flaw;
      if (key == "v") {
        flaw = add_vertex(rest);
      } else if (key == "f") {
        flaw = add_face(rest);
      } else if (key == "usemtl") {
        start_part(trimmed(rest));
      } else if (key == "mtllib" && find) {
        for (auto& [name, color] : read_materials(find(trimmed(rest), context))) materials_[name] = color;
      }
      if (!flaw.empty()) {
        return Diagnostic{Severity::kError, fmt::format("{}:{}", file_, lines_.number), flaw,
                          "export the mesh again"};
      }
    }
    finish_part();
    return std::move(mesh_);
  }

 private:
  std::string add_vertex(std::string_view rest) {
    Vec3 v;
    for (int k = 0; k < 3; ++k) {
      if (!to_number(take_word(rest), v[k])) return "a vertex is not three numbers";
    }
    if (mesh_.vertices.size() >= kMostVertices) return "it has too many vertices";
    mesh_.vertices.push_back(v);
    return "";
  }

  /// Polygons become fans, which is right for convex ones.
  std::string add_face(std::string_view rest) {
    const long long count = static_cast<long long>(mesh_.vertices.size());
    int first = -1, last = -1, corners = 0;
    for (std::string_view word = take_word(rest); !word.empty() && word[0] != '#'; word = take_word(rest)) {
      long long index = 0;
      if (!to_number(word.substr(0, word.find('/')), index)) return "a face names no vertices";
      index = index < 0 ? count + index : index - 1;  // negative ones count from the end
      if (index < 0 || index >= count) return "a face names a vertex that is not there";
      if (++corners > 2) mesh_.faces.push_back({first, last, static_cast<int>(index)});
      (corners == 1 ? first : last) = static_cast<int>(index);
      if (mesh_.faces.size() > kMostVertices) return "it has too many faces";
    }
    return corners > 2 ? "" : "a face has fewer than three vertices";
  }

  void start_part(const std::string& material) {
    finish_part();
    const auto found = materials_.find(material);
    part_ = {.first = static_cast<int>(mesh_.faces.size())};
    if (found == materials_.end()) return;
    part_.color = found->second;
    part_.color_given = true;
  }

  void finish_part() {
    part_.count = static_cast<int>(mesh_.faces.size()) - part_.first;
    if (part_.count > 0) mesh_.parts.push_back(part_);
  }

  Lines lines_;
  const std::string& file_;
  MeshData mesh_;
  MeshPart part_;
  std::map<std::string, Color, std::less<>> materials_;
};

}  // namespace

Result<MeshData> read_obj(std::string_view content, const std::string& file, MaterialText materials,
                          const void* context) {
  return ObjReader(content, file).run(materials, context);
}

}  // namespace karakuri::io
