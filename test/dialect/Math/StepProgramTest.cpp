//===- StepProgramTest.cpp - Step programs and their mutants --------------===//
#include "dialect/Math/StepFaults.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

using namespace pe::math;

namespace {

Action fill(int ring, int ahead) { return {Action::Fill, ring, ahead}; }
Action put(int ring, int ahead) { return {Action::Put, ring, ahead}; }
Action take(int ring, int ahead) { return {Action::Take, ring, ahead}; }
Action freeOf(int ring, int ahead) { return {Action::Free, ring, ahead}; }
Action run(int phase, int ahead) { return {Action::Run, phase, ahead}; }
Action joined(Action action) {
  action.isJoined = true;
  return action;
}

/// Returns the program with its wait counts.
StepProgram waiting(StepProgram program) {
  setWaits(program);
  return program;
}

//===- Programs -----------------------------------------------------------------===//

/// The loop of passes/ToGPU: the next block is copied during the arithmetic of this one.
StepProgram today() {
  const std::vector<Action> before = {fill(0, 0)}, trip = {take(0, 0), fill(0, 1), run(0, 0)};
  return waiting({.rings = {{"kv", 2}},
                  .phases = {{"all", 0, {{0}}, {{0, 1}}}},
                  .roles = {{"math", 1, 0, before, trip}},
                  .alone = {}});
}

std::vector<Phase> softmaxPhases(int role) {
  return {{"qk", role, {{0}}, {}},
          {"soft", role, {}, {{0, 0}, {1, 1}}},
          {"pv", role, {{1}}, {{1, 0}, {2, 1}}}};
}

/// Softmax forward: the scores of the next block are computed ahead.
StepProgram softmax() {
  return waiting({.rings = {{"k", 2}, {"v", 1}},
                  .phases = softmaxPhases(0),
                  .roles = {{"math",
                             1,
                             -1,
                             {fill(0, 0)},
                             {take(0, 1), fill(1, 0), fill(0, 2), run(0, 1), run(1, 0), take(1, 0),
                              run(2, 0)}}},
                  .alone = {}});
}

/// The same with a second slot of v and one barrier per trip.
StepProgram softmaxOneBarrier() {
  return waiting({.rings = {{"k", 2}, {"v", 2}},
                  .phases = softmaxPhases(0),
                  .roles = {{"math",
                             1,
                             -1,
                             {fill(0, 0)},
                             {joined(take(0, 1)), take(1, 0), fill(1, 1), fill(0, 2), run(0, 1),
                              run(1, 0), run(2, 0)}}},
                  .alone = {}});
}

/// Softmax backward: a warp adds dq to memory.
StepProgram backward() {
  enum { q, ds, dq };
  return waiting({.rings = {{"q", 2}, {"ds", 1, 0, 0, 0}, {"dq", 1, 0, 1, 1}},
                  .phases = {{"s", 0, {{q}}, {}},
                             {"dq", 0, {{ds}}, {{0, 0}}},
                             {"add", 1, {{dq}}, {{1, 0}, {2, 1}}}},
                  .roles = {{"math",
                             1,
                             0,
                             {fill(q, 0)},
                             {take(q, 0), fill(q, 1), run(0, 0), put(ds, 0), take(ds, 0), run(1, 0),
                              put(dq, 0)}},
                            {"write", 1, 0, {}, {take(dq, 0), run(2, 0), freeOf(dq, 0)}}},
                  .alone = {}});
}

/// Two groups in turn: one multiplies while the other computes exponentials.
StepProgram pingPong() {
  return waiting({.rings = {{"k", 2, 0, 1}, {"v", 2, 0, 1}},
                  .phases = softmaxPhases(1),
                  .roles = {{"load", 1, -1, {}, {fill(0, 1), fill(1, 0)}},
                            {"math",
                             2,
                             -1,
                             {},
                             {{Action::Enter},
                              take(0, 1),
                              run(0, 1),
                              take(1, 0),
                              run(2, 0),
                              {Action::Leave},
                              freeOf(0, 1),
                              run(1, 1),
                              freeOf(1, 0)}}},
                  .alone = {0, 2}});
}

StepProgram stickBreaking() {
  StepProgram program = softmax();
  program.phases[0].name = "z";
  program.phases[1].name = "scan";
  return program;
}

/// FIRE: the pieces of the next block are found ahead.
StepProgram fire() {
  enum { k, v, u };
  return waiting({.rings = {{"k", 2}, {"v", 1}, {"u", 3}},
                  .phases = {{"look", 0, {{u}}, {}},
                             {"qk", 0, {{k}, {u}}, {{0, 0}}},
                             {"soft", 0, {}, {{1, 0}}},
                             {"pv", 0, {{v}}, {{2, 0}, {3, 1}}}},
                  .roles = {{"math",
                             1,
                             -1,
                             {fill(u, 0)},
                             {take(u, 1), take(k, 0), fill(v, 0), fill(k, 1), fill(u, 2), run(0, 1),
                              run(1, 0), run(2, 0), take(v, 0), run(3, 0)}}},
                  .alone = {}});
}

//===- Mutants ------------------------------------------------------------------===//

struct Mutant {
  std::string name;
  StepProgram program;
};

std::vector<Action> &listOf(StepProgram &program, size_t role, bool isTrip) {
  return isTrip ? program.roles[role].trip : program.roles[role].before;
}

/// Appends the mutants of one list of actions.
void mutateList(StepProgram program, size_t role, bool isTrip, std::vector<Mutant> &mutants) {
  const std::vector<Action> list = listOf(program, role, isTrip);
  auto add = [&](const std::string &name, auto edit) {
    StepProgram mutant = program;
    edit(listOf(mutant, role, isTrip));
    mutants.push_back({name, mutant});
  };
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string text = toString(program, list[i], isTrip ? "n" : "");
    if (list[i].kind != Action::Run)
      add("drop " + text, [&](auto &edited) { edited.erase(edited.begin() + i); });
    for (const int step : {-1, 1})
      if (list[i].hasBlock())
        add(text + (step < 0 ? " one earlier" : " one later"),
            [&](auto &edited) { edited[i].ahead += step; });
    if (program.isOwnTake(list[i]) && !list[i].isJoined && list[i].inFlight != Action::kNoWait)
      add(text + " with one more in flight", [&](auto &edited) { ++edited[i].inFlight; });
    if (i + 1 < list.size())
      add("swap " + text + ", " + toString(program, list[i + 1], isTrip ? "n" : ""),
          [&](auto &edited) { std::swap(edited[i], edited[i + 1]); });
  }
}

