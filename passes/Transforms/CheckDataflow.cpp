//===- CheckDataflow.cpp - dataflow from arguments through attention to results -===//
//
// Constraints dataflow-C1 to dataflow-C26 of docs/spec.md: the use of tensors in the compiled
// function. Checked after inlining, when only the entry remains.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/ExpandFunctions.h"
#include "passes/Transforms/Passes.h"

#include "dialect/PE/PEArgumentAttributes.h"
#include "dialect/PE/PEAttention.h"
#include "dialect/PE/PEBiases.h"
#include "dialect/PE/PEContents.h"
#include "dialect/PE/PEEmbeddings.h"
#include "dialect/PE/PEMasks.h"
#include "dialect/PE/PERotations.h"
#include "dialect/PE/PEScores.h"
#include "dialect/PE/PEWeights.h"
#include "passes/Analysis/Dependence.h"
#include "llvm/ADT/DenseSet.h"
#include <array>
#include <iterator>

#define DEBUG_TYPE "pe-check-dataflow"

namespace mlir::pe {
#define GEN_PASS_DEF_PECHECKDATAFLOWPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// Checks that results come from attention, and that each is returned once.
LogicalResult checkResults(func::ReturnOp returned) {
  if (returned.getNumOperands() == 0) // dataflow-C1
    return returned.emitError()
           << "expected at least one result, found none; return the result of pe.attention, "
              "pe.merge or pe.embed (dataflow-C1)";
  DenseSet<Value> seen;
  for (auto [number, value] : llvm::enumerate(returned.getOperands())) {
    if (!isa_and_nonnull<AttentionOp, MergeOp, EmbedOp>(value.getDefiningOp())) // dataflow-C2
      return returned.emitError() << "expected result " << number
                                  << " to be produced by pe.attention, pe.merge or pe.embed, found "
                                  << (value.getDefiningOp() ? "the result of another op"
                                                            : "an argument")
                                  << " (dataflow-C2)";
    if (!seen.insert(value).second) // dataflow-C3
      return returned.emitError() << "expected result " << number
                                  << " to be returned once, found it twice (dataflow-C3)";
  }
  return success();
}

/// Checks that queries, keys and values are arguments with no other use, so that their gradients
/// have one source, and that no pass has changed the call yet.
LogicalResult checkActivations(AttentionOp attention) {
  if (attention.getDropped()) // dataflow-C26
    return attention.emitError("expected no attribute 'dropped', which is for biases that passes "
                               "remove (dataflow-C26)");
  for (OpOperand &operand : attention->getOpOperands().take_front(3)) {
    const char *role = std::array{"queries", "keys", "values"}[operand.getOperandNumber()];
    if (!isa<BlockArgument>(operand.get())) // dataflow-C4
      return attention.emitError() << "expected " << role
                                   << " to be an argument of the entry function, found the result "
                                      "of another op; compile each attention by itself "
                                      "(dataflow-C4)";
    if (!operand.get().hasOneUse()) { // dataflow-C5
      InFlightDiagnostic diagnostic =
          attention.emitError() << "expected " << role << " to have no other use, found "
                                << std::distance(operand.get().use_begin(), operand.get().use_end())
                                << " uses; pass a separate argument for each use (dataflow-C5)";
      diagnostic.attachNote(operand.get().getLoc()) << "this argument";
      return diagnostic;
    }
  }
  return success();
}

/// Checks that the tensors of query(...) are arguments with no other use, because kernels write
/// their gradients directly.
LogicalResult checkContentQueries(AttentionOp attention) {
  for (Value queries : attention.getContentQueries())
    if (!isa<BlockArgument>(queries) || !queries.hasOneUse()) // dataflow-C27
      return attention.emitError()
             << "expected the tensors in query(...) to be arguments of the entry function with no "
                "other use, found "
             << (isa<BlockArgument>(queries) ? "one with other uses" : "the result of another op")
             << "; pass a separate argument for each use (dataflow-C27)";
  return success();
}

/// Checks that sinks, seeds, positions and pages are arguments of the call.
LogicalResult checkModes(AttentionOp attention) {
  if (failed(checkContentQueries(attention)))
    return failure();
  for (Value operand : {Value(attention.getLogits()), Value(attention.getSeed()),
                        Value(attention.getQueryPositions()), Value(attention.getKeyPositions()),
                        Value(attention.getPages())})
    if (operand && !isa<BlockArgument>(operand)) // dataflow-C10
      return attention.emitError()
             << "expected sinks, seeds, positions and pages to be arguments of "
                "the entry function, found the result of "
                "another op (dataflow-C10)";
  if (attention.getValueContent() && !attention.getFactors().empty()) // dataflow-C23
    return attention.emitError()
           << "expected no factor(...) together with value_content(...), found "
              "one; dropout(...) is allowed (dataflow-C23)";
  Value queries = attention.getQueryPositions();
  if (queries && queries == attention.getKeyPositions()) // dataflow-C22
    return attention.emitError() << "expected separate arguments for the positions of queries "
                                    "and of keys, found one for both (dataflow-C22)";
  return success();
}

/// Checks that the tokens are an argument with no other use, and that the embedded tokens are
/// returned.
LogicalResult checkEmbed(EmbedOp embed) {
  Value x = embed.getInput();
  if (!isa<BlockArgument>(x) || !x.hasOneUse()) // dataflow-C11
    return embed.emitError()
           << "expected the tokens to be an argument of the entry function with no "
              "other use, found "
           << (isa<BlockArgument>(x) ? "one with other uses" : "the result of another op")
           << " (dataflow-C11)";
  if (!llvm::any_of(embed.getOutput().getUsers(), llvm::IsaPred<func::ReturnOp>)) // dataflow-C12
    return embed.emitError() << "expected the sum to be a result of the entry function, found it "
                                "unused (dataflow-C12)";
  if (!embed.getEmbedding().getDefiningOp<EmbeddingOpInterface>()) // dataflow-C13
    return embed.emitError()
           << "expected an embedding made by pe.embedding_fn, found another value "
              "(dataflow-C13)";
  if (embed.getSeed() && !isa<BlockArgument>(embed.getSeed())) // dataflow-C10
    return embed.emitError() << "expected the seed to be an argument of the entry function, found "
                                "the result of another op (dataflow-C10)";
  return success();
}

/// Checks that merged values are arguments with no other use, and that the merged results are
/// returned.
LogicalResult checkMerge(MergeOp merge) {
  for (auto [number, value] : llvm::enumerate(merge->getOperands()))
    if (!isa<BlockArgument>(value) || (number < 4 && !value.hasOneUse())) // dataflow-C17
      return merge.emitError() << "expected the operands of pe.merge to be arguments of the entry "
                                  "function with no other use, found "
                               << (isa<BlockArgument>(value) ? "one with other uses"
                                                             : "the result of another op")
                               << "; merge in a separate program (dataflow-C17)";
  for (Value value : merge.getResults())
    if (!llvm::any_of(value.getUsers(), llvm::IsaPred<func::ReturnOp>)) // dataflow-C18
      return merge.emitError() << "expected both results of the merge to be results of the entry "
                                  "function, found one unused (dataflow-C18)";
  return success();
}

/// Checks that the captures of an embedding are arguments of the call, and that their unknown sizes
/// are sizes of the embedding.
LogicalResult checkCaptures(func::FuncOp function, EmbeddingOpInterface embedding) {
  for (Value capture : embedding->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(capture);
    if (!argument) // dataflow-C9
      return embedding->emitError() << "expected captures to be arguments of the entry function, "
                                       "found the result of another op; write a number into the "
                                       "formula (dataflow-C9)";
    auto type = cast<RankedTensorType>(argument.getType());
    auto axes = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "pe.axes");
    for (auto [axis, size] : llvm::enumerate(type.getShape())) {
      StringRef word = axes ? cast<StringAttr>(axes[axis]).getValue() : "";
      const bool isOfTokens = word == "query" || word == "model";
      if (!ShapedType::isDynamic(size) ||
          (!word.empty() && (isOfTokens || sizeOfAxis(word).empty())))
        continue;
      return mlir::emitError(argument.getLoc()) // dataflow-C14
             << "expected every unknown size of a tensor that an embedding reads to count model, "
                "query or a user-defined axis, found "
             << (word.empty() ? "no pe.axes" : word)
             << "; write, for instance, pe.axes = [\"rows\", \"model\"] (dataflow-C14)";
    }
  }
  return success();
}

