//===- PlacePositions.cpp - replacing i and j by positions that are data --===//
//
// See Passes.td for an example. The positions in formulas are either the rows and columns of a call
// or data: given by the caller, or counted from the beginning of each document. This pass writes
// the data into the formulas, so that later passes need no support for it. Data of tokens is still
// read at the row and the column:
//
//   given      i = q_pos[b, row]           j = k_pos[b, column]
//   restarts   i = row - begin[row]        j = column - begin[row]       (of one document)
//
// In the second case i - j is row - column, so functions of the distance keep their class.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/PEArgumentAttributes.h"
#include "dialect/PE/PEAttention.h"
#include "dialect/PE/PEBiases.h"
#include "dialect/PE/PEMasks.h"
#include "dialect/PE/PEScalarBuilder.h"
#include "dialect/PE/PEScalars.h"
#include "dialect/PE/PEScores.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Analysis/Explain.h"
#include "passes/Analysis/Slice.h"
#include "passes/Analysis/Structure.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#define DEBUG_TYPE "pe-place-positions"

namespace mlir::pe {
#define GEN_PASS_DEF_PEPLACEPOSITIONSPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// Given positions are below 2^30 (checked where the host can read them, clamped here).
constexpr int64_t kLastPosition = (int64_t(1) << 30) - 1;

/// The two tensors that positions are computed from, over queries and over keys.
struct Placement {
  bool restarts = false; ///< otherwise positions are given
  Value queries, keys;

  /// Returns the position of a row or a column, read from `tensor`, the tensor of its side.
  Value at(OpBuilder &builder, Location loc, Value batch, Value place, Value tensor) const;
  /// Returns the position of a column, given the beginning of the document that contains its row.
  static Value after(OpBuilder &builder, Location loc, Value place, Value tensor, Value row);
};

Value readNumber(OpBuilder &builder, Location loc, Value tensor, ValueRange indices) {
  Value number = ReadOp::create(builder, loc, builder.getI32Type(), tensor, indices);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number);
}

Value Placement::after(OpBuilder &builder, Location loc, Value place, Value tensor, Value row) {
  return arith::SubIOp::create(builder, loc, place, readNumber(builder, loc, tensor, row));
}

Value Placement::at(OpBuilder &builder, Location loc, Value batch, Value place,
                    Value tensor) const {
  if (restarts)
    return after(builder, loc, place, tensor, place);
  Value least = arith::ConstantIndexOp::create(builder, loc, 0);
  Value most = arith::ConstantIndexOp::create(builder, loc, kLastPosition);
  Value number = readNumber(builder, loc, tensor, {batch, place});
  number = arith::MaxSIOp::create(builder, loc, number, least);
  return arith::MinSIOp::create(builder, loc, number, most);
}

//===----------------------------------------------------------------------===//
// One block of scalar code
//===----------------------------------------------------------------------===//

/// The arguments of a block: its point of evaluation and its captures. Row and column are null if
/// the code does not have them.
struct CodeBlock {
  Block &block;
  Value batch, row, column;
  ValueRange captures;          ///< outside the region
  Value queryTensor, keyTensor; ///< the block's arguments for the placement's tensors
};

/// Writes positions into one block.
class BlockPlacer {
public:
  BlockPlacer(const Placement &placement, const CodeBlock &code)
      : placement(placement), code(code) {}

  LogicalResult place();

private:
  LogicalResult keepPlaces(ReadOp read, ArrayAttr axes);
  LogicalResult keepPlaces();
  ArrayAttr axesOf(Value tensor) const;
  void replace(Value from, Value to);

  const Placement &placement;
  const CodeBlock &code;
  llvm::SmallPtrSet<Operation *, 8> own; ///< code that uses the rows and columns unchanged
  llvm::SmallPtrSet<OpOperand *, 8> ownUses;
};

/// Returns the axes of a captured argument of the entry function, or null if unknown.
ArrayAttr BlockPlacer::axesOf(Value tensor) const {
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (!argument || argument.getOwner() != &code.block)
    return {};
  const unsigned first = code.block.getNumArguments() - code.captures.size();
  if (argument.getArgNumber() < first)
    return {};
  auto outer = dyn_cast<BlockArgument>(code.captures[argument.getArgNumber() - first]);
  auto function = outer ? dyn_cast<func::FuncOp>(outer.getOwner()->getParentOp()) : func::FuncOp();
  return function ? function.getArgAttrOfType<ArrayAttr>(outer.getArgNumber(), "pe.axes")
                  : ArrayAttr();
}

