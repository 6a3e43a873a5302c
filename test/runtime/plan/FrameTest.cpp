//===- FrameTest.cpp - Declaration and values of frame words --------------===//

#include "runtime/plan/Frame.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::plan;

using Kind = FrameWord::Kind;

static std::string createError(std::vector<FrameWord> words) {
  Expected<FrameLayout> layout = FrameLayout::create(std::move(words));
  EXPECT_FALSE(layout);
  return layout ? "" : layout.error().getMessage();
}

TEST(Frame, DeclarationsAreChecked) {
  EXPECT_EQ(createError({{Kind::Size, "b"}, {Kind::Parameter, "b"}}),
            "frame: expected unique names, found 'b' twice");
  EXPECT_EQ(createError({{Kind::Size, "b + 1"}}),
            "frame: expected a name for every size, found 'b + 1'");
  EXPECT_EQ(createError({{Kind::Parameter, ""}}),
            "frame: expected a name for every parameter, found ''");
  EXPECT_EQ(createError({{Kind::Size, "b"}, {Kind::Parameter, "x", "y"}, {Kind::Size, "y"}}),
            "default of 'x': size expression 'y': expected the names b, found 'y'");
}

TEST(Frame, DefaultsUsePrecedingWords) {
  const FrameLayout layout = *FrameLayout::create(
      {{Kind::Size, "m"}, {Kind::Size, "n", "m + 1"}, {Kind::Parameter, "x", "n - 9"}});
  Frame frame = {3, 0, 0};
  ASSERT_TRUE(layout.fillSizes(frame, std::vector<uint8_t>{true, false, false}));
  ASSERT_TRUE(layout.fillParameters(frame, {}));
  EXPECT_EQ(frame, (Frame{3, 4, -5}));
  Status unknown = layout.fillSizes(frame, std::vector<uint8_t>(3));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().getMessage(), "expected a tensor that gives 'm', found none");
}

TEST(Frame, ValuesOfACall) {
  const FrameLayout layout = *FrameLayout::create(
      {{Kind::Size, "m"}, {Kind::Parameter, "x"}, {Kind::Parameter, "y", "0"}});
  const auto fill = [&](std::vector<std::pair<std::string, int64_t>> given) {
    Scalars scalars;
    for (const auto &[name, value] : given)
      scalars.set(name, value);
    Frame frame = {3, 0, 0};
    Status status = layout.fillParameters(frame, scalars);
    return status ? std::to_string(frame[1]) + " " + std::to_string(frame[2])
                  : status.error().getMessage();
  };
  EXPECT_EQ(fill({{"x", -4}}), "-4 0");
  EXPECT_EQ(fill({{"y", 2}, {"x", 1}}), "1 2");
  EXPECT_EQ(fill({}), "expected a value for parameter 'x', found none");
  EXPECT_EQ(fill({{"x", 1}, {"m", 2}}), "expected the parameters x, y, found 'm'");
  EXPECT_EQ(fill({{"x", kPositionLimit + 1}}),
            "x: expected a value from -2^30 to 2^30, found 1073741825");
  Frame large = {kPositionLimit + 1, 0, 0};
  EXPECT_FALSE(layout.fillParameters(large, {}));
}
