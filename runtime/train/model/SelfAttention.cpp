//===- SelfAttention.cpp - The attention layer ----------------------------===//
//
// Forward and backward of what surrounds attention, and the calls of attention itself.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/SelfAttention.h"

#include <algorithm>
#include <bit>

namespace pe::train {

static std::string prefixOf(int64_t layer) {
  return "layer" + std::to_string(layer) + ".attention";
}

SelfAttention::SelfAttention(int64_t layer, int64_t dim, HeadShape shape, bool shareEncoding,
                             std::unique_ptr<AttentionFunction> attention, ParameterLayout &layout)
    : layer(layer), dim(dim), shape(shape), function(std::move(attention)), projection([&] {
        int64_t queryDim = shape.heads * shape.headDim, keyDim = shape.keyHeads * shape.headDim;
        int64_t first = layout.add(prefixOf(layer) + ".wq", {queryDim, dim}, Role::Attention);
        layout.add(prefixOf(layer) + ".wk", {keyDim, dim}, Role::Attention);
        layout.add(prefixOf(layer) + ".wv", {keyDim, dim}, Role::Attention);
        return Linear{layout[first].offset, queryDim + 2 * keyDim, dim};
      }()),
      output([&] {
        int64_t queryDim = shape.heads * shape.headDim;
        int64_t index = layout.add(prefixOf(layer) + ".wo", {dim, queryDim}, Role::Attention);
        return Linear{layout[index].offset, dim, queryDim};
      }()),
      projected(prefixOf(layer), dim, shape.heads, function->projected(), layout),
      encoding(shareEncoding ? "shared.bias" : prefixOf(layer) + ".bias", function->parameters(),
               shareEncoding, layout) {}

bool SelfAttention::replace(std::unique_ptr<AttentionFunction> other) {
  auto isSame = [](const auto &a, const auto &b) { return a.name == b.name; };
  const auto &before = function->parameters(), &after = other->parameters();
  const auto inputs = function->projected(), newInputs = other->projected();
  if (!std::equal(
          before.begin(), before.end(), after.begin(), after.end(),
          [&](const auto &a, const auto &b) { return isSame(a, b) && a.shape == b.shape; }) ||
      !std::equal(inputs.begin(), inputs.end(), newInputs.begin(), newInputs.end(), isSame))
    return false;
  function = std::move(other);
  return true;
}

void SelfAttention::reserve(int64_t tokens) {
  auto room = [&](int64_t width) { return Tensor::zeros(DType::F32, {tokens, width}); };
  int64_t queryDim = shape.heads * shape.headDim, keyDim = shape.keyHeads * shape.headDim;
  normed = room(dim);
  dNormed = room(dim);
  branch = room(dim);
  inverse = room(1);
  packed = room(queryDim + 2 * keyDim);
  for (Tensor *tensor : {&merged, &dMerged, &q, &o, &dQ, &dO})
    *tensor = room(queryDim);
  for (Tensor *tensor : {&k, &v, &dK, &dV})
    *tensor = room(keyDim);
  projected.reserve(tokens);
}

void SelfAttention::useMemoryOf(const SelfAttention &other) {
  using Self = SelfAttention;
  for (Tensor Self::*tensor : {&Self::normed, &Self::inverse, &Self::packed, &Self::merged,
                               &Self::dMerged, &Self::dNormed, &Self::branch, &Self::q, &Self::k,
                               &Self::v, &Self::o, &Self::dQ, &Self::dK, &Self::dV, &Self::dO})
    this->*tensor = other.*tensor;
}

/// Where the heads of a piece begin in a tensor [sequences, heads, length, headDim].
static int64_t headOffset(const Piece &piece, int64_t heads, int64_t headDim, int64_t length) {
  return (piece.sequence * heads * length + piece.position) * headDim;
}

void SelfAttention::project(const Kernels &kernels, const Weights &weights, const Piece &piece,
                            int64_t length, const float *x) {
  float *y = normed.data<float>() + piece.row * dim;
  float *rows = packed.data<float>() + piece.row * projection.outputs;
  kernels.norm.forward(x + piece.row * dim, y, inverse.data<float>() + piece.row, piece.rows, dim);
  projection.forward(weights, y, rows, piece.rows);
  projected.project(weights, piece, length, y);
  int64_t column = 0;
  for (auto [tensor, heads] :
       {std::pair{&q, shape.heads}, {&k, shape.keyHeads}, {&v, shape.keyHeads}}) {
    kernels.splitHeads(
        rows + column, tensor->data<float>() + headOffset(piece, heads, shape.headDim, length),
        piece.rows, projection.outputs, heads, shape.headDim, length * shape.headDim);
    column += heads * shape.headDim;
  }
}

AttentionInputs SelfAttention::inputs(const float *parameters, const Batch &batch) const {
  AttentionInputs result;
  result.batch = batch.sequences;
  result.heads = shape.heads;
  result.keyHeads = shape.keyHeads;
  result.length = batch.length;
  result.headDim = shape.headDim;
  result.q = q.data<float>();
  result.k = k.data<float>();
  result.v = v.data<float>();
  result.parameters = encoding.values(parameters);
  result.projected = projected.values();
  result.documents = batch.documents.data();
  result.prefixes = batch.prefixes.data();
  // Any odd factor gives every layer of a step a seed of its own.
  result.seed = batch.seed + static_cast<uint64_t>(layer) * 0x9E3779B97F4A7C15u;
  result.training = batch.training;
  return result;
}

Status SelfAttention::attend(const float *parameters, const Batch &batch) {
  projected.sum(batch.sequences, batch.length);
  return function->forward(inputs(parameters, batch), o.data<float>());
}

void SelfAttention::combine(const Kernels &kernels, const Weights &weights, const Piece &piece,
                            int64_t length, float *x) {
  float *rows = merged.data<float>() + piece.row * output.inputs;
  kernels.mergeHeads(o.data<float>() + headOffset(piece, shape.heads, shape.headDim, length), rows,
                     piece.rows, output.inputs, shape.heads, shape.headDim, length * shape.headDim);
  float *stream = x + piece.row * dim;
  if (!dropout.isOn())
    return output.forward(weights, rows, stream, piece.rows, /*adds=*/true);
  float *result = branch.data<float>() + piece.row * dim;
  output.forward(weights, rows, result, piece.rows);
  dropout.apply(result, piece.row, piece.rows, dim);
  for (int64_t i = 0; i < piece.rows * dim; ++i)
    stream[i] += result[i];
}

void SelfAttention::combineBackward(const Kernels &kernels, const float *parameters,
                                    const Piece &piece, int64_t length, const float *dx) {
  const float *dStream = dx + piece.row * dim;
  float *dRows = dMerged.data<float>() + piece.row * output.inputs;
  if (dropout.isOn()) {
    float *dResult = branch.data<float>() + piece.row * dim;
    std::copy_n(dStream, piece.rows * dim, dResult);
    dropout.apply(dResult, piece.row, piece.rows, dim);
    dStream = dResult;
  }
  output.backwardInput(parameters, dStream, dRows, piece.rows);
  kernels.splitHeads(dRows,
                     dO.data<float>() + headOffset(piece, shape.heads, shape.headDim, length),
                     piece.rows, output.inputs, shape.heads, shape.headDim, length * shape.headDim);
}

Status SelfAttention::attendBackward(const float *parameters, const Batch &batch) {
  Status status = function->backward(inputs(parameters, batch), dO.data<float>(),
                                     {dQ.data<float>(), dK.data<float>(), dV.data<float>(),
                                      encoding.gradients(), projected.gradients()});
  if (status)
    projected.sumBackward(batch.sequences, batch.length);
  return status;
}

Expected<bool> SelfAttention::looksAhead(const float *parameters) {
  constexpr int64_t kLength = 48;
  Batch batch;
  batch.resize(1, kLength);
  reserve(kLength);
  Random random(/*seed=*/1, "looks ahead");
  for (Tensor *tensor : {&q, &k, &v})
    random.fillNormal(*tensor, 0, 1);
  std::vector<float> before(kLength * shape.heads * shape.headDim);
  for (bool changed : {false, true}) {
    // The last key of every head; what is projected of later tokens is data of the caller's.
    for (int64_t head = 0; changed && head < shape.keyHeads; ++head)
      for (int64_t d = 0; d < shape.headDim; ++d)
        for (Tensor *tensor : {&k, &v})
          tensor->data<float>()[((head + 1) * kLength - 1) * shape.headDim + d] += 1;
    if (Status status = function->forward(inputs(parameters, batch), o.data<float>()); !status)
      return status.takeError();
    if (!changed)
      std::copy_n(o.data<float>(), before.size(), before.begin());
  }
  for (int64_t head = 0; head < shape.heads; ++head)
    for (int64_t i = 0; i < (kLength - 1) * shape.headDim; ++i) {
      const int64_t place = head * kLength * shape.headDim + i;
      if (std::bit_cast<uint32_t>(before[place]) != std::bit_cast<uint32_t>(o.data<float>()[place]))
        return true;
    }
  return false;
}

std::vector<Linear> SelfAttention::linears() const {
  std::vector<Linear> result = projected.linears();
  result.insert(result.end(), {projection, output});
  return result;
}

std::vector<WeightProduct> SelfAttention::projectionProducts() const {
  std::vector<WeightProduct> products = projected.weightProducts(normed.data<float>());
  products.insert(products.begin(), {projection, normed.data<float>(), packed.data<float>()});
  return products;
}

void SelfAttention::projectBackward(const Kernels &kernels, const float *parameters,
                                    const Piece &piece, int64_t length, float *dx) {
  float *rows = packed.data<float>() + piece.row * projection.outputs;
  int64_t column = 0;
  for (auto [tensor, heads] :
       {std::pair{&dQ, shape.heads}, {&dK, shape.keyHeads}, {&dV, shape.keyHeads}}) {
    kernels.mergeHeads(tensor->data<float>() + headOffset(piece, heads, shape.headDim, length),
                       rows + column, piece.rows, projection.outputs, heads, shape.headDim,
                       length * shape.headDim);
    column += heads * shape.headDim;
  }
  const float *y = normed.data<float>() + piece.row * dim;
  float *dy = dNormed.data<float>() + piece.row * dim;
  projection.backwardInput(parameters, rows, dy, piece.rows);
  projected.projectBackward(parameters, piece, length, dy);
  kernels.norm.backward(y, inverse.data<float>() + piece.row, dy, dx + piece.row * dim, piece.rows,
                        dim);
}

} // namespace pe::train
