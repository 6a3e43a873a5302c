//===- Attention.h - Attention of float64, row by row -----------*- C++ -*-===//
//
// For every batch b, head h and query row i, over the keys j that the mask allows:
//
//   z_j = f(scale * <R_i (q_i + u_h), R_j k_j>) + bias_h(i, j) + content terms (Content.h)
//
// where f is the function of the score, if any, and
//
//   softmax           A_j = exp(z_j) / (sum of exp(z_l) + exp(s_i))   s_i: the sink, if any
//
//   stick-breaking    A_j = sigma(z_j) * product over j < l < i of sigma(-z_l), and j < i only
//                     (with attendsCurrent j <= i, in the product too)
//
//   o_i = sum of A_j f_ij (v_j + P(i - j)) (+ R_i v_i where the remainder is kept: R_i is the
//   product of all
//         sigma(-z_l), and the mask keeps the query's own key)
//
// where P is 0 without a vector that joins the values, and f_ij is the product of the factors, of
// dropout 1 / (1 - p) or 0, by the words of Philox 4x32-10. With both sides, o_i is the mean of
// that and of the same with the order of keys reversed, over the keys after the query;
//
// and the reverse of each step with hand-written derivatives. A row takes O(keys) memory; nothing
// of size queries x keys is stored. Heads run on several threads; sums over heads are taken in
// order, so the result does not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_ATTENTION_H
#define PE_RUNTIME_REFERENCE_ATTENTION_H

#include "pe/DType.h"
#include "runtime/reference/Array.h"
#include "runtime/reference/Content.h"
#include "runtime/reference/Masks.h"
#include "runtime/reference/Rotations.h"
#include "runtime/reference/ScalarGraph.h"

#include <optional>

namespace pe::reference {

enum class Normalizer : uint8_t { Softmax, StickBreaking };

/// Sizes and global positions of one attention.
struct AttentionSizes {
  int64_t batch = 0;
  int64_t queryHeads = 0;
  int64_t keyHeads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t headDim = 0;
  int64_t valueDim = 0;
  int64_t queryStart = 0;
  int64_t keyStart = 0;
  int64_t headStart = 0;
  int64_t headsTotal = 0;
};

/// Everything but the tensors.
struct AttentionProblem {
  AttentionSizes sizes;
  Normalizer normalizer = Normalizer::Softmax;
  /// Of stick-breaking: whether a query's own key takes part, whether the mass that is left goes to
  /// the query's own value, and whether keys on both sides are attended to.
  bool attendsCurrent = false;
  bool keepsRemainder = false;
  bool hasBothSides = false;
  /// Rows at negative positions are rows like others: nothing reads a position.
  bool isUnplaced = false;
  /// Whether a query at row i may take the key at column j but for the mask.
  bool isOrdered(int64_t i, int64_t j) const {
    if (i < 0 && !isUnplaced)
      return false;
    if (normalizer == Normalizer::Softmax)
      return true;
    return j == i ? attendsCurrent : j < i || hasBothSides;
  }
  double scale = 1.0;
  Mask mask;
  PairPositions positions;
  std::vector<Rotation> rotations;
  /// Rounds values as a computation in this type has to (Reference.h).
  std::optional<DType> rounding;
  /// The sum of the biases, or none.
  std::optional<NodeId> bias;
  /// Terms of the query and the distance, added like biases.
  std::vector<ContentProblem> contents;
  /// The vector of the distance that joins the value of every key, or none.
  std::optional<NodeId> valueContent;
  /// Vectors that are added to the queries before the rotation, [heads, D] in the pack of
  /// parameters.
  std::vector<int64_t> queryShifts;
  /// A function of the scaled score, applied before the biases are added.
  std::optional<NodeId> score;
  /// A logit of the row that joins the softmax denominator, or none.
  std::optional<NodeId> sink;
  /// The product of the factors on weights, or none.
  std::optional<NodeId> factor;
  const ScalarGraph *graph = nullptr;
  const ParameterPack *parameters = nullptr;

