//===- PtxTest.cpp - LLVM dialect to PTX ----------------------------------===//
#include "runtime/jit/Ptx.h"
#include "runtime/jit/Compilation.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"
#include <gtest/gtest.h>

using namespace pe;

namespace {

/// Emits the PTX of `module` for a chip.
Expected<std::string> emit(const std::string &module, const std::string &chip = "sm_80") {
  jit::Compilation compilation(jit::getRegistry());
  if (Status parsed = compilation.parse({module, "kernels.mlir", ""}); !parsed)
    return parsed.error();
  return jit::emitPtx(compilation.getModule(), *jit::parseChip(chip));
}

std::string inKernels(const std::string &functions) {
  return "gpu.module @kernels {\n" + functions + "}\n";
}

/// Returns a kernel that stores (i + k) * s for every k below `count`.
std::string products(const std::string &name, int count) {
  std::string text = "llvm.func @" + name + "(%out: !llvm.ptr<1>, %i: i32, %s: i32) ";
  text += "attributes {gpu.kernel, nvvm.kernel} {\n";
  for (int k = 0; k < count; ++k) {
    const std::string n = std::to_string(k);
    text += "%c" + n + " = llvm.mlir.constant(" + n + " : i32) : i32\n";
    text += "%a" + n + " = llvm.add %i, %c" + n + " : i32\n";
    text += "%m" + n + " = llvm.mul %a" + n + ", %s : i32\n";
    text +=
        "%p" + n + " = llvm.getelementptr %out[" + n + "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n";
    text += "llvm.store %m" + n + ", %p" + n + " : i32, !llvm.ptr<1>\n";
  }
  return text + "llvm.return\n}\n";
}

/// Returns the number of multiplications in the PTX of a kernel of emitted text.
int countProducts(const std::string &ptx, const std::string &name) {
  const size_t begin = ptx.find(".entry " + name + "("), end = ptx.find("\n}", begin);
  if (begin == std::string::npos)
    return -1;
  int count = 0;
  for (size_t at = ptx.find("mul.lo", begin); at < end; at = ptx.find("mul.lo", at + 1))
    ++count;
  return count;
}

// Strength reduction replaces products by sums, and is quadratic in the number of products: it is
// skipped in kernels of more than 8192 instructions, and only in these.
TEST(Ptx, OnlyLongKernelsSkipStrengthReduction) {
  constexpr int kFew = 100, kMany = 2600;
  auto ptx = emit(inKernels(products("short", kFew) + products("long", kMany)));
  ASSERT_TRUE(ptx) << ptx.error().getMessage();
  EXPECT_LE(countProducts(*ptx, "short"), 2);
  EXPECT_GE(countProducts(*ptx, "long"), kMany - 1);
}

// LLVM aborts on a chip or a version of PTX that it does not know.
TEST(Ptx, EveryChipOfTheTable) {
  int chips = 0;
  for (const plan::Machine &machine : plan::kMachines) {
    if (!machine.isGpu)
      continue;
    ++chips;
    const std::string name(machine.name), lowest = std::to_string(machine.lowestPtx);
    for (const std::string &chip : {name, name + "+ptx" + lowest}) {
      auto ptx = emit(inKernels(products("kernel", 2)), chip);
      ASSERT_TRUE(ptx) << ptx.error().getMessage();
      EXPECT_NE(ptx->find(".target " + name), std::string::npos) << chip;
    }
    EXPECT_EQ(plan::findMachine(name), &machine);
    EXPECT_EQ(plan::findChip(machine.capability)->capability, machine.capability);
    EXPECT_LE(machine.lowestPtx, machine.usualPtx);
  }
  EXPECT_GE(chips, 9);
}

/// Returns the data layout of a target machine that another user of LLVM creates.
std::string layoutOfOthers() {
  const llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, "sm_80", "+ptx80", llvm::TargetOptions(), std::nullopt));
  return machine->createDataLayout().getStringRepresentation();
}

// 32-bit pointers are an option of LLVM for the process, which must not change for others.
TEST(Ptx, PointersToSharedMemoryAreShortInKernelsOfPeOnly) {
  for (int round = 0; round < 2; ++round) {
    auto ptx = emit(inKernels(R"(
      llvm.func @kernel(%p: !llvm.ptr<3>, %x: i32) attributes {gpu.kernel, nvvm.kernel} {
        llvm.store %x, %p : i32, !llvm.ptr<3>
        llvm.return
      }
    )"));
    ASSERT_TRUE(ptx) << ptx.error().getMessage();
    EXPECT_NE(ptx->find("st.shared.b32 \t[%r"), std::string::npos) << *ptx;
    EXPECT_EQ(layoutOfOthers().find("p3:32"), std::string::npos);
  }
}

// Dropout computes words of random bits with two xors in a row.
TEST(Ptx, TwoXorsAreOneInstruction) {
  auto ptx = emit(inKernels(R"(
    llvm.func @kernel(%out: !llvm.ptr<1>, %a: i32, %b: i32, %c: i32)
        attributes {gpu.kernel, nvvm.kernel} {
      %ab = llvm.xor %a, %b : i32
      %abc = llvm.xor %ab, %c : i32
      llvm.store %abc, %out : i32, !llvm.ptr<1>
      llvm.return
    }
  )"));
  ASSERT_TRUE(ptx) << ptx.error().getMessage();
  EXPECT_NE(ptx->find("lop3.b32"), std::string::npos) << *ptx;
  EXPECT_EQ(ptx->find("xor.b32"), std::string::npos) << *ptx;
}

TEST(Ptx, DefectsOfPe) {
  auto empty = emit("module {}\n");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().getMessage(), "the pipelines left no kernels; this is a defect of pe");
  auto foreign = emit(inKernels("func.func @kernel(%x: f32) { return }\n"));
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().getMessage(), "cannot translate the kernels to LLVM IR");
  auto unknown = emit(inKernels(R"(
    llvm.func @kernel() attributes {gpu.kernel, nvvm.kernel} {
      llvm.call @pe_gpu_absent() : () -> ()
      llvm.return
    }
    llvm.func @pe_gpu_absent()
  )"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().getMessage(),
            "the device library has no function pe_gpu_absent; this is a defect of pe");
}

} // namespace
