// Preview control of the zero-moment point of a cart on a table: which motion of the centre of mass has a
// wanted ZMP, when the wanted one is known for a while ahead. S. Kajita et al. (2003), "Biped walking pattern
// generation by using preview control of zero-moment point"; docs/walking.md. Equations: the source file.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "karakuri/core/diagnostic.h"

namespace karakuri {

struct PreviewSettings {
  double height = 0.8;        // of the centre of mass above the ZMP's plane [m]
  double gravity = 9.81;      // [m/s^2]
  double period = 0.005;      // from one sample to the next [s]
  double horizon = 1.6;       // how far the reference is looked at [s]
  double zmp_weight = 1;      // Q, of the ZMP's error squared
  double jerk_weight = 1e-6;  // R, of the jerk squared
};

/// Position, velocity and acceleration of the cart along one axis [m, m/s, m/s^2].
struct CartState {
  double x = 0, v = 0, a = 0;

  /// At constant jerk for a time t.
  CartState after(double t, double jerk) const {
    return {x + t * (v + t * (a / 2 + t * jerk / 6)), v + t * (a + t * jerk / 2), a + t * jerk};
  }
};

class PreviewControl {
 public:
  static Result<PreviewControl> make(const PreviewSettings& settings);

  const PreviewSettings& settings() const { return settings_; }
  /// Samples of the reference that are looked at.
  int samples() const { return static_cast<int>(ahead_.size()); }
  std::span<const double> state_gains() const { return gains_; }
  /// Of the reference 1, 2, ... samples ahead. The last one stands for all that come after it.
  std::span<const double> preview_gains() const { return ahead_; }

  double zmp(const CartState& s) const { return s.x - settings_.height / settings_.gravity * s.a; }
  /// @param ahead  The wanted ZMP 1, 2, ..., samples() periods from now [m].
  double jerk(const CartState& s, std::span<const double> ahead) const;
  CartState next(const CartState& s, std::span<const double> ahead) const {
    return s.after(settings_.period, jerk(s, ahead));
  }

 private:
  PreviewSettings settings_;
  std::array<double, 3> gains_{};
  std::vector<double> ahead_;
};

}  // namespace karakuri
