//===- Random.cpp - random factors on fragments ---------------------------===//
//
// A counter gives the words of four consecutive keys. If keys begin at a multiple of four, lanes
// share counters (dialect/Math/FragmentLayout.h has the layout), so that there is one counter per
// four pairs:
//
//   rows own, permuted   a lane holds all four consecutive keys
//   rows own             lanes 2t and 2t + 1 of a quad hold keys 0, 1 and 2, 3 of a counter, for
//                        rows g and g + 8: the even lane computes row g, the odd one row g + 8
//   columns own          lanes g, ..., g + 3 hold keys 0, ..., 3 of the counters of two rows and
//                        two groups of keys: each computes one of these four
//
// A lane keeps one bit of every word that it computes, in four integers, one for each word of a
// counter. The lanes then exchange these integers, for all counters at once. Otherwise, a lane
// computes a counter for every pair, in a loop.
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

  /// Returns the factors of this lane's pairs.
  Registers emit();

private:
  /// Return the number of counters that a lane computes, and of integers that keep a bit of each.
  int64_t counters() const { return k.layout.ownerTiles * k.layout.innerTiles(); }
  int64_t numbers() const { return (counters() + 31) / 32; }
  /// The place of the bit of a pair, after the exchange between lanes.
  struct Bit {
    int64_t number;
    int32_t mask;
  };
  Bit bitOf(const Element &at) const;
  /// Returns the first of the pairs that share a counter.
  Element firstOf(int64_t counter) const;

  Registers unshared();
  Registers shared();
  Value unsharedBit(const Num &counter, const Num &word);
  Words wordsOf(const Element &at);
  void exchange(Value &first, Value &second, Value &third, Value &fourth);

  /// Returns the words of the counter of the pair (row, column).
  Words wordsAt(Value row, Value column) {
    Value group = b.create<arith::ShRSIOp>(column, b.integer(2));
    return emitPhilox(b, {batch, head, row, group}, key,
                      [&](Value word, uint32_t by) { return multiply(word, by); });
  }
  /// Emits one wide multiplication and returns both halves.
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
  /// Swaps words between two lanes whose indices differ in the bit `distance`: the lane without the
  /// bit sends `high` and receives the other's `low`.
  void swap(Value &low, Value &high, Value hasBit, int distance) {
    Value received = b.shuffleXor(b.select(hasBit, low, high), distance);
    low = b.select(hasBit, received, low);
    high = b.select(hasBit, high, received);
  }
  Value isKept(Value word) {
    // `least` - 1 always fits in a word, so the comparison is strict.
    Value below = b.integer(static_cast<int32_t>(static_cast<uint32_t>(op.getLeast() - 1)));
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ugt, word, below);
  }
  Value isOddLane() { return isSet(b.toValue(k.rowsOwn ? k.t : k.g), 1); }
  Value isUpperLane() { return isSet(b.toValue(k.g), 2); }

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

RandomWords::Bit RandomWords::bitOf(const Element &at) const {
  const int64_t tiles = k.layout.innerTiles();
  int64_t counter = at.ownerTile * tiles + at.innerTile, word = at.ownerHalf * 2 + at.innerHalf;
  if (k.isPermuted) {
    counter = (at.ownerTile * 2 + at.ownerHalf) * (tiles / 2) + at.innerTile / 2;
    word = at.innerTile % 2 * 2 + at.innerHalf;
  }
  return {word * numbers() + counter / 32,
          static_cast<int32_t>(uint32_t(1) << static_cast<uint32_t>(counter % 32))};
}

Element RandomWords::firstOf(int64_t counter) const {
  const int64_t tiles = k.layout.innerTiles();
  Element at;
  at.ownerTile = static_cast<int>(counter / tiles);
  at.innerTile = static_cast<int>(counter % tiles);
  if (k.isPermuted) {
    at.ownerHalf = static_cast<int>(counter / (tiles / 2) % 2);
    at.innerTile = static_cast<int>(counter % (tiles / 2) * 2);
  }
  return at;
}

/// Returns the bit of the lane's own pair, with indices known at run time.
Value RandomWords::unsharedBit(const Num &counter, const Num &word) {
  const Num tiles(k.layout.innerTiles()), two(2), half(k.layout.innerTiles() / 2);
  Num ownerTile = counter / tiles;
  Num ownerHalf = k.isPermuted ? counter / half % two : word / two;
  Num owner = k.ownerAt(Element()) + ownerTile * Num(16) + ownerHalf * Num(8);
  Num inner = step.innerAt(Element()) + (k.isPermuted ? counter % half * Num(4) + word
                                                      : counter % tiles * Num(8) + word % two);
  Value row = b.toValue((k.rowsOwn ? owner : inner) + k.mask.rowStart);
  Value column = b.toValue((k.rowsOwn ? inner : owner) + k.mask.columnStart);
  Words words = wordsAt(row, column);
  Value low = b.select(isSet(column, 1), words[1], words[0]);
  Value high = b.select(isSet(column, 1), words[3], words[2]);
  Value drawn = b.select(isSet(column, 2), high, low);
  return b.create<arith::ExtUIOp>(b.i32(), isKept(drawn));
}

