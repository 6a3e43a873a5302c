//===- TilePlan.h - runs hand-written tile plans --------------------------===//
//
// Compiles one plan of a file through pe-tile-to-loops and runs its stages in order. Buffers are
// found by name in `Tensors`, so that a backward plan finds what the forward plan left. New memory
// is NaN and has guards at both ends: reading before writing and writing outside show.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TEST_PASSES_TOLOOPS_TILEPLAN_H
#define PE_TEST_PASSES_TOLOOPS_TILEPLAN_H

#include "runtime/plan/Plan.h"

#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace pe::test {

struct LoopChoice {
  int rows, columns;
  std::string owner;
};

/// For GoogleTest's messages.
inline void PrintTo(const LoopChoice &choice, std::ostream *out) {
  *out << choice.rows << "x" << choice.columns << " " << choice.owner;
}

class Tensors {
public:
  /// The tensor as numbers of T; it must be there.
  template <typename T> std::span<T> get(const std::string &name) {
    std::vector<char> &bytes = memory.at(name);
    return {reinterpret_cast<T *>(bytes.data() + kGuard), (bytes.size() - 2 * kGuard) / sizeof(T)};
  }
  std::span<float> operator[](const std::string &name) { return get<float>(name); }
  /// Makes it, NaN or zero, unless it is there; its memory.
  void *require(const std::string &name, size_t bytes, bool zero);
  /// Makes it with these numbers.
  void set(const std::string &name, const std::vector<float> &numbers);
  /// Whether nothing was written beside any tensor.
  bool guardsStand() const;

private:
  static constexpr size_t kGuard = 4096;
  std::map<std::string, std::vector<char>> memory;
};

class TilePlan {
public:
  /// `mask`, if not empty, replaces the mask of stages with a stream: `{kind = "none"}`.
  TilePlan(const std::string &file, const std::string &plan, const LoopChoice &choice,
           const std::string &mask = "");
  ~TilePlan();

  /// All phases.
  void run(Tensors &tensors, const plan::CallSizes &sizes) const;
  const plan::Plan &getPlan() const { return data; }

private:
  struct Engine;
  std::unique_ptr<Engine> engine;
  plan::Plan data;
};

} // namespace pe::test

#endif // PE_TEST_PASSES_TOLOOPS_TILEPLAN_H
