// Positions are corrected by pseudo-impulses along normals, point after point. Within a patch only the
// relative motion of its two bodies is followed; each of them gets the sum of the patch's impulses.
#include <algorithm>

#include "solver/banded_newton.h"

namespace karakuri::solver {

namespace {

using namespace lanes;

using V = Four;

void add_motion(BandMotion& sum, const BandMotion& m) {
  add(sum.v, m.v);
  add(sum.w, m.w);
}

void prepare(const BandPushes& t, const BandPatch& p, PushPoint& x) {
  x.turn = cross(x.at, x.normal);
  const BandMotion unit{x.normal, x.turn};
  x.change = moved(t.body[p.body], unit);
  if (p.other) add_motion(x.change, moved(t.body[p.other], unit));
  const V mobility = dot(x.normal, x.change.v) + dot(x.turn, x.change.w);
  x.inverse_mobility = select(mobility > V{}, all<V>(1) / mobility, V{});  // 0: a lane without this point
  x.push = V{};
}

void push_patch(BandPushes& t, const BandPatch& p) {
  BandMotion relative = t.motion[p.body], sum;
  subtract(relative.v, t.motion[p.other].v);
  subtract(relative.w, t.motion[p.other].w);
  for (int k = p.first; k < p.first + p.count; ++k) {
    PushPoint& x = t.points[k];
    const V gap = (dot(x.normal, relative.v) + dot(x.turn, relative.w)) + x.gap;
    const V step = (gap * x.inverse_mobility + kGivesWay * x.push) / (1 + kGivesWay);
    const V next = larger(V{}, x.push - step), d = next - x.push;
    x.push = next;
    add_scaled(relative.v, x.change.v, d);
    add_scaled(relative.w, x.change.w, d);
    add_scaled(sum.v, x.normal, d);
    add_scaled(sum.w, x.turn, d);
  }
  add_motion(t.motion[p.body], moved(t.body[p.body], sum));
  if (p.other == 0) return;
  const BandMotion back = moved(t.body[p.other], sum);
  subtract(t.motion[p.other].v, back.v);
  subtract(t.motion[p.other].w, back.w);
}

}  // namespace

void push_in_lanes(BandPushes& t, int sweeps) {
  std::fill(t.motion.begin(), t.motion.end(), BandMotion{});
  for (const BandPatch& p : t.patches)
    for (int k = p.first; k < p.first + p.count; ++k) prepare(t, p, t.points[k]);
  for (int i = 0; i < sweeps; ++i)
    for (const BandPatch& p : t.patches)
      if (p.count > 0) push_patch(t, p);
}

}  // namespace karakuri::solver
