#include "io/zero_pose.h"

#include <unordered_map>

#include <fmt/format.h>

#include "karakuri/world/world.h"

namespace karakuri::io {

namespace {

constexpr double kRounding = 1e-6;  // of the thinner one: shapes that only meet do touch
constexpr std::size_t kNamed = 4;   // pairs in a note

std::vector<Overlap> overlaps_at_zero(const Scene& scene) {
  Scene neutral = scene;
  neutral.initial.clear();
  const Result<World> world = World::make(std::move(neutral));
  return world.ok() ? world->find_overlaps() : std::vector<Overlap>{};  // what is wrong is told elsewhere
}

void tell(SceneBuilder& build, const Robot& robot, const std::vector<Overlap>& pairs) {
  const Mechanism& m = build.mechanism();
  std::string named;
  for (std::size_t i = 0; i < std::min(pairs.size(), kNamed); ++i)
    named += fmt::format("{}{} and {} by {:.2g} m", i > 0 ? ", " : "", in_quotes(m.link(pairs[i].a).name),
                         in_quotes(m.link(pairs[i].b).name), pairs[i].depth);
  if (pairs.size() > kNamed) named += fmt::format(" and {} more", pairs.size() - kNamed);
  build.report.remark(
      "zero pose of " + robot.name, robot.where,
      fmt::format("{} of {} overlap{} where all joints are at zero, and never touch: {}",
                  pairs.size() == 1 ? "1 pair of links" : fmt::format("{} pairs of links", pairs.size()),
                  in_quotes(robot.name), pairs.size() == 1 ? "s" : "", named),
      "mend the shapes, or let them touch with overlapping_touch");
}

}  // namespace

void leave_out_overlaps(SceneBuilder& build, std::span<const Robot> robots) {
  if (build.options.overlapping_touch || !build.report.ok() || robots.empty()) return;
  std::unordered_map<LinkId, std::size_t> robot_of;
  for (std::size_t i = 0; i < robots.size(); ++i)
    for (const LinkId link : robots[i].links) robot_of[link] = i;
  std::vector<std::vector<Overlap>> pairs(robots.size());
  for (const Overlap& o : overlaps_at_zero(build.out.scene)) {
    const auto a = robot_of.find(o.a), b = robot_of.find(o.b);
    const bool within = a != robot_of.end() && b != robot_of.end() && a->second == b->second;
    if (!within || !(o.depth > kRounding * o.thickness)) continue;
    build.out.scene.no_contact.emplace_back(o.a, o.b);
    pairs[a->second].push_back(o);
  }
  for (std::size_t i = 0; i < robots.size(); ++i)
    if (!pairs[i].empty()) tell(build, robots[i], pairs[i]);
}

}  // namespace karakuri::io
