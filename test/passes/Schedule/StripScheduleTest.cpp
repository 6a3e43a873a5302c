//===- StripScheduleTest.cpp - steps and slots of four attention streams --===//
//
// Each stream is the plan of a file of Inputs/, such as softmax_forward.mlir. The plans are minimal
// and not executed; other tests execute the plans of passes/ToTile.
//
//===----------------------------------------------------------------------===//
#include "passes/Schedule/StripSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::tile;

namespace {

class StripScheduleTest : public testing::Test {
protected:
  StripScheduleTest() {
    context.loadDialect<TileDialect, arith::ArithDialect, math::MathDialect>();
  }

  StripSchedule scheduleOf(StringRef plan) {
    std::string path = (PE_TEST_SOURCE_DIR "/test/passes/Schedule/Inputs/" + plan + ".mlir").str();
    module = parseSourceFile<ModuleOp>(path, ParserConfig(&context));
    StreamOp stream;
    module->lookupSymbol<PlanOp>(plan).walk([&](StreamOp op) { stream = op; });
    std::string why;
    FailureOr<StripSchedule> schedule = StripSchedule::compute(stream, why);
    EXPECT_TRUE(succeeded(schedule)) << why;
    return *schedule;
  }

  /// Returns the names of a sweep's ops, such as "dot mask reduce".
  static std::string sweep(const StripSchedule::Step &step) {
    std::string text;
    for (Operation *op : step.sweep)
      text += (text.empty() ? "" : " ") + op->getName().stripDialect().str();
    return text;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// Step 0 computes scores and their maximum in the accumulators, step 1 probabilities in place, so
/// one slot serves both.
TEST_F(StripScheduleTest, SoftmaxForward) {
  StripSchedule schedule = scheduleOf("softmax_forward");
  ASSERT_EQ(schedule.steps.size(), 3u);
  EXPECT_EQ(sweep(schedule.steps[0]), "window dot mask reduce");
  EXPECT_TRUE(schedule.steps[0].tiles);
  EXPECT_EQ(sweep(schedule.steps[1]), "map reduce");
  EXPECT_FALSE(schedule.steps[1].tiles);
  EXPECT_EQ(schedule.steps[1].rowDots.size(), 1u);
  EXPECT_EQ(sweep(schedule.steps[2]), "");
  EXPECT_EQ(schedule.numSlots, 1u);
}

/// Probabilities leave the accumulators before the second contraction begins.
TEST_F(StripScheduleTest, SoftmaxBackward) {
  StripSchedule schedule = scheduleOf("softmax_backward");
  ASSERT_EQ(schedule.steps.size(), 1u);
  EXPECT_EQ(sweep(schedule.steps[0]), "window map dot map mask dot map");
  EXPECT_EQ(schedule.steps[0].blockOps.size(), 1u);
  EXPECT_EQ(schedule.steps[0].rowDots.size(), 1u);
  EXPECT_EQ(schedule.columnDots.size(), 2u);
  EXPECT_EQ(schedule.numSlots, 2u);
  EXPECT_EQ(schedule.zeroOutside.size(), 2u);
}

/// A scan waits for the sweep after the contractions, and the mask and exp2 wait with it, so that
/// only z is kept.
TEST_F(StripScheduleTest, StickBreakingForward) {
  StripSchedule schedule = scheduleOf("stick_breaking_forward");
  ASSERT_EQ(schedule.steps.size(), 2u);
  EXPECT_EQ(sweep(schedule.steps[0]), "dot");
  EXPECT_EQ(sweep(schedule.steps[1]), "mask map scan map");
  EXPECT_EQ(schedule.steps[1].order, Order::Descending);
  EXPECT_EQ(schedule.numSlots, 1u);
}

/// Two scans of opposite order need two sweeps.
TEST_F(StripScheduleTest, StickBreakingBackward) {
  StripSchedule schedule = scheduleOf("stick_breaking_backward");
  ASSERT_EQ(schedule.steps.size(), 3u);
  EXPECT_EQ(sweep(schedule.steps[0]), "dot dot");
  EXPECT_EQ(sweep(schedule.steps[1]), "mask map scan map");
  EXPECT_EQ(schedule.steps[1].order, Order::Descending);
  EXPECT_EQ(sweep(schedule.steps[2]), "map scan map");
  EXPECT_EQ(schedule.steps[2].order, Order::Ascending);
  // z and dA, then also beta, 1 - beta and the weight; dZ reuses the slot of beta.
  EXPECT_EQ(schedule.numSlots, 4u);
}

/// Values that are live at the same time have different slots.
TEST_F(StripScheduleTest, SlotsOfLiveValuesDiffer) {
  StripSchedule schedule = scheduleOf("softmax_backward");
  SmallVector<unsigned> used;
  for (DotOp dot : schedule.columnDots)
    used.push_back(schedule.slots.lookup(dot.getLhs()));
  EXPECT_NE(used[0], used[1]);
}

} // namespace
