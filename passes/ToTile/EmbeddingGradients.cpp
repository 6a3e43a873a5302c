//===- EmbeddingGradients.cpp - gradients of embedding parameters ---------===//
//
// If every position reads one row of a table, as in `table[p, d]`, the gradient of the table is
// computed row by row. A work item finds the positions of the call that read its row and writes the
// row once. That is at most one position, or all positions beyond an end, where reads are clamped.
// The float64 sums stay in registers, and rows and dimensions are divided among work items and
// threads.
//
// Other small parameters get one partial sum per row of such a table, whose work items together
// cover every position once. Without a table, or if they are few per dimension, they get one
// partial sum per 64 rows of the call.
//
// A single work item sums all other gradients in order.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Embedding.h"
#include "passes/ToTile/Terms.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

//===- Reads of captures -----------------------------------------------------------===//

std::optional<pe::ReadOp> Embedding::readOfRows(Value capture) {
  const Parameter &parameter = context.parameters[capture];
  auto isSource = [&](auto &entry) { return entry.second.absent == capture; };
  if (!capture.hasOneUse() || parameter.absent || llvm::any_of(context.parameters, isSource))
    return std::nullopt;
  SmallVector<StringRef> extents = parameter.extents();
  const auto number = llvm::find(op.getCaptures(), capture) - op.getCaptures().begin();
  BlockArgument tensor = body.getArgument(4 + number);
  SmallVector<pe::ReadOp> reads;
  for (Operation *user : tensor.getUsers())
    if (auto read = dyn_cast<pe::ReadOp>(user))
      reads.push_back(read);
  // Data of the call (extent r) is read at positions minus the start and summed in order.
  if (extents.size() != 2 || extents[0] == "model" || extents[0] == "r" || extents[1] != "model" ||
      reads.size() != 1 || reads[0].getIndices()[1] != body.getArgument(1))
    return std::nullopt;
  Value row = reads[0].getIndices()[0];
  if (row == body.getArgument(0))
    return reads[0];
  auto isShifted = [&](Value position, Value by) {
    return position == body.getArgument(0) && depends.lookup(by) == 0;
  };
  Operation *shift = row.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(shift) &&
      (isShifted(shift->getOperand(0), shift->getOperand(1)) ||
       (isa<arith::AddIOp>(shift) && isShifted(shift->getOperand(1), shift->getOperand(0)))))
    return reads[0];
  return std::nullopt;
}

/// Returns true if a sum per work item is a small part of its work: few elements, or few per
/// dimension, in which case the dimension is an index of every read.
bool Embedding::hasFewSums(Value capture) {
  constexpr int64_t kMost = 64;
  const Parameter &parameter = context.parameters[capture];
  SmallVector<StringRef> extents = parameter.extents();
  int64_t count = 1;
  const StringRef *dims = nullptr;
  for (const StringRef &extent : extents) {
    int64_t size = 0;
    if (!extent.getAsInteger(10, size))
      count *= size;
    else if (extent == "model" && !dims)
      dims = &extent;
    else
      return false;
  }
  if (parameter.absent || count > kMost)
    return false;
  if (!dims)
    return true;
  const auto axis = dims - extents.begin();
  for (auto [tensor, other] : llvm::zip_equal(body.getArguments().drop_front(4), op.getCaptures()))
    for (Operation *user : tensor.getUsers())
      if (auto read = dyn_cast<pe::ReadOp>(user);
          read && other == capture && read.getIndices()[axis] != body.getArgument(1))
        return false;
  return true;
}

/// Returns the range of rows of the call that read row `tableRow` of the table. Reads beyond an end
/// are clamped to it.
std::pair<Value, Value> Embedding::rowsOf(Scalar &s, pe::ReadOp read, Value tableRow) {
  Parameter &table =
      context
          .parameters[op.getCaptures()[cast<BlockArgument>(read.getSource()).getArgNumber() - 4]];
  IRMapping mapping;
  mapPoint(s, mapping, {}, Mapped::Point); // the row that position 0 reads
  mapping.map(body.getArgument(0), s.index(0));
  TileParameters params = parameters();
  Value first = pe::emitScalar(read.getIndices()[0], mapping, s, params, s.getF64Type());
  Value own = s.sub(s.sub(tableRow, first), s.size("q_start"));
  Value zero = s.index(0), rows = s.size("r");
  Value last = s.sub(s.size(table.extents()[0]), s.index(1));
  auto isAt = [&](Value end) -> Value {
    return s.create<arith::CmpIOp>(arith::CmpIPredicate::eq, tableRow, end);
  };
  auto within = [&](Value row) -> Value {
    return s.create<arith::MinSIOp>(s.create<arith::MaxSIOp>(row, zero), rows);
  };
  return {s.select(isAt(zero), zero, within(own)),
          s.select(isAt(last), rows, within(s.add(own, s.index(1))))};
}

