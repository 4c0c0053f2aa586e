// The parts of compile() that recompile() uses too.
#pragma once

#include <span>

#include "karakuri/model/model.h"

namespace karakuri {

/// What hangs on some children of the world, as a model of its own: without tables, loops and relations.
Result<Model> compile_segments(const Mechanism& mechanism, std::span<const LinkId> roots);
/// Model::relations.  @pre all else of `model` is there
std::vector<Relation> compile_relations(const Mechanism& mechanism, const Model& model);
std::uint64_t next_model_version();

}  // namespace karakuri
