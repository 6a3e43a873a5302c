//===- AttentionProblem.h - An attention and its results in float64 ---*- C++ -*-===//
#ifndef PE_RUNTIME_REFERENCE_ATTENTIONPROBLEM_H
#define PE_RUNTIME_REFERENCE_ATTENTIONPROBLEM_H

#include "pe/DType.h"
#include "runtime/reference/Array.h"
#include "runtime/reference/Content.h"
#include "runtime/reference/Masks.h"
#include "runtime/reference/Rotations.h"
#include "runtime/reference/RowNormalizer.h"
#include "runtime/reference/ScalarGraph.h"

#include <optional>

namespace pe::reference {

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

/// An attention without its input tensors.
struct AttentionProblem {
  AttentionSizes sizes;
  const Normalizer *normalizer = nullptr;
  /// Only if the normalizer orders keys: a query's own key takes part; the remaining mass goes to
  /// the query's own value; keys on both sides take part.
  bool attendsCurrent = false;
  bool keepsRemainder = false;
  bool hasBothSides = false;
  /// Positions are not read, so rows at negative positions are computed like others.
  bool isUnplaced = false;
  /// Returns true if a query at row i may attend to the key at column j, apart from the mask.
  bool isOrdered(int64_t i, int64_t j) const {
    if (i < 0 && !isUnplaced)
      return false;
    if (!normalizer->ordersKeys())
      return true;
    return j == i ? attendsCurrent : j < i || hasBothSides;
  }
  double scale = 1.0;
  Mask mask;
  PairPositions positions;
  std::vector<Rotation> rotations;
  /// Rotates every value, and every output by the transposed matrix.
  std::optional<Rotation> valueRotation;
  /// The rotations turn only queries; keys are given turned.
  bool keysAreTurned = false;
  /// The type to whose precision values are rounded (Reference.h).
  std::optional<DType> rounding;
  /// The sum of the biases.
  std::optional<NodeId> bias;
  /// Content terms: functions of the query and the distance, added like biases.
  std::vector<ContentProblem> contents;
  /// The vector P of the distance that is added to the value of each key.
  std::optional<NodeId> valueContent;
  /// Offsets in the pack of the vectors, [heads, D], that are added to the queries before the
  /// rotation.
  std::vector<int64_t> queryShifts;
  /// The score function, applied to the scaled score before the biases are added.
  std::optional<NodeId> score;
  /// The sink: a logit of the row that takes part of the mass.
  std::optional<NodeId> sink;
  /// The product of the factors on the weights.
  std::optional<NodeId> factor;
  const ScalarGraph *graph = nullptr;
  const ParameterPack *parameters = nullptr;

  bool hasVectors() const { return !contents.empty() || valueContent || !queryShifts.empty(); }
  /// The number of elements that biases, rotations, the score function and so on read.
  int64_t parameterCount() const { return parameters ? parameters->size() : 0; }
};

struct AttentionInputs {
  const Array &q; ///< [B, Hq, Sq, D]
  const Array &k; ///< [B, Hkv, Sk, D]
  const Array &v; ///< [B, Hkv, Sk, Dv]
};

/// A score that is NaN or +inf, and its cause.
struct BadScore {
  double score = 0.0;
  std::string part; ///< "the bias", "the score function" or "the score"
  int64_t batch = 0, head = 0, i = 0, j = 0;
};

struct AttentionOutputs {
  Array o; ///< [B, Hq, Sq, Dv]
  /// [B, Hq, Sq]: the statistic of the normalizer; 0 if it has none.
  Array lse;
  /// The magnitude of the terms that o and lse sum, [B, Hq, Sq]: sum of A_j |v_j|, and
  /// Normalizer::statisticTerms.
  Array oTerms;
  Array lseTerms;
  /// If the normalizer amplifies errors of logits, the sum of |error of A_j| |v_j| (NormalizerRow),
  /// [B, Hq, Sq]; otherwise 0.
  Array oErrors;
  /// The largest |z| of a pair whose weight A, or |dA/dz| if it may be larger, is at least
  /// kCountedWeight.
  double maxLogit = 0.0;
  /// Reads of the bias, the score function, the factors, the sink and the mask.
  ReadTally reads;
  /// The first pair, in the order of heads and rows, whose score is NaN or +inf.
  std::optional<BadScore> badScore;
};

/// A pair of smaller weight does not limit the accuracy of a result: a score of -1e9 that masks a
/// pair does not count as a logit of 1e9.
inline constexpr double kCountedWeight = 1e-9;

struct AttentionCotangents {
  const Array *o = nullptr; ///< null: zero
  const Array *lse = nullptr;
};

/// A gradient and, for each element, the square of the rounding noise it would have if each term
/// that cancels in dz had a relative error of one: sum over pairs of (s_ij * dz_ij/dx)^2, where s
/// is dz = A (dA - sum of A dA) with every term replaced by its absolute value. In a saturated row
/// dz is zero and only s bounds a legitimate rounding error. (For q and k it is computed in rotated
/// coordinates.)
///
/// If the normalizer amplifies errors of logits, also the square of the effect of these errors, sum
/// over pairs of (error of dz_ij * dz_ij/dx)^2 (NormalizerRow); otherwise 0.
struct NoisyGradient {
  Array sum;
  Array noiseSquared;
  Array errorSquared;
};

struct AttentionGradients {
  NoisyGradient q;
  NoisyGradient k;
  Array v;
  /// The magnitude of the terms that the gradient of v sums, [B, Hkv, Sk]: sum of A_ij |dO_i|.
  Array vTerms;
  /// The square of the effect of errors of logits, as in NoisyGradient: sum of (error of A_ij
  /// |dO_i|)^2, [B, Hkv, Sk], and one element per parameter, or none.
  Array vErrorSquared;
  ParameterGradients parameters;
  std::vector<double> parameterErrorSquared;
  /// The sum over pairs of s_ij^2 (NoisyGradient): the scale of a parameter's gradient if db/dtheta
  /// is 0 for each pair.
  double biasNoiseSquared = 0.0;
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ATTENTIONPROBLEM_H
