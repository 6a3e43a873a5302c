//===- ScalarStage.cpp - lowering of foreach and find_segments ------------===//
#include "passes/ToLoops/ScalarStage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/ToLoops/StageFunction.h"
#include "runtime/device/library/SegmentsCall.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cstddef>

using namespace mlir;
using namespace mlir::tile;

//===- Scalar operations -------------------------------------------------------===//

Value mlir::tile::clampIndex(OpBuilder &builder, Location loc, Value index, Value extent) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value last = builder.createOrFold<arith::SubIOp>(loc, extent, one);
  Value low = builder.createOrFold<arith::MinSIOp>(loc, index, last);
  return builder.createOrFold<arith::MaxSIOp>(loc, low, zero);
}

/// Converts `value` to `type`, which is f32 or f64, or already the type of `value`.
static Value convertFloat(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (value.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

Value mlir::tile::lookUpScalar(OpBuilder &builder, Value value, const IRMapping &mapping,
                               const StageFunction &function) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  assert(op && op->getNumRegions() == 0 && "checked by the verifier");
  IRMapping outside;
  emitScalarOp(builder, *op, outside, function);
  return outside.lookup(value);
}

/// Clamps `indices` to the buffer's extents.
static SmallVector<Value> clampIndices(OpBuilder &builder, Location loc, ArrayRef<Value> indices,
                                       Value buffer, const StageFunction &function) {
  SmallVector<Value> clamped;
  for (auto [index, extent] : llvm::zip_equal(indices, function.getExtents(buffer)))
    clamped.push_back(clampIndex(builder, loc, index, extent));
  return clamped;
}

static void emitRead(OpBuilder &builder, ReadOp op, SmallVector<Value> indices, IRMapping &mapping,
                     const StageFunction &function) {
  if (!op.getInbounds())
    indices = clampIndices(builder, op.getLoc(), indices, op.getBuffer(), function);
  mapping.map(op.getValue(), memref::LoadOp::create(builder, op.getLoc(),
                                                    function.getView(op.getBuffer()), indices));
}

Value mlir::tile::emitReduction(OpBuilder &builder, Location loc, Reduction kind, Value a,
                                Value b) {
  const bool isFloat = isa<FloatType>(a.getType());
  switch (kind) {
  case Reduction::Add:
    return isFloat ? arith::AddFOp::create(builder, loc, a, b).getResult()
                   : arith::AddIOp::create(builder, loc, a, b).getResult();
  case Reduction::Max:
    return isFloat ? arith::MaxNumFOp::create(builder, loc, a, b).getResult()
                   : arith::MaxSIOp::create(builder, loc, a, b).getResult();
  case Reduction::Min:
    return isFloat ? arith::MinNumFOp::create(builder, loc, a, b).getResult()
                   : arith::MinSIOp::create(builder, loc, a, b).getResult();
  }
  llvm_unreachable("all kinds are listed");
}

void mlir::tile::emitAccumulation(OpBuilder &builder, Location loc, Value value, Value memory,
                                  ValueRange indices, Reduction kind) {
  Value old = memref::LoadOp::create(builder, loc, memory, indices);
  if (isa<FloatType>(old.getType()))
    value = convertFloat(builder, loc, value, old.getType());
  Value combined = emitReduction(builder, loc, kind, old, value);
  memref::StoreOp::create(builder, loc, combined, memory, indices);
}

/// Clones `op`; emitScalarBlock clones its regions.
static void cloneScalarOp(OpBuilder &builder, Operation &op, IRMapping &mapping,
                          const StageFunction &function) {
  IRMapping operands;
  for (Value operand : op.getOperands())
    operands.map(operand, lookUpScalar(builder, operand, mapping, function));
  Operation *copy = op.cloneWithoutRegions(operands);
  builder.insert(copy);
  for (auto [from, to] : llvm::zip_equal(op.getResults(), copy->getResults()))
    mapping.map(from, to);
  for (auto [from, to] : llvm::zip_equal(op.getRegions(), copy->getRegions())) {
    if (from.empty())
      continue;
    Block &block = to.emplaceBlock();
    for (BlockArgument argument : from.front().getArguments())
      mapping.map(argument, block.addArgument(argument.getType(), argument.getLoc()));
    OpBuilder inner = OpBuilder::atBlockEnd(&block);
    SmallVector<Value> yielded = emitScalarBlock(inner, from.front(), mapping, function);
    Operation *terminator = from.front().getTerminator()->clone();
    terminator->setOperands(yielded);
    inner.insert(terminator);
  }
}

void mlir::tile::emitScalarOp(OpBuilder &builder, Operation &op, IRMapping &mapping,
                              const StageFunction &function) {
  auto mapped = [&](Value value) { return lookUpScalar(builder, value, mapping, function); };
  auto mappedAll = [&](ValueRange values) { return llvm::map_to_vector(values, mapped); };
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](SizeOp size) {
        mapping.map(size.getValue(),
                    function.emitSize(builder, size.getLoc(), size.getExpression()));
      })
      .Case([&](ReadOp read) {
        emitRead(builder, read, mappedAll(read.getIndices()), mapping, function);
      })
      .Case([&](WriteOp write) {
        memref::StoreOp::create(builder, write.getLoc(), mapped(write.getValue()),
                                function.getView(write.getBuffer()), mappedAll(write.getIndices()));
      })
      .Case([&](AccumulateOp accumulate) {
        emitAccumulation(builder, accumulate.getLoc(), mapped(accumulate.getValue()),
                         function.getView(accumulate.getBuffer()),
                         clampIndices(builder, accumulate.getLoc(),
                                      mappedAll(accumulate.getIndices()), accumulate.getBuffer(),
                                      function),
                         accumulate.getKind());
      })
      .Case([&](ScratchOp scratch) {
        mapping.map(scratch.getMemory(), function.getScratch(scratch));
      })
      .Default([&](Operation *) { cloneScalarOp(builder, op, mapping, function); });
}

