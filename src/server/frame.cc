#include "server/frame.h"

namespace karakuri::server_detail {

namespace {

constexpr std::size_t kMostContacts = 20'000;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put(std::string& out, const Vec3& v) {
  for (int k = 0; k < 3; ++k) put(out, static_cast<float>(v[k]));
}

void put_pose(std::string& out, const Transform& X) {
  const Quat r(X.R);
  put(out, X.p);
  for (const double x : {r.w(), r.x(), r.y(), r.z()}) put(out, static_cast<float>(x));
}

std::uint8_t state_of(const World& world, LinkId link) {
  return world.quarantined(link) ? 2 : world.awake(link) ? 0 : 1;
}

}  // namespace

std::string encode_frame(const Session& session, std::span<const LinkId> links, bool paused, bool contacts) {
  const World& world = session.world();
  const bool too_many = world.contacts().size() > kMostContacts;
  const std::span<const Contact> points =
      contacts && !too_many ? world.contacts() : std::span<const Contact>{};
  std::string out;
  out.reserve(32 + links.size() * 29 + points.size() * 28);
  put(out, static_cast<std::uint32_t>(BinaryKind::kFrame));
  put(out, static_cast<std::uint32_t>(links.size()));
  put(out, static_cast<std::uint32_t>(points.size()));
  put(out, (paused ? 1u : 0u) | (contacts && too_many ? 2u : 0u));
  put(out, session.time());
  for (const LinkId link : links) put_pose(out, world.pose(link));
  for (const Contact& c : points) {
    put(out, c.point);
    put(out, c.force);
    put(out, static_cast<float>(c.state));
  }
  for (const LinkId link : links) put(out, state_of(world, link));
  out.resize((out.size() + 3) / 4 * 4);
  return out;
}

std::string encode_poses(const Session& session, std::span<const LinkId> links) {
  std::string out;
  out.reserve(links.size() * 28);
  for (const LinkId link : links) put_pose(out, session.world().pose(link));
  return out;
}

std::string encode_signals(const Session& session, std::uint32_t subscription,
                           std::span<const Signal> signals) {
  std::string out;
  put(out, subscription);
  put(out, static_cast<std::uint32_t>(signals.size()));
  for (const Signal& signal : signals) put(out, session.read(signal));
  return out;
}

}  // namespace karakuri::server_detail
