#include <cmath>

#include "dynamics/body_pass.h"

namespace karakuri::kernel {

void evaluate_angles(const Model& model, const double* q, Workspace& ws) {
  const int n = static_cast<int>(model.angle_q.size());
  for (int k = 0; k < n; ++k) {
    const double angle = q[model.angle_q[k]];
    const int dof = model.angle_v[k];
    ws.cosine[dof] = std::cos(angle);
    ws.sine[dof] = std::sin(angle);
  }
}

}  // namespace karakuri::kernel
