// <geom>: shape, mass and look.
#include <Eigen/Eigenvalues>
#include <cmath>

#include <fmt/format.h>

#include "io/mjcf/context.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri::io {

namespace {

enum class GeomType { kPlane, kHfield, kSphere, kCapsule, kEllipsoid, kCylinder, kBox, kMesh, kSdf };
const std::vector<std::string> kTypes = {"plane",    "hfield", "sphere", "capsule", "ellipsoid",
                                         "cylinder", "box",    "mesh",   "sdf"};

struct Solid {
  std::optional<Shape> shape;  // for what touches
  Transform X_GS;              // the shape in the geom's frame
  Inertia inertia;             // of density 1, in the geom's frame
  std::shared_ptr<const MeshData> mesh;
};

/// How many numbers of `size` a type needs.
int sizes_needed(GeomType type, bool from_to) {
  switch (type) {
    case GeomType::kSphere: return 1;
    case GeomType::kCapsule:
    case GeomType::kCylinder: return from_to ? 1 : 2;
    case GeomType::kEllipsoid:
    case GeomType::kBox: return from_to ? 1 : 3;
    default: return 0;
  }
}

Shape primitive(GeomType type, const Vec3& size) {
  switch (type) {
    case GeomType::kSphere: return Shape::sphere(size.x());
    case GeomType::kCapsule: return Shape::capsule(size.x(), size.y());
    case GeomType::kCylinder: return Shape::cylinder(size.x(), size.y());
    case GeomType::kEllipsoid: return Shape::ellipsoid(size);
    case GeomType::kBox: return Shape::box(size);
    default: return Shape::plane();
  }
}

/// Thin walls of a primitive. MuJoCo has formulas for these; a difference of two solids is as good: the solid
/// grown by a little minus the solid, scaled to the area.
Inertia shell_inertia(GeomType type, const Vec3& size) {
  const double t = 1e-5 * size.cwiseAbs().maxCoeff();
  const Vec3 growth = type == GeomType::kCapsule || type == GeomType::kSphere ? Vec3(t, 0, 0) : Vec3(t, t, t);
  const Inertia out = solid_inertia(primitive(type, size + growth)),
                in = solid_inertia(primitive(type, size - growth));
  return {(out.mass - in.mass) / (2 * t), Vec3::Zero(), (out.about_com - in.about_com) / (2 * t)};
}

/// The box with the mesh's moments of inertia, half sizes ascending along its axes: MuJoCo fits primitives to
/// it.
std::pair<Vec3, Transform> inertia_box(const Inertia& in) {
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(in.about_com);
  const Vec3 m = eigen.eigenvalues().reverse();  // largest moment first: shortest side first
  Mat3 axes = eigen.eigenvectors().rowwise().reverse();
  if (axes.determinant() < 0) axes.col(2) = -axes.col(2);
  Vec3 half;
  for (int k = 0; k < 3; ++k) {
    const double square = 6 * (m[(k + 1) % 3] + m[(k + 2) % 3] - m[k]) / in.mass;
    half[k] = 0.5 * std::sqrt(std::max(0.0, square));
  }
  return {half, {axes, in.com}};
}

Vec3 fitted_size(GeomType type, const Vec3& half) {
  const double across = (half.x() + half.y()) / 2;
  switch (type) {
    case GeomType::kSphere: return Vec3::Constant(half.sum() / 3);
    case GeomType::kCapsule: return {across, std::max(0.0, half.z() - across / 2), 0};
    case GeomType::kCylinder: return {across, half.z(), 0};
    default: return half;
  }
}

class GeomReader {
 public:
  GeomReader(MjcfContext& c, const XmlElement& e, int body) : c_(c), e_(e), body_(body) {
    type_ = static_cast<GeomType>(c.xml.choice(e, "type", kTypes, 2));
    contype_ = mask("contype");
    conaffinity_ = mask("conaffinity");
    group_ = c.xml.integer(e, "group", 0);
  }

  GeomResult run(const Transform& X_BF) {
    X_BG_ = X_BF * read_place(c_, e_);
    if (e_.has("fromto")) read_fromto(X_BF);
    Solid solid = read_solid();
    const MjcfBody& body = c_.bodies[static_cast<std::size_t>(body_)];
    if (solid.shape || solid.mesh) {
      add_shape(body, solid);
      add_visual(body, solid);
    }
    return {mass_of(solid.inertia), group_};
  }

