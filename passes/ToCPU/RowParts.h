//===- RowParts.h - the rows of a key head in parts -----------------------===//
//
// Where columns own the loop, the rows of a key head (those of all its query heads) are divided
// into parts: part p of P has strips [p n / P, (p + 1) n / P) of the n strips of every query head.
// What is summed over rows is summed per part, and the parts are added as a chain, ((p0 + p1) + p2)
// ... P follows from the lengths of the call alone, so results depend on neither batch size, number
// of heads nor threads.
//
//   few heads    an item is a part; it keeps its sums, and a second launch adds them
//   many heads   an item has all parts of its head, and adds them block by block of keys
//
// A part has sums of the blocks of keys that its rows see, by the band and by data (StripPairs.h),
// and of no others: a part of packed documents visits the keys of its own documents.
//
// Everything over rows (values computed before the stream, gradients of queries) lies in one part.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_ROWPARTS_H
#define PE_PASSES_TOCPU_ROWPARTS_H

#include "passes/ToCPU/StripPairs.h"

namespace mlir::tile::cpu {

/// How many parts there are, as size expressions of the plan.
struct PartSizes {
  PartSizes(StageOp stage, const CpuSchedule &cpu);

  bool overQueryHeads;
  std::string heads; // heads of all batches: key heads, unless the stage is over query heads
  std::string parts; // at least 1
  std::string slots; // items of one head: `parts`, or 1 where heads are enough
};

/// A temporary of the plan, before the stage and named after it.
Value createTemporary(StageOp stage, const Twine &name, ArrayRef<std::string> extents, Type element,
                      bool zero);

/// The per-part sums of a stage, in buffers that this creates.
struct PartBuffers {
  PartBuffers(StageOp stage, const CpuSchedule &cpu, const PartSizes &sizes);

  /// A fold over columns: `sums` is [slot][head][key][depth], with all keys where parts are
  /// separate items; else with those of the current block, twice (the sum so far, the current
  /// part's), or with none where these are on the stack.
  struct Columns {
    Value result, yielded; // of the stream
    Value sums;
    int64_t depth;
    bool isLocal; // on the stack, unless parts are separate items
  };
  SmallVector<Columns> columns;
  /// A buffer that the stream adds to in place: the first part does, each other one has a copy,
  /// zero at first.
  struct Copies {
    Value buffer, copies;
  };
  SmallVector<Copies> added;

  SmallVector<Value> all() const;
};

/// The same sizes in the code of a function.
class RowParts {
public:
  RowParts(StageContext &context, const PartSizes &sizes);

  Index heads, parts, slots;
  Index split; // 1 where every part is an item of its own, else 0

  /// The batch and key head of head `head` of the call.
  StripPlace placeOf(const Index &head);
  /// Its query heads.
  Index firstQueryHead(const StripPlace &place);
  Index queryHeadCount() { return group; }

  Interval<Index> rowsOf(const Index &part);
  /// Strips of the part that hold every row of it that sees a key of the block; begin >= end where
  /// none does.
  Interval<Index> rowsSeeing(const StripPlace &head, const Index &part, const Index &block);
  /// The parts with such rows, in their order: how many, and where their numbers are.
  struct PartList {
    Index count;
    Value numbers;
  };
  PartList partsSeeing(const StripPlace &head, const Index &block);

  /// The sums of the block that the part in `slot` keeps, where parts are separate items.
  ColumnFold keptOf(const PartBuffers::Columns &columns, const Index &slot, const Index &head,
                    const Index &block);
  /// The sums of the block in `slot`, and scratch beside them that no other item uses.
  ColumnFold sumOf(const PartBuffers::Columns &columns, const Index &slot, const Index &head,
                   const Index &block);
  ColumnFold currentOf(const PartBuffers::Columns &columns, const Index &head);
  void zero(const ColumnFold &fold);
  /// into += from
  void add(const ColumnFold &into, const ColumnFold &from);

private:
  ColumnFold rowOf(const PartBuffers::Columns &columns, const Index &slot, const Index &head,
                   const Index &row);
  Value localOf(const PartBuffers::Columns &columns);
  void eachVector(const ColumnFold &fold, llvm::function_ref<void(Index)> body);

  DenseMap<Value, Value> locals;
  StageContext &context;
  Emitter &e;
  StripPairs data;
  bool overQueryHeads;
  Index group, strips;
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_ROWPARTS_H
