//===- Scans.cpp - recurrences along the keys of a block ------------------===//
//
// A lane holds consecutive keys of a row, and the four lanes of a quad hold the row. A scan
// composes the maps of a lane's keys, composes the lanes in the quad, and then applies the maps of
// the lane's keys one after the other to the state before the lane.
//
// Odds: with p = (1 + u_1) (1 + u_2) and q = (1 + u_3) (1 + u_4), a batch of four keys takes one
// reciprocal r = 1 / (p q). The states after its second and last key are y_2 = x (r q), y_4 = x r,
// and those between are products, y_{j-1} = y_j (1 + u_j). So y_4 may underflow without harm to y_1
// and y_2: p q reaches 2^120, and a state is multiplied by its odds. A key takes 1.25 operations of
// the special function unit, with the exponential of its odds.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/Emitters.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

namespace {

/// The map x -> a * x + b, or x -> a * x if b is null.
struct Affine {
  Value a, b;
};

/// Emits the scan of one owner.
class ScanWriter {
public:
  /// `order` are the registers of a lane's keys in the order of the scan.
  ScanWriter(Step &step, ScanOp op, ArrayRef<int64_t> order)
      : op(op), k(step.k), b(k.b), a(step.registers(op.getA())),
        plus(op.getB() ? &step.registers(op.getB()) : nullptr), order(order) {}

  /// Sets the results of the keys. Returns the state after the block.
  Value emit(Value carry, Registers &result);

private:
  /// Half of the keys of a batch. The product of 1 + 2^30 over a batch and its reciprocal are
  /// normal numbers.
  static constexpr int64_t kHalf = 2;

  /// The keys of half a batch, and the reciprocal of the product from the batch's first key to the
  /// half's last.
  struct Half {
    ArrayRef<int64_t> keys;
    Value inverse;
  };

  Affine mapOf(int64_t index) const { return {a[index], plus ? (*plus)[index] : Value()}; }
  Value apply(const Affine &f, Value x) { return f.b ? b.fma(f.a, x, f.b) : b.mul(f.a, x); }
  /// Returns the composition: first `first`, then `second`.
  Affine then(const Affine &first, const Affine &second) {
    return {b.mul(second.a, first.a), second.b ? b.fma(second.a, first.b, second.b) : Value()};
  }
  Value productOf(ArrayRef<int64_t> keys);
  Value invertBatch(ArrayRef<int64_t> batch);
  std::pair<Value, Value> exchangeFactors(Value factor, Value carry);
  std::pair<Value, Value> exchangeMaps(const Affine &lane, Value carry);
  void applyKeys(Value before, Registers &result);
  void applyBatches(Value before, Registers &result);

  ScanOp op;
  FragmentKernel &k;
  KernelBuilder &b;
  const Registers &a, *plus;
  ArrayRef<int64_t> order;
  SmallVector<SmallVector<Half, 2>> batches;
};

} // namespace

/// Returns the product of 1 + u.
Value ScanWriter::productOf(ArrayRef<int64_t> keys) {
  Value product = b.add(a[keys.front()], b.number(1.0));
  for (int64_t index : keys.drop_front())
    product = b.fma(product, a[index], product);
  return product;
}

/// Adds a batch and returns the reciprocal of its product.
Value ScanWriter::invertBatch(ArrayRef<int64_t> batch) {
  ArrayRef<int64_t> first = batch.take_front(kHalf), second = batch.drop_front(first.size());
  Value p = productOf(first);
  if (second.empty()) {
    batches.push_back({{first, b.reciprocal(p)}});
    return batches.back().front().inverse;
  }
  Value q = productOf(second), inverse = b.reciprocal(b.mul(p, q));
  batches.push_back({{first, b.mul(inverse, q)}, {second, inverse}});
  return inverse;
}

