//===- ScalarRangeTest.cpp - ranges of random masks, by enumeration -------===//
//
// Tests ten thousand random masks, each on a block of pairs of random size and position. The
// ranges must agree with the pairs, which are evaluated one by one by folding, about whether all
// pairs or some pairs are kept, and must decide enough blocks to be useful.
//
//===----------------------------------------------------------------------===//

#include "passes/Analysis/ScalarRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace mlir::pe;

namespace {

/// Writes random formulas over positions and two tensors with values per row and per column.
class Formulas {
public:
  explicit Formulas(unsigned seed) : random(seed) {}

  std::string truth(int depth) {
    const int kind = number(0, depth > 0 ? 7 : 2);
    if (kind <= 2) {
      const char *compare[] = {"<", "<=", ">", ">=", "==", "!="};
      return "(" + value(2) + " " + compare[number(0, 5)] + " " + value(2) + ")";
    }
    if (kind == 3)
      return "not " + truth(depth - 1);
    return "(" + truth(depth - 1) + (kind < 6 ? " and " : " or ") + truth(depth - 1) + ")";
  }
  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

private:
  std::string value(int depth) {
    switch (number(depth > 0 ? 0 : 6, 11)) {
    case 0:
      return "(" + value(depth - 1) + " + " + value(depth - 1) + ")";
    case 1:
      return "(" + value(depth - 1) + " - " + value(depth - 1) + ")";
    case 2:
      return "(" + value(depth - 1) + " // " + std::to_string(number(1, 40)) + ")";
    case 3:
      return "(" + value(depth - 1) + " % " + std::to_string(number(1, 40)) + ")";
    case 4:
      return "abs(" + value(depth - 1) + ")";
    case 5:
      return (number(0, 1) ? "min(" : "max(") + value(depth - 1) + ", " + value(depth - 1) + ")";
    case 6:
      return std::to_string(number(0, 300));
    case 7:
      return "(" + value(0) + " * " + std::to_string(number(-5, 5)) + ")";
    case 8:
      return "i";
    case 9:
      return "j";
    case 10:
      return "x[i]";
    default:
      return "y[j]";
    }
  }
  std::mt19937 random;
};

/// The region of one mask, evaluated at pairs by folding.
class Pairs {
public:
  Pairs(Block &block, ArrayRef<int32_t> x, ArrayRef<int32_t> y) : block(block), data{x, y} {}

  /// Returns every value of the region at a pair.
  DenseMap<Value, Attribute> at(int64_t i, int64_t j) {
    Builder builder(block.getParentOp()->getContext());
    DenseMap<Value, Attribute> known;
    const int64_t point[] = {0, 0, i, j};
    for (auto [argument, number] : llvm::zip(block.getArguments().take_front(4), point))
      known[argument] = builder.getIndexAttr(number);
    for (Operation &op : block.without_terminator())
      known[op.getResult(0)] = evaluate(op, known);
    return known;
  }

private:
  Attribute evaluate(Operation &op, const DenseMap<Value, Attribute> &known) {
    if (auto read = dyn_cast<ReadOp>(op)) {
      const int64_t index = cast<IntegerAttr>(known.lookup(read.getIndices()[0])).getInt();
      const size_t which = cast<BlockArgument>(read.getSource()).getArgNumber() - 4;
      const ArrayRef<int32_t> numbers = data[which];
      return Builder(op.getContext())
          .getI32IntegerAttr(numbers[std::clamp<int64_t>(index, 0, numbers.size() - 1)]);
    }
    SmallVector<Attribute> operands =
        llvm::map_to_vector(op.getOperands(), [&](Value operand) { return known.lookup(operand); });
    SmallVector<OpFoldResult> results;
    if (failed(op.fold(operands, results)) || results.size() != 1) {
      ADD_FAILURE() << "cannot fold " << op.getName().getStringRef().str();
      return {};
    }
    if (auto attribute = dyn_cast<Attribute>(results[0]))
      return attribute;
    return known.lookup(cast<Value>(results[0]));
  }

  Block &block;
  ArrayRef<int32_t> data[2];
};

int64_t numberOf(Attribute attribute) {
  auto number = cast<IntegerAttr>(attribute);
  return number.getType().isInteger(1) ? number.getValue().getZExtValue() : number.getInt();
}

/// The results of ranges and enumeration for one block.
struct Verdict {
  bool isAll = false, isSome = false;            // by the ranges
  bool isReallyAll = true, isReallySome = false; // by enumeration
};

class RangeTest : public testing::Test {
protected:
  RangeTest() {
    context.loadDialect<PEDialect, arith::ArithDialect, math::MathDialect, func::FuncDialect>();
  }

