//===- Random.cpp - factors by chance on fragments ------------------------===//
//
// A counter gives the words of four neighbouring keys. Where keys begin at a multiple of four, lanes share
// them (dialect/Math/FragmentLayout.h has the layout), so that there is one counter per four pairs:
//
//   rows own, permuted   a lane holds four neighbouring keys itself
//   rows own             lanes 2t and 2t + 1 of a quad hold keys 0, 1 and 2, 3 of a counter, for rows g and
//                        g + 8: the even lane computes row g, the odd one row g + 8, and they swap halves
//   columns own          lanes g, ..., g + 3 hold keys 0, ..., 3 of the counters of two rows and two groups
//                        of keys: each computes one of these four, and the words are transposed
//
// Anywhere else every lane computes what it needs.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/Emitters.h"

#include "passes/ToLoops/Philox.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

namespace {

using Words = std::array<Value, 4>;

class RandomWords {
public:
  RandomWords(Step &step, RandomOp op);

  /// The factors of this lane's pairs.
  Registers emit();

private:
  Registers unshared();
  Registers shared();
  Words shareInQuad(Element at);
  Words shareAcrossOwners(Element at);
  Words ofFourKeys(Element at);

  /// Of the counter with the pair (row, column).
  Words wordsAt(Value row, Value column) {
    Value group = b.create<arith::ShRSIOp>(column, b.integer(2));
    return emitPhilox(b, {batch, head, row, group}, key);
  }
  Value row(const Element &at) { return b.toValue(step.rowAt(at) + k.mask.rowStart); }
  Value column(const Element &at) { return b.toValue(step.columnAt(at) + k.mask.columnStart); }
  Value isSet(Value number, int64_t bit) {
    Value masked = b.create<arith::AndIOp>(number, b.integer(bit));
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, masked, b.integer(0));
  }
  /// Two lanes that differ in the bit `distance` of their number swap words: the one without the bit gives
  /// `high` for the other's `low`.
  void swap(Value &low, Value &high, Value hasBit, int distance) {
    Value received = b.shuffleXor(b.select(hasBit, low, high), distance);
    low = b.select(hasBit, received, low);
    high = b.select(hasBit, high, received);
  }
  Value factorOf(Value word) {
    // `above` rather than `at least`: the bound fits in a word then.
    Value below = b.integer(static_cast<int32_t>(static_cast<uint32_t>(op.getLeast() - 1)));
    Value isKept = b.create<arith::CmpIOp>(arith::CmpIPredicate::ugt, word, below);
    return b.select(isKept, b.number(op.getFactor().convertToDouble()), b.number(0.0));
  }

  Step &step;
  FragmentKernel &k;
  KernelBuilder &b;
  RandomOp op;
  std::array<Value, 2> key;
  Value batch, head;
};

} // namespace

RandomWords::RandomWords(Step &step, RandomOp op) : step(step), k(step.k), b(step.k.b), op(op) {
  Value seed = b.load(b.getI64Type(), k.fn.address(op.getSeed(), step.place()));
  Value half = b.create<arith::ConstantOp>(b.getI64IntegerAttr(32));
  key = {b.create<arith::TruncIOp>(b.i32(), seed),
         b.create<arith::TruncIOp>(b.i32(), b.create<arith::ShRUIOp>(seed, half))};
  const bool perBatch = cast<BufferType>(op.getSeed().getType()).getRank() == 1;
  batch = perBatch ? b.integer(0) : b.toValue(k.item.batch);
  head = b.toValue(step.queryHead() + k.fn.size("head_start"));
}

Registers RandomWords::unshared() {
  Registers words;
  for (int64_t i = 0, e = k.registersOf({"r", "c"}); i < e; ++i) {
    Element at = k.elementAt({"r", "c"}, i);
    Value key = column(at);
    Words all = wordsAt(row(at), key);
    Value low = b.select(isSet(key, 1), all[1], all[0]);
    Value high = b.select(isSet(key, 1), all[3], all[2]);
    words.push_back(b.select(isSet(key, 2), high, low));
  }
  return words;
}

/// Of the owner and the two inner tiles from `at` on.
Words RandomWords::ofFourKeys(Element at) { return wordsAt(row(at), column(at)); }

/// Of both owners and both keys of the tile of `at`, owners outermost.
Words RandomWords::shareInQuad(Element at) {
  Value isOdd = isSet(b.toValue(k.t), 1);
  Element below = at;
  below.ownerHalf = 1;
  Words words = wordsAt(b.select(isOdd, row(below), row(at)), column(at));
  // The even lane has the first owner's words 0 to 3 and keeps 0, 1; the odd one the second's and keeps 2, 3.
  swap(words[0], words[2], isOdd, 1);
  swap(words[1], words[3], isOdd, 1);
  return words;
}

/// Of both owners, which are keys, and both rows of the tile of `at`, owners outermost.
Words RandomWords::shareAcrossOwners(Element at) {
  Value g = b.toValue(k.g), isOdd = isSet(g, 1), isUpper = isSet(g, 2);
  Element nextRow = at, nextKeys = at;
  nextRow.innerHalf = 1;
  nextKeys.ownerHalf = 1;
  Words words = wordsAt(b.select(isOdd, row(nextRow), row(at)),
                        b.select(isUpper, column(nextKeys), column(at)));
  swap(words[0], words[1], isOdd, 4);
  swap(words[2], words[3], isOdd, 4);
  swap(words[0], words[2], isUpper, 8);
  swap(words[1], words[3], isUpper, 8);
  return words;
}

Registers RandomWords::shared() {
  Registers all(k.registersOf({"r", "c"}));
  auto set = [&](Element at, Value word) { all[k.indexOf({"r", "c"}, at)] = word; };
  Element at;
  for (at.ownerTile = 0; at.ownerTile < k.layout.ownerTiles; ++at.ownerTile)
    for (at.innerTile = 0; at.innerTile < k.layout.innerTiles(); ++at.innerTile) {
      if (k.isPermuted && at.innerTile % 2)
        continue;
      if (k.isPermuted) {
        for (int half : {0, 1}) {
          Element owner = at;
          owner.ownerHalf = half;
          for (auto [n, word] : llvm::enumerate(ofFourKeys(owner))) {
            owner.innerTile = at.innerTile + static_cast<int>(n / 2);
            owner.innerHalf = static_cast<int>(n % 2);
            set(owner, word);
          }
        }
        continue;
      }
      Words words = k.rowsOwn ? shareInQuad(at) : shareAcrossOwners(at);
      for (auto [n, word] : llvm::enumerate(words)) {
        Element pair = at;
        pair.ownerHalf = static_cast<int>(n / 2);
        pair.innerHalf = static_cast<int>(n % 2);
        set(pair, word);
      }
    }
  return all;
}

Registers RandomWords::emit() {
  const int64_t count = k.registersOf({"r", "c"});
  Value start = b.toValue(k.mask.columnStart);
  Value behind = b.create<arith::AndIOp>(start, b.integer(3));
  Value isAligned = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, behind, b.integer(0));
  Registers words = b.ifElse(
      isAligned, SmallVector<Type>(count, b.i32()), [&] { return shared(); },
      [&] { return unshared(); });
  Registers factors;
  for (Value word : words)
    factors.push_back(factorOf(word));
  return factors;
}

void mlir::tile::gpu::emitRandom(Step &step, RandomOp op) {
  step.set(op.getValue(), RandomWords(step, op).emit());
}
