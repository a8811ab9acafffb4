// Scaled dot-product attention of all heads, with its masks, softmax and dropout (Vaswani et al. 2017, section 3.2).
//
// The scores of one query row live in the first-level cache and nowhere else; only their log-sum is kept for the way back,
// which makes the scores again (as Dao et al. 2022, https://arxiv.org/abs/2205.14135). Queries and keys beyond a
// sentence's length are not computed at all; the rows of such queries come out as zero.
#pragma once

#include "common.h"

namespace centavo {

struct AttentionShape {
  int sentences, query_length, key_length, heads, units;
  int query_stride, key_stride;  // floats from one row of the queries (keys, values) to the next
  bool causal;
  int head_units() const { return units / heads; }
};

// One head of one sentence, copied to rows of whole vectors, zero beyond the end.
class HeadBlock {
 public:
  HeadBlock(int rows, int columns) : columns_(columns), width_(RoundUp(columns)), data_(static_cast<size_t>(rows) * width_) {}
  float* row(int index) { return data_.data() + static_cast<size_t>(index) * width_; }
  int width() const { return width_; }
  void Clear() { std::fill(data_.begin(), data_.end(), 0.0f); }
  void Read(const float* from, int64_t stride, int rows) {
    for (int i = 0; i < rows; ++i) std::memcpy(row(i), from + i * stride, sizeof(float) * columns_);
  }
  void ReadTransposed(const float* from, int64_t stride, int rows) {
    for (int i = 0; i < rows; ++i)
      for (int c = 0; c < row_count(); ++c) row(c)[i] = from[i * stride + c];
  }
  void Write(float* to, int64_t stride, int rows) {
    for (int i = 0; i < rows; ++i) std::memcpy(to + i * stride, row(i), sizeof(float) * columns_);
  }

 private:
  int row_count() const { return static_cast<int>(data_.size()) / width_; }
  int columns_, width_;
  std::vector<float> data_;
};

// out[j] = factor * sum_c left[c] * right[c][j] for j below `columns` (rounded up to whole vectors).
inline void RowTimesMatrix(const float* left, HeadBlock& right, int inner, int columns, float factor, float* out) {
  for (int j = 0; j < columns; j += kLanes) {
    Vec sum = {};
    for (int c = 0; c < inner; ++c) sum += left[c] * Load(right.row(c) + j);
    Store(out + j, sum * factor);
  }
}

// block[j] += left[j] * right for j below `rows`.
inline void AddOuter(const float* left, const float* right, int rows, HeadBlock& block) {
  for (int j = 0; j < rows; ++j) {
    float* out = block.row(j);
    for (int c = 0; c < block.width(); c += kLanes) Store(out + c, Load(out + c) + left[j] * Load(right + c));
  }
}

inline int Limit(float length, int longest) { return std::min(static_cast<int>(length), longest); }

class AttentionHead {
 public:
  AttentionHead(const AttentionShape& shape, const Dropout& drop)
      : shape_(shape), drop_(drop), units_(shape.head_units()), scale_(1.0f / std::sqrt(static_cast<float>(units_))),
        query_(shape.query_length, units_), keys_transposed_(units_, shape.key_length), values_(shape.key_length, units_),
        scores_(RoundUp(shape.key_length)), kept_(RoundUp(shape.key_length)) {}

  void Forward(const float* q, const float* k, const float* v, int queries, int keys, uint32_t first, float* out,
               float* log_sums) {
    Read(q, k, v, queries, keys);
    std::vector<float> row(RoundUp(units_));
    for (int i = 0; i < shape_.query_length; ++i) {
      const int seen = i < queries ? Seen(i, keys) : 0;
      float* to = out + static_cast<int64_t>(i) * shape_.units;
      log_sums[i] = 0.0f;
      if (seen == 0) {
        std::memset(to, 0, sizeof(float) * units_);
        continue;
      }
      Score(i, seen);
      log_sums[i] = LogSum(seen);
      Probabilities(seen, log_sums[i], first + i * shape_.key_length);
      RowTimesMatrix(kept_.data(), values_, seen, units_, 1.0f, row.data());
      std::memcpy(to, row.data(), sizeof(float) * units_);
    }
  }