/// Returns the states before the lane and after the quad. Every lane computes the same state after
/// the quad, because products of two factors commute.
std::pair<Value, Value> ScanWriter::exchangeFactors(Value factor, Value carry) {
  const bool ascending = op.getOrder() == Order::Ascending;
  Value before = carry;
  for (int bit : {1, 2}) {
    Value other = b.shuffleXor(factor, bit);
    Value isLater =
        b.compare(ascending ? arith::CmpIPredicate::ne : arith::CmpIPredicate::eq,
                  b.fromValue(b.create<arith::AndIOp>(b.toValue(k.t), b.integer(bit))), Num(0));
    before = b.mul(before, b.select(isLater, other, b.number(1.0)));
    factor = b.mul(factor, other);
  }
  return {before, b.mul(factor, carry)};
}

/// Does the same for affine maps, which do not commute: the lanes follow each other.
std::pair<Value, Value> ScanWriter::exchangeMaps(const Affine &lane, Value carry) {
  Num quad = k.lane - k.t;
  Value x = carry, before = x;
  for (int n = 0; n < 4; ++n) {
    const int64_t from = op.getOrder() == Order::Ascending ? n : 3 - n;
    Affine map{b.shuffleFrom(lane.a, quad + Num(from)), b.shuffleFrom(lane.b, quad + Num(from))};
    before = b.select(b.compare(arith::CmpIPredicate::eq, k.t, Num(from)), x, before);
    x = apply(map, x);
  }
  return {before, x};
}

void ScanWriter::applyKeys(Value before, Registers &result) {
  for (int64_t index : order) {
    Value after = apply(mapOf(index), before);
    result[index] = op.getExclusive() ? before : after;
    before = after;
  }
}

void ScanWriter::applyBatches(Value before, Registers &result) {
  for (const auto &batch : batches) {
    Value x = before;
    for (const auto &[keys, inverse] : batch) {
      Value after = b.mul(before, inverse), last = after;
      for (int64_t index : llvm::reverse(keys)) {
        Value previous = index == keys.front() ? x : b.fma(after, a[index], after);
        result[index] = op.getExclusive() ? previous : after;
        after = previous;
      }
      x = last;
    }
    before = x;
  }
}

Value ScanWriter::emit(Value carry, Registers &result) {
  if (op.getKind() == ScanKind::Odds) {
    Value factor;
    for (size_t first = 0; first < order.size(); first += 2 * kHalf) {
      Value inverse = invertBatch(order.slice(first).take_front(2 * kHalf));
      factor = factor ? b.mul(factor, inverse) : inverse;
    }
    auto [before, after] = exchangeFactors(factor, carry);
    applyBatches(before, result);
    return after;
  }
  Affine lane = mapOf(order.front());
  for (int64_t index : order.drop_front())
    lane = then(lane, mapOf(index));
  auto [before, after] = lane.b ? exchangeMaps(lane, carry) : exchangeFactors(lane.a, carry);
  applyKeys(before, result);
  return after;
}

void mlir::tile::gpu::emitScan(Step &step, ScanOp op) {
  FragmentKernel &k = step.k;
  const bool ascending = op.getOrder() == Order::Ascending;
  const Registers &carries = step.registers(op.getCarryIn());
  Registers result(step.registers(op.getA()).size()), carryOut;
  const int64_t perLane = 2 * k.layout.innerTiles();
  for (auto [owner, carry] : llvm::enumerate(carries)) {
    Element at = k.elementAt({k.rowsOwn ? "r" : "c"}, owner);
    SmallVector<int64_t> order;
    for (int64_t n = 0; n < perLane; ++n) {
      const int64_t inner = ascending ? n : perLane - 1 - n;
      at.innerTile = inner / 2, at.innerHalf = inner % 2;
      order.push_back(k.indexOf({"r", "c"}, at));
    }
    carryOut.push_back(ScanWriter(step, op, order).emit(carry, result));
  }
  step.set(op.getResult(), std::move(result));
  step.set(op.getCarryOut(), std::move(carryOut));
}
