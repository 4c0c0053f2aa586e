// What is wrong with a file is told with its line, what was found, and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include <fmt/format.h>

#include "io/corpus.h"
#include "io/stopwatch.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

struct Case {
  const char* text;   // the first line is line 1
  const char* error;  // part of the first error's one-line form
};

std::string first_error(const Result<LoadedScene>& loaded) {
  return loaded.ok() ? "nothing is wrong with it" : to_string(loaded.errors()[0]);
}

TEST(UrdfErrors, NameFileAndLine) {
  const Case cases[] = {
      {"", "r.urdf:1: error: there is nothing in it"},
      {"<robot name='r'>\n<link name='a'>", "r.urdf:2: error: an end tag"},
      {"<robot>\n<link/>\n</robot>", "r.urdf:2: error: <link> has no name"},
      {"<robot>\n<link name='a'/><link name='a'/></robot>", "r.urdf:2: error: a second link is called 'a'"},
      {"<robot></robot>", "r.urdf:1: error: the robot has no links"},
      {"<robot><link name='a'/>\n<link name='b'/></robot>",
       "r.urdf:2: error: more than one link hangs on nothing: 'a' and 'b'"},
      {"<robot><link name='a'/>\n<joint name='j' type='wheel'><parent link='a'/><child "
       "link='b'/></joint></robot>",
       "r.urdf:2: error: joint 'j' has type 'wheel' (valid are 'revolute', 'continuous', 'prismatic', "
       "'fixed', 'floating' and 'planar')"},
      {"<robot><link name='a'/><joint name='j' type='fixed'>\n<parent link='a'/>\n<child "
       "link='b'/></joint></robot>",
       "r.urdf:3: error: there is no link 'b' (the links are 'a')"},
      {"<robot><link name='a'/><link name='b'/>\n<joint name='j' type='fixed'><parent link='a'/><child "
       "link='b'/></joint>\n"
       "<joint name='k' type='fixed'><parent link='b'/><child link='a'/></joint></robot>",
       "r.urdf:3: error: joint 'k': it would make a cycle of parents"},
      {"<robot><link name='a'/><link name='b'/>\n<joint name='j' type='fixed'><parent link='a'/><child "
       "link='b'/></joint>\n"
       "<joint name='k' type='fixed'><parent link='a'/><child link='b'/></joint></robot>",
       "r.urdf:3: error: joint 'k': its child 'b' already hangs on 'a'"},
      {"<robot><link name='a'><inertial>\n<mass value='-2'/></inertial></link></robot>",
       "r.urdf:2: error: link 'a' has mass -2"},
      {"<robot><link name='a'><inertial>\n<mass value='NaN'/></inertial></link></robot>",
       "r.urdf:2: error: value of <mass> is not finite"},
      {"<robot><link name='a'><inertial>\n<mass value='heavy'/></inertial></link></robot>",
       "r.urdf:2: error: value of <mass> is 'heavy', which is not a number"},
      {"<robot><link name='a'><inertial>\n<mass value='1'/><inertia ixx='-1' iyy='1' "
       "izz='1'/></inertial></link></robot>",
       "r.urdf:1: error: link 'a': has a rotational inertia that is not positive definite"},
      {"<robot><link name='a'><collision>\n<geometry><box size='1 2'/></geometry></collision></link></robot>",
       "r.urdf:2: error: size of <box> has 2 numbers, not 3"},
      {"<robot><link name='a'><collision>\n<geometry><sphere "
       "radius='-1'/></geometry></collision></link></robot>",
       "r.urdf:2: error"},
      {"<robot><link name='a'><collision>\n<geometry><mesh "
       "filename='nowhere.stl'/></geometry></collision></link></robot>",
       "r.urdf:2: error: there is no mesh 'nowhere.stl'"},
      {"<robot><link name='a'><visual>\n<geometry><mesh "
       "filename='/etc/passwd'/></geometry></visual></link></robot>",
       "r.urdf:2: error: '/etc/passwd' is no file of a mesh"},
      {"<robot><link name='a'><visual>\n<geometry><mesh "
       "filename='package://p/m.dae'/></geometry></visual></link></robot>",
       "r.urdf:2: error: there is no mesh 'package://p/m.dae' (name the folder that holds the package"},
      {"<robot><link name='a'><inertial><mass value='1'/></inertial></link><link name='b'><inertial><mass "
       "value='1'/></inertial></link>\n"
       "<joint name='j' type='revolute'><parent link='a'/><child link='b'/>\n<limit lower='1' "
       "upper='-1'/></joint></robot>",
       "r.urdf:2: error: joint 'j': its lower limit 1 is above its upper limit -1"},
      {"<robot><link name='a'><inertial><mass value='1'/></inertial></link><link name='b'/>\n"
       "<joint name='j' type='fixed'><parent link='a'/><child link='b'/><mimic "
       "joint='nobody'/></joint></robot>",
       "r.urdf:2: error: there is no joint 'nobody'"},
      {"<sdf/>", "r.urdf:1: error: the root is <sdf>, not <robot>"},
      {"<robot><link name='a' \x01='2'/></robot>", "r.urdf:1: error"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_THAT(first_error(load_urdf(c.text, "r.urdf", uncached())), HasSubstr(c.error));
  }
}

/// A mimic joint that moves nothing with mass is held fixed, and follows nothing then.
TEST(UrdfErrors, MimicJointsWithoutMassAreHeld) {
  const std::string heavy = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>";
  const auto joint = [](const char* name, const char* child, const char* mimic) {
    return fmt::format(
        "<joint name='{}' type='continuous'><parent link='a'/><child link='{}'/><axis xyz='0 1 "
        "0'/>{}</joint>",
        name, child, mimic);
  };
  const Result<LoadedScene> loaded =
      load_urdf("<robot name='r'><link name='a'>" + heavy + "</link><link name='b'>" + heavy +
                    "</link><link name='c'/><link name='d'>" + heavy + "</link>\n" + joint("j", "b", "") +
                    joint("held", "c", "<mimic joint='j'/>") +
                    joint("led", "d", "<mimic joint='held' multiplier='2' offset='.3'/>") + "</robot>",
                "r.urdf", uncached());
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  const std::vector<Coupling>& couplings = loaded->scene.mechanism.couplings();
  ASSERT_EQ(couplings.size(), 1u);
  EXPECT_FALSE(couplings[0].leader);
  EXPECT_EQ(couplings[0].coefficients, (std::array<double, 5>{.3, 0, 0, 0, 0}));
}

TEST(MjcfErrors, NameFileAndLine) {
  const Case cases[] = {
      {"<mujoco>\n<worldbody>\n<bdy/></worldbody></mujoco>",
       "m.xml:3: error: element <bdy> in <worldbody> is unknown (valid are "},
      {"<mujoco>\n<worldbody><geom sise='1'/></worldbody></mujoco>",
       "m.xml:2: error: attribute 'sise' of <geom> is unknown"},
      {"<mujoco><worldbody>\n<geom size='1 x'/></worldbody></mujoco>",
       "m.xml:2: error: size of <geom> is '1 x', which is not a number"},
      {"<mujoco><worldbody>\n<geom size='nan'/></worldbody></mujoco>",
       "m.xml:2: error: size of <geom> is not finite"},
      {"<mujoco><worldbody>\n<geom type='boks' size='1'/></worldbody></mujoco>",
       "m.xml:2: error: type of <geom> is 'boks' (valid are 'plane'"},
      {"<mujoco><worldbody>\n<geom type='box' size='1'/></worldbody></mujoco>",
       "m.xml:2: error: a box needs 3 numbers for its size"},
      {"<mujoco><worldbody>\n<geom size='-1'/></worldbody></mujoco>", "m.xml:2: error"},
      {"<mujoco><worldbody><body>\n<joint/></body></worldbody></mujoco>",
       "m.xml:2: error: link 'body1': it moves by joint 'body1_joint' but has no mass"},
      {"<mujoco><worldbody><body><joint/>\n<inertial mass='-1' pos='0 0 0' diaginertia='1 1 "
       "1'/></body></worldbody></mujoco>",
       "m.xml:2: error: the mass is -1"},
      {"<mujoco><worldbody><body>\n<freejoint/><joint/><geom size='1'/></body></worldbody></mujoco>",
       "m.xml:1: error: a free joint stands with other joints"},
      {"<mujoco><worldbody>\n<geom class='steel' size='1'/></worldbody></mujoco>",
       "m.xml:2: error: there is no default class 'steel' (the classes are 'main')"},
      {"<mujoco><worldbody>\n<body childclass='steel'/></worldbody></mujoco>",
       "m.xml:2: error: there is no default class 'steel'"},
      {"<mujoco><worldbody>\n<geom type='mesh' mesh='hull'/></worldbody></mujoco>",
       "m.xml:2: error: there is no mesh 'hull'"},
      {"<mujoco><asset>\n<mesh name='m' file='m.stl'/></asset><worldbody><geom type='mesh' "
       "mesh='m'/></worldbody></mujoco>",
       "m.xml:2: error: its mesh cannot be used: m.stl:1: there is no such file"},
      {"<mujoco><asset>\n<mesh name='m' file='/etc/passwd'/></asset><worldbody><geom type='mesh' "
       "mesh='m'/></worldbody></mujoco>",
       "m.xml:2: error: '/etc/passwd' is no file of a mesh"},
      {"<mujoco><asset>\n<hfield name='h' file='/etc/passwd' size='1 1 1 1'/></asset><worldbody><geom "
       "type='hfield' hfield='h'/></worldbody></mujoco>",
       "m.xml:2: error: '/etc/passwd' is no file of heights"},
      {"<mujoco>\n<include file='/etc/passwd'/></mujoco>",
       "m.xml:2: error: included file '/etc/passwd' is no XML by its name"},
      {"<mujoco>\n<include file='nothing.xml'/></mujoco>",
       "m.xml:2: error: included file 'nothing.xml': there is no such file"},
      {"<mujoco>\n<include file='m.xml'/></mujoco>",
       "m.xml:2: error: 'm.xml' is included a second time, or includes itself"},
      {"<mujoco><worldbody><body name='a'/>\n<body name='a'/></worldbody></mujoco>",
       "m.xml:2: error: a second body is called 'a'"},
      {"<mujoco><contact>\n<exclude body1='a' body2='world'/></contact></mujoco>",
       "m.xml:2: error: there is no body 'a' (there are 'world')"},
      {"<mujoco><actuator>\n<motor joint='j'/></actuator></mujoco>", "m.xml:2: error: there is no joint 'j'"},
      {"<mujoco><sensor>\n<gyro site='s'/></sensor></mujoco>", "m.xml:2: error: there is no site 's'"},
      {"<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody><keyframe>\n<key qpos='1 2 "
       "3'/></keyframe></mujoco>",
       "m.xml:2: error: qpos of <key> has 3 numbers, not 7"},
      {"<mujoco>\n<compiler coordinate='global'/></mujoco>", "m.xml:2: error: coordinate is 'global'"},
      {"<mujoco>\n<compiler eulerseq='abc'/></mujoco>", "m.xml:2: error: eulerseq is 'abc'"},
      {"<mujoco>\n<option timestep='0'/></mujoco>", "m.xml:2: error: timestep is 0"},
      {"<mujoco>\n<option integrator='magic'/></mujoco>",
       "m.xml:2: error: integrator of <option> is 'magic' (valid are 'Euler', 'RK4', 'implicit' and "
       "'implicitfast')"},
      {"<mujoco><worldbody><body>\n<joint axis='0 0 0'/><geom size='1'/></body></worldbody></mujoco>",
       "m.xml:2: error: the axis of a joint is zero"},
      {"<mujoco><worldbody>\n<geom size='1' quat='0 0 0 0'/></worldbody></mujoco>",
       "m.xml:2: error: quat is zero"},
      {"<mujoco><worldbody><body>\n<joint limited='true'/><geom size='1'/></body></worldbody></mujoco>",
       "m.xml:2: error: limited is true, but there is no range"},
      {"<mujoco><worldbody><body>\n<joint name='j' type='ball'/><geom "
       "size='1'/></body></worldbody><equality><joint name='e' joint1='j'/></equality></mujoco>",
       "m.xml:1: error: coupling 'e': joint 'j' has no position"},
      {"<mujoco><default>\n<default/></default></mujoco>",
       "m.xml:2: error: a <default> within another has no class"},
      {"<mujoco><worldbody><body>\n<joint axis='1 0 0'/><joint axis='1 0 0'/><geom "
       "size='1'/></body></worldbody></mujoco>",
       "m.xml:2: error: link 'body1/body1_joint': it has no mass, and what hangs on it does not resist"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_THAT(first_error(load_mjcf(c.text, "m.xml", uncached())), HasSubstr(c.error));
  }
}

TEST(Loading, TheFormatIsFoundByTheRoot) {
  EXPECT_EQ(*scene_format("<?xml version='1.0'?>\n<!-- <robot> -->\n<mujoco model='m'>", "a.xml"),
            SceneFormat::kMjcf);
  EXPECT_EQ(*scene_format("<robot>", "a.xml"), SceneFormat::kUrdf);
  EXPECT_EQ(*scene_format("<sdf version='1.9'>", "a.xml"), SceneFormat::kSdf);
  EXPECT_THAT(to_string(scene_format("<html>", "a.xml").errors()),
              HasSubstr("a.xml:1: error: its root is <html>"));
  EXPECT_THAT(to_string(scene_format("hello", "a.xml").errors()), HasSubstr("a.xml:1: error: it is no XML"));
  EXPECT_THAT(to_string(load_scene("nothing.urdf").errors()),
              HasSubstr("nothing.urdf:1: error: there is no such file"));
  EXPECT_THAT(to_string(load_scene("/etc/passwd").errors()),
              HasSubstr("/etc/passwd:1: error: files whose names have no ending are not read"));
}

/// What stands for an entity would be left out, and a world of entities alone be empty.
TEST(Loading, DeclarationsOfEntitiesAreRefused) {
  const std::string bomb =
      "<?xml version='1.0'?>\n<!-- <!ENTITY x 'y'> -->\n<!DOCTYPE x [\n<!ENTITY a 'aaaa'>\n]>\n";
  const char* const told = ":3: error: it declares entities";
  EXPECT_THAT(
      first_error(load_urdf(bomb + "<robot name='r'><link name='&a;'/></robot>", "r.urdf", uncached())),
      HasSubstr(std::string("r.urdf") + told));
  EXPECT_THAT(
      first_error(load_mjcf(bomb + "<mujoco><worldbody>&a;</worldbody></mujoco>", "m.xml", uncached())),
      HasSubstr(std::string("m.xml") + told));
  EXPECT_THAT(first_error(load_sdf(bomb + "<sdf version='1.9'><world name='w'>&a;</world></sdf>", "w.sdf",
                                   uncached())),
              HasSubstr(std::string("w.sdf") + told));
  const std::string late = "<mujoco>\n<!ENTITY a 'b'><worldbody/></mujoco>";
  EXPECT_THAT(first_error(load_mjcf(late, "m.xml", uncached())),
              HasSubstr("m.xml:2: error: it declares entities"));
  const std::string plain =
      "<!DOCTYPE mujoco>\n<!-- <!ENTITY a 'b'> --><mujoco><!-- <!DOCTYPE x [ --><worldbody/></mujoco>";
  EXPECT_EQ(first_error(load_mjcf(plain, "m.xml", uncached())), "nothing is wrong with it");
}

TEST(Loading, StrictMakesWarningsErrorsAndNotesRemain) {
  const char* text =
      "<mujoco><visual/><worldbody>\n<geom size='1' margin='.01'/><geom size='1' "
      "margin='.02'/></worldbody></mujoco>";
  const Result<LoadedScene> loaded = load_mjcf(text, "m.xml", uncached());
  ASSERT_TRUE(loaded.ok());
  ASSERT_EQ(loaded->notes.size(), 2u) << to_string(loaded->notes);  // once per feature
  LoadOptions strict = uncached();
  strict.strict = true;
  const Result<LoadedScene> refused = load_mjcf(text, "m.xml", strict);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(to_string(refused.errors()), HasSubstr("m.xml:2: error: margin of <geom> is not supported"));
  EXPECT_TRUE(load_mjcf("<mujoco><visual/></mujoco>", "m.xml", strict).ok());
}

TEST(Loading, PrefixAndPose) {
  LoadOptions options = uncached();
  options.prefix = "left/";
  options.pose = Transform::translation({1, 2, 3});
  const Result<LoadedScene> m = load_mjcf(
      "<mujoco><worldbody><geom size='1'/><body name='a' pos='0 0 1'><freejoint name='j'/><geom "
      "size='1'/></body></worldbody></mujoco>",
      "m.xml", options);
  ASSERT_TRUE(m.ok()) << to_string(m.errors());
  const Mechanism& mm = m->scene.mechanism;
  EXPECT_TRUE(mm.joint(mm.find_joint("left/j")).X_PF.p.isApprox(Vec3(1, 2, 4)));
  EXPECT_TRUE(mm.link(mm.world()).shapes[0].X_LS.p.isApprox(Vec3(1, 2, 3)));
  const Result<LoadedScene> u = load_urdf(
      "<robot><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
      "izz='1'/></inertial></link></robot>",
      "r.urdf", options);
  ASSERT_TRUE(u.ok()) << to_string(u.errors());
  EXPECT_TRUE(
      u->scene.mechanism.joint(u->scene.mechanism.find_joint("left/a")).X_PF.p.isApprox(Vec3(1, 2, 3)));
}

// ---- files written by nobody

class Hostile : public testing::TestWithParam<std::pair<const char*, std::string (*)()>> {};

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

const std::pair<const char*, std::string (*)()> kHostile[] = {
    {"long_line",
     [] {
       return "<mujoco><worldbody><geom size='" + repeated("1 ", 50'000'000) + "'/></worldbody></mujoco>";
     }},
    {"long_but_read",
     [] {
       return "<mujoco><worldbody><geom size='" + repeated("1 ", 15'000'000) + "'/></worldbody></mujoco>";
     }},
    {"many_elements", [] { return "<mujoco>" + repeated("<a/>", 7'000'000) + "</mujoco>"; }},
    {"many_unknown", [] { return "<mujoco>" + repeated("<a/>", 400'000) + "</mujoco>"; }},
    {"many_attributes",
     [] {
       std::string t = "<mujoco ";
       for (int i = 0; i < 300'000; ++i) t += "a" + std::to_string(i) + "='1' ";
       return t + "/>";
     }},
    {"deep", [] { return "<mujoco><worldbody>" + repeated("<body>", 200'000); }},
    {"entities",
     [] {
       std::string t = "<!DOCTYPE mujoco [<!ENTITY a0 'aaaaaaaaaa'>";
       for (int i = 1; i < 12; ++i)
         t += "<!ENTITY a" + std::to_string(i) + " '" + repeated("&a" + std::to_string(i - 1) + ";", 10) +
              "'>";
       return t + "]><mujoco model='&a11;'><worldbody><geom size='&a11;'/></worldbody></mujoco>";
     }},
    {"external_entity",
     [] {
       return std::string(
           "<!DOCTYPE mujoco [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><mujoco><worldbody><geom "
           "size='&x;'/></worldbody></mujoco>");
     }},
    {"zero_bytes", [] { return std::string("<mujoco>\0\0</mujoco>", 20); }},
    {"no_xml", [] { return repeated("\xff\xfe\x01", 100'000); }},
    {"wide_defaults",
     [] {
       std::string t = "<mujoco><default>";
       for (int i = 0; i < 20'000; ++i)
         t += "<default class='c" + std::to_string(i) + "'><geom size='1'/></default>";
       return t + "</default><bad/></mujoco>";
     }},
    {"many_bodies_no_mass",
     [] {
       return "<mujoco><worldbody>" + repeated("<body><joint/></body>", 50'000) + "</worldbody></mujoco>";
     }},
};

TEST_P(Hostile, IsRefusedWithinASecond) {
  const std::string text = GetParam().second();
  for (const bool from_file : {false, true}) {
    const fs::path file = fs::path(testing::TempDir()) / (std::string(GetParam().first) + "_hostile.xml");
    if (from_file) std::ofstream(file, std::ios::binary) << text;
    const Stopwatch watch;
    const Result<LoadedScene> loaded =
        from_file ? load_scene(file, uncached()) : load_mjcf(text, "m.xml", uncached());
    const double took = watch.seconds();
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.errors()[0].where, testing::ContainsRegex(".xml:[0-9]+$"));
    EXPECT_LT(to_string(loaded.errors()).size(), 100'000u);
    EXPECT_LT(took, kSecond) << to_string(loaded.errors()[0]);
    if (std::getenv("KARAKURI_VERBOSE"))
      printf("%s: %.3f s: %s\n", GetParam().first, took,
             to_string(loaded.errors()[0]).substr(0, 200).c_str());
    fs::remove(file);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Hostile, testing::ValuesIn(kHostile),
                         [](const auto& info) { return info.param.first; });

}  // namespace
}  // namespace karakuri::test
