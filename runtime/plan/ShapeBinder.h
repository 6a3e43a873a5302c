//===- ShapeBinder.h - Inference of sizes from tensor shapes ----*- C++ -*-===//
//
// A plan names the dimensions of its arguments ("b", "hq", "r", "64"); the tensors of a call
// determine their values. The binder collects the values and checks that all tensors agree; its
// error names the tensor that determined the conflicting size.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_SHAPEBINDER_H
#define PE_RUNTIME_PLAN_SHAPEBINDER_H

#include "runtime/plan/Frame.h"

#include <string>
#include <vector>

namespace pe::plan {

/// One expression per dimension, resolved against the layout's names.
using SymbolicShape = std::vector<SizeExpression>;

/// Collects the sizes of one call.
class ShapeBinder {
public:
  /// `layout` must outlive the binder.
  explicit ShapeBinder(const FrameLayout &layout);

  /// Sets a size that is known without a tensor; ignored if the plan does not declare it.
  void set(std::string_view name, int64_t value);

  /// Reads from `found` the sizes that are single names in `expected`, and checks them against
  /// those of earlier tensors.
  Status bind(const std::string &tensor, const SymbolicShape &expected,
              const std::vector<int64_t> &found);

  /// Determines sizes that no tensor has as an axis from numbers of blocks (asBlocks), after all
  /// tensors are bound.
  void bindBlocks(const std::string &tensor, const SymbolicShape &expected,
                  const std::vector<int64_t> &found);

  /// Checks the dimensions that are compound expressions or constants, after all tensors are bound.
  Status check(const std::string &tensor, const SymbolicShape &expected,
               const std::vector<int64_t> &found) const;

  /// Returns the frame of the call, with the plan's defaults for values in neither the tensors nor
  /// `scalars`.
  Expected<Frame> finish(const Scalars &scalars) const;

private:
  Error mismatch(const std::string &tensor, const SymbolicShape &expected,
                 const std::vector<int64_t> &found, const std::string &reason) const;
  std::string describe(const SymbolicShape &expected) const;
  /// Returns the first name of the expression without a value, or null.
  const std::string *findUnknown(const SizeExpression &expression) const;
  /// Returns " ('q')" for a size that tensor 'q' determined, or "".
  std::string originOf(std::string_view name) const;

  const FrameLayout &layout;
  Frame values;
  std::vector<uint8_t> isKnown;
  /// The tensor that determined each size.
  std::vector<std::string> origin;
};

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_SHAPEBINDER_H
