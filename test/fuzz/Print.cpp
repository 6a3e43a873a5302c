//===- Print.cpp - A generated program as MLIR ----------------------------===//
//
// Post order: the children of a node are printed before it, each as a separate value. Formulas
// are printed as text, by the templates of ScalarOperations.
//
//===----------------------------------------------------------------------===//

#include "fuzz/Print.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>

namespace pe::fuzz {
namespace {

std::string quote(const std::string &text) { return "\"" + text + "\""; }

/// With a point or an exponent, so that it is parsed as a real number; it round-trips exactly.
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

std::string typeOf(const Parameter &parameter) {
  std::string text = "tensor<";
  for (int64_t dim : parameter.dims)
    text += (dim < 0 ? "?" : std::to_string(dim)) + "x";
  return text + "f32>";
}

/// ", pe.axes = [...]" of data; nothing for parameters.
std::string axesOf(const Parameter &parameter) {
  std::string words;
  for (int64_t dim : parameter.dims)
    words += (words.empty() ? "" : ", ") +
             quote(dim < 0 ? kAxisWords[-dim - 1] : "other" + std::to_string(dim));
  return isData(parameter) ? ", pe.axes = [" + words + "]" : "";
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// "({0} + {1})" with the texts of the operands.
std::string fill(std::string_view pattern, const std::vector<std::string> &operands) {
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

/// The names of captured coordinates.
using CoordinateNames = std::map<const Node *, std::string>;

std::string printFormula(const Program &program, const Node &node, const CoordinateNames &names) {
  if (node.op == Op::Captured)
    return names.at(&node);
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
  case Op::Square:
    return "(let v" + name + " = " + operands[0] + " in v" + name + " * v" + name + ")";
  case Op::Batch:
    return "b";
  case Op::Head:
    return "h";
  case Op::Query:
    return "i";
  case Op::Key:
    return "j";
  case Op::Score:
    return "s";
  case Op::HeadsTotal:
    return "heads_total";
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
    return "?"; // not a scalar: the compiler refuses it, which shows
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

class Printer {
public:
  explicit Printer(const Program &program) : program(program) {}

  std::string print();

private:
  std::string printArguments() const;
  std::string printAttention(const std::vector<std::string> &biases, const std::string &rotation,
                             const std::string &score, const std::string &mask);
  /// Prints the node and everything below; returns its value's name.
  std::string printNode(const Node &node);
  std::string printScalar(const Node &node, const std::vector<std::string> &in);
  std::string printOperation(const Node &node, const std::vector<std::string> &in);
  std::string printNumber(const Node &node, const std::vector<std::string> &in);
  std::string printCoordinate(const Node &node);
  std::string printBias(const Node &node, const std::vector<std::string> &in);
  std::string printMaskOrRotation(const Node &node, const std::vector<std::string> &in);
  std::string printRotation(const Node &node);
  std::string printRead(const Node &node, const std::vector<std::string> &in);
  std::string printMlp(const Node &node, const std::vector<std::string> &in);
  std::string printRegion(const Node &node);
  std::string printSum(const Node &node);

  std::string define(const std::string &operation) {
    std::string name = "%x" + std::to_string(++count);
    out << indent << name << " = " << operation << "\n";
    return name;
  }
  /// "c(%a0 : tensor<?xf32>) ", or nothing for a parameter that is absent.
  std::string printOperand(const std::string &word, int parameter) const;
  std::string listParameters(const std::vector<int> &parameters, bool types) const;

  const Program &program;
  std::ostringstream out;
  std::string indent = "  ";
  int count = 0;
  CoordinateNames coordinates;
};

std::string Printer::printOperand(const std::string &word, int parameter) const {
  if (parameter == kNoParameter)
    return "";
  const Parameter &found = program.parameters[parameter];
  return " " + word + "(%" + found.name + " : " + typeOf(found) + ")";
}

std::string Printer::listParameters(const std::vector<int> &parameters, bool types) const {
  std::string text;
  for (int parameter : parameters) {
    const Parameter &found = program.parameters[parameter];
    text += (text.empty() ? "" : ", ") + (types ? typeOf(found) : "%" + found.name);
  }
  return text;
}

std::string Printer::printRead(const Node &node, const std::vector<std::string> &in) {
  const Parameter &parameter = program.parameters[node.parameters[0]];
  std::string indices;
  for (const std::string &index : in)
    indices += (indices.empty() ? "" : ", ") + index;
  return define("pe.read %" + parameter.name + "_[" + indices + "] : " + typeOf(parameter));
}

std::string Printer::printScalar(const Node &node, const std::vector<std::string> &in) {
  const ScalarOperation &operation = *node.scalar;
  std::string name(operation.name), type(nameOf(node.type));
  std::string operandType(in.empty() ? "" : nameOf(node.children[0].type));
  switch (operation.form) {
  case Form::Convert:
    return define(name + " " + in[0] + " : " + operandType + " to " + type);
  case Form::IntegerCompare:
  case Form::RealCompare:
    return define(name + ", " + in[0] + ", " + in[1] + " : " + operandType);
  case Form::RealToWholePower:
    return define(name + " " + in[0] + ", " + in[1] + " : " + type + ", i32");
  default:
    break;
  }
  if (name == "math.clampf")
    return define(name + " " + in[0] + " to [" + in[1] + ", " + in[2] + "] : " + type);
  std::string text = name + " ";
  for (size_t n = 0; n < in.size(); ++n)
    text += (n ? ", " : "") + in[n];
  return define(text + " : " + type);
}

std::string Printer::printRegion(const Node &node) {
  std::vector<int> captures = parametersOf(node);
  const bool isScore = node.op == Op::ScoreRegion || node.op == Op::ScoreFormula;
  std::string names = listParameters(captures, false), types = listParameters(captures, true);
  std::string arguments;
  for (int capture : captures)
    arguments +=
        ", %" + program.parameters[capture].name + "_: " + typeOf(program.parameters[capture]);
  walk(node, [&](const Node &inner) {
    if (inner.op != Op::Captured)
      return;
    const std::string name = printNode(inner.children[0]);
    coordinates[&inner] = name.substr(1);
    names += (names.empty() ? "" : ", ") + name;
    types += (types.empty() ? "" : ", ") + std::string("!pe.coordinate");
    arguments += ", " + name + "_: f32";
  });
  std::string text = isScore ? "pe.score_fn" : "pe.bias_fn";
  if (!names.empty())
    text += "(" + names + " : " + types + ")";
  if (node.op == Op::Formula || node.op == Op::ScoreFormula)
    return define(text + " expr " + quote(printFormula(program, node.children[0], coordinates)));
  std::string name = "%x" + std::to_string(++count);
  out << indent << name << " = " << text << " {\n  ^bb0(" << (isScore ? "%s: f32, " : "")
      << "%b: index, %h: index, %i: index, %j: index" << arguments << "):\n";
  indent = "    ";
  std::string value = printNode(node.children[0]);
  out << indent << "pe.yield " << value << " : f32\n";
  indent = "  ";
  out << "  }\n";
  return name;
}

/// What the summand uses of the code around it is passed by its own name.
std::string Printer::printSum(const Node &node) {
  std::map<std::string, std::string> inputs;
  walk(node.children[0], [&](const Node &inner) {
    const std::pair<Op, const char *> leaves[] = {
        {Op::Batch, "%b"}, {Op::Head, "%h"}, {Op::Query, "%i"}, {Op::Key, "%j"}};
    for (auto [op, name] : leaves)
      if (inner.op == op)
        inputs[name] = "index";
    if (inner.op == Op::Score)
      inputs["%s"] = "f32";
    if (inner.op == Op::Captured)
      inputs["%" + coordinates.at(&inner) + "_"] = "f32";
    if (inner.op == Op::SumIndex && inner.integers[1] < node.integers[1]) // of a sum around
      inputs["%k" + std::to_string(inner.integers[1])] = "index";
    if (inner.op == Op::Read) {
      const Parameter &parameter = program.parameters[inner.parameters[0]];
      inputs["%" + parameter.name + "_"] = typeOf(parameter);
    }
  });
  std::string names, types, arguments;
  for (const auto &[name, type] : inputs) {
    names += (names.empty() ? "" : ", ") + name;
    types += (types.empty() ? "" : ", ") + type;
    arguments += ", " + name + ": " + type;
  }
  std::string name = "%x" + std::to_string(++count);
  out << indent << name << " = pe.sum" << (names.empty() ? "" : "(" + names + " : " + types + ")")
      << " attributes {count = " << node.integers[0] << " : i64} {\n"
      << indent << "^bb0(%k" << node.integers[1] << ": index" << arguments << "):\n";
  std::string value = printNode(node.children[0]);
  out << indent << "pe.yield " << value << " : f32\n" << indent << "}\n";
  return name;
}

std::string Printer::printMlp(const Node &node, const std::vector<std::string> &in) {
  return define("pe.mlp " + in[0] + " layers(" + listParameters(node.parameters, false) + " : " +
                listParameters(node.parameters, true) + ") {activation = #pe.activation<" +
                kActivations[node.integers[0]] + ">, final_activation = #pe.activation<" +
                kActivations[node.integers[1]] + ">}");
}

std::string Printer::printNode(const Node &node) {
  if (node.type == Type::Bias && node.children.size() == 1 && node.children[0].type == Type::F32)
    return printRegion(node);
  if (node.op == Op::Sum)
    return printSum(node);
  if (node.op == Op::Captured)
    return "%" + coordinates.at(&node) + "_";
  std::vector<std::string> in;
  for (const Node &child : node.children)
    in.push_back(printNode(child));
  return printOperation(node, in);
}

/// Scalar code; nothing for other nodes.
std::string Printer::printNumber(const Node &node, const std::vector<std::string> &in) {
  switch (node.op) {
  case Op::Scalar:
    return printScalar(node, in);
  case Op::Constant:
    return define("arith.constant " +
                  (node.type == Type::I1 ? std::string(node.integers[0] ? "true" : "false")
                   : isReal(node.type)   ? printReal(node.reals[0]) + " : "
                                         : std::to_string(node.integers[0]) + " : ") +
                  (node.type == Type::I1 ? "" : std::string(nameOf(node.type))));
  case Op::Batch:
    return "%b";
  case Op::Head:
    return "%h";
  case Op::Query:
    return "%i";
  case Op::Key:
    return "%j";
  case Op::Score:
    return "%s";
  case Op::HeadsTotal:
    return define("pe.heads_total");
  case Op::SumIndex:
    return "%k" + std::to_string(node.integers[1]);
  case Op::Square:
    return define("arith.mulf " + in[0] + ", " + in[0] + " : f32");
  case Op::GlobalHead:
    return define("pe.global_head " + in[0]);
  case Op::Read:
    return printRead(node, in);
  case Op::Select:
    return define("arith.select " + in[0] + ", " + in[1] + ", " + in[2] + " : " +
                  std::string(nameOf(node.type)));
  case Op::ToReal: {
    std::string wide = define("arith.index_cast " + in[0] + " : index to i64");
    return define("arith.sitofp " + wide + " : i64 to f32");
  }
  case Op::ToIndex: {
    std::string narrow = define("arith.fptosi " + in[0] + " : f32 to i32");
    return define("arith.index_cast " + narrow + " : i32 to index");
  }
  default:
    return {};
  }
}

/// A coordinate; nothing for other nodes.
std::string Printer::printCoordinate(const Node &node) {
  auto parameter = [&](size_t n) { return node.parameters.at(n); };
  switch (node.op) {
  case Op::Distance:
    return define("pe.distance");
  case Op::Relative:
    return define("pe.relative");
  case Op::QueryPosition:
    return define("pe.query_position");
  case Op::KeyPosition:
    return define("pe.key_position");
  case Op::LogDistance:
    return define("pe.log_distance" + printOperand("c", parameter(0)));
  case Op::Progressive:
    return define("pe.progressive" + printOperand("c", parameter(0)) +
                  printOperand("threshold", parameter(1)) + " {initial_length = " +
                  printReal(node.reals[0]) + ", epsilon = " + printReal(node.reals[1]) + "}");
  case Op::Bucket:
    return define("pe.bucket {buckets = " + std::to_string(node.integers[0]) + ", max_distance = " +
                  std::to_string(node.integers[1]) + (node.flag ? ", bidirectional = true}" : "}"));
  case Op::ClampedLog:
    return define("pe.clamped_log" + printOperand("threshold", parameter(0)));
  default:
    return {};
  }
}

/// A bias; nothing for other nodes.
std::string Printer::printBias(const Node &node, const std::vector<std::string> &in) {
  const std::string factor = " {factor = " + printReal(node.reals[0]) + "}";
  auto parameter = [&](size_t n) { return node.parameters.at(n); };
  switch (node.op) {
  case Op::Linear:
    return define(
        "pe.linear " + in[0] + printOperand("slope", parameter(0)) +
        printOperand("intercept", parameter(1)) + " {factor = " + printReal(node.reals[0]) +
        (node.integers[0]
             ? std::string(", rule = #pe.slope_rule<") + kSlopeRules[node.integers[0]] + ">"
             : "") +
        "}");
  case Op::Table:
    return define("pe.table " + in[0] + ", " + listParameters(node.parameters, false) + " : " +
                  listParameters(node.parameters, true));
  case Op::Power:
    return define("pe.power " + in[0] + printOperand("exponent", parameter(0)) +
                  printOperand("slope", parameter(1)) + factor);
  case Op::Mlp:
    return printMlp(node, in);
  case Op::CosineSum:
    return define("pe.cosine_sum " + in[0] + printOperand("amplitude", parameter(0)) +
                  " {terms = " + std::to_string(node.integers[0]) +
                  ", base = " + printReal(node.reals[0]) + "}");
  case Op::Add:
    return define("pe.add " + in[0] + ", " + in[1]);
  case Op::Scale:
    return define("pe.scale " + in[0] + factor);
  default:
    return {};
  }
}

/// As `holds` of Evaluate.cpp.
static std::string conditionText(int64_t kind, int64_t a) {
  const std::string n = "(" + std::to_string(a) + ")";
  const std::string texts[kMaskConditions] = {"j < " + n,
                                              "j >= " + n,
                                              "j == " + n,
                                              "j <= i or j < " + n,
                                              "j < " + n + " or j > i",
                                              "not (j < " + n + ") and i + 3 > j",
                                              "abs(i - j) <= " + n,
                                              "(i + j + h) % " + n + " == 0",
                                              "(b + i) % " + n + " != 1",
                                              "(i - j) % " + n + " == 0 and 2 * j - i < 7"};
  return texts[kind];
}

/// "#pe.rope_scaling<...>"
static std::string printScaling(const Node &node) {
  const std::string kind = kScalings[node.integers[1]];
  std::string text = "#pe.rope_scaling<" + kind + ", factor = " + printReal(node.reals[1]);
  if (kind != "linear" && kind != "ntk")
    text += ", original_length = " + std::to_string(kOriginalLength);
  if (kind == "yarn")
    text += ", beta_fast = " + printReal(kFast) + ", beta_slow = " + printReal(kSlow);
  if (kind == "llama3")
    text += ", high = " + printReal(kFast) + ", low = " + printReal(kSlow);
  return text + ">";
}

std::string Printer::printRotation(const Node &node) {
  const bool isTable = node.op == Op::RotationTable;
  const bool isLearned = !isTable && !node.parameters.empty();
  std::string attributes;
  auto add = [&](const std::string &text) {
    attributes += (attributes.empty() ? "" : ", ") + text;
  };
  if (!isTable && !isLearned)
    add("base = " + printReal(node.reals[0]));
  if (node.flag)
    add("interleaved = true");
  if (node.integers[0])
    add("rotary_dims = " + std::to_string(node.integers[0]));
  if (!isTable && node.integers[1])
    add("scaling = " + printScaling(node));
  std::string text = isTable ? "pe.rotation_table " : "pe.rotary";
  if (isTable)
    text += listParameters(node.parameters, false);
  if (isLearned)
    text += " " + listParameters(node.parameters, false) + " : " +
            listParameters(node.parameters, true);
  if (!attributes.empty())
    text += " {" + attributes + "}";
  return define(isTable ? text + " : " + listParameters(node.parameters, true) : text);
}

/// A mask or a rotation; nothing for other nodes.
std::string Printer::printMaskOrRotation(const Node &node, const std::vector<std::string> &in) {
  switch (node.op) {
  case Op::Causal:
    return define("pe.causal");
  case Op::StrictCausal:
    return define("pe.strict_causal");
  case Op::Window: {
    std::string sides;
    if (node.integers[0])
      sides = "left = " + std::to_string(node.integers[0]);
    if (node.integers[1])
      sides += (sides.empty() ? "" : ", ") + ("right = " + std::to_string(node.integers[1]));
    return define("pe.sliding_window {" + sides + "}");
  }
  case Op::MaskFn:
    return define("pe.mask_fn expr \"" + conditionText(node.integers[0], node.integers[1]) + "\"");
  case Op::MaskAnd:
    return define("pe.mask_and " + in[0] + ", " + in[1]);
  case Op::MaskOr:
    return define("pe.mask_or " + in[0] + ", " + in[1]);
  case Op::Rotary:
  case Op::RotationTable:
    return printRotation(node);
  default:
    return {};
  }
}

std::string Printer::printOperation(const Node &node, const std::vector<std::string> &in) {
  std::string text = printNumber(node, in);
  if (text.empty())
    text = printCoordinate(node);
  if (text.empty())
    text = printBias(node, in);
  if (text.empty())
    text = printMaskOrRotation(node, in);
  return text.empty() ? printRegion(node) : text;
}

std::string Printer::printArguments() const {
  std::string text;
  for (const char *name : {"q", "k", "v"})
    text += std::string(text.empty() ? "" : ",\n    ") + "%" + name +
            ": !t {pe.name = " + quote(name) + "}";
  for (const Parameter &parameter : program.parameters) {
    std::string init =
        "uniform(" + printReal(parameter.low) + "," + printReal(parameter.high) + ")";
    text += ",\n    %" + parameter.name + ": " + typeOf(parameter) +
            " {pe.name = " + quote(parameter.name) + ", pe.init = " + quote(init) +
            axesOf(parameter) + "}";
  }
  if (program.dropout > 0)
    text += std::string(",\n    %seed: ") +
            (program.hasSeedPerBatch ? "tensor<?xi64>" : "tensor<i64>") + " {pe.name = \"seed\"}";
  return text;
}

std::string Printer::printAttention(const std::vector<std::string> &biases,
                                    const std::string &rotation, const std::string &score,
                                    const std::string &mask) {
  const std::string seed = program.hasSeedPerBatch ? "tensor<?xi64>" : "tensor<i64>";
  std::string text = "pe.attention %q, %k, %v";
  for (size_t n = 0; n < biases.size(); ++n)
    text += (n ? ", " : " bias(") + biases[n] + (n + 1 == biases.size() ? ")" : "");
  if (!rotation.empty())
    text += " rotate(" + rotation + ")";
  if (!score.empty())
    text += " score(" + score + ")";
  if (program.sink)
    text += " sink(%" + program.parameters[program.sink->parameters[0]].name + " : tensor<?xf32>)";
  if (program.dropout > 0)
    text += " dropout(" + printReal(program.dropout) + ", %seed : " + seed + ")";
  if (!mask.empty())
    text += " mask(" + mask + ")";
  std::string attributes;
  if (program.isStickBreaking)
    attributes = "normalizer = #pe.normalizer<stick_breaking>";
  if (program.scale)
    attributes += (attributes.empty() ? "" : ", ") + ("scale = " + printReal(*program.scale));
  if (!attributes.empty())
    text += " {" + attributes + "}";
  return text + " : (!t, !t, !t) -> !t";
}

std::string Printer::print() {
  std::vector<std::string> biases;
  for (const Node &bias : program.biases)
    biases.push_back(printNode(bias));
  std::string rotation = program.rotation ? printNode(*program.rotation) : "";
  std::string score = program.score ? printNode(*program.score) : "";
  std::string mask = program.mask ? printNode(*program.mask) : "";
  std::string attention = printAttention(biases, rotation, score, mask);
  bool lse = program.hasLse;
  std::string text = "!t = tensor<?x?x?x?xf32>\nfunc.func @f(" + printArguments() +
                     ")\n    -> (!t {pe.name = \"o\"}";
  text += lse ? ", tensor<?x?x?xf32> {pe.name = \"lse\"}) {\n" : ") {\n";
  text += out.str();
  text +=
      lse ? "  %o, %lse = " + attention + ", tensor<?x?x?xf32>\n" : "  %o = " + attention + "\n";
  text += lse ? "  return %o, %lse : !t, tensor<?x?x?xf32>\n}\n" : "  return %o : !t\n}\n";
  return text;
}

} // namespace

std::string printProgram(const Program &program) { return Printer(program).print(); }

} // namespace pe::fuzz