//===- Stages ----------------------------------------------------------------------===//

/// Writes the gradient of the tokens: the cotangent, times the factors of dropout if given.
static void writeTokens(Scalar &s, const Embedding::Cotangent &cotangent, Value one, Value factor,
                        ValueRange element) {
  if (factor)
    one = s.round(s.mul(s.widen(one), factor), elementOf(cotangent.tokens));
  writeElement(s, one, cotangent.tokens, element);
}

void Embedding::emitAdjoint(Scalar &s, ArrayRef<Cotangent> cotangents, Value row, Value dim,
                            TileParameters &params, bool writesTokens) {
  Value sum = sumOver(s, {"b"}, [&](Scalar &x, ValueRange at) {
    Value all;
    auto wide = [&](Value value) { return pe::convertFloat(x, x.getLoc(), value, x.getF64Type()); };
    for (const Cotangent &cotangent : cotangents) {
      const SmallVector<Value> element = {at[0], row, dim};
      Value one = readElement(x, cotangent.buffer, element), factor;
      if (cotangent.dropout)
        factor = cotangent.dropout->emit(x, at[0], row, dim);
      if (writesTokens)
        writeTokens(x, cotangent, one, factor, element);
      Value product = factor ? x.mul(wide(one), wide(factor)) : wide(one);
      all = all ? x.add(all, product) : product;
    }
    return all;
  });
  Value zero = s.number(0.0, s.getF64Type());
  params.isMasked = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, sum, zero);
  IRMapping mapping;
  mapPoint(s, mapping, {.row = row, .dim = dim}, Mapped::All);
  vjp->emitPrimal(s, mapping, params, s.getF64Type());
  vjp->emitAdjoint(s, mapping, sum, params);
}

/// Computes the work item's row of the table from all positions that read it.
void Embedding::emitTable(TileBuilder &t, Value table, ArrayRef<Cotangent> cotangents,
                          bool writesTokens, TileParameters params) {
  Parameter &parameter = context.parameters[table];
  pe::ReadOp read = *readOfRows(table);
  ForeachOp loop = t.foreach ({"model"}, [&](Scalar &s, ValueRange at) {
    auto [from, to] = rowsOf(s, read, at[0]);
    Value zero = s.number(0.0, s.getF64Type());
    auto rows = s.create<scf::ForOp>(from, to, s.index(1), ValueRange{zero});
    Scalar inner(s.getLoc(), OpBuilder::atBlockEnd(rows.getBody()));
    Value sum = rows.getRegionIterArg(0);
    params.sinks[parameter.buffer] = [&sum](Scalar &x, Value value) { sum = x.add(sum, value); };
    emitAdjoint(inner, cotangents, rows.getInductionVar(), at[1], params, writesTokens);
    inner.create<scf::YieldOp>(sum);
    writeElement(s, s.round(rows.getResult(0), s.getF32Type()), parameter.gradient, at);
  });
  loop.setIndependent(true); // each row of the call belongs to one work item
}

/// Computes the work item's sums of the other captures over its rows.
void Embedding::emitSums(TileBuilder &t, RowRange rows, ArrayRef<Cotangent> cotangents,
                         TileParameters &params) {
  t.foreach ({"model"}, [&](Scalar &s, ValueRange at) {
    auto [from, to] = rows(s, at[0]);
    auto loop = s.create<scf::ForOp>(from, to, s.index(1));
    Scalar inner(s.getLoc(), OpBuilder::atBlockBegin(loop.getBody()));
    params.batch = at[0];
    params.head = inner.index(0);
    emitAdjoint(inner, cotangents, loop.getInductionVar(), at[1], params);
  });
}

