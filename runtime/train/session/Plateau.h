//===- Plateau.h - Whether the held-out loss still falls --------*- C++ -*-===//
//
// A least-squares line through the last evaluations: while its slope is below zero by more than
// twice its standard error the loss falls, otherwise it is on a plateau. One noisy evaluation
// decides nothing.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_PLATEAU_H
#define PE_RUNTIME_TRAIN_SESSION_PLATEAU_H

#include "runtime/train/trainer/State.h"

#include <vector>

namespace pe::train {

/// The slope for each evaluation of the least-squares line through `values`, at least three.
struct Trend {
  double slope = 0, standardError = 0;
  bool falls() const { return slope < -2 * standardError; }
};
Trend trendOf(const std::vector<double> &values);

class PlateauWatch {
public:
  explicit PlateauWatch(int64_t window) : values(window) {}

  void add(double value);
  /// The window is full, and its values do not fall.
  bool onPlateau() const;
  /// Forgets all values: a whole window must fill before the next plateau.
  void clear();
  std::vector<StatePart> state();

private:
  /// The newest last; only `count` of them are there.
  std::vector<double> values;
  int64_t count = 0;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_PLATEAU_H
