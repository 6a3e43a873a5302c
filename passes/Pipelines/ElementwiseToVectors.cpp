//===- ElementwiseToVectors.cpp - scalar functions as loops over arrays ---===//
//
// The adjoint is derived from the function (passes/Transforms/ScalarVjp.h), so that an activation
// is defined only once, on scalars.
//
//===----------------------------------------------------------------------===//
#include "passes/Pipelines/Pipelines.h"

#include "dialect/Math/ScalarOps.h"
#include "passes/Scalar/OpShape.h"
#include "passes/Schedule/Schedule.h"
#include "passes/ToCPU/MathFunctions.h"
#include "passes/ToCPU/VectorMath.h"
#include "passes/Transforms/ScalarVjp.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#define DEBUG_TYPE "pe-elementwise-to-vectors"

namespace mlir::pe {
#define GEN_PASS_DEF_PEELEMENTWISETOVECTORSPASS
#include "passes/Pipelines/Passes.h.inc"

using namespace tile;
using namespace tile::cpu;

namespace {

/// Implements ParameterAccess for scalar functions, which have neither tensors nor heads and never
/// call it.
struct NoParameters : ParameterAccess {
  Value read(OpBuilder &, Location, BlockArgument, ValueRange) override { return {}; }
  void accumulate(OpBuilder &, Location, BlockArgument, ValueRange, Value) override {}
  Value globalHead(OpBuilder &, Location, Value) override { return {}; }
  Value headsTotal(OpBuilder &, Location) override { return {}; }
};

bool isElementwise(func::FuncOp function) {
  auto isNumber = [](Type type) { return type.isF32(); };
  return function.isPublic() && !function.isExternal() && function.getNumArguments() > 0 &&
         function.getNumResults() == 1 && llvm::all_of(function.getArgumentTypes(), isNumber) &&
         llvm::all_of(function.getResultTypes(), isNumber);
}

LogicalResult check(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("expected a scalar function with one block, found ")
           << function.getBody().getBlocks().size();
  for (Operation &op : function.getBody().front().without_terminator())
    if (!::pe::math::findScalarOp(op.getName().getStringRef()))
      return op.emitError("expected only scalar arith and math operations in a scalar function, "
                          "found '")
             << op.getName() << "'";
  return success();
}

/// The vector width of the target and its method for exp2.
struct Target {
  int64_t lanes;
  Exp2Flavour exp2;
};

/// Emits the loop over arrays for a scalar function.
class VectorCode {
public:
  VectorCode(func::FuncOp scalar, StringRef name, const Target &target);
  void emit();

private:
  using Values = llvm::DenseMap<Value, Value>;

  static func::FuncOp declare(func::FuncOp scalar, StringRef name);
  Value memory(unsigned index);
  Value vectorOf(Operation &op, const Values &values);
  void emitPoint(const Index &at, Value mask);

