//===- Embedding.cpp - lowering of pe.embedding_fn ------------------------===//
#include "passes/ToTile/Embedding.h"

#include "passes/Analysis/Slice.h"
#include "passes/ToTile/SineAndCosine.h"
#include "passes/ToTile/Terms.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include <limits>

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Flags for the inputs that a value of the region depends on.
enum : unsigned { kPosition = 1, kDim = 2, kTensor = 4 };

/// Returns true if an operation costs much more than a load.
bool isCostly(Operation *op) {
  if (isa<arith::DivFOp>(op))
    return !matchPattern(op->getOperand(1), m_Constant());
  return isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
         !isa<math::AbsFOp, math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp,
              math::FmaOp, math::CopySignOp>(op);
}

bool isCostly(Value value) {
  return llvm::any_of(pe::collectSlice(value), [](Operation *op) { return isCostly(op); });
}

/// Returns true if the value is the index converted to a float.
bool isCastOf(Value value, Value index) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::SIToFPOp, arith::IndexCastOp, arith::ExtFOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return value == index;
}

/// Returns the factor from the power of |x| to the power of a negative x: the sign for an integer
/// exponent, NaN for any other.
Value emitSignOfPower(Scalar &s, Value exponent) {
  Type type = exponent.getType();
  auto differs = [&](Value a, Value b) -> Value {
    return s.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, a, b);
  };
  Value half = s.mul(exponent, s.number(0.5, type));
  Value isOdd = differs(half, s.create<math::FloorOp>(half));
  Value isBroken = differs(exponent, s.create<math::FloorOp>(exponent));
  Value sign = s.select(isOdd, s.number(-1.0, type), s.number(1.0, type));
  return s.select(isBroken, s.number(std::numeric_limits<double>::quiet_NaN(), type), sign);
}

} // namespace

Embedding::Embedding(PlanContext &context, pe::EmbeddingFnOp op, std::string name)
    : context(context), op(op), name(std::move(name)), body(op.getBody().front()),
      root(cast<pe::YieldOp>(body.getTerminator()).getValues()[0]) {
  depends[body.getArgument(0)] = kPosition;
  depends[body.getArgument(1)] = kDim;
  for (BlockArgument tensor : body.getArguments().drop_front(4))
    depends[tensor] = kTensor;
  for (Operation &inner : body.without_terminator()) {
    unsigned all = 0;
    if (!isa<pe::AxisSizeOp>(inner))
      for (Value operand : inner.getOperands())
        all |= depends.lookup(operand);
    for (Value result : inner.getResults())
      depends[result] = all;
  }
}

TileParameters Embedding::parameters() {
  TileParameters params(context, body, op.getCaptures());
  params.compute = Builder(op.getContext()).getF64Type();
  return params;
}

//===- Pieces ------------------------------------------------------------------===//

/// Returns w if `op` is a sine or cosine of p * w(d) or p / w(d).
std::optional<Value> Embedding::angleOf(Operation *op) {
  if (!isa<math::SinOp, math::CosOp>(op))
    return std::nullopt;
  Operation *product = op->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(product))
    return std::nullopt;
  Value left = product->getOperand(0), right = product->getOperand(1);
  if (isa<arith::MulFOp>(product) && isCastOf(right, body.getArgument(0)))
    std::swap(left, right);
  const bool isAngle = isCastOf(left, body.getArgument(0)) && !(depends.lookup(right) & ~kDim);
  return isAngle ? std::optional(right) : std::nullopt;
}

/// Returns true if the value is d times or divided by a value that depends on neither p nor d.
bool Embedding::isMultipleOfDim(Value value) {
  if (isCastOf(value, body.getArgument(1)))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() == 0 || op->getNumOperands() > 2)
    return false;
  auto isUniform = [&](unsigned n) { return depends.lookup(op->getOperand(n)) == 0; };
  if (isa<arith::NegFOp>(op))
    return isMultipleOfDim(op->getOperand(0));
  if (isa<arith::MulFOp, arith::DivFOp>(op) && isUniform(1))
    return isMultipleOfDim(op->getOperand(0));
  return isa<arith::MulFOp>(op) && isUniform(0) && isMultipleOfDim(op->getOperand(1));
}

