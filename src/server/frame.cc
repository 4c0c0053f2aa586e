#include "server/frame.h"

#include "server/touching.h"

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

void put_contact(std::string& out, const World& world, const Contact& c) {
  const Surface surface = surface_of(world, c);
  const bool slides = c.state == ContactState::kSlide;
  put(out, c.point);
  put(out, c.force);
  put(out, c.normal);
  put(out, static_cast<float>(slides ? surface.kinetic_friction : surface.static_friction));
  put(out, static_cast<float>(c.state));
}

/// Of all shapes but planes.
std::vector<Aabb> boxes_of(const World& world) {
  std::vector<Aabb> boxes;
  for (const ColliderInfo& collider : world.colliders()) {
    const Shape* shape = world.scene().shapes.find(collider.shape);
    if (!shape) continue;
    const Aabb box = bounding_box(*shape, world.pose(collider.link) * collider.X_LS);
    if (box.lo.allFinite() && box.hi.allFinite()) boxes.push_back(box);
  }
  return boxes;
}

}  // namespace

std::string encode_frame(const Session& session, std::span<const LinkId> links, bool paused,
                         const FrameParts& parts) {
  const World& world = session.world();
  const bool too_many = world.contacts().size() > kMostContacts;
  const std::span<const Contact> points =
      parts.contacts && !too_many ? world.contacts() : std::span<const Contact>{};
  const std::vector<Aabb> boxes = parts.boxes ? boxes_of(world) : std::vector<Aabb>{};
  std::string out;
  out.reserve(48 + links.size() * 33 + points.size() * 44 + boxes.size() * 24);
  put(out, static_cast<std::uint32_t>(BinaryKind::kFrame));
  put(out, (paused ? 1u : 0u) | (parts.contacts && too_many ? 2u : 0u));
  for (const std::size_t count :
       {links.size(), points.size(), boxes.size(), parts.islands ? links.size() : 0})
    put(out, static_cast<std::uint32_t>(count));
  put(out, session.time());
  for (const LinkId link : links) put_pose(out, world.pose(link));
  for (const Contact& c : points) put_contact(out, world, c);
  for (const Aabb& box : boxes) put(out, box.lo), put(out, box.hi);
  if (parts.islands)
    for (const std::int32_t island : islands_of(world, links)) put(out, island);
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
