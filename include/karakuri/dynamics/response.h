// How a mechanism answers impulses: A = J M^-1 J^T, the operator of all contact and loop problems.
//
// Both ways give for each row i a vector y_i over the dofs on the paths of its bodies, with A_ij = y_i^T D^-1
// y_j: from the factor M = L^T D L, y = L^-T J^T, or by handing the impulse from body to body towards the
// root as the articulated-body algorithm does, which yields the same numbers in O(depth) without M.
// docs/response.md has the derivation and when which is cheaper.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/dynamics/workspace.h"

namespace karakuri {

/// A unit impulse: `force` at `point` and a pure `moment` act on `body`, their opposites on `other`. The
/// velocity that belongs to it is that of `body` relative to `other`, along the same directions.
struct ImpulseRow {
  std::int32_t body = 0;  // index in Model::bodies; 0: the world
  std::int32_t other = 0;
  Vec3 point = Vec3::Zero();  // in the world [m]
  Vec3 force = Vec3::Zero();
  Vec3 moment = Vec3::Zero();
  /// The rest of a row that acts on more than two bodies: its impulse and velocity are the sums over all
  /// parts. Lives elsewhere, at least as long as the row is used.
  const ImpulseRow* more = nullptr;
};

enum class ResponseMethod {
  kCheapest,     // of the two below
  kFactor,       // CRBA and L^T D L
  kPropagation,  // articulated bodies, O(depth) per row
};

/// Buffers that are kept from call to call; they grow with the number of rows and the depth of the trees.
struct ResponseBuffers {
  explicit ResponseBuffers(const Model& model) { fit(model); }
  /// For another model, or one that has changed.
  void fit(const Model& model);

