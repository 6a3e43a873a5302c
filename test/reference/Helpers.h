//===- Helpers.h - Helpers for the tests of the reference -------*- C++ -*-===//

#ifndef PE_TEST_REFERENCE_HELPERS_H
#define PE_TEST_REFERENCE_HELPERS_H

#include "reference/Encodings.h"
#include "runtime/reference/Reference.h"

#include <array>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>

namespace pe::test {

/// Evaluates the program; an error fails the test and returns empty results.
inline reference::Results evaluated(const reference::Program &program, const TensorMap &inputs,
                                    bool grad = false, const Positions &positions = {},
                                    unsigned threads = 1) {
  auto results =
      reference::evaluate(program, inputs, positions, grad, {.rounding = {}, .threads = threads});
  if (!results) {
    ADD_FAILURE() << results.error().render("evaluate");
    return {};
  }
  return std::move(*results);
}

inline Tensor doubles(std::vector<double> values, Shape shape) {
  return Tensor::of(values, std::move(shape));
}

/// Expects that all elements are equal within an absolute tolerance.
inline void expectNear(const Tensor &found, const Tensor &expected, double tolerance,
                       const std::string &what = "") {
  ASSERT_EQ(found.shape(), expected.shape()) << what;
  Tensor a = found.contiguous(), b = expected.contiguous();
  for (int64_t e = 0; e < a.numel(); ++e)
    EXPECT_NEAR(a.values<double>()[e], b.values<double>()[e], tolerance)
        << what << " element " << e;
}

/// Returns one element of the dense bias [B, H, Sq, Sk].
inline double biasAt(const reference::Program &program, const TensorMap &inputs,
                     std::initializer_list<int64_t> index) {
  auto bias = reference::materializeBias(program, inputs, {});
  if (!bias) {
    ADD_FAILURE() << bias.error().render("materializeBias");
    return 0.0;
  }
  return bias->data<double>()[bias->offsetOf(index)];
}

/// Returns the standard output of a command. A failure fails the test.
inline std::string outputOf(const std::string &command) {
  std::string output;
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe) {
    ADD_FAILURE() << "cannot run " << command;
    return output;
  }
  std::array<char, 4096> chunk;
  for (size_t read; (read = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
    output.append(chunk.data(), read);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

} // namespace pe::test

#endif // PE_TEST_REFERENCE_HELPERS_H
