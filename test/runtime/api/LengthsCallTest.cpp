//===- LengthsCallTest.cpp - Lengths per batch entry through the C API ----===//
//
// Tests calls with `kv_len` on the caller's memory: the workspace, views of caches, prepared and
// saved tensors, the gradients beyond the lengths, and every error. LengthsTest.cpp
// (test/conformance) compares values.
//
//===----------------------------------------------------------------------===//

#include "runtime/api/CApiCalls.h"

#include <cmath>
#include <limits>

using namespace pe::test;

namespace {

constexpr int64_t kBatch = 3, kCapacity = 80, kQueries = 2;
const float kNan = std::numeric_limits<float>::quiet_NaN();

/// A tensor [b, h, s, d] of the caller, stored as [b, s, h, d] if `isTransposed`.
struct Data {
  std::vector<float> values;
  pe_view view;

  Data(const char *name, int64_t length, int seed, bool isTransposed = false)
      : values(static_cast<size_t>(kBatch * kHeads * length * kDepth)) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = seed ? float((i * 31 + size_t(seed) * 17) % 23) / 11 - 1 : kNan;
    const int64_t row = isTransposed ? kHeads * kDepth : kDepth;
    const int64_t head = isTransposed ? kDepth : length * kDepth;
    view = {name,
            values.data(),
            PE_F32,
            4,
            {kBatch, kHeads, length, kDepth},
            {kHeads * length * kDepth, head, row, 1}};
  }
  Data(const Data &) = delete;
  float at(int64_t b, int64_t h, int64_t s, int64_t d) const {
    return values[static_cast<size_t>(b * view.strides[0] + h * view.strides[1] +
                                      s * view.strides[2] + d)];
  }
  /// The view of the first `length` rows of one batch entry.
  pe_view entry(int64_t b, int64_t length) {
    pe_view part = view;
    part.data = values.data() + b * view.strides[0];
    part.shape[0] = 1;
    part.shape[2] = length;
    return part;
  }
};

struct Lengths : testing::Test {
  std::vector<int32_t> lengths = {37, 0, 80};
  pe_view kvLen = {"kv_len", lengths.data(), PE_I32, 1, {kBatch}, {1}};
  Data q{"q", kQueries, 1}, k{"k", kCapacity, 2}, v{"v", kCapacity, 3}, o{"o", kQueries, 0},
      dO{"d_o", kQueries, 4}, dQ{"d_q", kQueries, 0}, dK{"d_k", kCapacity, 0},
      dV{"d_v", kCapacity, 0};
  pe_function *function = nullptr;

  std::vector<pe_view> forward() { return {q.view, k.view, v.view, kvLen, o.view}; }
  std::vector<pe_view> backward() {
    return {q.view, k.view, v.view, kvLen, dO.view, dQ.view, dK.view, dV.view};
  }
  void open(const std::string &encoding) {
    pe_close(function);
    function = openExample(encoding, optionsOf(true));
  }
  void expectError(const std::vector<pe_view> &views, const std::string &message,
                   const std::vector<pe_scalar> &scalars = {}, int32_t half = PE_FORWARD) {
    std::vector<char> workspace(1 << 20);
    pe_context context = {};
    context.size = sizeof(context);
    context.workspace = workspace.data();
    context.workspace_bytes = static_cast<int64_t>(workspace.size());
    EXPECT_EQ(pe_run(function, half, views.data(), int32_t(views.size()), scalars.data(),
                     int32_t(scalars.size()), &context),
              1);
    EXPECT_EQ(lastMessage(), message);
    EXPECT_EQ(lastKind(), PE_ERROR_INPUT);
    for (float x : o.values)
      ASSERT_TRUE(std::isnan(x)) << "a call with an error starts no work";
  }
  int64_t workspaceOf(const std::vector<pe_view> &views, int32_t half) {
    int64_t bytes = -1;
    EXPECT_EQ(pe_workspace(function, half, views.data(), int32_t(views.size()), &bytes), 0)
        << pe_last_error();
    return bytes;
  }
  void SetUp() override { open("alibi"); }
  void TearDown() override { pe_close(function); }
};

} // namespace

