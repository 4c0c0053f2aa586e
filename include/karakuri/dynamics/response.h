// How a mechanism answers impulses: A = J M^-1 J^T, the operator of all contact and loop problems.
//
// Both ways give for each row i a vector y_i over the dofs on the paths of its bodies with A_ij = y_i . y_j:
// from the factor M = L^T D L, y = D^-1/2 L^-T J^T, or by handing the impulse from body to body towards the
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
};

enum class ResponseMethod {
  kCheapest,     // of the two below
  kFactor,       // CRBA and L^T D L
  kPropagation,  // articulated bodies, O(depth) per row
};

/// Buffers that are kept from call to call; they grow with the number of rows and the depth of the trees.
struct ResponseBuffers {
  explicit ResponseBuffers(const Model& model);

  struct Side {  // what one row does to one body
    std::int32_t row;
    std::int32_t body;
    std::int32_t group;  // rows on bodies with the same path
    std::int64_t y;      // where its numbers start, one for each dof of the path
  };
  std::vector<Side> sides;
  std::vector<std::int32_t> first_side;  // by row, and one past the last
  std::vector<std::int32_t> groups;      // last dof of the path
  std::vector<std::int32_t> common;      // groups x groups: how many dofs two paths share
  std::vector<double> y;
  std::optional<MassMatrix> mass_matrix;  // none where the trees are too deep for kFactor to pay
};

/// Fills A (rows x rows), symmetric.
/// @param ws  With poses; with the articulated factor too where `has_factor` says that aba() or
///            articulated_factor() has been called for these poses, which is then not done again.
/// @return    The method used.
/// Allocates only while `buffers` grow.
ResponseMethod response(const Model& model, std::span<const ImpulseRow> rows, ResponseMethod method,
                        bool has_factor, Workspace& ws, ResponseBuffers& buffers, MatOut A);

/// v <- v + M^-1 J^T impulses, O(n).  @pre aba() or articulated_factor() for these poses.
void apply_impulses(const Model& model, std::span<const ImpulseRow> rows, VecIn impulses, Workspace& ws,
                    VecOut v);

/// J v: the velocity of each row.  @pre ws has velocities
void row_velocities(const Model& model, std::span<const ImpulseRow> rows, const Workspace& ws, VecOut Jv);

}  // namespace karakuri
