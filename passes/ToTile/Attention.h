//===- Attention.h - interface of the attention algorithms at tile level --===//
//
// One attention of a plan and the objects that its stages ask: terms of the score, a function of
// the score, factors on the weights, and the normalizer (Normalizer.h). Stages access biases only
// through `ScoreTerms`.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_ATTENTION_H
#define PE_PASSES_TOTILE_ATTENTION_H

#include "dialect/PE/PENormalizer.h"
#include "passes/ToTile/TileBuilder.h"

namespace mlir::tile {

/// log2(e). Scores are kept in units of log2, so that every exponential is an exp2.
constexpr double kLog2E = 1.4426950408889634;
/// The score of a masked pair. It is finite because minus infinity would give inf - inf.
constexpr double kMasked = -1.0e30;
/// The lower bound of a softmax's running maximum. Masked scores and biases of minus infinity are
/// so far below it that exp2 of the difference is 0, so such rows need no special case.
constexpr double kLeastMaximum = kMasked / 10;
/// Stick-breaking stops when the mass left on every row is below this (docs/numerics.md).
constexpr double kStopBelow = 1.0e-9;

/// The terms that an attention adds to its scores.
class ScoreTerms {
public:
  virtual ~ScoreTerms() = default;
  /// Returns true if `emit` adds nothing.
  virtual bool isEmpty() const = 0;
  /// Returns the sum of all terms at each pair, in units of log2, or null if there are none. Called
  /// inside the stream.
  virtual Value emit(TileBuilder &t) = 0;
  /// Returns the sum of the terms that depend only on the query, over r and in units of log2, if
  /// such terms change no weight; `emit` then omits them. Null if there are none.
  virtual Value emitRowShift(TileBuilder &t) = 0;
  /// Returns the spaces of the folds that the gradients of all terms need.
  virtual SmallVector<SpaceSet> gradientFolds() const = 0;
  /// Adds the gradients of all terms, given the cotangent of the scores in natural units, and
  /// returns the contributions to their folds. Called inside the backward stream.
  virtual SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) = 0;
  /// Stores the sums of the folds. Called after the stream.
  virtual void storeFolds(TileBuilder &t, ValueRange folds) = 0;
};

/// A score and the values that its gradient needs if a function was applied to it.
struct Score {
  Value value;   ///< in units of log2, including the terms
  Value product; ///< before the function, in natural units; null if there is no function
  Value slope;   ///< the derivative of the function at `product`; null if absent or not requested
};

/// A function of the scaled score, before terms are added.
class ScoreTransform {
public:
  virtual ~ScoreTransform() = default;
  /// Returns f(product) + start; `start` is in units of log2 and may be null.
  virtual Score emit(TileBuilder &t, Value product, Value start, bool withSlope) = 0;
  /// Adds the gradients of its parameters, given the cotangent of the new score in natural units,
  /// and returns the cotangent of the product.
  virtual Value emitGradient(TileBuilder &t, const Score &score, Value cotangent) = 0;
};

/// A logit that joins the denominator of every softmax row and has no value vector.
class StatisticsStart {
public:
  virtual ~StatisticsStart() = default;
  /// Returns the maximum and the sum of a row without keys, both over r. The maximum is in units of
  /// log2 divided by `unit`.
  virtual std::pair<Value, Value> emit(TileBuilder &t, double unit) = 0;
  /// Returns the logit's part of a row's gradient, to be stored after the stream, or null if no
  /// gradient is needed. `subtrahend` is the value subtracted from scores (in units of log2),
  /// `rowConstant` the cotangent of log-sum-exp minus delta; both are over r.
  virtual Value emitGradient(TileBuilder &t, Value subtrahend, Value rowConstant) = 0;
  virtual void storeGradient(TileBuilder &t, Value gradient) = 0;
};