/// Returns the axes of seeds: one seed, or one per batch entry.
ArrayAttr axesOfSeed(OpOperand &operand) {
  const bool isOne = cast<ShapedType>(operand.get().getType()).getRank() == 0;
  return Builder(operand.getOwner()->getContext())
      .getStrArrayAttr(isOne ? ArrayRef<StringRef>() : ArrayRef<StringRef>{"batch"});
}

/// Returns the axes that an operand of attention has because of its role.
ArrayAttr axesOfOperand(OpOperand &operand) {
  Builder b(operand.getOwner()->getContext());
  auto attention = cast<AttentionOp>(operand.getOwner());
  if (operand.get() == attention.getLogits())
    return b.getStrArrayAttr({"head"});
  if (operand.get() == attention.getSeed())
    return axesOfSeed(operand);
  if (operand.get() == attention.getQueryPositions())
    return b.getStrArrayAttr({"batch", "query"});
  if (operand.get() == attention.getKeyPositions())
    return b.getStrArrayAttr({"batch", "key"});
  if (attention.getPages() && operand.get() == attention.getPages())
    return b.getStrArrayAttr({"batch", "pages_of_keys"});
  if (llvm::is_contained(attention.getContentQueries(), operand.get()))
    return b.getStrArrayAttr({"batch", "head", "query", "rank"});
  if (attention.getPages() && operand.getOperandNumber() > 0)
    return b.getStrArrayAttr({"pages", "page", "kv_head", "depth"});
  return operand.getOperandNumber() == 0 ? b.getStrArrayAttr({"batch", "head", "query", "depth"})
                                         : b.getStrArrayAttr({"batch", "kv_head", "key", "depth"});
}

