//===- ExpressionEmitter.cpp - Formulas to scalar IR ----------------------===//

#include "dialect/PE/ExpressionEmitter.h"

#include "dialect/PE/FormulaArithmetic.h"
#include "dialect/PE/FormulaFunctions.h"
#include "dialect/PE/PEDialect.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mlir::pe;

namespace {

/// The largest integer literal of a formula. It is exact in f64, and sums are far from overflow.
constexpr double kMaxInteger = 1e15;

class Emitter : FormulaArithmetic {
public:
  Emitter(OpBuilder &builder, const ExpressionScope &scope)
      : FormulaArithmetic(builder, scope), names(scope.names) {}

  FailureOr<Value> emitReal(const Expression &expression, StringRef advice) {
    FailureOr<Value> value = emit(expression);
    if (failed(value))
      return failure();
    if (value->getType().isInteger(1))
      return fail(expression, "expected a number, found a boolean; " + advice);
    return toReal(*value);
  }

  FailureOr<Value> emitBoolean(const Expression &expression) {
    FailureOr<Value> value = emit(expression);
    if (succeeded(value) && !isBoolean(*value))
      return fail(expression, "expected a condition, found a number; " + scope.adviceOnResult);
    return value;
  }

private:
  FailureOr<Value> emit(const Expression &expression);
  FailureOr<Value> emitName(const Expression &expression);
  FailureOr<Value> emitRead(const Expression &expression);
  Value createRead(RankedTensorType tensor, Value source, ValueRange indices);
  Value lookup(StringRef name) const;
  std::string listTensors() const;
  std::string adviceOnName(StringRef name) const;
  FailureOr<Value> emitLet(const Expression &expression);
  FailureOr<Value> emitSum(const Expression &expression);
  LogicalResult setBound(const Expression &bound, SumOp sum);
  LogicalResult checkNewName(const Expression &expression);
  FailureOr<Value> emitCall(const Expression &expression);
  LogicalResult checkFunction(const Expression &expression);
  FailureOr<Value> emitSize(const Expression &expression);
  FailureOr<Value> emitLogic(const Expression &expression, Values operands);
  FailureOr<Value> emitFunction(const Expression &expression, Values operands);

  FailureOr<Value> fail(const Expression &expression, const Twine &message) {
    return scope.report(expression.offset, message);
  }

  /// The names of the scope, of let and of the enclosing sums.
  llvm::StringMap<Value> names;
};
} // namespace

FailureOr<Value> Emitter::emit(const Expression &expression) {
  offset = expression.offset;
  switch (expression.kind) {
  case Expression::Kind::Integer:
    if (expression.number > kMaxInteger)
      return fail(expression, "expected an integer of at most 10^15");
    return create<arith::ConstantIndexOp>(static_cast<int64_t>(expression.number));
  case Expression::Kind::Real:
    return createReal(expression.number);
  case Expression::Kind::Name:
    return emitName(expression);
  case Expression::Kind::Read:
    return emitRead(expression);
  case Expression::Kind::Let:
    return emitLet(expression);
  case Expression::Kind::Call:
    return expression.text == "sum" ? emitSum(expression) : emitCall(expression);
  }
  llvm_unreachable("all kinds are handled");
}

static StringRef nounOf(int64_t count) { return count == 1 ? " index" : " indices"; }

/// Emits a read of a tensor element. Integers are converted to index, floats to the type of reals.
Value Emitter::createRead(RankedTensorType tensor, Value source, ValueRange indices) {
  Value element = create<ReadOp>(tensor.getElementType(), source, indices);
  if (element.getType().isInteger(32))
    return create<arith::IndexCastOp>(builder.getIndexType(), element);
  return element.getType() == real() ? element : create<arith::ExtFOp>(real(), element);
}

FailureOr<Value> Emitter::emitName(const Expression &expression) {
  Value value = lookup(expression.text);
  if (!value && scope.hasHeads && expression.text == "heads_total")
    return create<HeadsTotalOp>(builder.getIndexType());
  if (!value && (expression.text == "pi" || expression.text == "inf")) {
    double number = expression.text == "pi" ? std::numbers::pi : INFINITY;
    return createReal(number);
  }
  if (!value)
    return fail(expression, "expected " + scope.variables +
                                (scope.hasHeads ? ", heads_total" : "") +
                                ", pi, inf or a captured tensor, found '" + expression.text + "'" +
                                adviceOnName(expression.text));
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  if (!tensor)
    return value;
  if (tensor.getRank() != 0)
    return fail(expression, "expected " + Twine(tensor.getRank()) + nounOf(tensor.getRank()) +
                                ", as in " + expression.text + "[h], found none");
  return createRead(tensor, value, ValueRange());
}

