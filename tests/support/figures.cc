#include "support/figures.h"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace karakuri::test {

namespace {

const Vec3 kY = Vec3::UnitY();

/// A person that stands along z, looks along x, arms hanging.
struct Person {
  Linkage m;
  double z;  // of the pelvis

  LinkId limb(const std::string& name, LinkId on, JointKind kind, const Vec3& from, const Vec3& to,
              double mass, double radius) {
    const LinkId link = m.hang(name, on, kind, from, kY, rod(from, to, mass, radius));
    const Vec3 way = to - from;
    m.scene.add_shape(link, Shape::capsule(radius, std::max(0.01, 0.5 * way.norm() - radius)),
                      {Quat::FromTwoVectors(Vec3::UnitZ(), way).toRotationMatrix(), 0.5 * way});
    return link;
  }
  LinkId root(const char* name) {
    const Vec3 at(0, 0, z);
    Inertia in = Inertia::solid_box(11, {0.2, 0.3, 0.18});
    in.com = at;
    const LinkId link = m.hang(name, m.world(), JointKind::kFree, at, Vec3::UnitZ(), in);
    m.scene.add_shape(link, Shape::box({0.1, 0.15, 0.09}));
    return link;
  }
};

constexpr JointKind kBall = JointKind::kSpherical, kHinge = JointKind::kRevolute;

}  // namespace

Linkage human40(double height) {
  Person p{.z = height};
  const double z = height;
  const LinkId pelvis = p.root("pelvis");
  const LinkId trunk = p.limb("trunk", pelvis, kBall, {0, 0, z + 0.1}, {0, 0, z + 0.5}, 24, 0.13);
  p.limb("head", trunk, kBall, {0, 0, z + 0.55}, {0, 0, z + 0.8}, 5, 0.09);
  for (const int side : {1, -1}) {
    const std::string s = side > 0 ? ".l" : ".r";
    const double y = 0.2 * side, h = 0.09 * side;
    const LinkId collar =
        p.limb("collar" + s, trunk, kBall, {0, 0.04 * side, z + 0.48}, {0, y, z + 0.48}, 1, 0.04);
    const LinkId upper = p.limb("upper arm" + s, collar, kBall, {0, y, z + 0.48}, {0, y, z + 0.18}, 2, 0.05);
    const LinkId fore = p.limb("forearm" + s, upper, kHinge, {0, y, z + 0.18}, {0, y, z - 0.08}, 1.2, 0.04);
    p.limb("hand" + s, fore, kBall, {0, y, z - 0.08}, {0, y, z - 0.24}, 0.5, 0.03);
    const LinkId thigh = p.limb("thigh" + s, pelvis, kBall, {0, h, z - 0.08}, {0, h, z - 0.48}, 7.5, 0.07);
    const LinkId shank = p.limb("shank" + s, thigh, kHinge, {0, h, z - 0.48}, {0, h, z - 0.88}, 3.3, 0.05);
    p.limb("foot" + s, shank, kBall, {0, h, z - 0.88}, {0.2, h, z - 0.92}, 1, 0.03);
  }
  return std::move(p.m);
}

Linkage human16(double height) {
  Person p{.z = height};
  const double z = height;
  const LinkId trunk = p.root("trunk");
  for (const int side : {1, -1}) {
    const std::string s = side > 0 ? ".l" : ".r";
    const double y = 0.22 * side, h = 0.09 * side;
    const LinkId upper = p.limb("upper arm" + s, trunk, kBall, {0, y, z + 0.3}, {0, y, z + 0.6}, 2, 0.05);
    p.limb("forearm" + s, upper, kHinge, {0, y, z + 0.6}, {0, y, z + 0.95}, 1.7, 0.04);
    const LinkId thigh = p.limb("thigh" + s, trunk, kBall, {0, h, z - 0.2}, {0, h, z - 0.6}, 7.5, 0.07);
    p.limb("shank" + s, thigh, kHinge, {0, h, z - 0.6}, {0, h, z - 1.05}, 4.3, 0.05);
  }
  return std::move(p.m);
}

