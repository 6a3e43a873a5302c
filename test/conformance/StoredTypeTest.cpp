//===- StoredTypeTest.cpp - 16-bit tensors on the CPU ---------------------===//
//
// Without products of a 16-bit type, CPU kernels extend it to f32 where they load it, compute in
// f32, and round results once. So results have the bits of the f32 kernel on the extended inputs,
// rounded to the type; those that are f32 (log-sum-exp, gradients of parameters) are the same.
// PairProductsTest.cpp tests processors with products of bf16.
//
//===----------------------------------------------------------------------===//

#include "conformance/RandomInputs.h"
#include "conformance/Subject.h"
#include "runtime/device/cpu/CpuInfo.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace pe::conformance {
namespace {

constexpr int64_t kDepth = 24;
/// Returns the best machine of the host that has no products of bf16.
std::string storingMachine() {
  std::string best;
  for (const plan::Machine &machine : plan::kMachines)
    if (!machine.isGpu && cpu::hostCpu().runs(machine) &&
        !plan::findMatrixOp(machine, plan::Form::PairDot, DType::BF16))
      best = machine.name;
  return best;
}

/// Two query heads per key head, fewer queries than keys: rows after the last vector, and 1 to 8
/// rows, whose stages have lanes along keys, with one split of 512 keys or two.
std::vector<Call> calls() {
  std::vector<Call> all = {{"stored", 2, 4, 2, 77, 90, kDepth, kDepth}};
  for (int64_t rows = 1; rows <= 8; ++rows)
    all.push_back({"few_rows", 2, 4, 2, rows, rows % 3 == 1 ? 530 : 70 + rows, kDepth, kDepth});
  return all;
}

class StoredType : public testing::TestWithParam<std::tuple<const char *, DType>> {
protected:
  static jit::Source sourceOf(const std::string &name) {
    const std::string path = std::string(PE_TEST_SOURCE_DIR) + "/" + name + ".mlir";
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return {text.str(), path, ""};
  }

  static std::unique_ptr<Function> compile(const jit::Source &source, DType dtype) {
    auto subject = makeSubject({.features = storingMachine(), .dtype = dtype});
    EXPECT_TRUE(subject) << (subject ? "" : subject.error().render("error"));
    auto compiled = (*subject)->compile(source, kDepth, kDepth);
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().render("error"));
    return compiled ? std::move(*compiled) : nullptr;
  }

  static TensorMap run(Function &function, const TensorMap &inputs) {
    auto found = function.run(inputs, {}, 2);
    EXPECT_TRUE(found) << (found ? "" : found.error().render("error"));
    return found ? *found : TensorMap();
  }

  static void compare(const TensorMap &found, const TensorMap &exact, DType dtype,
                      const std::string &call) {
    ASSERT_EQ(found.size(), exact.size());
    int narrow = 0;
    for (const auto &[key, tensor] : found) {
      narrow += tensor.dtype() == dtype;
      const Tensor expected = *convert(exact.at(key), tensor.dtype());
      ASSERT_EQ(tensor.shape(), expected.shape()) << key << call;
      EXPECT_EQ(std::memcmp(tensor.rawData(), expected.rawData(), tensor.byteSize()), 0)
          << key << call;
    }
    EXPECT_GE(narrow, 4) << "o and the gradients of q, k and v";
  }
};

TEST_P(StoredType, ResultsAreThoseOfF32RoundedOnce) {
  const auto &[name, dtype] = GetParam();
  const jit::Source source = sourceOf(name);
  auto subject = makeSubject({});
  ASSERT_TRUE(subject) << subject.error().render("error");
  auto description = (*subject)->describe(source);
  ASSERT_TRUE(description) << description.error().render("error");
  static std::pair<std::string, std::unique_ptr<Function>> last; // is the same for both types
  if (last.first != name)
    last = {name, compile(source, DType::F32)};
  const auto narrow = compile(source, dtype);
  ASSERT_TRUE(narrow && last.second);
  for (const Call &call : calls()) {
    auto inputs = drawInputs(description->entry, call, 1);
    ASSERT_TRUE(inputs) << inputs.error().render("error");
    TensorMap stored = *inputs, extended = *inputs;
    for (auto &[key, tensor] : stored)
      if (isActivation(description->entry, key)) {
        tensor = *convert(tensor, dtype);
        extended[key] = *convert(tensor, DType::F32);
      }
    compare(run(*narrow, stored), run(*last.second, extended), dtype,
            " of " + std::to_string(call.queries) + " rows");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Encodings, StoredType,
    testing::Combine(
        testing::Values("examples/encodings/nope", "examples/encodings/alibi_learned",
                        "examples/encodings/fire", "examples/encodings/rope",
                        "examples/encodings/rope_bidirectional", "examples/encodings/sigmoid",
                        "examples/encodings/softpick", "examples/encodings/stick_breaking",
                        "examples/encodings/stick_breaking_remainder",
                        "examples/encodings/rse_bidirectional", "examples/encodings/shaw_values",
                        "examples/encodings/transformer_xl", "examples/encodings/music_transformer",
                        "examples/encodings/attention_sink", "examples/encodings/document_mask",
                        "test/conformance/encodings/factors",
                        "test/conformance/encodings/score_factor",
                        "test/conformance/encodings/row_and_column"),
        testing::Values(DType::BF16, DType::F16)),
    [](const auto &info) {
      const std::string path = std::get<0>(info.param);
      return path.substr(path.rfind('/') + 1) + "_" + std::string(nameOf(std::get<1>(info.param)));
    });

} // namespace
} // namespace pe::conformance
