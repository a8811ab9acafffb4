// One update of Adam (Kingma and Ba 2015, https://arxiv.org/abs/1412.6980) in one pass over memory.
#pragma once

#include <cstdint>

namespace centavo {

// The learning rate has the bias correction in it already; the gradient is multiplied by `scale` first.
struct AdamRates {
  float learning_rate, beta1, beta2, epsilon, scale;
};

void AdamUpdate(AdamRates rates, int64_t count, float* weight, const float* gradient, float* mean, float* variance);

}  // namespace centavo
