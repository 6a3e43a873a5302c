//===- ShapeBinderTest.cpp - Inference of sizes from shapes ---------------===//

#include "runtime/plan/ShapeBinder.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::plan;

static const FrameLayout kLayout = *FrameLayout::create(standardFrame());

static SymbolicShape shape(const std::vector<std::string> &dims) {
  SymbolicShape shape;
  for (const std::string &dim : dims) {
    shape.push_back(*SizeExpression::parse(dim));
    EXPECT_TRUE(shape.back().resolve(kLayout.getNames()));
  }
  return shape;
}

static const SymbolicShape kQ = shape({"b", "hq", "r", "d"});
static const SymbolicShape kK = shape({"b", "hkv", "c", "d"});

static ShapeBinder makeBinder() {
  ShapeBinder binder(kLayout);
  binder.set("d", 64);
  binder.set("e", 32);
  return binder;
}

TEST(ShapeBinder, DefaultsAlignTheLastQueryWithTheLastKey) {
  ShapeBinder binder = makeBinder();
  ASSERT_TRUE(binder.bind("q", kQ, {2, 8, 3, 64}));
  ASSERT_TRUE(binder.bind("k", kK, {2, 4, 10, 64}));
  Expected<Frame> frame = binder.finish(Positions{.keyStart = 100});
  ASSERT_TRUE(frame) << frame.error().getMessage();
  EXPECT_EQ(*frame, (Frame{2, 8, 4, 3, 10, 64, 32, 10, 100, 107, 0, 8}));
}

TEST(ShapeBinder, ExplicitPositionsOverrideDefaults) {
  ShapeBinder binder = makeBinder();
  ASSERT_TRUE(binder.bind("q", kQ, {1, 2, 3, 64}));
  Expected<Frame> frame =
      binder.finish(Positions{.queryStart = -4, .headStart = 6, .headsTotal = 12});
  ASSERT_TRUE(frame);
  const CallSizes sizes = kLayout.sizesOf(*frame);
  EXPECT_EQ(sizes.queryStart, -4);
  EXPECT_EQ(sizes.keyHeads, 2);
  EXPECT_EQ(sizes.keys, 3);
  EXPECT_EQ(sizes.headStart, 6);
  EXPECT_EQ(sizes.headsTotal, 12);
}

TEST(ShapeBinder, ContradictionsNameBothTensors) {
  ShapeBinder binder = makeBinder();
  ASSERT_TRUE(binder.bind("q", kQ, {2, 8, 3, 64}));
  Status batch = binder.bind("k", kK, {3, 4, 10, 64});
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().getMessage(), "tensor 'k': expected shape [b = 2, hkv, c, d = 64], found "
                                        "[3, 4, 10, 64]; 'q' gives b");
  Status depth = binder.bind("k", kK, {2, 4, 10, 32});
  ASSERT_FALSE(depth);
  EXPECT_NE(depth.error().getMessage().find("d = 64"), std::string::npos);
  EXPECT_FALSE(binder.bind("k", kK, {2, 4, 10}));
}

TEST(ShapeBinder, ExpressionsAreCheckedOnceBound) {
  ShapeBinder binder = makeBinder();
  ASSERT_TRUE(binder.bind("q", kQ, {2, 8, 3, 64}));
  EXPECT_TRUE(binder.check("t", shape({"ceildiv(r,2)*2", "8"}), {4, 8}));
  Status wrong = binder.check("t", shape({"ceildiv(r,2)*2", "8"}), {3, 8});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().getMessage().find("ceildiv(r,2)*2 = 4"), std::string::npos);
  Status unknown = binder.check("t", shape({"c + 1"}), {4});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().getMessage().find("no tensor of the call gives 'c'"),
            std::string::npos);
}

TEST(ShapeBinder, HeadsMustDivide) {
  ShapeBinder binder = makeBinder();
  ASSERT_TRUE(binder.bind("q", kQ, {1, 8, 3, 64}));
  ASSERT_TRUE(binder.bind("k", kK, {1, 3, 3, 64}));
  Expected<Frame> frame = binder.finish({});
  ASSERT_FALSE(frame);
  EXPECT_NE(frame.error().getMessage().find("8 query heads ('q') and 3 key heads ('k')"),
            std::string::npos);
}
