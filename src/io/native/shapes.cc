// Shapes and what is only seen.
#include <charconv>

#include <fmt/format.h>

#include "io/native/context.h"

namespace karakuri::io {

namespace {

const std::vector<std::string> kMeshEndings = {".stl", ".obj", ".dae", ".gltf", ".glb"};
constexpr std::size_t kMostHeights = 64u << 20;  // bytes of a file of heights

Vec3 read_scale(const YamlNode& node) {
  std::vector<double> scale{1};
  get(node, "scale", scale);
  return scale.size() == 3 ? Vec3(scale[0], scale[1], scale[2]) : Vec3::Constant(scale[0]);
}

/// The mesh that a section names, scaled; null with the error reported.
std::shared_ptr<const MeshData> read_mesh_of(NativeContext& c, const YamlNode& node) {
  const YamlNode* scale = node.find("scale");
  if (scale && scale->is_list() && scale->items.size() != 3) {
    c.file.error(*scale, fmt::format("scale has {} numbers", scale->items.size()), "give one, or three");
    return nullptr;
  }
  const YamlNode& name = *node.find("file");
  const std::filesystem::path file = c.find_file(name, kMeshEndings, "a mesh");
  return file.empty() ? nullptr : c.build.mesh(file, read_scale(node), c.file.where(name));
}

std::optional<Shape> told(NativeContext& c, const YamlNode& node, Result<Shape> shape) {
  if (shape.ok()) return std::move(*shape);
  for (const Diagnostic& e : shape.errors()) c.file.error(node, e.what, e.remedy);
  return std::nullopt;
}

std::optional<Shape> read_points(NativeContext& c, const YamlNode& node) {
  std::vector<Vec3> points;
  for (const YamlNode& item : node.items) {
    const std::vector<double> p = numbers(item);
    points.emplace_back(p[0], p[1], p[2]);
  }
  Result<ConvexHull> hull = make_convex_hull(points);
  if (!hull.ok()) return told(c, node, hull.errors());
  return Shape::hull(std::move(*hull));
}

/// Seen as it collides: the hull, not the mesh that it is around.
std::optional<Shape> read_hull(NativeContext& c, const YamlNode& node) {
  const YamlNode* points = node.find("points");
  if (node.has("file") == (points != nullptr)) {
    c.file.error(node, "a hull needs a file or points, and not both", "give one of them");
    return std::nullopt;
  }
  if (points) return read_points(c, *points);
  const std::shared_ptr<const MeshData> mesh = read_mesh_of(c, node);
  return mesh ? c.build.mesh_shape(mesh, c.file.where(node), MeshCollision::kHull) : std::nullopt;
}

std::optional<Shape> read_mesh_shape(NativeContext& c, const YamlNode& node,
                                     std::shared_ptr<const MeshData>& mesh) {
  mesh = read_mesh_of(c, node);
  if (!mesh) return std::nullopt;
  std::string use = "hull";
  get(node, "use", use);
  if (use == "surface") {
    Result<Mesh> surface = make_mesh(mesh->vertices, mesh->faces, {.use = MeshUse::kSurface});
    if (!surface.ok()) return told(c, node, surface.errors());
    return Shape::mesh(std::move(*surface));
  }
  const MeshCollision collision = use == "hull"    ? MeshCollision::kHull
                                  : use == "solid" ? MeshCollision::kSolid
                                                   : MeshCollision::kDecomposed;
  return c.build.mesh_shape(mesh, c.file.where(node), collision);
}

/// Numbers between white space and commas.
bool read_heights_file(NativeContext& c, const YamlNode& name, std::vector<double>& heights) {
  const std::filesystem::path file = c.find_file(name, {".txt", ".csv"}, "heights");
  if (file.empty()) return false;
  const Result<std::string> text = read_file(file, kMostHeights);
  if (!text.ok()) {
    c.file.error(name, text.errors()[0].what, text.errors()[0].remedy);
    return false;
  }
  const char *at = text->data(), *end = at + text->size();
  const auto between = [](char ch) { return static_cast<unsigned char>(ch) <= ' ' || ch == ','; };
  for (;;) {
    while (at != end && between(*at)) ++at;
    if (at == end) return true;
    double x = 0;
    const auto [next, problem] = std::from_chars(at, end, x);
    if (problem != std::errc() || (next != end && !between(*next))) {
      const auto line = 1 + std::count(text->data(), at, '\n');
      c.file.error(name, fmt::format("{}:{}: there is something that is not a number", file.string(), line),
                   "give numbers between spaces or commas");
      return false;
    }
    heights.push_back(x);
    at = next;
  }
}

std::optional<Shape> read_heightfield(NativeContext& c, const YamlNode& node) {
  std::vector<double> heights;
  const YamlNode* name = node.find("file");
  if (node.has("heights") == (name != nullptr)) {
    c.file.error(node, "a heightfield needs heights or a file of them, and not both", "give one of them");
    return std::nullopt;
  }
  if (name && !read_heights_file(c, *name, heights)) return std::nullopt;
  get(node, "heights", heights);
  int columns = 0, rows = 0;
  get(node, "columns", columns), get(node, "rows", rows);
  const std::vector<double> size = numbers(*node.find("size"));
  Result<Heightfield> field = make_heightfield(columns, rows, size[0], size[1], std::move(heights));
  if (!field.ok()) return told(c, node, field.errors());
  return Shape::heightfield(std::move(*field));
}

std::optional<Shape> read_compound(NativeContext& c, const YamlNode& list) {
  std::vector<ShapeAt> parts;
  for (const YamlNode& item : list.items) {
    const std::optional<ParsedShape> part = read_geometry(c, item);
    if (part) parts.push_back({part->shape, part->X});
  }
  if (parts.size() != list.items.size()) return std::nullopt;
  return told(c, list, make_compound(parts));
}

std::optional<Shape> read_primitive(const YamlNode& node, const std::string& kind) {
  double radius = 0, length = 0;
  get(node, "radius", radius);
  if (!get(node, "length", length)) get(node, "height", length);
  if (kind == "capsule") return Shape::capsule(radius, length / 2);
  if (kind == "cylinder") return Shape::cylinder(radius, length / 2);
  if (kind == "cone") return Shape::cone(radius, length / 2);
  const std::vector<double> size = numbers(node);
  if (kind == "sphere") return Shape::sphere(size[0]);
  if (kind == "box") return Shape::box(Vec3(size[0], size[1], size[2]) / 2);
  if (kind == "ellipsoid") return Shape::ellipsoid({size[0], size[1], size[2]});
  return std::nullopt;
}

/// The only key of the section `geometry` that the node has.
const YamlNode* geometry_of(NativeContext& c, const YamlNode& node, std::string& kind) {
  std::vector<std::string> all, found;
  for (const Key& key : section("geometry").keys) {
    all.emplace_back(key.name);
    if (node.has(key.name)) found.emplace_back(key.name);
  }
  if (found.size() == 1) {
    kind = found[0];
    return node.find(kind);
  }
  c.file.error(node,
               found.empty() ? "a shape has no geometry" : "a shape has several geometries: " + listed(found),
               "give exactly one of " + listed(all));
  return nullptr;
}

}  // namespace

std::optional<ParsedShape> read_geometry(NativeContext& c, const YamlNode& node) {
  std::string kind;
  const YamlNode* at = geometry_of(c, node, kind);
  if (!at) return std::nullopt;
  ParsedShape out{.shape = {}, .mesh = nullptr, .X = read_pose(c, node)};
  std::optional<Shape> shape;
  if (kind == "hull") {
    shape = read_hull(c, *at);
  } else if (kind == "mesh") {
    shape = read_mesh_shape(c, *at, out.mesh);
  } else if (kind == "heightfield") {
    shape = read_heightfield(c, *at);
  } else if (kind == "compound") {
    shape = read_compound(c, *at);
  } else if (kind == "plane") {
    shape = Shape::plane();
  } else {
    shape = read_primitive(*at, kind);
  }
  if (!shape) return std::nullopt;
  for (const Diagnostic& flaw : check(*shape, kind)) c.file.error(*at, flaw.what, flaw.remedy);
  out.shape = std::move(*shape);
  return out;
}

std::optional<Visual> read_visual(NativeContext& c, const YamlNode& node) {
  Visual visual;
  visual.color_given = get(node, "color", visual.color);
  get(node, "name", visual.name);
  get(node, "shown", visual.shown);
  if (const YamlNode* mesh = node.find("mesh"); mesh && !mesh->has("use")) {
    // what is only seen need not be solid, nor have a hull
    std::string kind;
    if (!geometry_of(c, node, kind)) return std::nullopt;
    visual.mesh = read_mesh_of(c, *mesh);
    visual.X_LV = read_pose(c, node);
    if (!visual.mesh) return std::nullopt;
    return visual;
  }
  const std::optional<ParsedShape> geometry = read_geometry(c, node);
  if (!geometry) return std::nullopt;
  visual.X_LV = geometry->X;
  visual.mesh = geometry->mesh;
  if (!visual.mesh) visual.shape = geometry->shape;
  return visual;
}

ParsedShapes read_shapes(NativeContext& c, const YamlNode& owner) {
  ParsedShapes out;
  double density = 1000;
  get(owner, "density", density);
  Color color = Visual{}.color;
  const bool colored = get(owner, "color", color);
  const MaterialId material = read_material_of(c, owner);
  for (const YamlNode* node : items(owner, "shapes")) {
    std::optional<ParsedShape> shape = read_geometry(c, *node);
    if (!shape) continue;
    PlacedShape placed{.shape = shape->shape, .placement = {}, .density = density};
    placed.placement.X_LS = shape->X;
    placed.placement.material = node->has("material") ? read_material_of(c, *node) : material;
    get(*node, "density", placed.density);
    double bits = 0;
    if (get(*node, "category", bits)) placed.placement.category = static_cast<std::uint32_t>(bits);
    if (get(*node, "mask", bits)) placed.placement.mask = static_cast<std::uint32_t>(bits);
    get(*node, "group", placed.placement.group);
    out.shapes.push_back(placed);
    bool visible = true;
    get(*node, "visible", visible);
    if (!visible) continue;
    Visual visual{.X_LV = shape->X, .color = color, .color_given = colored};
    if (get(*node, "color", visual.color)) visual.color_given = true;
    visual.mesh = shape->mesh;
    if (!visual.mesh) visual.shape = shape->shape;
    out.visuals.push_back(std::move(visual));
  }
  for (const YamlNode* node : items(owner, "visuals")) {
    if (!c.build.options.visuals) continue;
    if (std::optional<Visual> visual = read_visual(c, *node)) out.visuals.push_back(std::move(*visual));
  }
  if (!c.build.options.visuals) out.visuals.clear();
  return out;
}

void add_shapes(NativeContext& c, LinkId link, const ParsedShapes& shapes) {
  Scene& scene = c.build.out.scene;
  for (const PlacedShape& s : shapes.shapes) {
    ShapePlacement placement = s.placement;
    placement.X_LS = c.on_link(link, placement.X_LS);
    placement.shape = scene.shapes.insert(s.shape);
    scene.mechanism.link(link).shapes.push_back(placement);
  }
  for (Visual visual : shapes.visuals) {
    visual.link = link;
    visual.X_LV = c.on_link(link, visual.X_LV);
    c.build.out.visuals.push_back(std::move(visual));
  }
}

Inertia ParsedShapes::inertia() const {
  Inertia sum;
  for (const PlacedShape& s : shapes) {
    const Inertia one = solid_inertia(s.shape, s.density);
    if (one.mass > 0)
      sum = sum.mass > 0 ? sum + one.in_frame(s.placement.X_LS) : one.in_frame(s.placement.X_LS);
  }
  return sum;
}

void read_world(NativeContext& c, const YamlNode& root) {
  const LinkId world = c.mechanism().world();
  const YamlNode* ground = root.find("ground");
  if (ground && ground->text != "false") {
    double height = 0;
    get(*ground, "height", height);
    ParsedShapes floor;
    PlacedShape placed{.shape = Shape::plane(), .placement = {}};
    placed.placement.X_LS = Transform::translation({0, 0, height});
    placed.placement.material = read_material_of(c, *ground);
    floor.shapes.push_back(placed);
    if (c.build.options.visuals) {
      floor.visuals.push_back({.X_LV = placed.placement.X_LS, .shape = Shape::plane()});
    }
    add_shapes(c, world, floor);
  }
  if (const YamlNode* fixture = root.find("world")) add_shapes(c, world, read_shapes(c, *fixture));
}

}  // namespace karakuri::io