SmallVector<Value> mlir::tile::emitScalarBlock(OpBuilder &builder, Block &block, IRMapping &mapping,
                                               const StageFunction &function) {
  for (Operation &op : block.without_terminator())
    emitScalarOp(builder, op, mapping, function);
  return llvm::map_to_vector(block.getTerminator()->getOperands(), [&](Value value) {
    return lookUpScalar(builder, value, mapping, function);
  });
}

//===- foreach -------------------------------------------------------------------===//

/// Emits one loop per extent, the first outermost, around a clone of the body.
static void emitForeach(OpBuilder builder, ForeachOp op, ArrayRef<Value> item,
                        const StageFunction &function) {
  Location loc = op.getLoc();
  Block &body = op.getBody().front();
  SmallVector<Value> arguments(item);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  for (StringRef extent : getStrings(op.getOver())) {
    Value end = function.emitSize(builder, loc, extent);
    auto loop = scf::ForOp::create(builder, loc, zero, end, one);
    arguments.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  emitScalarBlock(builder, body, mapping, function);
}

//===- find_segments ---------------------------------------------------------------===//

/// Declares the external function of runtime/device/cpu/Segments.h.
static func::FuncOp declareFindSegments(ModuleOp module) {
  constexpr StringRef kName = "pe_find_segments";
  if (auto known = module.lookupSymbol<func::FuncOp>(kName))
    return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type words = MemRefType::get({1}, builder.getI64Type());
  auto function =
      func::FuncOp::create(builder, module.getLoc(), kName, builder.getFunctionType({words}, {}));
  function.setPrivate();
  return function;
}

static SmallVector<StringRef> extentsOf(Value buffer) {
  return llvm::map_to_vector(cast<BufferType>(buffer.getType()).getExtents(),
                             [](StringAttr extent) { return extent.getValue(); });
}

SmallVector<SegmentsWord> mlir::tile::getSegmentsWords(FindSegmentsOp op) {
  using Link = ::pe::segments::Link;
  using Extents = SmallVector<StringRef>;
  const size_t links = op.getLinks().size() / 2;
  SmallVector<SegmentsWord> words((sizeof(PeFindSegments) + links * sizeof(Link)) / 8);
  const Extents u = extentsOf(op.getU()), table = extentsOf(op.getCoefficients());
  auto set = [&](size_t offset, SegmentsWord word) { words[offset / 8] = std::move(word); };
  set(offsetof(PeFindSegments, u), op.getU());
  set(offsetof(PeFindSegments, uRows), Extents(ArrayRef(u).drop_back()));
  set(offsetof(PeFindSegments, uStride), Extents{u.back()});
  set(offsetof(PeFindSegments, uCount), Extents{"max(r+c-1,0)"});
  set(offsetof(PeFindSegments, v), op.getV());
  set(offsetof(PeFindSegments, vCount), extentsOf(op.getV()));
  set(offsetof(PeFindSegments, knots), op.getKnots());
  set(offsetof(PeFindSegments, coefficients), op.getCoefficients());
  set(offsetof(PeFindSegments, count), op.getCount());
  set(offsetof(PeFindSegments, heads), Extents(ArrayRef(table).drop_back(2)));
  set(offsetof(PeFindSegments, capacity), Extents{table[table.size() - 2]});
  set(offsetof(PeFindSegments, degree), static_cast<int64_t>(op.getDegree()));
  set(offsetof(PeFindSegments, tolerance),
      llvm::bit_cast<int64_t>(op.getTolerance().convertToDouble()));
  set(offsetof(PeFindSegments, linkCount), static_cast<int64_t>(links));
  for (auto [i, name] : llvm::enumerate(op.getFunctions().getAsValueRange<StringAttr>())) {
    const size_t link = sizeof(PeFindSegments) + i * sizeof(Link);
    Value weight = op.getLinks()[2 * i], bias = op.getLinks()[2 * i + 1];
    const Extents matrix = extentsOf(weight);
    set(link + offsetof(Link, weight), weight);
    set(link + offsetof(Link, bias), bias);
    set(link + offsetof(Link, outputs), extentsOf(bias));
    set(link + offsetof(Link, inputs), matrix.size() == 2 ? Extents{matrix.back()} : Extents());
    set(link + offsetof(Link, function),
        llvm::find(::pe::plan::kActivationNames, name) - ::pe::plan::kActivationNames);
  }
  assert(!llvm::is_contained(words, SegmentsWord()) && "every field is set");
  return words;
}

/// Calls `pe_find_segments` with its argument block on the stack.
static void emitFindSegments(OpBuilder builder, FindSegmentsOp op, const StageFunction &function) {
  Location loc = op.getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto address = [&](Value buffer) -> Value {
    return memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, function.getView(buffer));
  };
  auto product = [&](ArrayRef<StringRef> extents) {
    Value count = arith::ConstantIndexOp::create(builder, loc, 1);
    for (StringRef extent : extents)
      count =
          builder.createOrFold<arith::MulIOp>(loc, count, function.emitSize(builder, loc, extent));
    return count;
  };
  SmallVector<Value> words;
  for (const SegmentsWord &word : getSegmentsWords(op))
    words.push_back(std::visit(llvm::makeVisitor(number, address, product), word));

  OpBuilder entry = function.getEntryBuilder();
  int64_t count = words.size();
  Type i64 = builder.getI64Type();
  Value block = memref::AllocaOp::create(entry, loc, MemRefType::get({count}, i64));
  for (auto [position, word] : llvm::enumerate(words)) {
    Value index = arith::ConstantIndexOp::create(builder, loc, position);
    Value number = arith::IndexCastOp::create(builder, loc, i64, word);
    memref::StoreOp::create(builder, loc, number, block, index);
  }
  Value first = memref::ReinterpretCastOp::create(builder, loc, MemRefType::get({1}, i64), block, 0,
                                                  ArrayRef<int64_t>{1}, ArrayRef<int64_t>{1});
  func::FuncOp callee = declareFindSegments(function.getFunction()->getParentOfType<ModuleOp>());
  func::CallOp::create(builder, loc, callee, first);
}

