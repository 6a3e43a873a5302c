//===- ExportTest.cpp - Exported examples agree with Encodings.cpp --------===//
//
// Exports with pe-opt each file of examples/encodings that is also an encoding of Encodings.cpp,
// evaluates it, and expects the results and gradients of the program in Encodings.cpp. The
// exporter, the file and the independent program thus agree on the definition of the encoding.
//
//===----------------------------------------------------------------------===//

#include "reference/Helpers.h"

#include <filesystem>

namespace pe::test {
namespace {

std::string exampleOf(const std::string &name) {
  return std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/" + name + ".mlir";
}

/// Returns the encodings in both places, except the sliding window, whose width differs: 128 keys
/// would mask nothing in a small test.
std::vector<std::string> sharedNames() {
  std::vector<std::string> names;
  for (const Encoding &encoding : allEncodings(1))
    if (std::filesystem::exists(exampleOf(encoding.name)) && encoding.name != "sliding_window")
      names.push_back(encoding.name);
  return names;
}

class Exported : public testing::TestWithParam<std::string> {};

TEST_P(Exported, AgreesWithTheIndependentProgram) {
  std::string json =
      outputOf(std::string(PE_TEST_BINARY_DIR) + "/bin/pe-opt " + exampleOf(GetParam()) +
               " --pe-prepare --pe-export-program -o /dev/null");
  auto program = reference::parseProgram(json);
  ASSERT_TRUE(program) << program.error().getMessage();
  Encoding encoding = encodingNamed(GetParam());
  // 140 positions extend past the start of the last bucket.
  TensorMap inputs = randomInputs(encoding, {1, 4, 2, 3, 140, 8, 8}, 9);
  auto found = evaluated(*program, inputs, true);
  auto expected = evaluated(encoding.program, inputs, true);
  ASSERT_EQ(found.outputs.size(), expected.outputs.size());
  ASSERT_EQ(found.gradients.size(), expected.gradients.size());
  for (const auto &[name, tensor] : expected.outputs)
    expectNear(found.outputs[name], tensor, 1e-12, name);
  for (const auto &[name, tensor] : expected.gradients)
    expectNear(found.gradients[name], tensor, 1e-10, name);
}

INSTANTIATE_TEST_SUITE_P(Example, Exported, testing::ValuesIn(sharedNames()),
                         [](const auto &info) { return info.param; });

TEST(Examples, MostHaveAnIndependentProgram) { EXPECT_GE(sharedNames().size(), 24u); }

TEST(Examples, AllParse) {
  for (const auto &entry : std::filesystem::directory_iterator(std::string(PE_TEST_SOURCE_DIR) +
                                                               "/examples/encodings")) {
    if (entry.path().extension() != ".mlir")
      continue;
    std::string json =
        outputOf(std::string(PE_TEST_BINARY_DIR) + "/bin/pe-opt " + entry.path().string() +
                 " --pe-prepare --pe-export-program -o /dev/null");
    EXPECT_TRUE(reference::parseProgram(json)) << entry.path();
  }
}

} // namespace
} // namespace pe::test