std::vector<Mutant> mutantsOf(const StepProgram &program) {
  std::vector<Mutant> mutants;
  for (size_t ring = 0; ring < program.rings.size(); ++ring)
    if (program.rings[ring].slots > 1) {
      mutants.push_back({"one slot less of " + program.rings[ring].name, program});
      --mutants.back().program.rings[ring].slots;
    }
  for (size_t role = 0; role < program.roles.size(); ++role)
    for (const bool isTrip : {false, true})
      mutateList(program, role, isTrip, mutants);
  return mutants;
}

/// A mutant that is not a fault, and the reason.
struct Harmless {
  std::string name, reason;
};

/// Expects no fault of a program, `total` mutants, and faults of all except `harmless`.
void expectFound(const StepProgram &program, size_t total, const std::vector<Harmless> &harmless) {
  EXPECT_EQ(findFault(program).value_or("no fault"), "no fault") << toString(program);
  const std::vector<Mutant> mutants = mutantsOf(program);
  EXPECT_EQ(mutants.size(), total);
  std::vector<std::string> missed, allowed;
  for (const Mutant &mutant : mutants)
    if (!findFault(mutant.program))
      missed.push_back(mutant.name);
  for (const Harmless &mutant : harmless)
    allowed.push_back(mutant.name);
  EXPECT_EQ(missed, allowed);
}

std::string faultOf(const StepProgram &program) { return findFault(program).value_or("no fault"); }

TEST(StepProgram, Today) {
  expectFound(today(), 15,
              {{"swap fill kv[n+1], run all[n]", "the copy only starts after the arithmetic"}});
}

TEST(StepProgram, Softmax) {
  expectFound(softmax(), 30,
              {{"swap fill k[n+2], run qk[n+1]", "the copy only starts later"},
               {"swap run qk[n+1], run soft[n]", "soft[n] uses the scores of the trip before"},
               {"run soft[n] one later", "soft[n+1] runs in the trip of qk[n+1], after it"},
               {"swap run soft[n], take v[n]", "the barrier is only earlier"}});
}

