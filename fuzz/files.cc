// Every reader of robots and worlds: whatever the bytes, it answers with a scene or with errors that name a
// place. Of native scenes that are read, one in eight is saved and read again.
#include <fstream>

#include "fuzz/answered.h"
#include "fuzz/small_files.h"
#include "fuzz/words.h"
#include "io/hills.h"
#include "io/seeds.h"
#include "karakuri/io/load.h"
#include "karakuri/io/save.h"

namespace karakuri::fuzz {
namespace {

using namespace karakuri::test;
using Seeds = std::vector<std::string>;

constexpr int kOneIn = 8;

std::filesystem::path folder;  // of what the seeds refer to

LoadOptions uncached() {
  LoadOptions options;
  options.cache = false;
  return options;
}

using Load = Result<LoadedScene> (*)(std::string_view, const std::filesystem::path&, const LoadOptions&);

template <Load load>
Result<LoadedScene> read(std::string_view text, const char* name) {
  return load(text, folder / name, uncached());
}

void prepare_folder(const std::filesystem::path& given) {
  folder = given;
  std::ofstream(folder / "hills.png", std::ios::binary)
      .write(reinterpret_cast<const char*>(kHills), sizeof kHills);
}

template <Load load>
void expect_all_read(const Seeds& seeds, const char* name) {
  for (const std::string& seed : seeds) expect_read(read<load>(seed, name), seed);
}

void read_native(Input input) {
  const Result<LoadedScene> scene = read<load_native>(text_of(input), "f.scene.yaml");
  if (!answered(scene) || !is_chosen(input, kOneIn)) return;
  const Result<LoadedScene> back = read<load_native>(to_native(*scene).text, "f.scene.yaml");
  if (!back.ok()) found("what was read and saved cannot be read again:\n" + to_string(back.errors()));
}

Seeds with(const char* whole, std::span<const char* const> small) {
  Seeds all(small.begin(), small.end());
  all.emplace_back(whole);
  return all;
}
Seeds urdf_seeds() { return with(kUrdf, kSmallUrdf); }
Seeds mjcf_seeds() { return with(kMjcf, kSmallMjcf); }
Seeds sdf_seeds() { return with(kSdf, kSmallSdf); }
Seeds native_seeds() { return with(kNative, kSmallNative); }

template <Load load, Seeds (*seeds)(), const char* const& kName>
Target target(const char* name) {
  return {name,
          [](const std::filesystem::path& given) {
            prepare_folder(given);
            expect_all_read<load>(seeds(), kName);
          },
          seeds, [](Input input) { answered(read<load>(text_of(input), kName)); }};
}

constexpr const char* kUrdfName = "f.urdf";
constexpr const char* kMjcfName = "f.xml";
constexpr const char* kSdfName = "f.sdf";
constexpr const char* kNativeName = "f.scene.yaml";

}  // namespace

std::vector<Target> targets() {
  Target native = target<load_native, native_seeds, kNativeName>("native");
  native.run = read_native;
  return {target<load_urdf, urdf_seeds, kUrdfName>("urdf"), target<load_mjcf, mjcf_seeds, kMjcfName>("mjcf"),
          target<load_sdf, sdf_seeds, kSdfName>("sdf"), native};
}

}  // namespace karakuri::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return karakuri::fuzz::mutate_text(data, size, max_size, seed);
}
