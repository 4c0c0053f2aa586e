// Convex parts of a solid, by cutting it with planes across the axes, best first.
//
// A part is the solid within a box C. Its hull needs no cutting of the mesh:
//   hull(S & C) = hull( corners of the surface's triangles clipped to C, and the corners of C inside S ) (1)
// and its volume no caps: by the divergence theorem with the field (0, 0, clamp(z, z0, z1) - z0), whose
// divergence is 1 in the slab and 0 outside,
//   V(S & C) = sum over triangles, clipped to C's range of x and y, of  int (clamp(z, z0, z1) - z0) n_z dA
//   (2)
// The part with the largest excess (hull's volume - V) is cut where the sum of the two new hulls is least;
// planes through the mesh's vertices and evenly spaced ones are tried. Hulls whose union is nearly convex are
// joined again at the end.
#include "karakuri/collision/decomposition.h"

#include <algorithm>
#include <cmath>

namespace karakuri {

namespace {

using Polygon = std::vector<Vec3>;

// Keeps the side sense * (p[axis] - at) <= 0.
void cut(Polygon& p, int axis, double at, double sense, Polygon& scratch) {
  scratch.clear();
  for (std::size_t i = 0; i < p.size(); ++i) {
    const Vec3 &a = p[i], &b = p[(i + 1) % p.size()];
    const double da = sense * (a[axis] - at), db = sense * (b[axis] - at);
    if (da <= 0) scratch.push_back(a);
    if ((da < 0 && db > 0) || (da > 0 && db < 0)) {
      Vec3 q = a + da / (da - db) * (b - a);
      q[axis] = at;
      scratch.push_back(q);
    }
  }
  p.swap(scratch);
}

struct Part {
  Aabb box;
  ConvexHull hull;
  double volume = 0;  // of the solid in the box
  double excess() const { return hull.solid.mass - volume; }
};

// int z n_z dA and int n_z dA over a planar polygon: exact for linear z.
void flux(const Polygon& p, double* area, double* moment) {
  *area = *moment = 0;
  for (std::size_t k = 1; k + 1 < p.size(); ++k) {
    const Vec3 u = p[k] - p[0], v = p[k + 1] - p[0];
    const double a = 0.5 * (u.x() * v.y() - u.y() * v.x());
    *area += a;
    *moment += a * (p[0].z() + p[k].z() + p[k + 1].z()) / 3;
  }
}

double volume_in(const Mesh& m, const Aabb& box) {
  double volume = 0, area, moment;
  Polygon column, piece, scratch;
  for (const Triangle& t : m.faces) {
    column = {m.vertices[t[0]], m.vertices[t[1]], m.vertices[t[2]]};
    for (int axis = 0; axis < 2 && column.size() >= 3; ++axis) {
      cut(column, axis, box.hi[axis], 1, scratch);
      cut(column, axis, box.lo[axis], -1, scratch);
    }
    if (column.size() < 3) continue;
    piece = column;  // above the slab the field is its full height
    cut(piece, 2, box.hi.z(), -1, scratch);
    const auto above = [&](const Vec3& v) { return v.z() > box.hi.z(); };
    if (std::any_of(piece.begin(), piece.end(), above)) {  // one that lies in the ceiling counts below, once
      flux(piece, &area, &moment);
      volume += area * (box.hi.z() - box.lo.z());
    }
    piece = column;  // within it, the height above its floor
    cut(piece, 2, box.hi.z(), 1, scratch);
    cut(piece, 2, box.lo.z(), -1, scratch);
    flux(piece, &area, &moment);
    volume += moment - area * box.lo.z();  // (2)
  }
  return volume;
}

// A face in a wall of the box is part of what is inside only if it looks out of the box.
bool looks_inward(const Polygon& p, const Vec3& normal, const Aabb& box) {
  for (int axis = 0; axis < 3; ++axis) {
    const auto at = [&](double wall) {
      return std::all_of(p.begin(), p.end(), [&](const Vec3& v) { return v[axis] == wall; });
    };
    if ((normal[axis] < 0 && at(box.hi[axis])) || (normal[axis] > 0 && at(box.lo[axis]))) return true;
  }
  return false;
}

bool make_part(const Mesh& m, const Aabb& box, double least_volume, Part& part) {
  part.box = box;
  part.volume = volume_in(m, box);
  if (part.volume <= least_volume) return false;
  std::vector<Vec3> points;
  Polygon p, scratch;
  for (std::size_t f = 0; f < m.faces.size(); ++f) {
    const Triangle& t = m.faces[f];
    p = {m.vertices[t[0]], m.vertices[t[1]], m.vertices[t[2]]};
    for (int axis = 0; axis < 3 && p.size() >= 3; ++axis) {
      cut(p, axis, box.hi[axis], 1, scratch);
      cut(p, axis, box.lo[axis], -1, scratch);
    }
    if (p.size() >= 3 && !looks_inward(p, m.face_normals[f], box))
      points.insert(points.end(), p.begin(), p.end());
  }
  for (int k = 0; k < 8; ++k) {  // (1)
    const Vec3 corner(k & 1 ? box.hi.x() : box.lo.x(), k & 2 ? box.hi.y() : box.lo.y(),
                      k & 4 ? box.hi.z() : box.lo.z());
    if (contains(m, corner)) points.push_back(corner);
  }
  auto hull = make_convex_hull(points);
  if (!hull) return false;
  part.hull = std::move(*hull);
  return true;
}

std::vector<double> cut_positions(const Mesh& m, const Aabb& box, int axis, int evenly) {
  const double lo = box.lo[axis], hi = box.hi[axis], least = 0.02 * (hi - lo);
  std::vector<double> at;
  for (int k = 1; k <= evenly; ++k) at.push_back(lo + (hi - lo) * k / (evenly + 1));
  std::vector<double> through;
  for (const Vec3& v : m.vertices) {
    if (v[axis] > lo + least && v[axis] < hi - least) through.push_back(v[axis]);
  }
  std::sort(through.begin(), through.end());
  through.erase(
      std::unique(through.begin(), through.end(), [&](double a, double b) { return b - a < least; }),
      through.end());
  const std::size_t stride = through.size() / static_cast<std::size_t>(evenly) + 1;
  for (std::size_t i = 0; i < through.size(); i += stride) at.push_back(through[i]);
  return at;
}

// Both halves of the best cut; one of them may hold nothing.
bool split(const Mesh& m, const Part& part, const DecompositionOptions& o, double least,
           std::vector<Part>& halves) {
  // A ring gains nothing from its first cut, so a cut need not help at once; among equals the even one leads
  // further.
  double best = part.hull.solid.mass * 1.02;
  halves.clear();
  for (int axis = 0; axis < 3; ++axis) {
    for (const double at : cut_positions(m, part.box, axis, o.cuts_per_axis)) {
      Aabb low = part.box, high = part.box;
      low.hi[axis] = at, high.lo[axis] = at;
      Part a, b;
      const bool has_a = make_part(m, low, least, a), has_b = make_part(m, high, least, b);
      const double uneven = std::abs(a.volume - b.volume) / part.volume;
      const double sum = (has_a ? a.hull.solid.mass : 0) + (has_b ? b.hull.solid.mass : 0) +
                         0.01 * uneven * part.hull.solid.mass;
      // a half that holds material but no hull would be lost
      if (a.volume + b.volume < 0.999 * part.volume || !(has_a || has_b) || sum >= best) continue;
      best = sum;
      halves.clear();
      if (has_a) halves.push_back(std::move(a));
      if (has_b) halves.push_back(std::move(b));
    }
  }
  return !halves.empty();
}

Result<ConvexHull> joined(const ConvexHull& a, const ConvexHull& b) {
  std::vector<Vec3> points;
  for (const ConvexHull* h : {&a, &b}) {
    for (int i = 0; i < h->vertex_count; ++i) points.push_back(h->vertex(i));
  }
  return make_convex_hull(points);
}

// Joins the pair whose hull adds least, as long as that is less than `allowed`. Parts further apart
// than `rounding` are none that were cut from each other.
void join_parts(std::vector<Part>& parts, double allowed, double rounding) {
  for (;;) {
    double best = allowed;
    std::size_t bi = 0, bj = 0;
    ConvexHull hull;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (std::size_t j = i + 1; j < parts.size(); ++j) {
        if (!parts[i].hull.bounds.grown(rounding).overlaps(parts[j].hull.bounds)) continue;
        auto both = joined(parts[i].hull, parts[j].hull);
        if (!both) continue;
        const double added = both->solid.mass - parts[i].hull.solid.mass - parts[j].hull.solid.mass;
        if (added < best) best = added, bi = i, bj = j, hull = std::move(*both);
      }
    }
    if (bj == 0) return;
    parts[bi].hull = std::move(hull);
    parts[bi].volume += parts[bj].volume;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(bj));
  }
}

}  // namespace

