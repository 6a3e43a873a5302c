//===- FormulaArithmetic.cpp - the operators of formulas ------------------===//

#include "dialect/PE/FormulaArithmetic.h"

#include "dialect/PE/PEScalars.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::pe;

using arith::CmpFPredicate;
using arith::CmpIPredicate;

/// Converts from 64 bits, which is exact for every index. Lowerings use 32 bits where they suffice
/// (pe-tile-define-integers).
Value FormulaArithmetic::toReal(Value value) {
  if (!isInteger(value))
    return value;
  if (auto constant = value.getDefiningOp<arith::ConstantIndexOp>())
    return createReal(static_cast<double>(constant.value()));
  return create<arith::SIToFPOp>(real(), create<arith::IndexCastOp>(builder.getI64Type(), value));
}

Value FormulaArithmetic::emitArithmetic(const Expression &expression, Values operands) {
  char symbol = expression.text.front();
  bool isInt = areIntegers(operands);
  if (operands.size() == 1) {
    if (!isInt)
      return create<arith::NegFOp>(operands[0]);
    if (auto number = operands[0].getDefiningOp<arith::ConstantIndexOp>())
      return create<arith::ConstantIndexOp>(-number.value());
    return create<arith::SubIOp>(create<arith::ConstantIndexOp>(0), operands[0]);
  }
  if (symbol == '^')
    return emitPower(expression.children[1], operands);
  if (symbol == '%' || expression.text == "//") {
    if (!isInt)
      makeReal(operands);
    return emitQuotient(symbol, operands[0], operands[1]);
  }
  if (!isInt || symbol == '/') {
    makeReal(operands);
    Value a = operands[0], b = operands[1];
    return symbol == '+'   ? create<arith::AddFOp>(a, b)
           : symbol == '-' ? create<arith::SubFOp>(a, b)
           : symbol == '*' ? create<arith::MulFOp>(a, b)
                           : create<arith::DivFOp>(a, b);
  }
  Value a = operands[0], b = operands[1];
  return symbol == '+'   ? create<arith::AddIOp>(a, b)
         : symbol == '-' ? create<arith::SubIOp>(a, b)
                         : create<arith::MulIOp>(a, b);
}

/// Emits the quotient rounded down, or the remainder, which has the sign of b.
Value FormulaArithmetic::emitQuotient(char symbol, Value a, Value b) {
  if (isInteger(a)) {
    Value quotient = create<arith::FloorDivSIOp>(a, b);
    return symbol == '/' ? quotient : create<arith::SubIOp>(a, create<arith::MulIOp>(quotient, b));
  }
  Value quotient = create<math::FloorOp>(create<arith::DivFOp>(a, b));
  return symbol == '/' ? quotient : create<arith::SubFOp>(a, create<arith::MulFOp>(quotient, b));
}

/// Small integer powers become products, whose values and gradients exist for negative bases.
Value FormulaArithmetic::emitPower(const Expression &exponent, Values operands) {
  makeReal(operands);
  bool isSmall =
      exponent.kind == Expression::Kind::Integer && exponent.number >= 1 && exponent.number <= 4;
  if (!isSmall)
    return create<math::PowFOp>(operands[0], operands[1]);
  Value result = operands[0];
  for (int n = 1; n < exponent.number; ++n)
    result = create<arith::MulFOp>(result, operands[0]);
  return result;
}

Value FormulaArithmetic::emitComparison(StringRef symbol, Values operands) {
  if (areIntegers(operands)) {
    auto predicate = llvm::StringSwitch<CmpIPredicate>(symbol)
                         .Case("<", CmpIPredicate::slt)
                         .Case("<=", CmpIPredicate::sle)
                         .Case(">", CmpIPredicate::sgt)
                         .Case(">=", CmpIPredicate::sge)
                         .Case("==", CmpIPredicate::eq)
                         .Default(CmpIPredicate::ne);
    return create<arith::CmpIOp>(predicate, operands[0], operands[1]);
  }
  makeReal(operands);
  auto predicate = llvm::StringSwitch<CmpFPredicate>(symbol)
                       .Case("<", CmpFPredicate::OLT)
                       .Case("<=", CmpFPredicate::OLE)
                       .Case(">", CmpFPredicate::OGT)
                       .Case(">=", CmpFPredicate::OGE)
                       .Case("==", CmpFPredicate::OEQ)
                       .Default(CmpFPredicate::UNE);
  return create<arith::CmpFOp>(predicate, operands[0], operands[1]);
}

Value FormulaArithmetic::emitExtremum(bool isMax, Value a, Value b) {
  if (isInteger(a))
    return isMax ? create<arith::MaxSIOp>(a, b) : create<arith::MinSIOp>(a, b);
  return isMax ? create<arith::MaximumFOp>(a, b) : create<arith::MinimumFOp>(a, b);
}

Value FormulaArithmetic::emitIntegerFunction(StringRef name, ArrayRef<Value> operands) {
  if (name == "global_head")
    return create<GlobalHeadOp>(builder.getIndexType(), operands[0]);
  if (name == "int")
    return operands[0];
  auto number = [&](int64_t value) { return create<arith::ConstantIndexOp>(value); };
  if (name == "relu")
    return create<arith::MaxSIOp>(operands[0], number(0));
  if (name == "sign")
    return create<arith::MaxSIOp>(create<arith::MinSIOp>(operands[0], number(1)), number(-1));
  if (name != "abs")
    return {};
  Value opposite = create<arith::SubIOp>(create<arith::ConstantIndexOp>(0), operands[0]);
  return create<arith::MaxSIOp>(operands[0], opposite);
}
