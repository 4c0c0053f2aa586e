// Messages of the engine are those that fmt would write.
#include "core/compose.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "karakuri/core/random.h"

namespace karakuri {
namespace {

TEST(Compose, WritesTextAndWholeNumbers) {
  EXPECT_EQ(compose("plain"), "plain");
  EXPECT_EQ(compose("{} '{}' has {} of {}", "link", std::string("base"), -3, std::size_t{7}),
            "link 'base' has -3 of 7");
  EXPECT_EQ(
      compose("{}{}", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::uint64_t>::max()),
      "-922337203685477580818446744073709551615");
}

TEST(Compose, WritesRealNumbersAsFmtDoes) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const double x = (random.uniform() - 0.5) * std::pow(10.0, random.uniform(-12, 12));
    EXPECT_EQ(compose("{:g} {:.3g}", x, x), fmt::format("{:g} {:.3g}", x, x));
    EXPECT_EQ(std::stod(compose("{}", x)), x);
  }
  for (const double x : {0.0, -0.0, 1.0, 1e300, std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity()})
    EXPECT_EQ(compose("{:g}", x), fmt::format("{:g}", x));
}

}  // namespace
}  // namespace karakuri
