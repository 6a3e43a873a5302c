//===- Machine.h - The processors that code is generated for ----*- C++ -*-===//
//
// One row per machine has everything that the choices of a schedule may depend on, and everything
// that the compiler and the runtime need to know about it. A new chip is a new row. Numbers of
// cores and clocks are not here: results depend on schedules and must not depend on the number of
// cores. Predictions read them from scripts/gpumodel/chips.json.
//
// Sources. CPUs: the x86-64 psABI (levels), Intel's and AMD's optimization manuals, Arm's guide for
// Neoverse V1. GPUs: the CUDA programming guide (compute capabilities, throughput of arithmetic
// instructions) and the PTX ISA; LLVM 22 for the lowest PTX version. A rate of 0 is unknown.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_MACHINE_H
#define PE_RUNTIME_PLAN_MACHINE_H

#include "pe/DType.h"

#include <span>
#include <string>
#include <string_view>

namespace pe::plan {

/// A kind of matrix instruction.
enum class Form {
  Fma,     // multiply-add of vectors
  PairDot, // adds products of pairs: vdpbf16ps, bfdot
  Tile,    // of tile registers: AMX
  Warp,    // of a warp's fragments: mma.sync
  Group    // of four warps: wgmma
};

/// The place and layout of an operand of a matrix instruction.
enum class Source {
  Registers,
  Rows,      // of memory, as they are
  Pairs,     // two consecutive elements of the contracted axis side by side
  Shared,    // fragments that ldmatrix loads from shared memory
  Descriptor // a matrix in shared memory
};

/// A matrix instruction with sums in f32: m x n x k multiply-adds, `perCycle` of them on a core or
/// multiprocessor.
struct MatrixOp {
  Form form;
  DType in;
  int m, n, k;
  Source a, b;
  int perCycle;
};

/// A way to copy from global to shared memory.
enum class Copy { Plain, CpAsync, Tma };

struct Machine {
  /// The value of --features or --chip: LLVM's name of the processor and, after each +, one of its
  /// features.
  std::string_view name;
  /// CPUs: the features of LLVM that a host must have, separated by spaces.
  std::string_view needs = "";
  bool isGpu = false;
  int lanes;     // f32 elements of a vector, or threads of a warp
  int registers; // vectors, or 32-bit words of a thread
  /// The matrix instructions, the fastest first.
  std::span<const MatrixOp> matrix = {};

  // CPUs.
  int l1WayBytes = 0;     // lines at this distance share a set of the first-level cache
  int l2Bytes = 0;        // of a core, on the smallest processors of this level
  bool hasScaleF = false; // one instruction multiplies by a power of two

