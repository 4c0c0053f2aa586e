// Links of a robot that overlap where all joints are at zero never touch, unless the user wants them to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/corpus.h"
#include "karakuri/io/save.h"
#include "karakuri/world/world.h"

namespace karakuri::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Links a, b, c, ... in a row along z, each a ball of this radius on a hinge 0.1 m above the last.
std::string row_of(int links, double radius) {
  std::string text = "<robot name='row'>\n";
  for (int i = 0; i < links; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    text += "<link name='" + name +
            "'><inertial><mass value='1'/><inertia ixx='.01' iyy='.01' izz='.01'/></inertial>"
            "<collision><geometry><sphere radius='" +
            std::to_string(radius) + "'/></geometry></collision></link>\n";
    if (i == 0) continue;
    text += "<joint name='j" + name + "' type='continuous'><parent link='" +
            std::string(1, static_cast<char>('a' + i - 1)) + "'/><child link='" + name +
            "'/><origin xyz='0 0 .1'/><axis xyz='0 1 0'/></joint>\n";
  }
  return text + "</robot>\n";
}

LoadedScene loaded(const std::string& text, const LoadOptions& options = uncached()) {
  Result<LoadedScene> scene = load_urdf(text, "row.urdf", options);
  EXPECT_TRUE(scene.ok()) << to_string(scene.errors());
  return std::move(*scene);
}

bool left_out(const LoadedScene& scene, const char* a, const char* b) {
  const LinkId x = scene.scene.mechanism.find_link(a), y = scene.scene.mechanism.find_link(b);
  for (const auto& [p, q] : scene.scene.no_contact)
    if ((p == x && q == y) || (p == y && q == x)) return true;
  return false;
}

World world_of(const LoadedScene& scene) {
  Result<World> world = World::make(scene.scene, scene.settings, scene.gravity);
  EXPECT_TRUE(world.ok()) << to_string(world.errors());
  return std::move(*world);
}

TEST(ZeroPose, OverlappingLinksOfAUrdfNeverTouch) {
  const LoadedScene row = loaded(row_of(4, 0.11));  // a and c overlap by 2 cm, a and d do not
  EXPECT_TRUE(left_out(row, "a", "c"));
  EXPECT_TRUE(left_out(row, "b", "d"));
  EXPECT_FALSE(left_out(row, "a", "d"));
  EXPECT_FALSE(left_out(row, "a", "b"));  // a joint joins them
  EXPECT_THAT(world_of(row).find_overlaps(), IsEmpty());
  ASSERT_EQ(row.notes.size(), 1u);
  EXPECT_EQ(row.notes[0].severity, Severity::kNote);
  EXPECT_THAT(to_string(row.notes), HasSubstr("row.urdf:1: note: 2 pairs of links of 'row' overlap where all "
                                              "joints are at zero, and never touch: 'a' and 'c' by 0.02 m"));
}

TEST(ZeroPose, ManyAreCounted) {
  EXPECT_THAT(to_string(loaded(row_of(9, 0.11)).notes), HasSubstr("and 3 more"));
}

TEST(ZeroPose, WhatOnlyMeetsTouches) {
  const LoadedScene row = loaded(row_of(4, 0.1));
  EXPECT_THAT(row.scene.no_contact, IsEmpty());
  EXPECT_THAT(row.notes, IsEmpty());
}

TEST(ZeroPose, TheUserMayWantThemToTouch) {
  LoadOptions options = uncached();
  options.overlapping_touch = true;
  const LoadedScene row = loaded(row_of(4, 0.11), options);
  EXPECT_THAT(row.notes, IsEmpty());
  EXPECT_EQ(world_of(row).find_overlaps().size(), 2u);
}

/// Without a floor it falls as one body, whatever overlaps.
TEST(ZeroPose, SuchARobotFallsFreely) {
  LoadedScene row = loaded(row_of(6, 0.3));
  row.scene.add_ground({}, -100);
  World world = world_of(row);
  const LinkId root = row.scene.mechanism.find_link("a");
  world.step(500);
  EXPECT_NEAR(world.pose(root).p.z(), -0.5 * 9.81 * 0.25, 1e-9);
}

TEST(ZeroPose, OfASdfModelByModel) {
  const auto ball = [](const char* name, double z) {
    return std::string("<link name='") + name + "'><pose>0 0 " + std::to_string(z) +
           " 0 0 0</pose><inertial><mass>1</mass></inertial><collision name='c'><geometry><sphere><radius>.11"
           "</radius></sphere></geometry></collision></link>\n";
  };
  const auto hinge = [](const char* parent, const char* child) {
    return std::string("<joint name='j") + child + "' type='revolute'><parent>" + parent +
           "</parent><child>" + child + "</child><axis><xyz>0 1 0</xyz></axis></joint>\n";
  };
  const auto model = [&](const char* name, double x, bool self_collide) {
    return std::string("<model name='") + name + "'><pose>" + std::to_string(x) + " 0 0 0 0 0</pose>" +
           (self_collide ? "<self_collide>true</self_collide>" : "") + ball("a", 0) + ball("b", 0.1) +
           ball("c", 0.2) + hinge("a", "b") + hinge("b", "c") + "</model>\n";
  };
  const std::string text = "<?xml version='1.0'?>\n<sdf version='1.9'><world name='w'>\n" +
                           model("one", 0, true) + model("two", 0.2, true) + model("three", 9, false) +
                           "</world></sdf>\n";
  const Result<LoadedScene> scene = load_sdf(text, "robots.sdf", uncached());
  ASSERT_TRUE(scene.ok()) << to_string(scene.errors());
  EXPECT_TRUE(left_out(*scene, "one::a", "one::c"));
  EXPECT_TRUE(left_out(*scene, "two::a", "two::c"));
  EXPECT_FALSE(left_out(*scene, "one::a", "two::a"));  // two robots in each other
  EXPECT_EQ(scene->scene.no_contact.size(), 2u);       // and of the third no links touch at all
  EXPECT_THAT(to_string(scene->notes), HasSubstr("'one' overlaps"));
  EXPECT_THAT(to_string(scene->notes), HasSubstr("'two' overlaps"));
  EXPECT_THAT(to_string(scene->notes), Not(HasSubstr("'three'")));
}

TEST(ZeroPose, IsKeptInANativeScene) {
  const LoadedScene row = loaded(row_of(4, 0.11));
  const Result<LoadedScene> again = load_native(to_native(row).text, "row.scene.yaml", uncached());
  ASSERT_TRUE(again.ok()) << to_string(again.errors());
  EXPECT_TRUE(left_out(*again, "a", "c"));
  EXPECT_EQ(world_of(*again).scene_hash(), world_of(row).scene_hash());
}

/// Places of links and joints in their files, for what is told of them later.
TEST(ZeroPose, PlacesAreKnown) {
  const LoadedScene row = loaded(row_of(3, 0.11));
  EXPECT_EQ(row.places.at("link 'b'"), "row.urdf:3");
  EXPECT_EQ(row.places.at("joint 'jb'"), "row.urdf:4");
}

}  // namespace
}  // namespace karakuri::test
