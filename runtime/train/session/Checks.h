//===- Checks.h - Checks that a model can be trained ------------*- C++ -*-===//
//
// `--check=gradients` compares the gradient of every parameter with differences of the loss.
// `--check=overfit` checks that the model can memorize one batch.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_CHECKS_H
#define PE_RUNTIME_TRAIN_SESSION_CHECKS_H

#include "runtime/train/session/Session.h"

#include <cmath>
#include <cstdio>

namespace pe::train {

/// The slope of the loss along one direction in the space of a parameter: from the gradient, and
/// measured on the loss.
struct GradientCheck {
  std::string name;
  double derived = 0, measured = 0;
  /// The allowed difference: a share of the gradient's norm plus the rounding of the loss.
  double bound = 0;

  bool isGood() const { return std::abs(derived - measured) <= bound; }
};

/// Returns one check per trained parameter, on the first batch. The weights are unchanged.
Expected<std::vector<GradientCheck>> checkGradients(Session &session);
/// Prints a table. Returns an error that names the wrong gradients.
Status printGradientChecks(const std::vector<GradientCheck> &checks, std::FILE *stream);

struct OverfitCheck {
  double firstLoss = 0, lastLoss = 0;
  int64_t steps = 0;
  /// Returns true if the loss fell to a tenth of the first loss.
  bool isGood() const { return lastLoss <= firstLoss / 10; }
};

/// Trains on the first batch only, until a tenth of the first loss is reached or for all steps of
/// the run.
Expected<OverfitCheck> overfitOneBatch(Session &session);
Status printOverfitCheck(const OverfitCheck &check, std::FILE *stream);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_CHECKS_H
