//===- Checks.h - Whether a model can be trained at all ---------*- C++ -*-===//
//
// `--check=gradients`: every parameter's gradient against differences of the loss.
// `--check=overfit`: whether one batch is learned by heart, as any model must.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_CHECKS_H
#define PE_RUNTIME_TRAIN_SESSION_CHECKS_H

#include "runtime/train/session/Session.h"

#include <cmath>
#include <cstdio>

namespace pe::train {

/// The slope of the loss along one direction in the space of a parameter: the gradient's, and that
/// of the loss itself.
struct GradientCheck {
  std::string name;
  double derived = 0, measured = 0;
  /// How far apart they may be: a share of the gradient's norm and the rounding of the loss.
  double bound = 0;

  bool isGood() const { return std::abs(derived - measured) <= bound; }
};

/// One per parameter that is trained, on the first batch. The weights are left as they were.
Expected<std::vector<GradientCheck>> checkGradients(Session &session);
/// As a table; an error names what is wrong.
Status printGradientChecks(const std::vector<GradientCheck> &checks, std::FILE *stream);

struct OverfitCheck {
  double firstLoss = 0, lastLoss = 0;
  int64_t steps = 0;
  /// A tenth of the first loss was reached.
  bool isGood() const { return lastLoss <= firstLoss / 10; }
};

/// Trains on the first batch alone, until a tenth of the first loss or for all steps of the run.
Expected<OverfitCheck> overfitOneBatch(Session &session);
Status printOverfitCheck(const OverfitCheck &check, std::FILE *stream);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_CHECKS_H
