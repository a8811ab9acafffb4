// The output layer and its label-smoothed cross-entropy in one: the scores, (tokens, vocabulary), are never in memory.
//
// Some rows at a time, scores, loss and gradients are computed while they are in the cache, as in "Cut Your Losses in
// Large-Vocabulary Language Models" (Wijmans et al. 2024, https://arxiv.org/abs/2411.09009). The gradients are made with
// the loss, which saves computing the scores once more on the way back. Padding is left out. For the loss of a row and
// its gradient see cross_entropy.h, for those of a pair of rows r_drop.h. Products are of bfloat16, summed in float32; all else is float32.
#pragma once

#include "common.h"
#include "cross_entropy.h"
#include "r_drop.h"
#include "tiles.h"

#ifdef CENTAVO_TILES

#include <omp.h>

#include <memory>

namespace centavo {

// Memory that begins at a cache line.
template <typename T>
class Aligned {
 public:
  explicit Aligned(int64_t count, bool zero = false)
      : data_(static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 63) / 64 * 64))) {
    if (!data_) throw std::bad_alloc();
    if (zero) std::memset(data_.get(), 0, count * sizeof(T));
  }
  T* get() { return data_.get(); }

 private:
  struct Free {
    void operator()(T* data) { std::free(data); }
  };
  std::unique_ptr<T, Free> data_;
};

class OutputLoss {
 public:
  // hidden: (rows, units); weight: (classes, units), units a multiple of 32; bias: (classes,); labels: (rows,).
  // counted: the rows whose loss counts; with an r_drop_weight, those of the two passes of a token are side by side.
  OutputLoss(const float* hidden, const float* weight, const float* bias, const int32_t* labels,
             const std::vector<int64_t>& counted, int classes, int units, float smoothing,
             float r_drop_weight)
      : hidden_(hidden), bias_(bias), labels_(labels), counted_(counted), classes_(classes), units_(units),
        columns_((classes + kPaired - 1) / kPaired * kPaired), smoothing_(smoothing),
        r_drop_weight_(r_drop_weight), by_units_(static_cast<int64_t>(columns_) * units), by_classes_(static_cast<int64_t>(columns_) * units) {
    Pack(weight);
  }

  // Returns the loss, and writes its gradients: d_hidden (rows, units), where rows that do not count are left alone,
  // d_weight (classes, units) and d_bias (classes,). Without `differentiates` it leaves them all alone.
  float Run(bool differentiates, float* d_hidden, float* d_weight, float* d_bias) {
    const int strips = (static_cast<int>(counted_.size()) + kStrip - 1) / kStrip;
    const int threads = std::max(1, std::min(omp_get_max_threads(), strips));
    std::vector<std::unique_ptr<Part>> parts(threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int thread = 0; thread < threads; ++thread) {
      parts[thread] = std::make_unique<Part>(columns_, units_);
      const Tiles tiles;
      for (int strip = thread; strip < strips; strip += threads) {
        RunStrip(strip, differentiates, parts[thread].get(), d_hidden);
      }
    }
    double loss = 0.0;
    for (const auto& part : parts) loss += part->loss;
    if (differentiates) Sum(parts, d_weight, d_bias);
    return static_cast<float>(loss);
  }

 private:
  static constexpr int kBlock = 64;   // rows whose scores are in the cache
  static constexpr int kStrip = 256;  // rows between two additions to the weight's gradient

  // What one thread works with and comes to.
  struct Part {
    Part(int columns, int units)
        : scores(static_cast<int64_t>(kBlock) * columns), gradient(static_cast<int64_t>(kBlock) * columns),
          pairs(static_cast<int64_t>(kStrip) * columns), rows(static_cast<int64_t>(kBlock) * units),
          transposed(static_cast<int64_t>(kStrip) * units), d_rows(static_cast<int64_t>(kBlock) * units),
          d_weight(static_cast<int64_t>(columns) * units, true), d_bias(columns, true) {}
    Aligned<float> scores;          // (kBlock, columns)
    Aligned<Bfloat16> gradient;     // the scores' gradient, (kBlock, columns)
    Aligned<Bfloat16> pairs;        // the same for all of the strip, (kStrip, columns), in panels
    Aligned<Bfloat16> rows;         // hidden, (kBlock, units)
    Aligned<Bfloat16> transposed;   // hidden, (units, kStrip)
    Aligned<float> d_rows;          // hidden's gradient, (kBlock, units)
    Aligned<float> d_weight;        // (units, columns)
    Aligned<float> d_bias;          // (columns,)
    float scales[kBlock];           // the reciprocal of the sum of each row's exponentials
    float stats[kBlock / 2 * kRDropStats];  // what R-Drop keeps of each pair of rows
    double loss = 0.0;
  };

