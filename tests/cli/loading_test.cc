// A robot of forty meshes loads within two seconds, and its hulls are kept.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cmath>
#include <map>
#include <numbers>

#include "cli/program.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;

/// A bumpy ball, another for each number: 2000 vertices, 3980 faces.
std::string bumpy_ball(int number) {
  constexpr int kAround = 50, kRings = 40;
  std::ostringstream text;
  for (int r = 0; r < kRings; ++r) {
    for (int i = 0; i < kAround; ++i) {
      const double a = std::numbers::pi * (r + 0.5) / kRings, b = 2 * std::numbers::pi * i / kAround;
      const double size = 0.1 * (1 + 0.05 * std::sin(number + 5 * a) * std::cos(3 * b));
      text << "v " << size * std::sin(a) * std::cos(b) << ' ' << size * std::sin(a) * std::sin(b) << ' '
           << size * std::cos(a) << '\n';
    }
  }
  const auto at = [](int r, int i) { return 1 + r * kAround + i % kAround; };
  for (int r = 0; r + 1 < kRings; ++r)
    for (int i = 0; i < kAround; ++i)
      text << "f " << at(r, i) << ' ' << at(r + 1, i) << ' ' << at(r + 1, i + 1) << ' ' << at(r, i + 1)
           << '\n';
  for (int i = 2; i < kAround; ++i)
    text << "f 1 " << i << ' ' << i + 1 << "\nf " << at(kRings - 1, 0) << ' ' << at(kRings - 1, i) << ' '
         << at(kRings - 1, i - 1) << '\n';
  return text.str();
}

std::string chain_of_balls(int count) {
  std::ostringstream text;
  text << "<robot name=\"chain\">\n";
  for (int i = 0; i < count; ++i) {
    text << "<link name=\"l" << i
         << "\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" "
         << "ixz=\"0\" iyz=\"0\"/></inertial><visual><geometry><mesh filename=\"m" << i
         << ".obj\"/></geometry></visual>"
         << "<collision><geometry><mesh filename=\"m" << i << ".obj\"/></geometry></collision></link>\n";
    if (i > 0)
      text << "<joint name=\"j" << i << "\" type=\"continuous\"><parent link=\"l" << i - 1
           << "\"/><child link=\"l" << i << "\"/><origin xyz=\"0.3 0 0\"/><axis xyz=\"0 1 0\"/></joint>\n";
  }
  text << "</robot>\n";
  return text.str();
}

double seconds_of_children() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

class Loading : public Program {
 protected:
  std::map<std::string, fs::file_time_type> cached() const {
    std::map<std::string, fs::file_time_type> files;
    for (const auto& entry : fs::directory_iterator(folder_ / "cache/karakuri"))
      files[entry.path().filename().string()] = fs::last_write_time(entry.path());
    return files;
  }
};

TEST_F(Loading, FortyMeshesTakeTwoSecondsColdAndTheirHullsAreKept) {
  constexpr int kMeshes = 40;
  for (int i = 0; i < kMeshes; ++i) write("m" + std::to_string(i) + ".obj", bumpy_ball(i));
  write("robot.urdf", chain_of_balls(kMeshes));
  const double start = seconds_of_children();
  ASSERT_EQ(run("check robot.urdf").code, 0) << read_all(folder_ / "stderr.txt");
  const double cold = seconds_of_children() - start;
  EXPECT_LT(cold, 2) << "of processor time, so that other work on the machine does not matter";
  const auto kept = cached();
  EXPECT_EQ(kept.size(), static_cast<std::size_t>(kMeshes));

  // Read again they are left as they are; a damaged one shows that they are read, because it is made anew.
  const std::string damaged = kept.begin()->first;
  const std::string content = read_all(folder_ / "cache/karakuri" / damaged);
  std::string other = content;
  other[other.size() / 2] = static_cast<char>(other[other.size() / 2] ^ 1);
  std::ofstream(folder_ / "cache/karakuri" / damaged) << other;
  ASSERT_EQ(run("check robot.urdf").code, 0);
  EXPECT_EQ(read_all(folder_ / "cache/karakuri" / damaged), content) << "mended, with the same bits";
  auto after = cached();
  after[damaged] = kept.at(damaged);
  EXPECT_EQ(after, kept) << "none of the others was written again";
  RecordProperty("cold_seconds", std::to_string(cold));
}

}  // namespace
}  // namespace karakuri::test
