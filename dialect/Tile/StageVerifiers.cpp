//===- StageVerifiers.cpp - Verifiers of plans, stages and streams --------===//
#include "dialect/Tile/Owner.h"
#include "dialect/Tile/Place.h"
#include "dialect/Tile/Verify.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::tile;

//===- Plans -----------------------------------------------------------------===//

LogicalResult PlanOp::verify() {
  // A plan without attention has neither depth.
  const bool hasDepths = getHeadDim() != 0 || getValueDim() != 0;
  for (auto [name, number] : {std::pair<StringRef, int64_t>{"head_dim", getHeadDim()},
                              {"value_dim", getValueDim()},
                              {"key_block", getKeyBlock().value_or(1)},
                              {"key_split", getKeySplit().value_or(1)}})
    if (number < 1 && (hasDepths || name.starts_with("key_"))) // plan-C1
      return emitOpError("expected a positive ") << name << ", found " << number << " (plan-C1)";
  if (static_cast<int64_t>(getDistancePadding()) < 0) // plan-C1
    return emitOpError("expected a distance_padding of at least 0, found ")
           << static_cast<int64_t>(getDistancePadding()) << " (plan-C1)";
  return success();
}

LogicalResult PlanOp::verifyRegions() {
  llvm::StringSet<llvm::MallocAllocator> names;
  for (Operation &op : getBody().front()) {
    if (!isa<ExtentOp, ParameterOp, RequireOp, RequireValuesOp, BufferOp, PairsOp, StageOp,
             LaunchOp>(op) &&
        !matchPattern(&op, m_Constant())) // plan-C2
      return op.emitOpError(
          "expected only extents, parameters, requirements, buffers, pairs, stages, "
          "launches and constants in a tile.plan (plan-C2)");
    if (auto buffer = dyn_cast<BufferOp>(op);
        buffer && !names.insert(buffer.getName()).second) // plan-C3
      return op.emitOpError("expected unique buffer names in a plan, found a second \"")
             << buffer.getName() << "\" (plan-C3)";
  }
  return success();
}

/// Checks that a name is unique among the words of the plan's frame.
static LogicalResult verifyWord(Operation *op, StringRef name, StringRef label) {
  std::string problem;
  auto parsed = ::pe::plan::SizeExpression::parse(std::string_view(name), problem);
  if (!parsed || !parsed->asName() || name == "t" || name == "kb" || name == "ks")
    return op->emitOpError("expected a name that is not reserved, found \"")
           << name << "\" (" << label << ")";
  auto isSame = [&](const ::pe::plan::FrameWord &word) {
    return word.kind != ::pe::plan::FrameWord::Kind::Stride && word.name == name;
  };
  if (llvm::count_if(getFrame(op->getParentOfType<PlanOp>()), isSame) > 1)
    return op->emitOpError("expected a name that is not in use in the plan, found \"")
           << name << "\" (" << label << ")";
  return success();
}

LogicalResult ExtentOp::verify() { return verifyWord(*this, getName(), "extent-C1"); }

LogicalResult ParameterOp::verify() {
  if (failed(verifyWord(*this, getName(), "parameter-C1")))
    return failure();
  if (!getFallback())
    return success();
  // A default may use the words that precede it in the frame.
  std::vector<::pe::plan::FrameWord> before = getFrame((*this)->getParentOfType<PlanOp>());
  while (before.back().kind == ::pe::plan::FrameWord::Kind::Stride ||
         before.back().name != getName())
    before.pop_back();
  if (auto layout = ::pe::plan::FrameLayout::create(before); !layout)
    return emitOpError(layout.error().getMessage()) << " (parameter-C2)";
  return success();
}

LogicalResult RequireOp::verify() {
  for (auto [what, text] :
       {std::pair<StringRef, StringRef>("size", getSize()), {"least", getLeast()}})
    if (failed(verifyExpression(*this, what, text, SizeUse::Scalar, "require-C1")))
      return failure();
  return success();
}

LogicalResult RequireValuesOp::verify() {
  for (auto [what, text] :
       {std::pair<StringRef, StringRef>("first", getFirst()), {"last", getLast()}})
    if (failed(verifyExpression(*this, what, text, SizeUse::Scalar, "require_values-C1")))
      return failure();
  return success();
}

