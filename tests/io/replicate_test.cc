// <replicate> of MJCF: what it writes out is what a user would have written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/corpus.h"
#include "karakuri/io/save.h"

namespace karakuri::test {
namespace {

using testing::HasSubstr;

std::string native(const std::string& text) {
  const Result<LoadedScene> scene = load_mjcf("<mujoco>" + text + "</mujoco>", "r.xml", uncached());
  return scene.ok() ? to_native(*scene, "assets").text : to_string(scene.errors());
}

TEST(Replicate, WritesOutCopiesAndWhatRefersToThem) {
  const std::string by_hand =
      "<frame><body name='b_0'><joint name='j_0'/><geom size='.1'/><site name='s_0' pos='.1 0 "
      "0'/></body></frame>"
      "<frame pos='1 0 0' quat='1 0 0 1'><body name='b_1'><joint name='j_1'/><geom size='.1'/>"
      "<site name='s_1' pos='.1 0 0'/></body></frame>"
      "<frame pos='1 1 0' quat='0 0 0 1'><body name='b_2'><joint name='j_2'/><geom size='.1'/>"
      "<site name='s_2' pos='.1 0 0'/></body></frame></worldbody>"
      "<contact><exclude body1='b_0' body2='base'/><exclude body1='b_1' body2='base'/>"
      "<exclude body1='b_2' body2='base'/></contact>"
      "<actuator><motor name='m_0' joint='j_0'/><motor name='m_1' joint='j_1'/><motor name='m_2' "
      "joint='j_2'/>"
      "</actuator><sensor><gyro site='s_0'/><gyro site='s_1'/><gyro site='s_2'/><actuatorfrc actuator='m_0'/>"
      "<actuatorfrc actuator='m_1'/><actuatorfrc actuator='m_2'/></sensor>";
  const std::string replicated =
      "<replicate count='3' sep='_' offset='1 0 0' euler='0 0 90'><body name='b'><joint name='j'/>"
      "<geom size='.1'/><site name='s' pos='.1 0 0'/></body></replicate></worldbody>"
      "<contact><exclude body1='b' body2='base'/></contact><actuator><motor name='m' joint='j'/></actuator>"
      "<sensor><gyro site='s'/><actuatorfrc actuator='m'/></sensor>";
  const std::string base = "<worldbody><body name='base'><freejoint/><geom size='.2'/></body>";
  const Result<LoadedScene> a = load_mjcf("<mujoco>" + base + by_hand + "</mujoco>", "r.xml", uncached()),
                            b = load_mjcf("<mujoco>" + base + replicated + "</mujoco>", "r.xml", uncached());
  ASSERT_TRUE(a.ok() && b.ok()) << to_string(a.ok() ? b.errors() : a.errors());
  EXPECT_TRUE(b->notes.empty()) << to_string(b->notes);
  const Mechanism &m = a->scene.mechanism, &n = b->scene.mechanism;
  ASSERT_EQ(m.joint_ids(), n.joint_ids());
  for (const JointId id : m.joint_ids()) {
    EXPECT_EQ(m.joint(id).name, n.joint(id).name);
    // turns of a quarter, added up once and twice
    EXPECT_LT(
        (m.joint(id).X_PF.R - n.joint(id).X_PF.R).norm() + (m.joint(id).X_PF.p - n.joint(id).X_PF.p).norm(),
        1e-14);
  }
  EXPECT_EQ(a->scene.no_contact, b->scene.no_contact);
  ASSERT_EQ(b->actuators.size(), 3u);
  ASSERT_EQ(b->sensors.size(), 6u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(a->actuators[i].name, b->actuators[i].name);
    EXPECT_EQ(a->actuators[i].transmissions[0].joint, b->actuators[i].transmissions[0].joint);
    EXPECT_EQ(a->sensors[i].link, b->sensors[i].link);
    EXPECT_EQ(a->sensors[3 + i].actuator, b->sensors[3 + i].actuator);
  }
}

TEST(Replicate, NestsAndNumbersWithLeadingZeros) {
  const std::string text = native(
      "<worldbody><replicate count='12' offset='1 0 0'><replicate count='2' sep='x' offset='0 1 0'><body "
      "name='b'>"
      "<freejoint/><geom size='.1'/></body></replicate></replicate></worldbody>");
  EXPECT_THAT(text, HasSubstr("name: bx000\n"));
  EXPECT_THAT(text, HasSubstr("name: bx111\n"));
  EXPECT_THAT(text, HasSubstr("at: [11, 1, 0]"));
}

TEST(Replicate, ThatIsTooMuchIsRefused) {
  EXPECT_THAT(native("<worldbody>\n<replicate count='-1'><site/></replicate></worldbody>"),
              HasSubstr("r.xml:2: error: the count of a <replicate> is -1"));
  EXPECT_THAT(native("<worldbody><replicate><site/></replicate></worldbody>"), HasSubstr("count"));
  std::string bomb = "<site/>";
  for (int i = 0; i < 6; ++i) bomb = "<replicate count='100'>" + bomb + "</replicate>";
  EXPECT_THAT(native("<worldbody>" + bomb + "</worldbody>"), HasSubstr("repeat less"));
  std::string chain, name = "s";
  for (int i = 0; i < 300; ++i, name += '0') chain += "<site name='" + name + "'/>";
  EXPECT_THAT(native("<worldbody><replicate count='1'>" + chain +
                     "</replicate></worldbody><sensor><gyro site='s'/></sensor>"),
              HasSubstr("without end"));
}

}  // namespace
}  // namespace karakuri::test
