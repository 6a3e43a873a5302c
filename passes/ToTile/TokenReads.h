//===- TokenReads.h - per-token tensors read by per-pair code -------------===//
//
// Scalar code that is evaluated for every pair may read tensors over queries or keys at the pair's
// positions:
//
//   f[b, h, i] * g[b, j]
//
// The adjoint with respect to such an element is summed inside the stream, as one vector per batch
// entry and head: over the keys if the element depends only on the query, over the queries if it
// depends only on the key. After the stream the sums are added to the elements. Gradients of data
// therefore take memory proportional to the length, regardless of the shape of the tensor.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_TOKENREADS_H
#define PE_PASSES_TOTILE_TOKENREADS_H

#include "passes/Analysis/OwnElement.h"
#include "passes/ToTile/PlanContext.h"
#include "passes/Transforms/ScalarVjp.h"

#include "dialect/PE/PEScalars.h"

namespace mlir::tile {

class TokenReads {
public:
  /// The region's arguments from `first` on are b, h, i and j; its last ones are `captures`.
  TokenReads(PlanContext &context, Block &region, unsigned first, ValueRange captures,
             std::string name);

  /// Returns the values that were read, which are inputs of the code's derivative.
  ArrayRef<Value> values() const { return results; }
  /// Returns the captured float tensors that are also read in other ways.
  ArrayRef<Value> others() const { return otherCaptures; }
  /// Returns the axes of a captured tensor at which every read has the batch or head of the pair.
  llvm::SmallBitVector axesOfPair(Value capture) const;
  /// Returns the lengths for which no two pairs of a head with i - j in `range` read the same
  /// element of a captured tensor (pe::lengthsOfOwnElements). `op` has the region.
  std::optional<SmallVector<pe::AxisLength>> lengthsOfPairs(Value capture, Operation *op,
                                                            pe::DifferenceRange range) const;
  /// Adds the buffers of the sums, which are zero before the stream.
  void create();
  /// Adds the adjoint of each value, inside a map over pairs. `row` and `column` are the pair's
  /// indices in the call.
  void accumulate(Scalar &s, Value batch, Value head, Value row, Value column,
                  ValueRange adjoints) const;
  /// Adds the stage that adds these sums to the sums of the parameters.
  void finish();

private:
  SmallVector<Operation *> usersOf(Value capture) const;
  struct Read {
    pe::ReadOp op;
    bool isRow, perBatch, perHead;
    Value sums;
  };
  bool isOfTokens(Value capture) const;
  std::optional<Read> classify(pe::ReadOp op) const;
  void finish(TileBuilder &t, const Read &read);

  PlanContext &context;
  Block &region;
  unsigned first;
  ValueRange captures;
  std::string name;
  SmallVector<Read> reads;
  SmallVector<Value> results, otherCaptures;
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_TOKENREADS_H
