//===- PrintOperations.cpp - Prints the ops of coordinates, biases, masks -===//

#include "fuzz/Printer.h"

namespace pe::fuzz {

std::string Printer::printMlp(const Node &node, const std::vector<std::string> &in) {
  return define("pe.mlp " + in[0] + " layers(" + listTyped(node.parameters) +
                ") {activation = #pe.activation<" + kActivations[node.integers[0]] +
                ">, final_activation = #pe.activation<" + kActivations[node.integers[1]] + ">}");
}

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
    return define("pe.table " + in[0] + ", " + listTyped(node.parameters));
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

static std::string printPairFactors(int64_t pairs, bool isLong) {
  std::string list;
  for (int64_t pair = 0; pair < pairs; ++pair)
    list += (pair ? ", " : "") + printReal(pairFactor(pair, isLong));
  return "[" + list + "]";
}

/// Prints "#pe.rope_scaling<...>" for a rotation of `dims` dims.
static std::string printScaling(const Node &node, int64_t dims) {
  const reference::RopeKind &kind = reference::kRopeKinds[node.integers[1] - 1];
  std::string text =
      "#pe.rope_scaling<" + std::string(kind.name) + ", factor = " + printReal(node.reals[1]);
  if (kind.hasLength)
    text += ", original_length = " + std::to_string(kOriginalLength);
  if (kind.hasFactors)
    text += ", short_factor = " + printPairFactors(dims / 2, false) +
            ", long_factor = " + printPairFactors(dims / 2, true);
  if (kind.second.name)
    return text + ", " + kind.first.name + " = " + printReal(kFast) + ", " + kind.second.name +
           " = " + printReal(kSlow) + ">";
  if (kind.first.name)
    text += ", " + std::string(kind.first.name) + " = " +
            printReal(kind.hasFactors ? kAttentionFactor : kRotatedShare);
  return text + ">";
}

std::string Printer::printRotation(const Node &node) {
  const bool isTable = node.op == Op::RotationTable;
  const bool hasAxes = !isTable && node.integers[3] != kNoAxes;
  const bool isLearned = !isTable && !hasAxes && !node.parameters.empty();
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
  if (node.integers[2])
    add("trailing = true");
  if (hasAxes)
    add("sections = [3, 2, 3], sections_of = 8");
  if (node.integers[3] == kAlternating)
    add("alternating = true");
  if (node.integers[3] == kRestarting)
    add("restart = true");
  if (!isTable && node.integers[1])
    add("scaling = " +
        printScaling(node, node.integers[0] ? node.integers[0] : program.sizes.headDim));
  std::string text = isTable ? "pe.rotation_table " : "pe.rotary";
  if (isTable)
    text += listParameters(node.parameters, false);
  if (isLearned)
    text += " " + listTyped(node.parameters);
  if (hasAxes)
    text += " positions(" + listTyped(node.parameters) + ")";
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
  if (node.integers[2])
    attributes += ", trailing = true";
  return define("pe.rotation_fn(" + listTyped(node.parameters) + ") attributes {" + attributes +
                "} expr \"" + formula + "\"");
}

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
    return define("pe.documents " + listTyped(node.parameters) +
                  (node.flag ? " {restart = true}" : ""));
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

} // namespace pe::fuzz