Value mlir::tile::tableOf(Value buffer) {
  auto pool = buffer.getDefiningOp<BufferOp>();
  if (!pool || !pool.getPages())
    return {};
  for (BufferOp other : pool->getParentOfType<PlanOp>().getOps<BufferOp>())
    if (other.getName() == *pool.getPages())
      return other.getBuffer();
  return {};
}

SmallVector<StringAttr> mlir::tile::accessedExtents(Value buffer) {
  SmallVector<StringAttr> extents(cast<BufferType>(buffer.getType()).getExtents());
  auto pool = buffer.getDefiningOp<BufferOp>();
  MLIRContext *context = buffer.getContext();
  if (!pool || !pool.getPages()) {
    for (StringAttr &extent : extents)
      if (const PaddedExtent padded = paddedExtentOf(extent); padded.block)
        extent = StringAttr::get(context, padded.space);
    return extents;
  }
  return {StringAttr::get(context, "b"), extents[2], StringAttr::get(context, "c"), extents[3]};
}

std::optional<PairBlocks> mlir::tile::pairBlocksOf(Value buffer) {
  ArrayRef<StringAttr> extents = cast<BufferType>(buffer.getType()).getExtents();
  auto declared = buffer.getDefiningOp<BufferOp>();
  if (!declared || declared.getRole() != Role::Temporary || extents.size() != 4 ||
      extents[0] != "b" || extents[1] != "hq")
    return std::nullopt;
  const PaddedExtent line = paddedExtentOf(extents[2]), along = paddedExtentOf(extents[3]);
  if (!line.block || !along.block || line.space == along.space)
    return std::nullopt;
  return PairBlocks{line.space == "c" ? Owner::Columns : Owner::Rows, line.block, along.block};
}

static LogicalResult verifyPages(BufferOp pool) {
  auto isNamed = [](BufferType type, ArrayRef<StringRef> names) {
    return llvm::equal(type.getExtents(), names,
                       [](StringAttr extent, StringRef name) { return extent == name; });
  };
  BufferType type = pool.getBuffer().getType();
  const bool isPool =
      isNamed(type, {"pages", "page", "hkv", "d"}) || isNamed(type, {"pages", "page", "hkv", "e"});
  if (!isPool || pool.getRole() != Role::Argument || !pool.getStrided()) // buffer-C6
    return pool.emitOpError("expected `pages` on a strided argument with extents pages, page, hkv "
                            "and d or e, found ")
           << stringifyRole(pool.getRole()) << " '" << pool.getName() << "' of " << type
           << " (buffer-C6)";
  Value table = tableOf(pool.getBuffer());
  auto tableType = table ? cast<BufferType>(table.getType()) : BufferType();
  if (!table || table.getDefiningOp<BufferOp>().getRole() != Role::Argument ||
      !tableType.getElementType().isInteger(32) ||
      !isNamed(tableType, {"b", "ceildiv(c,page)"})) // buffer-C7
    return pool.emitOpError("expected the table of pages to be an argument of i32 with extents b "
                            "and ceildiv(c,page), found ")
           << (table ? "another buffer" : "no buffer") << " '" << *pool.getPages()
           << "' (buffer-C7)";
  return success();
}

