//===- ProgramBuilder.cpp - Neutral programs for tests --------------------===//

#include "reference/ProgramBuilder.h"

#include <cstdio>
#include <cstdlib>

namespace pe::test {

ProgramBuilder::ProgramBuilder() {
  for (const char *name : {"q", "k", "v"})
    arguments.push_back({{"id", next++}, {"name", name}, {"type", "tensor<?x?x?x?xf32>"}});
}

int ProgramBuilder::parameter(const std::string &name, std::vector<int64_t> dims, double low,
                              double high) {
  std::string type = "tensor<";
  for (int64_t dim : dims)
    type += (dim == heads ? "?" : std::to_string(dim)) + "x";
  int id = next++;
  arguments.push_back({{"id", id}, {"name", name}, {"type", type + "f32>"}});
  parameterList.push_back({name, std::move(dims), low, high});
  return id;
}

int ProgramBuilder::data(const std::string &name, const std::vector<std::string> &axes) {
  std::string type = "tensor<";
  for (size_t axis = 0; axis < axes.size(); ++axis)
    type += "?x";
  int id = next++;
  arguments.push_back(
      {{"id", id}, {"name", name}, {"type", type + "f32>"}, {"attrs", {{"pe.axes", axes}}}});
  return id;
}

int ProgramBuilder::add(const std::string &op, const std::vector<int> &operands,
                        const std::vector<std::string> &types, Json attributes) {
  std::vector<int> results;
  for (size_t n = 0; n < types.size(); ++n)
    results.push_back(next++);
  operations.push_back({{"op", op},
                        {"operands", operands},
                        {"results", results},
                        {"types", types},
                        {"attrs", attributes.is_null() ? Json::object() : std::move(attributes)},
                        {"regions", Json::array()},
                        {"loc", "test.mlir:" + std::to_string(operations.size() + 1) + ":1"}});
  return results.empty() ? -1 : results[0];
}

int ProgramBuilder::coordinate(const std::string &op, std::vector<int> operands, Json attributes) {
  return add(op, operands, {"!pe.coordinate"}, std::move(attributes));
}
int ProgramBuilder::bias(const std::string &op, std::vector<int> operands, Json attributes) {
  return add(op, operands, {"!pe.bias"}, std::move(attributes));
}
int ProgramBuilder::rotation(const std::string &op, Json attributes, std::vector<int> operands) {
  return add(op, operands, {"!pe.rotation"}, std::move(attributes));
}
int ProgramBuilder::mask(const std::string &op, std::vector<int> operands, Json attributes) {
  return add(op, operands, {"!pe.mask"}, std::move(attributes));
}
int ProgramBuilder::scalar(const std::string &op, std::vector<int> operands,
                           const std::string &type, Json attributes) {
  return add(op, operands, {type}, std::move(attributes));
}
int ProgramBuilder::number(double value) {
  return scalar("arith.constant", {}, "f32", {{"value", value}});
}

int ProgramBuilder::attention(const std::vector<int> &biases, const std::vector<int> &rotations,
                              int mask, const AttentionOptions &options) {
  std::vector<int> operands = {options.q, options.k, options.v};
  operands.insert(operands.end(), biases.begin(), biases.end());
  operands.insert(operands.end(), rotations.begin(), rotations.end());
  if (options.score >= 0)
    operands.push_back(options.score);
  if (mask != noMask)
    operands.push_back(mask);
  Json sizes = {1,
                1,
                1,
                biases.size(),
                0,
                rotations.size(),
                options.score >= 0 ? 1 : 0,
                mask != noMask ? 1 : 0};
  if (options.valueRotation >= 0) {
    operands.push_back(options.valueRotation);
    while (sizes.size() < 16)
      sizes.push_back(0);
    sizes.push_back(1);
  }
  Json attributes = {{"normalizer", "#pe.normalizer<" + options.normalizer + ">"},
                     {"operandSegmentSizes", sizes}};
  attributes.update(options.attributes);
  if (options.scale != 0.0)
    attributes["scale"] = options.scale;
  std::vector<std::string> types = {"tensor<?x?x?x?xf32>"};
  if (!options.lseName.empty())
    types.push_back("tensor<?x?x?xf32>");
  int output = add("pe.attention", operands, types, std::move(attributes));
  if (!options.name.empty())
    returns.push_back({{"id", output}, {"name", options.name}});
  if (!options.lseName.empty())
    returns.push_back({{"id", output + 1}, {"name", options.lseName}});
  return output;
}

std::string ProgramBuilder::json() const {
  return Json{{"name", "attention"}, {"args", arguments}, {"ops", operations}, {"returns", returns}}
      .dump(1);
}

reference::Program ProgramBuilder::finish() const {
  auto program = reference::parseProgram(json());
  if (!program) {
    std::fprintf(stderr, "%s\n", program.error().render("ProgramBuilder").c_str());
    std::exit(1);
  }
  return std::move(*program);
}

} // namespace pe::test
