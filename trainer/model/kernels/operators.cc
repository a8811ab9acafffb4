// The kernels as MXNet operators (mxnet/lib_api.h): attributes, shapes and types, then a call.
//
// MXNet hands a backward function the gradients of the outputs, then the inputs, then the outputs, and wants a gradient
// for each input; integers and lengths have none, so theirs is zero.

#include <mxnet/lib_api.h>

#include <string>
#include <unordered_map>

#include "adam.h"
#include "attention.h"
#include "cross_entropy.h"
#include "output_loss.h"
#include "r_drop.h"
#include "residual_norm.h"

using namespace mxnet::ext;

namespace {

typedef std::unordered_map<std::string, std::string> Attributes;
typedef std::vector<MXTensor> Tensors;
typedef std::vector<std::vector<unsigned int>> Shapes;

float Number(const Attributes& attributes, const char* name) { return std::stof(attributes.at(name)); }
int Whole(const Attributes& attributes, const char* name) { return std::stoi(attributes.at(name)); }

float* Floats(Tensors* tensors, size_t index) { return (*tensors)[index].data<float>(); }
int32_t* Integers(Tensors* tensors, size_t index) { return (*tensors)[index].data<int32_t>(); }

void Zero(Tensors* tensors, size_t index) {
  MXTensor& tensor = (*tensors)[index];
  std::memset(tensor.data_ptr, 0, tensor.size() * sizeof(float));  // float32 and int32 alike
}

centavo::Dropout DropoutOf(const Attributes& attributes, const int32_t* seed) {
  return centavo::Dropout(Number(attributes, "dropout"), seed[0], Whole(attributes, "salt"));
}

template <int kInputs, int kOutputs>
MXReturnValue Count(const Attributes&, int* inputs, int* outputs) {
  *inputs = kInputs;
  *outputs = kOutputs;
  return MX_SUCCESS;
}

template <char... kTypes>  // one letter per input: f is float32, i is int32; outputs are float32
MXReturnValue Types(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
  const char letters[] = {kTypes...};
  for (size_t i = 0; i < in->size(); ++i) (*in)[i] = letters[i] == 'i' ? kInt32 : kFloat32;
  for (int& type : *out) type = kFloat32;
  return MX_SUCCESS;
}

// Whether all ids are within the vocabulary: a wrong one would read and write beyond the arrays.
bool Within(const int32_t* ids, int64_t count, int64_t vocabulary) {
  return std::all_of(ids, ids + count, [vocabulary](int32_t id) { return id >= 0 && id < vocabulary; });
}

MXReturnValue Wrong(const char* message) {
  MX_ERROR_MSG << message;
  return MX_FAIL;
}

// ---- loss, log_sums = centavo_cross_entropy(scores, labels, lengths; smoothing)

MXReturnValue CrossEntropyShape(const Attributes&, Shapes* in, Shapes* out) {
  if ((*in)[0].size() != 2 || (*in)[1].size() != 2) return Wrong("scores and labels must be matrices");
  (*out)[0] = {1};
  (*out)[1] = {(*in)[0][0]};
  return MX_SUCCESS;
}

MXReturnValue CrossEntropyForward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto& shape = (*in)[1].shape;
  if (!Within(Integers(in, 1), shape[0] * shape[1], (*in)[0].shape[1])) return Wrong("a label is not in the vocabulary");
  Floats(out, 0)[0] = centavo::CrossEntropyForward(Floats(in, 0), Integers(in, 1), Floats(in, 2), shape[0], shape[1],
                                                   (*in)[0].shape[1], Number(attributes, "smoothing"), Floats(out, 1));
  return MX_SUCCESS;
}

MXReturnValue CrossEntropyBackward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto& shape = (*in)[3].shape;
  centavo::CrossEntropyBackward(Floats(in, 0)[0], Floats(in, 2), Integers(in, 3), Floats(in, 4), Floats(in, 6), shape[0],
                                shape[1], (*in)[2].shape[1], Number(attributes, "smoothing"), Floats(out, 0));
  Zero(out, 1);
  Zero(out, 2);
  return MX_SUCCESS;
}

