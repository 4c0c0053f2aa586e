#include "support/linkages.h"

#include <cmath>
#include <cstdlib>
#include <numbers>

#include <fmt/format.h>

#include "karakuri/dynamics/closed_loop.h"
#include "karakuri/spatial/rotation.h"
#include "support/test_models.h"

namespace karakuri::test {

namespace {

const Vec3 kY = Vec3::UnitY();

/// The point at given distances from two others in the x-z plane, to the left of the way from a to b, seen
/// from -y.
Vec3 apex(const Vec3& a, const Vec3& b, double from_a, double from_b) {
  const Vec3 way = b - a;
  const double d = way.norm(), x = (d * d + from_a * from_a - from_b * from_b) / (2 * d);
  const Vec3 along = way / d, left(-along.z(), 0, along.x());
  return a + x * along + std::sqrt(from_a * from_a - x * x) * left;
}

template <class T>
T value_or_die(Result<T> result) {
  if (!result) {
    std::fputs(to_string(result.errors()).c_str(), stderr);
    std::abort();
  }
  return std::move(result).value();
}

}  // namespace

LinkId Linkage::hang(const std::string& name, LinkId parent, JointKind kind, const Vec3& at, const Vec3& axis,
                     const Inertia& inertia_W) {
  const LinkId link = scene.mechanism.add_link(name, inertia_W.in_frame(Transform::translation(-at)));
  origins_.resize(std::max<std::size_t>(origins_.size(), link.index + 1), Vec3::Zero());
  origins_[link.index] = at;
  value_or_die(scene.mechanism.add_joint({.name = name,
                                          .kind = kind,
                                          .parent = parent,
                                          .child = link,
                                          .X_PF = Transform::translation(at - origin(parent)),
                                          .axis = axis,
                                          .second_axis = frame_with_z(axis).col(0)}));
  return link;
}

JointId Linkage::join(const std::string& name, LinkId a, LinkId b, JointKind kind, const Vec3& at,
                      const Vec3& axis, const Vec3& second_axis) {
  return value_or_die(scene.mechanism.add_loop({.name = name,
                                                .kind = kind,
                                                .parent = a,
                                                .child = b,
                                                .X_PF = Transform::translation(at - origin(a)),
                                                .X_CM = Transform::translation(at - origin(b)),
                                                .axis = axis,
                                                .second_axis = second_axis}));
}

Inertia rod(const Vec3& from, const Vec3& to, double mass, double radius) {
  const Vec3 d = to - from;
  const double thick = mass * radius * radius / 2;  // of a cylinder, about its axis
  Inertia in{mass, 0.5 * (from + to), mass / 12 * (d.squaredNorm() * Mat3::Identity() - d * d.transpose())};
  in.about_com += 0.5 * thick * (Mat3::Identity() + d * d.transpose() / d.squaredNorm());
  return in;
}

State initial_state(const Scene& scene, const Model& model) {
  State state(model);
  for (const InitialJoint& joint : scene.initial) {
    const JointEntry& entry = *model.find(joint.joint);
    std::copy(joint.q.begin(), joint.q.end(), state.q.begin() + entry.first_q);
    std::copy(joint.v.begin(), joint.v.end(), state.v.begin() + entry.first_v);
  }
  return state;
}

void set_initial(Scene& scene, const Model& model, const State& state) {
  scene.initial.clear();
  for (const JointEntry& joint : model.joints) {
    if (joint.first_q < 0) continue;
    const auto q = state.q.begin() + joint.first_q;
    const auto v = state.v.begin() + joint.first_v;
    scene.initial.push_back({joint.id, {q, q + q_size(joint.kind)}, {v, v + v_size(joint.kind)}});
  }
}

Scene ladder(int n) {
  Linkage m;
  std::vector<LinkId> upright, level;
  for (int k = 0; k <= n; ++k) {
    const Vec3 foot(k, 0, 0), top(k, 0, 1), next(k + 1, 0, 1);
    upright.push_back(
        m.hang(fmt::format("upright{}", k), m.world(), JointKind::kRevolute, foot, kY, rod(foot, top, 1, 0)));
    m.scene.initial.push_back({m.joint_of(upright.back()), {}, {1}});
    if (k == n) break;
    level.push_back(m.hang(fmt::format("level{}", k), upright.back(), JointKind::kRevolute, top, kY,
                           rod(top, next, 1, 0)));
    m.scene.initial.push_back({m.joint_of(level.back()), {}, {-1}});
  }
  for (int k = 0; k < n; ++k)
    m.join(fmt::format("loop{}", k), level[k], upright[k + 1], JointKind::kRevolute, {k + 1.0, 0, 1}, kY);
  return std::move(m.scene);
}

Scene four_bar() {
  Linkage m;
  const Vec3 A(0, 0, 0), D(1, 0, 0), B(0.3 * std::cos(1.0), 0, 0.3 * std::sin(1.0)), C = apex(B, D, 0.9, 0.8);
  const LinkId crank = m.hang("crank", m.world(), JointKind::kRevolute, A, kY, rod(A, B, 1));
  const LinkId coupler = m.hang("coupler", crank, JointKind::kRevolute, B, kY, rod(B, C, 2));
  const LinkId rocker = m.hang("rocker", m.world(), JointKind::kRevolute, D, kY, rod(D, C, 1.5));
  m.join("loop", coupler, rocker, JointKind::kRevolute, C, kY);
  return std::move(m.scene);
}

Scene chebyshev() {
  Linkage m;  // ground 4, rockers 5, coupler 2, crossed
  const Vec3 A(-0.2, 0, 0), D(0.2, 0, 0), B(0.1, 0, 0.4), C(-0.1, 0, 0.4);
  const LinkId left = m.hang("left", m.world(), JointKind::kRevolute, A, kY, rod(A, B, 1));
  const LinkId coupler = m.hang("coupler", left, JointKind::kRevolute, B, kY, rod(B, C, 1));
  const LinkId right = m.hang("right", m.world(), JointKind::kRevolute, D, kY, rod(D, C, 1));
  m.join("loop", coupler, right, JointKind::kRevolute, C, kY);
  return std::move(m.scene);
}

Scene bricard() {
  Linkage m;
  // gravity along -z here: the edges run along x, z, y, x, z and back along y
  const Vec3 P[6] = {{0, 0, 0}, {1, 0, 0}, {1, 0, -1}, {1, 1, -1}, {0, 1, -1}, {0, 1, 0}};
  const Vec3 axis[6] = {Vec3::UnitZ(), Vec3::UnitY(), Vec3::UnitX(),
                        Vec3::UnitZ(), Vec3::UnitY(), Vec3::UnitX()};
  LinkId on = m.world();
  for (int k = 0; k < 5; ++k)
    on = m.hang(fmt::format("rod{}", k), on, JointKind::kRevolute, P[k], axis[k],
                rod(P[k], P[k + 1], 1, 0.01));
  m.join("loop", on, m.world(), JointKind::kRevolute, P[5], axis[5]);
  return std::move(m.scene);
}

Scene stewart() {
  Linkage m;
  const auto around = [](double radius, double height, double angle) {
    return Vec3(radius * std::cos(angle), radius * std::sin(angle), height);
  };
  Inertia plate = Inertia::solid_cylinder(10, 0.5, 0.05);
  plate.com = Vec3(0, 0, 1);
  const LinkId top = m.hang("plate", m.world(), JointKind::kFree, {0, 0, 1}, Vec3::UnitZ(), plate);
  for (int k = 0; k < 6; ++k) {
    const double third = 2 * std::numbers::pi / 3 * (k / 2), side = k % 2 == 0 ? -1 : 1;
    const Vec3 foot = around(1.0, 0, third + side * 0.25), head = around(0.5, 1, third + side * 0.8);
    const Vec3 along = (head - foot).normalized(), middle = 0.5 * (foot + head);
    const LinkId lower = m.hang(fmt::format("cylinder{}", k), m.world(), JointKind::kUniversal, foot,
                                Vec3::UnitX(), rod(foot, middle, 2, 0.04));
    const LinkId upper = m.hang(fmt::format("piston{}", k), lower, JointKind::kPrismatic, middle, along,
                                rod(middle, head, 1, 0.03));
    m.join(fmt::format("ball{}", k), upper, top, JointKind::kSpherical, head, Vec3::UnitZ());
  }
  return std::move(m.scene);
}

Scene delta() {
  Linkage m;
  Inertia plate = Inertia::solid_cylinder(0.5, 0.1, 0.02);
  plate.com = Vec3(0, 0, -0.6);
  const LinkId tool = m.hang("tool", m.world(), JointKind::kFree, {0, 0, -0.6}, Vec3::UnitZ(), plate);
  for (int k = 0; k < 3; ++k) {
    const double angle = 2 * std::numbers::pi / 3 * k;
    const Vec3 out(std::cos(angle), std::sin(angle), 0), across(-out.y(), out.x(), 0);
    const Vec3 hip = 0.2 * out, knee = 0.45 * out - Vec3(0, 0, 0.1), wrist = 0.08 * out - Vec3(0, 0, 0.6);
    const LinkId arm = m.hang(fmt::format("arm{}", k), m.world(), JointKind::kRevolute, hip, across,
                              rod(hip, knee, 0.5, 0.02));
    for (int side = -1; side <= 1; side += 2) {
      const Vec3 from = knee + 0.06 * side * across, to = wrist + 0.06 * side * across;
      // a universal joint above: between two balls a rod could spin about itself
      const LinkId fore = m.hang(fmt::format("forearm{}{}", k, side < 0 ? "a" : "b"), arm,
                                 JointKind::kUniversal, from, across, rod(from, to, 0.1, 0.01));
      m.join(fmt::format("ball{}{}", k, side < 0 ? "a" : "b"), fore, tool, JointKind::kSpherical, to,
             Vec3::UnitZ());
    }
  }
  return std::move(m.scene);
}

Andrews andrews() {
  constexpr double xa = -0.06934, ya = -0.00227, xb = -0.03635, yb = 0.03273, xc = 0.014, yc = 0.072;
  constexpr double d = 0.028, da = 0.0115, e = 0.02, ea = 0.01421, rr = 0.007, ra = 0.00092, sa = 0.01874,
                   sb = 0.01043, sc = 0.018, sd = 0.02, ta = 0.02308, tb = 0.00916, u = 0.04, ua = 0.01228,
                   ub = 0.00449, zf = 0.02, zt = 0.04, fa = 0.01421;
  constexpr double beta = -0.0617138900142764496, theta = 0, gamma = 0.455279819163070380,
                   phi = 0.222668390165885885, delta = 0.487364979543842550, omega = -0.222668390165885885,
                   epsilon = 1.23054744454982119;
  // the plane of the literature (x, y) is ours (x, z); its turns are about -y
  const auto at = [](double x, double y) { return Vec3(x, 0, y); };
  const auto body = [](double mass, double inertia, const Vec3& com) {
    return Inertia{mass, com, inertia * Mat3::Identity()};
  };
  const auto polar = [&](double r, double angle) { return at(r * std::cos(angle), r * std::sin(angle)); };
  const Vec3 O = at(0, 0), A = at(xa, ya), B = at(xb, yb), axis = -Vec3::UnitY();
  const Vec3 crank_pin = polar(rr, beta), F = crank_pin - polar(d, beta + theta);
  const double quarter = std::numbers::pi / 2;
  Linkage m;
  const JointKind hinge = JointKind::kRevolute;
  const LinkId k1 = m.hang("K1", m.world(), hinge, O, axis, body(0.04325, 2.194e-6, polar(ra, beta)));
  const LinkId k2 =
      m.hang("K2", k1, hinge, crank_pin, axis, body(0.00365, 4.410e-7, crank_pin - polar(da, beta + theta)));
  const LinkId k3 = m.hang("K3", m.world(), hinge, B, axis,
                           body(0.02373, 5.255e-6, B + polar(sa, gamma - quarter) + polar(sb, gamma)));
  const Vec3 E = A + polar(zt, delta);
  const LinkId k5 = m.hang("K5", m.world(), hinge, A, axis,
                           body(0.07050, 1.169e-5, A + polar(ta, delta) + polar(tb, delta + quarter)));
  const LinkId k4 =
      m.hang("K4", k5, hinge, E, axis, body(0.00706, 5.667e-7, E + polar(e - ea, phi + delta - quarter)));
  const Vec3 H = A + polar(u, epsilon - quarter);
  const LinkId k7 = m.hang("K7", m.world(), hinge, A, axis,
                           body(0.05498, 1.912e-5, A + polar(ua, epsilon - quarter) - polar(ub, epsilon)));
  const LinkId k6 =
      m.hang("K6", k7, hinge, H, axis, body(0.00706, 5.667e-7, H + polar(zf - fa, omega + epsilon)));
  m.join("F3", k2, k3, hinge, F, axis);
  m.join("F4", k2, k4, hinge, F, axis);
  m.join("F6", k2, k6, hinge, F, axis);
  Andrews out;
  out.crank = m.joint_of(k1);
  out.sprung = k3;
  out.spring_on_3 = polar(sd, gamma) + polar(sc, gamma - quarter);
  out.spring_fixed = at(xc, yc);
  out.scene = std::move(m.scene);
  return out;
}

Governor flyball_governor(bool stiff) {
  using G = Governor;
  const auto box = [](double mass, const Vec3& size, const Vec3& com, const Mat3& R = Mat3::Identity()) {
    return Inertia{mass, com, R * Inertia::solid_box(mass, size).about_com * R.transpose()};
  };
  Linkage m;
  const Vec3 foot(0, 0, 0), collar(0, 0, G::kHeight), up = Vec3::UnitZ();
  const Vec3 bar(G::kWidth, G::kWidth, G::kLength);
  const LinkId shaft =
      m.hang("shaft", m.world(), JointKind::kRevolute, foot, up, box(G::kRod, bar, 0.5 * G::kLength * up));
  const LinkId slider = m.hang("slider", shaft, JointKind::kPrismatic, collar, up,
                               box(G::kSliderMass, Vec3::Constant(G::kSlider), collar));
  for (int side = -1; side <= 1; side += 2) {
    const Vec3 along(side * std::cos(std::numbers::pi / 6), 0, -0.5), out(side * G::kHinge, 0, 0);
    const Vec3 head = G::kLength * up + out, middle = head + 0.5 * G::kLength * along, eye = collar + out;
    const Inertia rod = box(G::kRod, bar, middle, frame_with_z(along));
    const Inertia ball{G::kBall, head + G::kLength * along, Mat3::Zero()};
    const LinkId arm = m.hang(fmt::format("rod{}", side), shaft, JointKind::kRevolute, head, kY, rod + ball);
    if (!stiff) {
      Joint& joint = m.scene.mechanism.joint(
          m.join(fmt::format("coupler{}", side), slider, arm, JointKind::kDistance, eye, kY));
      joint.X_CM.p = middle - m.origin(arm);
      joint.distance = G::kCoupler;
      continue;
    }
    const Vec3 half = 0.5 * (eye + middle);
    const LinkId lower = m.hang(fmt::format("lower{}", side), slider, JointKind::kRevolute, eye, kY,
                                test::rod(eye, half, 1e-5, 0.01));
    const LinkId upper = m.hang(fmt::format("upper{}", side), lower, JointKind::kPrismatic, half,
                                (middle - eye).normalized(), test::rod(half, middle, 1e-5, 0.01));
    DofProperties& spring = m.scene.mechanism.joint(m.joint_of(upper)).dofs[0];
    spring.stiffness = G::kStiffness;
    spring.damping = G::kDamping;
    m.join(fmt::format("coupler{}", side), upper, arm, JointKind::kRevolute, middle, kY);
  }
  Governor out;
  out.shaft = m.joint_of(shaft);
  out.slider = m.joint_of(slider);
  m.scene.initial.push_back({out.shaft, {}, {2 * std::numbers::pi}});
  out.scene = std::move(m.scene);
  return out;
}

}  // namespace karakuri::test