void Embedding::emitGradients(ArrayRef<Cotangent> cotangents, ArrayRef<Value> tables,
                              ArrayRef<Value> others) {
  constexpr int64_t kRows = 64; // of a work item that is not a row of a table
  auto isLarge = [&](Value other) {
    return llvm::is_contained(context.parameters[other].extents(), "model");
  };
  const bool isByTable = !tables.empty() && llvm::none_of(others, isLarge);
  const std::string items = isByTable ? context.parameters[tables[0]].extents()[0].str()
                                      : "ceildiv(r," + std::to_string(kRows) + ")";
  TileParameters sums = parameters(), ofTables = parameters();
  TileParameters::Sink drop = [](Scalar &, Value) {};
  for (Value table : tables) {
    Parameter &parameter = context.parameters[table];
    parameter.gradientSums.getDefiningOp()->erase(); // a stage writes the gradient
    parameter.gradientSums = {};
    sums.sinks[parameter.buffer] = ofTables.sinks[parameter.buffer] = drop;
  }
  for (Value other : others) {
    Parameter &parameter = context.parameters[other];
    SmallVector<StringRef> extents = {items, "1"};
    llvm::append_range(extents, parameter.extents());
    sums.partial[parameter.buffer] = {context.temporary(name + "_" + parameter.name, extents,
                                                        context.plan.getF64Type(), /*zero=*/true),
                                      {},
                                      /*ofPairs=*/false};
    ofTables.sinks[parameter.buffer] = drop;
  }
  const std::string stage = name + "_gradients";
  if (!isByTable && !others.empty()) {
    TileBuilder t = beginStage(context.plan, name + "_sums", Phase::Backward, {items});
    auto rows = [&](Scalar &s, Value item) {
      Value first = s.mul(item, s.index(kRows));
      Value end = s.create<arith::MinSIOp>(s.add(first, s.index(kRows)), s.size("r"));
      return std::pair(first, end);
    };
    emitSums(t, rows, cotangents, sums);
  }
  for (auto [number, table] : llvm::enumerate(tables)) {
    TileBuilder t = beginStage(context.plan, numbered(stage, number), Phase::Backward,
                               context.parameters[table].extents()[0]);
    emitTable(t, table, cotangents, /*writesTokens=*/number == 0, ofTables);
    if (number > 0 || others.empty() || !isByTable)
      continue;
    pe::ReadOp read = *readOfRows(table);
    emitSums(t, [&](Scalar &s, Value item) { return rowsOf(s, read, item); }, cotangents, sums);
  }
  finishGradients(items, others, sums);
}

/// Adds the sums of the work items in order.
void Embedding::finishGradients(StringRef items, ArrayRef<Value> captures,
                                const TileParameters &params) {
  if (captures.empty())
    return;
  TileBuilder finish = beginStage(context.plan, name + "_finish", Phase::Finish, {});
  for (Value capture : captures) {
    Parameter &parameter = context.parameters[capture];
    SmallVector<StringRef> extents = {items};
    llvm::append_range(extents, parameter.extents());
    finish.foreach (extents, [&](Scalar &s, ValueRange at) {
      SmallVector<Value> place = {at[0], s.index(0)};
      llvm::append_range(place, at.drop_front());
      accumulateElement(s, readElement(s, params.partial.lookup(parameter.buffer).buffer, place),
                        parameter.gradientSums, at.drop_front());
    });
  }
}

/// Writes the gradient of tokens whose embedding has no table of rows.
void Embedding::emitTokens(const Cotangent &cotangent) {
  TileBuilder t = beginStage(context.plan, cotangent.stage, Phase::Backward, {"b", "r"});
  t.foreach ({"model"}, [&](Scalar &s, ValueRange at) {
    Value factor;
    if (cotangent.dropout)
      factor = cotangent.dropout->emit(s, at[0], at[1], at[2]);
    writeTokens(s, cotangent, readElement(s, cotangent.buffer, at), factor, at);
  });
}

void Embedding::emitBackward(ArrayRef<Cotangent> cotangents) {
  SmallVector<Value> tables, others;
  bool inOrder = false;
  for (Value capture : op.getCaptures()) {
    if (!context.parameters[capture].gradientSums || llvm::is_contained(others, capture))
      continue;
    if (readOfRows(capture))
      tables.push_back(capture);
    else if (hasFewSums(capture))
      others.push_back(capture);
    else
      inOrder = true;
  }
  const bool isActive = vjp->isActive();
  if (!isActive || inOrder || tables.empty())
    for (const Cotangent &cotangent : cotangents)
      emitTokens(cotangent);
  if (!isActive)
    return;
  if (!inOrder)
    return emitGradients(cotangents, tables, others);
  TileParameters params = parameters();
  TileBuilder t = beginStage(context.plan, name + "_gradients", Phase::Backward, {});
  t.foreach ({"r", "model"},
             [&](Scalar &s, ValueRange at) { emitAdjoint(s, cotangents, at[0], at[1], params); });
}
