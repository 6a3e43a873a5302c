//===- Price.cpp - operation counts of scalar code ------------------------===//

#include "passes/Analysis/Price.h"

#include "dialect/PE/PEScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Analysis/Slice.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::pe {
namespace {

/// Returns the multiplications, additions and functions of one output of a chain of layers.
Operations operationsOf(PiecewiseOpInterface op) {
  Operations count;
  const SmallVector<ChainLink> chain = op.getChain();
  for (auto [n, link] : llvm::enumerate(chain)) {
    auto weight = cast<RankedTensorType>(link.weight.getType());
    const bool isLast = n + 1 == chain.size();
    // The last layer has one row per head, of which one is used.
    int64_t size = 1;
    for (auto [axis, extent] : llvm::enumerate(weight.getShape()))
      if (!(isLast && axis == 0) && !ShapedType::isDynamic(extent))
        size *= extent;
    count.all += 2 * size;
    if (isLast)
      continue;
    const int64_t units = ShapedType::isDynamic(weight.getDimSize(0)) ? 1 : weight.getDimSize(0);
    count.all += units;
    if (link.function != Activation::Relu && link.function != Activation::Identity)
      count.functions += units;
  }
  return count;
}

/// Returns the fixed price of one operation. The price of a sum is the price of its region.
Operations operationsOf(Operation *op) {
  const bool isCast = isa<arith::IndexCastOp, arith::SIToFPOp, arith::ExtFOp, arith::TruncFOp,
                          arith::ExtSIOp, arith::TruncIOp>(op);
  if (isCast || op->hasTrait<OpTrait::ConstantLike>() || isa<YieldOp, DropoutFactorOp>(op))
    return {};
  if (auto chain = dyn_cast<PiecewiseOpInterface>(op))
    return operationsOf(chain);
  if (auto cosines = dyn_cast<CosineSumEvalOp>(op)) // an angle, its cosine and an addition
    return {3 * static_cast<int64_t>(cosines.getTerms()), static_cast<int64_t>(cosines.getTerms())};
  const bool isMath = isa<math::MathDialect>(op->getDialect()) && !isa<math::AbsFOp>(op);
  return {1, isMath || isa<arith::DivFOp>(op)};
}

class Counter {
public:
  Counter(Block &block, ArrayRef<std::string> names) : block(block), names(names) {}

  /// Adds the operations of `root`, or of all code of a sum's region.
  void add(Value root, ValueRange inner) {
    llvm::SmallDenseSet<Value> reached(inner.begin(), inner.end());
    for (Operation *op : collectSlice(root)) {
      const bool isReached =
          isa<DropoutFactorOp>(op) ||
          llvm::any_of(op->getOperands(), [&](Value value) { return reached.contains(value); });
      if (!isReached)
        continue;
      reached.insert(op->result_begin(), op->result_end());
      addOperation(op);
    }
  }

  Price price;

private:
  void addOperation(Operation *op) {
    auto sum = dyn_cast<SumOp>(op);
    if (!sum)
      return add(operationsOf(op));
    const auto before = std::pair(factor, extents);
    if (std::optional<int64_t> count = sum.getCount())
      factor *= *count;
    else
      extents += (extents.empty() ? "" : " * ") + extentOf(sum);
    add({1, 0}); // the addition
    for (Operation &inside : sum.getBody().front())
      addOperation(&inside);
    std::tie(factor, extents) = before;
  }

  void add(Operations count) {
    Operations &part = price.parts[extents];
    part.all += count.all * factor;
    part.functions += count.functions * factor;
  }

  /// Returns, for example, "size(u, 2)".
  std::string extentOf(SumOp sum) {
    Value tensor = sum.getCounted();
    auto argument = dyn_cast<BlockArgument>(tensor);
    while (argument && argument.getOwner() != &block) {
      auto around = cast<SumOp>(argument.getOwner()->getParentOp());
      argument = dyn_cast<BlockArgument>(around.getInputs()[argument.getArgNumber() - 1]);
    }
    const size_t first = block.getNumArguments() - names.size();
    const std::string name =
        argument && argument.getArgNumber() >= first ? names[argument.getArgNumber() - first] : "?";
    return "size(" + name + ", " + std::to_string(sum.getExtent()->back()) + ")";
  }

  Block &block;
  ArrayRef<std::string> names;
  int64_t factor = 1;
  std::string extents;
};

/// Returns, for example, "4 * size(u, 2) + 3", or an empty string for 0.
std::string polynomialOf(const Price &price, int64_t Operations::*count) {
  std::string text;
  for (const auto &[extent, operations] : llvm::reverse(price.parts)) {
    const int64_t number = operations.*count;
    if (number == 0)
      continue;
    text += text.empty() ? "" : " + ";
    text += extent.empty() ? std::to_string(number)
            : number == 1  ? extent
                           : std::to_string(number) + " * " + extent;
  }
  return text;
}

} // namespace

Price priceOf(Value root, Block &block, ValueRange inner, ArrayRef<std::string> names) {
  Counter counter(block, names);
  counter.price.parts[""] = {};
  counter.add(root, inner);
  return counter.price;
}

std::string describe(const Price &price, StringRef per, int64_t depths) {
  std::string all = polynomialOf(price, &Operations::all);
  if (all.empty())
    all = "0";
  std::string text = all + (all == "1" ? " operation per " : " operations per ") + per.str();
  if (std::string functions = polynomialOf(price, &Operations::functions); !functions.empty())
    text += ", " + functions + " of them division, exp, log or similar";
  if (depths)
    text += "; attention without a bias takes " + std::to_string(2 * depths) +
            (per == "score" ? "" : " per score");
  return text;
}

llvm::json::Object asJson(const Price &price, StringRef per) {
  const Operations fixed = price.parts.count("") ? price.parts.at("") : Operations();
  llvm::json::Array times;
  for (const auto &[extent, operations] : price.parts)
    if (!extent.empty())
      times.push_back(llvm::json::Object{
          {"extent", extent}, {"all", operations.all}, {"functions", operations.functions}});
  return llvm::json::Object{{"per", per},
                            {"all", fixed.all},
                            {"functions", fixed.functions},
                            {"times", std::move(times)}};
}

} // namespace mlir::pe
