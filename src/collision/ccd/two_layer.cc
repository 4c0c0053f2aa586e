// Contact in two layers (Kuroda 2002, section 5.3.2): the solid, and inside it the solid shrunk by the
// allowed penetration w.
//   vertex v moves inward by m w,  m = argmin sum_f (n_f . m - 1)^2 over the faces at v (1)
// so that every face moves by w where three or fewer directions meet, and by w on average where more do; a
// share of the least-norm solution keeps flat and straight places (where (1) has many solutions) from sliding
// along themselves.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "collision/narrowphase/mesh_mesh.h"
#include "collision/narrowphase/workspace.h"
#include "karakuri/collision/ccd.h"

namespace karakuri {

namespace {

// Least squares of least norm by the eigenvalues of the normal matrix; directions with less than 1e-6 of the
// largest eigenvalue are no directions.
Vec3 inward_move(const std::vector<Vec3>& normals) {
  Mat3 A = Mat3::Zero();
  Vec3 b = Vec3::Zero();
  for (const Vec3& n : normals) A += n * n.transpose(), b += n;
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(A);
  Vec3 m = Vec3::Zero();
  for (int k = 0; k < 3; ++k) {
    const double value = eigen.eigenvalues()[k];
    if (value <= 1e-6 * eigen.eigenvalues()[2]) continue;
    const Vec3 direction = eigen.eigenvectors().col(k);
    m += direction.dot(b) / value * direction;  // (1)
  }
  return m;
}

struct Moving {
  const TwoLayerMesh* layers;
  const std::vector<Vec3>*from, *to;
  Transform X0, X1;

  Vec3 start(int v) const { return X0 * (*from)[v]; }
  Vec3 end(int v) const { return X1 * (*to)[v]; }
  double reach() const {
    double most = 0;
    for (std::size_t v = 0; v < from->size(); ++v) {
      most = std::max(most, (start(static_cast<int>(v)) - X1 * layers->mesh->vertices[v]).squaredNorm());
    }
    return std::sqrt(most);
  }
};

void vertex_against_face(const Moving& a, int va, const Moving& b, int fb, bool flip,
                         std::vector<LayerContact>& out) {
  const Triangle& t = b.layers->mesh->faces[fb];
  const auto hit = vertex_face_crossing(a.start(va), a.end(va), {b.start(t[0]), b.start(t[1]), b.start(t[2])},
                                        {b.end(t[0]), b.end(t[1]), b.end(t[2])});
  if (!hit) return;
  if (flip) {
    out.push_back({CrossingKind::kFaceVertex, fb, va, *hit});
  } else {
    out.push_back({CrossingKind::kVertexFace, va, fb, *hit});
  }
}

void edge_against_edge(const Moving& a, int ea, const Moving& b, int eb, std::vector<LayerContact>& out) {
  const auto &va = a.layers->mesh->edges[ea].v, &vb = b.layers->mesh->edges[eb].v;
  const auto hit = edge_edge_crossing({a.start(va[0]), a.start(va[1])}, {a.end(va[0]), a.end(va[1])},
                                      {b.start(vb[0]), b.start(vb[1])}, {b.end(vb[0]), b.end(vb[1])});
  if (hit) out.push_back({CrossingKind::kEdgeEdge, ea, eb, *hit});
}

void find_crossings(const Moving& a, const Moving& b, CollisionWorkspace& ws,
                    std::vector<LayerContact>& out) {
  out.clear();
  const Mesh &ma = *a.layers->mesh, &mb = *b.layers->mesh;
  auto& w = ws.impl();
  collision_detail::near_triangles(ma, mb, a.X1.inverse() * b.X1, a.reach() + b.reach(), w.found.max_size(),
                                   w.pair_stack, w.found);
  for (const auto& [fa, fb] : w.found) {
    for (int k = 0; k < 3; ++k) {
      const int va = ma.faces[fa][k], vb = mb.faces[fb][k], ea = ma.face_edges[fa][k];
      if (a.layers->vertex_owner[va] == fa) vertex_against_face(a, va, b, fb, false, out);
      if (b.layers->vertex_owner[vb] == fb) vertex_against_face(b, vb, a, fa, true, out);
      if (ma.edges[ea].f[0] != fa || ma.edges[ea].bend <= 1e-3) continue;
      for (int eb : mb.face_edges[fb]) {
        if (mb.edges[eb].f[0] == fb && mb.edges[eb].bend > 1e-3) edge_against_edge(a, ea, b, eb, out);
      }
    }
  }
  std::sort(out.begin(), out.end(), [](const LayerContact& x, const LayerContact& y) {
    return std::tie(x.at.t, x.kind, x.a, x.b) < std::tie(y.at.t, y.kind, y.a, y.b);
  });
}

}  // namespace

TwoLayerMesh make_two_layer(const Mesh& mesh, double depth) {
  TwoLayerMesh r;
  r.mesh = &mesh;
  r.depth = depth;
  r.vertex_owner.assign(mesh.vertices.size(), -1);
  std::vector<std::vector<Vec3>> normals(mesh.vertices.size());
  for (int f = 0; f < static_cast<int>(mesh.faces.size()); ++f) {
    for (int v : mesh.faces[f]) {
      if (r.vertex_owner[v] < 0) r.vertex_owner[v] = f;
      // one normal per direction: a face cut into many triangles counts once
      const Vec3& n = mesh.face_normals[f];
      auto& list = normals[v];
      if (std::none_of(list.begin(), list.end(), [&](const Vec3& m) { return m.dot(n) > 1 - 1e-9; }))
        list.push_back(n);
    }
  }
  for (std::size_t v = 0; v < normals.size(); ++v) {
    r.inner.push_back(mesh.vertices[v] - depth * inward_move(normals[v]));
  }
  return r;
}

void find_excess(const TwoLayerMesh& a, const Transform& from_a, const Transform& to_a, const TwoLayerMesh& b,
                 const Transform& from_b, const Transform& to_b, CollisionWorkspace& ws,
                 std::vector<LayerContact>& out) {
  find_crossings({&a, &a.inner, &a.inner, from_a, to_a}, {&b, &b.inner, &b.inner, from_b, to_b}, ws, out);
}

void find_touch(const TwoLayerMesh& a, const Transform& at_a, const TwoLayerMesh& b, const Transform& at_b,
                CollisionWorkspace& ws, std::vector<LayerContact>& out) {
  find_crossings({&a, &a.inner, &a.mesh->vertices, at_a, at_a}, {&b, &b.inner, &b.mesh->vertices, at_b, at_b},
                 ws, out);
}

}  // namespace karakuri