TEST_F(Lengths, EntriesEqualSingleCalls) {
  const int32_t both = PE_FORWARD | PE_BACKWARD;
  std::vector<pe_view> views = backward();
  views.push_back(o.view);
  ASSERT_EQ(run(function, both, views), 0) << pe_last_error();
  for (int64_t b = 0; b < kBatch; ++b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    Data own{"o", kQueries, 0}, ownQ{"d_q", kQueries, 0}, ownK{"d_k", kCapacity, 0},
        ownV{"d_v", kCapacity, 0};
    ASSERT_EQ(run(function, both,
                  {q.entry(b, kQueries), k.entry(b, length), v.entry(b, length),
                   dO.entry(b, kQueries), own.entry(b, kQueries), ownQ.entry(b, kQueries),
                   ownK.entry(b, length), ownV.entry(b, length)}),
              0)
        << pe_last_error();
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t d = 0; d < kDepth; ++d) {
        for (int64_t s = 0; s < kQueries; ++s) {
          EXPECT_EQ(o.at(b, h, s, d), own.at(b, h, s, d));
          EXPECT_EQ(dQ.at(b, h, s, d), ownQ.at(b, h, s, d));
        }
        for (int64_t s = 0; s < kCapacity; ++s) {
          EXPECT_EQ(dK.at(b, h, s, d), s < length ? ownK.at(b, h, s, d) : 0.0f);
          EXPECT_EQ(dV.at(b, h, s, d), s < length ? ownV.at(b, h, s, d) : 0.0f);
        }
      }
  }
}

// Caches of both layouts are used in place: the workspace holds no copy of keys and values.
TEST_F(Lengths, CachesAreNotCopied) {
  open("nope");
  for (bool isTransposed : {false, true}) {
    Data keys{"k", kCapacity, 2, isTransposed}, values{"v", kCapacity, 3, isTransposed};
    lengths = {37, 5, 80};
    const int64_t bytes = workspaceOf({q.view, keys.view, values.view, kvLen, o.view}, PE_FORWARD);
    EXPECT_LT(bytes, 37 * kHeads * kDepth * 4);
  }
}

// The keys of a head are rows of 1 KiB. Without gaps between them they use all sets of a cache, so
// they are not copied either (decision 28).
TEST_F(Lengths, LongRowsAreNotCopied) {
  pe_close(function);
  constexpr int64_t kRows = 600, kLongDepth = 256, kOfHead = kRows * kLongDepth;
  function = openExample("nope", optionsOf(false, kLongDepth));
  std::vector<float> memory(2 * kHeads * kOfHead);
  const auto viewOf = [&](const char *name) {
    return pe_view{name,
                   memory.data(),
                   PE_F32,
                   4,
                   {1, kHeads, kRows, kLongDepth},
                   {kHeads * kOfHead, kOfHead, kLongDepth, 1}};
  };
  lengths = {520};
  kvLen.data = lengths.data();
  kvLen.shape[0] = 1;
  pe_view outputs = viewOf("o");
  outputs.data = memory.data() + kHeads * kOfHead;
  EXPECT_LT(workspaceOf({viewOf("q"), viewOf("k"), viewOf("v"), kvLen, outputs}, PE_FORWARD),
            520 * kLongDepth * 4);
}

TEST_F(Lengths, WorkspaceWithoutLengthsSuffices) {
  for (const char *encoding :
       {"nope", "alibi", "rope", "t5", "stick_breaking", "document_mask", "forgetting"}) {
    open(encoding);
    std::vector<float> gates(kBatch * kHeads * kCapacity);
    std::vector<int32_t> documents(kBatch * kCapacity);
    std::vector<pe_view> views = forward();
    std::vector<float> table(32 * kHeads);
    if (encoding == std::string("document_mask")) {
      views.push_back({"q_doc", documents.data(), PE_I32, 2, {kBatch, kQueries}, {kQueries, 1}});
      views.push_back({"k_doc", documents.data(), PE_I32, 2, {kBatch, kCapacity}, {kCapacity, 1}});
    }
    if (encoding == std::string("t5"))
      views.push_back({"table", table.data(), PE_F32, 2, {32, kHeads}, {kHeads, 1}});
    if (encoding == std::string("forgetting"))
      views.push_back({"f",
                       gates.data(),
                       PE_F32,
                       3,
                       {kBatch, kHeads, kCapacity},
                       {kHeads * kCapacity, kCapacity, 1}});
    views[3].data = nullptr;
    const int64_t most = workspaceOf(views, PE_FORWARD);
    views[3].data = lengths.data();
    for (int32_t length = 0; length <= kCapacity; ++length) {
      lengths = {length, length, length};
      views[3].data = lengths.data();
      EXPECT_LE(workspaceOf(views, PE_FORWARD), most) << encoding << ", length " << length;
    }
  }
}

