//===- SelfAttention.cpp - The attention layer ----------------------------===//
//
// Forward and backward of what surrounds attention, and the calls of attention itself.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/SelfAttention.h"

#include <algorithm>

namespace pe::train {

SelfAttention::SelfAttention(const std::string &prefix, int64_t dim, HeadShape shape,
                             std::unique_ptr<AttentionFunction> attention, ParameterLayout &layout)
    : dim(dim), shape(shape), function(std::move(attention)) {
  int64_t queryDim = shape.heads * shape.headDim, keyDim = shape.keyHeads * shape.headDim;
  int64_t first = layout.add(prefix + ".wq", {queryDim, dim}, Role::Attention);
  layout.add(prefix + ".wk", {keyDim, dim}, Role::Attention);
  layout.add(prefix + ".wv", {keyDim, dim}, Role::Attention);
  projection = {layout[first].offset, queryDim + 2 * keyDim, dim};
  int64_t last = layout.add(prefix + ".wo", {dim, queryDim}, Role::Attention);
  output = {layout[last].offset, dim, queryDim};
  for (const EncodingParameter &parameter : function->parameters()) {
    int64_t index = layout.add(prefix + ".bias." + parameter.name, parameter.shape, Role::Encoding);
    layout[index].decay = parameter.decay;
    layout[index].minimum = parameter.minimum;
    layout[index].monitor = parameter.monitor;
    encoding.push_back(index);
    encodingOffsets.push_back(layout[index].offset);
    dEncoding.push_back(Tensor::zeros(DType::F32, parameter.shape));
  }
}

void SelfAttention::reserve(int64_t tokens) {
  auto room = [&](int64_t width) { return Tensor::zeros(DType::F32, {tokens, width}); };
  int64_t queryDim = shape.heads * shape.headDim, keyDim = shape.keyHeads * shape.headDim;
  normed = room(dim);
  dNormed = room(dim);
  inverse = room(1);
  packed = room(queryDim + 2 * keyDim);
  for (Tensor *tensor : {&merged, &dMerged, &q, &o, &dQ, &dO})
    *tensor = room(queryDim);
  for (Tensor *tensor : {&k, &v, &dK, &dV})
    *tensor = room(keyDim);
}

/// Where the heads of a piece begin in a tensor [sequences, heads, length, headDim].
static int64_t headOffset(const Piece &piece, int64_t heads, int64_t headDim, int64_t length) {
  return (piece.sequence * heads * length + piece.position) * headDim;
}

void SelfAttention::project(const Kernels &kernels, const float *parameters, const Piece &piece,
                            int64_t length, const float *x) {
  float *y = normed.data<float>() + piece.row * dim;
  float *rows = packed.data<float>() + piece.row * projection.outputs;
  kernels.rmsNormForward(x + piece.row * dim, y, inverse.data<float>() + piece.row, piece.rows,
                         dim);
  projection.forward(parameters, y, rows, piece.rows);
  int64_t column = 0;
  for (auto [tensor, heads] :
       {std::pair{&q, shape.heads}, {&k, shape.keyHeads}, {&v, shape.keyHeads}}) {
    kernels.splitHeads(
        rows + column, tensor->data<float>() + headOffset(piece, heads, shape.headDim, length),
        piece.rows, projection.outputs, heads, shape.headDim, length * shape.headDim);
    column += heads * shape.headDim;
  }
}

AttentionInputs SelfAttention::inputs(const float *parameters, int64_t sequences,
                                      int64_t length) const {
  AttentionInputs result;
  result.batch = sequences;
  result.heads = shape.heads;
  result.keyHeads = shape.keyHeads;
  result.length = length;
  result.headDim = shape.headDim;
  result.q = q.data<float>();
  result.k = k.data<float>();
  result.v = v.data<float>();
  for (int64_t offset : encodingOffsets)
    result.parameters.push_back(parameters + offset);
  return result;
}

Status SelfAttention::attend(const float *parameters, int64_t sequences, int64_t length) {
  return function->forward(inputs(parameters, sequences, length), o.data<float>());
}

void SelfAttention::combine(const Kernels &kernels, const float *parameters, const Piece &piece,
                            int64_t length, float *x) {
  float *rows = merged.data<float>() + piece.row * output.inputs;
  kernels.mergeHeads(o.data<float>() + headOffset(piece, shape.heads, shape.headDim, length), rows,
                     piece.rows, output.inputs, shape.heads, shape.headDim, length * shape.headDim);
  output.forward(parameters, rows, x + piece.row * dim, piece.rows, /*beta=*/1);
}

void SelfAttention::combineBackward(const Kernels &kernels, const float *parameters,
                                    const Piece &piece, int64_t length, const float *dx) {
  const float *dStream = dx + piece.row * dim;
  float *dRows = dMerged.data<float>() + piece.row * output.inputs;
  output.backwardInput(parameters, dStream, dRows, piece.rows);
  kernels.splitHeads(dRows,
                     dO.data<float>() + headOffset(piece, shape.heads, shape.headDim, length),
                     piece.rows, output.inputs, shape.heads, shape.headDim, length * shape.headDim);
}

Status SelfAttention::attendBackward(const float *parameters, int64_t sequences, int64_t length) {
  AttentionGradients gradients{dQ.data<float>(), dK.data<float>(), dV.data<float>(), {}};
  for (Tensor &gradient : dEncoding)
    gradients.parameters.push_back(gradient.data<float>());
  return function->backward(inputs(parameters, sequences, length), dO.data<float>(), gradients);
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
  kernels.rmsNormBackward(y, inverse.data<float>() + piece.row, dy, dx + piece.row * dim,
                          piece.rows, dim);
}

void SelfAttention::storeEncodingGradients(GradientUse use, float *gradients) const {
  for (size_t i = 0; i < dEncoding.size(); ++i) {
    const float *from = dEncoding[i].data<float>();
    float *into = gradients + encodingOffsets[i];
    for (int64_t element = 0; element < dEncoding[i].numel(); ++element)
      into[element] = use == GradientUse::Add ? into[element] + from[element] : from[element];
  }
}

} // namespace pe::train