//===- Stages ----------------------------------------------------------------------===//

bool mlir::tile::isScalarStage(StageOp stage) {
  return llvm::none_of(stage.getBody().front(), [](Operation &op) {
    auto isValue = [](Type type) { return isa<ValType>(type); };
    return isa<StreamOp>(op) || llvm::any_of(op.getResultTypes(), isValue);
  });
}

/// Emits one item of the stage, given its indices.
static void emitItem(OpBuilder &builder, StageOp stage, ArrayRef<Value> item,
                     const StageFunction &function, const ScalarStageOptions &options) {
  for (Operation &op : stage.getBody().front())
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](ForeachOp foreach) {
          if (!options.emitLoop || !options.emitLoop(builder, foreach, item, function))
            emitForeach(builder, foreach, item, function);
        })
        .Case([&](FindSegmentsOp find) { emitFindSegments(builder, find, function); });
}

/// Emits a loop over `group` items of the stage for each item of the function. Returns the number
/// of items of the function.
static std::string emitGroup(OpBuilder builder, StageOp stage, const StageFunction &function,
                             const ScalarStageOptions &options) {
  Location loc = stage.getLoc();
  const SmallVector<StringRef> over = getStrings(stage.getOver());
  const std::string items = productOfExtents(over), group = std::to_string(options.group);
  Value size = arith::ConstantIndexOp::create(builder, loc, options.group);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value first = arith::MulIOp::create(builder, loc, function.getItem(), size);
  Value end = arith::MinSIOp::create(builder, loc, arith::AddIOp::create(builder, loc, first, size),
                                     function.emitSize(builder, loc, items));
  const std::string launched = "ceildiv(" + items + "," + group + ")";
  Block &body = stage.getBody().front();
  auto only = llvm::hasSingleElement(body) ? dyn_cast<ForeachOp>(body.front()) : ForeachOp();
  if (only && options.emitLoopOfItems &&
      options.emitLoopOfItems(builder, only, first, end, function))
    return launched;
  auto loop = scf::ForOp::create(builder, loc, first, end, one);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> item = function.decompose(builder, loc, loop.getInductionVar(), over);
  emitItem(builder, stage, item, function, options);
  return launched;
}

LogicalResult mlir::tile::lowerScalarStage(StageOp stage, const ScalarStageOptions &options) {
  if (!isScalarStage(stage))
    return stage.emitOpError("expected a stage with only loops, found a stream or a tile value");
  StageFunction function(stage, "", collectBuffers(stage));
  OpBuilder builder = function.getBodyBuilder();
  if (options.group > 1) {
    function.createLaunch(stage, emitGroup(builder, stage, function, options));
  } else {
    SmallVector<StringRef> over = getStrings(stage.getOver());
    emitItem(builder, stage, function.decomposeItem(builder, stage.getLoc(), over), function,
             options);
    function.createLaunch(stage, productOfExtents(over));
  }
  stage.erase();
  return success();
}
