//===- Formulas.cpp - Prints generated scalar code as formulas ------------===//

#include "fuzz/Formulas.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace pe::fuzz {

std::string printReal(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", value);
  for (int digits = 1; digits < 17; ++digits) {
    char shorter[40];
    std::snprintf(shorter, sizeof(shorter), "%.*g", digits, value);
    if (std::strtod(shorter, nullptr) == value) {
      std::snprintf(text, sizeof(text), "%s", shorter);
      break;
    }
  }
  std::string printed = text;
  size_t exponent = printed.find('e');
  if (printed.find('.') == std::string::npos)
    printed.insert(exponent == std::string::npos ? printed.size() : exponent, ".0");
  return printed;
}

/// Replaces {0}, {1}, ... in `pattern` by the operands.
static std::string fill(std::string_view pattern, const std::vector<std::string> &operands) {
  std::string text;
  for (size_t n = 0; n < pattern.size(); ++n) {
    if (pattern[n] != '{') {
      text += pattern[n];
      continue;
    }
    text += operands.at(pattern[n + 1] - '0');
    n += 2;
  }
  return text;
}

/// The nodes that are printed as a variable.
constexpr std::pair<Op, const char *> kWords[] = {
    {Op::Batch, "b"}, {Op::Head, "h"},    {Op::Query, "i"},
    {Op::Key, "j"},   {Op::Score, "s"},   {Op::HeadsTotal, "heads_total"},
    {Op::Dim, "d"},   {Op::Width, "dim"}, {Op::Token, "p"},
    {Op::End, "n"},
};

std::string printFormula(const Program &program, const Node &node, const CoordinateNames &names) {
  if (node.op == Op::Captured)
    return names.at(&node);
  for (auto [op, word] : kWords)
    if (node.op == op)
      return word;
  std::vector<std::string> operands;
  for (const Node &child : node.children)
    operands.push_back(printFormula(program, child, names));
  const std::string name = std::to_string(node.integers[1]);
  switch (node.op) {
  case Op::Scalar:
    if (node.type == Type::I1 && node.scalar->form == Form::IntegerBinary)
      return fill(node.scalar->name == "arith.andi" ? "({0} and {1})" : "({0} or {1})", operands);
    return fill(node.scalar->formula, operands);
  case Op::Constant: {
    std::string text =
        node.type == Type::Index ? std::to_string(node.integers[0]) : printReal(node.reals[0]);
    return text.front() == '-' ? "(" + text + ")" : text;
  }
  case Op::Sum:
    return "sum(k" + name + " < " + std::to_string(node.integers[0]) + ", " + operands[0] + ")";
  case Op::SumIndex:
    return "k" + name;
  case Op::Waves:
    return "(let v" + name + " = " + operands[0] + " in select(d % 2 == 0, sin(v" + name +
           "), cos(v" + name + ")))";
  case Op::Square:
    return "(let v" + name + " = " + operands[0] + " in v" + name + " * v" + name + ")";
  case Op::AxisSize:
    return "size(" + program.parameters[node.parameters[0]].name + ", " +
           std::to_string(node.integers[0]) + ")";
  case Op::GlobalHead:
    return fill("global_head({0})", operands);
  case Op::Select:
    return fill("select({0}, {1}, {2})", operands);
  case Op::ToReal:
    return fill("(1.0 * {0})", operands);
  case Op::ToIndex:
    return fill("int({0})", operands);
  case Op::Read: {
    std::string text = program.parameters[node.parameters[0]].name;
    for (size_t axis = 0; axis < operands.size(); ++axis)
      text += (axis ? ", " : "[") + operands[axis];
    return text + (operands.empty() ? "" : "]");
  }
  default:
    return "?"; // not a scalar: the compiler rejects the formula
  }
}

std::string conditionText(int64_t kind, int64_t a) {
  const std::string n = "(" + std::to_string(a) + ")";
  const std::string texts[kMaskConditions + kHeadConditions] = {"j < " + n,
                                                                "j >= " + n,
                                                                "j == " + n,
                                                                "j <= i or j < " + n,
                                                                "j < " + n + " or j > i",
                                                                "not (j < " + n + ") and i + 3 > j",
                                                                "abs(i - j) <= " + n,
                                                                "(i + j + h) % " + n + " == 0",
                                                                "(b + i) % " + n + " != 1",
                                                                "(i - j) % " + n +
                                                                    " == 0 and 2 * j - i < 7",
                                                                "i - j < " + n + " + 3 * h",
                                                                "h % 2 == 0 or j <= i + " + n};
  return texts[kind];
}

} // namespace pe::fuzz
