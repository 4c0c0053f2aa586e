#include "dynamics/response_sides.h"

namespace karakuri {

void index_sides(const ResponseBuffers& b, std::size_t rows, std::vector<std::int32_t>& start,
                 std::vector<std::int32_t>& side_of) {
  start.assign(rows + 2, 0);
  for (const ResponseBuffers::Side& side : b.sides) ++start[side.row + 2];
  for (std::size_t i = 2; i < start.size(); ++i) start[i] += start[i - 1];
  side_of.resize(b.sides.size());
  for (std::size_t s = 0; s < b.sides.size(); ++s)
    side_of[start[b.sides[s].row + 1]++] = static_cast<std::int32_t>(s);
}

}  // namespace karakuri
