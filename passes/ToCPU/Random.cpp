//===- Random.cpp - random factors, four keys at a time -------------------===//
//
// Lanes are rows. The four words of a counter are for the keys of four consecutive global
// positions. If lanes are keys, every lane computes the words of its counter and selects one.
//
//===----------------------------------------------------------------------===//
#include "passes/Scalar/Philox.h"
#include "passes/ToCPU/Biases.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {

class RandomFill {
public:
  RandomFill(StageContext &context, const StripPlace &place, const Slots &slots, RandomOp op)
      : context(context), e(context.e), place(place), slots(slots), op(op),
        wideType(e.vectorType(e.getI64Type())), narrowType(e.vectorType(e.getI32Type())) {}

  void emit() {
    readSeed();
    fixCounter();
    if (context.cpu.isAlongKeys())
      return e.loop(place.keyBegin, place.keyEnd, e.lanes, [&](Index key) { fillKeys(key); });
    // The position of the first key, and its offset from a multiple of four.
    Value first = e.toValue(context.columnStart + place.block + place.keyBegin);
    Value three = e.toValue(3), two = e.toValue(2);
    Index offset = e.fromValue(e.create<arith::AndIOp>(first, three));
    Value firstGroup = e.create<arith::ShRSIOp>(first, two);
    Index begin = place.keyBegin - offset;
    e.loop(0, ceilDiv(place.keyEnd - begin, 4), 1, [&](Index group) {
      Value number = e.create<arith::AddIOp>(firstGroup, e.toValue(group));
      fillGroup(begin + group * Index(4), splat(number));
    });
  }

private:
  Value splat(Value index) {
    Value wide = e.create<arith::IndexCastOp>(e.getI64Type(), index);
    return e.broadcast(wide);
  }
  void readSeed() {
    Value seed = e.load(context.memory(op.getSeed()), context.offset(op.getSeed(), place.place()));
    Value half = e.create<arith::ConstantOp>(e.getI64IntegerAttr(32));
    key = {e.broadcast(seed), e.broadcast(e.create<arith::ShRUIOp>(seed, half))};
  }
  void fixCounter() {
    const bool perBatch = cast<BufferType>(op.getSeed().getType()).getRank() == 1;
    batch = splat(e.toValue(perBatch ? Index(0) : place.b));
    head = splat(e.toValue(e.fromValue(context.emitSize("head_start")) + place.hq));
    if (context.cpu.isAlongKeys()) {
      positions.push_back(splat(e.toValue(context.rowStart + place.row)));
      return;
    }
    for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
      Index row = context.rowStart + place.row + Index(v * e.lanes);
      Value rows = e.create<arith::AddIOp>(e.iota(), e.splatIndex(row));
      positions.push_back(e.create<arith::ExtSIOp>(wideType, rows));
    }
  }
  /// Computes the words of one counter per lane, for the existing keys of [firstKey, firstKey + 4).
  void fillGroup(const Index &firstKey, Value group) {
    SmallVector<std::array<Value, 4>> factors;
    for (Value position : positions)
      factors.push_back(factorsOf(emitPhilox(e, {batch, head, position, group}, key)));
    auto store = [&](int64_t word) {
      for (auto [v, words] : llvm::enumerate(factors))
        e.storeVector(words[word], slots.getMemory(),
                      slots.at(op.getValue(), firstKey + Index(word), Index(v * e.lanes)));
    };
    for (int64_t word = 0; word < 4; ++word) {
      const Index at = firstKey + Index(word);
      Value isInside =
          e.create<arith::AndIOp>(e.less(place.keyBegin - Index(1), at), e.less(at, place.keyEnd));
      e.ifThen(isInside, [&] { store(word); });
    }
  }
  /// Computes the factors of a vector of keys from `key` on.
  void fillKeys(const Index &key) {
    Value first = e.splatIndex(context.columnStart + place.block + key);
    Value columns = e.create<arith::AddIOp>(e.iota(), first);
    Value group = e.create<arith::ShRSIOp>(columns, e.splatInt(2));
    Value number = e.create<arith::AndIOp>(columns, e.splatInt(3));
    std::array<Value, 4> factors = factorsOf(emitPhilox(
        e, {batch, head, positions[0], e.create<arith::ExtSIOp>(wideType, group)}, this->key));
    Value factor = factors[0];
    for (int32_t n = 1; n < 4; ++n) {
      Value isIt = e.compare(arith::CmpIPredicate::eq, number, e.splatInt(n));
      factor = e.select(isIt, factors[n], factor);
    }
    e.storeVector(factor, slots.getMemory(), slots.at(op.getValue(), key, 0));
  }
  std::array<Value, 4> factorsOf(const std::array<Value, 4> &words) {
    std::array<Value, 4> factors;
    // `least` may be 2^32, but `least` - 1 always fits in a word, so the comparison is strict.
    Value below = e.splatInt(static_cast<int32_t>(static_cast<uint32_t>(op.getLeast() - 1)));
    for (auto [factor, word] : llvm::zip(factors, words)) {
      Value narrow = e.create<arith::TruncIOp>(narrowType, word);
      Value isKept = e.compare(arith::CmpIPredicate::ugt, narrow, below);
      factor = e.select(isKept, e.splat(op.getFactor().convertToDouble()), e.splat(0.0));
    }
    return factors;
  }

  StageContext &context;
  Emitter &e;
  const StripPlace &place;
  const Slots &slots;
  RandomOp op;
  VectorType wideType, narrowType;
  std::array<Value, 2> key;
  Value batch, head;
  SmallVector<Value> positions; // of the rows, per vector
};

} // namespace

void mlir::tile::cpu::emitRandom(StageContext &context, StripValues &values, const Slots &slots,
                                 RandomOp op) {
  RandomFill(context, values.getPlace(), slots, op).emit();
}