/// Returns the value of a name, or null. Aliases of tensors are looked up last.
Value Emitter::lookup(StringRef name) const {
  if (Value value = names.lookup(name))
    return value;
  auto alias = scope.aliases.find(name);
  return alias == scope.aliases.end() ? Value() : names.lookup(alias->second);
}

/// Checks that a name of let or sum does not shadow another one.
LogicalResult Emitter::checkNewName(const Expression &expression) {
  constexpr StringRef known[] = {"heads_total", "pi", "inf"};
  if (!names.contains(expression.text) && !llvm::is_contained(known, expression.text))
    return success();
  return scope.report(expression.offset,
                      "expected a name that is not in use, found '" + Twine(expression.text) + "'");
}

FailureOr<Value> Emitter::emitLet(const Expression &expression) {
  if (failed(checkNewName(expression)))
    return failure();
  FailureOr<Value> value = emit(expression.children[0]);
  if (failed(value))
    return failure();
  // Explanations print the value by this name.
  if (Operation *op = value->getDefiningOp())
    op->setLoc(NameLoc::get(builder.getStringAttr(expression.text), op->getLoc()));
  names[expression.text] = *value;
  FailureOr<Value> result = emit(expression.children[1]);
  names.erase(expression.text);
  return result;
}

//===----------------------------------------------------------------------===//
// Sums over an index
//===----------------------------------------------------------------------===//

/// Sets the bound of the sum, which is an integer or size(tensor, axis).
LogicalResult Emitter::setBound(const Expression &bound, SumOp sum) {
  auto isIntegerLiteral = [](const Expression &e) { return e.kind == Expression::Kind::Integer; };
  if (isIntegerLiteral(bound) && bound.number <= SumOp::kMaxCount) {
    sum.setCount(static_cast<int64_t>(bound.number));
    return success();
  }
  const bool isSize = bound.kind == Expression::Kind::Call && bound.text == "size" &&
                      bound.children.size() == 2 && isIntegerLiteral(bound.children[1]);
  auto tensor =
      isSize
          ? dyn_cast_or_null<RankedTensorType>(
                lookup(bound.children[0].text) ? lookup(bound.children[0].text).getType() : Type())
          : RankedTensorType();
  const double axis = tensor ? bound.children[1].number : 0;
  if (!tensor || axis >= static_cast<double>(tensor.getRank()))
    return scope.report(bound.offset,
                        "expected an integer up to " + Twine(SumOp::kMaxCount) +
                            " or size(name, axis) of a captured tensor as the bound of a sum");
  if (!tensor.isDynamicDim(axis)) {
    sum.setCount(tensor.getDimSize(axis));
    return success();
  }
  auto input = llvm::find(sum.getInputs(), lookup(bound.children[0].text));
  sum.setExtent(
      ArrayRef<int64_t>{std::distance(sum.getInputs().begin(), input), static_cast<int64_t>(axis)});
  return success();
}

/// sum(k < bound, summand). Every name becomes an input of the region; unused ones are dropped at
/// the end.
FailureOr<Value> Emitter::emitSum(const Expression &expression) {
  const auto &children = expression.children;
  const bool isSum = children.size() == 2 && children[0].kind == Expression::Kind::Call &&
                     children[0].text == "<" &&
                     children[0].children[0].kind == Expression::Kind::Name;
  if (!isSum)
    return fail(expression, "expected an index with its bound and a summand, as in "
                            "sum(k < 8, a[k] * i ^ k) or sum(k < size(a, 0), a[k])");
  const Expression &index = children[0].children[0];
  if (failed(checkNewName(index)))
    return failure();
  SmallVector<std::string> words;
  SmallVector<Value> inputs;
  for (auto &entry : names)
    words.push_back(entry.getKey().str());
  llvm::sort(words);
  for (const std::string &word : words)
    inputs.push_back(names.lookup(word));
  auto sum = SumOp::create(builder, loc(), builder.getF32Type(), inputs, IntegerAttr(),
                           DenseI64ArrayAttr());
  if (failed(setBound(children[0].children[1], sum)))
    return failure();
  Block &body = sum.getBody().emplaceBlock();
  llvm::StringMap<Value> inside;
  inside[index.text] = body.addArgument(builder.getIndexType(), scope.locate(index.offset));
  for (auto [word, input] : llvm::zip_equal(words, inputs))
    inside[word] = body.addArgument(input.getType(), loc());
  std::swap(names, inside);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&body);
  FailureOr<Value> summand = emitReal(children[1], "use select(condition, a, b)");
  if (failed(summand))
    return failure();
  // The type of a sum is f32. Code that is computed in f64 skips both conversions.
  Value term = *summand;
  if (!term.getType().isF32())
    term = arith::TruncFOp::create(builder, sum.getLoc(), builder.getF32Type(), term);
  YieldOp::create(builder, sum.getLoc(), term);
  std::swap(names, inside);
  sum.hoistInvariants(); // makes i - j an input, regardless of other uses of i and j
  sum.dropUnusedInputs();
  builder.setInsertionPointAfter(sum);
  return real().isF32() ? Value(sum.getResult()) : create<arith::ExtFOp>(real(), sum.getResult());
}

