//===- Normalizer.h - maps from scores to weights at the tile level -------===//
//
// A normalizer turns the scores of a row into the weights of its keys. One driver writes the
// forward stage of every attention (emitForward), one the backward stage (emitBackward); they ask
// the normalizer of the attention for everything that depends on it:
//
//   forward:  state = start;  for every block of keys: scores ─► weights, next state
//             o     = sum of weights * v, scaled by the final state
//   backward: scores ─► weights again;  cotangents of weights ─► cotangents of scores
//   merge:    results over two parts of the keys ─► the result over both
//
// A new normalizer is one file of passes/ToTile/Normalizers; dialect/PE/PENormalizers.def lists it.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_NORMALIZER_H
#define PE_PASSES_TOTILE_NORMALIZER_H

#include "dialect/PE/PEAttention.h"
#include "passes/ToTile/Attention.h"
#include "passes/ToTile/PlanContext.h"

#include <memory>
#include <optional>

namespace mlir::tile {

/// The weights of one block of keys, over r and c.
struct Weights {
  Value weights;
  /// Has the same zeros as `weights`. A factor on the weights reads it (WeightFactor::emit).
  Value zeros;
};

/// The weights of one block in a forward stage.
struct ForwardWeights : Weights {
  SmallVector<Value> state; ///< the row's state after the block
  Value decay;              ///< over r: multiplies the previous sums of weighted values; null: 1
  Value scores;             ///< with masked pairs replaced
};

/// The result of a forward stage after the last key.
struct Normalized {
  Value output; ///< over r and e
  /// What the weights of vectors that join the values are relative to, over r; null unless the
  /// normalizer supports them (ValueContent::storeForward).
  Value maximum, factor;
};

/// The state over two parts of a row's keys.
struct MergedState {
  SmallVector<Value> state;
  /// Over r: the factors of the sums of weighted values of both parts; null: 1.
  Value first, second;
};

/// The parts of one forward stage that depend on the normalizer, called in this order.
class ForwardPass {
public:
  explicit ForwardPass(const Attention &attention) : a(attention) {}
  virtual ~ForwardPass() = default;

  /// Returns the order in which the stage visits keys.
  virtual Order order() const { return Order::Ascending; }
  /// Returns the state of a row without keys.
  virtual SmallVector<Value> start(TileBuilder &) { return {}; }
  /// Returns the start values of further sums over the keys, which no weight depends on.
  virtual SmallVector<Value> startSums(TileBuilder &) { return {}; }

  /// Called first in every block.
  virtual void enterBlock(TileBuilder &, ValueRange /*state*/) {}
  /// `score` is in units of log2, before the mask.
  virtual ForwardWeights emit(TileBuilder &t, Value score, ValueRange state) = 0;
  /// Returns the sums after the block; `sums` are those before it.
  virtual SmallVector<Value> emitSums(TileBuilder &, ValueRange /*sums*/) { return {}; }

  /// Called after the stream: sets attributes, returns the output, and stores what else is kept.
  virtual void annotate(StreamOp) {}
  virtual Normalized emitOutput(TileBuilder &, ValueRange /*state*/, Value o) {
    return {o, {}, {}};
  }
  virtual void store(TileBuilder &, ValueRange /*state*/, ValueRange /*sums*/) {}

  /// Returns true if parts of a row's keys can be visited separately, and their states merged.
  virtual bool merges() const { return true; }
  /// Returns the state of a part without keys. Unlike `start`, it includes no sink.
  virtual SmallVector<Value> startPart(TileBuilder &t) { return start(t); }
  /// Merges the states of two parts; in the order of the stage, `first` is before `second`.
  virtual MergedState merge(TileBuilder &, ValueRange /*first*/, ValueRange /*second*/) {
    return {};
  }

protected:
  const Attention &a;
};

/// The cotangents of one block in a backward stage.
struct WeightCotangents {
  Weights weights;
  Value factor;   ///< on the weights; null: 1
  Value products; ///< <dO, v>, plus `BackwardPass::startOfProducts`
  ValueRange carries;
};

/// The parts of one backward stage that depend on the normalizer, called in this order.
class BackwardPass {
public:
  explicit BackwardPass(const Attention &attention) : a(attention) {}
  virtual ~BackwardPass() = default;