LogicalResult checkAxesOfMerge(MergeOp merge, OpOperand &operand, ArrayAttr axes) {
  Builder b(merge.getContext());
  ArrayAttr expected = b.getStrArrayAttr({"batch", "head", "query"});
  if (operand.get() == merge.getSink())
    expected = b.getStrArrayAttr({"head"});
  const bool isOutput = operand.get() == merge.getFirst() || operand.get() == merge.getSecond();
  if (!axes || (!isOutput && axes == expected)) // dataflow-C6
    return success();
  InFlightDiagnostic diagnostic = mlir::emitError(operand.get().getLoc());
  if (isOutput)
    return diagnostic << "expected no pe.axes on an output that is merged, found " << axes
                      << "; omit them (dataflow-C6)";
  return diagnostic << "expected pe.axes " << expected << " of this operand of pe.merge, found "
                    << axes << "; they may be omitted (dataflow-C6)";
}

/// Returns true if an op reads tensors of token data at the positions of a formula.
bool readsTokens(Operation *op) {
  if (auto scalar = dyn_cast<ScalarOpInterface>(op))
    return scalar.readsTokens();
  return isa<ScoreOpInterface, MaskOpInterface, EmbeddingOpInterface, ContentOpInterface,
             PrologueOpInterface, FactorOpInterface, SinkOpInterface>(op);
}

/// Returns true if an op reads tensors that a call may omit.
bool readsAbsent(Operation *op) {
  return isa<ScoreOpInterface, FactorOpInterface, SinkOpInterface>(op) ||
         (isa<ScalarOpInterface>(op) && readsTokens(op));
}

/// Returns true if an argument holds the positions of a rotation by several axes.
bool isPositions(RotationOpInterface rotation, Value argument) {
  const AxisPositions positions = rotation.getAxisPositions();
  return positions && (argument == positions.queries || argument == positions.keys);
}

LogicalResult checkAxesOfPositions(RotationOpInterface rotation, Value positions, ArrayAttr axes) {
  StringRef rows = positions == rotation.getAxisPositions().queries ? "query" : "key";
  SmallVector<StringRef> words(axes.getAsValueRange<StringAttr>());
  if (words.size() == 3 && sizeOfAxis(words[0]).empty() && words[1] == "batch" && words[2] == rows)
    return success();
  return mlir::emitError(positions.getLoc()) // dataflow-C6
         << "expected pe.axes [\"axes\", \"batch\", \"" << rows
         << "\"] of positions by axis, found " << axes << "; they may be omitted (dataflow-C6)";
}

