// The sides of rows in response vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "karakuri/dynamics/response.h"

namespace karakuri {

/// Which sides of `b` each row has: side_of[start[row]] to side_of[start[row + 1]], excluded.
void index_sides(const ResponseBuffers& b, std::size_t rows, std::vector<std::int32_t>& start,
                 std::vector<std::int32_t>& side_of);

}  // namespace karakuri