 private:
  std::uint32_t mask(const char* name) const {
    const double value = c_.xml.number(e_, name, 1);
    if (value >= 0 && value < 4294967296.0 && value == std::floor(value))
      return static_cast<std::uint32_t>(value);
    // files say -1 for all bits
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(std::clamp(value, -2147483648.0, 0.0)));
  }

  bool touches() const {
    return contype_ != 0 || conaffinity_ != 0 || c_.paired_geoms.contains(e_.get("name"));
  }

  void read_fromto(const Transform& X_BF) {
    const std::vector<double> n = c_.xml.numbers(e_, "fromto", 6, 6);
    if (n.empty()) return;
    const Vec3 a(n[0], n[1], n[2]), b(n[3], n[4], n[5]);
    if (!((b - a).norm() > 1e-12))
      return c_.xml.error(e_, "fromto has no length", "give two different points");
    // z points from the second to the first, as in MuJoCo
    X_BG_ = X_BF * Transform{frame_with_z(a - b), 0.5 * (a + b)};
    half_length_ = 0.5 * (b - a).norm();
  }

  Solid read_solid() {
    Solid solid;
    if (type_ == GeomType::kSdf) {
      c_.xml.report.unsupported("geom sdf", c_.where(e_), "geoms of type sdf are not supported and left out");
      return solid;
    }
    if (e_.has("mesh")) return read_mesh_solid();
    if (type_ == GeomType::kMesh) return c_.xml.require(e_, "mesh"), solid;
    if (type_ == GeomType::kHfield) {
      if (c_.xml.require(e_, "hfield")) solid.shape = heightfield_shape(c_, e_);
      return solid;
    }
    const Vec3 size = read_size();
    solid.shape = primitive(type_, size);
    if (std::vector<Diagnostic> flaws = check(*solid.shape, c_.where(e_)); !flaws.empty()) {
      c_.xml.report.add(std::move(flaws));
      return {};
    }
    const bool shell = c_.xml.flag(e_, "shellinertia", false);
    solid.inertia =
        shell && type_ != GeomType::kPlane ? shell_inertia(type_, size) : solid_inertia(*solid.shape);
    return solid;
  }

  Vec3 read_size() {
    const bool from_to = half_length_ > 0;
    std::vector<double> n = c_.xml.numbers(e_, "size", 1, 3);
    const int needed = sizes_needed(type_, from_to);
    if (static_cast<int>(n.size()) < needed) {
      c_.xml.error(
          e_,
          fmt::format("a {} needs {} numbers for its size", kTypes[static_cast<std::size_t>(type_)], needed),
          "add size=\"...\"");
      return Vec3::Ones();
    }
    n.resize(3, 0.0);
    if (!from_to) return {n[0], n[1], n[2]};
    const bool three = type_ == GeomType::kBox || type_ == GeomType::kEllipsoid;
    return three ? Vec3(n[0], n[0], half_length_) : Vec3(n[0], half_length_, 0);
  }

  Solid read_mesh_solid() {
    Solid solid;
    const bool wanted = touches() || c_.build.options.visuals || needs_mass();
    if (!wanted) return solid;
    MjcfMesh* mesh = find_mesh(c_, e_, e_.get("mesh"));
    if (!mesh) return solid;
    if (type_ == GeomType::kMesh) {
      solid.mesh = mesh->data;
      if (touches()) solid.shape = c_.build.mesh_shape(mesh->data, c_.where(e_));
      if (needs_mass()) solid.inertia = mesh_inertia(c_, *mesh, c_.xml.flag(e_, "shellinertia", false));
      return solid;
    }
    return fitted(*mesh);
  }

  /// A primitive around the mesh.
  Solid fitted(MjcfMesh& mesh) {
    Solid solid;
    const auto [half, X_GB] = inertia_box(mesh_inertia(c_, mesh, false));
    if (c_.compiler.fit_aabb) {
      c_.xml.report.unsupported("fitaabb", c_.where(e_),
                                "fitaabb is not supported: primitives are fitted by inertia");
    }
    const double scale = c_.xml.number(e_, "fitscale", 1);
    solid.shape = primitive(type_, fitted_size(type_, half) * scale);
    solid.X_GS = X_GB;
    if (std::vector<Diagnostic> flaws = check(*solid.shape, c_.where(e_)); !flaws.empty()) {
      c_.xml.report.add(std::move(flaws));
      return {};
    }
    solid.inertia = solid_inertia(*solid.shape).in_frame(X_GB);
    return solid;
  }