Scene high_bar() {
  Linkage m = human16(1.5);
  for (const int side : {1, -1}) {
    const std::string s = side > 0 ? ".l" : ".r";
    const Vec3 hand(0, 0.22 * side, 1.5 + 0.95);
    m.join("grip" + s, m.scene.mechanism.find_link("forearm" + s), m.world(), kHinge, hand, kY);
  }
  // turning about the bar as one: the trunk's velocity is that of a body on the bar
  const double w = 2;
  m.scene.initial.push_back(
      {m.joint_of(m.scene.mechanism.find_link("trunk")), {}, {-0.95 * w, 0, 0, 0, w, 0}});
  return std::move(m.scene);
}

Scene swing() {
  Linkage m = human16(1.0);
  const Mechanism& names = m.scene.mechanism;
  const double seat = 0.72, top = 3;
  LinkId rods[2];
  for (const int side : {1, -1}) {
    const std::string s = side > 0 ? ".l" : ".r";
    const Vec3 above(0, 0.3 * side, top), below(0, 0.3 * side, seat);
    rods[side > 0 ? 0 : 1] = m.hang("rod" + s, m.world(), kBall, above, kY, rod(above, below, 2, 0.02));
  }
  const Vec3 left(0, 0.3, seat), right(0, -0.3, seat);
  const LinkId board = m.hang("board", rods[1], kBall, right, kY, rod(right, left, 3, 0.05));
  m.join("knot.l", rods[0], board, kBall, left, kY);
  for (const int side : {1, -1}) {
    const std::string s = side > 0 ? ".l" : ".r";
    const Vec3 hand(0, 0.22 * side, 1.0 + 0.95), thigh(0, 0.09 * side, seat);
    m.join("hand" + s, names.find_link("forearm" + s), rods[side > 0 ? 0 : 1], kBall, hand, kY);
    m.join("seat" + s, names.find_link("thigh" + s), board, JointKind::kPrismatic, thigh, kY);
  }
  return std::move(m.scene);
}

void add_floating_chain(Linkage& m, const std::string& name, int links, const Vec3& start, const Vec3& step) {
  LinkId on = m.world();
  for (int k = 0; k < links; ++k) {
    const Vec3 from = start + k * step, to = from + step;
    const JointKind kind = k == 0       ? JointKind::kFree
                           : k % 2 == 0 ? JointKind::kUniversal
                                        : JointKind::kSpherical;
    on = m.hang(fmt::format("{}{}", name, k), on, kind, from, kY, rod(from, to, 1, 0.02));
  }
}

namespace {

/// Theo Jansen's lengths [m], hung on points of the body at (x, y, z) from the crank's axis.
struct JansenLeg {
  Linkage& m;
  LinkId body, crank;
  Vec3 axis;     // of the crank
  double phase;  // of its pin
  int side;      // 1: to the right, -1: its mirror image
  double y;