TEST(StepProgram, SoftmaxOneBarrier) {
  const StepProgram program = softmaxOneBarrier();
  EXPECT_EQ(program.roles[0].trip[0].inFlight, Action::kNoWait);
  EXPECT_EQ(program.roles[0].trip[1].inFlight, 0);
  expectFound(program, 30,
              {{"swap fill v[n+1], fill k[n+2]", "the next wait is for both"},
               {"swap fill k[n+2], run qk[n+1]", "the copy only starts later"},
               {"swap run qk[n+1], run soft[n]", "soft[n] uses the scores of the trip before"},
               {"run soft[n] one later", "soft[n+1] runs in the trip of qk[n+1], after it"}});
  StepProgram mutant = program;
  mutant.roles[0].trip[1].inFlight = 1;
  EXPECT_EQ(faultOf(mutant), "with 1 block, take v[-1] (in flight 1) does not wait for k[0], "
                             "because the number of newer copies is 0");
  mutant = program;
  std::swap(mutant.roles[0].trip[1], mutant.roles[0].trip[2]);
  EXPECT_EQ(faultOf(mutant),
            "take k[n+1] is joined, but not followed by a take of a ring of one role");
}

TEST(StepProgram, Backward) {
  expectFound(backward(), 40,
              {{"swap take q[n], fill q[n+1]", "the barrier of ds follows the reads of q[n-1]"},
               {"swap fill q[n+1], run s[n]", "the copy only starts later"}});
}

TEST(StepProgram, PingPong) {
  expectFound(pingPong(), 37,
              {{"one slot less of k", "the copy only waits for free"},
               {"one slot less of v", "the copy only waits for free"},
               {"fill k[n+1] one earlier", "k[n] is only copied later"},
               {"swap fill k[n+1], fill v[n]", "v has a free slot before the math takes k[n+1]"},
               {"fill v[n] one later", "v[n+1] has a slot, and is only copied earlier"},
               {"swap enter, take k[n+1]", "a group may wait for a copy before its turn"},
               {"swap run qk[n+1], take v[n]", "the wait is only earlier"},
               {"take v[n] one later", "the two slots hold v[n] and v[n+1]"},
               {"swap leave, free k[n+1]", "the slot is free earlier, the turn ends later"},
               {"free k[n+1] one earlier", "the two slots hold k[n] and k[n+1]"},
               {"swap free k[n+1], run soft[n+1]", "the slot is only freed later"},
               {"swap run soft[n+1], free v[n]", "the slot is only freed earlier"}});
}

TEST(StepProgram, StickBreaking) {
  expectFound(stickBreaking(), 30,
              {{"swap fill k[n+2], run z[n+1]", "the copy only starts later"},
               {"swap run z[n+1], run scan[n]", "scan[n] uses the scores of the trip before"},
               {"run scan[n] one later", "scan[n+1] runs in the trip of z[n+1], after it"},
               {"swap run scan[n], take v[n]", "the barrier is only earlier"}});
}

TEST(StepProgram, Fire) {
  expectFound(fire(), 43,
              {{"swap take u[n+1], take k[n]", "both are barriers and wait for all copies"},
               {"swap take k[n], fill v[n]", "the barrier of u follows the read of v[n-1]"},
               {"swap fill u[n+2], run look[n+1]", "the copy only starts later"},
               {"run look[n+1] one earlier", "look[n] runs in the trip of qk[n], before it"},
               {"swap run look[n+1], run qk[n]", "qk[n] uses the pieces of the trip before"},
               {"swap run soft[n], take v[n]", "the barrier is only earlier"}});
  // The first trip already fills k[0].
  StepProgram twice = fire();
  twice.roles[0].before.push_back(fill(0, 0));
  EXPECT_EQ(faultOf(twice), "with 1 block, k[0] is written twice");
}

TEST(StepProgram, Text) {
  EXPECT_EQ(toString(softmax()),
            "rings: k 2, v 1\n"
            "math, from trip -1:\n"
            "  before: fill k[0]\n"
            "  trip: take k[n+1] (in flight 0)  fill v[n]  fill k[n+2]  run qk[n+1]  run soft[n]  "
            "take v[n] (in flight 1)  run pv[n]\n");
  EXPECT_EQ(toString(softmaxOneBarrier()),
            "rings: k 2, v 2\n"
            "math, from trip -1:\n"
            "  before: fill k[0]\n"
            "  trip: take k[n+1], v[n] (in flight 0)  fill v[n+1]  fill k[n+2]  run qk[n+1]  "
            "run soft[n]  run pv[n]\n");
  EXPECT_EQ(toString(pingPong()),
            "rings: k 2 from load to math, v 2 from load to math\n"
            "alone: qk, pv\n"
            "load, from trip -1:\n"
            "  trip: fill k[n+1]  fill v[n]\n"
            "math, 2 groups, from trip -1:\n"
            "  trip: enter  take k[n+1]  run qk[n+1]  take v[n]  run pv[n]  leave  free k[n+1]  "
            "run soft[n+1]  free v[n]\n");
}

