//===- SizeNames.cpp - the names that size expressions may use ------------===//
#include "dialect/Tile/SizeNames.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::tile;
using ::pe::plan::FrameWord;

std::vector<FrameWord> mlir::tile::getFrame(PlanOp plan) {
  std::span<const FrameWord> sizes = ::pe::plan::standardSizes();
  std::vector<FrameWord> words(sizes.begin(), sizes.end());
  for (auto extent : plan.getOps<ExtentOp>())
    words.push_back({FrameWord::Kind::Size, extent.getName().str()});
  for (auto parameter : plan.getOps<ParameterOp>())
    words.push_back({FrameWord::Kind::Parameter, parameter.getName().str(),
                     parameter.getFallback().value_or("").str()});
  for (auto buffer : plan.getOps<BufferOp>())
    for (int64_t axis = 0; buffer.getStrided() && axis + 1 < buffer.getBuffer().getType().getRank();
         ++axis)
      words.push_back(
          {FrameWord::Kind::Stride, buffer.getName().str(), "", static_cast<int>(axis)});
  return words;
}

void mlir::tile::declarePositions(OpBuilder &builder, Location loc) {
  for (const FrameWord &word : ::pe::plan::positionParameters())
    ParameterOp::create(builder, loc, word.name, builder.getStringAttr(word.fallback));
}

bool PlanOp::hasParameter(StringRef name) {
  return llvm::any_of(getOps<ParameterOp>(),
                      [&](ParameterOp parameter) { return parameter.getName() == name; });
}

std::vector<std::string> mlir::tile::getSizeNames(PlanOp plan, SizeUse use) {
  std::vector<std::string> names, parameters;
  for (const FrameWord &word : getFrame(plan))
    if (word.kind != FrameWord::Kind::Stride)
      (word.kind == FrameWord::Kind::Size ? names : parameters).push_back(word.name);
  if (use == SizeUse::Items)
    return names;
  names.insert(names.end(), {"t", "kb", "ks"});
  if (use == SizeUse::Scalar)
    names.insert(names.end(), parameters.begin(), parameters.end());
  return names;
}

/// Calls `visit` for every word of the text and for every character between words.
static void eachWord(StringRef text, llvm::function_ref<void(StringRef)> visit) {
  while (!text.empty()) {
    StringRef word = text.take_while([](char ch) { return llvm::isAlnum(ch) || ch == '_'; });
    StringRef piece = word.empty() ? text.take_front() : word;
    visit(piece);
    text = text.drop_front(piece.size());
  }
}

bool mlir::tile::mentions(StringRef text, StringRef name) {
  bool found = false;
  eachWord(text, [&](StringRef word) { found |= word == name; });
  return found;
}

std::string mlir::tile::forPlan(StringRef text, PlanOp plan) {
  std::string result;
  eachWord(text, [&](StringRef word) {
    if (word == "t" && plan.getDistancePadding() == 0)
      result += "(r+capacity)";
    else if (word == "t")
      result += "(r+capacity+" + std::to_string(plan.getDistancePadding()) + ")";
    else if (word == "kb")
      result += "ceildiv(c," + std::to_string(plan.getKeyBlock().value()) + ")";
    else if (word == "ks")
      result += "ceildiv(c," + std::to_string(plan.getKeySplit().value()) + ")";
    else
      result += word;
  });
  return result;
}

::pe::plan::SizeExpression mlir::tile::parseForPlan(StringRef text, PlanOp plan) {
  std::string problem;
  std::optional<::pe::plan::SizeExpression> parsed =
      ::pe::plan::SizeExpression::parse(forPlan(text, plan), problem);
  assert(parsed && "size expressions are checked by the verifier");
  return *std::move(parsed);
}

bool mlir::tile::mentions(PlanOp plan, StringRef name) {
  auto counts = [&](ArrayAttr extents) {
    return llvm::any_of(extents.getAsValueRange<StringAttr>(),
                        [&](StringRef extent) { return mentions(extent, name); });
  };
  WalkResult found = plan.walk([&](Operation *op) {
    bool isFound = false;
    if (auto buffer = dyn_cast<BufferOp>(op))
      isFound = llvm::any_of(buffer.getBuffer().getType().getExtents(),
                             [&](StringAttr extent) { return mentions(extent.getValue(), name); });
    else if (auto stage = dyn_cast<StageOp>(op))
      isFound = counts(stage.getOver());
    else if (auto loop = dyn_cast<ForeachOp>(op))
      isFound = counts(loop.getOver());
    else if (auto size = dyn_cast<SizeOp>(op))
      isFound = mentions(size.getExpression(), name);
    return isFound ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

LogicalResult mlir::tile::checkKeyBlock(PlanOp plan) {
  if (plan.getKeyBlock() || !hasKeyBlocks(plan))
    return success();
  return plan.emitOpError("expected key_block, because it counts blocks of keys (kb); run "
                          "pe-schedule-cpu or pe-schedule-gpu first");
}
