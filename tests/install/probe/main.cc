// Stands for a program compiled without AVX and without optimisation, so that its own copies of Eigen's
// functions are there for the linker to choose. With the probe linked as an ordinary shared library (without
// the link options of karakuri_tuning), this crashes.
#include <Eigen/Core>

namespace karakuri {
double probe(int n);
}

int main() {
  for (int n = 1; n < 40; ++n) {
    Eigen::VectorXd ours = Eigen::VectorXd::Ones(n);
    ours.conservativeResize(n + 1);
    ours[n] = 0;
    if (ours.sum() != n || karakuri::probe(n) != 3 * n) return 1;
  }
  return 0;
}