/// Keeps indices of axes over tokens as functions of the row and the column.
LogicalResult BlockPlacer::keepPlaces(ReadOp read, ArrayAttr axes) {
  OpBuilder builder(read);
  for (auto [number, word] : llvm::enumerate(axes.getAsValueRange<StringAttr>())) {
    if (word != "query" && word != "key")
      continue;
    Value index = read.getIndices()[number];
    llvm::DenseSet<Value> leaves = {index};
    for (Operation *op : collectSlice(index))
      leaves.insert_range(op->getOperands());
    Value other = word == "query" ? code.column : code.row;
    if (!placement.restarts && other && leaves.contains(other))
      return read.emitError() << "expected a tensor over the axis \"" << word << "\" to be read at "
                              << (word == "query" ? "i" : "j")
                              << " if positions(...) are given, found it read at "
                              << (word == "query" ? "j" : "i")
                              << "; a given position is not an index of the tensor (positions-C5)";
    IRMapping mapping;
    Value kept = index.getDefiningOp() ? cloneSlice(index, mapping, builder) : index;
    for (Operation *op : collectSlice(kept))
      own.insert(op);
    read->setOperand(1 + number, kept);
    ownUses.insert(&read->getOpOperand(1 + number)); // may be a use of i or j itself
  }
  return success();
}

LogicalResult BlockPlacer::keepPlaces() {
  SmallVector<ReadOp> reads(code.block.getOps<ReadOp>());
  for (ReadOp read : reads)
    if (ArrayAttr axes = axesOf(read.getSource()); axes && failed(keepPlaces(read, axes)))
      return failure();
  for (auto sum : code.block.getOps<SumOp>())
    for (Value input : sum.getInputs()) {
      ArrayAttr axes = axesOf(input);
      if (axes && llvm::any_of(axes.getAsValueRange<StringAttr>(),
                               [](StringRef word) { return word == "query" || word == "key"; }))
        return sum.emitError() << "expected a sum that reads no data of tokens if positions are "
                                  "data, found one that does (positions-C6)";
    }
  return success();
}

/// Replaces uses in code that computes with positions.
void BlockPlacer::replace(Value from, Value to) {
  from.replaceUsesWithIf(
      to, [&](OpOperand &use) { return !own.contains(use.getOwner()) && !ownUses.contains(&use); });
}

