// Frame M of one body is held to frame F of another. With p the origin of M in F, R the turn of M in F, a the
// joint's axis and t, s unit vectors that make a right-handed frame with it, the errors are
//   translation along x:  x . p (1) all turning:          log R (2) axes apart:           (a x R a) . t,  (a
//   x R a) . s         zero when M's axis is F's                  (3) screw:                a . p - pitch
//   (turn about a)                                                     (4) universal:            a . R b - a
//   . b0                      the angle between both axes                (5)
// and their rates are the relative velocity of the bodies at the origin of M, along the same directions; of
// (5) along (R b) x a.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "karakuri/constraint/joint_rows.h"
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
  if (held.screw) {
    // the turn is known up to full turns: the nearest is meant
    const double whole = 2 * std::numbers::pi * loop.pitch;
    const double raw = a.dot(p) - loop.pitch * a.dot(rotation_log(R));
    const double error = whole != 0 ? std::remainder(raw, std::abs(whole)) : raw;
    out.add({.force = a, .moment = -loop.pitch * a, .error = error});
  }
  if (held.universal) {
    const Vec3 b = R * loop.second_axis;
    out.add({.moment = b.cross(a), .error = a.dot(b) - a.dot(loop.second_axis)});
  }
  return out;
}

}  // namespace

int loop_row_count(JointKind kind) {
  const Held h = held_by(kind);
  return h.across + h.along + h.tilts + h.turns + (h.screw ? 1 : 0) + (h.universal ? 1 : 0);
}

void add_loop_rows(const Model& model, const Workspace& ws, int index,
                   const StabilizationSettings& stabilization, double h, Rows& rows) {
  const Loop& loop = model.loops[index];
  const int count = loop_row_count(loop.kind);
  if (count == 0) return;
  const Transform X_WF = Transform{Mat3(ws.pose[loop.body_f].R), Vec3(ws.pose[loop.body_f].p)} * loop.X_BF;
  const Transform X_WM = Transform{Mat3(ws.pose[loop.body_m].R), Vec3(ws.pose[loop.body_m].p)} * loop.X_BM;
  const Lines lines = lines_of(loop, X_WF.inverse_apply(X_WM.p), X_WF.R.transpose() * X_WM.R);
  const int row = rows.add(solver::RowKind::kEquality, RowSource::kLoop, index, count);
  for (int k = 0; k < count; ++k) {
    const Line& line = lines.line[k];
    rows.impulses[row + k] = {.body = loop.body_m,
                              .other = loop.body_f,
                              .point = X_WM.p,
                              .force = X_WF.R * line.force,
                              .moment = X_WF.R * line.moment};
    double u = 0;
    row_velocities({&rows.impulses[row + k], 1}, ws, Eigen::Map<Eigen::VectorXd>(&u, 1));
    const Softness soft = stabilize(stabilization, line.error, u, h);
    rows.error[row + k] = line.error;
    rows.bias[row + k] = soft.bias;
    rows.compliance[row + k] = soft.compliance;
  }
}

}  // namespace karakuri
