//===- MachineTest.cpp - Control flow, barriers, bounds and launches ------===//

#include "test/runtime/ptx/PtxKernels.h"

#include <bit>

using namespace pe::ptx;
using namespace pe::ptx::test;

namespace {

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

TEST(Control, Guards) {
  expectThreads("mov.b32 %r1, 1; setp.lt.u32 %c0, %t, 7; @%c0 mov.b32 %r1, 2; @!%c0 add.u32 %r1, "
                "%r1, 4;",
                [](uint32_t i) { return i < 7 ? 2 : 5; });
}

TEST(Control, DivergedLanesMeetAtACollective) {
  expectThreads("and.b32 %r2, %t, 1; setp.ne.u32 %c0, %r2, 0; mov.b32 %r1, %t;\n"
                "@%c0 bra ODD;\nadd.u32 %r1, %r1, 100;\nbra MEET;\n"
                "ODD: add.u32 %r1, %r1, 200;\nMEET: shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;",
                [](uint32_t i) { return (i ^ 1) + (i & 1 ? 100 : 200); });
}

TEST(Control, LoopsWithDifferentCounts) {
  expectThreads("mov.b32 %r1, 0; mov.b32 %r2, 0;\nLOOP: setp.ge.u32 %c0, %r2, %t;\n@%c0 bra END;\n"
                "add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1; bra LOOP;\nEND: "
                "redux.sync.max.u32 %r3, %r2, -1; add.u32 %r1, %r1, %r3;",
                [](uint32_t i) { return i * (i - 1) / 2 + 31; });
}

TEST(Control, CollectivesOnBothSides) { // each with the mask of its lanes
  expectThreads("setp.lt.u32 %c0, %t, 8; @%c0 bra LOW;\nredux.sync.add.u32 %r1, %t, 0xFFFFFF00;\n"
                "bra END;\nLOW: redux.sync.add.u32 %r1, %t, 0xFF;\nEND:",
                [](uint32_t i) { return i < 8 ? 28 : 496 - 28; });
}

TEST(Control, MissingLanes) {
  EXPECT_EQ(failure("setp.lt.u32 %c0, %t, 8;\n@%c0 bra LOW;\nbar.warp.sync -1;\nbra END;\n"
                    "LOW: shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;\nEND:"),
            "k.ptx:4: k: a collective waits for lanes that do not come: thread (0, 0, 0) of CTA "
            "(0, 0, 0) is at line 6; expected all lanes of the warp, or of the member mask");
  EXPECT_EQ(failure("setp.lt.u32 %c0, %t, 8;\n@%c0 bar.sync 0;\n@!%c0 bar.sync 0;"),
            "k.ptx:3: k: a collective waits for lanes that do not come: thread (8, 0, 0) of CTA "
            "(0, 0, 0) is at line 4; expected all lanes of the warp, or of the member mask");
}

TEST(Control, BranchByTable) {
  const std::string body = "and.b32 %r2, %t, 3;\nts: .branchtargets A, B, C, B;\n"
                           "brx.idx %r2, ts;\nA: mov.b32 %r1, 10; bra END;\nB: mov.b32 %r1, 20; "
                           "bra END;\nC: mov.b32 %r1, 30;\nEND: bar.warp.sync -1;";
  expectThreads(body, [](uint32_t i) { return i % 4 == 0 ? 10 : i % 4 == 2 ? 30 : 20; });
  EXPECT_EQ(failure("add.u32 %r2, %t, 1;\nts: .branchtargets A, A;\nbrx.idx %r2, ts;\nA:"),
            "k.ptx:4: k: thread (1, 0, 0) of CTA (0, 0, 0) branches to entry 2 of a table of 2");
}

const std::string functions =
    ".func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %x; ld.param.b32 %x, [x]; add.u32 %x, "
    "%x, %x; st.param.b32 [r], %x; ret; } "
    ".func (.param .align 8 .b8 r[16]) pair(.param .b32 x, .param .b64 y) { .reg .b32 %x<3>; "
    ".reg .b64 %y; .reg .pred %c; .local .align 8 .b8 keep[16]; ld.param.b32 %x0, [x]; "
    "ld.param.b64 %y, [y]; st.local.b32 [keep+4], %x0; setp.lt.u32 %c, %x0, 5; @%c bra SMALL; { "
    ".param .b32 a; .param .b32 b; st.param.b32 [a], %x0; call.uni (b), twice, (a); "
    "ld.param.b32 %x0, [b]; } SMALL: ld.local.b32 %x1, [keep+4]; st.param.b32 [r], %x0; "
    "st.param.b32 [r+4], %x1; st.param.b64 [r+8], %y; ret; } ";

TEST(Control, CallsWithParametersAndResults) {
  const std::string body =
      "mov.b32 %r1, 0; setp.eq.u32 %c0, %t, 3; @%c0 bra SKIP;\n"
      "cvt.u64.u32 %a0, %t; { .param .b32 x; .param .b64 y; .param .align 8 .b8 z[16];\n"
      "st.param.b32 [x], %t; st.param.b64 [y], %a0; call.uni (z), pair, (x, y);\n"
      "ld.param.v2.b32 {%r2, %r3}, [z]; ld.param.b64 %a1, [z+8]; }\n"
      "cvt.u32.u64 %r4, %a1; mad.lo.u32 %r1, %r3, 100, %r2; mad.lo.u32 %r1, %r4, 10000, %r1;\n"
      "SKIP: bar.warp.sync -1;";
  const Result result = runText(kernelOf(body + store, functions), blockOf(32), 32);
  EXPECT_EQ(result.error, "");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(result.words[i], i == 3 ? 0 : i * 10100 + (i < 5 ? i : 2 * i)) << i;
}

TEST(Control, CallsThatAreRefused) {
  const std::string again = ".func f() { call.uni f; ret; } ";
  EXPECT_CONTAINS(runText(kernelOf("call.uni f;", again), blockOf(32), 32).error,
                  "'f' calls itself, and recursion is not supported");
  EXPECT_CONTAINS(runText(kernelOf("call.uni f;", ".extern .func f(); "), blockOf(32), 32).error,
                  "'f' is not defined in this module");
  EXPECT_CONTAINS(
      runText(kernelOf("{ .param .b32 a; call.uni twice, (a); }", functions), blockOf(32), 32)
          .error,
      "expected 1 results of 'twice', found 0");
}

TEST(Control, LocalVariablesAreOfALane) {
  expectThreads(".local .align 4 .b8 l[64]; mov.u64 %a0, l; cvta.local.u64 %a1, %a0;\n"
                "and.b32 %r2, %t, 15; mad.wide.u32 %a2, %r2, 4, %a1; st.b32 [%a2], %t;\n"
                "mad.wide.u32 %a3, %r2, 4, %a0; ld.local.b32 %r1, [%a3];",
                [](uint32_t i) { return i; });
}

TEST(Control, Trap) {
  EXPECT_EQ(failure("setp.eq.u32 %c0, %t, 9;\n@%c0 trap;"),
            "k.ptx:3: k: thread (9, 0, 0) of CTA (0, 0, 0) reaches a trap");
}

TEST(Control, ErrorsNameTheSource) {
  EXPECT_CONTAINS(
      runText(kernelOf(".loc 3 17 5\ntrap;") + ".file 3 \"add.py\"", blockOf(32), 32).error,
      "reaches a trap (line add.py:17 of the source)");
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

TEST(Barriers, OrderWarps) {
  expectThreads(
      exchange + "bar.sync 0;\nld.shared.b32 %r1, [%r4];", [](uint32_t i) { return i ^ 32; }, 128);
}

TEST(Barriers, WithCountsAndRegisters) { // each pair of warps has a barrier
  expectThreads(
      exchange + "shr.u32 %r5, %t, 6; add.u32 %r5, %r5, 3; mov.b32 %r6, 64;\n"
                 "barrier.sync %r5, %r6;\nld.shared.b32 %r1, [%r4];",
      [](uint32_t i) { return i ^ 32; }, 128);
}

TEST(Barriers, ProducerAndConsumer) {
  // Warp 0 produces four times into one place; warp 1 consumes.
  const std::string body =
      ".shared .align 4 .b8 s[128]; mov.u32 %r2, s; and.b32 %r3, %t, 31; mad.lo.u32 %r2, %r3, 4, "
      "%r2; mov.b32 %r1, 0; mov.b32 %r5, 0; setp.ge.u32 %c0, %t, 32; @%c0 bra CONSUME;\n"
      "PRODUCE: bar.sync 2, 64; mad.lo.u32 %r6, %r5, 1000, %t; st.shared.b32 [%r2], %r6;\n"
      "bar.arrive 1, 64; add.u32 %r5, %r5, 1; setp.lt.u32 %c1, %r5, 4; @%c1 bra PRODUCE; bra END;\n"
      "CONSUME: bar.arrive 2, 64; bar.sync 1, 64; ld.shared.b32 %r6, [%r2]; add.u32 %r1, %r1, %r6;"
      "\nadd.u32 %r5, %r5, 1; setp.lt.u32 %c1, %r5, 4; @%c1 bra CONSUME;\nEND:";
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Launch launch = blockOf(64);
    launch.schedule = Schedule::fromSeed(seed);
    const auto found = words(body + store, launch, 64);
    EXPECT_EQ(found[40], 6000u + 4 * 8);
  }
  std::string racy = body; // the consumer does not say that the place is free
  racy.erase(racy.find("bar.sync 2, 64;"), 15);
  racy.erase(racy.find("bar.arrive 2, 64;"), 17);
  racy.replace(racy.find("bar.arrive 1"), 10, "bar.sync");
  EXPECT_CONTAINS(failure(racy, blockOf(64)), "race in shared memory");
}

TEST(Barriers, AWarpThatExitsEarly) {
  expectThreads(
      "mov.b32 %r1, 3; setp.lt.u32 %c0, %t, 32; @%c0 bra END;\nbar.sync 0;\nEND:",
      [](uint32_t) { return 3; }, 96);
  const auto found = words(
      "setp.lt.u32 %c0, %t, 40; @%c0 exit; bar.sync 0; mov.b32 %r1, 5;" + store, blockOf(96), 96);
  EXPECT_EQ(found[39], ~0u);
  EXPECT_EQ(found[40], 5u);
}

TEST(Barriers, WrongCountsAndNumbers) {
  EXPECT_EQ(failure("bar.sync 16;"), "k.ptx:2: k: barrier 16, expected 0 to 15");
  EXPECT_EQ(failure("bar.sync 1, 40;"),
            "k.ptx:2: k: barrier 1 for 40 threads, expected a multiple of 32");
  EXPECT_EQ(failure("mov.b32 %r1, 0;\nbar.sync 1, %r1;"),
            "k.ptx:3: k: barrier 1 for 0 threads, expected a multiple of 32");
  EXPECT_EQ(failure("bar.sync %t;"),
            "k.ptx:2: k: expected one number of a barrier in all lanes, found 0 in thread (0, 0, "
            "0) of CTA (0, 0, 0) and 1 in thread (1, 0, 0) of CTA (0, 0, 0)");
  EXPECT_CONTAINS(
      failure("and.b32 %r1, %t, 32; add.u32 %r1, %r1, 96;\nbar.sync 1, %r1;", blockOf(96)),
      "; expected equal counts");
  EXPECT_CONTAINS(failure("bar.arrive 1, 64;\nbar.arrive 1, 64;"),
                  "k.ptx:3: k: warp 0 arrives at barrier 1 again before it is complete");
}

TEST(Barriers, Deadlock) {
  EXPECT_EQ(failure("setp.lt.u32 %c0, %t, 32; @%c0 bra LOW;\nbar.sync 1, 64;\nbra END;\n"
                    "LOW: bar.sync 2, 64;\nEND:",
                    blockOf(64)),
            "k.ptx:3: k: all warps wait for each other: warp 0 of CTA 0 at line 5, barrier 2; warp "
            "1 of CTA 0 at line 3, barrier 1");
}

TEST(Barriers, SpinWithoutEnd) {
  Launch launch = blockOf(32);
  launch.patience = 20'000;
  EXPECT_CONTAINS(failure("WAIT: ld.relaxed.gpu.global.b32 %r1, [%p];\nsetp.ne.u32 %c0, %r1, 7;\n"
                          "@%c0 bra WAIT;",
                          launch),
                  "warps wait without end: warp 0 of CTA 0 at line ");
}

TEST(Barriers, LongComputationWhileOthersPoll) {
  Launch launch = blockOf(64);
  launch.patience = 2'000;
  EXPECT_EQ(failure("setp.lt.u32 %c0, %t, 32; @%c0 bra WAIT;\nmov.u32 %r1, 0;\n"
                    "NEXT: add.u32 %r1, %r1, 1; setp.lt.u32 %c1, %r1, 50000; @%c1 bra NEXT;\n"
                    "mov.u32 %r2, 7; st.relaxed.gpu.global.b32 [%p], %r2; bra END;\n"
                    "WAIT: ld.relaxed.gpu.global.b32 %r1, [%p];\nsetp.ne.u32 %c0, %r1, 7;\n"
                    "@%c0 bra WAIT;\nEND:",
                    launch),
            "");
}

TEST(Barriers, PollingByAtomicOperations) {
  Launch launch = blockOf(32);
  launch.patience = 20'000;
  EXPECT_CONTAINS(failure("WAIT: atom.global.cas.b32 %r1, [%p], 1, 2;\n"
                          "setp.ne.u32 %c0, %r1, 1; @%c0 bra WAIT;",
                          launch),
                  "warps wait without end");
}

TEST(Barriers, Limit) {
  Launch launch = blockOf(32);
  launch.limit = 20'000;
  EXPECT_CONTAINS(failure("GO: st.global.b32 [%pt], %t; bra GO;", launch),
                  "the limit of warp instructions is reached");
}

TEST(Barriers, LanesThatWaitForEachOther) { // a lock that lanes of one warp take in turn
  const auto found = words(
      "LOCK: atom.global.acquire.gpu.cas.b32 %r2, [%p], -1, 1;\nsetp.ne.s32 %c0, %r2, -1;\n"
      "@%c0 bra LOCK;\nld.relaxed.gpu.global.b32 %r3, [%p+4]; add.u32 %r3, %r3, 1; "
      "st.relaxed.gpu.global.b32 [%p+4], %r3;\natom.global.release.gpu.exch.b32 %r4, [%p], -1;",
      blockOf(64), 2);
  EXPECT_EQ(found[1], 63u); // from -1
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

TEST(Bounds, EachSpace) {
  const std::string who = "k.ptx:3: k: thread (0, 0, 0) of CTA (0, 0, 0) ";
  const std::string shared = ".shared .align 16 .b8 s[64]; mov.u32 %r2, s;\n";
  EXPECT_EQ(failure(shared + "ld.shared.b32 %r1, [%r2+64];"),
            who + "reads 4 bytes at byte 64 of shared memory, which has 64");
  EXPECT_EQ(failure(shared + "st.shared.b64 [%r2+4], %a0;"),
            who + "writes 8 bytes at byte 4 of shared memory, expected a multiple of 8");
  EXPECT_CONTAINS(failure(shared + "ld.shared.b32 %r1, [%r2+-4];"),
                  "of shared memory, which has 64");
  const std::string local = ".local .align 8 .b8 l[16]; mov.u64 %a1, l;\n";
  EXPECT_EQ(failure(local + "st.local.b32 [%a1+16], %t;"),
            who + "writes 4 bytes at byte 16 of local memory, which has 16");
  EXPECT_EQ(failure(local + "ld.local.b32 %r1, [%a1+2];"),
            who + "reads 4 bytes at byte 2 of local memory, expected a multiple of 4");
  EXPECT_CONTAINS(failure("\nld.param.b64 %a0, [pp+16];"), "bytes");
  EXPECT_CONTAINS(failure("\nld.global.b32 %r1, [%p+16384];"),
                  who + "reads 4 bytes of global memory at ");
  EXPECT_CONTAINS(failure("\nst.global.b32 [%p+16384], %r1;"),
                  "writes 4 bytes of global memory at ");
  EXPECT_CONTAINS(failure("\nst.global.b32 [%p+-4], %r1;"), "expected memory that is allocated");
  EXPECT_CONTAINS(failure("\nld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%p+8];"),
                  ", expected an address that is a multiple of 16");
  EXPECT_CONTAINS(failure("mov.b64 %a0, 0;\nld.global.b32 %r1, [%a0];"),
                  "expected memory that is allocated");
}

TEST(Bounds, Constants) {
  const std::string table = ".const .align 4 .b32 table[4] = {5, 6, 7, 8}; ";
  const Result good = runText(kernelOf("and.b32 %r2, %t, 3; mov.u64 %a0, table; mad.wide.u32 %a0, "
                                       "%r2, 4, %a0; ld.const.b32 %r1, [%a0];" +
                                           store,
                                       table),
                              blockOf(32), 32);
  EXPECT_EQ(good.error, "");
  EXPECT_EQ(good.words[2], 7u);
  EXPECT_CONTAINS(runText(kernelOf("ld.const.b32 %r1, [table+16];", table), blockOf(32), 32).error,
                  "of const memory, which has");
  EXPECT_CONTAINS(
      runText(kernelOf("mov.u64 %a0, table; cvta.const.u64 %a0, %a0;\nst.b32 [%a0], 1;", table),
              blockOf(32), 32)
          .error,
      "k.ptx:3: k: thread (0, 0, 0) of CTA (0, 0, 0) writes constant memory");
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

std::string launchError(Launch launch, const std::string &before = "") {
  return runText(kernelOf("", before), std::move(launch), 32).error;
}

TEST(Launches, Refusals) {
  EXPECT_CONTAINS(launchError(blockOf(0)), "expected a grid and blocks of at least 1");
  EXPECT_CONTAINS(launchError(blockOf(32, 0)), "expected a grid and blocks of at least 1");
  EXPECT_CONTAINS(launchError(blockOf(1056)), "expected at most 1024 threads a block, found 1056");
  Launch launch = blockOf(32);
  launch.setParameter(0, uint64_t(0));
  EXPECT_CONTAINS(launchError(launch), "kernel 'k' takes 2 arguments, found 1");
  launch.setParameter(1, uint32_t(0));
  EXPECT_CONTAINS(launchError(launch), "argument 1 of kernel 'k' has 8 bytes, found 4");
  Launch large = blockOf(32);
  large.dynamicShared = 228 * 1024;
  EXPECT_CONTAINS(launchError(large), "bytes of shared memory a block, and the device has 232448");
  std::string required = kernelOf("");
  required.replace(required.find(") {"), 3, ") .reqntid 64 {");
  EXPECT_CONTAINS(runText(required, blockOf(32), 32).error, "requires blocks of 64 x ");
  EXPECT_EQ(runText(required, blockOf(64), 32).error, "");
  required.replace(required.find(".reqntid 64"), 11, ".maxntid 64");
  EXPECT_CONTAINS(runText(required, blockOf(96), 32).error, "takes at most 64 threads a block");
}

TEST(Launches, SpecialRegisters) {
  Launch launch = blockOf(1, 2);
  launch.block = {4, 3, 2}, launch.grid = {1, 2, 1};
  const auto found = words(
      "mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z; mad.lo.u32 %r3, %r2, 3, %r1; mad.lo.u32 %r3, %r3, "
      "4, %t; mov.u32 %r4, %ctaid.y; mad.lo.u32 %r5, %r4, 24, %r3; mad.wide.u32 %a0, %r5, 4, %p;"
      "mov.u32 %r6, %laneid; mov.u32 %r7, %nctaid.y; mad.lo.u32 %r8, %r7, 100, %r6; "
      "st.global.b32 [%a0], %r8;",
      launch, 48);
  for (uint32_t i = 0; i < 48; ++i)
    EXPECT_EQ(found[i], 200 + i % 24);
}

TEST(Launches, EqualBitsForAllOrders) {
  // Partial sums of CTAs through shared memory; the last CTA adds them up.
  const std::string body =
      ".shared .align 4 .b8 s[512]; mov.u32 %r9, %ctaid.x; mad.lo.u32 %r2, %r9, 96, %t; "
      "cvt.rn.f32.u32 %f0, %r2; rcp.rn.f32 %f0, %f0; mov.u32 %r3, s; mad.lo.u32 %r4, %t, 4, %r3;\n"
      "setp.eq.u32 %c0, %r2, 0; @%c0 mov.f32 %f0, 0f00000000; st.shared.f32 [%r4], %f0; bar.sync 0;"
      "setp.ne.u32 %c0, %t, 0; @%c0 bra WAIT; mov.f32 %f1, 0f00000000; mov.b32 %r5, 0;\n"
      "SUM: ld.shared.f32 %f2, [%r3]; add.f32 %f1, %f1, %f2; add.u32 %r3, %r3, 4; add.u32 %r5, "
      "%r5, "
      "1; setp.lt.u32 %c0, %r5, 96; @%c0 bra SUM;\nmad.wide.u32 %a0, %r9, 4, %p; "
      "st.global.f32 [%a0+8], %f1; atom.acq_rel.gpu.global.add.u32 %r6, [%p], 1; setp.ne.u32 %c0, "
      "%r6, 4; @%c0 bra WAIT; mov.f32 %f1, 0f00000000; mov.b32 %r5, 0; mov.b64 %a1, %p;\n"
      "ALL: ld.global.f32 %f2, [%a1+8]; add.f32 %f1, %f1, %f2; add.s64 %a1, %a1, 4; add.u32 %r5, "
      "%r5, 1; setp.lt.u32 %c0, %r5, 6; @%c0 bra ALL; st.global.f32 [%p+4], %f1;\nWAIT: bar.sync "
      "0;";
  std::vector<Schedule> schedules(2);
  schedules[0].order = Schedule::Order::Forward, schedules[1].order = Schedule::Order::Reverse;
  for (uint64_t seed = 1; seed <= 50; ++seed)
    schedules.push_back(Schedule::fromSeed(seed));
  std::vector<uint32_t> first;
  for (const Schedule &schedule : schedules) {
    Launch launch = blockOf(96, 6);
    launch.schedule = schedule;
    const auto found = words(body, launch, 8);
    if (first.empty())
      first = found;
    EXPECT_EQ(found, first) << "seed " << schedule.seed;
  }
  EXPECT_NEAR(std::bit_cast<float>(first[1]), 6.93, 0.05); // the harmonic number of 575
}

} // namespace
