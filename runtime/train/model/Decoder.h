//===- Decoder.h - A small transformer language model -----------*- C++ -*-===//
//
// Pre-norm transformer without bias or gain parameters: token embedding, layers of attention and
// feed-forward on one residual stream, an output head. All parameters are in one block; a forward
// and a backward call treat one batch.
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
#include "runtime/train/model/Stopwatch.h"

#include <optional>
#include <span>

namespace pe::train {

struct DecoderConfig {
  int64_t layers = 2;
  int64_t dim = 64;
  int64_t heads = 4;
  int64_t keyHeads = 4;
  /// Hidden size of the feed-forward layer, in units of dim; 0: as large as is usual.
  int64_t mlpMultiple = 4;
  /// Whether the feed-forward layer has a gate, which its activation decides.
  bool gated = false;
  int64_t vocabulary = 96;
  NormKind norm = NormKind::Rms;
  /// The output head's matrix is the embedding's.
  bool tieHead = false;
  /// All layers use one set of the encoding's parameters.
  bool shareEncoding = false;
  /// The matrices that write to the residual stream, wo and w2, start as zeros.
  bool zeroProjections = false;
  /// The share of numbers that fall out of the embedding and of what layers add to the stream.
  double dropout = 0;
  /// Backward computes a layer's activations again, so that one layer's are in memory.
  bool recompute = false;
  /// Logits take at most this much memory at a time.
  int64_t logitBytes = int64_t(64) << 20;

  int64_t headDim() const { return dim / heads; }
  /// Width of the feed-forward layer. By default it is 4 dim, and with a gate 8/3 dim, so that
  /// three matrices have the size of two, rounded up to whole blocks of 256 numbers (of 8 where it
  /// is narrower).
  int64_t hidden() const;
};

/// What is wrong with a configuration, in terms of the flags that set it.
Status check(const DecoderConfig &config);

/// An encoding that is added to the token embedding, and its parameters "embedding.bias.NAME".
struct PositionEmbedding {
  std::unique_ptr<EmbeddingFunction> function;
  EncodingParameters parameters;
};

class Decoder {
public:
  static Expected<std::unique_ptr<Decoder>> create(const DecoderConfig &config,
                                                   const Kernels &kernels,
                                                   const AttentionFactory &attention,
                                                   const EmbeddingFactory &embedding = {});

  const DecoderConfig &config() const { return settings; }
  const ParameterLayout &layout() const { return parameters; }
  ParameterBlock &values() { return weights; }
  const ParameterBlock &values() const { return weights; }
  ParameterBlock &gradients() { return gradient; }
  /// The attention of a layer, and where its encoding's parameters are in the layout.
  const SelfAttention &attention(int64_t layer) const { return blocks[layer].attention; }

  /// Every parameter whose name holds a match of the POSIX extended regular expression keeps its
  /// values in training; one that matches none is an error.
  Status freeze(const std::string &pattern);
  /// Replaces the attention of every layer by another that reads the same; an error leaves a model
  /// that must not be used.
  Status setAttention(const AttentionFactory &attention);
  /// An error if any layer's attention shows a token what comes after it.
  Status checkCausal();
  /// The encoding of positions that is added to the token embedding, if there is one.
  const PositionEmbedding *positions() const { return position ? &*position : nullptr; }
  const OutputHead &outputHead() const { return *head; }

  /// The losses of all tokens, each times its weight; gradients are prepared for the total scale *
  /// sum of losses. A token that is not of the vocabulary is an error.
  Status forward(const Batch &batch, float scale, ParallelFor &parallel);
  /// Gradients of every parameter, of the batch of the last forward call; `use` Add: plus those
  /// that are there.
  Status backward(const Batch &batch, ParallelFor &parallel,
                  GradientUse use = GradientUse::Replace);
  /// Whether forward measures how active the neurons of feed-forward layers are.
  void recordActivity(bool record) { recordsActivity = record; }
  /// The mean |activation| of each neuron in the last forward call that measured it.
  const std::vector<double> &activity(int64_t layer) const { return blocks[layer].mlp.activity(); }
  /// Whether forward finds out which targets have the largest logit, and 1 for each of these.
  void recordHits(bool record) { head->recordHits(record); }
  const std::vector<uint8_t> &hits() const { return head->hits(); }
  /// Measures the parts of the calls, where there is a watch.
  void setWatch(Stopwatch *watch) { stopwatch = watch; }
  Stopwatch *watch() const { return stopwatch; }
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
  void packWeights(ParallelFor &parallel);
  Weights views() const { return {weights.data(), panels.data()}; }
  void setDropout(const Batch &batch);
  void forwardPiece(const Piece &piece, const Batch &batch, int64_t layer);
  Status recompute(const Batch &batch, int64_t layer, ParallelFor &parallel);
  Status embed(const Batch &batch, ParallelFor &parallel);
  void backwardAbove(const Piece &piece, const Batch &batch, int64_t layer);
  void backwardBelow(const Piece &piece, const Batch &batch, int64_t layer);
  void backwardWeights(const Batch &batch, int64_t layer, std::vector<WeightProduct> products,
                       GradientUse use, ParallelFor &parallel);
  Status backwardStage(const Batch &batch, int64_t layer, GradientUse use, ParallelFor &parallel);

  DecoderConfig settings;
  Kernels kernels;
  ParameterLayout parameters;
  ParameterBlock weights, gradient;
  /// The matrices once more, as forward products read them.
  ParameterBlock panels;
  std::vector<Linear> linears;
  std::unique_ptr<Embedding> embedding;
  std::optional<PositionEmbedding> position;
  std::vector<Block> blocks;
  std::unique_ptr<OutputHead> head;
  /// The residual stream and its gradient; the token embedding where positions are added to it;
  /// the stream before each layer, to compute that again.
  Tensor x, dx, embedded;
  std::vector<Tensor> saved;
  Dropout dropout;
  Stopwatch *stopwatch = nullptr;
  bool recordsActivity = false;
  int64_t tokens = 0, capacity = 0;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_DECODER_H
