//===- LaneSums.cpp - sums over the inner side, divided among lanes -------===//
#include "passes/ToGPU/LaneSums.h"

#include "dialect/Tile/Owner.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

/// Returns true if `value` is linear, without a constant, in the arguments of a map whose inputs
/// are `terms`: their sum in the lanes of a quad is then that of the values.
static bool isLinear(Value value, MapOp map, ArrayRef<Value> terms) {
  auto isFree = [&](auto &&self, Value part) -> bool {
    if (auto argument = dyn_cast<BlockArgument>(part))
      return !llvm::is_contained(terms, map.getInputs()[argument.getArgNumber()]);
    Operation *op = part.getDefiningOp();
    return op->getNumRegions() == 0 &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return self(self, operand); });
  };
  if (isa<BlockArgument>(value))
    return !isFree(isFree, value);
  Operation *op = value.getDefiningOp();
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return isLinear(op->getOperand(0), map, terms) && isLinear(op->getOperand(1), map, terms);
  if (!isa<arith::MulFOp>(op))
    return false;
  for (int64_t factor : {0, 1})
    if (isFree(isFree, op->getOperand(factor)))
      return isLinear(op->getOperand(1 - factor), map, terms);
  return false;
}

/// Returns the number of the carry to which the stream adds this sum, if it may stay in parts.
static std::optional<unsigned> carryOf(ReduceOp op) {
  auto stream = op->getParentOfType<StreamOp>();
  if (!stream || op->getParentOp() != stream || op.getKind() != Reduction::Add ||
      !op.getOutput().hasOneUse())
    return std::nullopt;
  const bool rowsOwn = getOwner(stream->getParentOfType<StageOp>()) == Owner::Rows;
  const SpaceSet &to = spacesOf(op.getOutput());
  if (isPair(to) || to.isEmpty() || hasDepth(to) || !(rowsOwn ? hasRows(to) : hasColumns(to)))
    return std::nullopt;
  auto map = dyn_cast<MapOp>(*op.getOutput().getUsers().begin());
  if (!map || map->getParentOp() != stream || map.getNumResults() != 1 ||
      !map.getResult(0).hasOneUse() || spacesOf(map.getResult(0)) != to)
    return std::nullopt;
  OpOperand &use = *map.getResult(0).use_begin();
  const unsigned index = use.getOperandNumber();
  if (use.getOwner() != stream.getBody().front().getTerminator() ||
      index >= stream.getCarries().size() || stream.getStopCarry() == index)
    return std::nullopt;
  Value carry = stream.getBody().getArgument(index);
  // The map may read the carry multiplied by a factor of the row.
  if (auto rescale = carry.hasOneUse() ? dyn_cast<RescaleOp>(*carry.getUsers().begin()) : nullptr)
    for (auto [sum, scaled] : llvm::zip_equal(rescale.getSums(), rescale.getScaled()))
      if (sum == carry) {
        carry = scaled;
        break;
      }
  if (!carry.hasOneUse() || *carry.getUsers().begin() != map ||
      !isLinear(map.getBody().front().getTerminator()->getOperand(0), map, {carry, op.getOutput()}))
    return std::nullopt;
  return index;
}

bool mlir::tile::gpu::isLaneSum(ReduceOp op) { return carryOf(op).has_value(); }

LaneSums::LaneSums(StreamOp stream) {
  for (ReduceOp op : stream.getBody().front().getOps<ReduceOp>())
    if (std::optional<unsigned> carry = carryOf(op))
      carries.insert(*carry);
}

Registers LaneSums::divide(FragmentKernel &k, const Registers &values) const {
  KernelBuilder &b = k.b;
  Value isFirst = b.compare(arith::CmpIPredicate::eq, k.t, 0);
  Registers parts;
  for (Value value : values)
    parts.push_back(b.select(isFirst, value, b.number(0.0)));
  return parts;
}
