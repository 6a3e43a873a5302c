//===- CheckEncodings.cpp - constraints between the ops of a program ------===//
//
// Constraints program-C1 to program-C12 of docs/spec.md. Op verifiers are local; constraints that
// involve a second op, the function or the module are checked here, before any rewrite, so that
// messages refer to the user's source.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/PEInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#define DEBUG_TYPE "pe-check-encodings"

namespace mlir::pe {
#define GEN_PASS_DEF_PECHECKENCODINGSPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

bool isEncoding(Type type) {
  return isa<CoordinateType, BiasType, ScoreType, PrologueType, RotationType, ContentType, MaskType,
             EmbeddingType, FactorType, SinkType>(type);
}

/// Returns true for ops that a program may contain: pe ops, ops of external encodings, constants.
bool isProgramOp(Operation *op) {
  return isa_and_nonnull<PEDialect>(op->getDialect()) ||
         isa<ScalarOpInterface, ScoreOpInterface, ContentOpInterface, MaskOpInterface,
             PrologueOpInterface, RotationOpInterface, EmbeddingOpInterface, FactorOpInterface,
             SinkOpInterface, func::CallOp, func::ReturnOp>(op) ||
         op->hasTrait<OpTrait::ConstantLike>();
}

/// Returns true if `op` has encoding values as operands or results, or contains such an op.
bool touchesEncodings(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        bool touches = llvm::any_of(inner->getOperandTypes(), isEncoding) ||
                       llvm::any_of(inner->getResultTypes(), isEncoding);
        return touches ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

LogicalResult checkCall(func::CallOp call) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  if (!callee.isExternal())
    return success();
  InFlightDiagnostic diagnostic = // program-C8
      call.emitError() << "expected @" << call.getCallee()
                       << " to have a body, found a declaration; give it one in this file "
                          "(program-C8)";
  diagnostic.attachNote(callee.getLoc()) << "declared here";
  return diagnostic;
}

LogicalResult checkOp(Operation &op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return checkCall(call);
  if (isProgramOp(&op))
    return success();
  if (touchesEncodings(&op)) // program-C7
    return op.emitError()
           << "expected encoding values to go directly from the op that creates them "
              "to the op that uses them, found them at '"
           << op.getName() << "'; choose between encodings before compiling (program-C7)";
  return op.emitError() // program-C11
         << "expected ops of the pe dialect, constants, calls and return, found '" << op.getName()
         << "'; compute it outside and pass it as an argument (program-C11)";
}

LogicalResult checkBody(func::FuncOp function) {
  if (!function.getBody().hasOneBlock()) // program-C10
    return function.emitError() << "expected a function without branches, found "
                                << function.getBody().getBlocks().size() << " blocks (program-C10)";
  for (Operation &op : function.getBody().front())
    if (failed(checkOp(op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Recursion
//===----------------------------------------------------------------------===//

using CallGraph = DenseMap<func::FuncOp, SmallVector<func::CallOp>>;

func::FuncOp getCallee(func::CallOp call) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
}

/// Follows the first open call of each function from `start` until a function repeats.
LogicalResult reportCycle(func::FuncOp start, CallGraph &open) {
  DenseSet<func::FuncOp> visited;
  func::CallOp call;
  for (func::FuncOp at = start; visited.insert(at).second; at = getCallee(call))
    call = open[at].front();
  return call.emitError() << "expected no recursion, found a call of @" << call.getCallee()
                          << " inside its own execution; encodings are finite expressions "
                             "(program-C9)";
}

/// Removes functions whose callees are all removed. The remaining functions are recursive.
LogicalResult checkRecursion(ModuleOp module) {
  CallGraph open;
  DenseMap<func::FuncOp, SmallVector<func::FuncOp>> callers;
  SmallVector<func::FuncOp> finished;
  for (auto function : module.getOps<func::FuncOp>()) {
    function.walk([&](func::CallOp call) {
      open[function].push_back(call);
      callers[getCallee(call)].push_back(function);
    });
    if (open[function].empty())
      finished.push_back(function);
  }
  while (!finished.empty()) {
    func::FuncOp done = finished.pop_back_val();
    for (func::FuncOp caller : callers[done]) {
      llvm::erase_if(open[caller], [&](func::CallOp call) { return getCallee(call) == done; });
      if (open[caller].empty())
        finished.push_back(caller);
    }
    callers[done].clear();
  }
  for (auto function : module.getOps<func::FuncOp>()) // program-C9
    if (!open[function].empty())
      return reportCycle(function, open);
  return success();
}

//===----------------------------------------------------------------------===//
// Boundaries
//===----------------------------------------------------------------------===//

/// An argument or result of a public function.
struct Port {
  const char *kind;
  unsigned number;
  Type type;
  DictionaryAttr attributes;
  Location loc;

  InFlightDiagnostic expected() const {
    return mlir::emitError(loc) << "expected " << kind << " " << number << " ";
  }
};

LogicalResult checkPortType(const Port &port) {
  if (isEncoding(port.type)) // program-C2
    return port.expected() << "of a public function to be a tensor, found " << port.type
                           << "; encoding values stay inside, make the function private "
                              "(program-C2)";
  auto tensor = dyn_cast<RankedTensorType>(port.type);
  Type element = tensor ? tensor.getElementType() : Type();
  if (!element || !(element.isF32() || element.isBF16() || element.isF16() ||
                    element.isSignlessInteger(32) || element.isSignlessInteger(64))) // program-C12
    return port.expected() << "to be a tensor of f32, bf16, f16, i32 or i64, found " << port.type
                           << " (program-C12)";
  return success();
}

LogicalResult checkPortName(const Port &port, llvm::StringMap<Location> &names) {
  auto attribute = port.attributes ? port.attributes.getAs<StringAttr>("pe.name") : StringAttr();
  if (!attribute) // program-C3
    return port.expected() << "of the entry function to have a name, found none; add {pe.name = "
                              "\"...\"} after its type (program-C3)";
  StringRef name = attribute.getValue();
  if (!isIdentifier(name)) // program-C4
    return port.expected() << "to have a name of letters, digits and '_', found \"" << name
                           << "\" (program-C4)";
  if (name.starts_with("d_")) // program-C5
    return port.expected() << "to have a name that does not begin with d_, found \"" << name
                           << "\"; d_ marks gradients (program-C5)";
  auto [earlier, isNew] = names.try_emplace(name, port.loc);
  if (isNew)
    return success();
  InFlightDiagnostic diagnostic = // program-C6
      port.expected() << "to have a unique name, found \"" << name << "\" twice (program-C6)";
  diagnostic.attachNote(earlier->second) << "first used here";
  return diagnostic;
}

LogicalResult checkBoundary(func::FuncOp function, bool isEntry) {
  SmallVector<Port> ports;
  for (BlockArgument argument : function.getArguments())
    ports.push_back({"argument", argument.getArgNumber(), argument.getType(),
                     function.getArgAttrDict(argument.getArgNumber()), argument.getLoc()});
  for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
    ports.push_back({"result", static_cast<unsigned>(number), type,
                     function.getResultAttrDict(number), function.getLoc()});
  llvm::StringMap<Location> names;
  for (const Port &port : ports)
    if (failed(checkPortType(port)) || (isEntry && failed(checkPortName(port, names))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Returns the public function called `name`, or the only one; fails if there is none (program-C1).
FailureOr<func::FuncOp> findEntry(ModuleOp module, StringRef name) {
  SmallVector<func::FuncOp> publics;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      publics.push_back(function);
  if (publics.empty())
    return module.emitError() << "expected a public function to compile, found none (program-C1)";
  if (name.empty() && publics.size() == 1)
    return publics.front();
  auto *found = llvm::find_if(publics, [&](func::FuncOp f) { return f.getSymName() == name; });
  if (found != publics.end())
    return *found;
  std::string list = llvm::join(
      llvm::map_range(publics, [](func::FuncOp f) { return "@" + f.getSymName().str(); }), ", ");
  if (name.empty())
    return publics[1].emitError() << "expected one public function, found " << list
                                  << "; choose one with --entry=NAME or make the others private "
                                     "(program-C1)";
  return module.emitError() << "expected a public function @" << name << " as the entry, found "
                            << list << " (program-C1)";
}

LogicalResult checkProgram(ModuleOp module, StringRef entryName) {
  for (Operation &op : *module.getBody())
    if (!isa<func::FuncOp>(op)) // program-C11
      return op.emitError() << "expected only functions in the module, found '" << op.getName()
                            << "' (program-C11)";
  FailureOr<func::FuncOp> entry = findEntry(module, entryName);
  if (failed(entry))
    return failure();
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPublic() && failed(checkBoundary(function, function == *entry)))
      return failure();
    if (!function.isExternal() && failed(checkBody(function)))
      return failure();
  }
  return checkRecursion(module);
}

struct CheckEncodingsPass : impl::PECheckEncodingsPassBase<CheckEncodingsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(checkProgram(getOperation(), entry)))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace mlir::pe
