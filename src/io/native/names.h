// The vocabulary of signals and keys.
#pragma once

#include <span>
#include <string_view>

#include "karakuri/io/loaded_scene.h"

namespace karakuri::io {

/// A row of the vocabulary. Pieces of `form` in capitals stand for names and numbers.
struct Word {
  std::string_view form;
  Subject subject;
  std::string_view properties;  // that may stand for PROPERTY, separated by spaces
  std::string_view unit;
  std::string_view doc;
};
std::span<const Word> signal_words();
std::span<const Word> key_words();

/// Joints that do not exist yet, but that some action attaches.
std::vector<std::string> attached_names(const LoadedScene& scene);

}  // namespace karakuri::io
