//===- CapacityTest.cpp - Tables over distances for more keys -------------===//
//
// A table over distances is prepared for `capacity` keys. A call must compute the same bits with
// any capacity, and with tables that were prepared once for more keys, whatever the target and the
// lengths of batch entries.
//
//===----------------------------------------------------------------------===//

#include "conformance/RandomInputs.h"
#include "pe/View.h"
#include "pe/pe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace pe::conformance {
namespace {

constexpr int64_t kCapacity = 70, kDepth = 16;

struct Encoding {
  const char *name;
  const char *target = "cpu";
};

/// Returns the names of the tables that hold for every number of keys.
std::vector<std::string> namesOfTables(const std::string &description) {
  std::vector<std::string> names;
  const std::string name = "\"name\": \"", holds = "\"holds_for_all_keys\": ";
  const size_t end = description.find("\"cotangents\"");
  for (size_t at = description.find("\"prepared\"");
       (at = description.find(name, at)) < end && at != std::string::npos;) {
    at += name.size();
    const size_t answer = description.find(holds, at) + holds.size();
    if (description[answer] == 't')
      names.push_back(description.substr(at, description.find('"', at) - at));
  }
  return names;
}

class CapacityTest : public testing::TestWithParam<Encoding> {
protected:
  void SetUp() override {
    const std::string path =
        std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/" + GetParam().name + ".mlir";
    auto program = Program::load(path);
    ASSERT_TRUE(program) << program.error().render("error");
    CompileOptions options;
    options.target = GetParam().target;
    options.headDim = options.valueDim = kDepth;
    options.grad = true;
    auto compiled = program->compile(options);
    ASSERT_TRUE(compiled) << compiled.error().render("error");
    function = std::move(*compiled);
    names = namesOfTables(function->describe());
  }

  TensorMap draw(int64_t queries, int64_t keys, int64_t batch = 2) {
    const Call call = {"capacity", batch, 4, 2, queries, keys, kDepth, kDepth};
    auto drawn = drawInputs(function->signature(), call, 1);
    EXPECT_TRUE(drawn) << (drawn ? "" : drawn.error().render("error"));
    return *drawn;
  }

  /// Returns results and gradients of a call with this capacity, or with the default of 0.
  TensorMap run(TensorMap inputs, int64_t capacity) {
    TensorMap arguments, cotangents;
    for (const auto &[name, tensor] : inputs)
      (name.starts_with("d_") ? cotangents : arguments)[name] = tensor;
    if (capacity)
      arguments["capacity"] = Tensor::zeros(DType::U8, {capacity});
    auto call = function->forward(arguments);
    EXPECT_TRUE(call) << (call ? "" : call.error().render("error"));
    if (!call)
      return {};
    TensorMap found = call->results();
    auto gradients = function->backward(*call, cotangents);
    EXPECT_TRUE(gradients) << (gradients ? "" : gradients.error().render("error"));
    if (gradients)
      found.insert(gradients->begin(), gradients->end());
    return found;
  }

  /// Runs halves on views, in a workspace of exactly the required size.
  void runViews(int halves, const std::vector<View> &views) {
    auto bytes = function->workspace(halves, views);
    ASSERT_TRUE(bytes) << bytes.error().render("error");
    std::vector<float> workspace(static_cast<size_t>(*bytes) / 4 + 1);
    RunContext context;
    context.workspace = workspace.data();
    context.workspaceBytes = *bytes;
    const Status status = function->run(halves, views, context);
    ASSERT_TRUE(status) << status.error().render("error");
  }

