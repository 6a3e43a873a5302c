//===- TilePlan.h - runs tile plans -------------------------------------------===//
//
// Compiles one plan, given as text, through pe-tile-to-loops and runs its stages in order. Buffers
// are found by name in `Tensors`. New memory is NaN and has guards at both ends, so reading before
// writing and writing outside are detected.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TEST_PASSES_TOLOOPS_TILEPLAN_H
#define PE_TEST_PASSES_TOLOOPS_TILEPLAN_H

#include "passes/ToLoops/ToLoops.h"
#include "runtime/plan/Plan.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace pe::test {

using mlir::tile::LoopOptions;
using mlir::tile::LoopOwner;

class Tensors {
public:
  /// The tensor's elements as T; it must exist.
  template <typename T> std::span<T> get(const std::string &name) {
    std::vector<char> &bytes = memory.at(name);
    return {reinterpret_cast<T *>(bytes.data() + kGuard), (bytes.size() - 2 * kGuard) / sizeof(T)};
  }
  std::span<float> operator[](const std::string &name) { return get<float>(name); }
  /// Creates it, NaN or zero, unless it exists; returns its memory.
  void *require(const std::string &name, size_t bytes, bool zero);
  /// Creates it with these numbers.
  void set(const std::string &name, std::span<const float> numbers);
  void set(const std::string &name, std::span<const uint16_t> bits);
  bool contains(const std::string &name) const { return memory.contains(name); }
  /// Whether nothing was written outside any tensor.
  bool guardsStand() const;

private:
  void setBytes(const std::string &name, const void *data, size_t bytes);

  static constexpr size_t kGuard = 4096;
  std::map<std::string, std::vector<char>> memory;
};

class TilePlan {
public:
  /// `text` is a module with one plan.
  TilePlan(const std::string &text, const LoopOptions &options);
  ~TilePlan();

  /// All phases.
  void run(Tensors &tensors, const plan::CallSizes &sizes) const;
  /// Creates the caller's missing tensors with numbers near 1, which are valid for every parameter.
  void draw(Tensors &tensors, const plan::CallSizes &sizes) const;

private:
  struct Engine;
  std::unique_ptr<Engine> engine;
  plan::Plan data;
};

/// Standard normal numbers.
std::vector<float> normals(int64_t count, unsigned seed);

/// A source file of the pe dialect, with gradients.
struct Source {
  /// What the reference interprets.
  std::string program;
  /// What passes/ToTile writes.
  std::string tile;
};
Source compileToTile(const std::string &file, int64_t headDim, int64_t valueDim);

} // namespace pe::test

#endif // PE_TEST_PASSES_TOLOOPS_TILEPLAN_H
