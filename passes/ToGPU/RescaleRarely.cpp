//===- RescaleRarely.cpp - the pass pe-rescale-rarely ---------------------===//
#include "passes/ToGPU/ToGPU.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PERESCALERARELYPASS
#include "passes/ToGPU/Passes.h.inc"
} // namespace mlir::tile

namespace {

/// A running maximum of a stream, and everything that depends on it.
class RunningMaximum {
public:
  explicit RunningMaximum(ReduceOp largest) : largest(largest) {}

  /// Returns true if all users of the maximum are of the forms that tile.rescale replaces.
  bool isPossible();
  void rescale(double slack);

private:
  bool findRaise();
  /// Returns true if all differences so far have this unit.
  bool hasUnit(float own) {
    unit = unit == 0 ? own : unit;
    return own > 0 && own == unit;
  }
  bool readsDifference(MapOp map);
  bool findFactor(MapOp map);
  bool isScaledSum(MapOp map);

  /// (x - raised) unit in a map; the product is null if the unit is 1.
  struct Difference {
    MapOp map;
    arith::SubFOp difference;
    arith::MulFOp product;
  };
  std::optional<Difference> differenceIn(MapOp map, Value x);

  ReduceOp largest;
  MapOp raise;                     // max(carry, largest)
  Value carry;                     // the maximum before the block
  MapOp factor;                    // exp2((carry - raised) unit)
  float unit = 0;                  // 0: not known yet
  SmallVector<Difference> weights; // over pairs
  SmallVector<MapOp> sums;         // carries times the factor
};

} // namespace

/// Returns the argument of the map's region for an input that the map has once, or null.
static Value argumentOf(MapOp map, Value input) {
  if (llvm::count(map.getInputs(), input) != 1)
    return {};
  return map.getBody().getArgument(llvm::find(map.getInputs(), input) - map.getInputs().begin());
}

/// Returns the other operand of a product, or null.
static Value otherFactor(Operation *op, Value factor) {
  auto product = dyn_cast<arith::MulFOp>(op);
  if (!product)
    return {};
  return product.getLhs() == factor ? product.getRhs() : product.getLhs();
}

/// Finds the map that raises the maximum, which only carries the result to the next block.
bool RunningMaximum::findRaise() {
  if (largest.getKind() != Reduction::Max || largest.getAxis() != "c" ||
      !isPair(spacesOf(largest.getInput())) || !elementOf(largest.getInput()).isF32() ||
      !largest->hasOneUse())
    return false;
  raise = dyn_cast<MapOp>(*largest->getUsers().begin());
  if (!raise || raise.getInputs().size() != 2 || raise.getNumResults() != 1)
    return false;
  carry = raise.getInputs()[raise.getInputs()[0] == largest.getOutput() ? 1 : 0];
  Operation *result = raise.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
  auto argument = dyn_cast<BlockArgument>(carry);
  auto stream = dyn_cast<StreamOp>(largest->getParentOp());
  return result && isa<arith::MaxNumFOp>(result) &&
         llvm::all_of(result->getOperands(), llvm::IsaPred<BlockArgument>) &&
         result->getOperand(0) != result->getOperand(1) && argument && stream &&
         argument.getOwner() == &stream.getBody().front() &&
         stream.getYielded(argument.getArgNumber()) == raise.getResult(0);
}

/// Returns the difference of `x` and the raised maximum, times the unit, if the map reads the
/// maximum only there.
std::optional<RunningMaximum::Difference> RunningMaximum::differenceIn(MapOp map, Value x) {
  Value maximum = argumentOf(map, raise.getResult(0)), from = argumentOf(map, x);
  if (!maximum || !from || !maximum.hasOneUse() || !from.hasOneUse())
    return std::nullopt;
  auto difference = dyn_cast<arith::SubFOp>(*maximum.getUsers().begin());
  if (!difference || difference.getLhs() != from || difference.getRhs() != maximum ||
      !difference->hasOneUse())
    return std::nullopt;
  Operation *user = *difference->getUsers().begin();
  FloatAttr constant;
  Value other = otherFactor(user, difference.getResult());
  if (!other || !matchPattern(other, m_Constant(&constant)))
    return Difference{map, difference, {}};
  return Difference{map, difference, cast<arith::MulFOp>(user)};
}

/// Returns the unit of a difference.
static float unitOf(arith::MulFOp product, arith::SubFOp difference) {
  FloatAttr constant;
  if (product)
    matchPattern(otherFactor(product, difference.getResult()), m_Constant(&constant));
  return product ? constant.getValue().convertToFloat() : 1;
}

/// Adds a map over pairs that reads the difference of the scores and the maximum.
bool RunningMaximum::readsDifference(MapOp map) {
  std::optional<Difference> found = differenceIn(map, largest.getInput());
  if (!found)
    return false;
  weights.push_back(*found);
  return hasUnit(unitOf(found->product, found->difference));
}

