// An island as a problem for the solvers.
#pragma once

#include "world/impl.h"

namespace karakuri::world_detail {

/// slot.island.problem: operator and laws of these blocks, q still zero. Dense where it is small, else
/// in the response vectors y of dynamics/response.h: subsystems are trees, J = y and response = D^-1 y, since
/// A = y^T D^-1 y.
void assemble(const World::Impl& w, BlockList blocks, Slot& slot);

/// The same in response vectors whatever the size, and no tree walked along.
void assemble_written_out(const World::Impl& w, BlockList blocks, Slot& slot);

/// The same of rows that act on few bodies, in these bodies' ways to move; see assemble_carried.cc. @return
/// Whether they do.
/// @pre slot.state.impulses
bool assemble_carried(const World::Impl& w, BlockList blocks, Slot& slot);

/// slot.island.problem: only the laws, no operator.
void state_laws(const World::Impl& w, BlockList blocks, Slot& slot);

/// Velocities of rows if only one of their sides moved, as free motion has it.
class OneSidedRows : public solver::OneSided {
 public:
  /// @pre the slot's island is stated of these blocks
  OneSidedRows(const World::Impl& w, BlockList blocks, const Slot& slot)
      : w_(w), blocks_(blocks), slot_(slot) {}
  void find(std::span<const unsigned char> first_is_higher, std::vector<double>& q) const override;

 private:
  const World::Impl& w_;
  BlockList blocks_;
  const Slot& slot_;
};

}  // namespace karakuri::world_detail
