// From a triangle soup to a boundary representation: join, check, turn, connect.
#include "karakuri/collision/mesh.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "collision/mesh/mesh_tree.h"
#include "core/compose.h"

namespace karakuri {

namespace {

void note(MeshFinding& finding, int index) {
  if (finding.count++ < kMeshReportLimit) finding.first.push_back(index);
}

struct Side {
  int face, side;  // the face's side from corner `side` to the next
  bool forward;    // runs from the smaller vertex to the larger
};

std::uint64_t side_key(int a, int b) {
  if (a > b) std::swap(a, b);
  return (static_cast<std::uint64_t>(a) << 32) | static_cast<std::uint32_t>(b);
}

// The soup while it is being mended. `face_name` is the caller's index of each face that is left.
struct Soup {
  std::vector<Vec3> vertices;
  std::vector<Triangle> faces;
  std::vector<int> face_name;
  std::vector<int> component;  // per face
  std::unordered_map<std::uint64_t, std::vector<Side>> sides;
  std::vector<std::uint64_t> side_order;  // keys in the order of first use: hash order decides nothing
  bool orientable = true;
};

// For each vertex the first one that it is equal to.
std::vector<int> equal_to(std::span<const Vec3> v, double distance) {
  std::vector<int> order(v.size()), first(v.size());
  std::iota(order.begin(), order.end(), 0);
  std::iota(first.begin(), first.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    for (int k = 0; k < 3; ++k) {
      if (v[a][k] != v[b][k]) return v[a][k] < v[b][k];
    }
    return a < b;
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size() && v[order[j]].x() - v[order[i]].x() <= distance; ++j) {
      if ((v[order[j]] - v[order[i]]).squaredNorm() > distance * distance) {
        if (distance == 0) break;  // equal ones are neighbours in this order
        continue;
      }
      const int a = first[order[i]], b = first[order[j]];
      first[std::max(order[i], order[j])] = std::min(a, b);
    }
  }
  // chains of near vertices end at one representative
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = first[first[i]];
  return first;
}

void find_sides(Soup& s) {
  s.sides.clear(), s.side_order.clear();
  for (int f = 0; f < static_cast<int>(s.faces.size()); ++f) {
    for (int k = 0; k < 3; ++k) {
      const int a = s.faces[f][k], b = s.faces[f][(k + 1) % 3];
      auto& list = s.sides[side_key(a, b)];
      if (list.empty()) s.side_order.push_back(side_key(a, b));
      list.push_back({f, k, a < b});
    }
  }
}

// Vertices and indices; fills the soup with the faces that can be used.
void take_faces(std::span<const Vec3> vertices, std::span<const Triangle> faces, double merge, Soup& s,
                MeshReport& r) {
  const int n = static_cast<int>(vertices.size());
  std::vector<bool> finite(n), used(n, false);
  for (int i = 0; i < n; ++i) {
    finite[i] = vertices[i].allFinite();
    if (!finite[i]) note(r.not_finite, i);
    s.vertices.push_back(finite[i] ? vertices[i] : Vec3(Vec3::Zero()));
  }
  const std::vector<int> same = equal_to(s.vertices, merge);
  for (int i = 0; i < n; ++i) {
    if (same[i] != i && finite[i]) note(r.duplicate_vertex, i);
  }
  std::unordered_map<std::uint64_t, std::vector<Triangle>> seen;
  for (int f = 0; f < static_cast<int>(faces.size()); ++f) {
    Triangle t = faces[f];
    if (std::any_of(t.begin(), t.end(), [&](int v) { return v < 0 || v >= n; })) {
      note(r.bad_index, f);
      continue;
    }
    if (std::any_of(t.begin(), t.end(), [&](int v) { return !finite[v]; })) continue;
    for (int v : t) used[v] = true;
    for (int& v : t) v = same[v];
    const Vec3 ab = s.vertices[t[1]] - s.vertices[t[0]], ac = s.vertices[t[2]] - s.vertices[t[0]];
    const double longest = std::max({ab.squaredNorm(), ac.squaredNorm(), (ac - ab).squaredNorm()});
    const bool repeated = t[0] == t[1] || t[1] == t[2] || t[2] == t[0];
    // height below 1e-9 of the longest side: the normal would be rounding
    if (repeated || ab.cross(ac).norm() <= 1e-9 * longest) note(r.degenerate_face, f);
    if (repeated) continue;
    std::rotate(t.begin(), std::min_element(t.begin(), t.end()), t.end());
    auto& equal = seen[side_key(t[0], t[1]) * 31 + static_cast<std::uint64_t>(t[2])];
    if (std::find(equal.begin(), equal.end(), t) != equal.end()) {
      note(r.duplicate_face, f);
      continue;
    }
    equal.push_back(t);
    s.faces.push_back(t);
    s.face_name.push_back(f);
  }
  for (int i = 0; i < n; ++i) {
    if (!used[i]) note(r.unused_vertex, i);
  }
}

void turn(Triangle& t) { std::swap(t[1], t[2]); }

// Connected parts over sides shared by two; makes each part run one way, the way of its majority.
void orient(Soup& s, MeshReport& r) {
  const int n = static_cast<int>(s.faces.size());
  s.component.assign(n, -1);
  std::vector<char> turned(n, 0);
  std::vector<int> stack, members;
  for (int seed = 0; seed < n; ++seed) {
    if (s.component[seed] >= 0) continue;
    members.clear();
    stack.push_back(seed);
    s.component[seed] = r.components;
    while (!stack.empty()) {
      const int f = stack.back();
      stack.pop_back();
      members.push_back(f);
      for (int k = 0; k < 3; ++k) {
        const auto& list = s.sides[side_key(s.faces[f][k], s.faces[f][(k + 1) % 3])];
        if (list.size() != 2) continue;
        const Side &mine = list[0].face == f ? list[0] : list[1],
                   &other = list[0].face == f ? list[1] : list[0];
        const char want = turned[f] ^ (mine.forward == other.forward);
        if (s.component[other.face] < 0) {
          s.component[other.face] = r.components;
          turned[other.face] = want;
          stack.push_back(other.face);
        } else if (turned[other.face] != want) {
          s.orientable = false;  // a Moebius strip
        }
      }
    }
    const auto count = std::count_if(members.begin(), members.end(), [&](int f) { return turned[f] != 0; });
    const bool minority = count * 2 <= static_cast<std::ptrdiff_t>(members.size());
    std::sort(members.begin(), members.end());
    for (int f : members) {
      if ((turned[f] != 0) != minority) continue;
      note(r.misoriented_face, s.face_name[f]);
      turn(s.faces[f]);
    }
    ++r.components;
  }
}

// Does a ray from p cross the faces of one component an odd number of times?
bool odd_crossings(const Soup& s, int component, const Vec3& p) {
  const Vec3 d = Vec3(0.5377, 0.8339, 0.1258).normalized();  // no axis, so that edges are missed
  bool odd = false;
  for (std::size_t f = 0; f < s.faces.size(); ++f) {
    if (s.component[f] != component) continue;
    const Vec3 a = s.vertices[s.faces[f][0]], e1 = s.vertices[s.faces[f][1]] - a,
               e2 = s.vertices[s.faces[f][2]] - a;
    const Vec3 h = d.cross(e2), q = (p - a).cross(e1);
    const double det = e1.dot(h);
    if (det == 0) continue;
    const double u = (p - a).dot(h) / det, v = d.dot(q) / det, t = e2.dot(q) / det;
    if (u >= 0 && v >= 0 && u + v <= 1 && t > 0) odd = !odd;
  }
  return odd;
}

// Parts with negative volume are turned, unless they are cavities inside another part.
void turn_inside_out(Soup& s, MeshReport& r) {
  std::vector<std::vector<Triangle>> parts(r.components);
  for (std::size_t f = 0; f < s.faces.size(); ++f) parts[s.component[f]].push_back(s.faces[f]);
  for (int c = 0; c < r.components; ++c) {
    if (integrate_solid(s.vertices, parts[c]).mass >= 0) continue;
    int around = 0;
    for (int other = 0; other < r.components && r.components > 1; ++other) {
      if (other != c && odd_crossings(s, other, s.vertices[parts[c][0][0]])) ++around;
    }
    if (around % 2 == 1) continue;
    ++r.inside_out;
    for (std::size_t f = 0; f < s.faces.size(); ++f) {
      if (s.component[f] == c) turn(s.faces[f]);
    }
  }
}

void count_sides(const Soup& s, MeshReport& r) {
  for (const std::uint64_t key : s.side_order) {
    const auto& list = s.sides.at(key);
    if (list.size() == 1) note(r.open_edge, s.face_name[list[0].face]);
    if (list.size() > 2) {
      for (const Side& side : list) note(r.non_manifold_edge, s.face_name[side.face]);
    }
  }
}

Soup mend(std::span<const Vec3> vertices, std::span<const Triangle> faces, double merge, MeshReport& r) {
  Soup s;
  take_faces(vertices, faces, merge, s, r);
  find_sides(s);
  count_sides(s, r);
  orient(s, r);
  r.closed = !s.faces.empty() && r.open_edge.count == 0 && r.non_manifold_edge.count == 0 && s.orientable;
  if (r.closed) turn_inside_out(s, r);
  r.mended = r.duplicate_vertex.count || r.degenerate_face.count || r.duplicate_face.count ||
             r.misoriented_face.count || r.inside_out || r.unused_vertex.count;
  return s;
}

void drop_unused(const Soup& s, Mesh& m) {
  std::vector<int> number(s.vertices.size(), -1);
  for (const Triangle& t : s.faces) {
    for (int v : t) number[v] = 0;
  }
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<int>(m.vertices.size());
    m.vertices.push_back(s.vertices[i]);
    m.bounds.add(s.vertices[i]);
  }
  for (Triangle t : s.faces) {
    for (int& v : t) v = number[v];
    m.faces.push_back(t);
  }
}

