// Compiled without fast mathematics: replicas on processors of different kinds have to stay equal to the last bit, so
// every operation is rounded as IEEE 754 says, in the order of MXNet's adam_update.
#include "adam.h"

#include <cmath>

namespace centavo {

void AdamUpdate(const AdamRates& rates, int64_t count, float* __restrict weight, const float* __restrict gradient,
                float* __restrict mean, float* __restrict variance) {
  const AdamRates r = rates;
#pragma omp parallel for simd
  for (int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] * r.scale;
    mean[i] = r.beta1 * mean[i] + (1.0f - r.beta1) * g;
    variance[i] = r.beta2 * variance[i] + (1.0f - r.beta2) * g * g;
    weight[i] -= r.learning_rate * mean[i] / (std::sqrt(variance[i]) + r.epsilon);
  }
}

}  // namespace centavo
