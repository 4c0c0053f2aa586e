// What is doubtful in a scene, and what should be zero in a run: as the program tells it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace karakuri::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Doubtful : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    write("hinge.scene.yaml",
          "bodies:\n"
          "  - {name: base, joint: fixed, shapes: {cylinder: {radius: 0.1, length: 0.1}}}\n"
          "  - {name: upper, parent: base, at: [0, 0, 0.05], joint: {axis: [0, 1, 0]},\n"
          "     shapes: {capsule: {radius: 0.03, length: 0.4}, at: [0, 0, 0.2]}}\n");
    write("pile.scene.yaml",
          "bodies:\n"
          "  - {name: low, at: [0, 0, 1], shapes: {sphere: 0.1}}\n"
          "  - {name: high, at: [0, 0, 1.05], shapes: {sphere: 0.1}}\n");
  }
};

/// The number in a column of a record, at its end.
double last_of(const std::string& csv, const std::string& column) {
  std::istringstream lines(csv);
  std::string names, line, last;
  std::getline(lines, names);
  while (std::getline(lines, line)) last = line;
  std::istringstream of_names(names), of_last(last);
  std::string name, value;
  while (std::getline(of_names, name, ',') && std::getline(of_last, value, ','))
    if (name == column) return std::stod(value);
  ADD_FAILURE() << "no column " << column;
  return 0;
}

TEST_F(Doubtful, AHingeInAFixedBaseIsGoodAndStaysWhereItIs) {
  const Outcome checked = run("check hinge.scene.yaml");
  EXPECT_EQ(checked.code, 0);
  EXPECT_THAT(checked.out, HasSubstr("hinge.scene.yaml: good (2 links"));
  EXPECT_THAT(checked.err, IsEmpty());
  const Outcome ran = run("run hinge.scene.yaml --headless --time 0.1 --record q.csv");
  EXPECT_EQ(ran.code, 0);
  EXPECT_LT(std::abs(last_of(read_all(folder_ / "q.csv"), "upper.q")), 1e-9);
}

TEST_F(Doubtful, WhatOverlapsIsNotCalledGood) {
  const Outcome checked = run("check pile.scene.yaml");
  EXPECT_EQ(checked.code, 0);
  EXPECT_THAT(checked.out, AllOf(HasSubstr("pile.scene.yaml: usable ("), HasSubstr("1 warning")));
  EXPECT_THAT(checked.err,
              HasSubstr("pile.scene.yaml:2:5: warning: link 'low': it overlaps 'high' by 0.15 m"));
  const json told = json::parse(run("check --json pile.scene.yaml").out);
  EXPECT_TRUE(told[0]["ok"]);
  EXPECT_EQ(told[0]["diagnostics"][0]["severity"], "warning");
}

TEST_F(Doubtful, RunTellsItOnceAndWithItsOwnStep) {
  const Outcome ran = run("run pile.scene.yaml --headless --time 0.01");
  EXPECT_THAT(ran.err, HasSubstr("it overlaps 'high'"));
  EXPECT_EQ(ran.err.find("overlaps"), ran.err.rfind("overlaps"));
  EXPECT_THAT(run("run hinge.scene.yaml --headless --time 1 --dt 0.5").err,
              HasSubstr("is too long: 'upper'"));
}

TEST_F(Doubtful, StatsHaveWhatShouldBeZero) {
  const Outcome ran = run("run hinge.scene.yaml --headless --time 0.1 --stats");
  EXPECT_EQ(ran.code, 0);
  const json stats = json::parse(ran.out);
  EXPECT_GE(stats["energy_made"].get<double>(), 0);
  EXPECT_LT(stats["energy_made"].get<double>(), 1e-9);
  EXPECT_LT(stats["motion_lost"].get<double>(), 1e-9);
  EXPECT_EQ(stats["energy_taken"].get<double>(), 0);
  EXPECT_TRUE(stats["energy_made_by"].is_array());
  EXPECT_TRUE(stats["motion_lost_by"].is_array());
}

TEST_F(Doubtful, LinksOfAUrdfThatOverlapMayTouchOnWish) {
  std::string robot = "<robot name=\"r\">\n";
  for (const char* name : {"a", "b", "c"})
    robot += std::string("<link name=\"") + name +
             "\"><inertial><mass value=\"1\"/><inertia ixx=\".01\" iyy=\".01\" izz=\".01\"/></inertial>"
             "<collision><geometry><sphere radius=\".15\"/></geometry></collision></link>\n";
  robot +=
      "<joint name=\"ab\" type=\"continuous\"><parent link=\"a\"/><child link=\"b\"/><origin xyz=\"0 0 "
      ".1\"/></joint>\n"
      "<joint name=\"bc\" type=\"continuous\"><parent link=\"b\"/><child link=\"c\"/><origin xyz=\"0 0 "
      ".1\"/></joint>\n"
      "</robot>\n";
  write("r.urdf", robot);
  const Outcome left_out = run("check r.urdf"), touching = run("check r.urdf --overlapping-touch");
  EXPECT_THAT(left_out.err, HasSubstr("note: 1 pair of links of 'r' overlaps"));
  EXPECT_THAT(left_out.out, HasSubstr("r.urdf: good"));
  EXPECT_THAT(touching.err, AllOf(HasSubstr("r.urdf:2: warning: link 'a': it overlaps 'c' by 0.1 m"),
                                  Not(HasSubstr("note:"))));
  write("r.scene.yaml", "robots: [{file: r.urdf, overlapping_touch: true}]\n");
  EXPECT_THAT(run("check r.scene.yaml").err, HasSubstr("r.urdf:2: warning: link 'a': it overlaps 'c'"));
}

}  // namespace
}  // namespace karakuri::test
