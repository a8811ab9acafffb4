// The loss of R-Drop (Liang et al. 2021, https://arxiv.org/abs/2106.14448): the mean of the cross-entropies of two
// passes, and weight / 4 times KL(p || q) + KL(q || p) of their predictions p and q. One pass over the scores each way.
//
// With a = log p - log q, the sum of both divergences is the sum of (p - q) a. Its gradient by the scores of p is
// p a + p - q - p KL(p || q), and by those of q it is -q a + q - p - q KL(q || p).
#pragma once

#include "common.h"
#include "cross_entropy.h"

namespace centavo {

// What a pair of rows keeps for the way back: both log-sums, KL(p || q) and KL(q || p).
constexpr int kRDropStats = 4;

inline double RDropRow(const float* z1, const float* z2, int classes, int label, float smoothing, float weight,
                       float* stats) {
  const double losses = CrossEntropyRow(z1, classes, label, smoothing, stats) +
                        CrossEntropyRow(z2, classes, label, smoothing, stats + 1);
  float forth = 0.0f, back = 0.0f;
  for (int j = 0; j < classes; ++j) {
    const float log_p = z1[j] - stats[0], log_q = z2[j] - stats[1];
    forth += Exp(log_p) * (log_p - log_q);
    back += Exp(log_q) * (log_q - log_p);
  }
  stats[2] = forth;
  stats[3] = back;
  return losses / 2 + weight / 4 * (forth + back);
}

// The gradient of `RDropRow` times `gradient`, by the scores of both passes. It may take their place.
inline void RDropGradientRow(float gradient, const float* z1, const float* z2, int classes, int label, float smoothing,
                             float weight, const float* stats, float* out1, float* out2) {
  const float uniform = smoothing / classes, of_loss = gradient / 2, of_divergence = gradient * weight / 4;
#pragma omp simd
  for (int j = 0; j < classes; ++j) {
    const float log_p = z1[j] - stats[0], log_q = z2[j] - stats[1], a = log_p - log_q;
    const float p = Exp(log_p), q = Exp(log_q);
    out1[j] = of_loss * (p - uniform) + of_divergence * (p * (a - stats[2]) + p - q);
    out2[j] = of_loss * (q - uniform) + of_divergence * (q * (-a - stats[3]) + q - p);
  }
  out1[label] -= of_loss * (1.0f - smoothing);
  out2[label] -= of_loss * (1.0f - smoothing);
}

// z: (2 * sentences * length, classes), both passes one after the other; labels: (sentences, length); lengths:
// (sentences,); stats: (sentences * length, kRDropStats).
inline float RDropForward(const float* z, const int32_t* labels, const float* lengths, int sentences, int length,
                          int classes, float smoothing, float weight, float* stats) {
  const int64_t half = static_cast<int64_t>(sentences) * length * classes;
  std::vector<double> losses(sentences, 0.0);
#pragma omp parallel for schedule(dynamic)
  for (int b = 0; b < sentences; ++b) {
    for (int t = 0; t < length; ++t) {
      const int64_t row = static_cast<int64_t>(b) * length + t;
      float* kept = stats + row * kRDropStats;
      std::fill(kept, kept + kRDropStats, 0.0f);
      if (t < lengths[b]) {
        const float* first = z + row * classes;
        losses[b] += RDropRow(first, first + half, classes, labels[row], smoothing, weight, kept);
      }
    }
  }
  double sum = 0.0;
  for (double loss : losses) sum += loss;
  return static_cast<float>(sum);
}

inline void RDropBackward(float gradient, const float* z, const int32_t* labels, const float* lengths,
                          const float* stats, int sentences, int length, int classes, float smoothing, float weight,
                          float* dz) {
  const int64_t half = static_cast<int64_t>(sentences) * length * classes;
#pragma omp parallel for schedule(dynamic)
  for (int b = 0; b < sentences; ++b) {
    for (int t = 0; t < length; ++t) {
      const int64_t row = static_cast<int64_t>(b) * length + t;
      float *out1 = dz + row * classes, *out2 = out1 + half;
      if (t >= lengths[b]) {
        std::memset(out1, 0, sizeof(float) * classes);
        std::memset(out2, 0, sizeof(float) * classes);
        continue;
      }
      const float* first = z + row * classes;
      RDropGradientRow(gradient, first, first + half, classes, labels[row], smoothing, weight,
                       stats + row * kRDropStats, out1, out2);
    }
  }
}

}  // namespace centavo
