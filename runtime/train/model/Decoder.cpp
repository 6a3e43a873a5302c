//===- Decoder.cpp - A small transformer language model -------------------===//
//
// The order of the layers, forward and backward, over pieces and gradient tiles.
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
  model->panels = ParameterBlock(layout.extent());
  for (const Block &block : model->blocks)
    for (const std::vector<Linear> &list : {block.attention.linears(), block.mlp.linears()})
      model->linears.insert(model->linears.end(), list.begin(), list.end());
  model->linears.push_back(model->head->projection());
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
    return makeError("expected a pattern that matches the name of some parameter, such as "
                     "'^embedding' or 'bias', found '",
                     pattern, "', which matches none");
  if (matches == parameters.size())
    return makeError("expected a pattern that leaves something to train, found '", pattern,
                     "', which matches every parameter");
  return Status::success();
}

Status Decoder::setAttention(const AttentionFactory &attention) {
  for (Block &block : blocks) {
    auto function = attention();
    if (!function)
      return function.takeError();
    if (!block.attention.replace(std::move(*function)))
      return makeError("expected an encoding with the parameters of the first one, found different "
                       "ones");
  }
  return Status::success();
}

Status Decoder::checkCausal() {
  auto ahead = blocks.front().attention.looksAhead(weights.data());
  capacity = 0; // its buffers were used
  if (!ahead)
    return ahead.takeError();
  if (*ahead)
    return makeError("the encoding lets a token see later tokens, so that the next token would be "
                     "copied, not predicted; use --objective=masked, or a causal mask");
  return Status::success();
}

void Decoder::reserve(int64_t newTokens) {
  tokens = newTokens;
  if (tokens <= capacity)
    return;
  capacity = tokens;
  auto room = [&] { return Tensor::zeros(DType::F32, {capacity, settings.dim}); };
  x = room();
  dx = room();
  if (position)
    embedded = room();
  saved.clear();
  for (size_t layer = 0; layer < blocks.size(); ++layer) {
    if (settings.recompute) // the input of the last layer is still in x
      saved.push_back(layer + 1 < blocks.size() ? room() : Tensor());
    if (settings.recompute && layer > 0) {
      blocks[layer].attention.useMemoryOf(blocks[0].attention);
      blocks[layer].mlp.useMemoryOf(blocks[0].mlp);
      blocks[layer].attention.reserveOwn(capacity);
      continue;
    }
    blocks[layer].attention.reserve(capacity);
    blocks[layer].mlp.reserve(capacity);
  }
}

/// Each training batch uses its own seed; evaluation has no dropout.
void Decoder::setDropout(const Batch &batch) {
  dropout = Dropout(batch.training ? settings.dropout : 0, batch.seed, 0);
  for (size_t layer = 0; layer < blocks.size(); ++layer) {
    const auto place = static_cast<uint32_t>(2 * layer + 1);
    blocks[layer].attention.setDropout(dropout.at(place));
    blocks[layer].mlp.setDropout(dropout.at(place + 1));
  }
}

/// Packs the current weights, since anything may have changed them after the last call.
void Decoder::packWeights(ParallelFor &parallel) {
  struct Panel {
    const Linear *linear;
    int64_t number;
  };
  std::vector<Panel> items;
  for (const Linear &linear : linears)
    for (int64_t number = 0; number < linear.shape().panels(); ++number)
      items.push_back({&linear, number});
  parallelFor(parallel, static_cast<int64_t>(items.size()), [&](int64_t item) {
    const auto &[linear, number] = items[item];
    linear->pack(weights.data(), number, number + 1, panels.data());
  });
}

/// Returns an error that names the first token outside the vocabulary.
static Status checkTokens(const std::vector<int32_t> &tokens, int64_t vocabulary) {
  for (int32_t token : tokens)
    if (token < 0 || token >= vocabulary)
      return makeError("expected tokens from 0 to ", vocabulary - 1, ", found ", token);
  return Status::success();
}

/// Computes the residual stream before the first layer.
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

/// Runs the computations between attention `layer - 1` and attention `layer`.
void Decoder::forwardPiece(const Piece &piece, const Batch &batch, int64_t layer) {
  const Weights values = views();
  float *stream = x.data<float>(), *rows = stream + piece.row * settings.dim;
  if (layer == 0)
    dropout.apply(rows, piece.row, piece.rows, settings.dim);
  if (layer > 0) {
    Block &block = blocks[layer - 1];
    block.attention.combine(values, piece, stream);
    block.mlp.forward(kernels, values, piece, stream);
  }
  if (layer == settings.layers)
    return;
  if (settings.recompute && saved[layer].isDefined())
    std::copy_n(rows, piece.rows * settings.dim,
                saved[layer].data<float>() + piece.row * settings.dim);
  blocks[layer].attention.project(kernels, values, piece, batch.length, stream);
}

Status Decoder::forward(const Batch &batch, float scale, ParallelFor &parallel) {
  for (const std::vector<int32_t> *list : {&batch.inputs, &batch.targets})
    if (Status status = checkTokens(*list, settings.vocabulary); !status)
      return status;
  reserve(batch.sequences * batch.length);
  setDropout(batch);
  startPart(stopwatch, "embedding");
  packWeights(parallel);
  if (Status status = embed(batch, parallel); !status)
    return status;
  const std::vector<Piece> pieces = piecesOf(batch.sequences, batch.length);
  for (int64_t layer = 0; layer <= settings.layers; ++layer) {
    startPart(stopwatch, "layers forward");
    parallelFor(parallel, static_cast<int64_t>(pieces.size()),
                [&](int64_t item) { forwardPiece(pieces[item], batch, layer); });
    if (recordsActivity && layer > 0)
      blocks[layer - 1].mlp.measureActivity(tokens, parallel);
    if (layer == settings.layers)
      break;
    startPart(stopwatch, "attention forward");
    if (Status status = blocks[layer].attention.attend(weights.data(), batch); !status)
      return status;
  }
  startPart(stopwatch, "head forward");
  head->forward(kernels, views(), batch, scale, x.data<float>(), parallel);
  return Status::success();
}

