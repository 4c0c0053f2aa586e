// SDF: worlds, nested models, frames, every joint, loops, and what is wrong with its line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

#include "io/corpus.h"
#include "io/hills.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/model/model.h"
#include "karakuri/world/world.h"

namespace karakuri::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

std::string link(const std::string& name, const std::string& pose) {
  return "<link name='" + name + "'><pose>" + pose +
         "</pose><inertial><mass>2</mass><inertia><ixx>.1</ixx><iyy>.2</iyy><izz>.25</izz></inertia></"
         "inertial>"
         "<collision name='" +
         name + "_c'><geometry><box><size>.1 .2 .3</size></box></geometry></collision></link>\n";
}

Result<LoadedScene> load(const std::string& body) {
  return load_sdf("<?xml version='1.0'?>\n<sdf version='1.9'>\n" + body + "</sdf>\n", "robot.sdf",
                  uncached());
}

TEST(Sdf, SurfacesBounce) {
  std::string text = link("a", "0 0 1 0 0 0");
  text.replace(text.find("</collision>"), 12,
               "<surface><bounce><restitution_coefficient>.7</restitution_coefficient></bounce></surface>"
               "</collision>");
  const Result<LoadedScene> loaded = load("<model name='m'>" + text + "</model>");
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  EXPECT_TRUE(loaded->notes.empty()) << to_string(loaded->notes);
  const Mechanism& m = loaded->scene.mechanism;
  EXPECT_EQ(m.material(m.link(m.find_link("a")).shapes[0].material)->surface.restitution, 0.7);
  text.replace(text.find(">.7<"), 4, ">1.7<");
  const Result<LoadedScene> refused = load("<model name='m'>" + text + "</model>");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(to_string(refused.errors()),
              HasSubstr("robot.sdf:3: error: Error reading element <restitution_coefficient>"));
}

TEST(Sdf, HeightmapsAreTerrain) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("karakuri_heightmap_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "hills.png", std::ios::binary)
      .write(reinterpret_cast<const char*>(kHills), sizeof kHills);
  const auto world = [&](const std::string& file) {
    return load_sdf(
        "<sdf version='1.9'><world name='w'><model name='t'><static>true</static><link name='l'>"
        "<collision name='c'><geometry><heightmap><uri>" +
            file +
            "</uri><size>4 2 10</size><pos>0 0 1</pos></heightmap></geometry></collision></link>"
            "</model></world></sdf>",
        folder / "world.sdf", uncached());
  };
  const Result<LoadedScene> loaded = world("hills.png");
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  const Mechanism& m = loaded->scene.mechanism;
  const ShapePlacement& placed = m.link(m.find_link("t::l")).shapes[0];
  EXPECT_EQ(placed.X_LS.p, Vec3(0, 0, 1));
  const Heightfield& field = loaded->scene.shapes[placed.shape].as_heightfield();
  EXPECT_EQ(field.vertex(0, 0), Vec3(-2, -1, 4)) << "the picture's lower left";
  EXPECT_EQ(field.vertex(2, 0), Vec3(2, -1, 10));
  EXPECT_EQ(field.vertex(0, 1), Vec3(-2, 1, 10));
  EXPECT_EQ(field.vertex(2, 1), Vec3(2, 1, 2));
  EXPECT_THAT(to_string(world("none.png").errors()), HasSubstr("there is no heightmap 'none.png'"));
  std::ofstream(folder / "bad.png") << "no picture";
  EXPECT_THAT(to_string(world("bad.png").errors()), HasSubstr("this is no picture: 'bad.png'"));
  const Result<LoadedScene> other = world("dem.tif");
  ASSERT_TRUE(other.ok());
  EXPECT_THAT(to_string(other->notes), HasSubstr("heightmaps are read from PNG"));
  std::filesystem::remove_all(folder);
}

