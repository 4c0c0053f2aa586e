#include "karakuri/core/near_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace karakuri {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Names = std::vector<std::string>;

const Names kLegs = {"left_knee", "right_knee", "left_hip", "torso"};

TEST(NearNames, FindWhatWasMeant) {
  EXPECT_THAT(near_names("left_nkee", kLegs), ElementsAre("left_knee")) << "swapped";
  EXPECT_THAT(near_names("Torso", kLegs), ElementsAre("torso")) << "case";
  EXPECT_THAT(near_names("torsoo", kLegs), ElementsAre("torso"));
  EXPECT_THAT(near_names("trso", kLegs), ElementsAre("torso"));
  EXPECT_THAT(near_names("knee", kLegs), ElementsAre("left_knee", "right_knee")) << "a part";
  EXPECT_THAT(near_names("elephant", kLegs), IsEmpty());
  EXPECT_THAT(near_names("", kLegs), IsEmpty());
  EXPECT_THAT(near_names("x", Names{}), IsEmpty());
}

TEST(NearNames, AreBestFirstAndFew) {
  const Names names = {"wheel_12", "wheel_1", "wheel_11", "wheel_2"};
  EXPECT_EQ(near_names("wheel_1", names).front(), "wheel_1");
  EXPECT_EQ(near_names("wheel_1", names, 2).size(), 2u);
}

TEST(NearNames, SuggestInWords) {
  EXPECT_EQ(suggestion("trso", kLegs), "did you mean 'torso'?");
  EXPECT_EQ(suggestion("knee", kLegs), "did you mean 'left_knee' or 'right_knee'?");
  EXPECT_EQ(suggestion("xyz", Names{"a", "b"}), "there are 'a' and 'b'");
  EXPECT_EQ(suggestion("xyz", Names{}), "there are none");
  Names many;
  for (int i = 0; i < 30; ++i) many.push_back("n" + std::to_string(i));
  EXPECT_THAT(suggestion("elephant", many), testing::EndsWith("... (30 in all)"));
}

TEST(NearNames, EndlessNamesCostLittle) {
  const std::string endless(1 << 20, 'a');
  EXPECT_TRUE(near_names(endless, Names{endless + "b"}).size() <= 1);
}

}  // namespace
}  // namespace karakuri