  bool hasVectors() const { return !contents.empty() || valueContent || !queryShifts.empty(); }
  /// The elements that biases, rotations and the function of the score read.
  int64_t parameterCount() const { return parameters ? parameters->size() : 0; }
};

struct AttentionInputs {
  const Array &q; ///< [B, Hq, Sq, D]
  const Array &k; ///< [B, Hkv, Sk, D]
  const Array &v; ///< [B, Hkv, Sk, Dv]
};

/// A score that is NaN or +inf, and the part that made it so.
struct BadScore {
  double score = 0.0;
  std::string part; ///< "the bias", "the function of the score" or "the score"
  int64_t batch = 0, head = 0, i = 0, j = 0;
};

struct AttentionOutputs {
  Array o; ///< [B, Hq, Sq, Dv]
  /// [B, Hq, Sq]: log of the sum of exp(z) for softmax (-inf for a row without keys), log of the
  /// remaining mass for stick-breaking (0 for a row without keys).
  Array lse;
  /// The magnitude of the terms that o and lse sum, [B, Hq, Sq]: sum of A_j |v_j|, and
  /// |max z| + |log of the sum of exp(z - max z)| (0 for stick-breaking, where nothing cancels).
  Array oTerms;
  Array lseTerms;
  /// The largest |z| of a pair whose weight A is at least kCountedWeight.
  double maxLogit = 0.0;
  /// Reads of the bias, the functions of scores and weights, the sink and the mask.
  ReadTally reads;
  /// The first pair, in the order of heads and rows, whose score is NaN or +inf.
  std::optional<BadScore> badScore;
};

/// A pair of less weight does not limit the accuracy of a result: a score of -1e9 that masks a pair
/// does not count as a logit of 1e9.
inline constexpr double kCountedWeight = 1e-9;

/// In term and noise magnitudes a weight counts as at least this: in f32 it may stay at a few times
/// the smallest normal number (2^-126) where it vanishes in float64 (8 * 2^-24 of this is 2^-121).
inline constexpr double kLeastWeight = 0x1p-100;

struct AttentionCotangents {
  const Array *o = nullptr; ///< null: zero
  const Array *lse = nullptr;
};

/// A gradient with, per element, the square of the rounding noise it would carry if every term that
/// cancels in dz had a relative error of one: sum over pairs of (s_ij * dz_ij/dx)^2, where s is
/// dz = A (dA - sum of A dA) with absolute values in place of every term. In a saturated row dz is
/// zero and only s tells how large a legitimate rounding error may be. (For q and k it is computed
/// in rotated coordinates.)
struct NoisyGradient {
  Array sum;
  Array noiseSquared;
};

struct AttentionGradients {
  NoisyGradient q;
  NoisyGradient k;
  Array v;
  /// The magnitude of the terms that the gradient of v sums, [B, Hkv, Sk]: sum of A_ij |dO_i|.
  Array vTerms;
  ParameterGradients parameters;
  /// The sum over pairs of s_ij^2 (NoisyGradient): the scale for a parameter's gradient whose own
  /// derivative is 0 for every pair.
  double biasNoiseSquared = 0.0;
};

AttentionOutputs attend(const AttentionProblem &problem, const AttentionInputs &inputs,
                        unsigned threads);

AttentionGradients attendReverse(const AttentionProblem &problem, const AttentionInputs &inputs,
                                 const AttentionCotangents &cotangents, unsigned threads);

/// A 16-bit computation gets its operands in that type and keeps its results in it; a tf32
/// computation rounds operands and nothing else.
inline bool roundsResults(DType rounding) { return rounding != DType::TF32; }
/// The largest relative error of rounding to the type.
inline double roundoffOf(DType dtype) { return dtype == DType::BF16 ? 0x1p-8 : 0x1p-11; }
/// To the nearest number of the type: bf16 and f16 with ties to even, tf32 away from zero.
void roundAll(std::vector<double> &values, DType dtype);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ATTENTION_H