TEST(Sdf, AModelWithEveryJoint) {
  const auto joint = [](const std::string& name, const std::string& type, const std::string& parent,
                        const std::string& child, const std::string& more) {
    return "<joint name='" + name + "' type='" + type + "'><parent>" + parent + "</parent><child>" + child +
           "</child>" + more + "</joint>\n";
  };
  const std::string axis =
      "<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>2</upper><effort>5</effort></limit>"
      "<dynamics><damping>.3</damping><friction>.4</friction></dynamics></axis>";
  const Result<LoadedScene> loaded = load(
      "<model name='m'>" + link("a", "0 0 1 0 0 0") + link("b", "0 0 2 0 0 0") + link("c", "1 0 2 0 0 0") +
      link("d", "0 1 0 0 0 0") + link("e", "0 3 0 0 0 0") + link("f", "0 3 1 0 0 0") +
      link("g", "0 4 1 0 0 0") + joint("hinge", "revolute", "a", "b", "<pose>0 0 -.5 0 0 0</pose>" + axis) +
      joint("slider", "prismatic", "b", "c", axis) + joint("ball", "ball", "c", "d", "") +
      joint("cardan", "universal", "d", "e", "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>") +
      joint("thread", "screw", "e", "f", "<thread_pitch>-4</thread_pitch><axis><xyz>0 0 1</xyz></axis>") +
      joint("weld", "fixed", "f", "g", "") + "</model>");
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  const Mechanism& m = loaded->scene.mechanism;
  EXPECT_EQ(m.joint(m.find_joint("hinge")).kind, JointKind::kRevolute);
  EXPECT_EQ(m.joint(m.find_joint("slider")).kind, JointKind::kPrismatic);
  EXPECT_EQ(m.joint(m.find_joint("ball")).kind, JointKind::kSpherical);
  EXPECT_EQ(m.joint(m.find_joint("cardan")).kind, JointKind::kUniversal);
  EXPECT_EQ(m.joint(m.find_joint("thread")).kind, JointKind::kScrew);
  EXPECT_DOUBLE_EQ(m.joint(m.find_joint("thread")).pitch, 0.25);
  EXPECT_EQ(m.joint(m.find_joint("weld")).kind, JointKind::kFixed);
  const Joint& hinge = m.joint(m.find_joint("hinge"));
  EXPECT_TRUE(hinge.X_PF.p.isApprox(Vec3(0, 0, 0.5)));
  EXPECT_TRUE(hinge.X_CM.p.isApprox(Vec3(0, 0, -0.5)));
  EXPECT_DOUBLE_EQ(hinge.dofs[0].lower, -1);
  EXPECT_DOUBLE_EQ(hinge.dofs[0].upper, 2);
  EXPECT_DOUBLE_EQ(hinge.dofs[0].effort_limit, 5);
  EXPECT_DOUBLE_EQ(hinge.dofs[0].damping, 0.3);
  EXPECT_DOUBLE_EQ(hinge.dofs[0].dry_friction, 0.4);
  const Joint& root = m.joint(m.link(m.find_link("a")).joint);
  EXPECT_EQ(root.kind, JointKind::kFree);
  EXPECT_TRUE(root.X_PF.p.isApprox(Vec3(0, 0, 1)));
  EXPECT_EQ(compile(m)->nv, 6 + 1 + 1 + 3 + 2 + 1);
  // links of one model do not touch unless it says so
  EXPECT_LT(m.link(m.find_link("a")).shapes[0].group, 0);
}

TEST(Sdf, ALinkWithTwoParentsClosesALoop) {
  const auto joint = [](const std::string& name, const std::string& parent, const std::string& child) {
    return "<joint name='" + name + "' type='revolute'><parent>" + parent + "</parent><child>" + child +
           "</child><axis><xyz>0 1 0</xyz></axis></joint>";
  };
  const Result<LoadedScene> loaded =
      load("<model name='fourbar'>" + link("base", "0 0 0 0 0 0") + link("left", "0 0 1 0 0 0") +
           link("right", "1 0 1 0 0 0") + link("top", "0 0 2 0 0 0") + joint("hold", "world", "base") +
           joint("j1", "base", "left") + joint("j2", "base", "right") + joint("j3", "left", "top") +
           joint("j4", "right", "top") + "</model>");
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  const Result<Model> model = compile(loaded->scene.mechanism);
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(model->loops.size(), 1u);
  EXPECT_EQ(model->loops[0].joint, loaded->scene.mechanism.find_joint("j4"));
  EXPECT_EQ(model->nv, 4);
}

