//===- RotationTest.cpp - Frequencies of rotations ------------------------===//
//
// Folds the f64 code that rotations emit and compares it with the published definitions.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/RopeLiterals.h"
#include "dialect/PE/ScalarHarness.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace pe::test {
namespace {

class Frequencies : public ::testing::Test {
protected:
  /// Returns the frequency of pair `pair` of the rotation `text`, for heads of `dims` dims in a
  /// call whose keys end at `length`.
  double frequencyOf(const std::string &text, int64_t dims, int64_t pair, int64_t length) {
    auto module = parse(text);
    return foldedFrequency(module.get(), dims, pair, length);
  }

  double foldedFrequency(mlir::ModuleOp module, int64_t dims, int64_t pair, int64_t length) {
    auto function = *module.getOps<mlir::func::FuncOp>().begin();
    auto op = *function.getOps<mlir::pe::RotationOpInterface>().begin();
    mlir::OpBuilder builder(op);
    auto index = [&](int64_t value) {
      return mlir::arith::ConstantIndexOp::create(builder, op.getLoc(), value);
    };
    mlir::pe::RotationPoint point{index(0), index(pair), index(length), dims};
    mlir::Value frequency = op.buildFrequency(builder, op.getLoc(), point, {});
    // Without a use, the value would be removed.
    function.getBody().front().getTerminator()->erase();
    builder.setInsertionPointToEnd(&function.getBody().front());
    mlir::func::ReturnOp::create(builder, op.getLoc(), frequency);
    (void)mlir::applyPatternsGreedily(module, {});
    auto constant = function.getBody()
                        .front()
                        .getTerminator()
                        ->getOperand(0)
                        .getDefiningOp<mlir::arith::ConstantOp>();
    return constant ? mlir::cast<mlir::FloatAttr>(constant.getValue()).getValueAsDouble() : NAN;
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    return parseOp("pe.rotary {" + text + "}");
  }
  mlir::OwningOpRef<mlir::ModuleOp> parseOp(const std::string &text) {
    return mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @f() {\n  %r = " + text + "\n  return\n}", &harness.context);
  }

  ScalarHarness harness;
};

TEST_F(Frequencies, AreThePublishedOnes) {
  for (const RopeLiteral &literal : kRopeLiterals)
    for (size_t n = 0; n < literal.pairs.size(); ++n) {
      const std::string text = "base = " + std::to_string(literal.base) +
                               ", scaling = #pe.rope_scaling<" + literal.scaling + ">";
      const double found = frequencyOf(text, literal.dims, literal.pairs[n], literal.length);
      EXPECT_FLOAT_EQ(static_cast<float>(found), static_cast<float>(literal.frequencies[n]))
          << text << ", pair " << literal.pairs[n];
    }
}

TEST_F(Frequencies, OfFewDims) {
  EXPECT_DOUBLE_EQ(frequencyOf("base = 10000.0, rotary_dims = 8", 64, 1, 10), 0.1);
  EXPECT_DOUBLE_EQ(frequencyOf("base = 10000.0", 64, 16, 10), 0.01);
}

TEST_F(Frequencies, OfAFormula) {
  auto frequencyBy = [&](const std::string &formula, int64_t pair) {
    auto module = parseOp("pe.rotation_fn attributes {rotary_dims = 8} expr \"" + formula + "\"");
    return foldedFrequency(module.get(), 64, pair, 10);
  };
  EXPECT_DOUBLE_EQ(frequencyBy("10000 ^ (-p / n)", 1), 0.1);
  EXPECT_EQ(frequencyBy("select(p < int(0.75 * n), 10000 ^ (-p / n), 0)", 3), 0.0);
  // Literals are f64; as an f32, 0.1 would have an error of 1.5e-9.
  EXPECT_EQ(frequencyBy("0.1 * p", 3), 0.1 * 3);
}

TEST_F(Frequencies, Magnitudes) {
  auto magnitudeOf = [&](const std::string &scaling) {
    auto module = parse("scaling = #pe.rope_scaling<" + scaling + ">");
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    return (*function.getOps<mlir::pe::RotationOpInterface>().begin()).getMagnitude(64);
  };
  EXPECT_FLOAT_EQ(magnitudeOf("yarn, factor = 4.0, original_length = 2048"), kYarnMagnitude);
  EXPECT_EQ(magnitudeOf("yarn, factor = 1.0, original_length = 2048"), 1.0);
  EXPECT_EQ(magnitudeOf("ntk, factor = 4.0"), 1.0);
  const std::string lists = "original_length = 4096, short_factor = [1.0], long_factor = [2.0]";
  EXPECT_FLOAT_EQ(magnitudeOf("longrope, factor = 32.0, " + lists), kLongRopeMagnitude);
  EXPECT_EQ(magnitudeOf("longrope, factor = 1.0, " + lists), 1.0);
  EXPECT_EQ(magnitudeOf("longrope, factor = 32.0, attention_factor = 1.5, " + lists), 1.5);
  EXPECT_EQ(magnitudeOf("proportional, factor = 4.0"), 1.0);
  EXPECT_EQ(magnitudeOf("llama3, factor = 8.0, original_length = 8192"), 1.0);
}

} // namespace
} // namespace pe::test