/// A factor on the weight of every pair, applied after normalization; statistics exclude it.
class WeightFactor {
public:
  virtual ~WeightFactor() = default;
  /// Returns the factor over r and c. It is finite wherever `weight` is 0; `weight` has the same
  /// zeros as the weights of the excluded pairs. Called inside the stream.
  virtual Value emit(TileBuilder &t, Value weight) = 0;
  /// Returns true if the factor has parameters that need gradients.
  virtual bool isLearned() const = 0;
  /// Adds the gradients of the factor's parameters. `cotangent` is the weight times the inner
  /// product of the output's cotangent with the value. Called in the block of the last call of
  /// `emit`.
  virtual void emitGradient(TileBuilder &t, Value cotangent) = 0;
};

/// A vector of i - j that is added to the value of the key of every pair.
class ValueContent {
public:
  virtual ~ValueContent() = default;
  /// Adds the buffers and prepare stages.
  virtual LogicalResult prepare() = 0;

  /// Returns the number of sums over a row's keys that the forward stream carries; they start at 0.
  virtual unsigned carries() const = 0;
  /// Called inside the forward stream. Scores are in units of log2, weights are relative to the
  /// running maximum, and only the weights include `factor` (null: 1). The previous carries are
  /// multiplied by `decay`.
  virtual SmallVector<Value> emitForward(TileBuilder &t, Value score, Value factor, Value weights,
                                         Value decay, ValueRange carries) = 0;
  /// Called after the stream. Stores the output without the vectors, and the values that the
  /// vectors need of each row. `factor` is the factor of the weights relative to `maximum`.
  virtual void storeForward(TileBuilder &t, Value output, Value maximum, Value factor,
                            ValueRange carries) = 0;
  /// Adds the stage that adds the vectors to the output.
  virtual void emitOutput() = 0;

  /// Adds the stages that precede the backward stage.
  virtual void prepareBackward() = 0;
  /// Returns the inner product of the vector with the output's cotangent, over pairs.
  virtual Value emitCotangent(TileBuilder &t) = 0;
  /// Handle the folds of the gradient: return their spaces, return their contributions for given
  /// weights, and store their sums after the stream.
  virtual SmallVector<SpaceSet> gradientFolds() const = 0;
  virtual SmallVector<Value> emitGradient(TileBuilder &t, Value weights) = 0;
  virtual void storeFolds(TileBuilder &t, ValueRange folds) = 0;
  /// Adds the finish stages.
  virtual void finish() = 0;
};

/// Scalar code of a mask, which excludes some of the stage's pairs.
class PairPredicate {
public:
  virtual ~PairPredicate() = default;
  /// Returns 1 over r and c where the code returns true, and 0 elsewhere. Called inside the stream.
  virtual Value emit(TileBuilder &t) = 0;
};

class Normalizer;

/// Queries, keys, values, and the buffers of their gradients (null without gradients).
struct Rows {
  Value q, k, v, dQ, dK, dV;
};
/// As the entry function gives them. Content terms read these.
struct GivenRows : Rows {};
/// With gradients that leave out those of content terms (Contents).
struct ProductRows : Rows {};
/// As kernels read and write them, after prologues (Prologues::prepare).
struct KernelRows : Rows {};

/// One attention of the plan: its buffers (null if absent) and options.
struct Attention {
  /// `start` is null if the statistics of a row include only its keys.
  Attention(std::string name, const Normalizer &normalizer, const pe::NormalizerTraits &traits,
            StatisticsStart *start = nullptr)
      : name(std::move(name)), normalizer(&normalizer), traits(&traits), start(start) {}

