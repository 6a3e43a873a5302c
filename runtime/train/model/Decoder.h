//===- Decoder.h - A small transformer language model -----------*- C++ -*-===//
//
// Pre-norm decoder without bias or gain parameters: token embedding, layers of attention and
// feed-forward on one residual stream, an untied output head. All parameters are in one block; a
// forward and a backward call treat one batch.
//
//   model->forward(batch, 1.0f / tokens, parallel);   // losses
//   model->backward(batch, parallel);                 // gradients
//
// The parts between two attentions run piece by piece on the work pool (Work.h); attention, which
// brings its own parallelism, runs on the whole batch. Results do not depend on the pool.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_DECODER_H
#define PE_RUNTIME_TRAIN_MODEL_DECODER_H

#include "runtime/train/data/Batches.h"
#include "runtime/train/model/Embedding.h"
#include "runtime/train/model/Mlp.h"
#include "runtime/train/model/OutputHead.h"
#include "runtime/train/model/SelfAttention.h"

#include <span>

namespace pe::train {

struct DecoderConfig {
  int64_t layers = 2;
  int64_t dim = 64;
  int64_t heads = 4;
  int64_t keyHeads = 4;
  /// Hidden size of the feed-forward layer, in units of dim.
  int64_t mlpMultiple = 4;
  int64_t vocabulary = 96;

  int64_t headDim() const { return dim / heads; }
};

/// What is wrong with a configuration, in terms of the flags that set it.
Status check(const DecoderConfig &config);

class Decoder {
public:
  static Expected<std::unique_ptr<Decoder>>
  create(const DecoderConfig &config, const Kernels &kernels, const AttentionFactory &attention);

  const DecoderConfig &config() const { return settings; }
  const ParameterLayout &layout() const { return parameters; }
  ParameterBlock &values() { return weights; }
  const ParameterBlock &values() const { return weights; }
  ParameterBlock &gradients() { return gradient; }
  /// The attention of a layer, and where its encoding's parameters are in the layout.
  const SelfAttention &attention(int64_t layer) const { return blocks[layer].attention; }

  /// The losses of all tokens; gradients are prepared for the total scale * sum of losses.
  Status forward(const Batch &batch, float scale, ParallelFor &parallel);
  /// Gradients of every parameter, of the batch of the last forward call; `use` Add: plus those
  /// that are there.
  Status backward(const Batch &batch, ParallelFor &parallel,
                  GradientUse use = GradientUse::Replace);
  /// In nats, [sequences, length] of the last forward call.
  std::span<const float> losses() const { return {head->losses(), static_cast<size_t>(tokens)}; }

private:
  struct Block {
    SelfAttention attention;
    Mlp mlp;
  };

  Decoder(const DecoderConfig &config, const Kernels &kernels)
      : settings(config), kernels(kernels) {}
  void reserve(int64_t newTokens);
  void backwardPiece(const Piece &piece, const Batch &batch, int64_t layer);
  void backwardWeights(const Batch &batch, int64_t layer, GradientUse use, ParallelFor &parallel);

  DecoderConfig settings;
  Kernels kernels;
  ParameterLayout parameters;
  ParameterBlock weights, gradient;
  std::unique_ptr<Embedding> embedding;
  std::vector<Block> blocks;
  std::unique_ptr<OutputHead> head;
  /// The residual stream and its gradient.
  Tensor x, dx;
  int64_t tokens = 0, capacity = 0;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_DECODER_H