LogicalResult BufferOp::verify() {
  BufferType type = getBuffer().getType();
  for (StringAttr extent : type.getExtents())
    if (failed(verifyExpression(*this, "extent", extent, SizeUse::Extent, "buffer-C1")))
      return failure();
  Type element = type.getElementType();
  if (!element.isF32() && !element.isF64() && !element.isBF16() && !element.isF16() &&
      !element.isInteger(32) && !element.isInteger(64)) // buffer-C2
    return emitOpError("expected elements of f32, f64, bf16, f16, i32 or i64, found ")
           << element << " (buffer-C2)";
  if (getZero() && (getRole() == Role::Argument || getRole() == Role::Cotangent)) // buffer-C3
    return emitOpError("expected no `zero` on a buffer that the caller fills (buffer-C3)");
  const bool isCallers = getRole() != Role::Residual && getRole() != Role::Temporary;
  if (getStrided() && (getZero() || !isCallers || type.getRank() == 0)) // buffer-C4
    return emitOpError("expected `strided` on a tensor of the caller with an axis that is not "
                       "cleared, found a ")
           << stringifyRole(getRole()) << (getZero() ? " with `zero`" : "") << " of rank "
           << type.getRank() << " (buffer-C4)";
  if (getPages() && failed(verifyPages(*this)))
    return failure();
  if (!getSlots())
    return success();
  ArrayRef<StringAttr> extents = type.getExtents();
  StringRef side = getSlots()->getSide();
  const int64_t block = getSlots()->getBlock();
  // The blocks, a number, or the lesser of both.
  auto isCount = [&](StringRef extent) {
    const std::string blocks = ("ceildiv(" + side + "," + Twine(block) + ")").str();
    if (extent == blocks)
      return true;
    if (extent.consume_front("min(") &&
        !(extent.consume_front(blocks) && extent.consume_front(",") && extent.consume_back(")")))
      return false;
    int64_t number = 0;
    return !extent.getAsInteger(10, number) && number > 0;
  };
  const bool fits = getRole() == Role::Temporary && getZero() && element.isF32() &&
                    extents.size() >= 3 && extents[0] == "b" && extents[1] == "hq" &&
                    (side == "r" || side == "c") && block > 0 && isCount(extents[2]);
  if (!fits) // buffer-C5
    return emitOpError("expected `slots` of blocks of r or c on a temporary of f32 with `zero` and "
                       "extents b, hq, number of slots, ..., found ")
           << *getSlots() << " on a " << stringifyRole(getRole())
           << (getZero() ? " with" : " without") << " `zero` of " << type << " (buffer-C5)";
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getWhen() && failed(verifyExpression(*this, "when", *getWhen(), SizeUse::Items, "launch-C4")))
    return failure();
  return verifyExpression(*this, "items", getItems(), SizeUse::Items, "launch-C1");
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *module = (*this)->getParentOp()->getParentOp();
  auto path = SymbolRefAttr(getCalleeAttr());
  if (getThreads()) // a kernel
    path = SymbolRefAttr::get(getContext(), "kernels", {getCalleeAttr()});
  auto callee = dyn_cast_or_null<FunctionOpInterface>(tables.lookupSymbolIn(module, path));
  if (!callee) // launch-C2
    return emitOpError("expected a function of the enclosing module, found ")
           << path << " (launch-C2)";
  const unsigned words = getWords().value_or(ArrayRef<int32_t>()).size();
  unsigned expected = getBuffers().size() + (getThreads() ? words : 2);
  if (callee.getNumArguments() != expected) // launch-C3
    return emitOpError("expected a callee of ")
           << expected << " arguments (buffers, "
           << (getThreads() ? "words of the frame" : "frame, item") << "), found "
           << callee.getNumArguments() << " (launch-C3)";
  return success();
}

//===- Stages ------------------------------------------------------------------===//

LogicalResult PairsOp::verify() {
  if (!getLow() != !getHigh()) // pairs-C1
    return emitOpError("expected both bounds of the columns of a row, found one (pairs-C1)");
  for (Value bound : {getLow(), getHigh()})
    if (bound && (!isPerHead(cast<BufferType>(bound.getType()), {"r"}) ||
                  !elementOf(bound).isInteger(32))) // pairs-C2
      return emitOpError("expected bounds of i32 with extent r last, heads before it, found ")
             << bound.getType() << " (pairs-C2)";
  if (Value reach = getReach();
      reach && (!getLow() || !isPerHead(cast<BufferType>(reach.getType()), {"2"}) ||
                cast<BufferType>(reach.getType()).getRank() != 2 ||
                !elementOf(reach).isInteger(32))) // pairs-C3
    return emitOpError("expected a reach of i32 with extents b, 2, together with bounds of "
                       "the columns, found ")
           << reach.getType() << " (pairs-C3)";
  if (Value states = getStates()) {
    auto type = cast<BufferType>(states.getType());
    const bool fits = stateBlockOf(states) && type.getElementType().isInteger(32) &&
                      isPerHead(type, {type.getExtents()[type.getRank() - 2].getValue(),
                                       type.getExtents().back().getValue()});
    if (!fits) // pairs-C4
      return emitOpError("expected states of i32 with extents ceildiv(r,ROWS), ceildiv(c,COLUMNS) "
                         "last, heads before them, found ")
             << type << " (pairs-C4)";
  }
  if (Value taken = getTaken(); taken && (!isPerHead(cast<BufferType>(taken.getType()), {"c"}) ||
                                          cast<BufferType>(taken.getType()).getRank() != 2 ||
                                          !elementOf(taken).isInteger(32))) // pairs-C5
    return emitOpError("expected taken columns of i32 with extents b, c, found ")
           << taken.getType() << " (pairs-C5)";
  return success();
}

