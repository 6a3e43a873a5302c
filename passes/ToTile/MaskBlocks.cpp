//===- MaskBlocks.cpp - prepared summaries of data-dependent masks --------===//
//
// States are computed in two stages. Values that depend only on the row or only on the column are
// summarized for every block of rows and of columns by their minimum and maximum. Then every
// block of pairs gets its state from these ranges (passes/Analysis/ScalarRange.h).
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/MaskBlocks.h"

#include "dialect/PE/PEScalars.h"
#include "passes/Analysis/ScalarRange.h"
#include "passes/ToTile/Attention.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "pe-mask-blocks"

using namespace mlir;
using namespace mlir::tile;
using pe::Dependence;
using pe::ScalarRange;

namespace {

/// The number of rows, and of columns, of a block that has a state. Smaller blocks skip more pairs
/// near the edges of a mask, and cost more evaluations of its code.
constexpr int64_t kStateBlock = 64;

/// Returns the number of blocks of states in the rows or columns of a call.
std::string stateBlocksOf(StringRef extent) {
  return "ceildiv(" + extent.str() + "," + std::to_string(kStateBlock) + ")";
}

/// Folds `body` over the elements of block `block`. Elements beyond the end of `extent` repeat the
/// last one.
SmallVector<Value>
foldBlock(Scalar &s, Value block, StringRef extent, ValueRange inits,
          llvm::function_ref<SmallVector<Value>(Scalar &, Value, ValueRange)> body) {
  Value last = s.sub(s.size(extent), s.index(1));
  Value first = s.mul(block, s.index(kStateBlock));
  auto loop = s.create<scf::ForOp>(s.index(0), s.index(kStateBlock), s.index(1), inits);
  Scalar inner(s.getLoc(), OpBuilder::atBlockEnd(loop.getBody()));
  Value element = inner.create<arith::MinSIOp>(inner.add(first, loop.getInductionVar()), last);
  inner.create<scf::YieldOp>(body(inner, element, loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

Value toIndex(Scalar &s, Value value) {
  if (value.getType().isIndex())
    return value;
  if (value.getType().isInteger(1))
    return s.select(value, s.index(1), s.index(0));
  return s.create<arith::IndexCastOp>(s.getIndexType(), value);
}

/// Loops carry an i64: an index could not be proved to fit in 32 bits.
Value toWide(Scalar &s, Value value) {
  Type i64 = s.getI64Type();
  if (value.getType() == i64)
    return value;
  if (value.getType().isInteger() && !value.getType().isInteger(1))
    return s.create<arith::ExtSIOp>(i64, value);
  return s.create<arith::IndexCastOp>(i64, toIndex(s, value));
}
Value wideNumber(Scalar &s, int64_t number) {
  return s.create<arith::ConstantOp>(s.getI64IntegerAttr(number));
}

/// Builds the stages that write the states of one mask.
class StateStages {
public:
  StateStages(PlanContext &context, std::string name, pe::MaskFnOp mask)
      : context(context), name(std::move(name)), mask(mask), region(mask.getBody().front()),
        dependence(mask.getBody()), root(cast<pe::YieldOp>(region.getTerminator()).getValues()[0]) {
  }

  Value create();

private:
  /// Leaves that depend on the row or on the column, and their summary.
  struct Side {
    StringRef extent, start;
    SmallVector<Value> leaves;
    Value summary; // per block: minimum and maximum of each leaf in turn
  };

  bool changesWith(Value value, Dependence::Source source) const {
    return dependence.of(value).has(source);
  }
  SmallVector<StringRef> with(ArrayRef<StringRef> extents) const;
  TileBuilder begin(StringRef suffix) {
    return beginStage(context.plan, name + suffix.str(), Phase::Prepare, heads);
  }
  /// Emits the value at a row or column (null for leaves that depend on neither).
  Value at(Scalar &s, Value value, ValueRange item, Value row, Value column);
  void summarise(TileBuilder &t, Side &side);
  ScalarRange rangeOf(Scalar &s, Value leaf, ValueRange at);

  PlanContext &context;
  std::string name;
  pe::MaskFnOp mask;
  Block &region;
  pe::RegionDependence dependence;
  Value root;
  SmallVector<StringRef> heads; // b and hq, if the mask depends on them
  Side rows{"r", "q_start", {}, {}}, columns{"c", "k_start", {}, {}};
  Value isSmall; // all values so far are within the magnitude that ranges support
};

SmallVector<StringRef> StateStages::with(ArrayRef<StringRef> extents) const {
  SmallVector<StringRef> all(heads);
  llvm::append_range(all, extents);
  return all;
}

Value StateStages::at(Scalar &s, Value value, ValueRange item, Value row, Value column) {
  TileParameters parameters(context, region, mask.getCaptures());
  IRMapping mapping;
  Value zero = s.index(0);
  auto place = [&](StringRef head) {
    const auto *found = llvm::find(heads, head);
    return found == heads.end() ? zero : item[found - heads.begin()];
  };
  auto position = [&](Value index, StringRef start) {
    return index ? s.add(index, s.size(start)) : zero;
  };
  pe::mapPoint(
      mapping, region,
      {place("b"), place("hq"), position(row, rows.start), position(column, columns.start)});
  return pe::emitScalar(value, mapping, s, parameters);
}

void StateStages::summarise(TileBuilder &t, Side &side) {
  t.foreach ({stateBlocksOf(side.extent)}, [&](Scalar &s, ValueRange place) {
    SmallVector<Value> inits;
    for (size_t n = 0; n < side.leaves.size(); ++n)
      inits.append({wideNumber(s, std::numeric_limits<int64_t>::max()),
                    wideNumber(s, std::numeric_limits<int64_t>::min())});
    auto body = [&](Scalar &inner, Value element, ValueRange so) {
      const bool isRow = &side == &rows;
      SmallVector<Value> next;
      for (auto [n, leaf] : llvm::enumerate(side.leaves)) {
        Value number = toWide(
            inner, at(inner, leaf, place, isRow ? element : Value(), isRow ? Value() : element));
        next.push_back(inner.create<arith::MinSIOp>(so[2 * n], number));
        next.push_back(inner.create<arith::MaxSIOp>(so[2 * n + 1], number));
      }
      return next;
    };
    SmallVector<Value> found = foldBlock(s, place.back(), side.extent, inits, body);
    for (auto [n, number] : llvm::enumerate(found)) {
      SmallVector<Value> to(place);
      to.push_back(s.index(n));
      writeElement(s, number, side.summary, to);
    }
  });
}

/// `at` is the work item, then the blocks of rows and columns.
ScalarRange StateStages::rangeOf(Scalar &s, Value leaf, ValueRange at) {
  const bool isBoolean = leaf.getType().isInteger(1);
  const bool isOfRow = changesWith(leaf, Dependence::Query),
             isOfColumn = changesWith(leaf, Dependence::Key);
  ScalarRange range;
  APInt constant;
  if (matchPattern(leaf, m_ConstantInt(&constant)) && !isBoolean) {
    range.least = range.most = s.index(constant.getSExtValue());
    range.bits = constant.getSignificantBits();
    if (range.bits <= pe::kLeafBits)
      return range;
  } else if (!isOfRow && !isOfColumn) {
    range.least = range.most =
        toIndex(s, this->at(s, leaf, at.take_front(heads.size()), Value(), Value()));
  } else {
    Side &side = isOfRow ? rows : columns;
    const int64_t number = llvm::find(side.leaves, leaf) - side.leaves.begin();
    auto read = [&](int64_t end) {
      SmallVector<Value> from(at.take_front(heads.size()));
      from.append({at[heads.size() + (isOfRow ? 0 : 1)], s.index(2 * number + end)});
      return toIndex(s, readElement(s, side.summary, from));
    };
    range.least = read(0), range.most = read(1);
  }
  if (isBoolean) {
    auto isTrue = [&](Value value) -> Value {
      return s.create<arith::CmpIOp>(arith::CmpIPredicate::ne, value, s.index(0));
    };
    return {isTrue(range.least), isTrue(range.most)};
  }
  range.bits = pe::kLeafBits;
  auto keep = [&](arith::CmpIPredicate predicate, Value value, int64_t bound) {
    Value fits = s.create<arith::CmpIOp>(predicate, value, s.index(bound));
    isSmall = isSmall ? s.create<arith::AndIOp>(isSmall, fits).getResult() : fits;
  };
  constexpr int64_t limit = int64_t(1) << pe::kLeafBits;
  keep(arith::CmpIPredicate::sgt, range.least, -limit);
  keep(arith::CmpIPredicate::slt, range.most, limit);
  return range;
}

Value StateStages::create() {
  SmallVector<Value> leaves = pe::rangeLeavesOf(root, dependence);
  bool perBatch = false, perHead = false;
  for (Value leaf : leaves) {
    perBatch |= dependence.of(leaf).has(Dependence::Batch);
    perHead |= dependence.of(leaf).has(Dependence::Head);
    if (changesWith(leaf, Dependence::Query))
      rows.leaves.push_back(leaf);
    else if (changesWith(leaf, Dependence::Key))
      columns.leaves.push_back(leaf);
  }
  LDBG() << mask.getLoc() << ": " << rows.leaves.size() << " leaves by row and "
         << columns.leaves.size() << " by column";
  if (perBatch)
    heads.push_back("b");
  if (perHead)
    heads.push_back("hq");
  for (Side *side : {&rows, &columns}) {
    if (side->leaves.empty())
      continue;
    const std::string suffix = side == &rows ? "_mask_rows" : "_mask_columns";
    side->summary = context.temporary(
        name + suffix, with({stateBlocksOf(side->extent), std::to_string(2 * side->leaves.size())}),
        context.plan.getI64Type());
    TileBuilder t = begin(suffix);
    summarise(t, *side);
  }
  const std::string rowBlocks = stateBlocksOf("r"), columnBlocks = stateBlocksOf("c");
  Value states = context.kept(name + "_mask_states", with({rowBlocks, columnBlocks}),
                              context.plan.getI32Type());
  TileBuilder t = begin("_mask_states");
  t.foreach ({rowBlocks, columnBlocks}, [&](Scalar &s, ValueRange at) {
    std::optional<ScalarRange> range = pe::emitRange(
        root, dependence, s, s.getLoc(), [&](Value leaf) { return rangeOf(s, leaf, at); });
    auto number = [&](int64_t state) -> Value {
      return s.create<arith::ConstantOp>(s.getI32IntegerAttr(state));
    };
    Value state = s.select(range->least, number(2), s.select(range->most, number(1), number(0)));
    writeElement(s, isSmall ? s.select(isSmall, state, number(1)) : state, states, at);
  });
  return states;
}

} // namespace

Value mlir::tile::createBlockStates(PlanContext &context, const std::string &name,
                                    pe::MaskFnOp mask) {
  return StateStages(context, name, mask).create();
}

Value mlir::tile::createReach(PlanContext &context, const std::string &name, Value low,
                              Value high) {
  Type i32 = context.plan.getI32Type();
  SmallVector<StringRef> rows = {"r"};
  if (cast<BufferType>(low.getType()).getRank() == 3) // a head's own bounds
    rows = {"hq", "r"};
  Value reach = context.kept(name + "_reach", {"b", "2"}, i32);
  TileBuilder t = beginStage(context.plan, name + "_reach", Phase::Prepare, {"b"});
  auto number = [&](Scalar &s, int32_t value) -> Value {
    return s.create<arith::ConstantOp>(s.getI32IntegerAttr(value));
  };
  // Both start at 0, the identity of the maximum.
  t.foreach ({"2"}, [&](Scalar &s, ValueRange at) { writeElement(s, number(s, 0), reach, at); });
  t.foreach (rows, [&](Scalar &s, ValueRange at) {
    Value first = readElement(s, low, at), end = readElement(s, high, at);
    Value isEmpty = s.create<arith::CmpIOp>(arith::CmpIPredicate::sge, first, end);
    Value columns = s.create<arith::IndexCastOp>(i32, s.size("c"));
    const Value found[] = {s.create<arith::SubIOp>(columns, first), end};
    for (auto [n, value] : llvm::enumerate(found))
      accumulateElement(s, s.select(isEmpty, number(s, 0), value), reach, {at[0], s.index(n)},
                        Reduction::Max);
  });
  return reach;
}

/// Returns the conjuncts of `root` that depend only on the column.
static SmallVector<Value> conditionsOfColumns(Value root, const pe::RegionDependence &dependence) {
  SmallVector<Value> found;
  for (SmallVector<Value> pending = {root}; !pending.empty();) {
    Value part = pending.pop_back_val();
    if (auto both = part.getDefiningOp<arith::AndIOp>())
      llvm::append_range(pending, ValueRange{both.getRhs(), both.getLhs()});
    else if (const Dependence &own = dependence.of(part);
             own.has(Dependence::Key) && own.isWithin(Dependence::Batch | Dependence::Key))
      found.push_back(part);
  }
  return found;
}

Value mlir::tile::createTaken(PlanContext &context, const std::string &name, pe::MaskFnOp mask) {
  Block &region = mask.getBody().front();
  const pe::RegionDependence dependence(mask.getBody());
  const SmallVector<Value> conditions =
      conditionsOfColumns(cast<pe::YieldOp>(region.getTerminator()).getValues()[0], dependence);
  if (conditions.empty())
    return {};
  Type i32 = context.plan.getI32Type();
  const StringRef extents[] = {"b", "c"};
  Value taken = context.kept(name + "_taken_columns", extents, i32);
  TileBuilder t = beginStage(context.plan, name + "_taken_columns", Phase::Prepare, {"b"});
  t.foreach ({"c"}, [&](Scalar &s, ValueRange at) {
    TileParameters parameters(context, region, mask.getCaptures());
    IRMapping mapping;
    Value zero = s.index(0);
    pe::mapPoint(mapping, region, {at[0], zero, zero, s.add(at[1], s.size("k_start"))});
    Value all;
    for (Value condition : conditions) {
      Value own = pe::emitScalar(condition, mapping, s, parameters);
      all = all ? s.create<arith::AndIOp>(all, own).getResult() : own;
    }
    writeElement(s, s.create<arith::ExtUIOp>(i32, all), taken, at);
  });
  return taken;
}
