//===- MathFunctions.cpp - elementary functions of vectors ----------------===//
//
// The cosine of a vector takes some fifty instructions. A stage with a few cosines inlines them. A
// stage with hundreds, such as a sum of cosines or a long formula, would take LLVM half a minute to
// compile, so each function becomes one function of the module, which is called for every use:
//
//   %y = math.cos %x : vector<8xf32>   ==>   %y = call @pe_math_cos(%x)
//
// Loops that fill tables compute functions in f64, for which MLIR has no polynomials: those with a
// form here are computed in vectors, and others lane by lane.
//
// Sine and cosine of f32 are written here, too: MLIR's are accurate only near 0, so that the angle
// would be reduced twice.
//
//===----------------------------------------------------------------------===//
#include "passes/ToCPU/MathFunctions.h"

#include "dialect/Math/ScalarOps.h"

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"

#include <limits>

using namespace mlir;

namespace {

/// The largest number of uses of one elementary function in a stage that are inlined. The examples
/// do not exceed it.
constexpr size_t kMostInPlace = 128;

/// Operations with the same name, types and attributes share a function.
using Key = std::tuple<OperationName, FunctionType, DictionaryAttr>;
using Uses = llvm::MapVector<Key, SmallVector<Operation *>>;

bool isVectorMath(Operation *op) {
  return isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
         isa<VectorType>(op->getResult(0).getType());
}

/// Returns true for functions of more than one or two instructions.
bool isLong(Operation *op) {
  const ::pe::math::ScalarOp *row = ::pe::math::findScalarOp(op->getName().getStringRef());
  return row && row->device != ::pe::math::Device::Instruction;
}

Uses findUses(func::FuncOp stage) {
  Uses uses;
  stage.walk([&](Operation *op) {
    if (!isVectorMath(op) || !isLong(op))
      return;
    auto type = FunctionType::get(op->getContext(), op->getOperandTypes(), op->getResultTypes());
    uses[{op->getName(), type, op->getAttrDictionary()}].push_back(op);
  });
  return uses;
}

/// Creates a function whose body is `op` on its arguments. LLVM must not inline it, but may hoist
/// and combine its calls.
func::FuncOp outline(SymbolTable &symbols, Operation *op, FunctionType type) {
  Location loc = op->getLoc();
  OpBuilder builder(op->getContext());
  std::string name = ("pe_math_" + op->getName().stripDialect()).str();
  auto function = func::FuncOp::create(builder, loc, name, type);
  function.setPrivate();
  function->setAttr("llvm.linkage",
                    LLVM::LinkageAttr::get(op->getContext(), LLVM::Linkage::Internal));
  function->setAttr("llvm.readnone", builder.getUnitAttr());
  function->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
  symbols.insert(function);
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  Operation *copy = builder.clone(*op);
  copy->setOperands(body->getArguments());
  func::ReturnOp::create(builder, loc, copy->getResults());
  return function;
}

void callFunctions(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::MapVector<Key, func::FuncOp> functions;
  for (func::FuncOp stage : llvm::to_vector(module.getOps<func::FuncOp>())) {
    for (auto &[key, ops] : findUses(stage)) {
      if (ops.size() <= kMostInPlace)
        continue;
      func::FuncOp &function = functions[key];
      if (!function)
        function = outline(symbols, ops.front(), std::get<FunctionType>(key));
      for (Operation *op : ops) {
        OpBuilder builder(op);
        op->replaceAllUsesWith(
            func::CallOp::create(builder, op->getLoc(), function, op->getOperands()));
        op->erase();
      }
    }
  }
}

/// Adding 1.5 * 2^52 rounds to an integer, which is in the last bits of the sum.
constexpr double kRounder = 0x1.8p52;

/// Emits arithmetic on vectors of f32 or f64, and on their bits.
class VectorCode {
public:
  VectorCode(OpBuilder &builder, Location loc, VectorType type)
      : b(builder), loc(loc), type(type),
        words(type.clone(builder.getIntegerType(type.getElementTypeBitWidth()))) {}