LogicalResult StageOp::verify() {
  for (StringRef extent : getOver().getAsValueRange<StringAttr>())
    if (failed(verifyExpression(*this, "over", extent, SizeUse::Extent, "stage-C1")))
      return failure();
  if (getWhen() && failed(verifyExpression(*this, "when", *getWhen(), SizeUse::Items, "stage-C9")))
    return failure();
  if (isOver("ks") && !(*this)->getParentOfType<PlanOp>().getKeySplit()) // stage-C10
    return emitOpError("expected a plan with key_split, because the stage is over ks (stage-C10)");
  return success();
}

bool StageOp::isOver(StringRef extent) {
  return llvm::is_contained(getOver().getAsValueRange<StringAttr>(), extent);
}

static bool hasValue(Operation &op) {
  auto isValue = [](Type type) { return isa<ValType>(type); };
  return llvm::any_of(op.getResultTypes(), isValue) || llvm::any_of(op.getOperandTypes(), isValue);
}

/// Verifies the ops of the body.
static LogicalResult verifyBodyOps(StageOp stage) {
  Operation *loop = nullptr, *value = nullptr, *stream = nullptr;
  for (Operation &op : stage.getBody().front()) {
    bool isLoop = isa<ForeachOp, FindSegmentsOp>(op);
    if (!isLoop && !hasValue(op) && !isa<SizeOp>(op) && !isa<StreamOp>(op) &&
        !matchPattern(&op, m_Constant())) // stage-C2
      return op.emitOpError("expected only tile values, a stream, loops, sizes and constants in a "
                            "tile.stage (stage-C2)");
    if (isa<StreamOp>(op) && stream) // stage-C3
      return op.emitOpError("expected at most one stream in a stage, found a second (stage-C3)");
    stream = isa<StreamOp>(op) ? &op : stream;
    loop = isLoop ? &op : loop;
    value = hasValue(op) || isa<StreamOp>(op) ? &op : value;
    if (loop && value) // stage-C4
      return op.emitOpError("expected either loops or values in a stage, found both (stage-C4)");
  }
  auto over = llvm::to_vector(stage.getOver().getAsValueRange<StringAttr>());
  const bool isOfHeads =
      over.size() == 2 && over[0] == "b" && (over[1] == "hq" || over[1] == "hkv");
  const bool isOfSplits =
      over.size() == 3 && over[0] == "b" && over[1] == "hkv" && over[2] == "ks" && stream;
  if (value && !isOfHeads && !isOfSplits) // stage-C5
    return stage.emitOpError("expected a stage with values to be over [\"b\", \"hq\"], "
                             "[\"b\", \"hkv\"] or, with a stream, [\"b\", \"hkv\", \"ks\"], found ")
           << stage.getOver() << " (stage-C5)";
  return success();
}