  void Backward(const float* q, const float* k, const float* v, const float* dout, const float* log_sums, int queries,
                int keys, uint32_t first, float* dq, float* dk, float* dv) {
    Read(q, k, v, queries, keys);
    HeadBlock keys_block(shape_.key_length, units_), values_transposed(units_, shape_.key_length);
    HeadBlock dquery(shape_.query_length, units_), dkeys(shape_.key_length, units_), dvalues(shape_.key_length, units_);
    keys_block.Read(k, shape_.key_stride, keys);
    values_transposed.ReadTransposed(v, shape_.key_stride, keys);
    std::vector<float> dprobabilities(RoundUp(shape_.key_length)), drow(RoundUp(units_));
    for (int i = 0; i < queries; ++i) {
      const int seen = Seen(i, keys);
      if (seen == 0) continue;
      std::memcpy(drow.data(), dout + static_cast<int64_t>(i) * shape_.units, sizeof(float) * units_);
      Score(i, seen);
      Probabilities(seen, log_sums[i], first + i * shape_.key_length);
      AddOuter(kept_.data(), drow.data(), seen, dvalues);
      RowTimesMatrix(drow.data(), values_transposed, units_, seen, 1.0f, dprobabilities.data());
      ScoreGradient(seen, first + i * shape_.key_length, dprobabilities.data());
      RowTimesMatrix(dprobabilities.data(), keys_block, seen, units_, scale_, dquery.row(i));
      for (int j = 0; j < seen; ++j) dprobabilities[j] *= scale_;
      AddOuter(dprobabilities.data(), query_.row(i), seen, dkeys);
    }
    dquery.Write(dq, shape_.query_stride, shape_.query_length);
    dkeys.Write(dk, shape_.key_stride, shape_.key_length);
    dvalues.Write(dv, shape_.key_stride, shape_.key_length);
  }

 private:
  int Seen(int query, int keys) const { return shape_.causal ? std::min(query + 1, keys) : keys; }

  void Read(const float* q, const float* k, const float* v, int queries, int keys) {
    query_.Read(q, shape_.query_stride, queries);
    keys_transposed_.Clear();
    keys_transposed_.ReadTransposed(k, shape_.key_stride, keys);
    values_.Read(v, shape_.key_stride, keys);
  }

  void Score(int query, int seen) {
    RowTimesMatrix(query_.row(query), keys_transposed_, units_, seen, scale_, scores_.data());
  }

  float LogSum(int seen) const {
    float top = scores_[0], total = 0.0f;
    for (int j = 1; j < seen; ++j) top = scores_[j] > top ? scores_[j] : top;
    for (int j = 0; j < seen; ++j) total += Exp(scores_[j] - top);
    return top + std::log(total);
  }

  // scores_ become probabilities, kept_ what dropout leaves of them.
  void Probabilities(int seen, float log_sum, uint32_t first) {
    for (int j = 0; j < seen; ++j) {
      scores_[j] = Exp(scores_[j] - log_sum);
      kept_[j] = scores_[j] * drop_(first + j);
    }
  }

  // The gradient by what dropout left becomes the gradient by the (scaled) scores.
  void ScoreGradient(int seen, uint32_t first, float* gradient) const {
    float mean = 0.0f;
    for (int j = 0; j < seen; ++j) {
      gradient[j] *= drop_(first + j);
      mean += gradient[j] * scores_[j];
    }
    for (int j = 0; j < seen; ++j) gradient[j] = scores_[j] * (gradient[j] - mean);
  }

  const AttentionShape& shape_;
  const Dropout& drop_;
  int units_;
  float scale_;
  HeadBlock query_, keys_transposed_, values_;
  std::vector<float> scores_, kept_;
};

// q, k, v point at the first row's first head; out is (sentences * query_length, units); log_sums is
// (sentences, heads, query_length).
inline void AttentionForward(const AttentionShape& shape, const float* q, const float* k, const float* v,
                             const float* query_lengths, const float* key_lengths, const Dropout& drop, float* out,
                             float* log_sums) {
  const int units = shape.head_units();
#pragma omp parallel
  {
    AttentionHead head(shape, drop);
#pragma omp for
    for (int index = 0; index < shape.sentences * shape.heads; ++index) {
      const int64_t b = index / shape.heads, h = index % shape.heads;
      const int64_t query = b * shape.query_length, key = b * shape.key_length;
      head.Forward(q + query * shape.query_stride + h * units, k + key * shape.key_stride + h * units,
                   v + key * shape.key_stride + h * units, Limit(query_lengths[b], shape.query_length),
                   Limit(key_lengths[b], shape.key_length),
                   static_cast<uint32_t>(index) * shape.query_length * shape.key_length,
                   out + query * shape.units + h * units, log_sums + static_cast<int64_t>(index) * shape.query_length);
    }
  }
}

inline void AttentionBackward(const AttentionShape& shape, const float* q, const float* k, const float* v,
                              const float* query_lengths, const float* key_lengths, const Dropout& drop,
                              const float* dout, const float* log_sums, float* dq, float* dk, float* dv) {
  const int units = shape.head_units();
#pragma omp parallel
  {
    AttentionHead head(shape, drop);
#pragma omp for
    for (int index = 0; index < shape.sentences * shape.heads; ++index) {
      const int64_t b = index / shape.heads, h = index % shape.heads;
      const int64_t query = b * shape.query_length * shape.query_stride + h * units;
      const int64_t key = b * shape.key_length * shape.key_stride + h * units;
      head.Backward(q + query, k + key, v + key, dout + b * shape.query_length * shape.units + h * units,
                    log_sums + static_cast<int64_t>(index) * shape.query_length,
                    Limit(query_lengths[b], shape.query_length), Limit(key_lengths[b], shape.key_length),
                    static_cast<uint32_t>(index) * shape.query_length * shape.key_length, dq + query, dk + key, dv + key);
    }
  }
}

}  // namespace centavo
