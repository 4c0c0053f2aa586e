// Compiled with the library's flags for this machine; it holds no type of another library whose layout they
// change.
#include "kernels/plain_bodies.h"

namespace karakuri::bench {

void plain_forward_dynamics(const std::vector<PlainBody>& bodies, double gravity_z,
                            std::vector<double>& a_all) {
  double* a = a_all.data();
  for (const PlainBody& b : bodies) {
    const double w = b.q[3], x = b.q[4], y = b.q[5], z = b.q[6];
    const double R[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                            {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                            {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    double omega[3], moment[3];
    for (int k = 0; k < 3; ++k) {
      omega[k] = R[0][k] * b.v[3] + R[1][k] * b.v[4] + R[2][k] * b.v[5];
      moment[k] = R[0][k] * b.effort[3] + R[1][k] * b.effort[4] + R[2][k] * b.effort[5];
    }
    const double* I = b.moments;
    const double alpha[3] = {(moment[0] - (I[2] - I[1]) * omega[1] * omega[2]) / I[0],
                             (moment[1] - (I[0] - I[2]) * omega[2] * omega[0]) / I[1],
                             (moment[2] - (I[1] - I[0]) * omega[0] * omega[1]) / I[2]};
    for (int k = 0; k < 3; ++k) {
      a[k] = b.effort[k] / b.mass + (k == 2 ? gravity_z : 0);
      a[3 + k] = R[k][0] * alpha[0] + R[k][1] * alpha[1] + R[k][2] * alpha[2];
    }
    a += 6;
  }
}

}  // namespace karakuri::bench
