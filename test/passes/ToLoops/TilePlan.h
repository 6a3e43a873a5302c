//===- TilePlan.h - compiles and runs tile plans ------------------------------===//
//
// Compiles one plan, given as source, through pe-tile-to-loops and runs its stages in order.
// Buffers are looked up by name in `Tensors`. New memory is NaN and has guards at both ends, so
// that reads of uninitialized memory and writes outside a buffer are detected.
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

/// The tensors of a call, by name.
class Tensors {
public:
  /// Returns the elements of an existing tensor as T.
  template <typename T> std::span<T> get(const std::string &name) {
    std::vector<char> &bytes = memory.at(name);
    return {reinterpret_cast<T *>(bytes.data() + kGuard), (bytes.size() - 2 * kGuard) / sizeof(T)};
  }
  std::span<float> operator[](const std::string &name) { return get<float>(name); }
  /// Creates the tensor, filled with NaN or zero, unless it exists. Returns its memory.
  void *require(const std::string &name, size_t bytes, bool zero);
  /// Creates the tensor with these elements.
  void set(const std::string &name, std::span<const float> numbers);
  void set(const std::string &name, std::span<const uint16_t> bits);
  bool contains(const std::string &name) const { return memory.contains(name); }
  /// Returns the names of all tensors.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto &[name, bytes] : memory)
      all.push_back(name);
    return all;
  }
  /// Returns true if nothing was written outside the tensors.
  bool guardsStand() const;

private:
  void setBytes(const std::string &name, const void *data, size_t bytes);

  static constexpr size_t kGuard = 4096;
  std::map<std::string, std::vector<char>> memory;
};

/// A compiled plan.
class TilePlan {
public:
  /// Compiles `text`, a module with one plan.
  TilePlan(const std::string &text, const LoopOptions &options);
  ~TilePlan();

  /// Runs the stages of all phases.
  void run(Tensors &tensors, const plan::CallSizes &sizes) const;
  /// Creates missing inputs with random values near 1, which are valid for every parameter.
  void draw(Tensors &tensors, const plan::CallSizes &sizes) const;

private:
  struct Engine;
  std::unique_ptr<Engine> engine;
  plan::Plan data;
};

/// Returns `count` standard normal values.
std::vector<float> normals(int64_t count, unsigned seed);

/// The compiled forms of a source file of the pe dialect, with gradients.
struct Source {
  /// The program for the reference interpreter.
  std::string program;
  /// The tile plan from passes/ToTile.
  std::string tile;
};
/// Compiles a source file of the pe dialect up to the tile dialect.
Source compileToTile(const std::string &file, int64_t headDim, int64_t valueDim);

/// Applies the tile-to-tile passes that precede pe-tile-to-gpu, with owners of 16 rows or columns.
std::string rewriteForGpu(const std::string &tile);

} // namespace pe::test

#endif // PE_TEST_PASSES_TOLOOPS_TILEPLAN_H