Result<Decomposition> decompose(const Mesh& mesh, const DecompositionOptions& o) {
  if (mesh.use != MeshUse::kSolid) {
    return Diagnostic{Severity::kError, "decomposition", "a surface has no inside to fill with convex parts",
                      "close the mesh and load it as a solid"};
  }
  const double volume = mesh.solid.mass, least = 1e-6 * volume;
  std::vector<Part> parts(1);
  if (!make_part(mesh, mesh.bounds, least, parts[0])) {
    return Diagnostic{Severity::kError, "decomposition", "the solid is too thin for a hull",
                      "give it a thickness"};
  }
  std::vector<char> done(1, 0);
  std::vector<Part> halves;
  while (static_cast<int>(parts.size()) < o.max_parts) {
    double total = -volume;
    int worst = -1;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      total += parts[i].hull.solid.mass;
      if (!done[i] && (worst < 0 || parts[i].excess() > parts[static_cast<std::size_t>(worst)].excess()))
        worst = static_cast<int>(i);
    }
    if (worst < 0 || total <= o.excess * volume) break;
    const auto at = static_cast<std::size_t>(worst);
    if (!split(mesh, parts[at], o, least, halves)) {
      done[at] = 1;  // no plane helps
      continue;
    }
    parts[at] = std::move(halves[0]);
    if (halves.size() > 1) parts.push_back(std::move(halves[1])), done.push_back(0);
  }
  double total = 0;
  for (const Part& p : parts) total += p.hull.solid.mass;
  join_parts(
      parts,
      std::max(1e-9, o.excess - (total / volume - 1)) / std::max<std::size_t>(parts.size(), 1) * volume,
      1e-9 * mesh.bounds.half().maxCoeff());
  Decomposition result;
  total = 0;
  for (Part& p : parts) total += p.hull.solid.mass, result.parts.push_back(std::move(p.hull));
  result.excess = total / volume - 1;
  return result;
}

}  // namespace karakuri
