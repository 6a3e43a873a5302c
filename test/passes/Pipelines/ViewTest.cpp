//===- ViewTest.cpp - stages on strided tensors of the caller -------------===//
//
// With [B, S, H, D] views as q, k, v, o and their gradients, all results are bitwise equal to those
// with packed [B, H, S, D] tensors, and nothing is written between the rows of a view.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipelines/PlanRunner.h"
#include "runtime/core/Random.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>

using namespace pe;
using namespace pe::test;

namespace {

/// An attention with learned terms, so that every kind of stage runs.
constexpr const char *kSource = R"(
!t = tensor<?x?x?x?xf32>
func.func @attention(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                     %slope: tensor<?xf32> {pe.name = "slope"}) -> (!t {pe.name = "o"}) {
  %distance = pe.distance
  %bias = pe.linear %distance slope(%slope : tensor<?xf32>)
  ROTATION
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) ROTATE mask(%mask)
      NORMALIZER : (!t, !t, !t) -> !t
  return %o : !t
}
)";

std::string sourceOf(bool isRotated, bool isStickBreaking) {
  std::string text = kSource;
  const auto replace = [&](const std::string &from, const std::string &to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("ROTATION", isRotated ? "%rotation = pe.rotary {base = 100.0}" : "");
  replace("ROTATE", isRotated ? "rotate(%rotation)" : "");
  replace("NORMALIZER", isStickBreaking ? "{normalizer = #pe.normalizer<stick_breaking>}" : "");
  return text;
}

struct Sizes {
  int64_t queries, keys;
};

/// The buffers of a call after its stages ran. Strided buffers are packed if `gap` is zero;
/// otherwise they are views with `gap` elements between rows.
class Memory {
public:
  Memory(const PlanRunner &runner, const plan::CallSizes &sizes, int64_t gap) {
    const plan::Plan &plan = runner.getPlan();
    device::SizeTable frame;
    frame.set(*runner.bound.frameOf(sizes));
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      device::Extents extents;
      EXPECT_TRUE(runner.bound.shapeOf(i, frame, extents));
      const Shape shape(extents.span().begin(), extents.span().end());
      const bool isView = gap > 0 && !runner.bound.buffers()[i].strideWords.empty();
      Tensor tensor = Tensor::zeros(plan.buffers[i].dtype, shape);
      if (isView) { // [b, s, h, d + gap]
        storage[i] = Tensor::zeros(DType::F32, {shape[0], shape[2], shape[1], shape[3] + gap});
        fill(storage[i], kUntouched);
        tensor = storage[i].slice(3, 0, shape[3]).transpose(1, 2);
        tensor.copyFrom(Tensor::zeros(DType::F32, shape));
        runner.bound.setStrides(i, tensor.strides(), frame);
        EXPECT_TRUE(runner.bound.canUse(i, tensor.rawData(), shape, tensor.strides()));
      }
      const plan::Role role = plan.buffers[i].role;
      if (role == plan::Role::Argument || role == plan::Role::Cotangent) {
        Tensor values = Tensor::zeros(DType::F32, shape);
        Random(7, plan.buffers[i].name).fillNormal(values, 0, 1);
        tensor.copyFrom(values);
      } else if (!plan.buffers[i].zero && plan.buffers[i].dtype == DType::F32) {
        Tensor garbage = Tensor::zeros(DType::F32, shape);
        fill(garbage, kGarbage);
        tensor.copyFrom(garbage);
      }
      tensors.push_back(tensor);
    }
    runner.run(tensors, frame);
  }

  /// Returns the number of elements written in the gaps between rows.
  int64_t countTouched() const {
    int64_t touched = 0;
    for (const auto &[index, whole] : storage) {
      const int64_t depth = tensors[index].dim(3);
      const Tensor gaps = whole.slice(3, depth, whole.dim(3)).clone();
      for (float value : gaps.values<float>())
        touched += value != kUntouched;
    }
    return touched;
  }

  std::vector<Tensor> tensors; // by buffer

private:
  static constexpr float kUntouched = 12345, kGarbage = -54321;
  static void fill(Tensor &tensor, float value) {
    for (float &element : tensor.values<float>())
      element = value;
  }
  std::map<size_t, Tensor> storage;
};

class ViewTest : public testing::TestWithParam<const char *> {};

} // namespace

TEST_P(ViewTest, EqualPackedTensorsBitwise) {
  for (bool isRotated : {false, true})
    for (bool isStickBreaking : {false, true}) {
      const PlanRunner runner(sourceOf(isRotated, isStickBreaking), GetParam(), /*isTile=*/false);
      int numViews = 0;
      for (size_t i = 0; i < runner.getPlan().buffers.size(); ++i)
        numViews += !runner.bound.buffers()[i].strideWords.empty();
      EXPECT_EQ(numViews, 8); // q, k, v, o and their gradients
      for (const Sizes &sizes : {Sizes{37, 70}, Sizes{1, 1}, Sizes{70, 37}, Sizes{0, 5}}) {
        SCOPED_TRACE(std::to_string(isRotated) + std::to_string(isStickBreaking) + ", " +
                     std::to_string(sizes.queries) + " x " + std::to_string(sizes.keys));
        plan::CallSizes call = {2, 4, 2, sizes.queries, sizes.keys};
        ASSERT_TRUE(plan::place(call, {}));
        const Memory packed(runner, call, 0), views(runner, call, 4);
        EXPECT_EQ(views.countTouched(), 0);
        for (size_t i = 0; i < packed.tensors.size(); ++i) {
          const Tensor a = packed.tensors[i].clone(), b = views.tensors[i].clone();
          EXPECT_EQ(std::memcmp(a.rawData(), b.rawData(), a.byteSize()), 0)
              << runner.getPlan().buffers[i].name;
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, ViewTest, testing::Values("loops", "cpu", "gpu-emulator"),
                         nameOfTarget);