#ifdef CENTAVO_TILES

// ---- loss, d_hidden, d_weight, d_bias = centavo_output_loss(hidden, weight, bias, labels, lengths;
//      smoothing, gradients, r_drop)
// With `gradients` 1, the gradients of the loss are made with it, and the way back multiplies them by the loss's own.
// With 0 they are zero. With a weight `r_drop` other than 0, the loss is R-Drop's: both halves of the batch have the same
// labels and lengths, and the loss is summed over the labels of one.

MXReturnValue OutputLossShape(const Attributes&, Shapes* in, Shapes* out) {
  if ((*in)[0].size() != 2 || (*in)[1].size() != 2 || (*in)[3].size() != 2) {
    return Wrong("hidden, weight and labels must be matrices");
  }
  if ((*in)[0][1] % centavo::kPaired) return Wrong("the units must be a multiple of 32");
  (*in)[2] = {(*in)[1][0]};
  *out = {{1}, (*in)[0], (*in)[1], (*in)[2]};
  return MX_SUCCESS;
}

// The rows of a batch, (sentences, length), that are no padding: those of its first part, each with those of the other
// parts at the same place.
std::vector<int64_t> CountedRows(int64_t sentences, int64_t length, const float* lengths, int64_t parts) {
  std::vector<int64_t> rows;
  const int64_t in_part = sentences / parts;
  for (int64_t b = 0; b < in_part; ++b) {
    for (int64_t t = 0; t < length && t < lengths[b]; ++t) {
      for (int64_t part = 0; part < parts; ++part) rows.push_back((part * in_part + b) * length + t);
    }
  }
  return rows;
}

MXReturnValue OutputLossForward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto& shape = (*in)[3].shape;
  const int classes = (*in)[1].shape[0], units = (*in)[1].shape[1];
  if (!Within(Integers(in, 3), shape[0] * shape[1], classes)) return Wrong("a label is not in the vocabulary");
  const float r_drop_weight = Number(attributes, "r_drop");
  if (r_drop_weight != 0.0f && shape[0] % 2) return Wrong("R-Drop compares two halves of a batch: its size must be even");
  const auto counted = CountedRows(shape[0], shape[1], Floats(in, 4), r_drop_weight == 0.0f ? 1 : 2);
  const bool differentiates = Whole(attributes, "gradients") != 0;
  for (size_t i = 1; i < (differentiates ? 2 : 4); ++i) Zero(out, i);
  centavo::OutputLoss of_batch(Floats(in, 0), Floats(in, 1), Floats(in, 2), Integers(in, 3), counted, classes, units,
                               Number(attributes, "smoothing"), r_drop_weight);
  Floats(out, 0)[0] = of_batch.Run(differentiates, Floats(out, 1), Floats(out, 2), Floats(out, 3));
  return MX_SUCCESS;
}

MXReturnValue OutputLossBackward(const Attributes&, Tensors* in, Tensors* out, const OpResource&) {
  constexpr size_t kGradients = 4, kInputs = 5;
  const float gradient = Floats(in, 0)[0];
  for (size_t i = 0; i < 3; ++i) {
    const float* made = Floats(in, kGradients + kInputs + 1 + i);
    float* to = Floats(out, i);
    for (int64_t j = 0; j < (*out)[i].size(); ++j) to[j] = gradient * made[j];
  }
  Zero(out, 3);
  Zero(out, 4);
  return MX_SUCCESS;
}

#endif

// ---- loss, stats = centavo_r_drop(scores, labels, lengths; smoothing, weight)
// The scores are those of both passes, the labels and the lengths those of one.

MXReturnValue RDropShape(const Attributes&, Shapes* in, Shapes* out) {
  if ((*in)[0].size() != 2 || (*in)[1].size() != 2) return Wrong("scores and labels must be matrices");
  const unsigned int rows = (*in)[1][0] * (*in)[1][1];
  if ((*in)[0][0] != 2 * rows) return Wrong("there must be two rows of scores for each label");
  (*out)[0] = {1};
  (*out)[1] = {rows, centavo::kRDropStats};
  return MX_SUCCESS;
}

