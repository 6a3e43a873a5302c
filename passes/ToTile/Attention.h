//===- Attention.h - the attention algorithms of the tile level ---===//
//
// One file per algorithm: softmax and stick-breaking, forward and backward. Each
// writes one stage of a plan and knows biases only through `ScoreTerms`.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_ATTENTION_H
#define PE_PASSES_TOTILE_ATTENTION_H

#include "passes/ToTile/TileBuilder.h"

namespace mlir::tile {

/// log2(e): scores are kept in units of log2, so that every exponential is an exp2.
constexpr double kLog2E = 1.4426950408889634;
/// The finite number that stands for "masked out"; minus infinity would give inf - inf.
constexpr double kMasked = -1.0e30;
/// A softmax's running maximum is at least this: what is masked out, or has a bias of minus
/// infinity, is so far below it that exp2 of the difference is 0, and no row needs to be told
/// apart.
constexpr double kLeastMaximum = kMasked / 10;
/// Stick-breaking stops when the mass left on every row is below this (docs/numerics.md).
constexpr double kStopBelow = 1.0e-9;

/// What an attention adds to its scores.
class ScoreTerms {
public:
  virtual ~ScoreTerms() = default;
  /// Whether `emit` has nothing to add.
  virtual bool isEmpty() const = 0;
  /// The sum of all terms at each pair, in units of log2; null when there is none. Called inside
  /// the stream.
  virtual Value emit(TileBuilder &t) = 0;
  /// Where a number added to a whole row changes no weight: the sum of the terms of the query
  /// alone, over r and in units of log2; null when there is none. They are no part of `emit`.
  virtual Value emitRowShift(TileBuilder &t) = 0;
  /// The spaces of the folds that the gradients of all terms need.
  virtual SmallVector<SpaceSet> gradientFolds() const = 0;
  /// Adds the gradients of all terms, given the cotangent of the scores in natural units, and
  /// returns the contributions to their folds. Called inside the backward stream.
  virtual SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) = 0;
  /// Stores the folds' sums, behind the stream.
  virtual void storeFolds(TileBuilder &t, ValueRange folds) = 0;
};

/// A score, and what its gradient needs where a function was applied to it.
struct Score {
  Value value;   ///< in units of log2, with the terms
  Value product; ///< before the function, in natural units; null without one
  Value slope;   ///< the function's derivative there; null without one, or where not asked for
};

/// A function of the scaled score, before terms are added.
class ScoreTransform {
public:
  virtual ~ScoreTransform() = default;
  /// f(product) + start, where start (in units of log2) may be null.
  virtual Score emit(TileBuilder &t, Value product, Value start, bool withSlope) = 0;
  /// Adds the gradients of its parameters, given the cotangent of the new score in natural units,
  /// and returns the cotangent of the product.
  virtual Value emitGradient(TileBuilder &t, const Score &score, Value cotangent) = 0;
};

/// A logit that joins the denominator of every row of a softmax and has no value.
class StatisticsStart {
public:
  virtual ~StatisticsStart() = default;
  /// The maximum and the sum of a row without keys, over r; the maximum in units of log2 divided by
  /// `unit`.
  virtual std::pair<Value, Value> emit(TileBuilder &t, double unit) = 0;
  /// Its part of a row's gradient, given what is subtracted from scores (in units of log2) and the
  /// cotangent of log-sum-exp minus delta, both over r. Stored behind the stream; null if nothing
  /// wants it.
  virtual Value emitGradient(TileBuilder &t, Value subtrahend, Value rowConstant) = 0;
  virtual void storeGradient(TileBuilder &t, Value gradient) = 0;
};

/// A factor on the weight of every pair, after the normalizer: statistics take no part.
class WeightFactor {
public:
  virtual ~WeightFactor() = default;
  /// Over r and c, finite where `weight`, which has the same zeros as the weights of pairs that
  /// take no part, is 0. Called inside the stream.
  virtual Value emit(TileBuilder &t, Value weight) = 0;
  /// Whether something wants its gradient.
  virtual bool isLearned() const = 0;
  /// Adds the gradients of its parameters, given its share of the cotangent: the weight times the
  /// inner product of the output's cotangent with the value. In the block where `emit` was called
  /// last.
  virtual void emitGradient(TileBuilder &t, Value cotangent) = 0;
};

/// A vector of i - j for every pair, which joins the value of its key.
class ValueContent {
public:
  virtual ~ValueContent() = default;
  /// Adds the buffers and prepare stages.
  virtual LogicalResult prepare() = 0;

  /// How many sums over the keys of a row the forward stream carries for it; they begin at 0.
  virtual unsigned carries() const = 0;
  /// Inside the forward stream: scores in units of log2 and weights relative to the maximum so far,
  /// `factor` (null: 1) being in the weights alone. Carries so far are multiplied by `decay`.
  virtual SmallVector<Value> emitForward(TileBuilder &t, Value score, Value factor, Value weights,
                                         Value decay, ValueRange carries) = 0;
  /// Behind the stream: stores the output without the vectors, and what they need of each row, with
  /// the maximum of the scores and the factor of weights relative to it.
  virtual void storeForward(TileBuilder &t, Value output, Value maximum, Value factor,
                            ValueRange carries) = 0;
  /// Adds the stage that adds the vectors to the output.
  virtual void emitOutput() = 0;

