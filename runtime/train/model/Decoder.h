//===- Decoder.h - A small transformer language model -----------*- C++ -*-===//
//
// Pre-norm transformer without bias or gain parameters: a token embedding, layers of attention and
// feed-forward on one residual stream, and an output head. All parameters are in one block. A
// forward and a backward call process one batch.
//
//   model->forward(batch, 1.0f / tokens, parallel);   // losses
//   model->backward(batch, parallel);                 // gradients
//
// The parts between two attentions run piece by piece on the work pool (Work.h). Attention has its
// own parallelism and runs on the entire batch. Results do not depend on the pool.
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
  /// Hidden size of the feed-forward layer in units of dim; 0 selects the default of hidden().
  int64_t mlpMultiple = 4;
  /// True if the feed-forward layer has a gate, as determined by its activation.
  bool gated = false;
  int64_t vocabulary = 96;
  NormKind norm = NormKind::Rms;
  /// The output head uses the matrix of the embedding.
  bool tieHead = false;
  /// All layers use one set of the encoding's parameters.
  bool shareEncoding = false;
  /// Initializes the matrices that write to the residual stream, wo and w2, with zeros.
  bool zeroProjections = false;
  /// The dropout probability on the embedding and on the output of each layer.
  double dropout = 0;
  /// Backward recomputes the activations of a layer, so that only one layer's are in memory.
  bool recompute = false;
  /// Upper bound of the memory for logits, which are computed in chunks.
  int64_t logitBytes = int64_t(64) << 20;

  int64_t headDim() const { return dim / heads; }
  /// Returns the width of the feed-forward layer. The default is 4 dim, and 8/3 dim with a gate, so
  /// that three matrices have the size of two; this is rounded up to a multiple of 256 (of 8 if it
  /// is narrower).
  int64_t hidden() const;
};

/// Checks a configuration. Errors name the flags that set the values.
Status check(const DecoderConfig &config);

/// An encoding that is added to the token embedding, with its parameters "embedding.bias.NAME".
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
  /// Returns the attention of a layer, with the positions of its encoding's parameters in the
  /// layout.
  const SelfAttention &attention(int64_t layer) const { return blocks[layer].attention; }

  /// Freezes every parameter whose name contains a match of the POSIX extended regular expression.
  /// Returns an error if no name matches.
  Status freeze(const std::string &pattern);
  /// Replaces the attention of every layer by another one with the same inputs. After an error the
  /// model must not be used.
  Status setAttention(const AttentionFactory &attention);
  /// Returns an error if the attention of any layer lets a token see later ones.
  Status checkCausal();
  /// Returns the encoding of positions that is added to the token embedding, or null if there is
  /// none.
  const PositionEmbedding *positions() const { return position ? &*position : nullptr; }
  const OutputHead &outputHead() const { return *head; }

  /// Computes the weighted losses of all tokens and prepares the gradients of scale * sum of
  /// losses. A token that is not in the vocabulary is an error.
  Status forward(const Batch &batch, float scale, ParallelFor &parallel);
  /// Computes the gradients of all parameters for the batch of the last forward call. With
  /// GradientUse::Add they are added to the existing ones.
  Status backward(const Batch &batch, ParallelFor &parallel,
                  GradientUse use = GradientUse::Replace);
  /// Sets whether forward measures the activity of the feed-forward layers' neurons.
  void recordActivity(bool record) { recordsActivity = record; }
  /// Returns the mean |activation| of each neuron in the last forward call that measured it.
  const std::vector<double> &activity(int64_t layer) const { return blocks[layer].mlp.activity(); }
  /// Sets whether forward records which targets have the largest logit; hits() is 1 for these.
  void recordHits(bool record) { head->recordHits(record); }
  const std::vector<uint8_t> &hits() const { return head->hits(); }
  /// Sets the stopwatch that measures the parts of the calls; null disables it.
  void setWatch(Stopwatch *watch) { stopwatch = watch; }
  Stopwatch *watch() const { return stopwatch; }
  /// Returns the losses [sequences, length] of the last forward call, in nats.
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
  /// A copy of the matrices, packed for forward products.
  ParameterBlock panels;
  std::vector<Linear> linears;
  std::unique_ptr<Embedding> embedding;
  std::optional<PositionEmbedding> position;
  std::vector<Block> blocks;
  std::unique_ptr<OutputHead> head;
  /// The residual stream and its gradient; the token embedding, if positions are added to it; and
  /// the stream before each layer, from which activations are recomputed.
  Tensor x, dx, embedded;
  std::vector<Tensor> saved;
  Dropout dropout;
  Stopwatch *stopwatch = nullptr;
  bool recordsActivity = false;
  int64_t tokens = 0, capacity = 0;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_DECODER_H
