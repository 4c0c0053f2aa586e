// The parts of a saved scene that name, drive, measure and show.
#pragma once

#include "io/native/assets.h"
#include "io/native/emit.h"

namespace karakuri::io {

void put_names(Emit& out, std::string_view key, const std::vector<std::string>& names);
/// Kind, axes, and the frames that are asked for.
void write_joint_frame(const Joint& joint, bool in_parent, bool in_child, Emit& out);
void write_surroundings(const LoadedScene& scene, Emit& out);
void write_script(const LoadedScene& scene, Assets& assets, Emit& out);

}  // namespace karakuri::io
