//===- CApiPreparedTest.cpp - Prepared tensors in the C API ---------------===//

#include "CApiCalls.h"

#include <algorithm>
#include <fstream>
#include <sstream>

using namespace pe::test;

namespace {

TEST(CApiText, PreparedTensorsAreKept) {
  std::stringstream text;
  text << std::ifstream(kExamples + "rope.mlir").rdbuf();
  pe_function *function = nullptr;
  const pe_options options = optionsOf(true);
  ASSERT_EQ(pe_open_text(text.str().c_str(), "rope.mlir", &options, &function), 0)
      << pe_last_error();
  const char *json = nullptr;
  ASSERT_EQ(pe_describe(function, &json), 0) << pe_last_error();
  const std::string description = json;
  for (const char *part : {"\"entry\": \"attention\"", "\"k_start + c - r\"", "\"attention_lse\"",
                           "\"attention_queries\"", "\"read_by\"", "\"d_q\"", "\"kv_head\""})
    EXPECT_NE(description.find(part), std::string::npos) << part << " in " << description;
  std::vector<float> q = CApi::fill(1), k = CApi::fill(2), v = CApi::fill(3), o(kCount),
                     kept(kCount);
  std::vector<pe_view> views = {full("q", q), full("k", k), full("v", v)};
  pe_view turned = {};
  turned.name = "attention_queries";
  ASSERT_EQ(pe_shape(function, views.data(), 3, &turned), 0) << pe_last_error();
  EXPECT_EQ(turned.dtype, PE_U8);
  EXPECT_EQ(turned.shape[0], kCount * 4);
  std::vector<char> memory(static_cast<size_t>(turned.shape[0]) + 16);
  turned.data = memory.data() + (16 - reinterpret_cast<uintptr_t>(memory.data()) % 16) % 16;
  views.push_back(turned);
  ASSERT_EQ(run(function, PE_PREPARE, views), 0) << pe_last_error();
  views.push_back(full("o", kept));
  ASSERT_EQ(run(function, PE_FORWARD, views), 0) << pe_last_error();
  views[3] = full("o", o);
  views.pop_back();
  ASSERT_EQ(run(function, PE_FORWARD, views), 0) << pe_last_error();
  EXPECT_EQ(kept, o);
  pe_close(function);
}

/// A FIRE bias that two layers share, and its prepared tensors.
struct SharedNetwork : testing::Test {
  pe_function *function = openExample("fire", optionsOf(true));
  std::vector<float> c = {0.1f}, threshold = {0.01f}, w1 = CApi::fill(5), b1 = CApi::fill(6),
                     w2 = CApi::fill(7), b2 = CApi::fill(8);
  std::vector<float> layers[2][3] = {{CApi::fill(1), CApi::fill(2), CApi::fill(3)},
                                     {CApi::fill(9), CApi::fill(10), CApi::fill(11)}};
  std::vector<std::string> names;
  std::vector<std::vector<char>> memory;
  std::vector<pe_view> tables;

  ~SharedNetwork() override { pe_close(function); }

  std::vector<pe_view> argumentsOf(std::vector<float> *data) {
    return {full("q", data[0]),
            full("k", data[1]),
            full("v", data[2]),
            {"c", c.data(), PE_F32, 0, {}, {}},
            {"L_multiplier", threshold.data(), PE_F32, 0, {}, {}},
            {"w1", w1.data(), PE_F32, 1, {32}, {1}},
            {"b1", b1.data(), PE_F32, 1, {32}, {1}},
            {"w2", w2.data(), PE_F32, 2, {kHeads, 32}, {32, 1}},
            {"b2", b2.data(), PE_F32, 1, {kHeads}, {1}}};
  }

  /// Creates a view for every prepared tensor in the description.
  void makeTables() {
    const char *json = nullptr;
    ASSERT_EQ(pe_describe(function, &json), 0) << pe_last_error();
    const std::string text = json;
    const size_t end = text.find("\"cotangents\"");
    for (size_t at = text.find("\"prepared\""); (at = text.find("\"name\": \"", at)) < end;) {
      at += 9;
      names.push_back(text.substr(at, text.find('"', at) - at));
    }
    std::vector<pe_view> arguments = argumentsOf(layers[0]);
    memory.resize(names.size());
    for (size_t n = 0; n < names.size(); ++n) {
      pe_view table = {};
      table.name = names[n].c_str();
      ASSERT_EQ(pe_shape(function, arguments.data(), int32_t(arguments.size()), &table), 0)
          << pe_last_error();
      memory[n].resize(static_cast<size_t>(table.shape[0]) + 64);
      table.data =
          memory[n].data() + (64 - reinterpret_cast<uintptr_t>(memory[n].data()) % 64) % 64;
      tables.push_back(table);
    }
  }

