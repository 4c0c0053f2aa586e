// The schema and the reference are what the code says, and the code's defaults are what the table says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "io/corpus.h"
#include "io/native/table.h"
#include "io/native/yaml.h"
#include "karakuri/io/save.h"

namespace karakuri::test {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// KARAKURI_UPDATE=1 writes the files anew instead of comparing them.
bool updating() { return std::getenv("KARAKURI_UPDATE") != nullptr; }

TEST(SceneSchema, TheFileIsWhatTheCodeSays) {
  const fs::path file = fs::path(KARAKURI_SOURCE_DIR) / "schema" / "scene.schema.json";
  if (updating()) std::ofstream(file, std::ios::binary) << scene_schema_json();
  EXPECT_EQ(content(file), scene_schema_json()) << "run this test with KARAKURI_UPDATE=1";
}

TEST(SceneSchema, ThePageHasTheReferenceOfTheCode) {
  const fs::path file = fs::path(KARAKURI_SOURCE_DIR) / "docs" / "scenes.md";
  const std::string begin = "<!-- generated from here -->\n", end = "<!-- to here -->";
  std::string page = content(file);
  const auto from = page.find(begin), to = page.find(end);
  ASSERT_NE(from, page.npos);
  ASSERT_NE(to, page.npos);
  const std::string wanted =
      page.substr(0, from + begin.size()) + scene_reference_markdown() + page.substr(to);
  if (updating()) std::ofstream(file, std::ios::binary) << (page = wanted);
  EXPECT_EQ(page, wanted) << "run this test with KARAKURI_UPDATE=1";
}

/// The file's own validator, where Debian's is installed.
TEST(SceneSchema, BundledScenesAreValidToOthersToo) {
  if (std::system("/usr/bin/python3 -c 'import jsonschema, yaml' > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "python3-jsonschema or python3-yaml is not installed";
  }
  const std::string script =
      "import glob, json, re, sys, yaml, jsonschema\n"
      "# YAML 1.2 has 1e6 for a number, PyYAML's 1.1 for a text\n"
      "yaml.SafeLoader.add_implicit_resolver('tag:yaml.org,2002:float',\n"
      "    re.compile(r'^[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?$'), list('-+0123456789.'))\n"
      "root = sys.argv[1]\n"
      "schema = json.load(open(root + '/schema/scene.schema.json'))\n"
      "validator = jsonschema.Draft202012Validator(schema)\n"
      "jsonschema.Draft202012Validator.check_schema(schema)\n"
      "bad = 0\n"
      "for name in sorted(glob.glob(root + '/scenes/*.scene.yaml')):\n"
      "    for e in validator.iter_errors(yaml.safe_load(open(name))):\n"
      "        print(name, list(e.path), e.message[:200]); bad = 1\n"
      "assert not validator.is_valid({'bodies': [{'name': 'a', 'masss': 1}]})\n"
      "assert not validator.is_valid({'settings': {'dt': 0}})\n"
      "sys.exit(bad)\n";
  const fs::path file = fs::path(testing::TempDir()) / "check_schema.py";
  std::ofstream(file) << script;
  EXPECT_EQ(std::system(fmt::format("/usr/bin/python3 {} {}", file.string(), KARAKURI_SOURCE_DIR).c_str()),
            0);
}

/// A section with every key that has a default which can be written as it stands, and nothing else.
std::string with_defaults(std::string_view name, int indent) {
  using enum io::KeyType;
  std::string out;
  for (const io::Key* key : io::keys_of(io::section(name))) {
    const std::string space(static_cast<std::size_t>(indent), ' ');
    if (key->type == kSection && (name == "scene" || name == "settings")) {
      const std::string inner = with_defaults(key->of, indent + 2);
      if (!inner.empty()) out += fmt::format("{}{}:\n{}", space, key->name, inner);
    }
    const bool plain = key->type == kNumber || key->type == kInteger || key->type == kFlag ||
                       key->type == kWord || key->type == kNumbers || key->type == kColor;
    double number = 0;
    const std::string text(key->fallback);
    const bool written = plain && !text.empty() &&
                         (text[0] == '[' || text == "true" || text == "false" ||
                          io::parse_number(text, number) || key->type == kWord);
    if (written) out += fmt::format("{}{}: {}\n", space, key->name, text);
  }
  return out;
}

TEST(SceneSchema, DefaultsOfTheTableAreThoseOfTheCode) {
  // scene, settings, view and look: written out against left out
  std::string full = with_defaults("scene", 0), empty = "view: {}\nlook: {}\n";
  // one of each other section
  const auto both = [&](const std::string& before, std::string_view section, const std::string& needed) {
    full += before + needed + with_defaults(section, 4);
    empty += before + needed;
  };
  both("materials:\n  - name: m\n", "material", "");
  both("bodies:\n  - name: a\n    shapes: {sphere: 1}\n    joint: {kind: revolute}\n  - name: b\n", "pose",
       "    parent: a\n    shapes: {sphere: 1}\n    joint: {kind: revolute}\n");
  both("actuators:\n  - name: x\n", "actuator", "");
  both("sensors:\n  - name: s\n", "sensor", "    link: a\n    kind: gyro\n");
  both("controllers:\n  - joints: a\n", "controller", "");
  both("events:\n  - force:\n      link: a\n", "event", "    time: 3\n");
  both("couplings:\n  - follower: a\n", "coupling", "");
  both("tendons:\n  - name: t\n", "tendon", "");
  const auto remove = [](std::string text, const std::string& what) {  // ways of saying the same twice
    for (auto at = text.find(what); at != text.npos; at = text.find(what))
      text.erase(at, text.find('\n', at) + 1 - at);
    return text;
  };
  for (const char* key : {"    rpy_deg:", "    rpy:", "    target_deg:", "    time: 0", "    kind: other"})
    full = remove(full, key);
  full = remove(full, "    field_of_view_deg:");
  const Result<LoadedScene> a = load_native(full, "full.scene.yaml", uncached());
  const Result<LoadedScene> b = load_native(empty, "empty.scene.yaml", uncached());
  ASSERT_TRUE(a.ok()) << to_string(a.errors()) << full;
  ASSERT_TRUE(b.ok()) << to_string(b.errors());
  LoadedScene named = *a;
  named.name = b->name;
  EXPECT_EQ(to_native(named).text, to_native(*b).text) << full;
}

TEST(SceneSchema, WordsOfTheTableAreThoseOfTheCode) {
  for (const io::Key& key : io::section("settings").keys) {
    for (const std::string& word : io::words_of(key.words)) {
      WorldSettings settings;
      EXPECT_TRUE(set_setting(settings, key.name, word).empty()) << word;
    }
  }
  for (int k = 0; k < kJointKindCount; ++k) {
    const std::string kind(name(static_cast<JointKind>(k)));
    bool found = false;
    for (const io::Key& key : io::section("joint_frame").keys) {
      const std::vector<std::string> words = io::words_of(key.words);
      found = found || (key.name == "kind" && std::find(words.begin(), words.end(), kind) != words.end());
    }
    EXPECT_TRUE(found) << kind;
  }
}

}  // namespace
}  // namespace karakuri::test