  /// What one row does to one body.
  struct Side {
    std::int32_t row;
    std::int32_t group;
    std::int16_t sign;  // of the impulse: -1 on ImpulseRow::other
    std::int16_t part;  // how many steps along ImpulseRow::more
  };
  /// All sides on one body. Vectors y are kept in blocks of four sides, a block holding for each dof of the
  /// path the four numbers of its sides: that is how they are computed and multiplied.
  struct Group {
    std::int32_t body;
    std::int32_t length;      // of the path
    std::int32_t count;       // of sides
    std::int32_t first_side;  // in `sides`
    std::int64_t y;           // where its first block starts
    std::int64_t weight;      // where D^-1 along its path starts
  };
  std::vector<Side> found, sides;  // in the order of the rows, and by group
  std::vector<Group> groups;
  std::vector<std::int32_t> group_at;  // by body: its group, -1: none; kept at -1 between calls
  std::vector<Packed4> y;
  std::vector<double> weights;
  /// The rows as lanes of vectors, see response_by_dofs.cc. Dofs have numbers of their own, tree after tree.
  struct DofLanes {
    struct Tree {
      std::int32_t root, first_dof, dofs;
      std::int32_t first_bit = 0;  // among the trees of the rows
      bool alone;                  // as of its root's Body
      bool free_root;              // its first six dofs are those of its root
    };
    std::vector<Tree> trees;
    /// A body and its tree. Known from fit() on: bodies and dofs of the model lie far apart.
    struct Place {
      std::uint64_t path = 0;  // the dofs that move it, as bits from the tree's first on; 0: too many
      Tree tree;
    };
    std::vector<Place> place_of_body;
    std::vector<std::int32_t> by_depth;      // the dofs of each tree, those near the root first
    std::vector<std::uint64_t> path, moved;  // by lane, and by group of eight lanes
    /// What acts on a lane; no row: nothing.
    struct Side {
      const ImpulseRow* row = nullptr;
      std::int32_t root = 0;
      double sign = 0;
    };
    std::vector<Side> sides;  // by lane
    std::uint64_t known = 0;  // the dofs that move any lane, of which `dofs` are known
    /// How a dof moves its body and what its articulated inertia makes of that, seen at the root's origin.
    struct Dof {
      double numbers[13];
      const double* S() const { return numbers; }
      const double* U() const { return numbers + 6; }
      double weight() const { return numbers[12]; }  // D^-1
    };
    std::vector<Dof> dofs;
    std::vector<std::int32_t> row_of_extra;  // of lanes that are not a row's own
    std::vector<double> impulse;             // by group, each of six numbers of all its lanes
    std::vector<double> columns, scaled;     // by dof, of all lanes
    std::vector<double> acting;              // by lane: impulses
    std::vector<double> motion;              // by dof: two vectors of four numbers
  };
  DofLanes lanes;
  bool by_dofs = false;                   // whether the last response() is told by `lanes`, not by groups
  std::optional<MassMatrix> mass_matrix;  // none where the trees are too deep for kFactor to pay
};

/// Fills A (rows x rows), symmetric.
/// @param ws  With poses; with the articulated factor too where `has_factor` says that aba() or
///            articulated_factor() has been called for these poses, which is then not done again.
/// @return    The method used.
/// Allocates only while `buffers` grow.
ResponseMethod response(const Model& model, std::span<const ImpulseRow> rows, ResponseMethod method,
                        bool has_factor, Workspace& ws, ResponseBuffers& buffers, MatOut A);

/// The vectors y alone, by propagation, for callers that keep A as a product: in `buffers`, the number of the
/// dof at depth d of group g's path for its side s is y[g.y + (s / 4) * g.length + d].lane[s % 4], signed,
/// and D^-1 at that dof weights[g.weight + d]. Only reads `ws`, so that several threads may share it.
/// @pre aba() or articulated_factor() for these poses.
void response_vectors(const Model& model, std::span<const ImpulseRow> rows, const Workspace& ws,
                      ResponseBuffers& buffers);
/// Fills A as response() does with kPropagation, only reading `ws`. @return Whether answer_impulses() may
/// follow.
/// @pre aba() or articulated_factor() for these poses.
bool response(const Model& model, std::span<const ImpulseRow> rows, const Workspace& ws,
              ResponseBuffers& buffers, MatOut A);

/// Adds what each side of a row of the last response() does to that row by itself, y^T D^-1 y: more than A_ii
/// where sides cancel.
void add_one_sided(const ResponseBuffers& buffers, VecOut sums);

/// How one body of a tree passes on wrenches (moment about its origin, force) and motions (angular velocity,
/// velocity of its origin), all in world axes: Z_parent += up Z, v = up^T v_parent + own Z. `whole` is what a
/// wrench on it does to it, its tree being free to answer.
struct LinkResponse {
  Eigen::Matrix<double, 6, 6> up, own, whole;
};
/// Of body `i`; `parent`: of its parent, null for a root.  @pre aba() or articulated_factor() for these
/// poses.
LinkResponse link_response(const Model& model, const Workspace& ws, int i, const LinkResponse* parent);
/// The wrench of a row on one of its bodies, about the body's origin.
Eigen::Matrix<double, 6, 1> wrench_at(const ImpulseRow& row, const Workspace& ws, int body, double sign);

/// v <- v + M^-1 J^T impulses, O(n) over the trees that are pushed.  @pre aba() or articulated_factor() for
/// these poses.
void apply_impulses(const Model& model, std::span<const ImpulseRow> rows, VecIn impulses, Workspace& ws,
                    VecOut v);

/// The same for the rows of the last response() with these buffers, of which it knows nearly all.
void answer_impulses(const Model& model, const Workspace& ws, VecIn impulses, ResponseBuffers& buffers,
                     VecOut v);
/// What answer_impulses() has just done to the velocity of a row, which need not be one of those that acted.
double answered_velocity(const Workspace& ws, const ImpulseRow& row, const ResponseBuffers& buffers);

/// J v: the velocity of each row.  @pre ws has velocities
void row_velocities(std::span<const ImpulseRow> rows, const Workspace& ws, VecOut Jv);
/// The same at other velocities of the bodies.
void row_velocities(std::span<const ImpulseRow> rows, const Workspace& ws,
                    std::span<const Workspace::Velocity> velocity, VecOut Jv);

}  // namespace karakuri
