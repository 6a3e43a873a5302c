//===- RowParts.h - the parts of a key head's rows ------------------------===//
//
// If columns own the loop, the rows of a key head (those of all its query heads) are divided into
// parts: part p of P has strips [p n / P, (p + 1) n / P) of the n strips of every query head. Sums
// over rows are computed per part, and the parts are added in a chain, ((p0 + p1) + p2) ... P
// depends only on the number of rows and of query heads per key head, so results depend on neither
// the batch size, the number of key heads nor the number of threads.
//
//   few heads    a work item is one part; it keeps its sums, and a second launch adds them
//   many heads   a work item has all parts of its head, and adds them block by block of keys
//
// A part has sums only for the blocks of keys that its rows see, by the band and by data
// (StripPairs.h): with packed documents, a part visits only the keys of the documents of its rows.
//
// Every value over rows (computed before the stream, or a gradient of queries) belongs to one part.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_ROWPARTS_H
#define PE_PASSES_TOCPU_ROWPARTS_H

#include "passes/ToCPU/StripMemory.h"
#include "passes/ToCPU/StripPairs.h"

namespace mlir::tile::cpu {

/// The number of parts, as size expressions of the plan.
struct PartSizes {
  PartSizes(StageOp stage, const CpuSchedule &cpu);

  bool overQueryHeads;
  std::string heads; // heads of all batches: key heads, unless the stage is over query heads
  std::string parts; // parts per head, at least 1
  std::string slots; // work items per head: `parts`, or 1 if there are enough heads
};

/// Creates a temporary of the plan before the stage, named after the stage.
Value createTemporary(StageOp stage, const Twine &name, ArrayRef<std::string> extents, Type element,
                      bool zero);

/// The per-part sums of a stage. Creates their buffers.
struct PartBuffers {
  PartBuffers(StageOp stage, const CpuSchedule &cpu, const PartSizes &sizes);

  /// A fold over columns. `sums` is [slot][head][key][depth]. If parts are separate items, it has
  /// all keys. Otherwise it has the keys of the current block twice (the sum of the previous parts
  /// and that of the current part), or no keys if these sums are on the stack.
  struct Columns {
    Value result, yielded; // of the stream
    Value sums;
    int64_t depth;
    bool isLocal; // the sums are on the stack, unless parts are separate items
  };
  SmallVector<Columns> columns;
  /// A buffer that the stream adds to in place. The first part adds to the buffer, every other part
  /// to its own copy, which starts at zero.
  struct Copies {
    Value buffer, copies;
  };
  SmallVector<Copies> added;

  SmallVector<Value> all() const;
};

/// Emits the sizes and sums of parts in the code of a function.
class RowParts {
public:
  RowParts(StageContext &context, const PartSizes &sizes);

  Index heads, parts, slots;
  Index split; // 1 if every part is a separate item, else 0

  /// Returns the batch and key head of head `head` of the call.
  StripPlace placeOf(const Index &head);
  /// Returns the first query head of the key head.
  Index firstQueryHead(const StripPlace &place);
  Index queryHeadCount() { return group; }

  /// Returns the rows of a part.
  Interval<Index> rowsOf(const Index &part);
  /// Returns the range of rows, in strips, that contains every row of the part that sees a key of
  /// the block. It is empty (begin >= end) if there is no such row.
  Interval<Index> rowsSeeing(const StripPlace &head, const Index &part, const Index &block);
  /// The parts with such rows, in order: their count and the memory with their indices.
  struct PartList {
    Index count;
    Value numbers;
  };
  PartList partsSeeing(const StripPlace &head, const Index &block);

  /// Returns the sums of the block of the part in `slot`, if parts are separate items.
  ColumnFold keptOf(const PartBuffers::Columns &columns, const Index &slot, const Index &head,
                    const Index &block);
  /// Returns the accumulated sums of the block in `slot`.
  ColumnFold sumOf(const PartBuffers::Columns &columns, const Index &slot, const Index &head,
                   const Index &block);
  /// Returns scratch for the sums of the current part, which no other item uses.
  ColumnFold currentOf(const PartBuffers::Columns &columns, const Index &head);
  void zero(const ColumnFold &fold);
  /// Emits into += from.
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
