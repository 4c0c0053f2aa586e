// Frame M of one body is held to frame F of another. With p the origin of M in F, R the turn of M in F, a the
// joint's axis and t, s unit vectors that make a right-handed frame with it, the errors are
//   translation along x:  x . p                                                                           (1)
//   all turning:          log R                                                                           (2)
//   axes apart:           (a x R a) . t,  (a x R a) . s       zero when M's axis is F's                   (3)
//   screw:                a . p - pitch (turn about a)                                                    (4)
//   universal:            a . R b - a . b0                    the angle between both axes                 (5)
//   distance:             |p| - distance                                                                  (6)
// and their rates u = f . (v_M - v_F) + m . (w_M - w_F), velocities of the bodies at the origin P of M. (1)
// to (4) have f and m fixed in F; (5) has m = (R b) x a, (6) has f = p / |p|. With r from F's body to P,
//   du/dt = f' . (v_M - v_F) + f . (a_P - a_F - dw_F x r - w_F x (v_P - v_o)) + m' . (w_M - w_F) + m . (dw_M
//   - dw_F)
//                                                                                                         (7)
// where o is the origin of F's body, and f' = w_F x f, m' = w_F x m but for (5) and (6).
#include "karakuri/dynamics/loop_rows.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "karakuri/spatial/rotation.h"

