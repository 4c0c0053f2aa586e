// Files written by nobody: `karakuri check` refuses each within a second of processor time and a gigabyte of
// memory, and its errors name a line.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstring>
#include <functional>

#include <fmt/format.h>

#include "cli/program.h"
#include "io/stopwatch.h"

namespace karakuri::test {
namespace {

constexpr std::size_t kMega = 1u << 20;

std::string many(const std::string& text, std::size_t count) {
  std::string out;
  out.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

std::string numbered(int count, const std::function<std::string(int)>& text) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text(i);
  return out;
}

std::string urdf_of(const std::string& mesh) {
  return R"(<robot name="r"><link name="l"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial><collision><geometry><mesh filename=")" +
         mesh + R"("/></geometry></collision></link></robot>)";
}

std::string bomb_of_entities(const std::string& document) {
  std::string out = R"(<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">)";
  for (char c = 'b'; c <= 'm'; ++c)
    out += std::string("<!ENTITY ") + c + " \"" + many(std::string("&") + char(c - 1) + ";", 10) + "\">";
  return out + "]>" + document;
}

/// A binary STL that claims so many triangles.
std::string stl(std::uint32_t claimed, std::size_t bytes) {
  std::string out(84 + bytes, '\0');
  std::memcpy(out.data() + 80, &claimed, sizeof claimed);
  return out;
}

std::string gltf(const std::string& rest) {
  return R"({"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],)" + rest + "}";
}

struct File {
  const char* name;
  std::string (*text)();
  const char* mesh = nullptr;  // where the text is that of a mesh, which a robot names
};

const std::string kWorld = "<mujoco><worldbody>", kEnd = "</worldbody></mujoco>";