/// Lists the captured tensors for messages: " (table, ty or type)". If there are none, says how to
/// capture one.
std::string Emitter::listTensors() const {
  std::vector<std::string> tensors;
  for (const auto &entry : scope.names) {
    if (!isa<RankedTensorType>(entry.second.getType()))
      continue;
    tensors.push_back(entry.first().str());
    for (const auto &alias : scope.aliases)
      if (alias.second == entry.first())
        tensors.back() += " or " + alias.first().str();
  }
  llvm::sort(tensors);
  return tensors.empty() ? "; no tensor is captured; write (%table : tensor<?xf32>) before expr"
                         : " (" + llvm::join(tensors, ", ") + ")";
}

/// Returns advice on an unknown name: the advice of the scope, "; did you mean amp?", or an empty
/// string.
std::string Emitter::adviceOnName(StringRef name) const {
  if (auto known = scope.advice.find(name); known != scope.advice.end())
    return known->second;
  if (findFormulaFunction(name))
    return ("; call a function as " + name + "(x)").str();
  if (name.size() < 3)
    return {};
  SmallVector<StringRef> known;
  for (const auto &entry : names)
    known.push_back(entry.first());
  for (const auto &alias : scope.aliases)
    known.push_back(alias.first());
  llvm::sort(known);
  StringRef nearest = findNearestName(name, known);
  return nearest.empty() ? "" : ("; did you mean " + nearest + "?").str();
}

FailureOr<Value> Emitter::emitRead(const Expression &expression) {
  Value value = lookup(expression.text);
  auto tensor = value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
  if (!tensor)
    return fail(expression, "expected a captured tensor" + listTensors() + ", found '" +
                                Twine(expression.text) + "'" + adviceOnName(expression.text));
  if (tensor.getRank() != static_cast<int64_t>(expression.children.size()))
    return fail(expression, "expected " + Twine(tensor.getRank()) + nounOf(tensor.getRank()) +
                                " of " + expression.text + ", found " +
                                Twine(expression.children.size()));
  Values indices;
  for (const Expression &child : expression.children) {
    FailureOr<Value> index = emit(child);
    if (failed(index))
      return failure();
    if (!isInteger(*index))
      return fail(child, Twine("expected an integer as index, found a real number; use ") +
                             (child.text == "/" ? "a // b for the quotient rounded down, or int(x)"
                                                : "int(x)"));
    indices.push_back(*index);
  }
  offset = expression.offset;
  return createRead(tensor, value, indices);
}

/// size(table, 0)
FailureOr<Value> Emitter::emitSize(const Expression &expression) {
  const auto &children = expression.children;
  const bool isForm = children.size() == 2 && children[0].kind == Expression::Kind::Name &&
                      children[1].kind == Expression::Kind::Integer;
  Value tensor = isForm ? lookup(children[0].text) : Value();
  auto type = tensor ? dyn_cast<RankedTensorType>(tensor.getType()) : RankedTensorType();
  if (!type || children[1].number >= static_cast<double>(type.getRank()))
    return fail(expression, "expected size(NAME, AXIS) of a captured tensor and one of its axes");
  offset = expression.offset;
  return create<AxisSizeOp>(builder.getIndexType(), tensor,
                            builder.getI64IntegerAttr(static_cast<int64_t>(children[1].number)));
}