  func::FuncOp scalar, function;
  Target target;
  Emitter e;
  SmallVector<Value> memories;
};

/// Declares a function with one array per argument and result of `scalar`, and their length.
func::FuncOp VectorCode::declare(func::FuncOp scalar, StringRef name) {
  OpBuilder builder(scalar);
  auto array = MemRefType::get({1}, builder.getF32Type());
  SmallVector<Type> types(scalar.getNumArguments() + scalar.getNumResults(), array);
  types.push_back(builder.getIndexType());
  auto function =
      func::FuncOp::create(builder, scalar.getLoc(), name, builder.getFunctionType(types, {}));
  function.addEntryBlock();
  return function;
}

VectorCode::VectorCode(func::FuncOp scalar, StringRef name, const Target &target)
    : scalar(scalar), function(declare(scalar, name)), target(target),
      e(scalar.getLoc(), function, target.lanes) {
  for (unsigned index = 0; index + 1 < function.getNumArguments(); ++index)
    memories.push_back(memory(index));
}

/// Casts an argument to an array of the dynamic length.
Value VectorCode::memory(unsigned index) {
  auto type = MemRefType::get({ShapedType::kDynamic}, e.getF32Type());
  auto at = [&](int64_t number) { return OpFoldResult(e.getIndexAttr(number)); };
  Value size = function.getArguments().back();
  return e.create<memref::ReinterpretCastOp>(type, function.getArgument(index), at(0),
                                             ArrayRef{OpFoldResult(size)}, ArrayRef{at(1)});
}

Value VectorCode::vectorOf(Operation &op, const Values &values) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return e.constant(DenseElementsAttr::get(e.vectorType(constant.getType()),
                                             ArrayRef<Attribute>(constant.getValue())));
  auto operands =
      llvm::map_to_vector(op.getOperands(), [&](Value value) { return values.lookup(value); });
  const bool isF32 = op.getResult(0).getType().isF32();
  if (isF32 && isa<math::ExpOp>(op))
    return emitExp(e, target.exp2, operands[0]);
  if (isF32 && isa<math::Exp2Op>(op))
    return emitExp2(e, target.exp2, operands[0]);
  return OpShape(e.lanes).create(e, e.getLoc(), op, operands);
}

/// Emits one vector of lanes from `at` on, masked if `mask` is given. Loads all arguments before
/// the first store, because a result array may alias an argument array.
void VectorCode::emitPoint(const Index &at, Value mask) {
  Values values;
  Block &body = scalar.getBody().front();
  for (auto [argument, array] : llvm::zip(body.getArguments(), memories))
    values[argument] = mask ? e.loadLanes(array, at, mask) : e.loadVector(array, at);
  for (Operation &op : body.without_terminator())
    values[op.getResult(0)] = vectorOf(op, values);
  auto results = ArrayRef(memories).drop_front(body.getNumArguments());
  for (auto [value, array] : llvm::zip(body.getTerminator()->getOperands(), results))
    if (mask)
      e.storeLanes(values.lookup(value), array, at, mask);
    else
      e.storeVector(values.lookup(value), array, at);
}

void VectorCode::emit() {
  const Index count = e.fromValue(function.getArguments().back());
  const Index whole = roundDown(count, e.lanes), rest = count - whole;
  e.loop(0, whole, e.lanes, [&](Index at) { emitPoint(at, {}); });
  e.ifThen(e.less(0, rest), [&] { emitPoint(whole, e.laneMask(rest)); });
  e.create<func::ReturnOp>();
}

/// Builds a temporary scalar function, which is erased once its vector code is emitted.
class ScalarCode {
public:
  ScalarCode(func::FuncOp like, unsigned arguments, unsigned results)
      : builder(like.getContext()), like(like) {
    builder.setInsertionPoint(like);
    SmallVector<Type> in(arguments, builder.getF32Type()), out(results, builder.getF32Type());
    function = func::FuncOp::create(builder, like.getLoc(), (like.getSymName() + "_scalar").str(),
                                    builder.getFunctionType(in, out));
    builder.setInsertionPointToStart(function.addEntryBlock());
    mapping.map(like.getArguments(), function.getArguments().take_front(like.getNumArguments()));
  }

  void finish(ValueRange results, Twine name, const Target &target) {
    func::ReturnOp::create(builder, like.getLoc(), results);
    VectorCode(function, name.str(), target).emit();
    function.erase();
  }

  OpBuilder builder;
  func::FuncOp like, function;
  IRMapping mapping;
  NoParameters parameters;
};

LogicalResult lower(func::FuncOp function, const Target &target) {
  if (failed(check(function)))
    return failure();
  Value root = function.getBody().front().getTerminator()->getOperand(0);
  SmallVector<Value> inputs(function.getArguments());
  FailureOr<ScalarVjp> vjp = ScalarVjp::create(root, inputs);
  if (failed(vjp))
    return failure();
  const auto count = static_cast<unsigned>(inputs.size());
  const std::string inputsText = std::to_string(count);
  ScalarCode forward(function, count, 1);
  Value value = vjp->emitPrimal(forward.builder, forward.mapping, forward.parameters);
  forward.finish(value, function.getSymName() + "_forward" + inputsText, target);
  ScalarCode backward(function, count + 1, count);
  vjp->emitPrimal(backward.builder, backward.mapping, backward.parameters);
  SmallVector<Value> adjoints =
      vjp->emitAdjoint(backward.builder, backward.mapping, backward.function.getArguments().back(),
                       backward.parameters);
  backward.finish(adjoints, function.getSymName() + "_backward" + inputsText, target);
  function.erase();
  return success();
}

struct PEElementwiseToVectorsPass
    : impl::PEElementwiseToVectorsPassBase<PEElementwiseToVectorsPass> {
  using Base::Base;

  void runOnOperation() override {
    const Machine *cpu = findMachine(getOperation(), machine, /*isGpu=*/false);
    if (!cpu)
      return signalPassFailure();
    const Target target = {cpu->lanes, cpu->hasScaleF ? Exp2Flavour::ScaleF : Exp2Flavour::Bits};
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<TensorType>)) {
        function.emitError("expected a scalar function such as (f32) -> f32 or (f32, f32) -> f32, "
                           "found one with tensor arguments");
        return signalPassFailure();
      }
    SmallVector<func::FuncOp> functions;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (isElementwise(function))
        functions.push_back(function);
    if (functions.empty()) // do not lower the math ops of other kernels
      return;
    for (func::FuncOp function : functions)
      if (failed(lower(function, target)))
        return signalPassFailure();
    if (failed(lowerVectorMath(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace mlir::pe
