// The last states of a session, to go back to.
#pragma once

#include <deque>

#include "karakuri/session/session.h"

namespace karakuri::server_detail {

class Timeline {
 public:
  Timeline(double seconds, double rate, std::size_t most_bytes)
      : seconds_(seconds), period_(1 / rate), most_bytes_(most_bytes) {}

  /// Keeps the present state when it is due. What was kept of later times is another future, and forgotten.
  void keep(const Session& session);
  /// Nothing that is kept fits the scene any more.
  void clear();
  bool empty() const { return entries_.empty(); }
  double first() const { return entries_.empty() ? 0 : entries_.front().time; }
  double last() const { return entries_.empty() ? 0 : entries_.back().time; }
  /// The latest state that is not after `time`, else the first.  @pre !empty()
  const SessionSnapshot& at(double time) const;

 private:
  /// Large states are kept less often, so that the memory lasts for all the seconds.  @pre !empty()
  double period() const;

  struct Entry {
    double time = 0;
    SessionSnapshot state;
    std::size_t bytes() const { return state.bytes.size(); }
  };
  std::deque<Entry> entries_;
  double seconds_, period_;
  std::size_t most_bytes_, bytes_ = 0;
};

}  // namespace karakuri::server_detail
