#include "server/timeline.h"

#include <algorithm>

namespace karakuri::server_detail {

void Timeline::keep(const Session& session) {
  const double now = session.time();
  while (!entries_.empty() && entries_.back().time > now) {
    bytes_ -= entries_.back().bytes();
    entries_.pop_back();
  }
  const double slack = 1e-3 * session.world().settings().dt;  // times are sums of steps
  if (!entries_.empty() && now < entries_.back().time + period() - slack) return;
  entries_.push_back({now, session.snapshot()});
  bytes_ += entries_.back().bytes();
  while (entries_.size() > 1 && (entries_.front().time < now - seconds_ || bytes_ > most_bytes_)) {
    bytes_ -= entries_.front().bytes();
    entries_.pop_front();
  }
}

double Timeline::period() const {
  const double share = static_cast<double>(entries_.back().bytes()) / static_cast<double>(most_bytes_);
  return std::max(period_, share * seconds_);
}

void Timeline::clear() {
  entries_.clear();
  bytes_ = 0;
}

const SessionSnapshot& Timeline::at(double time) const {
  const auto after = std::upper_bound(entries_.begin(), entries_.end(), time,
                                      [](double t, const Entry& e) { return t < e.time; });
  return after == entries_.begin() ? entries_.front().state : std::prev(after)->state;
}

}  // namespace karakuri::server_detail
