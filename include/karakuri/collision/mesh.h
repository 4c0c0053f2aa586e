// Triangle meshes as solids: boundary representation, diagnosis, mending.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "karakuri/collision/aabb.h"
#include "karakuri/collision/convex_hull.h"
#include "karakuri/core/diagnostic.h"
#include "karakuri/spatial/inertia.h"

namespace karakuri {

using Triangle = std::array<int, 3>;

/// A binary tree of boxes over triangles, depth first: the left child of node i is i + 1.
struct MeshTree {
  struct Node {
    Vec3 lo, hi;
    int right = 0;  // index of the right child; a leaf holds ~triangle (negative)
    bool leaf() const { return right < 0; }
    int triangle() const { return ~right; }
  };
  std::vector<Node> nodes;
};

struct MeshEdge {
  std::array<int, 2> v{-1, -1};  // v[0] < v[1]
  std::array<int, 2> f{-1, -1};  // f[0] runs v[0] -> v[1], f[1] against it; -1: none (an open edge)
  // Angle between the faces as seen from outside: positive where the solid bulges (convex), zero where flat,
  // negative in a valley [rad].
  double bend = 0;
};

/// How the mesh may be used.
enum class MeshUse {
  kSolid,    // closed and consistently oriented: has an inside
  kSurface,  // anything else the caller accepts: both sides collide by the face's own normal
};

/// A triangle mesh with its adjacency. Made by make_mesh; constant afterwards.
struct Mesh {
  std::vector<Vec3> vertices;        // [m]
  std::vector<Triangle> faces;       // counter-clockwise seen from outside
  std::vector<Triangle> face_edges;  // edge i of a face joins its vertices i and i+1
  std::vector<MeshEdge> edges;
  std::vector<int> vertex_edge_first;  // edges at vertex v: vertex_edges[first[v] .. first[v+1])
  std::vector<int> vertex_edges;
  std::vector<Vec3> face_normals;    // unit
  std::vector<Vec3> vertex_normals;  // unit, weighted by angle; tell inside from outside at a vertex
  MeshTree tree;
  Aabb bounds;
  MeshUse use = MeshUse::kSolid;
  Inertia solid;  // of density 1 kg/m^3 (mass = volume) by exact integration; zero for a surface
  // The same solid as a hull, where it is convex: contacts are then the hull's, and a mesh made of a box's
  // twelve triangles behaves like the box. Null otherwise.
  std::shared_ptr<const ConvexHull> hull;
};

/// What was found in a triangle soup, before mending. Lists name the first `kMeshReportLimit` offenders;
/// counts are complete.
inline constexpr int kMeshReportLimit = 16;
struct MeshFinding {
  int count = 0;
  std::vector<int> first;  // indices of vertices or faces, as given by the caller
};
struct MeshReport {
  MeshFinding not_finite;         // vertices
  MeshFinding bad_index;          // faces that name a vertex that does not exist
  MeshFinding duplicate_vertex;   // vertices equal to an earlier one
  MeshFinding unused_vertex;      // vertices of no face
  MeshFinding degenerate_face;    // faces without area
  MeshFinding duplicate_face;     // faces with the same three vertices as an earlier one
  MeshFinding open_edge;          // faces with a side that no other face shares
  MeshFinding non_manifold_edge;  // faces at a side shared by three or more
  MeshFinding misoriented_face;   // faces that run against their neighbours
  int components = 0;             // connected parts
  int inside_out = 0;             // closed parts whose volume is negative
  bool closed = false;            // after mending
  bool mended = false;            // something was changed
};

MeshReport diagnose_mesh(std::span<const Vec3> vertices, std::span<const Triangle> faces);
/// The report as notes, warnings and errors.
std::vector<Diagnostic> to_diagnostics(const MeshReport& report, MeshUse use);

struct MeshOptions {
  MeshUse use = MeshUse::kSolid;
  bool mend = true;           // join equal vertices, drop faces without area, turn faces round
  double merge_distance = 0;  // vertices this close count as equal [m]
};

/// Builds the adjacency. A soup that cannot be used as asked is refused with what is wrong and where.
Result<Mesh> make_mesh(std::span<const Vec3> vertices, std::span<const Triangle> faces,
                       const MeshOptions& options = {}, MeshReport* report = nullptr);

/// Volume, centre of mass and inertia at density 1 by exact integration over the surface. @pre closed
Inertia integrate_solid(std::span<const Vec3> vertices, std::span<const Triangle> faces);

/// True for points inside a solid.
bool contains(const Mesh& mesh, const Vec3& point);

struct MeshPoint {
  Vec3 point = Vec3::Zero();
  int face = -1;
  int edge = -1, vertex = -1;  // set where the nearest point is on one
  double distance = 0;         // unsigned [m]
  bool inside = false;
};
/// The point of the surface nearest to `point`. Looks no further than `limit` (then face is -1).
MeshPoint nearest_point(const Mesh& mesh, const Vec3& point,
                        double limit = std::numeric_limits<double>::infinity());

}  // namespace karakuri
