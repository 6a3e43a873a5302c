//===- Evaluate.cpp - Evaluation of formulas over arrays ------------------===//

#include "runtime/plan/Evaluate.h"

#include <algorithm>
#include <cmath>

namespace pe::plan {

namespace {

using Array = std::vector<double>;
using Unary = double (*)(double);
using Binary = double (*)(double, double);

const std::map<std::string_view, Unary> &unaryFunctions() {
  static const std::map<std::string_view, Unary> table = {
      {"-", [](double x) { return -x; }},
      {"not", [](double x) { return double(x == 0); }},
      {"abs", [](double x) { return std::fabs(x); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"exp2", [](double x) { return std::exp2(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"log1p", [](double x) { return std::log1p(x); }},
      {"log2", [](double x) { return std::log2(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tanh", [](double x) { return std::tanh(x); }}};
  return table;
}

const std::map<std::string_view, Binary> &binaryFunctions() {
  static const std::map<std::string_view, Binary> table = {
      {"+", [](double x, double y) { return x + y; }},
      {"-", [](double x, double y) { return x - y; }},
      {"*", [](double x, double y) { return x * y; }},
      {"/", [](double x, double y) { return x / y; }},
      {"//", [](double x, double y) { return std::floor(x / y); }},
      {"%", [](double x, double y) { return x - std::floor(x / y) * y; }},
      {"and", [](double x, double y) { return double(x != 0 && y != 0); }},
      {"or", [](double x, double y) { return double(x != 0 || y != 0); }},
      {"^", [](double x, double y) { return std::pow(x, y); }},
      {"pow", [](double x, double y) { return std::pow(x, y); }},
      {"min", [](double x, double y) { return std::min(x, y); }},
      {"max", [](double x, double y) { return std::max(x, y); }},
      {"<", [](double x, double y) { return double(x < y); }},
      {"<=", [](double x, double y) { return double(x <= y); }},
      {">", [](double x, double y) { return double(x > y); }},
      {">=", [](double x, double y) { return double(x >= y); }},
      {"==", [](double x, double y) { return double(x == y); }},
      {"!=", [](double x, double y) { return double(x != y); }}};
  return table;
}

Expected<Array> apply(Binary function, const Array &x, const Array &y) {
  if (x.size() != y.size() && x.size() != 1 && y.size() != 1)
    return makeError("expected arrays of one length, found ", x.size(), " and ", y.size(),
                     " elements");
  const bool isEmpty = x.empty() || y.empty();
  Array result(isEmpty ? 0 : std::max(x.size(), y.size()));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = function(x[x.size() == 1 ? 0 : i], y[y.size() == 1 ? 0 : i]);
  return result;
}

Expected<Array> call(const Expression &expression, const NamedArrays &arrays) {
  std::vector<Array> operands;
  for (const Expression &child : expression.children) {
    Expected<Array> operand = evaluate(child, arrays);
    if (!operand)
      return operand;
    operands.push_back(*std::move(operand));
  }
  if (operands.size() == 1)
    if (auto found = unaryFunctions().find(expression.text); found != unaryFunctions().end()) {
      std::transform(operands[0].begin(), operands[0].end(), operands[0].begin(), found->second);
      return operands[0];
    }
  if (operands.size() == 2)
    if (auto found = binaryFunctions().find(expression.text); found != binaryFunctions().end())
      return apply(found->second, operands[0], operands[1]);
  return makeError("expected a function with ", operands.size(), " argument(s), found '",
                   expression.text, "'");
}

} // namespace

Expected<Array> evaluate(const Expression &expression, const NamedArrays &arrays) {
  switch (expression.kind) {
  case Expression::Kind::Integer:
  case Expression::Kind::Real:
    return Array{expression.number};
  case Expression::Kind::Name: {
    auto found = arrays.find(expression.text);
    if (found == arrays.end())
      return makeError("expected the name of a parameter, found '", expression.text, "'");
    return found->second;
  }
  case Expression::Kind::Read:
    return makeError("expected parameters without indices, found an element of '", expression.text,
                     "'");
  case Expression::Kind::Let: {
    Expected<Array> value = evaluate(expression.children[0], arrays);
    if (!value)
      return value;
    NamedArrays inner = arrays;
    inner.insert_or_assign(expression.text, *std::move(value));
    return evaluate(expression.children[1], inner);
  }
  case Expression::Kind::Call:
    break;
  }
  return call(expression, arrays);
}

Expected<Array> evaluate(std::string_view formula, const NamedArrays &arrays) {
  std::variant<Expression, ExpressionError> parsed = parseExpression(formula);
  if (auto *error = std::get_if<ExpressionError>(&parsed))
    return makeError("formula '", formula, "', character ", error->offset + 1, ": ",
                     error->message);
  return evaluate(std::get<Expression>(parsed), arrays);
}

} // namespace pe::plan
