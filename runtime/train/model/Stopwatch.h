//===- Stopwatch.h - Where the time of a step goes --------------*- C++ -*-===//
//
// Spans of time by name, one after the other, as the thread sees them that calls the model: what
// runs on all threads at once is one span. Without a watch nothing is measured.
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
    /// Since the watch was made, in microseconds.
    double begin = 0, length = 0;
  };
  /// More spans are only summed.
  static constexpr size_t kMostSpans = 100000;

  /// Ends what was measured and begins `part`, a literal; null: nothing.
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
  /// Microseconds by part.
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

/// Begins a part, where there is a watch.
inline void startPart(Stopwatch *watch, const char *part) {
  if (watch)
    watch->start(part);
}

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_STOPWATCH_H
