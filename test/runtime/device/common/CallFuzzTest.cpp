//===- CallFuzzTest.cpp - Random views against contiguous ones ------------===//
//
// Runs the plan of SamplePlan.h with random sizes, layouts and sets of tensors. Every view has a
// random order of axes and random gaps, in memory filled with a marker. The same call on contiguous
// memory must give bitwise the same results, and the gaps must not change. Damaged views are
// rejected or harmless.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/SamplePlan.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace pe;
using namespace pe::device;

namespace {

constexpr float kMark = -1234.5f;

class Draw {
public:
  explicit Draw(uint64_t seed) : random(seed) {}
  int64_t below(int64_t bound) { return static_cast<int64_t>(random() % uint64_t(bound)); }
  float value() { return static_cast<float>(below(64)) / 8.0f - 4.0f; }

private:
  std::mt19937_64 random;
};

/// A tensor in separate memory with axes in any order, gaps of any size and strides of either sign.
struct Placed {
  std::vector<float> memory;
  View view = {};

  Placed(const char *name, const std::vector<int64_t> &shape, Draw &draw, bool isContiguous) {
    view.name = name;
    view.dtype = PE_F32;
    view.rank = static_cast<int32_t>(shape.size());
    std::vector<int> order(shape.size());
    for (size_t k = 0; k < shape.size(); ++k)
      order[k] = static_cast<int>(k);
    if (!isContiguous)
      for (size_t k = shape.size(); k > 1; --k)
        std::swap(order[k - 1], order[static_cast<size_t>(draw.below(int64_t(k)))]);
    int64_t step = 1, first = 0;
    for (size_t i = shape.size(); i-- > 0;) {
      const int k = order[i];
      view.shape[k] = shape[static_cast<size_t>(k)];
      const int64_t gap = isContiguous || draw.below(2) ? 1 : 1 + draw.below(3);
      const bool isReversed = !isContiguous && draw.below(8) == 0;
      view.strides[k] = isReversed ? -step * gap : step * gap;
      const int64_t size = std::max<int64_t>(view.shape[k], 1);
      if (isReversed)
        first += (size - 1) * step * gap;
      step *= gap * size;
    }
    memory.assign(static_cast<size_t>(step + 8), kMark);
    view.data = memory.data() + first + (isContiguous ? 0 : draw.below(4));
  }

  template <typename Function> void forEach(Function &&function) {
    int64_t count = 1;
    for (int k = 0; k < view.rank; ++k)
      count *= view.shape[k];
    for (int64_t i = 0; i < count; ++i) {
      int64_t offset = 0, rest = i;
      for (int k = view.rank; k-- > 0; rest /= view.shape[k])
        offset += rest % view.shape[k] * view.strides[k];
      function(static_cast<float *>(view.data)[offset]);
    }
  }
  std::vector<float> values() {
    std::vector<float> all;
    forEach([&](float &element) { all.push_back(element); });
    return all;
  }
  /// The marker of bytes that belong to no element of the view.
  std::vector<float> between() {
    std::vector<float> copy = memory;
    const float *first = memory.data();
    forEach([&](float &element) { copy[static_cast<size_t>(&element - first)] = 0; });
    return copy;
  }
};

struct Sizes {
  std::vector<int64_t> full, heads;
};

/// The tensors of a call by name, with values that do not depend on their layout.
struct Case {
  std::vector<Placed> tensors;
  std::vector<std::vector<float>> gaps;
  std::vector<char> prepared;

