// Signals written down after every step.
#pragma once

#include <string>
#include <vector>

#include "karakuri/session/session.h"
#include "python/arrays.h"

namespace karakuri::python {

class Recording {
 public:
  Recording(std::vector<std::string> names, std::vector<Signal> signals, int every)
      : names_(std::move(names)), signals_(std::move(signals)), every_(every) {}

  /// Never with Python's lock.
  void add(const Session& session) {
    if (steps_++ % every_ != 0) return;
    for (const Signal& signal : signals_) values_.push_back(session.read(signal));
  }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<double>& values() const { return values_; }
  std::size_t rows() const { return values_.size() / names_.size(); }
  void clear() {
    values_.clear();
    steps_ = 0;
  }

 private:
  std::vector<std::string> names_;
  std::vector<Signal> signals_;
  std::vector<double> values_;  // by rows
  long long every_ = 1, steps_ = 0;
};

}  // namespace karakuri::python
