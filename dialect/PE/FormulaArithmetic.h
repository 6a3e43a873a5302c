//===- FormulaArithmetic.h - the operators of formulas ----------*- C++ -*-===//
//
// Emits the operators of a formula on values: integers remain integers where ExpressionEmitter.h
// says so, and are converted to real numbers otherwise.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_FORMULAARITHMETIC_H
#define PE_DIALECT_PE_FORMULAARITHMETIC_H

#include "dialect/PE/ExpressionScope.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::pe {

class FormulaArithmetic {
protected:
  using Values = SmallVector<Value>;

  FormulaArithmetic(OpBuilder &builder, const ExpressionScope &scope)
      : builder(builder), scope(scope) {}

  /// Emits + - * / // % or ^ of numbers, or the negation of one.
  Value emitArithmetic(const Expression &expression, Values operands);
  Value emitComparison(StringRef symbol, Values operands);
  Value emitPower(const Expression &exponent, Values operands);
  Value emitExtremum(bool isMax, Value a, Value b);
  /// Emits a function that maps integers to integers; returns null for the others.
  Value emitIntegerFunction(StringRef name, ArrayRef<Value> operands);

  template <typename OpTy, typename... Args> Value create(Args &&...args) {
    return OpTy::create(builder, loc(), std::forward<Args>(args)...);
  }
  Location loc() { return scope.locate(offset); }

  FloatType real() { return scope.real ? scope.real : builder.getF32Type(); }
  Value createReal(double number) {
    return create<arith::ConstantOp>(builder.getFloatAttr(real(), number));
  }

  static bool isInteger(Value value) { return value.getType().isIndex(); }
  static bool isBoolean(Value value) { return value.getType().isInteger(1); }
  static bool areIntegers(ArrayRef<Value> values) { return llvm::all_of(values, isInteger); }

  Value toReal(Value value);
  void makeReal(Values &values) {
    for (Value &value : values)
      value = toReal(value);
  }

  OpBuilder &builder;
  const ExpressionScope &scope;
  /// The character offset for the locations of the created ops.
  size_t offset = 0;

private:
  Value emitQuotient(char symbol, Value a, Value b);
};

} // namespace mlir::pe

#endif // PE_DIALECT_PE_FORMULAARITHMETIC_H