  /// Runs a call of one layer and returns o, d_c and d_w2.
  std::vector<std::vector<float>> call(std::vector<float> *data, bool reads) {
    std::vector<std::vector<float>> results = {std::vector<float>(kCount), std::vector<float>(1),
                                               std::vector<float>(kHeads * 32)};
    std::vector<float> dO = CApi::fill(4);
    std::vector<pe_view> views = argumentsOf(data);
    if (reads)
      views.insert(views.end(), tables.begin(), tables.end());
    views.push_back(full("o", results[0]));
    views.push_back(full("d_o", dO));
    views.push_back({"d_c", results[1].data(), PE_F32, 0, {}, {}});
    views.push_back({"d_w2", results[2].data(), PE_F32, 2, {kHeads, 32}, {32, 1}});
    EXPECT_EQ(run(function, PE_FORWARD | PE_BACKWARD, views), 0) << pe_last_error();
    return results;
  }
};

// Layers that share a learned network share its tables, which are prepared once.
TEST_F(SharedNetwork, SharesPreparedTables) {
  makeTables();
  ASSERT_FALSE(tables.empty());
  std::vector<pe_view> views = argumentsOf(layers[0]);
  views.insert(views.end(), tables.begin(), tables.end());
  ASSERT_EQ(run(function, PE_PREPARE, views), 0) << pe_last_error();
  for (auto &layer : layers) {
    const auto own = call(layer, /*reads=*/false);
    EXPECT_EQ(call(layer, /*reads=*/true), own);
    EXPECT_NE(own[1][0], 0);
  }
  // The tables are read: changing them changes the result.
  for (std::vector<char> &bytes : memory)
    std::fill(bytes.begin(), bytes.end(), 0);
  EXPECT_NE(call(layers[0], /*reads=*/true)[0], call(layers[0], /*reads=*/false)[0]);
}

/// Returns the view that gives the capacity of tables.
pe_view capacityOf(int64_t keys) { return {"capacity", nullptr, PE_U8, 1, {keys}, {1}}; }

// The size is that of a view without data. A function without tables ignores it.
TEST_F(CApi, CapacityOfTables) {
  ASSERT_EQ(run(function, PE_FORWARD, with({full("o", o)})), 0) << pe_last_error();
  const std::vector<float> expected = o;
  o = CApi::fill(0);
  ASSERT_EQ(run(function, PE_FORWARD, with({capacityOf(kLength + 5), full("o", o)})), 0)
      << pe_last_error();
  EXPECT_EQ(o, expected);
  expectError(
      run(function, PE_FORWARD, with({capacityOf(kLength - 1), full("o", o)})),
      "tensor 'capacity': expected a shape [n] of at least 8, the number of keys, found [7]");
  expectError(run(function, PE_FORWARD, with({capacityOf(1ll << 31), full("o", o)})),
              "capacity: expected a size from 0 to 2^30, found 2147483648");
  expectError(run(function, PE_FORWARD, with({capacityOf(9), capacityOf(9), full("o", o)})),
              "tensor 'capacity': expected it once, found it as tensors 3 and 4");
  pe_view matrix = capacityOf(9);
  matrix.rank = 2;
  expectError(run(function, PE_FORWARD, with({matrix, full("o", o)})),
              "tensor 'capacity': expected rank 1, because its shape is the number of keys that "
              "tables hold, found rank 2");
}

// Only the coordinate of the distance is kept; what depends on the rows or on the range of the call
// is another prepared tensor.
TEST_F(SharedNetwork, ReportsWhatHoldsForAllKeys) {
  const char *json = nullptr;
  ASSERT_EQ(pe_describe(function, &json), 0) << pe_last_error();
  const std::string text = json;
  size_t count = 0, tables = 0;
  for (size_t at = 0; (at = text.find("\"holds_for_all_keys\": ", at)) != std::string::npos; ++at) {
    ++count;
    tables += text.compare(at + 22, 4, "true") == 0;
  }
  EXPECT_EQ(count, 2u) << text;
  EXPECT_EQ(tables, 1u) << text;
}

} // namespace