  OwningOpRef<ModuleOp> parse(const std::string &formula) {
    return parseSourceString<ModuleOp>(
        "func.func @f(%x: tensor<400xi32>, %y: tensor<400xi32>) -> !pe.mask {\n"
        "  %m = pe.mask_fn(%x, %y : tensor<400xi32>, tensor<400xi32>) expr \"" +
            formula + "\"\n  return %m : !pe.mask\n}\n",
        &context);
  }

  /// Judges the block of `rows` x `columns` pairs that begins at (firstRow, firstColumn).
  Verdict judge(Block &block, ArrayRef<int32_t> x, ArrayRef<int32_t> y, int64_t firstRow,
                int64_t firstColumn, int64_t rows, int64_t columns) {
    Verdict verdict;
    Value root = cast<YieldOp>(block.getTerminator()).getValues()[0];
    const RegionDependence dependence(*block.getParent());
    SmallVector<Value> leaves = rangeLeavesOf(root, dependence);
    DenseMap<Value, std::pair<int64_t, int64_t>> ends;
    Pairs pairs(block, x, y);
    for (int64_t i = firstRow; i < firstRow + rows; ++i)
      for (int64_t j = firstColumn; j < firstColumn + columns; ++j) {
        DenseMap<Value, Attribute> known = pairs.at(i, j);
        const bool isTrue = numberOf(known.lookup(root)) != 0;
        verdict.isReallyAll &= isTrue;
        verdict.isReallySome |= isTrue;
        for (Value leaf : leaves) {
          const int64_t number = numberOf(known.lookup(leaf));
          auto [end, isNew] = ends.try_emplace(leaf, number, number);
          end->second.first = std::min(end->second.first, number);
          end->second.second = std::max(end->second.second, number);
        }
      }
    Block scratch;
    OpBuilder builder(&context);
    builder.setInsertionPointToEnd(&scratch);
    const Location loc = builder.getUnknownLoc();
    auto constant = [&](Value leaf, int64_t number) -> Value {
      if (leaf.getType().isInteger(1))
        return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(number != 0));
      return arith::ConstantIndexOp::create(builder, loc, number);
    };
    auto rangeOf = [&](Value leaf) {
      auto [low, high] = ends.lookup(leaf);
      return ScalarRange{constant(leaf, low), constant(leaf, high), 12};
    };
    std::optional<ScalarRange> range = emitRange(root, dependence, builder, loc, rangeOf);
    auto isTrue = [&](Value value) {
      APInt number;
      EXPECT_TRUE(matchPattern(value, m_ConstantInt(&number)));
      return !number.isZero();
    };
    verdict.isAll = range && isTrue(range->least);
    verdict.isSome = !range || isTrue(range->most);
    return verdict;
  }

  MLIRContext context;
};

TEST_F(RangeTest, TenThousandRandomMasks) {
  Formulas formulas(20);
  std::vector<int32_t> x(400), y(400);
  for (size_t n = 0; n < x.size(); ++n) { // runs of equal values, as in documents
    x[n] = n && formulas.number(0, 9) ? x[n - 1] : formulas.number(-3, 300);
    y[n] = n && formulas.number(0, 9) ? y[n - 1] : formulas.number(-3, 300);
  }
  int64_t uniform = 0, known = 0;
  for (int mask = 0; mask < 10000; ++mask) {
    const std::string formula = formulas.truth(2);
    OwningOpRef<ModuleOp> module = parse(formula);
    ASSERT_TRUE(module) << formula;
    MaskFnOp op;
    module->walk([&](MaskFnOp found) { op = found; });
    const int64_t rows = formulas.number(1, 5), columns = formulas.number(1, 5);
    const int64_t row = formulas.number(0, 394), column = formulas.number(0, 394);
    const Verdict verdict = judge(op.getBody().front(), x, y, row, column, rows, columns);
    ASSERT_TRUE(!verdict.isAll || verdict.isReallyAll)
        << formula << " at " << row << ", " << column;
    ASSERT_TRUE(verdict.isSome || !verdict.isReallySome)
        << formula << " at " << row << ", " << column;
    uniform += verdict.isReallyAll || !verdict.isReallySome;
    known += verdict.isAll || !verdict.isSome;
  }
  EXPECT_GT(known, uniform * 7 / 10) << "of " << uniform << " blocks that are all or nothing";
}

TEST_F(RangeTest, ValuesThatMayOverflowAreUnknown) {
  // Five differences of 13 bits are more than 62 bits, so no block may be decided.
  OwningOpRef<ModuleOp> module =
      parse("(i - j) * (i - j) * (i - j) * (i - j) * (i - j) * (i - j) < 0");
  MaskFnOp op;
  module->walk([&](MaskFnOp found) { op = found; });
  std::vector<int32_t> none(400);
  const Verdict verdict = judge(op.getBody().front(), none, none, 390, 0, 1, 2);
  EXPECT_FALSE(verdict.isAll);
  EXPECT_TRUE(verdict.isSome);
}

} // namespace