/// Returns the base if `op` is a power of a function of p with a multiple of d as exponent.
std::optional<Value> Embedding::powerOf(Operation *op) {
  auto power = dyn_cast<math::PowFOp>(op);
  if (!power || depends.lookup(power.getLhs()) != kPosition || !isMultipleOfDim(power.getRhs()))
    return std::nullopt;
  return power.getLhs();
}

/// Finds the largest subexpressions of `value` that are worth preparing.
void Embedding::findPieces(Value value, llvm::DenseSet<Value> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert(value).second)
    return;
  const unsigned on = depends.lookup(value);
  const bool isReal = isa<FloatType>(value.getType()), isBoolean = value.getType().isInteger(1);
  if (!(on & kTensor) && on != 0 && on != (kPosition | kDim) && (isReal || isBoolean) &&
      isCostly(value)) {
    pieces.push_back({.value = value, .rows = on == kPosition, .dims = on == kDim});
    return;
  }
  if (std::optional<Value> frequency = angleOf(op); frequency && on == (kPosition | kDim)) {
    findPieces(*frequency, seen);
    pieces.push_back({.value = value, .rows = true, .dims = true, .frequency = *frequency});
    return;
  }
  if (std::optional<Value> base = powerOf(op)) {
    findPieces(*base, seen);
    pieces.push_back({.value = value, .rows = true, .dims = true, .base = *base});
    return;
  }
  for (Value operand : op->getOperands())
    findPieces(operand, seen);
}

LogicalResult Embedding::prepare() {
  FailureOr<pe::ScalarVjp> derived = pe::ScalarVjp::create(root);
  if (failed(derived))
    return failure();
  vjp.emplace(*derived);
  llvm::DenseSet<Value> seen;
  findPieces(root, seen);
  for (Piece &piece : pieces)
    piece.frequency ? prepareAngle(piece) : piece.base ? preparePower(piece) : prepareLine(piece);
  auto isPiece = [&](Value value) {
    return llvm::any_of(pieces, [&](const Piece &piece) { return piece.value == value; });
  };
  if (llvm::any_of(pe::collectSlice(root, isPiece), [](Operation *op) { return isCostly(op); }))
    prepareTable();
  return success();
}

void Embedding::mapPoint(Scalar &s, IRMapping &mapping, const Place &at, Mapped mapped) {
  Value zero = s.index(0);
  Value position = at.row ? s.add(at.row, s.size("q_start")) : zero;
  mapping.map(body.getArguments().take_front(4),
              ValueRange{position, at.dim ? at.dim : zero, s.size("model"), s.size("q_start + r")});
  for (const Piece &piece : pieces) {
    const bool isOfDim = !piece.rows;
    const bool isPrepared = piece.buffer || piece.coarse;
    if (mapped == Mapped::Point || !isPrepared || (mapped == Mapped::PiecesOfDims && !isOfDim))
      continue;
    mapping.map(piece.value, readPiece(s, piece, at));
  }
}

Value Embedding::readPiece(Scalar &s, const Piece &piece, const Place &at) {
  if (piece.frequency)
    return readAngle(s, piece, at.row, at.dim);
  if (piece.base)
    return readPower(s, piece, at);
  Value number = readElement(s, piece.buffer, piece.rows ? at.row : at.dim);
  if (!piece.value.getType().isInteger(1))
    return number;
  return s.create<arith::CmpFOp>(arith::CmpFPredicate::ONE, number, s.number(0.0, s.getF64Type()));
}

