//===- CheckReads.cpp - rejects unintended subscripts ---------------------===//
//
// Constraints read-C3 to read-C5 of docs/spec.md, and warnings about unread tensors. Checked after
// inlining, when the mask of every attention is known.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/PEArgumentAttributes.h"
#include "dialect/PE/PEAttention.h"
#include "passes/Analysis/Formula.h"
#include "passes/Analysis/IndexRange.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <set>

#define DEBUG_TYPE "pe-check-reads"

namespace mlir::pe {
#define GEN_PASS_DEF_PECHECKREADSPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// Code is visited once per use and range of differences. This limits the number of visits.
constexpr size_t kMaxVisits = 10000;

/// The noun for the objects that an axis counts, and the variables that may index it.
struct AxisKind {
  StringRef noun, variable; ///< "heads", "h"
  unsigned allowed;
};

/// Returns the kind of an axis name of pe.axes, or std::nullopt for a user-defined name.
std::optional<AxisKind> kindOfAxis(StringRef word, bool isOfTokens) {
  return llvm::StringSwitch<std::optional<AxisKind>>(word)
      .Cases({"head", "kv_head"}, AxisKind{"heads", "h", kHead})
      .Case("batch", AxisKind{"batches", "b", kBatch})
      .Case("query", AxisKind{"queries", isOfTokens ? "p" : "i", kQuery})
      .Case("key", AxisKind{"keys", "j", kQuery | kKey})
      .Cases({"depth", "value_depth", "model"}, AxisKind{"dims", "d", kDim})
      .Default(std::nullopt);
}

class ReadChecker {
public:
  /// `op` has a region of scalar code; `range` contains i - j of the pairs it is evaluated for.
  ReadChecker(Operation *op, DifferenceRange range)
      : op(op), body(op->getRegion(0).front()), ranges(op), range(range) {
    const size_t leading = leadingVariablesOf(op).size();
    for (BlockArgument argument : body.getArguments().drop_front(leading))
      names.push_back(nameOf(op->getOperand(argument.getArgNumber() - leading)));
  }

  LogicalResult check();

private:
  static std::string nameOf(Value capture) {
    StringRef name = nameOfArgument(capture);
    return name.empty() ? "tensor" : name.str();
  }

  void visit(Value value, DifferenceRange differences);
  void visitRead(ReadOp read, DifferenceRange differences);
  LogicalResult checkAxis(ReadOp read, unsigned axis);
  LogicalResult checkRange(ReadOp read, unsigned axis, Interval interval);
  std::string textOf(Value value);
  std::string suggestion(ReadOp read, unsigned axis, StringRef variable);
  Value captureOf(ReadOp read);
  StringRef underMask() const {
    const bool isEvery =
        range.min == DifferenceRange::kUnboundedMin && range.max == DifferenceRange::kUnboundedMax;
    return isEvery ? "" : " under this mask";
  }
  InFlightDiagnostic emitAt(ReadOp read) { return mlir::emitError(read.getLoc()); }

