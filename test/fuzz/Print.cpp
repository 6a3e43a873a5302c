//===- Print.cpp - Prints a generated program as MLIR ---------------------===//

#include "fuzz/Print.h"

#include "fuzz/Printer.h"

#include <algorithm>

namespace pe::fuzz {

std::string quote(const std::string &text) { return "\"" + text + "\""; }

std::string typeOf(const Parameter &parameter) {
  std::string text = "tensor<";
  for (int64_t dim : parameter.dims)
    text += (dim < 0 ? "?" : std::to_string(dim)) + "x";
  return text + (parameter.isWhole ? "i32>" : "f32>");
}

/// Returns ", pe.axes = [...]" for data, or "" for parameters.
static std::string axesOf(const Parameter &parameter) {
  std::string words;
  const bool areQueries = parameter.dims.size() == 4; // of a content term
  for (int64_t dim : parameter.dims)
    words += (words.empty() ? "" : ", ") + quote(dim < 0      ? kAxisWords[-dim - 1]
                                                 : areQueries ? "rank"
                                                              : "other" + std::to_string(dim));
  return isData(parameter) ? ", pe.axes = [" + words + "]" : "";
}

std::string Printer::printOperand(const std::string &word, int parameter) const {
  return parameter == kNoParameter ? "" : " " + word + "(" + listTyped({parameter}) + ")";
}

std::string Printer::listParameters(const std::vector<int> &parameters, bool types) const {
  std::string text;
  for (int parameter : parameters) {
    const Parameter &found = program.parameters[parameter];
    text += (text.empty() ? "" : ", ") + (types ? typeOf(found) : "%" + found.name);
  }
  return text;
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
  std::string name = printNumber(node, in);
  if (name.empty())
    name = printCoordinate(node);
  if (name.empty())
    name = printBias(node, in);
  if (name.empty())
    name = printMaskOrRotation(node, in);
  return name;
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
                                    const std::string &rotation, const std::string &valueRotation,
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
    text +=
        " prologue(" + define("pe.query_shift " + listTyped(program.queryShift->parameters)) + ")";
  if (!rotation.empty())
    text += " rotate(" + rotation + ")";
  if (!valueRotation.empty())
    text += " rotate_values(" + valueRotation + ")";
  clause("content", contents);
  std::vector<int> queries;
  for (const Node &content : program.contents)
    if (content.parameters[2] != kNoParameter)
      queries.push_back(content.parameters[2]);
  if (!queries.empty())
    text += " query(" + listTyped(queries) + ")";
  if (!score.empty())
    text += " score(" + score + ")";
  if (program.sink)
    text += printOperand("sink", program.sink->parameters[0]);
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
  add(!program.plainNormalizer.empty(),
      "normalizer = #pe.normalizer<" + program.plainNormalizer + ">");
  add(program.attendsCurrent, "attend_current");
  add(program.keepsRemainder, "remainder = #pe.remainder<value>");
  add(program.hasBothSides, "direction = #pe.direction<both>");
  add(program.scalesByDepth, "scale_by_depth");
  add(program.scale.has_value(), "scale = " + printReal(program.scale.value_or(0)));
  if (!attributes.empty())
    text += " {" + attributes + "}";
  return text + " : (!t, !t, !t) -> !t";
}

std::string Printer::printMerge() const {
  std::string text = "  %o, %lse = pe.merge %o1, %lse1, %o2, %lse2";
  if (program.sink)
    text += printOperand("sink", program.sink->parameters[0]);
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
  std::string valueRotation = program.valueRotation ? printNode(*program.valueRotation) : "";
  for (const Node &content : program.contents)
    contents.push_back(printNode(content));
  std::string score = program.score ? printNode(*program.score) : "";
  const std::string factor = program.factor ? printNode(*program.factor) : "";
  std::string mask = program.mask ? printNode(*program.mask) : "";
  std::string attention =
      printAttention(biases, rotation, valueRotation, contents, score, factor, mask);
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

std::string printProgram(const Program &program) { return Printer(program).print(); }

std::string printRunOptions(const Program &program) {
  const Sizes &sizes = program.sizes;
  std::ostringstream out;
  out << "--random=" << program.seed << " --shape=b=" << sizes.batch;
  if (program.entry == Entry::Embed)
    out << ",sq=" << sizes.queries << ",dm=" << sizes.width;
  else
    out << ",h=" << sizes.queryHeads << ",hkv=" << sizes.keyHeads << ",sq=" << sizes.queries
        << ",sk=" << sizes.keys << ",d=" << sizes.headDim << ",dv=" << sizes.valueDim;
  for (int64_t axis : {kRows, kBoundaries})
    if (std::ranges::any_of(program.parameters, [&](const Parameter &parameter) {
          return std::ranges::find(parameter.dims, axis) != parameter.dims.end();
        }))
      out << "," << kAxisWords[-axis - 1] << "=" << sizes.extentOf(axis);
  const Positions &positions = program.positions;
  if (positions.queryStart)
    out << " --q-start=" << *positions.queryStart;
  if (positions.keyStart)
    out << " --k-start=" << positions.keyStart;
  if (positions.headStart)
    out << " --head-start=" << positions.headStart;
  if (positions.headsTotal)
    out << " --heads-total=" << *positions.headsTotal;
  out << " --grad --check";
  return out.str();
}

} // namespace pe::fuzz
