// Ctrl-C: the first asks for an end, the second one ends.
#pragma once

namespace karakuri::cli {

void catch_interrupts();
bool was_interrupted();

}  // namespace karakuri::cli