  // The weight as the right factor of both products, padded with rows of zeros.
  void Pack(const float* weight) {
    const int steps = units_ / kPaired, groups = units_ / kTile;
#pragma omp parallel for schedule(static)
    for (int v = 0; v < columns_; ++v) {
      for (int k = 0; k < units_; ++k) {
        const float value = v < classes_ ? weight[static_cast<int64_t>(v) * units_ + k] : 0.0f;
        const Bfloat16 low = (Bfloat16)_mm_extract_epi16((__m128i)_mm_cvtneps_pbh(_mm_set_ss(value)), 0);
        const int64_t of_units = (static_cast<int64_t>(v / kTile) * steps + k / kPaired) * kPanel;
        by_units_.get()[of_units + k % kPaired / 2 * kPaired + v % kTile * 2 + k % 2] = low;
        const int64_t of_classes = (static_cast<int64_t>(v / kPaired) * groups + k / kTile) * kPanel;
        by_classes_.get()[of_classes + v % kPaired / 2 * kPaired + k % kTile * 2 + v % 2] = low;
      }
    }
  }

  void RunStrip(int strip, bool differentiates, Part* part, float* d_hidden) {
    const int begin = strip * kStrip;
    const int rows = std::min<int>(kStrip, counted_.size() - begin);
    const int depth = (rows + kBlock - 1) / kBlock * kBlock;
    for (int first = 0; first < depth; first += kBlock) {
      const int in_block = std::min(kBlock, rows - first);
      Score(begin + first, in_block, part);
      if (differentiates) Differentiate(begin + first, first, in_block, part, d_hidden);
    }
    if (!differentiates) return;
    const Panels pairs{part->pairs.get(), kPanel, static_cast<int64_t>(columns_ / kTile) * kPanel};
    MultiplyTiles<true>(part->transposed.get(), kStrip, pairs, part->d_weight.get(), columns_, units_, columns_, depth);
  }

  // Adds the loss of `rows` counted rows from `begin` on. Rows up to kBlock are zeros. Leaves the exponentials of the
  // scores, and their sum's reciprocal; with R-Drop the scores, and what it keeps of each pair.
  void Score(int begin, int rows, Part* part) {
    for (int r = 0; r < kBlock; ++r) {
      Bfloat16* const row = part->rows.get() + r * units_;
      if (r < rows) {
        LowerRow(hidden_ + counted_[begin + r] * units_, units_, row);
      } else {
        std::memset(row, 0, units_ * sizeof(Bfloat16));
      }
    }
    const int64_t steps = units_ / kPaired;
    MultiplyTiles<false>(part->rows.get(), units_, {by_units_.get(), steps * kPanel, kPanel}, part->scores.get(),
                         columns_, kBlock, columns_, units_);
    for (int r = 0; r < rows; ++r) {
      float* const z = ScoresOf(r, part);
      if (r_drop_weight_ == 0.0f) {
        part->scales[r] = Exponentials(z, labels_[counted_[begin + r]], part);
      } else {
        for (int j = 0; j < classes_; ++j) z[j] += bias_[j];
      }
    }
    if (r_drop_weight_ == 0.0f) return;
    for (int r = 0; r < rows; r += 2) {
      part->loss += RDropRow(ScoresOf(r, part), ScoresOf(r + 1, part), classes_, labels_[counted_[begin + r]],
                             smoothing_, r_drop_weight_, StatsOf(r, part));
    }
  }

  // Goes the way back from what `Score` has left of the same rows, which are at `first` in their strip.
  void Differentiate(int begin, int first, int rows, Part* part, float* d_hidden) {
    const int64_t groups = units_ / kTile;
    for (int r = 0; r < kBlock; ++r) {
      const Bfloat16* const row = part->rows.get() + r * units_;
      for (int k = 0; k < units_; ++k) part->transposed.get()[k * kStrip + first + r] = row[k];
    }
    for (int r = 0; r < kBlock; r += 2) {
      if (r_drop_weight_ != 0.0f && r < rows) {
        DifferentiatePair(r, labels_[counted_[begin + r]], part);
      } else {
        for (int row = r; row < r + 2; ++row) {
          if (row < rows) {
            DifferentiateRow(ScoresOf(row, part), labels_[counted_[begin + row]], part->scales[row], part);
          } else {
            std::memset(ScoresOf(row, part), 0, columns_ * sizeof(float));
          }
        }
      }
      Keep(r, first, part);
    }
    MultiplyTiles<false>(part->gradient.get(), columns_, {by_classes_.get(), kPanel, groups * kPanel},
                         part->d_rows.get(), units_, kBlock, units_, columns_);
    for (int r = 0; r < rows; ++r) {
      std::memcpy(d_hidden + counted_[begin + r] * units_, part->d_rows.get() + r * units_, units_ * sizeof(float));
    }
  }