/// Returns true if an attention defines the sizes of this argument, which need not be named then.
bool definesSizes(AttentionOp attention, BlockArgument argument) {
  return argument == attention.getQueryPositions() || argument == attention.getKeyPositions() ||
         argument == attention.getPages() ||
         llvm::is_contained(attention.getContentQueries(), argument);
}

/// Checks that unknown sizes have one meaning, and that only scalar code indexes axes over tokens.
LogicalResult checkAxes(func::FuncOp function, BlockArgument argument) {
  auto axes = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "pe.axes");
  const bool countsTokens =
      axes && llvm::any_of(axes.getAsValueRange<StringAttr>(), [](StringRef word) {
        return word != "head" && !sizeOfAxis(word).empty();
      });
  bool hasSizes = false; // from the ops that read it
  for (OpOperand &use : argument.getUses()) {
    if (auto embed = dyn_cast<EmbedOp>(use.getOwner())) {
      const bool isSeed = argument == embed.getSeed();
      ArrayAttr expected =
          isSeed ? axesOfSeed(use)
                 : Builder(function.getContext()).getStrArrayAttr({"batch", "query", "model"});
      if (axes && axes != expected) // dataflow-C6
        return mlir::emitError(argument.getLoc())
               << "expected pe.axes " << expected << " of the " << (isSeed ? "seeds" : "tokens")
               << " of pe.embed, found " << axes << "; they may be omitted (dataflow-C6)";
      if (isSeed)
        continue;
      return success();
    }
    if (auto merge = dyn_cast<MergeOp>(use.getOwner()))
      return checkAxesOfMerge(merge, use, axes);
    if (auto rotation = dyn_cast<RotationOpInterface>(use.getOwner())) {
      hasSizes |= !rotation.getTensorExtents(argument).empty();
      if (isPositions(rotation, argument)) {
        if (axes && failed(checkAxesOfPositions(rotation, argument, axes)))
          return failure();
        continue;
      }
    }
    if (isa<AttentionOp>(use.getOwner())) {
      if (axes && axes != axesOfOperand(use)) // dataflow-C6
        return mlir::emitError(argument.getLoc())
               << "expected pe.axes " << axesOfOperand(use) << " of this operand of pe.attention, "
               << "found " << axes << "; they may be omitted (dataflow-C6)";
      hasSizes |= definesSizes(cast<AttentionOp>(use.getOwner()), argument);
      if (use.getOperandNumber() < 3)
        return success();
      continue;
    }
    if (countsTokens && !readsTokens(use.getOwner())) // dataflow-C7
      return use.getOwner()->emitError()
             << "expected an argument of one value per head, found one with pe.axes " << axes
             << "; read it in pe.bias_fn, pe.score_fn or pe.mask_fn (dataflow-C7)";
  }
  if (function.getArgAttr(argument.getArgNumber(), "pe.absent") &&
      !llvm::all_of(argument.getUsers(), readsAbsent)) // dataflow-C15
    return mlir::emitError(argument.getLoc())
           << "expected an argument with pe.absent to be read only by pe.bias_fn or pe.score_fn "
              "(dataflow-C15)";
  auto type = cast<RankedTensorType>(argument.getType());
  if (!axes && !hasSizes &&
      llvm::count_if(type.getShape(), ShapedType::isDynamic) > 1) // dataflow-C8
    return mlir::emitError(argument.getLoc())
           << "expected pe.axes on an argument with several unknown sizes, found " << type
           << "; write what they count, such as pe.axes = [\"batch\", \"key\"] (dataflow-C8)";
  return success();
}

/// Checks that the captures of a score function or a mask are arguments of the call.
LogicalResult checkCaptures(Operation *op) {
  for (Value capture : op->getOperands())
    if (!isa<MaskType>(capture.getType()) && !isa<BlockArgument>(capture)) // dataflow-C9
      return op->emitError() << "expected captures to be arguments of the entry function, found "
                                "the result of another op; write a number into the formula "
                                "(dataflow-C9)";
  return success();
}