/// Prepares a value per row or per dimension.
void Embedding::prepareLine(Piece &piece) {
  const std::string label = name + "_piece_" + std::to_string(&piece - pieces.data());
  StringRef axis = piece.rows ? "r" : "model";
  piece.buffer = context.kept(label, {axis}, context.plan.getF64Type());
  TileBuilder t = beginStage(context.plan, label + "_prepare", Phase::Prepare, {axis});
  t.foreach ({"1"}, [&](Scalar &s, ValueRange at) {
    IRMapping mapping;
    mapPoint(s, mapping, {.row = piece.rows ? at[0] : Value(), .dim = piece.dims ? at[0] : Value()},
             Mapped::Point);
    TileParameters params = parameters();
    Value value = pe::emitScalar(piece.value, mapping, s, params, s.getF64Type());
    if (value.getType().isInteger(1))
      value = s.create<arith::UIToFPOp>(s.getF64Type(), value);
    writeElement(s, value, piece.buffer, at[0]);
  });
}

/// Prepares sine and cosine of 64 m and of n times the frequency; m = 0 is the call's first
/// position.
void Embedding::prepareAngle(Piece &piece) {
  // Sine and cosine of one angle share their tables.
  for (const Piece &other : pieces)
    if (other.coarse && other.frequency == piece.frequency &&
        piece.value.getDefiningOp()->getOperand(0).getDefiningOp()->getName() ==
            other.value.getDefiningOp()->getOperand(0).getDefiningOp()->getName()) {
      piece.coarse = other.coarse;
      piece.fine = other.fine;
      return;
    }
  const std::string label = name + "_angle_" + std::to_string(&piece - pieces.data());
  Type f64 = context.plan.getF64Type();
  const std::string blocks = "ceildiv(r," + std::to_string(kFine) + ")",
                    steps = std::to_string(kFine);
  piece.coarse = context.kept(label + "_coarse", {blocks, "2", "model"}, f64);
  piece.fine = context.kept(label + "_fine", {steps, "2", "model"}, f64);
  const bool divides =
      isa<arith::DivFOp>(piece.value.getDefiningOp()->getOperand(0).getDefiningOp());
  auto fill = [&](Value buffer, StringRef part, StringRef count, bool isCoarse) {
    TileBuilder t = beginStage(context.plan, (label + part).str(), Phase::Prepare, {count});
    t.foreach ({"model"}, [&](Scalar &s, ValueRange at) {
      IRMapping mapping;
      mapPoint(s, mapping, {.dim = at[1]}, Mapped::PiecesOfDims);
      TileParameters params = parameters();
      Value frequency = pe::emitScalar(piece.frequency, mapping, s, params, s.getF64Type());
      Value position =
          isCoarse ? s.add(s.mul(at[0], s.index(kFine)), s.size("q_start")) : Value(at[0]);
      Value real = s.toFloat(position, f64);
      auto [sine, cosine] =
          emitSineAndCosine(s, divides ? s.div(real, frequency) : s.mul(real, frequency));
      writeElement(s, sine, buffer, {at[0], s.index(0), at[1]});
      writeElement(s, cosine, buffer, {at[0], s.index(1), at[1]});
    });
  };
  fill(piece.fine, "_fine_prepare", steps, false);
  fill(piece.coarse, "_coarse_prepare", blocks, true);
}

Value Embedding::readAngle(Scalar &s, const Piece &piece, Value row, Value dim) {
  Value steps = s.index(kFine);
  Value block = s.create<arith::DivUIOp>(row, steps), step = s.create<arith::RemUIOp>(row, steps);
  auto read = [&](Value buffer, Value index, int64_t part) {
    return readElement(s, buffer, {index, s.index(part), dim});
  };
  Value sa = read(piece.coarse, block, 0), ca = read(piece.coarse, block, 1);
  Value sb = read(piece.fine, step, 0), cb = read(piece.fine, step, 1);
  if (isa<math::SinOp>(piece.value.getDefiningOp()))
    return s.add(s.mul(sa, cb), s.mul(ca, sb));
  return s.sub(s.mul(ca, cb), s.mul(sa, sb));
}

