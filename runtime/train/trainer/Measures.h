//===- Measures.h - Measures of weights and neurons -------------*- C++ -*-===//
//
// For every matrix between embedding and head, with singular values s and smaller dimension n:
//
//   dfi              |X^T X - I|_F^2 / n, the deviation from isometry per dimension
//   stable rank      sum s^2 / max s^2
//   effective rank   exp(entropy of s / sum s) (Roy and Vetterli, EUSIPCO 2007)
//
//   SFE              |X - Y|_F^2, the squared distance from older weights Y, if they are given
//
// and the norms of its values and of its last gradient. Requires blas::load().
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_MEASURES_H
#define PE_RUNTIME_TRAIN_TRAINER_MEASURES_H

#include "runtime/train/trainer/Trainer.h"

#include <map>
#include <optional>

namespace pe::train {

struct MatrixMeasures {
  std::string name;
  double norm = 0, gradientNorm = 0, dfi = 0, stableRank = 0, effectiveRank = 0;
  std::optional<double> sfe = {};
};

/// The weights of a model, by name.
using NamedWeights = std::map<std::string, Tensor>;

/// Measures values[rows, columns]. The ranks of a matrix that is zero or not finite are 0.
MatrixMeasures measureMatrix(std::string name, int64_t rows, int64_t columns, const float *values,
                             const float *gradient);
/// Measures all matrices. `against` contains older weights with every matrix in its shape
/// (readWeights).
std::vector<MatrixMeasures> measureMatrices(Trainer &trainer,
                                            const NamedWeights *against = nullptr);

struct DormantShare {
  /// "layer0.mlp".
  std::string layer;
  double share = 0;
};

/// Returns, for each layer, the share of neurons whose activity in the last forward call was at
/// most `tau` times the layer's mean. The result is empty if the model does not record activity.
std::vector<DormantShare> dormantShares(Trainer &trainer, double tau);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_MEASURES_H
