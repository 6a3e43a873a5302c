//===- QueryNumbers.h - a number per query, from scalar code ----*- C++ -*-===//
//
// Functions with `per_query` (pe-classify-functions) give one number per batch entry, head and
// query, which multiplies the rows of a tensor:
//
//   number[b, h, i] ─► to[b, h, i, d] = number[b, h, i] * from[b, h, i, d]
//
// so the code and its reverse mode cost O(N). Rows at negative positions attend to nothing; their
// number is 0, regardless of the formula.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_QUERYNUMBERS_H
#define PE_PASSES_TOTILE_QUERYNUMBERS_H

#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"

namespace mlir::tile {

class QueryNumbers {
public:
  /// `isScore`: the region is that of a score function, which is evaluated at s = 1.
  QueryNumbers(PlanContext &context, Block &region, ValueRange captures, bool isScore,
               std::string name)
      : context(context), region(region), captures(captures), isScore(isScore),
        name(std::move(name)) {}

  /// Adds the prepare stage. Fails with an error at the user's line without a derivative.
  LogicalResult prepare();
  /// Adds a stage that multiplies rows with elements along `dim`.
  void multiply(StringRef stage, Phase phase, StringRef dim, Value from, Value to);
  /// Adds the stages of the gradients of captures, where `rows` were multiplied and `cotangents`
  /// belong to the products.
  void finish(StringRef dim, Value rows, Value cotangents);

private:
  TileParameters parameters() { return TileParameters(context, region, captures); }
  IRMapping mapRow(Scalar &s, ValueRange at);
  Value ifAttending(Scalar &s, ValueRange at, Value value);

  PlanContext &context;
  Block &region;
  ValueRange captures;
  bool isScore;
  std::string name;
  std::optional<pe::ScalarVjp> vjp;
  Value numbers; // [b, hq, r]
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_QUERYNUMBERS_H
