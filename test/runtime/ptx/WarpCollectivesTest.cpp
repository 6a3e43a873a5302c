//===- CollectivesTest.cpp - shfl, vote, match, redux, elect, bar.red -----===//

#include "test/runtime/ptx/PtxKernels.h"

#include <bit>

using namespace pe::ptx;
using namespace pe::ptx::test;

namespace {

/// Runs `op` and returns %r1 by thread. %r0 is tid * 10.
std::vector<uint32_t> result(const std::string &op, Launch launch = blockOf(32)) {
  const size_t count = launch.block.count();
  return words("mul.lo.u32 %r0, %t, 10; mov.b32 %r1, 77;\n" + op + "\nst.global.b32 [%pt], %r1;",
               launch, count);
}

/// Expects result(op) to be expected(lane).
template <typename Function> void expectLanes(const std::string &op, Function expected) {
  const std::vector<uint32_t> found = result(op);
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(found[lane], uint32_t(expected(lane))) << op << " lane " << lane;
}

const std::string fromPredicate = " selp.u32 %r1, 1, 0, %c0;";

TEST(Shuffle, Modes) {
  expectLanes("shfl.sync.bfly.b32 %r1, %r0, 5, 31, -1;", [](int l) { return (l ^ 5) * 10; });
  expectLanes("shfl.sync.idx.b32 %r1, %r0, 7, 31, -1;", [](int) { return 70; });
  expectLanes("shfl.sync.up.b32 %r1, %r0, 3, 0, -1;",
              [](int l) { return (l < 3 ? l : l - 3) * 10; });
  expectLanes("shfl.sync.down.b32 %r1, %r0, 3, 31, -1;",
              [](int l) { return (l + 3 > 31 ? l : l + 3) * 10; });
}

TEST(Shuffle, Segments) {
  // c = (32 - width) << 8 | clamp, as CUDA encodes a width of 8.
  expectLanes("shfl.sync.up.b32 %r1, %r0, 2, 0x1800, -1;",
              [](int l) { return (l % 8 < 2 ? l : l - 2) * 10; });
  expectLanes("shfl.sync.down.b32 %r1, %r0, 2, 0x181F, -1;",
              [](int l) { return (l % 8 + 2 > 7 ? l : l + 2) * 10; });
  expectLanes("shfl.sync.idx.b32 %r1, %r0, 9, 0x181F, -1;", [](int l) { return l / 8 * 80 + 10; });
  // A lane may read an earlier segment, but not a later one.
  expectLanes("shfl.sync.bfly.b32 %r1, %r0, 8, 0x181F, -1;",
              [](int l) { return (l & 8 ? l ^ 8 : l) * 10; });
}

TEST(Shuffle, PredicateSaysWhetherTheLaneIsInside) {
  expectLanes("shfl.sync.down.b32 %r2|%c0, %r0, 1, 31, -1;" + fromPredicate,
              [](int l) { return l < 31; });
  expectLanes("shfl.sync.up.b32 %r2|%c0, %r0, 4, 0, -1;" + fromPredicate,
              [](int l) { return l >= 4; });
}

TEST(Shuffle, RegistersAsOperandsAndInPlace) {
  expectLanes("sub.u32 %r3, 31, %t; mov.b32 %r4, 31; mov.b32 %r5, -1;"
              "shfl.sync.idx.b32 %r0, %r0, %r3, %r4, %r5; mov.b32 %r1, %r0;",
              [](int l) { return (31 - l) * 10; });
}

TEST(Shuffle, LanesOutsideOfTheMaskKeepTheirValue) {
  expectLanes("setp.lt.u32 %c1, %t, 16; @%c1 shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xFFFF;",
              [](int l) { return l < 16 ? (l ^ 1) * 10 : 77; });
}

TEST(Shuffle, MaskThatDiffersBetweenLanes) { // tiles of 8 lanes, as cooperative groups make them
  expectLanes("and.b32 %r3, %t, 24; mov.b32 %r4, 255; shl.b32 %r4, %r4, %r3;"
              "shfl.sync.bfly.b32 %r1, %r0, 7, 31, %r4;",
              [](int l) { return (l ^ 7) * 10; });
}

TEST(Shuffle, Faults) {
  EXPECT_EQ(failure("setp.lt.u32 %c1, %t, 16;\n"
                    "@%c1 shfl.sync.bfly.b32 %r1, %t, 16, 31, 0xFFFF;"),
            "k.ptx:3: k: thread (0, 0, 0) of CTA (0, 0, 0) reads lane 16, which does not take part "
            "in the shuffle");
  EXPECT_CONTAINS(failure("shfl.sync.bfly.b32 %r1, %t, 16, 31, 0xFFFF;"),
                  "thread (16, 0, 0) of CTA (0, 0, 0) executes a collective whose member mask does "
                  "not contain it");
  EXPECT_CONTAINS(failure("shfl.bfly.b32 %r1, %r0, 1, 31;"), "expected 'shfl.sync'");
  EXPECT_CONTAINS(failure("shfl.sync.turn.b32 %r1, %r0, 1, 31, -1;"), "is not supported");
  EXPECT_CONTAINS(failure("shfl.sync.bfly.b32 %r1, %a0, 1, 31, -1;"), "32 bits");
}

TEST(Vote, Modes) {
  const std::string odd = "and.b32 %r2, %t, 1; setp.ne.u32 %c1, %r2, 0; ";
  const std::string all = "setp.lt.u32 %c1, %t, 99; ";
  expectLanes(odd + "vote.sync.ballot.b32 %r1, %c1, -1;", [](int) { return 0xAAAAAAAA; });
  expectLanes(odd + "vote.sync.ballot.b32 %r1, !%c1, -1;", [](int) { return 0x55555555; });
  expectLanes(odd + "vote.sync.any.pred %c0, %c1, -1;" + fromPredicate, [](int) { return 1; });
  expectLanes(odd + "vote.sync.all.pred %c0, %c1, -1;" + fromPredicate, [](int) { return 0; });
  expectLanes(odd + "vote.sync.uni.pred %c0, %c1, -1;" + fromPredicate, [](int) { return 0; });
  expectLanes(all + "vote.sync.all.pred %c0, %c1, -1;" + fromPredicate, [](int) { return 1; });
  expectLanes(all + "vote.sync.any.pred %c0, !%c1, -1;" + fromPredicate, [](int) { return 0; });
  expectLanes(all + "vote.sync.uni.pred %c0, !%c1, -1;" + fromPredicate, [](int) { return 1; });
}

TEST(Vote, IgnoresLanesThatHaveExitedOrDoNotExist) {
  const auto found = result("setp.lt.u32 %c2, %t, 4; @%c2 exit; setp.lt.u32 %c1, %t, 99;"
                            "vote.sync.ballot.b32 %r1, %c1, -1;",
                            blockOf(20));
  EXPECT_EQ(found[4], 0xFFFF0u);
  EXPECT_EQ(found[0], ~0u);
}

TEST(Vote, ActiveMask) {
  expectLanes("setp.lt.u32 %c1, %t, 5; @%c1 activemask.b32 %r1;",
              [](int l) { return l < 5 ? 31 : 77; });
}

TEST(Match, Modes) {
  expectLanes("and.b32 %r2, %t, 3; match.sync.any.b32 %r1, %r2, -1;",
              [](int l) { return 0x11111111u << l % 4; });
  expectLanes("cvt.u64.u32 %a0, %t; match.sync.any.b64 %r1, %a0, -1;",
              [](int l) { return 1u << l; });
  expectLanes("match.sync.all.b32 %r1|%c0, 5, -1;", [](int) { return -1; });
  expectLanes("match.sync.all.b32 %r1|%c0, %t, -1;", [](int) { return 0; });
  expectLanes("match.sync.all.b32 %r2|%c0, 5, -1;" + fromPredicate, [](int) { return 1; });
  expectLanes("match.sync.all.b32 %r2|%c0, %t, -1;" + fromPredicate, [](int) { return 0; });
}

TEST(Redux, Operations) {
  const std::string x = "sub.u32 %r2, %t, 5; redux.sync.";
  expectLanes(x + "add.s32 %r1, %r2, -1;", [](int) { return 496 - 5 * 32; });
  expectLanes(x + "add.u32 %r1, %r2, -1;", [](int) { return 496 - 5 * 32; });
  expectLanes(x + "min.s32 %r1, %r2, -1;", [](int) { return -5; });
  expectLanes(x + "max.s32 %r1, %r2, -1;", [](int) { return 26; });
  expectLanes(x + "min.u32 %r1, %r2, -1;", [](int) { return 0; });
  expectLanes(x + "max.u32 %r1, %r2, -1;", [](int) { return -1; });
  expectLanes("redux.sync.and.b32 %r1, %t, -1;", [](int) { return 0; });
  expectLanes("redux.sync.or.b32 %r1, %t, -1;", [](int) { return 31; });
  expectLanes("redux.sync.xor.b32 %r1, %t, -1;", [](int) { return 0; });
  EXPECT_CONTAINS(failure("redux.sync.and.s32 %r1, %t, -1;"), "is not supported");
}

TEST(Elect, LeastLane) {
  expectLanes("elect.sync %r1|%c0, -1;", [](int) { return 0; });
  expectLanes("elect.sync _|%c0, -1;" + fromPredicate, [](int l) { return l == 0; });
  expectLanes("setp.gt.u32 %c1, %t, 2; @%c1 elect.sync %r1|%c0, 0xFFFFFFF8;",
              [](int l) { return l > 2 ? 3 : 77; });
}

TEST(BarrierReduction, Operations) {
  const Launch launch = blockOf(96);
  const std::string set = "setp.lt.u32 %c1, %t, 40; ";
  EXPECT_EQ(result(set + "bar.red.popc.u32 %r1, 0, %c1;", launch)[95], 40u);
  EXPECT_EQ(result(set + "bar.red.popc.u32 %r1, 1, 96, !%c1;", launch)[0], 56u);
  EXPECT_EQ(result(set + "bar.red.and.pred %c0, 0, %c1;" + fromPredicate, launch)[50], 0u);
  EXPECT_EQ(result(set + "bar.red.or.pred %c0, 0, %c1;" + fromPredicate, launch)[50], 1u);
  EXPECT_EQ(result("setp.lt.u32 %c1, %t, 99; barrier.cta.red.and.aligned.pred %c0, 0, %c1;" +
                       fromPredicate,
                   launch)[50],
            1u);
  EXPECT_EQ(
      result("setp.lt.u32 %c1, %t, 99; bar.red.or.pred %c0, 0, !%c1;" + fromPredicate, launch)[3],
      0u);
  EXPECT_CONTAINS(failure("bar.red.popc.pred %c0, 0, %c1;"), "is not supported");
}

TEST(BarrierReduction, Refusals) {
  EXPECT_CONTAINS(failure("barrier.cluster.arrive.aligned;"), "clusters of CTAs");
  EXPECT_CONTAINS(failure("bar.arrive 0;"), "expected 2 operands");
}

} // namespace