MXReturnValue RDropForward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto& shape = (*in)[1].shape;
  if (!Within(Integers(in, 1), shape[0] * shape[1], (*in)[0].shape[1])) return Wrong("a label is not in the vocabulary");
  Floats(out, 0)[0] = centavo::RDropForward(Floats(in, 0), Integers(in, 1), Floats(in, 2), shape[0], shape[1],
                                            (*in)[0].shape[1], Number(attributes, "smoothing"),
                                            Number(attributes, "weight"), Floats(out, 1));
  return MX_SUCCESS;
}

MXReturnValue RDropBackward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto& shape = (*in)[3].shape;
  centavo::RDropBackward(Floats(in, 0)[0], Floats(in, 2), Integers(in, 3), Floats(in, 4), Floats(in, 6), shape[0],
                         shape[1], (*in)[2].shape[1], Number(attributes, "smoothing"), Number(attributes, "weight"),
                         Floats(out, 0));
  Zero(out, 1);
  Zero(out, 2);
  return MX_SUCCESS;
}

// ---- y, stats = centavo_residual_norm(x, residual, gamma, beta, seed; dropout, salt, eps)

MXReturnValue ResidualNormShape(const Attributes&, Shapes* in, Shapes* out) {
  if ((*in)[0].size() != 2 || (*in)[0] != (*in)[1]) return Wrong("x and residual must be matrices of the same shape");
  (*out)[0] = (*in)[0];
  (*out)[1] = {(*in)[0][0], 2};
  return MX_SUCCESS;
}

MXReturnValue ResidualNormForward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto& shape = (*in)[0].shape;
  centavo::ResidualNormForward(Floats(in, 0), Floats(in, 1), Floats(in, 2), Floats(in, 3), shape[0], shape[1],
                               DropoutOf(attributes, Integers(in, 4)), Number(attributes, "eps"), Floats(out, 0),
                               Floats(out, 1));
  return MX_SUCCESS;
}

MXReturnValue ResidualNormBackward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto& shape = (*in)[2].shape;
  centavo::ResidualNormBackward(Floats(in, 0), Floats(in, 2), Floats(in, 3), Floats(in, 4), Floats(in, 8), shape[0],
                                shape[1], DropoutOf(attributes, Integers(in, 6)), Floats(out, 0), Floats(out, 1),
                                Floats(out, 2), Floats(out, 3));
  Zero(out, 4);
  return MX_SUCCESS;
}

// ---- y, u, stats = centavo_residual_pre_norm(x, residual, gamma, beta, seed; dropout, salt, eps)

MXReturnValue ResidualPreNormShape(const Attributes&, Shapes* in, Shapes* out) {
  if ((*in)[0].size() != 2 || (*in)[0] != (*in)[1]) return Wrong("x and residual must be matrices of the same shape");
  (*out)[0] = (*in)[0];
  (*out)[1] = (*in)[0];
  (*out)[2] = {(*in)[0][0], 2};
  return MX_SUCCESS;
}

MXReturnValue ResidualPreNormForward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto& shape = (*in)[0].shape;
  centavo::ResidualPreNormForward(Floats(in, 0), Floats(in, 1), Floats(in, 2), Floats(in, 3), shape[0], shape[1],
                                  DropoutOf(attributes, Integers(in, 4)), Number(attributes, "eps"), Floats(out, 0),
                                  Floats(out, 1), Floats(out, 2));
  return MX_SUCCESS;
}

MXReturnValue ResidualPreNormBackward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto& shape = (*in)[3].shape;
  centavo::ResidualPreNormBackward(Floats(in, 0), Floats(in, 1), Floats(in, 9), Floats(in, 5), Floats(in, 10), shape[0],
                                   shape[1], DropoutOf(attributes, Integers(in, 7)), Floats(out, 0), Floats(out, 1),
                                   Floats(out, 2), Floats(out, 3));
  Zero(out, 4);
  return MX_SUCCESS;
}

