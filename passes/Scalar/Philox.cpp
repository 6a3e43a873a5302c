//===- Philox.cpp - emission of Philox 4x32-10 ----------------------------===//
#include "passes/Scalar/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class Rounds {
public:
  Rounds(ImplicitLocOpBuilder &b, Type type) : b(b), type(type) {}

  Value constant(uint64_t number) {
    Type element = getElementTypeOrSelf(type);
    const unsigned width = element.getIntOrFloatBitWidth();
    auto attribute = b.getIntegerAttr(element, APInt(64, number).zextOrTrunc(width));
    if (auto vector = dyn_cast<VectorType>(type))
      return b.create<arith::ConstantOp>(
          DenseElementsAttr::get(vector, ArrayRef<Attribute>(attribute)));
    return b.create<arith::ConstantOp>(attribute);
  }
  WordProduct multiply(Value x, uint64_t multiplier) {
    if (getElementTypeOrSelf(type).isInteger(32)) {
      auto product = b.create<arith::MulUIExtendedOp>(x, constant(multiplier));
      return {product.getLow(), product.getHigh()};
    }
    Value low = b.create<arith::AndIOp>(x, constant(0xffffffff));
    Value product = b.create<arith::MulIOp>(low, constant(multiplier));
    return {product, b.create<arith::ShRUIOp>(product, constant(32))};
  }
  Value mix(Value a, Value c, Value key) {
    return b.create<arith::XOrIOp>(b.create<arith::XOrIOp>(a, c), key);
  }
  Value next(Value key, uint64_t step) { return b.create<arith::AddIOp>(key, constant(step)); }

private:
  ImplicitLocOpBuilder &b;
  Type type;
};

} // namespace

std::array<Value, 4> mlir::tile::emitPhilox(ImplicitLocOpBuilder &builder,
                                            std::array<Value, 4> counter, std::array<Value, 2> key,
                                            MultiplyWord multiply) {
  Rounds rounds(builder, counter[0].getType());
  auto product = [&](Value word, uint32_t multiplier) {
    return multiply ? multiply(word, multiplier) : rounds.multiply(word, multiplier);
  };
  for (int round = 0; round < 10; ++round) {
    auto [firstLow, firstHigh] = product(counter[0], 0xD2511F53);
    auto [secondLow, secondHigh] = product(counter[2], 0xCD9E8D57);
    counter = {rounds.mix(secondHigh, counter[1], key[0]), secondLow,
               rounds.mix(firstHigh, counter[3], key[1]), firstLow};
    if (round < 9)
      key = {rounds.next(key[0], 0x9E3779B9), rounds.next(key[1], 0xBB67AE85)};
  }
  return counter;
}