LogicalResult BlockPlacer::place() {
  if (failed(keepPlaces()))
    return failure();
  OpBuilder builder = OpBuilder::atBlockBegin(&code.block);
  Location loc = code.block.getTerminator()->getLoc();
  Value query, key;
  if (code.row)
    query = placement.at(builder, loc, code.batch, code.row, code.queryTensor);
  if (code.column && placement.restarts && code.row)
    key = Placement::after(builder, loc, code.column, code.queryTensor, code.row);
  else if (code.column)
    key = placement.at(builder, loc, code.batch, code.column, code.keyTensor);
  for (Value position : {query, key})
    if (position)
      for (Operation *op : collectSlice(position))
        own.insert(op);
  for (auto [from, to] : {std::pair(code.row, query), {code.column, key}})
    if (from)
      replace(from, to);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(code.block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

class TermPlacer {
public:
  TermPlacer(TermOp term, const Placement &placement) : term(term), placement(placement) {}
  /// Returns the term with its positions, which may be a new op.
  FailureOr<TermOp> place();

private:
  void capture(TermOp op);
  LogicalResult placePart(TermOp op, TermPart part);
  TermOp create(TermClass cls, StringRef reason);
  TermOp splitAffine();
  TermOp makeGeneral();

  TermOp term;
  const Placement &placement;
};

/// Appends the placement's tensors to the captures.
void TermPlacer::capture(TermOp op) {
  for (Value tensor : {placement.queries, placement.keys}) {
    op->insertOperands(op->getNumOperands(), tensor);
    for (Region &part : op.getParts())
      part.addArgument(tensor.getType(), op.getLoc());
  }
}

LogicalResult TermPlacer::placePart(TermOp op, TermPart part) {
  Block &block = op.getPart(part);
  CodeBlock code{block, block.getArgument(0), {}, {}, op.getCaptures(), {}, {}};
  const unsigned count = block.getNumArguments();
  code.queryTensor = block.getArgument(count - 2);
  code.keyTensor = block.getArgument(count - 1);
  (part == TermPart::Column ? code.column : code.row) = block.getArgument(2);
  if (part == TermPart::Pair)
    code.column = block.getArgument(3);
  return BlockPlacer(placement, code).place();
}

/// Creates an empty term with the captures of this one and the placement's tensors.
TermOp TermPlacer::create(TermClass cls, StringRef reason) {
  OpBuilder builder(term);
  auto structure = TermAttr::get(term.getContext(), cls, reason);
  ArrayRef<TermPart> parts = partsOf(cls);
  auto op = TermOp::create(builder, term.getLoc(), term.getType(), structure, term.getCaptures(),
                           term.getFormula(), parts.size());
  for (auto [part, region] : llvm::zip_equal(parts, op.getParts())) {
    Block &block = region.emplaceBlock();
    SmallVector<Type> types(2, builder.getIndexType());
    llvm::append_range(types, pointTypesOf(part, builder.getContext()));
    llvm::append_range(types, term.getCaptures().getTypes());
    block.addArguments(types, SmallVector<Location>(types.size(), term.getLoc()));
  }
  capture(op);
  return op;
}

/// Splits c (i - j) into c i plus c (0 - j).
TermOp TermPlacer::splitAffine() {
  TermOp op = create(TermClass::RowColumn, "is proportional to i - j, the difference of two given "
                                           "positions");
  Block &source = term.getPart(TermPart::Distance);
  for (TermPart part : {TermPart::Row, TermPart::Column}) {
    Block &block = op.getPart(part);
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    Location loc = term.getLoc();
    const bool isRow = part == TermPart::Row;
    const unsigned count = block.getNumArguments();
    Value position = placement.at(builder, loc, block.getArgument(0), block.getArgument(2),
                                  block.getArgument(count - (isRow ? 2 : 1)));
    if (!isRow)
      position = arith::SubIOp::create(builder, loc,
                                       arith::ConstantIndexOp::create(builder, loc, 0), position);
    IRMapping mapping;
    mapping.map(source.getArguments().take_front(3),
                ValueRange{block.getArgument(0), block.getArgument(1), position});
    mapping.map(source.getArguments().drop_front(3),
                block.getArguments().drop_front(3).drop_back(2));
    Value value = cloneSlice(term.getPartValue(TermPart::Distance), mapping, builder);
    YieldOp::create(builder, loc, value);
  }
  return op;
}

/// Makes a function of the difference of two given positions a function of the pair.
TermOp TermPlacer::makeGeneral() {
  TermOp op = create(TermClass::General, "is a function of i - j, the difference of two given "
                                         "positions");
  Block &block = op.getPart(TermPart::Pair);
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  const unsigned count = block.getNumArguments();
  Value batch = block.getArgument(0);
  PairPoint point{batch, block.getArgument(1),
                  placement.at(builder, term.getLoc(), batch, block.getArgument(2),
                               block.getArgument(count - 2)),
                  placement.at(builder, term.getLoc(), batch, block.getArgument(3),
                               block.getArgument(count - 1))};
  ValueRange captures = block.getArguments().drop_front(4).drop_back(2);
  Value value = term.buildScalar(builder, term.getLoc(), point, captures);
  YieldOp::create(builder, term.getLoc(), value);
  return op;
}

FailureOr<TermOp> TermPlacer::place() {
  TermOp op = term;
  switch (term.getTermClass()) {
  case TermClass::Affine:
    op = placement.restarts ? term : splitAffine();
    break;
  case TermClass::Distance:
    op = placement.restarts ? term : makeGeneral();
    break;
  case TermClass::Segments:
    if (!placement.restarts) {
      op = makeGeneral();
      break;
    }
    capture(op);
    if (failed(placePart(op, TermPart::RowFactor)))
      return failure();
    break;
  case TermClass::Row:
  case TermClass::Column:
  case TermClass::RowColumn:
  case TermClass::General:
    capture(op);
    for (TermPart part : partsOf(term.getTermClass()))
      if (failed(placePart(op, part)))
        return failure();
    break;
  }
  op.dropUnusedCaptures();
  return op;
}

//===----------------------------------------------------------------------===//
// Masks and functions of the score
//===----------------------------------------------------------------------===//

/// Adds the placement's tensors to the captures of an op with one region, whose block begins with
/// `first` arguments before b, h, i and, with columns, j, and writes the positions into it.
LogicalResult placeRegion(Operation *op, unsigned first, const Placement &placement,
                          bool hasColumn = true) {
  Block &block = op->getRegion(0).front();
  const unsigned leading = first + (hasColumn ? 4 : 3);
  SmallVector<Value> tensors;
  for (Value tensor : {placement.queries, placement.keys}) {
    op->insertOperands(op->getNumOperands(), tensor);
    tensors.push_back(block.addArgument(tensor.getType(), op->getLoc()));
  }
  CodeBlock code{block,
                 block.getArgument(first),
                 block.getArgument(first + 2),
                 hasColumn ? block.getArgument(first + 3) : Value(),
                 op->getOperands(),
                 tensors[0],
                 tensors[1]};
  if (failed(BlockPlacer(placement, code).place()))
    return failure();
  for (unsigned n = 0, last = block.getNumArguments() - 1; n < 2; ++n)
    if (block.getArgument(last - n).use_empty()) {
      block.eraseArgument(last - n);
      op->eraseOperand(last - n - leading);
    }
  return success();
}

/// Writes positions into the score functions, factors and the sink of this attention.
LogicalResult placeFunctions(AttentionOp attention, const Placement &placement) {
  OpBuilder builder(attention);
  for (OpOperand &operand : attention->getOpOperands()) {
    Operation *source = operand.get().getDefiningOp();
    if (!isa_and_nonnull<ScoreFnOp, FactorFnOp, SinkFnOp>(source))
      continue;
    Operation *function = builder.clone(*source);
    operand.set(function->getResult(0));
    if (failed(placeRegion(function, /*first=*/isa<ScoreFnOp>(function) ? 1 : 0, placement,
                           /*hasColumn=*/!isa<SinkFnOp>(function))))
      return failure();
  }
  return success();
}

/// Builds the mask of one attention, with documents and positions written into it.
class MaskPlacer {
public:
  MaskPlacer(AttentionOp attention, const Placement *placement)
      : attention(attention), placement(placement), builder(attention) {}

  /// Returns null after an error.
  Value place(Value mask);

private:
  Value placeLeaf(MaskOpInterface op);
  Value placeDocuments(MaskOpInterface op);
  Value combine(MaskOpInterface op);

  AttentionOp attention;
  const Placement *placement; ///< null: rows and columns
  OpBuilder builder;
  DenseMap<Value, Value> placed;
};

/// Builds j >= begin[i] and j < end[i], for rows and columns.
Value MaskPlacer::placeDocuments(MaskOpInterface op) {
  Location loc = op.getLoc();
  Value boundaries = op.getDocumentBoundaries();
  Type tensor = boundaries.getType();
  auto bounds = placement && placement->restarts
                    ? placement->queries.getDefiningOp<DocumentBoundsOp>()
                    : DocumentBoundsOp();
  if (!bounds || bounds.getBoundaries() != boundaries)
    bounds = DocumentBoundsOp::create(builder, loc, tensor, tensor, boundaries, false);
  auto function = MaskFnOp::create(builder, loc, op->getResult(0).getType(), bounds->getResults());
  Block &block = function.getBody().emplaceBlock();
  block.addArguments(SmallVector<Type>(4, builder.getIndexType()), SmallVector<Location>(4, loc));
  Value begin = block.addArgument(tensor, loc), end = block.addArgument(tensor, loc);
  Value row = block.getArgument(2), column = block.getArgument(3);
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  Value isAfter = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::sge, column,
                                        readNumber(inner, loc, begin, row));
  Value isBefore = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::slt, column,
                                         readNumber(inner, loc, end, row));
  YieldOp::create(inner, loc, arith::AndIOp::create(inner, loc, isAfter, isBefore).getResult());
  return function;
}