void set_normals(Mesh& m) {
  m.vertex_normals.assign(m.vertices.size(), Vec3::Zero());
  for (const Triangle& t : m.faces) {
    const Vec3 p[3] = {m.vertices[t[0]], m.vertices[t[1]], m.vertices[t[2]]};
    const Vec3 n = (p[1] - p[0]).cross(p[2] - p[0]);
    const double length = n.norm();
    m.face_normals.push_back(length > 0 ? Vec3(n / length) : Vec3(Vec3::Zero()));
    for (int k = 0; k < 3; ++k) {
      const Vec3 a = (p[(k + 1) % 3] - p[k]).normalized(), b = (p[(k + 2) % 3] - p[k]).normalized();
      m.vertex_normals[t[k]] += std::atan2(a.cross(b).norm(), a.dot(b)) * m.face_normals.back();
    }
  }
  for (Vec3& n : m.vertex_normals) n = n.squaredNorm() > 0 ? Vec3(n.normalized()) : Vec3(Vec3::UnitZ());
}

void connect(Mesh& m) {
  std::unordered_map<std::uint64_t, int> number;
  m.face_edges.resize(m.faces.size());
  for (int f = 0; f < static_cast<int>(m.faces.size()); ++f) {
    for (int k = 0; k < 3; ++k) {
      const int a = m.faces[f][k], b = m.faces[f][(k + 1) % 3];
      const auto [it, fresh] = number.emplace(side_key(a, b), static_cast<int>(m.edges.size()));
      if (fresh) m.edges.push_back({{std::min(a, b), std::max(a, b)}, {-1, -1}, 0});
      MeshEdge& e = m.edges[it->second];
      m.face_edges[f][k] = it->second;
      const int slot = a < b ? 0 : 1;
      if (e.f[slot] < 0) e.f[slot] = f;
    }
  }
  for (MeshEdge& e : m.edges) {
    if (e.f[0] < 0) std::swap(e.f[0], e.f[1]);
    if (e.f[1] < 0) continue;
    const Vec3 &n0 = m.face_normals[e.f[0]], &n1 = m.face_normals[e.f[1]];
    const Vec3 d = (m.vertices[e.v[1]] - m.vertices[e.v[0]]).normalized();
    e.bend = std::atan2(n0.cross(n1).dot(d), n0.dot(n1));
  }
  m.vertex_edge_first.assign(m.vertices.size() + 1, 0);
  for (const MeshEdge& e : m.edges) ++m.vertex_edge_first[e.v[0] + 1], ++m.vertex_edge_first[e.v[1] + 1];
  for (std::size_t v = 0; v < m.vertices.size(); ++v) m.vertex_edge_first[v + 1] += m.vertex_edge_first[v];
  m.vertex_edges.resize(2 * m.edges.size());
  std::vector<int> at(m.vertex_edge_first.begin(), m.vertex_edge_first.end() - 1);
  for (int e = 0; e < static_cast<int>(m.edges.size()); ++e) {
    for (int v : m.edges[e].v) m.vertex_edges[at[v]++] = e;
  }
}

