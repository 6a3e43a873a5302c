//===- Price.h - Counts the operations of scalar code ------------*- C++ -*-===//
//
// Counts what scalar code costs at every pair of a query and a key, in operations. A sum over an
// axis whose size only a call gives has a price per element of that axis:
//
//   c[h] * j + sum(n < size(u, 2), u[b, i, n] * w[n])    4 * size(u, 2) + 3 operations per score
//
// Code that reads neither the key nor the score is evaluated once per row, and is left out.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_PRICE_H
#define PE_PASSES_ANALYSIS_PRICE_H

#include "dialect/PE/PE.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <map>

namespace mlir::pe {

/// A number of operations, and how many of them are divisions, exp, log and the like.
struct Operations {
  int64_t all = 0, functions = 0;
};

/// Operations by what they are multiplied by: "" for the fixed part, else "size(u, 2)".
struct Price {
  std::map<std::string, Operations> parts;

  Price() = default;
  explicit Price(Operations fixed) : parts{{"", fixed}} {}

  bool isZero() const {
    return llvm::all_of(parts, [](const auto &part) { return part.second.all == 0; });
  }
};

/// The price of `root` in the region of `block`, whose last arguments are captures called `names`.
/// Code that reads none of `inner` is left out.
Price priceOf(Value root, Block &block, ValueRange inner, ArrayRef<std::string> names);

/// "4 * size(u, 2) + 3 operations per score, 1 of them division, exp, log or the like; attention
/// without a bias takes 256". `depths` is D + Dv, which the last part needs, or 0.
std::string describe(const Price &price, StringRef per, int64_t depths = 0);

/// {"per", "all", "functions", "times": [{"extent", "all", "functions"}]}.
llvm::json::Object asJson(const Price &price, StringRef per);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_PRICE_H
