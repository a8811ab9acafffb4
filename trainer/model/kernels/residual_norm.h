// y = LayerNorm(residual + dropout(x)), and the same of embeddings: y = LayerNorm(dropout(scale * E[id] + position)).
// For pre-norm also u = residual + dropout(x), which the next layer adds to.
//
// One pass each way; only the mean and the inverse deviation of a row are kept for the way back (Ba et al. 2016,
// https://arxiv.org/abs/1607.06450).
#pragma once

#include "common.h"

namespace centavo {

inline void NormRow(const float* u, const float* gamma, const float* beta, int units, float eps, float* __restrict y,
                    float* stats) {
  float sum = 0.0f, squares = 0.0f;
  for (int c = 0; c < units; ++c) sum += u[c];
  const float mean = sum / units;
  for (int c = 0; c < units; ++c) squares += (u[c] - mean) * (u[c] - mean);
  const float inverse = 1.0f / std::sqrt(squares / units + eps);
  for (int c = 0; c < units; ++c) y[c] = (u[c] - mean) * inverse * gamma[c] + beta[c];
  stats[0] = mean;
  stats[1] = inverse;
}

// du of one row, from dy; adds to dgamma and dbeta. u is overwritten by the gradient.
inline void NormRowBackward(const float* dy, const float* gamma, const float* stats, int units, float* u, float* dgamma,
                            float* dbeta) {
  const float mean = stats[0], inverse = stats[1];
  float sum = 0.0f, product = 0.0f;
  for (int c = 0; c < units; ++c) {
    const float normed = (u[c] - mean) * inverse, d = dy[c] * gamma[c];
    sum += d;
    product += d * normed;
    dgamma[c] += dy[c] * normed;
    dbeta[c] += dy[c];
    u[c] = normed;
  }
  sum /= units;
  product /= units;
  for (int c = 0; c < units; ++c) u[c] = inverse * (dy[c] * gamma[c] - sum - u[c] * product);
}

inline void ResidualRow(const float* x, const float* residual, int64_t row, int units, Dropout drop, float* __restrict u) {
  const uint32_t first = static_cast<uint32_t>(row * units);
  for (int c = 0; c < units; ++c) u[c] = residual[c] + x[c] * drop(first + c);
}

inline void ResidualNormForward(const float* x, const float* residual, const float* gamma, const float* beta,
                                int64_t rows, int units, Dropout drop, float eps, float* y, float* stats) {
#pragma omp parallel
  {
    std::vector<float> u(units);
#pragma omp for
    for (int64_t row = 0; row < rows; ++row) {
      ResidualRow(x + row * units, residual + row * units, row, units, drop, u.data());
      NormRow(u.data(), gamma, beta, units, eps, y + row * units, stats + row * 2);
    }
  }
}

// Serial, since dgamma and dbeta are sums over rows in a fixed order: the same numbers on every run.
inline void ResidualNormBackward(const float* dy, const float* x, const float* residual, const float* gamma,
                                 const float* stats, int64_t rows, int units, Dropout drop, float* dx,
                                 float* dresidual, float* dgamma, float* dbeta) {
  std::fill(dgamma, dgamma + units, 0.0f);
  std::fill(dbeta, dbeta + units, 0.0f);
  for (int64_t row = 0; row < rows; ++row) {
    const uint32_t first = static_cast<uint32_t>(row * units);
    float* u = dresidual + row * units;
    ResidualRow(x + row * units, residual + row * units, row, units, drop, u);
    NormRowBackward(dy + row * units, gamma, stats + row * 2, units, u, dgamma, dbeta);
    for (int c = 0; c < units; ++c) dx[row * units + c] = u[c] * drop(first + c);
  }
}

// y = LayerNorm(u) with u = residual + dropout(x).
inline void ResidualPreNormForward(const float* x, const float* residual, const float* gamma, const float* beta,
                                   int64_t rows, int units, Dropout drop, float eps, float* y, float* u, float* stats) {
#pragma omp parallel for
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * units;
    ResidualRow(x + at, residual + at, row, units, drop, u + at);
    NormRow(u + at, gamma, beta, units, eps, y + at, stats + row * 2);
  }
}

// Serial for the same reason as ResidualNormBackward. The gradient of u is what comes through y, and du.
inline void ResidualPreNormBackward(const float* dy, const float* du, const float* u, const float* gamma,
                                    const float* stats, int64_t rows, int units, Dropout drop, float* dx,
                                    float* dresidual, float* dgamma, float* dbeta) {
  std::fill(dgamma, dgamma + units, 0.0f);
  std::fill(dbeta, dbeta + units, 0.0f);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * units;
    const uint32_t first = static_cast<uint32_t>(at);
    float* total = dresidual + at;
    std::copy(u + at, u + at + units, total);
    NormRowBackward(dy + at, gamma, stats + row * 2, units, total, dgamma, dbeta);
    for (int c = 0; c < units; ++c) total[c] += du[at + c];
    for (int c = 0; c < units; ++c) dx[at + c] = total[c] * drop(first + c);
  }
}

inline void EmbedRow(const float* weight, const float* position, int64_t row, int units, float scale,
                     Dropout drop, float* __restrict u) {
  const uint32_t first = static_cast<uint32_t>(row * units);
  for (int c = 0; c < units; ++c) u[c] = (scale * weight[c] + position[c]) * drop(first + c);
}

// ids: (sentences, length); weight: (vocabulary, units); position: (at least length, units).
inline void EmbedNormForward(const int32_t* ids, const float* weight, const float* position, const float* gamma,
                             const float* beta, int64_t rows, int length, int units, float scale, Dropout drop,
                             float eps, float* y, float* stats) {
  std::vector<float> u(units);
  for (int64_t row = 0; row < rows; ++row) {
    EmbedRow(weight + static_cast<int64_t>(ids[row]) * units, position + row % length * units, row, units, scale, drop,
             u.data());
    NormRow(u.data(), gamma, beta, units, eps, y + row * units, stats + row * 2);
  }
}

inline void EmbedNormBackward(const float* dy, const int32_t* ids, const float* weight, const float* position,
                              const float* gamma, const float* stats, int64_t rows, int length, int units,
                              int64_t vocabulary, float scale, Dropout drop, float* dweight, float* dgamma,
                              float* dbeta) {
  std::fill(dgamma, dgamma + units, 0.0f);
  std::fill(dbeta, dbeta + units, 0.0f);
  std::memset(dweight, 0, sizeof(float) * vocabulary * units);
  std::vector<float> u(units);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = static_cast<int64_t>(ids[row]) * units;
    const uint32_t first = static_cast<uint32_t>(row * units);
    EmbedRow(weight + at, position + row % length * units, row, units, scale, drop, u.data());
    NormRowBackward(dy + row * units, gamma, stats + row * 2, units, u.data(), dgamma, dbeta);
    for (int c = 0; c < units; ++c) dweight[at + c] += scale * u[c] * drop(first + c);
  }
}

}  // namespace centavo
