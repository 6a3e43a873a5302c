//===- RacesTest.cpp - Races, asynchronous copies, order between CTAs -----===//

#include "test/runtime/ptx/PtxKernels.h"

#include <numeric>

using namespace pe::ptx;
using namespace pe::ptx::test;

namespace {

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

TEST(Races, SharedMemoryBetweenWarps) {
  Launch launch = blockOf(64);
  for (auto order : {Schedule::Order::Forward, Schedule::Order::Reverse, Schedule::Order::Random}) {
    launch.schedule.order = order;
    const std::string text = failure(exchange + "ld.shared.b32 %r1, [%r4];", launch);
    EXPECT_CONTAINS(text, "race in shared memory at byte ");
    EXPECT_CONTAINS(text, "; expected a barrier between them");
  }
}

TEST(Races, SharedMemoryBetweenLanes) {
  const std::string turn = ".shared .align 4 .b8 s[128]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, "
                           "%r2; xor.b32 %r4, %t, 1; mad.lo.u32 %r4, %r4, 4, %r2;\n"
                           "st.shared.b32 [%r3], %t;\n";
  EXPECT_EQ(failure(turn + "ld.shared.b32 %r1, [%r4];"),
            "k.ptx:4: k: race in shared memory at byte 4: thread (0, 0, 0) of CTA (0, 0, 0) reads "
            "what was written by thread (1, 0, 0) of CTA (0, 0, 0); expected a barrier between "
            "them");
  for (const std::string sync : {"bar.warp.sync -1; ", "bar.sync 0; "})
    expectThreads(turn + sync + "ld.shared.b32 %r1, [%r4];", [](uint32_t i) { return i ^ 1; });
  EXPECT_CONTAINS(failure(turn + "bar.warp.sync -1; ld.shared.b32 %r1, [%r4];\n"
                                 "st.shared.b32 [%r3], 0;"),
                  "k.ptx:5: k: race in shared memory");
  EXPECT_CONTAINS(failure(turn + "bar.warp.sync -1;\nst.shared.b32 [%r2], %t;"),
                  "overwrites what was written by");
  EXPECT_EQ(failure(turn + "bar.warp.sync -1; ld.shared.b32 %r1, [%r4]; bar.warp.sync -1;\n"
                           "st.shared.b32 [%r3], 0;"),
            "");
}

TEST(Races, AReadDoesNotHideALaterWrite) {
  const std::string own = ".shared .align 4 .b8 s[128]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 4, "
                          "%r2; xor.b32 %r4, %t, 1; mad.lo.u32 %r4, %r4, 4, %r2;\n"
                          "ld.shared.b32 %r1, [%r3]; ";
  const std::string other = "\nld.shared.b32 %r5, [%r4];";
  for (const std::string change :
       {"st.shared.b32 [%r3], %t;", "st.shared.b32 [%r3], %t; ld.shared.b32 %r1, [%r3];",
        "cvt.u16.u32 %h0, %t; st.shared.b8 [%r3], %h0;"})
    EXPECT_CONTAINS(failure(own + change + other), "reads what was written by");
  EXPECT_EQ(failure(own + "st.shared.b32 [%r3], %t; bar.warp.sync -1;" + other), "");
  EXPECT_EQ(failure(own + other), "");
}

TEST(Races, BytesOfOneWordDoNotRace) {
  EXPECT_EQ(
      failure(".shared .align 4 .b8 s[128]; mov.u32 %r2, s; add.u32 %r2, %r2, %t; cvt.u16.u32 "
              "%h0, %t;\nst.shared.b8 [%r2], %h0; ld.shared.b8 %h1, [%r2];",
              blockOf(64)),
      "");
}

TEST(Races, GlobalMemoryBetweenWarps) {
  const std::string write = "st.global.b32 [%pt], %t; xor.b32 %r2, %t, 32; mad.wide.u32 %a0, %r2, "
                            "4, %p;\n";
  const std::string text = failure(write + "ld.global.b32 %r1, [%a0];", blockOf(64));
  EXPECT_CONTAINS(text, "race in global memory at ");
  EXPECT_CONTAINS(text, "; expected a barrier, or a release and an acquire, between them");
  EXPECT_EQ(failure(write + "bar.sync 0; ld.global.b32 %r1, [%a0];", blockOf(64)), "");
  EXPECT_CONTAINS(failure("st.global.b32 [%p], %t;", blockOf(32, 2)), "race in global memory");
}

TEST(Races, GlobalMemoryBetweenLanes) {
  // Lanes that add to one word lose additions.
  EXPECT_CONTAINS(failure("ld.global.b32 %r1, [%p]; add.u32 %r1, %r1, %t;\n"
                          "st.global.b32 [%p], %r1;"),
                  "k.ptx:3: k: race in global memory");
  EXPECT_CONTAINS(failure("st.global.b32 [%pt], %t;\nld.global.b32 %r1, [%p];"),
                  "k.ptx:3: k: race in global memory");
  // A converged warp has completed its loads when one lane stores.
  EXPECT_EQ(failure("ld.global.b32 %r1, [%p]; setp.eq.u32 %c0, %t, 0; @%c0 st.global.b32 [%p], 7;"),
            "");
  EXPECT_EQ(failure("st.global.b32 [%pt], %t; bar.warp.sync -1; ld.global.b32 %r1, [%p];"), "");
}

TEST(Races, StoresOfTheSameValueDoNotRace) {
  const std::string shared = ".shared .align 4 .b8 s[128]; mov.u32 %r2, s; and.b32 %r3, %t, ";
  for (const std::string place : {"st.shared.b32 [%r2], ", "st.global.b32 [%p], "}) {
    EXPECT_EQ(failure(shared + "0; " + place + "%r3;", blockOf(64)), "");
    EXPECT_CONTAINS(failure(shared + "1;\n" + place + "%r3;", blockOf(64)), "k.ptx:3: k: race in ");
  }
  // Lanes of one instruction, and of words that other lanes have changed.
  EXPECT_EQ(failure(shared + "28; add.u32 %r4, %r2, %r3; st.shared.b32 [%r4], %r3;"), "");
  EXPECT_CONTAINS(failure(shared + "28; add.u32 %r4, %r2, %r3;\nst.shared.b32 [%r4], %t;"),
                  "k.ptx:3: k: race in shared memory");
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

/// Runs a body that copies q to shared memory; %r3 is the place of the thread.
Result copies(const std::string &body, bool landsAtOnce = false) {
  std::vector<uint32_t> in(128);
  std::iota(in.begin(), in.end(), 500);
  Launch launch = blockOf(32);
  launch.schedule.copiesLandAtOnce = landsAtOnce;
  return run(".shared .align 16 .b8 s[512]; mov.u32 %r2, s; mad.lo.u32 %r3, %t, 16, %r2; "
             "mad.wide.u32 %a0, %t, 16, %q;\n" +
                 body,
             launch, 32, in);
}

TEST(AsyncCopies, Good) {
  for (bool landsAtOnce : {false, true}) {
    const Result one = copies("cp.async.cg.shared.global [%r3], [%a0], 16; cp.async.commit_group; "
                              "cp.async.wait_group 0; ld.shared.b32 %r1, [%r3+4];" +
                                  store,
                              landsAtOnce);
    EXPECT_EQ(one.error, "");
    EXPECT_EQ(one.words[3], 513u);
    const Result zeros = copies("cp.async.ca.shared.global [%r3], [%a0], 8, 4; cp.async.wait_all;"
                                "ld.shared.b32 %r1, [%r3+4];" +
                                    store,
                                landsAtOnce);
    EXPECT_EQ(zeros.error, "");
    EXPECT_EQ(zeros.words[3], 0u);
    const Result other = copies("cp.async.cg.shared.global [%r3], [%a0], 16; cp.async.wait_all; "
                                "bar.sync 0; xor.b32 %r4, %r3, 16; ld.shared.b32 %r1, [%r4];" +
                                    store,
                                landsAtOnce);
    EXPECT_EQ(other.error, "");
    EXPECT_EQ(other.words[3], 508u);
  }
}

TEST(AsyncCopies, Faults) {
  const std::string copy = "cp.async.cg.shared.global [%r3], [%a0], 16;";
  const std::string one = copy + " cp.async.commit_group;\n";
  for (bool landsAtOnce : {false, true}) {
    EXPECT_CONTAINS(copies(one + "ld.shared.b32 %r1, [%r3]; cp.async.wait_all;", landsAtOnce).error,
                    "k.ptx:4: k: thread (0, 0, 0) of CTA (0, 0, 0) reads shared memory at byte 0, "
                    "to which an asynchronous copy is in flight");
    EXPECT_CONTAINS(
        copies(one + "cp.async.wait_group 1; ld.shared.b32 %r1, [%r3];", landsAtOnce).error,
        "an asynchronous copy is in flight");
    EXPECT_CONTAINS(
        copies(one, landsAtOnce).error,
        "k.ptx:3: k: thread (0, 0, 0) of CTA (0, 0, 0) ends while an asynchronous copy");
    EXPECT_CONTAINS(copies(copy + " cp.async.wait_all;\nxor.b32 %r4, %r3, 16; "
                                  "ld.shared.b32 %r1, [%r4];",
                           landsAtOnce)
                        .error,
                    "race in shared memory");
  }
  EXPECT_CONTAINS(copies("cp.async.cg.shared.global [%r3+8], [%a0], 16;").error,
                  "expected a multiple of 16");
  EXPECT_CONTAINS(copies("cp.async.cg.shared.global [%r3], [%a0], 8;").error, "expected 16");
  EXPECT_CONTAINS(copies("cp.async.ca.shared.global [%r3], [%a0+512], 8;").error,
                  "expected memory that is allocated");
}

//===----------------------------------------------------------------------===//
// Order between CTAs
//===----------------------------------------------------------------------===//

/// CTA 0 writes p[1] and sets the flag p[0]; CTA 1 waits for it and copies p[1] to p[2].
std::string handOver(const std::string &set, const std::string &wait,
                     const std::string &after = "") {
  return "mov.u32 %r9, %ctaid.x; setp.ne.u32 %c0, %r9, 0; @%c0 bra READ;\nst.global.b32 [%p+4], 42;"
         "\n" +
         set + "\nbra END;\nREAD: " + wait +
         " %r1, [%p];\nsetp.ne.u32 %c1, %r1, 1; @%c1 "
         "bra READ;\n" +
         after + " ld.global.b32 %r2, [%p+4]; st.global.b32 [%p+8], %r2;\nEND:";
}

Launch pairOf(uint64_t seed) {
  Launch launch = blockOf(1, 2);
  launch.schedule = Schedule::fromSeed(seed);
  launch.schedule.ctasInFlight = 2;
  return launch;
}

TEST(Order, ReleaseAndAcquire) {
  const std::string good[] = {
      handOver("st.release.gpu.global.b32 [%p], 1;", "ld.acquire.gpu.global.b32"),
      handOver("atom.release.gpu.global.exch.b32 %r3, [%p], 1;", "ld.acquire.gpu.global.b32"),
      handOver("fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [%p], 1;", "ld.relaxed.gpu.global.b32",
               "fence.acq_rel.gpu;"),
      handOver("membar.gl; st.volatile.global.b32 [%p], 1;", "ld.volatile.global.b32",
               "membar.gl;")};
  for (uint64_t seed = 0; seed < 20; ++seed)
    for (const std::string &body : good)
      EXPECT_EQ(words(body, pairOf(seed), 3)[2], 42u) << body << " seed " << seed;
}

TEST(Order, RaceWithoutEither) {
  for (const std::string &body :
       {handOver("st.relaxed.gpu.global.b32 [%p], 1;", "ld.acquire.gpu.global.b32"),
        handOver("st.release.gpu.global.b32 [%p], 1;", "ld.relaxed.gpu.global.b32"),
        handOver("fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [%p], 1;",
                 "ld.relaxed.gpu.global.b32"),
        handOver("st.global.b32 [%p], 1;", "ld.global.b32")})
    for (uint64_t seed = 0; seed < 5; ++seed)
      EXPECT_CONTAINS(failure(body, pairOf(seed)), "race in global memory");
}

TEST(Order, Atomics) {
  std::vector<uint32_t> found =
      words("atom.global.add.u32 %r1, [%p], 2; red.global.max.s32 [%p+4], %t; atom.global.inc.u32 "
            "%r2, [%p+8], 0x7FFFFFFF; red.global.and.b32 [%p+12], 6; mov.b32 %r3, -1; "
            "atom.global.cas.b32 %r4, [%p+16], %r3, %t;",
            blockOf(64, 3), 5);
  EXPECT_EQ(found[0], 64u * 3 * 2 - 1);
  EXPECT_EQ(found[1], 63u);
  EXPECT_EQ(found[2], 64u * 3 - 1); // from -1, which wraps to 0 first
  EXPECT_EQ(found[3], 6u);
  EXPECT_LT(found[4], 64u);
  expectThreads(
      ".shared .align 4 .b8 s[4]; mov.u32 %r2, s; setp.eq.u32 %c0, %t, 0; @%c0 "
      "st.shared.b32 [%r2], 0; bar.sync 0; atom.shared.add.u32 %r3, [%r2], 1; bar.sync 0; "
      "ld.shared.b32 %r1, [%r2];",
      [](uint32_t) { return 96; }, 96);
}

} // namespace
