// Snapshots of sessions, and of the worlds in them: whatever the bytes, restore() takes them or refuses them
// with nothing changed; what it takes can go on, and be kept and taken again.
//
// Damage is found by checksums, so they are made right here: what is tried is everything behind them.
#include <cstring>

#include "fuzz/scenes.h"
#include "fuzz/target.h"
#include "karakuri/core/hash.h"

namespace karakuri::fuzz {
namespace {

constexpr std::size_t kWorld = 8 + 4 + 8 + 8, kSum = 8;  // magic, version, scene, length; see snapshot.cc

using Span = std::span<std::byte>;

void sum_anew(Span bytes) {
  const std::uint64_t sum = checksum(std::span<const std::byte>(bytes.first(bytes.size() - kSum)));
  std::memcpy(bytes.data() + bytes.size() - kSum, &sum, kSum);
}

void sum_all_anew(Span bytes) {
  if (bytes.size() < kWorld + 2 * kSum) return;
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data() + kWorld - sizeof length, sizeof length);
  if (length >= kSum && length <= bytes.size() - kWorld - kSum) sum_anew(bytes.subspan(kWorld, length));
  sum_anew(bytes);
}

/// Which session, and the snapshot.
void run(Input input) {
  if (input.empty()) return;
  static std::vector<Session> now = [] {
    std::vector<Session> all;
    for (const Session& s : sessions()) all.push_back(s.clone());
    return all;
  }();
  const std::size_t which = input[0] % now.size();
  Session& session = now[which];
  SessionSnapshot snapshot;
  const auto* first = reinterpret_cast<const std::byte*>(input.data());
  snapshot.bytes.assign(first + 1, first + input.size());
  sum_all_anew(snapshot.bytes);
  const std::uint64_t before = session.hash();
  if (!session.restore(snapshot).empty()) {
    if (session.hash() != before) found("it was refused, and something has changed");
    return;
  }
  const SessionSnapshot again = session.snapshot();
  for (int i = 0; i < 2; ++i) step_bounded(session);
  if (const auto flaws = session.restore(again); !flaws.empty())
    found("its own snapshot is refused:\n" + to_string(flaws));
  if (const auto flaws = session.restore(sessions()[which]); !flaws.empty())
    found("the state before is refused:\n" + to_string(flaws));
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  const auto add = [&](std::size_t which, const Session& session) {
    const std::vector<std::byte> bytes = session.snapshot().bytes;
    all.push_back(std::string(1, static_cast<char>(which)) +
                  std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  };
  for (std::size_t i = 0; i < sessions().size(); ++i) {
    add(i, sessions()[i]);
    Session other = sessions()[i].clone();  // of another structure
    const std::vector<LinkEntry>& links = other.world().model().links;
    (void)other.world().attach_here(links[1].id, links.back().id, Transform(),
                                    {.name = "made", .kind = JointKind::kSpherical});
    (void)other.world().detach(other.world().model().joints.front().id);
    other.step(2);
    add(i, other);
  }
  return all;
}

}  // namespace

std::vector<Target> targets() {
  return {{"snapshot", [](const std::filesystem::path&) { sessions(); }, seeds, run}};
}

}  // namespace karakuri::fuzz