/// Prepares |x|^(w n) for n up to 16 and (|x|^(16 w))^m, by multiplication from two powers, the
/// sign of x, and the factors for powers of negative x.
void Embedding::preparePower(Piece &piece) {
  const std::string label = name + "_power_" + std::to_string(&piece - pieces.data());
  Type f64 = context.plan.getF64Type();
  const std::string blocks = "ceildiv(model," + std::to_string(kPowers) + ")",
                    coarse = blocks + "+1", fine = std::to_string(kPowers + 1);
  piece.coarse = context.kept(label + "_coarse", {"r", coarse}, f64);
  piece.fine = context.kept(label + "_fine", {"r", fine}, f64);
  piece.buffer = context.kept(label + "_negative", {"r"}, f64);
  piece.signs = context.kept(label + "_signs", {"model"}, f64);
  auto emit = [&](Scalar &s, Value value, Value row, Value dim) {
    IRMapping mapping;
    mapPoint(s, mapping, {.row = row, .dim = dim}, Mapped::Point);
    TileParameters params = parameters();
    return pe::emitScalar(value, mapping, s, params, s.getF64Type());
  };
  auto power = piece.value.getDefiningOp<math::PowFOp>();
  TileBuilder ofDims =
      beginStage(context.plan, label + "_signs_prepare", Phase::Prepare, {"model"});
  ofDims.foreach ({"1"}, [&](Scalar &s, ValueRange at) {
    writeElement(s, emitSignOfPower(s, emit(s, power.getRhs(), Value(), at[0])), piece.signs,
                 at[0]);
  });
  TileBuilder t = beginStage(context.plan, label + "_prepare", Phase::Prepare, {"r"});
  t.foreach ({"1"}, [&](Scalar &s, ValueRange at) {
    Value base = emit(s, power.getLhs(), at[0], Value());
    Value size = s.create<math::AbsFOp>(base);
    for (int64_t dim : {int64_t(0), int64_t(1), kPowers}) {
      Value exponent = emit(s, power.getRhs(), Value(), s.index(dim));
      writeElement(s, s.create<math::PowFOp>(size, exponent), piece.fine, {at[0], s.index(dim)});
    }
    writeElement(s, s.number(1.0, f64), piece.coarse, {at[0], s.index(0)});
    Value zero = s.number(0.0, f64);
    Value isNegative = s.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, base, zero);
    writeElement(s, s.select(isNegative, s.number(1.0, f64), zero), piece.buffer, at[0]);
  });
  auto chain = [&](Value table, StringRef count, int64_t first, int64_t factor) {
    t.foreach ({count}, [&](Scalar &s, ValueRange at) {
      Value from = first ? s.add(at[1], s.index(first)) : Value(at[1]);
      Value product = s.mul(readElement(s, table, {at[0], from}),
                            readElement(s, piece.fine, {at[0], s.index(factor)}));
      writeElement(s, product, table, {at[0], s.add(at[1], s.index(first + 1))});
    });
  };
  chain(piece.fine, std::to_string(kPowers - 2), /*first=*/1, /*factor=*/1);
  chain(piece.coarse, blocks, /*first=*/0, /*factor=*/kPowers);
}

Value Embedding::readPower(Scalar &s, const Piece &piece, const Place &at) {
  Value size = s.index(kPowers);
  Value block = at.block ? at.block : s.create<arith::DivUIOp>(at.dim, size).getResult();
  Value step = at.step ? at.step : s.create<arith::RemUIOp>(at.dim, size).getResult();
  Value product = s.mul(readElement(s, piece.coarse, {at.row, block}),
                        readElement(s, piece.fine, {at.row, step}));
  Value isNegative =
      s.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, readElement(s, piece.buffer, at.row),
                              s.number(0.0, s.getF64Type()));
  Value sign =
      s.select(isNegative, readElement(s, piece.signs, at.dim), s.number(1.0, s.getF64Type()));
  return s.mul(product, sign);
}

