// Draws the pictures of docs/collision.md from the library's own answers: SVG files into the folder that
// KARAKURI_PICTURES names, or nowhere.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "karakuri/collision/ccd.h"
#include "karakuri/collision/decomposition.h"
#include "karakuri/collision/narrowphase.h"
#include "karakuri/spatial/rotation.h"

namespace {

using namespace karakuri;

constexpr const char* kInk = "#24292f";
constexpr const char* kBlue = "#2f6fbb";
constexpr const char* kRed = "#c8452f";
constexpr const char* kGrey = "#9aa4ae";

struct Canvas {
  double scale, x0, y0;
  int width, height;
  std::string body;

  Canvas(int w, int h, double s, double cx, double cy)
      : scale(s), x0(w / 2.0 - s * cx), y0(h / 2.0 + s * cy), width(w), height(h) {}
  double x(double v) const { return x0 + scale * v; }
  double y(double v) const { return y0 - scale * v; }
  void line(double ax, double ay, double bx, double by, const char* color, double w = 1.5,
            const char* dash = "") {
    body += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{}\"{}/>\n",
        x(ax), y(ay), x(bx), y(by), color, w, *dash ? fmt::format(" stroke-dasharray=\"{}\"", dash) : "");
  }
  void polygon(const std::vector<std::pair<double, double>>& p, const char* color, const char* fill,
               double opacity = 0.15) {
    std::string points;
    for (const auto& [px, py] : p) points += fmt::format("{:.1f},{:.1f} ", x(px), y(py));
    body += fmt::format(
        "<polygon points=\"{}\" stroke=\"{}\" stroke-width=\"1.5\" fill=\"{}\" fill-opacity=\"{}\"/>\n",
        points, color, fill, opacity);
  }
  void dot(double px, double py, double r, const char* color) {
    body +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n", x(px), y(py), r, color);
  }
  void text(double px, double py, const std::string& t, const char* color = kInk) {
    body += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\" font-family=\"sans-serif\" font-size=\"12\">{}</text>\n",
        x(px), y(py), color, t);
  }
  void write(const std::string& path) const {
    EXPECT_GT(body.size(), 500u) << path;
    if (path.front() == '/' && path.find('/', 1) == std::string::npos) return;  // no folder
    std::ofstream(path) << fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\">\n<rect "
        "width=\"100%\" "
        "height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
        width, height, width, height, body);
  }
};

std::vector<std::pair<double, double>> box_outline(const Transform& X, const Vec3& h) {
  std::vector<std::pair<double, double>> p;
  for (const auto& [sx, sy] : {std::pair{1, 1}, {-1, 1}, {-1, -1}, {1, -1}}) {
    const Vec3 v = X * Vec3(sx * h.x(), sy * h.y(), 0);
    p.push_back({v.x(), v.y()});
  }
  return p;
}

// A box on a box seen from above, at three turns: the overlap of the faces and the four points kept of it.
void draw_patches(const std::string& folder) {
  Canvas c(720, 260, 170, 1.6, 0);
  CollisionWorkspace ws;
  std::vector<Manifold> out;
  const Vec3 h(0.5, 0.5, 0.5), small(0.5, 0.4, 0.3);
  int k = 0;
  for (const double angle : {0.0, 0.35, 0.785}) {
    const Vec3 at(1.3 * k++ + 0.3, 0, 0);
    const Transform X{rotation_exp({0, 0, angle}), Vec3(0.12, 0.08, 0.799)};
    out.clear();
    collide(Shape::box(h), {}, Shape::box(small), X, {}, ws, out);
    auto lower = box_outline({}, h), upper = box_outline(X, small);
    for (auto* p : {&lower, &upper}) {
      for (auto& q : *p) q.first += at.x();
    }
    c.polygon(lower, kInk, kGrey);
    c.polygon(upper, kBlue, kBlue, 0.12);
    for (const Manifold& m : out) {
      for (int i = 0; i < m.count; ++i)
        c.dot(m.points[i].position.x() + at.x(), m.points[i].position.y(), 4, kRed);
    }
    c.text(at.x() - 0.5, -0.68,
           fmt::format("turned by {:.2f} rad: {} points", angle, out.empty() ? 0 : out[0].count));
  }
  c.write(folder + "/patch.svg");
}

// A ball that rolls over the seam of two triangles: the normal that each triangle alone would give, and what
// is reported.
void draw_seam(const std::string& folder) {
  Canvas c(720, 220, 210, 0, 0.25);
  const std::vector<Vec3> v = {{-1.5, -1, 0}, {0, -1, 0}, {0, 1, 0}, {-1.5, 1, 0}, {1.5, -1, 0}, {1.5, 1, 0}};
  const std::vector<Triangle> left = {{0, 1, 2}, {0, 2, 3}}, right = {{1, 4, 5}, {1, 5, 2}};
  std::vector<Triangle> both = left;
  both.insert(both.end(), right.begin(), right.end());
  const Shape whole = Shape::mesh(make_mesh(v, both, {.use = MeshUse::kSurface}).value());
  const Shape alone = Shape::mesh(make_mesh(v, right, {.use = MeshUse::kSurface}).value());
  CollisionWorkspace ws;
  std::vector<Manifold> out;
  c.line(-1.5, 0, 1.5, 0, kInk, 2);
  c.line(0, -0.06, 0, 0.02, kInk, 2);
  c.text(-0.12, -0.13, "seam");
  for (double x = -1.2; x <= 1.21; x += 0.3) {
    const Transform X = Transform::translation({x, 0.1, 0.195});
    c.body += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"none\" stroke=\"{}\"/>\n",
                          c.x(x), c.y(0.195), 0.2 * c.scale, kGrey);
    ClosestPoints p;
    closest_points(alone, {}, Shape::sphere(0.2), X, ws, p);
    if (p.separation < 0.05)
      c.line(p.on_a.x(), 0, p.on_a.x() + 0.28 * p.normal.x(), 0.28 * p.normal.z(), kRed, 1.5, "4 3");
    out.clear();
    collide(whole, {}, Shape::sphere(0.2), X, {}, ws, out);
    for (const Manifold& m : out) {
      const Vec3 q = m.points[0].position;
      c.line(q.x(), q.z(), q.x() + 0.22 * m.normal.x(), q.z() + 0.22 * m.normal.z(), kBlue, 2.5);
    }
  }
  c.text(-1.5, 0.62, "blue: contact normals reported on the joined floor");
  c.text(-1.5, 0.52, "red, dashed: the direction of least separation from the right-hand triangles alone",
         kRed);
  c.write(folder + "/seam.svg");
}