// ---- y, stats = centavo_embed_norm(ids, weight, position, gamma, beta, seed; dropout, salt, eps, scale)

MXReturnValue EmbedNormShape(const Attributes&, Shapes* in, Shapes* out) {
  if ((*in)[0].size() != 2 || (*in)[1].size() != 2) return Wrong("ids and weight must be matrices");
  if ((*in)[0][1] > (*in)[2][0]) return Wrong("sentences are longer than the encoded positions");
  const unsigned int rows = (*in)[0][0] * (*in)[0][1];
  (*out)[0] = {rows, (*in)[1][1]};
  (*out)[1] = {rows, 2};
  return MX_SUCCESS;
}

MXReturnValue EmbedNormForward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto& ids = (*in)[0].shape;
  const auto& weight = (*in)[1].shape;
  if (!Within(Integers(in, 0), ids[0] * ids[1], weight[0])) return Wrong("an id is not in the vocabulary");
  centavo::EmbedNormForward(Integers(in, 0), Floats(in, 1), Floats(in, 2), Floats(in, 3), Floats(in, 4), ids[0] * ids[1],
                            ids[1], weight[1], Number(attributes, "scale"), DropoutOf(attributes, Integers(in, 5)),
                            Number(attributes, "eps"), Floats(out, 0), Floats(out, 1));
  return MX_SUCCESS;
}

MXReturnValue EmbedNormBackward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto& ids = (*in)[2].shape;
  const auto& weight = (*in)[3].shape;
  centavo::EmbedNormBackward(Floats(in, 0), Integers(in, 2), Floats(in, 3), Floats(in, 4), Floats(in, 5), Floats(in, 9),
                             ids[0] * ids[1], ids[1], weight[1], weight[0], Number(attributes, "scale"),
                             DropoutOf(attributes, Integers(in, 7)), Floats(out, 1), Floats(out, 3), Floats(out, 4));
  Zero(out, 0);
  Zero(out, 2);
  Zero(out, 5);
  return MX_SUCCESS;
}

// ---- y, log_sums = centavo_self_attention(qkv, lengths, seed; heads, causal, dropout, salt)
// qkv has the queries, keys and values of a row one after the other: (sentences * length, 3 * units).

centavo::AttentionShape SelfShape(const Attributes& attributes, const MXTensor& qkv, const MXTensor& lengths) {
  const int sentences = lengths.shape[0], length = qkv.shape[0] / sentences, width = qkv.shape[1];
  return {sentences, length, length, Whole(attributes, "heads"), width / 3, width, width, Whole(attributes, "causal") != 0};
}

MXReturnValue SelfAttentionShape(const Attributes& attributes, Shapes* in, Shapes* out) {
  const unsigned int sentences = (*in)[1][0], heads = Whole(attributes, "heads");
  if ((*in)[0].size() != 2 || (*in)[0][0] % sentences || (*in)[0][1] % (3 * heads)) return Wrong("qkv has a wrong shape");
  (*out)[0] = {(*in)[0][0], (*in)[0][1] / 3};
  (*out)[1] = {sentences, heads, (*in)[0][0] / sentences};
  return MX_SUCCESS;
}

MXReturnValue SelfAttentionForward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto shape = SelfShape(attributes, (*in)[0], (*in)[1]);
  const float* qkv = Floats(in, 0);
  centavo::AttentionForward(shape, qkv, qkv + shape.units, qkv + 2 * shape.units, Floats(in, 1), Floats(in, 1),
                            DropoutOf(attributes, Integers(in, 2)), Floats(out, 0), Floats(out, 1));
  return MX_SUCCESS;
}

MXReturnValue SelfAttentionBackward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto shape = SelfShape(attributes, (*in)[2], (*in)[3]);
  const float* qkv = Floats(in, 2);
  float* gradient = Floats(out, 0);
  centavo::AttentionBackward(shape, qkv, qkv + shape.units, qkv + 2 * shape.units, Floats(in, 3), Floats(in, 3),
                             DropoutOf(attributes, Integers(in, 4)), Floats(in, 0), Floats(in, 6), gradient,
                             gradient + shape.units, gradient + 2 * shape.units);
  Zero(out, 1);
  Zero(out, 2);
  return MX_SUCCESS;
}

