//===- EntryParts.cpp - The parts of tensors that entries own -------------===//

#include "conformance/EntryParts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

namespace pe::conformance {

jit::Source readExample(const std::string &name) {
  const std::string path =
      std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/" + name + ".mlir";
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return {text.str(), path, ""};
}

std::vector<std::string> sizesOf(const EntryInfo &entry, const std::string &name) {
  for (const ValueInfo &value : entry.arguments)
    if (value.name == name)
      return value.sizes;
  return {"b"}; // results
}

int64_t axisOf(const std::vector<std::string> &sizes, const std::string &size) {
  const auto found = std::find(sizes.begin(), sizes.end(), size);
  return found == sizes.end() ? -1 : found - sizes.begin();
}

Tensor partOf(const Tensor &tensor, const std::vector<std::string> &sizes, int64_t entry,
              int64_t length) {
  Tensor part = tensor;
  for (size_t axis = 0; axis < sizes.size() && axis < tensor.shape().size(); ++axis) {
    const auto number = static_cast<int64_t>(axis);
    if (sizes[axis] == "b")
      part = part.slice(number, entry, entry + 1);
    if (sizes[axis] == "c")
      part = part.slice(number, 0, length);
  }
  return part;
}

void spoilAll(Tensor &tensor) {
  if (tensor.dtype() == DType::I32)
    std::ranges::fill(tensor.values<int32_t>(), 1 << 29);
  if (tensor.dtype() == DType::F32)
    std::ranges::fill(tensor.values<float>(), std::numeric_limits<float>::quiet_NaN());
  if (tensor.dtype() == DType::BF16 || tensor.dtype() == DType::F16)
    std::memset(tensor.rawData(), 0xFF, tensor.byteSize());
}

void spoil(Tensor &tensor, const std::vector<std::string> &sizes,
           const std::vector<int32_t> &lengths) {
  const Tensor whole = tensor.clone();
  tensor = tensor.clone();
  if (axisOf(sizes, "b") < 0 || axisOf(sizes, "c") < 0)
    return;
  spoilAll(tensor);
  for (size_t entry = 0; entry < lengths.size(); ++entry)
    partOf(tensor, sizes, int64_t(entry), lengths[entry])
        .copyFrom(partOf(whole, sizes, int64_t(entry), lengths[entry]));
}

void expectSameBits(const Tensor &found, const Tensor &expected, const std::string &what) {
  ASSERT_EQ(found.shape(), expected.shape()) << what;
  const Tensor a = found.contiguous(), b = expected.contiguous();
  EXPECT_EQ(std::memcmp(a.rawData(), b.rawData(), a.byteSize()), 0) << what;
}

} // namespace pe::conformance
