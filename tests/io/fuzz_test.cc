// Damaged files: every reader answers with a scene or with errors that name a place, and never crashes, hangs
// or throws. KARAKURI_FUZZ=N tries N files of each kind; a failure prints the seed, and KARAKURI_FUZZ_SEED
// repeats it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "io/corpus.h"
#include "io/hills.h"
#include "io/seeds.h"
#include "karakuri/core/random.h"
#include "karakuri/io/save.h"

namespace karakuri::test {
namespace {

constexpr int kDefaultCount = 300;

int number_from_environment(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : fallback;
}

const char* const kWords[] = {
    "*a",       "&a",   "- ",    ": ",     "{",       "}",        "[",
    "]",        "#",    "<<",    ".inf",   ".nan",    "~",        "\t",
    "nan",      "inf",  "-1",    "0",      "1e308",   "1e-308",   "99999999999999999999",
    "",         "-0",   "true",  "<body>", "</body>", "<joint/>", "<",
    ">",        "\"",   "&amp;", "&#0;",   "<!--",    "]]>",      "a",
    "mesh",     "free", "world", "1 2 3",  "0 0 0",   "0 0 0 0",  "../../x.stl",
    "\xff\xfe", "\n"};

/// One to eight changes: bytes turned, pieces cut, doubled or moved, words put in.
std::string mutated(std::string text, Random& random) {
  const int changes = 1 + random.below(8);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const auto at = static_cast<std::size_t>(random.below(static_cast<int>(text.size())));
    const auto length =
        std::min(text.size() - at, static_cast<std::size_t>(1 + random.below(random.below(4) ? 12 : 200)));
    switch (random.below(7)) {
      case 0: text[at] = static_cast<char>(random.below(256)); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, text.substr(at, length)); break;
      case 3: text.insert(at, kWords[random.below(std::size(kWords))]); break;
      case 4: text.replace(at, length, kWords[random.below(std::size(kWords))]); break;
      case 5:
        text.insert(static_cast<std::size_t>(random.below(static_cast<int>(text.size()))),
                    text.substr(at, length));
        break;
      default:
        if (random.below(10) == 0) text.resize(at);
        break;
    }
  }
  return text;
}

/// Where a number or a name stands, something else: keeps the XML whole, so that the deeper parts are
/// reached.
std::string with_other_values(std::string text, Random& random) {
  const int changes = 1 + random.below(4);
  for (int i = 0; i < changes; ++i) {
    std::vector<std::size_t> quotes;
    for (std::size_t at = text.find('"'); at != text.npos; at = text.find('"', at + 1)) quotes.push_back(at);
    if (quotes.size() < 4) return text;
    const auto pair = 2 * static_cast<std::size_t>(random.below(static_cast<int>(quotes.size() / 2)));
    const auto other = 2 * static_cast<std::size_t>(random.below(static_cast<int>(quotes.size() / 2)));
    const auto value = [&](std::size_t k) {
      return text.substr(quotes[k] + 1, quotes[k + 1] - quotes[k] - 1);
    };
    const std::string put = random.below(2) ? value(other) : std::string(kWords[random.below(10)]);
    text.replace(quotes[pair] + 1, quotes[pair + 1] - quotes[pair] - 1, put);
  }
  return text;
}

/// The same for YAML: one word or number in place of another.
std::string with_other_words(std::string text, Random& random) {
  const auto of_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  };
  const int changes = 1 + random.below(4);
  for (int i = 0; i < changes; ++i) {
    std::vector<std::pair<std::size_t, std::size_t>> words;  // where, how long
    for (std::size_t at = 0; at < text.size(); ++at) {
      const std::size_t begin = at;
      while (at < text.size() && of_word(text[at])) ++at;
      if (at > begin) words.emplace_back(begin, at - begin);
    }
    if (words.empty()) return text;
    const auto pick = [&] {
      return words[static_cast<std::size_t>(random.below(static_cast<int>(words.size())))];
    };
    const auto one = pick(), other = pick();
    const std::string put =
        random.below(2) ? text.substr(other.first, other.second) : kWords[random.below(std::size(kWords))];
    text.replace(one.first, one.second, put);
  }
  return text;
}

using Errors = std::vector<Diagnostic>;