  Operation *op;
  Block &body;
  IndexRanges ranges;
  DifferenceRange range;
  SmallVector<std::string> names;
  std::set<std::tuple<void *, int64_t, int64_t>> visited;
  /// The values of every index over all visits.
  llvm::MapVector<Operation *, SmallVector<Interval>> reads;
};

Value ReadChecker::captureOf(ReadOp read) {
  auto tensor = dyn_cast<BlockArgument>(IndexRanges::outsideOfSums(read.getSource()));
  const size_t leading = leadingVariablesOf(op).size();
  if (!tensor || tensor.getOwner() != &body || tensor.getArgNumber() < leading)
    return {};
  return op->getOperand(tensor.getArgNumber() - leading);
}

std::string ReadChecker::textOf(Value value) {
  value = IndexRanges::outsideOfSums(value);
  if (value.getParentBlock() != &body)
    return "a value of a sum";
  return formulaOf(value, body, names);
}

/// Returns the read with `variable` at `axis`, such as "table[h, i - j]". If another index is
/// already that variable, the two indices are swapped.
std::string ReadChecker::suggestion(ReadOp read, unsigned axis, StringRef variable) {
  SmallVector<std::string> indices;
  for (Value index : read.getIndices())
    indices.push_back(textOf(index));
  auto *same = llvm::find(indices, variable.str());
  if (same != indices.end())
    std::swap(*same, indices[axis]);
  else
    indices[axis] = variable.str();
  return textOf(read.getSource()) + "[" + llvm::join(indices, ", ") + "]";
}

/// Returns advice on how to write data that is read at such an index.
std::string adviceOnData(unsigned variables, bool isDifference) {
  if (isDifference)
    return "; a table over distances has a size, as in tensor<64xf32>";
  if (variables == kKey)
    return "; data over keys has pe.axes = [\"key\"]";
  if (variables == kQuery)
    return "; data over queries has pe.axes = [\"query\"]";
  if (variables == kBatch)
    return "; data over sequences has pe.axes = [\"batch\"]";
  return {};
}

/// Checks that the index uses the variable that the axis counts.
LogicalResult ReadChecker::checkAxis(ReadOp read, unsigned axis) {
  Value capture = captureOf(read);
  auto type = cast<RankedTensorType>(read.getSource().getType());
  auto argument = dyn_cast_or_null<BlockArgument>(capture);
  if (!argument || !type.isDynamicDim(axis))
    return success();
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto axes = function ? function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "pe.axes")
                       : ArrayAttr();
  StringRef word = axes ? cast<StringAttr>(axes[axis]).getValue() : "head";
  std::optional<AxisKind> kind = kindOfAxis(word, isa<EmbeddingFnOp>(op));
  if (!kind)
    return success();
  const IndexSources index = ranges.sourcesOf(read.getIndices()[axis]);
  unsigned found = index.code;
  if (kind->allowed == kHead) // an index computed from a token cannot select a head
    found |= index.data & (kQuery | kKey);
  const bool isDifference = index.form && index.form->isDifference();
  const bool isPosition = kind->allowed & kQuery;
  if ((found & ~kind->allowed) == 0 && !(isPosition && isDifference))
    return success();
  const std::string name = textOf(read.getSource());
  InFlightDiagnostic error = emitAt(read);
  if (type.getRank() == 1)
    error << "the axis of " << name;
  else
    error << "axis " << axis << " of " << name;
  error << " counts " << kind->noun << " and is read at " << textOf(read.getIndices()[axis])
        << "; did you mean " << suggestion(read, axis, kind->variable) << "?";
  if (type.getRank() == 1 && !axes)
    error << adviceOnData(found, isDifference);
  return error << " (read-C3)"; // read-C3
}

/// Rejects an index that is at or beyond the same end of the axis for every pair, and one that is
/// beyond an end within the extent of a content term.
LogicalResult ReadChecker::checkRange(ReadOp read, unsigned axis, Interval interval) {
  const int64_t size = cast<RankedTensorType>(read.getSource().getType()).getDimSize(axis);
  const std::string name = textOf(read.getSource()), index = textOf(read.getIndices()[axis]);
  auto content = dyn_cast<ContentFnOp>(op);
  const std::optional<PairForm> &form = ranges.sourcesOf(read.getIndices()[axis]).form;
  const auto end = static_cast<double>(size - 1);
  if (content && content.getExtent() && form && form->isDifference() &&
      !ShapedType::isDynamic(size) && (interval.least < 0 || interval.most > end)) // content_fn-C10
    return emitAt(read) << "the index " << index << " of " << name << " is from "
                        << static_cast<int64_t>(interval.least) << " to "
                        << static_cast<int64_t>(interval.most) << " at distances below the extent "
                        << *content.getExtent() << ", expected 0 to " << size - 1
                        << "; reduce the extent, enlarge " << name
                        << ", or use a mask that keeps only the other distances, such as pe.causal "
                           "for i - j >= 0 (content_fn-C10)";
  const bool isLiteral = interval.isConstant();
  auto last = [&] {
    return ShapedType::isDynamic(size) ? "size(" + name + ", " + std::to_string(axis) + ") - 1"
                                       : std::to_string(size - 1);
  };
  if (isLiteral && interval.most < 0) // read-C4
    return emitAt(read) << "index " << index << " of " << name
                        << " is below 0; the last element is at " << last() << " (read-C4)";
  if (interval.most < 0 || (interval.most == 0 && !isLiteral)) // read-C5
    return emitAt(read) << "the index " << index << " of " << name << " is never above 0"
                        << underMask() << ": every read is element 0 (read-C5)";
  if (ShapedType::isDynamic(size) || size <= 1)
    return success();
  if (interval.least > end || (interval.least == end && !isLiteral)) // read-C5
    return emitAt(read) << "the index " << index << " of " << name << " is never below " << size - 1
                        << underMask() << ": every read is element " << size - 1
                        << ", the last (read-C5)";
  return success();
}

