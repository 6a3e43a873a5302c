//===- Measures.h - What weights and neurons look like ----------*- C++ -*-===//
//
// Of every matrix between embedding and head, with singular values s and n of its smaller side:
//
//   dfi              |X^T X - I|_F^2 / n, the deviation from isometry per dimension
//   stable rank      sum s^2 / max s^2
//   effective rank   exp(entropy of s / sum s) (Roy and Vetterli, EUSIPCO 2007)
//
//   SFE              |X - Y|_F^2, the squared distance from older weights Y, where these are given
//
// and the norms of its values and of the last gradient. Needs blas::load().
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

/// Weights of a model, by name.
using NamedWeights = std::map<std::string, Tensor>;

/// Of values[rows, columns]; ranks of a matrix that is zero or not finite are 0.
MatrixMeasures measureMatrix(std::string name, int64_t rows, int64_t columns, const float *values,
                             const float *gradient);
/// `against`: the older weights; every matrix is there in its shape (readWeights).
std::vector<MatrixMeasures> measureMatrices(Trainer &trainer,
                                            const NamedWeights *against = nullptr);

struct DormantShare {
  /// "layer0.mlp".
  std::string layer;
  double share = 0;
};

/// The share of neurons whose activity in the last forward call was at most `tau` of their layer's
/// mean. Nothing where the model does not record it.
std::vector<DormantShare> dormantShares(Trainer &trainer, double tau);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_MEASURES_H