  // GPUs.
  int capability = 0;     // 90 for compute capability 9.0
  int lowestPtx = 0;      // the lowest PTX version that LLVM 22 accepts, 78 for 7.8
  int usualPtx = 0;       // the version that every CUDA 12 driver accepts, or the first of the chip
  int sharedBytes = 0;    // of one CTA
  int threads = 0;        // of a multiprocessor
  int floatsPerCycle = 0; // f32 multiply-adds of a multiprocessor
  int integersPerCycle = 0;
  int specialPerCycle = 0; // exp2 and other special functions
  std::span<const Copy> copies = {};
  int namedBarriers = 0;       // of a CTA
  bool movesRegisters = false; // between groups of four warps: setmaxnreg
};

namespace machines {

using enum Form;
using enum Source;

inline constexpr MatrixOp kAvx2[] = {{Fma, DType::F32, 1, 8, 1, Registers, Rows, 16}};
inline constexpr MatrixOp kAvx512[] = {{Fma, DType::F32, 1, 16, 1, Registers, Rows, 32}};
inline constexpr MatrixOp kAvx512Bf16[] = {{PairDot, DType::BF16, 1, 16, 2, Registers, Pairs, 64},
                                           {Fma, DType::F32, 1, 16, 1, Registers, Rows, 32}};
inline constexpr MatrixOp kAmx[] = {{Tile, DType::BF16, 16, 16, 32, Rows, Pairs, 512},
                                    {PairDot, DType::BF16, 1, 16, 2, Registers, Pairs, 64},
                                    {Fma, DType::F32, 1, 16, 1, Registers, Rows, 32}};
inline constexpr MatrixOp kNeon[] = {{PairDot, DType::BF16, 1, 4, 2, Registers, Pairs, 32},
                                     {Fma, DType::F32, 1, 4, 1, Registers, Rows, 16}};

/// mma.sync of 16-bit elements; `perCycle` is the dense rate with sums in f32.
constexpr MatrixOp mmaSync(int perCycle) {
  return {Warp, DType::BF16, 16, 8, 16, Registers, Shared, perCycle};
}
inline constexpr MatrixOp kMma1024[] = {mmaSync(1024)};
inline constexpr MatrixOp kMma512[] = {mmaSync(512)}; // derived from 440 TFLOPS of 188 cores
inline constexpr MatrixOp kMma256[] = {mmaSync(256)};
inline constexpr MatrixOp kMmaUnknown[] = {mmaSync(0)};
// mma.sync reaches about 5/8 of the rate of wgmma (assumed).
inline constexpr MatrixOp kHopper[] = {mmaSync(1280)};
inline constexpr MatrixOp kHopperGroups[] = {
    {Group, DType::BF16, 64, 256, 16, Registers, Descriptor, 2048}, mmaSync(1280)};

inline constexpr Copy kCpAsync[] = {Copy::CpAsync, Copy::Plain};
inline constexpr Copy kTma[] = {Copy::Tma, Copy::CpAsync, Copy::Plain};

/// Returns a CPU of an x86-64 level.
constexpr Machine x86(std::string_view name, std::string_view needs, int lanes, int registers,
                      std::span<const MatrixOp> matrix) {
  return {.name = name,
          .needs = needs,
          .lanes = lanes,
          .registers = registers,
          .matrix = matrix,
          .l1WayBytes = 4096,
          .l2Bytes = 512 * 1024,
          .hasScaleF = lanes == 16};
}

/// The numbers of a GPU that differ from chip to chip.
struct ChipNumbers {
  int capability, lowestPtx, usualPtx, sharedKiB, threads, floatsPerCycle;
};
constexpr Machine chip(std::string_view name, ChipNumbers numbers, std::span<const MatrixOp> matrix,
                       std::span<const Copy> copies, bool movesRegisters = false) {
  return {.name = name,
          .isGpu = true,
          .lanes = 32,
          .registers = 255,
          .matrix = matrix,
          .capability = numbers.capability,
          .lowestPtx = numbers.lowestPtx,
          .usualPtx = numbers.usualPtx,
          .sharedBytes = numbers.sharedKiB * 1024,
          .threads = numbers.threads,
          .floatsPerCycle = numbers.floatsPerCycle,
          .integersPerCycle = 64,
          .specialPerCycle = 16,
          .copies = copies,
          .namedBarriers = 16,
          .movesRegisters = movesRegisters};
}

inline constexpr std::string_view kAvx2Needs = "avx2 fma bmi2",
                                  kAvx512Needs = "avx2 fma bmi2 avx512f avx512bw avx512dq "
                                                 "avx512vl avx512cd",
                                  kAvx512Bf16Needs = "avx2 fma bmi2 avx512f avx512bw avx512dq "
                                                     "avx512vl avx512cd avx512bf16";

} // namespace machines

/// The machines that code is generated for: CPUs from the least to the best level, and GPUs from
/// old to new. A letter at the end of a chip's name allows no other chip.
inline constexpr Machine kMachines[] = {
    machines::x86("x86-64-v3", machines::kAvx2Needs, 8, 16, machines::kAvx2),
    machines::x86("x86-64-v4", machines::kAvx512Needs, 16, 32, machines::kAvx512),
    machines::x86("x86-64-v4+avx512bf16", machines::kAvx512Bf16Needs, 16, 32,
                  machines::kAvx512Bf16),
    machines::chip("sm_80", {80, 70, 80, 163, 2048, 64}, machines::kMma1024, machines::kCpAsync),
    machines::chip("sm_86", {86, 71, 80, 99, 1536, 128}, machines::kMma256, machines::kCpAsync),
    machines::chip("sm_89", {89, 78, 80, 99, 1536, 128}, machines::kMma256, machines::kCpAsync),
    machines::chip("sm_90", {90, 78, 80, 227, 2048, 128}, machines::kHopper, machines::kTma),
    machines::chip("sm_90a", {90, 80, 80, 227, 2048, 128}, machines::kHopperGroups, machines::kTma,
                   /*movesRegisters=*/true),
    machines::chip("sm_100", {100, 86, 86, 227, 2048, 128}, machines::kMmaUnknown, machines::kTma),
    machines::chip("sm_100a", {100, 86, 86, 227, 2048, 128}, machines::kMmaUnknown, machines::kTma,
                   /*movesRegisters=*/true),
    machines::chip("sm_103", {103, 88, 88, 227, 2048, 128}, machines::kMmaUnknown, machines::kTma),
    machines::chip("sm_120", {120, 87, 87, 99, 1536, 128}, machines::kMma512, machines::kTma),
    machines::chip("sm_121", {121, 88, 88, 99, 1536, 128}, machines::kMmaUnknown, machines::kTma),
};

/// Machines that no schedule, lowering or loader supports yet.
inline constexpr Machine kPlannedMachines[] = {
    machines::x86("x86-64-v4+amx", machines::kAvx512Needs, 16, 32, machines::kAmx),
    {.name = "neoverse-v1",
     .needs = "neon bf16",
     .lanes = 4,
     .registers = 32,
     .matrix = machines::kNeon,
     .l1WayBytes = 16 * 1024,
     .l2Bytes = 1024 * 1024},
};

/// Returns the matrix instruction of this form and operand type, or null.
constexpr const MatrixOp *findMatrixOp(const Machine &machine, Form form, DType in) {
  for (const MatrixOp &op : machine.matrix)
    if (op.form == form && op.in == in)
      return &op;
  return nullptr;
}

/// Returns the machine with this name, or null.
constexpr const Machine *findMachine(std::string_view name) {
  for (const Machine &machine : kMachines)
    if (machine.name == name)
      return &machine;
  return nullptr;
}

/// Lists the names of the CPUs or of the GPUs: "a, b or c" if `last` is " or ".
inline std::string namesOf(bool isGpu, std::string_view last = ", ") {
  std::string text;
  const Machine *before = nullptr;
  for (const Machine &machine : kMachines) {
    if (machine.isGpu != isGpu)
      continue;
    if (before)
      text += std::string(text.empty() ? "" : ", ") + std::string(before->name);
    before = &machine;
  }
  return text + std::string(text.empty() ? "" : last) + std::string(before->name);
}

/// Returns the first GPU of a compute capability, or null.
constexpr const Machine *findChip(int capability) {
  for (const Machine &machine : kMachines)
    if (machine.isGpu && machine.capability == capability)
      return &machine;
  return nullptr;
}

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_MACHINE_H
