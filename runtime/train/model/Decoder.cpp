//===- Decoder.cpp - A small transformer language model -------------------===//
//
// The order of the layers, forward and backward, over pieces and tiles of gradients.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/Decoder.h"

#include <regex.h>

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
  if (config.mlpMultiple < 0)
    return makeError("expected --mlp-hidden-mult of at least 0, found ", config.mlpMultiple);
  if (config.vocabulary < 1)
    return makeError("expected a vocabulary of at least 1 token, found ", config.vocabulary);
  return Status::success();
}

int64_t DecoderConfig::hidden() const {
  if (mlpMultiple || !gated)
    return dim * (mlpMultiple ? mlpMultiple : 4);
  constexpr int64_t kWide = 256;
  const int64_t width = (8 * dim + 2) / 3, block = width >= kWide ? kWide : kKernelLanes;
  return (width + block - 1) / block * block;
}

Expected<std::unique_ptr<Decoder>> Decoder::create(const DecoderConfig &config,
                                                   const Kernels &kernels,
                                                   const AttentionFactory &attention,
                                                   const EmbeddingFactory &positions) {
  if (Status status = check(config); !status)
    return status.takeError();
  std::unique_ptr<Decoder> model(new Decoder(config, kernels));
  model->settings.gated = kernels.activation.isGated();
  model->kernels.norm = config.norm == NormKind::Rms ? kernels.rmsNorm : kernels.layerNorm;
  ParameterLayout &layout = model->parameters;
  model->embedding = std::make_unique<Embedding>(config.dim, config.vocabulary, layout);
  if (positions) {
    auto function = positions(config.dim);
    if (!function)
      return function.takeError();
    EncodingParameters parameters("embedding.bias", (*function)->parameters(), false, layout);
    model->position.emplace(std::move(*function), std::move(parameters));
  }
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    auto function = attention();
    if (!function)
      return function.takeError();
    HeadShape shape{config.heads, config.keyHeads, config.headDim()};
    SelfAttention mixer(layer, config.dim, shape, config.shareEncoding, std::move(*function),
                        layout);
    Mlp mlp("layer" + std::to_string(layer) + ".mlp", config.dim, model->settings.hidden(),
            kernels.activation.isGated(), layout);
    model->blocks.push_back({std::move(mixer), std::move(mlp)});
  }
  model->head = std::make_unique<OutputHead>(config.dim, config.vocabulary, config.tieHead,
                                             config.logitBytes, layout);
  model->weights = ParameterBlock(layout.extent());
  model->gradient = ParameterBlock(layout.extent());
  return model;
}

Status Decoder::freeze(const std::string &pattern) {
  if (pattern.empty())
    return Status::success();
  regex_t compiled;
  if (const int failure = ::regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB)) {
    char why[128];
    ::regerror(failure, &compiled, why, sizeof why);
    return makeError("expected a POSIX regular expression, found '", pattern, "': ", why);
  }
  int64_t matches = 0;
  for (int64_t index = 0; index < parameters.size(); ++index) {
    Parameter &parameter = parameters[index];
    parameter.frozen = ::regexec(&compiled, parameter.name.c_str(), 0, nullptr, 0) == 0;
    matches += parameter.frozen;
  }
  ::regfree(&compiled);
  if (matches == 0)
    return makeError("expected a pattern that some parameter's name holds, such as "
                     "'^embedding' or 'bias', found '",
                     pattern, "', which none does");
  if (matches == parameters.size())
    return makeError("expected a pattern that leaves something to train, found '", pattern,
                     "', which every parameter's name holds");
  return Status::success();
}

Status Decoder::checkCausal() {
  auto ahead = blocks.front().attention.looksAhead(weights.data());
  capacity = 0; // its buffers were used
  if (!ahead)
    return ahead.takeError();
  if (*ahead)
    return makeError("the encoding shows a token what comes after it, so that the next token would "
                     "be copied, not predicted; use --objective=masked, or a causal mask");
  return Status::success();
}

void Decoder::reserve(int64_t newTokens) {
  tokens = newTokens;
  if (tokens <= capacity)
    return;
  capacity = tokens;
  x = Tensor::zeros(DType::F32, {capacity, settings.dim});
  dx = Tensor::zeros(DType::F32, {capacity, settings.dim});
  if (position)
    embedded = Tensor::zeros(DType::F32, {capacity, settings.dim});
  for (Block &block : blocks) {
    block.attention.reserve(capacity);
    block.mlp.reserve(capacity);
  }
}

