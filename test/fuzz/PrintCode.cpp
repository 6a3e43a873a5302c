//===- PrintCode.cpp - Prints scalar code as regions ----------------------===//

#include "fuzz/Printer.h"

namespace pe::fuzz {

/// The arguments of regions.
static constexpr std::pair<Op, const char *> kLeaves[] = {
    {Op::Batch, "%b"}, {Op::Head, "%h"}, {Op::Query, "%i"},   {Op::Key, "%j"}, {Op::Score, "%s"},
    {Op::Token, "%p"}, {Op::Dim, "%d"},  {Op::Width, "%dim"}, {Op::End, "%n"}};

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

namespace {
/// The name, region arguments and form of an op with code.
struct RegionForm {
  const char *name, *arguments;
  bool isText;
};
} // namespace

static RegionForm formOf(Op op) {
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

/// Prints the clauses of a content term, whose factor is another op.
std::string Printer::printContentClauses(const Node &node) {
  if (node.op != Op::ContentRegion && node.op != Op::ContentFormula)
    return "";
  std::string text =
      printOperand("shift", node.parameters[0]) + printOperand("project", node.parameters[1]);
  if (node.children.size() > 1)
    text += " times(" + printNode(node.children[1]) + ")";
  if (node.integers[0])
    text += " extent(" + std::to_string(node.integers[0]) + ")";
  return text;
}

std::string Printer::printRegion(const Node &node) {
  const RegionForm form = formOf(node.op);
  std::vector<int> captures = parametersOf(node.children[0]);
  std::string names = listParameters(captures, false), types = listParameters(captures, true);
  std::string arguments;
  for (int capture : captures)
    arguments +=
        ", %" + program.parameters[capture].name + "_: " + typeOf(program.parameters[capture]);
  walk(node.children[0], [&](const Node &inner) {
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
  text += printContentClauses(node);
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

} // namespace pe::fuzz