  Value number(double value) {
    auto attr = b.getFloatAttr(type.getElementType(), value);
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, attr.getValue()));
  }
  Value word(int64_t value) {
    auto attr = b.getIntegerAttr(words.getElementType(), value);
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(words, attr.getValue()));
  }
  VectorType getWords() const { return words; }
  Value bits(Value x) { return arith::BitcastOp::create(b, loc, words, x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, loc, type, x); }
  template <typename OpTy> Value make(Value x, Value y) { return OpTy::create(b, loc, x, y); }
  Value add(Value x, Value y) { return make<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return make<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<arith::MulFOp>(x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, double y) {
    return arith::CmpFOp::create(b, loc, predicate, x, number(y));
  }
  /// Return the smaller or the larger of x and y in one instruction; NaN stays NaN.
  Value atMost(Value x, double y) {
    return select(compare(arith::CmpFPredicate::OGT, x, y), number(y), x);
  }
  Value atLeast(Value x, double y) {
    return select(compare(arith::CmpFPredicate::OLT, x, y), number(y), x);
  }
  /// Returns c[0] + c[1] x + c[2] x^2 + ....
  Value polynomial(ArrayRef<double> c, Value x) {
    Value sum = number(c.back());
    for (double coefficient : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, number(coefficient));
    return sum;
  }

private:
  OpBuilder &b;
  Location loc;
  VectorType type, words;
};

/// Returns log(x) for positive normal numbers:
///
///   x = 2^k m with m in [sqrt(1/2), sqrt(2)),  s = (m - 1) / (m + 1)
///   log(m) = 2 s + 2/3 s^3 + 2/5 s^5 + ...
///
/// with the minimax coefficients and the two parts of log(2) of fdlibm (Sun Microsystems 1993).
Value emitLogOfNormal(VectorCode &c, Value x) {
  constexpr double kLog2High = 6.93147180369123816490e-01, kLog2Low = 1.90821492927058770002e-10;
  constexpr double kSeries[] = {2.0,
                                6.666666666666735130e-01,
                                3.999999999940941908e-01,
                                2.857142874366239149e-01,
                                2.222219843214978396e-01,
                                1.818357216161805012e-01,
                                1.531383769920937332e-01,
                                1.479819860511658591e-01};
  // The bits of sqrt(1/2), of 1 minus those, and of 2^52, to which an integer in the last bits is
  // added.
  constexpr int64_t kRoot = int64_t{0x3fe6a09e} << 32, kToOne = int64_t{0x00095f62} << 32;
  constexpr int64_t kFraction = (int64_t{1} << 52) - 1, kInteger = int64_t{0x433} << 52;
  Value word = c.make<arith::AddIOp>(c.bits(x), c.word(kToOne));
  Value exponent = c.make<arith::OrIOp>(c.make<arith::ShRUIOp>(word, c.word(52)), c.word(kInteger));
  Value k = c.sub(c.fromBits(exponent), c.number(0x1p52 + 1023));
  Value fraction = c.make<arith::AndIOp>(word, c.word(kFraction));
  Value m = c.fromBits(c.make<arith::AddIOp>(fraction, c.word(kRoot)));
  Value s = c.make<arith::DivFOp>(c.sub(m, c.number(1)), c.add(m, c.number(1)));
  Value ofFraction = c.mul(s, c.polynomial(kSeries, c.mul(s, s)));
  return c.fma(k, c.number(kLog2High), c.fma(k, c.number(kLog2Low), ofFraction));
}

/// Returns log(x) with an error below 2 ulp. Subnormal numbers are 0, as in all kernels
/// (runtime/device/cpu/FloatingPointMode.h); negative numbers and NaN are NaN.
Value emitLog(OpBuilder &builder, Location loc, Value x) {
  constexpr double kSmallest = 0x1p-1022, kInfinity = std::numeric_limits<double>::infinity();
  VectorCode c(builder, loc, cast<VectorType>(x.getType()));
  Value result = emitLogOfNormal(c, x);
  // Positive normal numbers have consecutive bits.
  Value fromFirst = c.make<arith::SubIOp>(c.bits(x), c.word(int64_t{1} << 52));
  Value isNormal = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, fromFirst,
                                         c.word(int64_t{0x7fe} << 52));
  Value all = vector::ReductionOp::create(builder, loc, vector::CombiningKind::AND, isNormal);
  auto branch = scf::IfOp::create(builder, loc, TypeRange{x.getType()}, all, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, result);
  builder.setInsertionPointToStart(branch.elseBlock());
  Value isZero = c.compare(arith::CmpFPredicate::OGT, x, -kSmallest);
  Value isInfinite = c.compare(arith::CmpFPredicate::OEQ, x, kInfinity);
  Value other =
      c.select(isZero, c.number(-kInfinity), c.number(std::numeric_limits<double>::quiet_NaN()));
  other = c.select(isInfinite, x, other);
  scf::YieldOp::create(builder, loc, c.select(isNormal, result, other));
  return branch.getResult(0);
}