/// Builds scalar code of rows and columns, into which positions are written. If they restart, a
/// mask that is a range of i - j is unchanged.
Value MaskPlacer::placeLeaf(MaskOpInterface op) {
  if (op.getDocumentBoundaries())
    return placeDocuments(op);
  Value mask = op->getResult(0);
  if (!placement || (placement->restarts && getDifferenceRange(mask)->exact))
    return mask;
  SmallVector<Value> captures(op->getOperands());
  auto function = MaskFnOp::create(builder, op.getLoc(), mask.getType(), captures);
  Block &block = function.getBody().emplaceBlock();
  SmallVector<Type> types(4, builder.getIndexType());
  llvm::append_range(types, op->getOperandTypes());
  block.addArguments(types, SmallVector<Location>(types.size(), op.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  PairPoint point{block.getArgument(0), block.getArgument(1), block.getArgument(2),
                  block.getArgument(3)};
  Value isKept =
      op.buildScalar(inner, op.getLoc(), point, ValueRange(block.getArguments()).drop_front(4));
  YieldOp::create(inner, op.getLoc(), isKept);
  return succeeded(placeRegion(function, /*first=*/0, *placement)) ? function.getResult() : Value();
}

/// Returns true if the value of a mask of masks reads no position directly.
bool isFreeOfPositions(MaskOpInterface op) {
  Block scratch;
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&scratch);
  Location loc = op.getLoc();
  scratch.addArguments(SmallVector<Type>(4, builder.getIndexType()), SmallVector<Location>(4, loc));
  SmallVector<Value> operands;
  for (Type type : op->getOperandTypes())
    operands.push_back(scratch.addArgument(isa<MaskType>(type) ? builder.getI1Type() : type, loc));
  PairPoint point{scratch.getArgument(0), scratch.getArgument(1), scratch.getArgument(2),
                  scratch.getArgument(3)};
  op.buildScalar(builder, loc, point, operands);
  const bool isFree = point.query.use_empty() && point.key.use_empty();
  scratch.dropAllReferences();
  return isFree;
}

/// Creates the same op on masks that are already placed.
Value MaskPlacer::combine(MaskOpInterface op) {
  if (placement && !isFreeOfPositions(op)) {
    op->emitError() << "expected ops that combine masks to read no positions if positions are "
                       "data, found '"
                    << op->getName() << "' (positions-C7)";
    return {};
  }
  Operation *copy = builder.clone(*op);
  for (OpOperand &operand : copy->getOpOperands())
    if (Value known = placed.lookup(operand.get()))
      operand.set(known);
  return copy->getResult(0);
}

/// Works without recursion, because masks may form long chains.
Value MaskPlacer::place(Value mask) {
  SmallVector<Value> pending = {mask};
  while (!pending.empty()) {
    Value current = pending.back();
    auto op = current.getDefiningOp<MaskOpInterface>();
    const size_t before = pending.size();
    bool isLeaf = true;
    for (Value operand : op->getOperands())
      if (isa<MaskType>(operand.getType())) {
        isLeaf = false;
        if (!placed.contains(operand))
          pending.push_back(operand);
      }
    if (pending.size() != before)
      continue;
    pending.pop_back();
    if (placed.contains(current))
      continue;
    Value result = isLeaf ? placeLeaf(op) : combine(op);
    if (!result)
      return {};
    placed[current] = result;
  }
  return placed.lookup(mask);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The conjuncts of an attention's mask, and all ops that they use.
struct MaskOps {
  SmallVector<Value> conjuncts;
  llvm::SetVector<Operation *> all;
};

MaskOps collectMasks(Value mask) {
  MaskOps ops;
  llvm::SetVector<Value> pending;
  if (mask)
    pending.insert(mask);
  for (SmallVector<Value> open(pending.getArrayRef()); !open.empty();) {
    Value next = open.pop_back_val();
    if (auto both = next.getDefiningOp<MaskAndOp>())
      llvm::append_range(open, ValueRange{both.getRhs(), both.getLhs()});
    else
      ops.conjuncts.push_back(next);
  }
  for (size_t n = 0; n < pending.size(); ++n) {
    Operation *op = pending[n].getDefiningOp();
    if (!op)
      continue;
    ops.all.insert(op);
    for (Value operand : op->getOperands())
      if (isa<MaskType>(operand.getType()))
        pending.insert(operand);
  }
  return ops;
}

/// Returns the documents that positions restart in, or null. Fails if the restart is not supported.
FailureOr<MaskOpInterface> findRestart(AttentionOp attention, const MaskOps &masks) {
  MaskOpInterface found;
  for (Operation *op : masks.all) {
    auto documents = cast<MaskOpInterface>(op);
    if (!documents.getDocumentBoundaries() || !documents.restartsPositions())
      continue;
    if (!llvm::is_contained(masks.conjuncts, documents->getResult(0))) // documents-C1
      return documents->emitError()
             << "expected documents with restart to be required by the whole "
                "mask, found them under pe.mask_or; join them by pe.mask_and "
                "(documents-C1)";
    if (found) // documents-C2
      return documents->emitError()
             << "expected positions to restart in one set of documents, found "
                "two (documents-C2)";
    found = documents;
  }
  if (found && attention.getQueryPositions()) // documents-C3
    return attention.emitError() << "expected either positions(...) or documents with restart, "
                                    "found both (documents-C3)";
  if (found && !attention.getPrologues().empty()) // documents-C4
    return attention.emitError()
           << "expected no prologue(...) together with documents with restart, "
              "found one (documents-C4)";
  return found;
}

/// Rejects rotations by given tables, or by frequencies that depend on the end of the keys, which
/// are undefined if positions are data.
LogicalResult checkRotation(AttentionOp attention) {
  if (!attention.getRotation())
    return success();
  auto rotation = cast<RotationOpInterface>(attention.getRotation().getDefiningOp());
  auto refuse = [&](StringRef what) {
    return rotation.emitError() << "expected a rotation by frequencies that do not depend on the "
                                   "length if positions are data, found "
                                << what << " (positions-C8)";
  };
  if (rotation.getTables())
    return refuse("tables over positions");
  Block scratch;
  OpBuilder builder(attention.getContext());
  Type index = builder.getIndexType();
  Location loc = rotation.getLoc();
  for (int n = 0; n < 3; ++n)
    scratch.addArgument(index, loc);
  for (Type type : rotation->getOperandTypes())
    scratch.addArgument(type, loc);
  builder.setInsertionPointToEnd(&scratch);
  ValueRange arguments = scratch.getArguments();
  RotationPoint point{arguments[0], arguments[1], arguments[2], rotation.getRotatedDims(256)};
  rotation.buildFrequency(builder, loc, point, arguments.drop_front(3));
  const bool usesEnd = !arguments[2].use_empty();
  scratch.dropAllReferences();
  return usesEnd ? refuse("frequencies that depend on the end of the keys") : success();
}

struct PlacePositionsPass : impl::PEPlacePositionsPassBase<PlacePositionsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<AttentionOp> attentions(getOperation().getOps<AttentionOp>());
    for (AttentionOp attention : attentions)
      if (!attention->hasAttr(kPositionsAttr) && failed(place(attention)))
        return signalPassFailure();
  }

  LogicalResult place(AttentionOp attention);
  LogicalResult placeTerms(AttentionOp attention, const Placement &placement);
};

