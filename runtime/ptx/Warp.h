//===- Warp.h - A warp, its CTA and the launch in progress ------*- C++ -*-===//
//
// Lanes of a warp that are at the same instruction form a group and execute together; the group
// with the least program counter goes first, so that diverged lanes meet again. A collective waits
// for the rest of its lanes.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_WARP_H
#define PE_RUNTIME_PTX_WARP_H

#include "runtime/ptx/Launch.h"
#include "runtime/ptx/Races.h"

#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <random>

namespace pe::ptx {

class Cta;
class Run;

/// Lanes at the same instruction of a frame.
struct Group {
  uint32_t pc = 0;
  Lanes lanes = 0;
  bool waits = false; // at a collective, for other lanes
};

/// An activation of a function.
struct Frame {
  const Code *code = nullptr;
  std::byte *data = nullptr;
  std::vector<Group> groups;
  unsigned current = 0;   // index into groups
  uint32_t localBase = 0; // of its local variables, in the local memory of each lane
};

class Warp final : public ClockedWarp {
public:
  Warp(Cta &cta, unsigned number);
  ~Warp();

  /// The reason why a turn ended.
  enum class Turn { Used, Waits, Done };
  /// Executes at most `most` instructions.
  Turn run(uint64_t most);

  /// Returns the 32 values of an operand.
  template <typename T> T *lanes(uint32_t offset) { return reinterpret_cast<T *>(frame + offset); }
  template <typename T> const T *lanes(uint32_t offset) const {
    return reinterpret_cast<const T *>(frame + offset);
  }
  Lanes &predicate(uint32_t offset) { return *lanes<Lanes>(offset); }
  const Code &code() const { return *frames.back().code; }
  const uint32_t *list(const Step &step) const { return code().offsets.data() + step.list; }

  /// Returns the number of a lane's thread in its CTA.
  unsigned thread(unsigned lane) const { return number * kWarpSize + lane; }
  /// Describes a thread for messages: "thread (37, 0, 0) of CTA (2, 0, 0)".
  std::string describe(unsigned lane) const override;
  const ClockedWarp &ofCta(unsigned number) const override;
  /// Returns the line of the instruction at which each group is, for reports on waits.
  std::string place() const;
  Lanes live() const { return kAllLanes & ~exited; }

  /// Returns the local memory of a lane.
  std::byte *localMemory(unsigned lane);

  Cta &cta;
  Lanes exited = 0;      // lanes that are done or do not exist
  uint64_t lastPoll = 0; // Run::executed at the last strong load or atomic operation
  Lanes carry = 0;       // condition code of add.cc, sub.cc and mad.cc
  bool isDone = false;
  /// Counts that a lane's asynchronous copies need (AsyncCopies.cpp).
  std::unique_ptr<class Copies> copies;

  // Set while the warp waits at a barrier of its CTA.
  int barrier = -1;
  const Step *barrierStep = nullptr;

private:
  friend class Cta;
  void push(const Code &code, Lanes lanes);
  void pop();
  void start(Frame &frame);
  Lanes needed(const Step &step, Lanes mask) const;
  bool collect(Frame &frame, const Step &step, Lanes mask);
  void runCollective(const Step &step, Lanes mask);
  void call(const Step &step, Lanes lanes);
  void split(Frame &frame, uint32_t otherPc, Lanes otherLanes);
  bool select(Frame &frame);
  Turn runGroup(Frame &frame, uint64_t &left);
  /// The continuation of the current group after an instruction.
  enum class Next { Continue, Stop, Wait };
  Next follow(Frame &frame, const Step &step, Lanes lanes);
  Next branch(Frame &frame, const Step &step, Lanes lanes);
  Next runTogether(Frame &frame, const Step &step, Lanes lanes);
  void branchByTable(Frame &frame, const Step &step, Lanes lanes);
  bool wake(Frame &frame);
  [[noreturn]] void reportMissingLanes(Frame &frame);
  void remove(Frame &frame, Lanes lanes);

