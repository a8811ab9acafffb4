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

// A small matrix whose rows are padded with zeros to whole vectors.
class Matrix {
 public:
  Matrix(int rows, int columns)
      : columns_(columns), width_(RoundUp(columns)), data_(static_cast<size_t>(RoundUp(rows)) * width_) {}
  float* row(int index) { return data_.data() + static_cast<size_t>(index) * width_; }
  int width() const { return width_; }

  void Read(const float* from, int64_t stride, int rows) {
    for (int i = 0; i < rows; ++i) std::memcpy(row(i), from + i * stride, sizeof(float) * columns_);
  }
  void Write(float* to, int64_t stride, int rows) {
    for (int i = 0; i < rows; ++i) std::memcpy(to + i * stride, row(i), sizeof(float) * columns_);
  }
  void Clear() { std::fill(data_.begin(), data_.end(), 0.0f); }
  void Transpose(Matrix& of, int rows, int columns) {
    for (int i = 0; i < columns; ++i)
      for (int j = 0; j < rows; ++j) row(i)[j] = of.row(j)[i];
  }

 private:
  int columns_, width_;
  std::vector<float> data_;
};

// Which way round the left factor of a product is read.
enum class Left { kAsIs, kTransposed };

// out = factor * left * right for `rows` x `columns` of it, over `inner`. Four rows at a time, so that four chains of
// additions run at once. Rows beyond `rows` (up to the next multiple of four) are written too.
template <Left kLeft>
inline void Multiply(Matrix& left, Matrix& right, int rows, int inner, int columns, float factor, Matrix& out) {
  const int64_t by_row = kLeft == Left::kAsIs ? left.width() : 1, by_inner = kLeft == Left::kAsIs ? 1 : left.width();
  for (int i = 0; i < rows; i += 4) {
    for (int j = 0; j < columns; j += kLanes) {
      Vec sums[4] = {};
      const float *a = left.row(0) + i * by_row, *b = right.row(0) + j;
      for (int c = 0; c < inner; ++c, a += by_inner, b += right.width()) {
        const Vec lanes = Load(b);
        for (int n = 0; n < 4; ++n) sums[n] += a[n * by_row] * lanes;
      }
      for (int n = 0; n < 4; ++n) Store(out.row(i + n) + j, sums[n] * factor);
    }
  }
}

inline int Limit(float length, int longest) { return std::min(static_cast<int>(length), longest); }

// One head of one sentence; made once per thread and used for all of its heads.
class AttentionHead {
 public:
  AttentionHead(const AttentionShape& shape, const Dropout& drop)
      : shape_(shape), drop_(drop), units_(shape.head_units()), scale_(1.0f / std::sqrt(static_cast<float>(units_))),
        query_(shape.query_length, units_), key_(shape.key_length, units_), value_(shape.key_length, units_),
        transposed_(units_, shape.key_length), probability_(shape.query_length, shape.key_length),
        kept_(shape.query_length, shape.key_length), query_out_(shape.query_length, units_),
        key_out_(shape.key_length, units_) {}

  void Forward(const float* q, const float* k, const float* v, int queries, int keys, uint32_t first, float* out,
               float* log_sums) {
    Score(q, k, queries, keys);
    value_.Read(v, shape_.key_stride, keys);
    for (int i = 0; i < shape_.query_length; ++i) log_sums[i] = i < queries ? LogSum(probability_.row(i), Seen(i, keys)) : 0;
    Normalise(queries, keys, log_sums, first);
    query_out_.Clear();
    Multiply<Left::kAsIs>(kept_, value_, queries, keys, units_, 1.0f, query_out_);
    ClearBeyond(query_out_, queries);
    query_out_.Write(out, shape_.units, shape_.query_length);
  }

  void Backward(const float* q, const float* k, const float* v, const float* dout, const float* log_sums, int queries,
                int keys, uint32_t first, float* dq, float* dk, float* dv) {
    Score(q, k, queries, keys);
    value_.Read(v, shape_.key_stride, keys);
    Normalise(queries, keys, log_sums, first);
    query_out_.Read(dout, shape_.units, queries);
    key_out_.Clear();
    Multiply<Left::kTransposed>(kept_, query_out_, keys, queries, units_, 1.0f, key_out_);
    ClearBeyond(key_out_, keys);
    key_out_.Write(dv, shape_.key_stride, shape_.key_length);
    transposed_.Transpose(value_, keys, units_);
    Multiply<Left::kAsIs>(query_out_, transposed_, queries, units_, keys, 1.0f, kept_);
    for (int i = 0; i < queries; ++i) ScoreGradient(i, Seen(i, keys), first + i * shape_.key_length);
    key_out_.Clear();
    Multiply<Left::kTransposed>(kept_, query_, keys, queries, units_, scale_, key_out_);
    ClearBeyond(key_out_, keys);
    key_out_.Write(dk, shape_.key_stride, shape_.key_length);
    query_out_.Clear();
    Multiply<Left::kAsIs>(kept_, key_, queries, keys, units_, scale_, query_out_);
    ClearBeyond(query_out_, queries);
    query_out_.Write(dq, shape_.query_stride, shape_.query_length);
  }

 private:
  int Seen(int query, int keys) const { return shape_.causal ? std::min(query + 1, keys) : keys; }

  static void ClearBeyond(Matrix& matrix, int rows) {
    for (int i = rows; i < (rows + 3) / 4 * 4; ++i) std::fill(matrix.row(i), matrix.row(i) + matrix.width(), 0.0f);
  }

  void Score(const float* q, const float* k, int queries, int keys) {
    query_.Read(q, shape_.query_stride, queries);
    key_.Read(k, shape_.key_stride, keys);
    transposed_.Transpose(key_, keys, units_);
    Multiply<Left::kAsIs>(query_, transposed_, queries, units_, keys, scale_, probability_);
  }

  static float LogSum(const float* scores, int seen) {
    const float top = Max(scores, seen);
    float total = 0.0f;
    for (int j = 0; j < seen; ++j) total += Exp(scores[j] - top);
    return top + std::log(total);
  }

  // Scores become probabilities, and kept_ what dropout leaves of them; both are zero where a query does not look.
  void Normalise(int queries, int keys, const float* log_sums, uint32_t first) {
    const Dropout drop = drop_;
    for (int i = 0; i < queries; ++i) {
      float *probability = probability_.row(i), *kept = kept_.row(i);
      const int seen = Seen(i, keys);
      const float log_sum = log_sums[i];
      const uint32_t element = first + i * shape_.key_length;
      for (int j = 0; j < seen; ++j) probability[j] = Exp(probability[j] - log_sum);
      for (int j = 0; j < seen; ++j) kept[j] = probability[j] * drop(element + j);
      std::fill(kept + seen, kept + kept_.width(), 0.0f);
    }
  }

  // The gradient by what dropout left, in kept_, becomes the gradient by the scores (before their scaling).
  void ScoreGradient(int query, int seen, uint32_t first) {
    const Dropout drop = drop_;
    const float* probability = probability_.row(query);
    float *gradient = kept_.row(query), mean = 0.0f;
    for (int j = 0; j < seen; ++j) gradient[j] *= drop(first + j);
    for (int j = 0; j < seen; ++j) mean += gradient[j] * probability[j];
    for (int j = 0; j < seen; ++j) gradient[j] = probability[j] * (gradient[j] - mean);
    std::fill(gradient + seen, gradient + kept_.width(), 0.0f);
  }

  AttentionShape shape_;
  Dropout drop_;
  int units_;
  float scale_;
  Matrix query_, key_, value_, transposed_, probability_, kept_, query_out_, key_out_;
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
