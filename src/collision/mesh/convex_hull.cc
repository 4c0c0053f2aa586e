// Convex hulls: qhull finds the facets, this file turns them into loops of half-edges.
#include "karakuri/collision/convex_hull.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#ifdef KARAKURI_HAVE_QHULL
extern "C" {
#include <libqhull_r/qhull_ra.h>
}
#endif

#include "core/compose.h"
#include "karakuri/collision/mesh.h"

namespace karakuri {

namespace {

struct Facet {
  Vec3 normal;
  std::vector<int> corners;
};

Diagnostic hull_error(std::string what, std::string remedy) {
  return {Severity::kError, "convex hull", std::move(what), std::move(remedy)};
}

// Smallest width over the principal directions of the cloud: zero for points in a plane.
double flatness(std::span<const Vec3> points, double* size) {
  Vec3 mean = Vec3::Zero();
  for (const Vec3& p : points) mean += p / static_cast<double>(points.size());
  Mat3 C = Mat3::Zero();
  for (const Vec3& p : points) C += (p - mean) * (p - mean).transpose();
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(C);
  double width[3];
  for (int k = 0; k < 3; ++k) {
    double lo = 1e300, hi = -1e300;
    for (const Vec3& p : points) {
      const double x = eigen.eigenvectors().col(k).dot(p - mean);
      lo = std::min(lo, x), hi = std::max(hi, x);
    }
    width[k] = hi - lo;
  }
  *size = std::max({width[0], width[1], width[2]});
  return std::min({width[0], width[1], width[2]});
}

#ifdef KARAKURI_HAVE_QHULL
// qhull writes its complaints to a stream; they are caught in memory so that nothing is printed.
class Quiet {
 public:
  Quiet() : stream_(open_memstream(&text_, &size_)) {}
  ~Quiet() {
    std::fclose(stream_);
    std::free(text_);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  FILE* stream() { return stream_; }
  std::string text() {
    std::fflush(stream_);
    const std::string all(text_ ? text_ : "", size_);
    return all.substr(0, all.find('\n'));
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  FILE* stream_;
};

// A power of two that brings the coordinates between -1 and 1: qhull has a few tolerances that are absolute,
// and this way finds the same facets whatever the unit of length.
double unit_scale(std::span<const Vec3> points) {
  double most = 0;
  for (const Vec3& p : points) most = std::max(most, p.cwiseAbs().maxCoeff());
  return most > 0 ? std::ldexp(1.0, -std::ilogb(most) - 1) : 1;
}

bool run_qhull(std::span<const Vec3> points, bool triangulate, std::vector<Facet>& facets,
               std::string& complaint) {
  Quiet quiet;
  std::vector<coordT> coordinates(points.size() * 3);
  const double scale = unit_scale(points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (int k = 0; k < 3; ++k) coordinates[3 * i + k] = scale * points[i][k];
  }
  qhT state;
  qhT* qh = &state;
  qh_zero(qh, quiet.stream());
  char command[16] = "qhull Pp";
  if (triangulate) std::snprintf(command, sizeof command, "qhull Qt Pp");
  const int code = qh_new_qhull(qh, 3, static_cast<int>(points.size()), coordinates.data(), False, command,
                                quiet.stream(), quiet.stream());
  if (code == 0) {
    facetT* facet;
    vertexT *vertex, **vertexp;
    FORALLfacets {
      Facet f;
      f.normal = Eigen::Map<const Vec3>(facet->normal);
      FOREACHvertex_(facet->vertices) f.corners.push_back(qh_pointid(qh, vertex->point));
      facets.push_back(std::move(f));
    }
  } else {
    complaint = quiet.text();
  }
  qh_freeqhull(qh, qh_ALL);
  int left, total;
  qh_memfreeshort(qh, &left, &total);
  return code == 0;
}
#else
bool run_qhull(std::span<const Vec3>, bool, std::vector<Facet>&, std::string& complaint) {
  complaint = "this library was built without qhull, which finds hulls";
  return false;
}
#endif

// Counter-clockwise about the outward normal: by angle about the middle, which lies inside a convex polygon.
void sort_corners(std::span<const Vec3> points, Facet& f) {
  Vec3 middle = Vec3::Zero();
  for (int c : f.corners) middle += points[c] / static_cast<double>(f.corners.size());
  const Vec3 u = f.normal.unitOrthogonal(), v = f.normal.cross(u);
  std::sort(f.corners.begin(), f.corners.end(), [&](int i, int j) {
    const Vec3 a = points[i] - middle, b = points[j] - middle;
    return std::atan2(a.dot(v), a.dot(u)) < std::atan2(b.dot(v), b.dot(u));
  });
  // smallest index first: the loop does not depend on the angles' origin
  std::rotate(f.corners.begin(), std::min_element(f.corners.begin(), f.corners.end()), f.corners.end());
}

// Fails where two facets do not share their sides one to one, as merged facets may.
bool link(ConvexHull& h) {
  std::unordered_map<std::uint64_t, int> by_ends;
  const int n = static_cast<int>(h.origin.size());
  const auto key = [](int a, int b) {
    return (static_cast<std::uint64_t>(a) << 32) | static_cast<std::uint32_t>(b);
  };
  for (int e = 0; e < n; ++e) {
    if (!by_ends.emplace(key(h.origin[e], h.origin[h.next(e)]), e).second) return false;
  }
  h.twin.assign(n, -1);
  for (int e = 0; e < n; ++e) {
    const auto it = by_ends.find(key(h.origin[h.next(e)], h.origin[e]));
    if (it == by_ends.end()) return false;
    h.twin[e] = it->second;
  }
  return true;
}

void fill_neighbors(ConvexHull& h) {
  const int n = static_cast<int>(h.origin.size());
  h.neighbor_first.assign(h.vertex_count + 1, 0);
  h.vertex_half_edge.assign(h.vertex_count, -1);
  for (int e = 0; e < n; ++e) {
    ++h.neighbor_first[h.origin[e] + 1];
    if (h.vertex_half_edge[h.origin[e]] < 0) h.vertex_half_edge[h.origin[e]] = e;
  }
  for (int v = 0; v < h.vertex_count; ++v) h.neighbor_first[v + 1] += h.neighbor_first[v];
  h.neighbors.resize(n);
  std::vector<int> at(h.neighbor_first.begin(), h.neighbor_first.end() - 1);
  for (int e = 0; e < n; ++e) h.neighbors[at[h.origin[e]]++] = h.origin[h.next(e)];
}

bool assemble(std::span<const Vec3> points, std::vector<Facet>& facets, ConvexHull& h) {
  h = {};
  std::vector<int> number(points.size(), -1);
  for (Facet& f : facets) {
    if (f.corners.size() < 3) return false;
    sort_corners(points, f);
  }
  std::sort(facets.begin(), facets.end(),
            [](const Facet& a, const Facet& b) { return a.corners < b.corners; });
  for (const Facet& f : facets) {
    for (int c : f.corners) number[c] = 0;
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = h.vertex_count++;
    h.x.push_back(points[i].x()), h.y.push_back(points[i].y()), h.z.push_back(points[i].z());
    h.bounds.add(points[i]);
  }
  while (h.x.size() % 4) h.x.push_back(h.x[0]), h.y.push_back(h.y[0]), h.z.push_back(h.z[0]);
  for (const Facet& f : facets) {
    HullFace face;
    face.first = static_cast<int>(h.origin.size()), face.count = static_cast<int>(f.corners.size());
    for (int c : f.corners) {
      h.origin.push_back(number[c]);
      h.face_of.push_back(static_cast<int>(h.faces.size()));
    }
    // Newell's normal, from the vertices themselves; the plane through the outermost corner
    Vec3 n = Vec3::Zero();
    for (int i = 0; i < face.count; ++i) {
      const Vec3 a = points[f.corners[i]] - points[f.corners[0]];
      const Vec3 b = points[f.corners[(i + 1) % face.count]] - points[f.corners[0]];
      n += a.cross(b);
    }
    if (!(n.squaredNorm() > 0)) return false;
    face.normal = n.normalized();
    face.offset = -1e300;
    for (int c : f.corners) face.offset = std::max(face.offset, face.normal.dot(points[c]));
    h.faces.push_back(face);
  }
  // Euler's formula tells a closed surface of one piece
  if (!link(h) || h.vertex_count - h.edge_count() + static_cast<int>(h.faces.size()) != 2) return false;
  fill_neighbors(h);
  return true;
}

std::vector<Vec3> vertices_of(const ConvexHull& h) {
  std::vector<Vec3> vertices;
  vertices.reserve(h.vertex_count);
  for (int i = 0; i < h.vertex_count; ++i) vertices.push_back(h.vertex(i));
  return vertices;
}

void set_solid(ConvexHull& h) {
  std::vector<Triangle> triangles;
  for (const HullFace& f : h.faces) {
    for (int k = 1; k + 1 < f.count; ++k) {
      triangles.push_back({h.origin[f.first], h.origin[f.first + k], h.origin[f.first + k + 1]});
    }
  }
  h.solid = integrate_solid(vertices_of(h), triangles);
}

Result<ConvexHull> hull_once(std::span<const Vec3> points) {
  std::string complaint;
  ConvexHull hull;
  for (const bool triangulate : {false, true}) {
    std::vector<Facet> facets;
    if (run_qhull(points, triangulate, facets, complaint) && assemble(points, facets, hull)) {
      set_solid(hull);
      return hull;
    }
  }
  return hull_error(compose("no hull could be made of {} points: {}", points.size(),
                            complaint.empty() ? "its facets do not close" : complaint),
                    "remove nearly coincident points");
}

}  // namespace

Result<ConvexHull> make_convex_hull(std::span<const Vec3> points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].allFinite()) {
      return hull_error(compose("point {} is not finite", i), "remove it or mend the file it came from");
    }
  }
  if (points.size() < 4) {
    return hull_error(compose("{} points span no volume; at least 4 are needed", points.size()), "");
  }
  double size;
  const double width = flatness(points, &size);
  // thinner than this, the facets' normals would be rounding
  if (!(width > 1e-9 * size)) {
    return hull_error(compose("the points lie in a plane or on a line (width {:g} m of {:g} m)", width, size),
                      "give the part a thickness, or use a mesh as a surface");
  }
  Result<ConvexHull> hull = hull_once(points);
  // qhull may find other facets, and fewer vertices, without the points inside: once all points are vertices
  // the hull is a function of them alone, and a hull that was kept as its vertices comes back as it was
  for (std::size_t given = points.size(); hull.ok() && hull->vertex_count < static_cast<int>(given);) {
    given = static_cast<std::size_t>(hull->vertex_count);
    Result<ConvexHull> again = hull_once(vertices_of(*hull));
    if (!again.ok()) break;
    hull = std::move(again);
  }
  return hull;
}

}  // namespace karakuri