void ReadChecker::visitRead(ReadOp read, DifferenceRange differences) {
  SmallVector<Interval> &hulls = reads[read];
  const bool isFirst = hulls.empty();
  for (auto [axis, index] : llvm::enumerate(read.getIndices())) {
    const Interval now = ranges.intervalOf(index, differences);
    if (isFirst)
      hulls.push_back(now);
    else
      hulls[axis] = {std::min(hulls[axis].least, now.least), std::max(hulls[axis].most, now.most)};
  }
}

/// Visits the operations that compute `value`, for pairs with these differences.
void ReadChecker::visit(Value value, DifferenceRange differences) {
  value = IndexRanges::outsideOfSums(value);
  Operation *code = value.getDefiningOp();
  if (!code || differences.isEmpty() || visited.size() > kMaxVisits ||
      !visited.emplace(value.getAsOpaquePointer(), differences.min, differences.max).second)
    return;
  if (auto read = dyn_cast<ReadOp>(code))
    visitRead(read, differences);
  if (auto sum = dyn_cast<SumOp>(code))
    visit(sum.getSummand(), differences);
  if (auto select = dyn_cast<arith::SelectOp>(code)) {
    visit(select.getCondition(), differences);
    visit(select.getTrueValue(), ranges.refine(select.getCondition(), true, differences));
    visit(select.getFalseValue(), ranges.refine(select.getCondition(), false, differences));
    return;
  }
  // If one side of a condition decides the result, the other side is irrelevant.
  const bool isBoth = isa<arith::AndIOp>(code), isEither = isa<arith::OrIOp>(code);
  if ((isBoth || isEither) && value.getType().isInteger(1)) {
    visit(code->getOperand(0), ranges.refine(code->getOperand(1), isBoth, differences));
    visit(code->getOperand(1), ranges.refine(code->getOperand(0), isBoth, differences));
    return;
  }
  for (Value operand : code->getOperands())
    visit(operand, differences);
}

LogicalResult ReadChecker::check() {
  visit(cast<YieldOp>(body.getTerminator()).getValues()[0], range);
  if (visited.size() > kMaxVisits) // the visits were not exhaustive
    return success();
  for (auto &[found, intervals] : reads) {
    auto read = cast<ReadOp>(found);
    for (unsigned axis = 0; axis < intervals.size(); ++axis)
      if (failed(checkAxis(read, axis)) || failed(checkRange(read, axis, intervals[axis])))
        return failure();
  }
  return success();
}

/// The ops with regions that a value uses, each with the differences of its pairs.
using Uses = llvm::MapVector<Operation *, DifferenceRange>;
void collect(Value value, DifferenceRange range, Uses &uses, DenseSet<Value> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert(value).second)
    return;
  if (!leadingVariablesOf(op).empty()) {
    // A mask is also evaluated at the pairs that it removes.
    DifferenceRange asked = isa<MaskFnOp>(op) ? DifferenceRange() : range;
    if (auto content = dyn_cast<ContentFnOp>(op))
      asked = content.limit(range);
    auto [known, isNew] = uses.insert({op, asked});
    if (!isNew)
      known->second = DifferenceRange::either(known->second, asked);
  }
  for (Value operand : op->getOperands())
    collect(operand, range, uses, seen);
}

/// Warns about captures and arguments that are never read.
void warnOfUnread(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (StringRef name = nameOfArgument(argument); argument.use_empty() && !name.empty())
      mlir::emitWarning(argument.getLoc()) << "argument '" << name << "' is not read";
  for (Operation &op : function.getBody().front()) {
    const size_t leading = leadingVariablesOf(&op).size();
    if (leading == 0)
      continue;
    for (BlockArgument argument : op.getRegion(0).getArguments().drop_front(leading)) {
      StringRef name = nameOfArgument(op.getOperand(argument.getArgNumber() - leading));
      if (argument.use_empty())
        mlir::emitWarning(argument.getLoc())
            << (name.empty() ? "a coordinate" : name) << " is captured but not read";
    }
  }
}

struct CheckReadsPass : impl::PECheckReadsPassBase<CheckReadsPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    markAllAnalysesPreserved();
    if (function.isExternal())
      return;
    Uses uses;
    for (Operation &op : function.getBody().front()) {
      auto attention = dyn_cast<AttentionOp>(op);
      if (!attention && !isa<EmbedOp>(op))
        continue;
      const DifferenceRange range =
          attention ? attention.getPairRange().ofPositions() : DifferenceRange();
      DenseSet<Value> seen;
      for (Value operand : op.getOperands())
        collect(operand, range, uses, seen);
    }
    for (auto &[op, range] : uses)
      if (failed(ReadChecker(op, range).check()))
        return signalPassFailure();
    warnOfUnread(function);
  }
};

} // namespace
} // namespace mlir::pe