/// Verifies the order of a stage with a stream: row values, the stream, results.
static LogicalResult verifyBodyOrder(StageOp stage, StreamOp stream) {
  for (Operation &op : stage.getBody().front()) {
    if (&op == stream)
      break;
    if (isa<StoreOp>(op)) // stage-C6
      return op.emitOpError("expected no store before the stage's stream (stage-C6)");
  }
  WalkResult result = stream.getBody().walk([&](Operation *op) -> WalkResult {
    for (Value operand : op->getOperands())
      if (isa<ValType>(operand.getType()) && hasColumns(spacesOf(operand)) &&
          operand.getParentRegion() == &stage.getBody()) // stage-C7
        return op->emitOpError(
            "expected a value over c to be loaded inside the stream that uses it "
            "(stage-C7)");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult StageOp::verifyRegions() {
  if (failed(verifyBodyOps(*this)))
    return failure();
  if (StreamOp stream = getStream(); stream && failed(verifyBodyOrder(*this, stream)))
    return failure();
  llvm::DenseSet<Value> stored;
  walk([&](StoreOp store) { stored.insert(store.getBuffer()); });
  WalkResult result = walk([&](LoadOp load) -> WalkResult {
    if (stored.contains(load.getBuffer())) // stage-C8
      return load.emitOpError("expected a buffer that the stage does not store (stage-C8)");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===- Streams -------------------------------------------------------------------===//

LogicalResult StreamOp::verify() {
  unsigned carries = getCarries().size();
  if (getNumResults() < carries ||
      !llvm::equal(getCarries().getTypes(),
                   getResults().take_front(carries).getTypes())) // stream-C1
    return emitOpError("expected the first results to have the carries' types (stream-C1)");
  for (auto [index, carry] : llvm::enumerate(getCarries())) {
    const SpaceSet &spaces = spacesOf(carry);
    if (!hasRows(spaces) || hasColumns(spaces)) // stream-C2
      return emitOpError("expected carry ") << index << " to be a value over r and not c, found "
                                            << carry.getType() << " (stream-C2)";
  }
  for (Value fold : getOutputs().drop_front(carries))
    if (hasPairs(spacesOf(fold))) // stream-C3
      return emitOpError("expected folds to lose r or c, found ")
             << fold.getType() << " (stream-C3)";
  if (carries && getOrder() == Order::Any) // stream-C4
    return emitOpError("expected ascending or descending for a stream with carries, found any "
                       "(stream-C4)");
  bool stops = getStopCarry().has_value();
  if (stops != getStopBelow().has_value() ||
      (stops && (*getStopCarry() >= carries ||
                 !isRow(spacesOf(getCarries()[*getStopCarry()]))))) // stream-C5
    return emitOpError("expected stop_carry, the index of a carry over r, together with stop_below "
                       "(stream-C5)");
  Value skip = getSkipBuffer();
  if (static_cast<bool>(skip) != getSkipBelow().has_value()) // stream-C6
    return emitOpError("expected a skip buffer together with skip_below (stream-C6)");
  if (skip && !isPerHead(cast<BufferType>(skip.getType()), {"kb", "r"})) // stream-C7
    return emitOpError("expected a skip buffer with extents kb, r last, found ")
           << skip.getType() << " (stream-C7)";
  return success();
}

/// Verifies the body of a stream over splits.
static LogicalResult verifySplits(StreamOp stream) {
  for (Operation &op : stream.getBody().front().without_terminator()) {
    auto hasNoRows = [](Value value) {
      return !hasRows(spacesOf(value)) || hasColumns(spacesOf(value));
    };
    if (!isa<LoadOp, MapOp, ConstantOp>(op) ||
        llvm::any_of(op.getResults(), hasNoRows)) // stream-C10
      return op.emitOpError("expected loads, maps and constants of values over r and not c in a "
                            "stream over splits (stream-C10)");
  }
  if (stream.getNumFolds() || stream->getParentOfType<StageOp>().isOver("ks")) // stream-C11
    return stream.emitOpError("expected no folds of a stream over splits, in a stage that is not "
                              "over ks (stream-C11)");
  return success();
}

LogicalResult StreamOp::verifyRegions() {
  Block &body = getBody().front();
  if (!llvm::equal(body.getArgumentTypes(), getCarries().getTypes())) // stream-C8
    return emitOpError("expected one region argument per carry, of its type (stream-C8)");
  if (!llvm::equal(body.getTerminator()->getOperandTypes(), getResultTypes())) // stream-C9
    return emitOpError("expected the body to yield every carry, then every fold, of the results' "
                       "types (stream-C9)");
  return getOverSplits() ? verifySplits(*this) : success();
}
