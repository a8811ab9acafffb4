// Compiled without fast mathematics: replicas on processors of different kinds have to stay equal to the last bit, so
// every operation is rounded as IEEE 754 says, in the order of MXNet's adam_update.
#include "adam.h"

#include <cmath>

namespace centavo {

void AdamUpdate(AdamRates rates, int64_t count, float* __restrict weight, const float* __restrict gradient,
                float* __restrict mean, float* __restrict variance) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] * rates.scale;
    mean[i] = rates.beta1 * mean[i] + (1.0f - rates.beta1) * g;
    variance[i] = rates.beta2 * variance[i] + (1.0f - rates.beta2) * g * g;
    weight[i] -= rates.learning_rate * mean[i] / (std::sqrt(variance[i]) + rates.epsilon);
  }
}

}  // namespace centavo