  Vec3 at(double x, double z) const { return axis + Vec3(side * x, 0, z); }
  /// Meeting point of two circles, the one to the left of the way from a to b, in the leg's own picture.
  std::pair<double, double> meet(double ax, double az, double ra, double bx, double bz, double rb,
                                 int turn) const {
    const double dx = bx - ax, dz = bz - az, d = std::hypot(dx, dz);
    const double t = (d * d + ra * ra - rb * rb) / (2 * d),
                 s = turn * std::sqrt(std::max(0.0, ra * ra - t * t));
    return {ax + (t * dx - s * dz) / d, az + (t * dz + s * dx) / d};
  }
  void add(const std::string& name) const {
    constexpr double u = 0.01;  // 1 cm for each of Jansen's units
    constexpr double a = 38 * u, b = 41.5 * u, c = 39.3 * u, d = 40.1 * u, e = 55.8 * u, f = 39.4 * u,
                     g = 36.7 * u, h = 65.7 * u, i = 49 * u, j = 50 * u, k = 61.9 * u, l = 7.8 * u,
                     pin = 15 * u;
    const double turn = side > 0 ? phase : std::numbers::pi - phase;
    const double px = pin * std::cos(turn), pz = pin * std::sin(turn), ox = -a, oz = -l;
    const auto [bx, bz] = meet(px, pz, j, ox, oz, b, -1);  // above: top of the upper triangle
    const auto [cx, cz] = meet(px, pz, k, ox, oz, c, 1);   // below
    const auto [dx, dz] = meet(ox, oz, d, bx, bz, e, 1);   // far corner of the upper triangle
    const auto [ex, ez] = meet(dx, dz, f, cx, cz, g, -1);  // top of the lower triangle
    const auto [fx, fz] = meet(ex, ez, h, cx, cz, i, -1);  // the foot
    const Vec3 P = at(px, pz), O = at(ox, oz), B = at(bx, bz), C = at(cx, cz), D = at(dx, dz), E = at(ex, ez),
               F = at(fx, fz);
    const auto part = [&](const char* what, LinkId on, const Vec3& from, const Vec3& to, double mass) {
      return m.hang(name + what, on, JointKind::kRevolute, from, kY, rod(from, to, mass, 0.01));
    };
    const LinkId upper = part(".upper", body, O, 0.5 * (B + D), 0.3);
    const LinkId lower = part(".c", body, O, C, 0.1);
    const LinkId rod_j = part(".j", crank, P, B, 0.1), rod_k = part(".k", crank, P, C, 0.1);
    const LinkId rod_f = part(".f", upper, D, E, 0.1);
    const LinkId foot = m.hang(name + ".foot", lower, JointKind::kRevolute, C, kY, rod(E, F, 0.3, 0.01));
    m.join(name + ".jb", rod_j, upper, JointKind::kRevolute, B, kY);
    m.join(name + ".kc", rod_k, lower, JointKind::kRevolute, C, kY);
    m.join(name + ".fe", rod_f, foot, JointKind::kRevolute, E, kY);
    m.scene.add_shape(foot, Shape::sphere(0.02), Transform::translation(F - C));
  }
};

}  // namespace

Walker strandbeest() {
  Linkage m;
  const Vec3 axis(0, 0, 1.0);
  Inertia box = Inertia::solid_box(5, {0.8, 0.6, 0.1});
  box.com = axis;
  const LinkId body = m.hang("body", m.world(), JointKind::kFree, axis, Vec3::UnitZ(), box);
  Inertia shaft = Inertia::solid_cylinder(1, 0.15, 0.6);
  shaft = shaft.in_frame({Quat::FromTwoVectors(Vec3::UnitZ(), kY).toRotationMatrix(), axis});
  const LinkId crank = m.hang("crank", body, JointKind::kRevolute, axis, kY, shaft);
  for (int n = 0; n < 6; ++n) {
    const double y = -0.3 + 0.12 * n;
    const double phase = 2 * std::numbers::pi / 3 * (n % 3);
    for (const int side : {1, -1})
      JansenLeg{m, body, crank, axis + Vec3(0, y, 0), phase, side, y}.add(
          fmt::format("leg{}{}", n, side > 0 ? "r" : "l"));
  }
  Surface rubber;
  rubber.static_friction = rubber.kinetic_friction = 0.9;
  const MaterialId material = m.scene.mechanism.add_material({"rubber", rubber});
  for (const LinkId id : m.scene.mechanism.link_ids())
    for (ShapePlacement& shape : m.scene.mechanism.link(id).shapes)
      shape.material = material, shape.group = -1;
  const ShapeId ground = m.scene.add_ground(material, 0);
  (void)ground;
  Walker out;
  out.crank = m.joint_of(crank);
  out.body = body;
  out.scene = std::move(m.scene);
  return out;
}

}  // namespace karakuri::test