// ---- y, log_sums = centavo_cross_attention(q, kv, query_lengths, key_lengths, seed; heads, dropout, salt)

centavo::AttentionShape CrossShape(const Attributes& attributes, const MXTensor& q, const MXTensor& kv,
                                   const MXTensor& lengths) {
  const int sentences = lengths.shape[0], units = q.shape[1];
  return {sentences, static_cast<int>(q.shape[0] / sentences), static_cast<int>(kv.shape[0] / sentences),
          Whole(attributes, "heads"), units, units, 2 * units, false};
}

MXReturnValue CrossAttentionShape(const Attributes& attributes, Shapes* in, Shapes* out) {
  const unsigned int sentences = (*in)[2][0], heads = Whole(attributes, "heads");
  const auto &q = (*in)[0], &kv = (*in)[1];
  if (q.size() != 2 || kv.size() != 2 || kv[1] != 2 * q[1] || q[1] % heads || q[0] % sentences || kv[0] % sentences) {
    return Wrong("q or kv has a wrong shape");
  }
  (*out)[0] = q;
  (*out)[1] = {sentences, heads, q[0] / sentences};
  return MX_SUCCESS;
}

MXReturnValue CrossAttentionForward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto shape = CrossShape(attributes, (*in)[0], (*in)[1], (*in)[2]);
  const float* kv = Floats(in, 1);
  centavo::AttentionForward(shape, Floats(in, 0), kv, kv + shape.units, Floats(in, 2), Floats(in, 3),
                            DropoutOf(attributes, Integers(in, 4)), Floats(out, 0), Floats(out, 1));
  return MX_SUCCESS;
}

MXReturnValue CrossAttentionBackward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const auto shape = CrossShape(attributes, (*in)[2], (*in)[3], (*in)[4]);
  const float* kv = Floats(in, 3);
  centavo::AttentionBackward(shape, Floats(in, 2), kv, kv + shape.units, Floats(in, 4), Floats(in, 5),
                             DropoutOf(attributes, Integers(in, 6)), Floats(in, 0), Floats(in, 8), Floats(out, 0),
                             Floats(out, 1), Floats(out, 1) + shape.units);
  Zero(out, 2);
  Zero(out, 3);
  Zero(out, 4);
  return MX_SUCCESS;
}

// ---- count = centavo_adam(weights..., gradients..., means..., variances...; parameters, lr, beta1, beta2, epsilon,
// rescale_grad), with as many of each as `parameters` says. Changes weights, means and variances in place. An operator
// has to have an output: here the number of updated elements.

MXReturnValue AdamCount(const Attributes& attributes, int* inputs, int* outputs) {
  *inputs = 4 * Whole(attributes, "parameters");
  *outputs = 1;
  return MX_SUCCESS;
}

MXReturnValue AdamTypes(const Attributes&, std::vector<int>* in, std::vector<int>* out) {
  std::fill(in->begin(), in->end(), kFloat32);
  (*out)[0] = kFloat32;
  return MX_SUCCESS;
}

MXReturnValue AdamShape(const Attributes& attributes, Shapes* in, Shapes* out) {
  const size_t parameters = Whole(attributes, "parameters");
  for (size_t i = parameters; i < in->size(); ++i) {
    if ((*in)[i] != (*in)[i % parameters]) return Wrong("a weight, its gradient and moments must have the same shape");
  }
  (*out)[0] = {1};
  return MX_SUCCESS;
}

MXReturnValue AdamMutates(const Attributes& attributes, std::vector<int>* inputs) {
  const int parameters = Whole(attributes, "parameters");
  for (int i = 0; i < 4 * parameters; ++i) {
    if (i / parameters != 1) inputs->push_back(i);
  }
  return MX_SUCCESS;
}

