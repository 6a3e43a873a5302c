//===- Doctor.cpp - pe doctor ---===//
#include "runtime/api/Compiler.h"
#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/Peak.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cuda/Device.h"
#include "tools/pe/Commands.h"

namespace pe::cli {

static int runDoctor() {
  int problems = 0;
  const cpu::CpuInfo &host = cpu::hostCpu();
  std::printf("cpu        %s, kernels for %s\n", host.name.c_str(), cpu::nameOf(host.level));
  if (host.level == cpu::Level::Unsupported) {
    std::printf("           problem: pe needs AVX2 and FMA (x86-64-v3)\n");
    ++problems;
  } else {
    cpu::ThreadPool pool;
    std::printf("threads    %d; measured FMA peak %.0f GFLOP/s (fp32, all of them)\n",
                pool.threads(), cpu::measureFmaPeak(pool, host.level));
  }
  api::Compiler &compiler = api::Compiler::instance();
  if (auto jit = compiler.jitProvider().get()) {
    std::printf("compiler   libpe-jit with LLVM %s\n", (*jit)->llvmVersion().c_str());
  } else {
    std::printf("compiler   problem: %s\n", jit.error().getMessage().c_str());
    ++problems;
  }
  api::DiskCache::Usage usage = compiler.diskCache().usage();
  std::printf("cache      %s: %llu entries, %.1f MB%s\n", compiler.diskCache().getFolder().c_str(),
              static_cast<unsigned long long>(usage.entries), usage.bytes * 1e-6,
              usage.writable ? "" : "; not usable: every start compiles again");
  if (auto device = cuda::Device::open())
    std::printf("gpu        %s (%s), %d multiprocessors, driver for CUDA %d.%d\n",
                (*device)->name.c_str(), (*device)->chip().c_str(), (*device)->multiprocessors,
                (*device)->driver.version / 1000, (*device)->driver.version % 1000 / 10);
  else
    std::printf("gpu        none: %s\n", device.error().getMessage().c_str());
  std::printf("%s\n", problems ? "not ready" : "ready");
  return problems ? 1 : 0;
}

Action addDoctor(CLI::App &) { return runDoctor; }

} // namespace pe::cli
