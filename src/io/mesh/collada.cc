// COLLADA 1.4/1.5: the triangles of the visual scene, with units, up axis and diffuse colours. Our own
// reader, since assimp's does not survive damaged files; animation, skins and cameras are passed over.
#include <map>
#include <set>

#include <fmt/format.h>

#include "io/mesh/read.h"
#include "io/xml.h"

namespace karakuri::io {

namespace {

using Mat4 = Eigen::Matrix<double, 4, 4>;
constexpr std::size_t kMostNodes = 100'000;  // nodes may name each other any number of times
constexpr int kDeepest = 60;

struct Source {
  std::vector<double> numbers;
  std::size_t stride = 3;
};

/// "#name" to "name".
std::string reference(const std::string& uri) { return uri.starts_with('#') ? uri.substr(1) : uri; }

class ColladaReader {
 public:
  ColladaReader(XmlFile& xml, const XmlElement& root) : xml_(xml), root_(root) { index(root); }

  void run() {
    read_asset();
    const XmlElement* scene = root_.child("scene");
    const XmlElement* instance = scene ? scene->child("instance_visual_scene") : nullptr;
    const XmlElement* visual = instance ? find(instance->get("url")) : nullptr;
    if (visual) {
      for (const XmlElement& node : visual->children) {
        if (node.name == "node") add_node(node, start_, 0);
      }
      return;
    }
    // libraries without a scene: every geometry where it is
    const XmlElement* library = root_.child("library_geometries");
    for (const XmlElement& g : library ? library->children : std::vector<XmlElement>{})
      add_geometry(g, start_, {});
  }

  MeshData mesh;

 private:
  void index(const XmlElement& e) {
    if (e.has("id")) by_id_.try_emplace(e.get("id"), &e);
    for (const XmlElement& c : e.children) index(c);
  }

  const XmlElement* find(const std::string& uri) const {
    const auto found = by_id_.find(reference(uri));
    return found == by_id_.end() ? nullptr : found->second;
  }

  void read_asset() {
    const XmlElement* asset = root_.child("asset");
    const XmlElement* unit = asset ? asset->child("unit") : nullptr;
    const XmlElement* up = asset ? asset->child("up_axis") : nullptr;
    start_ = Mat4::Identity();
    // to z up; COLLADA's default is y
    Mat3 R = Mat3::Identity();
    if (!up || up->text == "Y_UP") R << 1, 0, 0, 0, 0, -1, 0, 1, 0;
    if (up && up->text == "X_UP") R << 0, -1, 0, 0, 0, -1, 1, 0, 0;
    start_.topLeftCorner<3, 3>() = R * (unit ? xml_.number(*unit, "meter", 1) : 1.0);
  }

  // ---- nodes

  std::vector<double> numbers(const XmlElement& e, std::size_t least) const {
    std::vector<double> values;
    if (!parse_numbers(e.text, values) || values.size() < least) {
      xml_.error(e, fmt::format("<{}> has not {} numbers", e.name, least), "export the mesh again");
      values.assign(least, 0.0);
    }
    return values;
  }

  Mat4 transform_of(const XmlElement& e) const {
    Mat4 X = Mat4::Identity();
    if (e.name == "matrix") {
      const std::vector<double> n = numbers(e, 16);
      for (int i = 0; i < 16; ++i) X(i / 4, i % 4) = n[static_cast<std::size_t>(i)];
    } else if (e.name == "translate" || e.name == "scale") {
      const std::vector<double> n = numbers(e, 3);
      for (int i = 0; i < 3; ++i) (e.name == "scale" ? X(i, i) : X(i, 3)) = n[static_cast<std::size_t>(i)];
    } else if (e.name == "rotate") {
      const std::vector<double> n = numbers(e, 4);
      const Vec3 axis(n[0], n[1], n[2]);
      if (axis.norm() > 0) {
        X.topLeftCorner<3, 3>() =
            Eigen::AngleAxisd(n[3] * 0.017453292519943295, axis.normalized()).toRotationMatrix();
      }
    }
    return X;
  }

