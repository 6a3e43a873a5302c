//===- Stopwatch.h - Times of the parts of a step ---------------*- C++ -*-===//
//
// Records consecutive named time spans on the thread that calls the model; work that runs on all
// threads at once is one span. Nothing is measured without a stopwatch.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_STOPWATCH_H
#define PE_RUNTIME_TRAIN_MODEL_STOPWATCH_H

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pe::train {

class Stopwatch {
public:
  struct Span {
    const char *part = nullptr;
    /// Microseconds since the stopwatch was created.
    double begin = 0, length = 0;
  };
  /// The maximum number of stored spans. Further spans only count towards the totals.
  static constexpr size_t kMostSpans = 100000;

  /// Ends the current span and begins `part`, a string literal; null only ends the current span.
  void start(const char *part) {
    const double now = microseconds();
    if (current) {
      sums[current] += now - begin;
      if (list.size() < kMostSpans)
        list.push_back({current, begin, now - begin});
    }
    current = part;
    begin = now;
  }

  const std::vector<Span> &spans() const { return list; }
  /// Returns the microseconds of each part.
  const std::map<std::string, double> &totals() const { return sums; }

private:
  double microseconds() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - origin)
        .count();
  }

  std::chrono::steady_clock::time_point origin = std::chrono::steady_clock::now();
  const char *current = nullptr;
  double begin = 0;
  std::vector<Span> list;
  std::map<std::string, double> sums;
};

/// Begins a part if there is a stopwatch.
inline void startPart(Stopwatch *watch, const char *part) {
  if (watch)
    watch->start(part);
}

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_STOPWATCH_H