/// A prepared tensor of a call with lengths, and its bytes.
struct PreparedView {
  pe_view view = {};
  std::vector<char> bytes;
};

/// Prepares a tensor in one call and expects that another one reads it.
class PreparedInLengths : public Lengths {
protected:
  void prepare(const char *name, int rank, PreparedView &prepared) {
    prepared.view.name = name;
    std::vector<pe_view> arguments = {q.view, k.view, v.view, kvLen};
    ASSERT_EQ(pe_shape(function, arguments.data(), 4, &prepared.view), 0) << pe_last_error();
    ASSERT_EQ(prepared.view.rank, rank);
    size_t size = 1;
    for (int axis = 0; axis < rank; ++axis)
      size *= static_cast<size_t>(prepared.view.shape[axis]);
    prepared.bytes.assign(size, char(0xAB));
    prepared.view.data = prepared.bytes.data();
    ASSERT_EQ(run(function, PE_FORWARD, forward()), 0) << pe_last_error();
    const std::vector<float> expected = o.values;
    arguments.push_back(prepared.view);
    ASSERT_EQ(run(function, PE_PREPARE, arguments), 0) << pe_last_error();
    o.values.assign(o.values.size(), kNan);
    std::vector<pe_view> reading = forward();
    reading.push_back(prepared.view);
    ASSERT_EQ(run(function, PE_FORWARD, reading), 0) << pe_last_error();
    EXPECT_EQ(o.values, expected);
    std::fill(prepared.bytes.begin(), prepared.bytes.end(), 0); // they are read
    ASSERT_EQ(run(function, PE_FORWARD, reading), 0) << pe_last_error();
    EXPECT_NE(o.values, expected);
  }
};

// Each entry has its own prepared tensor and saved tensor without a batch axis.
TEST_F(PreparedInLengths, HaveALeadingAxis) {
  open("rope");
  PreparedView prepared;
  ASSERT_NO_FATAL_FAILURE(prepare("attention_queries", 2, prepared));
  const int64_t size = prepared.view.shape[1];
  EXPECT_EQ(prepared.view.shape[0], kBatch);
  std::vector<pe_view> reading = forward();
  reading.push_back(prepared.view);
  reading.back().shape[1] -= 1;
  o.values.assign(o.values.size(), kNan);
  expectError(reading, "tensor 'attention_queries': expected shape [3, " + std::to_string(size) +
                           "] in a call with 'kv_len', found [3, " + std::to_string(size - 1) +
                           "]");
  reading.back().rank = 1;
  expectError(reading, "tensor 'attention_queries': expected rank 2 in a call with 'kv_len', "
                       "with a leading axis of batch entries, found rank 1");
}

// Tables over distances belong to all entries.
TEST_F(PreparedInLengths, EntriesShareTablesOverDistances) {
  open("alibi");
  PreparedView prepared;
  ASSERT_NO_FATAL_FAILURE(prepare("attention_term0_table", 1, prepared));
}

