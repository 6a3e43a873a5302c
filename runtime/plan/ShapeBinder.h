//===- ShapeBinder.h - Sizes of a call from its tensors ---------*- C++ -*-===//
//
// A plan names its arguments' dimensions ("b", "hq", "r", "64"); the tensors of a call give them
// values. The binder collects the values, checks that all tensors agree and says which tensor gave
// which size when they do not.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_SHAPEBINDER_H
#define PE_RUNTIME_PLAN_SHAPEBINDER_H

#include "pe/Positions.h"
#include "runtime/plan/Plan.h"

#include <array>
#include <string>
#include <vector>

namespace pe::plan {

class ShapeBinder {
public:
  /// `headDim` and `valueDim` are known from the plan; pass nullopt to bind them too.
  ShapeBinder(std::optional<int64_t> headDim, std::optional<int64_t> valueDim);

  /// Takes the sizes that stand alone in `expected` from `found` and checks them against earlier
  /// tensors. An empty text expects nothing.
  Status bind(const std::string &tensor, const std::vector<std::string> &expected,
              const std::vector<int64_t> &found);

  /// Checks dimensions that are larger expressions or numbers, after all tensors were bound.
  Status check(const std::string &tensor, const std::vector<std::string> &expected,
               const std::vector<int64_t> &found) const;

  const SizeValues &values() const { return sizes; }

  /// The sizes of the call, with the defaults of contract.md for what no tensor gives.
  Expected<CallSizes> finish(const Positions &positions) const;

private:
  Error mismatch(const std::string &tensor, const std::vector<std::string> &expected,
                 const std::vector<int64_t> &found, const std::string &reason) const;

  SizeValues sizes;
  /// The tensor each size came from.
  std::array<std::string, kSizeNames> origin;
};

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_SHAPEBINDER_H