  /// Adds what comes before the backward stage.
  virtual void prepareBackward() = 0;
  /// The inner product of the vector with the output's cotangent, over pairs.
  virtual Value emitCotangent(TileBuilder &t) = 0;
  /// The spaces of the folds that the gradient needs, their contributions given the weights, and
  /// where their sums go behind the stream.
  virtual SmallVector<SpaceSet> gradientFolds() const = 0;
  virtual SmallVector<Value> emitGradient(TileBuilder &t, Value weights) = 0;
  virtual void storeFolds(TileBuilder &t, ValueRange folds) = 0;
  /// Adds the finish stages.
  virtual void finish() = 0;
};

/// What scalar code of a mask leaves out of the pairs that the stage takes.
class PairPredicate {
public:
  virtual ~PairPredicate() = default;
  /// Over r and c: 1 where the code says true, 0 elsewhere. Called inside the stream.
  virtual Value emit(TileBuilder &t) = 0;
};

/// One attention of the plan: its buffers (null where absent) and options.
struct Attention {
  std::string name; // of its stages
  Value q, k, v, o; // as the kernel reads them: rotated already
  Value lse;        // log-sum-exp without the terms of the query alone (softmax)
  Value lseResult;  // the same with them, or the log of the mass left (stick-breaking)
  Value mass;       // snapshots of the mass left (stick-breaking)
  Value rest;       // the mass left in the end, -1 at negative positions (stick-breaking)
  Value dO, dLse, dQ, dK, dV;
  Value dRest;   // the cotangent of `rest`
  Type operands; // element type of what contractions multiply: that of activations, or tf32
  Value pairs;   // which ones take part
  PairPredicate *predicate = nullptr; // null: all of them
  double scale = 1.0;
  bool isSoftmax = true; // or stick-breaking
  bool isAfter = false;  // stick-breaking over the keys after a query, not those before it
  bool earlyExit = true;
  ScoreTerms *terms = nullptr;
  ScoreTransform *transform = nullptr; // null: the score itself
  StatisticsStart *start = nullptr;    // null: a row's statistics are those of its keys
  WeightFactor *factor = nullptr;      // null: 1
  ValueContent *content = nullptr;     // softmax; null: values alone

  /// Whether a number added to all scores of a row changes no weight.
  bool isShiftInvariant() const { return isSoftmax && !start; }
};

void emitSoftmaxForward(TileBuilder &plan, const Attention &attention);
void emitSoftmaxBackward(TileBuilder &plan, const Attention &attention);
void emitStickBreakingForward(TileBuilder &plan, const Attention &attention);
void emitStickBreakingBackward(TileBuilder &plan, const Attention &attention);

/// The orders in which stick-breaking visits keys.
inline Order nearestFirst(const Attention &a) {
  return a.isAfter ? Order::Ascending : Order::Descending;
}
inline Order farthestFirst(const Attention &a) {
  return a.isAfter ? Order::Descending : Order::Ascending;
}

/// Scores in units of log2. Operands in f32 carry the scale in the queries; narrower ones are
/// multiplied as they are, exactly, and scaled in f32, so that nothing is rounded that need not be.
struct ScoreEmitter {
  const Attention &attention;
  Value q; // what is multiplied with the keys

  ScoreEmitter(TileBuilder &t, const Attention &attention, Value rawQ);
  bool scalesLater() const { return !attention.operands.isF32(); }
  /// What a product is multiplied by: a function of the score takes it in natural units.
  double factor() const { return attention.scale * (attention.transform ? 1.0 : kLog2E); }
  /// <q, k> + start, where start (over rc or r, in units of log2) may be null.
  Value emit(TileBuilder &t, Value k, Value start) const {
    return emitScore(t, k, start, /*withSlope=*/false).value;
  }
  Score emitScore(TileBuilder &t, Value k, Value start, bool withSlope = true) const;
};

/// The value at pairs that take part, `fill` at others.
Value masked(TileBuilder &t, const Attention &attention, Value input, double fill);

/// The cotangent of the product, given that of the score.
Value backThrough(TileBuilder &t, const Attention &attention, const Score &score, Value cotangent);

/// The product of two values over pairs; the first of them where the second is null.
Value pairProduct(TileBuilder &t, Value a, Value b);

/// A panel of activations, rounded to the type of operands.
Value loadOperand(TileBuilder &t, const Attention &attention, Value buffer, const SpaceSet &spaces);

/// Creates a stage in the plan and returns a builder inside it.
TileBuilder beginStage(TileBuilder &plan, StringRef name, Phase phase, ArrayRef<StringRef> over,
                       Value pairs = {});

/// The folds of both backward algorithms: the gradients of q, k and v, then those of the terms.
SmallVector<Type> backwardFolds(TileBuilder &t, const Attention &attention);
/// Their end: scales and stores the gradients.
void storeGradients(TileBuilder &t, const Attention &attention, ValueRange folds);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_ATTENTION_H
