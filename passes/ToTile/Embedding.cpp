//===- Embedding.cpp - what is added to tokens -----------------------------===//
#include "passes/ToTile/Embedding.h"

#include "passes/Analysis/Slice.h"
#include "passes/ToTile/SineAndCosine.h"
#include "passes/ToTile/Terms.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// What a value of the region depends on.
enum : unsigned { kPosition = 1, kDim = 2, kTensor = 4 };

/// Whether an operation costs much more than reading a number.
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

/// Whether the value is the position as a real number.
bool isPosition(Value value, Value position) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::SIToFPOp, arith::IndexCastOp, arith::ExtFOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return value == position;
}

} // namespace

Embedding::Embedding(PlanContext &context, pe::EmbeddingFnOp op, std::string name)
    : context(context), op(op), name(std::move(name)), body(op.getBody().front()),
      root(cast<pe::YieldOp>(body.getTerminator()).getValues()[0]) {
  depends[body.getArgument(0)] = kPosition;
  depends[body.getArgument(1)] = kDim;
  for (Operation &inner : body.without_terminator()) {
    unsigned all = isa<pe::ReadOp>(inner) ? kTensor : 0;
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

/// If `op` is a sine or cosine of p * w(d) or p / w(d), that w.
std::optional<Value> Embedding::angleOf(Operation *op) {
  if (!isa<math::SinOp, math::CosOp>(op))
    return std::nullopt;
  Operation *product = op->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(product))
    return std::nullopt;
  Value left = product->getOperand(0), right = product->getOperand(1);
  if (isa<arith::MulFOp>(product) && isPosition(right, body.getArgument(0)))
    std::swap(left, right);
  const bool isAngle = isPosition(left, body.getArgument(0)) && !(depends.lookup(right) & ~kDim);
  return isAngle ? std::optional(right) : std::nullopt;
}

/// The largest parts of `value` that are worth preparing.
void Embedding::findPieces(Value value, llvm::DenseSet<Value> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert(value).second)
    return;
  const unsigned on = depends.lookup(value);
  const bool isReal = isa<FloatType>(value.getType()), isTruth = value.getType().isInteger(1);
  if (!(on & kTensor) && on != 0 && on != (kPosition | kDim) && (isReal || isTruth) &&
      isCostly(value)) {
    pieces.push_back({value, on == kPosition, on == kDim, {}, {}, {}, {}});
    return;
  }
  if (std::optional<Value> frequency = angleOf(op); frequency && on == (kPosition | kDim)) {
    findPieces(*frequency, seen);
    pieces.push_back({value, true, true, {}, {}, {}, *frequency});
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
    piece.frequency ? prepareAngle(piece) : prepareLine(piece);
  auto isPiece = [&](Value value) {
    return llvm::any_of(pieces, [&](const Piece &piece) { return piece.value == value; });
  };
  if (llvm::any_of(pe::collectSlice(root, isPiece), [](Operation *op) { return isCostly(op); }))
    prepareTable();
  return success();
}

void Embedding::mapPoint(Scalar &s, IRMapping &mapping, Value row, Value dim, Mapped mapped) {
  Value zero = s.index(0);
  Value position = row ? s.add(row, s.size("q_start")) : zero;
  mapping.map(body.getArguments().take_front(4),
              ValueRange{position, dim ? dim : zero, s.size("model"), s.size("q_start + r")});
  for (const Piece &piece : pieces) {
    const bool isOfDim = !piece.rows;
    const bool isPrepared = piece.buffer || piece.coarse;
    if (mapped == Mapped::Point || !isPrepared || (mapped == Mapped::PiecesOfDims && !isOfDim))
      continue;
    if (piece.frequency) {
      mapping.map(piece.value, readAngle(s, piece, row, dim));
      continue;
    }
    Value number = readElement(s, piece.buffer, piece.rows ? row : dim);
    if (piece.value.getType().isInteger(1))
      number =
          s.create<arith::CmpFOp>(arith::CmpFPredicate::ONE, number, s.number(0.0, s.getF64Type()));
    mapping.map(piece.value, number);
  }
}

/// A number per row or per dimension.
void Embedding::prepareLine(Piece &piece) {
  const std::string label = name + "_piece_" + std::to_string(&piece - pieces.data());
  StringRef axis = piece.rows ? "r" : "model";
  piece.buffer = context.kept(label, {axis}, context.plan.getF64Type());
  TileBuilder t = beginStage(context.plan, label + "_prepare", Phase::Prepare, {axis});
  t.foreach ({"1"}, [&](Scalar &s, ValueRange at) {
    IRMapping mapping;
    mapPoint(s, mapping, piece.rows ? at[0] : Value(), piece.dims ? at[0] : Value(), Mapped::Point);
    TileParameters params = parameters();
    Value value = pe::emitScalar(piece.value, mapping, s, params, s.getF64Type());
    if (value.getType().isInteger(1))
      value = s.create<arith::UIToFPOp>(s.getF64Type(), value);
    writeElement(s, value, piece.buffer, at[0]);
  });
}

/// Sine and cosine of 64 m and of n times the frequency; m = 0 is the call's first position.
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
      mapPoint(s, mapping, Value(), at[1], Mapped::PiecesOfDims);
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

/// Every value of the call.
void Embedding::prepareTable() {
  Value values = context.temporary(name + "_values", {"r", "model"});
  TileBuilder t = beginStage(context.plan, name + "_table", Phase::Prepare, {"r"});
  t.foreach ({"model"}, [&](Scalar &s, ValueRange at) {
    writeElement(s, emitValue(s, at[0], at[1]), values, at);
  });
  table = values;
}

/// The embedding in f32.
Value Embedding::emitValue(Scalar &s, Value row, Value dim) {
  if (table)
    return readElement(s, table, {row, dim});
  IRMapping mapping;
  mapPoint(s, mapping, row, dim, Mapped::All);
  TileParameters params = parameters();
  // Where they lie is known: rows by what the call requires, dims by the loop.
  Value position = mapping.lookup(body.getArgument(0));
  params.isInside = [&](Value index, StringRef extent) {
    const bool isRow = index == position && extent != "1" && extent != "model";
    return isRow || (index == dim && extent == "model");
  };
  Value value = vjp->emitPrimal(s, mapping, params, s.getF64Type());
  return pe::convertFloat(s, s.getLoc(), value, s.getF32Type());
}

//===- Stages ------------------------------------------------------------------===//

void Embedding::emitForward(Value from, Value to, StringRef stage) {
  TileBuilder t = beginStage(context.plan, stage, Phase::Forward, {"b", "r"});
  t.foreach ({"model"}, [&](Scalar &s, ValueRange at) {
    Value sum = s.add(s.widen(readElement(s, from, at)), emitValue(s, at[1], at[2]));
    writeElement(s, s.round(sum, elementOf(to)), to, at);
  });
}

/// Few numbers: every work item has its own sum.
bool Embedding::isSmall(Value capture) {
  auto type = cast<RankedTensorType>(capture.getType());
  return type.hasStaticShape() && type.getNumElements() <= 64;
}

/// Whether every read of the capture has d itself as an index of an axis over dimensions.
bool Embedding::dividesDims(Value capture) {
  SmallVector<StringRef> extents = context.parameters[capture].extents();
  for (auto [argument, other] :
       llvm::zip_equal(body.getArguments().drop_front(4), op.getCaptures()))
    for (Operation *user : argument.getUsers()) {
      auto read = dyn_cast<pe::ReadOp>(user);
      if (other != capture || !read)
        continue;
      auto isOwn = [&](auto pair) {
        return std::get<0>(pair) == body.getArgument(1) && std::get<1>(pair) == "model";
      };
      if (llvm::none_of(llvm::zip_equal(read.getIndices(), extents), isOwn))
        return false;
    }
  return true;
}

void Embedding::emitAdjoint(Scalar &s, ArrayRef<Value> cotangents, Value row, Value dim,
                            TileParameters &params) {
  Value sum = sumOver(s, {"b"}, [&](Scalar &x, ValueRange at) {
    Value all;
    for (Value cotangent : cotangents) {
      Value one = readElement(x, cotangent, {at[0], row, dim});
      one = pe::convertFloat(x, x.getLoc(), one, x.getF64Type());
      all = all ? x.add(all, one) : one;
    }
    return all;
  });
  ifNonZero(s, sum, [&](Scalar &x) {
    IRMapping mapping;
    mapPoint(x, mapping, row, dim, Mapped::All);
    vjp->emitPrimal(x, mapping, params, x.getF64Type());
    vjp->emitAdjoint(x, mapping, sum, params);
  });
}

void Embedding::emitBackward(ArrayRef<Value> cotangents) {
  if (!vjp->isActive() || cotangents.empty())
    return;
  constexpr int64_t kDims = 64; // of a work item
  const std::string blocks = "ceildiv(model," + std::to_string(kDims) + ")";
  const bool divides = llvm::all_of(
      op.getCaptures(), [&](Value capture) { return isSmall(capture) || dividesDims(capture); });
  TileParameters params = parameters();
  SmallVector<Parameter *> small;
  for (Value capture : op.getCaptures()) {
    if (!divides || dividesDims(capture) || !isSmall(capture))
      continue;
    Parameter &parameter = context.parameters[capture];
    small.push_back(&parameter);
    SmallVector<StringRef> extents = {blocks, "1"};
    llvm::append_range(extents, parameter.extents());
    Value sums = context.temporary(name + "_" + parameter.name, extents, context.plan.getF64Type(),
                                   /*zero=*/true);
    params.partial[parameter.buffer] = sums;
  }
  if (!divides) {
    TileBuilder t = beginStage(context.plan, name + "_gradients", Phase::Backward, {});
    t.foreach ({"r", "model"},
               [&](Scalar &s, ValueRange at) { emitAdjoint(s, cotangents, at[0], at[1], params); });
    return;
  }
  TileBuilder t = beginStage(context.plan, name + "_gradients", Phase::Backward, {blocks});
  t.foreach ({"r", std::to_string(kDims)}, [&](Scalar &s, ValueRange at) {
    Value dim = s.add(s.mul(at[0], s.index(kDims)), at[2]);
    Value exists = s.create<arith::CmpIOp>(arith::CmpIPredicate::slt, dim, s.size("model"));
    auto branch = s.create<scf::IfOp>(exists, /*withElseRegion=*/false);
    Scalar inner(s.getLoc(), OpBuilder::atBlockBegin(branch.thenBlock()));
    params.batch = at[0];
    params.head = inner.index(0);
    emitAdjoint(inner, cotangents, at[1], dim, params);
  });
  if (small.empty())
    return;
  TileBuilder finish = beginStage(context.plan, name + "_finish", Phase::Finish, {});
  for (Parameter *parameter : small)
    finish.foreach (parameter->extents(), [&](Scalar &s, ValueRange at) {
      Value sum = sumOver(s, {blocks}, [&](Scalar &x, ValueRange block) {
        SmallVector<Value> place = {block[0], x.index(0)};
        place.append(at.begin(), at.end());
        return readElement(x, params.partial[parameter->buffer], place);
      });
      accumulateElement(s, sum, parameter->gradientSums, at);
    });
}