//===- Single rules -------------------------------------------------------------===//

TEST(StepProgram, Messages) {
  StepProgram program = softmax();
  program.rings[0].slots = 1;
  EXPECT_EQ(faultOf(program), "with 2 blocks, fill k[1] overwrites k[0] before all threads have "
                              "read it");
  program = softmax();
  program.roles[0].trip[5].inFlight = 2;
  EXPECT_EQ(faultOf(program), "with 1 block, take v[0] (in flight 2) does not wait for v[0], "
                              "because the number of newer copies is 1");
  program.roles[0].trip[5].inFlight = Action::kNoWait;
  EXPECT_EQ(faultOf(program), "with 1 block, take v[0] waits for no copies, but v[0] is filled");
  program = softmax();
  program.roles[0].trip[4].ahead = 2;
  program.roles[0].first = -2;
  EXPECT_EQ(faultOf(program), "with 1 block, soft[0] runs before qk[0], but uses its result");
  program = pingPong();
  program.roles[1].trip.erase(program.roles[1].trip.begin() + 6);
  EXPECT_EQ(findFault(program, 4), "with 4 blocks, the rest cannot run: load waits at fill k[2], "
                                   "math 0 waits at take k[2], math 1 waits at enter");
}

TEST(StepProgram, ResultsOfOtherRoles) {
  // Without the ring, no wait orders the roles.
  StepProgram program = backward();
  program.phases[2].reads.clear();
  program.roles[1].trip = {run(2, 0)};
  program.roles[0].trip.pop_back();
  EXPECT_EQ(faultOf(program), "with 1 block, add[0] does not wait for dq[0], but uses its result");
  program.phases[2].after.clear();
  EXPECT_EQ(faultOf(program), "no fault");
}

TEST(StepProgram, Sync) {
  // A barrier after the last read allows one slot.
  StepProgram program = today();
  program.rings[0].slots = 1;
  program.roles[0].trip = {take(0, 0), run(0, 0), {Action::Sync}, fill(0, 1)};
  EXPECT_EQ(faultOf(program), "no fault");
  expectFound(waiting(program), 16, {});
  program.roles[0].trip.erase(program.roles[0].trip.begin() + 2);
  EXPECT_EQ(faultOf(program), "with 2 blocks, fill kv[1] overwrites kv[0] before all threads have "
                              "read it");
}

TEST(StepProgram, CircularWaits) {
  // The other group cannot reach the barrier of the role before its turn.
  StepProgram program = pingPong();
  program.roles[1].trip.insert(program.roles[1].trip.begin() + 1, {Action::Sync});
  EXPECT_EQ(faultOf(program), "with 0 blocks, the rest cannot run: math 0 waits at sync, math 1 "
                              "waits at enter");
  // With one slot, the copy of k[2] waits for math, which waits for the copy of v[0] after it.
  program = pingPong();
  program.rings[0].slots = 1;
  EXPECT_EQ(faultOf(program), "no fault");
  program.roles[1].trip = {take(0, 1), take(1, 0),   run(0, 1),   run(2, 0),
                           run(1, 1),  freeOf(0, 1), freeOf(1, 0)};
  program.alone.clear();
  EXPECT_EQ(faultOf(program), "no fault");
  program.roles[0].trip = {fill(0, 2), fill(1, 0)};
  program.roles[0].first = -2;
  EXPECT_EQ(faultOf(program), "with 3 blocks, the rest cannot run: load waits at fill k[2], math 0 "
                              "waits at take v[0], math 1 waits at take v[0]");
}

TEST(StepProgram, Turns) {
  StepProgram program = pingPong();
  std::swap(program.roles[1].trip[4], program.roles[1].trip[5]);
  EXPECT_EQ(faultOf(program), "with 1 block, pv[0] runs outside of enter and leave");
  program = pingPong();
  program.roles[1].trip.insert(program.roles[1].trip.begin(), {Action::Enter});
  EXPECT_EQ(faultOf(program), "with 0 blocks, math 0 enters twice");
  program = pingPong();
  program.roles[1].groups = 1;
  program.roles[1].trip.erase(program.roles[1].trip.begin() + 5);
  EXPECT_EQ(faultOf(program), "with 0 blocks, math never leaves");
}