/// Prepares every value of the call.
void Embedding::prepareTable() {
  Value values = context.temporary(name + "_values", {"r", "model"});
  TileBuilder t = beginStage(context.plan, name + "_table", Phase::Prepare, {"r"});
  t.foreach ({"model"}, [&](Scalar &s, ValueRange at) {
    writeElement(s, emitValue(s, {.row = at[0], .dim = at[1]}), values, at);
  });
  table = values;
}

/// Emits the embedding in f32.
Value Embedding::emitValue(Scalar &s, const Place &at) {
  if (table)
    return readElement(s, table, {at.row, at.dim});
  IRMapping mapping;
  mapPoint(s, mapping, at, Mapped::All);
  TileParameters params = parameters();
  // Indices are known to be in bounds: rows by the requirements of the call, dims by the loop.
  Value position = mapping.lookup(body.getArgument(0));
  params.isInside = [&](Value index, StringRef extent) {
    const bool isRow = index == position && extent != "1" && extent != "model";
    return isRow || (index == at.dim && extent == "model");
  };
  Value value = vjp->emitPrimal(s, mapping, params, s.getF64Type());
  return pe::convertFloat(s, s.getLoc(), value, s.getF32Type());
}

//===- Stages ------------------------------------------------------------------===//

/// Adds the stage. Its work items are rows of some batch entries; the embedding is computed once
/// per work item.
void Embedding::emitForward(Value from, Value to, const TokenDropout *dropout, StringRef stage) {
  constexpr int64_t kEntries = 16;
  const std::string blocks = "ceildiv(b," + std::to_string(kEntries) + ")";
  TileBuilder t = beginStage(context.plan, stage, Phase::Forward, {blocks, "r"});
  auto add = [&](Scalar &s, Value block, const Place &at) {
    Value value = emitValue(s, at), first = s.mul(block, s.index(kEntries));
    Value end = s.create<arith::MinSIOp>(s.add(first, s.index(kEntries)), s.size("b"));
    auto loop = s.create<scf::ForOp>(first, end, s.index(1));
    Scalar x(s.getLoc(), OpBuilder::atBlockBegin(loop.getBody()));
    const SmallVector<Value> element = {loop.getInductionVar(), at.row, at.dim};
    Value sum = x.add(x.widen(readElement(x, from, element)), value);
    if (dropout)
      sum = x.mul(sum, dropout->emit(x, element[0], at.row, at.dim));
    writeElement(x, x.round(sum, elementOf(to)), to, element);
  };
  const bool hasPowers =
      !table && llvm::any_of(pieces, [](const Piece &piece) { return bool(piece.base); });
  if (!hasPowers) {
    t.foreach ({"model"}, [&](Scalar &s, ValueRange at) {
       add(s, at[0], {.row = at[1], .dim = at[2]});
     }).setIndependent(true);
    return;
  }
  // Full blocks of dimensions, whose tables are contiguous, then the remainder.
  const std::string steps = std::to_string(kPowers),
                    whole =
                        "ceildiv(max(model-" + std::to_string(kPowers - 1) + ",0)," + steps + ")";
  t.foreach ({whole, steps}, [&](Scalar &s, ValueRange at) {
     Value dim = s.add(s.mul(at[2], s.index(kPowers)), at[3]);
     add(s, at[0], {.row = at[1], .dim = dim, .block = at[2], .step = at[3]});
   }).setIndependent(true);
  t.foreach ({"model-" + steps + "*" + whole}, [&](Scalar &s, ValueRange at) {
     Value block = s.size(whole);
     Value dim = s.add(s.mul(block, s.index(kPowers)), at[2]);
     add(s, at[0], {.row = at[1], .dim = dim, .block = block, .step = at[2]});
   }).setIndependent(true);
}