  std::optional<Function> function;
  std::vector<std::string> names; // of the tables
};

void expectSameBits(const Tensor &found, const Tensor &expected, const std::string &what) {
  ASSERT_EQ(found.shape(), expected.shape()) << what;
  const Tensor a = found.contiguous(), b = expected.contiguous();
  EXPECT_EQ(std::memcmp(a.rawData(), b.rawData(), a.byteSize()), 0) << what;
}

TEST_P(CapacityTest, ChangesNoBits) {
  ASSERT_FALSE(names.empty()) << "the example has no table over distances";
  for (const auto &[queries, keys] : {std::pair<int64_t, int64_t>{1, 37}, {5, 64}, {33, 33}}) {
    const TensorMap inputs = draw(queries, keys);
    const TensorMap expected = run(inputs, 0);
    for (int64_t capacity : {keys, keys + 1, keys + 200})
      for (const auto &[name, tensor] : run(inputs, capacity))
        expectSameBits(tensor, expected.at(name),
                       name + " with capacity " + std::to_string(capacity));
  }
}

/// Returns a view of the first `keys` keys of a tensor of keys, or all of another tensor.
View firstKeys(const char *name, const Tensor &tensor, int64_t keys, bool hasKeys) {
  View view = viewOf(name, tensor);
  if (hasKeys)
    view.shape[2] = keys;
  return view;
}

/// Calls on the test's memory, which a device could not read.
class KeptTablesTest : public CapacityTest {};

// A decoder: one table for all steps, each of which has one more key than the last one.
TEST_P(KeptTablesTest, ServeAllSteps) {
  for (int64_t queries : {1, 3}) {
    const TensorMap inputs = draw(queries, kCapacity, /*batch=*/1);
    const Tensor capacity = Tensor::zeros(DType::U8, {kCapacity});
    const auto viewsOf = [&](int64_t keys) {
      std::vector<View> views = {viewOf("capacity", capacity)};
      for (const auto &[name, tensor] : inputs)
        if (!name.starts_with("d_"))
          views.push_back(firstKeys(name.c_str(), tensor, keys, name == "k" || name == "v"));
      return views;
    };
    std::vector<Tensor> tables;
    const auto addTables = [&](std::vector<View> &views) {
      for (size_t n = 0; n < names.size(); ++n)
        views.push_back(viewOf(names[n].c_str(), tables[n]));
    };
    std::vector<View> preparing = viewsOf(queries);
    for (const std::string &name : names) {
      View shape = {name.c_str(), nullptr, PE_U8, 0, {}, {}};
      ASSERT_TRUE(function->shapeOf(preparing, shape));
      tables.push_back(Tensor::zeros(DType::U8, {shape.shape[0]}));
    }
    addTables(preparing);
    runViews(PE_PREPARE, preparing);
    for (int64_t keys = 1; keys <= kCapacity; ++keys) {
      Tensor own = Tensor::zeros(DType::F32, {1, 4, queries, kDepth});
      Tensor kept = Tensor::zeros(DType::F32, {1, 4, queries, kDepth});
      std::vector<View> views = viewsOf(keys);
      views.erase(views.begin()); // the default capacity
      views.push_back(viewOf("o", own));
      runViews(PE_FORWARD, views);
      views = viewsOf(keys);
      addTables(views);
      views.push_back(viewOf("o", kept));
      runViews(PE_FORWARD, views);
      expectSameBits(kept, own, "o with " + std::to_string(keys) + " keys");
      if (HasFailure())
        return;
    }
    // The tables are read: zeros change the result.
    for (Tensor &table : tables)
      std::fill_n(static_cast<char *>(table.rawData()), table.byteSize(), 0);
    Tensor own = Tensor::zeros(DType::F32, {1, 4, queries, kDepth}), spoiled = own.clone();
    std::vector<View> views = viewsOf(kCapacity);
    views.push_back(viewOf("o", own));
    runViews(PE_FORWARD, views);
    views.pop_back();
    addTables(views);
    views.push_back(viewOf("o", spoiled));
    runViews(PE_FORWARD, views);
    EXPECT_NE(std::memcmp(own.rawData(), spoiled.rawData(), own.byteSize()), 0);
  }
}

// Entries of different lengths read the same tables, given or not.
TEST_P(KeptTablesTest, AreSharedByEntries) {
  const TensorMap inputs = draw(2, kCapacity, /*batch=*/4);
  const Tensor lengths = Tensor::of(std::vector<int32_t>{kCapacity, 1, 0, 37}, {4});
  std::vector<View> arguments = {viewOf("kv_len", lengths)};
  for (const auto &[name, tensor] : inputs)
    if (!name.starts_with("d_"))
      arguments.push_back(viewOf(name.c_str(), tensor));
  std::vector<Tensor> tables;
  for (const std::string &name : names) {
    View shape = {name.c_str(), nullptr, PE_U8, 0, {}, {}};
    ASSERT_TRUE(function->shapeOf(arguments, shape));
    ASSERT_EQ(shape.rank, 1) << "the entries have one table";
    tables.push_back(Tensor::zeros(DType::U8, {shape.shape[0]}));
  }
  const auto callWith = [&](int halves, bool passesTables, Tensor *o) {
    std::vector<View> views = arguments;
    for (size_t n = 0; n < names.size() && passesTables; ++n)
      views.push_back(viewOf(names[n].c_str(), tables[n]));
    if (o)
      views.push_back(viewOf("o", *o));
    runViews(halves, views);
  };
  Tensor own = Tensor::zeros(DType::F32, {4, 4, 2, kDepth}), kept = own.clone(), both = own.clone();
  callWith(PE_FORWARD, false, &own);
  callWith(PE_PREPARE, true, nullptr);
  callWith(PE_FORWARD, true, &kept);
  expectSameBits(kept, own, "o with kept tables");
  callWith(PE_PREPARE | PE_FORWARD, true, &both);
  expectSameBits(both, own, "o with tables that the call writes");
}

INSTANTIATE_TEST_SUITE_P(Cpu, CapacityTest,
                         testing::Values(Encoding{"t5"}, Encoding{"kerple_log"}, Encoding{"fire"}),
                         [](const auto &info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Cpu, KeptTablesTest,
                         testing::Values(Encoding{"t5"}, Encoding{"kerple_log"}, Encoding{"fire"}),
                         [](const auto &info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Gpu, CapacityTest,
                         testing::Values(Encoding{"t5", "gpu-emulator"},
                                         Encoding{"fire", "gpu-emulator"}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace pe::conformance
