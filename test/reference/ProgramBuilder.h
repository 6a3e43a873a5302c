//===- ProgramBuilder.h - Neutral programs for tests ------------*- C++ -*-===//
//
// Writes the JSON of a user's function (runtime/reference/README.md) op by op, like the exporter of
// the compiler, so that the reference is tested without the compiler.
//
//   ProgramBuilder f;
//   int slopes = f.parameter("slopes", {heads});
//   int b = f.bias("pe.linear", {f.coordinate("pe.distance"), slopes}, {{"factor", -1.0}});
//   f.attention({b}, {}, f.mask("pe.causal"));
//   Program program = f.finish();
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_REFERENCE_PROGRAMBUILDER_H
#define PE_TEST_REFERENCE_PROGRAMBUILDER_H

#include "runtime/reference/ExportedProgram.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace pe::test {

class ProgramBuilder {
public:
  using Json = nlohmann::json;
  /// Represents the number of heads in the shape of a parameter.
  static constexpr int64_t heads = -1;

  struct Parameter {
    std::string name;
    std::vector<int64_t> dims;
    /// The range [low, high) of random values.
    double low;
    double high;
  };

  /// Starts with arguments q, k and v.
  ProgramBuilder();

  int parameter(const std::string &name, std::vector<int64_t> dims, double low = 0.1,
                double high = 1.0);
  /// Adds an argument of dynamic sizes with the axes `axes` (pe.axes).
  int data(const std::string &name, const std::vector<std::string> &axes);
  int coordinate(const std::string &op, std::vector<int> operands = {}, Json attributes = {});
  int bias(const std::string &op, std::vector<int> operands, Json attributes = {});
  int rotation(const std::string &op, Json attributes = {}, std::vector<int> operands = {});
  int mask(const std::string &op, std::vector<int> operands = {}, Json attributes = {});

  /// Adds a pe.bias_fn that captures `tensors`. `write` receives the region's values b, h, i, j and
  /// one per tensor, adds operations with `scalar`, and returns the value to yield.
  template <typename Write> int biasFunction(const std::vector<int> &tensors, Write write) {
    return region("pe.bias_fn", "!pe.bias", 4, tensors, write);
  }
  /// Same for a pe.score_fn, with s before b.
  template <typename Write> int scoreFunction(const std::vector<int> &tensors, Write write) {
    return region("pe.score_fn", "!pe.score", 5, tensors, write);
  }
  /// Same for a pe.mask_fn, which yields an i1.
  template <typename Write> int maskFunction(const std::vector<int> &tensors, Write write) {
    return region("pe.mask_fn", "!pe.mask", 4, tensors, write);
  }
  template <typename Write>
  int region(const char *op, const char *type, size_t leading, const std::vector<int> &tensors,
             Write write) {
    Json outer = std::move(operations);
    operations = Json::array();
    std::vector<int> arguments;
    for (size_t n = 0; n < leading + tensors.size(); ++n)
      arguments.push_back(next++);
    int result = write(arguments);
    add("pe.yield", {result}, {}, {});
    Json body = {{"args", arguments}, {"ops", std::move(operations)}};
    operations = std::move(outer);
    int value = add(op, tensors, {type}, {});
    operations.back()["regions"] = Json::array({std::move(body)});
    return value;
  }
  int scalar(const std::string &op, std::vector<int> operands, const std::string &type = "f32",
             Json attributes = {});
  int number(double value);

  /// Options of an attention of q, k and v, by default the arguments. The function returns its
  /// results as `name` and, if not empty, `lseName`.
  struct AttentionOptions {
    std::string normalizer = "softmax";
    double scale = 0.0; ///< 0: absent
    std::string name = "o";
    std::string lseName;
    int q = 0, k = 1, v = 2;
    int score = -1;                   ///< -1: no score function
    int valueRotation = -1;           ///< -1: values are not rotated
    Json attributes = Json::object(); ///< further attributes
  };
  /// Adds an attention and returns the value of its output.
  int attention(const std::vector<int> &biases, const std::vector<int> &rotations, int mask,
                const AttentionOptions &options);
  int attention(const std::vector<int> &biases, const std::vector<int> &rotations, int mask) {
    return attention(biases, rotations, mask, AttentionOptions());
  }
  static constexpr int noMask = -1;

  std::string json() const;
  /// Parses the program; ends the process if that fails.
  reference::Program finish() const;
  const std::vector<Parameter> &parameters() const { return parameterList; }

  /// Adds an operation with one result per type and returns the first result.
  int add(const std::string &op, const std::vector<int> &operands,
          const std::vector<std::string> &types, Json attributes);

private:
  Json arguments = Json::array();
  Json operations = Json::array();
  Json returns = Json::array();
  std::vector<Parameter> parameterList;
  int next = 0;
};

} // namespace pe::test

#endif // PE_TEST_REFERENCE_PROGRAMBUILDER_H