// Conservative advancement: a turning rod that flies at a thin wall; the poses at which a distance was asked
// for.
void draw_advance(const std::string& folder) {
  Canvas c(720, 260, 150, 0.2, 0);
  const Vec3 h(0.4, 0.04, 0.04), wall(0.01, 0.7, 0.7);
  const Shape rod = Shape::box(h), sheet = Shape::box(wall);
  Sweep s = Sweep::still(Transform::translation({-1.6, -0.2, 0}));
  s.displacement = {4, 0.3, 0};
  s.rotation = {0, 0, 5};
  CollisionWorkspace ws;
  const Transform W = Transform::translation({1.2, 0, 0});
  double last = -1;
  int asked = 0;
  for (int n = 1; n <= 200; ++n) {
    const Impact hit = time_of_impact(rod, s, sheet, Sweep::still(W),
                                      {.target = 1e-3, .tolerance = 1e-4, .max_iterations = n}, ws);
    if (hit.t > last + 1e-3 || n == 1)
      c.polygon(box_outline(s.at(hit.t), h), kBlue, kBlue, 0.06 + 0.25 * hit.t);
    last = hit.t, asked = hit.iterations;
    if (hit.state != ImpactState::kUnresolved) break;
  }
  c.polygon(box_outline(s.at(1), h), kGrey, kGrey, 0.05);
  c.polygon(box_outline(W, wall), kInk, kInk, 0.5);
  c.text(-2.1, 0.75,
         fmt::format("{} distances until the rod is 1 mm from the wall, t = {:.4f}; grey: where the step "
                     "would have ended",
                     asked, last));
  c.write(folder + "/advance.svg");
}

// A solid of cells and its convex parts.
void draw_parts(const std::string& folder) {
  Canvas c(720, 240, 55, 5.2, 1.5);
  const std::vector<std::vector<std::string>> figures = {
      {"###", "#.#", "#.#"}, {"###", "#.#", "###"}, {"#..", "###", "#.."}};
  const char* colors[] = {"#2f6fbb", "#c8452f", "#3b8f5a", "#b58a1b", "#7b4fa3", "#4aa3a3"};
  double shift = 0;
  for (const auto& rows : figures) {
    std::vector<Vec3> v;
    std::vector<Triangle> f;
    const auto solid = [&](int i, int j) { return i >= 0 && j >= 0 && i < 3 && j < 3 && rows[j][i] == '#'; };
    const auto quad = [&](Vec3 a, Vec3 b, Vec3 d, Vec3 e) {
      const int k = static_cast<int>(v.size());
      for (const Vec3& p : {a, b, d, e}) v.push_back(p);
      f.push_back({k, k + 1, k + 2}), f.push_back({k, k + 2, k + 3});
    };
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 3; ++i) {
        if (!solid(i, j)) continue;
        const double x = i, y = j;
        quad({x, y, 1}, {x + 1, y, 1}, {x + 1, y + 1, 1}, {x, y + 1, 1});
        quad({x, y, 0}, {x, y + 1, 0}, {x + 1, y + 1, 0}, {x + 1, y, 0});
        if (!solid(i - 1, j)) quad({x, y, 0}, {x, y, 1}, {x, y + 1, 1}, {x, y + 1, 0});
        if (!solid(i + 1, j)) quad({x + 1, y, 0}, {x + 1, y + 1, 0}, {x + 1, y + 1, 1}, {x + 1, y, 1});
        if (!solid(i, j - 1)) quad({x, y, 0}, {x + 1, y, 0}, {x + 1, y, 1}, {x, y, 1});
        if (!solid(i, j + 1)) quad({x, y + 1, 0}, {x, y + 1, 1}, {x + 1, y + 1, 1}, {x + 1, y + 1, 0});
      }
    }
    const auto mesh = make_mesh(v, f);
    if (!mesh) continue;
    const auto d = decompose(*mesh);
    if (!d) continue;
    int k = 0;
    for (const ConvexHull& part : d->parts) {
      for (const HullFace& face : part.faces) {  // the outline from above is the top face
        if (face.normal.z() < 0.99) continue;
        std::vector<std::pair<double, double>> p;
        for (int i = 0; i < face.count; ++i) {
          const Vec3 q = part.vertex(part.origin[face.first + i]);
          p.push_back({q.x() + shift, q.y()});
        }
        c.polygon(p, colors[k % 6], colors[k % 6], 0.3);
      }
      ++k;
    }
    c.text(shift, -0.4,
           fmt::format("{} parts, excess {:.1f} %", d->parts.size(), 100 * std::max(0.0, d->excess)));
    shift += 3.8;
  }
  c.write(folder + "/parts.svg");
}

TEST(Pictures, Draw) {
  const char* folder = std::getenv("KARAKURI_PICTURES");
  const std::string to = folder ? folder : "";
  draw_patches(to);
  draw_seam(to);
  draw_advance(to);
  draw_parts(to);
}

}  // namespace