LogicalResult PlacePositionsPass::placeTerms(AttentionOp attention, const Placement &placement) {
  FailureOr<SmallVector<TermOp>> terms = termsOf(attention);
  if (failed(terms))
    return failure();
  SmallVector<Value> results;
  for (TermOp term : *terms) {
    FailureOr<TermOp> placed = TermPlacer(term, placement).place();
    if (failed(placed))
      return failure();
    results.push_back(*placed);
  }
  attention.getBiasesMutable().assign(results);
  for (TermOp term : *terms)
    if (term->use_empty())
      term->erase();
  return success();
}

LogicalResult PlacePositionsPass::place(AttentionOp attention) {
  const MaskOps masks = collectMasks(attention.getMask());
  const bool hasDocuments = llvm::any_of(masks.all, [](Operation *op) {
    return static_cast<bool>(cast<MaskOpInterface>(op).getDocumentBoundaries());
  });
  FailureOr<MaskOpInterface> restart = findRestart(attention, masks);
  if (failed(restart))
    return failure();
  OpBuilder builder(attention);
  std::optional<Placement> placement;
  std::string note;
  if (*restart) {
    Value boundaries = restart->getDocumentBoundaries();
    Type type = boundaries.getType();
    builder.setInsertionPointAfterValue(boundaries); // before the terms that read them
    auto bounds = [&](bool keys) -> Value {
      return DocumentBoundsOp::create(builder, (*restart)->getLoc(), type, type, boundaries, keys)
          .getBegin();
    };
    placement = Placement{true, bounds(false), bounds(true)};
    note = "i and j count from the beginning of each document in " +
           nameOfCapture(getOperation(), boundaries);
  } else if (attention.getQueryPositions()) {
    placement = Placement{false, attention.getQueryPositions(), attention.getKeyPositions()};
    note = "i is " + nameOfCapture(getOperation(), placement->queries) + "[b, query], j is " +
           nameOfCapture(getOperation(), placement->keys) + "[b, key]";
  }
  if (placement && (failed(checkRotation(attention)) || failed(placeTerms(attention, *placement)) ||
                    failed(placeFunctions(attention, *placement))))
    return failure();
  if (attention.getMask() && (placement || hasDocuments)) {
    Value mask =
        MaskPlacer(attention, placement ? &*placement : nullptr).place(attention.getMask());
    if (!mask)
      return failure();
    attention.getMaskMutable().assign(mask);
  }
  if (placement)
    attention->setAttr(kPositionsAttr, builder.getStringAttr(note));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*attention->getBlock())))
    if (!isa<AttentionOp>(op) && isOpTriviallyDead(&op))
      op.erase();
  return success();
}

} // namespace
} // namespace mlir::pe