/// Why it was refused; empty where it was read.
template <class Value>
Errors expect_answer(const Result<Value>& result) {
  if (result.ok()) return {};
  EXPECT_FALSE(result.errors().empty());
  for (const Diagnostic& e : result.errors()) {
    EXPECT_THAT(e.where, testing::ContainsRegex(":[0-9]+$")) << to_string(e);
    EXPECT_FALSE(e.what.empty());
  }
  return result.errors();
}

using Mutation = std::string (*)(std::string, Random&);

/// The seed itself must be read: changes of what is refused anyway reach little.
void fuzz(const std::string& seed_text, int share, const std::function<Errors(const std::string&)>& read,
          Mutation change_values = with_other_values) {
  const Errors refusal = read(seed_text);
  ASSERT_TRUE(refusal.empty()) << to_string(refusal);
  const int count = std::max(1, number_from_environment("KARAKURI_FUZZ", kDefaultCount) / share);
  const int first = number_from_environment("KARAKURI_FUZZ_SEED", 0);
  for (int i = first; i < first + count; ++i) {
    Random random(static_cast<std::uint64_t>(i));
    const std::string text = i % 2 ? mutated(seed_text, random) : change_values(seed_text, random);
    const char* keep = std::getenv("KARAKURI_FUZZ_KEEP");  // a file that outlives a crash
    if (keep) std::ofstream(keep, std::ios::binary) << i << "\n" << text;
    read(text);
    if (testing::Test::HasFailure()) FAIL() << "KARAKURI_FUZZ_SEED=" << i << "\n" << text.substr(0, 4000);
  }
}

TEST(Fuzz, Urdf) {
  fuzz(kUrdf, 1,
       [](const std::string& text) { return expect_answer(load_urdf(text, "f.urdf", uncached())); });
}
TEST(Fuzz, Mjcf) {
  fuzz(kMjcf, 1, [](const std::string& text) { return expect_answer(load_mjcf(text, "f.xml", uncached())); });
}
TEST(Fuzz, Sdf) {  // libsdformat takes its time
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("karakuri_fuzz_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "hills.png", std::ios::binary)
      .write(reinterpret_cast<const char*>(kHills), sizeof kHills);
  fuzz(kSdf, 10,
       [&](const std::string& text) { return expect_answer(load_sdf(text, folder / "f.sdf", uncached())); });
  std::filesystem::remove_all(folder);
}

/// What loads is also saved and read again, to the same world.
Errors read_native(const std::string& text) {
  const Result<LoadedScene> scene = load_native(text, "f.scene.yaml", uncached());
  if (const Errors errors = expect_answer(scene); !errors.empty()) return errors;
  const Result<LoadedScene> back = load_native(to_native(*scene).text, "f.scene.yaml", uncached());
  EXPECT_TRUE(back.ok()) << to_string(back.errors());
  if (!back.ok()) return {};
  const Result<World> a = World::make(scene->scene, scene->settings, scene->gravity);
  const Result<World> b = World::make(back->scene, back->settings, back->gravity);
  EXPECT_EQ(a.ok(), b.ok());
  if (!a.ok() || !b.ok()) return {};
  EXPECT_EQ(a->hash(), b->hash());
  EXPECT_EQ(a->scene_hash(), b->scene_hash());
  return {};
}

TEST(Fuzz, Native) { fuzz(kNative, 1, read_native, with_other_words); }

Errors read_as(const char* name, const std::string& text) {
  const Result<MeshData> mesh = read_mesh(std::span(text.data(), text.size()), name);
  if (mesh.ok() && mesh->vertices.size() < 1000)
    expect_answer(ShapeCache().shape(*mesh, MeshCollision::kHull));
  return expect_answer(mesh);
}

TEST(Fuzz, Obj) {
  fuzz(kObj, 1, [](const std::string& text) { return read_as("f.obj", text); });
}
TEST(Fuzz, StlText) {
  fuzz(kStlText, 1, [](const std::string& text) { return read_as("f.stl", text); });
}
TEST(Fuzz, StlBinary) {
  fuzz(stl_binary(), 1, [](const std::string& text) { return read_as("f.stl", text); });
}
TEST(Fuzz, Gltf) {
  fuzz(kGltf, 1, [](const std::string& text) { return read_as("f.gltf", text); });
}
TEST(Fuzz, Collada) {
  fuzz(kCollada, 1, [](const std::string& text) { return read_as("f.dae", text); });
}

}  // namespace
}  // namespace karakuri::test