namespace karakuri {

namespace {

/// What a kind of joint holds: number of rows of each sort, in this order.
struct Held {
  int across = 0;  // translations along t and s
  int along = 0;   // translation along a
  int tilts = 0;   // (3)
  int turns = 0;   // (2), all three
  bool screw = false;
  bool universal = false;
  bool distance = false;
};

Held held_by(JointKind kind) {
  switch (kind) {
    case JointKind::kFixed: return {.across = 2, .along = 1, .turns = 3};
    case JointKind::kRevolute: return {.across = 2, .along = 1, .tilts = 2};
    case JointKind::kPrismatic: return {.across = 2, .turns = 3};
    case JointKind::kCylindrical: return {.across = 2, .tilts = 2};
    case JointKind::kScrew: return {.across = 2, .tilts = 2, .screw = true};
    case JointKind::kUniversal: return {.across = 2, .along = 1, .universal = true};
    case JointKind::kPlanar: return {.along = 1, .tilts = 2};
    case JointKind::kSpherical: return {.across = 2, .along = 1};
    case JointKind::kPointOnLine: return {.across = 2};
    case JointKind::kDistance: return {.distance = true};
    case JointKind::kFree: break;
  }
  return {};
}

struct Line {
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();  // in F
  double error = 0;
};
struct Lines {
  std::array<Line, 6> line;
  int count = 0;
  void add(const Line& l) { line[count++] = l; }
};

Line screw_line(const Loop& loop, const Vec3& p, const Mat3& R) {
  const Vec3& a = loop.axis;
  // the turn is known up to full turns: the nearest is meant
  const double whole = 2 * std::numbers::pi * loop.pitch;
  const double raw = a.dot(p) - loop.pitch * a.dot(rotation_log(R));
  return {a, -loop.pitch * a, whole != 0 ? std::remainder(raw, std::abs(whole)) : raw};
}

Lines lines_of(const Loop& loop, const Vec3& p, const Mat3& R) {
  const Held held = held_by(loop.kind);
  const Vec3& a = loop.axis;
  const Mat3 frame = frame_with_z(a);
  const Vec3 t = frame.col(0), s = frame.col(1);
  Lines out;
  if (held.across) {
    out.add({.force = t, .error = t.dot(p)});
    out.add({.force = s, .error = s.dot(p)});
  }
  if (held.along) out.add({.force = a, .error = a.dot(p)});
  if (held.tilts) {
    const Vec3 apart = a.cross(R * a);
    out.add({.moment = t, .error = t.dot(apart)});
    out.add({.moment = s, .error = s.dot(apart)});
  }
  if (held.turns) {
    const Vec3 turn = rotation_log(R);
    for (int k = 0; k < 3; ++k) out.add({.moment = Vec3::Unit(k), .error = turn[k]});
  }
  if (held.screw) out.add(screw_line(loop, p, R));
  if (held.universal) {
    const Vec3 b = R * loop.second_axis;
    out.add({.moment = b.cross(a), .error = a.dot(b) - a.dot(loop.second_axis)});
  }
  if (held.distance) {
    const double length = p.norm();  // points that coincide are parted along any direction
    out.add({.force = length > 1e-12 ? Vec3(p / length) : Vec3::UnitX(), .error = length - loop.distance});
  }
  return out;
}

Transform frame_at(const Workspace& ws, int body, const Transform& X_BF) {
  return Transform{Mat3(ws.pose[body].R), Vec3(ws.pose[body].p)} * X_BF;
}

/// How a point fixed to a body moves.
struct PointMotion {
  Vec3 w, v, dw, a;
};
PointMotion motion_at(const Workspace& ws, int body, const Vec3& point) {
  const Workspace::Velocity& velocity = ws.velocity[body];
  const Workspace::Acceleration& acceleration = ws.acceleration[body];
  const Vec3 d = point - Vec3(ws.pose[body].p), w = velocity.w, dw = acceleration.w;
  return {w, Vec3(velocity.v) + w.cross(d), dw, Vec3(acceleration.v) + dw.cross(d) + w.cross(w.cross(d))};
}

}  // namespace

int loop_row_count(JointKind kind) {
  const Held h = held_by(kind);
  return h.across + h.along + h.tilts + h.turns + (h.screw ? 1 : 0) + (h.universal ? 1 : 0) +
         (h.distance ? 1 : 0);
}

LoopRows loop_rows(const Loop& loop, const Workspace& ws) {
  const Transform X_WF = frame_at(ws, loop.body_f, loop.X_BF), X_WM = frame_at(ws, loop.body_m, loop.X_BM);
  const Lines lines = lines_of(loop, X_WF.inverse_apply(X_WM.p), X_WF.R.transpose() * X_WM.R);
  LoopRows out;
  out.count = lines.count;
  for (int k = 0; k < lines.count; ++k) {
    const Line& line = lines.line[k];
    out.row[k] = {.body = loop.body_m,
                  .other = loop.body_f,
                  .point = X_WM.p,
                  .force = X_WF.R * line.force,
                  .moment = X_WF.R * line.moment};
    out.error[k] = line.error;
  }
  return out;
}

namespace {

// What rounding leaves of a Jacobian that is zero, of the products that it is made of.
constexpr double kStill = 1e-12;

/// Whether a dof of `body` moves a row.
bool moves(const Model& model, const Workspace& ws, int dof, const ImpulseRow& row) {
  const Body& body = model.bodies[model.dofs[dof].body];
  const Vec3 axis(ws.axis[dof]), arm = row.point - Vec3(ws.pose[model.dofs[dof].body].p);
  const double pitch = model.dofs[dof].kind == DofKind::kTranslation ? 1 : body.pitch;
  double rate = 0, size = 0;
  if (model.dofs[dof].kind != DofKind::kTranslation) {
    rate = axis.dot(row.moment + arm.cross(row.force));
    size = row.moment.norm() + arm.norm() * row.force.norm();
  }
  if (model.dofs[dof].kind != DofKind::kRotation) {
    rate += pitch * axis.dot(row.force);
    size += std::abs(pitch) * row.force.norm();
  }
  return std::abs(rate) > kStill * size;
}

}  // namespace

unsigned moving_rows(const Model& model, const Loop& loop, const LoopRows& rows, const Workspace& ws) {
  const unsigned all = (1u << rows.count) - 1;
  const auto last = [&](int body) { return model.bodies[body].first_v + model.bodies[body].dofs - 1; };
  unsigned found = 0;
  // up both paths, the deeper first, until they meet: what both bodies share parts them nowhere
  for (int a = last(loop.body_f), b = last(loop.body_m); a != b && found != all;) {
    const int depth_a = a < 0 ? -1 : model.dofs[a].depth, depth_b = b < 0 ? -1 : model.dofs[b].depth;
    int& deeper = depth_a >= depth_b ? a : b;
    for (int k = 0; k < rows.count; ++k)
      if (!(found >> k & 1) && moves(model, ws, deeper, rows.row[k])) found |= 1u << k;
    deeper = model.dofs[deeper].parent;
  }
  return found;
}

std::array<double, 6> loop_bias(const Loop& loop, const LoopRows& rows, const Workspace& ws) {
  std::array<double, 6> bias{};
  if (rows.count == 0) return bias;
  const Vec3 P = rows.row[0].point;
  const PointMotion M = motion_at(ws, loop.body_m, P);
  const Workspace::Velocity& F = ws.velocity[loop.body_f];
  const Workspace::Acceleration& dF = ws.acceleration[loop.body_f];
  const Vec3 r = P - Vec3(ws.pose[loop.body_f].p), w_F = F.w, v_o = F.v;
  const Vec3 apart = M.v - v_o - w_F.cross(r), turn = M.w - w_F;
  const Vec3 a = M.a - Vec3(dF.v) - Vec3(dF.w).cross(r) - w_F.cross(M.v - v_o), dw = M.dw - Vec3(dF.w);
  const Held held = held_by(loop.kind);
  for (int k = 0; k < rows.count; ++k) {
    const ImpulseRow& row = rows.row[k];
    Vec3 df = w_F.cross(row.force), dm = w_F.cross(row.moment);
    if (held.universal && k == rows.count - 1) {
      const Vec3 axis = frame_at(ws, loop.body_f, loop.X_BF).R * loop.axis;
      const Vec3 second = frame_at(ws, loop.body_m, loop.X_BM).R * loop.second_axis;
      dm = M.w.cross(second).cross(axis) + second.cross(w_F.cross(axis));
    }
    if (held.distance) {
      const Vec3 o = frame_at(ws, loop.body_f, loop.X_BF).p;
      const Vec3 rate = M.v - v_o - w_F.cross(o - Vec3(ws.pose[loop.body_f].p));
      df = (rate - row.force.dot(rate) * row.force) / std::max((P - o).norm(), 1e-12);
    }
    bias[k] = df.dot(apart) + row.force.dot(a) + dm.dot(turn) + row.moment.dot(dw);  // (7)
  }
  return bias;
}

}  // namespace karakuri