/// Checks that a factor has one seed or one per batch entry, and that a sink reads no data of keys.
LogicalResult checkSeedsAndKeys(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto argument = cast<BlockArgument>(operand.get());
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto axes = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "pe.axes");
    const bool isSeed = cast<ShapedType>(argument.getType()).getElementType().isInteger(64);
    if (isSeed && axes && axes != axesOfSeed(operand)) // dataflow-C6
      return mlir::emitError(argument.getLoc())
             << "expected pe.axes " << axesOfSeed(operand) << " of seeds, found " << axes
             << "; they may be omitted (dataflow-C6)";
    if (isa<SinkOpInterface>(op) && axes &&
        llvm::is_contained(axes.getAsValueRange<StringAttr>(), "key")) // dataflow-C24
      return op->emitError() << "expected a sink that reads no data of keys, found pe.axes " << axes
                             << "; a sink is a function of the query (dataflow-C24)";
  }
  return success();
}

/// Checks that a content term is a function of the head and i - j.
LogicalResult checkContent(ContentOpInterface content) {
  OpBuilder builder(content.getContext());
  OwningOpRef<ContentFnOp> function(createContentFunction(builder, content));
  Region &body = function->getBody();
  Value vector = cast<YieldOp>(body.front().getTerminator()).getValues()[0];
  const Dependence on = RegionDependence(body).of(vector);
  if (on.isWithin(Dependence::Head | Dependence::Difference))
    return success();
  return emitError(vector.getLoc()) // dataflow-C19
         << "expected a content term that depends on i and j only through i - j, and not on b, "
            "found one that depends on "
         << on.describe() << "; write terms of only i or only j as a bias (dataflow-C19)";
}

/// Checks the sizes of a shift and a matrix of queries.
LogicalResult checkQueryTensor(Operation *op, Value tensor, ArrayRef<StringRef> words) {
  auto argument = dyn_cast_if_present<BlockArgument>(tensor);
  if (!argument)
    return success();
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto axes = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "pe.axes");
  ArrayAttr expected = Builder(op->getContext()).getStrArrayAttr(words);
  const bool isDynamic =
      llvm::all_of(cast<RankedTensorType>(tensor.getType()).getShape(), ShapedType::isDynamic);
  if (axes == expected && isDynamic)
    return success();
  return op->emitError() // dataflow-C20
         << "expected a tensor of unknown sizes with pe.axes = " << expected << ", found "
         << tensor.getType() << (axes ? " with other axes" : " without axes") << " (dataflow-C20)";
}

LogicalResult checkQueryTensors(Operation *op) {
  if (auto prologue = dyn_cast<PrologueOpInterface>(op))
    for (Value operand : op->getOperands())
      if (SmallVector<StringRef> axes = prologue.getTensorAxes(operand);
          !axes.empty() && failed(checkQueryTensor(op, operand, axes)))
        return failure();
  auto content = dyn_cast<ContentOpInterface>(op);
  if (content && (failed(checkQueryTensor(op, content.getShift(), {"head", "depth"})) ||
                  failed(checkQueryTensor(op, content.getProjection(), {"depth", "depth"}))))
    return failure();
  return success();
}

/// Checks that the boundaries of documents are an argument whose size has a user-defined name.
LogicalResult checkBoundaries(func::FuncOp function, MaskOpInterface documents) {
  if (!documents.getDocumentBoundaries())
    return success();
  auto argument = dyn_cast<BlockArgument>(documents.getDocumentBoundaries());
  auto axes = argument ? function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "pe.axes")
                       : ArrayAttr();
  const bool isNamed = axes && sizeOfAxis(cast<StringAttr>(axes[0]).getValue()).empty() &&
                       ShapedType::isDynamic(cast<ShapedType>(argument.getType()).getDimSize(0));
  if (isNamed)
    return success();
  return documents->emitError() // dataflow-C21
         << "expected the boundaries of documents to be an argument of unknown size whose axis has "
            "a user-defined name, such as pe.axes = [\"boundaries\"], found "
         << (!argument ? "the result of another op" : "another one") << " (dataflow-C21)";
}