  Case(const std::vector<std::string> &names, const Sizes &sizes, uint64_t seed,
       bool isContiguous) {
    Draw layout(seed);
    for (const std::string &name : names) {
      const bool isOfHeads = name == "w" || name == "d_w";
      tensors.emplace_back(name.c_str(), isOfHeads ? sizes.heads : sizes.full, layout,
                           isContiguous);
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      Draw values(seed + i + 1);
      tensors[i].view.name = names[i].c_str();
      tensors[i].forEach([&](float &element) { element = values.value(); });
      gaps.push_back(tensors[i].between());
    }
  }
  std::vector<View> views() const {
    std::vector<View> list;
    for (const Placed &tensor : tensors)
      list.push_back(tensor.view);
    return list;
  }
};

class CallFuzz : public testing::Test {
protected:
  Status run(Halves halves, const std::vector<View> &views) {
    BoundCall call(executor.bound(), halves, views);
    const int64_t bytes = call.bind({}) ? call.workspaceBytes() : 0;
    std::vector<char> workspace(static_cast<size_t>(bytes), 0x55);
    CallContext context;
    context.workspace = workspace.data();
    context.workspaceBytes = bytes;
    context.pool = &pool;
    return executor.run(halves, views, {}, context);
  }
  cpu::ThreadPool pool{{.threads = 2}};
  cpu::Executor executor =
      *cpu::Executor::create(test::samplePlan(), test::lookup, nullptr, {.poison = true});
};

std::vector<std::string> chooseTensors(Halves halves, Draw &draw) {
  std::vector<std::string> names = {"x", "w"};
  if (halves & kForward)
    names.push_back("y");
  if (!(halves & kForward) || draw.below(2))
    names.push_back("saved");
  if (halves & kBackward) {
    names.push_back("d_y");
    const int64_t choice = 1 + draw.below(3);
    if (choice & 1)
      names.push_back("d_x");
    if (choice & 2)
      names.push_back("d_w");
  }
  for (size_t k = names.size(); k > 1; --k)
    std::swap(names[k - 1], names[static_cast<size_t>(draw.below(int64_t(k)))]);
  return names;
}

} // namespace

TEST_F(CallFuzz, ViewsEqualContiguousTensors) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Draw draw(seed);
    const Halves halves = 2 * static_cast<int>(1 + draw.below(3));
    const int64_t b = draw.below(4), h = 1 + draw.below(5), r = draw.below(7);
    const Sizes sizes = {{b, h, r, test::kWidth}, {h}};
    const std::vector<std::string> names = chooseTensors(halves, draw);
    Case packed(names, sizes, seed, true), strided(names, sizes, seed, false);
    const Status first = run(halves, packed.views()), second = run(halves, strided.views());
    ASSERT_TRUE(first) << "seed " << seed << ": " << first.error().getMessage();
    ASSERT_TRUE(second) << "seed " << seed << ": " << second.error().getMessage();
    for (size_t i = 0; i < names.size(); ++i) {
      const std::vector<float> a = packed.tensors[i].values(), c = strided.tensors[i].values();
      ASSERT_EQ(a.size(), c.size());
      EXPECT_EQ(a.empty() ? 0 : std::memcmp(a.data(), c.data(), a.size() * 4), 0)
          << "seed " << seed << ", tensor " << names[i];
      const std::vector<float> gaps = strided.tensors[i].between();
      EXPECT_EQ(std::memcmp(gaps.data(), strided.gaps[i].data(), gaps.size() * 4), 0)
          << "seed " << seed << ": between the elements of " << names[i];
    }
  }
}

// Changes one field of one view: the call is rejected, or the view is still valid.
TEST_F(CallFuzz, DamagedViewsAreRejectedOrHarmless) {
  const std::vector<std::string> names = {"x", "w", "y", "saved", "d_y", "d_x", "d_w"};
  int refused = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Draw draw(seed);
    Case one(names, {{2, 3, 4, test::kWidth}, {3}}, seed, false);
    std::vector<View> views = one.views();
    View &view = views[static_cast<size_t>(draw.below(int64_t(views.size())))];
    const int64_t numbers[] = {0, 1, -1, 2, 3, INT64_MAX, INT64_MIN, int64_t(1) << 40, 1 << 20};
    const int64_t number = numbers[draw.below(9)];
    bool mayReach = false; // outside its memory, which pe cannot detect
    switch (draw.below(6)) {
    case 0:
      view.rank = static_cast<int32_t>(number);
      break;
    case 1:
      view.dtype = static_cast<pe_dtype>(number);
      break;
    case 2:
      view.shape[draw.below(4)] = number;
      break;
    case 3:
      mayReach = true;
      view.strides[draw.below(4)] = number;
      break;
    case 4:
      view.data = nullptr;
      break;
    default:
      view.data = views[0].data;
    }
    BoundCall call(executor.bound(), kForward | kBackward, views);
    Status s = call.bind({});
    std::vector<char> workspace(s ? static_cast<size_t>(call.workspaceBytes()) : 0);
    if (s)
      s = call.checkMemory(workspace.data(), static_cast<int64_t>(workspace.size()));
    if (s && !mayReach) {
      CallContext context;
      context.workspace = workspace.data();
      context.workspaceBytes = static_cast<int64_t>(workspace.size());
      context.pool = &pool;
      s = executor.run(call, context);
    }
    if (!s) {
      ++refused;
      EXPECT_FALSE(s.error().getMessage().empty());
    }
  }
  EXPECT_GT(refused, 1000);
}