/// Returns the sine of f32 or f64 angles, or their cosine, the sine of x + pi/2:
///
///   n = round(x / pi),  r = x - pi n in [-pi/2, pi/2],  sin(x) = (-1)^n sin(r)
///
/// n and r are computed in f64, with pi as the sum of two constants. The polynomial is odd in r, so
/// that small angles of both signs have the relative accuracy of their magnitude: its relative
/// error is 6e-9 in f32 and 4e-17 in f64.
Value emitSine(OpBuilder &builder, Location loc, Value angle, bool isCosine) {
  constexpr double kPiHigh = 0x1.921fb54442d18p+1, kPiLow = 0x1.1a62633145c07p-53;
  constexpr double kNarrow[] = {-0.16666659712791443, 0.00833306647837162, -0.00019809602235909551,
                                2.605780537123792e-06};
  constexpr double kWide[] = {
      -0x1.5555555555555p-3,  0x1.1111111111107p-7,  -0x1.a01a01a018aadp-13, 0x1.71de3a5456716p-19,
      -0x1.ae6455a1d7085p-26, 0x1.6124015b5eda1p-33, -0x1.ae5138c11e5bep-41, 0x1.89a4866ef0d21p-49};
  auto type = cast<VectorType>(angle.getType());
  const VectorType wide = type.clone(builder.getF64Type());
  const bool isNarrow = type != wide;
  VectorCode c(builder, loc, wide), f(builder, loc, type);
  Value x = isNarrow ? arith::ExtFOp::create(builder, loc, wide, angle).getResult() : angle;
  auto sumWith = [&](Value turns) { return c.fma(x, c.number(1 / kPiHigh), turns); };
  Value rounder = c.number(kRounder), half = c.number(0.5);
  Value sum = isCosine ? c.add(sumWith(half), rounder) : sumWith(rounder);
  Value n = c.sub(sum, rounder);
  if (isCosine)
    n = c.sub(n, half);
  Value r = c.fma(n, c.number(-kPiLow), c.fma(n, c.number(-kPiHigh), x));
  if (isNarrow)
    r = arith::TruncFOp::create(builder, loc, type, r);
  // Angles above 2^51 pi have no accurate remainder. Their sines are in [-1, 1].
  const double quarter = isNarrow ? 0x1.921fb8p+0 : kPiHigh / 2;
  r = f.atMost(f.atLeast(r, -quarter), quarter);
  Value z = f.mul(r, r);
  Value series = isNarrow ? f.polynomial(kNarrow, z) : f.polynomial(kWide, z);
  Value sine = f.fma(f.mul(r, z), series, r);
  // The last bit of n is the sign.
  Value number = c.bits(sum);
  if (isNarrow)
    number = arith::TruncIOp::create(builder, loc, f.getWords(), number);
  Value sign = f.make<arith::ShLIOp>(number, f.word(isNarrow ? 31 : 63));
  return f.fromBits(f.make<arith::XOrIOp>(f.bits(sine), sign));
}