/// Checks that the tensors of prologues, rotations and content terms are arguments of the call.
LogicalResult checkTensors(Operation *op) {
  if (llvm::all_of(op->getOperands(), [](Value operand) {
        return isa<BlockArgument>(operand) || !isa<ShapedType>(operand.getType());
      }))
    return success();
  return op->emitError() << "expected its tensors to be arguments of the entry function, found the "
                            "result of another op (dataflow-C16)";
}

/// Checks that an axis of unknown size of a tensor that a rotation reads counts heads or pairs, or
/// has a user-defined name.
LogicalResult checkCaptures(RotationFnOp rotation) {
  for (auto [number, capture] : llvm::enumerate(rotation.getCaptures())) {
    ArrayAttr axes = axesOf(capture);
    for (auto [axis, size] :
         llvm::enumerate(cast<RankedTensorType>(capture.getType()).getShape())) {
      if (!ShapedType::isDynamic(size))
        continue;
      StringRef word = axes ? cast<StringAttr>(axes[axis]).getValue() : "";
      const AxisIndex index = *findIndexOfAxis(rotation, number, static_cast<int64_t>(axis));
      const bool isOwn = !word.empty() && sizeOfAxis(word).empty();
      const bool countsHeads = index == AxisIndex::Head && (word.empty() || word == "head");
      const bool countsPairs = index == AxisIndex::Pair && word.empty() && capture.hasOneUse();
      if (isOwn || countsHeads || countsPairs)
        continue;
      StringRef place = index == AxisIndex::Head   ? "at h"
                        : index == AxisIndex::Pair ? "at p"
                                                   : "at neither h nor p";
      return mlir::emitError(capture.getLoc()) // dataflow-C25
             << "expected axis " << axis << ", which pe.rotation_fn reads " << place
             << ", to have a known size or a user-defined name, such as pe.axes = "
                "[\"pairs\"], found "
             << (word.empty() ? "no pe.axes" : word) << " (dataflow-C25)";
    }
  }
  return success();
}

struct CheckDataflowPass : impl::PECheckDataflowPassBase<CheckDataflowPass> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    func::FuncOp function = getOperation();
    if (!function.isPublic() || function.isExternal())
      return;
    auto returned = cast<func::ReturnOp>(function.getBody().front().getTerminator());
    bool isValid = succeeded(checkResults(returned));
    for (auto attention : function.getOps<AttentionOp>())
      isValid =
          isValid && succeeded(checkActivations(attention)) && succeeded(checkModes(attention));
    for (auto score : function.getOps<ScoreOpInterface>())
      isValid = isValid && succeeded(checkCaptures(score));
    for (Operation &op : function.getBody().front())
      if (isa<FactorOpInterface, SinkOpInterface>(op))
        isValid = isValid && succeeded(checkCaptures(&op)) && succeeded(checkSeedsAndKeys(&op));
    for (auto mask : function.getOps<MaskOpInterface>())
      isValid =
          isValid && succeeded(checkBoundaries(function, mask)) && succeeded(checkCaptures(mask));
    for (auto embed : function.getOps<EmbedOp>())
      isValid = isValid && succeeded(checkEmbed(embed));
    for (auto merge : function.getOps<MergeOp>())
      isValid = isValid && succeeded(checkMerge(merge));
    for (auto embedding : function.getOps<EmbeddingOpInterface>())
      isValid = isValid && succeeded(checkCaptures(function, embedding));
    for (auto content : function.getOps<ContentOpInterface>())
      isValid = isValid && succeeded(checkContent(content));
    for (Operation &op : function.getBody().front())
      if (isa<PrologueOpInterface, RotationOpInterface, ContentOpInterface>(op))
        isValid = isValid && succeeded(checkTensors(&op)) && succeeded(checkQueryTensors(&op));
    for (auto rotation : function.getOps<RotationFnOp>())
      isValid = isValid && succeeded(checkCaptures(rotation));
    for (BlockArgument argument : function.getArguments())
      isValid = isValid && succeeded(checkAxes(function, argument));
    if (!isValid)
      signalPassFailure();
  }
};

} // namespace
} // namespace mlir::pe
