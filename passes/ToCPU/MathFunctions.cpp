//===- MathFunctions.cpp - elementary functions of vectors ----------------===//
//
// The cosine of a vector takes some fifty instructions. A stage with a few cosines inlines them. A
// stage with hundreds, such as a sum of cosines or a long formula, would take LLVM half a minute to
// compile, so each function becomes one function of the module, which is called for every use:
//
//   %y = math.cos %x : vector<8xf32>   ==>   %y = call @pe_math_cos(%x)
//
// The polynomials of sine and cosine are accurate only near 0, so f32 angles are first reduced to
// [-pi, pi] in float64.
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
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"

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
func::FuncOp createFunction(SymbolTable &symbols, Operation *op, FunctionType type) {
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
        function = createFunction(symbols, ops.front(), std::get<FunctionType>(key));
      for (Operation *op : ops) {
        OpBuilder builder(op);
        op->replaceAllUsesWith(
            func::CallOp::create(builder, op->getLoc(), function, op->getOperands()));
        op->erase();
      }
    }
  }
}

/// Returns x - 2 pi n with n = round(x / (2 pi)), computed in float64 with 2 pi as the sum of two
/// constants.
Value reduceAngle(OpBuilder &builder, Location loc, Value angle) {
  auto type = cast<VectorType>(angle.getType());
  VectorType wide = VectorType::get(type.getShape(), builder.getF64Type(), type.getScalableDims());
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(wide, value));
  };
  Value x = arith::ExtFOp::create(builder, loc, wide, angle);
  Value turns = math::RoundEvenOp::create(
      builder, loc, arith::MulFOp::create(builder, loc, x, constant(0x1.45f306dc9c883p-3)));
  for (double part : {-0x1.921fb54442d18p+2, -0x1.1a62633145c07p-52})
    x = math::FmaOp::create(builder, loc, turns, constant(part), x);
  return arith::TruncFOp::create(builder, loc, type, x);
}

/// Makes the sine that of the magnitude of its argument, with the sign of the argument. The
/// polynomial takes an angle just below 0 from the end of the quadrant before it, with an absolute
/// error of 2^-24, which is large relative to the sine of a small angle.
void takeMagnitude(math::SinOp sine) {
  OpBuilder builder(sine);
  const Location loc = sine.getLoc();
  Value angle = sine.getOperand();
  Value one = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(cast<VectorType>(angle.getType()), 1.0f));
  Value sign = math::CopySignOp::create(builder, loc, one, angle);
  sine.setOperand(math::AbsFOp::create(builder, loc, angle));
  builder.setInsertionPointAfter(sine);
  auto product = arith::MulFOp::create(builder, loc, sine, sign);
  sine.getResult().replaceAllUsesExcept(product, product);
}

/// Reduces the arguments of all f32 vector sines and cosines.
void reduceAngles(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!isa<math::SinOp, math::CosOp>(op) || !isVectorMath(op) ||
        !getElementTypeOrSelf(op->getResult(0).getType()).isF32())
      return;
    OpBuilder builder(op);
    op->setOperand(0, reduceAngle(builder, op->getLoc(), op->getOperand(0)));
    if (auto sine = dyn_cast<math::SinOp>(op))
      takeMagnitude(sine);
  });
}

} // namespace

LogicalResult mlir::tile::cpu::lowerVectorMath(ModuleOp module) {
  callFunctions(module);
  reduceAngles(module);
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