  // Diverged lanes may wait for what others hold, so that the group with the least program counter
  // does not always go first: after kFairTurn instructions, the group of a lane chosen at random
  // has a turn of kFavoredTurn.
  static constexpr uint64_t kFairTurn = 2000, kFavoredTurn = 200;
  uint64_t fair = kFairTurn, favor = 0; // instructions left of these turns
  unsigned favored = 0;                 // the lane
  void chooseFavored(Frame &frame);

  std::byte *frame = nullptr; // frames.back().data
  std::vector<Frame> frames;
  /// Register files that returned calls have left, by code.
  std::unordered_map<const Code *, std::vector<std::unique_ptr<std::byte[]>>> spare;
  std::vector<std::unique_ptr<std::byte[]>> storage; // of frames, in order
  std::unique_ptr<std::byte[]> local;
  uint32_t localBytes = 0; // of a lane
};

/// A block of threads in flight.
class Cta {
public:
  Cta(Run &run, uint64_t number);

  Run &run;
  const uint64_t number; // in the grid
  const Extent index;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<std::byte> shared;
  SharedShadow shadow;
  StaleSectors stale; // of global memory (Races.h)

  /// Reductions of bar.red, in Step::flags; the result is operand `d`.
  enum Reduction : uint16_t { kNoReduction, kCount, kAll, kAny };
  /// A warp arrives at barrier `id`, which is complete after `count` threads (0: those of the CTA
  /// that have not exited). If `waits`, the warp is suspended until then, and `step.flags` is the
  /// Reduction that it reads; `votes` are the lanes whose predicate holds.
  void arrive(Warp &warp, const Step &step, unsigned id, unsigned count, bool waits, Lanes votes);
  /// Reports to barriers that a warp has ended.
  void ended(Warp &warp);

private:
  struct Barrier {
    unsigned expected = 0, arrived = 0; // threads
    bool isOfAll = false;
    unsigned votes = 0;
    bool isAll = true;
    std::vector<Warp *> waiting;
    std::vector<ClockedWarp *> arrivals;
  };
  void completeIfFull(Barrier &barrier);
  std::array<Barrier, 16> barriers;
};

/// A launch in progress.
class Run {
public:
  Run(const Kernel &kernel, const Launch &launch, const Limits &limits, Memory &memory,
      const std::vector<std::byte> &constants);

  /// Executes the grid. Throws Fault with the line set.
  void execute();

  const Kernel &kernel;
  const Launch &launch;
  const Limits &limits;
  Memory &memory;
  const std::vector<std::byte> &constants; // constant memory
  std::vector<std::byte> parameters;       // parameter space of the kernel
  GlobalRaces races;
  std::mt19937_64 random;
  uint64_t executed = 0;  // warp instructions
  uint64_t lastEvent = 0; // `executed` at the last write or finished wait
  uint32_t sharedBytes = 0;
  std::map<int, LineCounts> counts;

  /// Latest strong stores, which strong loads of other CTAs may see late.
  StrongValues strong;
  /// The allocation that the last access of global memory was in.
  Allocation *lastAllocation = nullptr;

  /// Records that the grid makes progress.
  void progress() { lastEvent = executed; }
  /// Returns the line of the step that executes now, for messages.
  const Step *current = nullptr;

private:
  void startCtas();
  Warp *choose();
  bool isStuck() const;
  uint64_t lengthOfTurn();
  [[noreturn]] void reportWaits(const char *what);
  std::deque<std::unique_ptr<Cta>> inFlight;
  uint64_t next = 0; // CTA to start
  uint64_t turn = 0;
  std::vector<Warp *> candidates; // of choose()
};

/// Converts between bits and floating-point values.
inline float asFloat(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t asBits(float value) { return std::bit_cast<uint32_t>(value); }
inline double asDouble(uint64_t bits) { return std::bit_cast<double>(bits); }
inline uint64_t asBits(double value) { return std::bit_cast<uint64_t>(value); }

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_WARP_H