/// An error names the first token that is none of the vocabulary.
static Status checkTokens(const std::vector<int32_t> &tokens, int64_t vocabulary) {
  for (int32_t token : tokens)
    if (token < 0 || token >= vocabulary)
      return makeError("expected tokens from 0 to ", vocabulary - 1, ", found ", token);
  return Status::success();
}

/// The residual stream before the first layer.
Status Decoder::embed(const Batch &batch, ParallelFor &parallel) {
  float *into = position ? embedded.data<float>() : x.data<float>();
  const std::vector<Piece> pieces = piecesOf(batch.sequences, batch.length);
  parallelFor(parallel, static_cast<int64_t>(pieces.size()), [&](int64_t item) {
    embedding->forward(kernels, weights.data(), pieces[item], batch.inputs.data(), into);
  });
  if (!position)
    return Status::success();
  return position->function->forward(batch.sequences, batch.length, into,
                                     position->parameters.values(weights.data()), x.data<float>());
}

Status Decoder::forward(const Batch &batch, float scale, ParallelFor &parallel) {
  for (const std::vector<int32_t> *list : {&batch.inputs, &batch.targets})
    if (Status status = checkTokens(*list, settings.vocabulary); !status)
      return status;
  reserve(batch.sequences * batch.length);
  if (Status status = embed(batch, parallel); !status)
    return status;
  std::vector<Piece> pieces = piecesOf(batch.sequences, batch.length);
  const float *values = weights.data();
  float *stream = x.data<float>();
  int64_t layers = settings.layers;
  for (int64_t layer = 0; layer <= layers; ++layer) {
    // Everything after attention `layer - 1` and before attention `layer`.
    parallelFor(parallel, static_cast<int64_t>(pieces.size()), [&](int64_t item) {
      const Piece &piece = pieces[item];
      if (layer > 0) {
        Block &block = blocks[layer - 1];
        block.attention.combine(kernels, values, piece, batch.length, stream);
        block.mlp.forward(kernels, values, piece, stream);
      }
      if (layer < layers)
        blocks[layer].attention.project(kernels, values, piece, batch.length, stream);
    });
    if (layer < layers)
      if (Status status = blocks[layer].attention.attend(values, batch); !status)
        return status;
  }
  head->forward(kernels, values, batch, scale, stream, parallel);
  return Status::success();
}

/// Everything between attention `layer` and attention `layer - 1`, backwards, except gradients of
/// weights.
void Decoder::backwardPiece(const Piece &piece, const Batch &batch, int64_t layer) {
  const float *values = weights.data();
  float *dStream = dx.data<float>();
  if (layer < settings.layers)
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
  std::vector<WeightProduct> products;
  if (layer < settings.layers) {
    products = blocks[layer].attention.projectionProducts();
    blocks[layer].attention.storeBiasGradients(tokens, use, gradient.data());
  }
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
  const float *values = weights.data();
  // What several layers share is added to by each of them.
  for (const Parameter &parameter : parameters.all())
    if (parameter.shared && use == GradientUse::Replace)
      std::fill_n(gradient.at(parameter), parameter.extent, 0.0f);
  head->backward(kernels, values, batch, dx.data<float>(), use, gradient.data(), parallel);
  for (int64_t layer = settings.layers; layer >= 0; --layer) {
    parallelFor(parallel, static_cast<int64_t>(pieces.size()),
                [&](int64_t piece) { backwardPiece(pieces[piece], batch, layer); });
    backwardWeights(batch, layer, use, parallel);
    if (layer == 0)
      break;
    SelfAttention &attention = blocks[layer - 1].attention;
    if (Status status = attention.attendBackward(values, batch); !status)
      return status;
    attention.storeEncodingGradients(use, gradient.data());
  }
  if (!position)
    return Status::success();
  Status status = position->function->backward(
      batch.sequences, batch.length, embedded.data<float>(), position->parameters.values(values),
      dx.data<float>(), position->parameters.gradients());
  if (status)
    position->parameters.store(use, gradient.data());
  return status;
}

} // namespace pe::train