const File kFiles[] = {
    {"line.scene.yaml", [] { return "name: " + std::string(100 * kMega, 'a') + "\nbodys: 1\n"; }},
    {"line.urdf", [] { return "<robot name=\"" + std::string(100 * kMega, 'a') + "\"/>"; }},
    {"line.xml", [] { return "<mujoco model=\"" + std::string(100 * kMega, 'a') + "\"><x/></mujoco>"; }},
    {"line.sdf", [] { return "<sdf version=\"1.9\">" + std::string(100 * kMega, 'a') + "</sdf>"; }},
    {"read_line.xml", [] { return "<mujoco model=\"" + std::string(31 * kMega, 'a') + "\"><x/></mujoco>"; }},
    {"read_line.sdf",
     [] { return "<sdf version=\"1.9\"><model name=\"" + std::string(7 * kMega, 'a') + "\"/></sdf>"; }},
    {"deep.urdf", [] { return "<robot name=\"a\">" + many("<link>", 100000); }},
    {"deep.xml", [] { return kWorld + many("<body>", 100000); }},
    {"deep.sdf", [] { return "<sdf version=\"1.9\">" + many("<model name=\"a\">", 100000); }},
    {"models.sdf",
     [] {
       return "<sdf version=\"1.9\">" + many("<model name=\"a\">", 95) + many("</model>", 95) + "</sdf>";
     }},
    {"deep.scene.yaml", [] { return "name: " + std::string(100000, '['); }},
    {"maps.scene.yaml", [] { return many("a: {", 100000); }},
    {"dashes.scene.yaml", [] { return many("- ", 1000000); }},
    {"entities.urdf", [] { return bomb_of_entities("<robot name=\"&m;\"></robot>"); }},
    {"entities.xml", [] { return bomb_of_entities("<mujoco model=\"&m;\"><x/></mujoco>"); }},
    {"entities.sdf", [] { return bomb_of_entities("<sdf version=\"1.9\"><model name=\"&m;\"/></sdf>"); }},
    {"anchors.scene.yaml",
     [] {
       std::string out = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
       for (char c = 'b'; c < 'v'; ++c)
         out += std::string(1, c) + ": &" + c + " [" + many(std::string("*") + char(c - 1) + ",", 9) + "1]\n";
       return out;
     }},
    {"itself.scene.yaml", [] { return std::string("bodies: &a [*a]\n"); }},
    {"ring.urdf",
     [] {
       return std::string(
           R"(<robot name="a"><link name="a"/><link name="b"/><joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint><joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint></robot>)");
     }},
    {"ring.xml", [] { return std::string(R"(<mujoco><include file="ring.xml"/></mujoco>)"); }},
    {"ring.scene.yaml", [] { return std::string("robots: [{file: ring.scene.yaml}]\n"); }},
    {"ring.sdf",
     [] {
       return std::string(
           R"(<sdf version="1.9"><model name="m"><link name="l"/><frame name="a" attached_to="b"/><frame name="b" attached_to="a"/></model></sdf>)");
     }},
    {"count.scene.yaml",
     [] {
       return std::string(
           "bodies: [{name: a, mass: 1, shapes: {sphere: 1}, repeat: [{count: 100000, offset: [1, 0, 0]}, "
           "{count: 100000, offset: [0, 1, 0]}]}]\n");
     }},
    {"heights.scene.yaml",
     [] {
       return std::string(
           "world: {shapes: {heightfield: {size: [1, 1], columns: 4000000000, rows: 4000000000, heights: "
           "[0]}}}\n");
     }},
    {"heights.xml",
     [] {
       return std::string(
           R"(<mujoco><asset><hfield name="h" nrow="20000" ncol="20000" size="1 1 1 1"/></asset><worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>)");
     }},
    {"shapes.scene.yaml",
     [] {
       return "bodies: [{name: a, mass: 1, shapes: [" + many("{sphere: 1}, ", 1000) +
              "], repeat: {count: 50000}}]\n";
     }},
    {"levels.scene.yaml",
     [] {
       return "bodies: [{name: a, mass: 1, shapes: {sphere: 1}, repeat: [" +
              many("{count: 50000, shrink: 50000}, ", 60) + "]}]\n";
     }},
    {"attributes.urdf",
     [] {
       return "<robot name=\"a\"><link " +
              numbered(500000, [](int i) { return fmt::format("a{}=\"1\" ", i); }) + "/></robot>";
     }},
    {"links.urdf",
     [] {
       return "<robot name=\"a\">" +
              numbered(300000, [](int i) { return fmt::format("<link name=\"x{}\"/>", i); }) + "</robot>";
     }},
    {"links.sdf",
     [] {
       return "<sdf version=\"1.9\"><model name=\"m\">" + many("<link name=\"l\"/>", 3000) + "</model></sdf>";
     }},
    {"chain.sdf",
     [] {
       return "<sdf version=\"1.9\"><model name=\"m\">" +
              numbered(1500,
                       [](int i) {
                         return fmt::format(
                             "<link name=\"l{0}\"/><joint name=\"j{0}\" "
                             "type=\"ball\"><parent>none</parent><child>l{0}</child></joint>",
                             i);
                       }) +
              "</model></sdf>";
     }},
    {"many.sdf",
     [] {
       return "<sdf version=\"1.9\"><model name=\"m\">" +
              numbered(300000, [](int i) { return fmt::format("<link name=\"{}\"/>", i); }) +
              "</model></sdf>";
     }},
    {"bodies.xml", [] { return kWorld + many("<body/>", 400000) + kEnd; }},
    {"geoms.xml", [] { return kWorld + many("<geom size=\"-1\"/>", 190000) + kEnd; }},
    {"includes.xml", [] { return "<mujoco>" + many("<include file=\"none.xml\"/>", 100000) + "</mujoco>"; }},
    {"keys.scene.yaml", [] { return numbered(300000, [](int i) { return fmt::format("k{}: 1\n", i); }); }},
    {"bodies.scene.yaml", [] { return "bodies:\n" + many("- {name: a, mas: 1}\n", 200000); }},
    {"zero.urdf", [] { return std::string("<robot name=\"\0\"/>", 17); }},
    {"claim.urdf", [] { return stl(0xffffffff, 1000); }, "m.stl"},
    {"large.urdf", [] { return stl(5000000, 50 * std::size_t{5000000}); }, "m.stl"},
    {"word.urdf", [] { return "solid " + std::string(100 * kMega, 'a'); }, "m.stl"},
    {"fan.urdf", [] { return many("v 0 0 0\n", 3) + "f " + many("1 2 3 ", 10000000); }, "m.obj"},
    {"index.urdf", [] { return std::string("v 0 0 0\nf 1 2 999999999999999999999\n"); }, "m.obj"},
    {"brackets.urdf", [] { return std::string(1000000, '['); }, "m.gltf"},
    {"nodes.urdf",
     [] {
       return gltf("\"nodes\":[" +
                   numbered(40, [](int i) { return fmt::format("{{\"children\":[{0},{0}]}},", i + 1); }) +
                   "{}]");
     },
     "m.gltf"},
    {"node_ring.urdf", [] { return gltf(R"("nodes":[{"children":[1]},{"children":[0]}])"); }, "m.gltf"},
    {"accessor.urdf",
     [] {
       return gltf(
           R"("nodes":[{"mesh":0}],"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"accessors":[{"componentType":5126,"count":4000000000,"type":"VEC3"}])");
     },
     "m.gltf"},
    {"chunk.urdf", [] { return std::string("glTF\2\0\0\0\xff\xff\xff\xff\xf0\xff\xff\xffJSON{}", 22); },
     "m.glb"},
    {"collada.urdf", [] { return "<COLLADA>" + many("<node>", 1000000); }, "m.dae"},
};