/// Recomputes the activations of a layer from the stream before it.
Status Decoder::recompute(const Batch &batch, int64_t layer, ParallelFor &parallel) {
  startPart(stopwatch, "recomputation");
  const std::vector<Piece> pieces = piecesOf(batch.sequences, batch.length);
  const auto count = static_cast<int64_t>(pieces.size());
  const Weights values = views();
  float *stream = x.data<float>();
  Block &block = blocks[layer];
  parallelFor(parallel, count, [&](int64_t item) {
    const int64_t begin = pieces[item].row * settings.dim;
    std::copy_n(saved[layer].data<float>() + begin, pieces[item].rows * settings.dim,
                stream + begin);
    block.attention.project(kernels, values, pieces[item], batch.length, stream);
  });
  if (Status status = block.attention.attend(values.values, batch); !status)
    return status;
  parallelFor(parallel, count, [&](int64_t item) {
    block.attention.combine(values, pieces[item], stream);
    block.mlp.forward(kernels, values, pieces[item], stream);
  });
  return Status::success();
}

/// Runs the backward pass of the computations before attention `layer`, except weight gradients.
void Decoder::backwardAbove(const Piece &piece, const Batch &batch, int64_t layer) {
  if (layer < settings.layers)
    blocks[layer].attention.projectBackward(kernels, weights.data(), piece, batch.length,
                                            dx.data<float>());
  if (layer == 0)
    dropout.apply(dx.data<float>() + piece.row * settings.dim, piece.row, piece.rows, settings.dim);
}

/// Runs the backward pass of the computations after attention `layer - 1`, except weight gradients.
void Decoder::backwardBelow(const Piece &piece, const Batch &batch, int64_t layer) {
  Block &block = blocks[layer - 1];
  block.mlp.backward(kernels, weights.data(), piece, dx.data<float>());
  block.attention.combineBackward(weights.data(), piece, dx.data<float>());
}

/// Computes the weight gradients of a stage that all pieces have completed.
void Decoder::backwardWeights(const Batch &batch, int64_t layer,
                              std::vector<WeightProduct> products, GradientUse use,
                              ParallelFor &parallel) {
  startPart(stopwatch, "weight gradients");
  const WeightTiles tiles(std::move(products));
  // The embedding's gradient is one work item. It is the longest and therefore first.
  const int64_t before = layer == 0 ? 1 : 0;
  parallelFor(parallel, before + tiles.size(), [&](int64_t item) {
    if (item < before)
      embedding->backward(kernels, tokens, batch.inputs.data(), dx.data<float>(), use,
                          gradient.data());
    else
      tiles.run(item - before, tokens, use, gradient.data());
  });
}

/// Runs the backward pass between attention `layer` and attention `layer - 1`. If the activations
/// of the latter are recomputed, they overwrite those of the former, whose weight gradients are
/// therefore computed first.
Status Decoder::backwardStage(const Batch &batch, int64_t layer, GradientUse use,
                              ParallelFor &parallel) {
  const std::vector<Piece> pieces = piecesOf(batch.sequences, batch.length);
  const auto count = static_cast<int64_t>(pieces.size());
  const bool again = settings.recompute && layer > 0 && layer < settings.layers;
  std::vector<WeightProduct> products;
  startPart(stopwatch, "layers backward");
  parallelFor(parallel, count, [&](int64_t item) {
    backwardAbove(pieces[item], batch, layer);
    if (layer > 0 && !again)
      backwardBelow(pieces[item], batch, layer);
  });
  if (layer < settings.layers) {
    products = blocks[layer].attention.projectionProducts();
    blocks[layer].attention.storeBiasGradients(tokens, use, gradient.data());
  }
  if (again) {
    backwardWeights(batch, layer, std::move(products), use, parallel);
    products.clear();
    if (Status status = recompute(batch, layer - 1, parallel); !status)
      return status;
    startPart(stopwatch, "layers backward");
    parallelFor(parallel, count, [&](int64_t item) { backwardBelow(pieces[item], batch, layer); });
  }
  if (layer > 0) {
    for (const WeightProduct &product : blocks[layer - 1].mlp.weightProducts())
      products.push_back(product);
    products.push_back(blocks[layer - 1].attention.outputProduct(dx.data<float>()));
  }
  backwardWeights(batch, layer, std::move(products), use, parallel);
  return Status::success();
}

Status Decoder::backward(const Batch &batch, ParallelFor &parallel, GradientUse use) {
  const float *values = weights.data();
  // Gradients of shared parameters are accumulated over the layers, so they start at zero.
  for (const Parameter &parameter : parameters.all())
    if (parameter.shared && use == GradientUse::Replace)
      std::fill_n(gradient.at(parameter), parameter.extent, 0.0f);
  startPart(stopwatch, "head backward");
  head->backward(kernels, views(), batch, dx.data<float>(), use, gradient.data(), parallel);
  for (int64_t layer = settings.layers; layer >= 0; --layer) {
    if (Status status = backwardStage(batch, layer, use, parallel); !status)
      return status;
    if (layer == 0)
      break;
    startPart(stopwatch, "attention backward");
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
