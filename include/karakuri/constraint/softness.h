// Springs, dampers, ERP and CFM, Baumgarte's term: one form of row.
//
//   J v' + bias + compliance lambda = 0,   lambda: impulse of the step (1)
//
// A spring k and a damper d at displacement c, both at the end of the step, give the impulse
//   lambda = -h (k (c + h J v') + d J v') (2) bias = k c / (h k + d),   compliance = 1 / (h (h k + d)) (3)
// ODE's ERP and CFM are bias = ERP c / h and compliance = CFM / h, so that ERP = h k / (h k + d),
// CFM = 1 / (h k + d). Baumgarte's c'' + 2 beta c' + gamma^2 c = 0 over one step from J v is
//   J v' = J v - h (2 beta J v + gamma^2 c) (4)
#pragma once

#include <algorithm>
#include <cstdint>

namespace karakuri {

struct Softness {
  double bias = 0;
  double compliance = 0;
};

/// (3). @pre h k + d > 0
inline Softness implicit_spring(double k, double d, double c, double h) {
  return {k * c / (h * k + d), 1 / (h * (h * k + d))};
}

/// How position errors of rigid contacts, limits and loops are undone.
enum class Stabilization : std::uint8_t {
  kPosition,   // the position itself is corrected; velocities, and so the energy of motion, never notice
  kErp,        // ERP and CFM in the velocity rows, as ODE does
  kBaumgarte,  // (4)
  kPenalty,    // a spring and a damper in place of the constraint, (3)
  kNone,
};

/// A setting of this value follows from the scene: from the sizes and masses of its bodies, and gravity.
inline constexpr double kFromScene = -1;

/// All lengths and impulses are those of rows, which are metres and N s of angles too: see Rows.
struct StabilizationSettings {
  Stabilization kind = Stabilization::kPosition;
  double erp = 0.2;               // kPosition, kErp: the share of the error that one step undoes
  double cfm = 0;                 // kErp [m/(N s)]
  double beta = kFromScene;       // kBaumgarte [1/s]
  double gamma = kFromScene;      // kBaumgarte [1/s]
  double stiffness = kFromScene;  // kPenalty [N/m]
  double damping = kFromScene;    // kPenalty [N s/m]
  double slop = kFromScene;       // depth of contacts that is left alone [m]
  double max_speed = kFromScene;  // with which contacts are pushed apart, at most [m/s]
};

/// The row of an equality with position error c and present velocity u.
inline Softness stabilize(const StabilizationSettings& s, double c, double u, double h) {
  switch (s.kind) {
    case Stabilization::kErp: return {s.erp * c / h, s.cfm / h};
    case Stabilization::kBaumgarte: return {-u + h * (2 * s.beta * u + s.gamma * s.gamma * c), 0};
    case Stabilization::kPenalty: return implicit_spring(s.stiffness, s.damping, c, h);
    case Stabilization::kPosition:
    case Stabilization::kNone: break;
  }
  return {};
}

/// The row of an inequality: `gap` is how far it is from touching, negative when it is violated. A gap may
/// close within the step, down to a hundredth of the slop. Gaps below twice that are none: things at rest
/// would otherwise be asked for another solution every step, by gaps of the size of the solver's tolerance.
inline Softness stabilize_gap(const StabilizationSettings& s, double gap, double u, double h) {
  const double touch = 0.01 * s.slop;
  if (gap > 0)
    return {gap > 2 * touch ? (gap - touch) / h : 0.0, s.kind == Stabilization::kErp ? s.cfm / h : 0};
  const double c = std::min(0.0, gap + s.slop);
  Softness soft = stabilize(s, s.kind == Stabilization::kPenalty ? gap : c, u, h);
  if (s.kind == Stabilization::kBaumgarte)
    soft.bias = std::min(0.0, soft.bias);  // never pulls, never lets approach
  soft.bias = std::max(soft.bias, -s.max_speed);
  return soft;
}

/// The spring and the damper of what touches from gap 0 on. Where the gap closes within the step, both act on
/// what goes beyond: lambda = -(h k + d) (c + h J v').
inline Softness soft_gap(double k, double d, double gap, double h) {
  const Softness soft = implicit_spring(k, d, gap, h);
  return {gap > 0 ? gap / h : soft.bias, soft.compliance};
}

}  // namespace karakuri
