//===- Plateau.h - Detection of a plateau of the held-out loss --*- C++ -*-===//
//
// Fits a least-squares line through the last evaluations. The loss is falling while the slope is
// below zero by more than twice its standard error; otherwise it is on a plateau. One noisy
// evaluation is not enough to decide.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_PLATEAU_H
#define PE_RUNTIME_TRAIN_SESSION_PLATEAU_H

#include "runtime/train/trainer/State.h"

#include <vector>

namespace pe::train {

/// The slope per evaluation of the least-squares line through at least three values.
struct Trend {
  double slope = 0, standardError = 0;
  bool falls() const { return slope < -2 * standardError; }
};
Trend trendOf(const std::vector<double> &values);

class PlateauWatch {
public:
  explicit PlateauWatch(int64_t window) : values(window) {}

  void add(double value);
  /// Returns true if the window is full and its values do not fall.
  bool onPlateau() const;
  /// Removes all values: the window must fill again before the next plateau.
  void clear();
  std::vector<StatePart> state();

private:
  /// The values in order of time; only the last `count` are valid.
  std::vector<double> values;
  int64_t count = 0;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_PLATEAU_H