TEST(StepProgram, TakeAndFree) {
  StepProgram program = pingPong();
  program.roles[1].trip.push_back(freeOf(0, 1));
  EXPECT_EQ(faultOf(program), "with 1 block, free k[0] does not follow a take of its block");
  program = pingPong();
  program.roles[1].trip.push_back(take(0, 1));
  EXPECT_EQ(faultOf(program), "with 1 block, k[0] is taken twice");
  program = backward();
  program.roles[0].trip.push_back(take(0, 0));
  EXPECT_EQ(faultOf(program), "with 1 block, q[0] is taken twice");
  program = pingPong();
  program.roles[0].trip.push_back(fill(0, 1));
  EXPECT_EQ(faultOf(program), "with 1 block, k[0] is written twice");
}

TEST(StepProgram, Malformed) {
  const auto expectFault = [](auto edit, const std::string &message) {
    StepProgram program = softmax();
    edit(program);
    EXPECT_EQ(faultOf(program), message);
    EXPECT_EQ(findFault(program, 3), message);
  };
  expectFault([](auto &p) { p.rings[0].slots = 0; },
              "expected the number of slots of k to be 1 to 64, found 0");
  expectFault([](auto &p) { p.rings[0].to = 1; },
              "expected a role of k to be the number of a role, found 1");
  expectFault([](auto &p) { p.phases[0].role = -1; },
              "expected the role of qk to be the number of a role, found -1");
  expectFault([](auto &p) { p.phases[0].reads[0].ring = 2; },
              "expected the ring that qk reads to be the number of a ring, found 2");
  expectFault([](auto &p) { p.phases[1].after[1].distance = 0; },
              "expected the distance at which soft uses soft to be 1 to 64, found 0");
  expectFault([](auto &p) { p.alone = {3}; },
              "expected an entry of alone to be the number of a phase, found 3");
  expectFault([](auto &p) { p.roles[0].groups = 0; },
              "expected the groups of math to be 1 to 64, found 0");
  expectFault([](auto &p) { p.roles[0].trip[0].subject = 2; },
              "expected the subject of take in math to be the number of a ring, found 2");
  expectFault([](auto &p) { p.roles[0].trip[0].ahead = 65; },
              "expected the distance of take k[n+65] to be -64 to 64, found 65");
  expectFault([](auto &p) { p.roles[0].trip[0].inFlight = -2; },
              "expected the copies in flight of take k[n+1] to be -1 or more, found -2");
  expectFault([](auto &p) { p.roles[0].trip[1] = freeOf(0, 0); },
              "free k[n] has no effect: a barrier frees the rings of one role");
  expectFault([](auto &p) { p.roles[0].trip[1] = put(0, 0); },
              "put k[n] has no source; fill the ring");
  expectFault([](auto &p) { p.rings[1].source = 0; },
              "fill v[n] has a source; put its results into the ring");
  StepProgram program = pingPong();
  program.roles[0].trip.push_back(run(0, 0));
  EXPECT_EQ(faultOf(program), "run qk[n] is an action of math, found in load");
  EXPECT_EQ(findFault(softmax(), -1), "expected the number of blocks to be 0 to 65536, found -1");
}

//===- Left-out blocks, more blocks, time ---------------------------------------===//

TEST(StepProgram, LeftOutBlocks) {
  for (const StepProgram &program : {today(), softmax(), backward(), pingPong(), fire()})
    for (uint64_t leftOut = 0; leftOut < 64; ++leftOut)
      EXPECT_EQ(findFault(program, 6, leftOut), std::nullopt) << leftOut;
  StepProgram program = softmax();
  program.roles[0].trip.erase(program.roles[0].trip.begin() + 5); // take v[n]
  EXPECT_EQ(findFault(program, 2, 1), "with 2 blocks without 0, fill v[1] overwrites v[0] before "
                                      "it is taken");
}

/// The bound of findFault suffices: more blocks have no other faults.
TEST(StepProgram, MoreBlocks) {
  for (const StepProgram &program :
       {softmax(), softmaxOneBarrier(), backward(), pingPong(), fire()})
    for (const Mutant &mutant : mutantsOf(program)) {
      if (findFault(mutant.program))
        continue;
      for (int blocks = 0; blocks < 40; ++blocks)
        EXPECT_EQ(findFault(mutant.program, blocks), std::nullopt) << mutant.name;
    }
}

TEST(StepProgram, Time) {
  for (const StepProgram &program : {softmax(), pingPong()}) {
    constexpr int repetitions = 100;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repetitions; ++i)
      ASSERT_FALSE(findFault(program));
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    std::cout << "findFault: " << time.count() / repetitions << " us\n";
    EXPECT_LT(time.count() / repetitions, 50e3); // loose, for sanitizers and busy machines
  }
}

} // namespace
