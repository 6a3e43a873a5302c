//===- SignatureJsonTest.cpp - Signatures to JSON and back ----------------===//

#include "runtime/plan/SignatureJson.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::plan;

TEST(SignatureJson, RoundTripKeepsEverything) {
  EntryInfo entry;
  entry.name = "attention";
  entry.location = "a.mlir:3:1";
  ValueInfo w;
  w.name = "w";
  w.dims = {32, -1};
  w.sizes = {"", "hq"};
  w.axes = {"bins", "head"};
  w.optional = true;
  w.location = "a.mlir:4:2";
  w.parameter = {.init = "linear", .min = 0.5, .decay = false, .monitor = {{"L", "abs(w)"}}};
  entry.arguments = {w};
  ValueInfo ids = w;
  ids.dtype = DType::I32;
  ids.parameter = {};
  entry.results = {ids};
  entry.requirements = {{"rows", "q_start + r", "rows of 'w'"}};
  entry.attentions = {
      {.normalizer = "softmax",
       .remainder = "drop",
       .direction = "before",
       .sink = "s",
       .documents = {"cu"},
       .low = -3},
      {.normalizer = "softmax", .isMergeable = false, .hasSinkFunction = true, .high = 0}};
  Expected<EntryInfo> again = parseEntryInfo(toJson(entry));
  ASSERT_TRUE(again) << again.error().getMessage();
  EXPECT_EQ(toJson(*again), toJson(entry));
  EXPECT_EQ(again->arguments[0].parameter.min, 0.5);
  EXPECT_EQ(again->arguments[0].dims, (std::vector<int64_t>{32, -1}));
  EXPECT_EQ(again->arguments[0].axes, w.axes);
  EXPECT_EQ(again->results[0].dtype, DType::I32);
  ASSERT_EQ(again->attentions.size(), 2u);
  EXPECT_EQ(again->attentions[0].documents, (std::vector<std::string>{"cu"}));
  EXPECT_EQ(again->attentions[0].low, -3);
  EXPECT_FALSE(again->attentions[0].high);
  EXPECT_EQ(again->attentions[1].high, 0);
  ASSERT_EQ(again->requirements.size(), 1u);
  EXPECT_EQ(again->requirements[0].least, "q_start + r");
}

TEST(SignatureJson, ErrorsNameTheFault) {
  for (auto [text, part] :
       {std::pair("{", "expected JSON"), std::pair("3", "expected an object"),
        std::pair("{}", "'name'"),
        std::pair(R"({"name":"a","location":"","arguments":[{}],"results":[]})", "arguments[0]")}) {
    Expected<EntryInfo> entry = parseEntryInfo(text);
    ASSERT_FALSE(entry) << text;
    EXPECT_NE(entry.error().getMessage().find(part), std::string::npos)
        << entry.error().getMessage();
  }
}
