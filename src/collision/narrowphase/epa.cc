// The origin lies inside A - B; the nearest point of its boundary gives depth and normal.
//   P_k: a polytope inside A - B around the origin, f: its face nearest to the origin, with normal n,
//   distance d  (1) w = support_{A-B}(n):   d <= depth <= n . w (2) stop when n . w - d <= tolerance, else
//   P_{k+1} = hull(P_k, w)                                            (3)
// Van den Bergen, "Proximity queries and penetration depth computation on 3D game objects", GDC 2001.
// Every n . w met is an upper bound that a motion along its n really achieves, so the least one is returned:
// the answer is safe even when the loop is cut short.
#include "collision/narrowphase/epa.h"

#include <algorithm>
#include <cmath>

#include "collision/narrowphase/descent.h"

namespace karakuri::collision_detail {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kAbsolute = 1e-14;  // of the scale: rounding of a support value
constexpr double kRelative = 1e-9;   // of the depth: reached by curved shapes after some 40 vertices

void set_plane(EpaBuffer& e, int f) {
  EpaFace& face = e.faces[f];
  const Vec3 &a = e.vertices[face.v[0]].w, &b = e.vertices[face.v[1]].w, &c = e.vertices[face.v[2]].w;
  const Vec3 ab = b - a, ac = c - a, n = ab.cross(ac);
  const double n2 = n.squaredNorm();
  // Slivers have normals made of rounding; they only keep the surface closed.
  if (n2 <= 1e-24 * ab.squaredNorm() * ac.squaredNorm()) {
    face.n.setZero();
    e.distance[f] = kInf;
    return;
  }
  face.n = n / std::sqrt(n2);
  // the vertex nearest to the origin carries the least rounding
  const double a2 = a.squaredNorm(), b2 = b.squaredNorm(), c2 = c.squaredNorm();
  const Vec3& p = a2 <= b2 && a2 <= c2 ? a : (b2 <= c2 ? b : c);
  e.distance[f] = face.n.dot(p);
}

int new_face(EpaBuffer& e, int a, int b, int c) {
  int f;
  if (e.free_count > 0) {
    f = e.free[--e.free_count];
  } else {
    if (e.face_count == EpaBuffer::kMaxFaces) return -1;
    f = e.face_count++;
  }
  e.faces[f].v[0] = a, e.faces[f].v[1] = b, e.faces[f].v[2] = c;
  set_plane(e, f);
  return f;
}

bool add_if_wider(const ConvexPair& pair, const Vec3& d, EpaBuffer& e, double least, auto&& width) {
  const DifferenceVertex w = difference_support(pair, d);
  if (width(w.w) <= least) return false;
  e.vertices[e.vertex_count++] = w;
  return true;
}

// Adds vertices until there are four that span a volume. False when A - B itself is flat.
bool complete(const ConvexPair& pair, double scale, EpaBuffer& e) {
  const double least = 1e-10 * scale;
  if (e.vertex_count == 1) {
    for (int k = 0; k < 6 && e.vertex_count == 1; ++k) {
      Vec3 d = Vec3::Zero();
      d[k % 3] = k < 3 ? 1 : -1;
      add_if_wider(pair, d, e, least, [&](const Vec3& w) { return (w - e.vertices[0].w).norm(); });
    }
    if (e.vertex_count == 1) return false;
  }
  if (e.vertex_count == 2) {
    const Vec3 axis = (e.vertices[1].w - e.vertices[0].w).normalized();
    const Vec3 u = axis.unitOrthogonal(), v = axis.cross(u);
    for (int k = 0; k < 8 && e.vertex_count == 2; ++k) {
      const double angle = k * 0.785398163397448;
      add_if_wider(pair, u * std::cos(angle) + v * std::sin(angle), e, least,
                   [&](const Vec3& w) { return axis.cross(w - e.vertices[0].w).norm(); });
    }
    if (e.vertex_count == 2) return false;
  }
  if (e.vertex_count == 3) {
    const Vec3 &a = e.vertices[0].w, &b = e.vertices[1].w, &c = e.vertices[2].w;
    const Vec3 n = (b - a).cross(c - a).normalized();
    const auto height = [&](const Vec3& w) { return std::abs(n.dot(w - a)); };
    if (!add_if_wider(pair, n, e, least, height)) add_if_wider(pair, -n, e, least, height);
    if (e.vertex_count == 3) return false;
  }
  return true;
}

bool start(const ConvexPair& pair, const GjkResult& overlap, EpaBuffer& e) {
  e.vertex_count = e.face_count = e.free_count = 0;
  for (int i = 0; i < overlap.simplex.count; ++i) e.vertices[e.vertex_count++] = overlap.simplex.v[i];
  const auto volume = [&] {
    const Vec3& a = e.vertices[0].w;
    return (e.vertices[1].w - a).cross(e.vertices[2].w - a).dot(e.vertices[3].w - a);
  };
  // a flat tetrahedron or triangle is cut back until what is left has full dimension
  const double scale3 = overlap.scale * overlap.scale * overlap.scale;
  if (e.vertex_count == 4 && std::abs(volume()) <= 1e-12 * scale3) e.vertex_count = 3;
  if (e.vertex_count >= 3) {
    const Vec3 ab = e.vertices[1].w - e.vertices[0].w, ac = e.vertices[2].w - e.vertices[0].w;
    if (e.vertex_count == 3 && ab.cross(ac).norm() <= 1e-10 * overlap.scale * overlap.scale)
      e.vertex_count = 2;
  }
  if (e.vertex_count == 2 && (e.vertices[1].w - e.vertices[0].w).norm() <= 1e-10 * overlap.scale)
    e.vertex_count = 1;
  if (!complete(pair, overlap.scale, e)) return false;
  if (volume() > 0) std::swap(e.vertices[1], e.vertices[2]);  // 0, 1, 2 counter-clockwise away from 3
  new_face(e, 0, 1, 2), new_face(e, 0, 3, 1), new_face(e, 1, 3, 2), new_face(e, 2, 3, 0);
  static constexpr int kAdjacent[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
  for (int f = 0; f < 4; ++f) std::copy_n(kAdjacent[f], 3, e.faces[f].adj);
  return true;
}

int nearest_face(const EpaBuffer& e) {
  int best = -1;
  double least = kInf;
  for (int f = 0; f < e.face_count; ++f) {
    if (e.distance[f] < least) least = e.distance[f], best = f;
  }
  return best;
}

// (3): removes the faces that see vertex `w`, starting from `from`, and closes the hole with a fan.
bool expand(EpaBuffer& e, int from, int w) {
  const Vec3 p = e.vertices[w].w;
  const auto sees = [&](int f) { return e.faces[f].n.dot(p - e.vertices[e.faces[f].v[0]].w) > 0; };
  int stack_size = 0, horizon_size = 0, gone_size = 0;
  std::array<int, EpaBuffer::kMaxFaces> gone;
  std::array<bool, EpaBuffer::kMaxFaces> dead;
  std::fill_n(dead.begin(), e.face_count, false);
  e.stack[stack_size++] = from;
  dead[from] = true;
  while (stack_size > 0) {
    const int f = e.stack[--stack_size];
    gone[gone_size++] = f;
    for (int i = 0; i < 3; ++i) {
      const int g = e.faces[f].adj[i];
      if (dead[g]) continue;
      if (sees(g)) {
        dead[g] = true;
        e.stack[stack_size++] = g;
      } else {
        const EpaFace& keep = e.faces[g];
        const int side = keep.adj[0] == f ? 0 : (keep.adj[1] == f ? 1 : 2);
        if (keep.adj[side] != f) return false;
        e.horizon[horizon_size++] = {g, side};
      }
    }
  }
  // A face may border the hole by several sides only if the region is not a disc; then rounding has won.
  if (horizon_size < 3) return false;
  for (int i = 0; i < gone_size; ++i) {
    e.distance[gone[i]] = kInf;
    e.free[e.free_count++] = gone[i];
  }
  std::fill_n(e.starts.begin(), e.vertex_count, -1);
  for (int i = 0; i < horizon_size; ++i) {
    const auto [g, side] = e.horizon[i];
    const int a = e.faces[g].v[(side + 1) % 3], b = e.faces[g].v[side];
    const int f = new_face(e, a, b, w);
    if (f < 0 || e.starts[a] != -1) return false;
    e.faces[f].adj[0] = g;
    e.faces[g].adj[side] = f;
    e.starts[a] = f;
  }
  for (int i = 0; i < horizon_size; ++i) {
    const auto [g, side] = e.horizon[i];
    const int f = e.faces[g].adj[side], next = e.starts[e.faces[f].v[1]];
    if (next < 0) return false;
    e.faces[f].adj[1] = next;
    e.faces[next].adj[2] = f;
  }
  return true;
}

void set_witness(const EpaBuffer& e, int f, ConvexDistance& out) {
  const EpaFace& face = e.faces[f];
  const DifferenceVertex* v[3] = {&e.vertices[face.v[0]], &e.vertices[face.v[1]], &e.vertices[face.v[2]]};
  const Vec3 foot = face.n * e.distance[f];
  const auto area = [&](int i, int j) { return (v[i]->w - foot).cross(v[j]->w - foot).dot(face.n); };
  double w[3] = {std::max(0.0, area(1, 2)), std::max(0.0, area(2, 0)), std::max(0.0, area(0, 1))};
  const double sum = w[0] + w[1] + w[2];
  out.on_a.setZero(), out.on_b.setZero();
  for (int i = 0; i < 3; ++i) {
    const double weight = sum > 0 ? w[i] / sum : 1.0 / 3;
    out.on_a += weight * v[i]->a;
    out.on_b += weight * v[i]->b;
  }
}

// A - B has no volume: two flat shapes in one plane, or points. They touch with depth zero.
ConvexDistance flat(const GjkResult& overlap, const EpaBuffer& e) {
  ConvexDistance out;
  out.on_a = overlap.on_a(), out.on_b = overlap.on_b();
  Vec3 n = Vec3::UnitZ();
  if (e.vertex_count >= 2) n = (e.vertices[1].w - e.vertices[0].w).unitOrthogonal();
  if (e.vertex_count >= 3) {
    const Vec3 across = (e.vertices[1].w - e.vertices[0].w).cross(e.vertices[2].w - e.vertices[0].w);
    if (across.norm() > 0) n = across.normalized();
  }
  out.normal = n;
  return out;
}

// The valley of the best face need not be the deepest: the faces next in line are tried too.
void descend_from_all(const ConvexPair& pair, EpaBuffer& e, ConvexDistance& out, double* depth) {
  descend(pair, 0.1, out, depth);
  search_features(pair, out, depth);
  for (int k = 0; k < 8; ++k) {
    const int f = nearest_face(e);
    if (f < 0 || e.distance[f] >= *depth) return;
    e.distance[f] = kInf;
    ConvexDistance other;
    other.normal = e.faces[f].n;
    const DifferenceVertex w = difference_support(pair, other.normal);
    other.on_a = w.a, other.on_b = w.b;
    double h = w.w.dot(other.normal);
    descend(pair, 0.1, other, &h);
    if (h < *depth) {
      *depth = h;
      out.normal = other.normal, out.on_a = other.on_a, out.on_b = other.on_b;
    }
  }
}

}  // namespace

ConvexDistance epa(const ConvexPair& pair, const GjkResult& overlap, EpaBuffer& e) {
  if (!start(pair, overlap, e)) return flat(overlap, e);
  ConvexDistance out;
  double upper = kInf, chosen = kInf;  // least bound met; that of out.normal, within the tolerance
  bool converged = false;
  for (;;) {
    const int f = nearest_face(e);  // (1)
    if (f < 0) break;
    const double lower = e.distance[f];
    converged = lower >= upper;
    if (converged) break;
    const DifferenceVertex w = difference_support(pair, e.faces[f].n);
    const double reach = e.faces[f].n.dot(w.w);  // (2)
    ++out.iterations;
    const double tolerance = kAbsolute * overlap.scale + kRelative * std::abs(reach);
    if (reach < upper + tolerance) {  // among equals the latest face is the smallest: its witness is the best
      upper = std::min(upper, reach), chosen = reach;
      out.normal = e.faces[f].n;
      if (reach - lower <= tolerance + 1e-6 * reach) {
        set_witness(e, f, out);
        // from the chord to the surface
        const double to_a = out.normal.dot(w.a - out.on_a), to_b = out.normal.dot(w.b - out.on_b);
        out.on_a += to_a * out.normal, out.on_b += to_b * out.normal;
        out.askew = std::max(std::abs(to_a), std::abs(to_b));
      } else {  // a lucky normal on a coarse face
        out.on_a = w.a, out.on_b = w.b;
        out.askew = 0;
      }
    }
    converged = upper - lower <= tolerance;
    if (converged || e.vertex_count == EpaBuffer::kMaxVertices) break;
    bool known = false;
    for (int i = 0; i < 3; ++i) known |= e.vertices[e.faces[f].v[i]].same_as(w);
    if (known) break;
    e.vertices[e.vertex_count] = w;
    if (!expand(e, f, e.vertex_count++)) break;
  }
  if (!converged && chosen < kInf && (smooth(*pair.a) || smooth(*pair.b))) {
    descend_from_all(pair, e, out, &chosen);
  }
  out.separation = chosen == kInf ? 0 : -chosen;
  return out;
}

ConvexDistance convex_distance(const ConvexPair& pair, EpaBuffer& buffer, const Vec3& first, double limit) {
  const double radii = pair.a->radius + pair.b->radius;
  GjkResult g = gjk(pair, first, limit + radii);
  ConvexDistance out;
  if (g.state == GjkState::kOverlap) {
    out = epa(pair, g, buffer);
    out.iterations += g.iterations;
    // A flat tetrahedron may seem to hold the origin. The polytope then finds a direction that separates the
    // shapes, which is a better start.
    if (out.separation > 1e-9 * g.scale) g = gjk(pair, -out.normal, limit + radii);
  }
  if (g.state != GjkState::kOverlap) {
    out.iterations = g.iterations;
    out.separation = g.distance;
    out.normal = -g.nearest.normalized();
    if (g.state == GjkState::kApart) {
      // the weights of a nearly flat simplex lose digits across the normal; the difference itself has them
      const Vec3 middle = 0.5 * (g.on_a() + g.on_b());
      out.askew = (g.on_a() - g.on_b() - g.nearest).norm();
      out.on_a = middle + 0.5 * g.nearest, out.on_b = middle - 0.5 * g.nearest;
    }
    if (g.distance < 1e-4 * g.scale && (smooth(*pair.a) || smooth(*pair.b))) {
      double h = difference_support(pair, out.normal).w.dot(out.normal);
      ConvexDistance better = out;
      descend(pair, 1e-3, better, &h);
      out.normal = better.normal;  // the points, and so the distance, are right already
    }
  }
  if (g.state == GjkState::kOverlap)
    out.askew = std::max(out.askew, (out.on_b - out.on_a - out.separation * out.normal).norm());
  out.separation -= radii;
  out.on_a += pair.a->radius * out.normal;
  out.on_b -= pair.b->radius * out.normal;
  return out;
}

}  // namespace karakuri::collision_detail
