// Stands for the library: Eigen's heap arrays in tuned code, behind one exported function.
#include <Eigen/Core>

namespace karakuri {

double probe(int n) {
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(n);
  Eigen::VectorXd twos = ones * 2;
  twos.conservativeResize(n + 3);
  twos.tail(3).setZero();
  return (ones + twos.head(n)).sum();
}

}  // namespace karakuri
