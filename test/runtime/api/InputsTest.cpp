//===- InputsTest.cpp - Random arguments ----------------------------------===//

#include "runtime/api/Inputs.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::api;

static const plan::SizeValues kSizes = plan::CallSizes{2, 4, 2, 10, 20}.values(8, 16);

static ValueInfo value(std::string name, std::vector<int64_t> dims, std::vector<std::string> sizes,
                       std::string init = "") {
  ValueInfo info;
  info.name = std::move(name);
  info.dims = std::move(dims);
  info.sizes = std::move(sizes);
  info.parameter.init = std::move(init);
  return info;
}

static EntryInfo sample() {
  EntryInfo entry;
  entry.arguments = {value("k", {-1, -1, -1, -1}, {"b", "hkv", "c", "d"}),
                     value("slopes", {-1}, {"hq"}, "slopes(geometric)"),
                     value("w", {32, -1}, {"", "hq"}, "uniform(0,2)")};
  entry.results = {value("o", {-1, -1, -1, -1}, {"b", "hq", "r", "e"})};
  return entry;
}

TEST(Inputs, ShapesFollowTheSizes) {
  Expected<TensorMap> inputs = randomArguments(sample(), 1, kSizes);
  ASSERT_TRUE(inputs) << inputs.error().getMessage();
  EXPECT_EQ(inputs->at("k").shape(), (Shape{2, 2, 20, 8}));
  EXPECT_EQ(inputs->at("w").shape(), (Shape{32, 4}));
  EXPECT_EQ(inputs->at("slopes").values<float>()[1], 0.0625f);
  Expected<TensorMap> cotangents = randomCotangents(sample(), 1, kSizes);
  ASSERT_TRUE(cotangents);
  EXPECT_EQ(cotangents->at("d_o").shape(), (Shape{2, 4, 10, 16}));
}

TEST(Inputs, DependsOnlyOnSeedAndName) {
  EntryInfo fewer = sample();
  fewer.arguments.erase(fewer.arguments.begin() + 1);
  auto a = randomArguments(sample(), 1, kSizes), b = randomArguments(fewer, 1, kSizes),
       c = randomArguments(sample(), 2, kSizes);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->at("k").values<float>()[7], b->at("k").values<float>()[7]);
  EXPECT_NE(a->at("k").values<float>()[7], c->at("k").values<float>()[7]);
}

TEST(Inputs, RespectsTheMinimum) {
  EntryInfo entry = sample();
  entry.arguments[2].parameter.min = 1.5;
  auto inputs = randomArguments(entry, 1, kSizes);
  ASSERT_TRUE(inputs);
  for (float v : inputs->at("w").values<float>())
    EXPECT_GE(v, 1.5f);
}

TEST(Inputs, NamesTensorsThatCannotBeDrawn) {
  EntryInfo entry = sample();
  entry.arguments[0].sizes[2] = "";
  auto unknown = randomArguments(entry, 1, kSizes);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().getMessage().find("'k': the size of dimension 2"), std::string::npos);
  entry = sample();
  entry.arguments[1].parameter.init = "magic(3)";
  auto init = randomArguments(entry, 1, kSizes);
  ASSERT_FALSE(init);
  EXPECT_NE(init.error().getMessage().find("\"magic(3)\""), std::string::npos);
  entry = sample();
  entry.arguments[2].dtype = DType::I32;
  EXPECT_FALSE(randomArguments(entry, 1, kSizes));
}