  std::string name; // the prefix of its stages
  const Normalizer *normalizer;
  const pe::NormalizerTraits *traits;
  StatisticsStart *start;
  KernelRows rows;
  Value o;
  Value oRest;     // the output minus its rounded value, or null
  Value oWide;     // the output before it is rounded, in f32, or null
  Value residual;  // of the forward stage for the backward stage, as the normalizer defines it
  Value statistic; // the second result: log-sum-exp with all terms, or the log of the mass left
  Value rest;      // the final mass left, -1 at negative positions (stick-breaking)
  Value dO, dStatistic;
  Value dRest;   // the cotangent of `rest`
  Type operands; // element type of contraction operands: that of the activations, or tf32
  Value pairs;   // the included pairs
  PairPredicate *predicate = nullptr; // null: excludes no pair
  double scale = 1.0;
  bool isAfter = false; // stick-breaking over the keys after a query instead of those before it
  bool earlyExit = true;
  ScoreTerms *terms = nullptr;
  ScoreTransform *transform = nullptr; // null: the identity
  WeightFactor *factor = nullptr;      // null: 1
  ValueContent *content = nullptr;     // null: adds nothing to the values

  /// Returns true if adding a constant to all scores of a row changes no weight.
  bool isShiftInvariant() const { return traits->isShiftInvariant && !start; }
};

/// Emits scores in units of log2. f32 queries are multiplied by the scale before the contraction.
/// Narrower operands are multiplied unscaled, exactly, and the product is scaled in f32, which
/// avoids a rounding.
struct ScoreEmitter {
  const Attention &attention;
  Value q; // the operand that is multiplied with the keys

  ScoreEmitter(TileBuilder &t, const Attention &attention, Value rawQ);
  static bool scalesLater(const Attention &a) { return !a.operands.isF32(); }
  bool scalesLater() const { return scalesLater(attention); }
  /// Returns the factor on the product. A score function takes its argument in natural units.
  static double factor(const Attention &a) { return a.scale * (a.transform ? 1.0 : kLog2E); }
  double factor() const { return factor(attention); }
  /// Returns <q, k> + start; `start` (over rc or r, in units of log2) may be null.
  Value emit(TileBuilder &t, Value k, Value start) const {
    return emitScore(t, k, start, /*withSlope=*/false).value;
  }
  Score emitScore(TileBuilder &t, Value k, Value start, bool withSlope = true) const;
};

/// Returns `input` at included pairs and `fill` at all others.
Value masked(TileBuilder &t, const Attention &attention, Value input, double fill);

/// Returns the cotangent of the product, given the cotangent of the score.
Value backThrough(TileBuilder &t, const Attention &attention, const Score &score, Value cotangent);

/// Returns the product of two values over pairs, or the first one if the second is null.
Value pairProduct(TileBuilder &t, Value a, Value b);

/// Loads a panel of activations and rounds it to the operand type.
Value loadOperand(TileBuilder &t, const Attention &attention, Value buffer, const SpaceSet &spaces);

/// Returns -<dO, o> of every row, plus the cotangent of the statistic if given: the constant that
/// cotangents of scores contain if weights are divided by a sum over their row.
Value emitRowConstant(TileBuilder &t, const Attention &attention, Value dO);

/// Returns the residual in units of log2, for a residual that is the logarithm of the sum by which
/// weights are divided. It is plus infinity for a row whose sum is 0, so that exp2 of any score
/// minus it is 0.
Value emitSubtrahend(TileBuilder &t, const Attention &attention);

/// Emits exp2(z), the odds of the sigmoid of z, or the odds of `most`: the sigmoid is exactly 1 in
/// f32 long before 2^120, which is finite.
Value emitOdds(Scalar &s, Value z, double most = 120.0);

/// Creates a stage in the plan and returns a builder inside it. Calls run the stage if the size
/// expression `when` is empty or positive.
TileBuilder beginStage(TileBuilder &plan, StringRef name, Phase phase, ArrayRef<StringRef> over,
                       Value pairs = {}, StringRef when = "");

/// Returns the folds of both backward algorithms: the gradients of q, k and v, then those of the
/// terms.
SmallVector<Type> backwardFolds(TileBuilder &t, const Attention &attention);
/// Scales and stores the gradients after a backward stream.
void storeGradients(TileBuilder &t, const Attention &attention, ValueRange folds);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_ATTENTION_H