  void add_node(const XmlElement& node, Mat4 X, int depth) {
    if (++nodes_ > kMostNodes || depth > kDeepest) {
      if (!xml_.report.full())
        xml_.error(node, "its nodes are too many, or hold each other", "export the mesh again");
      return;
    }
    for (const XmlElement& e : node.children) X = X * transform_of(e);
    for (const XmlElement& e : node.children) {
      if (!xml_.report.ok()) return;
      if (e.name == "node") add_node(e, X, depth + 1);
      if (e.name == "instance_node") {
        if (const XmlElement* other = find(e.get("url"))) add_node(*other, X, depth + 1);
      }
      if (e.name == "instance_geometry") {
        const XmlElement* geometry = find(e.get("url"));
        if (geometry) {
          add_geometry(*geometry, X, colors_of(e));
        } else {
          xml_.error(e, fmt::format("there is no geometry {}", in_quotes(e.get("url"))),
                     "export the mesh again");
        }
      }
    }
  }

  // ---- colours

  /// By the symbol that the triangles use.
  std::map<std::string, Color> colors_of(const XmlElement& instance) const {
    std::map<std::string, Color> colors;
    const XmlElement* bind = instance.child("bind_material");
    const XmlElement* common = bind ? bind->child("technique_common") : nullptr;
    if (!common) return colors;
    for (const XmlElement& m : common->children) {
      const XmlElement* material = find(m.get("target"));
      const XmlElement* effect = material ? material->child("instance_effect") : nullptr;
      const XmlElement* definition = effect ? find(effect->get("url")) : nullptr;
      Color color;
      if (definition && find_diffuse(*definition, color)) colors[m.get("symbol")] = color;
    }
    return colors;
  }

  static bool find_diffuse(const XmlElement& e, Color& color) {
    if (e.name == "diffuse") {
      const XmlElement* c = e.child("color");
      std::vector<double> n;
      if (!c || !parse_numbers(c->text, n) || n.size() < 3) return false;
      n.resize(4, 1.0);
      for (std::size_t k = 0; k < 4; ++k) color[k] = static_cast<float>(n[k]);
      return true;
    }
    for (const XmlElement& c : e.children) {
      if (find_diffuse(c, color)) return true;
    }
    return false;
  }

  // ---- triangles

  void add_geometry(const XmlElement& geometry, const Mat4& X, const std::map<std::string, Color>& colors) {
    const XmlElement* m = geometry.child("mesh");
    for (const XmlElement& e : m ? m->children : std::vector<XmlElement>{}) {
      const bool polygons = e.name == "triangles" || e.name == "polylist" || e.name == "polygons";
      if (!polygons || !xml_.report.ok()) continue;
      MeshPart part{.first = static_cast<int>(mesh.faces.size())};
      if (const auto c = colors.find(e.get("material")); c != colors.end())
        part.color = c->second, part.color_given = true;
      add_polygons(e, X);
      part.count = static_cast<int>(mesh.faces.size()) - part.first;
      if (part.count > 0) mesh.parts.push_back(part);
    }
  }

  const Source* source(const std::string& uri) {
    const XmlElement* e = find(uri);
    if (e && e->name == "vertices") {  // which name the source of their positions
      for (const XmlElement& input : e->children) {
        if (input.get("semantic") == "POSITION") return positions(find(input.get("source")));
      }
    }
    return positions(e);
  }

  const Source* positions(const XmlElement* e) {
    const XmlElement* array = e ? e->child("float_array") : nullptr;
    if (!array) return nullptr;
    const auto [at, is_new] = sources_.try_emplace(e);
    if (!is_new) return &at->second;
    if (!parse_numbers(array->text, at->second.numbers)) {
      xml_.error(*array, "<float_array> has something that is not a finite number", "export the mesh again");
    }
    const XmlElement* common = e->child("technique_common");
    const XmlElement* accessor = common ? common->child("accessor") : nullptr;
    const int stride = accessor ? xml_.integer(*accessor, "stride", 3) : 3;
    at->second.stride = static_cast<std::size_t>(std::max(3, stride));
    return &at->second;
  }