Registers RandomWords::unshared() {
  Registers bits(4 * numbers());
  for (int64_t n = 0; n < numbers(); ++n) {
    const int64_t count = std::min<int64_t>(32, counters() - 32 * n);
    Registers found =
        b.loop(0, 4 * count, 1, Registers(4, b.integer(0)), [&](Num index, ValueRange sums) {
          Num counter = index / Num(4), word = index % Num(4);
          Value bit = unsharedBit(counter + Num(32 * n), word);
          Value moved = b.create<arith::ShLIOp>(bit, b.toValue(counter));
          Registers next;
          for (int64_t w = 0; w < 4; ++w) {
            Value own = b.select(b.compare(arith::CmpIPredicate::eq, word, w), moved, b.integer(0));
            next.push_back(b.create<arith::OrIOp>(sums[w], own));
          }
          return next;
        });
    for (int64_t w = 0; w < 4; ++w)
      bits[w * numbers() + n] = found[w];
  }
  return bits;
}

/// Returns the words of the counter that this lane computes for `at` and for other lanes.
Words RandomWords::wordsOf(const Element &at) {
  if (k.isPermuted)
    return wordsAt(row(at), column(at));
  Element other = at;
  if (k.rowsOwn) {
    other.ownerHalf = 1;
    return wordsAt(b.select(isOddLane(), row(other), row(at)), column(at));
  }
  Element nextRow = at;
  nextRow.innerHalf = 1;
  other.ownerHalf = 1;
  return wordsAt(b.select(isOddLane(), row(nextRow), row(at)),
                 b.select(isUpperLane(), column(other), column(at)));
}

/// Exchanges the bits of words 0 to 3 that this lane has computed, so that they become the bits of
/// its pairs (0, 0), (0, 1), (1, 0) and (1, 1), by halves of owner and inner.
void RandomWords::exchange(Value &first, Value &second, Value &third, Value &fourth) {
  if (k.isPermuted)
    return;
  if (k.rowsOwn) {
    // The even lane has the first owner's words and keeps 0 and 1; the odd lane has the second's
    // and keeps 2 and 3.
    swap(first, third, isOddLane(), 1);
    swap(second, fourth, isOddLane(), 1);
    return;
  }
  swap(first, second, isOddLane(), 4);
  swap(third, fourth, isOddLane(), 4);
  swap(first, third, isUpperLane(), 8);
  swap(second, fourth, isUpperLane(), 8);
}

Registers RandomWords::shared() {
  const int64_t apart = numbers();
  Registers bits(4 * apart, b.integer(0));
  for (int64_t counter = 0; counter < counters(); ++counter)
    for (auto [w, word] : llvm::enumerate(wordsOf(firstOf(counter)))) {
      const auto bit = static_cast<int32_t>(uint32_t(1) << static_cast<uint32_t>(counter % 32));
      Value &number = bits[w * apart + counter / 32];
      Value own = b.select(isKept(word), b.integer(bit), b.integer(0));
      number = b.create<arith::OrIOp>(number, own);
    }
  for (int64_t n = 0; n < apart; ++n)
    exchange(bits[n], bits[apart + n], bits[2 * apart + n], bits[3 * apart + n]);
  return bits;
}

Registers RandomWords::emit() {
  Value start = b.toValue(k.mask.columnStart);
  Value offset = b.create<arith::AndIOp>(start, b.integer(3));
  Value isAligned = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, offset, b.integer(0));
  Registers bits = b.ifElse(
      isAligned, SmallVector<Type>(4 * numbers(), b.i32()), [&] { return shared(); },
      [&] { return unshared(); });
  Value factor = b.number(op.getFactor().convertToDouble()), zero = b.number(0.0);
  Registers factors;
  for (int64_t i = 0, e = k.registersOf({"r", "c"}); i < e; ++i) {
    const Bit bit = bitOf(k.elementAt({"r", "c"}, i));
    factors.push_back(b.select(isSet(bits[bit.number], bit.mask), factor, zero));
  }
  return factors;
}

void mlir::tile::gpu::emitRandom(Step &step, RandomOp op) {
  step.set(op.getValue(), RandomWords(step, op).emit());
}
