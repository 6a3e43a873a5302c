//===- ShapeBinder.h - Sizes of a call from its tensors ---------*- C++ -*-===//
//
// A plan names its arguments' dimensions ("b", "hq", "r", "64"); the tensors of a call give them
// values. The binder collects the values, checks that all tensors agree and says which tensor gave
// which size when they do not.
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

class ShapeBinder {
public:
  /// `layout` outlives the binder.
  explicit ShapeBinder(const FrameLayout &layout);

  /// A size that is known without a tensor, if the plan has it.
  void set(std::string_view name, int64_t value);

  /// Takes the sizes that stand alone in `expected` from `found` and checks them against earlier
  /// tensors.
  Status bind(const std::string &tensor, const SymbolicShape &expected,
              const std::vector<int64_t> &found);

  /// Checks dimensions that are larger expressions or numbers, after all tensors were bound.
  Status check(const std::string &tensor, const SymbolicShape &expected,
               const std::vector<int64_t> &found) const;

  /// The frame of the call, with the plan's defaults for what neither tensors nor `scalars` give.
  Expected<Frame> finish(const Scalars &scalars) const;

private:
  Error mismatch(const std::string &tensor, const SymbolicShape &expected,
                 const std::vector<int64_t> &found, const std::string &reason) const;
  std::string describe(const SymbolicShape &expected) const;
  /// The first name of the expression that has no value yet, or null.
  const std::string *findUnknown(const SizeExpression &expression) const;
  /// "('q')", or nothing for a size that no tensor gave.
  std::string originOf(std::string_view name) const;

  const FrameLayout &layout;
  Frame values;
  std::vector<uint8_t> isKnown;
  /// The tensor each size came from.
  std::vector<std::string> origin;
};

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_SHAPEBINDER_H
