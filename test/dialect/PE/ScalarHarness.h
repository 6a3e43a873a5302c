//===- ScalarHarness.h - Evaluate encodings by constant folding -*- C++ -*-===//
//
// Computes the value of an encoding at one point without a backend: builds its scalar IR at
// constant positions, folds it, and reads the constant. Tests compare the value with closed forms.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TEST_DIALECT_PE_SCALARHARNESS_H
#define PE_TEST_DIALECT_PE_SCALARHARNESS_H

#include "dialect/PE/PE.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <gtest/gtest.h>
#include <optional>
#include <string>

namespace pe::test {

struct Point {
  int64_t query = 0, key = 0;
  int64_t head = 0, headStart = 0, headsTotal = 8;
};

class ScalarHarness {
public:
  ScalarHarness() {
    context.loadDialect<mlir::pe::PEDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::math::MathDialect>();
  }

  /// Returns the value of the encoding %result, of type `type`, that the ops in `body` define.
  /// Returns nullopt if it does not fold to a constant.
  std::optional<double> evaluate(const std::string &body, const std::string &type, Point at) {
    std::string source =
        "func.func @f() -> " + type + " {\n" + body + "\nreturn %result : " + type + "\n}";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    if (!module) {
      ADD_FAILURE() << "does not parse:\n" << source;
      return std::nullopt;
    }
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    auto *end = function.getBody().front().getTerminator();
    mlir::OpBuilder builder(end);
    mlir::Value scalar = emit(builder, end->getOperand(0), at);
    bindHeads(function, at);
    end->setOperands({scalar});
    (void)mlir::applyPatternsGreedily(function.getBody(), mlir::FrozenRewritePatternSet());
    return read(end->getOperand(0));
  }

  double bias(const std::string &body, Point at) { return value(body, "!pe.bias", at); }
  double coordinate(const std::string &body, Point at) { return value(body, "!pe.coordinate", at); }
  bool mask(const std::string &body, Point at) { return value(body, "!pe.mask", at) != 0; }

  mlir::MLIRContext context;

private:
  double value(const std::string &body, const std::string &type, Point at) {
    std::optional<double> found = evaluate(body, type, at);
    EXPECT_TRUE(found) << "does not fold to a number:\n" << body;
    return found.value_or(0);
  }

  mlir::Value emit(mlir::OpBuilder &builder, mlir::Value value, Point at) {
    mlir::Operation *op = value.getDefiningOp();
    auto scalar = mlir::dyn_cast<mlir::pe::ScalarOpInterface>(op);
    auto mask = mlir::dyn_cast<mlir::pe::MaskOpInterface>(op);
    if (!scalar && !mask)
      return value;
    mlir::SmallVector<mlir::Value> operands;
    for (mlir::Value operand : op->getOperands())
      operands.push_back(emit(builder, operand, at));
    auto index = [&](int64_t number) -> mlir::Value {
      return mlir::arith::ConstantIndexOp::create(builder, op->getLoc(), number);
    };
    mlir::pe::PairPoint point{index(0), index(at.head), index(at.query), index(at.key)};
    return scalar ? scalar.buildScalar(builder, op->getLoc(), point, operands)
                  : mask.buildScalar(builder, op->getLoc(), point, operands);
  }

  static void bindHeads(mlir::func::FuncOp function, Point at) {
    function.walk([&](mlir::Operation *op) {
      int64_t number = 0;
      if (mlir::isa<mlir::pe::GlobalHeadOp>(op))
        number = at.headStart + at.head;
      else if (mlir::isa<mlir::pe::HeadsTotalOp>(op))
        number = at.headsTotal;
      else
        return;
      mlir::OpBuilder builder(op);
      op->replaceAllUsesWith(
          mlir::arith::ConstantIndexOp::create(builder, op->getLoc(), number).getOperation());
    });
  }

  static std::optional<double> read(mlir::Value value) {
    mlir::Attribute attribute;
    if (!mlir::matchPattern(value, mlir::m_Constant(&attribute)))
      return std::nullopt;
    if (auto number = mlir::dyn_cast<mlir::FloatAttr>(attribute))
      return number.getValueAsDouble();
    return mlir::cast<mlir::IntegerAttr>(attribute).getValue().getBoolValue() ? 1.0 : 0.0;
  }
};

} // namespace pe::test

#endif // PE_TEST_DIALECT_PE_SCALARHARNESS_H