  // Adds the row's loss, and replaces its products z by exp(z + bias - largest). Returns 1 / their sum.
  float Exponentials(float* z, int label, Part* part) const {
    float sum = 0.0f, total = 0.0f;
    for (int j = 0; j < classes_; ++j) {
      z[j] += bias_[j];
      sum += z[j];
    }
    const float top = Max(z, classes_), of_label = z[label];
    for (int j = 0; j < classes_; ++j) {
      z[j] = Exp(z[j] - top);
      total += z[j];
    }
    part->loss += SmoothedLoss(top + std::log(total), of_label, sum, classes_, smoothing_);
    return 1.0f / total;
  }

  // Replaces a row's exponentials by the gradient of its scores, zeros beyond the classes.
  void DifferentiateRow(float* z, int label, float scale, Part* part) const {
    const float uniform = smoothing_ / classes_;
    float* const d_bias = part->d_bias.get();
    for (int j = 0; j < classes_; ++j) {
      z[j] = z[j] * scale - uniform;
      d_bias[j] += z[j];
    }
    z[label] -= 1.0f - smoothing_;
    d_bias[label] -= 1.0f - smoothing_;
    ClearBeyond(z);
  }

  // Replaces the scores of the rows r and r + 1, two passes of a token, by their gradient.
  void DifferentiatePair(int r, int label, Part* part) const {
    float *const z1 = ScoresOf(r, part), *const z2 = ScoresOf(r + 1, part), *const d_bias = part->d_bias.get();
    RDropGradientRow(1.0f, z1, z2, classes_, label, smoothing_, r_drop_weight_, StatsOf(r, part), z1, z2);
    for (int j = 0; j < classes_; ++j) d_bias[j] += z1[j] + z2[j];
    ClearBeyond(z1);
    ClearBeyond(z2);
  }

  void ClearBeyond(float* z) const { std::memset(z + classes_, 0, (columns_ - classes_) * sizeof(float)); }

  float* ScoresOf(int r, Part* part) const { return part->scores.get() + static_cast<int64_t>(r) * columns_; }
  float* StatsOf(int r, Part* part) const { return part->stats + r / 2 * kRDropStats; }

  // Keeps the gradient of the rows r and r + 1 in bfloat16: as rows of the left factor, and as a row of the right
  // factor's panels.
  void Keep(int r, int first, Part* part) const {
    const float *const even = ScoresOf(r, part), *const odd = ScoresOf(r + 1, part);
    Bfloat16* const row = part->gradient.get() + static_cast<int64_t>(r) * columns_;
    const int in_strip = first + r;
    Bfloat16* to = part->pairs.get() + static_cast<int64_t>(in_strip / kPaired) * kPaired * columns_ +
                   in_strip % kPaired / 2 * kPaired;
    for (int j = 0; j < columns_; j += kTile, to += kPanel) {
      const __m256i upper = Lower(_mm512_loadu_ps(even + j)), lower = Lower(_mm512_loadu_ps(odd + j));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + j), upper);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + columns_ + j), lower);
      _mm512_storeu_si512(to, Paired(upper, lower));
    }
  }

  // Sums what the threads have come to, in their order, which makes the same bits each time.
  void Sum(const std::vector<std::unique_ptr<Part>>& parts, float* d_weight, float* d_bias) const {
#pragma omp parallel for schedule(static)
    for (int v = 0; v < classes_; ++v) {
      float* const row = d_weight + static_cast<int64_t>(v) * units_;
      d_bias[v] = 0.0f;
      std::memset(row, 0, units_ * sizeof(float));
      for (const auto& part : parts) {
        d_bias[v] += part->d_bias.get()[v];
        for (int k = 0; k < units_; ++k) row[k] += part->d_weight.get()[static_cast<int64_t>(k) * columns_ + v];
      }
    }
  }

  const float *const hidden_, *const bias_;
  const int32_t* const labels_;
  const std::vector<int64_t>& counted_;
  const int classes_, units_, columns_;
  const float smoothing_, r_drop_weight_;
  Aligned<Bfloat16> by_units_;    // (units, columns), in panels
  Aligned<Bfloat16> by_classes_;  // (columns, units), in panels
};

}  // namespace centavo

#endif
