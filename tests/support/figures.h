// Figures that act on things: people of two sorts, a walking machine, scenes in which structure changes.
#pragma once

#include "support/linkages.h"

namespace karakuri::test {

/// Pelvis, trunk, head, two arms with collar bones, two legs: 12 spherical and 4 revolute joints, 40 dofs, on
/// a floating pelvis at `height` over the ground. 17 links, 1.75 m, 70 kg. Links "hand.l", "foot.r" and so
/// on.
Linkage human40(double height = 1.0);
/// The same without neck, waist, collar bones, wrists and ankles: 16 dofs.
Linkage human16(double height = 1.0);

/// Two legs in three phases on each of two sides of a body: Jansen's linkage, 36 loops; stands on the ground,
/// driven by its crank.
struct Walker {
  Scene scene;
  JointId crank;
  LinkId body;
};
Walker strandbeest();

/// A figure of 16 dofs hangs on a bar by both hands, each on a revolute joint ("grip.l", "grip.r"), and
/// swings.
Scene high_bar();
/// A figure of 16 dofs on a swing: two rods on ball joints, a board between them, hands on the rods by ball
/// joints
/// ("hand.l", "hand.r"), thighs on the board by sliders across ("seat.l", "seat.r"). The board hangs on
/// "rod.r" and is held to the other rod by the loop "knot.l".
Scene swing();

/// A chain of `links` rods that floats, for docking; named `name`0, `name`1, ...
void add_floating_chain(Linkage& m, const std::string& name, int links, const Vec3& start, const Vec3& step);

}  // namespace karakuri::test