/// Reports an unknown function before its arguments are emitted.
LogicalResult Emitter::checkFunction(const Expression &expression) {
  StringRef name = expression.text;
  if (findFormulaFunction(name) || name == "select" || name == "and" || name == "or" ||
      name == "not" || StringRef("+-*/%^<>=!").contains(name.front()))
    return success();
  if (Value value = lookup(name); value && isa<RankedTensorType>(value.getType()))
    return scope.report(expression.offset, "expected a function, found the tensor '" + name +
                                               "'; read its elements as " + name + "[h]");
  if (std::string advice = adviceOnFormulaFunction(name); !advice.empty())
    return scope.report(expression.offset, "unknown function '" + name + "'" + advice);
  auto names = llvm::map_range(formulaFunctions(),
                               [](const FormulaFunction &known) { return known.name.str(); });
  return scope.report(expression.offset, "expected a function of " + llvm::join(names, ", ") +
                                             ", select, sum; found '" + name + "'");
}

FailureOr<Value> Emitter::emitCall(const Expression &expression) {
  if (expression.text == "size")
    return emitSize(expression);
  if (failed(checkFunction(expression)))
    return failure();
  Values operands;
  for (const Expression &child : expression.children) {
    FailureOr<Value> operand = emit(child);
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
  }
  offset = expression.offset;
  StringRef name = expression.text;
  if (name == "select" || name == "and" || name == "or" || name == "not")
    return emitLogic(expression, operands);
  if (llvm::any_of(operands, isBoolean))
    return fail(expression, "expected numbers, found a boolean; only select, and, or and not take "
                            "booleans");
  if (StringRef("+-*/%^").contains(name.front()))
    return emitArithmetic(expression, operands);
  if (StringRef("<>=!").contains(name.front()))
    return emitComparison(expression.text, operands);
  return emitFunction(expression, operands);
}

FailureOr<Value> Emitter::emitLogic(const Expression &expression, Values operands) {
  StringRef name = expression.text;
  size_t conditions = name == "select" ? 1 : operands.size();
  size_t expected = name == "select" ? 3 : name == "not" ? 1 : 2;
  if (operands.size() != expected)
    return fail(expression, "expected " + Twine(expected) + " arguments of " + name + ", found " +
                                Twine(operands.size()));
  if (!llvm::all_of(ArrayRef(operands).take_front(conditions), isBoolean))
    return fail(expression, "expected a boolean such as i > j in " + Twine(name));
  if (name == "and")
    return create<arith::AndIOp>(operands[0], operands[1]);
  if (name == "or")
    return create<arith::OrIOp>(operands[0], operands[1]);
  if (name == "not")
    return create<arith::XOrIOp>(operands[0], create<arith::ConstantOp>(builder.getBoolAttr(true)));
  if (operands[1].getType() != operands[2].getType()) {
    if (isBoolean(operands[1]) || isBoolean(operands[2]))
      return fail(expression, "expected two numbers or two booleans to select from");
    operands[1] = toReal(operands[1]);
    operands[2] = toReal(operands[2]);
  }
  return create<arith::SelectOp>(operands[0], operands[1], operands[2]);
}

FailureOr<Value> Emitter::emitFunction(const Expression &expression, Values operands) {
  StringRef name = expression.text;
  const FormulaFunction *function = findFormulaFunction(name);
  if (operands.size() != function->arity) {
    std::string advice;
    if (operands.size() > 2 && (name == "max" || name == "min"))
      advice = ("; write " + name + "(a, " + name + "(b, c))").str();
    return fail(expression, "expected " + Twine(function->arity) + " argument(s) of " + name +
                                ", found " + Twine(operands.size()) + advice);
  }
  bool isInt = areIntegers(operands);
  if (isInt)
    if (Value value = emitIntegerFunction(name, operands))
      return value;
  bool isExtremum = name == "max" || name == "min" || name == "clamp";
  if (!isInt || !isExtremum)
    makeReal(operands);
  if (function->build)
    return function->build(builder, loc(), operands[0]);
  if (isExtremum && name != "clamp")
    return emitExtremum(name == "max", operands[0], operands[1]);
  if (name == "clamp")
    return emitExtremum(false, emitExtremum(true, operands[0], operands[1]), operands[2]);
  if (name == "pow")
    return emitPower(expression.children[1], operands);
  if (name == "global_head")
    return fail(expression, "expected an integer as the head, found a real number");
  return create<arith::IndexCastOp>(builder.getIndexType(),
                                    create<arith::FPToSIOp>(builder.getI32Type(), operands[0]));
}

FailureOr<Value> mlir::pe::emitExpression(const Expression &expression, OpBuilder &builder,
                                          const ExpressionScope &scope) {
  return Emitter(builder, scope).emitReal(expression, scope.adviceOnResult);
}

FailureOr<Value> mlir::pe::emitCondition(const Expression &expression, OpBuilder &builder,
                                         const ExpressionScope &scope) {
  return Emitter(builder, scope).emitBoolean(expression);
}