  void add_polygons(const XmlElement& e, const Mat4& X) {
    std::size_t inputs = 0, offset = 0;
    const Source* from = nullptr;
    for (const XmlElement& input : e.children) {
      if (input.name != "input") continue;
      const int at = xml_.integer(input, "offset", 0);
      if (at < 0 || at > 64) return xml_.error(input, "an offset is out of range", "export the mesh again");
      inputs = std::max(inputs, static_cast<std::size_t>(at) + 1);
      if (input.get("semantic") == "VERTEX")
        from = source(input.get("source")), offset = static_cast<std::size_t>(at);
    }
    if (!from) return xml_.error(e, "its polygons name no vertices", "export the mesh again");
    const int first = add_vertices(*from, X);
    const std::size_t count = from->numbers.size() / from->stride;
    std::vector<double> sizes;
    if (const XmlElement* v = e.child("vcount")) (void)parse_numbers(v->text, sizes);
    for (const XmlElement& p : e.children) {
      std::vector<double> indices;
      if (p.name != "p") continue;
      if (!parse_numbers(p.text, indices))
        return xml_.error(p, "<p> has something that is not a number", "export the mesh again");
      const bool fans = e.name == "polygons";
      if (!add_faces(indices, inputs, offset,
                     fans ? std::vector<double>{double(indices.size() / inputs)} : sizes, count, first)) {
        return xml_.error(p, "a polygon names a vertex that is not there, or has too few",
                          "export the mesh again");
      }
    }
  }

  int add_vertices(const Source& from, const Mat4& X) {
    const int first = static_cast<int>(mesh.vertices.size());
    const std::size_t count = from.numbers.size() / from.stride;
    if (mesh.vertices.size() + count > kMostVertices) {
      xml_.error(root_, "it has too many vertices", "make it simpler");
      return first;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const double* n = &from.numbers[i * from.stride];
      mesh.vertices.push_back(X.topLeftCorner<3, 3>() * Vec3(n[0], n[1], n[2]) + X.topRightCorner<3, 1>());
    }
    mirrored_ = X.topLeftCorner<3, 3>().determinant() < 0;
    return first;
  }

  /// Polygons of these numbers of corners, as fans; without sizes, triangles.
  bool add_faces(const std::vector<double>& indices, std::size_t inputs, std::size_t offset,
                 const std::vector<double>& sizes, std::size_t count, int first) {
    const std::size_t corners = indices.size() / inputs;
    std::size_t at = 0;
    for (std::size_t polygon = 0; at < corners; ++polygon) {
      const double size = sizes.empty() ? 3 : polygon < sizes.size() ? sizes[polygon] : 0;
      if (!(size >= 1) || size > static_cast<double>(corners - at)) return false;
      const auto n = static_cast<std::size_t>(size);
      int fan[3] = {0, 0, 0};
      for (std::size_t k = 0; k < n; ++k) {
        const double index = indices[(at + k) * inputs + offset];
        if (!(index >= 0) || index >= static_cast<double>(count)) return false;
        fan[k == 0 ? 0 : 2] = first + static_cast<int>(index);
        if (k >= 2)
          mesh.faces.push_back(mirrored_ ? Triangle{fan[0], fan[2], fan[1]}
                                         : Triangle{fan[0], fan[1], fan[2]});
        if (k >= 1) fan[1] = fan[2];
      }
      at += n;
      if (mesh.faces.size() > kMostVertices) return false;
    }
    return true;
  }

  XmlFile& xml_;
  const XmlElement& root_;
  std::map<std::string, const XmlElement*> by_id_;
  std::map<const XmlElement*, Source> sources_;
  Mat4 start_ = Mat4::Identity();
  std::size_t nodes_ = 0;
  bool mirrored_ = false;
};

}  // namespace

Result<MeshData> read_collada(std::string_view content, const std::string& file) {
  Report report;
  XmlFile xml(report, 256u << 20);
  XmlElement root;
  if (!xml.parse(content, file, root)) return report.take_errors();
  ColladaReader reader(xml, root);
  reader.run();
  if (!report.ok()) return report.take_errors();
  return std::move(reader.mesh);
}

}  // namespace karakuri::io
