//===- SelfAttention.cpp - The attention layer ----------------------------===//
//
// Forward and backward of the projections around attention, and the calls of attention itself.
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
  dPacked = room(queryDim + 2 * keyDim);
  merged = room(queryDim);
  dMerged = room(queryDim);
  projected.reserve(tokens);
}

void SelfAttention::useMemoryOf(const SelfAttention &other) {
  using Self = SelfAttention;
  for (Tensor Self::*tensor : {&Self::normed, &Self::inverse, &Self::packed, &Self::dPacked,
                               &Self::merged, &Self::dMerged, &Self::dNormed, &Self::branch})
    this->*tensor = other.*tensor;
}

/// Splits rows of packed queries, keys and values into the three parts.
template <typename Float> std::array<HeadRows<Float>, 3> SelfAttention::partsOf(Float *rows) const {
  const int64_t queryDim = shape.heads * shape.headDim, keyDim = shape.keyHeads * shape.headDim;
  const int64_t pitch = projection.outputs;
  return {{{rows, pitch}, {rows + queryDim, pitch}, {rows + queryDim + keyDim, pitch}}};
}

void SelfAttention::project(const Kernels &kernels, const Weights &weights, const Piece &piece,
                            int64_t length, const float *x) {
  float *y = normed.data<float>() + piece.row * dim;
  float *rows = packed.data<float>() + piece.row * projection.outputs;
  kernels.norm.forward(x + piece.row * dim, y, inverse.data<float>() + piece.row, piece.rows, dim);
  projection.forward(weights, y, rows, piece.rows);
  projected.project(weights, piece, length, y);
}

AttentionInputs SelfAttention::inputs(const float *parameters, const Batch &batch) const {
  AttentionInputs result;
  result.batch = batch.sequences;
  result.heads = shape.heads;
  result.keyHeads = shape.keyHeads;
  result.length = batch.length;
  result.headDim = shape.headDim;
  const auto [q, k, v] = partsOf(packed.data<float>());
  result.q = q;
  result.k = k;
  result.v = v;
  result.parameters = encoding.values(parameters);
  result.projected = projected.values();
  result.documents = batch.documents.data();
  result.prefixes = batch.prefixes.data();
  // Multiplying by an odd constant gives every layer of a step a different seed.
  result.seed = batch.seed + static_cast<uint64_t>(layer) * 0x9E3779B97F4A7C15u;
  result.training = batch.training;
  return result;
}

Status SelfAttention::attend(const float *parameters, const Batch &batch) {
  projected.sum(batch.sequences, batch.length);
  return function->forward(inputs(parameters, batch), {merged.data<float>(), output.inputs});
}

void SelfAttention::combine(const Weights &weights, const Piece &piece, float *x) {
  float *rows = merged.data<float>() + piece.row * output.inputs;
  float *stream = x + piece.row * dim;
  if (!dropout.isOn())
    return output.forward(weights, rows, stream, piece.rows, /*adds=*/true);
  float *result = branch.data<float>() + piece.row * dim;
  output.forward(weights, rows, result, piece.rows);
  dropout.apply(result, piece.row, piece.rows, dim);
  for (int64_t i = 0; i < piece.rows * dim; ++i)
    stream[i] += result[i];
}

void SelfAttention::combineBackward(const float *parameters, const Piece &piece, const float *dx) {
  const float *dStream = dx + piece.row * dim;
  float *dRows = dMerged.data<float>() + piece.row * output.inputs;
  if (dropout.isOn()) {
    float *dResult = branch.data<float>() + piece.row * dim;
    std::copy_n(dStream, piece.rows * dim, dResult);
    dropout.apply(dResult, piece.row, piece.rows, dim);
    dStream = dResult;
  }
  output.backwardInput(parameters, dStream, dRows, piece.rows);
}

Status SelfAttention::attendBackward(const float *parameters, const Batch &batch) {
  const auto [dQ, dK, dV] = partsOf(dPacked.data<float>());
  Status status =
      function->backward(inputs(parameters, batch), {dMerged.data<float>(), output.inputs},
                         {dQ, dK, dV, encoding.gradients(), projected.gradients()});
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
  random.fillNormal(packed, 0, 1);
  const HeadRows<float> o = {merged.data<float>(), output.inputs};
  const auto [q, k, v] = partsOf(packed.data<float>());
  std::vector<float> before(kLength * output.inputs);
  for (bool changed : {false, true}) {
    // Changes the last key and value of every head. Projected inputs of later tokens are the
    // caller's data and are not changed.
    for (int64_t d = 0; changed && d < shape.keyHeads * shape.headDim; ++d)
      for (const HeadRows<float> *rows : {&k, &v})
        *rows->at(kLength - 1, d) += 1;
    if (Status status = function->forward(inputs(parameters, batch), o); !status)
      return status.takeError();
    if (!changed)
      std::copy_n(o.data, before.size(), before.begin());
  }
  for (int64_t i = 0; i < (kLength - 1) * output.inputs; ++i)
    if (std::bit_cast<uint32_t>(before[i]) != std::bit_cast<uint32_t>(o.data[i]))
      return true;
  return false;
}

std::vector<Linear> SelfAttention::linears() const {
  std::vector<Linear> result = projected.linears();
  result.insert(result.end(), {projection, output});
  return result;
}

std::vector<WeightProduct> SelfAttention::projectionProducts() const {
  std::vector<WeightProduct> products = projected.weightProducts(normed.data<float>());
  products.insert(products.begin(), {projection, normed.data<float>(), dPacked.data<float>()});
  return products;
}

void SelfAttention::projectBackward(const Kernels &kernels, const float *parameters,
                                    const Piece &piece, int64_t length, float *dx) {
  const float *rows = dPacked.data<float>() + piece.row * projection.outputs;
  const float *y = normed.data<float>() + piece.row * dim;
  float *dy = dNormed.data<float>() + piece.row * dim;
  projection.backwardInput(parameters, rows, dy, piece.rows);
  projected.projectBackward(parameters, piece, length, dy);
  kernels.norm.backward(y, inverse.data<float>() + piece.row, dy, dx + piece.row * dim, piece.rows,
                        dim);
}

} // namespace pe::train