MXReturnValue AdamForward(const Attributes& attributes, Tensors* in, Tensors* out, const OpResource&) {
  const centavo::AdamRates rates = {Number(attributes, "lr"), Number(attributes, "beta1"), Number(attributes, "beta2"),
                                    Number(attributes, "epsilon"), Number(attributes, "rescale_grad")};
  const size_t parameters = Whole(attributes, "parameters");
  double count = 0;
  for (size_t i = 0; i < parameters; ++i) {
    const int64_t size = (*in)[i].size();
    centavo::AdamUpdate(rates, size, Floats(in, i), Floats(in, parameters + i), Floats(in, 2 * parameters + i),
                        Floats(in, 3 * parameters + i));
    count += size;
  }
  Floats(out, 0)[0] = static_cast<float>(count);
  return MX_SUCCESS;
}

}  // namespace

REGISTER_OP(centavo_adam)
    .setForward(AdamForward, "cpu")
    .setParseAttrs(AdamCount)
    .setInferType(AdamTypes)
    .setInferShape(AdamShape)
    .setMutateInputs(AdamMutates);

REGISTER_OP(centavo_cross_entropy)
    .setForward(CrossEntropyForward, "cpu")
    .setBackward(CrossEntropyBackward, "cpu")
    .setParseAttrs(Count<3, 2>)
    .setInferType(Types<'f', 'i', 'f'>)
    .setInferShape(CrossEntropyShape);

#ifdef CENTAVO_TILES
REGISTER_OP(centavo_output_loss)
    .setForward(OutputLossForward, "cpu")
    .setBackward(OutputLossBackward, "cpu")
    .setParseAttrs(Count<5, 4>)
    .setInferType(Types<'f', 'f', 'f', 'i', 'f'>)
    .setInferShape(OutputLossShape);
#endif

REGISTER_OP(centavo_r_drop)
    .setForward(RDropForward, "cpu")
    .setBackward(RDropBackward, "cpu")
    .setParseAttrs(Count<3, 2>)
    .setInferType(Types<'f', 'i', 'f'>)
    .setInferShape(RDropShape);

REGISTER_OP(centavo_residual_norm)
    .setForward(ResidualNormForward, "cpu")
    .setBackward(ResidualNormBackward, "cpu")
    .setParseAttrs(Count<5, 2>)
    .setInferType(Types<'f', 'f', 'f', 'f', 'i'>)
    .setInferShape(ResidualNormShape);

REGISTER_OP(centavo_residual_pre_norm)
    .setForward(ResidualPreNormForward, "cpu")
    .setBackward(ResidualPreNormBackward, "cpu")
    .setParseAttrs(Count<5, 3>)
    .setInferType(Types<'f', 'f', 'f', 'f', 'i'>)
    .setInferShape(ResidualPreNormShape);

REGISTER_OP(centavo_embed_norm)
    .setForward(EmbedNormForward, "cpu")
    .setBackward(EmbedNormBackward, "cpu")
    .setParseAttrs(Count<6, 2>)
    .setInferType(Types<'i', 'f', 'f', 'f', 'f', 'i'>)
    .setInferShape(EmbedNormShape);

REGISTER_OP(centavo_self_attention)
    .setForward(SelfAttentionForward, "cpu")
    .setBackward(SelfAttentionBackward, "cpu")
    .setParseAttrs(Count<3, 2>)
    .setInferType(Types<'f', 'f', 'i'>)
    .setInferShape(SelfAttentionShape);

REGISTER_OP(centavo_cross_attention)
    .setForward(CrossAttentionForward, "cpu")
    .setBackward(CrossAttentionBackward, "cpu")
    .setParseAttrs(Count<5, 2>)
    .setInferType(Types<'f', 'f', 'f', 'f', 'i'>)
    .setInferShape(CrossAttentionShape);

MXReturnValue initialize(int version) {
  if (version >= 10901) return MX_SUCCESS;
  return Wrong("the fused kernels need MXNet 1.9.1 or later");
}
