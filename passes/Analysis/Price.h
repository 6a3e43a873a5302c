//===- Price.h - operation counts of scalar code ----------------*- C++ -*-===//
//
// Counts the operations of scalar code per pair of a query and a key. A sum over an axis whose size
// is known only at the call has a price per element of that axis:
//
//   c[h] * j + sum(n < size(u, 2), u[b, i, n] * w[n])    4 * size(u, 2) + 3 operations per score
//
// Code that reads neither the key nor the score is evaluated once per row or head. It is not part
// of this price; `pe explain` prints its own.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_PRICE_H
#define PE_PASSES_ANALYSIS_PRICE_H

#include "dialect/PE/PE.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <map>

namespace mlir::pe {

/// A number of operations; `functions` counts the divisions, exponentials, logarithms and similar.
struct Operations {
  int64_t all = 0, functions = 0;
};

/// Operations by their multiplier: "" for the fixed part, otherwise for example "size(u, 2)".
struct Price {
  std::map<std::string, Operations> parts;

  Price() = default;
  explicit Price(Operations fixed) : parts{{"", fixed}} {}

  bool isZero() const {
    return llvm::all_of(parts, [](const auto &part) { return part.second.all == 0; });
  }
};

/// Returns the price of `root` in the region of `block`, whose last arguments are captures called
/// `names`. Code that reads no value of `inner` is not counted.
Price priceOf(Value root, Block &block, ValueRange inner, ArrayRef<std::string> names);

/// Returns, for example, "4 * size(u, 2) + 3 operations per score, 1 of them division, exp, log or
/// similar; attention without a bias takes 256 per score". `depths` is D + Dv, for the last part,
/// or 0.
std::string describe(const Price &price, StringRef per, int64_t depths = 0);

/// Returns {"per", "all", "functions", "times": [{"extent", "all", "functions"}]}.
llvm::json::Object asJson(const Price &price, StringRef per);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_PRICE_H