// No valley, and the hull adds no volume.
std::shared_ptr<const ConvexHull> hull_if_convex(const Mesh& m) {
  const auto valley = [](const MeshEdge& e) { return e.bend < -1e-6; };
  if (std::any_of(m.edges.begin(), m.edges.end(), valley)) return nullptr;
  auto hull = make_convex_hull(m.vertices);
  if (!hull || std::abs(hull->solid.mass - m.solid.mass) > 1e-9 * m.solid.mass) return nullptr;
  return std::make_shared<const ConvexHull>(std::move(*hull));
}

}  // namespace

MeshReport diagnose_mesh(std::span<const Vec3> vertices, std::span<const Triangle> faces) {
  MeshReport report;
  mend(vertices, faces, 0, report);
  return report;
}

Result<Mesh> make_mesh(std::span<const Vec3> vertices, std::span<const Triangle> faces,
                       const MeshOptions& options, MeshReport* report) {
  MeshReport found;
  const Soup soup = mend(vertices, faces, std::max(0.0, options.merge_distance), found);
  if (report) *report = found;
  std::vector<Diagnostic> told = to_diagnostics(found, options.use);
  const auto refused = [](const Diagnostic& d) { return d.severity == Severity::kError; };
  if (std::any_of(told.begin(), told.end(), refused)) return told;
  if (!options.mend && found.mended) {
    for (Diagnostic& d : told) d.severity = Severity::kError;
    told.push_back({Severity::kError, "mesh", "needs mending, which was not allowed", "allow mending"});
    return told;
  }
  Mesh mesh;
  mesh.use = options.use;
  drop_unused(soup, mesh);
  set_normals(mesh);
  connect(mesh);
  mesh.tree = collision_detail::build_tree(mesh.vertices, mesh.faces);
  if (mesh.use == MeshUse::kSolid) {
    mesh.solid = integrate_solid(mesh.vertices, mesh.faces);
    if (found.components == 1) mesh.hull = hull_if_convex(mesh);
  }
  if (mesh.use == MeshUse::kSolid && !(mesh.solid.mass > 0)) {
    return Diagnostic{Severity::kError, "mesh", compose("encloses no volume ({:g} m^3)", mesh.solid.mass),
                      "use it as a surface, or give it a thickness"};
  }
  return mesh;
}

}  // namespace karakuri