TEST(Sdf, WorldsNestedModelsAndFrames) {
  const Result<LoadedScene> loaded = load(
      "<world name='w'><gravity>0 0 -1.6</gravity><physics name='p' "
      "type='ode'><max_step_size>0.004</max_step_size></physics>"
      "<model name='ground'><static>true</static><link name='l'><collision "
      "name='c'><geometry><plane><normal>0 0 1</normal></plane>"
      "</geometry><surface><friction><ode><mu>.3</mu></ode></friction></surface></collision></link></model>"
      "<model name='outer'><pose>1 2 3 0 0 1.5707963267948966</pose>" +
      link("a", "1 0 0 0 0 0") + "<model name='inner'><pose>0 0 1 0 0 0</pose>" + link("b", "0 0 1 0 0 0") +
      "</model><frame name='f' attached_to='inner::b'><pose>0 0 .5 0 0 0</pose></frame>"
      "<joint name='j' type='revolute'><parent>a</parent><child>f</child><axis><xyz>0 0 "
      "1</xyz></axis></joint></model></world>");
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  EXPECT_DOUBLE_EQ(loaded->gravity.z(), -1.6);
  EXPECT_DOUBLE_EQ(loaded->settings.dt, 0.004);
  const Mechanism& m = loaded->scene.mechanism;
  const Joint& root = m.joint(m.link(m.find_link("outer::a")).joint);
  EXPECT_LT((root.X_PF.p - Vec3(1, 3, 3)).norm(), 1e-9);
  const Joint& j = m.joint(m.find_joint("outer::j"));
  EXPECT_EQ(j.child, m.find_link("outer::inner::b"));
  EXPECT_LT((j.X_CM.p - Vec3(0, 0, 0.5)).norm(), 1e-9);
  EXPECT_LT((j.X_PF.p - Vec3(-1, 0, 2.5)).norm(), 1e-9);
  const Link& ground = m.link(m.find_link("ground::l"));
  EXPECT_EQ(m.joint(ground.joint).kind, JointKind::kFixed);
  EXPECT_DOUBLE_EQ(m.material(ground.shapes[0].material)->surface.static_friction, 0.3);
}

// The ground as Gazebo's worlds have it: a plane of a model that is static.
TEST(Sdf, ABoxRestsOnThePlaneOfAStaticModel) {
  const Result<LoadedScene> loaded = load(
      "<world name='w'><model name='ground_plane'><static>true</static><pose>0 0 .2 0 0 0</pose><link "
      "name='link'><collision "
      "name='c'><geometry><plane><normal>0 0 1</normal><size>100 "
      "100</size></plane></geometry></collision></link></model>"
      "<model name='box'><pose>0 0 1 0 0 0</pose>" +
      link("b", "0 0 0 0 0 0") + "</model></world>");
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  Result<World> world = World::make(loaded->scene, loaded->settings, loaded->gravity);
  ASSERT_TRUE(world.ok()) << to_string(world.errors());
  for (int i = 0; i < 1000; ++i) world->step();
  const double z = world->pose(loaded->scene.mechanism.find_link("box::b")).p.z();
  EXPECT_NEAR(z, 0.2 + 0.15, 2e-4);  // half its height; rigid contact leaves 5e-5 m of depth
}

TEST(Sdf, WhatIsNotDoneIsToldOnceWithItsLine) {
  const Result<LoadedScene> loaded =
      load("<model name='m'>\n" + link("a", "0 0 0 0 0 0") +
           "<plugin name='x' filename='x.so'/>\n<plugin name='y' filename='x.so'/><nonsense/></model>");
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  int plugins = 0;
  for (const Diagnostic& note : loaded->notes) plugins += note.what.find("<plugin>") != std::string::npos;
  EXPECT_EQ(plugins, 1);
  EXPECT_THAT(to_string(loaded->notes), HasSubstr("robot.sdf:5: warning: <plugin>"));
  EXPECT_THAT(to_string(loaded->notes), HasSubstr("nonsense"));
}

TEST(Sdf, ErrorsNameFileAndLine) {
  const struct {
    std::string text, what;
  } cases[] = {
      {"<model name='m'>", "does not match"},
      {"<model name='m'>\n<link name='a'/>\n<joint name='j' "
       "type='revolute'><parent>a</parent><child>nobody</child><axis><xyz>0 0 1</xyz></axis></joint></model>",
       "nobody"},
      {"<model name='m'><link name='a'><inertial><mass>-1</mass></inertial></link></model>", "inertia"},
      {"<model name='m'><link name='a'><pose>0 0 x</pose></link></model>", ""},
      {"<model name='m'>" + link("a", "0 0 0 0 0 0") + link("a", "0 0 0 0 0 0") + "</model>", "a"},
      {"<model name='m'><link name='a'><collision "
       "name='c'><geometry><mesh><uri>missing.stl</uri></mesh></geometry></collision></link></model>",
       "missing.stl"},
      {"<model name='m'><link name='a'><collision "
       "name='c'><geometry><mesh><uri>/etc/passwd</uri></mesh></geometry></collision></link></model>",
       "no file of a mesh"},
      {"<model name='m'><link name='a'><collision "
       "name='c'><geometry><sphere><radius>-1</radius></sphere></geometry></collision></link></model>",
       ""},
      {"", ""},
  };
  for (const auto& [text, what] : cases) {
    SCOPED_TRACE(text);
    const Result<LoadedScene> loaded = load(text);
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.errors()[0].where, ContainsRegex("robot.sdf:[0-9]+$"));
    EXPECT_THAT(to_string(loaded.errors()), HasSubstr(what));
  }
}

}  // namespace
}  // namespace karakuri::test
