// An island as a problem for the solvers.
#pragma once

#include "world/impl.h"

namespace karakuri::world_detail {

/// slot.problem: operator and laws of these blocks, q still zero. Dense where it is small, else
/// in the response vectors y of dynamics/response.h: subsystems are trees, J = y and response = D^-1 y, since
/// A = y^T D^-1 y.
void assemble(const World::Impl& w, BlockList blocks, Slot& slot);

/// The same in response vectors whatever the size, and no tree walked along.
void assemble_written_out(const World::Impl& w, BlockList blocks, Slot& slot);

/// The same of rows that act on few bodies, in these bodies' ways to move; see assemble_carried.cc. @return
/// Whether they do.
/// @pre slot.impulses
bool assemble_carried(const World::Impl& w, BlockList blocks, Slot& slot);

/// Which sides of `b` each row has: side_of[start[row]] to side_of[start[row + 1]], excluded.
void index_sides(const ResponseBuffers& b, std::size_t rows, std::vector<std::int32_t>& start,
                 std::vector<std::int32_t>& side_of);

/// slot.problem: only the laws, no operator.
void state_laws(const World::Impl& w, BlockList blocks, Slot& slot);

/// slot.part: some blocks of slot.problem, each with its first rows only and a law of its own; q is zero.
void extract(Slot& slot);

/// slot.level and slot.q_above for solver::guess_from_above(): how many contacts each tree is from the
/// ground.
void find_levels(const World::Impl& w, BlockList blocks, Slot& slot);

}  // namespace karakuri::world_detail
