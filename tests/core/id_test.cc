// Ids of removed things are recognised, also after their slot has been used again.
#include "karakuri/core/id.h"

#include <gtest/gtest.h>

namespace karakuri {
namespace {

struct ThingTag;

TEST(SlotMap, OldIdsNameNothing) {
  SlotMap<ThingTag, int> map;
  const auto a = map.insert(1);
  const auto b = map.insert(2);
  map.erase(a);
  const auto c = map.insert(3);
  EXPECT_EQ(c.index, a.index);
  EXPECT_FALSE(map.contains(a));
  EXPECT_EQ(map.find(a), nullptr);
  EXPECT_EQ(map[b], 2);
  EXPECT_EQ(map[c], 3);
  EXPECT_EQ(map.size(), 2);
  EXPECT_FALSE(map.contains({}));
}

}  // namespace
}  // namespace karakuri
