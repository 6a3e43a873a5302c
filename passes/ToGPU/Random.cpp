//===- Random.cpp - factors by chance on fragments ------------------------===//
//
// A counter gives the words of four neighbouring keys. Where keys begin at a multiple of four,
// lanes share them (dialect/Math/FragmentLayout.h has the layout), so that there is one counter per
// four pairs:
//
//   rows own, permuted   a lane holds four neighbouring keys itself
//   rows own             lanes 2t and 2t + 1 of a quad hold keys 0, 1 and 2, 3 of a counter, for
//   rows g and
//                        g + 8: the even lane computes row g, the odd one row g + 8, and they swap
//                        halves
//   columns own          lanes g, ..., g + 3 hold keys 0, ..., 3 of the counters of two rows and
//   two groups
//                        of keys: each computes one of these four, and the words are transposed
//
// Anywhere else a lane draws for one pair after another, in a loop. What is kept until the factors
// are used is a bit per pair.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/Emitters.h"

#include "passes/Scalar/Philox.h"

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
  /// Bits of pairs, in the order of registers, 32 to a number.
  Registers unshared();
  Registers shared();
  Value unsharedBit(const Num &index);
  Words shareInQuad(Element at);
  Words shareAcrossOwners(Element at);
  Words ofFourKeys(Element at);

  /// Of the counter with the pair (row, column).
  Words wordsAt(Value row, Value column) {
    Value group = b.create<arith::ShRSIOp>(column, b.integer(2));
    return emitPhilox(b, {batch, head, row, group}, key,
                      [&](Value word, uint32_t by) { return multiply(word, by); });
  }
  /// One wide multiplication, of which both halves are registers.
  WordProduct multiply(Value word, uint32_t multiplier) {
    Value factor = b.create<arith::ConstantOp>(b.getI64IntegerAttr(multiplier));
    Value wide = b.create<arith::ExtUIOp>(b.getI64Type(), word);
    Value halves = b.create<LLVM::BitcastOp>(VectorType::get({2}, b.i32()),
                                             b.create<arith::MulIOp>(wide, factor));
    return {b.create<LLVM::ExtractElementOp>(halves, b.integer(0)),
            b.create<LLVM::ExtractElementOp>(halves, b.integer(1))};
  }
  Value row(const Element &at) { return b.toValue(step.rowAt(at) + k.mask.rowStart); }
  Value column(const Element &at) { return b.toValue(step.columnAt(at) + k.mask.columnStart); }
  Value isSet(Value number, int64_t bit) {
    Value masked = b.create<arith::AndIOp>(number, b.integer(bit));
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, masked, b.integer(0));
  }
  /// Two lanes that differ in the bit `distance` of their number swap words: the one without the
  /// bit gives `high` for the other's `low`.
  void swap(Value &low, Value &high, Value hasBit, int distance) {
    Value received = b.shuffleXor(b.select(hasBit, low, high), distance);
    low = b.select(hasBit, received, low);
    high = b.select(hasBit, high, received);
  }
  Value isKept(Value word) {
    // `above` rather than `at least`: the bound fits in a word then.
    Value below = b.integer(static_cast<int32_t>(static_cast<uint32_t>(op.getLeast() - 1)));
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ugt, word, below);
  }
  int64_t count() const { return k.registersOf({"r", "c"}); }

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

/// The bit of register `index`, a number at run time.
Value RandomWords::unsharedBit(const Num &index) {
  const int64_t tiles = k.layout.innerTiles();
  Num tile = index / Num(4), ownerTile = tile / Num(tiles), innerTile = tile % Num(tiles);
  Num ownerHalf = index / Num(2) % Num(2), innerHalf = index % Num(2);
  Num owner = k.ownerAt(Element()) + ownerTile * Num(16) + ownerHalf * Num(8);
  Num inner = step.innerAt(Element()) + innerTile * Num(k.isPermuted ? 2 : 8) + innerHalf;
  Value row = b.toValue((k.rowsOwn ? owner : inner) + k.mask.rowStart);
  Value column = b.toValue((k.rowsOwn ? inner : owner) + k.mask.columnStart);
  Words words = wordsAt(row, column);
  Value low = b.select(isSet(column, 1), words[1], words[0]);
  Value high = b.select(isSet(column, 1), words[3], words[2]);
  Value word = b.select(isSet(column, 2), high, low);
  return b.create<arith::ExtUIOp>(b.i32(), isKept(word));
}

Registers RandomWords::unshared() {
  Registers bits;
  for (int64_t first = 0; first < count(); first += 32)
    bits.push_back(b.loop(0, std::min<int64_t>(32, count() - first), 1, b.integer(0),
                          [&](Num index, ValueRange sum) -> Registers {
                            Value bit = unsharedBit(index + Num(first));
                            Value moved = b.create<arith::ShLIOp>(bit, b.toValue(index));
                            return {b.create<arith::OrIOp>(sum[0], moved)};
                          })[0]);
  return bits;
}

/// Of the owner and the two inner tiles from `at` on.
Words RandomWords::ofFourKeys(Element at) { return wordsAt(row(at), column(at)); }

/// Of both owners and both keys of the tile of `at`, owners outermost.
Words RandomWords::shareInQuad(Element at) {
  Value isOdd = isSet(b.toValue(k.t), 1);
  Element below = at;
  below.ownerHalf = 1;
  Words words = wordsAt(b.select(isOdd, row(below), row(at)), column(at));
  // The even lane has the first owner's words 0 to 3 and keeps 0, 1; the odd one the second's and
  // keeps 2, 3.
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
  Registers bits((count() + 31) / 32, b.integer(0));
  auto set = [&](const Element &at, Value word) {
    const int64_t index = k.indexOf({"r", "c"}, at);
    const auto bit = static_cast<int32_t>(uint32_t(1) << index % 32);
    Value own = b.select(isKept(word), b.integer(bit), b.integer(0));
    bits[index / 32] = b.create<arith::OrIOp>(bits[index / 32], own);
  };
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
  return bits;
}

Registers RandomWords::emit() {
  Value start = b.toValue(k.mask.columnStart);
  Value behind = b.create<arith::AndIOp>(start, b.integer(3));
  Value isAligned = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, behind, b.integer(0));
  Registers bits = b.ifElse(
      isAligned, SmallVector<Type>((count() + 31) / 32, b.i32()), [&] { return shared(); },
      [&] { return unshared(); });
  Value factor = b.number(op.getFactor().convertToDouble()), zero = b.number(0.0);
  Registers factors;
  for (int64_t i = 0; i < count(); ++i) {
    const auto bit = static_cast<int32_t>(uint32_t(1) << i % 32);
    factors.push_back(b.select(isSet(bits[i / 32], bit), factor, zero));
  }
  return factors;
}

void mlir::tile::gpu::emitRandom(Step &step, RandomOp op) {
  step.set(op.getValue(), RandomWords(step, op).emit());
}