TEST_F(Lengths, BackwardCallsReuseTheLengths) {
  pe_call *call = nullptr;
  const std::vector<pe_view> arguments = {q.view, k.view, v.view, kvLen};
  ASSERT_EQ(pe_forward(function, arguments.data(), 4, nullptr, 0, &call), 0) << pe_last_error();
  ASSERT_EQ(pe_backward(function, call, &dO.view, 1), 0) << pe_last_error();
  pe_view gradient = {};
  ASSERT_EQ(pe_result(call, "d_k", &gradient), 0) << pe_last_error();
  std::vector<pe_view> views = backward();
  ASSERT_EQ(run(function, PE_FORWARD | PE_BACKWARD, views), 0) << pe_last_error();
  EXPECT_EQ(std::memcmp(gradient.data, dK.values.data(), dK.values.size() * 4), 0);
  pe_call_free(call);
}

TEST_F(Lengths, ReportsWrongLengths) {
  lengths[2] = 81;
  expectError(forward(), "tensor 'kv_len': expected lengths from 0 to 80, the number of keys, "
                         "found 81 at index 2");
  lengths[2] = -1;
  expectError(forward(), "tensor 'kv_len': expected lengths from 0 to 80, the number of keys, "
                         "found -1 at index 2");
  lengths[2] = 80;
  kvLen.shape[0] = 2;
  expectError(forward(),
              "tensor 'kv_len': expected shape [3], a length for each batch entry, found [2]");
  kvLen.rank = 2;
  expectError(forward(),
              "tensor 'kv_len': expected shape [3], a length for each batch entry, found [2, 0]");
  kvLen = {"kv_len", lengths.data(), PE_I64, 1, {kBatch}, {1}};
  expectError(forward(), "tensor 'kv_len': expected element type i32, found i64");
  kvLen.dtype = PE_I32;
  kvLen.data = nullptr;
  expectError(forward(), "tensor 'kv_len': expected an address, found none");
  kvLen.data = lengths.data();
  std::vector<pe_view> twice = forward();
  twice.push_back(kvLen);
  expectError(twice, "tensor 'kv_len': expected it once, found it 2 times");
}

TEST_F(Lengths, ReportsCallsWithoutLengths) {
  expectError(forward(),
              "q_start: expected none in a call with 'kv_len', which places the last query of each "
              "batch entry at its last key, found 5; omit it",
              {{"q_start", 5}});
  open("dropout");
  int64_t seed = 1;
  std::vector<pe_view> views = forward();
  views.push_back({"seed", &seed, PE_I64, 0, {}, {}});
  expectError(views, "'pe.attention' drops by one seed and the index of the batch entry, which a "
                     "call with 'kv_len' does not have; expected a seed per batch entry");
  open("merge");
  expectError(forward(), "'pe.merge' joins the results of several calls, which have no 'kv_len'; "
                         "omit it");
  open("sinusoidal");
  expectError({kvLen}, "tensor 'kv_len': expected a function of attention, whose keys it counts; "
                       "'embed' has none");
}

// A tensor of the function itself is not a length per entry of the call.
TEST_F(Lengths, ArgumentsOfTheFunctionKeepTheirMeaning) {
  open("key_padding");
  lengths = {37, 1, 200}; // positions, which may be beyond all keys
  ASSERT_EQ(run(function, PE_FORWARD, forward(), {{"q_start", 78}}), 0) << pe_last_error();
}

TEST_F(Lengths, FormulasMustNotReadTheIndexOfAnEntry) {
  const std::string head = "!qkv = tensor<?x?x?x?xf32>\n"
                           "func.func @attention(%q: !qkv {pe.name = \"q\"}, %k: !qkv {pe.name = "
                           "\"k\"}, %v: !qkv {pe.name = \"v\"}) -> (!qkv {pe.name = \"o\"}) {\n";
  const std::string text = head + "  %b = pe.bias_fn expr \"b * j\"\n"
                                  "  %o = pe.attention %q, %k, %v bias(%b) : (!qkv, !qkv, !qkv) -> "
                                  "!qkv\n  return %o : !qkv\n}\n";
  pe_close(function);
  const pe_options options = optionsOf(false);
  ASSERT_EQ(pe_open_text(text.c_str(), "text", &options, &function), 0) << pe_last_error();
  expectError(forward(), "'arith.muli' uses the index of the batch entry, which a call with "
                         "'kv_len' does not have; expected it as the index of a batch axis only");
}
