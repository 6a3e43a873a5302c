//===- MaskTest.cpp - Masks, their ranges, rotations ----------------------===//
//
// Compares the range of i - j of a mask, which is known at compile time, with its values at points.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/ScalarHarness.h"

#include <cmath>

namespace pe::test {
namespace {

using mlir::pe::DifferenceRange;

class Masks : public ::testing::Test {
protected:
  /// Checks that %result keeps exactly the differences for which `allows` returns true, that its
  /// range contains them and, if the range is exact, no others.
  template <typename Allows> void check(const std::string &body, bool isExact, Allows allows) {
    DifferenceRange range = rangeOf(body);
    EXPECT_EQ(range.exact, isExact) << body;
    for (int64_t difference = -12; difference <= 12; ++difference) {
      bool allowed = allows(difference);
      EXPECT_EQ(harness.mask(body, {difference + 20, 20}), allowed)
          << body << " at i - j = " << difference;
      bool inside = range.min <= difference && difference <= range.max;
      EXPECT_TRUE(inside || !allowed) << body << " at i - j = " << difference;
      if (isExact)
        EXPECT_EQ(inside, allowed) << body << " at i - j = " << difference;
    }
  }

  DifferenceRange rangeOf(const std::string &body) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>("func.func @f() -> !pe.mask {\n" + body +
                                                              "\nreturn %result : !pe.mask\n}",
                                                          &harness.context);
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    return *mlir::pe::getDifferenceRange(function.getBody().front().getTerminator()->getOperand(0));
  }

  ScalarHarness harness;
};

TEST_F(Masks, Causal) {
  check("%result = pe.causal", true, [](int64_t d) { return d >= 0; });
  check("%result = pe.strict_causal", true, [](int64_t d) { return d >= 1; });
}

TEST_F(Masks, SlidingWindow) {
  check("%result = pe.sliding_window {left = 4}", true, [](int64_t d) { return d < 4; });
  check("%result = pe.sliding_window {right = 1}", true, [](int64_t d) { return d > -1; });
  check("%result = pe.sliding_window {left = 1, right = 3}", true,
        [](int64_t d) { return d < 1 && -d < 3; });
}

TEST_F(Masks, CodeThatComparesTheDifference) {
  auto fn = [](const std::string &formula) {
    return "%result = pe.mask_fn expr \"" + formula + "\"";
  };
  check(fn("i - j < 4"), true, [](int64_t d) { return d < 4; });
  check(fn("4 > i - j"), true, [](int64_t d) { return d < 4; });
  check(fn("j + 2 >= i"), true, [](int64_t d) { return d <= 2; });
  check(fn("j - i - 3 <= -7"), true, [](int64_t d) { return d >= 4; });
  check(fn("i == j + 5"), true, [](int64_t d) { return d == 5; });
  check(fn("abs(i - j) <= 3"), true, [](int64_t d) { return std::abs(d) <= 3; });
  check(fn("j <= i and i - j < 6"), true, [](int64_t d) { return d >= 0 && d < 6; });
  check(fn("i - j < 4 or i - j >= 4"), true, [](int64_t) { return true; });
  check(fn("i - j < 2 or i - j > 6"), false, [](int64_t d) { return d < 2 || d > 6; });
  check(fn("i - j != 3"), false, [](int64_t d) { return d != 3; });
  check(fn("j <= i and (i - j) % 2 == 0"), false, [](int64_t d) { return d >= 0 && d % 2 == 0; });
  check(fn("2 * i - 2 * j < 5"), false, [](int64_t d) { return 2 * d < 5; });
  check(fn("h < 1 and i - j < 4"), false, [](int64_t d) { return d < 4; });
}

TEST_F(Masks, And) {
  check("%a = pe.causal\n%b = pe.sliding_window {left = 4}\n%result = pe.mask_and %a, %b", true,
        [](int64_t d) { return d >= 0 && d < 4; });
  check("%a = pe.sliding_window {left = 1, right = 3}\n%b = pe.sliding_window {left = 9}\n"
        "%c = pe.strict_causal\n%d = pe.mask_and %a, %b\n%result = pe.mask_and %d, %c",
        true, [](int64_t) { return false; });
}

TEST_F(Masks, OrIsExactWhenRangesTouch) {
  const std::string near = "%a = pe.sliding_window {left = 1, right = 3}\n";
  check(near + "%b = pe.strict_causal\n%result = pe.mask_or %a, %b", true,
        [](int64_t d) { return d > -3; });
  check(near + "%s = pe.sliding_window {left = 8}\n%c = pe.causal\n%far = pe.sliding_window "
               "{right = 20}\n%b = pe.mask_and %s, %c\n%result = pe.mask_or %b, %a",
        true, [](int64_t d) { return d > -3 && d < 8; });
}

TEST_F(Masks, OrWithAGapIsInexact) {
  // -2 .. 0, or 5 and more: the range from -2 on also contains 1 to 4.
  auto range = [](DifferenceRange a, DifferenceRange b) {
    mlir::MLIRContext context;
    context.loadDialect<mlir::pe::PEDialect>();
    mlir::OpBuilder builder(&context);
    auto loc = builder.getUnknownLoc();
    auto mask = mlir::pe::MaskType::get(&context);
    auto causal = mlir::pe::CausalOp::create(builder, loc, mask);
    auto either = mlir::pe::MaskOrOp::create(builder, loc, mask, causal, causal);
    DifferenceRange result = either.getDifferenceRange({a, b});
    either.erase();
    causal.erase();
    return result;
  };
  DifferenceRange gap = range({.min = -2, .max = 0}, {.min = 5});
  EXPECT_EQ(gap.min, -2);
  EXPECT_EQ(gap.max, DifferenceRange::kUnboundedMax);
  EXPECT_FALSE(gap.exact);
  EXPECT_TRUE(range({.min = -2, .max = 0}, {.min = 1}).exact);
  DifferenceRange withNothing = range({.min = 3, .max = 1}, {.min = 5, .max = 9});
  EXPECT_EQ(withNothing.min, 5);
  EXPECT_TRUE(withNothing.exact);
}

// With shared operands, each op doubles the number of paths. The analysis must not visit all of
// them.
TEST_F(Masks, SharedOperandsAreVisitedOnce) {
  std::string body = "%m0 = pe.causal\n%w = pe.sliding_window {left = 100}\n";
  for (int n = 0; n < 200; ++n) {
    std::string last = "%m" + std::to_string(n), next = "%m" + std::to_string(n + 1);
    body += "%t" + std::to_string(n) + " = pe.mask_and " + last + ", %w\n";
    body += next + " = pe.mask_or " + last + ", %t" + std::to_string(n) + "\n";
  }
  body += "%result = pe.mask_and %m200, %m200";
  EXPECT_TRUE(rangeOf(body).isCausal());
}

TEST(Rotations, RotaryDims) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::pe::PEDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "%a = pe.rotary\n%b = pe.rotary {base = 100.0, rotary_dims = 16, interleaved = true}",
      &context);
  auto ops = llvm::to_vector(module->getOps<mlir::pe::RotationOpInterface>());
  EXPECT_EQ(ops[0].getRotatedDims(64), 64);
  EXPECT_FALSE(ops[0].isInterleavedPairs());
  EXPECT_EQ(ops[1].getRotatedDims(64), 16);
  EXPECT_TRUE(ops[1].isInterleavedPairs());
  EXPECT_DOUBLE_EQ(ops[1].getMagnitude(64), 1.0);
}

} // namespace
} // namespace pe::test