  virtual Order order() const { return Order::Any; }
  /// Returns true if the weights are needed until the cotangents of the scores are known. Otherwise
  /// the gradient of the values is computed first, so that fewer values over pairs are live at
  /// once.
  virtual bool keepsWeights() const { return false; }
  /// Loads what the stage needs of every row, and returns the start values of its carries. `dO` is
  /// the cotangent of the output as contractions read it.
  virtual SmallVector<Value> start(TileBuilder &, Value /*dO*/) { return {}; }

  virtual void enterBlock(TileBuilder &) {}
  /// Returns the start value of the scores, over rc or r; `terms` may be null.
  virtual Value startOfScores(TileBuilder &, Value terms) { return terms; }
  /// `score` is in units of log2 and includes the start value.
  virtual Weights emitWeights(TileBuilder &t, Value score) = 0;
  /// Returns the start value of <dO, v>, over r, or null.
  virtual Value startOfProducts(bool /*hasFactor*/) const { return {}; }
  /// Returns the cotangents of the scores, then the next carries.
  virtual SmallVector<Value> emitScores(TileBuilder &t, const WeightCotangents &cotangents) = 0;

  /// Called after the stream: sets attributes, and stores gradients of rows.
  virtual void annotate(StreamOp) {}
  virtual void store(TileBuilder &) {}

protected:
  const Attention &a;
};

/// Scalars of one type for two parts of a row's keys, and for its sink; null without a sink.
struct MergeParts {
  Value first, second, sink;
};

/// Merges the results over two parts of a row's keys. The statistic of a part is its second result
/// (pe.attention).
class MergeRule {
public:
  enum class Slot { First, Second, Sink, Whole };
  /// Receives a value as soon as it is known.
  using Write = llvm::function_ref<void(Slot, Value)>;

  virtual ~MergeRule() = default;
  /// Returns true if the weight of the first part is not always 1.
  virtual bool weighsFirst() const = 0;
  /// Writes the weights of the outputs of both parts (not that of the first if it is always 1), the
  /// weight of the sink, and the statistic of the whole, given the statistics of the parts and the
  /// logit of the sink.
  virtual void merge(Scalar &s, const MergeParts &statistics, Write write) const = 0;
  /// Writes the cotangents of the statistics of both parts and of the sink's logit. `products` are
  /// the inner products of the outputs with the cotangent of the whole.
  virtual void reverse(Scalar &s, const MergeParts &weights, const MergeParts &products,
                       Value dStatistic, Write write) const = 0;
};

/// A map from scores to weights.
class Normalizer {
public:
  virtual ~Normalizer() = default;
  static const Normalizer &of(pe::Normalizer kind);

  /// Returns true if the cotangent of a score contains the inner product of its row's output with
  /// the output's cotangent.
  virtual bool readsOutput() const { return false; }
  /// Returns the least factor that scores may lack in a forward stage (ForwardScores), or nothing
  /// if the pass needs them in units of log2.
  virtual std::optional<double> leastUnit(const Attention &) const { return std::nullopt; }
  /// Creates the buffer that the forward stage writes for the backward stage (Attention::residual),
  /// or returns null if it writes none. Called if gradients are wanted.
  virtual Value createResidual(PlanContext &, const Twine & /*attention*/) const { return {}; }
  /// `unit` is the factor that converts scores to units of log2.
  virtual std::unique_ptr<ForwardPass> forward(const Attention &attention, double unit) const = 0;
  virtual std::unique_ptr<BackwardPass> backward(const Attention &attention) const = 0;
  /// Returns the rule for pe.merge, or null if the dialect refuses it for this normalizer.
  virtual const MergeRule *mergeRule() const { return nullptr; }
};

/// Merges states of a maximum and of a sum relative to it. `power` maps a maximum and the larger
/// one to the factor that the sum gains.
MergedState mergeSums(TileBuilder &t, ValueRange first, ValueRange second, ScalarFn power);

/// Write the stages of an attention. With `context.fewRows`, the forward half has a second form for
/// calls with at most so many rows (AttentionForward.cpp).
void emitForward(PlanContext &context, const Attention &attention);
void emitBackward(TileBuilder &plan, const Attention &attention);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_NORMALIZER_H