  /// Whether the body's inertia is made of its geoms', so that this mesh must be read.
  bool needs_mass() const {
    const XmlElement* body = c_.bodies[static_cast<std::size_t>(body_)].element;
    const bool given = body && body->child("inertial");
    const bool counts = group_ >= c_.compiler.first_inertia_group && group_ <= c_.compiler.last_inertia_group;
    return body_ > 0 && counts && (!given || c_.compiler.inertia_from_geom == FromGeom::kAlways) &&
           c_.compiler.inertia_from_geom != FromGeom::kNever && e_.get("mass") != "0";
  }

  Inertia mass_of(const Inertia& unit) {
    if (!(unit.mass > 0)) return {};
    double density = c_.xml.number(e_, "density", 1000);
    if (e_.has("mass")) density = c_.xml.number(e_, "mass", 0) / unit.mass;
    if (density < 0) {
      c_.xml.error(e_, "its mass or density is below zero", "give a number not below zero");
      return {};
    }
    Inertia in = unit.in_frame(X_BG_);
    in.mass *= density;
    in.about_com *= density;
    return in;
  }

  void add_shape(const MjcfBody& body, const Solid& solid) {
    if (!solid.shape || !touches()) return;
    for (const char* name : {"margin", "gap"}) {
      if (c_.xml.number(e_, name, 0) != 0) {
        c_.xml.report.unsupported(
            fmt::format("geom.{}", name), c_.where(e_),
            fmt::format("{} of <geom> is not supported: shapes touch at distance zero", name));
      }
    }
    MjcfGeom geom{.name = e_.get("name"), .body = body_};
    geom.placement = c_.build.mechanism().link(body.link).shapes.size();
    geom.contype = contype_;
    geom.conaffinity = conaffinity_;
    geom.condim = c_.xml.integer(e_, "condim", 3);
    geom.priority = c_.xml.integer(e_, "priority", 0);
    const std::vector<double> friction = c_.xml.numbers(e_, "friction", 1, 3);
    for (std::size_t k = 0; k < friction.size(); ++k) geom.friction[static_cast<int>(k)] = friction[k];
    geom.softness = read_softness(c_, e_, "contacts");
    geom.mix = std::max(0.0, c_.xml.number(e_, "solmix", 1));
    if (geom.condim != 1 && geom.condim != 3 && geom.condim != 4 && geom.condim != 6) {
      c_.xml.error(e_, fmt::format("condim is {}", geom.condim), "valid are 1, 3, 4 and 6");
    }
    if (geom.friction.minCoeff() < 0)
      c_.xml.error(e_, "a coefficient of friction is below zero", "give its magnitude");
    c_.build.out.scene.add_shape(body.link, *solid.shape, on_link(body) * X_BG_ * solid.X_GS);
    if (!geom.name.empty()) c_.geom_by_name[geom.name] = static_cast<int>(c_.geoms.size());
    c_.geoms.push_back(geom);
  }

  Transform on_link(const MjcfBody& body) const {
    return body.parent < 0 ? c_.build.options.pose : Transform{};  // the world of the file is moved in ours
  }

  void add_visual(const MjcfBody& body, const Solid& solid) {
    if (!c_.build.options.visuals) return;
    Visual visual{.name = e_.get("name"), .link = body.link, .X_LV = on_link(body) * X_BG_};
    visual.mesh = solid.mesh;
    if (!solid.mesh) visual.shape = *solid.shape, visual.X_LV = visual.X_LV * solid.X_GS;
    visual.shown = group_ <= 2;
    visual.color = {0.5F, 0.5F, 0.5F, 1};
    visual.color_given = e_.has("rgba") || e_.has("material");
    if (const auto known = c_.materials.find(e_.get("material")); known != c_.materials.end()) {
      visual.color = known->second;
    } else if (e_.has("material")) {
      c_.xml.report.remark("material " + e_.get("material"), c_.where(e_),
                           fmt::format("there is no material {}", in_quotes(e_.get("material"))));
    }
    const std::vector<double> rgba = c_.xml.numbers(e_, "rgba", 4, 4);
    for (std::size_t k = 0; k < rgba.size(); ++k) visual.color[k] = static_cast<float>(rgba[k]);
    c_.build.out.visuals.push_back(std::move(visual));
  }

  MjcfContext& c_;
  const XmlElement& e_;
  int body_;
  GeomType type_;
  std::uint32_t contype_, conaffinity_;
  int group_;
  Transform X_BG_;
  double half_length_ = 0;  // of fromto; 0: none
};

}  // namespace

GeomResult read_geom(MjcfContext& c, const XmlElement& e, int body, const Transform& X_BF) {
  return GeomReader(c, e, body).run(X_BF);
}

}  // namespace karakuri::io
