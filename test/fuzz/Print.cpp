//===- Print.cpp - Prints a generated program as MLIR ---------------------===//
//
// Post order: the children of a node are printed before it, each as a separate value. Formulas
// are printed as text, by the templates of ScalarOperations.
//
//===----------------------------------------------------------------------===//

#include "fuzz/Print.h"

#include "fuzz/Formulas.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace pe::fuzz {
namespace {

std::string quote(const std::string &text) { return "\"" + text + "\""; }

std::string typeOf(const Parameter &parameter) {
  std::string text = "tensor<";
  for (int64_t dim : parameter.dims)
    text += (dim < 0 ? "?" : std::to_string(dim)) + "x";
  return text + (parameter.isWhole ? "i32>" : "f32>");
}

/// Returns ", pe.axes = [...]" for data, or "" for parameters.
std::string axesOf(const Parameter &parameter) {
  std::string words;
  for (int64_t dim : parameter.dims)
    words += (words.empty() ? "" : ", ") +
             quote(dim < 0 ? kAxisWords[-dim - 1] : "other" + std::to_string(dim));
  return isData(parameter) ? ", pe.axes = [" + words + "]" : "";
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The arguments of regions.
constexpr std::pair<Op, const char *> kLeaves[] = {
    {Op::Batch, "%b"}, {Op::Head, "%h"}, {Op::Query, "%i"},   {Op::Key, "%j"}, {Op::Score, "%s"},
    {Op::Token, "%p"}, {Op::Dim, "%d"},  {Op::Width, "%dim"}, {Op::End, "%n"}};

class Printer {
public:
  explicit Printer(const Program &program) : program(program) {}

  std::string print();

private:
  std::string printArguments() const;
  std::string printAttention(const std::vector<std::string> &biases, const std::string &rotation,
                             const std::vector<std::string> &contents, const std::string &score,
                             const std::string &factor, const std::string &mask);
  std::string printMerge() const;
  /// Prints the tree of the node; returns the name of its value.
  std::string printNode(const Node &node);
  std::string printScalar(const Node &node, const std::vector<std::string> &in);
  std::string printOperation(const Node &node, const std::vector<std::string> &in);
  std::string printNumber(const Node &node, const std::vector<std::string> &in);
  std::string printCoordinate(const Node &node);
  std::string printBias(const Node &node, const std::vector<std::string> &in);
  std::string printMaskOrRotation(const Node &node, const std::vector<std::string> &in);
  std::string printRotation(const Node &node);
  std::string printFrequencies(const Node &node);
  std::string printRead(const Node &node, const std::vector<std::string> &in);
  std::string printMlp(const Node &node, const std::vector<std::string> &in);
  std::string printRegion(const Node &node);
  std::string printSum(const Node &node);
  std::map<std::string, std::string> inputsOf(const Node &sum) const;

  std::string define(const std::string &operation) {
    std::string name = "%x" + std::to_string(++count);
    out << indent << name << " = " << operation << "\n";
    return name;
  }
  /// "c(%a0 : tensor<?xf32>) ", or "" if there is no parameter.
  std::string printOperand(const std::string &word, int parameter) const;
  std::string listParameters(const std::vector<int> &parameters, bool types) const;

  const Program &program;
  std::ostringstream out;
  std::string indent = "  ";
  std::string inside; ///< one letter per enclosing sum
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
  std::string element = define("pe.read %" + parameter.name + "_" + inside + "[" + indices +
                               "] : " + typeOf(parameter));
  return parameter.isWhole ? define("arith.index_cast " + element + " : i32 to index") : element;
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

/// The name, region arguments and form of an op with code.
struct RegionForm {
  const char *name, *arguments;
  bool isText;
};

RegionForm formOf(Op op) {
  const char *pair = "%b: index, %h: index, %i: index, %j: index";
  const char *scored = "%s: f32, %b: index, %h: index, %i: index, %j: index";
  const char *vector = "%b: index, %h: index, %i: index, %j: index, %d: index, %dim: index";
  const char *token = "%p: index, %d: index, %dim: index, %n: index";
  switch (op) {
  case Op::ScoreRegion:
  case Op::ScoreFormula:
    return {"pe.score_fn", scored, op == Op::ScoreFormula};
  case Op::FactorRegion:
  case Op::FactorFormula:
    return {"pe.factor_fn", pair, op == Op::FactorFormula};
  case Op::MaskRegion:
  case Op::MaskFormula:
    return {"pe.mask_fn", pair, op == Op::MaskFormula};
  case Op::ContentRegion:
  case Op::ContentFormula:
    return {"pe.content_fn", vector, op == Op::ContentFormula};
  case Op::EmbeddingRegion:
  case Op::EmbeddingFormula:
    return {"pe.embedding_fn", token, op == Op::EmbeddingFormula};
  default:
    return {"pe.bias_fn", pair, op == Op::Formula};
  }
}

std::string Printer::printRegion(const Node &node) {
  const RegionForm form = formOf(node.op);
  std::vector<int> captures = parametersOf(node.children[0]);
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
  std::string text = form.name;
  if (!names.empty())
    text += "(" + names + " : " + types + ")";
  const char *words[] = {"shift", "project"};
  for (size_t n = 0; n < node.parameters.size(); ++n)
    text += printOperand(words[n], node.parameters[n]);
  if (form.isText)
    return define(text + " expr " + quote(printFormula(program, node.children[0], coordinates)));
  std::string name = "%x" + std::to_string(++count);
  out << indent << name << " = " << text << " {\n  ^bb0(" << form.arguments << arguments << "):\n";
  indent = "    ";
  std::string value = printNode(node.children[0]);
  out << indent << "pe.yield " << value << " : " << nameOf(node.children[0].type) << "\n";
  indent = "  ";
  out << "  }\n";
  return name;
}

/// Returns the outer values that the body of a sum reads, by name, with their types.
std::map<std::string, std::string> Printer::inputsOf(const Node &sum) const {
  std::map<std::string, std::string> inputs;
  walk(sum.children[0], [&](const Node &inner) {
    for (auto [op, name] : kLeaves)
      if (inner.op == op)
        inputs[name] = op == Op::Score ? "f32" : "index";
    if (inner.op == Op::Captured)
      inputs["%" + coordinates.at(&inner) + "_"] = "f32";
    if (inner.op == Op::SumIndex && inner.integers[1] < sum.integers[1]) // of an enclosing sum
      inputs["%k" + std::to_string(inner.integers[1])] = "index";
    if (inner.op == Op::Read || inner.op == Op::AxisSize) {
      const Parameter &parameter = program.parameters[inner.parameters[0]];
      inputs["%" + parameter.name + "_"] = typeOf(parameter);
    }
  });
  return inputs;
}

/// Names in the body have one more letter than outside, so that no name is defined twice.
std::string Printer::printSum(const Node &node) {
  const std::string around = inside;
  inside += "s";
  std::string names, types, arguments;
  for (const auto &[name, type] : inputsOf(node)) {
    names += (names.empty() ? "" : ", ") + name + around;
    types += (types.empty() ? "" : ", ") + type;
    arguments += ", " + name + inside + ": " + type;
  }
  std::string name = "%x" + std::to_string(++count);
  out << indent << name << " = pe.sum" << (names.empty() ? "" : "(" + names + " : " + types + ")")
      << " attributes {count = " << node.integers[0] << " : i64} {\n"
      << indent << "^bb0(%k" << node.integers[1] << inside << ": index" << arguments << "):\n";
  std::string value = printNode(node.children[0]);
  out << indent << "pe.yield " << value << " : f32\n" << indent << "}\n";
  inside = around;
  return name;
}

std::string Printer::printMlp(const Node &node, const std::vector<std::string> &in) {
  return define("pe.mlp " + in[0] + " layers(" + listParameters(node.parameters, false) + " : " +
                listParameters(node.parameters, true) + ") {activation = #pe.activation<" +
                kActivations[node.integers[0]] + ">, final_activation = #pe.activation<" +
                kActivations[node.integers[1]] + ">}");
}

std::string Printer::printNode(const Node &node) {
  if (isRegion(node.op))
    return printRegion(node);
  if (node.op == Op::Sum)
    return printSum(node);
  if (node.op == Op::Captured)
    return "%" + coordinates.at(&node) + "_" + inside;
  std::vector<std::string> in;
  for (const Node &child : node.children)
    in.push_back(printNode(child));
  return printOperation(node, in);
}

/// Prints scalar code; returns "" for other nodes.
std::string Printer::printNumber(const Node &node, const std::vector<std::string> &in) {
  for (auto [op, name] : kLeaves)
    if (node.op == op)
      return name + inside;
  switch (node.op) {
  case Op::Scalar:
    return printScalar(node, in);
  case Op::Constant:
    return define("arith.constant " +
                  (node.type == Type::I1 ? std::string(node.integers[0] ? "true" : "false")
                   : isReal(node.type)   ? printReal(node.reals[0]) + " : "
                                         : std::to_string(node.integers[0]) + " : ") +
                  (node.type == Type::I1 ? "" : std::string(nameOf(node.type))));
  case Op::HeadsTotal:
    return define("pe.heads_total");
  case Op::AxisSize: {
    const Parameter &parameter = program.parameters[node.parameters[0]];
    return define("pe.axis_size %" + parameter.name + "_" + inside + ", " +
                  std::to_string(node.integers[0]) + " : " + typeOf(parameter));
  }
  case Op::SumIndex:
    return "%k" + std::to_string(node.integers[1]) + inside;
  case Op::Waves: {
    const std::string two = define("arith.constant 2 : index");
    const std::string parity = define("arith.remui %d" + inside + ", " + two + " : index");
    const std::string zero = define("arith.constant 0 : index");
    const std::string isEven = define("arith.cmpi eq, " + parity + ", " + zero + " : index");
    const std::string sine = define("math.sin " + in[0] + " : f32");
    const std::string cosine = define("math.cos " + in[0] + " : f32");
    return define("arith.select " + isEven + ", " + sine + ", " + cosine + " : f32");
  }
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

/// Prints a coordinate; returns "" for other nodes.
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

/// Prints a bias; returns "" for other nodes.
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

/// Prints "#pe.rope_scaling<...>".
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

std::string Printer::printFrequencies(const Node &node) {
  const Parameter &base = program.parameters[node.parameters[0]];
  const std::string names[] = {base.name + (base.dims.empty() ? "" : "[h]"),
                               program.parameters[node.parameters[1]].name + "[p]"};
  std::string formula;
  for (const char *at = kFrequencies[node.integers[1]]; *at; ++at)
    formula += *at == 'B' ? names[0] : *at == 'F' ? names[1] : std::string(1, *at);
  std::string attributes = "magnitude = " + printReal(node.reals[0]);
  if (node.flag)
    attributes += ", interleaved = true";
  if (node.integers[0])
    attributes += ", rotary_dims = " + std::to_string(node.integers[0]);
  return define("pe.rotation_fn(" + listParameters(node.parameters, false) + " : " +
                listParameters(node.parameters, true) + ") attributes {" + attributes +
                "} expr \"" + formula + "\"");
}

/// Prints a mask or a rotation; returns "" for other nodes.
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
  case Op::Documents:
    return define("pe.documents " + listParameters(node.parameters, false) + " : " +
                  listParameters(node.parameters, true) + (node.flag ? " {restart = true}" : ""));
  case Op::MaskAnd:
    return define("pe.mask_and " + in[0] + ", " + in[1]);
  case Op::MaskOr:
    return define("pe.mask_or " + in[0] + ", " + in[1]);
  case Op::Rotary:
  case Op::RotationTable:
    return printRotation(node);
  case Op::RotationFn:
    return printFrequencies(node);
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
  return text;
}

std::string Printer::printArguments() const {
  std::string text;
  const std::vector<std::string> names[] = {{"q", "k", "v"}, {"o1", "lse1", "o2", "lse2"}, {"x"}};
  for (const std::string &name : names[static_cast<size_t>(program.entry)])
    text += std::string(text.empty() ? "" : ",\n    ") + "%" + name + ": " +
            (name.starts_with("lse") ? "!r" : "!t") + " {pe.name = " + quote(name) + "}";
  for (const Parameter &parameter : program.parameters) {
    std::string init =
        parameter.isWhole
            ? "integers(" + std::to_string(static_cast<int64_t>(parameter.low)) + "," +
                  std::to_string(static_cast<int64_t>(parameter.high)) + ")"
            : "uniform(" + printReal(parameter.low) + "," + printReal(parameter.high) + ")";
    const std::string absent =
        parameter.absent == kNoParameter
            ? ""
            : ", pe.absent = " + quote(program.parameters[parameter.absent].name);
    text += ",\n    %" + parameter.name + ": " + typeOf(parameter) +
            " {pe.name = " + quote(parameter.name) + ", pe.init = " + quote(init) +
            axesOf(parameter) + absent + "}";
  }
  if (program.dropout > 0)
    text += std::string(",\n    %seed: ") +
            (program.hasSeedPerBatch ? "tensor<?xi64>" : "tensor<i64>") + " {pe.name = \"seed\"}";
  return text;
}

std::string Printer::printAttention(const std::vector<std::string> &biases,
                                    const std::string &rotation,
                                    const std::vector<std::string> &contents,
                                    const std::string &score, const std::string &factor,
                                    const std::string &mask) {
  const std::string seed = program.hasSeedPerBatch ? "tensor<?xi64>" : "tensor<i64>";
  std::string text = "pe.attention %q, %k, %v";
  auto clause = [&](const char *word, const std::vector<std::string> &names) {
    for (size_t n = 0; n < names.size(); ++n)
      text += (n ? ", " : std::string(" ") + word + "(") + names[n] +
              (n + 1 == names.size() ? ")" : "");
  };
  clause("bias", biases);
  if (program.queryShift)
    text += " prologue(" +
            define("pe.query_shift " + listParameters(program.queryShift->parameters, false) +
                   " : " + listParameters(program.queryShift->parameters, true)) +
            ")";
  if (!rotation.empty())
    text += " rotate(" + rotation + ")";
  clause("content", contents);
  if (!score.empty())
    text += " score(" + score + ")";
  if (program.sink)
    text += " sink(%" + program.parameters[program.sink->parameters[0]].name + " : tensor<?xf32>)";
  if (!factor.empty())
    text += " factor(" + factor + ")";
  if (program.dropout > 0)
    text += " dropout(" + printReal(program.dropout) + ", %seed : " + seed + ")";
  if (!program.given.empty())
    text += " positions(%" + program.parameters[program.given[0].parameters[0]].name + ", %" +
            program.parameters[program.given[1].parameters[0]].name +
            " : tensor<?x?xi32>, tensor<?x?xi32>)";
  if (!mask.empty())
    text += " mask(" + mask + ")";
  std::string attributes;
  auto add = [&](bool isGiven, const std::string &attribute) {
    if (isGiven)
      attributes += (attributes.empty() ? "" : ", ") + attribute;
  };
  add(program.isStickBreaking, "normalizer = #pe.normalizer<stick_breaking>");
  add(program.attendsCurrent, "attend_current");
  add(program.keepsRemainder, "remainder = #pe.remainder<value>");
  add(program.hasBothSides, "direction = #pe.direction<both>");
  add(program.scale.has_value(), "scale = " + printReal(program.scale.value_or(0)));
  if (!attributes.empty())
    text += " {" + attributes + "}";
  return text + " : (!t, !t, !t) -> !t";
}

std::string Printer::printMerge() const {
  std::string text = "  %o, %lse = pe.merge %o1, %lse1, %o2, %lse2";
  if (program.sink)
    text += " sink(%" + program.parameters[program.sink->parameters[0]].name + " : tensor<?xf32>)";
  if (program.isStickBreaking)
    text += " {normalizer = #pe.normalizer<stick_breaking>}";
  return text + " : (!t, !r, !t, !r) -> !t, !r\n";
}

std::string Printer::print() {
  if (program.entry == Entry::Merge)
    return "!t = tensor<?x?x?x?xf32>\n!r = tensor<?x?x?xf32>\nfunc.func @merge(" +
           printArguments() + ")\n    -> (!t {pe.name = \"o\"}, !r {pe.name = \"lse\"}) {\n" +
           printMerge() + "  return %o, %lse : !t, !r\n}\n";
  if (program.entry == Entry::Embed) {
    const std::string embedding = printNode(*program.embedding);
    return "!t = tensor<?x?x?xf32>\nfunc.func @embed(" + printArguments() +
           ")\n    -> (!t {pe.name = \"y\"}) {\n" + out.str() + "  %y = pe.embed %x, " + embedding +
           " : !t\n  return %y : !t\n}\n";
  }
  std::vector<std::string> biases, contents;
  for (const Node &bias : program.biases)
    biases.push_back(printNode(bias));
  std::string rotation = program.rotation ? printNode(*program.rotation) : "";
  for (const Node &content : program.contents)
    contents.push_back(printNode(content));
  std::string score = program.score ? printNode(*program.score) : "";
  const std::string factor = program.factor ? printNode(*program.factor) : "";
  std::string mask = program.mask ? printNode(*program.mask) : "";
  std::string attention = printAttention(biases, rotation, contents, score, factor, mask);
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