/// Sets the map of the factor by which sums fall when the maximum rises, and the maps of its users.
bool RunningMaximum::findFactor(MapOp map) {
  std::optional<Difference> found;
  if (factor || map.getInputs().size() != 2 || map.getNumResults() != 1 ||
      !(found = differenceIn(map, carry)))
    return false;
  factor = map;
  Operation *result = map.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
  Value exponent = found->product ? found->product.getResult() : found->difference.getResult();
  if (!result || !isa<math::Exp2Op>(result) || result->getOperand(0) != exponent)
    return false;
  for (Operation *user : map->getUsers()) {
    auto sum = dyn_cast<MapOp>(user);
    if (!sum || !isScaledSum(sum))
      return false;
    sums.push_back(sum);
  }
  return hasUnit(unitOf(found->product, found->difference));
}

/// Returns the carry that a map over rows multiplies by `factor`, if it reads both only there.
static Value scaledCarry(MapOp map, Value factor) {
  Value by = argumentOf(map, factor);
  if (!by || !by.hasOneUse())
    return {};
  auto argument = dyn_cast_or_null<BlockArgument>(otherFactor(*by.getUsers().begin(), by));
  if (!argument || !argument.hasOneUse() || argument.getOwner() != &map.getBody().front())
    return {};
  Value carry = map.getInputs()[argument.getArgNumber()];
  const bool isCarry = isa<BlockArgument>(carry) && carry.hasOneUse();
  return isCarry && argumentOf(map, carry) ? carry : Value();
}

bool RunningMaximum::isScaledSum(MapOp map) {
  return !hasColumns(map.getIterationSpaces()) && scaledCarry(map, factor.getResult(0));
}

bool RunningMaximum::isPossible() {
  if (!findRaise())
    return false;
  for (Operation *user : raise->getUsers()) {
    if (isa<YieldOp>(user))
      continue;
    auto map = dyn_cast<MapOp>(user);
    if (!map || !(hasPairs(map.getIterationSpaces()) ? readsDifference(map) : findFactor(map)))
      return false;
  }
  return factor && !weights.empty() && llvm::all_of(carry.getUsers(), [&](Operation *user) {
           return user == raise || user == factor;
         });
}

void RunningMaximum::rescale(double slack) {
  OpBuilder b(raise);
  SmallVector<Value> carries;
  for (MapOp map : sums)
    carries.push_back(scaledCarry(map, factor.getResult(0)));
  Value scores = largest.getInput();
  SmallVector<Type> types = {scores.getType(), carry.getType(), carry.getType()};
  llvm::append_range(types, ValueRange(carries).getTypes());
  auto rescale = RescaleOp::create(b, raise.getLoc(), types, scores, carry, carries,
                                   b.getF32FloatAttr(unit), b.getF32FloatAttr(slack));
  for (auto &[map, difference, product] : weights) {
    map->replaceUsesOfWith(scores, rescale.getDifference());
    map->replaceUsesOfWith(raise.getResult(0), rescale.getOffset());
    OpBuilder in(difference);
    Value x = difference.getLhs(), offset = difference.getRhs();
    if (product) {
      in.setInsertionPoint(product);
      Value constant = otherFactor(product, difference.getResult());
      product.replaceAllUsesWith(
          math::FmaOp::create(in, product.getLoc(), x, constant, offset).getResult());
      product.erase();
    } else {
      difference.replaceAllUsesWith(
          arith::AddFOp::create(in, difference.getLoc(), x, offset).getResult());
    }
    difference.erase();
  }
  for (auto [map, carried, scaled] : llvm::zip_equal(sums, carries, rescale.getScaled())) {
    Value by = argumentOf(map, factor.getResult(0));
    auto product = cast<arith::MulFOp>(*by.getUsers().begin());
    product.replaceAllUsesWith(otherFactor(product, by));
    product.erase();
    map->replaceUsesOfWith(carried, scaled);
    const unsigned number = cast<BlockArgument>(by).getArgNumber();
    map.getBody().eraseArgument(number);
    map->eraseOperand(number);
    if (map.getInputs().size() == 1 && map.getNumResults() == 1 &&
        map.getBody().front().getTerminator()->getOperand(0) == map.getBody().getArgument(0)) {
      map.getResult(0).replaceAllUsesWith(scaled);
      map.erase();
    }
  }
  raise.getResult(0).replaceAllUsesWith(rescale.getRaised());
  factor.erase();
  raise.erase();
  largest.erase();
}

/// Returns true if the products of weights and values have operands of 16 bits.
static bool hasNarrowWeights(StreamOp stream) {
  return llvm::any_of(stream.getBody().front().getOps<DotOp>(), [](DotOp dot) {
    return isPair(spacesOf(dot.getLhs())) && elementOf(dot.getLhs()).getIntOrFloatBitWidth() == 16;
  });
}

namespace {

struct PERescaleRarelyPass : tile::impl::PERescaleRarelyPassBase<PERescaleRarelyPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<ReduceOp> maxima;
    getOperation().walk([&](ReduceOp reduce) {
      auto stream = dyn_cast<StreamOp>(reduce->getParentOp());
      if (stream && !stream.getOverSplits() && hasNarrowWeights(stream))
        maxima.push_back(reduce);
    });
    for (ReduceOp reduce : maxima)
      if (RunningMaximum maximum(reduce); maximum.isPossible())
        maximum.rescale(slack);
  }
};

} // namespace
