// Label-smoothed softmax cross-entropy, summed over the valid rows: one pass over the scores each way.
//
// With smoothing e over V classes the target distribution is (1 - e) on the label and e / V everywhere (Szegedy et al.
// 2016, https://arxiv.org/abs/1512.00567), so the loss of a row z is lse(z) - (1 - e) z[label] - e * mean(z), and its
// gradient softmax(z) - (1 - e) [label] - e / V.
#pragma once

#include "common.h"

namespace centavo {

// sum: of the row's scores; of_label: the label's score.
inline float SmoothedLoss(float log_sum, float of_label, float sum, int classes, float smoothing) {
  return log_sum - (1.0f - smoothing) * of_label - smoothing * sum / classes;
}

inline float CrossEntropyRow(const float* z, int classes, int label, float smoothing, float* log_sum) {
  const float top = Max(z, classes);
  float sum = 0.0f, total = 0.0f;
  for (int j = 0; j < classes; ++j) {
    total += Exp(z[j] - top);
    sum += z[j];
  }
  *log_sum = top + std::log(total);
  return SmoothedLoss(*log_sum, z[label], sum, classes, smoothing);
}

// z: (sentences * length, classes); labels: (sentences, length); lengths: (sentences,).
inline float CrossEntropyForward(const float* z, const int32_t* labels, const float* lengths, int sentences, int length,
                                 int classes, float smoothing, float* log_sums) {
  std::vector<double> losses(sentences, 0.0);
#pragma omp parallel for schedule(dynamic)
  for (int b = 0; b < sentences; ++b) {
    for (int t = 0; t < length; ++t) {
      const int64_t row = static_cast<int64_t>(b) * length + t;
      log_sums[row] = 0.0f;
      if (t < lengths[b]) {
        losses[b] += CrossEntropyRow(z + row * classes, classes, labels[row], smoothing, log_sums + row);
      }
    }
  }
  double sum = 0.0;
  for (double loss : losses) sum += loss;
  return static_cast<float>(sum);
}

inline void CrossEntropyBackward(float gradient, const float* z, const int32_t* labels, const float* lengths,
                                 const float* log_sums, int sentences, int length, int classes, float smoothing,
                                 float* dz) {
  const float uniform = smoothing / classes;
#pragma omp parallel for schedule(dynamic)
  for (int b = 0; b < sentences; ++b) {
    for (int t = 0; t < length; ++t) {
      const int64_t row = static_cast<int64_t>(b) * length + t;
      float* out = dz + row * classes;
      if (t >= lengths[b]) {
        std::memset(out, 0, sizeof(float) * classes);
        continue;
      }
      const float* in = z + row * classes;
      const float log_sum = log_sums[row];
      for (int j = 0; j < classes; ++j) out[j] = gradient * (Exp(in[j] - log_sum) - uniform);
      out[labels[row]] -= gradient * (1.0f - smoothing);
    }
  }
}

}  // namespace centavo