/// Returns e^x, or 2^x, with an error below 2 ulp:
///
///   n = round(x log2(e)),  r = x - n log(2),  e^x = 2^n e^r
///
/// Results below the smallest normal number are 0.
Value emitExp(OpBuilder &builder, Location loc, Value x, bool isOfTwo) {
  constexpr double kLog2E = 0x1.71547652b82fep+0, kLog2 = 0x1.62e42fefa39efp-1;
  constexpr double kLog2Low = 0x1.abc9e3b39803fp-56;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // (e^r - 1 - r) / r^2 by interpolation at Chebyshev nodes; the relative error of e^r is 2e-17.
  constexpr double kSeries[] = {0x1.0000000000001p-1,  0x1.5555555555556p-3,  0x1.5555555553d68p-5,
                                0x1.11111111109b5p-7,  0x1.6c16c17889ef1p-10, 0x1.a01a01a7c2efep-13,
                                0x1.a019b9149a3cep-16, 0x1.71de0db2f6ae9p-19, 0x1.28917c89aa05dp-22,
                                0x1.af389ecfcbdafp-26};
  const double least = isOfTwo ? -1022 : -0x1.6232bdd7abcd2p+9;
  const double most = isOfTwo ? 0x1.fffffffffffffp+9 : 0x1.62e42fefa39efp+9;
  VectorCode c(builder, loc, cast<VectorType>(x.getType()));
  Value sum =
      isOfTwo ? c.add(x, c.number(kRounder)) : c.fma(x, c.number(kLog2E), c.number(kRounder));
  Value n = c.sub(sum, c.number(kRounder));
  Value r = isOfTwo ? c.mul(c.sub(x, n), c.number(kLog2))
                    : c.fma(n, c.number(-kLog2Low), c.fma(n, c.number(-kLog2), x));
  Value power = c.fma(c.mul(r, r), c.polynomial(kSeries, r), c.add(r, c.number(1)));
  // 2 power * 2^(n - 1), because 2^1024 is not a number.
  Value exponent = c.make<arith::AddIOp>(c.bits(sum), c.word(1022));
  Value scale = c.fromBits(c.make<arith::ShLIOp>(exponent, c.word(52)));
  Value result = c.mul(c.add(power, power), scale);
  result = c.select(c.compare(arith::CmpFPredicate::OLT, x, least), c.number(0), result);
  return c.select(c.compare(arith::CmpFPredicate::OGT, x, most), c.number(kInfinity), result);
}

/// Replaces the functions of vectors that have a form here.
void expandFunctions(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!isVectorMath(op))
      return;
    const Type element = getElementTypeOrSelf(op->getResult(0).getType());
    OpBuilder builder(op);
    const Location loc = op->getLoc();
    Value result;
    if (isa<math::SinOp, math::CosOp>(op) && (element.isF32() || element.isF64()))
      result = emitSine(builder, loc, op->getOperand(0), isa<math::CosOp>(op));
    else if (isa<math::LogOp>(op) && element.isF64())
      result = emitLog(builder, loc, op->getOperand(0));
    else if (isa<math::ExpOp, math::Exp2Op>(op) && element.isF64())
      result = emitExp(builder, loc, op->getOperand(0), isa<math::Exp2Op>(op));
    else
      return;
    op->replaceAllUsesWith(ValueRange{result});
    op->erase();
  });
}

} // namespace

bool mlir::tile::cpu::hasVectorForm(Operation *op) {
  return isa<math::LogOp, math::ExpOp, math::Exp2Op, math::SinOp, math::CosOp>(op) &&
         isa<Float32Type, Float64Type>(getElementTypeOrSelf(op->getResult(0).getType()));
}

Value mlir::tile::cpu::createFunction(OpBuilder &builder, Operation &op, ValueRange operands) {
  const Location loc = op.getLoc();
  auto type = cast<VectorType>(operands.front().getType());
  const VectorType wide = type.clone(builder.getF64Type());
  SmallVector<Value> extended(operands);
  if (type != wide)
    for (Value &operand : extended)
      operand = arith::ExtFOp::create(builder, loc, wide, operand);
  OperationState state(loc, op.getName(), extended, wide, op.getAttrs());
  Value result = builder.create(state)->getResult(0);
  return type == wide ? result : arith::TruncFOp::create(builder, loc, type, result).getResult();
}

LogicalResult mlir::tile::cpu::lowerVectorMath(ModuleOp module) {
  callFunctions(module);
  expandFunctions(module);
  auto apply = [&](llvm::function_ref<bool(Operation *)> isWanted,
                   RewritePatternSet patterns) -> LogicalResult {
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isWanted(op))
        ops.push_back(op);
    });
    return applyOpPatternsGreedily(ops, std::move(patterns));
  };
  RewritePatternSet polynomials(module.getContext()), libm(module.getContext());
  populateMathPolynomialApproximationPatterns(polynomials);
  if (failed(apply(isVectorMath, std::move(polynomials))))
    return failure();
  // Functions without a polynomial, such as all of f64, call libm lane by lane, because LLVM lowers
  // only some of them.
  populateMathToLibmConversionPatterns(libm);
  return apply([](Operation *op) { return isVectorMath(op) && isLong(op); }, std::move(libm));
}