class Hostile : public Program {
 protected:
  static double seconds_of_children() {
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
};

TEST_F(Hostile, FilesAreRefusedWithinASecondAndAGigabyte) {
  for (const File& file : kFiles) {
    SCOPED_TRACE(file.name);
    write(file.mesh ? file.mesh : file.name, file.text());
    if (file.mesh) write(file.name, urdf_of(file.mesh));
    const double before = seconds_of_children();
    const Outcome outcome = run(std::string("check ") + file.name, "ulimit -v 1048576 && ulimit -t 20 && ");
    EXPECT_LT(seconds_of_children() - before, kSecond);
    EXPECT_EQ(outcome.code, 2) << outcome.out << outcome.err.substr(0, 1000);
    EXPECT_THAT(outcome.err, testing::ContainsRegex(std::string(file.name) + ":[0-9]+(:[0-9]+)?: error: "));
    EXPECT_LT(outcome.err.size(), 100u * 1000u);
    std::filesystem::remove(folder_ / file.name);
  }
}

/// Scenes that repeat scenes: counted before any body is made, with what is too much and where.
TEST_F(Hostile, RepeatedScenesAreCountedBeforeTheyAreMade) {
  const auto expect_refusal = [&](const std::string& file, const std::string& told) {
    const double before = seconds_of_children();
    const Outcome outcome = run("check " + file, "ulimit -v 1048576 && ulimit -t 20 && ");
    EXPECT_LT(seconds_of_children() - before, kSecond) << file;
    EXPECT_EQ(outcome.code, 2) << file << outcome.err;
    EXPECT_THAT(outcome.err, testing::HasSubstr(told)) << file;
  };
  write("inner.scene.yaml",
        "bodies: [{name: a, mass: 1, shapes: {sphere: 1}, repeat: {count: 50000, offset: [3, 0, 0]}}]\n");
  write("outer.scene.yaml",
        "robots:\n - {file: inner.scene.yaml, repeat: {count: 290, offset: [0, 3, 0]}}\n");
  expect_refusal(
      "outer.scene.yaml",
      "outer.scene.yaml:2:4: error: 14500000 bodies of 'inner.scene.yaml' (290 times 50000) would be made; a "
      "scene has at most 50000 (repeat less)");
  write("middle.scene.yaml", "robots: [{file: inner.scene.yaml}, {file: inner.scene.yaml, prefix: b}]\n");
  write("around.scene.yaml", "robots: [{file: middle.scene.yaml, repeat: [{count: 100}, {count: 100}]}]\n");
  expect_refusal("around.scene.yaml",
                 "middle.scene.yaml:1:36: error: 50000 bodies of 'inner.scene.yaml' (1 times 50000), beside "
                 "50000 others, "
                 "would be made; a scene has at most 50000");
  write("few.scene.yaml", "bodies: [{name: a, mass: 1, shapes: {sphere: 1}, repeat: {count: 10}}]\n");
  write("sum.scene.yaml",
        "robots: [{file: few.scene.yaml, repeat: {count: 200}}]\n"
        "bodies: [{name: b, mass: 1, shapes: {sphere: 1}, repeat: {count: 49000}}]\n");
  expect_refusal("sum.scene.yaml",
                 "sum.scene.yaml:1:10: error: 2000 bodies of 'few.scene.yaml' (200 times 10), beside "
                 "49000 others, would be made");
  write("many.xml",
        "<mujoco><worldbody><replicate count=\"1000\" offset=\"1 0 0\"><body><freejoint/><geom "
        "size=\".1\"/></body></replicate></worldbody></mujoco>");
  write("robots.scene.yaml", "robots: [{file: many.xml, repeat: {count: 290, offset: [0, 1, 0]}}]\n");
  expect_refusal("robots.scene.yaml",
                 "robots.scene.yaml:1:10: error: 290000 bodies would be made, 1000 of each "
                 "'many.xml'; a scene has at most 50000");
}

}  // namespace
}  // namespace karakuri::test
