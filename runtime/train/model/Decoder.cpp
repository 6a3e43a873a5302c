//===- Decoder.cpp - A small transformer language model -------------------===//
//
// The order of the layers, forward and backward, over pieces and tiles of gradients.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/Decoder.h"

namespace pe::train {

Status check(const DecoderConfig &config) {
  if (config.layers < 1)
    return makeError("expected --layers of at least 1, found ", config.layers);
  if (config.heads < 1 || config.keyHeads < 1)
    return makeError("expected --heads and --kv-heads of at least 1, found ", config.heads, " and ",
                     config.keyHeads);
  if (config.dim < 1 || config.dim % config.heads)
    return makeError("expected --dim to be a multiple of --heads ", config.heads, ", found ",
                     config.dim);
  if (config.headDim() % kKernelLanes)
    return makeError("expected a head size --dim / --heads that is a multiple of ", kKernelLanes,
                     ", found ", config.dim, " / ", config.heads, " = ", config.headDim());
  if (config.heads % config.keyHeads)
    return makeError("expected --heads to be a multiple of --kv-heads ", config.keyHeads,
                     ", found ", config.heads);
  if (config.mlpMultiple < 1)
    return makeError("expected --mlp-hidden-mult of at least 1, found ", config.mlpMultiple);
  if (config.vocabulary % kKernelLanes)
    return makeError("expected a vocabulary that is a multiple of ", kKernelLanes, ", found ",
                     config.vocabulary);
  return Status::success();
}

Expected<std::unique_ptr<Decoder>> Decoder::create(const DecoderConfig &config,
                                                   const Kernels &kernels,
                                                   const AttentionFactory &attention) {
  if (Status status = check(config); !status)
    return status.takeError();
  std::unique_ptr<Decoder> model(new Decoder(config, kernels));
  model->embedding = std::make_unique<Embedding>(config.dim, config.vocabulary, model->parameters);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    auto function = attention();
    if (!function)
      return function.takeError();
    std::string prefix = "layer" + std::to_string(layer);
    HeadShape shape{config.heads, config.keyHeads, config.headDim()};
    SelfAttention mixer(prefix + ".attention", config.dim, shape, std::move(*function),
                        model->parameters);
    Mlp mlp(prefix + ".mlp", config.dim, config.dim * config.mlpMultiple, model->parameters);
    model->blocks.push_back({std::move(mixer), std::move(mlp)});
  }
  model->head = std::make_unique<OutputHead>(config.dim, config.vocabulary, model->parameters);
  model->weights = ParameterBlock(model->parameters.extent());
  model->gradient = ParameterBlock(model->parameters.extent());
  return model;
}

void Decoder::reserve(int64_t newTokens) {
  tokens = newTokens;
  if (tokens <= capacity)
    return;
  capacity = tokens;
  x = Tensor::zeros(DType::F32, {capacity, settings.dim});
  dx = Tensor::zeros(DType::F32, {capacity, settings.dim});
  for (Block &block : blocks) {
    block.attention.reserve(capacity);
    block.mlp.reserve(capacity);
  }
  head->reserve(capacity);
}

Status Decoder::forward(const Batch &batch, float scale, ParallelFor &parallel) {
  reserve(batch.sequences * batch.length);
  std::vector<Piece> pieces = piecesOf(batch.sequences, batch.length);
  const float *values = weights.data();
  float *stream = x.data<float>();
  int64_t layers = settings.layers;
  for (int64_t layer = 0; layer <= layers; ++layer) {
    // Everything after attention `layer - 1` and before attention `layer`.
    parallelFor(parallel, static_cast<int64_t>(pieces.size()), [&](int64_t item) {
      const Piece &piece = pieces[item];
      if (layer == 0) {
        embedding->forward(kernels, values, piece, batch.inputs.data(), stream);
      } else {
        Block &block = blocks[layer - 1];
        block.attention.combine(kernels, values, piece, batch.length, stream);
        block.mlp.forward(kernels, values, piece, stream);
      }
      if (layer < layers)
        blocks[layer].attention.project(kernels, values, piece, batch.length, stream);
      else
        head->forward(kernels, values, piece, stream, batch.targets.data(), scale);
    });
    if (layer < layers)
      if (Status status = blocks[layer].attention.attend(values, batch.sequences, batch.length);
          !status)
        return status;
  }
  return Status::success();
}

/// Everything between attention `layer` and attention `layer - 1`, backwards, except gradients of
/// weights.
void Decoder::backwardPiece(const Piece &piece, const Batch &batch, int64_t layer) {
  const float *values = weights.data();
  float *dStream = dx.data<float>();
  if (layer == settings.layers)
    head->backward(kernels, values, piece, dStream);
  else
    blocks[layer].attention.projectBackward(kernels, values, piece, batch.length, dStream);
  if (layer == 0)
    return;
  Block &block = blocks[layer - 1];
  block.mlp.backward(kernels, values, piece, dStream);
  block.attention.combineBackward(kernels, values, piece, batch.length, dStream);
}

/// The gradients of the weights that all pieces of the same stage went through.
void Decoder::backwardWeights(const Batch &batch, int64_t layer, GradientUse use,
                              ParallelFor &parallel) {
  std::vector<WeightProduct> products = {layer == settings.layers
                                             ? head->weightProduct()
                                             : blocks[layer].attention.projectionProduct()};
  if (layer > 0) {
    for (const WeightProduct &product : blocks[layer - 1].mlp.weightProducts())
      products.push_back(product);
    products.push_back(blocks[layer - 1].attention.outputProduct(dx.data<float>()));
  }
  const WeightTiles tiles(std::move(products));
  // The embedding's gradient is one item, the first because it is the longest.
  const int64_t before = layer == 0 ? 1 : 0;
  parallelFor(parallel, before + tiles.size(), [&](int64_t item) {
    if (item < before)
      embedding->backward(kernels, tokens, batch.inputs.data(), dx.data<float>(), use,
                          gradient.data());
    else
      tiles.run(item - before, tokens, use, gradient.data());
  });
}

Status Decoder::backward(const Batch &batch, ParallelFor &parallel, GradientUse use) {
  std::vector<Piece> pieces = piecesOf(batch.sequences, batch.length);
  for (int64_t layer = settings.layers; layer >= 0; --layer) {
    parallelFor(parallel, static_cast<int64_t>(pieces.size()),
                [&](int64_t piece) { backwardPiece(pieces[piece], batch, layer); });
    backwardWeights(batch, layer, use, parallel);
    if (layer == 0)
      break;
    SelfAttention &attention = blocks[layer - 1].attention;
    if (Status status = attention.attendBackward(weights.data(), batch.sequences, batch.length);
        !status)
      return status;
    attention.storeEncodingGradients(use, gradient.data());
  }
  return Status::success();
}

} // namespace pe::train
